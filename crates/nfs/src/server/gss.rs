//! RPCSEC_GSS, RFC 2203: calls of users who have logged in by Kerberos.
//!
//! ```text
//! INIT, with a ticket ─► entering.rs ─► contexts.rs: a context, which is a login ─► the client gets its handle
//! DATA ─► the checksum of the head, the sequence number (window.rs), the arguments ─► rpc.rs as any call ─► the results
//! DESTROY ─► the context is gone
//! ```

mod contexts;
mod entering;
mod flavor;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;
use std::time::SystemTime;

use auth::Accounts;
use auth::kerberos::Kerberos;
use bytes::Bytes;
use conn::{InFlight, Reply, Reservation};
use lock::RwLock;
use vfs::Payload;
use wire::{Reader, Writer};

use super::Service;
use super::call::{self, ReceivedCall};
use super::observed;
use super::rpc;
use crate::ranks;
use crate::wire::gss::{Credential, Integrity, MAX_SEQUENCE, Privacy, Procedure, Protection, SignedHeader};
use crate::wire::rpc::{AuthFlavor, AuthStat, Outcome, RecordMark};
use crate::wire::xdr::{Encode, arguments, padding, put_opaque};
use contexts::{Contexts, GssContext};
pub use flavor::Flavor;

/// Where a reply has its status: after the record mark, the transaction id and the type of the message.
const STATUS_AT: usize = RecordMark::SIZE + 8;
/// Where an accepted reply has its verifier.
const VERIFIER_AT: usize = STATUS_AT + 4;
/// Where an accepted reply has its second status, if its verifier is empty.
const ACCEPTED_AT: usize = VERIFIER_AT + 8;

/// What takes the tickets of clients, and whose accounts they are for.
pub struct Tickets {
    /// Takes them.
    pub kerberos: Arc<dyn Kerberos>,
    /// The accounts of users.
    pub accounts: Arc<dyn Accounts>,
}

/// Logins by tickets.
#[derive(Default)]
pub(super) struct Gss {
    tickets: RwLock<Option<Arc<Tickets>>, ranks::NfsTickets>,
    contexts: Contexts,
}

impl Gss {
    pub(super) fn tickets(&self) -> Option<Arc<Tickets>> {
        self.tickets.read().clone()
    }

    /// Which of these flavours clients can use now.
    pub(super) fn usable<'a>(&self, flavors: &'a [Flavor]) -> impl Iterator<Item = Flavor> + 'a {
        let has_tickets = self.tickets.read().is_some();
        flavors.iter().copied().filter(move |flavor| has_tickets || *flavor == Flavor::Sys)
    }

    /// Takes tickets by these means from now on. Users whose accounts are gone, disabled or act as others must log in again.
    pub(super) fn set_tickets(&self, tickets: Option<Tickets>) {
        self.contexts
            .retain(|context| tickets.as_ref().is_some_and(|tickets| entering::stays(context, tickets)));
        *self.tickets.write() = tickets.map(Arc::new);
    }
}

/// A call in a context.
pub(super) struct SecuredCall {
    pub(super) context: Arc<GssContext>,
    pub(super) flavor: Flavor,
    protection: Protection,
    sequence: u32,
    /// Memory for arguments that were encrypted.
    _reserved: Reservation,
}

/// Answers a call with the credential of RPCSEC_GSS. `None`: it gets no answer.
pub(super) async fn answer(
    received: ReceivedCall<'_>,
    credential: Credential<'_>,
    in_flight: InFlight,
) -> Option<Reply> {
    let is_null = received.header.procedure == 0;
    let why = match credential.procedure {
        _ if received.service.gss.tickets.read().is_none() => AuthStat::AUTH_TOOWEAK,
        Procedure::DATA => match verified(&received, &credential) {
            Ok(Some(login)) => return data(received, &credential, login, in_flight).await,
            Ok(None) => return None,
            Err(why) => why,
        },
        Procedure::INIT if is_null => return entering::enter(received).await,
        // Kerberos needs one message of each side, so no context is ever half made.
        Procedure::CONTINUE_INIT if is_null => AuthStat::RPCSEC_GSS_CREDPROBLEM,
        Procedure::DESTROY if is_null => match verified(&received, &credential) {
            Ok(Some((context, _))) => return destroy(&received, &context, credential.sequence),
            Ok(None) => return None,
            Err(why) => why,
        },
        _ => AuthStat::AUTH_BADCRED,
    };
    if let Some(begun) = &received.begun {
        observed::refused(begun, received.message.len(), why);
    }
    let (header, origin) = (&received.header, received.origin);
    Some(call::finish(call::refusal(header.xid, Outcome::AuthError(why)), None, origin))
}

/// The context of a call whose head is signed, RFC 2203 5.3.3.1. `None`: the call has come before, and is dropped.
fn verified(
    received: &ReceivedCall<'_>,
    credential: &Credential<'_>,
) -> Result<Option<(Arc<GssContext>, Flavor)>, AuthStat> {
    let contexts = &received.service.gss.contexts;
    let context = contexts.of(&credential.handle).ok_or(AuthStat::RPCSEC_GSS_CREDPROBLEM)?;
    if context.has_expired(SystemTime::now()) {
        contexts.remove(&context);
        return Err(AuthStat::RPCSEC_GSS_CREDPROBLEM);
    }
    let flavor = Flavor::of(credential.protection).ok_or(AuthStat::AUTH_BADCRED)?;
    if credential.sequence >= MAX_SEQUENCE {
        return Err(AuthStat::RPCSEC_GSS_CTXPROBLEM);
    }
    let signed = SignedHeader::of(received.message).map_err(|_| AuthStat::AUTH_BADVERF)?;
    if signed.flavor != AuthFlavor::RPCSEC_GSS {
        return Err(AuthStat::AUTH_BADVERF);
    }
    let mut state = context.state.lock();
    if !state.security.verifies(&signed.header, &signed.checksum) {
        return Err(AuthStat::RPCSEC_GSS_CREDPROBLEM);
    }
    let is_new = state.window.take(credential.sequence);
    drop(state);
    Ok(is_new.then_some((context, flavor)))
}

/// Executes a call, and protects its results as its arguments were.
async fn data(
    received: ReceivedCall<'_>,
    credential: &Credential<'_>,
    (context, flavor): (Arc<GssContext>, Flavor),
    in_flight: InFlight,
) -> Option<Reply> {
    let (origin, xid) = (received.origin, received.header.xid);
    received.memory.logged_in(true);
    let encrypted = if flavor == Flavor::Krb5p { received.arguments.len() } else { 0 };
    let reserved = received.memory.reserve(encrypted).await?;
    let (protection, sequence) = (credential.protection, credential.sequence);
    let secured = SecuredCall { context, flavor, protection, sequence, _reserved: reserved };
    let Some(message) = secured.opened(received.arguments) else {
        let (writer, _) = secured.protect(call::refusal(xid, Outcome::GarbageArgs), None)?;
        return Some(call::finish(writer, None, origin));
    };
    let identity = secured.context.identity.clone();
    let (message, arguments) = match &message {
        CallArguments::Within(arguments) => (received.message, *arguments),
        CallArguments::Decrypted(message) => (message, &message[4..]),
    };
    let mut call = received.call(identity, message, arguments);
    call.gss = Some(secured);
    let (reserved, writer, payload) = rpc::execute(&mut call, in_flight).await?;
    let (writer, payload) = call.gss.as_ref()?.protect(writer, payload)?;
    Some(Reply { reserved, ..call::finish(writer, payload, origin) })
}

/// The arguments of a call.
enum CallArguments<'a> {
    /// They are a part of the message.
    Within(&'a [u8]),
    /// They follow the sequence number.
    Decrypted(Bytes),
}

impl SecuredCall {
    /// The arguments, RFC 2203 5.3.2. `None`: they are damaged, or of another call.
    fn opened<'a>(&self, sent: &'a [u8]) -> Option<CallArguments<'a>> {
        let expected = self.sequence.to_be_bytes();
        let state = self.context.state.lock();
        match self.protection {
            Protection::INTEGRITY => {
                let Integrity { body, checksum } = arguments(&mut Reader::new(sent)).ok()?;
                let is_right = state.security.verifies(&body, &checksum);
                body.0.strip_prefix(&expected).filter(|_| is_right).map(CallArguments::Within)
            }
            Protection::PRIVACY => {
                let Privacy { body } = arguments(&mut Reader::new(sent)).ok()?;
                let body = state.security.open(&body)?;
                body.starts_with(&expected).then(|| CallArguments::Decrypted(body.into()))
            }
            _ => Some(CallArguments::Within(sent)),
        }
    }

    /// A reply with a verifier, and with protected results, RFC 2203 5.3.3.2. `None`: the context is of no use any more.
    fn protect(&self, reply: Writer, payload: Option<Payload>) -> Option<(Writer, Option<Payload>)> {
        let bytes = reply.as_bytes();
        if bytes[STATUS_AT..VERIFIER_AT] != [0; 4] {
            return Some((reply, payload)); // denied: it has no verifier
        }
        let (accepted, results) = bytes[ACCEPTED_AT..].split_at(4);
        let is_plain = self.protection == Protection::NONE || accepted != [0; 4];
        let body = if is_plain { None } else { Some(self.body(results, payload.as_ref())?) };
        let state = self.context.state.lock();
        let verifier = state.security.sign(&self.sequence.to_be_bytes())?;
        let mut w = Writer::onto(Vec::with_capacity(bytes.len() + 2 * verifier.len() + 64));
        w.put(&bytes[..VERIFIER_AT]);
        AuthFlavor::RPCSEC_GSS.encode(&mut w);
        put_opaque(&mut w, &verifier);
        w.put(accepted);
        let Some(body) = body else {
            w.put(results);
            return Some((w, payload));
        };
        match self.protection {
            Protection::INTEGRITY => {
                put_opaque(&mut w, &body);
                put_opaque(&mut w, &state.security.sign(&body)?);
            }
            _ => put_opaque(&mut w, &state.security.seal(&body)?),
        }
        Some((w, None))
    }

    /// What is protected: the sequence number, and all results in memory.
    fn body(&self, results: &[u8], payload: Option<&Payload>) -> Option<Vec<u8>> {
        let data = payload.map_or(0, Payload::len);
        let mut body = Vec::with_capacity(4 + results.len() + data + padding(data));
        body.extend(self.sequence.to_be_bytes());
        body.extend(results);
        if let Some(payload) = payload {
            payload.clone().append_or_zeros_to(&mut body).ok()?;
        }
        body.resize(body.len() + padding(data), 0);
        Some(body)
    }
}

/// Ends a context, RFC 2203 5.4.
fn destroy(received: &ReceivedCall<'_>, context: &Arc<GssContext>, sequence: u32) -> Option<Reply> {
    let protection = Protection::NONE; // as for INIT, there are no results to protect
    let secured = SecuredCall {
        context: context.clone(),
        flavor: Flavor::Krb5,
        protection,
        sequence,
        _reserved: Reservation::default(),
    };
    received.service.gss.contexts.remove(context);
    let (writer, _) = secured.protect(call::empty(received.header.xid), None)?;
    if let Some(begun) = &received.begun {
        observed::context(begun, received.message.len(), &context.principal, "context destroyed");
    }
    Some(call::finish(writer, None, received.origin))
}

impl Service {
    /// Lets clients log in by Kerberos. `None`: they cannot.
    pub fn set_tickets(&self, tickets: Option<Tickets>) {
        self.gss.set_tickets(tickets);
    }
}
