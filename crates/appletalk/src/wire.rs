//! Frames, datagrams and messages: bytes to values and back. Nothing here has a state, a clock or I/O.

pub mod aarp;
pub mod aep;
pub mod asp;
pub mod atp;
pub mod ddp;
pub mod elap;
pub mod llap;
pub mod nbp;
pub mod rtmp;
pub mod zip;

use ::wire::{Malformed, Reader, Writer};

use crate::address::Address;
use crate::name::MacName;

/// A network and a node.
fn read_address(r: &mut Reader<'_>) -> Result<Address, Malformed> {
    Ok(Address { network: r.u16_be()?, node: r.u8()? })
}

fn put_address(w: &mut Writer, address: Address) {
    w.u16_be(address.network);
    w.u8(address.node);
}

/// A name with its length before it, of at most 32 bytes.
fn read_name(r: &mut Reader<'_>) -> Result<MacName, Malformed> {
    let length = r.u8()?;
    MacName::new(r.take(length.into())?).ok_or(Malformed("name longer than 32 bytes"))
}

fn put_name(w: &mut Writer, name: &MacName) {
    w.u8(name.as_bytes().len() as u8);
    w.put(name.as_bytes());
}
