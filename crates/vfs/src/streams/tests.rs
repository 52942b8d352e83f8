//! Streams on the memory backend, which fails where a test says so.

mod apple_double;
mod crash;
mod foreign;
mod forks;
mod found_there;
mod layouts;
mod models;
mod named;
mod pairs;
mod relayout;
mod room;
mod views;

use std::sync::Arc;

use super::{File, Streams};
use crate::backend::faulty::Faulty;
use crate::backend::memory::{LIMITS, Memory};
use crate::backend::{Backend, Found, Limits, NewKind, Object, Stability, Wait, XattrMode};
use crate::{Access, Caller, Kind, Result, Time};

/// A volume with one user, which owns everything.
struct Disk {
    faulty: Arc<Faulty>,
    streams: Streams,
}

/// A folder, a name and an object, kept.
struct Owned {
    folder: Arc<dyn Object>,
    name: Vec<u8>,
    object: Arc<dyn Object>,
}

impl Owned {
    fn file(&self) -> File<'_> {
        File { folder: &*self.folder, name: &self.name, object: &*self.object }
    }
}

fn user() -> Caller {
    Caller::new(10, 20, &[])
}

impl Disk {
    fn new() -> Self {
        Self::with_limits(LIMITS)
    }

    fn with_limits(limits: Limits) -> Self {
        let at = std::sync::atomic::AtomicI64::new(1_600_000_000);
        let clock = move || Time { secs: at.fetch_add(1, std::sync::atomic::Ordering::Relaxed), nanos: 0 };
        Self::on(Faulty::losing_writes(Memory::with_limits(limits, clock)))
    }

    fn on(faulty: Faulty) -> Self {
        let faulty = Arc::new(faulty);
        Self { streams: Streams::new(faulty.clone()), faulty }
    }

    /// The server starts again after a power cut.
    fn crash(&mut self) {
        self.faulty.crash();
        self.streams = Streams::new(self.faulty.clone());
    }

    fn root(&self) -> Arc<dyn Object> {
        self.faulty.root().unwrap().object
    }

    fn make(&self, name: &str) -> Owned {
        let folder = self.root();
        let made = folder.create(&user(), name.as_bytes(), NewKind::File, 0o644).unwrap();
        Owned { folder, name: name.into(), object: made.object }
    }

    fn folder(&self, name: &str) -> Arc<dyn Object> {
        self.root().create(&user(), name.as_bytes(), NewKind::Folder, 0o755).unwrap().object
    }

    /// A file at the root with this content, as another program would make it.
    fn put(&self, name: &str, content: &[u8]) -> Arc<dyn Object> {
        let made = self.root().create(&user(), name.as_bytes(), NewKind::File, 0o644).unwrap();
        made.object.write_at(&user(), 0, content, Stability::File).unwrap();
        made.object
    }

    fn find(&self, name: &str) -> Option<Owned> {
        find_in(self.root(), name)
    }

    fn has(&self, name: &str) -> bool {
        self.root().lookup(&user(), name.as_bytes()).is_ok()
    }

    /// The fork of a file with content, on the disk.
    fn put_fork(&self, file: &Owned, content: &[u8]) {
        let mut fork = self.streams.fork_to_write(&user(), &file.file()).unwrap();
        fork.write_at(0, content, Stability::File).unwrap();
    }

    fn fork(&self, file: &Owned) -> Vec<u8> {
        fork_of(&self.streams, &file.file()).unwrap()
    }
}

fn find_in(folder: Arc<dyn Object>, name: &str) -> Option<Owned> {
    let Found { object, .. } = folder.lookup(&user(), name.as_bytes()).ok()?;
    Some(Owned { folder, name: name.into(), object })
}

fn fork_of(streams: &Streams, file: &File<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(fork) = streams.fork(&user(), file)? {
        fork.read_at(0, 1 << 20, &mut bytes, Wait::Allowed)?;
    }
    Ok(bytes)
}

/// All bytes of a file, as a program reads it.
fn content(object: &dyn Object) -> Vec<u8> {
    let mut bytes = Vec::new();
    let attributes = object.attributes().unwrap();
    assert_eq!(attributes.kind, Kind::File);
    object.prepare(&user(), &attributes, Access::READ, true).unwrap();
    object.read_at(0, 1 << 20, &mut bytes, Wait::Allowed).unwrap();
    bytes
}

fn set_xattr(object: &dyn Object, name: &[u8], value: &[u8]) {
    object.set_xattr(&Caller::root(), name, value, XattrMode::Set).unwrap();
}
