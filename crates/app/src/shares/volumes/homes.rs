//! The homes of users: folders in the folder of a share of homes (`%U`). Each is opened as a volume when its user comes.

use std::io::ErrorKind;
use std::os::unix::fs::fchown;
use std::path::Path;
use std::sync::Arc;

use admin::settings::VolumePassword;
use admin::{Settings, ShareSettings};
use anyhow::{Context, bail};
use auth::{Account, Basis, Directory};
use rustix::fs::{CWD, Mode, OFlags};
use vfs::backend::host::as_ourselves;
use vfs::{Caller, Volume};

use super::{VolumeEntry, Volumes};
use crate::serve::current::Current;

/// The most homes that are open at a time. With more, those that no client uses are closed.
const MOST_HOMES: usize = 1000;
/// Accounts without a home that the log names; more are not remembered.
const MOST_TOLD: usize = 10_000;
/// Only the user may enter a home that the server makes.
const HOME: Mode = Mode::RWXU;

/// What opens the homes of one share.
pub(crate) struct Homes {
    pub(crate) volumes: Arc<Volumes>,
    pub(crate) current: Arc<Current>,
    /// The share of homes.
    pub(crate) share: ShareSettings,
}

impl Homes {
    /// The shares of homes over a protocol.
    pub(crate) fn of(
        volumes: &Arc<Volumes>,
        current: &Arc<Current>,
        protocol: admin::Protocol,
    ) -> impl Iterator<Item = Self> {
        let shares = current.settings.shares.iter();
        let homes = shares.filter(move |share| share.homes && share.protocols.contains(&protocol));
        homes.map(|share| Self { volumes: volumes.clone(), current: current.clone(), share: share.clone() })
    }

    /// All settings of the share: as long as they are the same, clients may keep what they have open.
    pub(crate) fn settings(&self) -> String {
        // It is compared, and shown to nobody: an AFP password counts, too.
        format!("{:?} {:?}", self.share, self.share.volume_password.map(VolumePassword::reveal))
    }

    /// What `open` makes of a user's home; `None`, and a line in the log, if the user has none. Called on threads that may have
    /// acted as other users.
    pub(crate) fn open<T>(
        &self,
        account: &str,
        caller: &Caller,
        open: impl FnOnce(&ShareSettings, Arc<Volume>) -> anyhow::Result<T>,
    ) -> Option<T> {
        let shared = shared_identity(&self.current.accounts, &self.share, (account, caller.uid));
        let opened = as_ourselves(|| {
            let whose = HomeAccount { account, caller, shared };
            let (home, volume) = self.volumes.open_home(&self.share, &self.current.settings, &whose)?;
            open(&home, volume)
        });
        match opened.map_err(anyhow::Error::new).flatten() {
            Ok(opened) => Some(opened),
            Err(error)
                if error.is::<SharedIdentity>() && !self.volumes.tell_once(&self.share.name, account) =>
            {
                tracing::debug!(account, share = self.share.name, "the user has no home: {error:#}");
                None
            }
            Err(error) => {
                tracing::warn!(account, share = self.share.name, "the user has no home: {error:#}");
                None
            }
        }
    }
}

/// The account whose home it is.
struct HomeAccount<'a> {
    account: &'a str,
    caller: &'a Caller,
    /// Why others act as the same Unix user; `None`: they do not.
    shared: Option<String>,
}

/// An account has no home, because others would own it, too: by NFS they could list and change it.
#[derive(Debug, thiserror::Error)]
#[error(
    "no folder is made for it, as {0}, and a home belongs to one user; give the account a Unix user of its own \
     (`fourfold user modify NAME --uid UID`), or make the folder"
)]
struct SharedIdentity(String);

/// The uid of users that nobody is: `nobody` of Linux.
const NOBODY: u32 = 65534;

/// Why others act as the same Unix user as this account. The accounts of a server that is not root all act as its user, and have
/// their homes by its rules alone.
pub(crate) fn shared_identity(
    accounts: &Directory,
    homes: &ShareSettings,
    (account, uid): (&str, u32),
) -> Option<String> {
    let is_other = |other: &&Account| other.identity.uid == uid && !other.name.eq_ignore_ascii_case(account);
    match accounts.basis(account) {
        Some(Basis::Server) => None,
        Some(Basis::DefaultUser) => Some("it acts as `default-user`, as others do".into()),
        Some(Basis::Anonymous) => Some("it acts as nobody: this host has no user of its name".into()),
        _ if uid == NOBODY || homes.clients.iter().any(|rule| rule.anon_uid == uid) => {
            Some(format!("it acts as uid {uid}, as anonymous users of NFS do"))
        }
        _ => accounts
            .accounts()
            .iter()
            .find(is_other)
            .map(|other| format!("it acts as uid {uid}, as {} does", other.name)),
    }
}

impl Volumes {
    /// Whether the log has not named this account without a home yet.
    fn tell_once(&self, share: &str, account: &str) -> bool {
        let mut told = self.homeless.lock();
        told.len() < MOST_TOLD && told.insert(format!("{share}/{account}"))
    }

    /// The home of an account, and its volume.
    fn open_home(
        &self,
        homes: &ShareSettings,
        settings: &Settings,
        HomeAccount { account, caller, shared }: &HomeAccount<'_>,
    ) -> anyhow::Result<(ShareSettings, Arc<Volume>)> {
        let home = homes.home_of(account).context("the name of the account cannot be that of a folder")?;
        if !is_folder(&home.path)? {
            if !homes.make_homes {
                bail!("there is no folder {}; make it, or set `make-homes`", home.path.display());
            }
            if let Some(why) = shared {
                return Err(SharedIdentity(why.clone()).into());
            }
            make(&homes.path, account, caller)
                .with_context(|| format!("the folder {} cannot be made", home.path.display()))?;
            tracing::info!(account, folder = %home.path.display(), "made the home of a user");
        }
        self.make_room_for(&home.name, settings)?;
        // Streams that do not fit beside a file are stored in the highest folder of the shares around it: the same one, whether
        // the folder of all homes is an export or not.
        self.open(homes, settings)?;
        let volume = self.open(&home, settings)?;
        is_folder(&home.path)?; // or a link came in between
        Ok((home, volume))
    }

    /// Closes homes that no client uses if too many are open.
    fn make_room_for(&self, home: &str, settings: &Settings) -> anyhow::Result<()> {
        let mut known = self.known.lock();
        let is_home = |name: &str| is_home(name, settings);
        let open = known.keys().filter(|name| is_home(name)).count();
        if open < MOST_HOMES || known.contains_key(home) {
            return Ok(());
        }
        let closed: Vec<VolumeEntry> =
            known.extract_if(|name, known| is_home(name) && known.is_idle()).map(|(_, one)| one).collect();
        drop(known);
        match closed.is_empty() {
            true => bail!("{MOST_HOMES} other homes are in use"),
            false => Ok(()), // closed here, without the lock
        }
    }

    /// Whether clients use a home in a share of homes.
    pub(super) fn uses_homes(&self, share: &str) -> bool {
        let is_in = |name: &str| name.rsplit_once('/').is_some_and(|(homes, _)| homes == share);
        self.known.lock().iter().any(|(name, known)| is_in(name) && !known.is_idle())
    }
}

impl VolumeEntry {
    /// No client has the volume open: only this table has it.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.volume) == 1
    }
}

/// Whether the volume of this name is a home in a share of homes that is served.
pub(super) fn is_home(name: &str, settings: &Settings) -> bool {
    let homes = name.rsplit_once('/').map(|(homes, _)| homes);
    settings.shares.iter().any(|share| share.homes && Some(&*share.name) == homes)
}

/// Whether a folder is there. A link is refused: users who may write in the folder above could lead others elsewhere by it.
fn is_folder(path: &Path) -> anyhow::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => bail!("{} is not a folder (links are not followed)", path.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Makes a home that only the user may enter. It is the server's until it is the user's.
fn make(folder: &Path, account: &str, caller: &Caller) -> std::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
    rustix::fs::mkdirat(&folder, account, HOME)?;
    let home = rustix::fs::openat(&folder, account, flags, Mode::empty())?;
    if rustix::process::geteuid().is_root() {
        fchown(&home, Some(caller.uid), Some(caller.gid))?;
    }
    rustix::fs::fchmod(&home, HOME)?; // not of the umask, and without the bits of the folder above
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use auth::Accounts;
    use vfs::index::Index;

    use super::*;

    struct Scene {
        top: tempfile::TempDir,
        settings: Settings,
        volumes: Arc<Volumes>,
    }

    impl Scene {
        fn new(more: &str) -> Self {
            let top = tempfile::tempdir().unwrap();
            ["h", "s"].iter().for_each(|name| std::fs::create_dir(top.path().join(name)).unwrap());
            let text = format!("[[share]]\nname = \"homes\"\npath = \"h/%U\"\n{more}");
            std::fs::write(top.path().join("fourfold.toml"), text).unwrap();
            let settings = Settings::load(&admin::Arguments::new(false, top.path().into())).unwrap();
            let index = Index::open(&top.path().join("s")).unwrap();
            let volumes = Volumes::new(index, &top.path().join("s"));
            Self { top, settings, volumes }
        }

        fn open(&self, account: &str) -> anyhow::Result<Arc<Volume>> {
            let caller = Caller::new(4242, 4243, &[]);
            let homes = &self.settings.shares[0];
            let whose = HomeAccount { account, caller: &caller, shared: None };
            self.volumes.open_home(homes, &self.settings, &whose).map(|(_, volume)| volume)
        }
    }

    /// The accounts of a server of root: by their names and uids.
    fn accounts(all: &[(&str, Option<u32>)], default_user: Option<&str>) -> Directory {
        let unix =
            auth::UnixAccounts::parse("root:x:0:0::/:\nada:x:1000:1000::/:\nguest:x:2000:2000::/:\n", "");
        let own = auth::Identity::new(0, 0, &[]);
        let state = tempfile::tempdir().unwrap();
        let host = auth::Host { unix, own, default_user: default_user.map(str::to_owned) };
        let mut directory = Directory::new(&auth::AccountFile::read(state.path()).unwrap(), host);
        for (name, uid) in all {
            directory.set(name, auth::Ids { uid: *uid, gid: None }, false, Some("secret")).unwrap();
        }
        directory
    }

    #[test]
    fn no_home_is_made_for_an_identity_that_others_share() {
        let scene = Scene::new("make-homes = true\n[[share.client]]\nmatch = \"*\"\nanon-uid = 3000\n");
        let homes = &scene.settings.shares[0];
        let all = [
            ("ada", None),
            ("eve", None),
            ("bob", Some(1001)),
            ("rob", Some(1001)),
            ("amy", Some(3000)),
            ("guest", None),
        ];
        let whose = |default: Option<&str>, account: &str| {
            let directory = accounts(&all, default);
            let uid = directory.find(account).unwrap().identity.uid;
            shared_identity(&directory, homes, (account, uid)).unwrap_or_default()
        };
        assert_eq!(whose(None, "ada"), "");
        assert_eq!(whose(None, "guest"), "");
        assert!(whose(None, "eve").contains("nobody"));
        assert!(whose(None, "bob").contains("as rob does"));
        assert!(whose(None, "amy").contains("anonymous"));
        assert!(whose(Some("guest"), "eve").contains("default-user"));
        assert!(whose(Some("guest"), "guest").contains("as eve does"), "its own user is that of others");
        let caller = Caller::new(65534, 65534, &[]);
        let whose = HomeAccount { account: "eve", caller: &caller, shared: Some("it acts as nobody".into()) };
        let refused = scene.volumes.open_home(homes, &scene.settings, &whose).err().unwrap();
        assert!(refused.is::<SharedIdentity>(), "{refused}");
        assert!(!scene.top.path().join("h/eve").exists());
        assert!(scene.volumes.tell_once("homes", "eve") && !scene.volumes.tell_once("homes", "eve"));
        std::fs::create_dir(scene.top.path().join("h/eve")).unwrap();
        assert!(
            scene.volumes.open_home(homes, &scene.settings, &whose).is_ok(),
            "who makes it by hand means it"
        );
    }

    #[test]
    fn a_missing_home_is_made_for_its_user_if_the_settings_say_so() {
        let scene = Scene::new("");
        let why = scene.open("ada").err().unwrap().to_string();
        assert!(why.contains("set `make-homes`"), "{why}");
        let scene = Scene::new("make-homes = true");
        scene.open("ada").unwrap();
        let made = scene.top.path().join("h/ada").metadata().unwrap();
        assert_eq!(made.mode() & 0o7777, 0o700);
        if rustix::process::geteuid().is_root() {
            assert_eq!((made.uid(), made.gid()), (4242, 4243));
        }
    }

    #[test]
    fn neither_links_nor_files_are_homes() {
        let scene = Scene::new("make-homes = true");
        std::fs::create_dir(scene.top.path().join("elsewhere")).unwrap();
        symlink("../elsewhere", scene.top.path().join("h/ada")).unwrap();
        std::fs::write(scene.top.path().join("h/bob"), "").unwrap();
        for account in ["ada", "bob", "..", "a/b", ".hidden"] {
            assert!(scene.open(account).is_err(), "{account}");
        }
    }

    #[test]
    fn a_home_is_one_volume_and_closed_ones_make_room() {
        let scene = Scene::new("make-homes = true");
        let ada = scene.open("ada").unwrap();
        assert!(Arc::ptr_eq(&ada, &scene.open("ada").unwrap()));
        assert!(!Arc::ptr_eq(&ada, &scene.open("bob").unwrap()));
        assert!(scene.volumes.uses_homes("homes"));
        drop(ada);
        assert!(!scene.volumes.uses_homes("homes"));
        let held: Vec<_> = (2..MOST_HOMES).map(|n| scene.open(&format!("u{n}")).unwrap()).collect();
        assert_eq!(scene.volumes.known.lock().len(), MOST_HOMES + 1, "and the folder of all");
        let carol = scene.open("carol").unwrap();
        assert_eq!(scene.volumes.known.lock().len(), 1 + held.len() + 1, "ada and bob made room");
        let dave = scene.open("dave").unwrap();
        let why = scene.open("eve").err().unwrap().to_string();
        assert!(why.contains("other homes are in use"), "{why}");
        drop((carol, dave));
        assert!(scene.open("eve").is_ok());
    }
}
