//! Where an image is: a share, a path in it, and perhaps a snapshot, or a LUN; and whether a person may read it.

use std::ffi::OsStr;
use std::hash::Hasher;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::control::Status;
use admin::luns::LunTable;
use admin::{Settings, ShareSettings};
use anyhow::{Context, anyhow, bail};
use auth::Accounts;
use siphasher::sip::SipHasher24;
use vfs::backend::Found;
use vfs::backend::host::as_ourselves;
use vfs::names::{from_text_view, text_view};
use vfs::{Access, Caller, Error, Volume};

use crate::people::rights;
use crate::serve::component::Component;
use crate::serve::current::Current;
use crate::shares::keeper::is_in_bundle;
use crate::shares::luns::find_file;
use crate::shares::volumes::Volumes;

/// What the place of a LUN begins with.
const LUN: &str = "lun:";
/// What the names of bundles of Macs end with.
const BUNDLES: [&str; 2] = [".sparsebundle", ".backupbundle"];

/// The place of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImagePlace {
    /// The share.
    pub(crate) share: String,
    /// Its path there, as text.
    pub(crate) path: String,
    /// A snapshot of the share; `None`: as it is now.
    pub(crate) snapshot: Option<String>,
    /// It is the LUN with this name, and not a file with this path.
    pub(crate) is_lun: bool,
}

/// A person in a share.
pub(crate) struct Person {
    pub(crate) account: String,
    pub(crate) caller: Caller,
    /// Whose rights count when the image is read: those of the person, or of the server for LUNs, whose files people do not reach.
    pub(crate) reader: Caller,
    pub(crate) volume: Arc<Volume>,
}

impl ImagePlace {
    /// The one image that a text names, as those find it that `find` looks for: `MAC`, `SHARE/MAC` or `SHARE/PATH`, with
    /// `@SNAPSHOT` behind it.
    ///
    /// # Errors
    /// The text names no image, or several; or the person may not read the image.
    pub(crate) fn named<T>(
        text: &str,
        settings: &Settings,
        find: impl Fn(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<(Self, T)> {
        let (mut found, mut why): (Vec<(Self, T)>, Option<anyhow::Error>) = (Vec::new(), None);
        for place in candidates(text, settings) {
            match find(&place) {
                Ok(there) => found.push((place, there)),
                Err(error) if error.downcast_ref::<Error>() == Some(&Error::NotFound) => {}
                Err(error) => why = why.or(Some(error)),
            }
        }
        match (found.len(), why) {
            (1, _) => found.pop().context("one image"),
            (0, Some(error)) => Err(error),
            (0, None) => Err(anyhow!(
                "there is no backup or disk image {text:?}; write MAC, SHARE/MAC or SHARE/PATH, with @SNAPSHOT for an earlier time \
                 (`fourfold backups points` lists them)"
            )),
            _ => {
                let all: Vec<String> = found.iter().map(|(one, _)| one.text()).collect();
                Err(anyhow!("{text:?} can be several; write one of them: {}", all.join(", ")))
            }
        }
    }

    /// `SHARE/PATH@SNAPSHOT`, or `lun:SHARE/NAME`.
    pub(crate) fn text(&self) -> String {
        let snapshot = self.snapshot.as_ref().map(|name| format!("@{name}")).unwrap_or_default();
        let lun = if self.is_lun { LUN } else { "" };
        format!("{lun}{}/{}{snapshot}", self.share, self.path)
    }

    /// The settings of its share.
    ///
    /// # Errors
    /// The share is gone.
    pub(crate) fn settings<'a>(&self, settings: &'a Settings) -> anyhow::Result<&'a ShareSettings> {
        let share = settings.shares.iter().find(|share| share.name == self.share);
        share.with_context(|| format!("there is no share {:?}", self.share))
    }

    /// The account that the image belongs to.
    ///
    /// # Errors
    /// There is no such account, or there are several.
    pub(crate) fn owner(&self, volumes: &Volumes, current: &Current) -> anyhow::Result<String> {
        if self.is_lun {
            bail!("a LUN has no owner; say whom it is served to with --for ACCOUNT");
        }
        let share = self.settings(&current.settings)?;
        let volume = volumes.open(share, &current.settings)?;
        let uid = self.find_in(&volume, &Caller::root())?.attributes.uid;
        let accounts = current.accounts.accounts().iter();
        let owners: Vec<&str> = accounts
            .filter(|account| account.identity.uid == uid && !account.disabled)
            .map(|account| account.name.as_str())
            .collect();
        match owners.as_slice() {
            [one] => Ok((*one).to_owned()),
            [] => bail!(
                "{} belongs to uid {uid}, with which no account acts; say whom it is served to with --for ACCOUNT",
                self.text()
            ),
            several => bail!(
                "{} belongs to several accounts ({}); say whom it is served to with --for ACCOUNT",
                self.text(),
                several.join(", ")
            ),
        }
    }

    /// The image as a person finds it, who may enter the share over a protocol with logins.
    ///
    /// # Errors
    /// The person may not enter the share, or not find the image.
    pub(crate) fn find(
        &self,
        volumes: &Volumes,
        current: &Current,
        account: &str,
    ) -> anyhow::Result<(Person, Found)> {
        let share = self.settings(&current.settings)?;
        let known = current.accounts.find(account).filter(|known| !known.disabled);
        let known =
            known.with_context(|| format!("there is no account {account:?}, or it may not log in"))?;
        let volume = volumes.open(share, &current.settings)?;
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let acting = |protocol| volume.acting(known.identity.clone().of(protocol, Some(&known.name), here));
        if self.is_lun {
            if !rights::uses_luns(&known, share) {
                bail!("{}: the account {account} may not use the LUNs of this share", share.name);
            }
            let found = self.find_lun(&volume, volumes.state())?;
            let caller = known.identity.clone().of_session(Some(&known.name));
            return Ok((Person { account: known.name, caller, reader: Caller::root(), volume }, found));
        }
        let protocol = rights::entry_protocol(current, &known, share).map_err(|why| anyhow!("{why}"))?;
        let caller = acting(protocol);
        let found = self.find_in(&volume, &caller).and_then(|found| {
            let granted = volume.access(&caller, &found, Access::READ)?;
            if granted.contains(Access::READ) { Ok(found) } else { Err(Error::AccessDenied) }
        });
        as_ourselves(|| ())?; // the thread goes on with the server's own work
        let found = found.map_err(|error| self.explained(error))?;
        Ok((Person { account: known.name, reader: caller.clone(), caller, volume }, found))
    }

    /// The file of a LUN that does not change: a snapshot, or a LUN that is read-only.
    ///
    /// # Errors
    /// The share has no LUN of this name, or its initiators may write to it.
    pub(crate) fn find_lun(&self, volume: &Volume, state: &Path) -> anyhow::Result<Found> {
        let table = LunTable::alone(state).read()?;
        let none = || anyhow::Error::new(Error::NotFound).context(format!("there is no {}", self.text()));
        let lun = table.find(&self.share, &self.path).ok_or_else(none)?;
        if !lun.options.read_only {
            bail!(
                "{} is written by initiators; browse a snapshot of it (`fourfold lun snapshot create` makes one)",
                self.text()
            );
        }
        find_file(volume, lun).with_context(|| self.text())
    }

    /// The image as a caller finds it.
    ///
    /// # Errors
    /// `NotFound`, `AccessDenied`, and those of the disk.
    pub(crate) fn find_in(&self, volume: &Volume, caller: &Caller) -> vfs::Result<Found> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        if let Some(name) = &self.snapshot {
            let name = from_text_view(name);
            let all = volume.snapshots();
            let snapshot = all.into_iter().find(|one| one.path[1] == name).ok_or(Error::NotFound)?;
            names.extend(snapshot.path);
        }
        let path = self.path.split('/').filter(|name| !name.is_empty());
        names.extend(path.map(from_text_view));
        names.iter().try_fold(volume.root()?, |at, name| volume.lookup(caller, &at.object, name))
    }

    fn explained(&self, error: Error) -> anyhow::Error {
        let text = self.text();
        match error {
            Error::NotFound => anyhow::Error::new(error).context(format!("there is no {text}")),
            Error::AccessDenied => anyhow!("the account may not read {text}: the rights of the share count"),
            other => anyhow::Error::new(other).context(text),
        }
    }

    /// Fails while a client has a file of the image open for writing.
    pub(crate) fn refuse_while_written(&self, volumes: &Volumes, settings: &Settings) -> anyhow::Result<()> {
        if self.snapshot.is_some() || self.is_lun {
            return Ok(());
        }
        let path: PathBuf =
            self.settings(settings)?.path.join(OsStr::from_bytes(&from_text_view(&self.path)));
        let mut status = Status::default();
        volumes.report(&mut status);
        let is_written =
            status.opens.iter().any(|open| open.access.contains('w') && is_in_bundle(&path, open));
        if is_written {
            bail!(
                "{} is being written now; browse a snapshot of it (`fourfold backups points` lists them), or wait for the end of the backup",
                self.text()
            );
        }
        Ok(())
    }

    /// A number for the files in it: the same for the same image.
    pub(crate) fn identity(&self, found: &Found) -> u64 {
        let mut hasher = SipHasher24::new();
        hasher.write(found.object.key().as_bytes());
        hasher.write(self.text().as_bytes());
        hasher.finish()
    }
}

/// The places that a text can mean.
fn candidates(text: &str, settings: &Settings) -> Vec<ImagePlace> {
    let split = text.rsplit_once('@').filter(|(name, snapshot)| !name.is_empty() && !snapshot.is_empty());
    let forms = [(text, None)].into_iter().chain(split.map(|(name, snapshot)| (name, Some(snapshot))));
    let mut all = Vec::new();
    if let Some(name) = text.strip_prefix(LUN) {
        for share in settings.shares.iter().filter(|share| !share.homes) {
            let path = name.strip_prefix(share.name.as_str()).and_then(|rest| rest.strip_prefix('/'));
            all.extend(path.map(|path| ImagePlace {
                share: share.name.clone(),
                path: path.to_owned(),
                snapshot: None,
                is_lun: true,
            }));
        }
        return all;
    }
    let mut add = |share: &ShareSettings, path: &str, snapshot: Option<&str>| {
        let path = path.trim_matches('/');
        let is_inside = path.split('/').all(|name| !matches!(name, "" | "." | ".."));
        let is_named = BUNDLES.iter().any(|end| path.to_lowercase().ends_with(end));
        let ends = if is_named { &[""][..] } else { &["", BUNDLES[0], BUNDLES[1]][..] };
        for end in ends.iter().filter(|_| is_inside && !share.homes) {
            let (share, path) = (share.name.clone(), format!("{path}{end}"));
            let snapshot = snapshot.map(str::to_owned);
            let place = ImagePlace { share, path, snapshot, is_lun: false };
            if !all.contains(&place) {
                all.push(place);
            }
        }
    };
    for (name, snapshot) in forms {
        for share in &settings.shares {
            if let Some(path) = name.strip_prefix(share.name.as_str()).and_then(|rest| rest.strip_prefix('/'))
            {
                add(share, path, snapshot);
            }
        }
        for share in settings.shares.iter().filter(|share| share.time_machine && !name.contains('/')) {
            add(share, name, snapshot);
        }
    }
    all
}

/// A bundle's name without its ending, for people.
pub(crate) fn shown_name(bundle: &[u8]) -> String {
    let name = text_view(bundle);
    let stem = BUNDLES.iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
    stem.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> (tempfile::TempDir, Settings) {
        let top = tempfile::tempdir().unwrap();
        ["a", "b", "s"].iter().for_each(|name| std::fs::create_dir(top.path().join(name)).unwrap());
        let text = "[[share]]\nname = \"Backups\"\npath = \"a\"\ntime-machine = true\n[[share]]\nname = \"Files\"\npath = \"b\"\n";
        std::fs::write(top.path().join("fourfold.toml"), text).unwrap();
        let settings = Settings::load(&admin::Arguments::new(false, top.path().into())).unwrap();
        (top, settings)
    }

    fn found(text: &str, there: &[&str]) -> Result<String, String> {
        let (_top, settings) = settings();
        let find = |place: &ImagePlace| match there.contains(&place.text().as_str()) {
            true => Ok(()),
            false => Err(anyhow::Error::new(Error::NotFound)),
        };
        let found = ImagePlace::named(text, &settings, find);
        found.map(|(place, ())| place.text()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_mac_is_its_bundle_in_a_share_for_backups() {
        let there = ["Backups/Ada's Mac.sparsebundle", "Backups/Ada's Mac.sparsebundle@monday"];
        assert_eq!(found("Ada's Mac", &there).unwrap(), there[0]);
        assert_eq!(found("Backups/Ada's Mac", &there).unwrap(), there[0]);
        assert_eq!(found("Ada's Mac.sparsebundle", &there).unwrap(), there[0]);
        assert_eq!(found("Ada's Mac@monday", &there).unwrap(), there[1]);
        assert!(found("Grace's Mac", &there).unwrap_err().contains("there is no backup"));
    }

    #[test]
    fn other_images_have_their_path_and_stay_in_the_share() {
        let there = ["Files/old/Disk.dmg", "Files/../etc.dmg"];
        assert_eq!(found("Files/old/Disk.dmg", &there).unwrap(), there[0]);
        assert!(found("old/Disk.dmg", &there).is_err());
        assert!(found("Files/../etc.dmg", &there).is_err());
    }

    #[test]
    fn a_lun_is_named_as_one() {
        let there = ["lun:Files/video", "Files/video"];
        assert_eq!(found("lun:Files/video", &there).unwrap(), there[0]);
        assert_eq!(found("Files/video", &there).unwrap(), there[1]);
        assert!(found("lun:video", &there).is_err());
    }

    #[test]
    fn two_images_of_one_name_are_told_apart() {
        let both = ["Backups/Mac.sparsebundle", "Backups/Mac.backupbundle"];
        let why = found("Mac", &both).unwrap_err();
        assert!(both.iter().all(|one| why.contains(one)), "{why}");
    }
}
