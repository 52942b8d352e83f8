//! Sessions without a socket: every procedure over the memory backend, each test named for the rule it checks.

mod attributes;
mod calls;
mod committing;
mod creating;
mod early;
mod extremes;
mod faults;
mod handles;
mod linking;
mod listing;
mod locked;
mod looking_up;
mod making;
mod names;
mod observed;
mod reading;
mod removing;
mod renaming;
mod repeats;
mod rights;
mod trees;
mod writing;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use vfs::backend::Backend;
use vfs::backend::memory::Memory;
use vfs::{Volume, VolumeOptions};

use crate::server::testing::{Client, RpcReply, service_with};
use crate::server::{Export, ExportOptions};
use crate::wire::v3::create::CreateHow;
use crate::wire::v3::mknod::MknodData;
use crate::wire::v3::types::{DirOpArgs, Fail, Fattr3, NfsTime, PostOpAttr, Sattr3, Status, Wcc};
use crate::wire::v3::write::StableHow;
use crate::wire::v3::{
    PROGRAM, Procedure, VERSION, access, commit, create, fsinfo, fsstat, getattr, link, lookup, mkdir, mknod,
    pathconf, read, readdir, readdirplus, readlink, remove, rename, rmdir, setattr, symlink, write,
};
use crate::wire::xdr::{Encode, Opaque};

type Handle = Vec<u8>;

/// A client and the handle of the share it has mounted.
struct Session {
    client: Client,
    root: Handle,
}

/// LOOKUP3resok.
#[derive(Debug)]
struct LookupReply {
    handle: Handle,
    attributes: PostOpAttr,
    dir: PostOpAttr,
}

/// The results of CREATE, MKDIR, SYMLINK and MKNOD.
#[derive(Debug)]
struct CreateReply {
    handle: Handle,
    attributes: PostOpAttr,
    dir: Wcc,
}

/// READ3resok.
#[derive(Debug)]
struct Data {
    attributes: PostOpAttr,
    data: Vec<u8>,
    eof: bool,
}

/// READDIR3resok or READDIRPLUS3resok.
#[derive(Debug)]
struct ListingReply {
    dir: PostOpAttr,
    entries: Vec<Entry>,
    eof: bool,
    /// The length of the results without the status.
    size: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: Vec<u8>,
    fileid: u64,
    cookie: u64,
    attributes: PostOpAttr,
    handle: Option<Handle>,
}

/// An export of this backend with the default rights of all clients.
fn export(name: &str, tag: u32, backend: Arc<dyn Backend>) -> Export {
    let volume = Arc::new(Volume::new(backend, VolumeOptions::default()));
    Export { name: name.into(), tag, volume, options: ExportOptions::default() }
}

/// The value of a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a procedure over memory waits"),
    }
}

fn place<'a>(dir: &'a [u8], name: &'a [u8]) -> DirOpArgs<'a> {
    DirOpArgs { dir: Opaque(dir), name: Opaque(name) }
}

fn mode(mode: u32) -> Sattr3 {
    Sattr3 { mode: Some(mode), ..Sattr3::default() }
}

fn size(size: u64) -> Sattr3 {
    Sattr3 { size: Some(size), ..Sattr3::default() }
}

impl Session {
    /// User 1000 on an empty share in memory. All users may write to its root.
    fn new() -> Self {
        Self::over(Arc::new(Memory::ticking()))
    }

    fn over(backend: Arc<dyn Backend>) -> Self {
        Self::with(vec![export("share", 1, backend)])
    }

    /// With the first of these exports mounted.
    fn with(exports: Vec<Export>) -> Self {
        let path = format!("/{}", exports[0].name);
        Self::mounted(Client::new(&service_with(exports)), &path)
    }

    fn mounted(client: Client, path: &str) -> Self {
        let root = now(client.mount(path)).unwrap();
        Self { client, root }
    }

    /// The same session as another caller.
    fn becoming(&self, client: Client) -> Self {
        Self { client, root: self.root.clone() }
    }

    fn user(&self, uid: u32) -> Self {
        self.becoming(self.client.clone().user(uid))
    }

    fn at_port(&self, port: u16) -> Self {
        let mut client = self.client.clone();
        client.origin.port = port;
        self.becoming(client)
    }

    fn call(&self, procedure: Procedure, arguments: &impl Encode) -> RpcReply {
        now(self.client.call((PROGRAM, VERSION, procedure.0), arguments))
    }

    fn getattr(&self, object: &[u8]) -> Result<Fattr3, Status> {
        let answer = self.call(Procedure::GETATTR, &getattr::Request { object: Opaque(object) });
        answer.value::<getattr::Res>().map(|ok| ok.attributes).map_err(|fail| fail.status)
    }

    fn attributes(&self, object: &[u8]) -> Fattr3 {
        self.getattr(object).unwrap()
    }

    fn setattr(&self, object: &[u8], new_attributes: Sattr3, guard: Option<NfsTime>) -> setattr::Res {
        let request = setattr::Request { object: Opaque(object), new_attributes, guard };
        self.call(Procedure::SETATTR, &request).value()
    }

    fn lookup(&self, dir: &[u8], name: &[u8]) -> Result<LookupReply, Fail<PostOpAttr>> {
        let answer = self.call(Procedure::LOOKUP, &lookup::Request { what: place(dir, name) });
        answer.value::<lookup::Res<'_>>().map(|ok| LookupReply {
            handle: ok.object.to_vec(),
            attributes: ok.attributes,
            dir: ok.dir_attributes,
        })
    }

    fn access(&self, object: &[u8], access: u32) -> access::Res {
        self.call(Procedure::ACCESS, &access::Request { object: Opaque(object), access }).value()
    }

    fn readlink(&self, symlink: &[u8]) -> Result<(Vec<u8>, PostOpAttr), Fail<PostOpAttr>> {
        let answer = self.call(Procedure::READLINK, &readlink::Request { symlink: Opaque(symlink) });
        answer.value::<readlink::Res<'_>>().map(|ok| (ok.data.to_vec(), ok.attributes))
    }

    fn read(&self, file: &[u8], offset: u64, count: u32) -> Result<Data, Fail<PostOpAttr>> {
        let answer = self.call(Procedure::READ, &read::Request { file: Opaque(file), offset, count });
        answer.value::<read::ResData<'_>>().map(|ok| {
            assert_eq!(ok.count as usize, ok.data.len());
            Data { attributes: ok.attributes, data: ok.data.to_vec(), eof: ok.eof }
        })
    }

    fn write(&self, file: &[u8], offset: u64, data: &[u8], stable: StableHow) -> write::Res {
        let count = data.len() as u32;
        let request = write::Request { file: Opaque(file), offset, count, stable, data: Opaque(data) };
        self.call(Procedure::WRITE, &request).value()
    }

    fn commit(&self, file: &[u8]) -> commit::Res {
        let request = commit::Request { file: Opaque(file), offset: 0, count: 0 };
        self.call(Procedure::COMMIT, &request).value()
    }

    fn create(&self, dir: &[u8], name: &[u8], how: CreateHow) -> Result<CreateReply, Fail<Wcc>> {
        made(&self.call(Procedure::CREATE, &create::Request { place: place(dir, name), how }))
    }

    fn mkdir(&self, dir: &[u8], name: &[u8], attributes: Sattr3) -> Result<CreateReply, Fail<Wcc>> {
        made(&self.call(Procedure::MKDIR, &mkdir::Request { place: place(dir, name), attributes }))
    }

    fn symlink(&self, dir: &[u8], name: &[u8], path: &[u8]) -> Result<CreateReply, Fail<Wcc>> {
        let (place, attributes) = (place(dir, name), Sattr3::default());
        made(&self.call(Procedure::SYMLINK, &symlink::Request { place, attributes, data: Opaque(path) }))
    }

    fn mknod(&self, dir: &[u8], name: &[u8], what: MknodData) -> Result<CreateReply, Fail<Wcc>> {
        made(&self.call(Procedure::MKNOD, &mknod::Request { place: place(dir, name), what }))
    }

    fn remove(&self, dir: &[u8], name: &[u8]) -> remove::Res {
        self.call(Procedure::REMOVE, &remove::Request { object: place(dir, name) }).value()
    }

    fn rmdir(&self, dir: &[u8], name: &[u8]) -> rmdir::Res {
        self.call(Procedure::RMDIR, &rmdir::Request { object: place(dir, name) }).value()
    }

    fn rename(&self, from: (&[u8], &[u8]), to: (&[u8], &[u8])) -> rename::Res {
        let request = rename::Request { from: place(from.0, from.1), to: place(to.0, to.1) };
        self.call(Procedure::RENAME, &request).value()
    }

    fn link(&self, file: &[u8], dir: &[u8], name: &[u8]) -> link::Res {
        self.call(Procedure::LINK, &link::Request { file: Opaque(file), link: place(dir, name) }).value()
    }

    fn readdir(&self, dir: &[u8], cookie: u64, count: u32) -> Result<ListingReply, Fail<PostOpAttr>> {
        let request = readdir::Request { dir: Opaque(dir), cookie, verifier: [0; 8], count };
        let answer = self.call(Procedure::READDIR, &request);
        let listing = answer.value::<readdir::Res<'_>>()?;
        let entries = listing.entries.iter().map(|entry| Entry {
            name: entry.name.to_vec(),
            fileid: entry.fileid,
            cookie: entry.cookie,
            attributes: None,
            handle: None,
        });
        let (dir, size) = (listing.dir_attributes, answer.results.len() - 4);
        Ok(ListingReply { dir, entries: entries.collect(), eof: listing.eof, size })
    }

    fn readdirplus(
        &self,
        dir: &[u8],
        cookie: u64,
        dircount: u32,
        maxcount: u32,
    ) -> Result<ListingReply, Fail<PostOpAttr>> {
        let request = readdirplus::Request { dir: Opaque(dir), cookie, verifier: [0; 8], dircount, maxcount };
        let answer = self.call(Procedure::READDIRPLUS, &request);
        let listing = answer.value::<readdirplus::Res<'_>>()?;
        let entries = listing.entries.iter().map(|entry| Entry {
            name: entry.name.to_vec(),
            fileid: entry.fileid,
            cookie: entry.cookie,
            attributes: entry.attributes,
            handle: entry.handle.map(|handle| handle.to_vec()),
        });
        let (dir, size) = (listing.dir_attributes, answer.results.len() - 4);
        Ok(ListingReply { dir, entries: entries.collect(), eof: listing.eof, size })
    }

    fn fsstat(&self, root: &[u8]) -> fsstat::Res {
        self.call(Procedure::FSSTAT, &fsstat::Request { root: Opaque(root) }).value()
    }

    fn fsinfo(&self, root: &[u8]) -> fsinfo::Res {
        self.call(Procedure::FSINFO, &fsinfo::Request { root: Opaque(root) }).value()
    }

    fn pathconf(&self, object: &[u8]) -> pathconf::Res {
        self.call(Procedure::PATHCONF, &pathconf::Request { object: Opaque(object) }).value()
    }

    /// A new file in the root with this content.
    fn file(&self, name: &str, content: &[u8]) -> Handle {
        let how = CreateHow::Guarded(mode(0o644));
        let made = self.create(&self.root, name.as_bytes(), how).unwrap();
        if !content.is_empty() {
            self.write(&made.handle, 0, content, StableHow::FILE_SYNC).unwrap();
        }
        made.handle
    }

    /// A new folder in the root.
    fn folder(&self, name: &str) -> Handle {
        self.mkdir(&self.root, name.as_bytes(), mode(0o755)).unwrap().handle
    }

    /// Everything in a file.
    fn content(&self, file: &[u8]) -> Vec<u8> {
        let read = self.read(file, 0, 1 << 20).unwrap();
        assert!(read.eof);
        read.data
    }
}

fn made(answer: &RpcReply) -> Result<CreateReply, Fail<Wcc>> {
    answer.value::<create::Res<'_>>().map(|ok| CreateReply {
        handle: ok.object.expect("a handle, so that the client need not look up").to_vec(),
        attributes: ok.attributes,
        dir: ok.dir_wcc,
    })
}

/// Checks that the state before is present, and that the state after is the object's present state.
fn assert_wcc(wcc: &Wcc, before: &Fattr3, now: &Fattr3) {
    assert_eq!(wcc.before, Some(before.wcc()));
    assert_eq!(wcc.after.as_ref(), Some(now));
}
