//! Opens that outlive their connection: durable handles, MS-SMB2 3.3.5.9.6, 3.3.5.9.7, 3.3.5.9.10 and 3.3.5.9.12.
//!
//! An open that may cache its handle can be durable. When its session is lost, it moves into a
//! table of the service with everything that it holds in the tree. It stays there until its client
//! reconnects, its timeout ends, or its cache must be given back. In the last case it is closed, as
//! its client cannot answer.

pub(in crate::server) mod inherited;
pub(in crate::server) mod note;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lock::{Mutex, rank};
use tokio::runtime::Handle;
use vfs::state::Caching;

use self::inherited::{Told, Unverified};
use super::leases::Kind;
use super::open::{Open, What};
use super::session::{Session, User};
use crate::server::context::{Context, Failure};
use crate::server::files::create::register;
use crate::server::sequence::Sequence;
use crate::wire::Status;
use crate::wire::create::Request;
use crate::wire::create_context::request::Context as Asked;
use crate::wire::create_context::response::Context as Answer;
use crate::wire::create_context::values::{DurableFlags, Lease};
use crate::wire::values::FileKey;

/// The most opens that wait for their clients to reconnect.
const MOST: usize = 16_384;
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
    /// The GUID of the client.
    client_guid: [u8; 16],
    /// The user that made it.
    user: Arc<User>,
    /// Another server was told of it.
    told: OnceLock<Told>,
}

impl Durable {
    /// The create context in the response to its CREATE.
    pub(in crate::server) fn answer(&self) -> Answer {
        match self.create_guid {
            None => Answer::Durable,
            Some(_) => {
                let timeout_ms = self.timeout.as_millis() as u32; // MAX_TIMEOUT is far less than 49 days
                Answer::DurableV2 { timeout_ms, flags: DurableFlags::NONE }
            }
        }
    }
}

/// What a CREATE asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::server) enum Wish {
    #[default]
    Nothing,
    /// DHnQ.
    Request,
    /// DH2Q.
    RequestV2 { timeout: Duration, create_guid: [u8; 16] },
    /// DHnC and DH2C.
    Reconnect { file: FileKey, create_guid: Option<[u8; 16]> },
}

impl Wish {
    /// The wish in a request's create contexts. Contexts of both versions must not be combined.
    pub(in crate::server) fn of(asked: &[Asked<'_>], is_v3: bool) -> Result<Self, Status> {
        let (mut first, mut second) = (Self::Nothing, Self::Nothing);
        let second_version = |context: &&Asked<'_>| {
            matches!(context, Asked::DurableRequestV2 { .. } | Asked::DurableReconnectV2 { .. })
        };
        for context in asked.iter().filter(|context| is_v3 || !second_version(context)) {
            match *context {
                Asked::DurableRequest if first == Self::Nothing => first = Self::Request,
                Asked::DurableReconnect(file) => first = Self::Reconnect { file, create_guid: None },
                Asked::DurableRequestV2 { timeout_ms, create_guid, .. } if second == Self::Nothing => {
                    let timeout = match timeout_ms {
                        0 => TIMEOUT,
                        asked => MAX_TIMEOUT.min(Duration::from_millis(asked.into())),
                    };
                    second = Self::RequestV2 { timeout, create_guid };
                }
                Asked::DurableRequestV2 { .. } => return Err(Status::INVALID_PARAMETER),
                Asked::DurableReconnectV2 { file, create_guid, .. } if second == Self::Nothing => {
                    second = Self::Reconnect { file, create_guid: Some(create_guid) };
                }
                Asked::DurableReconnectV2 { .. } => return Err(Status::INVALID_PARAMETER),
                _ => {}
            }
        }
        match (first, second) {
            (first, Self::Nothing) => Ok(first),
            (Self::Nothing, second) => Ok(second),
            _ => Err(Status::INVALID_PARAMETER),
        }
    }

    /// The number of the CREATE.
    pub(in crate::server) fn create_guid(self) -> Option<[u8; 16]> {
        match self {
            Self::RequestV2 { create_guid, .. } => Some(create_guid),
            _ => None,
        }
    }
}

/// Makes a new open durable, if the client asked for that and the open may cache its handle.
pub(in crate::server) fn grant(context: &Context, wish: Wish, open: &Open) -> Result<(), Status> {
    let (timeout, create_guid) = match wish {
        Wish::Request => (TIMEOUT, None),
        Wish::RequestV2 { timeout, create_guid } => (timeout, Some(create_guid)),
        Wish::Nothing | Wish::Reconnect { .. } => return Ok(()),
    };
    let is_file = open.file().is_ok_and(|file| file.open.node().kind() == vfs::Kind::File);
    if is_file && open.held.get().is_some_and(|held| held.lease.caching().contains(Caching::HANDLE)) {
        let session = context.session()?;
        let (client_guid, user, told) = (session.client_guid, session.user(), OnceLock::new());
        let _ = open.durable.set(Durable { timeout, create_guid, client_guid, user, told }); // a new open has none
        inherited::keep(context.service(), open);
    }
    Ok(())
}

/// Opens that have lost their session.
#[derive(Default)]
pub(in crate::server) struct Durables {
    table: Mutex<HashMap<u64, Lost>, rank::SmbDurable>,
}

struct Lost {
    open: Arc<Open>,
    user: Arc<User>,
    /// It was inherited, and it is not known whether it is in the state of its file.
    unverified: Option<Unverified>,
    /// Closes the open when its timeout ends. Dropped with this entry.
    _timer: Timer,
}

struct Timer(tokio::task::JoinHandle<()>);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Durables {
    /// Takes over the opens of a session that are durable.
    pub(in crate::server) fn keep(self: &Arc<Self>, session: &Session, which: impl Fn(&Open) -> bool) {
        let Ok(runtime) = Handle::try_current() else { return };
        for open in session.opens.take(|open| which(open) && may_come_back(open)) {
            let durable = || open.durable.get().map(|durable| durable.timeout);
            let Some(timeout) = open.resilience().or_else(durable) else { continue };
            let (persistent, timer) =
                (open.key.persistent, self.timer(&runtime, open.key.persistent, timeout));
            let lost = Lost { open, user: session.user(), unverified: None, _timer: timer };
            let mut table = self.table.lock();
            // A break that began in the meantime has not found it here.
            if table.len() < MOST && may_come_back(&lost.open) {
                table.insert(persistent, lost);
            } else {
                drop(table);
                drop(lost); // closed while the table is unlocked
            }
        }
    }

    fn timer(self: &Arc<Self>, runtime: &Handle, persistent: u64, timeout: Duration) -> Timer {
        let table = Arc::downgrade(self);
        Timer(runtime.spawn(async move {
            tokio::time::sleep(timeout).await;
            if let Some(table) = table.upgrade() {
                let late = table.table.lock().remove(&persistent);
                drop(late); // dropped while the table is unlocked
            }
        }))
    }

    /// Adds an open that this server has inherited. Without room it is closed.
    fn hold(self: &Arc<Self>, open: &Arc<Open>, user: Arc<User>, timeout: Duration, unverified: Unverified) {
        let (persistent, runtime) = (open.key.persistent, Handle::current());
        let timer = self.timer(&runtime, persistent, timeout);
        let lost = Lost { open: open.clone(), user, unverified: Some(unverified), _timer: timer };
        let mut table = self.table.lock();
        let refused = if table.len() < MOST { table.insert(persistent, lost) } else { Some(lost) };
        drop(table);
        drop(refused); // closed while the table is unlocked
    }

    fn has(&self, persistent: u64) -> bool {
        self.table.lock().contains_key(&persistent)
    }

    fn unverified(&self, persistent: u64) -> Option<Unverified> {
        self.table.lock().get(&persistent)?.unverified.clone()
    }

    /// It is known whether an inherited open is in the state of its file. If not, it has never been.
    fn is_verified(&self, persistent: u64, is_there: bool) {
        let mut table = self.table.lock();
        let gone = match table.get_mut(&persistent) {
            Some(lost) if is_there => {
                lost.unverified = None;
                None
            }
            _ => table.remove(&persistent),
        };
        drop(table);
        drop(gone); // dropped while the table is unlocked
    }

    /// Leaves all of them as they are: nothing is closed, removed or told.
    fn leave(&self) {
        let all = std::mem::take(&mut *self.table.lock());
        for Lost { open, user, _timer, .. } in all.into_values() {
            std::mem::forget(open); // the process ends
            drop((user, _timer));
        }
    }

    /// Closes the opens that match.
    pub(in crate::server) fn drop_where(&self, which: impl Fn(&Open, &User) -> bool) {
        let gone: Vec<Lost> = {
            let mut table = self.table.lock();
            table.extract_if(|_, lost| which(&lost.open, &lost.user)).map(|(_, lost)| lost).collect()
        };
        drop(gone); // dropped while the table is unlocked
    }

    /// Closes an open that waits for its client. False if it does not wait.
    pub(in crate::server) fn forget(&self, open: &Arc<Open>) -> bool {
        let mut table = self.table.lock();
        let is_it = table.get(&open.key.persistent).is_some_and(|lost| Arc::ptr_eq(&lost.open, open));
        let gone = if is_it { table.remove(&open.key.persistent) } else { None };
        drop(table);
        gone.is_some()
    }

    /// The open that a client reconnects to, if everything matches.
    fn claim(
        &self,
        context: &Context,
        file: FileKey,
        fits: impl FnOnce(&Lost) -> Result<(), Status>,
    ) -> Result<Open, Status> {
        let mut table = self.table.lock();
        let lost = table.get(&file.persistent).filter(|lost| lost.unverified.is_none());
        let lost = lost.ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
        fits(lost)?;
        if lost.user.caller.uid != context.session()?.user().caller.uid {
            return Err(Status::ACCESS_DENIED);
        }
        let lost = table.remove(&file.persistent).ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
        drop(table);
        // If a command still uses the open, the reconnect fails. The open is then closed, as if it
        // had never been kept.
        Arc::into_inner(lost.open).ok_or(Status::OBJECT_NAME_NOT_FOUND)
    }

    #[cfg(test)]
    pub(in crate::server) fn len(&self) -> usize {
        self.table.lock().len()
    }
}

/// Whether an open is kept when its session is lost. It is not kept if a lease break of it is
/// unanswered.
fn may_come_back(open: &Open) -> bool {
    let held = open.held.get().filter(|_| open.durable.get().is_some());
    open.resilience().is_some()
        || held
            .is_some_and(|held| !held.lease.is_breaking() && held.lease.caching().contains(Caching::HANDLE))
}

/// Gives a client its open back, MS-SMB2 3.3.5.9.7 and 3.3.5.9.12.
pub(in crate::server) fn reconnect(
    context: &Context,
    request: &Request<'_>,
    lease: Option<Lease>,
    file: FileKey,
    create_guid: Option<[u8; 16]>,
) -> Result<Arc<Open>, Failure> {
    let client = context.session()?.client().clone();
    let volume = context.tree()?.volume()?;
    let fits = |lost: &Lost| {
        let open = &lost.open;
        let made_as = match open.durable.get() {
            Some(durable) => durable.create_guid,
            None => open.resilience().map(|_| None).ok_or(Status::OBJECT_NAME_NOT_FOUND)?,
        };
        // A reconnect of version 1 need not know the number. A version 2 client without a number
        // sends zeros.
        let same = create_guid.is_none_or(|guid| made_as.unwrap_or_default() == guid);
        let same = same && Arc::ptr_eq(open.tree.volume()?, volume);
        let key = match open.held.get().map(|held| (held, held.cache.kind())) {
            None if open.resilience().is_none() => return Err(Status::OBJECT_NAME_NOT_FOUND),
            // Any client of the same user may reconnect to these.
            None | Some((_, Kind::Oplock)) => None,
            Some((held, Kind::Lease { .. })) if !Arc::ptr_eq(&held.client, &client) => {
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
    };
    let mut open = context.service().durables.claim(context, file, fits)?;
    open.tree = context.tree()?.clone();
    if let What::File(file) = &mut open.what {
        file.open.act_as(context.caller()?);
    }
    open.session = Arc::downgrade(context.session()?);
    open.sequence = Sequence::beginning(context.header.channel_sequence());
    open.key.volatile = context.service().file_number();
    let open = register(context, open)?;
    inherited::keep(context.service(), &open);
    if let Some(held) = open.held.get() {
        held.cache.add(&open);
    }
    if let Some(number) = open.number.get() {
        number.moved(&open);
    }
    Ok(open)
}
