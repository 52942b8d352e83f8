//! A place on a server, and the protocol by which it is reached.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{Error, Result};

/// The protocol of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named in full")]
pub enum Protocol {
    File,
    Afp,
    Smb,
    Nfs,
    Iscsi,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::File, Self::Afp, Self::Smb, Self::Nfs, Self::Iscsi];

    /// The scheme of its URLs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Afp => "afp",
            Self::Smb => "smb",
            Self::Nfs => "nfs",
            Self::Iscsi => "iscsi",
        }
    }

    /// Whether it shows files of a server.
    #[must_use]
    pub fn is_of_files(self) -> bool {
        matches!(self, Self::Afp | Self::Smb | Self::Nfs)
    }

    /// Whether people log in to it with the password of an account.
    #[must_use]
    pub fn users_log_in(self) -> bool {
        matches!(self, Self::Afp | Self::Smb)
    }

    /// Whether a fork is a stream of its own, which is read and written in parts. Otherwise it is in a file `._NAME`.
    #[must_use]
    pub fn has_forks(self) -> bool {
        matches!(self, Self::Afp | Self::Smb)
    }

    /// Whether permissions are a list of Windows, which the mode is only derived from.
    #[must_use]
    pub fn has_windows_lists(self) -> bool {
        self == Self::Smb
    }

    /// Whether a login needs a secret.
    #[must_use]
    pub fn has_secrets(self) -> bool {
        matches!(self, Self::Afp | Self::Smb | Self::Iscsi)
    }

    /// Its registered port; 0 for a local folder.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::File => 0,
            Self::Afp => 548,
            Self::Smb => 445,
            Self::Nfs => 2049,
            Self::Iscsi => 3260,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A place on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The protocol.
    pub protocol: Protocol,
    /// The server's name or address; empty for a local folder.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// The account; empty for a guest.
    pub user: String,
    /// Its password, or its CHAP secret.
    pub password: String,
    /// The share, the export, the target's name, or the local folder.
    pub share: String,
    /// A folder of the share, without slashes around it; the LUN's number of iSCSI.
    pub path: String,
    /// What follows a question mark, such as `mountport=12049`.
    pub options: BTreeMap<String, String>,
}

/// The forms of URLs.
pub const FORMS: &str = "afp://USER@HOST/SHARE, smb://USER@HOST/SHARE, nfs://HOST/EXPORT, \
                         iscsi://HOST/TARGET/LUN or file:///FOLDER";

impl Target {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::Address(format!("{}: {why}. Write {FORMS}", without_password(text)));
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.name() == url.scheme());
        let protocol = protocol.ok_or_else(|| wrong("this protocol is not known here"))?;
        let decode = |text: &str| decoded(text).ok_or_else(|| wrong("a name that is not UTF-8"));
        let mut target = Self {
            protocol,
            host: url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or_else(|| protocol.port()),
            user: decode(url.username())?,
            password: decode(url.password().unwrap_or_default())?,
            share: String::new(),
            path: String::new(),
            options: url.query_pairs().into_owned().collect(),
        };
        // A person who types it means a guest. A server's account of this name has a password.
        if target.user.eq_ignore_ascii_case("guest") && target.password.is_empty() {
            target.user.clear();
        }
        let path = decode(url.path())?;
        if protocol == Protocol::File {
            target.share = path;
            return if target.share.len() > 1 { Ok(target) } else { Err(wrong("no folder")) };
        }
        let (share, path) = path.trim_matches('/').split_once('/').unwrap_or((path.trim_matches('/'), ""));
        (target.share, target.path) = (share.to_owned(), path.trim_matches('/').to_owned());
        match (target.host.is_empty(), target.share.is_empty()) {
            (true, _) => Err(wrong("no host")),
            (_, true) => Err(wrong("no share")),
            _ if target.path.split('/').any(|part| part == "..") => Err(wrong("a path with ..")),
            _ => Ok(target),
        }
    }

    /// The file protocols of a host and its share, at their standard ports.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn all(host_and_share: &str) -> Result<Vec<Self>> {
        if !host_and_share.contains('/') {
            let text = format!("{host_and_share}: which share? Write --all HOST/SHARE");
            return Err(Error::Address(text));
        }
        let protocols = [Protocol::Afp, Protocol::Smb, Protocol::Nfs];
        protocols.iter().map(|protocol| Self::parse(&format!("{protocol}://{host_and_share}"))).collect()
    }

    /// The server's name and port.
    #[must_use]
    pub fn address(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }

    /// A number of its options.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn number<T: std::str::FromStr>(&self, option: &str) -> Result<Option<T>> {
        let wrong = |value: &String| Error::Address(format!("{option}={value} is not a number"));
        self.options.get(option).map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }
}

/// A URL as it may be shown, in errors, too: without its password. It need not be a valid one.
#[must_use]
pub fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.find('/').unwrap_or(rest.len());
    // A password with a slash that is not percent-encoded: the text before the slash is no host with a port.
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_host =
        |text: &str| text.rsplit_once(':').is_none_or(|(_, port)| is_port(port) || text.ends_with(']'));
    let end = match rest[..authority].rfind('@') {
        Some(at) => Some(at),
        None if is_host(&rest[..authority]) => None,
        None => rest.rfind('@'),
    };
    let Some((user, at)) = end.and_then(|at| Some((rest[..at].split_once(':')?.0, at))) else {
        return text.to_owned();
    };
    format!("{scheme}://{user}{}", &rest[at..])
}

/// Options that make a measurement another one.
const MOUNTED: [&str; 4] = ["vers", "proto", "rsize", "wsize"];

/// The URL without the password, with the options of a mount.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.protocol == Protocol::File {
            return write!(f, "file://{}", self.share);
        }
        let at = if self.user.is_empty() { "" } else { "@" };
        let slash = if self.path.is_empty() { "" } else { "/" };
        let address = self.address();
        write!(f, "{}://{}{at}{address}/{}{slash}{}", self.protocol, self.user, self.share, self.path)?;
        let options = MOUNTED.iter().filter_map(|name| Some((name, self.options.get(*name)?)));
        options.enumerate().try_for_each(|(number, (name, value))| {
            write!(f, "{}{name}={value}", if number == 0 { '?' } else { '&' })
        })
    }
}

/// Percent-decoded.
fn decoded(text: &str) -> Option<String> {
    percent_encoding::percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_protocol_server_account_share_and_folder() {
        let target = Target::parse("smb://ada:se%3Acret@server:10445/My%20Share/a/b?x=1").unwrap();
        assert_eq!((target.protocol, target.host.as_str(), target.port), (Protocol::Smb, "server", 10445));
        assert_eq!((target.user.as_str(), target.password.as_str()), ("ada", "se:cret"));
        assert_eq!((target.share.as_str(), target.path.as_str()), ("My Share", "a/b"));
        assert_eq!(target.options["x"], "1");
        assert_eq!(target.to_string(), "smb://ada@server:10445/My Share/a/b");
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("smb://ada:secret@nas/share/a@b", "smb://ada@nas/share/a@b"),
            ("smb://ada:a@b@nas/share", "smb://ada@nas/share"),
            ("smb://ada:a/b@nas/share", "smb://ada@nas/share"),
            ("http://ada:secret@nas/share", "http://ada@nas/share"),
            ("smb://nas:445/share/a@b", "smb://nas:445/share/a@b"),
            ("nfs://[::1]/share/a@b", "nfs://[::1]/share/a@b"),
            ("afp://ada@nas/share", "afp://ada@nas/share"),
            ("/folder/a:b@c", "/folder/a:b@c"),
        ] {
            assert_eq!(without_password(url), shown);
            let error = Target::parse(url).map_err(|error| error.to_string()).err().unwrap_or_default();
            assert!(!error.contains("secret") && !error.contains("a/b@"), "{error}");
        }
    }

    #[test]
    fn transfer_sizes_are_a_part_of_the_name() {
        let target = Target::parse("nfs://h/s?uid=1&wsize=8192&rsize=4096&proto=udp").unwrap();
        assert_eq!(target.to_string(), "nfs://h:2049/s?proto=udp&rsize=4096&wsize=8192");
    }

    #[test]
    fn each_protocol_has_its_registered_port() {
        // The service names registry of IANA: afpovertcp, microsoft-ds, nfs, iscsi-target.
        for (url, port) in
            [("afp://h/s", 548), ("smb://h/s", 445), ("nfs://h/s", 2049), ("iscsi://h/t/0", 3260)]
        {
            assert_eq!(Target::parse(url).unwrap().port, port, "{url}");
        }
        assert_eq!(Target::parse("nfs://[::1]/s").unwrap().address(), "[::1]:2049");
    }

    #[test]
    fn what_is_no_target_is_refused_with_the_forms() {
        for url in ["http://h/s", "smb://h", "smb:///s", "server/share", "file:///", "nfs://h/s/a%2F..%2Fb"] {
            match Target::parse(url) {
                Err(Error::Address(why)) => assert!(why.contains("smb://USER@HOST/SHARE"), "{why}"),
                other => panic!("{url}: {other:?}"),
            }
        }
        assert!(Target::all("host").is_err());
        assert_eq!(Target::all("host/share").unwrap().len(), 3);
    }
}
