//! INIT: a ticket becomes a context.

use std::net::SocketAddr;
use std::time::Instant;

use auth::kerberos::{Ticket, TicketRefusal};
use auth::{Accounts, Event, Login};
use conn::Reply;
use wire::{Reader, Writer};

use super::contexts::{GssContext, NewContext};
use super::window::WIDTH;
use super::{Tickets, VERIFIER_AT};
use crate::server::call::{self, CallIdentity, ReceivedCall};
use crate::server::observed;
use crate::wire::gss::{InitArguments, InitResults};
use crate::wire::rpc::{AuthFlavor, Outcome};
use crate::wire::xdr::{Encode, Opaque, arguments, put_opaque};

/// GSS_S_DEFECTIVE_TOKEN, GSS_S_CREDENTIALS_EXPIRED, GSS_S_FAILURE and GSS_S_UNAUTHORIZED, RFC 2744 3.9.1.
const DEFECTIVE_TOKEN: u32 = 9 << 16;
const CREDENTIALS_EXPIRED: u32 = 11 << 16;
const FAILURE: u32 = 13 << 16;
const UNAUTHORIZED: u32 = 15 << 16;
/// Kerberos's errors (RFC 4120 7.5.9) as the library numbers them in minor codes.
const KERBEROS_ERROR: u32 = 0x96c7_3a00;

/// Takes the ticket of a client, and makes its context.
pub(super) async fn enter(received: ReceivedCall<'_>) -> Option<Reply> {
    let (service, xid, origin) = (received.service, received.header.xid, received.origin);
    let Ok(InitArguments { token }) = arguments(&mut Reader::new(received.arguments)) else {
        return Some(call::finish(call::refusal(xid, Outcome::GarbageArgs), None, origin));
    };
    let tickets = service.gss.tickets()?;
    let accepted = tickets.kerberos.accept(token.to_vec()).await;
    let entered = accepted.map_err(|why| (String::new(), codes(&why), why.to_string())).and_then(|ticket| {
        let identity = identity(&ticket, &*tickets.accounts);
        match identity {
            Ok(identity) => Ok((identity, ticket)),
            Err(why) => Err((ticket.principal, (UNAUTHORIZED, 0), why)),
        }
    });
    let writer = match entered {
        Ok((identity, ticket)) => made(&received, identity, ticket)?,
        Err((user, (major, minor), why)) => {
            tell(&received, &user, Event::Failed(&why), "refused");
            let mut writer = call::empty(xid);
            let (handle, token) = (Opaque::new(&[]), Opaque::new(&[]));
            InitResults { handle, major, minor, window: 0, token }.encode(&mut writer);
            writer
        }
    };
    Some(call::finish(writer, None, origin))
}

/// The results for a client that has logged in. The verifier signs the width of the window, RFC 2203 5.2.3.1.
fn made(received: &ReceivedCall<'_>, identity: CallIdentity, ticket: Ticket) -> Option<Writer> {
    let Ticket { principal, account, is_machine, reply, expires, context: security, .. } = ticket;
    let verifier = security.sign(&WIDTH.to_be_bytes())?;
    let acts_as = if is_machine { "a machine".into() } else { format!("uid {}", identity.uid) };
    let client = received.origin.address;
    let made = NewContext { client, principal, account, identity, expires, security };
    let context = received.service.gss.contexts.add(made);
    tell(received, &context.principal, Event::Accepted(&acts_as), "context created");
    let plain = call::empty(received.header.xid);
    let mut writer = Writer::new();
    writer.put(&plain.as_bytes()[..VERIFIER_AT]);
    AuthFlavor::RPCSEC_GSS.encode(&mut writer);
    put_opaque(&mut writer, &verifier);
    writer.u32_be(0); // SUCCESS
    let (handle, token) = (Opaque::new(&context.handle), Opaque::new(&reply));
    InitResults { handle, major: 0, minor: 0, window: WIDTH, token }.encode(&mut writer);
    Some(writer)
}

/// The ids of a ticket's user. A machine is the superuser, which the rules of shares replace by the anonymous user unless they
/// say `squash = "none"`.
fn identity(ticket: &Ticket, accounts: &dyn Accounts) -> Result<CallIdentity, String> {
    if ticket.is_machine {
        return Ok(CallIdentity { uid: 0, gid: 0, groups: Vec::new(), nobody: false });
    }
    let Some(name) = &ticket.account else {
        return Err("it is no user of the realms whose users have accounts (`kerberos-realms`)".into());
    };
    of_account(name, accounts)
}

fn of_account(name: &str, accounts: &dyn Accounts) -> Result<CallIdentity, String> {
    match accounts.find_in_any_case(name) {
        None => Err(auth::Refusal::Unknown.text().into()),
        Some(account) if account.disabled => Err(auth::Refusal::Disabled.text().into()),
        Some(account) => {
            let auth::Identity { uid, gid, groups, .. } = account.identity;
            Ok(CallIdentity { uid, gid, groups: groups.to_vec(), nobody: false })
        }
    }
}

/// Whether a context would be made again as it is.
pub(super) fn stays(context: &GssContext, tickets: &Tickets) -> bool {
    let Some(account) = &context.account else { return true };
    of_account(account, &*tickets.accounts).is_ok_and(|identity| identity == context.identity)
}

fn codes(why: &TicketRefusal) -> (u32, u32) {
    match why {
        TicketRefusal::Expired => (CREDENTIALS_EXPIRED, KERBEROS_ERROR + 32),
        TicketRefusal::Clock => (FAILURE, KERBEROS_ERROR + 37),
        TicketRefusal::Replayed => (FAILURE, KERBEROS_ERROR + 34),
        TicketRefusal::OtherService(_) => (FAILURE, KERBEROS_ERROR + 35),
        TicketRefusal::OtherVersion(_) => (FAILURE, KERBEROS_ERROR + 44),
        TicketRefusal::Keytab(_) => (FAILURE, KERBEROS_ERROR + 45),
        TicketRefusal::Other(_) => (DEFECTIVE_TOKEN, KERBEROS_ERROR + 60),
    }
}

/// Tells the log and the observers.
fn tell(received: &ReceivedCall<'_>, user: &str, event: Event<'_>, result: &str) {
    let peer = SocketAddr::new(received.origin.address, received.origin.port);
    let line = Login { protocol: "nfs", peer, user, method: "Kerberos" };
    received.service.login_guard.log.tell(&line, event, Instant::now());
    if let Some(begun) = &received.begun {
        observed::context(begun, received.message.len(), user, result);
    }
}
