//! NFS version 4.0, RFC 7530, 4.1, RFC 8881, and 4.2, RFC 7862: COMPOUND, the current and the saved file handle, and the operations.
//!
//! ```text
//! operations.rs (one after another) ─► compound.rs: the state between them; place.rs: what a handle names, and the pseudo-root
//!   looking.rs, attributes.rs, listing.rs, data.rs, changing.rs, setting.rs    on files, as version 3
//!   named.rs                                                        named attributes: forks, Finder info, streams
//!   shown.rs                                                        how a file is shown: for GETATTR and READDIR
//!   acls.rs                                                         ACLs, over those of the tree
//!   names.rs ─► clients.rs ─► client.rs ─► states.rs, owners.rs     who clients are, what they hold, and their leases.rs
//!   registering.rs (4.0), exchanging.rs, creation.rs (4.1)          how clients and their sessions come and go
//!   sequencing.rs ─► sessions.rs                                    4.1: each request of a slot is executed once
//!   opens.rs, rights.rs, creating.rs, locks.rs, reclaiming.rs       the operations on what clients hold
//!   wanting.rs ─► delegations.rs ─► calling.rs (4.0), backchannel.rs (4.1)   what clients may cache, and how it is recalled
//!   pushing.rs, gone.rs                                             delegations that clients wait for; those of files that are gone
//!   asking.rs, notifying.rs                                         what holders of delegations are asked for, and told of
//!   stateids.rs                                                     what a stateid means in each minor version
//!   ranges.rs, copying.rs, xattrs.rs                                4.2: ranges that no data travel for, extended attributes
//!   referrals.rs                                                    links that lead to other servers
//!   fail.rs                                                         the one map from facts of the tree to statuses
//! ```

mod acls;
mod asking;
mod attributes;
mod backchannel;
mod calling;
mod changing;
mod client;
mod clients;
mod compound;
mod copying;
mod creating;
mod creation;
mod data;
mod delegations;
mod exchanging;
mod fail;
mod gone;
mod leases;
mod listing;
mod locks;
mod looking;
mod named;
mod names;
mod notifying;
mod opens;
mod operations;
mod owners;
mod place;
mod principal;
mod pushing;
mod ranges;
mod reclaiming;
mod records;
mod referrals;
mod registering;
mod reserving;
mod rights;
mod sequencing;
mod sessions;
mod setting;
mod shown;
mod stateids;
mod states;
#[cfg(test)]
mod tests;
mod wanting;
mod xattrs;

pub(super) use clients::Clients;
pub(super) use operations::dispatch;
pub(super) use reserving::{is_kept, minor_of, reserved};

/// The newest minor version that is built.
pub(super) const NEWEST_MINOR: u32 = 2;
