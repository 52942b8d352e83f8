//! A server for tests, which says what a test tells it: bytes of RFC 5531 and RFC 1813, without the codecs of the crate `nfs`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::connect;
use crate::session::Reach;
use crate::tree::Tree;
use crate::{Result, Target};

/// The handle of the export.
pub(super) const ROOT: &[u8] = b"root";

/// A call that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptedCall {
    pub(super) xid: u32,
    pub(super) program: u32,
    pub(super) procedure: u32,
    /// Its arguments.
    pub(super) args: Vec<u8>,
}

/// What the server does with a call.
pub(super) enum Act {
    /// Answers with these results (RFC 5531 9: accepted, SUCCESS).
    Results(Vec<u8>),
    /// Answers with these bytes behind the call's number.
    Reply(Vec<u8>),
    /// Sends these bytes as they are.
    Raw(Vec<u8>),
    /// Says nothing.
    Nothing,
    /// Ends the connection.
    End,
}

pub(super) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// RFC 4506 4.10: the length, the bytes, and zeros up to a multiple of four.
pub(super) fn opaque(bytes: &[u8]) -> Vec<u8> {
    let padding = vec![0; bytes.len().next_multiple_of(4) - bytes.len()];
    [&words(&[bytes.len() as u32])[..], bytes, &padding].concat()
}

/// RFC 1813 2.6, fattr3: a file of this type, length and number.
pub(super) fn attributes(kind: u32, size: u64, number: u32) -> Vec<u8> {
    let size = [(size >> 32) as u32, size as u32];
    let owner = words(&[kind, 0o640, 1, 501, 20]);
    let rest = words(&[0, 4096, 0, 0, 0, 1, 0, number, 10, 11, 20, 21, 30, 31]);
    [owner, words(&size), rest].concat()
}

/// RFC 5531 11: the last fragment of a record, of these bytes.
pub(super) fn record(bytes: &[u8]) -> Vec<u8> {
    [&words(&[1 << 31 | bytes.len() as u32])[..], bytes].concat()
}

/// RFC 5531 9: a reply that is accepted, with this status of acceptance.
pub(super) fn accepted(status: u32) -> Vec<u8> {
    words(&[1, 0, 0, 0, status])
}

/// A server with one connection, and the calls that came.
pub(super) struct ScriptedServer {
    pub(super) calls: Receiver<ScriptedCall>,
    port: u16,
}

impl ScriptedServer {
    /// MOUNT and FSINFO are answered. The rest is up to `act`.
    pub(super) fn start(mut act: impl FnMut(&ScriptedCall) -> Act + Send + 'static) -> Self {
        Self::start_bare(move |call| match (call.program, call.procedure) {
            // RFC 1813 5.2.1: OK, the handle, one flavour of authentication: AUTH_SYS.
            (100_005, 1) => Act::Results([words(&[0]), opaque(ROOT), words(&[1, 1])].concat()),
            // RFC 1813 3.3.19: no attributes; reads to 64 KiB, writes to 32 KiB, listings, the largest file, the step of times.
            (100_003, 19) => Act::Results(words(&[
                0,
                0,
                65_536,
                65_536,
                1,
                32_768,
                32_768,
                1,
                8192,
                0x7FFF_FFFF,
                0xFFFF_FFFF,
                0,
                1,
                0x1B,
            ])),
            _ => act(call),
        })
    }

    /// All is up to `act`.
    pub(super) fn start_bare(act: impl FnMut(&ScriptedCall) -> Act + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, calls) = channel();
        std::thread::spawn(move || {
            let mut act = act;
            let (mut stream, _) = listener.accept().unwrap();
            while let Some(call) = receive(&mut stream) {
                let _ = tell.send(call.clone());
                let success = |results: Vec<u8>| [words(&[call.xid]), accepted(0), results].concat();
                let bytes = match act(&call) {
                    Act::Results(results) => record(&success(results)),
                    Act::Reply(rest) => record(&[words(&[call.xid]), rest].concat()),
                    Act::Raw(bytes) => bytes,
                    Act::Nothing => continue,
                    Act::End => return,
                };
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
        });
        Self { calls, port }
    }

    pub(super) fn client(&self) -> Result<Box<dyn Tree>> {
        self.client_of("export", Duration::from_secs(20))
    }

    /// A client of this path, which waits so long for each answer.
    pub(super) fn client_of(&self, path: &str, timeout: Duration) -> Result<Box<dyn Tree>> {
        let target = Target::parse(&format!("nfs://127.0.0.1:{}/{path}?uid=501&gid=20", self.port))?;
        connect(&target, &Reach::direct(timeout))
    }

    /// The arguments of the calls of this procedure of NFS that came so far.
    pub(super) fn args_of(&self, procedure: u32) -> Vec<Vec<u8>> {
        let of_it = |call: &ScriptedCall| (call.program, call.procedure) == (100_003, procedure);
        self.calls.try_iter().filter(of_it).map(|call| call.args).collect()
    }
}

/// The next call: RFC 5531 9.
fn receive(stream: &mut TcpStream) -> Option<ScriptedCall> {
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).ok()?;
    let mut bytes = vec![0; (u32::from_be_bytes(mark) & !(1 << 31)) as usize];
    stream.read_exact(&mut bytes).ok()?;
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(4), word(8)), (0, 2), "a call of version 2");
    let credential = (word(28) as usize).next_multiple_of(4);
    let verifier = (word(36 + credential) as usize).next_multiple_of(4);
    let args = bytes[40 + credential + verifier..].to_vec();
    Some(ScriptedCall { xid: word(0), program: word(12), procedure: word(20), args })
}
