//! Minor version 1 by RFC 8881: clients and sessions here, opens, locks and stateids in the files below.

mod copying;
mod crossing;
mod delegations;
mod exchanging;
mod many;
mod outliving;
mod pushing;
mod ranges;
mod restarts;
mod rights;
mod slots;
mod stateids;
mod umask;
mod wanting;
mod xattrs;

use super::*;

/// A client with minor version 1 on.
fn client_1() -> Client {
    let client = client();
    client.service.set_minor_versions(&[0, 1]);
    client
}

/// The reply to a COMPOUND of minor version 1.
fn compound_1(client: &Client, operations: &[Vec<u8>]) -> Vec<u8> {
    let head = words(&[0, 1, operations.len() as u32]);
    let answer =
        now(client.call_raw((PROGRAM, 4, 1), &[head, operations.concat()].concat())).expect("a reply");
    assert_eq!(answer.outcome, Outcome::Success);
    answer.results
}

fn status(reply: &[u8]) -> u32 {
    u32::from_be_bytes(reply[..4].try_into().unwrap())
}

/// EXCHANGE_ID with SP4_NONE and no description of the client.
fn exchange_id(name: &[u8], verifier: u8, flags: u32) -> Vec<u8> {
    [words(&[42]), vec![verifier; 8], opaque(name), words(&[flags, 0, 0])].concat()
}

/// EXCHANGE_ID4resok as far as tests use it: clientid, sequence, flags.
fn exchanged(client: &Client, name: &[u8], verifier: u8, flags: u32) -> Result<(u64, u32, u32), u32> {
    let reply = compound_1(client, &[exchange_id(name, verifier, flags)]);
    if status(&reply) != 0 {
        assert_eq!(reply, words(&[status(&reply), 0, 1, 42, status(&reply)]));
        return Err(status(&reply));
    }
    let word = |at: usize| u32::from_be_bytes(reply[at..at + 4].try_into().unwrap());
    Ok((u64::from_be_bytes(reply[20..28].try_into().unwrap()), word(28), word(32)))
}

/// channel_attrs4: requests and replies of this size, kept ones of 2048 bytes, 16 operations, 4 slots.
fn channel(size: u32) -> Vec<u8> {
    words(&[0, size, size, 2048, 16, 4, 0])
}

/// CREATE_SESSION with a callback program and AUTH_NONE for it.
fn create_session(id: u64, sequence: u32, size: u32) -> Vec<u8> {
    create_session_with(id, sequence, size, 0)
}

/// The same with CREATE_SESSION4_FLAG_*.
fn create_session_with(id: u64, sequence: u32, size: u32, flags: u32) -> Vec<u8> {
    let head = [words(&[43]), id.to_be_bytes().to_vec(), words(&[sequence, flags])].concat();
    [head, channel(size), channel(4096), words(&[0x4000_0000, 1, 0])].concat()
}

/// A client in a session, and how many requests its slot 0 has executed.
struct Session {
    client: Client,
    client_id: u64,
    id: Vec<u8>,
    used: std::cell::Cell<u32>,
}

impl Session {
    /// Registers a client and creates a session of it, with everything reclaimed.
    fn of(client: &Client, name: &[u8], verifier: u8) -> Self {
        let session = Self::fresh(client, name, verifier);
        assert_eq!(session.call(&[words(&[58, 0])]), (0, words(&[58, 0])));
        session
    }

    /// The same before RECLAIM_COMPLETE.
    fn fresh(client: &Client, name: &[u8], verifier: u8) -> Self {
        let (id, sequence, _) = exchanged(client, name, verifier, 0).expect("a client");
        Self::with_size(client, id, sequence, 1 << 20)
    }

    fn with_size(client: &Client, id: u64, sequence: u32, size: u32) -> Self {
        Self::created(client, id, &create_session(id, sequence, size))
    }

    fn created(client: &Client, id: u64, request: &[u8]) -> Self {
        let reply = compound_1(client, &[request.to_vec()]);
        assert_eq!(reply[..20], words(&[0, 0, 1, 43, 0]));
        let (id, client_id) = (reply[20..36].to_vec(), id);
        Self { client: client.clone(), client_id, id, used: std::cell::Cell::default() }
    }

    /// SEQUENCE with any arguments: sequence number, slot, highest slot, whether to keep the reply.
    fn sequence(&self, arguments: [u32; 4]) -> Vec<u8> {
        [words(&[53]), self.id.clone(), words(&arguments)].concat()
    }

    /// The status of operations after SEQUENCE in slot 0, and their results.
    fn call(&self, operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
        self.used.set(self.used.get() + 1);
        let sequence = self.sequence([self.used.get(), 0, 0, 0]);
        let reply = compound_1(&self.client, &[vec![sequence], operations.to_vec()].concat());
        assert_eq!(reply[12..20], words(&[53, 0]));
        (status(&reply), reply[56..].to_vec())
    }

    /// The same in the share `docs`. The results of PUTROOTFH and LOOKUP are left out.
    fn in_docs(&self, operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
        let (status, results) =
            self.call(&[vec![words(&[24]), look_up(b"docs")], operations.to_vec()].concat());
        assert_eq!(results[..16], words(&[24, 0, 15, 0]));
        (status, results[16..].to_vec())
    }

    /// The same at a file.
    fn at(&self, handle: &[u8], operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
        let put = [words(&[22]), opaque(handle)].concat();
        let (status, results) = self.call(&[vec![put], operations.to_vec()].concat());
        assert_eq!(results[..8], words(&[22, 0]));
        (status, results[8..].to_vec())
    }

    /// A file that is open: its stateid and its handle.
    fn opened(&self, owner: &[u8], modes: (u32, u32), name: &[u8]) -> (StateBytes, Vec<u8>) {
        let (status, reply) = self.in_docs(&[open_1(owner, modes, &unchecked(), name), words(&[10])]);
        assert_eq!((status, &reply[..8]), (0, &words(&[18, 0])[..]));
        // change_info4 (20 bytes), then OPEN4_RESULT_LOCKTYPE_POSIX alone: there is nothing to confirm.
        assert_eq!(reply[44..48], words(&[4]));
        // A handle may contain the bytes that are before one.
        let is_handle =
            |at: &usize| reply[*at..].starts_with(&words(&[10, 0, (reply.len() - at - 12) as u32]));
        let handle_at = (0..reply.len() - 12).find(is_handle).unwrap() + 12;
        (reply[8..24].try_into().unwrap(), reply[handle_at..].to_vec())
    }
}

/// OPEN of a name. The sequence number and the clientid do not matter in a session.
fn open_1(owner: &[u8], modes: (u32, u32), how: &[u8], name: &[u8]) -> Vec<u8> {
    open(99, owner, 77, modes, how, name)
}

fn close_1(state: &[u8]) -> Vec<u8> {
    [words(&[4, 77]), state.to_vec()].concat()
}

fn read_1(state: &[u8]) -> Vec<u8> {
    [words(&[25]), state.to_vec(), words(&[0, 0, 9])].concat()
}

/// The current stateid, RFC 8881 8.2.3.
fn current() -> Vec<u8> {
    words(&[1, 0, 0, 0])
}
