//! A shared folder: what every protocol does to files, in the few operations they all need.
//!
//! Operations take a [`Found`]: a node with its attributes as of the start of the request.
//! Permissions are checked against these attributes, and the reply uses them for the time before.
//! So each request asks the host for them once.

mod attributes;
mod creating;
mod data;
mod linking;
mod noting;
mod removing;
mod renaming;
pub(crate) mod reserved;

pub(crate) use self::data::{SENT, SENT_BLINDLY, within};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::RwLock;

use super::{
    Access, Attributes, Caller, Error, FileId, HostKey, Kind, LastingKey, Result, Time,
    names::{self, KeptCharacters},
};
use crate::access::{AwaitedModes, ShareRules, TeamFolders};
use crate::backend::forest::Hidden;
use crate::backend::long_names::LongNames;
use crate::backend::{Backend, Finds, Found, Node, Snapshot, Space};
use crate::events::Hub;
use crate::finding::whereabouts::Whereabouts;
use crate::homes::Homes;
use crate::listing::{CacheBudget, Listings, Page, PageRules};
use crate::local::Locals;
use crate::names::own::refuse_own;
use crate::noted::Act;
use crate::open::Holder;
use crate::ranks;
use crate::searching::Finder;
use crate::site::Site;
use crate::state::{OpenId, Party, State};
use crate::streams::{Streams, Style};

/// The options of a volume.
#[derive(Debug, Clone)]
pub struct VolumeOptions {
    /// Refuses every change.
    pub read_only: bool,
    /// Memory for cached listings, which volumes may share.
    pub cache: Arc<CacheBudget>,
    /// `._name` is answered from, and absorbed into, the Mac metadata of `name`, and left out of listings.
    pub sidecars: bool,
    /// What the deny modes of Macs, and of others for the sake of NFS clients, stand against.
    pub denials: Denials,
    /// The layout of Mac metadata, forks and streams that are new, where neither their file nor the
    /// files beside it tell one.
    pub style: Style,
    /// New names of clients of Windows and Macs get private code points for characters that Windows forbids.
    pub private_names: bool,
    /// Those of them that are stored as themselves all the same.
    pub kept: KeptCharacters,
    /// A file whose mode has no right to write is shown as read-only and locked.
    pub read_only_by_mode: bool,
    /// What a client that knows nothing of Mac metadata saves under a file's name keeps those of the file.
    pub safe_save: bool,
    /// A local process that opens a file waits until clients have given back what they cache of it.
    pub local_recall: bool,
    /// Other servers serve the same files: that there are no stored ACLs and no locked files is never taken for granted.
    pub shared: bool,
    /// Whom callers act as, and what becomes of the modes and the owner of what is new.
    pub rules: Arc<ShareRules>,
}

/// What the deny modes of an open bind besides reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Denials {
    /// A Mac that denies writing also denies to others that the file is removed or renamed.
    #[default]
    Strict,
    /// The same, but a client without opens may give an open file a name of the form `.nfs*`, and
    /// remove it by such a name, as NFS clients do with files that they have open themselves.
    SillyRename,
    /// A Mac's deny modes concern reading and writing only.
    DataOnly,
}

impl Default for VolumeOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            cache: CacheBudget::new(64 << 20),
            sidecars: true,
            denials: Denials::default(),
            style: Style::default(),
            private_names: false,
            kept: KeptCharacters::default(),
            read_only_by_mode: true,
            safe_save: true,
            local_recall: true,
            shared: false,
            rules: Arc::default(),
        }
    }
}

/// A view of files: a shared folder, what of it is shown, and whether it may be changed. All that a file's clients have in
/// common is in its [`Site`].
pub struct Volume {
    pub(crate) site: Arc<Site>,
    /// The number of this view in its site.
    view: u32,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) homes: Arc<Homes>,
    pub(crate) listings: Listings,
    pub(crate) options: VolumeOptions,
    pub(crate) events: Hub,
    pub(crate) locals: Arc<Locals>,
    pub(crate) streams: Option<Arc<Streams>>,
    pub(crate) whereabouts: Whereabouts,
    pub(crate) teams: TeamFolders,
    pub(crate) awaited_modes: AwaitedModes,
    pub(crate) finder: RwLock<Option<Arc<dyn Finder>>, ranks::VolumeFinder>,
    /// A write was refused because there was no room.
    pub(crate) was_full: AtomicBool,
}

/// What a client knows and expects of files. The session of its protocol says it once, for all its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientProfile {
    /// It is a Mac, which renames open files: the deny modes of other Macs do not stand against that.
    pub renames_open: bool,
    /// It knows nothing of Mac metadata. What it saves by replacing a file keeps those of the file.
    pub is_blind_to_forks: bool,
    /// Its protocol has no operation to run a program: it reads what its user may run, RFC 1813 4.4.
    pub reads_to_run: bool,
}

/// The actor of an operation: the user of the host, and the client (with its open) for locks, deny
/// modes and leases.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The identity whose permissions count.
    pub caller: Caller,
    /// The party whose own locks and leases do not stand against the operation.
    pub party: Party,
    /// The open it acts through, if its protocol has opens.
    pub open: Option<OpenId>,
    /// The key of the client's lease on the folder. The client already knows what it does to the
    /// folder's entries, so this lease on the listing stays. Without a key only the party's own
    /// lease stays.
    pub parent_key: Option<[u8; 16]>,
    /// What the client knows and expects.
    pub profile: ClientProfile,
    /// The open that it acts through has decided what it may do with the data: mode and ACL do not count any more.
    pub by_open: bool,
    /// With whose opens its opens are counted. `None`: it is the server itself.
    pub holder: Option<Holder>,
}

impl Actor {
    /// An actor without an open.
    pub fn new(caller: Caller, party: Party) -> Self {
        Self {
            caller,
            party,
            open: None,
            parent_key: None,
            profile: ClientProfile::default(),
            by_open: false,
            holder: None,
        }
    }

    /// The same, of a client with this profile.
    #[must_use]
    pub fn with_profile(self, profile: ClientProfile) -> Self {
        Self { profile, ..self }
    }

    /// The same, whose opens are counted with those of this client.
    #[must_use]
    pub fn held_by(self, holder: impl Into<Option<Holder>>) -> Self {
        Self { holder: holder.into(), ..self }
    }

    /// The party that keeps its lease on a folder's listing when this actor changes an entry of it.
    pub(crate) fn keeper_of_listings(&self) -> Party {
        match self.parent_key {
            Some(key) => Party { client: self.party.client, key: Some(key) },
            None => self.party,
        }
    }
}

/// What a change did to the attributes of the file or folder it changed.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// Just before.
    pub before: Attributes,
    /// Just after.
    pub after: Attributes,
}

/// Something new in a folder.
pub struct CreatedEntry {
    /// The new file.
    pub found: Found,
    /// What happened to the folder.
    pub folder: Change,
}

impl Volume {
    /// A volume on `backend` that is alone in its site.
    pub fn new(backend: Arc<dyn Backend>, options: VolumeOptions) -> Self {
        Self::in_site(backend, options, Arc::default())
    }

    /// A volume on `backend`, which shares with the other volumes of the site what depends on the file alone.
    pub fn in_site(backend: Arc<dyn Backend>, options: VolumeOptions, site: Arc<Site>) -> Self {
        let backend: Arc<dyn Backend> = Arc::new(LongNames::over(backend));
        let homes = Homes::new(backend.clone(), site.clone());
        if options.shared {
            site.acls.expect();
            site.inhibited.expect();
        }
        Self {
            view: site.new_view(),
            listings: Listings::new(options.cache.clone(), site.details.clone()),
            streams: options.sidecars.then(|| {
                let streams = Streams::at(homes.backend.clone(), homes.clone())
                    .with_what_is_there()
                    .with_style(options.style);
                Arc::new(streams.shared(options.shared))
            }),
            backend,
            homes,
            options,
            events: Hub::counted(site.subscriptions.clone()),
            locals: Arc::new(Locals::of(site.subscriptions.clone())),
            whereabouts: Whereabouts::default(),
            teams: TeamFolders::default(),
            awaited_modes: AwaitedModes::default(),
            finder: RwLock::default(),
            was_full: AtomicBool::new(false),
            site,
        }
    }

    /// Whether a client's write was refused since the last call because the disk, or a quota, had no room.
    pub fn was_full(&self) -> bool {
        self.was_full.swap(false, Ordering::Relaxed)
    }

    /// What this volume shares with others.
    pub fn site(&self) -> &Arc<Site> {
        &self.site
    }

    /// The number of this volume in its site.
    pub fn view(&self) -> u32 {
        self.view
    }

    /// The share's folder.
    pub fn root(&self) -> Result<Found> {
        self.backend.root()
    }

    /// The snapshots of the share, the newest first.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.backend.snapshots()
    }

    /// The file that a key names, wherever it is now.
    pub fn node(&self, key: &HostKey) -> Result<Found> {
        self.backend.by_key(key)
    }

    /// The key of a file that is the same in each volume of this machine.
    pub fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        self.backend.lasting_key(key)
    }

    /// The keys by which [`Volume::node`] may find a file. The file may be outside the share. Mounts that are not in use yet
    /// count only `with_all_mounts`.
    pub fn keys_of(&self, file: &LastingKey, with_all_mounts: bool) -> Vec<HostKey> {
        self.backend.keys_of(file, with_all_mounts)
    }

    /// Whether a file does not exist any more, in the share or elsewhere on its file system. `false` also if that is not certain.
    pub fn is_gone(&self, file: &LastingKey) -> bool {
        let keys = self.backend.keys_of(file, true);
        let is_gone = |key: &HostKey| {
            self.backend.finds(key) == Finds::Always && self.backend.by_key(key).err() == Some(Error::Stale)
        };
        !keys.is_empty() && keys.iter().all(is_gone)
    }

    /// The opens, locks and leases of all files of the site.
    pub fn state(&self) -> &State {
        &self.site.state
    }

    /// The time when a file's attributes last changed, as clients see it. One atomic load as long
    /// as no client has set such a time.
    pub fn changed(&self, attributes: &Attributes) -> Time {
        self.site.changed.of(attributes)
    }

    /// The space of the file system that a file or folder is on.
    pub fn space(&self, at: &Node) -> Result<Space> {
        self.backend.space(&**at)
    }

    /// The number of the file system that a file is on: 0 for that of the share's folder. It stays the same over restarts.
    pub fn file_system(&self, file: FileId) -> u64 {
        self.backend.file_system(file)
    }

    /// The number by which clients know a file: the inode number, on the share's own file system. Those of other file systems
    /// inside the share have numbers outside the range of plain inode numbers.
    pub fn number(&self, file: FileId) -> u64 {
        match self.backend.file_system(file) {
            0 => file.inode,
            other => (file.inode ^ other) | 1 << 63,
        }
    }

    /// What the host's file system can do.
    pub fn limits(&self) -> crate::backend::Limits {
        self.backend.limits()
    }

    /// Whether every change is refused.
    pub fn is_read_only(&self) -> bool {
        self.options.read_only
    }

    /// The names that listings of a folder leave out, if it belongs to a share inside this one.
    pub fn hidden(&self, folder: &Node) -> Option<Arc<Hidden>> {
        if self.backend.has_gates() { folder.hidden() } else { None }
    }

    /// A name of a client as this volume stores it. The entry that has it may have another form of it: every look-up finds that.
    pub fn stored_form(&self, name: Vec<u8>) -> Vec<u8> {
        if self.options.private_names { self.options.kept.private_form(name) } else { name }
    }

    /// The entry of `folder` with this name: exactly, else in another form.
    pub fn lookup(&self, caller: &Caller, folder: &Node, name: &[u8]) -> Result<Found> {
        refuse_own(name)?;
        let caller = self.permissions().passing_through(caller, folder)?;
        match folder.lookup(caller, name) {
            Err(Error::NotFound) if names::has_other_forms(name) => {
                let folder = Found { object: folder.clone(), attributes: folder.attributes()? };
                let other = self.names().other_form(caller, &folder, name)?;
                other.map(|(_, found)| found).ok_or(Error::NotFound)
            }
            other => other,
        }
    }

    /// The folder that a folder is in; the share's own folder is its own parent.
    pub fn parent(&self, of: &Found) -> Result<Found> {
        of.object.parent()
    }

    /// Which of `want` the caller may do.
    pub fn access(&self, caller: &Caller, to: &Found, want: Access) -> Result<Access> {
        self.permissions().access(caller, to, want)
    }

    /// A page of a folder's entries, from after `cookie`.
    pub fn list(&self, caller: &Caller, folder: &Found, cookie: u64) -> Result<Page> {
        self.notes().file(Act::List, &folder.object);
        if folder.attributes.kind != Kind::Folder {
            return Err(Error::NotFolder);
        }
        let granted = self.access(caller, folder, Access::READ.union(Access::EXECUTE))?;
        if !granted.contains(Access::READ) {
            return Err(Error::AccessDenied);
        }
        let by_acl = self.permissions().stored_acl(folder)?.is_some();
        let page = match self.permissions().lists_only_own(caller, folder)? {
            true => self.own_page(caller, folder, cookie)?,
            false => self.current_listings().page(self.streams.as_ref(), folder, cookie)?,
        };
        let in_team = self.permissions().team_of(&*folder.object)?.is_some();
        let heeds_mode = self.options.read_only_by_mode && !in_team;
        let page = page.of_volume(&self.site.inhibited, PageRules { heeds_mode, in_team });
        Ok(page.for_searcher(granted.contains(Access::EXECUTE), by_acl))
    }

    /// The next page that has an entry which the caller may see, with these entries only.
    fn own_page(&self, caller: &Caller, folder: &Found, mut cookie: u64) -> Result<Page> {
        loop {
            let page = self.current_listings().page(self.streams.as_ref(), folder, cookie)?;
            let (is_last, next) = (page.complete, page.entries().last().map(|entry| entry.cookie));
            let page = page.only(|name| self.permissions().sees(caller, folder, name))?;
            match next {
                Some(next) if page.entries().is_empty() && !is_last => cookie = next,
                _ => return Ok(page),
            }
        }
    }

    /// Notes changes made by programs other than this server, and releases what is unused. Called
    /// every few seconds.
    pub fn tend(&self) {
        self.current_listings().hear();
        if self.options.shared {
            self.homes.forget();
        }
        self.site.inhibited.tend(self.backend.as_ref());
        self.listings.tend(self.backend.as_ref());
        self.streams.iter().for_each(|streams| streams.own_store.tend());
        self.backend.tend();
    }

    /// The limit of the cached listings has changed: drops this volume's part of what is over it. `used` is what the listings
    /// of all volumes took before.
    pub fn limit_listings(&self, used: usize) {
        self.listings.limited(self.backend.as_ref(), used);
    }

    /// After a change through a node that no watch reports.
    pub(crate) fn unheard(&self, node: &Node) {
        if !node.is_heard() {
            self.listings.forget_details();
        }
    }

    pub(crate) fn may_change(&self, of: &Found) -> Result<Attributes> {
        if self.permissions().refuses_changes(&of.object) { Err(Error::ReadOnly) } else { Ok(of.attributes) }
    }
}
