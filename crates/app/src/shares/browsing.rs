//! Contents of disk images that are served to one person for a while: backups of Macs, and any other image in a share.
//!
//! ```text
//! MAC@SNAPSHOT ─► the file or bundle in a share, with the person's rights ─► images::open ─► vfs::Image ─► hidden share NAME$
//! ```
//!
//! The hidden share is one of the person alone, read-only, over the protocols of the share that the image is in. It ends after
//! its time, or when the person may not read the image any more; then the keys of an encrypted image are gone, too. The settings
//! do not know it: a restart ends all.

mod image;
mod place;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use admin::control::{BrowseAnswer, BrowseRequest, BrowsedStatus, NewBrowse};
use admin::{ClientRule, Protocol, Settings, ShareSettings, Squash};
use anyhow::{Context, bail};
use auth::Basis;
use lock::Mutex;
use vfs::{Volume, VolumeOptions};

pub(crate) use self::image::{OpenedImage, open, passphrase};
use self::place::Person;
pub(crate) use self::place::{ImagePlace, shown_name};
use crate::ranks;
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;
use crate::shares::volumes::homes::shared_identity;

/// The most images that are served at a time.
const MOST_BROWSED: usize = 32;
/// The most files of an image that clients have open.
const MOST_OPENS: usize = 10_000;
/// The longest time that one is served, in minutes.
pub(crate) const LONGEST_MINUTES: u32 = 7 * 24 * 60;
/// The longest part of a hidden share's name that is the name of the image, in characters: AFP's names are short.
const LONGEST_STEM: usize = 20;

/// The images that are served.
#[derive(Default)]
pub(crate) struct BrowsedShares(Mutex<BTreeMap<String, Arc<BrowsedShare>>, ranks::BrowsedShares>);

/// An image that is served.
pub(crate) struct BrowsedShare {
    /// The hidden share.
    pub(crate) share: ShareSettings,
    pub(crate) volume: Arc<Volume>,
    /// Over NFS, only people who prove who they are see it.
    pub(crate) needs_proof: bool,
    account: String,
    place: ImagePlace,
    format: String,
    until: Instant,
}

impl BrowsedShares {
    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<BrowsedShare>> {
        self.0.lock().values().cloned().collect()
    }

    /// Those that are served over a protocol.
    pub(crate) fn over(&self, protocol: Protocol) -> impl Iterator<Item = Arc<BrowsedShare>> {
        self.all().into_iter().filter(move |one| one.share.protocols.contains(&protocol))
    }

    /// The one with this name, if the account sees it.
    pub(crate) fn of_account(&self, name: &str, account: &str) -> Option<Arc<BrowsedShare>> {
        let found = self.0.lock().get(name).cloned();
        found.filter(|one| one.account.eq_ignore_ascii_case(account))
    }

    /// Those that an account sees.
    pub(crate) fn all_of(&self, account: &str) -> Vec<BrowsedStatus> {
        let all = self.all().into_iter().filter(|one| one.account.eq_ignore_ascii_case(account));
        all.map(|one| one.status()).collect()
    }

    /// Ends one. Whether there was one.
    pub(crate) fn end(&self, name: &str) -> bool {
        let ended = self.0.lock().remove(name);
        if let Some(ended) = &ended {
            tracing::info!(share = name, by = ended.account, "a disk image is not served any more");
        }
        ended.is_some()
    }

    /// Ends those whose time is over, and those that their people may not read any more. Whether any was ended.
    pub(crate) fn end_old(&self, volumes: &Volumes, current: &Current, now: Instant) -> bool {
        let is_over =
            |one: &BrowsedShare| one.until <= now || one.place.find(volumes, current, &one.account).is_err();
        let over: Vec<String> =
            self.all().into_iter().filter(|one| is_over(one)).map(|one| one.share.name.clone()).collect();
        over.iter().filter(|name| self.end(name)).count() > 0
    }

    fn add(&self, new: BrowsedShare, settings: &Settings) -> anyhow::Result<Arc<BrowsedShare>> {
        let mut all = self.0.lock();
        if all.len() >= MOST_BROWSED {
            bail!(
                "{MOST_BROWSED} disk images are served already; `fourfold backups browse --list` shows them"
            );
        }
        let is_taken = |name: &str| {
            let alike = |other: &str| other.replace('/', "_").eq_ignore_ascii_case(name);
            settings.shares.iter().any(|share| alike(&share.name)) || all.keys().any(|other| alike(other))
        };
        let stem = &new.share.name;
        let name = (1_u32..).map(|number| match number {
            1 => format!("{stem}$"),
            _ => format!("{stem} {number}$"),
        });
        let name = name.take(MOST_BROWSED * 2).find(|name| !is_taken(name)).context("all names are taken")?;
        let share = ShareSettings { name: name.clone(), ..new.share };
        let new = Arc::new(BrowsedShare { share, ..new });
        all.insert(name, new.clone());
        Ok(new)
    }
}

impl BrowsedShare {
    /// For people.
    pub(crate) fn status(&self) -> BrowsedStatus {
        let until = SystemTime::now() + self.until.saturating_duration_since(Instant::now());
        let protocols = self.share.protocols.iter();
        BrowsedStatus {
            name: self.share.name.clone(),
            account: self.account.clone(),
            share: self.place.share.clone(),
            path: self.place.path.clone(),
            snapshot: self.place.snapshot.clone(),
            format: self.format.clone(),
            protocols: protocols.map(|protocol| protocol.word().to_owned()).collect(),
            until: until.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        }
    }
}

/// Executes a request of the operator.
///
/// # Errors
/// It was not executed.
pub(crate) fn execute(
    volumes: &Volumes,
    current: &Current,
    request: BrowseRequest,
) -> anyhow::Result<BrowseAnswer> {
    match request {
        BrowseRequest::List => {
            Ok(BrowseAnswer::Shown(volumes.browsed().all().iter().map(|one| one.status()).collect()))
        }
        BrowseRequest::End { name } => match volumes.browsed().end(&name) {
            true => Ok(BrowseAnswer::Done(vec![format!("{name} is not served any more")])),
            false => {
                bail!("no disk image is served as {name:?}; `fourfold backups browse --list` shows them")
            }
        },
        BrowseRequest::Begin(new) => begin(volumes, current, &new),
    }
}

/// Serves the contents of an image. The protocols show it after their next reload.
pub(crate) fn begin(volumes: &Volumes, current: &Current, new: &NewBrowse) -> anyhow::Result<BrowseAnswer> {
    if volumes.cluster.is_some() {
        bail!(
            "a server of a cluster does not serve disk images as shares; `fourfold backups cp` copies files out of them"
        );
    }
    if new.minutes == 0 || new.minutes > LONGEST_MINUTES {
        bail!("an image is served for 1 to {LONGEST_MINUTES} minutes");
    }
    let find = |place: &ImagePlace| match &new.account {
        Some(account) => place.find(volumes, current, account),
        None => place.find(volumes, current, &place.owner(volumes, current)?),
    };
    let (place, (person, found)) = ImagePlace::named(&new.place, &current.settings, find)?;
    place.refuse_while_written(volumes, &current.settings)?;
    let typed = new.passphrase.as_ref().map(passphrase);
    let Some(opened) = open(&person.volume, &person.reader, &found, typed.as_ref())? else {
        return Ok(BrowseAnswer::NeedsPassphrase);
    };
    let identity = place.identity(&found);
    let until = Instant::now() + Duration::from_secs(60 * u64::from(new.minutes));
    let new = serve(volumes, current, (place, person), (&opened, identity), until)?;
    Ok(BrowseAnswer::Shown(vec![new.status()]))
}

/// Serves an open image to the person who has opened it.
fn serve(
    volumes: &Volumes,
    current: &Current,
    (place, person): (ImagePlace, Person),
    (opened, identity): (&OpenedImage, u64),
    until: Instant,
) -> anyhow::Result<Arc<BrowsedShare>> {
    let source = place.settings(&current.settings)?;
    let owner = (person.caller.uid, person.caller.gid);
    let options =
        VolumeOptions { read_only: true, cache: volumes.listings().clone(), ..VolumeOptions::default() };
    // In a site of its own: no list of what clients have open tells what is in the image.
    let volume = Arc::new(Volume::new(opened.backend(identity, owner), options));
    volume.site().limit_opens(MOST_OPENS);
    let new = BrowsedShare {
        share: hidden_share(source, &place, opened, current, &person.account, owner.0),
        volume,
        needs_proof: opened.is_encrypted,
        account: person.account,
        format: opened.format.clone(),
        until,
        place,
    };
    let new = volumes.browsed().add(new, &current.settings)?;
    tracing::info!(
        share = new.share.name,
        by = new.account,
        image = new.place.text(),
        "the contents of a disk image are served"
    );
    Ok(new)
}

/// The hidden share of one person: never more than the share that the image is in.
fn hidden_share(
    source: &ShareSettings,
    place: &ImagePlace,
    opened: &OpenedImage,
    current: &Current,
    account: &str,
    uid: u32,
) -> ShareSettings {
    let squashed = |rule: &ClientRule| ClientRule {
        squash: if rule.squash == Squash::None { Squash::Root } else { rule.squash },
        ..rule.clone()
    };
    let is_apart = !is_shared_number(current, source, account, uid);
    let is_served = |protocol: &Protocol| match protocol.of_files() {
        Some(_) => protocol.users_log_in() || (is_apart && !place.is_lun),
        None => false,
    };
    // Who may use the blocks of a disk may read the files in them.
    let over = if place.is_lun { &Protocol::OF_FILES[..] } else { &source.protocols };
    ShareSettings {
        name: stem(place),
        comment: format!("{} of {}", opened.format, place.path),
        protocols: over.iter().copied().filter(is_served).collect(),
        read_only: true,
        guests: false,
        users: vec![account.to_owned()],
        groups: Vec::new(),
        group_ids: Vec::new(),
        team: None,
        roles: None,
        time_machine: false,
        time_machine_size: None,
        time_machine_snapshots: 0,
        time_machine_journal: 0,
        volume_id: None,
        case_sensitive: opened.case_sensitive,
        mac_sidecars: true,
        dfs: false,
        continuous: false,
        hide: Vec::new(),
        show: Vec::new(),
        device_nodes: false,
        luns: Vec::new(),
        from: None,
        quota: None,
        homes: false,
        make_homes: false,
        clients: source.clients.iter().map(squashed).collect(),
        ..source.clone()
    }
}

/// Whether others act with the Unix number of an account: NFS, which knows people by it, cannot tell them apart.
fn is_shared_number(current: &Current, share: &ShareSettings, account: &str, uid: u32) -> bool {
    let accounts = &current.accounts;
    let is_servers = accounts.basis(account) == Some(Basis::Server) && accounts.accounts().len() > 1;
    uid == 0 || is_servers || shared_identity(accounts, share, (account, uid)).is_some()
}

/// What the name of the hidden share begins with: the Mac or image, and the day of the snapshot.
fn stem(place: &ImagePlace) -> String {
    let name = place.path.rsplit('/').next().unwrap_or_default();
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let plain = |c: char| if c.is_alphanumeric() || "-_ ".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(LONGEST_STEM).collect();
    let name = name.trim_matches([' ', '-']);
    if name.is_empty() { "Image".into() } else { name.into() }
}
