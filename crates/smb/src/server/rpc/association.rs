//! The association of a connection over TCP: C706 chapter 9, MS-RPCE 3.3.1.5.
//!
//! ```text
//!            bind, with a token        auth3 or alter_context, with the last token
//!   unbound ───────────────────► logs in ─────────────────────────────────────────► bound, with a user
//!      │ bind without a token                                                            │ request
//!      └────────────────────────► bound, without a user ── request ──► answered, now or when there is a notice
//! ```

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use wire::Reader;

use super::bound::{FragmentedCall, RpcBinding, Sizes, fault, parts, responses, whole_bind};
use super::login::{self, PendingLogin, RpcLoginProgress};
use super::protection::{LONGEST_TOKEN, RpcProtection};
use super::registrations::{AssociationGroup, NoticeResult};
use super::witness::{Caller, Outcome};
use super::{Interface, Rpc, mapper, witness};
use crate::wire::rpc::WinError;
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::{
    AuthVerifier, BindAck, BindNak, Fault, Header, Request, Response, Trailer, auth_level, auth_service,
    flags, kind,
};
use crate::wire::rpc::witness::notify_response;

/// Fragments as Windows uses them over TCP, and arguments that are more than any call here has.
const SIZES: Sizes = Sizes { fragment: 5_840, arguments: 16 << 10 };
/// The most calls of a connection that wait for a notice.
const MAX_PENDING: usize = 64;
/// How long a connection may send nothing: without a registration, and with one.
const IDLE: Duration = Duration::from_secs(60);
const IDLE_REGISTERED: Duration = Duration::from_secs(600);

/// What a message brings to be sent. As an error it is the last of the connection: the client broke the protocol.
pub(super) type Answers = Result<Vec<Vec<u8>>, Vec<Vec<u8>>>;

pub(super) struct Association {
    rpc: Arc<Rpc>,
    serves: Interface,
    peer: SocketAddr,
    bound: Option<RpcBinding<Interface>>,
    group: Option<AssociationGroup>,
    login: AssociationLogin,
    pending: Vec<PendingNotification>,
    woken: Arc<Notify>,
    heard: Instant,
}

enum AssociationLogin {
    /// The client has not shown who it is.
    None,
    /// The tokens go back and forth.
    Begun(PendingLogin, Trailer),
    Done(AssociationUser),
    Failed,
}

impl AssociationLogin {
    fn is_kerberos(&self) -> bool {
        match self {
            Self::None | Self::Failed => false,
            Self::Begun(begun, _) => matches!(begun, PendingLogin::Kerberos(_)),
            Self::Done(user) => matches!(user.of.protection, Some(RpcProtection::Kerberos(_))),
        }
    }
}

/// A user, and how its messages are protected.
struct AssociationUser {
    of: login::RpcUser,
    trailer: Trailer,
}

/// A call that waits for a notice.
struct PendingNotification {
    call: u32,
    context: u16,
    handle: Handle,
    until: Option<Instant>,
}

impl Association {
    pub(super) fn new(rpc: Arc<Rpc>, serves: Interface, peer: SocketAddr, now: Instant) -> Self {
        Self {
            rpc,
            serves,
            peer,
            bound: None,
            group: None,
            login: AssociationLogin::None,
            pending: Vec::new(),
            woken: Arc::default(),
            heard: now,
        }
    }

    /// Whether a user has logged in.
    pub(super) fn has_user(&self) -> bool {
        matches!(self.login, AssociationLogin::Done(_))
    }

    /// Woken when there may be notices.
    pub(super) fn woken(&self) -> Arc<Notify> {
        self.woken.clone()
    }

    /// Takes one whole message.
    pub(super) async fn receive(&mut self, mut message: Vec<u8>, now: Instant) -> Answers {
        self.heard = now;
        let header = Header::decode(&mut Reader::new(&message)).map_err(|_| Vec::new())?;
        match header.kind {
            kind::BIND => self.bind(header, &message).await,
            kind::ALTER_CONTEXT => self.alter(header, &message).await,
            kind::AUTH3 => self.authenticated(header, &message).await,
            kind::REQUEST => self.request(header, &mut message, now),
            kind::ORPHANED | kind::CO_CANCEL => Ok(self.cancel(header)),
            _ => Err(Vec::new()),
        }
    }

    async fn bind(&mut self, header: Header, message: &[u8]) -> Answers {
        if self.bound.is_some() {
            return Err(Vec::new());
        }
        let protected = AuthVerifier::decode(&header, message).map_err(|_| Vec::new())?;
        let bind = whole_bind(header, &mut body(message, protected.as_ref())).map_err(|_| Vec::new())?;
        let token = match protected {
            None => None,
            Some(protected) => match self.begin(protected).await {
                Some(token) => Some((protected.trailer, token)),
                None => return Err(vec![nak(header.call)]),
            },
        };
        let group = self.rpc.registrations.join(bind.group);
        let mut bound = RpcBinding::new(&bind, SIZES);
        let port = match self.serves {
            Interface::Mapper => self.rpc.ports.mapper,
            Interface::Witness => self.rpc.ports.witness,
        };
        let ack = bound.acknowledge(&bind, (port.to_string(), group.id), |syntax| self.serves.find(syntax));
        (self.bound, self.group) = (Some(bound), Some(group));
        let mut features = header.flags & (flags::SUPPORT_HEADER_SIGN | flags::CONCURRENT);
        if self.login.is_kerberos() {
            features &= !flags::SUPPORT_HEADER_SIGN;
        }
        Ok(vec![acknowledgement((kind::BIND_ACK, header.call, features), &ack, token)])
    }

    /// The first token. `None`: the login is refused.
    async fn begin(&mut self, protected: AuthVerifier<'_>) -> Option<Vec<u8>> {
        let trailer = Trailer { padding: 0, ..protected.trailer };
        let is_known = matches!(trailer.service, auth_service::NEGOTIATE | auth_service::NTLM)
            && matches!(
                trailer.level,
                auth_level::CONNECT | auth_level::PACKET | auth_level::INTEGRITY | auth_level::PRIVACY
            );
        if !is_known {
            return None;
        }
        let progress = login::begin(&self.rpc, self.peer, protected.token, trailer.level).await;
        self.proceed(progress, trailer)
    }

    /// A further token. `None`: the login is refused.
    async fn go_on(&mut self, protected: AuthVerifier<'_>) -> Option<Vec<u8>> {
        let begun = std::mem::replace(&mut self.login, AssociationLogin::Failed);
        let AssociationLogin::Begun(begun, trailer) = begun else { return None };
        if (Trailer { padding: 0, ..protected.trailer }) != trailer {
            return None;
        }
        let progress = login::go_on(&self.rpc, self.peer, begun, protected.token).await;
        self.proceed(progress, trailer)
    }

    /// The token for the client.
    fn proceed(&mut self, progress: RpcLoginProgress, trailer: Trailer) -> Option<Vec<u8>> {
        match progress {
            RpcLoginProgress::Asked(token, begun) => {
                self.login = AssociationLogin::Begun(begun, trailer);
                Some(token)
            }
            RpcLoginProgress::LoggedIn(token, of) => {
                if trailer.level >= auth_level::PACKET && of.protection.is_none() {
                    return None; // it cannot protect what it promised to
                }
                self.login = AssociationLogin::Done(AssociationUser { of, trailer });
                Some(token)
            }
            RpcLoginProgress::Refused => None,
        }
    }

    async fn alter(&mut self, header: Header, message: &[u8]) -> Answers {
        let protected = AuthVerifier::decode(&header, message).map_err(|_| Vec::new())?;
        let bind = whole_bind(header, &mut body(message, protected.as_ref())).map_err(|_| Vec::new())?;
        if self.bound.is_none() {
            return Err(Vec::new());
        }
        let token = match protected {
            None => None,
            Some(protected) => match self.go_on(protected).await {
                Some(token) => Some((protected.trailer, token)),
                None => return Err(vec![fault(header.call, 0, Fault::ACCESS_DENIED)]),
            },
        };
        let (Some(bound), Some(group)) = (&mut self.bound, &self.group) else { return Err(Vec::new()) };
        let serves = self.serves;
        let ack = bound.acknowledge(&bind, (String::new(), group.id), |syntax| serves.find(syntax));
        Ok(vec![acknowledgement((kind::ALTER_CONTEXT_RESP, header.call, 0), &ack, token)])
    }

    /// The last token, which is not answered. If it is refused, requests are.
    async fn authenticated(&mut self, header: Header, message: &[u8]) -> Answers {
        let protected =
            AuthVerifier::decode(&header, message).map_err(|_| Vec::new())?.ok_or_else(Vec::new)?;
        self.go_on(protected).await;
        if !self.has_user() {
            self.login = AssociationLogin::Failed;
        }
        Ok(Vec::new())
    }

    fn request(&mut self, header: Header, message: &mut Vec<u8>, now: Instant) -> Answers {
        let broken = |reason| vec![fault(header.call, 0, reason)];
        self.open(&header, message).map_err(broken)?;
        let bound = self.bound.as_mut().ok_or_else(|| broken(Fault::PROTOCOL))?;
        let mut r = body(message, None);
        let request = Request::decode(&header, &mut r).map_err(|_| broken(Fault::PROTOCOL))?;
        match bound.gather(header, request) {
            Err(reason) => Err(broken(reason)),
            Ok(None) => Ok(Vec::new()),
            Ok(Some(call)) => Ok(self.answer(&call, now)),
        }
    }

    /// Verifies and decrypts a request. Then it ends with its arguments.
    fn open(&mut self, header: &Header, message: &mut Vec<u8>) -> Result<(), Fault> {
        let protected = AuthVerifier::decode(header, message).map_err(|_| Fault::PROTOCOL)?;
        let user = match (&mut self.login, &protected) {
            (AssociationLogin::None, None) => return Ok(()),
            (AssociationLogin::Done(user), _) => user,
            _ => return Err(Fault::ACCESS_DENIED),
        };
        let Some(protection) =
            user.of.protection.as_mut().filter(|_| user.trailer.level > auth_level::CONNECT)
        else {
            let end = protected.map_or(message.len(), |protected| protected.at);
            message.truncate(end);
            return Ok(());
        };
        let AuthVerifier { at, trailer, token } = protected.ok_or(Fault::ACCESS_DENIED)?;
        let (padding, stub_at) = (usize::from(trailer.padding), Request::stub_at(header));
        if (Trailer { padding: 0, ..trailer }) != user.trailer || stub_at + padding > at {
            return Err(Fault::PROTOCOL);
        }
        let token = token.to_vec();
        if !protection.open(message, (stub_at, at), trailer.level, &token) {
            return Err(Fault::SECURITY_PACKAGE);
        }
        message.truncate(at - padding);
        Ok(())
    }

    fn answer(&mut self, call: &FragmentedCall, now: Instant) -> Vec<Vec<u8>> {
        match self.perform(call, now) {
            Ok(Outcome::Answered(stub)) => self.responses(call.id, call.context, &stub),
            Ok(Outcome::Waits(handle, until)) => {
                self.pending.push(PendingNotification {
                    call: call.id,
                    context: call.context,
                    handle,
                    until,
                });
                self.notices(now)
            }
            Err(reason) => vec![fault(call.id, call.context, reason)],
        }
    }

    fn perform(&mut self, call: &FragmentedCall, now: Instant) -> Result<Outcome, Fault> {
        let bound = self.bound.as_ref().ok_or(Fault::UNKNOWN_INTERFACE)?;
        match bound.interface(call.context)? {
            Interface::Mapper => mapper::call(&self.rpc, call.operation, &call.stub).map(Outcome::Answered),
            Interface::Witness => {
                let AssociationLogin::Done(user) = &self.login else { return Err(Fault::ACCESS_DENIED) };
                // MS-SWN 2.1: nothing that could be changed on the way.
                if user.trailer.level < auth_level::INTEGRITY {
                    return Err(Fault::ACCESS_DENIED);
                }
                if self.pending.len() >= MAX_PENDING {
                    return Err(Fault::TOO_BUSY);
                }
                let group = self.group.as_ref().map_or(0, |group| group.id);
                let (user, peer) = (&*user.of.name, self.peer.ip());
                let caller = Caller { user, peer, group, waker: &self.woken };
                witness::call(&self.rpc, &caller, call.operation, &call.stub, now)
            }
        }
    }

    /// The answers to waiting calls that have something to say, or have waited long enough.
    pub(super) fn notices(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            let registrations = &self.rpc.registrations;
            let stub = match registrations.take(&pending.handle, now) {
                NoticeResult::Notice(notice) => notify_response(Ok(&notice)),
                NoticeResult::Gone => notify_response(Err(WinError::NOT_FOUND)),
                NoticeResult::Nothing(_) if pending.until.is_some_and(|until| until <= now) => {
                    notify_response(Err(WinError::TIMEOUT))
                }
                NoticeResult::Nothing(ends) => {
                    // Looked at again when the registration ends, too.
                    let until = pending.until.into_iter().chain(ends).min();
                    self.pending.push(PendingNotification { until, ..pending });
                    continue;
                }
            };
            registrations.stop_waiting(&pending.handle);
            answers.extend(self.responses(pending.call, pending.context, &stub));
        }
        answers
    }

    /// The client does not wait for a call any more: it wants to hear that (`co_cancel`, C706 12.6.4.2), or not (`orphaned`,
    /// 12.6.4.8).
    fn cancel(&mut self, header: Header) -> Vec<Vec<u8>> {
        let call = header.call;
        self.bound.iter_mut().for_each(|bound| bound.orphaned(call));
        let (cancelled, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pending).into_iter().partition(|one| one.call == call);
        self.pending = rest;
        self.forget(&cancelled);
        let told = cancelled.iter().filter(|_| header.kind == kind::CO_CANCEL);
        told.map(|one| fault(call, one.context, Fault::CANCELLED)).collect()
    }

    fn forget(&self, pending: &[PendingNotification]) {
        pending.iter().for_each(|one| self.rpc.registrations.stop_waiting(&one.handle));
    }

    /// When the next thing happens by itself: a call has waited long enough, or the connection is idle for too long.
    pub(super) fn due(&self) -> Instant {
        let has_any = || self.group.as_ref().is_some_and(|group| self.rpc.registrations.has(group.id));
        let waiting = self.pending.iter().map(|pending| pending.until);
        match self.pending.is_empty() {
            true => self.heard + if has_any() { IDLE_REGISTERED } else { IDLE },
            // A call without an end: the connection is looked at all the same.
            false => waiting.flatten().min().unwrap_or(self.heard + Duration::from_secs(86_400 * 365)),
        }
    }

    /// Whether the client has sent nothing for too long.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.pending.is_empty() && self.due() <= now
    }

    fn responses(&mut self, call: u32, context: u16, stub: &[u8]) -> Vec<Vec<u8>> {
        let max = self.bound.as_ref().map_or(SIZES.fragment, |bound| bound.max_transmit);
        let AssociationLogin::Done(AssociationUser {
            of: login::RpcUser { protection: Some(protection), .. },
            trailer,
        }) = &mut self.login
        else {
            return responses(call, context, stub, max);
        };
        if trailer.level == auth_level::CONNECT {
            return responses(call, context, stub, max);
        }
        let room = usize::from(max) - Response::OVERHEAD - Trailer::LEN - LONGEST_TOKEN;
        let all: Option<Vec<_>> =
            parts(context, stub, room).map(|part| protection.response(*trailer, call, &part)).collect();
        all.unwrap_or_else(|| vec![fault(call, context, Fault::SECURITY_PACKAGE)])
    }
}

impl Drop for Association {
    fn drop(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.forget(&pending);
    }
}

/// What stands between the header and the security trailer.
fn body<'a>(message: &'a [u8], protected: Option<&AuthVerifier<'_>>) -> Reader<'a> {
    let end = protected.map_or(message.len(), |protected| protected.at);
    let mut r = Reader::new(&message[..end]);
    let _ = Header::decode(&mut r); // it was decoded before
    r
}

/// `bind_ack` and `alter_context_resp`, with the next token.
fn acknowledgement(
    (kind, call, features): (u8, u32, u8),
    ack: &BindAck,
    token: Option<(Trailer, Vec<u8>)>,
) -> Vec<u8> {
    let token = token.filter(|(_, token)| !token.is_empty());
    let auth_length = token.as_ref().map_or(0, |(_, token)| token.len() as u16);
    let header = Header { flags: flags::WHOLE | features, auth_length, ..Header::new(kind, call) };
    header.message(|w| {
        ack.encode(w);
        if let Some((trailer, token)) = token {
            Trailer { padding: 0, ..trailer }.encode(w);
            w.put(&token);
        }
    })
}

fn nak(call: u32) -> Vec<u8> {
    let nak = BindNak { reason: BindNak::AUTHENTICATION_TYPE_NOT_RECOGNIZED };
    Header::new(kind::BIND_NAK, call).message(|w| nak.encode(w))
}
