//! A tree in memory with an index.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use query::Query;
use query::language::{self, Clock};
use search::{ContentReader, IndexOptions, SearchIndex};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, Found, NewKind, RenameMode, Stability};
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Caller, OpenOptions, Search, Volume, VolumeOptions};

use crate::waiting::until;

/// The users of the tests.
pub(crate) const ADA: u32 = 1001;
pub(crate) const BOB: u32 = 1002;
pub(crate) const EVE: u32 = 1003;

/// 2026-01-01 12:00 UTC.
const NOW: i64 = 1_767_268_800;

pub(crate) struct Scene {
    pub(crate) volume: Arc<Volume>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) index: Option<SearchIndex>,
    pub(crate) contents: Option<Arc<dyn ContentReader>>,
    /// How long an index waits before it is written.
    pub(crate) quiet: Duration,
}

pub(crate) fn query(text: &str) -> Query {
    language::parse(text, &Clock { now: NOW, zone: TimeZone::UTC }).unwrap()
}

pub(crate) fn user(uid: u32) -> Caller {
    Caller::new(uid, uid, &[])
}

impl Scene {
    /// A volume without an index.
    pub(crate) fn without_index() -> Self {
        Self::of(Arc::new(Memory::ticking()))
    }

    /// A volume of another store, without an index.
    pub(crate) fn of(backend: Arc<dyn Backend>) -> Self {
        let volume = Arc::new(Volume::new(backend, VolumeOptions::default()));
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { volume, folder, index: None, contents: None, quiet: Duration::from_millis(1) }
    }

    pub(crate) fn new() -> Self {
        let mut scene = Self::without_index();
        scene.start();
        scene
    }

    pub(crate) fn index_folder(&self) -> std::path::PathBuf {
        self.folder.path().join("index")
    }

    pub(crate) fn start(&mut self) {
        let options = IndexOptions {
            share: "Share".into(),
            folder: self.index_folder(),
            owner_names: Arc::new(|uid| {
                [(ADA, "ada"), (BOB, "bob"), (EVE, "eve")]
                    .iter()
                    .find(|(id, _)| *id == uid)
                    .map(|(_, name)| (*name).into())
            }),
            contents: self.contents.clone(),
            quiet: self.quiet,
        };
        let index = SearchIndex::start(&self.volume, options).unwrap();
        self.volume.searches().set_finder(Some(index.finder()));
        self.index = Some(index);
    }

    pub(crate) fn stop(&mut self) {
        self.volume.searches().set_finder(None);
        self.index = None;
    }

    pub(crate) fn actor(uid: u32) -> Actor {
        Actor::new(user(uid), Party::client(ClientId(uid.into())))
    }

    fn server() -> Actor {
        Self::actor(0)
    }

    /// The file or folder at a path of names with slashes between them.
    pub(crate) fn at(&self, path: &str) -> Found {
        let mut at = self.volume.root().unwrap();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = self.volume.lookup(&Caller::root(), &at.object, name.as_bytes()).unwrap();
        }
        at
    }

    fn parts(path: &str) -> (&str, &str) {
        path.rsplit_once('/').unwrap_or(("", path))
    }

    pub(crate) fn folder(&self, path: &str, mode: u32) -> Found {
        let (above, name) = Self::parts(path);
        let above = self.at(above);
        self.volume.create(&Self::server(), &above, name.as_bytes(), NewKind::Folder, mode).unwrap().found
    }

    pub(crate) fn file(&self, path: &str, data: &[u8]) -> Found {
        self.file_of(0, 0o644, path, data)
    }

    pub(crate) fn file_of(&self, uid: u32, mode: u32, path: &str, data: &[u8]) -> Found {
        let (above, name) = Self::parts(path);
        let above = self.at(above);
        let made =
            self.volume.create(&Self::server(), &above, name.as_bytes(), NewKind::File, mode).unwrap().found;
        made.object.prepare(&Caller::root(), &made.attributes, vfs::Access::WRITE, true).unwrap();
        made.object.write_at(&Caller::root(), 0, data, Stability::Unstable).unwrap();
        if uid != 0 {
            let owner = vfs::SetAttributes { uid: Some(uid), gid: Some(uid), ..Default::default() };
            made.object.set_attributes(&Caller::root(), &owner).unwrap();
        }
        self.at(path)
    }

    /// Writes as a client does, so that the index hears of it.
    pub(crate) fn write(&self, path: &str, data: &[u8]) {
        let (above, name) = Self::parts(path);
        let (folder, found) = (self.at(above), self.at(path));
        let actor = Self::server();
        let place = vfs::Beside { folder: &folder.object, name: name.as_bytes() };
        let options = OpenOptions { place: Some(place), ..OpenOptions::data(Modes(3)) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let data = bytes::Bytes::copy_from_slice(data);
        runtime.block_on(async {
            let open = self.volume.open(&actor, &found, options).await.unwrap();
            open.write_at(0, data, Stability::Unstable).await.unwrap();
        });
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let ((old, old_name), (new, new_name)) = (Self::parts(from), Self::parts(to));
        let (old, new) = (self.at(old), self.at(new));
        let (from, to) = ((&old, old_name.as_bytes()), (&new, new_name.as_bytes()));
        self.volume.rename(&Self::server(), from, to, RenameMode::Replace).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let (above, name) = Self::parts(path);
        let above = self.at(above);
        self.volume.remove(&Self::server(), &above, name.as_bytes(), vfs::Kind::File).unwrap();
    }

    pub(crate) fn mode(&self, path: &str, mode: u32) {
        let change = vfs::SetAttributes { mode: Some(mode), ..Default::default() };
        self.at(path).object.set_attributes(&Caller::root(), &change).unwrap();
    }

    /// The paths that a user finds, in order.
    pub(crate) fn found_by(&self, caller: &Caller, text: &str) -> Vec<String> {
        let query = query(text);
        let mut paths = Vec::new();
        let mut after = None;
        loop {
            let search = Search { query: &query, within: None };
            let page = self.volume.searches().find(caller, search, after.as_ref(), 3).unwrap();
            let names = page.entries.iter().map(|entry| String::from_utf8(entry.path.join(&b'/')).unwrap());
            paths.extend(names);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        paths.sort();
        paths
    }

    pub(crate) fn found(&self, text: &str) -> Vec<String> {
        self.found_by(&Caller::root(), text)
    }

    /// Waits until the server finds exactly this.
    pub(crate) fn finds(&self, text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        let what = format!("{text:?} finds {expected:?}");
        until(&what, || {
            found = self.found(text);
            found == expected
        });
    }

    /// Waits until the whole tree is in the index and on the disk.
    pub(crate) fn settle(&self) {
        let index = self.index.as_ref().unwrap();
        until("the index is built", || index.is_settled());
    }

    pub(crate) fn segments(&self) -> Vec<std::path::PathBuf> {
        let is_segment = |path: &Path| path.extension().is_some_and(|end| end == "segment");
        let all = std::fs::read_dir(self.index_folder()).unwrap().flatten().map(|entry| entry.path());
        all.filter(|path| is_segment(path)).collect()
    }
}
