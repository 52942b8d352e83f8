//! Shares of homes: with `%U` at the end of its path, each user has a folder of its own in the share's folder.

use std::path::{Path, PathBuf};

use super::diagnostic::{Findings, Place};
use super::model::ShareSettings;
use super::protocol::Protocol;
use super::section::Section;
use super::share::LocatedShare;

/// The last part of the path: in its place is the name of the user's account.
const USER: &str = "%U";
/// What Samba knows besides, and this server does not.
const OTHERS: [&str; 7] = ["%u", "%D", "%S", "%H", "%m", "%g", "%G"];
/// Settings that a folder of each user cannot have.
const REFUSED: [(&str, &str); 8] = [
    ("store", "homes are folders of this machine"),
    ("from", "files cannot arrive in homes; `fourfold migrate` copies them"),
    ("replicate-from", "homes are no replica; replicate the folder as a share of its own"),
    ("time-machine", "give Time Machine a share of its own"),
    ("time-machine-size", "give Time Machine a share of its own"),
    ("volume-id", "each home has an id of its own"),
    ("quota", "limit users by the quotas of the host's file system"),
    ("dfs", "links to other servers need a share of their own"),
];

/// The folder of the homes, if the path is that of homes.
pub(super) fn folder(path: &str) -> Option<&Path> {
    let path = Path::new(path);
    (path.file_name()? == USER).then(|| path.parent()).flatten()
}

/// Whether a path has a variable that is not at its end, or that this server does not know.
pub(super) fn check_path(path: &str, place: &Place, findings: &mut Findings) {
    let path = folder(path).unwrap_or(Path::new(path));
    let known = |part: &std::ffi::OsStr| part == USER || OTHERS.iter().any(|other| part == *other);
    if let Some(part) = path.iter().find(|part| known(part)) {
        let what = match part == USER {
            true => format!("`{USER}` is not at the end of `{}`", path.display()),
            false => format!("`{}` in the path is not known here", part.display()),
        };
        findings.error(place, what, "write `path = \"/srv/homes/%U\"`: `%U` is the name of the account");
    }
}

/// What a share of homes cannot have.
pub(super) fn check(
    sections: &[Section],
    shares: &[LocatedShare],
    has_cluster: bool,
    findings: &mut Findings,
) {
    for section in sections {
        let name = section.text("name").unwrap_or_default();
        let is_homes = section.text("path").is_some_and(|path| folder(&path).is_some());
        let is_on = |key: &str| section.bool(key) || section.is_set(key) && !is_false(section, key);
        if !is_homes {
            if section.bool("make-homes") && section.inherited_from("make-homes").is_none() {
                let what =
                    format!("`make-homes` is set, and the path of {name:?} does not end with `{USER}`");
                findings.error(section.place_of("make-homes"), what, "remove the line");
            }
            continue;
        }
        for (key, why) in REFUSED.iter().filter(|(key, _)| is_on(key)) {
            let what = format!("`{key}` is set, and {name:?} is a share of homes (`{USER}`)");
            findings.error(section.place_of(key), what, format!("remove the line: {why}"));
        }
        if let Some(lun) = section.luns.first() {
            let what = format!("{name:?} is a share of homes (`{USER}`), which cannot have LUNs");
            findings.error(&lun.place, what, "make the LUN in another share");
        }
        if has_cluster {
            let what = format!("{name:?} is a share of homes (`{USER}`), and the server is in a cluster");
            let instead = "share the folder itself: leave `%U` out";
            findings.error(section.place_of("path"), what, instead);
        }
        if section.bool("guests") {
            findings.note(section.place_of("guests"), "guests have no homes", "only accounts may enter them");
        }
        let below = shares.iter().find(|((_, _), share)| is_below(&share.name, &name));
        if let Some(((place, _), share)) = below {
            let what = format!("the share {:?} is below {name:?}, which is a share of homes", share.name);
            findings.error(place, what, "give it a name without the one of the homes");
        }
    }
}

/// The protocols that show a share. Homes have no LUNs.
pub(super) fn protocols(section: &Section, homes: bool) -> Vec<Protocol> {
    let shows = |one: &Protocol| section.bool(one.word()) && (one.shows_files() || !homes);
    Protocol::ALL.into_iter().filter(shows).collect()
}

fn is_false(section: &Section, key: &str) -> bool {
    use super::kind::Value;
    match section.value(key) {
        Some(Value::Bool(on)) => !on,
        Some(Value::Text(text)) => text.is_empty(),
        _ => false,
    }
}

fn is_below(name: &str, other: &str) -> bool {
    name.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}

impl ShareSettings {
    /// The path as the settings have it: with `%U` if it is that of homes.
    #[must_use]
    pub fn written_path(&self) -> PathBuf {
        if self.homes { self.path.join(USER) } else { self.path.clone() }
    }

    /// The share of one user, if this is a share of homes: the folder with the name of the account. `None` for an account whose
    /// name cannot be that of a folder here: it has a `/` or `\`, or begins with `.` or `~`, as names of the server's own do.
    #[must_use]
    pub fn home_of(&self, account: &str) -> Option<Self> {
        let is_own = account.starts_with(['.', '~']);
        if !self.homes || is_own || !auth::is_account_name(account) {
            return None;
        }
        Some(Self {
            name: format!("{}/{account}", self.name),
            path: self.path.join(account),
            homes: false,
            guests: false,
            must_be_mounted: false,
            protocols: self.protocols.iter().copied().filter(|one| one.users_log_in()).collect(),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{Arguments, Settings};

    fn load(share: &str, more: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("h")).unwrap();
        std::fs::write(
            folder.path().join("fourfold.toml"),
            format!("[[share]]\nname = \"homes\"\n{share}\n{more}"),
        )
        .unwrap();
        let all = Settings::load(&Arguments::new(false, folder.path().into()));
        all.map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn each_user_has_a_folder_with_the_name_of_its_account() {
        let settings = load("path = \"h/%U\"\nmake-homes = true\nguests = true", "").unwrap();
        let share = &settings.shares[0];
        assert!(share.homes && share.make_homes && share.path.ends_with("h"));
        assert!(share.written_path().ends_with("h/%U"));
        assert_eq!(share.protocols.len(), 3, "no LUNs");
        let home = share.home_of("ada").unwrap();
        assert_eq!((home.name.as_str(), home.path.clone()), ("homes/ada", share.path.join("ada")));
        assert!(!home.homes && !home.guests);
        assert!(settings.notes.iter().any(|note| note.what == "guests have no homes"));
    }

    #[test]
    fn no_name_of_an_account_leads_out_of_the_folder() {
        let settings = load("path = \"h/%U\"", "").unwrap();
        let names =
            ["", ".", "..", "a/b", "../b", "/etc", "a\0b", "LAB\\ada", ".fourfold-streams", "~snapshot"];
        for name in names {
            assert_eq!(settings.shares[0].home_of(name), None, "{name:?}");
        }
        assert_eq!(
            load("path = \"h\"", "").unwrap().shares[0].home_of("ada"),
            None,
            "it is no share of homes"
        );
    }

    #[test]
    fn what_homes_cannot_have_is_refused() {
        let refused = |share: &str, more: &str| load(share, more).unwrap_err();
        for path in ["h/%U/files", "h/%u", "h/%D/%U", "%H"] {
            let said = refused(&format!("path = \"{path}\""), "");
            assert!(said.contains("`%U` is the name of the account"), "{path}: {said}");
        }
        for line in ["quota = \"1 GiB\"", "time-machine = true", "from = \"smb://old/h\"", "dfs = true"] {
            let said = refused(&format!("path = \"h/%U\"\n{line}"), "");
            assert!(said.contains("is a share of homes (`%U`)"), "{line}: {said}");
        }
        assert!(load("path = \"h/%U\"\ntime-machine = false", "").is_ok());
        let lun = "[[share.lun]]\nname = \"disk\"\nsize = \"1 MiB\"";
        assert!(refused("path = \"h/%U\"", lun).contains("cannot have LUNs"));
        let below = "[[share]]\nname = \"homes/all\"\npath = \"h\"";
        assert!(refused("path = \"h/%U\"", below).contains("is below \"homes\""));
        assert!(refused("path = \"h\"\nmake-homes = true", "").contains("does not end with `%U`"));
    }
}
