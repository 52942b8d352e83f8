//! FileStreamInformation (22), MS-FSCC 2.4.

use wire::{Malformed, Reader, Writer};

use super::chain::{self, Chain};
use crate::wire::text;

/// One stream of a file. The data fork is `::$DATA`, others `:name:$DATA`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamEntry {
    pub size: u64,
    pub allocation_size: u64,
    pub name: Vec<u16>,
}

/// The streams of a reply. A folder without streams has none, and no bytes.
pub fn decode(r: &mut Reader<'_>) -> Result<Vec<StreamEntry>, Malformed> {
    chain::entries(r.rest()).map(|entry| stream(&mut entry?)).collect()
}

fn stream(r: &mut Reader<'_>) -> Result<StreamEntry, Malformed> {
    let name_len = r.u32_le()? as usize;
    let (size, allocation_size) = (r.u64_le()?, r.u64_le()?);
    Ok(StreamEntry { size, allocation_size, name: text::units(r, name_len)? })
}

/// Writes the streams, each at a multiple of 8 bytes.
pub fn encode(streams: &[StreamEntry], w: &mut Writer) {
    let mut chain = Chain::begin(w, 8);
    for stream in streams {
        chain.next(w);
        w.u32_le(text::byte_len(&stream.name));
        w.u64_le(stream.size);
        w.u64_le(stream.allocation_size);
        text::put(w, &stream.name);
    }
}
