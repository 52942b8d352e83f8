//! One request on its way through the server, and what comes of it.

use std::future::Future;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use conn::{InFlight, Reservation};
use lock::Mutex;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, ClientProfile, Holder, Payload};

use super::connection::Connection;
use super::output::ChainOutput;
use super::requests::RequestTicket;
use super::sequence::{Sequence, SequenceGuard};
use super::service::Service;
use crate::ranks;
use crate::server::clients::open::{Open, OpenedObject};
use crate::server::clients::session::{Channel, Session};
use crate::server::clients::tree::Tree;
use crate::server::files::facts::Facts;
use crate::server::files::mac;
use crate::server::files::write::EarlyFileWrite;
use crate::server::login::crypto::preauth::Preauth;
use crate::wire::header::{Command, Flags, Header};
use crate::wire::values::FileKey;
use crate::wire::{Status, error};
use wire::{Malformed, Writer};

/// Bytes that one credit pays for.
const CREDIT: u64 = 64 * 1024;
/// The room of a response's body: most are shorter.
const SHORT: usize = 96;

/// How long a request of a chain waits for memory when earlier requests of its chain hold some. Two
/// chains could otherwise wait for each other.
const MEMORY_WITHIN: Duration = Duration::from_secs(2);

/// What a command answers: the body that follows the header.
#[derive(Default)]
pub(super) struct Reply {
    /// `SUCCESS`, or a warning that comes with data, or an error whose response has a body of its own.
    pub(super) status: Status,
    /// Everything up to the data.
    pub(super) body: Vec<u8>,
    /// The data of a READ.
    pub(super) data: Option<Payload>,
    /// The file it was about, for the related requests that follow.
    pub(super) file: Option<FileKey>,
    /// The facts about that file that were found, for the related requests that follow.
    pub(super) facts: Option<Box<(FileKey, Facts)>>,
    /// Memory that was reserved for it.
    pub(super) reserved: Reservation,
    /// Fields that few responses have.
    pub(super) also: Option<Box<ResponseExtras>>,
}

/// What the responses to logins and tree connections have besides their bodies.
#[derive(Default)]
pub(super) struct ResponseExtras {
    /// The header's session id.
    pub(super) session_id: Option<u64>,
    /// The header's tree id.
    pub(super) tree_id: Option<u32>,
    /// The session whose key signs the response, if it is not the session of the request.
    pub(super) signer: Option<Arc<Channel>>,
    /// The preauthentication hash that takes in the response's bytes.
    pub(super) preauth: Option<Preauth>,
}

/// Why a request fails.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: Status,
    /// Error data, MS-SMB2 2.2.2; mostly none.
    pub(super) body: error::Response,
}

/// What comes of a command.
pub(super) type Outcome = Result<Reply, Failure>;

impl Reply {
    /// Success with this body.
    pub(super) fn of(body: Vec<u8>) -> Self {
        Self { status: Status::SUCCESS, body, ..Self::default() }
    }

    /// Success with the body that `encode` writes.
    pub(super) fn encoded(encode: impl FnOnce(&mut Writer)) -> Self {
        let mut writer = Writer::onto(Vec::with_capacity(SHORT));
        encode(&mut writer);
        Self::of(writer.into_bytes())
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self { status, body: error::Response::Empty }
    }
}

impl From<vfs::Error> for Failure {
    fn from(error: vfs::Error) -> Self {
        Status::from(error).into()
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        tracing::debug!(%malformed, "malformed request");
        Status::INVALID_PARAMETER.into()
    }
}

impl From<Malformed> for Status {
    fn from(malformed: Malformed) -> Self {
        tracing::debug!(%malformed, "malformed request");
        Self::INVALID_PARAMETER
    }
}

/// What a request has been admitted to: a session of its connection, a tree of that session, or neither.
pub(super) trait RequestScope: Send + Sync {
    /// The session as the connection has it.
    fn channel(&self) -> Option<&Arc<Channel>>;

    /// The tree.
    fn tree(&self) -> Option<&Arc<Tree>> {
        None
    }
}

/// Of a command that needs no session, and of a request that is refused. It may have one.
pub(super) struct ConnectionScope(pub(super) Option<Arc<Channel>>);

impl RequestScope for ConnectionScope {
    fn channel(&self) -> Option<&Arc<Channel>> {
        self.0.as_ref()
    }
}

/// Of a command that needs a session.
pub(super) struct SessionScope(pub(super) Arc<Channel>);

impl RequestScope for SessionScope {
    fn channel(&self) -> Option<&Arc<Channel>> {
        Some(&self.0)
    }
}

/// Of a command that needs a tree: all that are about files and pipes.
pub(super) struct TreeScope {
    pub(super) channel: Arc<Channel>,
    pub(super) tree: Arc<Tree>,
}

impl RequestScope for TreeScope {
    fn channel(&self) -> Option<&Arc<Channel>> {
        Some(&self.channel)
    }

    fn tree(&self) -> Option<&Arc<Tree>> {
        Some(&self.tree)
    }
}

/// A request in the scope that it was admitted to, which for most commands is a tree.
pub(super) struct Context<S = TreeScope> {
    pub(super) scope: S,
    pub(super) request: IncomingRequest,
}

impl<S> Deref for Context<S> {
    type Target = IncomingRequest;

    fn deref(&self) -> &IncomingRequest {
        &self.request
    }
}

/// A request with all facts that are known before its command runs, besides its scope.
pub(super) struct IncomingRequest {
    pub(super) connection: Arc<Connection>,
    pub(super) in_flight: InFlight,
    pub(super) header: Header,
    /// The request from its header on.
    pub(super) message: Bytes,
    /// The part of its data that is written already.
    pub(super) early: Option<EarlyFileWrite>,
    /// The session whose key signs the answer, because the request was signed.
    pub(super) signer: Option<Arc<Channel>>,
    /// It came encrypted.
    pub(super) sealed: bool,
    /// The file of the request before it, if this is a related request.
    pub(super) related_file: Option<FileKey>,
    /// The facts about that file, if the request before it found them and did not wait. They are
    /// still true: a request that changes something hands none on.
    pub(super) facts_before: Option<Box<(FileKey, Facts)>>,
    /// What the chain has answered so far.
    pub(super) output: Arc<Mutex<ChainOutput, ranks::SmbOutput>>,
    /// It is the last of its chain: it may be answered with an interim response.
    pub(super) last: bool,
    pub(super) waiting: Mutex<Option<RequestTicket>, ranks::SmbTicket>,
    /// Counts the request among those of its file, once the request has used the file.
    pub(super) counted: Mutex<Option<SequenceGuard>, ranks::SmbCounted>,
}

impl Context {
    /// The session.
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.scope.channel.session
    }

    /// The tree.
    pub(super) fn tree(&self) -> &Arc<Tree> {
        &self.scope.tree
    }

    /// The open that a request names; all ones in a related request is the file of the one before it. The rest of the
    /// request is about its file.
    pub(super) async fn open(&self, key: FileKey) -> Result<Arc<Open>, Status> {
        let key = match self.related_file {
            Some(file) if key == FileKey::ALL_ONES => file,
            _ => key,
        };
        let session = self.session();
        let open = session.opens.find(key).ok_or(Status::FILE_CLOSED)?;
        if !Arc::ptr_eq(&open.tree, self.tree()) {
            return Err(Status::FILE_CLOSED);
        }
        // Refuses a change that was sent before the client lost a channel, 3.3.5.2.10.
        if session.dialect.is_v3() {
            let mut counted = self.counted.lock();
            if counted.is_none() {
                *counted = Sequence::admit(&open.sequence, &self.header)?;
            }
        }
        if let Some(number) = open.number.get()
            && !self.header.flags.contains(Flags::REPLAY)
        {
            number.is_known();
        }
        if let OpenedObject::File(file) = &open.what {
            self.in_flight.about(&file.open.node().id()).await;
        }
        Ok(open)
    }

    /// The facts about an open file.
    pub(super) async fn facts(&self, open: &Open) -> Result<Facts, Status> {
        match &self.facts_before {
            Some(before) if before.0 == open.key => Ok(before.1.clone()),
            _ => Facts::of(open.file()?).await,
        }
    }

    /// The user whose permissions apply: that of the session, or the one that all users of the share act as.
    pub(super) fn caller(&self) -> Caller {
        let caller = self.session().user().caller.clone();
        match self.tree().volume() {
            Ok(volume) => volume.acting(caller),
            Err(_) => caller, // a pipe has no files
        }
    }

    /// With whose opens those of the client are counted. Guests prove nothing, not even that they are two.
    pub(super) fn holder(&self) -> Holder {
        let (user, address) = (self.session().user(), self.connection.peer.address.ip());
        match user.has_account() {
            true => Holder::user(address, user.caller.uid),
            false => Holder::guest(address),
        }
    }

    /// The actor of a request that does not act through an open.
    pub(super) fn actor(&self) -> Actor {
        let session = self.session();
        let actor = Actor::new(self.caller(), Party::client(session.client_id()));
        actor.with_profile(self.profile())
    }

    /// What the client knows of Mac metadata, as it has said so far.
    fn profile(&self) -> ClientProfile {
        ClientProfile { is_blind_to_forks: !self.is_mac(), ..ClientProfile::default() }
    }

    /// The client in the tree's tables.
    pub(super) fn client_id(&self) -> ClientId {
        self.session().client_id()
    }
}

impl Context<SessionScope> {
    /// The session.
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.scope.0.session
    }
}

impl<S: RequestScope> Context<S> {
    /// What the client of the session is, as far as it has said so.
    pub(super) fn mac(&self) -> mac::Kind {
        self.scope.channel().map_or(mac::Kind::Other, |channel| channel.session.mac.kind())
    }

    /// Whether the client expects POSIX behaviour: files and folders that are open can be renamed
    /// and replaced.
    pub(super) fn renames_like_posix(&self) -> bool {
        self.is_mac() || self.is_linux()
    }

    /// Whether the client is a Mac that has said so (create context AAPL).
    pub(super) fn is_mac(&self) -> bool {
        self.mac() != mac::Kind::Other
    }

    /// Waits for something that may take long. If it is not ready at once, the client gets an
    /// interim response (MS-SMB2 3.3.4.2) and may cancel. Inside a chain the client gets no interim
    /// response, and only the end of the connection cancels the wait.
    pub(super) async fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T, Status> {
        let mut future = pin!(future);
        if let Some(ready) = poll_once(future.as_mut()) {
            return Ok(ready);
        }
        self.service().tell_clients();
        if !self.last && self.header.command == Command::CHANGE_NOTIFY {
            // As Windows says: the requests after it would never run.
            return Err(Status::INTERNAL_ERROR);
        }
        let earlier = self.waiting.lock().take();
        let (message_id, session_id) = (self.header.message_id, self.header.session_id);
        let ticket = earlier.or_else(|| self.connection.requests.wait_for_others(message_id, session_id));
        let ticket = ticket.ok_or(Status::INSUFFICIENT_RESOURCES)?;
        self.tell_pending(ticket.id);
        let result = tokio::select! {
            biased;
            ready = future.as_mut() => Ok(ready),
            () = ticket.cancelled() => match ticket.is_orphaned() && self.may_be_asked_for_again() {
                true => Ok(future.await),
                false => Err(Status::CANCELLED),
            },
        };
        *self.waiting.lock() = Some(ticket); // the client has its async id
        result
    }

    /// Whether a client that has lost this connection may ask for the outcome over another one.
    /// MS-SMB2 3.2.5.1.6 tells clients to send such requests again.
    fn may_be_asked_for_again(&self) -> bool {
        let another = |channel: &Arc<Channel>| {
            channel.session.connections().iter().any(|connection| !Arc::ptr_eq(connection, &self.connection))
        };
        self.header.command == Command::CREATE && self.scope.channel().is_some_and(another)
    }
}

/// As [`IncomingRequest::may_transfer`], for a request that has not arrived in full.
pub(super) fn may_transfer(connection: &Connection, header: &Header, length: u32) -> Result<(), Status> {
    let negotiated = connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    if length > negotiated.max_transact {
        return Err(Status::INVALID_PARAMETER);
    }
    let paid = u64::from(header.credit_charge.max(1)) * CREDIT;
    match negotiated.dialect.has_large_mtu() && u64::from(length) > paid {
        true => Err(Status::INVALID_PARAMETER),
        false => Ok(()),
    }
}

impl IncomingRequest {
    /// What all connections share.
    pub(super) fn service(&self) -> &Arc<Service> {
        &self.connection.service
    }

    /// Whether the client is Linux: it has offered the POSIX extensions.
    pub(super) fn is_linux(&self) -> bool {
        self.connection.negotiated().is_some_and(|agreed| agreed.offers_posix)
    }

    /// Refuses transfers that are longer than agreed on, or than the request has paid for: MS-SMB2 3.3.5.2.5.
    pub(super) fn may_transfer(&self, length: u32) -> Result<(), Status> {
        may_transfer(&self.connection, &self.header, length)
    }

    /// Memory for the data of a file. Data that are in the page cache leave from there, unless they are signed or encrypted.
    pub(super) async fn reserve(
        &self,
        bytes: usize,
        is_resident: impl FnOnce() -> bool,
    ) -> Result<Reservation, Status> {
        let is_plain = !self.sealed && self.signer.is_none();
        let reserve = self.connection.peer.memory.reserve_unless(bytes, || is_plain && is_resident());
        let is_alone = self.output.lock().reserved.bytes() == 0;
        let reserved = match is_alone {
            true => reserve.await,
            false => tokio::time::timeout(MEMORY_WITHIN, reserve).await.ok().flatten(),
        };
        reserved.ok_or(Status::INSUFFICIENT_RESOURCES)
    }

    /// Tells the client, once, that the answer will take a while. The chain's answers so far are
    /// sent first.
    fn tell_pending(&self, id: u64) {
        let mut output = self.output.lock();
        if !self.last || output.async_id.is_some() {
            return;
        }
        output.async_id = Some(id);
        self.connection.send_interim(self, &mut output, id);
    }

    /// The same for a request that is merely slow.
    pub(super) fn is_slow(&self) {
        if self.output.lock().async_id.is_some() {
            return;
        }
        let ticket = self.connection.requests.wait(self.header.message_id, self.header.session_id);
        self.tell_pending(ticket.id);
        *self.waiting.lock() = Some(ticket);
    }
}

/// The result of a future that is ready at its first poll.
pub(super) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(ready) => Some(ready),
        Poll::Pending => None,
    }
}
