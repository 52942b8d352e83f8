//! Durable opens at another server of a cluster, when their own is lost.
//!
//! ```text
//! CREATE, LOCK, rename, … ─► keep ─► the successor of this server has a note, and the open as the tree knows it
//! the server is lost ─► at the successor: inherit ─► restore ─► the table of durable opens
//! CREATE with DHnC or DH2C at the successor ─► wait, verify ─► as for an open of its own
//! ```

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use lock::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use vfs::backend::Found;
use vfs::state::{BreakNotice, Caching, ClientId, InheritedOpen, Lease, OpenId, Replicas, Successor, home};
use vfs::{Actor, Beside, Caller, ClientProfile, FileId, HostKey, TakenOver, Volume};

use super::note::{CacheNote, DurableNote, LeaseNote};
use super::{Durable, MAX_TIMEOUT};
use crate::ranks;
use crate::server::clients::client::Client;
use crate::server::clients::leases::{CacheReference, Kind, LeaseCache, Of};
use crate::server::clients::open::{File, Open, OpenedObject};
use crate::server::clients::replay::Creations;
use crate::server::clients::session::User;
use crate::server::clients::tree::Tree;
use crate::server::config::ShareKind;
use crate::server::context::Context;
use crate::server::service::Service;
use crate::wire::Status;
use crate::wire::create::Action;
use crate::wire::fscc::file_info::ModeFlags;
use crate::wire::security::AccessMask;
use crate::wire::values::LeaseKey;

/// How long a client waits for the loss of the server that it names: longer than the others take to notice it.
const LOST_WITHIN: Duration = Duration::from_secs(8);
/// How often it is looked whether that server is lost.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the successor may take before a client is told to wait.
const SOON: Duration = Duration::from_millis(50);
/// How long it may take until it is known whether an inherited open is in the state of its file: that the state comes, and that all
/// servers say what they have.
const VERIFIED_WITHIN: Duration = Duration::from_secs(40);

/// The service as one of several servers of one tree.
pub(in crate::server) struct SharedService {
    replicas: Arc<dyn Replicas>,
    service: Weak<Service>,
    inheriting: Mutex<TakeoverState, ranks::SmbDurable>,
}

/// What is being taken over.
#[derive(Default)]
struct TakeoverState {
    /// The lost servers.
    servers: HashSet<u16>,
    /// Clients of theirs, which have nothing else here yet.
    clients: Vec<Arc<Client>>,
}

/// Tells the successor when the open is closed.
pub(in crate::server) struct ReplicatedOpen {
    replicas: Arc<dyn Replicas>,
    open: OpenId,
}

impl Drop for ReplicatedOpen {
    fn drop(&mut self) {
        self.replicas.forget(self.open);
    }
}

/// An inherited open that may not be in the state of its file: the lost server may have closed it.
#[derive(Clone)]
pub(super) struct UnverifiedOpen {
    volume: Arc<Volume>,
    file: FileId,
    open: OpenId,
}

impl Service {
    /// From now on durable opens are told to `replicas`, and those of lost servers are taken over. Called once, before
    /// there are clients.
    pub fn share_with(self: &Arc<Self>, replicas: Arc<dyn Replicas>) -> Arc<dyn Successor> {
        self.begin_with(replicas.server());
        let service = Arc::downgrade(self);
        let shared = Arc::new(SharedService { replicas, service, inheriting: Mutex::default() });
        let _ = self.shared.set(shared.clone()); // it is called once
        shared
    }

    /// The server stops: what waits for clients is left to the successor as it is.
    pub fn leave_durables(&self) {
        if self.shared.get().is_some() {
            self.durables.leave();
        }
    }
}

/// Tells the successor of this server what a durable open is now.
pub(in crate::server) fn keep(service: &Service, open: &Open) {
    let (Some(shared), Some(durable), Ok(file)) = (service.shared.get(), open.durable.get(), open.file())
    else {
        return;
    };
    let id = file.open.guard().id();
    let guid = durable.client.guid;
    let is_whole = file.open.is_data() && !file.is_by_link() && guid != [0; 16];
    let note =
        note(open, durable, file).filter(|note| is_whole && (note.is_persistent || note.cache.is_some()));
    let Some((note, persistent)) = note.and_then(|note| Some((note.encode()?, note.is_persistent))) else {
        return shared.replicas.forget(id);
    };
    let lease = open.held.get().map(|held| held.lease.id());
    shared.replicas.keep(file.open.guard(), lease, guid, note, persistent);
    durable.told.get_or_init(|| ReplicatedOpen { replicas: shared.replicas.clone(), open: id });
}

/// Whether the successor has an open as it was told last, once that is known.
pub(super) async fn is_kept(context: &Context, open: &Open) -> Result<bool, Status> {
    let Some(shared) = context.service().shared.get() else { return Ok(false) };
    let mut kept = shared.replicas.kept(open.file()?.open.guard().id());
    if let Ok(kept) = timeout(SOON, &mut kept).await {
        return Ok(kept.unwrap_or(false));
    }
    Ok(context.wait(kept).await?.unwrap_or(false))
}

/// The same, and waits until the successor knows it. The change of the open is answered after that.
pub(in crate::server) async fn keep_now(context: &Context, open: &Open) {
    let service = context.service();
    if service.shared.get().is_some() && open.durable.get().is_some() {
        keep(service, open);
        arrived(context).await;
    }
}

/// Waits until the successor has all that it was told.
pub(in crate::server) async fn arrived(context: &Context) {
    let Some(shared) = context.service().shared.get() else { return };
    let mut arrived = shared.replicas.arrived();
    if timeout(SOON, &mut arrived).await.is_err() {
        let _closed = context.wait(arrived).await; // a client that cancels is answered before
    }
}

fn note(open: &Open, durable: &Durable, file: &File) -> Option<DurableNote> {
    let (folder, name) = file.open.place()?;
    let user = durable.user.as_ref();
    let cache = open.held.get().map(|held| CacheNote {
        lease: match held.cache.kind() {
            Kind::Oplock => None,
            Kind::Lease { version2, parent } => {
                Some(LeaseNote { version2, parent: parent.map(|parent| parent.0) })
            }
        },
        epoch: held.cache.epoch(),
    });
    Some(DurableNote {
        persistent: open.key.persistent,
        create_guid: durable.create_guid,
        timeout_ms: u32::try_from(durable.timeout.as_millis()).unwrap_or(u32::MAX),
        granted: open.granted.0,
        mode: file.mode().0,
        is_posix: file.is_posix,
        share: open.tree.share.name.clone(),
        read_only: open.tree.read_only,
        user: user.name.clone(),
        guest: user.guest,
        anonymous: user.anonymous,
        blind: file.open.actor().profile.is_blind_to_forks,
        ids: (user.caller.uid, user.caller.gid, user.caller.groups.to_vec()),
        file: file.open.node().key(),
        place: (folder.key(), name.to_vec()),
        path: file.known_as(),
        cache,
        remove_on_close: file.mode().contains(ModeFlags::DELETE_ON_CLOSE),
        is_going: file.goes(),
        is_persistent: durable.persistent.get().copied().unwrap_or(true),
        action: open.number.get().map(|number| number.action.0),
        lock_sequences: file.lock_sequences.all(),
    })
}

impl Successor for SharedService {
    fn client(&self, name: &[u8; 16]) -> Option<(ClientId, mpsc::UnboundedSender<BreakNotice>)> {
        let client = self.service.upgrade()?.client_of(*name);
        let known = (client.id, client.notices());
        self.inheriting.lock().clients.push(client);
        Some(known)
    }

    fn inherit(&self, lost: u16, inherited: Vec<(InheritedOpen, Arc<[u8]>)>) {
        let (Some(service), Ok(runtime)) = (self.service.upgrade(), tokio::runtime::Handle::try_current())
        else {
            // Not dropped here: that would ask for states while the node is used.
            return std::mem::forget(inherited);
        };
        self.inheriting.lock().servers.insert(lost);
        runtime.spawn_blocking(move || service.take_over(lost, inherited));
    }
}

impl Service {
    fn take_over(self: &Arc<Self>, lost: u16, inherited: Vec<(InheritedOpen, Arc<[u8]>)>) {
        let (count, mut restored) = (inherited.len(), 0);
        for (open, note) in inherited {
            match self.restore(open, &note) {
                Ok(()) => restored += 1,
                Err(status) => tracing::info!(?status, "a durable open of a lost server is not restored"),
            }
        }
        if count > 0 {
            tracing::info!(count, restored, "durable opens of a lost server wait for their clients here");
        }
        let Some(shared) = self.shared.get() else { return };
        let mut inheriting = shared.inheriting.lock();
        inheriting.servers.remove(&lost);
        let unused = match inheriting.servers.is_empty() {
            true => std::mem::take(&mut inheriting.clients),
            false => Vec::new(),
        };
        drop(inheriting);
        drop(unused); // a client may go with it, which takes other locks
    }

    /// Makes an open of what a lost server has noted.
    fn restore(self: &Arc<Self>, inherited: InheritedOpen, note: &[u8]) -> Result<(), Status> {
        let InheritedOpen { guard, lease } = inherited;
        let note = DurableNote::decode(note)?;
        let share = self.config().share(&note.share).cloned().ok_or(Status::BAD_NETWORK_NAME)?;
        let ShareKind::Disk { volume, .. } = &share.kind else { return Err(Status::BAD_NETWORK_NAME) };
        let grant = if note.read_only { auth::Grant::ReadOnly } else { auth::Grant::ReadWrite };
        let tree = Arc::new(Tree::new(0, share.clone(), grant));
        let found = volume.node(&note.file)?;
        let folder = of_entry(volume, &note.place.0, &note.place.1, &found)?;
        let (party, id, file) = (guard.party(), guard.id(), guard.file());
        let (uid, gid, groups) = &note.ids;
        let caller = Caller::new(*uid, *gid, groups);
        let profile = ClientProfile { is_blind_to_forks: note.blind, ..ClientProfile::default() };
        let actor = Actor::new(caller.clone(), party).with_profile(profile);
        let place = Beside { folder: &folder.object, name: &note.place.1 };
        let restored = TakenOver { place, remove_on_close: note.remove_on_close, is_going: note.is_going };
        let open = vfs::Open::restore(volume, &actor, &found, guard, &restored)?;
        let wrapped = File::new(open, None, &note.path, ModeFlags(note.mode), &tree);
        let wrapped = if note.is_posix { wrapped.with_posix() } else { wrapped };
        wrapped.set_going(note.is_going);
        wrapped.lock_sequences.restore(note.lock_sequences);
        let (name, guest, anonymous) = (note.user.clone(), note.guest, note.anonymous);
        let user = Arc::new(User { name, caller, guest, anonymous });
        let what = OpenedObject::File(Box::new(wrapped));
        let open = Open::without_session(note.persistent, &tree, AccessMask(note.granted), what);
        let open = Arc::new(open);
        let client = self.inheriting(party.client).ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
        let timeout = MAX_TIMEOUT.min(Duration::from_millis(note.timeout_ms.into()));
        let durable = Durable {
            timeout,
            create_guid: note.create_guid,
            client: client.clone(),
            user: user.clone(),
            by_handle: note.cache.is_some(),
            persistent: OnceLock::from(note.is_persistent),
            told: OnceLock::new(),
        };
        let _ = open.durable.set(durable); // a new open has none
        let lease = lease.zip(note.cache);
        let lease_id = lease.as_ref().map(|(lease, _)| lease.id());
        match lease {
            Some((lease, note)) => restore_cache(&client, &open, lease, note)?,
            None if note.is_persistent => {}
            None => return Err(Status::OBJECT_NAME_NOT_FOUND),
        }
        self.durables.hold(&open, user, timeout, UnverifiedOpen { volume: volume.clone(), file, open: id });
        // It is held before a repeated CREATE finds it, which may close it.
        if let Some((guid, action)) = note.create_guid.zip(note.action).filter(|_| note.is_persistent) {
            Creations::restore(&client, guid, &open, Action(action))
                .inspect_err(|_| _ = self.durables.forget(&open))?;
        }
        // A recall that began before has found no open to close.
        let may_stay = |id| volume.site().state().undisturbed(file, id).contains(Caching::HANDLE);
        if !note.is_persistent && !lease_id.is_some_and(may_stay) {
            self.durables.forget(&open);
            return Err(Status::OBJECT_NAME_NOT_FOUND);
        }
        keep(self, &open);
        Ok(())
    }

    /// A client whose opens are being taken over.
    fn inheriting(&self, id: ClientId) -> Option<Arc<Client>> {
        let inheriting = self.shared.get()?.inheriting.lock();
        inheriting.clients.iter().find(|client| client.id == id).cloned()
    }
}

/// Gives an open the cache that it had at the lost server.
fn restore_cache(
    client: &Arc<Client>,
    open: &Arc<Open>,
    lease: Lease,
    note: CacheNote,
) -> Result<(), Status> {
    let key = open.file()?.open.guard().party().key.ok_or(Status::INVALID_PARAMETER)?;
    let kind = match note.lease {
        None => Kind::Oplock,
        Some(LeaseNote { version2, parent }) => Kind::Lease { version2, parent: parent.map(LeaseKey) },
    };
    let of = Of::open(open.file()?);
    let weak = Arc::downgrade(client);
    let cache = client.cache_or(key, || LeaseCache::restored(key, of.clone(), kind, note.epoch, weak));
    if !cache.is_of(&of) || cache.kind() != kind {
        return Err(Status::INVALID_PARAMETER);
    }
    cache.add(open);
    let _ = open.held.set(CacheReference { lease, cache, client: client.clone() }); // a new open has none
    Ok(())
}

/// The folder of a file, if the file still has this name in it.
fn of_entry(volume: &Volume, folder: &HostKey, name: &[u8], file: &Found) -> Result<Found, Status> {
    let folder = volume.node(folder)?;
    let there = folder.object.lookup(&Caller::root(), name)?;
    match there.object.id() == file.object.id() {
        true => Ok(folder),
        false => Err(Status::OBJECT_NAME_NOT_FOUND),
    }
}

/// Waits until the server that has an open is lost, and this one has taken over what it inherits. That server is the one
/// that has made it, or a successor.
pub(in crate::server) async fn wait_for_loss(context: &Context, persistent: u64) -> Result<(), Status> {
    let Some(shared) = context.service().shared.get() else { return Ok(()) };
    if home(persistent) == shared.replicas.server() {
        return Ok(());
    }
    let until = Instant::now() + LOST_WITHIN;
    let is_here = || context.service().durables.has(persistent);
    let others = || shared.replicas.has_others() || !shared.inheriting.lock().servers.is_empty();
    let may_come = || !is_here() && others();
    let lost = async {
        while may_come() && Instant::now() < until {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    context.wait(lost).await
}

/// Waits until this server has inherited the open that a CREATE of this client has made at a lost server. False: it has not.
pub(in crate::server) async fn wait_for_create(context: &Context, guid: [u8; 16]) -> Result<bool, Status> {
    let Some(shared) = context.service().shared.get() else { return Ok(false) };
    let client = context.session().client();
    let until = Instant::now() + LOST_WITHIN;
    let may_come = || shared.replicas.has_others() || !shared.inheriting.lock().servers.is_empty();
    let lost = async {
        while !client.creations.has(&guid) && may_come() && Instant::now() < until {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        client.creations.has(&guid)
    };
    context.wait(lost).await
}

/// An inherited open is in the state of its file; else it is forgotten.
pub(in crate::server) async fn verify(context: &Context, persistent: u64) -> Result<(), Status> {
    let durables = &context.service().durables;
    let Some(UnverifiedOpen { volume, file, open }) = durables.unverified(persistent) else { return Ok(()) };
    let until = Instant::now() + VERIFIED_WITHIN;
    let verify = async {
        let state = volume.site().state();
        while Instant::now() < until {
            let _late = timeout_at(until, state.bring(file)).await;
            match state.has_open(file, open) {
                Ok(is_there) => return durables.is_verified(persistent, is_there),
                Err(_) => tokio::time::sleep(LOOK_EVERY).await, // it has left at once, or not all servers have said what they have
            }
        }
    };
    context.wait(verify).await
}
