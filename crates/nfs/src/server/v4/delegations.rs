//! Delegations, RFC 8881 10.4 and 10.9: leases of the tree that a client of minor version 1 holds as a whole. It may read, or read and
//! write, in its cache until the server recalls it.
//!
//! ```text
//! OPEN ─► grant ─► lease of the tree ─── another client's operation ───► BreakNotice ─► CB_RECALL ─► the client writes,
//!                                                                                      opens, locks ─► DELEGRETURN ─► none
//!                        └─ no answer until the deadline ─► revoked ─► FREE_STATEID ─► none
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use lock::Mutex;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};
use vfs::state::{BreakNotice, Caching, Lease, LeaseId, LeaseRequest, Modes, Party, Style};
use vfs::{Actor, Beside, Caller, FileId};

use super::attributes::change;
use super::backchannel::CallbackOutcome;
use super::client::Client;
use super::compound::Compound;
use super::fail::Fail;
use super::gone;
use super::place::HandleTarget;
use super::principal::{Principal, may_end};
use super::sessions::Session;
use super::states::{OpenState, State, StateidNumbers, TreeOpen};
use super::wanting::WhyNoDelegation;
use crate::ranks;
use crate::server::Service;
use crate::server::clients::NFS_CLIENT;
use crate::server::handle::HandleContent;
use crate::wire::v4::callbacks::{Ask, CachedAttributes, Callback, OpenDelegation, Recall};
use crate::wire::v4::sessions::{CALLBACK_PATH_DOWN, DELEGATIONS_REVOKED};
use crate::wire::v4::types::{FileHandle, StateId, Status};

/// How long nothing is granted on a file after a recall: it is used by several clients.
const SHARED_FOR: Duration = Duration::from_secs(30);
/// The most files that are remembered as such.
const MOST_SHARED: usize = 4096;
/// The most delegations of all clients; in tests fewer, which are granted quickly.
const MOST: usize = if cfg!(test) { 64 } else { 65_536 };
/// Clients that wait until there are delegations again are told when there are so many fewer.
const ROOM: usize = MOST / 16;
/// The pauses before a client is asked again that wants to be asked later, or cannot be reached; the last one repeats.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
];
/// How often a client is asked, beside once for each two seconds of its lease. The tree takes the delegation back before that.
const MOST_CALLS: usize = 32;

/// What a delegation allows its holder to do in its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Reading a file.
    Read,
    /// Reading and writing a file.
    Write,
    /// Listing a folder.
    Folder,
    /// The same, and the client is told of changes of entries.
    ToldFolder,
}

/// A delegation.
pub(super) struct Delegation {
    pub(super) numbers: StateidNumbers,
    pub(super) named: HandleContent,
    pub(super) file: FileId,
    pub(super) party: Party,
    pub(super) allows: Use,
    /// Who may return it; `None`: every user of the client, which has got it without a request.
    holder: Option<Principal>,
    /// The change attribute that the client knows.
    pub(super) change: u64,
    /// The file handle that the client knows the file by.
    handle: Vec<u8>,
    /// `None`: it is returned or revoked, or was reclaimed only to be returned.
    lease: Mutex<Option<Lease>, ranks::Nfs4Open>,
    is_revoked: AtomicBool,
    /// Told when the lease is given back.
    ended: Notify,
}

impl Delegation {
    /// Its stateid, which never changes.
    pub(super) fn stateid(&self) -> StateId {
        self.numbers.stateid(1)
    }

    /// Whether a request that names it may use it: DELEG_REVOKED or a stateid that is not this one.
    pub(super) fn check(&self, sent: Option<u32>) -> Result<(), Status> {
        match sent {
            _ if self.is_lost() => Err(Status::DELEG_REVOKED),
            None | Some(1) => Ok(()),
            Some(_) => Err(Status::BAD_STATEID),
        }
    }

    /// A caller that acts by it, without an open.
    pub(super) fn acting(&self, caller: &Caller) -> Actor {
        Actor::new(caller.clone(), self.party).with_profile(NFS_CLIENT)
    }

    /// The access that it stands for.
    pub(super) fn modes(&self) -> Modes {
        match self.allows {
            Use::Read => Modes::READ,
            Use::Write => Modes::READ.union(Modes::WRITE),
            Use::Folder | Use::ToldFolder => Modes::NONE,
        }
    }

    /// What the client is asked for.
    fn recall(&self) -> Recall<'_> {
        Recall { state: self.stateid(), truncate: false, handle: self.handle() }
    }

    /// What the client gets. One that `is_recalled` it returns at once.
    pub(super) fn granted(&self, is_recalled: bool) -> OpenDelegation {
        OpenDelegation { state: self.stateid(), writes: self.allows == Use::Write, is_recalled }
    }

    /// The question for the attributes that the client may have changed in its cache.
    pub(super) fn ask(&self) -> Ask<'_> {
        Ask { handle: self.handle(), wanted: CachedAttributes::wanted() }
    }

    /// Gives the lease back to the tree.
    pub(super) fn give_back(&self) {
        let lease = self.lease.lock().take();
        drop(lease);
        self.ended.notify_one();
    }

    /// Waits until it is returned or revoked. One task may wait.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// The handle of the file as the client knows it.
    pub(super) fn handle(&self) -> FileHandle<'_> {
        FileHandle::new(&self.handle)
    }

    pub(super) fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Acquire)
    }

    /// Whether the tree has taken the lease. The notice of it may come later.
    fn is_lost(&self) -> bool {
        let is_taken = |lease: &Lease| lease.caching() == Caching::NONE;
        self.is_revoked() || self.lease.lock().as_ref().is_some_and(is_taken)
    }

    pub(super) fn is_held(&self) -> bool {
        self.lease.lock().is_some()
    }
}

/// All delegations of a server.
pub(in crate::server) struct Delegations {
    table: Mutex<DelegationTable, ranks::Nfs4Delegations>,
    notices: UnboundedSender<BreakNotice>,
    /// Taken by the task that reads it.
    unread: Mutex<Option<UnboundedReceiver<BreakNotice>>, ranks::Nfs4Notices>,
    is_watched: OnceLock<()>,
}

#[derive(Default)]
struct DelegationTable {
    by_lease: HashMap<LeaseId, (Weak<Client>, Arc<Delegation>)>,
    /// The delegations to write.
    to_write: HashMap<FileId, LeaseId>,
    /// Files whose delegations were recalled, and when.
    shared: HashMap<FileId, Instant>,
}

impl Default for Delegations {
    fn default() -> Self {
        let (notices, unread) = unbounded_channel();
        let unread = Mutex::new(Some(unread));
        Self { table: Mutex::default(), notices, unread, is_watched: OnceLock::new() }
    }
}

impl DelegationTable {
    fn remove(&mut self, lease: LeaseId) {
        if let Some((_, delegation)) = self.by_lease.remove(&lease)
            && self.to_write.get(&delegation.file) == Some(&lease)
        {
            self.to_write.remove(&delegation.file);
        }
    }

    fn is_shared(&self, file: FileId) -> bool {
        self.shared.get(&file).is_some_and(|since| since.elapsed() < SHARED_FOR)
    }

    fn note_shared(&mut self, file: FileId) {
        if self.shared.len() >= MOST_SHARED {
            self.shared.retain(|_, since| since.elapsed() < SHARED_FOR);
        }
        if self.shared.len() < MOST_SHARED {
            self.shared.insert(file, Instant::now());
        }
    }
}

impl Delegations {
    fn forget(&self, delegation: &Delegation) {
        let id = delegation.lease.lock().as_ref().map(Lease::id);
        if let Some(id) = id {
            self.table.lock().remove(id);
        }
    }

    /// Whether no more can be granted.
    pub(super) fn is_full(&self) -> bool {
        self.table.lock().by_lease.len() >= MOST
    }

    /// Whether a delegation of the file was recalled a short time ago.
    pub(super) fn is_contended(&self, file: FileId) -> bool {
        self.table.lock().is_shared(file)
    }

    /// How many more can be granted, if these are worth telling.
    pub(super) fn room(&self) -> Option<usize> {
        Some(MOST - self.table.lock().by_lease.len()).filter(|&room| room >= ROOM)
    }

    /// The delegation to write of a file, and the client that has it. The number may have been that of a file that is gone.
    pub(super) fn to_write(
        &self,
        file: FileId,
        named: &HandleContent,
    ) -> Option<(Arc<Client>, Arc<Delegation>)> {
        let table = self.table.lock();
        let (client, delegation) = table.by_lease.get(table.to_write.get(&file)?)?;
        let is_it = delegation.named.key == named.key;
        Some((client.upgrade().filter(|_| is_it)?, delegation.clone()))
    }
}

/// What a delegation by this open is to be.
pub(super) fn grant_by(open: &OpenState, allows: Use) -> Result<(Arc<vfs::Open>, Grant), WhyNoDelegation> {
    let holder = Some(open.opener);
    let wanted = Grant { named: open.named, file: open.file, party: open.party, allows, holder };
    match open.held.lock().as_ref() {
        Some(TreeOpen::Open(open)) => Ok((open.clone(), wanted)),
        Some(TreeOpen::Sidecar { .. }) => Err(WhyNoDelegation::NotOfThisType),
        None => Err(WhyNoDelegation::NoResource),
    }
}

impl Compound<'_> {
    /// Whether the server can call the client of this request.
    pub(super) fn is_callable(&self, client: &Client) -> bool {
        match &self.sequenced {
            Some(sequenced) => sequenced.session().is_callable(self.call.service),
            None => client.is_callable(),
        }
    }
}

/// A delegation that a client wants.
pub(super) struct Grant {
    pub(super) named: HandleContent,
    pub(super) file: FileId,
    pub(super) party: Party,
    pub(super) allows: Use,
    pub(super) holder: Option<Principal>,
}

impl Grant {
    /// Without a lease, it is one that the client has to return.
    pub(super) fn delegation(
        &self,
        numbers: StateidNumbers,
        change: u64,
        handle: Vec<u8>,
        lease: Option<Lease>,
    ) -> Delegation {
        let &Self { named, file, party, allows, holder } = self;
        Delegation {
            numbers,
            named,
            file,
            party,
            allows,
            holder,
            change,
            handle,
            lease: Mutex::new(lease),
            is_revoked: AtomicBool::new(false),
            ended: Notify::new(),
        }
    }
}

/// Grants a delegation of a file or folder that is open here, if no other client uses it, and it is still where the client has
/// found it.
pub(super) fn grant(
    service: &Arc<Service>,
    client: &Arc<Client>,
    (open, at): (&vfs::Open, Option<Beside<'_>>),
    wanted: &Grant,
) -> Result<Arc<Delegation>, WhyNoDelegation> {
    let &Grant { named, file, party, allows, .. } = wanted;
    let delegations = &service.nfs4.delegations;
    if let Some(former) = client.former_delegation(file, &named.key) {
        client.forget_delegation(&former);
        release(service, &former);
    }
    let handle = named.seal(&service.secret).as_bytes().to_vec();
    watch(service);
    // A break of the new lease finds the delegation in the table.
    let mut table = delegations.table.lock();
    if table.by_lease.len() >= MOST {
        return Err(WhyNoDelegation::NoResource);
    }
    match client.delegation_of(file, &named.key).map(|held| held.allows) {
        None => {}
        Some(Use::Read) if allows == Use::Write => return Err(WhyNoDelegation::NoUpgrade),
        Some(Use::Write) if allows == Use::Read => return Err(WhyNoDelegation::NoDowngrade),
        Some(_) => return Err(WhyNoDelegation::NoResource), // it has this one
    }
    if table.is_shared(file) {
        return Err(WhyNoDelegation::Contention);
    }
    let want = if allows == Use::Write { Caching::ALL } else { Caching::READ.union(Caching::HANDLE) };
    let notices = delegations.notices.clone();
    let style = if allows == Use::ToldFolder { Style::Told } else { Style::Whole };
    let lease = open.lease(&LeaseRequest { party, want, style, notices });
    let lease = lease.map_err(|_| WhyNoDelegation::NoResource)?;
    if !lease.caching().contains(want) || !open.is_still_named(at) {
        return Err(WhyNoDelegation::Contention);
    }
    let id = lease.id();
    let change = change(open.attributes().map_err(|_| WhyNoDelegation::NoResource)?.changed);
    let delegation = client.add_delegation(|numbers| wanted.delegation(numbers, change, handle, Some(lease)));
    let delegation = delegation.map_err(|_| WhyNoDelegation::NoResource)?;
    table.by_lease.insert(id, (Arc::downgrade(client), delegation.clone()));
    if allows == Use::Write {
        table.to_write.insert(file, id);
    }
    Ok(delegation)
}

/// Begins to read the notices of breaks, unless that has begun.
fn watch(service: &Arc<Service>) {
    let delegations = &service.nfs4.delegations;
    if delegations.is_watched.set(()).is_err() {
        return;
    }
    // All volumes of a server have one state.
    if let Some(export) = service.exports().first() {
        // RFC 7530 10.4.6: not before the client had to renew its lease, and so to learn that it cannot be called.
        export.volume.state().give_delegations(service.nfs4.lease);
    }
    let unread = delegations.unread.lock().take();
    if let (Some(mut unread), Ok(runtime)) = (unread, tokio::runtime::Handle::try_current()) {
        let service = Arc::downgrade(service);
        runtime.spawn(async move {
            while let Some(notice) = unread.recv().await {
                let Some(service) = service.upgrade() else { return };
                heard(&service, &notice);
            }
        });
    }
}

/// The tree takes a lease back, or has taken it.
fn heard(service: &Arc<Service>, notice: &BreakNotice) {
    let mut table = service.nfs4.delegations.table.lock();
    table.note_shared(notice.file);
    let Some((client, delegation)) = table.by_lease.get(&notice.lease).cloned() else { return };
    let Some(client) = client.upgrade() else { return };
    if notice.revoked {
        table.remove(notice.lease);
        drop(table);
        delegation.is_revoked.store(true, Ordering::Release);
        delegation.give_back();
        if client.minor > 0 {
            client.revoked.fetch_add(1, Ordering::AcqRel);
        } else {
            client.forget_delegation(&delegation); // such a client cannot free it
        }
        tracing::info!(client = %client.name.escape_ascii(),
            "a client has not returned a delegation in time: it has lost it");
        return;
    }
    drop(table);
    if client.is_absent() {
        return service.end_client(&client);
    }
    let service = Arc::downgrade(service);
    tokio::spawn(async move { recall(&service, &client, &delegation).await });
}

/// Asks the client to return a delegation until it has done that, or the tree has taken the lease.
async fn recall(service: &Weak<Service>, client: &Client, delegation: &Delegation) {
    let most = service.upgrade().map_or(0, |service| MOST_CALLS + service.nfs4.lease_seconds() as usize / 2);
    for number in 0..most {
        let Some(service) = service.upgrade() else { return };
        if delegation.is_revoked() || client.state(delegation.numbers.state).is_err() {
            return;
        }
        if delegation.is_held() && gone::is_gone(&service, delegation) {
            release(&service, delegation);
        }
        if client.is_absent() {
            return service.end_client(client); // another client needs what it held
        }
        if call_back(&service, client, Callback::Recall(delegation.recall())).await
            == CallbackOutcome::Accepted
        {
            return;
        }
        drop(service);
        sleep(PAUSES[number.min(PAUSES.len() - 1)]).await;
    }
}

/// Calls a client over the first path on which it answers.
pub(super) async fn call_back(service: &Service, client: &Client, callback: Callback<'_>) -> CallbackOutcome {
    if client.minor == 0 {
        return client.call_back(service, callback).await;
    }
    for session in service.nfs4.sessions.of(client) {
        match session.call_back(service, callback).await {
            CallbackOutcome::Unreachable => {}
            answer => return answer,
        }
    }
    CallbackOutcome::Unreachable
}

/// The flags of SEQUENCE: what the client has to know of its delegations.
pub(super) fn flags(service: &Service, session: &Session) -> u32 {
    let client = &session.client;
    let mut flags = 0;
    if client.revoked.load(Ordering::Acquire) > 0 {
        flags |= DELEGATIONS_REVOKED;
    }
    if client.has_delegations() && !session.is_callable(service) {
        flags |= CALLBACK_PATH_DOWN;
    }
    flags
}

/// DELEGRETURN.
pub(super) fn give_back(compound: &Compound<'_>, state: &StateId) -> Result<(), Fail> {
    let named = match (&compound.gone, compound.current()) {
        (Some(gone), Err(_)) => gone.delegation.named,
        (_, place) => match &**place? {
            HandleTarget::File(target) => target.named,
            _ => return Err(Status::BAD_STATEID.into()),
        },
    };
    let sent = compound.sent(state);
    let (client, found) = compound.state(&sent)?;
    let State::Delegation(delegation) = found else { return Err(Status::BAD_STATEID.into()) };
    delegation.check(sent.sequence)?;
    delegation.holder.map_or(Ok(()), |holder| may_end(compound, &client, holder))?;
    if delegation.named != named {
        return Err(Status::BAD_STATEID.into());
    }
    client.forget_delegation(&delegation);
    release(compound.call.service, &delegation);
    Ok(())
}

/// FREE_STATEID of a delegation: the client has understood that it is lost.
pub(super) fn free(client: &Client, delegation: &Delegation) -> Result<(), Status> {
    if !delegation.is_revoked() {
        return Err(Status::LOCKS_HELD);
    }
    client.forget_delegation(delegation);
    client.revoked.fetch_sub(1, Ordering::AcqRel);
    Ok(())
}

/// Gives back what a delegation that is gone held in the tree.
pub(super) fn release(service: &Service, delegation: &Delegation) {
    service.nfs4.delegations.forget(delegation);
    delegation.give_back();
}
