//! The state of a file, and what is said of it.

use coherence::state::{
    Back, BreakNotice, Caching, CarriedLease, CarriedOpen, CarriedRemoval, CarriedWait, ClientId, Concern,
    FileState, Flavour, LeaseId, Lock, LockKind, LockOwner, Modes, OpenId, Party, Range, Stream, Style,
    WaitId,
};
use formats::FileId;
use wire::{Malformed, Reader, Writer};

use super::{MessageField, get_bytes, get_list, put_bytes, put_list};

/// The most values of one kind in one message. Longer states go in several messages.
pub const MAX_ITEMS: usize = 512;
/// The longest name of a stream, in bytes of UTF-8.
const MAX_STREAM: usize = 2_048;
/// The longest name of a lock owner.
const MAX_OWNER: usize = 4_096;
/// The most operations that are named as waiting for one lease. Those beyond it are repeated.
const MAX_CAUSERS: usize = 256;

/// A state in parts, of which each fits into a message.
#[must_use]
pub fn chunks(state: FileState) -> Vec<FileState> {
    let FileState { mut opens, mut ranges, mut queue, mut leases, mut removals, mut openers } = state;
    let mut all = Vec::new();
    loop {
        let chunk = FileState {
            opens: some(&mut opens),
            ranges: some(&mut ranges),
            queue: some(&mut queue),
            leases: some(&mut leases),
            removals: some(&mut removals),
            openers: some(&mut openers),
        };
        if chunk.is_empty() && !all.is_empty() {
            return all;
        }
        all.push(chunk);
    }
}

fn some<T>(list: &mut Vec<T>) -> Vec<T> {
    let rest = list.split_off(list.len().min(MAX_ITEMS));
    std::mem::replace(list, rest)
}

impl MessageField for FileState {
    fn put(&self, w: &mut Writer) {
        put_list(w, &self.opens);
        put_list(w, &self.ranges);
        put_list(w, &self.queue);
        put_list(w, &self.leases);
        put_list(w, &self.removals);
        put_list(w, &self.openers);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            opens: get_list(r, MAX_ITEMS)?,
            ranges: get_list(r, MAX_ITEMS)?,
            queue: get_list(r, MAX_ITEMS)?,
            leases: get_list(r, MAX_ITEMS)?,
            removals: get_list(r, MAX_ITEMS)?,
            openers: get_list(r, MAX_ITEMS)?,
        })
    }
}

macro_rules! numbers {
    ($($name:ident)*) => {$(
        impl MessageField for $name {
            fn put(&self, w: &mut Writer) {
                self.0.put(w);
            }

            fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                MessageField::get(r).map(Self)
            }
        }
    )*};
}

numbers! { OpenId WaitId LeaseId ClientId }

macro_rules! sets {
    ($($name:ident)*) => {$(
        impl MessageField for $name {
            fn put(&self, w: &mut Writer) {
                self.0.put(w);
            }

            fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                Self::from_bits(r.u8()?).ok_or(Malformed("an unknown bit"))
            }
        }
    )*};
}

sets! { Modes Caching }

macro_rules! choices {
    ($($name:ident { $($variant:ident = $value:literal),* })*) => {$(
        impl MessageField for $name {
            fn put(&self, w: &mut Writer) {
                w.u8(match self { $(Self::$variant => $value),* });
            }

            fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                match r.u8()? {
                    $($value => Ok(Self::$variant),)*
                    _ => Err(Malformed("an unknown choice")),
                }
            }
        }
    )*};
}

choices! {
    Concern { Attributes = 1, Rights = 2, Data = 3 }
    LockKind { Shared = 1, Exclusive = 2 }
    Flavour { Mandatory = 1, Advisory = 2 }
    Style { Bits = 1, Whole = 2, Told = 3, Steps = 4 }
}

impl MessageField for [u8; 16] {
    fn put(&self, w: &mut Writer) {
        w.put(self);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.array()
    }
}

impl MessageField for Party {
    fn put(&self, w: &mut Writer) {
        (self.client, self.key).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (client, key) = MessageField::get(r)?;
        Ok(Self { client, key })
    }
}

impl MessageField for Stream {
    fn put(&self, w: &mut Writer) {
        match self {
            Self::Data => w.u8(1),
            Self::Resource => w.u8(2),
            Self::Named(name) => {
                w.u8(3);
                put_bytes(w, name.as_bytes());
            }
            Self::Info => w.u8(4),
        }
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            1 => Self::Data,
            2 => Self::Resource,
            3 => {
                let name = std::str::from_utf8(get_bytes(r, MAX_STREAM)?);
                Self::Named(name.map_err(|_| Malformed("a stream that is not UTF-8"))?.into())
            }
            4 => Self::Info,
            _ => return Err(Malformed("an unknown stream")),
        })
    }
}

impl MessageField for Range {
    fn put(&self, w: &mut Writer) {
        (self.is_empty(), self.start(), self.last()).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match MessageField::get(r)? {
            (true, start, last) if start == last => Ok(Self::empty(start)),
            (false, start, last) => Self::between(start, last).ok_or(Malformed("a range that ends early")),
            _ => Err(Malformed("an empty range with bytes")),
        }
    }
}

impl MessageField for Lock {
    fn put(&self, w: &mut Writer) {
        let Self { owner: LockOwner { client, open, opaque }, range, kind, flavour } = self;
        (*client, *open).put(w);
        put_bytes(w, opaque);
        range.put(w);
        (*kind, *flavour).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (client, open) = MessageField::get(r)?;
        let opaque = get_bytes(r, MAX_OWNER)?.into();
        let range = MessageField::get(r)?;
        let (kind, flavour) = MessageField::get(r)?;
        Ok(Self { owner: LockOwner { client, open, opaque }, range, kind, flavour })
    }
}

impl MessageField for CarriedOpen {
    fn put(&self, w: &mut Writer) {
        self.id.put(w);
        self.stream.put(w);
        self.party.put(w);
        (self.access, self.deny).put(w);
        (self.concern, self.has_ranges, self.reserved).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (id, stream, party) = MessageField::get(r)?;
        let (access, deny) = MessageField::get(r)?;
        let (concern, has_ranges, reserved) = MessageField::get(r)?;
        Ok(Self { id, stream, party, access, deny, concern, has_ranges, reserved })
    }
}

impl MessageField for CarriedWait {
    fn put(&self, w: &mut Writer) {
        self.id.put(w);
        self.stream.put(w);
        self.wanted.put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (id, stream, wanted) = MessageField::get(r)?;
        Ok(Self { id, stream, wanted })
    }
}

impl MessageField for CarriedLease {
    fn put(&self, w: &mut Writer) {
        self.id.put(w);
        self.stream.put(w);
        self.party.put(w);
        (self.style, self.held, self.breaking).put(w);
        put_list(w, &self.causers[..self.causers.len().min(MAX_CAUSERS)]);
        self.guards.put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (id, stream, party) = MessageField::get(r)?;
        let (style, held, breaking) = MessageField::get(r)?;
        let (causers, guards) = (get_list(r, MAX_CAUSERS)?, MessageField::get(r)?);
        Ok(Self { id, stream, party, style, held, breaking, causers, guards })
    }
}

impl MessageField for CarriedRemoval {
    fn put(&self, w: &mut Writer) {
        self.stream.put(w);
        (self.home, self.number, self.told).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let stream = MessageField::get(r)?;
        let (home, number, told) = MessageField::get(r)?;
        Ok(Self { stream, home, number, told })
    }
}

impl MessageField for BreakNotice {
    fn put(&self, w: &mut Writer) {
        (self.lease, self.file).put(w);
        self.stream.put(w);
        self.party.put(w);
        (self.from, self.to).put(w);
        (self.needs_ack, self.further, self.revoked).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (lease, file): (LeaseId, FileId) = MessageField::get(r)?;
        let (stream, party) = MessageField::get(r)?;
        let (from, to) = MessageField::get(r)?;
        let (needs_ack, further, revoked) = MessageField::get(r)?;
        Ok(Self { lease, file, stream, party, from, to, needs_ack, further, revoked })
    }
}

impl MessageField for Back {
    fn put(&self, w: &mut Writer) {
        match self {
            Self::Notice(notice, last) => {
                w.u8(1);
                notice.put(w);
                last.put(w);
            }
            Self::Granted(id) => (2u8, *id).put(w),
            Self::Cancelled(id) => (3u8, *id).put(w),
            Self::Answered(number) => (4u8, *number).put(w),
            Self::Remove(number) => (5u8, *number).put(w),
        }
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            1 => Self::Notice(MessageField::get(r)?, MessageField::get(r)?),
            2 => Self::Granted(MessageField::get(r)?),
            3 => Self::Cancelled(MessageField::get(r)?),
            4 => Self::Answered(MessageField::get(r)?),
            5 => Self::Remove(MessageField::get(r)?),
            _ => return Err(Malformed("an unknown answer")),
        })
    }
}
