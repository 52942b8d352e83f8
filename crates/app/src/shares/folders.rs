//! Makes missing folders of shares that were given on the command line.
//!
//! As an ordinary user the server makes them as `mkdir` would. As root it gives them to their users, because clients do
//! not act as root in a share. The owner is the identity of this run's accounts if they all have the same one, else the
//! anonymous user. If other users may enter (accounts of another identity, guests, NFS users), all users may write in the
//! folder, and only the owner of a file may remove it (mode 1777, as /tmp).

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, fchown};

use admin::{Settings, ShareSettings};
use anyhow::Context;
use auth::{Account, Directory, Identity};

/// All users may make files, and remove their own.
const OPEN: u32 = 0o1777;
/// Only the owner may change something.
const OWNED: u32 = 0o755;

/// Makes the folders; returns a line about each.
pub(crate) fn make(
    settings: &Settings,
    directory: &Directory,
    privileged: bool,
) -> anyhow::Result<Vec<String>> {
    let missing = settings.shares.iter().filter(|share| share.is_missing);
    missing.map(|share| make_one(share, settings, directory, privileged)).collect()
}

fn make_one(
    share: &ShareSettings,
    settings: &Settings,
    directory: &Directory,
    privileged: bool,
) -> anyhow::Result<String> {
    let shown = share.path.display();
    if !privileged {
        let made = std::fs::create_dir(&share.path);
        made.with_context(|| format!("the folder {shown} cannot be made"))?;
        return Ok(format!("made the folder {shown}"));
    }
    let (owner, mode) = owner(share, settings, directory);
    hand_over(share, &owner, mode).with_context(|| format!("the folder {shown} cannot be made"))?;
    let user = directory.unix().user_numbered(owner.uid);
    let user = user.map_or_else(|| format!("uid {}", owner.uid), |user| user.name.clone());
    let who = if mode == OPEN { "everybody may write in it" } else { "nobody else may write in it" };
    Ok(format!("made the folder {shown}: it belongs to {user}, and {who} (mode {mode:o})"))
}

/// The folder is made with no access for others first, so that it is never open to wrong users.
fn hand_over(share: &ShareSettings, owner: &Identity, mode: u32) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(&share.path)?;
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
    let folder = std::fs::File::from(rustix::fs::open(&share.path, flags, rustix::fs::Mode::empty())?);
    fchown(&folder, Some(owner.uid), Some(owner.gid))?;
    folder.set_permissions(Permissions::from_mode(mode))
}

/// The owner and the mode of a folder that root makes.
fn owner(share: &ShareSettings, settings: &Settings, directory: &Directory) -> (Identity, u32) {
    let can_log_in = |account: &&Account| !account.disabled && !account.secrets.is_empty();
    let mut identities = directory.accounts().iter().filter(can_log_in).map(|account| &account.identity);
    let first = identities.next();
    let is_one = identities.all(|other| Some(other.uid) == first.map(|first| first.uid));
    let owner = first.filter(|_| is_one).cloned().unwrap_or_else(Identity::anonymous);
    let unnamed = settings.audience(share).is_some_and(|audience| !audience.is_nobody());
    let guests = share.guests && owner != Identity::anonymous();
    let is_open = !share.read_only && (unnamed || guests || !is_one);
    (owner, if is_open { OPEN } else { OWNED })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use auth::{AccountFile, Host, Ids, UnixAccounts};

    use super::*;

    fn scene(flags: &[(&str, &str)]) -> (tempfile::TempDir, Settings) {
        let folder = tempfile::tempdir().unwrap();
        let arguments = admin::Arguments {
            shares: vec!["new".into()],
            flags: flags.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
            may_make_folders: true,
            ..admin::Arguments::new(false, folder.path().into())
        };
        let settings = Settings::load(&arguments).unwrap();
        (folder, settings)
    }

    fn people(names: &[&str]) -> Directory {
        let unix = UnixAccounts::parse("ada:x:1000:1000::/:\nbob:x:1001:1001::/:\n", "");
        let own = Identity::new(0, 0, &[]);
        let state = tempfile::tempdir().unwrap();
        let host = Host { unix, own, default_user: None };
        let mut directory = Directory::new(&AccountFile::read(state.path()).unwrap(), host);
        names.iter().for_each(|name| directory.set(name, Ids::default(), false, Some("secret")).unwrap());
        directory
    }

    fn of(flags: &[(&str, &str)], names: &[&str]) -> (u32, u32) {
        let (_folder, settings) = scene(flags);
        let (owner, mode) = owner(&settings.shares[0], &settings, &people(names));
        (owner.uid, mode)
    }

    #[test]
    fn a_new_folder_made_by_root_belongs_to_the_users_of_the_share() {
        let no_nfs = ("nfs-port", "off");
        assert_eq!(of(&[], &["ada"]), (1000, 0o755));
        assert_eq!(of(&[("nfs-clients", "192.168.1.0/24")], &["ada"]), (1000, 0o1777));
        assert_eq!(of(&[no_nfs], &["ada"]), (1000, 0o755));
        assert_eq!(of(&[no_nfs], &["ada", "bob"]), (65_534, 0o1777));
        assert_eq!(of(&[no_nfs], &["grace", "linus"]), (65_534, 0o755));
        assert_eq!(of(&[no_nfs, ("guest", "")], &["ada"]), (1000, 0o1777));
        assert_eq!(of(&[no_nfs, ("guest", "")], &[]), (65_534, 0o755));
        assert_eq!(of(&[("read-only", "")], &["ada"]), (1000, 0o755));
    }

    #[test]
    fn a_folder_that_is_missing_is_made_as_mkdir_would_or_handed_over_by_root() {
        let (folder, settings) = scene(&[]);
        let lines = make(&settings, &people(&["ada"]), false).unwrap();
        assert!(lines[0].starts_with("made the folder /") && folder.path().join("new").is_dir());
        if rustix::process::geteuid().is_root() {
            let (folder, settings) = scene(&[("nfs-clients", "all")]);
            let lines = make(&settings, &people(&["grace"]), true).unwrap();
            let made = folder.path().join("new").metadata().unwrap();
            assert_eq!((made.uid(), made.gid(), made.mode() & 0o7777), (65_534, 65_534, 0o1777));
            assert!(lines[0].ends_with("everybody may write in it (mode 1777)"), "{lines:?}");
        }
    }
}
