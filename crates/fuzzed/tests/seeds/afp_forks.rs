//! Commands on forks. The selectors are those of `src/afp_forks.rs`.

use afp::wire::fork::*;
use afp::wire::{FileBitmap, Path, lock};
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let seed = |name, selector: u8, encode: &dyn Fn(&mut Writer)| {
        let mut w = Writer::onto(vec![selector]);
        encode(&mut w);
        Seed { target: "afp_forks", name, bytes: w.into_bytes() }
    };
    let (bitmap, access) = (FileBitmap(0xffff), AccessMode(0x33));
    let path = Path::utf8("caf\u{e9}\0notes".as_bytes());
    let open = OpenFork { resource: true, volume: 1, folder: 2, bitmap, access, path };
    let opened = OpenForkReply { bitmap, fork: 7, parameters: b"parameters" };
    let read = Read { fork: 7, offset: 512, count: 1 << 20, newline_mask: 0, newline: 0 };
    let line = Read { newline_mask: 0xff, newline: 13, ..read };
    let write = Write { from_end: true, fork: 7, offset: -512, count: 512 };
    let length = SetForkParms { fork: 7, bitmap: FileBitmap::DATA_LENGTH, length: 512 };
    let long = SetForkParms { bitmap: FileBitmap::EXTENDED_RESOURCE_LENGTH, length: 1 << 40, ..length };
    let range = lock::ByteRangeLock {
        unlock: true,
        from_end: true,
        fork: 7,
        offset: -1,
        length: lock::ByteRangeLock::TO_END,
    };
    let parameters = GetForkParmsReply { bitmap, parameters: b"parameters" };
    vec![
        seed("open", 0, &|w| open.encode(w)),
        seed("open-long-name", 0, &|w| OpenFork { path: Path::long(b"notes"), ..open }.encode(w)),
        seed("opened", 1, &|w| opened.encode(w)),
        seed("close", 2, &|w| OneFork { fork: 7 }.encode(w)),
        seed("read", 3, &|w| line.encode(Width::Bits32, w)),
        seed("read-ext", 4, &|w| read.encode(Width::Bits64, w)),
        seed("write", 5, &|w| write.encode(Width::Bits32, w)),
        seed("write-ext", 6, &|w| write.encode(Width::Bits64, w)),
        seed("written", 7, &|w| WriteReply { end: 512 }.encode(Width::Bits32, w)),
        seed("written-ext", 8, &|w| WriteReply { end: 512 }.encode(Width::Bits64, w)),
        seed("parameters", 9, &|w| GetForkParms { fork: 7, bitmap }.encode(w)),
        seed("parameters-reply", 10, &|w| parameters.encode(w)),
        seed("set-length", 11, &|w| length.encode(w)),
        seed("set-length-ext", 11, &|w| long.encode(w)),
        seed("lock", 12, &|w| range.encode(Width::Bits32, w)),
        seed("lock-ext", 13, &|w| range.encode(Width::Bits64, w)),
        seed("locked", 14, &|w| lock::Reply { start: 512 }.encode(Width::Bits32, w)),
        seed("locked-ext", 15, &|w| lock::Reply { start: 512 }.encode(Width::Bits64, w)),
    ]
}
