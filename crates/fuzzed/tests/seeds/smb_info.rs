//! What SMB's messages carry. The selectors are those of `src/smb_info.rs`.

use fourfold_fuzz::smb_info::FORMS;
use smb::server::{CacheNote, DurableNote, LeaseNote};
use smb::wire::fscc::readdirattr::{MacAttributes, ReadDirAttrVersion, ShortFinderInfo};
use smb::wire::fscc::{
    FileAttributes, directory, ea, file_info, file_name, fs_info, notify, posix, quota, reparse, stream,
};
use smb::wire::fsctl::{copy, dfs, negotiate, network, pipe, ranges, snapshots};
use smb::wire::security::{
    AccessMask, Ace, AceBody, AceFlags, AceType, Acl, Control, SecurityDescriptor, well_known,
};
use smb::wire::text;
use vfs::HostKey;
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    [fixed(), names(), lists(), listings(), controls(), securities(), patterns(), notes()]
        .into_iter()
        .flatten()
        .collect()
}

fn seed(target: &'static str, name: &'static str, selector: u8, encode: impl FnOnce(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target, name, bytes: w.into_bytes() }
}

/// Structures of fixed length: any bytes will do.
fn fixed() -> Vec<Seed> {
    let counting =
        |selector, name, len| seed("smb_fscc", name, selector, |w| (1..=len).for_each(|byte| w.u8(byte)));
    vec![
        counting(0, "basic", 40),
        counting(1, "standard", 24),
        counting(5, "disposition", 1),
        counting(13, "pipe-local", 40),
        counting(15, "compression", 16),
        counting(18, "network-open", 56),
        counting(23, "stat", 72),
        counting(69, "fs-control", 48),
        counting(70, "fs-full-size", 32),
        counting(74, "fs-sector-size", 28),
    ]
}

fn names() -> Vec<Seed> {
    let name = || text::of("notes.txt");
    let target = file_name::Target { replace_if_exists: true, root_directory: 0, name: name() };
    let flags = file_name::RenameFlags::POSIX_SEMANTICS;
    let target_ex = file_name::TargetEx { flags, root_directory: 0, name: name() };
    let all = file_name::All { name: file_name::Name { name: name() }, ..Default::default() };
    let volume = fs_info::VolumeInfo { label: text::of("share"), ..Default::default() };
    let attribute = fs_info::FsAttribute {
        attributes: fs_info::FsAttributes::NAMED_STREAMS,
        maximum_name_len: 255,
        name: text::of("NTFS"),
    };
    let driver = fs_info::DriverPath { driver_in_path: false, name: name() };
    let id = file_info::Id { volume_serial_number: 1, file_id: [2; 16] };
    vec![
        seed("smb_fscc", "id", 22, |w| id.encode(w)),
        seed("smb_fscc", "name", 25, |w| all.name.encode(w)),
        seed("smb_fscc", "all", 26, |w| all.encode(w)),
        seed("smb_fscc", "rename", 27, |w| target.encode(w)),
        seed("smb_fscc", "rename-ex", 28, |w| target_ex.encode(w)),
        seed("smb_fscc", "posix", 29, |w| posix_info().encode(w)),
        seed("smb_fscc", "fs-posix", 75, |w| {
            posix::FsPosix { block_size: 4096, ..Default::default() }.encode(w)
        }),
        seed("smb_fscc", "fs-volume", 64, |w| volume.encode(w)),
        seed("smb_fscc", "fs-attribute", 68, |w| attribute.encode(w)),
        seed("smb_fscc", "fs-driver-path", 72, |w| driver.encode(w)),
    ]
}

fn lists() -> Vec<Seed> {
    use reparse::{Nfs, Reparse, SymlinkFlags, Tag};
    let (substitute_name, print_name) = (text::of("..\\a"), text::of("a"));
    let mount =
        Reparse::MountPoint { substitute_name: substitute_name.clone(), print_name: print_name.clone() };
    let link = Reparse::Symlink { substitute_name, print_name, flags: SymlinkFlags::RELATIVE };
    let other = Reparse::Other { tag: Tag(0x42), data: vec![7; 20] };
    let stream = |name| stream::StreamEntry { size: 5, allocation_size: 4096, name: text::of(name) };
    let streams = [stream("::$DATA"), stream(":AFP_AfpInfo:$DATA")];
    let attribute =
        |name: &[u8]| ea::FullEa { name: name.to_vec(), value: b"value".to_vec(), ..Default::default() };
    let attributes = [attribute(b"user.a"), attribute(b"$LXMOD")];
    let change = |action, name| notify::Change { action, name: text::of(name) };
    let changes = [
        change(notify::Action::RENAMED_OLD_NAME, "a"),
        change(notify::Action::RENAMED_NEW_NAME, "folder\\b"),
    ];
    let sid = well_known::ADMINISTRATORS;
    let quotas = [quota::Quota { change_time: Default::default(), used: 1, threshold: 2, limit: 3, sid }; 2];
    vec![
        seed("smb_fscc", "symlink", 128, |w| link.encode(w)),
        seed("smb_fscc", "mount-point", 128, |w| mount.encode(w)),
        seed("smb_fscc", "nfs-symlink", 128, |w| Reparse::Nfs(Nfs::Symlink(text::of("a/b"))).encode(w)),
        seed("smb_fscc", "nfs-block", 128, |w| Reparse::Nfs(Nfs::Block { major: 8, minor: 1 }).encode(w)),
        seed("smb_fscc", "wsl-device", 134, |w| reparse::WslDevice { major: 8, minor: 1 }.encode(w)),
        seed("smb_fscc", "other-reparse-point", 128, |w| other.encode(w)),
        seed("smb_fscc", "streams", 129, |w| stream::encode(&streams, w)),
        seed("smb_fscc", "attributes", 130, |w| ea::encode(&attributes, w)),
        seed("smb_fscc", "changes", 131, |w| notify::encode(&changes, w)),
        seed("smb_fscc", "quotas", 132, |w| quota::encode(&quotas, w)),
        seed("smb_fscc", "quota-sids", 133, |w| quota::encode_sids(&[sid, well_known::EVERYONE], w)),
    ]
}

fn posix_info() -> posix::PosixInfo {
    let (owner, group) = (well_known::Unix::User(1000).sid(), well_known::Unix::Group(100).sid());
    let posix = posix::PosixAttributes { device: 0, links: 1, mode: 0o644, owner, group };
    posix::PosixInfo { facts: directory::Facts::default(), posix }
}

fn listings() -> Vec<Seed> {
    const NAMES: [&str; FORMS.len()] = [
        "listing",
        "listing-full",
        "listing-both",
        "listing-names",
        "listing-id-both",
        "listing-mac",
        "listing-id-full",
        "listing-tx",
        "listing-extd",
        "listing-extd-both",
        "listing-posix",
    ];
    let mac = MacAttributes {
        maximal_access: AccessMask::FILE_ALL,
        version: ReadDirAttrVersion::V2 { has_no_xattrs: true },
        resource_fork_len: 286,
        finder_info: ShortFinderInfo(*b"TEXTttxt\x01\0\0\0\0\0\0\x01"),
        mode: 0o100_644,
    };
    let posix = posix_info().posix;
    let facts =
        directory::Facts { file_id: 7, attributes: FileAttributes::REPARSE_POINT, ..Default::default() };
    let plain = directory::Facts { attributes: FileAttributes::ARCHIVE, ..facts };
    let short_name = text::of("NOTES~1.TXT");
    let entry = |facts, name| directory::Entry {
        facts,
        name: directory::EntryName::Utf8(name),
        short_name: &short_name,
        mac: Some(&mac),
        posix: Some(&posix),
    };
    let form = |at: usize| {
        seed("smb_fscc", NAMES[at], 192 + at as u8, |w| {
            let mut listing = directory::Listing::begin(w, FORMS[at], 65_536);
            assert!(listing.push(w, &entry(plain, "notes.txt")) && listing.push(w, &entry(facts, "link")));
        })
    };
    (0..FORMS.len()).map(form).collect()
}

fn controls() -> Vec<Seed> {
    let chunk = copy::Chunk { source_offset: 0, target_offset: 1 << 20, length: 1 << 20 };
    let chunks = copy::CopyChunk { source: copy::ResumeKey([7; 24]), chunks: vec![chunk; 2] };
    let extents = copy::DuplicateExtents { byte_count: 4096, ..Default::default() };
    let extents = copy::DuplicateExtentsEx { extents, flags: copy::DuplicateFlags::SOURCE_ATOMIC };
    let trim = ranges::Trim { key: 0, ranges: vec![ranges::TrimRange { offset: 0, length: 4096 }] };
    let region = ranges::Region { file_offset: 0, length: 4096, usage: ranges::Region::VALID_CACHED_DATA };
    let regions = ranges::Regions { flags: 0, total: 1, regions: vec![region] };
    let (client_guid, dialects) = ([7; 16], vec![0x0202, 0x0210, 0x0300]);
    let validate = negotiate::ValidateRequest { capabilities: 0x7F, client_guid, security_mode: 1, dialects };
    let wait = pipe::Wait { timeout: Some(5), name: text::of("srvsvc") };
    let snapshots = snapshots::Snapshots::fitting(vec!["@GMT-2026.11.21-00.00.00".into(); 2], 1024);
    let referral = dfs::Request { max_referral_level: 4, path: text::of("\\server\\share") };
    let site = Some(text::of("site"));
    let referral_ex = dfs::RequestEx { max_referral_level: 4, path: text::of("\\server\\share"), site };
    let interface = |address: &str| network::NetworkInterface {
        index: 2,
        capability: network::Capability::RSS_CAPABLE,
        link_speed: 10_000_000_000,
        address: address.parse().expect("an address"),
    };
    let interfaces = [interface("192.0.2.1"), interface("2001:db8::1")];
    vec![
        seed("smb_fsctl", "resume-key", 0, |w| chunks.source.encode(w)),
        seed("smb_fsctl", "copy-chunk", 1, |w| chunks.encode(w)),
        seed("smb_fsctl", "duplicate-extents", 4, |w| extents.encode(w)),
        seed("smb_fsctl", "set-sparse", 5, |w| ranges::SetSparse(true).encode(w)),
        seed("smb_fsctl", "trim", 8, |w| trim.encode(w)),
        seed("smb_fsctl", "regions", 11, |w| regions.encode(w)),
        seed("smb_fsctl", "validate", 12, |w| validate.encode(w)),
        seed("smb_fsctl", "pipe-wait", 19, |w| wait.encode(w)),
        seed("smb_fsctl", "snapshots", 21, |w| snapshots.encode(w)),
        seed("smb_fsctl", "referral", 22, |w| referral.encode(w)),
        seed("smb_fsctl", "referral-ex", 23, |w| referral_ex.encode(w)),
        seed("smb_fsctl", "interfaces", 24, |w| network::encode(&interfaces, w)),
        seed("smb_fsctl", "allocated-ranges", 25, |w| w.zeros(32)),
    ]
}

fn securities() -> Vec<Seed> {
    let allow = Ace::allow(well_known::EVERYONE, AccessMask::FILE_READ, AceFlags::OBJECT_INHERIT);
    let deny = Ace::deny(well_known::EntryNumber::Mode(0o100_644).sid(), AccessMask::DELETE, AceFlags::NONE);
    let object =
        Ace { kind: AceType::ALLOWED_OBJECT, flags: AceFlags::NONE, body: AceBody::Other(vec![7; 32]) };
    let acl = Acl { revision: 4, aces: vec![deny, allow.clone(), object] };
    let descriptor = SecurityDescriptor {
        control: Control::SELF_RELATIVE | Control::DACL_PRESENT | Control::DACL_PROTECTED,
        owner: Some(well_known::Unix::User(501).sid()),
        group: Some(well_known::ADMINISTRATORS),
        sacl: None,
        dacl: Some(acl.clone()),
    };
    let text = |name, text: &str| seed("smb_security", name, 4, |w| w.put(text.as_bytes()));
    vec![
        seed("smb_security", "sid", 0, |w| well_known::ADMINISTRATORS.encode(w)),
        seed("smb_security", "ace", 1, |w| allow.encode(w)),
        seed("smb_security", "acl", 2, |w| acl.encode(w)),
        seed("smb_security", "descriptor", 3, |w| descriptor.encode(w)),
        text("sid-text", "S-1-5-21-1004336348-1177238915-682003330-512"),
        text("sid-text-hexadecimal", "S-1-0x000100000000-7"),
    ]
}

fn patterns() -> Vec<Seed> {
    let both = |name, flags, text: &str| seed("smb_pattern", name, flags, |w| w.put(text.as_bytes()));
    vec![
        both("stars", 3, "*a*ab*abc\naabaabcdadabdabc"),
        both("star-dot-star", 0, "F0_<\"*\nF0_001.txt"),
        both("questions", 0, "n??k.???\nntok.exe"),
        both("dos-questions", 0, "a>>>.exe\nab.exe"),
        both("dos-star", 0, "ab<exe\nabcd.exe"),
        both("dos-star-dots", 0, "<.<\"c\na.b.c"),
        both("folded", 3, "\u{c9}t*\ne\u{301}t\u{e9}"),
        both("literal", 1, "ReadMe\nREADME"),
    ]
}

/// Notes of durable opens.
fn notes() -> Vec<Seed> {
    let cache = |lease| Some(CacheNote { lease, epoch: 3 });
    let note = |cache| DurableNote {
        persistent: (1 << 48) + 5,
        create_guid: Some([7; 16]),
        timeout_ms: 60_000,
        granted: 0x0012_019F,
        mode: 0,
        is_posix: false,
        share: "share".into(),
        read_only: false,
        user: "ada".into(),
        guest: false,
        anonymous: false,
        blind: true,
        ids: (1000, 100, vec![24, 25]),
        file: HostKey::new(b"a file").unwrap(),
        place: (HostKey::new(b"a folder").unwrap(), b"notes.txt".to_vec()),
        path: "folder\\notes.txt".encode_utf16().collect(),
        cache,
        remove_on_close: false,
        is_going: true,
        is_persistent: false,
        action: Some(1),
        lock_sequences: None,
    };
    let lease = Some(LeaseNote { version2: true, parent: Some([2; 16]) });
    let seed = |name, note: DurableNote| Seed { target: "smb_notes", name, bytes: note.encode().unwrap() };
    let persistent =
        DurableNote { is_persistent: true, lock_sequences: Some(Box::new([3; 64])), ..note(None) };
    vec![seed("lease", note(cache(lease))), seed("oplock", note(cache(None))), seed("persistent", persistent)]
}
