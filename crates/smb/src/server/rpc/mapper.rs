//! The endpoint mapper: what is at which port of this server. Who can reach it may ask.

use super::{Interface, Rpc};
use crate::wire::rpc::Syntax;
use crate::wire::rpc::epm::{Endpoint, EpmStatus, Request, free_response, lookup_response, map_response};
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::Fault;

/// How a lookup compares versions: C706 appendix O.
const ALL_VERSIONS: u32 = 1;
const EXACT_VERSION: u32 = 3;

/// What stands in a handle before the number of entries that the client has. So nothing is kept for it.
const MARK: &[u8; 19] = b"\0\0\0\0fourfold lookup";

pub(super) fn call(rpc: &Rpc, operation: u16, stub: &[u8]) -> Result<Vec<u8>, Fault> {
    match Request::decode(operation, stub)?.ok_or(Fault::OPERATION_RANGE)? {
        Request::Lookup { interface, versions, handle, max } => {
            let fits = |endpoint: &Endpoint| {
                interface.is_none_or(|asked| is_of_version(&endpoint.interface, &asked, versions))
            };
            let MapperEntries { found, has, status, .. } = some(rpc, fits, &handle, max)?;
            // It ends with an answer that has room left.
            let is_full = !found.is_empty() && found.len() == max as usize;
            let next = if is_full { handle_after(has) } else { [0; 20] };
            Ok(lookup_response(&next, &found, max, status))
        }
        Request::Map { wanted, handle, max } => {
            let fits = |endpoint: &Endpoint| wanted.is_some_and(|asked| is_for(&endpoint.interface, &asked));
            let MapperEntries { found, has, of, status } = some(rpc, fits, &handle, max)?;
            let next = if has < of { handle_after(has) } else { [0; 20] };
            Ok(map_response(&next, &found, max, status))
        }
        Request::Free { handle } => {
            begin(&handle)?;
            Ok(free_response())
        }
        Request::Refused => Err(Fault::ACCESS_DENIED),
    }
}

/// The endpoints of this server.
fn endpoints(rpc: &Rpc) -> [Endpoint; 2] {
    [
        Endpoint { interface: Syntax::EPMAPPER, port: rpc.ports.mapper, annotation: "Endpoint mapper" },
        Endpoint { interface: Syntax::WITNESS, port: rpc.ports.witness, annotation: "SMB witness" },
    ]
}

/// Some entries.
struct MapperEntries {
    found: Vec<Endpoint>,
    /// How many the client has with these, of how many.
    has: usize,
    of: usize,
    status: EpmStatus,
}

/// The entries from where a handle has ended, at most `max`.
fn some(
    rpc: &Rpc,
    fits: impl Fn(&Endpoint) -> bool,
    handle: &Handle,
    max: u32,
) -> Result<MapperEntries, Fault> {
    let had = begin(handle)?;
    let all: Vec<Endpoint> = endpoints(rpc).into_iter().filter(fits).collect();
    let found: Vec<Endpoint> = all.iter().skip(had).take(max as usize).copied().collect();
    let status = if found.is_empty() { EpmStatus::NOT_REGISTERED } else { EpmStatus::OK };
    Ok(MapperEntries { has: had + found.len(), of: all.len(), found, status })
}

/// How many entries the client with this handle has.
fn begin(handle: &Handle) -> Result<usize, Fault> {
    match handle.split_last() {
        _ if *handle == [0; 20] => Ok(0),
        Some((count, mark)) if mark == MARK => Ok((*count).into()),
        _ => Err(Fault::CONTEXT_MISMATCH),
    }
}

fn handle_after(count: usize) -> Handle {
    let mut handle = [0; 20];
    handle[..MARK.len()].copy_from_slice(MARK);
    handle[MARK.len()] = count as u8; // there are two
    handle
}

/// Whether a client that wants `asked` can use `offered`, C706 6.1.5.
fn is_for(offered: &Syntax, asked: &Syntax) -> bool {
    offered.uuid == asked.uuid && offered.major == asked.major && offered.minor >= asked.minor
}

fn is_of_version(offered: &Syntax, asked: &Syntax, versions: u32) -> bool {
    match versions {
        ALL_VERSIONS => offered.uuid == asked.uuid,
        EXACT_VERSION => offered == asked,
        _ => is_for(offered, asked),
    }
}

impl Interface {
    /// What a presentation context at this port may name.
    pub(super) fn find(self, syntax: &Syntax) -> Option<Self> {
        let own = match self {
            Self::Mapper => Syntax::EPMAPPER,
            Self::Witness => Syntax::WITNESS,
        };
        is_for(&own, syntax).then_some(self)
    }
}
