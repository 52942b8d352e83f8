//! What clients may keep in their caches: oplocks and leases, MS-SMB2 3.3.1.12 and 3.3.5.9.8, 3.3.5.9.11.
//!
//! The tree knows which client caches what (`vfs::state`), decides what is granted, and says what
//! must be given back. This module tells the client.
//!
//! ```text
//! CREATE ─► grant ─► vfs lease, Cache (one for each lease key; an oplock has a key of its own)
//! tree: BreakNotice ─► Client ─► Cache::told ─► notification over a connection of one of its opens
//! OPLOCK_BREAK ─► acknowledge ─► vfs lease: the open that waits goes on
//! ```

mod cache;
#[cfg(test)]
mod local_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use vfs::Kind as FileKind;
use vfs::state::{Caching, LeaseRequest, Stream, Style};

pub(in crate::server) use self::cache::{CacheReference, Key, Kind, LeaseCache, Of};
use super::open::{File, Open};
use crate::server::context::{Context, Failure};
use crate::server::files::create::RequestedOpen;
use crate::server::login::negotiate::Negotiation;
use crate::wire::Status;
use crate::wire::create::Request;
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::values::{Lease, LeaseFlags, LeaseV2};
use crate::wire::values::{LeaseKey, LeaseState, OplockLevel};

/// What an open may cache.
pub(in crate::server) struct CacheGrant {
    pub(in crate::server) oplock: OplockLevel,
    pub(in crate::server) lease: Option<Lease>,
}

impl CacheGrant {
    /// Nothing.
    pub(in crate::server) const NONE: Self = Self { oplock: OplockLevel::NONE, lease: None };

    pub(in crate::server) fn is_nothing(&self) -> bool {
        self.oplock == OplockLevel::NONE && self.lease.is_none()
    }
}

/// The lease that a request names, if the dialect has leases. It has version 2 if the dialect
/// supports it.
pub(in crate::server) fn named(context: &Context, contexts: &[CreateContext<'_>]) -> Option<Lease> {
    let lease = contexts.iter().find_map(|context| match context {
        CreateContext::Lease(lease) => Some(*lease),
        _ => None,
    });
    let dialect = context.connection.negotiated()?.dialect;
    let lease = lease.filter(|_| dialect.has_large_mtu())?;
    match dialect.is_v3() {
        true => Some(lease),
        false => Some(Lease { v2: None, ..lease }),
    }
}

/// The lease that a request asks for, if it asks for one.
pub(in crate::server) fn asked(
    context: &Context,
    request: &Request<'_>,
    contexts: &[CreateContext<'_>],
) -> Option<Lease> {
    named(context, contexts).filter(|_| request.oplock_level == OplockLevel::LEASE)
}

/// The key of the client's lease on the folder that contains this file.
pub(in crate::server) fn parent_key(lease: Lease) -> Option<[u8; 16]> {
    lease.v2.filter(|_| lease.flags.contains(LeaseFlags::PARENT_KEY_SET)).map(|v2| v2.parent_key.0)
}

/// A lease key belongs to one file. It is refused for any other, MS-SMB2 3.3.5.9.8. `of` is `None`
/// for a file that is about to be made.
pub(in crate::server) fn check_key(
    context: &Context,
    wanted: &RequestedOpen<'_>,
    of: Option<&Of>,
) -> Result<(), Status> {
    let Some(lease) = wanted.lease else { return Ok(()) };
    match context.session().client().cache(&lease.key.0) {
        Some(cache) if !of.is_some_and(|of| cache.is_of(of)) => Err(Status::INVALID_PARAMETER),
        _ => Ok(()),
    }
}

/// Grants the caching that a new open asks for, as far as other opens allow it.
pub(in crate::server) async fn grant(
    context: &Context,
    wanted: &RequestedOpen<'_>,
    open: &Arc<Open>,
) -> Result<CacheGrant, Failure> {
    let file = open.file()?;
    let Some((want, kind)) = wish(context, wanted, file) else { return Ok(CacheGrant::NONE) };
    let client = context.session().client().clone();
    let guard = file.open.guard();
    let style = if kind == Kind::Oplock { Style::Steps } else { Style::Bits };
    let request = LeaseRequest { party: guard.party(), want, style, notices: client.notices() };
    let Some(key) = request.party.key else { return Ok(CacheGrant::NONE) };
    let make = || LeaseCache::new(key, Of::open(file), kind, wanted.lease, Arc::downgrade(&client));
    let cache = client.cache_or(key, make);
    let grant = || cache.grant(open, || file.open.lease(&request));
    let lease = match file.open.volume().settled(grant).await {
        Err(vfs::Error::TooMany) => return Ok(CacheGrant::NONE),
        other => other?,
    };
    let held = lease.caching();
    if kind == Kind::Oplock && held == Caching::NONE {
        return Ok(CacheGrant::NONE);
    }
    let held = CacheReference { cache, lease, client };
    let cached = held.cached();
    let _ = open.held.set(held); // a new open has none
    Ok(cached)
}

/// The caching that a request asks for, and whether by a lease or an oplock.
fn wish(context: &Context, wanted: &RequestedOpen<'_>, file: &File) -> Option<(Caching, Kind)> {
    let folder = file.open.node().kind() == FileKind::Folder && file.open.is_data();
    if let Some(lease) = wanted.lease {
        let version2 = lease.v2.is_some();
        let leases_folders =
            || context.connection.negotiated().is_some_and(Negotiation::has_directory_leases);
        if folder && !(version2 && leases_folders()) {
            return None;
        }
        let want = Caching(lease.state.0 as u8 & Caching::ALL.0);
        let want = if folder { want.difference(Caching::WRITE) } else { want };
        let parent = parent_key(lease).map(LeaseKey);
        return Some((want, Kind::Lease { version2, parent }));
    }
    let want = match wanted.request().oplock_level {
        _ if folder => return None,
        OplockLevel::II => Caching::READ,
        OplockLevel::EXCLUSIVE => Caching::READ.union(Caching::WRITE),
        OplockLevel::BATCH => Caching::ALL,
        _ => return None,
    };
    Some((want, Kind::Oplock))
}

/// The oplock level for this caching.
pub(in crate::server) fn level(caching: Caching) -> OplockLevel {
    match caching {
        Caching::ALL => OplockLevel::BATCH,
        held if held.contains(Caching::WRITE) => OplockLevel::EXCLUSIVE,
        held if held.contains(Caching::READ) => OplockLevel::II,
        _ => OplockLevel::NONE,
    }
}

/// The lease state for this caching.
pub(in crate::server) fn state(caching: Caching) -> LeaseState {
    LeaseState(u32::from(caching.0))
}

impl CacheReference {
    /// The form for a response to CREATE.
    pub(in crate::server) fn cached(&self) -> CacheGrant {
        let held = self.lease.caching();
        let Kind::Lease { version2, parent } = self.cache.kind() else {
            return CacheGrant { oplock: level(held), lease: None };
        };
        let mut flags = LeaseFlags::NONE;
        if self.lease.is_breaking() {
            flags |= LeaseFlags::BREAK_IN_PROGRESS;
        }
        if parent.is_some() {
            flags |= LeaseFlags::PARENT_KEY_SET;
        }
        let v2 = LeaseV2 { parent_key: parent.unwrap_or_default(), epoch: self.cache.epoch() };
        let v2 = Some(v2).filter(|_| version2);
        let lease = Lease { key: LeaseKey(self.cache.key()), state: state(held), flags, v2 };
        CacheGrant { oplock: OplockLevel::LEASE, lease: Some(lease) }
    }
}

impl Of {
    /// The file or stream of an open.
    pub(in crate::server) fn open(file: &File) -> Self {
        Self::stream(file.open.volume(), file.open.node().id(), file.open.guard().stream())
    }

    /// A stream of a file.
    pub(in crate::server) fn stream(volume: &Arc<vfs::Volume>, file: vfs::FileId, stream: Stream) -> Self {
        Self { volume: Arc::as_ptr(volume) as usize, file, stream }
    }
}
