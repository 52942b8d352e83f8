//! What SMB's messages carry: file information, security descriptors, control codes. Where a target has several
//! decoders, the first byte of the input says which.
//!
//! What was decoded and encoded again does not change when that is done once more: the first time may drop padding.

use formats::names::Folding;
use smb::server::DurableNote;
use smb::wire::fscc::{EntryName, NamePattern};
use smb::wire::fscc::{
    directory, ea, file_info as file, file_name, fs_info as fs, notify, posix, quota, reparse, stream,
};
use smb::wire::fsctl::{copy, dfs, negotiate, network, object, pipe, ranges, snapshots};
use smb::wire::security::{self, Sid};
use wire::{Malformed, Reader, Writer};

/// Offsets and lengths of 16 bits may name the same text twice; what is encoded then may be too long for them.
const LONGEST: usize = 30_000;

fn settles<T>(
    bytes: &[u8],
    decode: impl Fn(&mut Reader<'_>) -> Result<T, Malformed>,
    encode: impl Fn(&T, &mut Writer),
) {
    let again = |bytes: &[u8]| {
        let value = decode(&mut Reader::new(bytes)).ok()?;
        let mut w = Writer::new();
        encode(&value, &mut w);
        Some(w.into_bytes())
    };
    if let Some(encoded) = again(bytes).filter(|_| bytes.len() <= LONGEST) {
        assert_eq!(again(&encoded).as_ref(), Some(&encoded));
    }
}

/// One decoder per number, the first byte of `$data`.
macro_rules! choose {
    ($data:expr, $($number:literal => $type:ty,)*) => {
        match $data.split_first() {
            $(Some(($number, bytes)) => settles(bytes, <$type>::decode, <$type>::encode),)*
            _ => {}
        }
    };
}

/// wire/fscc: file information from 0, file system information from 64, lists from 128, listings from 192 on.
pub fn fscc(data: &[u8]) {
    choose!(data,
        0 => file::Basic,
        1 => file::Standard,
        2 => file::Internal,
        3 => file::Ea,
        4 => file::FileAccess,
        5 => file::Disposition,
        6 => file::DispositionEx,
        7 => file::FilePosition,
        8 => file::Mode,
        9 => file::Alignment,
        10 => file::Allocation,
        11 => file::EndOfFile,
        12 => file::FilePipe,
        13 => file::PipeLocal,
        14 => file::PipeRemote,
        15 => file::Compression,
        16 => file::ObjectId,
        17 => file::ReparsePoint,
        18 => file::NetworkOpen,
        19 => file::AttributeTag,
        20 => file::ValidDataLength,
        21 => file::StandardLink,
        22 => file::Id,
        23 => file::Stat,
        24 => file::CaseSensitive,
        25 => file_name::Name,
        26 => file_name::All,
        27 => file_name::Target,
        28 => file_name::TargetEx,
        29 => posix::PosixInfo,
        64 => fs::VolumeInfo,
        65 => fs::Label,
        66 => fs::Size,
        67 => fs::Device,
        68 => fs::FsAttribute,
        69 => fs::Control,
        70 => fs::FullSize,
        71 => fs::ObjectId,
        72 => fs::DriverPath,
        73 => fs::VolumeFlags,
        74 => fs::SectorSize,
        75 => posix::FsPosix,
        128 => reparse::Reparse,
        134 => reparse::WslDevice,
    );
    match data.split_first() {
        Some((129, bytes)) => settles(bytes, stream::decode, |list, w| stream::encode(list, w)),
        Some((130, bytes)) => settles(bytes, ea::decode, |list, w| ea::encode(list, w)),
        Some((131, bytes)) => settles(bytes, notify::decode, |list, w| notify::encode(list, w)),
        Some((132, bytes)) => settles(bytes, quota::decode, |list, w| quota::encode(list, w)),
        Some((133, bytes)) => settles(bytes, quota::decode_sids, |list, w| quota::encode_sids(list, w)),
        Some((form @ 192.., bytes)) => listing(*form, bytes),
        _ => {}
    }
}

/// The forms of a listing, in the order of their selectors.
pub const FORMS: [directory::Form; 11] = [
    directory::Form::Directory,
    directory::Form::Full,
    directory::Form::Both,
    directory::Form::Names,
    directory::Form::IdBoth,
    directory::Form::IdBothMac,
    directory::Form::IdFull,
    directory::Form::IdGlobalTx,
    directory::Form::IdExtd,
    directory::Form::IdExtdBoth,
    directory::Form::Posix,
];

fn listing(selector: u8, bytes: &[u8]) {
    let Some(form) = FORMS.get(usize::from(selector - 192)).copied() else { return };
    let encode = |entries: &Vec<directory::OwnedEntry>, w: &mut Writer| {
        let mut listing = directory::Listing::begin(w, form, usize::MAX);
        assert!(entries.iter().all(|listed| listing.push(w, &listed.entry())));
    };
    settles(bytes, |r| directory::decode(form, r.rest()), encode);
}

/// wire/fsctl.
pub fn fsctl(data: &[u8]) {
    choose!(data,
        0 => copy::ResumeKey,
        1 => copy::CopyChunk,
        2 => copy::CopyChunkResponse,
        3 => copy::DuplicateExtents,
        4 => copy::DuplicateExtentsEx,
        5 => ranges::SetSparse,
        6 => ranges::ZeroData,
        7 => ranges::AllocatedRange,
        8 => ranges::Trim,
        9 => ranges::TrimResponse,
        10 => ranges::RegionRequest,
        11 => ranges::Regions,
        12 => negotiate::ValidateRequest,
        13 => negotiate::ValidateResponse,
        14 => negotiate::Resiliency,
        15 => object::ObjectIdBuffer,
        16 => object::Integrity,
        17 => object::SetIntegrity,
        18 => object::CompressionState,
        19 => pipe::Wait,
        20 => pipe::Peek,
        21 => snapshots::Snapshots,
        22 => dfs::Request,
        23 => dfs::RequestEx,
    );
    match data.split_first() {
        Some((24, bytes)) => settles(bytes, network::decode, |list, w| network::encode(list, w)),
        Some((25, bytes)) => drop(ranges::AllocatedRange::decode_all(&mut Reader::new(bytes))),
        _ => {}
    }
}

/// wire/security.
pub fn security(data: &[u8]) {
    choose!(data,
        0 => Sid,
        1 => security::Ace,
        2 => security::Acl,
    );
    match data.split_first() {
        Some((3, bytes)) => {
            let decode = |r: &mut Reader<'_>| security::SecurityDescriptor::decode(r.rest());
            settles(bytes, decode, security::SecurityDescriptor::encode);
        }
        Some((4, text)) => {
            if let Some(sid) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<Sid>().ok()) {
                assert_eq!(sid.to_string().parse(), Ok(sid));
            }
        }
        _ => {}
    }
}

/// wire/fscc/pattern.rs: a byte that says what the volume tells apart, then a pattern, a line break, and a name. Small ones
/// must match as the rules say when they are applied one by one.
pub fn pattern(data: &[u8]) {
    let Some((flags, text)) = data.split_first() else { return };
    let text: Vec<u16> = String::from_utf8_lossy(text).encode_utf16().collect();
    let mut parts = text.splitn(2, |unit| *unit == u16::from(b'\n'));
    let (Some(pattern), Some(name)) = (parts.next(), parts.next()) else { return };
    let folding = Folding { case_sensitive: flags & 1 == 0, normalisation_sensitive: flags & 2 == 0 };
    let Ok(compiled) = NamePattern::new(pattern, folding) else { return };
    let answer = compiled.matches(EntryName::Units(name));
    if let Ok(name) = String::from_utf16(name) {
        assert_eq!(compiled.matches(EntryName::Utf8(&name)), answer);
    }
    let is_exact = folding.case_sensitive && folding.normalisation_sensitive;
    if is_exact && (1..=8).contains(&pattern.len()) && name.len() <= 12 {
        let last_dot = name.iter().rposition(|unit| *unit == u16::from(b'.'));
        assert_eq!(rule(pattern, name, last_dot), answer);
    }
}

/// MS-FSA 2.1.4.4, by trying all ways. `last_dot` counts from the beginning of `name`.
fn rule(pattern: &[u16], name: &[u16], last_dot: Option<usize>) -> bool {
    let Some((token, pattern_rest)) = pattern.split_first() else { return name.is_empty() };
    let skip = || rule(pattern_rest, name, last_dot);
    let after = last_dot.and_then(|at| at.checked_sub(1));
    let next = |pattern| name.split_first().is_some_and(|(_, rest)| rule(pattern, rest, after));
    let is_dot = name.first() == Some(&u16::from(b'.'));
    match u8::try_from(*token).unwrap_or(0) {
        b'*' => skip() || next(pattern),
        b'<' => skip() || if is_dot && last_dot == Some(0) { next(pattern_rest) } else { next(pattern) },
        b'?' => next(pattern_rest),
        b'>' => {
            if name.is_empty() || is_dot {
                skip()
            } else {
                next(pattern_rest)
            }
        }
        b'"' => {
            if name.is_empty() {
                skip()
            } else {
                is_dot && next(pattern_rest)
            }
        }
        _ => name.first() == Some(token) && next(pattern_rest),
    }
}

/// A note of a durable open, by another server of the cluster: what is understood is written as it was.
pub fn notes(data: &[u8]) {
    if let Ok(note) = DurableNote::decode(data) {
        assert_eq!(note.encode().as_deref(), Some(data));
    }
}
