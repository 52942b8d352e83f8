//! Remote procedure calls in SMB's named pipes and over TCP: crates/dcerpc, crates/smb/src/wire/rpc, and a whole pipe.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dcerpc::epm;
use dcerpc::pdu::{AuthVerifier, Bind, Header, Request, kind};
use smb::server::pipes::pipe::{
    Caller, CallerRank, Connection, LocalAccount, OpenFile, Pipe, PipeHost, Server, Session, Share,
    ShareKind, Sid,
};
use smb::wire::rpc::{lsarpc, mdssvc, samr, srvsvc, witness, wkssvc};
use wire::{Malformed, Reader};

/// wire/rpc: a message, or arguments. The first byte says of which interface, the second of which operation.
pub fn rpc(data: &[u8]) {
    match data {
        [0, message @ ..] if message.len() < 60_000 => drop(pdu(message)), // what can be written again
        [1, operation, stub @ ..] => drop(srvsvc::Request::decode((*operation).into(), stub)),
        [2, operation, stub @ ..] => drop(wkssvc::Request::decode((*operation).into(), stub)),
        [3, operation, stub @ ..] => drop(lsarpc::Request::decode((*operation).into(), stub)),
        [4, operation, stub @ ..] => drop(samr::Request::decode((*operation).into(), stub)),
        [5, operation, stub @ ..] => drop(epm::Request::decode((*operation).into(), stub)),
        [6, operation, stub @ ..] => drop(witness::Request::decode((*operation).into(), stub)),
        [7, message @ ..] => drop(trailer(message)),
        [8, operation, stub @ ..] => drop(mdssvc::Request::decode((*operation).into(), stub)),
        _ => {}
    }
}

/// A security trailer is inside of its message.
fn trailer(message: &[u8]) -> Result<(), Malformed> {
    let header = Header::decode(&mut Reader::new(message))?;
    if let Some(AuthVerifier { at, trailer, token }) = AuthVerifier::decode(&header, message)? {
        assert!(usize::from(trailer.padding) <= at && at + 8 + token.len() == message.len());
    }
    Ok(())
}

/// What decodes must encode to the same value again.
fn pdu(message: &[u8]) -> Result<(), Malformed> {
    let mut r = Reader::new(message);
    let header = Header { auth_length: 0, ..Header::decode(&mut r)? }; // nothing is written that could be that
    match header.kind {
        kind::REQUEST => {
            let request = Request::decode(&header, &mut r)?;
            let again = header.message(|w| request.encode(w));
            assert_eq!(Request::decode(&header, &mut body(&again)), Ok(request));
        }
        kind::BIND | kind::ALTER_CONTEXT => {
            let bind = Bind::decode(&mut r)?;
            let again = header.message(|w| bind.encode(w));
            assert_eq!(Bind::decode(&mut body(&again)), Ok(bind));
        }
        _ => {}
    }
    Ok(())
}

fn body(message: &[u8]) -> Reader<'_> {
    let mut r = Reader::new(message);
    Header::decode(&mut r).expect("what was written");
    r
}

/// server/pipe: bytes written in pieces, with reads between. The first byte says who writes, the second how much at once.
pub fn pipe(data: &[u8]) {
    let [who, size, bytes @ ..] = data else { return };
    let ranks = [CallerRank::Anonymous, CallerRank::Guest, CallerRank::User, CallerRank::Administrator];
    let host = Arc::new(Host(ranks[usize::from(who % 4)]));
    let mut pipe = Pipe::open("srvsvc", host).expect("a pipe of this name");
    let reads = who & 0x80 == 0;
    for piece in bytes.chunks(16 * usize::from(*size) + 1) {
        if pipe.write(piece).is_err() {
            break;
        }
        assert!(pipe.available().0 < 16 << 20);
        while reads && pipe.read(100 + usize::from(*size)).is_ok_and(|read| !read.bytes.is_empty()) {}
    }
}

struct Host(CallerRank);

impl PipeHost for Host {
    fn server(&self) -> Server {
        let [name, comment, group] = ["FOURFOLD", "One tree", "WORKGROUP"].map(String::from);
        Server { name, comment, group, major: 10, minor: 0, sid: Sid::new(5, &[21, 1, 2, 3]) }
    }

    fn caller(&self) -> Caller {
        Caller { name: "alice".into(), rank: self.0 }
    }

    fn shares(&self) -> Vec<Share> {
        let [name, comment, path] = ["music", "Songs", "C:\\music"].map(String::from);
        vec![Share { name, kind: ShareKind::Disk, comment, path, uses: 2, max_uses: None, flags: 0 }]
    }

    fn sessions(&self) -> Vec<Session> {
        let [client, user] = ["192.0.2.7", "alice"].map(String::from);
        vec![Session { client, user, opens: 3, active_secs: 60, idle_secs: 5, flags: 0 }]
    }

    fn opens(&self) -> Vec<OpenFile> {
        let [path, user] = ["C:\\music\\a", "alice"].map(String::from);
        vec![OpenFile { id: 77, permissions: 3, locks: 1, path, user }]
    }

    fn connections(&self, share_or_client: &str) -> Vec<Connection> {
        let (user, other) = ("alice".into(), share_or_client.into());
        vec![Connection { id: 9, kind: 0, opens: 3, users: 1, active_secs: 60, user, other }]
    }

    fn accounts(&self) -> Vec<LocalAccount> {
        let account =
            |name: &str, uid| LocalAccount { name: name.into(), uid, groups: vec![100], disabled: false };
        vec![account("alice", 1000), account("bob", 1001)]
    }

    fn user(&self, uid: u32) -> Option<String> {
        (uid == 1000).then(|| "alice".into())
    }

    fn group(&self, gid: u32) -> Option<String> {
        (gid == 100).then(|| "users".into())
    }

    fn uid(&self, name: &str) -> Option<u32> {
        name.eq_ignore_ascii_case("alice").then_some(1000)
    }

    fn gid(&self, name: &str) -> Option<u32> {
        name.eq_ignore_ascii_case("users").then_some(100)
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH
    }
}
