//! crates/afp/src/wire/desktop.rs, attribute.rs, acl.rs and uuid.rs. The first byte of an input says what the others are.
//!
//! Whatever decodes must encode to the same value again.

use afp::wire::desktop::*;
use afp::wire::{acl, attribute, uuid};
use wire::{Reader, Writer};

/// Decodes `$bytes` as `$type`; when that works, encodes it and decodes it again.
macro_rules! stable {
    ($bytes:expr, $type:ty) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($bytes)) {
            let mut w = Writer::new();
            value.encode(&mut w);
            assert_eq!(<$type>::decode(&mut Reader::new(w.as_bytes())), Ok(value));
        }
    };
}

/// Requests and replies of the desktop database.
pub fn desktop(input: &[u8]) {
    let Some((&selector, bytes)) = input.split_first() else { return };
    match selector {
        0 => stable!(bytes, OpenDt),
        1 => stable!(bytes, OpenDtReply),
        2 => stable!(bytes, CloseDt),
        3 => stable!(bytes, AddIcon),
        4 => stable!(bytes, GetIcon),
        5 => stable!(bytes, GetIconInfo),
        6 => stable!(bytes, IconInfo),
        7 => stable!(bytes, AddAppl<'_>),
        8 => stable!(bytes, RemoveAppl<'_>),
        9 => stable!(bytes, GetAppl),
        10 => stable!(bytes, Appl),
        11 => stable!(bytes, AddComment<'_>),
        12 => stable!(bytes, OfFile<'_>),
        _ => stable!(bytes, Comment<'_>),
    }
}

/// Requests and replies about extended attributes and ACLs, and the accounts of their UUIDs.
pub fn attributes(input: &[u8]) {
    let Some((&selector, bytes)) = input.split_first() else { return };
    if let Some(uuid) = bytes.last_chunk()
        && let Some(named) = uuid::UuidIdentity::of(uuid)
    {
        assert_eq!(uuid::UuidIdentity::of(&named.uuid()), Some(named));
    }
    match selector {
        0 => stable!(bytes, attribute::Get<'_>),
        1 => stable!(bytes, attribute::Set<'_>),
        2 => stable!(bytes, attribute::Remove<'_>),
        3 => stable!(bytes, attribute::List<'_>),
        4 => stable!(bytes, attribute::Reply<'_>),
        5 => stable!(bytes, acl::Get<'_>),
        6 => stable!(bytes, acl::Reply),
        7 => stable!(bytes, acl::Set<'_>),
        _ => stable!(bytes, acl::Access<'_>),
    }
}
