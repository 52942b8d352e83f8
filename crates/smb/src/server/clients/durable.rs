//! Opens that outlive their connection: durable handles, MS-SMB2 3.3.5.9.6, 3.3.5.9.7, 3.3.5.9.10 and 3.3.5.9.12.
//!
//! An open that may cache its handle can be durable. When its session is lost, it moves into a
//! table of the service with everything that it holds in the tree ([`Durables`]). It stays there until its client
//! reconnects, its timeout ends, or its cache must be given back. In the last case it is closed, as
//! its client cannot answer.
//!
//! A [persistent](persistent) open stays in the last case, too.

pub(in crate::server) mod inherited;
pub(in crate::server) mod note;
pub(in crate::server) mod persistent;
mod table;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use vfs::state::Caching;

use self::inherited::ReplicatedOpen;
use self::table::DisconnectedOpen;
pub(in crate::server) use self::table::Durables;
use super::client::Client;
use super::leases::Kind;
use super::open::{Open, OpenedObject};
use super::session::User;
use crate::server::context::{Context, Failure};
use crate::server::files::create::register;
use crate::server::sequence::Sequence;
use crate::wire::Status;
use crate::wire::create::Request;
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::response::Context as Answer;
use crate::wire::create_context::values::{DurableFlags, Lease};
use crate::wire::values::FileKey;

/// The timeout of an open whose client asks for none.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest timeout.
const MAX_TIMEOUT: Duration = Duration::from_secs(300);

/// The additional state of a durable open.
pub(in crate::server) struct Durable {
    /// How long it waits for its client to reconnect.
    timeout: Duration,
    /// The number of the CREATE that made it, in version 2.
    create_guid: Option<[u8; 16]>,
    /// The client. It is known as long as it may come back.
    client: Arc<Client>,
    /// The user that made it.
    user: Arc<User>,
    /// It may cache its handle, or it could when it was made.
    by_handle: bool,
    /// Whether it is persistent. Not set as long as that depends on the successor of this server.
    persistent: OnceLock<bool>,
    /// Another server was told of it.
    told: OnceLock<ReplicatedOpen>,
}

impl Durable {
    /// The create context in the response to its CREATE. `None`: it is not durable after all.
    pub(in crate::server) fn answer(&self) -> Option<Answer> {
        let is_persistent = self.is_persistent();
        match self.create_guid {
            _ if !is_persistent && !self.by_handle => None,
            None => Some(Answer::Durable),
            Some(_) => {
                let timeout_ms = self.timeout.as_millis() as u32; // MAX_TIMEOUT is far less than 49 days
                let flags = if is_persistent { DurableFlags::PERSISTENT } else { DurableFlags::NONE };
                Some(Answer::DurableV2 { timeout_ms, flags })
            }
        }
    }

    /// Open.IsPersistent, MS-SMB2 3.3.1.10.
    pub(in crate::server) fn is_persistent(&self) -> bool {
        self.persistent.get() == Some(&true)
    }
}

/// What a CREATE asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::server) enum DurableWish {
    #[default]
    Nothing,
    /// DHnQ.
    Request,
    /// DH2Q.
    RequestV2 { timeout: Duration, create_guid: [u8; 16], persistent: bool },
    /// DHnC and DH2C.
    Reconnect(Return),
}

/// The open that a client reconnects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct Return {
    pub(in crate::server) file: FileKey,
    /// The number of the CREATE, in version 2.
    pub(in crate::server) create_guid: Option<[u8; 16]>,
    /// The client says that it is persistent.
    pub(in crate::server) persistent: bool,
}

impl DurableWish {
    /// The wish in a request's create contexts. Contexts of both versions must not be combined.
    pub(in crate::server) fn of(asked: &[CreateContext<'_>], is_v3: bool) -> Result<Self, Status> {
        let (mut first, mut second) = (Self::Nothing, Self::Nothing);
        let second_version = |context: &&CreateContext<'_>| {
            matches!(
                context,
                CreateContext::DurableRequestV2 { .. } | CreateContext::DurableReconnectV2 { .. }
            )
        };
        for context in asked.iter().filter(|context| is_v3 || !second_version(context)) {
            match *context {
                CreateContext::DurableRequest if first == Self::Nothing => first = Self::Request,
                CreateContext::DurableReconnect(file) => {
                    first = Self::Reconnect(Return { file, create_guid: None, persistent: false });
                }
                CreateContext::DurableRequestV2 { timeout_ms, create_guid, flags }
                    if second == Self::Nothing =>
                {
                    let timeout = match timeout_ms {
                        0 => TIMEOUT,
                        asked => MAX_TIMEOUT.min(Duration::from_millis(asked.into())),
                    };
                    let persistent = flags.contains(DurableFlags::PERSISTENT);
                    second = Self::RequestV2 { timeout, create_guid, persistent };
                }
                CreateContext::DurableRequestV2 { .. } => return Err(Status::INVALID_PARAMETER),
                CreateContext::DurableReconnectV2 { file, create_guid, flags } if second == Self::Nothing => {
                    let persistent = flags.contains(DurableFlags::PERSISTENT);
                    second = Self::Reconnect(Return { file, create_guid: Some(create_guid), persistent });
                }
                CreateContext::DurableReconnectV2 { .. } => return Err(Status::INVALID_PARAMETER),
                _ => {}
            }
        }
        match (first, second) {
            (first, Self::Nothing) => Ok(first),
            (Self::Nothing, second) => Ok(second),
            _ => Err(Status::INVALID_PARAMETER),
        }
    }

    /// Whether the open is to be persistent.
    pub(super) fn is_persistent(self) -> bool {
        matches!(self, Self::RequestV2 { persistent: true, .. })
    }

    /// The number of the CREATE.
    pub(in crate::server) fn create_guid(self) -> Option<[u8; 16]> {
        match self {
            Self::RequestV2 { create_guid, .. } => Some(create_guid),
            _ => None,
        }
    }
}

/// Makes a new open durable, if the client asked for that, and if the open may cache its handle or is persistent.
pub(in crate::server) async fn grant(
    context: &Context,
    wish: DurableWish,
    open: &Open,
) -> Result<(), Status> {
    let (timeout, create_guid, persistent) = match wish {
        DurableWish::Request => (TIMEOUT, None, false),
        DurableWish::RequestV2 { timeout, create_guid, persistent } => {
            (timeout, Some(create_guid), persistent)
        }
        DurableWish::Nothing | DurableWish::Reconnect(_) => return Ok(()),
    };
    let is_file = open.file().is_ok_and(|file| file.open.node().kind() == vfs::Kind::File);
    let by_handle = open.held.get().is_some_and(|held| held.lease.caching().contains(Caching::HANDLE));
    let may_persist = persistent && persistent::is_offered(context)?;
    if !is_file || !(by_handle || may_persist) {
        return Ok(());
    }
    let session = context.session();
    let (client, user, told) = (session.client().clone(), session.user(), OnceLock::new());
    let persistent = if may_persist { OnceLock::new() } else { OnceLock::from(false) };
    let durable = Durable { timeout, create_guid, client, user, by_handle, persistent, told };
    let _ = open.durable.set(durable); // a new open has none
    inherited::keep(context.service(), open);
    persistent::decide(context, open).await
}

/// Whether an open is kept when its session is lost. It is not kept if a lease break of it is
/// unanswered.
fn may_come_back(open: &Open) -> bool {
    let held = open.held.get().filter(|_| open.durable.get().is_some());
    open.resilience().is_some()
        || open.is_persistent()
        || held
            .is_some_and(|held| !held.lease.is_breaking() && held.lease.caching().contains(Caching::HANDLE))
}

/// Gives a client its open back, MS-SMB2 3.3.5.9.7 and 3.3.5.9.12.
pub(in crate::server) fn reconnect(
    context: &Context,
    request: &Request<'_>,
    lease: Option<Lease>,
    back: Return,
) -> Result<Arc<Open>, Failure> {
    let fits = |lost: &DisconnectedOpen| fits(context, request, lease, back, &lost.open);
    let mut open = context.service().durables.claim(context, back.file, fits)?;
    open.tree = context.tree().clone();
    if let OpenedObject::File(file) = &mut open.what {
        file.open.act_as(context.caller());
    }
    open.session = Arc::downgrade(context.session());
    open.sequence = Sequence::beginning(context.header.channel_sequence());
    open.key.volatile = context.service().file_number();
    if let Ok(file) = open.file() {
        file.open.guard().reserve(false);
    }
    let open = register(context, open)?;
    inherited::keep(context.service(), &open);
    if let Some(held) = open.held.get() {
        held.cache.add(&open);
        if open.is_persistent() {
            held.lease.remind(); // of a recall that came while the client was away
        }
    }
    if let Some(number) = open.number.get() {
        number.moved(&open);
    }
    Ok(open)
}

/// Whether a client may have this open back.
fn fits(
    context: &Context,
    request: &Request<'_>,
    lease: Option<Lease>,
    back: Return,
    open: &Open,
) -> Result<(), Status> {
    let client = context.session().client();
    let made_as = match open.durable.get() {
        Some(durable) => durable.create_guid,
        None => open.resilience().map(|_| None).ok_or(Status::OBJECT_NAME_NOT_FOUND)?,
    };
    // A reconnect of version 1 need not know the number. A version 2 client without a number
    // sends zeros.
    let same = back.create_guid.is_none_or(|guid| made_as.unwrap_or_default() == guid);
    let same = same && Arc::ptr_eq(open.tree.volume()?, context.tree().volume()?);
    let same = same && (back.persistent || !open.is_persistent());
    let key = match open.held.get().map(|held| (held, held.cache.kind())) {
        None if open.resilience().is_none() && !open.is_persistent() => {
            return Err(Status::OBJECT_NAME_NOT_FOUND);
        }
        // Any client of the same user may reconnect to these.
        None | Some((_, Kind::Oplock)) => None,
        Some((held, Kind::Lease { .. })) if !Arc::ptr_eq(&held.client, client) => {
            return Err(Status::OBJECT_NAME_NOT_FOUND);
        }
        Some((held, Kind::Lease { .. })) => Some(held.cache.key()),
    };
    if !same || key != lease.map(|lease| lease.key.0) {
        return Err(Status::OBJECT_NAME_NOT_FOUND);
    }
    if lease.is_some() && !open.file()?.is_known_as(&request.name) {
        return Err(Status::INVALID_PARAMETER);
    }
    Ok(())
}
