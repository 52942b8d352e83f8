//! A frame's requests, one after the other, MS-SMB2 3.3.5.2.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use conn::observe::{self, RunningOperation};
use conn::{InFlight, Reply as Frame};
use lock::Mutex;
use vfs::Payload;

use super::connection::{Connection, unseal};
use super::context::{Context, Failure, IncomingRequest, Outcome, Reply, RequestScope, TreeScope, poll_once};
use super::dispatch::CommandScope;
use super::output::ChainOutput;
use crate::ranks;
use crate::server::clients::session::{Channel, Session};
use crate::server::clients::tree::Tree;
use crate::server::files::facts::Facts;
use crate::server::files::write::EarlyFileWrite;
use crate::server::login::admit::{self, Admission, RequestOrigin};
use crate::server::login::negotiate;
use crate::wire::Status;
use crate::wire::frame::{Kind, PREFIX_LEN};
use crate::wire::header::{Command, Flags, Header, Id};
use crate::wire::values::FileKey;

/// After this time the client is told that its request is pending.
const SLOW: Duration = Duration::from_millis(500);

/// The connection must end.
struct Abort;

/// The answer to one frame: runs its requests one after the other.
pub(super) async fn answer(
    connection: Arc<Connection>,
    mut frame: BytesMut,
    early: Option<EarlyFileWrite>,
    in_flight: InFlight,
) -> Option<Frame> {
    frame.advance(PREFIX_LEN);
    let message = frame;
    let (mut rest, sealed) = match Kind::of(&message) {
        Some(Kind::Smb2) => (message, None),
        Some(Kind::Transform) => match unseal(&connection, message) {
            Some((plain, channel)) if Kind::of(&plain) == Some(Kind::Smb2) => (plain, Some(channel)),
            _ => return abort(&connection),
        },
        Some(Kind::Smb1) => {
            return negotiate::upgrade(&connection, &message).or_else(|| abort(&connection));
        }
        Some(Kind::Compressed) | None => return abort(&connection),
    };
    let mut chain = Chain { early, ..Chain::new(connection.clone(), in_flight, sealed) };
    loop {
        let Ok((header, request, last)) = take_request(&mut rest) else { return abort(&connection) };
        if let Err(Abort) = chain.request(header, request, last).await {
            return abort(&connection);
        }
        if last {
            break;
        }
    }
    let frame = chain.output.lock().finish();
    frame.unwrap_or_else(|()| abort(&connection))
}

/// The header and the tree of a WRITE that is alone in its frame, has arrived in part, and may be executed as far as is known
/// then. That is so if it is neither signed nor sealed, and not a repetition.
pub(super) fn admit_early(connection: &Connection, arrived: &[u8]) -> Option<(Header, TreeScope)> {
    const OTHERS: [Flags; 5] = [Flags::RESPONSE, Flags::ASYNC, Flags::RELATED, Flags::SIGNED, Flags::REPLAY];
    if Kind::of(arrived) != Some(Kind::Smb2) {
        return None;
    }
    let header = Header::decode(arrived).ok()?;
    let is_other = OTHERS.iter().any(|flag| header.flags.contains(*flag));
    if header.command != Command::WRITE || header.next_command != 0 || is_other {
        return None;
    }
    connection.negotiated()?;
    let charge = charge_of(connection, &header);
    if !connection.window.lock().may_take(header.message_id, charge) {
        return None;
    }
    let origin = RequestOrigin { sealed: None, related: false, first: true };
    match admit::judge(connection, &header, arrived, &origin) {
        (Admission::Tree(scope), None) => Some((header, scope)),
        _ => None,
    }
}

/// How many message ids a request takes.
fn charge_of(connection: &Connection, header: &Header) -> u16 {
    match connection.negotiated() {
        Some(negotiated) if negotiated.dialect.has_large_mtu() => header.credit_charge,
        _ => 1, // the field has no meaning before 2.1
    }
}

/// Ends the connection. There is no answer.
fn abort(connection: &Connection) -> Option<Frame> {
    tracing::debug!(peer = %connection.peer.address, "a message that ends its connection");
    connection.close();
    None
}

/// Takes the first request of a chain: its header, its bytes from the header on, and whether it is the last one.
fn take_request(rest: &mut BytesMut) -> Result<(Header, BytesMut, bool), Abort> {
    let header = Header::decode(rest).map_err(|_| Abort)?;
    if header.flags.contains(Flags::RESPONSE) {
        return Err(Abort);
    }
    match header.next_command as usize {
        0 => Ok((header, std::mem::take(rest), true)),
        next if next.is_multiple_of(8) && next >= Header::LEN && next < rest.len() => {
            Ok((header, rest.split_to(next), false))
        }
        _ => Err(Abort),
    }
}

/// Requests that came in one frame. A related request uses the session, tree and file of the
/// request before it.
struct Chain {
    connection: Arc<Connection>,
    in_flight: InFlight,
    /// The part that is written already of the only request.
    early: Option<EarlyFileWrite>,
    /// Whose key sealed the frame.
    sealed: Option<Arc<Channel>>,
    output: Arc<Mutex<ChainOutput, ranks::SmbOutput>>,
    session_id: u64,
    tree_id: u32,
    file: Option<FileKey>,
    /// The facts about that file that the request before found.
    facts: Option<Box<(FileKey, Facts)>>,
    /// Why the request before failed.
    failed: Option<Status>,
    /// A request of the frame has begun: the next one is not the first.
    has_begun: bool,
}

impl Chain {
    fn new(connection: Arc<Connection>, in_flight: InFlight, sealed: Option<Arc<Channel>>) -> Self {
        Self {
            connection,
            in_flight,
            early: None,
            output: Arc::new(Mutex::new(ChainOutput::new(sealed.clone()))),
            sealed,
            session_id: 0,
            tree_id: 0,
            file: None,
            facts: None,
            failed: None,
            has_begun: false,
        }
    }

    /// Runs one request, unless it ends the connection.
    async fn request(&mut self, mut header: Header, message: BytesMut, last: bool) -> Result<(), Abort> {
        let first = !std::mem::replace(&mut self.has_begun, true);
        let client = self.connection.peer.address;
        let begun = observe::begin("smb", client, || command_name(header.command));
        if header.command == Command::CANCEL {
            if admit::may_cancel(&self.connection, &header, &message, self.sealed.is_some()) {
                self.connection.requests.cancel(header.async_id(), header.message_id);
            }
            if let Some(begun) = &begun {
                let session = self.connection.channel(header.session_id).map(|found| found.session.clone());
                let cancel = RequestRecord { session, tree: None, status: Status::SUCCESS, bytes_out: 0 };
                cancel.observed(begun, message.len());
            }
            return Ok(());
        }
        let negotiated = self.connection.negotiated();
        let charge = charge_of(&self.connection, &header);
        if !self.connection.window.lock().take(header.message_id, charge) {
            return Err(Abort);
        }
        // NEGOTIATE is the only command allowed before a dialect is agreed on, and it is allowed
        // only then.
        if negotiated.is_none() != (header.command == Command::NEGOTIATE) {
            return Err(Abort);
        }
        let related = header.flags.contains(Flags::RELATED);
        if related {
            header.session_id = self.session_id;
            header.id = Id::Sync { reserved: 0, tree: self.tree_id };
        }
        let origin = RequestOrigin { sealed: self.sealed.as_ref(), related, first };
        let (admission, signer) = admit::judge(&self.connection, &header, &message, &origin);
        let request = IncomingRequest {
            connection: self.connection.clone(),
            in_flight: self.in_flight.clone(),
            header,
            message: message.freeze(),
            early: self.early.take(),
            signer,
            sealed: self.sealed.is_some(),
            related_file: self.file.filter(|_| related),
            facts_before: self.facts.take().filter(|_| related),
            output: self.output.clone(),
            last,
            waiting: Mutex::default(),
            counted: Mutex::default(),
        };
        let begun = begun.as_ref();
        match admission {
            Admission::Connection(scope) => self.execute(&Context { scope, request }, charge, begun).await,
            Admission::Session(scope) => self.execute(&Context { scope, request }, charge, begun).await,
            Admission::Tree(scope) => self.execute(&Context { scope, request }, charge, begun).await,
            Admission::Refused(scope, status) => {
                self.end(&Context { scope, request }, charge, begun, Err(status.into()));
            }
        }
        Ok(())
    }

    /// Executes an admitted request. The client is told if that is slow.
    async fn execute<S: CommandScope>(
        &mut self,
        context: &Context<S>,
        charge: u16,
        begun: Option<&RunningOperation>,
    ) {
        let is_related = context.header.flags.contains(Flags::RELATED);
        let needs_open = context.header.command.properties().on_open;
        let outcome = match self.failed.filter(|_| is_related && needs_open && self.file.is_none()) {
            Some(status) => Err(status.into()),
            None => {
                let executed = async {
                    let mut running = S::run(context);
                    if let Some(outcome) = poll_once(running.as_mut()) {
                        return outcome;
                    }
                    let outcome = match tokio::time::timeout(SLOW, running.as_mut()).await {
                        Ok(outcome) => outcome,
                        Err(_) => {
                            context.is_slow();
                            running.await
                        }
                    };
                    // Others may have changed the file in the meantime.
                    outcome.map(|reply| Reply { facts: None, ..reply })
                };
                observe::within(begun, pin!(executed)).await
            }
        };
        self.end(context, charge, begun, outcome);
    }

    /// Answers a request, and keeps what the next one uses.
    fn end<S: RequestScope>(
        &mut self,
        context: &Context<S>,
        charge: u16,
        begun: Option<&RunningOperation>,
        mut outcome: Outcome,
    ) {
        if context.header.command.properties().ends_leases
            && let Some(channel) = context.scope.channel()
        {
            channel.session.client().deliver();
        }
        self.facts = outcome.as_mut().ok().and_then(|reply| reply.facts.take());
        self.note(&context.header, &outcome);
        let mut reply = outcome.unwrap_or_else(|failure| refusal(&failure));
        let mut output = self.output.lock();
        if !output.has_room(reply.body.len() + reply.data.as_ref().map_or(0, Payload::len)) {
            reply = refusal(&Status::INSUFFICIENT_RESOURCES.into());
        }
        let (header, signer) = self.response_header(context, charge, &mut reply, &mut output);
        let bytes_out = Header::LEN + reply.body.len() + reply.data.as_ref().map_or(0, Payload::len);
        output.reserved.join(reply.reserved);
        output.push(&header, &reply.body, reply.data, signer);
        drop(output);
        if let Some(begun) = begun {
            let (session, tree) = self.concerned(context);
            let record = RequestRecord { session, tree, status: reply.status, bytes_out };
            record.observed(begun, context.message.len());
        }
    }

    /// The session and the tree of an answered request: SESSION_SETUP and TREE_CONNECT have made them.
    fn concerned<S: RequestScope>(&self, context: &Context<S>) -> (Option<Arc<Session>>, Option<Arc<Tree>>) {
        let session = match context.header.command {
            Command::SESSION_SETUP => {
                self.connection.channel(self.session_id).map(|channel| channel.session.clone())
            }
            _ => context.scope.channel().map(|channel| channel.session.clone()),
        };
        let tree = match (context.header.command, &session) {
            (Command::TREE_CONNECT, Some(session)) => session.trees.find(self.tree_id),
            _ => context.scope.tree().cloned(),
        };
        (session, tree)
    }

    /// Keeps the session, tree and file that the next, related request uses.
    fn note(&mut self, header: &Header, outcome: &Outcome) {
        if !header.flags.contains(Flags::RELATED) {
            self.file = None;
        }
        (self.session_id, self.tree_id) = (header.session_id, header.tree_id());
        match outcome {
            Ok(reply) => {
                self.failed = reply.status.is_error().then_some(reply.status);
                self.file = reply.file.or(self.file);
                if let Some(also) = &reply.also {
                    self.session_id = also.session_id.unwrap_or(self.session_id);
                    self.tree_id = also.tree_id.unwrap_or(self.tree_id);
                }
            }
            Err(failure) => {
                self.failed = Some(failure.status);
                if header.command == Command::CREATE {
                    self.file = None;
                }
            }
        }
    }

    /// The header of a response, and the session whose key signs it.
    fn response_header(
        &self,
        context: &IncomingRequest,
        charge: u16,
        reply: &mut Reply,
        output: &mut ChainOutput,
    ) -> (Header, Option<Arc<Channel>>) {
        let request = &context.header;
        let (id, credits) = match output.async_id.take() {
            Some(id) => (Id::Async(id), 0),
            None => {
                let credits = self.connection.window.lock().grant(request.credits, charge);
                (request.id, credits)
            }
        };
        let mut header = Header { id, ..request.response(reply.status, credits) };
        let mut signer = context.signer.clone();
        if let Some(also) = reply.also.take() {
            header.session_id = also.session_id.unwrap_or(header.session_id);
            if let (Some(tree), Id::Sync { reserved, .. }) = (also.tree_id, header.id) {
                header.id = Id::Sync { reserved, tree };
            }
            signer = also.signer.or(signer);
            output.preauth = also.preauth;
        }
        if signer.is_some() {
            header.flags |= Flags::SIGNED;
        }
        (header, signer)
    }
}

/// What observers are told of a request that has ended.
struct RequestRecord {
    session: Option<Arc<Session>>,
    tree: Option<Arc<Tree>>,
    status: Status,
    bytes_out: usize,
}

impl RequestRecord {
    fn observed(&self, begun: &RunningOperation, bytes_in: usize) {
        let user = self.session.as_ref().map(|session| session.user());
        begun.end(&observe::Outcome {
            user: user.as_ref().map_or("", |user| &user.name),
            share: self.tree.as_ref().map_or("", |tree| &tree.share.name[..]),
            result: &format!("{:?}", self.status),
            failed: self.status.is_error(),
            bytes_in,
            bytes_out: self.bytes_out,
        });
    }
}

fn command_name(command: Command) -> Cow<'static, str> {
    command.properties().name.map_or_else(|| format!("command {}", command.0).into(), Cow::Borrowed)
}

/// An error response, MS-SMB2 2.2.2.
fn refusal(failure: &Failure) -> Reply {
    let body = Reply::encoded(|w| failure.body.encode(w)).body;
    Reply { status: failure.status, body, ..Reply::default() }
}
