//! Rules about one file.

use super::Violation;
use super::source::{CodeToken, Source, is_word};

const MAX_FUNCTION: usize = 70;
const MAX_FILE: usize = 500;

/// Names that a `wire` module must not use: I/O, clocks, tasks, sockets, randomness, locks.
const NOT_IN_WIRE: &[&str] = &[
    "Instant",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "UnixListener",
    "UnixStream",
    "async",
    "await",
    "getrandom",
    "libc",
    "parking_lot",
    "rustix",
    "socket2",
    "tokio",
];
/// Modules of `std` that a `wire` module must not use (`std::net` is allowed for its address
/// types).
const STD_NOT_IN_WIRE: &[&str] = &["env", "fs", "io", "os", "process", "sync", "thread", "time"];

/// Words that belong to a protocol. Names of formats on the disk (netatalk, appledouble, samba) are
/// allowed.
const PROTOCOL_WORDS: &[&str] = &[
    "afp", "cifs", "dsi", "filetime", "iscsi", "nfs", "nfs3", "nfs4", "nlm", "nlm4", "nsm", "ntstatus",
    "rpc", "scsi", "smb", "smb1", "smb2", "smb3",
];

/// Files of `server` modules that make numbers from bytes which are no part of a message as its specification has it.
const NUMBERS_IN_SERVER: &[(&str, &str)] = &[
    (
        "crates/afp/src/server/volumes/search.rs",
        "the position of a search is the server's own, opaque to clients",
    ),
    ("crates/afp/src/server/sessions/session_token.rs", "the server's own token, opaque to clients"),
    ("crates/afp/src/server/sessions/uam/sealed.rs", "arithmetic with a nonce"),
    ("crates/afp/src/server/files/uuid.rs", "UUIDs that contain the host's numbers of users"),
    ("crates/nfs/src/server/handle.rs", "handles are the server's own, opaque to clients"),
    ("crates/nfs/src/server/nlm/asked.rs", "an owner in the tree's tables"),
    ("crates/nfs/src/server/nlm/granted.rs", "the server's own cookie, opaque to clients"),
    ("crates/nfs/src/server/v3/create.rs", "a verifier is stored as two times"),
    ("crates/nfs/src/server/v4/acls.rs", "the text of a SID that is stored"),
    ("crates/nfs/src/server/v4/creating.rs", "a verifier is stored as two times"),
    ("crates/nfs/src/server/v4/locks.rs", "an owner in the tree's tables"),
    ("crates/nfs/src/server/v4/states.rs", "stateids are the server's own, opaque to clients"),
    ("crates/smb/src/server/clients/durable/note.rs", "a record that the server stores"),
    ("crates/smb/src/server/login/crypto/ccm.rs", "arithmetic with blocks of a cipher"),
    ("crates/smb/src/server/login/crypto/gmac.rs", "arithmetic with blocks of a cipher"),
    ("crates/smb/src/server/pipes/pipe_end/host.rs", "the server's SID is made of its GUID"),
];

/// Methods of `wire::Reader` that read a number: they have no arguments, as those of the same names of `wire::Writer` do.
const READ_NUMBERS: &[&str] = &[
    "i16_be", "i16_le", "i32_be", "i32_le", "i64_be", "i64_le", "u16_be", "u16_le", "u32_be", "u32_le",
    "u64_be", "u64_le",
];

/// The crates of the tree, which know no protocol.
const TREE: &[&str] = &["crates/formats/src/", "crates/coherence/src/", "crates/vfs/src/"];
/// What only one protocol's clients know: each protocol keeps these on top of what the tree offers to all. The tree exports
/// no such names, except in `mac`, which describes formats on the disk.
const TENANTS_WORDS: &[&str] = &[
    "appl",
    "bundle",
    "catalog",
    "catalogue",
    "cnid",
    "desktop",
    "disk",
    "disks",
    "ea",
    "eas",
    "icon",
    "peer",
    "peers",
];
/// Names with such a word in another meaning.
const OTHER_MEANING: &[&str] = &["DiskCalls", "disk_calls"];

/// Where several servers decide together who may do what: a clock that is set must not change that. `Instant` and the time since the start
/// of the host, with the time that it slept, are not set.
const TOGETHER: &[&str] =
    &["crates/cluster/src/", "crates/coherence/src/", "crates/app/src/gateway", "crates/conn/src/fence.rs"];
/// The names of clocks that can be set.
const WALL_CLOCKS: &[&str] =
    &["CLOCK_REALTIME", "Realtime", "RealtimeAlarm", "RealtimeCoarse", "SystemTime", "Tai", "UNIX_EPOCH"];

pub fn check(source: &Source) -> Vec<Violation> {
    let mut findings = Vec::new();
    if !source.is_test() {
        sizes(source, &mut findings);
    }
    unsafe_code(source, &mut findings);
    if TOGETHER.iter().any(|at| source.path.starts_with(at)) && !source.is_test() {
        durations_only(source, &mut findings);
    }
    if is_product(source) {
        ranked_locks(source, &mut findings);
        decoded_in_wire(source, &mut findings);
    }
    if is_wire(&source.path) {
        pure_wire(source, &mut findings);
    }
    if TREE.iter().any(|at| source.path.starts_with(at)) && !source.is_test() {
        no_protocol(source, &mut findings);
        no_tenants(source, &mut findings);
        one_door_to_the_disk(source, &mut findings);
    }
    findings
}

/// Whether the file belongs to a codec: the crates `wire` and `dcerpc`, or a protocol's module of that name.
pub fn is_wire(path: &str) -> bool {
    ["crates/wire/src/", "crates/dcerpc/src/"].iter().any(|at| path.starts_with(at))
        || path.contains("/src/wire/")
        || path.ends_with("/src/wire.rs")
}

/// The index in the state folder is a file of its own and not part of a tree.
fn is_index_file(path: &str) -> bool {
    path.starts_with("crates/vfs/src/index/")
}

fn is_host_backend(path: &str) -> bool {
    path.starts_with("crates/vfs/src/backend/host")
}

fn finding(source: &Source, line: usize, what: String) -> Violation {
    Violation { file: source.path.clone(), line, what }
}

fn sizes(source: &Source, findings: &mut Vec<Violation>) {
    if source.lines > MAX_FILE {
        let what = format!("{} lines without tests; at most {MAX_FILE}: split it by concept", source.lines);
        findings.push(finding(source, MAX_FILE + 1, what));
    }
    for function in source.functions().into_iter().filter(|f| f.lines > MAX_FUNCTION) {
        let what = format!("fn {} has {} lines; at most {MAX_FUNCTION}", function.name, function.lines);
        findings.push(finding(source, function.line, what));
    }
}

fn durations_only(source: &Source, findings: &mut Vec<Violation>) {
    for token in source.tokens.iter().filter(|token| WALL_CLOCKS.contains(&token.text.as_str())) {
        let what =
            format!("{}: servers decide together by durations, not by a clock that can be set", token.text);
        findings.push(finding(source, token.line, what));
    }
}

/// The calls of MIT Kerberos.
const MIT_KERBEROS: &str = "crates/kerberos/src/library";
/// The calls of PAM.
const PAM: &str = "crates/pam/src/library";
/// The calls of Ceph's client library.
const CEPH: &str = "crates/cephfs/src/";
/// The calls of packet sockets.
const PACKETS: &str = "crates/appletalk/src/links/packet.rs";
/// The calls that give a thread its time slice.
const SLICES: &str = "crates/conn/src/loops/slice.rs";

fn unsafe_code(source: &Source, findings: &mut Vec<Violation>) {
    let others = [MIT_KERBEROS, PAM, CEPH, PACKETS, SLICES];
    if is_host_backend(&source.path) || others.iter().any(|at| source.path.starts_with(at)) {
        return;
    }
    for token in source.tokens.iter().filter(|token| token.text == "unsafe") {
        findings.push(finding(
            source,
            token.line,
            "unsafe outside vfs/backend/host, kerberos/library, pam/library, cephfs, appletalk/links/packet and \
             conn/loops/slice"
                .into(),
        ));
    }
}

/// Whether the file is part of a program that serves. The backend that fails on demand, and the
/// clients and scenes of session tests, are not. The crate `lock` is not, either.
pub fn is_product(source: &Source) -> bool {
    const NOT: &[&str] = &[
        "crates/fuzzed/",
        "crates/lock/",
        "crates/xtask/",
        "crates/vfs/src/backend/faulty/",
        "/benches/",
        "/client/",
        "/testing",
    ];
    source.path.contains("/src/") && !source.is_test() && !NOT.iter().any(|part| source.path.contains(part))
}

/// Threads use the locks of the crate `lock`, which gives each lock its rank.
fn ranked_locks(source: &Source, findings: &mut Vec<Violation>) {
    for token in source.tokens.iter().filter(|token| token.text == "parking_lot") {
        findings.push(finding(source, token.line, "`parking_lot`: use `lock`, which has ranks".into()));
    }
    let tokens = &source.tokens;
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    for at in (0..tokens.len()).filter(|at| is(*at, "std") && is(at + 3, "sync")) {
        for token in first_segments(tokens.get(at + 6..).unwrap_or(&[])) {
            if matches!(token.text.as_str(), "Mutex" | "RwLock" | "Condvar" | "MutexGuard") {
                let what = format!("`std::sync::{}`: use `lock`, which has ranks", token.text);
                findings.push(finding(source, token.line, what));
            }
        }
    }
}

/// Messages are decoded by `wire`: a second decoder in `server` would have to be kept equal to the first.
fn decoded_in_wire(source: &Source, findings: &mut Vec<Violation>) {
    let is_listed = NUMBERS_IN_SERVER.iter().any(|(path, _)| *path == source.path);
    if !source.path.contains("/src/server/") || is_listed {
        return;
    }
    let text = |at: usize| source.tokens.get(at).map_or("", |token| token.text.as_str());
    for (at, token) in source.tokens.iter().enumerate() {
        let is_number = matches!(token.text.as_str(), "from_be_bytes" | "from_le_bytes")
            || READ_NUMBERS.contains(&token.text.as_str()) && text(at + 1) == "(" && text(at + 2) == ")";
        if is_number {
            let what = format!("`{}` in a server module: decode it in `wire`", token.text);
            findings.push(finding(source, token.line, what));
        }
        // `.get(8..16)` and `.slice(8..16)`: a literal has the text of a quotation mark.
        let is_range = (2..6).map(|next| text(at + next)).eq(["\"", ".", ".", "\""]) && text(at + 6) == ")";
        if matches!(token.text.as_str(), "get" | "slice") && text(at + 1) == "(" && is_range {
            let what =
                format!("`{}` of fixed places in a server module: decode the field in `wire`", token.text);
            findings.push(finding(source, token.line, what));
        }
    }
}

fn pure_wire(source: &Source, findings: &mut Vec<Violation>) {
    for token in source.tokens.iter().filter(|token| NOT_IN_WIRE.contains(&token.text.as_str())) {
        findings.push(finding(source, token.line, format!("`{}` in a wire module", token.text)));
    }
    for token in modules_of(source, "std").filter(|token| STD_NOT_IN_WIRE.contains(&token.text.as_str())) {
        findings.push(finding(source, token.line, format!("`std::{}` in a wire module", token.text)));
    }
}

fn no_protocol(source: &Source, findings: &mut Vec<Violation>) {
    for token in source.tokens.iter().filter(|token| is_word(&token.text)) {
        if let Some(word) = words(&token.text).iter().find(|word| PROTOCOL_WORDS.contains(&word.as_str())) {
            let what = format!("`{}` names a protocol ({word}); the tree knows none", token.text);
            findings.push(finding(source, token.line, what));
        }
    }
}

fn no_tenants(source: &Source, findings: &mut Vec<Violation>) {
    if source.path.starts_with("crates/formats/src/mac") {
        return;
    }
    for token in exported(source).filter(|token| !OTHER_MEANING.contains(&token.text.as_str())) {
        if let Some(word) = words(&token.text).iter().find(|word| TENANTS_WORDS.contains(&word.as_str())) {
            let what = format!(
                "`{}` is about one protocol's clients ({word}): it belongs to that crate",
                token.text
            );
            findings.push(finding(source, token.line, what));
        }
    }
}

/// The names that items with a plain `pub` declare or re-export.
fn exported(source: &Source) -> impl Iterator<Item = &CodeToken> {
    const ITEMS: &[&str] = &["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "use"];
    const BEFORE_FN: &[&str] = &["async", "const", "unsafe"];
    let tokens = &source.tokens;
    let is =
        move |at: usize, of: &[&str]| tokens.get(at).is_some_and(|token| of.contains(&token.text.as_str()));
    let public =
        (0..tokens.len()).filter(move |at| is(*at, &["pub"]) && is(*at + 1, &[ITEMS, BEFORE_FN].concat()));
    public.flat_map(move |at| {
        let mut item = at + 1;
        while is(item, BEFORE_FN) && is(item + 1, &["async", "fn", "unsafe"]) {
            item += 1;
        }
        let names = &tokens[item + 1..];
        match is(item, &["use"]) {
            true => names.split(|token| token.text == ";").next().unwrap_or(&[]),
            false => names.get(..1).unwrap_or(&[]),
        }
    })
}

fn one_door_to_the_disk(source: &Source, findings: &mut Vec<Violation>) {
    if is_host_backend(&source.path) || is_index_file(&source.path) {
        return;
    }
    for of in ["std", "rustix"] {
        for token in modules_of(source, of).filter(|token| token.text == "fs") {
            let what = format!("`{of}::fs` outside vfs/backend/host: only that calls the file system");
            findings.push(finding(source, token.line, what));
        }
    }
}

/// The tokens after `name::`, directly or as one of `name::{a, b::c}`.
fn modules_of<'a>(source: &'a Source, name: &'a str) -> impl Iterator<Item = &'a CodeToken> {
    let tokens = &source.tokens;
    let after = move |at: usize| {
        let is_path = tokens[at].text == name
            && [1, 2].iter().all(|i| tokens.get(at + i).is_some_and(|t| t.text == ":"));
        if is_path { &tokens[at + 3..] } else { &[] }
    };
    (0..tokens.len()).map(after).flat_map(first_segments)
}

/// The first segments of a use tree's branches.
fn first_segments(rest: &[CodeToken]) -> Vec<&CodeToken> {
    match rest.first() {
        Some(token) if token.text == "{" => {}
        Some(token) => return vec![token],
        None => return Vec::new(),
    }
    let (mut depth, mut is_first, mut found) = (0, true, Vec::new());
    for token in rest {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            "," => is_first = depth == 1,
            _ if is_first => {
                found.push(token);
                is_first = false;
            }
            _ => {}
        }
    }
    found
}

/// The words of an identifier: `NtStatus_from_smb2` is nt, status, from, smb2, and also ntstatus.
fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("one was pushed first").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    let pairs: Vec<String> = words.windows(2).map(|pair| pair.concat()).collect();
    words.extend(pairs);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&Source::parse(path, text).unwrap()).into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn wire_modules_do_no_io_and_read_no_clock() {
        for code in [
            "use std::time::Instant;",
            "use std::{fmt, fs};",
            "use std::io::Read;",
            "async fn a() {}",
            "fn a() { tokio::spawn(b()); }",
            "use std::net::TcpStream;",
        ] {
            assert!(!findings("crates/nfs/src/wire/rpc.rs", code).is_empty(), "{code}");
        }
        assert_eq!(findings("crates/nfs/src/server/rpc.rs", "use std::{fmt, fs};"), [""; 0]);
    }

    #[test]
    fn wire_modules_may_use_addresses_and_formatting() {
        let code = "use std::net::Ipv4Addr; use std::{fmt, str::{from_utf8, FromStr}}; // std::fs\n";
        assert_eq!(findings("crates/nfs/src/wire/portmap.rs", code), [""; 0]);
    }

    #[test]
    fn locks_of_the_servers_have_ranks() {
        for code in [
            "use parking_lot::Mutex;",
            "use std::sync::{Arc, Mutex};",
            "static A: std::sync::RwLock<u8> = std::sync::RwLock::new(1);",
        ] {
            assert!(!findings("crates/smb/src/server/clients/open.rs", code).is_empty(), "{code}");
            for path in
                ["crates/lock/src/mutex.rs", "crates/smb/src/server/testing.rs", "crates/smb/tests/a.rs"]
            {
                assert_eq!(findings(path, code), [""; 0], "{path}");
            }
        }
        let code = "use std::sync::{Arc, mpsc}; use lock::Mutex; use tokio::sync::Mutex as Async;";
        assert_eq!(findings("crates/smb/src/server/clients/open.rs", code), [""; 0]);
    }

    #[test]
    fn servers_decide_together_without_a_clock_that_can_be_set() {
        for path in [
            "crates/cluster/src/fence.rs",
            "crates/coherence/src/state/lease.rs",
            "crates/app/src/gateway/taking.rs",
        ] {
            for code in
                ["use std::time::{Instant, SystemTime};", "fn now() { clock_gettime(ClockId::Realtime); }"]
            {
                assert_eq!(findings(path, code).len(), 1, "{path}: {code}");
            }
            assert_eq!(
                findings(path, "use std::time::Instant; fn now() { clock(ClockId::Boottime); }"),
                [""; 0]
            );
        }
        assert_eq!(findings("crates/cluster/tests/a.rs", "use std::time::SystemTime;"), [""; 0]);
    }

    #[test]
    fn numbers_of_messages_are_decoded_in_wire() {
        for code in [
            "fn a(b: [u8; 4]) -> u32 { u32::from_be_bytes(b) }",
            "fn a(b: Option<[u8; 8]>) -> Option<u64> { b.map(u64::from_le_bytes) }",
            "fn a(r: &mut Reader<'_>) -> Result<u32, Malformed> { r.u32_be() }",
            "fn a(b: &[u8]) -> Option<&[u8]> { b.get(8..16) }",
            "fn a(b: &Bytes) -> Bytes { b.slice(32..48) }",
        ] {
            assert_eq!(findings("crates/smb/src/server/connection.rs", code).len(), 1, "{code}");
            for path in [
                "crates/smb/src/wire/read.rs",
                "crates/nfs/src/server/handle.rs",
                "crates/smb/src/server/testing.rs",
            ] {
                assert_eq!(findings(path, code), [""; 0], "{path}");
            }
        }
        for code in [
            "#[cfg(test)]\nmod tests { fn a(b: [u8; 2]) -> u16 { u16::from_be_bytes(b) } }",
            "fn a(w: &mut Writer) { w.u32_be(1); }",
            "fn a(b: &Bytes, at: usize) -> Bytes { b.slice(at..at + 4) }",
        ] {
            assert_eq!(findings("crates/smb/src/server/connection.rs", code), [""; 0], "{code}");
        }
    }

    #[test]
    fn vfs_knows_no_protocol() {
        for code in
            ["fn nfs_handle() {}", "struct SmbLease;", "enum NtStatus {}", "const NLM_GRANTED: u8 = 0;"]
        {
            assert_eq!(findings("crates/coherence/src/state.rs", code).len(), 1, "{code}");
        }
        let on_disk =
            "fn netatalk() -> &'static str { \"AFP_AfpInfo\" } // as SMB sees it\nfn transform() {}";
        assert_eq!(findings("crates/formats/src/mac.rs", on_disk), [""; 0]);
        assert_eq!(findings("crates/nfs/src/server.rs", "fn nfs_handle() {}"), [""; 0]);
    }

    #[test]
    fn vfs_exports_nothing_about_one_protocols_clients() {
        let exports = [
            "pub struct Ea;",
            "pub use old_attributes::{EaChange, Kept};",
            "pub const DISKS: &[u8] = b\"\";",
            "impl Volume { pub async fn used_by_bundle() {} }",
            "pub mod desktop;",
            "pub const fn catalog_id() {}",
        ];
        for code in exports {
            assert_eq!(findings("crates/vfs/src/lib.rs", code).len(), 1, "{code}");
            assert_eq!(findings("crates/smb/src/lib.rs", code), [""; 0]);
        }
        let fine = "pub use pool::{DiskCalls, disk_calls}; pub(crate) fn disk() {} fn ea() {} pub struct Idea { disk: u8 }";
        assert_eq!(findings("crates/vfs/src/lib.rs", fine), [""; 0]);
        assert_eq!(findings("crates/formats/src/mac/netatalk.rs", "pub struct Ea;"), [""; 0]);
    }

    #[test]
    fn only_the_host_backend_calls_the_file_system_and_is_unsafe() {
        let code = "use rustix::{fs::openat, io}; fn a() { unsafe { b() } }";
        assert_eq!(findings("crates/vfs/src/backend/host.rs", code), [""; 0]);
        assert_eq!(findings("crates/vfs/src/backend/host/open.rs", code), [""; 0]);
        assert_eq!(findings("crates/vfs/src/cache.rs", code).len(), 2);
        assert_eq!(findings("crates/vfs/src/cache.rs", "fn a() { std::fs::read(p); }").len(), 1);
    }

    #[test]
    fn tests_in_vfs_may_name_protocols_and_use_folders() {
        let code = "#[cfg(test)]\nmod tests { use std::fs; fn smb() {} }";
        assert_eq!(findings("crates/coherence/src/state.rs", code), [""; 0]);
    }

    #[test]
    fn functions_of_70_lines_pass_and_of_71_do_not() {
        let of = |lines: usize| format!("fn a() {{{}}}", "\n".repeat(lines - 1));
        assert_eq!(findings("crates/x/src/a.rs", &of(70)), [""; 0]);
        assert_eq!(findings("crates/x/src/a.rs", &of(71)), ["fn a has 71 lines; at most 70"]);
    }

    #[test]
    fn files_past_500_lines_are_split() {
        let of = |lines: usize| "const A: u8 = 0;\n".repeat(lines);
        assert_eq!(findings("crates/x/src/a.rs", &of(500)), [""; 0]);
        assert_eq!(findings("crates/x/src/a.rs", &of(501)).len(), 1);
        let with_tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", of(500), of(100));
        assert_eq!(findings("crates/x/src/a.rs", &with_tests), [""; 0]);
    }

    #[test]
    fn identifiers_are_split_into_words() {
        assert!(words("NtStatusFromSmb2").contains(&"ntstatus".to_owned()));
        assert!(words("to_smb2").contains(&"smb2".to_owned()));
        assert!(!words("transformation").contains(&"nsm".to_owned()));
    }
}
