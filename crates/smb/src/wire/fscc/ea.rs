//! FileFullEaInformation (15), MS-FSCC 2.4. FileGetEaInformation is in `query_info`, with the request that carries it.

use wire::{Malformed, Reader, Writer};

use super::chain::{self, Chain};
wire::bits! {
    /// Flags of an extended attribute.
    pub EaFlags: u8 {
        /// A file system that does not know this attribute must not open the file.
        NEED_EA = 0x80,
    }
}

/// An extended attribute. One that is set to an empty value is removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FullEa {
    pub flags: EaFlags,
    /// ASCII, at most 255 bytes, without the NUL that follows.
    pub name: Vec<u8>,
    pub value: Vec<u8>,
}

impl FullEa {
    /// How long the entry is, unpadded.
    pub fn len(&self) -> usize {
        8 + self.name.len() + 1 + self.value.len()
    }

    /// Whether the value is empty.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }
}

/// The attributes of a list, as queried, set, or given with a CREATE.
pub fn decode(r: &mut Reader<'_>) -> Result<Vec<FullEa>, Malformed> {
    chain::entries(r.rest()).map(|entry| full(&mut entry?)).collect()
}

fn full(r: &mut Reader<'_>) -> Result<FullEa, Malformed> {
    let flags = EaFlags(r.u8()?);
    let (name_len, value_len) = (r.u8()?, r.u16_le()?);
    let name = name(r, name_len)?;
    Ok(FullEa { flags, name, value: r.take(value_len.into())?.to_vec() })
}

fn name(r: &mut Reader<'_>, len: u8) -> Result<Vec<u8>, Malformed> {
    let name = r.take(len.into())?.to_vec();
    match r.u8()? {
        0 => Ok(name),
        _ => Err(Malformed("name of an extended attribute without its NUL")),
    }
}

/// Writes the attributes, each at a multiple of 4 bytes. A name is cut to 255 bytes, a value to 65,535: no more can be stored.
pub fn encode(attributes: &[FullEa], w: &mut Writer) {
    let mut chain = Chain::begin(w, 4);
    for ea in attributes {
        let name = &ea.name[..ea.name.len().min(u8::MAX.into())];
        let value = &ea.value[..ea.value.len().min(u16::MAX.into())];
        chain.next(w);
        w.u8(ea.flags.0);
        w.u8(name.len() as u8);
        w.u16_le(value.len() as u16);
        w.put(name);
        w.u8(0);
        w.put(value);
    }
}
