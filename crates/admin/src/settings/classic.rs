//! Samba's settings for the user that all users of a share act as, and for the owner and mode of new files: smb.conf(5). Here they
//! bind every protocol.

use super::diagnostic::Findings;
use super::kind::mode;
use super::section::Section;

/// The settings that change the user or the group of all users.
const IDENTITY: [&str; 2] = ["force-user", "force-group"];
/// All of them.
const ALL: [&str; 7] = [
    "create-mask",
    "directory-mask",
    "force-create-mode",
    "force-directory-mode",
    "force-user",
    "force-group",
    "inherit-owner",
];

/// The user that all users of a share act as, and the owner and mode of new files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassicRules {
    /// The bits that the mode of a new file may have; `None`: all.
    pub create_mask: Option<u32>,
    /// The same of a folder.
    pub directory_mask: Option<u32>,
    /// The bits that the mode of a new file has in any case.
    pub force_create_mode: u32,
    /// The same of a folder.
    pub force_directory_mode: u32,
    /// All users act as this user of the host.
    pub force_user: Option<String>,
    /// All users act with this group as their first one; with `+` before it those that are in it.
    pub force_group: Option<String>,
    /// What is new belongs to the owner of its folder.
    pub inherit_owner: bool,
    /// The numbers of `force_user` and `force_group`, once the program has asked for them.
    pub forced: auth::ForcedIdentity,
}

pub(super) fn read(share: &Section) -> ClassicRules {
    let mask = |key| share.text(key).and_then(|text| mode(&text));
    let name = |key| share.text(key).filter(|name| !name.trim().is_empty());
    ClassicRules {
        create_mask: mask("create-mask"),
        directory_mask: mask("directory-mask"),
        force_create_mode: mask("force-create-mode").unwrap_or(0),
        force_directory_mode: mask("force-directory-mode").unwrap_or(0),
        force_user: name("force-user"),
        force_group: name("force-group"),
        inherit_owner: share.bool("inherit-owner"),
        forced: auth::ForcedIdentity::default(),
    }
}

/// Where they cannot mean what they say.
pub(super) fn check(privileged: bool, shares: &[Section], findings: &mut Findings) {
    for share in shares {
        let set: Vec<&str> = ALL.into_iter().filter(|key| share.is_set(key)).collect();
        let is_team = super::team::of(share).is_some();
        for key in set {
            let place = share.place_of(key);
            let is_identity = IDENTITY.contains(&key);
            let name = share.text(key).unwrap_or_default();
            if is_team {
                let what =
                    format!("`{key}` has no meaning in a team folder, whose roles say who may do what");
                let instead = format!(
                    "remove `{key}`: editors change what others made, whatever its owner, group and mode"
                );
                findings.error(place, what, instead);
            } else if key == "force-user" && matches!(name.trim(), "root" | "0") {
                let what = "`force-user` would give all users of the share every right of the host";
                findings.error(place, what, "write the name of a user that owns the files of the share");
            } else if is_identity
                && share.text("path").is_some_and(|path| super::homes::folder(&path).is_some())
            {
                let what = format!("`{key}` would give the homes of all users to one");
                findings.error(place, what, format!("remove `{key}`"));
            } else if !privileged && (is_identity || key == "inherit-owner") && !name.trim().is_empty() {
                let what = format!(
                    "`{key}` has no effect: a server that is not root does everything as its own user"
                );
                findings.note(place, what, "start the server as root");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Arguments, Settings};

    fn load(share: &str) -> Result<ClassicRules, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!("[server]\nstate = \"state\"\n[[share]]\nname = \"A\"\npath = \"a\"\n{share}\n");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let loaded = Settings::load(&Arguments::new(true, folder.path().into()));
        loaded.map(|settings| settings.shares[0].classic.clone()).map_err(|errors| format!("{errors:?}"))
    }

    #[test]
    fn modes_are_octal_digits_in_quotes() {
        let rules = load("create-mask = \"0664\"\nforce-directory-mode = \"2770\"").unwrap();
        assert_eq!((rules.create_mask, rules.directory_mask), (Some(0o664), None));
        assert_eq!((rules.force_create_mode, rules.force_directory_mode), (0, 0o2770));
        for wrong in ["\"rw\"", "\"0888\"", "\"64\"", "\"00664\"", "\"\""] {
            assert!(load(&format!("create-mask = {wrong}")).unwrap_err().contains("octal digits"), "{wrong}");
        }
        assert!(load("create-mask = 664").unwrap_err().contains("write `create-mask = \\\"0664\\\"`"));
    }

    #[test]
    fn a_team_folder_has_roles_instead() {
        let refused = load("editors = [\"ada\"]\nforce-create-mode = \"0660\"").unwrap_err();
        assert!(refused.contains("editors change what others made"), "{refused}");
    }

    #[test]
    fn nobody_becomes_root_by_a_setting() {
        assert!(load("force-user = \"root\"").unwrap_err().contains("every right of the host"));
        let rules = load("force-user = \"media\"\nforce-group = \"+film\"\ninherit-owner = true").unwrap();
        assert_eq!(rules.force_user.as_deref(), Some("media"));
        assert_eq!((rules.force_group.as_deref(), rules.inherit_owner), (Some("+film"), true));
        assert_eq!(load("").unwrap(), ClassicRules::default());
    }
}
