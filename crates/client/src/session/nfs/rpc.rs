//! ONC RPC, RFC 5531: calls, what carries them, and what their results say.

use std::io::{self, Read};

use ::nfs::wire::rpc::{AuthFlavor, AuthSys, CallHeader, Credential, Outcome, RecordMark, ReplyHeader, xid};
use ::nfs::wire::v3::types::{Fail, Fattr3, Status};
use ::nfs::wire::v3::{read, readdirplus};
use ::nfs::wire::xdr::{Decode, Encode, Opaque, Words, padding};
use wire::{Reader, Writer};

use super::udp::Datagrams;
use crate::session::socket::Socket;
use crate::session::{Reach, Traffic};
use crate::{Error, Result, Target};

/// The longest record of a server.
const MAX_RECORD: usize = 16 << 20;
/// The most fragments of a record.
const MAX_FRAGMENTS: usize = 1024;
/// What carries the messages.
enum Wire {
    Stream(Socket),
    Datagrams(Datagrams),
}

/// A connection of ONC RPC.
pub(super) struct Rpc {
    wire: Wire,
    seconds: u64,
    next: u32,
    pub(super) uid: u32,
    gid: u32,
}

impl Rpc {
    pub(super) fn connect(address: &str, target: &Target, reach: &Reach) -> Result<Self> {
        let uid = target.number("uid")?.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        let gid = target.number("gid")?.unwrap_or_else(|| rustix::process::getegid().as_raw());
        let mut first = [0; 4];
        getrandom::fill(&mut first).map_err(|error| Error::Other(error.to_string()))?;
        let wire = match is_udp(target)? {
            true => Wire::Datagrams(Datagrams::connect(address, reach)?),
            false => Wire::Stream(Socket::connect(address, reach)?),
        };
        Ok(Self { wire, seconds: reach.seconds(), next: u32::from_be_bytes(first), uid, gid })
    }

    /// Sends a call; returns its number. `data` follow the arguments, with their padding.
    pub(super) fn send(
        &mut self,
        (program, version): (u32, u32),
        procedure: u32,
        args: &impl Encode,
        data: &[u8],
    ) -> Result<u32> {
        self.next = self.next.wrapping_add(1);
        let sys = AuthSys {
            stamp: 0,
            machine_name: Opaque::new(b"fourfold-bench"),
            uid: self.uid,
            gid: self.gid,
            gids: Words::new(&[]),
        };
        let header = CallHeader {
            xid: self.next,
            program,
            version,
            procedure,
            credential: Credential::Sys(sys),
            verifier: AuthFlavor::AUTH_NONE,
        };
        let mut w = Writer::new();
        w.zeros(RecordMark::SIZE);
        header.encode(&mut w);
        args.encode(&mut w);
        let padding = &[0; 3][..padding(data.len())];
        let len = (w.len() - RecordMark::SIZE + data.len() + padding.len()) as u32;
        w.patch_u32_be(0, RecordMark { last: true, len }.word());
        let sent = match &mut self.wire {
            Wire::Stream(socket) => socket.put(&[w.as_bytes(), data, padding]),
            Wire::Datagrams(all) => all.send([&w.as_bytes()[RecordMark::SIZE..], data, padding].concat()),
        };
        sent.map_err(|error| self.failed(&error))?;
        Ok(self.next)
    }

    /// The next record.
    pub(super) fn receive(&mut self) -> Result<Vec<u8>> {
        let received = match &mut self.wire {
            Wire::Stream(socket) => record(socket),
            Wire::Datagrams(all) => all.receive(),
        };
        received.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::of_io(error, self.seconds)
    }

    pub(super) fn traffic(&self) -> Traffic {
        match &self.wire {
            Wire::Stream(socket) => socket.traffic(),
            Wire::Datagrams(all) => all.traffic,
        }
    }

    /// A call and the bytes of its results.
    pub(super) fn call(
        &mut self,
        program: (u32, u32),
        procedure: u32,
        args: &impl Encode,
    ) -> Result<Vec<u8>> {
        let sent = self.send(program, procedure, args, &[])?;
        let record = self.receive()?;
        match xid(&record) == sent {
            true => results(&record).map(<[u8]>::to_vec),
            false => Err(Error::Other("an answer to another call".into())),
        }
    }
}

/// A record of a stream, of all its fragments.
fn record(socket: &mut Socket) -> io::Result<Vec<u8>> {
    let mut whole = Vec::new();
    for _ in 0..MAX_FRAGMENTS {
        let mut mark = [0; RecordMark::SIZE];
        socket.read_exact(&mut mark)?;
        let mark = RecordMark::from_bytes(mark);
        let room = MAX_RECORD - whole.len();
        let part = socket.fetch(mark.len as usize, room)?;
        match (mark.last, whole.is_empty()) {
            (true, true) => return Ok(part),
            _ => whole.extend_from_slice(&part),
        }
        if mark.last {
            return Ok(whole);
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a record of too many fragments"))
}

/// Whether a target is reached over UDP.
pub(super) fn is_udp(target: &Target) -> Result<bool> {
    match target.options.get("proto").map(String::as_str) {
        None | Some("tcp") => Ok(false),
        Some("udp") => Ok(true),
        Some(other) => Err(Error::Address(format!("proto={other}: write tcp or udp"))),
    }
}

/// The results in a reply.
pub(super) fn results(record: &[u8]) -> Result<&[u8]> {
    let mut r = Reader::new(record);
    match ReplyHeader::decode(&mut r).map_err(malformed)?.outcome {
        Outcome::Success => Ok(r.rest()),
        Outcome::ProgUnavail | Outcome::ProgMismatch { .. } | Outcome::ProcUnavail => {
            Err(Error::Unsupported("this RPC program"))
        }
        Outcome::AuthError(why) => Err(Error::Login(format!("{why:?}"))),
        other => Err(Error::Other(format!("{other:?}"))),
    }
}

/// A record as a reply, and its results as those of a READ and of a listing.
pub(super) fn decode_answer(record: &[u8]) {
    let Some(results) = record.len().checked_sub(4).and_then(|_| results(record).ok()) else { return };
    assert!(results.len() < record.len());
    let _ = xid(record);
    let _ = ok::<read::ResOkData<'_>, Option<Fattr3>>(results, "");
    let _ = ok::<readdirplus::ResOk<'_>, Option<Fattr3>>(results, "");
}

pub(super) fn decode<'a, T: Decode<'a>>(results: &'a [u8]) -> Result<T> {
    T::decode(&mut Reader::new(results)).map_err(malformed)
}

/// The result of a procedure, or its status as an error.
pub(super) fn ok<'a, T: Decode<'a>, B: Decode<'a>>(results: &'a [u8], path: &str) -> Result<T> {
    decode::<std::result::Result<T, Fail<B>>>(results)?.map_err(|fail| refused(fail.status, path))
}

pub(super) fn malformed(error: wire::Malformed) -> Error {
    Error::Other(format!("an answer that is not NFS: {error}"))
}

pub(super) fn refused(status: Status, path: &str) -> Error {
    match status {
        Status::NOSPC | Status::DQUOT => Error::Full,
        Status::PERM | Status::ACCES | Status::ROFS => Error::Refused(format!("{path} {status:?}")),
        // STALE: a call of an earlier connection was executed meanwhile, and has removed the folder.
        Status::NOENT | Status::STALE => Error::Missing(path.to_owned()),
        Status::EXIST => Error::Exists(path.to_owned()),
        Status::NOTSUPP => Error::Unsupported("this operation"),
        status => Error::Other(format!("{path} {status:?}")),
    }
}
