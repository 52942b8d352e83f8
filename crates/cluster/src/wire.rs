//! What servers of one tree send each other: frames, and the messages in them.
//!
//! ```text
//! length: u32 │ kind: u8 │ the rest by its kind
//!             │ HELLO    │ magic, version, name of the cluster, number of the sender
//!             │ WELCOME  │ the number of the last message that was received
//!             │ DATA     │ number of the message: u64, epoch: u64, message
//!             │ ACK      │ the number of the last message that was received, the epoch of the receiver
//! ```
//!
//! Big-endian. Every count has a limit, and leftover bytes are an error.

mod change;
mod frame;
mod message;
mod state;
pub mod sums;

use wire::{Malformed, Reader, Writer};

pub use frame::{MAGIC, MAX_CLUSTER_NAME, PeerFrame};
pub use message::{MAX_FILES, Message, Portion};
pub use state::{MAX_ITEMS, chunks};

/// The longest frame, without its length.
pub const MAX_FRAME: usize = 8 << 20;

/// A value in a message.
pub(crate) trait MessageField: Sized {
    fn put(&self, w: &mut Writer);
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed>;
}

macro_rules! integers {
    ($($type:ty;)*) => {$(
        impl MessageField for $type {
            fn put(&self, w: &mut Writer) {
                w.put(&self.to_be_bytes());
            }

            fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                r.array().map(Self::from_be_bytes)
            }
        }
    )*};
}

integers! { u8; u16; u32; u64; }

impl MessageField for bool {
    fn put(&self, w: &mut Writer) {
        w.u8(u8::from(*self));
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("neither 0 nor 1")),
        }
    }
}

impl<T: MessageField> MessageField for Option<T> {
    fn put(&self, w: &mut Writer) {
        self.is_some().put(w);
        if let Some(value) = self {
            value.put(w);
        }
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        if bool::get(r)? { T::get(r).map(Some) } else { Ok(None) }
    }
}

impl<A: MessageField, B: MessageField> MessageField for (A, B) {
    fn put(&self, w: &mut Writer) {
        self.0.put(w);
        self.1.put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((A::get(r)?, B::get(r)?))
    }
}

impl<A: MessageField, B: MessageField, C: MessageField> MessageField for (A, B, C) {
    fn put(&self, w: &mut Writer) {
        self.0.put(w);
        self.1.put(w);
        self.2.put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((A::get(r)?, B::get(r)?, C::get(r)?))
    }
}

/// Up to `most` values behind their count.
fn put_list<T: MessageField>(w: &mut Writer, list: &[T]) {
    w.u32_be(u32::try_from(list.len()).unwrap_or(u32::MAX));
    list.iter().for_each(|value| value.put(w));
}

fn get_list<T: MessageField>(r: &mut Reader<'_>, most: usize) -> Result<Vec<T>, Malformed> {
    let count = r.u32_be()? as usize;
    // Each value has a byte or more, so a count cannot make the server allocate more than it received.
    if count > most || count > r.remaining() {
        return Err(Malformed("too many values"));
    }
    (0..count).map(|_| T::get(r)).collect()
}

fn put_bytes(w: &mut Writer, bytes: &[u8]) {
    w.u16_be(u16::try_from(bytes.len()).unwrap_or(u16::MAX));
    w.put(&bytes[..bytes.len().min(usize::from(u16::MAX))]);
}

fn get_bytes<'a>(r: &mut Reader<'a>, most: usize) -> Result<&'a [u8], Malformed> {
    let length = usize::from(r.u16_be()?);
    if length > most {
        return Err(Malformed("longer than its limit"));
    }
    r.take(length)
}
