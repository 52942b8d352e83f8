//! Calls of RPC programs.

use nfs::wire::rpc::{AuthFlavor, AuthSys, CallHeader, Credential, Outcome, RecordMark, ReplyHeader};
use nfs::wire::xdr::{Decode, Encode, Opaque, Words};
use wire::{Reader, Writer};

use crate::link::Link;
use crate::world;

pub struct Rpc {
    link: Link,
    xid: u32,
}

impl Rpc {
    pub fn new(link: Link) -> Self {
        Self { link, xid: 1 }
    }

    /// The results of a procedure.
    pub async fn call(
        &mut self,
        (program, version, procedure): (u32, u32, u32),
        arguments: &impl Encode,
    ) -> Vec<u8> {
        self.xid += 1;
        let credential = Credential::Sys(AuthSys {
            stamp: 0,
            machine_name: Opaque::new(b"client"),
            uid: world::user().uid,
            gid: 100,
            gids: Words::new(&[]),
        });
        let verifier = AuthFlavor::AUTH_NONE;
        let header = CallHeader { xid: self.xid, program, version, procedure, credential, verifier };
        let mut w = Writer::new();
        header.encode(&mut w);
        arguments.encode(&mut w);
        let record = w.into_bytes();
        let mark = RecordMark { last: true, len: record.len() as u32 };
        self.link.put(&[&mark.to_bytes()[..], &record].concat()).await.expect("an answer");
        let mark = self.link.fetch(RecordMark::SIZE).expect("a reply");
        let mark = RecordMark::from_bytes(mark.try_into().expect("its size"));
        let reply = self.link.fetch(mark.len as usize).expect("the whole reply");
        let mut r = Reader::new(&reply);
        let head = ReplyHeader::decode(&mut r).expect("a reply");
        assert_eq!((head.xid, head.outcome), (self.xid, Outcome::Success));
        r.rest().to_vec()
    }
}
