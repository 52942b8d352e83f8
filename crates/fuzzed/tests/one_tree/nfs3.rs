//! A client of NFSv3 with NLM. It opens nothing: a slot is the handle of a file, and an owner of locks.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use nfs::wire::v3::types::{DirOpArgs, Fattr3, FileType, NfsTime, Sattr3, SetTime, Status, Verifier};
use nfs::wire::v3::write::StableHow;
use nfs::wire::v3::{
    self, create, getattr, lookup, mkdir, read, readdir, readlink, remove, rename, setattr, symlink, write,
};
use nfs::wire::xdr::{Decode, Encode, Opaque, arguments};
use nfs::wire::{mount, nlm};
use wire::Reader;

use crate::costs;
use crate::link::Link;
use crate::op::{At, Data, LINK, Op, ServerAnswer, Slot, Stat};
use crate::rpc::Rpc;
use crate::table::NLM;
use crate::world;

pub struct Nfs3 {
    rpc: Rpc,
    root: Vec<u8>,
    name: &'static str,
    slots: HashMap<Slot, Vec<u8>>,
}

type Nfs3Result<T> = Result<T, i64>;

/// The lock manager has to wait.
const WAITS: i64 = nlm::NlmStat::DENIED_GRACE_PERIOD.0 as i64 | NLM;

impl Nfs3 {
    pub async fn new(link: Link, machine: usize) -> Self {
        let mut rpc = Rpc::new(link);
        let path = format!("/{}", world::share());
        let request = mount::Request { path: Opaque::new(path.as_bytes()) };
        let answer = rpc.call((mount::PROGRAM, 3, mount::Procedure::MNT.0), &request).await;
        let mounted: mount::MountRes<mount::MountOk<'_>> =
            arguments(&mut Reader::new(&answer)).expect("a result");
        let root = mounted.0.expect("the export").handle.to_vec();
        Self { rpc, root, name: ["one", "two"][machine % 2], slots: HashMap::new() }
    }

    /// The lock manager is told that the host has restarted.
    pub async fn restart(&mut self) {
        let request = nlm::FreeAllRequest { name: Opaque::new(self.name.as_bytes()), state: 0 };
        self.rpc.call((nlm::PROGRAM, nlm::VERSION, nlm::Procedure::FREE_ALL.0), &request).await;
    }

    async fn call<T>(
        &mut self,
        procedure: u32,
        request: &impl Encode,
        take: impl FnOnce(&mut Reader<'_>) -> T,
    ) -> Nfs3Result<T> {
        let answer = self.rpc.call((v3::PROGRAM, v3::VERSION, procedure), request).await;
        let mut r = Reader::new(&answer);
        match Status::decode(&mut r).expect("a status") {
            Status::OK => Ok(take(&mut r)),
            status => Err(status.0.into()),
        }
    }

    async fn look_up(&mut self, folder: &[u8], name: &str) -> Nfs3Result<(Vec<u8>, Fattr3)> {
        let what = DirOpArgs { dir: Opaque::new(folder), name: Opaque::new(name.as_bytes()) };
        let request = lookup::Request { what };
        let found = self.call(3, &request, |r| {
            let ok = lookup::ResOk::decode(r).expect("results");
            (ok.object.to_vec(), ok.attributes)
        });
        match found.await? {
            (handle, Some(attributes)) => Ok((handle, attributes)),
            (handle, None) => {
                let request = getattr::Request { object: Opaque::new(&handle) };
                let attributes = self.call(1, &request, |r| Fattr3::decode(r).expect("attributes")).await?;
                Ok((handle, attributes))
            }
        }
    }

    /// Asks for the attributes of the root.
    pub async fn getattr(&mut self) {
        let root = self.root.clone();
        let request = getattr::Request { object: Opaque::new(&root) };
        self.call(1, &request, |_| ()).await.expect("attributes");
    }

    /// The handle of the folder of a place, and the name in it.
    async fn folder(&mut self, at: &'static str) -> Nfs3Result<(Vec<u8>, &'static str)> {
        let root = self.root.clone();
        match at.split_once('/') {
            None => Ok((root, at)),
            Some((folder, name)) => Ok((self.look_up(&root, folder).await?.0, name)),
        }
    }

    async fn found(&mut self, at: &'static str) -> Nfs3Result<(Vec<u8>, Fattr3)> {
        let (folder, name) = self.folder(at).await?;
        self.look_up(&folder, name).await
    }

    async fn set(&mut self, file: &[u8], new_attributes: Sattr3) -> Nfs3Result<()> {
        let request = setattr::Request { object: Opaque::new(file), new_attributes, guard: None };
        self.call(2, &request, |_| ()).await
    }

    /// A server that has to wait for another one says so (DENIED_GRACE_PERIOD), and is asked again.
    async fn lock(&mut self, slot: Slot, at: At, exclusive: Option<bool>) -> Nfs3Result<()> {
        let until = Instant::now() + world::WAITS;
        loop {
            match self.lock_once(slot, at, exclusive).await {
                Err(status) if status == WAITS && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => return other,
            }
        }
    }

    async fn lock_once(
        &mut self,
        slot: Slot,
        At(offset, len): At,
        exclusive: Option<bool>,
    ) -> Nfs3Result<()> {
        let handle = self.slots[&slot].clone();
        let (cookie, owner) = (Opaque::new(b"cookie"), (slot as u32).to_be_bytes());
        let lock = nlm::NlmLock {
            caller_name: Opaque::new(self.name.as_bytes()),
            handle: Opaque::new(&handle),
            owner: Opaque::new(&owner),
            svid: slot as i32,
            offset,
            len,
        };
        let program = |procedure: nlm::Procedure| (nlm::PROGRAM, nlm::VERSION, procedure.0);
        let answer = match exclusive {
            Some(exclusive) => {
                let request =
                    nlm::LockRequest { cookie, block: false, exclusive, lock, reclaim: false, state: 1 };
                self.rpc.call(program(nlm::Procedure::LOCK), &request).await
            }
            None => {
                self.rpc.call(program(nlm::Procedure::UNLOCK), &nlm::UnlockRequest { cookie, lock }).await
            }
        };
        match arguments::<nlm::Res<'_>>(&mut Reader::new(&answer)).expect("a result").stat {
            nlm::NlmStat::GRANTED => Ok(()),
            stat => Err(i64::from(stat.0) | NLM),
        }
    }

    async fn list(&mut self, at: &'static str) -> Nfs3Result<BTreeSet<String>> {
        let folder = if at.is_empty() { self.root.clone() } else { self.found(at).await?.0 };
        let request = readdir::Request {
            dir: Opaque::new(&folder),
            cookie: 0,
            verifier: Verifier::default(),
            count: 1 << 16,
        };
        self.call(16, &request, |r| {
            let page = readdir::ResOk::decode(r).expect("a page");
            assert!(page.eof, "a folder of few names");
            let names =
                page.entries.iter().map(|entry| String::from_utf8(entry.name.to_vec()).expect("UTF-8"));
            names.filter(|name| !name.starts_with('.')).collect()
        })
        .await
    }

    pub async fn apply(&mut self, op: &Op) -> ServerAnswer {
        let nothing = match *op {
            Op::Open { at, slot, .. } => {
                let (file, attributes) = self.found(at).await?;
                if attributes.file_type == FileType::DIR {
                    return Err(Status::ISDIR.0.into()); // what the kernel of the client says
                }
                self.slots.insert(slot, file);
                Ok(())
            }
            Op::Read(slot, At(offset, length)) => {
                let file = self.slots[&slot].clone();
                let request = read::Request { file: Opaque::new(&file), offset, count: length as u32 };
                return self
                    .call(6, &request, |r| {
                        Data::Bytes(read::ResOkData::decode(r).expect("data").data.to_vec())
                    })
                    .await;
            }
            Op::Write(slot, At(offset, length), byte) => {
                let (file, data) = (self.slots[&slot].clone(), vec![byte; length as usize]);
                let request = write::Request {
                    file: Opaque::new(&file),
                    offset,
                    count: length as u32,
                    stable: if costs::are_measured() { StableHow::UNSTABLE } else { StableHow::FILE_SYNC },
                    data: Opaque::new(&data),
                };
                self.call(7, &request, |_| ()).await
            }
            Op::Truncate(slot, length) => {
                let file = self.slots[&slot].clone();
                self.set(&file, Sattr3 { size: Some(length), ..Sattr3::default() }).await
            }
            Op::Lock { slot, range, exclusive } => self.lock(slot, range, Some(exclusive)).await,
            Op::Unlock(slot, range) => self.lock(slot, range, None).await,
            Op::Close(slot) => {
                // A kernel unlocks what the process has locked. The file may be gone.
                let done = self.lock(slot, At(0, 0), None).await;
                self.slots.remove(&slot);
                done.or_else(|status| {
                    if status == i64::from(nlm::NlmStat::STALE_FH.0) | NLM { Ok(()) } else { Err(status) }
                })
            }
            _ => return self.apply_by_name(op).await,
        };
        nothing.map(|()| Data::Nothing)
    }

    async fn apply_by_name(&mut self, op: &Op) -> ServerAnswer {
        let nothing = match *op {
            Op::Make(_, at) => {
                let (folder, name) = self.folder(at).await?;
                let how = create::CreateHow::Guarded(Sattr3 { mode: Some(0o644), ..Sattr3::default() });
                self.call(8, &create::Request { place: place(&folder, name), how }, |_| ()).await
            }
            Op::MakeFolder(_, at) => {
                let (folder, name) = self.folder(at).await?;
                let attributes = Sattr3 { mode: Some(0o755), ..Sattr3::default() };
                self.call(9, &mkdir::Request { place: place(&folder, name), attributes }, |_| ()).await
            }
            Op::Symlink(_) => {
                let folder = self.root.clone();
                let (place, data) = (place(&folder, LINK), Opaque::new(b"a"));
                self.call(10, &symlink::Request { place, attributes: Sattr3::default(), data }, |_| ()).await
            }
            Op::ReadLink(_) => {
                let link = self.found(LINK).await?.0;
                let request = readlink::Request { symlink: Opaque::new(&link) };
                return self
                    .call(5, &request, |r| {
                        Data::Bytes(readlink::ResOk::decode(r).expect("a target").data.to_vec())
                    })
                    .await;
            }
            Op::Remove(_, at) | Op::RemoveFolder(_, at) => {
                let (folder, name) = self.folder(at).await?;
                let procedure = if matches!(op, Op::Remove(..)) { 12 } else { 13 };
                self.call(procedure, &remove::Request { object: place(&folder, name) }, |_| ()).await
            }
            Op::Rename { from, to, .. } => {
                let ((from, name), (to, new)) = (self.folder(from).await?, self.folder(to).await?);
                let request = rename::Request { from: place(&from, name), to: place(&to, new) };
                self.call(14, &request, |_| ()).await
            }
            Op::Link { at, new, .. } => {
                let file = self.found(at).await?.0;
                let (folder, name) = self.folder(new).await?;
                let request = v3::link::Request { file: Opaque::new(&file), link: place(&folder, name) };
                self.call(15, &request, |_| ()).await
            }
            Op::List(_, at) => return self.list(at).await.map(Data::Names),
            Op::SetDate(_, at, seconds) => {
                let file = self.found(at).await?.0;
                let mtime = SetTime::ToClientTime(NfsTime { seconds, nanoseconds: 0 });
                self.set(&file, Sattr3 { mtime, ..Sattr3::default() }).await
            }
            Op::Stat(_, at) => return self.found(at).await.map(|(_, found)| Data::Stat(stat(&found))),
            _ => unreachable!("{op:?} is not generated for NFSv3"),
        };
        nothing.map(|()| Data::Nothing)
    }
}

fn place<'a>(folder: &'a [u8], name: &'a str) -> DirOpArgs<'a> {
    DirOpArgs { dir: Opaque::new(folder), name: Opaque::new(name.as_bytes()) }
}

fn stat(found: &Fattr3) -> Stat {
    let folder = found.file_type == FileType::DIR;
    Stat {
        folder,
        size: if folder { 0 } else { found.size },
        date: Some(found.mtime.seconds),
        read_only: Some(found.mode & 0o222 == 0),
    }
}
