//! crates/afp/src/wire/fork.rs and lock.rs. The first byte of an input says what the others are.
//!
//! Whatever decodes must encode to the same value again.

use afp::wire::fork::*;
use afp::wire::lock;
use wire::{Reader, Writer};

/// Decodes `$bytes` as `$type`; when that works, encodes it and decodes it again.
macro_rules! stable {
    ($bytes:expr, $type:ty $(, $width:expr)?) => {
        if let Ok(value) = <$type>::decode($($width,)? &mut Reader::new($bytes)) {
            let mut w = Writer::new();
            value.encode($($width,)? &mut w);
            assert_eq!(<$type>::decode($($width,)? &mut Reader::new(w.as_bytes())), Ok(value));
        }
    };
}

/// Requests and replies.
pub fn forks(input: &[u8]) {
    let Some((&selector, bytes)) = input.split_first() else { return };
    match selector {
        0 => stable!(bytes, OpenFork<'_>),
        1 => stable!(bytes, OpenForkReply<'_>),
        2 => stable!(bytes, OneFork),
        3 => stable!(bytes, Read, Width::Bits32),
        4 => stable!(bytes, Read, Width::Bits64),
        5 => stable!(bytes, Write, Width::Bits32),
        6 => stable!(bytes, Write, Width::Bits64),
        7 => stable!(bytes, WriteReply, Width::Bits32),
        8 => stable!(bytes, WriteReply, Width::Bits64),
        9 => stable!(bytes, GetForkParms),
        10 => stable!(bytes, GetForkParmsReply<'_>),
        11 => stable!(bytes, SetForkParms),
        12 => stable!(bytes, lock::ByteRangeLock, Width::Bits32),
        13 => stable!(bytes, lock::ByteRangeLock, Width::Bits64),
        14 => stable!(bytes, lock::Reply, Width::Bits32),
        _ => stable!(bytes, lock::Reply, Width::Bits64),
    }
}
