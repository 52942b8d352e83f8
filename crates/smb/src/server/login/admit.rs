//! Whether a request may be executed, and which session's key signs its answer: MS-SMB2 3.3.5.2.4
//! to 3.3.5.2.11.

use std::sync::Arc;
use std::time::SystemTime;

use super::crypto::signing::Signer;
use crate::server::clients::session::Channel;
use crate::server::connection::Connection;
use crate::server::context::{ConnectionScope, SessionScope, TreeScope};
use crate::wire::Status;
use crate::wire::header::{Command, Flags, Header, Scope};

/// How a request has come.
pub(in crate::server) struct RequestOrigin<'a> {
    /// The session whose key sealed its frame.
    pub(in crate::server) sealed: Option<&'a Arc<Channel>>,
    /// It is a related request. Its header already has the ids of the request before it.
    pub(in crate::server) related: bool,
    /// It is the first of its frame.
    pub(in crate::server) first: bool,
}

/// Where a request may be executed.
pub(in crate::server) enum Admission {
    Connection(ConnectionScope),
    Session(SessionScope),
    Tree(TreeScope),
    /// Nowhere, for this reason.
    Refused(ConnectionScope, Status),
}

/// Finds a request's session and tree, and the session whose key signs the answer.
pub(in crate::server) fn judge(
    connection: &Connection,
    header: &Header,
    message: &[u8],
    origin: &RequestOrigin<'_>,
) -> (Admission, Option<Arc<Channel>>) {
    let is_signed = header.flags.contains(Flags::SIGNED);
    let Some(channel) = connection.channel(header.session_id) else {
        let signs = is_signed && header.session_id != 0;
        let signer = if signs { not_of_this_connection(connection, header, message) } else { None };
        let scope = ConnectionScope(None);
        return match stranger(header, origin) {
            Ok(()) => (Admission::Connection(scope), signer),
            Err(status) => (Admission::Refused(scope, status), signer),
        };
    };
    let must_sign = channel.session.require_signing && header.command != Command::NEGOTIATE;
    let signs = origin.sealed.is_none() && channel.session.user().can_sign() && (is_signed || must_sign);
    let signer = signs.then(|| channel.clone());
    match allow(header, message, origin, &channel) {
        Ok(admission) => (admission, signer),
        Err(status) => (Admission::Refused(ConnectionScope(Some(channel)), status), signer),
    }
}

/// A request of a session that this connection does not have.
fn stranger(header: &Header, origin: &RequestOrigin<'_>) -> Result<(), Status> {
    if origin.related && (origin.first || header.command != Command::SESSION_SETUP) {
        return Err(Status::INVALID_PARAMETER); // there is no request before it, 3.3.5.2.7.2
    }
    match header.command {
        Command::NEGOTIATE if header.flags.contains(Flags::SIGNED) => Err(Status::INVALID_PARAMETER),
        Command::NEGOTIATE | Command::SESSION_SETUP => Ok(()),
        Command::ECHO if header.session_id == 0 => Ok(()),
        _ => Err(Status::USER_SESSION_DELETED),
    }
}

/// The session of a request that this connection does not have any more, or does not have yet. The
/// request's signature proves that its client knows the session's key.
fn not_of_this_connection(connection: &Connection, header: &Header, message: &[u8]) -> Option<Arc<Channel>> {
    if let Some(channel) = connection.ended_channel(header.session_id) {
        return Some(channel).filter(|channel| channel.signer.verify(message));
    }
    let session = connection.service.session(header.session_id)?;
    let signer = Signer::new(session.signing, &session.keys.signing);
    (session.user().can_sign() && signer.verify(message)).then(|| Arc::new(Channel { session, signer }))
}

/// Where a request of a session may be executed.
fn allow(
    header: &Header,
    message: &[u8],
    origin: &RequestOrigin<'_>,
    channel: &Arc<Channel>,
) -> Result<Admission, Status> {
    let session = &channel.session;
    if origin.related && origin.first {
        return Err(Status::INVALID_PARAMETER);
    }
    match origin.sealed {
        Some(sealed) if sealed.session.id != session.id => return Err(Status::ACCESS_DENIED),
        Some(_) => {}
        None => is_genuine(header, message, channel)?,
    }
    let properties = header.command.properties();
    if properties.scope == Scope::Connection {
        return Ok(Admission::Connection(ConnectionScope(Some(channel.clone()))));
    }
    if session.requires_encryption() && origin.sealed.is_none() {
        return Err(Status::ACCESS_DENIED);
    }
    if !properties.releases && session.has_expired(SystemTime::now()) {
        return Err(Status::NETWORK_SESSION_EXPIRED);
    }
    if properties.scope == Scope::Session {
        return Ok(Admission::Session(SessionScope(channel.clone())));
    }
    let tree = session.trees.find(header.tree_id()).ok_or(Status::NETWORK_NAME_DELETED)?;
    if tree.require_encryption && origin.sealed.is_none() {
        return Err(Status::ACCESS_DENIED);
    }
    Ok(Admission::Tree(TreeScope { channel: channel.clone(), tree }))
}

/// A request that came in the clear must have a right signature if it has one, and must have one if
/// the session requires it: 3.3.5.2.4.
fn is_genuine(header: &Header, message: &[u8], channel: &Channel) -> Result<(), Status> {
    if !channel.session.user().can_sign() {
        return Ok(()); // the session has no key that both sides know
    }
    let is_signed = header.flags.contains(Flags::SIGNED);
    match channel.session.require_signing || is_signed {
        true if !is_signed || !channel.signer.verify(message) => Err(Status::ACCESS_DENIED),
        _ => Ok(()),
    }
}

/// Whether a CANCEL comes from the session's own client. A CANCEL has no answer, so a foreign one
/// is ignored.
pub(in crate::server) fn may_cancel(
    connection: &Connection,
    header: &Header,
    message: &[u8],
    is_sealed: bool,
) -> bool {
    let Some(channel) = connection.channel(header.session_id) else { return true };
    is_sealed || is_genuine(header, message, &channel).is_ok()
}
