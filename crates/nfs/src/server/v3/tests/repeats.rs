//! Calls that arrive twice (RFC 1813 4.3): executed once, answered twice with the same bytes.

use bytes::Bytes;
use wire::Writer;

use super::*;
use crate::wire::rpc::{AuthFlavor, AuthSys, CallHeader, Credential};
use crate::wire::xdr::Words;

/// A call of user 1000 with this transaction id.
fn message(xid: u32, procedure: Procedure, arguments: &impl Encode) -> Bytes {
    let sys =
        AuthSys { stamp: 1, machine_name: Opaque(b"client"), uid: 1000, gid: 100, gids: Words::new(&[]) };
    let header = CallHeader {
        xid,
        program: PROGRAM,
        version: VERSION,
        procedure: procedure.0,
        credential: Credential::Sys(sys),
        verifier: AuthFlavor::AUTH_NONE,
    };
    let mut w = Writer::new();
    header.encode(&mut w);
    arguments.encode(&mut w);
    w.into_bytes().into()
}

/// The reply to a message, and the status in it.
fn reply(s: &Session, message: &Bytes) -> (Vec<u8>, Status) {
    let bytes = now(s.client.send(message.clone())).unwrap();
    let status = u32::from_be_bytes(bytes[24..28].try_into().unwrap());
    (bytes, Status(status))
}

fn twice(s: &Session, procedure: Procedure, arguments: &impl Encode, again: Status) {
    let call = message(77, procedure, arguments);
    let first = reply(s, &call);
    assert_eq!(first.1, Status::OK, "{procedure:?}");
    assert_eq!(reply(s, &call), first, "{procedure:?} sent again");
    let fresh = reply(s, &message(78, procedure, arguments)).1;
    assert_eq!(fresh, again, "{procedure:?} done anew");
}

#[test]
fn what_cannot_be_done_twice_is_done_once() {
    let s = Session::new();
    let root = s.root.clone();
    let file = s.file("notes", b"abc");
    let how = CreateHow::Guarded(mode(0o644));
    twice(&s, Procedure::CREATE, &create::Request { place: place(&root, b"a"), how }, Status::EXIST);
    let attributes = mode(0o755);
    let folder = mkdir::Request { place: place(&root, b"b"), attributes };
    twice(&s, Procedure::MKDIR, &folder, Status::EXIST);
    let link = symlink::Request { place: place(&root, b"c"), attributes, data: Opaque(b"x") };
    twice(&s, Procedure::SYMLINK, &link, Status::EXIST);
    let what = MknodData::Fifo(mode(0o644));
    twice(&s, Procedure::MKNOD, &mknod::Request { place: place(&root, b"d"), what }, Status::EXIST);
    let named = link::Request { file: Opaque(&file), link: place(&root, b"e") };
    twice(&s, Procedure::LINK, &named, Status::EXIST);
    let moved = rename::Request { from: place(&root, b"a"), to: place(&root, b"f") };
    twice(&s, Procedure::RENAME, &moved, Status::NOENT);
    twice(&s, Procedure::REMOVE, &remove::Request { object: place(&root, b"f") }, Status::NOENT);
    twice(&s, Procedure::RMDIR, &rmdir::Request { object: place(&root, b"b") }, Status::NOENT);
    let guard = Some(s.attributes(&file).ctime);
    let guarded = setattr::Request { object: Opaque(&file), new_attributes: mode(0o600), guard };
    twice(&s, Procedure::SETATTR, &guarded, Status::NOT_SYNC);
}

#[test]
fn a_failure_is_repeated_as_well() {
    let s = Session::new();
    let remove = message(5, Procedure::REMOVE, &remove::Request { object: place(&s.root, b"late") });
    let first = reply(&s, &remove);
    assert_eq!(first.1, Status::NOENT);
    s.file("late", b"");
    assert_eq!(reply(&s, &remove), first);
    assert!(s.lookup(&s.root, b"late").is_ok());
}

#[test]
fn the_same_id_of_another_call_or_client_is_another_call() {
    let s = Session::new();
    let make = |name: &'static [u8], session: &Session| {
        let how = CreateHow::Guarded(mode(0o644));
        let request = create::Request { place: place(&s.root, name), how };
        reply(session, &message(9, Procedure::CREATE, &request)).1
    };
    assert_eq!(make(b"a", &s), Status::OK);
    assert_eq!(make(b"b", &s), Status::OK, "other arguments");
    let other = s.becoming(s.client.clone().at([192, 0, 2, 99]));
    assert_eq!(make(b"a", &other), Status::EXIST, "another client");
    assert_eq!(make(b"a", &s), Status::OK, "the first again");
}

#[test]
fn what_only_asks_is_answered_anew() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let ask = message(3, Procedure::GETATTR, &getattr::Request { object: Opaque(&file) });
    let before = reply(&s, &ask);
    s.write(&file, 0, b"abcdef", StableHow::UNSTABLE).unwrap();
    assert_ne!(reply(&s, &ask), before);
}

#[test]
fn tens_of_thousands_of_calls_later_the_cache_is_bounded_and_right() {
    let s = Session::new();
    let file = s.file("notes", b"");
    let set = |xid: u32| {
        let new_attributes = mode(0o600 | (xid & 7));
        let request = setattr::Request { object: Opaque(&file), new_attributes, guard: None };
        message(xid, Procedure::SETATTR, &request)
    };
    let mut last = Vec::new();
    for xid in 0..40_000 {
        last = reply(&s, &set(xid)).0;
    }
    assert_eq!(reply(&s, &set(39_999)).0, last, "the newest is kept");
}
