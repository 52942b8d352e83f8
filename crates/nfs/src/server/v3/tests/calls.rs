//! Invalid calls of this program: RFC 5531 8 and 9.

use bytes::Bytes;
use wire::{Reader, Writer};

use super::*;
use crate::wire::rpc::{AuthStat, CallHeader, Credential, Outcome, ReplyHeader};
use crate::wire::xdr::Decode;

const NFS: (u32, u32) = (PROGRAM, VERSION);
/// A procedure after the last, COMMIT.
const PROCEDURES: u32 = 22;

fn outcome(s: &Session, call: (u32, u32, u32), arguments: &[u8]) -> Outcome {
    now(s.client.call_raw(call, arguments)).unwrap().outcome
}

/// Sends words as a whole message; gives the head of the reply.
fn send(s: &Session, words: &[u32]) -> Option<ReplyHeader> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let reply = now(s.client.send(bytes.into()))?;
    Some(ReplyHeader::decode(&mut Reader::new(&reply)).unwrap())
}

/// A call of NULL with this credential flavour and body.
fn with_credential(s: &Session, flavor: u32, body: &[u32]) -> Outcome {
    let length = body.len() as u32 * 4;
    let words = [&[7, 0, 2, PROGRAM, VERSION, 0, flavor, length][..], body, &[0, 0]].concat();
    let header = send(s, &words).unwrap();
    assert_eq!(header.xid, 7);
    header.outcome
}

#[test]
fn an_unknown_program_is_unavailable() {
    let s = Session::new();
    for program in [0, 99, PROGRAM - 1, 0x2000_0000, u32::MAX] {
        assert_eq!(outcome(&s, (program, 3, 0), &[]), Outcome::ProgUnavail);
    }
}

#[test]
fn another_version_is_a_mismatch_that_says_which_are_spoken() {
    let s = Session::new();
    for version in [0, 1, 2, 4, u32::MAX] {
        let mismatch = Outcome::ProgMismatch { low: 3, high: 3 };
        assert_eq!(outcome(&s, (PROGRAM, version, 0), &[]), mismatch);
    }
}

#[test]
fn an_unknown_procedure_is_unavailable() {
    let s = Session::new();
    for procedure in [PROCEDURES, 100, u32::MAX] {
        assert_eq!(outcome(&s, (NFS.0, NFS.1, procedure), &[]), Outcome::ProcUnavail);
    }
}

#[test]
fn null_answers_nothing_to_anybody() {
    let s = Session::new();
    for s in [s.user(0), s.user(1000), s.becoming(s.client.clone().nobody())] {
        let answer = now(s.client.call_raw((PROGRAM, VERSION, 0), &[])).unwrap();
        assert_eq!((answer.outcome, answer.results.len()), (Outcome::Success, 0));
    }
    assert_eq!(outcome(&s, (PROGRAM, VERSION, 0), &[0; 4]), Outcome::GarbageArgs);
}

#[test]
fn arguments_cut_short_or_left_over_are_garbage_and_do_nothing() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    for (procedure, arguments) in every_request(&s.root, &file) {
        let call = (PROGRAM, VERSION, procedure.0);
        for length in 0..arguments.len() {
            let outcome = outcome(&s, call, &arguments[..length]);
            assert_eq!(outcome, Outcome::GarbageArgs, "{procedure:?} of {length} bytes");
        }
        let longer = [&arguments[..], &[0; 4]].concat();
        assert_eq!(outcome(&s, call, &longer), Outcome::GarbageArgs, "{procedure:?} with bytes left over");
    }
    assert_eq!(s.content(&file), b"abc");
    assert_eq!(s.readdir(&s.root, 0, 4096).unwrap().entries.len(), 3);
}

#[test]
fn random_arguments_get_an_answer() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let mut random = Random(0x5eed);
    for (procedure, arguments) in every_request(&s.root, &file) {
        for _ in 0..500 {
            let mut bytes = arguments.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
            bytes.truncate(bytes.len() - random.below(bytes.len()) / 16);
            let answer = now(s.client.call_raw((PROGRAM, VERSION, procedure.0), &bytes)).unwrap();
            let known = matches!(answer.outcome, Outcome::Success | Outcome::GarbageArgs);
            assert!(known, "{procedure:?} {:?}", answer.outcome);
        }
    }
    assert!(s.getattr(&s.root).is_ok());
}

#[test]
fn flavours_that_are_not_understood_are_refused() {
    let s = Session::new();
    assert_eq!(with_credential(&s, 0, &[]), Outcome::Success);
    assert_eq!(with_credential(&s, 1, &[0, 0, 1000, 100, 0]), Outcome::Success);
    let refused = |why| Outcome::AuthError(why);
    assert_eq!(with_credential(&s, 2, &[1]), refused(AuthStat::AUTH_REJECTEDCRED));
    assert_eq!(with_credential(&s, 6, &[1, 2]), refused(AuthStat::AUTH_BADCRED));
    assert_eq!(with_credential(&s, 6, &[9, 2]), refused(AuthStat::AUTH_REJECTEDCRED)); // RFC 2203 5.1
    for flavor in [3, 4, 390_003, u32::MAX] {
        assert_eq!(with_credential(&s, flavor, &[1, 2]), refused(AuthStat::AUTH_TOOWEAK), "{flavor}");
    }
}

#[test]
fn a_malformed_auth_sys_is_badcred() {
    let s = Session::new();
    let seventeen: Vec<u32> = [0, 0, 1000, 100, 17].into_iter().chain(0..17).collect();
    let bodies: [&[u32]; 6] =
        [&[], &[0], &[0, 0, 1000, 100], &[0, 256, 1000, 100, 0], &seventeen, &[0, 0, 1000, 100, 0, 99]];
    for body in bodies {
        let refused = Outcome::AuthError(AuthStat::AUTH_BADCRED);
        assert_eq!(with_credential(&s, 1, body), refused, "{body:?}");
    }
}

#[test]
fn sixteen_groups_are_understood() {
    let body: Vec<u32> = [0, 0, 1000, 100, 16].into_iter().chain(1..17).collect();
    assert_eq!(with_credential(&Session::new(), 1, &body), Outcome::Success);
}

#[test]
fn another_rpc_version_is_denied_with_the_one_spoken() {
    let s = Session::new();
    for version in [0, 1, 3, u32::MAX] {
        let header = send(&s, &[9, 0, version, PROGRAM, VERSION, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(header.outcome, Outcome::RpcMismatch { low: 2, high: 2 });
    }
}

#[test]
fn what_is_no_call_gets_no_answer() {
    let s = Session::new();
    assert_eq!(send(&s, &[]), None);
    assert_eq!(send(&s, &[1]), None);
    assert_eq!(send(&s, &[1, 1, 0, 0, 0, 0]), None, "a reply");
    assert_eq!(send(&s, &[1, 2, 2, PROGRAM, VERSION, 0]), None, "neither call nor reply");
    assert_eq!(send(&s, &[1, 0, 2, PROGRAM, VERSION, 0, 0, 401]), None, "a credential without its body");
    let long = CallHeader {
        xid: 1,
        program: PROGRAM,
        version: VERSION,
        procedure: 0,
        credential: Credential::None,
        verifier: crate::wire::rpc::AuthFlavor::AUTH_NONE,
    };
    let mut w = Writer::new();
    long.encode(&mut w);
    for length in 0..w.len() {
        let cut = Bytes::copy_from_slice(&w.as_bytes()[..length]);
        assert_eq!(now(s.client.send(cut)), None, "{length}");
    }
}

/// The arguments of a good call of every procedure that has some.
fn every_request(root: &[u8], file: &[u8]) -> Vec<(Procedure, Vec<u8>)> {
    let (dir, object) = (Opaque(root), Opaque(file));
    let (a, b) = (place(root, b"aaa"), place(root, b"bbb"));
    let (attributes, verifier) = (mode(0o644), [0; 8]);
    let (stable, what) = (StableHow::UNSTABLE, MknodData::Fifo(attributes));
    vec![
        (Procedure::GETATTR, encoded(&getattr::Request { object })),
        (Procedure::SETATTR, encoded(&setattr::Request { object, new_attributes: attributes, guard: None })),
        (Procedure::LOOKUP, encoded(&lookup::Request { what: a })),
        (Procedure::ACCESS, encoded(&access::Request { object, access: 1 })),
        (Procedure::READLINK, encoded(&readlink::Request { symlink: object })),
        (Procedure::READ, encoded(&read::Request { file: object, offset: 0, count: 10 })),
        (
            Procedure::WRITE,
            encoded(&write::Request { file: object, offset: 0, count: 3, stable, data: Opaque(b"xyz") }),
        ),
        (Procedure::CREATE, encoded(&create::Request { place: a, how: CreateHow::Guarded(attributes) })),
        (Procedure::MKDIR, encoded(&mkdir::Request { place: a, attributes })),
        (Procedure::SYMLINK, encoded(&symlink::Request { place: a, attributes, data: Opaque(b"xyz") })),
        (Procedure::MKNOD, encoded(&mknod::Request { place: a, what })),
        (Procedure::REMOVE, encoded(&remove::Request { object: a })),
        (Procedure::RMDIR, encoded(&rmdir::Request { object: a })),
        (Procedure::RENAME, encoded(&rename::Request { from: a, to: b })),
        (Procedure::LINK, encoded(&link::Request { file: object, link: b })),
        (Procedure::READDIR, encoded(&readdir::Request { dir, cookie: 0, verifier, count: 4096 })),
        (
            Procedure::READDIRPLUS,
            encoded(&readdirplus::Request { dir, cookie: 0, verifier, dircount: 4096, maxcount: 4096 }),
        ),
        (Procedure::FSSTAT, encoded(&fsstat::Request { root: dir })),
        (Procedure::FSINFO, encoded(&fsinfo::Request { root: dir })),
        (Procedure::PATHCONF, encoded(&pathconf::Request { object })),
        (Procedure::COMMIT, encoded(&commit::Request { file: object, offset: 0, count: 0 })),
    ]
}

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut w = Writer::new();
    value.encode(&mut w);
    w.into_bytes()
}

/// The same numbers in every run (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
