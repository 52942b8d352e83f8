//! One pipe with a fixed server behind it.

mod calls;
mod messages;
mod protocol;
mod ranks;
mod searches;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wire::{Reader, Writer};

use super::*;
use crate::wire::rpc::pdu::{Fault, Request, flags, kind};

/// `bind` of one interface with NDR, as impacket 0.13.1 sends it.
const BIND_SRVSVC: &str = "05000b03100000004800000002000000d016d016000000000100000000000100c84f324b7016d30112785a47bf6ee188\
    03000000045d888aeb1cc9119fe808002b10486002000000";
const BIND_WKSSVC: &str = "05000b03100000004800000002000000d016d01600000000010000000000010098d0ff6b12a11036983346c3f87e345a\
    01000000045d888aeb1cc9119fe808002b10486002000000";
const BIND_LSARPC: &str = "05000b03100000004800000002000000d016d016000000000100000000000100785734123412cdabef000123456789ab\
    00000000045d888aeb1cc9119fe808002b10486002000000";

const BIND_SAMR: &str = "05000b03100000004800000002000000d016d016000000000100000000000100785734123412cdabef000123456789ac\
    01000000045d888aeb1cc9119fe808002b10486002000000";

const BIND_MDSSVC: &str = "05000b03100000004800000002000000d016d016000000000100000000000100fb855d8854c76240a0e76872ce0064f4\
    02000000045d888aeb1cc9119fe808002b10486002000000";

struct TestHost(CallerRank);

impl PipeHost for TestHost {
    fn server(&self) -> Server {
        Server {
            name: "FOURFOLD".into(),
            comment: "One tree".into(),
            group: "WORKGROUP".into(),
            major: 10,
            minor: 0,
            sid: Sid::new(5, &[21, 1, 2, 3]),
        }
    }

    fn caller(&self) -> Caller {
        Caller { name: "alice".into(), rank: self.0 }
    }

    fn shares(&self) -> Vec<Share> {
        let share = |name: &str, kind, comment: &str, path: &str| Share {
            name: name.into(),
            kind,
            comment: comment.into(),
            path: path.into(),
            uses: 2,
            max_uses: None,
            flags: 0,
        };
        vec![
            share("music", ShareKind::Disk, "Songs", "C:\\music"),
            share("IPC$", ShareKind::Ipc, "Remote IPC", ""),
        ]
    }

    fn sessions(&self) -> Vec<Session> {
        let (client, user) = ("192.0.2.7".into(), "alice".into());
        vec![Session { client, user, opens: 3, active_secs: 60, idle_secs: 5, flags: 0 }]
    }

    fn opens(&self) -> Vec<OpenFile> {
        vec![OpenFile { id: 77, permissions: 3, locks: 1, path: "C:\\music\\a".into(), user: "alice".into() }]
    }

    fn connections(&self, share_or_client: &str) -> Vec<Connection> {
        assert_eq!(share_or_client, "music");
        let (user, other) = ("alice".into(), "music".into());
        vec![Connection { id: 9, kind: 0, opens: 3, users: 1, active_secs: 60, user, other }]
    }

    fn accounts(&self) -> Vec<LocalAccount> {
        let account =
            |name: &str, uid, disabled| LocalAccount { name: name.into(), uid, groups: vec![100], disabled };
        vec![account("bob", 1001, true), account("alice", 1000, false), account("alice's phone", 1000, false)]
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

    fn searchable(&self, share: &str) -> Option<Arc<dyn spotlight::Store>> {
        (share == "music").then(|| Arc::new(searches::OneFile) as _)
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(1_709_210_096_780)
    }
}

fn hex(text: &str) -> Vec<u8> {
    wire::hex::decode_any(text).unwrap()
}

fn unbound(rank: CallerRank) -> Pipe {
    Pipe::open("srvsvc", Arc::new(TestHost(rank))).unwrap()
}

/// A pipe on which `bind` was accepted.
fn bound(bind: &str, rank: CallerRank) -> Pipe {
    let mut pipe = unbound(rank);
    let ack = pipe.transceive(&hex(bind), 4280).unwrap().bytes;
    assert_eq!(ack[2], kind::BIND_ACK);
    pipe
}

/// One fragment of a call with the number `call`.
fn fragment(call: u32, flags: u8, context: u16, operation: u16, stub: &[u8]) -> Vec<u8> {
    let mut header = Header::new(kind::REQUEST, call);
    header.flags = flags;
    let request = Request { allocation_hint: 0, context, operation, object: None, stub };
    header.message(|w: &mut Writer| request.encode(w))
}

/// What a whole call returns.
fn call(pipe: &mut Pipe, operation: u16, stub: &[u8]) -> Result<Vec<u8>, Fault> {
    assert_eq!(pipe.write(&fragment(7, flags::WHOLE, 0, operation, stub)).err(), None);
    let mut results = Vec::new();
    loop {
        let message = pipe.read(usize::MAX).unwrap().bytes;
        let header = Header::decode(&mut Reader::new(&message)).unwrap();
        assert_eq!((header.call, usize::from(header.length)), (7, message.len()));
        if header.kind == kind::FAULT {
            return Err(Fault(u32::from_le_bytes(message[24..28].try_into().unwrap())));
        }
        assert_eq!(header.kind, kind::RESPONSE);
        results.extend_from_slice(&message[24..]);
        if header.flags & flags::LAST != 0 {
            return Ok(results);
        }
    }
}
