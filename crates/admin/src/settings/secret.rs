//! Secret texts: passwords, and URLs that have one. Code that prints, logs or serializes such a value gets the part that is shown
//! of it; [`Secret::reveal`] is for the code that uses it, and for the one that writes it to a file.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::{Serialize, Serializer};

use super::diagnostic::{Findings, Place};
use super::flags::Arguments;
use super::kind::{Kind, Raw, Wrong};

/// What stands for what is hidden.
pub const HIDDEN: char = '…';

/// A text with a hidden part.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    text: String,
    shown: String,
}

impl Secret {
    /// All of it is secret.
    #[must_use]
    pub fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), shown: HIDDEN.into() }
    }

    /// A URL: its password is secret.
    #[must_use]
    pub fn url(text: impl Into<String>) -> Self {
        let text = text.into();
        let is_no_url = !text.contains("://");
        let shown = without_password(&text)
            .unwrap_or_else(|| if is_no_url { of_refused(&text) } else { text.clone() });
        Self { text, shown }
    }

    /// A URL whose login, path and query are secret: programs that are told of something tell their callers apart by them.
    #[must_use]
    pub fn hook(text: impl Into<String>) -> Self {
        let text = text.into();
        let shown = text.split_once("://").map_or(HIDDEN.to_string(), |(scheme, rest)| {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (place, path) = rest.split_at(end);
            let (login, host) = place.rsplit_once('@').map_or(("", place), |(_, host)| ("…@", host));
            let path = if path.len() > 1 { "/…" } else { path };
            format!("{scheme}://{login}{host}{path}")
        });
        Self { text, shown }
    }

    /// The text itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Whether something of it is hidden.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.text != self.shown
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.shown)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown)
    }
}

/// The eight bytes of an AFP volume's password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VolumePassword([u8; 8]);

impl VolumePassword {
    /// A password, padded with NUL.
    #[must_use]
    pub fn new(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// The bytes themselves.
    #[must_use]
    pub fn reveal(self) -> [u8; 8] {
        self.0
    }
}

impl fmt::Debug for VolumePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VolumePassword({HIDDEN})")
    }
}

impl Kind {
    /// Its values are shown with a part hidden, if at all.
    #[must_use]
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Url(_) | Self::Hook(_) | Self::VolumePassword)
    }

    /// A written value of such a kind.
    pub(super) fn secret(self, text: &str) -> Option<Secret> {
        match self {
            Self::Url(_) => Some(Secret::url(text)),
            Self::Hook(_) => Some(Secret::hook(text)),
            Self::VolumePassword => Some(Secret::whole(text)),
            _ => None,
        }
    }
}

/// The same without what may be a secret.
pub(super) fn without_secret(kind: Kind, raw: &Raw, better: Option<String>) -> Wrong {
    let found = match (kind, raw) {
        (Kind::Url(_), Raw::Text(text)) => format!("{:?}", of_refused(text)),
        (_, Raw::Text(_)) => HIDDEN.into(),
        (_, raw) => raw.describe(),
    };
    let better = better.filter(|better| matches!(kind, Kind::Url(_)) && !better.contains('@'));
    Wrong { found, element: None, better, why: None }
}

/// Notes a settings file with secrets that others can read.
pub(super) fn note_open_secrets(arguments: &Arguments, file: Option<&Path>, findings: &mut Findings) {
    let Some(path) = file.filter(|path| is_open_to_others(&arguments.folder.join(path))) else { return };
    let place = Place::File { path: path.to_owned(), line: 1, column: 1 };
    let what = "the file has passwords or other secrets, and others than its owner may read it";
    findings.note(&place, what, format!("`chmod 600 {}`", path.display()));
}

/// A text in which the password of a URL is hidden, if it is one with a password.
pub(super) fn without_password(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password may have a slash that should have been escaped: the last `@` of all counts if none is before the path.
    let (login, host) = match rest[..end].rsplit_once('@') {
        Some((login, host)) => (login, format!("{host}{}", &rest[end..])),
        None => rest.rsplit_once('@').map(|(login, host)| (login, host.to_owned()))?,
    };
    let (user, _) = login.split_once(':')?;
    Some(format!("{scheme}://{user}:{HIDDEN}@{host}"))
}

/// What is shown of a text that was refused: it may be a secret that was mistyped.
pub(super) fn of_refused(text: &str) -> String {
    match text.contains('@') {
        true => HIDDEN.to_string(),
        false => text.to_owned(),
    }
}

/// Whether others than the owner may read a file.
#[must_use]
pub fn is_open_to_others(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_to_show_a_secret_shows_its_hidden_part() {
        let all = [
            (Secret::whole("hunter2"), "…"),
            (Secret::url("smb://ada:hunter2@old/studio"), "smb://ada:…@old/studio"),
            (
                Secret::url("smtps://a:b:hunter2@mail.example.com?tls=required"),
                "smtps://a:…@mail.example.com?tls=required",
            ),
            (Secret::url("smb://ada:hunter2/x@old/studio"), "smb://ada:…@old/studio"),
            (Secret::url("ada:hunter2@old"), "…"),
            (Secret::hook("https://hooks.example/services/T0/hunter2"), "https://hooks.example/…"),
            (
                Secret::hook("https://ada:hunter2@hooks.example:8443?key=hunter2"),
                "https://…@hooks.example:8443/…",
            ),
        ];
        for (secret, shown) in all {
            assert_eq!(secret.to_string(), shown);
            assert_eq!(serde_json::to_string(&secret).unwrap(), format!("{shown:?}"));
            assert!(!format!("{secret:?} {secret:#?}").contains("hunter2"), "{secret:?}");
            assert!(secret.reveal().contains("hunter2") && secret.is_hidden());
        }
        assert!(!format!("{:?}", VolumePassword::new(*b"hunter2\0")).contains("104"), "the bytes of it");
        let open = Secret::url("nfs://old/export");
        assert!(!open.is_hidden() && open.to_string() == "nfs://old/export");
        assert!(!Secret::hook("https://hooks.example/").is_hidden());
    }
}
