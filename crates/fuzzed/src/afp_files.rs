//! Commands about volumes, files and folders: crates/afp/src/wire/{volume,file,directory}.rs and what they are made of. The
//! first byte of an input says what is decoded.
//!
//! Whatever decodes must encode to the same value again.

use ::wire::{Reader, Writer};
use afp::wire::directory::{CloseDir, DirId, OfPlace, SetParms};
use afp::wire::file::{
    CopyFile, CreateFile, ExchangeFiles, FileDirParms, GetFileDirParms, MoveAndRename, Rename,
};
use afp::wire::volume::{GetVolParms, OfVolume, OpenVol, Parameters, SetVolParms, SyncDir};

macro_rules! stable {
    ($message:expr, $type:ty) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($message)) {
            let mut w = Writer::new();
            value.encode(&mut w);
            assert_eq!(<$type>::decode(&mut Reader::new(w.as_bytes())), Ok(value));
        }
    };
}

/// All of them.
pub fn messages(input: &[u8]) {
    let Some((selector, message)) = input.split_first() else { return };
    match selector {
        0 => stable!(message, OpenVol<'_>),
        1 => stable!(message, OfVolume),
        2 => stable!(message, GetVolParms),
        3 => stable!(message, SetVolParms),
        4 => stable!(message, SyncDir),
        5 => stable!(message, Parameters<'_>),
        6 => stable!(message, OfPlace<'_>),
        7 => stable!(message, CloseDir),
        8 => stable!(message, DirId),
        9 => set_parms(message),
        10 => stable!(message, GetFileDirParms<'_>),
        11 => stable!(message, FileDirParms<'_>),
        12 => stable!(message, CreateFile<'_>),
        13 => stable!(message, Rename<'_>),
        14 => stable!(message, MoveAndRename<'_>),
        15 => stable!(message, CopyFile<'_>),
        16 => stable!(message, ExchangeFiles<'_>),
        _ => {}
    }
}

/// What was decoded is what the bitmap says, or nothing.
fn set_parms(message: &[u8]) {
    stable!(message, SetParms<'_>);
    let Ok(parms) = SetParms::decode(&mut Reader::new(message)) else { return };
    parms.place.path.steps().for_each(drop);
    if let Ok(set) = parms.set() {
        assert!([0, parms.bitmap].contains(&set.bitmap()));
        assert!(parms.parameters.starts_with(&set.to_bytes()));
    }
}
