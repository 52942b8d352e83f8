//! Frames, paths and what keeps a session alive: crates/afp/src/wire/{dsi,path,server_info,session}.rs.
//!
//! Whatever decodes must encode to the same value again.

use ::wire::{Reader, Writer};
use afp::wire::Path;
use afp::wire::dsi::{DsiHeader, Options};
use afp::wire::path::Step;
use afp::wire::server_info::ServerInfo;
use afp::wire::session::{
    Asleep, DisconnectOldSession, GetSessionToken, GetSrvrMsg, SessionToken, SrvrMsg, SrvrParms, Zzz,
};

macro_rules! stable {
    ($message:expr, $type:ty) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($message)) {
            let mut w = Writer::new();
            value.encode(&mut w);
            assert_eq!(<$type>::decode(&mut Reader::new(w.as_bytes())), Ok(value));
        }
    };
}

/// wire/dsi.rs and wire/path.rs: a header, options or a path, as the first byte says.
pub fn frames(input: &[u8]) {
    let Some((selector, message)) = input.split_first() else { return };
    match selector {
        0 => stable!(message, DsiHeader),
        1 => stable!(message, Options),
        2 => path(message),
        _ => {}
    }
}

/// The names that a path leads down to have all its bytes but the NULs, in their order.
fn path(message: &[u8]) {
    stable!(message, Path<'_>);
    let Ok(path) = Path::decode(&mut Reader::new(message)) else { return };
    let mut names = Vec::new();
    for step in path.steps() {
        if let Step::Down(name) = step {
            assert!(!name.is_empty() && !name.contains(&0));
            names.extend_from_slice(name);
        }
    }
    let without: Vec<u8> = path.bytes.iter().copied().filter(|byte| *byte != 0).collect();
    assert_eq!(names, without);
}

/// wire/server_info.rs: a whole block. Parts may share bytes; written again they cannot, and some may then lie too far off.
pub fn server_info(input: &[u8]) {
    let Ok(info) = ServerInfo::decode(input) else { return };
    assert!(info.versions.len() <= input.len() && info.addresses.len() <= input.len());
    let again = info.encode();
    if again.len() <= usize::from(u16::MAX) {
        assert_eq!(ServerInfo::decode(&again), Ok(info));
    }
}

/// wire/session.rs: the first byte says what is decoded.
pub fn messages(input: &[u8]) {
    let Some((selector, message)) = input.split_first() else { return };
    match selector {
        0 => stable!(message, SrvrParms<'_>),
        1 => stable!(message, GetSrvrMsg),
        2 => stable!(message, SrvrMsg<'_>),
        3 => stable!(message, GetSessionToken<'_>),
        4 => stable!(message, SessionToken<'_>),
        5 => stable!(message, DisconnectOldSession<'_>),
        6 => stable!(message, Zzz),
        7 => stable!(message, Asleep),
        _ => {}
    }
}
