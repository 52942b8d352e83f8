//! What a COMPOUND is known to need before it is executed.

use conn::Reservation;
use wire::Reader;

use crate::server::call::Call;
use crate::server::v3::{MAX_DATA, MAX_LISTING};
use crate::wire::rpc::CallHeader;
use crate::wire::v3::PROGRAM;
use crate::wire::v4::{COMPOUND, CompoundOperation, Head};
use crate::wire::xdr::Decode;

/// The most bytes of the results of one COMPOUND: the longest READ, and some room.
pub(super) const MOST_RESULTS: usize = (1 << 20) + 64 * 1024;

/// The operations of a COMPOUND as far as they can be decoded.
fn operations<'a>(arguments: &'a [u8]) -> impl Iterator<Item = CompoundOperation<'a>> {
    let mut r = Reader::new(arguments);
    let head = Head::decode(&mut r).ok().filter(|head| head.refusal().is_none());
    let count = head.map_or(0, |head| head.operations);
    (0..count).map_while(move |_| CompoundOperation::decode(&mut r).ok())
}

/// Reserves memory for the data and listings that a COMPOUND may return. `None` if the connection has ended in the meantime.
pub(in crate::server) async fn reserved(call: &mut Call<'_>) -> Option<Reservation> {
    if call.header.procedure != COMPOUND {
        return Some(Reservation::default());
    }
    let (mut data, mut listings) = (0_usize, 0_usize);
    for operation in operations(call.arguments) {
        match operation {
            CompoundOperation::Read(request) => data += request.count.min(MAX_DATA) as usize,
            CompoundOperation::ReadDir(request) => listings += request.max_count.min(MAX_LISTING) as usize,
            _ => {}
        }
    }
    let data = data.min(MOST_RESULTS);
    if data > 0 {
        return call.memory.reserve((data + listings).min(MOST_RESULTS)).await;
    }
    let (reserved, room) = call.memory.reserve_up_to(listings.min(MOST_RESULTS));
    call.room = room;
    Some(reserved)
}

/// The minor version of a COMPOUND; 0 for anything else.
pub(in crate::server) fn minor_of(header: &CallHeader<'_>, arguments: &[u8]) -> u32 {
    let is_compound =
        (header.program, header.version, header.procedure) == (PROGRAM, crate::wire::v4::VERSION, COMPOUND);
    let head = is_compound.then(|| Head::decode(&mut Reader::new(arguments)).ok()).flatten();
    head.map_or(0, |head| head.minor)
}

/// Whether a COMPOUND must not be executed twice, and neither an owner of opens or locks nor a session counts it.
pub(in crate::server) fn is_kept(call: &Call<'_>) -> bool {
    let changes = |operation: CompoundOperation<'_>| {
        matches!(
            operation,
            CompoundOperation::Create(_)
                | CompoundOperation::Remove(_)
                | CompoundOperation::Rename(_)
                | CompoundOperation::Link(_)
                | CompoundOperation::SetAttr(_)
        )
    };
    call.header.procedure == COMPOUND && call.minor == 0 && operations(call.arguments).any(changes)
}
