//! Tests of forks with the harness. The results are those of the Apple Filing Protocol Reference,
//! FPOpenFork, FPRead, FPWrite, FPSetForkParms, FPFlushFork, and of Netatalk's test suite (its sets
//! of the same names).

mod content;
mod durable;
mod early;
mod opening;
mod trees;

use std::sync::Arc;

use bytes::Bytes;
use vfs::backend::{Found, NewKind, Stability};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Beside, Caller, Volume};
use wire::Reader;

use crate::server::config::Version;
use crate::server::testing::{ADA, Answer, Client, Server};
use crate::wire::fork::*;
use crate::wire::{FileBitmap, Path, ResultCode, command};

pub(in crate::server) const READ: u16 = 1;
pub(in crate::server) const WRITE: u16 = 2;
pub(in crate::server) const BOTH: u16 = 3;
pub(in crate::server) const DENY_WRITE: u16 = 0x20;
pub(in crate::server) const DENY_BOTH: u16 = 0x30;

/// A user with an open volume.
pub(in crate::server) struct User {
    pub(in crate::server) client: Client,
    pub(in crate::server) volume: u16,
}

impl User {
    pub(in crate::server) fn of(server: &Server, version: Version) -> Self {
        Self::on(server, "share", version)
    }

    pub(in crate::server) fn on(server: &Server, share: &str, version: Version) -> Self {
        let client = server.log_in(ADA, version);
        let volume = client.open_volume(share);
        Self { client, volume }
    }

    pub(in crate::server) fn request<'a>(&self, name: &'a str, access: u16) -> OpenFork<'a> {
        OpenFork {
            resource: false,
            volume: self.volume,
            folder: 2,
            bitmap: FileBitmap::empty(),
            access: AccessMode(access),
            path: Path::utf8(name.as_bytes()),
        }
    }

    pub(in crate::server) async fn try_open(&mut self, open: OpenFork<'_>) -> Answer {
        self.client.call(command::OPEN_FORK, |w| open.encode(w)).await
    }

    pub(in crate::server) async fn open(&mut self, name: &str, access: u16) -> Result<u16, ResultCode> {
        self.open_as(self.request(name, access)).await
    }

    pub(in crate::server) async fn open_as(&mut self, open: OpenFork<'_>) -> Result<u16, ResultCode> {
        let answer = self.try_open(open).await;
        if answer.code != ResultCode::NO_ERROR {
            return Err(answer.code);
        }
        Ok(OpenForkReply::decode(&mut Reader::new(&answer.payload)).unwrap().fork)
    }

    pub(in crate::server) async fn open_resource(&mut self, name: &str, access: u16) -> u16 {
        self.open_as(OpenFork { resource: true, ..self.request(name, access) }).await.unwrap()
    }

    pub(in crate::server) async fn close(&mut self, fork: u16) -> ResultCode {
        self.client.call(command::CLOSE_FORK, |w| OneFork { fork }.encode(w)).await.code
    }

    /// FPRead.
    pub(in crate::server) async fn read(
        &mut self,
        fork: u16,
        offset: i64,
        count: i64,
    ) -> (ResultCode, Vec<u8>) {
        let read = Read { fork, offset, count, newline_mask: 0, newline: 0 };
        let answer = self.client.call(command::READ, |w| read.encode(Width::Bits32, w)).await;
        (answer.code, answer.payload)
    }

    /// FPReadExt.
    pub(in crate::server) async fn read_ext(
        &mut self,
        fork: u16,
        offset: i64,
        count: i64,
    ) -> (ResultCode, Vec<u8>) {
        let read = Read { fork, offset, count, newline_mask: 0, newline: 0 };
        let answer = self.client.call(command::READ_EXT, |w| read.encode(Width::Bits64, w)).await;
        (answer.code, answer.payload)
    }

    /// FPWrite or FPWriteExt: returns the end of the written data.
    pub(in crate::server) async fn write(
        &mut self,
        width: Width,
        write: Write,
        data: &[u8],
    ) -> Result<i64, ResultCode> {
        let number = if width == Width::Bits32 { command::WRITE } else { command::WRITE_EXT };
        let answer = self.client.call_with_data(number, |w| write.encode(width, w), data).await;
        match answer.code {
            ResultCode::NO_ERROR => {
                Ok(WriteReply::decode(width, &mut Reader::new(&answer.payload)).unwrap().end)
            }
            code => Err(code),
        }
    }

    pub(in crate::server) async fn write_at(
        &mut self,
        fork: u16,
        offset: i64,
        data: &[u8],
    ) -> Result<i64, ResultCode> {
        let write = Write { from_end: false, fork, offset, count: data.len() as i64 };
        self.write(Width::Bits64, write, data).await
    }

    /// FPSetForkParms.
    pub(in crate::server) async fn set_length(
        &mut self,
        fork: u16,
        bitmap: FileBitmap,
        length: i64,
    ) -> ResultCode {
        let set = SetForkParms { fork, bitmap, length };
        self.client.call(command::SET_FORK_PARMS, |w| set.encode(w)).await.code
    }

    /// FPGetForkParms.
    async fn parameters(&mut self, fork: u16, bitmap: FileBitmap) -> Result<Vec<u8>, ResultCode> {
        let get = GetForkParms { fork, bitmap };
        let answer = self.client.call(command::GET_FORK_PARMS, |w| get.encode(w)).await;
        match answer.code {
            ResultCode::NO_ERROR => {
                let reply = GetForkParmsReply::decode(&mut Reader::new(&answer.payload)).unwrap();
                assert_eq!(reply.bitmap, bitmap);
                Ok(reply.parameters.to_vec())
            }
            code => Err(code),
        }
    }
}

/// A client of another protocol.
pub(in crate::server) fn somebody() -> Actor {
    Actor::new(Caller::new(1000, 100, &[]), Party::client(ClientId::unused()))
}

/// Makes a file.
pub(in crate::server) async fn make(volume: &Arc<Volume>, name: &str, data: &[u8]) -> Found {
    let (actor, root) = (somebody(), volume.root().unwrap());
    let found = volume.create(&actor, &root, name.as_bytes(), NewKind::File, 0o666).unwrap().found;
    if !data.is_empty() {
        let data = Bytes::copy_from_slice(data);
        volume.stateless().write(&actor, &found, 0, data, Stability::File).await.unwrap();
    }
    volume.lookup(&actor.caller, &root.object, name.as_bytes()).unwrap()
}

/// A server with the file "notes", and a client that uses it by the newest version.
pub(in crate::server) async fn notes(data: &[u8]) -> (Server, User) {
    let server = Server::new();
    make(&server.volume("share"), "notes", data).await;
    let user = User::of(&server, Version::V3_4);
    (server, user)
}

/// The length of a file's resource fork, from other protocols' view.
fn fork_len(volume: &Arc<Volume>, name: &str) -> u64 {
    let root = volume.root().unwrap();
    let found = volume.lookup(&Caller::root(), &root.object, name.as_bytes()).unwrap();
    volume.fork_len(&found, Beside { folder: &root.object, name: name.as_bytes() }).unwrap()
}
