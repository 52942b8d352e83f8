//! A small NFSv3 client: one call at a time over one connection, with a timeout for every wait.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use nfs::wire::rpc::{AuthFlavor, AuthSys, CallHeader, Credential, Outcome, RecordMark, ReplyHeader};
use nfs::wire::v3::create::CreateHow;
use nfs::wire::v3::types::{DirOpArgs, Fattr3, Sattr3, Status, Verifier};
use nfs::wire::v3::write::StableHow;
use nfs::wire::v3::{
    PROGRAM, Procedure, VERSION, commit, create, fsstat, getattr, lookup, mkdir, read, readdir, readdirplus,
    remove, rename, setattr, write,
};
use nfs::wire::xdr::{Decode, Encode, Opaque, Words, arguments};
use nfs::wire::{mount, nlm};
use wire::{Reader, Writer};

/// The timeout of a reply.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection, and the user of its calls.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    xid: u32,
    pub(crate) uid: u32,
    /// The share's root, once it is mounted.
    pub(crate) root: Vec<u8>,
}

/// Bytes of a file and whether its end was reached.
pub(crate) struct Data {
    pub(crate) bytes: Vec<u8>,
    pub(crate) eof: bool,
}

/// The results of a call.
pub(crate) struct Results(Vec<u8>);

impl Results {
    pub(crate) fn value<'a, T: Decode<'a>>(&'a self) -> T {
        arguments(&mut Reader::new(&self.0)).expect("results of this procedure")
    }
}

fn place<'a>(dir: &'a [u8], name: &'a str) -> DirOpArgs<'a> {
    DirOpArgs { dir: Opaque(dir), name: Opaque(name.as_bytes()) }
}

fn lock_of(file: &[u8], svid: i32, (offset, len): (u64, u64)) -> nlm::NlmLock<'_> {
    nlm::NlmLock {
        caller_name: Opaque(b"client"),
        handle: Opaque(file),
        owner: Opaque(b"owner"),
        svid,
        offset,
        len,
    }
}

/// A call of user `uid` without its record mark.
pub(crate) fn message(
    xid: u32,
    uid: u32,
    (program, version, procedure): (u32, u32, u32),
    arguments: &impl Encode,
) -> Vec<u8> {
    let machine_name = Opaque(b"client");
    let sys = AuthSys { stamp: 0, machine_name, uid, gid: 100, gids: Words::new(&[]) };
    let credential = Credential::Sys(sys);
    let verifier = AuthFlavor::AUTH_NONE;
    let mut w = Writer::new();
    CallHeader { xid, program, version, procedure, credential, verifier }.encode(&mut w);
    arguments.encode(&mut w);
    w.into_bytes()
}

/// A READ without its record mark.
pub(crate) fn read_message(xid: u32, file: &[u8], offset: u64, count: u32) -> Vec<u8> {
    let request = read::Request { file: Opaque(file), offset, count };
    message(xid, 1000, (PROGRAM, VERSION, Procedure::READ.0), &request)
}

/// A message as one record of one fragment.
pub(crate) fn record(message: &[u8]) -> Vec<u8> {
    let mark = RecordMark { last: true, len: message.len() as u32 };
    [&mark.to_bytes()[..], message].concat()
}

/// Receives one record of one fragment.
pub(crate) fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut mark = [0; RecordMark::SIZE];
    stream.read_exact(&mut mark)?;
    let mark = RecordMark::from_bytes(mark);
    assert!(mark.last && mark.len <= 2 << 20, "a reply of {} bytes", mark.len);
    let mut reply = vec![0; mark.len as usize];
    stream.read_exact(&mut reply)?;
    Ok(reply)
}

impl Client {
    /// Connects and does nothing.
    pub(crate) fn connect(port: u16) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, xid: u32::from(address.port()) << 16, uid: 1000, root: Vec::new() })
    }

    /// Connects and mounts `/share`.
    pub(crate) fn mount(port: u16) -> Self {
        Self::mount_path(port, "/share").unwrap()
    }

    /// Connects and mounts.
    pub(crate) fn mount_path(port: u16, path: &str) -> Result<Self, mount::Status> {
        let mut client = Self::connect(port).unwrap();
        client.root = client.mnt(path)?;
        Ok(client)
    }

    pub(crate) fn mnt(&mut self, path: &str) -> Result<Vec<u8>, mount::Status> {
        let request = mount::Request { path: Opaque(path.as_bytes()) };
        let results = self.call_program((mount::PROGRAM, 3, mount::Procedure::MNT.0), &request).unwrap();
        let answer: mount::MountRes<mount::MountOk<'_>> = results.value();
        answer.0.map(|ok| ok.handle.to_vec())
    }

    /// Sends arbitrary bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Shuts down the sending side.
    pub(crate) fn end(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write); // the connection may be over
    }

    /// Whether the server closes the connection (and sends no more data) within this time.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let closed = match self.stream.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        };
        let _ = self.stream.set_read_timeout(Some(PATIENCE)); // the connection may be over
        closed
    }

    fn call_program(&mut self, call: (u32, u32, u32), arguments: &impl Encode) -> io::Result<Results> {
        self.xid = self.xid.wrapping_add(1);
        let message = message(self.xid, self.uid, call, arguments);
        self.send(&record(&message))?;
        let reply = receive(&mut self.stream)?;
        let mut reader = Reader::new(&reply);
        let header = ReplyHeader::decode(&mut reader).expect("a reply");
        assert_eq!((header.xid, header.outcome), (self.xid, Outcome::Success));
        Ok(Results(reader.rest().to_vec()))
    }

    /// A call of NFS; fails when the connection is over.
    pub(crate) fn try_call(&mut self, procedure: Procedure, arguments: &impl Encode) -> io::Result<Results> {
        self.call_program((PROGRAM, VERSION, procedure.0), arguments)
    }

    fn call(&mut self, procedure: Procedure, arguments: &impl Encode) -> Results {
        self.try_call(procedure, arguments).unwrap()
    }

    pub(crate) fn null(&mut self) -> io::Result<()> {
        self.try_call(Procedure::NULL, &()).map(drop)
    }

    pub(crate) fn fsstat(&mut self, root: &[u8]) -> Result<fsstat::ResOk, Status> {
        let results = self.call(Procedure::FSSTAT, &fsstat::Request { root: Opaque(root) });
        results.value::<fsstat::Res>().map_err(|fail| fail.status)
    }

    pub(crate) fn getattr(&mut self, object: &[u8]) -> Result<Fattr3, Status> {
        let results = self.call(Procedure::GETATTR, &getattr::Request { object: Opaque(object) });
        results.value::<getattr::Res>().map(|ok| ok.attributes).map_err(|fail| fail.status)
    }

    pub(crate) fn setattr(&mut self, object: &[u8], new_attributes: Sattr3) -> Result<(), Status> {
        let request = setattr::Request { object: Opaque(object), new_attributes, guard: None };
        self.call(Procedure::SETATTR, &request).value::<setattr::Res>().map(drop).map_err(|fail| fail.status)
    }

    pub(crate) fn lookup(&mut self, dir: &[u8], name: &str) -> Result<Vec<u8>, Status> {
        let results = self.call(Procedure::LOOKUP, &lookup::Request { what: place(dir, name) });
        results.value::<lookup::Res<'_>>().map(|ok| ok.object.to_vec()).map_err(|fail| fail.status)
    }

    pub(crate) fn create(&mut self, dir: &[u8], name: &str) -> Result<Vec<u8>, Status> {
        let attributes = Sattr3 { mode: Some(0o644), ..Sattr3::default() };
        let request = create::Request { place: place(dir, name), how: CreateHow::Unchecked(attributes) };
        let results = self.call(Procedure::CREATE, &request);
        let made = results.value::<create::Res<'_>>();
        made.map(|ok| ok.object.unwrap().to_vec()).map_err(|fail| fail.status)
    }

    pub(crate) fn mkdir(&mut self, dir: &[u8], name: &str) -> Result<Vec<u8>, Status> {
        let attributes = Sattr3 { mode: Some(0o755), ..Sattr3::default() };
        let results = self.call(Procedure::MKDIR, &mkdir::Request { place: place(dir, name), attributes });
        let made = results.value::<create::Res<'_>>();
        made.map(|ok| ok.object.unwrap().to_vec()).map_err(|fail| fail.status)
    }

    pub(crate) fn remove(&mut self, dir: &[u8], name: &str) -> Result<(), Status> {
        let results = self.call(Procedure::REMOVE, &remove::Request { object: place(dir, name) });
        results.value::<remove::Res>().map(drop).map_err(|fail| fail.status)
    }

    pub(crate) fn rename(&mut self, dir: &[u8], from: &str, to: &str) -> Result<(), Status> {
        let request = rename::Request { from: place(dir, from), to: place(dir, to) };
        self.call(Procedure::RENAME, &request).value::<rename::Res>().map(drop).map_err(|fail| fail.status)
    }

    pub(crate) fn read(&mut self, file: &[u8], offset: u64, count: u32) -> Result<Data, Status> {
        let results = self.call(Procedure::READ, &read::Request { file: Opaque(file), offset, count });
        let read = results.value::<read::ResData<'_>>();
        read.map(|ok| Data { bytes: ok.data.to_vec(), eof: ok.eof }).map_err(|fail| fail.status)
    }

    /// Everything in a file.
    pub(crate) fn content(&mut self, file: &[u8]) -> Result<Vec<u8>, Status> {
        let mut content = Vec::new();
        loop {
            let data = self.read(file, content.len() as u64, 1 << 20)?;
            content.extend(data.bytes);
            if data.eof {
                return Ok(content);
            }
        }
    }

    pub(crate) fn write(
        &mut self,
        file: &[u8],
        offset: u64,
        data: &[u8],
        stable: StableHow,
    ) -> Result<Verifier, Status> {
        self.try_write(file, offset, data, stable).unwrap()
    }

    /// WRITE; the outer error is that of the connection.
    pub(crate) fn try_write(
        &mut self,
        file: &[u8],
        offset: u64,
        data: &[u8],
        stable: StableHow,
    ) -> io::Result<Result<Verifier, Status>> {
        let count = data.len() as u32;
        let request = write::Request { file: Opaque(file), offset, count, stable, data: Opaque(data) };
        let results = self.try_call(Procedure::WRITE, &request)?;
        Ok(results.value::<write::Res>().map_err(|fail| fail.status).map(|ok| {
            assert!(ok.count == count && ok.committed.0 >= stable.0);
            ok.verifier
        }))
    }

    /// COMMIT; the outer error is that of the connection.
    pub(crate) fn try_commit(&mut self, file: &[u8]) -> io::Result<Result<Verifier, Status>> {
        let request = commit::Request { file: Opaque(file), offset: 0, count: 0 };
        let results = self.try_call(Procedure::COMMIT, &request)?;
        Ok(results.value::<commit::Res>().map(|ok| ok.verifier).map_err(|fail| fail.status))
    }

    /// A non-blocking call of NLM about a lock of process `svid`: NM_LOCK, UNLOCK.
    pub(crate) fn lock(
        &mut self,
        file: &[u8],
        svid: i32,
        range: (u64, u64),
        exclusive: bool,
    ) -> nlm::NlmStat {
        let lock = lock_of(file, svid, range);
        let cookie = Opaque(b"cookie");
        let request = nlm::LockRequest { cookie, block: false, exclusive, lock, reclaim: false, state: 1 };
        self.nlm(nlm::Procedure::NM_LOCK, &request)
    }

    pub(crate) fn unlock(&mut self, file: &[u8], svid: i32, range: (u64, u64)) -> nlm::NlmStat {
        let request = nlm::UnlockRequest { cookie: Opaque(b"cookie"), lock: lock_of(file, svid, range) };
        self.nlm(nlm::Procedure::UNLOCK, &request)
    }

    fn nlm(&mut self, procedure: nlm::Procedure, request: &impl Encode) -> nlm::NlmStat {
        let results = self.call_program((nlm::PROGRAM, nlm::VERSION, procedure.0), request).unwrap();
        results.value::<nlm::Res<'_>>().stat
    }

    /// The names in a folder, listed in small pages.
    pub(crate) fn names(&mut self, dir: &[u8]) -> Result<Vec<String>, Status> {
        let (mut names, mut cookie) = (Vec::new(), 0);
        loop {
            let request = readdir::Request { dir: Opaque(dir), cookie, verifier: [0; 8], count: 2048 };
            let results = self.call(Procedure::READDIR, &request);
            let page = results.value::<readdir::Res<'_>>().map_err(|fail| fail.status)?;
            for entry in &page.entries {
                names.push(String::from_utf8_lossy(entry.name.0).into_owned());
                cookie = entry.cookie;
            }
            if page.eof {
                return Ok(names);
            }
        }
    }

    /// The names in a folder with attributes, listed in pages of Linux's size.
    pub(crate) fn names_plus(&mut self, dir: &[u8]) -> Result<Vec<String>, Status> {
        let (mut names, mut cookie) = (Vec::new(), 0);
        loop {
            let (verifier, dircount, maxcount) = ([0; 8], 32_768, 32_768);
            let request = readdirplus::Request { dir: Opaque(dir), cookie, verifier, dircount, maxcount };
            let results = self.call(Procedure::READDIRPLUS, &request);
            let page = results.value::<readdirplus::Res<'_>>().map_err(|fail| fail.status)?;
            for entry in &page.entries {
                names.push(String::from_utf8_lossy(entry.name.0).into_owned());
                cookie = entry.cookie;
            }
            if page.eof {
                return Ok(names);
            }
        }
    }
}
