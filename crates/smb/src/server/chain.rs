//! A frame's requests, one after the other, MS-SMB2 3.3.5.2.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use conn::Reply as Frame;
use parking_lot::Mutex;

use super::connection::{Connection, unseal};
use super::context::{Context, Failure, Outcome, Reply, poll_once};
use super::output::Output;
use super::session::Channel;
use super::tree::Tree;
use super::{dispatch, negotiate};
use crate::wire::Status;
use crate::wire::frame::{Kind, PREFIX_LEN};
use crate::wire::header::{Command, Flags, Header, Id};
use crate::wire::values::FileKey;

/// How long a client is left without a word on a request.
const SLOW: Duration = Duration::from_millis(500);

/// The connection must end.
struct Abort;

/// The answer to one frame.
pub(super) async fn answer(connection: Arc<Connection>, mut frame: BytesMut) -> Option<Frame> {
    let message = frame.split_off(PREFIX_LEN);
    let answered = match Kind::of(&message) {
        Some(Kind::Smb2) => Chain::new(connection.clone(), None).run(message).await,
        Some(Kind::Transform) => match unseal(&connection, message) {
            Some((plain, channel)) if Kind::of(&plain) == Some(Kind::Smb2) => {
                Chain::new(connection.clone(), Some(channel)).run(plain).await
            }
            _ => Err(Abort),
        },
        Some(Kind::Smb1) => negotiate::upgrade(&connection, &message).map(Some).ok_or(Abort),
        Some(Kind::Compressed) | None => Err(Abort),
    };
    answered.unwrap_or_else(|Abort| {
        tracing::debug!(peer = %connection.peer.address, "a message that ends its connection");
        connection.close();
        None
    })
}

/// Requests that came in one frame. Related ones go on with what the one before had.
struct Chain {
    connection: Arc<Connection>,
    /// Whose key sealed the frame.
    sealed: Option<Arc<Channel>>,
    output: Arc<Mutex<Output>>,
    session_id: u64,
    tree_id: u32,
    file: Option<FileKey>,
    /// Why the request before failed.
    failed: Option<Status>,
    /// How many requests there were before this one.
    position: usize,
}

impl Chain {
    fn new(connection: Arc<Connection>, sealed: Option<Arc<Channel>>) -> Self {
        let output = Arc::new(Mutex::new(Output::new(sealed.clone())));
        Self { connection, sealed, output, session_id: 0, tree_id: 0, file: None, failed: None, position: 0 }
    }

    async fn run(mut self, mut rest: BytesMut) -> Result<Option<Frame>, Abort> {
        loop {
            let header = Header::decode(&rest).map_err(|_| Abort)?;
            if header.flags.has(Flags::RESPONSE) {
                return Err(Abort);
            }
            let next = header.next_command as usize;
            let last = next == 0;
            let request = match last {
                true => std::mem::take(&mut rest),
                false if next % 8 == 0 && next >= Header::LEN && next < rest.len() => rest.split_to(next),
                false => return Err(Abort),
            };
            self.request(header, request, last).await?;
            self.position += 1;
            if last {
                break;
            }
        }
        self.output.lock().finish().map_err(|()| Abort)
    }

    async fn request(&mut self, mut header: Header, message: BytesMut, last: bool) -> Result<(), Abort> {
        if header.command == Command::CANCEL {
            self.connection.requests.cancel(header.async_id(), header.message_id);
            return Ok(());
        }
        if !self.connection.window.lock().take(header.message_id, header.credit_charge) {
            return Err(Abort);
        }
        if self.connection.negotiated().is_none() && header.command != Command::NEGOTIATE {
            return Err(Abort);
        }
        let related = header.flags.has(Flags::RELATED);
        if related {
            header.session_id = self.session_id;
            header.id = Id::Sync { reserved: 0, tree: self.tree_id };
        }
        let found = self.admit(&header, &message, related);
        let (channel, admitted) = match found {
            Ok((channel, tree)) => (channel, Ok(tree)),
            Err((channel, status)) => (channel, Err(status)),
        };
        let context = Context {
            connection: self.connection.clone(),
            header,
            message: message.freeze(),
            channel,
            tree: admitted.as_ref().ok().cloned().flatten(),
            sealed: self.sealed.is_some(),
            related_file: self.file.filter(|_| related),
            output: self.output.clone(),
            last,
            waiting: Mutex::default(),
        };
        let outcome = match admitted {
            Err(status) => Err(status.into()),
            Ok(_) => match self.failed.filter(|_| related && needs_file(header.command)) {
                Some(status) if self.file.is_none() => Err(status.into()),
                _ => finish(&context).await,
            },
        };
        self.note(&header, related, &outcome);
        self.respond(&context, outcome);
        Ok(())
    }

    /// What the next, related request goes on with.
    fn note(&mut self, header: &Header, related: bool, outcome: &Outcome) {
        if !related {
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
            Err(failure) => self.failed = Some(failure.status),
        }
    }

    /// The session and tree of a request, if it may be executed: MS-SMB2 3.3.5.2.4 to 3.3.5.2.11.
    #[allow(clippy::type_complexity, reason = "the channel signs the refusal, too")]
    fn admit(
        &self,
        header: &Header,
        message: &[u8],
        related: bool,
    ) -> Result<(Option<Arc<Channel>>, Option<Arc<Tree>>), (Option<Arc<Channel>>, Status)> {
        if related && self.position == 0 {
            return Err((None, Status::INVALID_PARAMETER));
        }
        let channel = self.connection.channel(header.session_id);
        if let Some(sealed) = &self.sealed
            && sealed.session.id != header.session_id
            && header.command != Command::SESSION_SETUP
        {
            return Err((None, Status::USER_SESSION_DELETED));
        }
        match self.judge(header, message, channel.as_ref()) {
            Ok(tree) => Ok((channel, tree)),
            Err(status) => Err((channel, status)),
        }
    }

    fn judge(
        &self,
        header: &Header,
        message: &[u8],
        channel: Option<&Arc<Channel>>,
    ) -> Result<Option<Arc<Tree>>, Status> {
        let free = matches!(header.command, Command::NEGOTIATE | Command::SESSION_SETUP);
        let Some(channel) = channel else {
            let needs_none = free || (header.command == Command::ECHO && header.session_id == 0);
            return if needs_none { Ok(None) } else { Err(Status::USER_SESSION_DELETED) };
        };
        let session = &channel.session;
        let signed = header.flags.has(Flags::SIGNED);
        if self.sealed.is_none() && signed && !channel.signer.verify(message) {
            return Err(Status::ACCESS_DENIED);
        }
        if free {
            return Ok(None);
        }
        if self.sealed.is_none() {
            if session.requires_encryption() {
                return Err(Status::ACCESS_DENIED);
            }
            if session.require_signing && !signed {
                return Err(Status::ACCESS_DENIED);
            }
        }
        let may_be_expired = matches!(
            header.command,
            Command::LOGOFF | Command::CLOSE | Command::LOCK | Command::TREE_DISCONNECT
        );
        if !may_be_expired && session.has_expired(SystemTime::now()) {
            return Err(Status::NETWORK_SESSION_EXPIRED);
        }
        if matches!(header.command, Command::LOGOFF | Command::ECHO | Command::TREE_CONNECT) {
            return Ok(None);
        }
        let tree = session.trees.find(header.tree_id()).ok_or(Status::NETWORK_NAME_DELETED)?;
        if tree.require_encryption && self.sealed.is_none() {
            return Err(Status::ACCESS_DENIED);
        }
        Ok(Some(tree))
    }

    fn respond(&self, context: &Context, outcome: Outcome) {
        let reply = outcome.unwrap_or_else(|failure| refusal(&failure));
        let mut output = self.output.lock();
        let request = &context.header;
        let (id, credits) = match output.async_id.take() {
            Some(id) => (Id::Async(id), 0),
            None => {
                let credits = self.connection.window.lock().grant(request.credits, request.credit_charge);
                (request.id, credits)
            }
        };
        let mut header = Header { id, ..request.response(reply.status, credits) };
        let mut signer = context.channel.clone().filter(|_| request.flags.has(Flags::SIGNED));
        if let Some(also) = reply.also {
            header.session_id = also.session_id.unwrap_or(header.session_id);
            if let (Some(tree), Id::Sync { reserved, .. }) = (also.tree_id, header.id) {
                header.id = Id::Sync { reserved, tree };
            }
            signer = also.signer.or(signer);
            output.preauth = also.preauth;
        }
        if signer.is_some() {
            header.flags = header.flags | Flags::SIGNED;
        }
        output.push(&header, &reply.body, reply.data, signer);
    }
}

/// The command, with a word to the client when it is slow.
async fn finish(context: &Context) -> Outcome {
    let mut running = dispatch::run(context);
    if let Some(outcome) = poll_once(running.as_mut()) {
        return outcome;
    }
    match tokio::time::timeout(SLOW, running.as_mut()).await {
        Ok(outcome) => outcome,
        Err(_) => {
            context.is_slow();
            running.await
        }
    }
}

/// Commands that are about a file, and fail as the request before did when that gave none.
fn needs_file(command: Command) -> bool {
    !matches!(
        command,
        Command::CREATE | Command::SESSION_SETUP | Command::TREE_CONNECT | Command::LOGOFF | Command::ECHO
    )
}

/// An error response, MS-SMB2 2.2.2.
fn refusal(failure: &Failure) -> Reply {
    let body = Reply::encoded(|w| failure.body.encode(w)).body;
    Reply { status: failure.status, body, ..Reply::default() }
}
