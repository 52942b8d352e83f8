//! What clients may keep in their caches: oplocks and leases, MS-SMB2 3.3.1.12 and 3.3.4.6, 3.3.4.7.

use std::sync::Arc;

use super::context::{Context, Failure};
use super::create::Wanted;
use super::open::Open;
use crate::wire::create::Request;
use crate::wire::create_context::values::Lease;
use crate::wire::values::OplockLevel;

/// What an open may cache.
pub(super) struct Cached {
    pub(super) oplock: OplockLevel,
    pub(super) lease: Option<Lease>,
}

/// Whether a request's lease context counts.
pub(super) fn serves(_context: &Context, request: &Request<'_>) -> bool {
    request.oplock_level == OplockLevel::LEASE
}

/// The lease on the folder that its client knows of this open.
pub(super) fn parent_key(lease: Lease) -> Option<[u8; 16]> {
    lease.v2.map(|v2| v2.parent_key.0).filter(|key| *key != [0; 16])
}

/// Grants what a new open asks for, as far as others let it.
pub(super) fn grant(_context: &Context, _wanted: &Wanted<'_>, _open: &Arc<Open>) -> Result<Cached, Failure> {
    Ok(Cached { oplock: OplockLevel::NONE, lease: None })
}
