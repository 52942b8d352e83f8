//! Numbers depend on the file alone: the same folder shared twice, a share inside another one, a bind mount, a reload.

use std::fs;
use std::path::{Path as HostPath, PathBuf};
use std::process::Command;
use std::sync::Arc;

use vfs::backend::host::{Host, HostOptions};
use vfs::index::Index;
use vfs::{Site, Volume, VolumeOptions};
use wire::Reader;

use crate::server::config::{Share, ShareOptions, Version};
use crate::server::testing::{Client, Server, share_of, until};
use crate::wire::directory::{OfPlace, Place};
use crate::wire::file::{ExchangeFiles, FileDirParms, GetFileDirParms};
use crate::wire::id::{DeleteId, FileId, ResolveId};
use crate::wire::{DirBitmap, FileBitmap, Path, ResultCode, command};

/// A user that may do everything, also where the tests run as root.
const USER: (&str, &str, u32) = ("ada", "Passwort", 0);

/// A folder of the host with `inner`, `inner/deep`, `outside`, and a file in each, and the state of a server.
struct Scene {
    dir: tempfile::TempDir,
    site: Arc<Site>,
    index: Option<Index>,
    mounted: Vec<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["", "inner", "inner/deep", "outside"] {
            fs::create_dir_all(dir.path().join("tree").join(folder)).unwrap();
            fs::write(dir.path().join("tree").join(folder).join("file"), folder).unwrap();
        }
        let index = Some(Index::open(&dir.path().join("state")).unwrap());
        Self { dir, site: Arc::default(), index, mounted: Vec::new() }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join("tree").join(below)
    }

    fn share(&self, name: &str, below: &str) -> Arc<Share> {
        let host = Host::open(&self.path(below), &HostOptions::default()).unwrap();
        let volume = Volume::in_site(Arc::new(host), VolumeOptions::default(), self.site.clone());
        share_of(volume, self.index.as_ref().unwrap(), name, ShareOptions::default())
    }

    /// A client of shares with these names and folders.
    fn client(&self, shares: &[(&str, &str)]) -> Mac {
        let shares = shares.iter().map(|(name, below)| self.share(name, below)).collect();
        let server = Server::of(shares, |_| ());
        let client = server.log_in(USER, Version::V3_4);
        Mac { _server: server, client }
    }

    /// Ends the server's life and begins the next one.
    fn restart(&mut self) {
        self.index = None;
        self.index = Some(Index::open(&self.dir.path().join("state")).unwrap());
        self.site = Arc::default();
    }

    /// Mounts a folder at another place. False, with a message on standard output, if that is impossible.
    fn bind(&mut self, from: &str, to: &str) -> bool {
        let (from, to) = (self.path(from), self.path(to));
        fs::create_dir_all(&to).unwrap();
        let bound = Command::new("mount").args([HostPath::new("--bind"), &from, &to]).output();
        let is_bound = bound.is_ok_and(|output| output.status.success());
        if is_bound {
            self.mounted.push(to);
        } else {
            println!("skipped: mounting needs root");
        }
        is_bound
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for place in &self.mounted {
            let _ = Command::new("umount").args([HostPath::new("-l"), place]).output();
        }
    }
}

struct Mac {
    _server: Server,
    client: Client,
}

impl Mac {
    /// The number of the file or folder at a path below a folder with a number.
    async fn id_below(&mut self, share: &str, folder: u32, path: &str) -> Result<u32, ResultCode> {
        let volume = self.client.open_volume(share);
        let path = path.replace('/', "\0");
        let place = Place { volume, folder, path: Path::utf8(path.as_bytes()) };
        let asked = GetFileDirParms { place, files: FileBitmap::FILE_NUMBER, folders: DirBitmap::DIR_ID };
        let answer = self.client.call(command::GET_FILE_DIR_PARMS, |w| asked.encode(w)).await;
        if answer.code != ResultCode::NO_ERROR {
            return Err(answer.code);
        }
        let parms = FileDirParms::decode(&mut Reader::new(&answer.payload)).unwrap();
        Ok(u32::from_be_bytes(parms.parameters.try_into().unwrap()))
    }

    async fn id(&mut self, share: &str, path: &str) -> u32 {
        self.id_below(share, 2, path).await.unwrap()
    }

    /// The number of the folder of the file with a number, as FPResolveID says.
    async fn resolve(&mut self, share: &str, id: u32) -> Result<u32, ResultCode> {
        let volume = self.client.open_volume(share);
        let asked = ResolveId { volume, id, bitmap: FileBitmap::PARENT_ID };
        let answer = self.client.call(command::RESOLVE_ID, |w| asked.encode(w)).await;
        match answer.code {
            ResultCode::NO_ERROR => Ok(u32::from_be_bytes(answer.payload[2..6].try_into().unwrap())),
            code => Err(code),
        }
    }

    async fn create_id(&mut self, share: &str, path: &str) -> (u32, ResultCode) {
        let volume = self.client.open_volume(share);
        let path = path.replace('/', "\0");
        let place = Place { volume, folder: 2, path: Path::utf8(path.as_bytes()) };
        let answer = self.client.call(command::CREATE_ID, |w| OfPlace { place }.encode(w)).await;
        (FileId::decode(&mut Reader::new(&answer.payload)).unwrap().0, answer.code)
    }

    async fn delete_id(&mut self, share: &str, id: u32) -> ResultCode {
        let volume = self.client.open_volume(share);
        self.client.call(command::DELETE_ID, |w| DeleteId { volume, id }.encode(w)).await.code
    }

    async fn exchange(&mut self, share: &str, one: &str, other: &str) -> ResultCode {
        let volume = self.client.open_volume(share);
        let one = Place { volume, folder: 2, path: Path::utf8(one.as_bytes()) };
        let asked = ExchangeFiles { one, other_folder: 2, other_path: Path::utf8(other.as_bytes()) };
        self.client.call(command::EXCHANGE_FILES, |w| asked.encode(w)).await.code
    }
}

const NESTED: [(&str, &str); 3] = [("outer", ""), ("inner", "inner"), ("again", "")];

#[tokio::test]
async fn a_file_has_one_number_in_each_share_that_shows_it() {
    let scene = Scene::new();
    let mut mac = scene.client(&NESTED);
    let file = mac.id("inner", "deep/file").await;
    assert!(file >= 17);
    assert_eq!(mac.id("outer", "inner/deep/file").await, file);
    assert_eq!(mac.id("again", "inner/deep/file").await, file);
    assert_ne!(mac.id("outer", "outside/file").await, file);
    let deep = mac.id("outer", "inner/deep").await;
    assert_eq!(mac.id("inner", "deep").await, deep);
    // Each share's own folder is 2; in the share around it, it has an ordinary number.
    assert_eq!((mac.id("inner", "").await, mac.id("outer", "").await), (2, 2));
    let inner = mac.id("outer", "inner").await;
    assert!(inner >= 17);
    assert_eq!(mac.id("again", "inner").await, inner);
    assert_eq!(mac.id_below("inner", deep, "file").await, Ok(file));
    assert_eq!((mac.resolve("inner", file).await, mac.resolve("again", file).await), (Ok(deep), Ok(deep)));
}

#[tokio::test]
async fn what_is_done_to_numbers_in_one_share_is_done_in_all() {
    let scene = Scene::new();
    fs::write(scene.path("inner/other"), b"other").unwrap();
    let mut mac = scene.client(&NESTED);
    let (file, code) = mac.create_id("inner", "file").await;
    assert_eq!(code, ResultCode::NO_ERROR);
    assert_eq!(mac.create_id("outer", "inner/file").await, (file, ResultCode::ID_EXISTS));
    let other = mac.id("outer", "inner/other").await;
    assert_eq!(mac.exchange("inner", "file", "other").await, ResultCode::NO_ERROR);
    assert_eq!((mac.id("outer", "inner/file").await, mac.id("again", "inner/other").await), (file, other));
    assert_eq!(fs::read(scene.path("inner/file")).unwrap(), b"other", "the contents moved, not the numbers");
    assert_eq!(mac.delete_id("again", file).await, ResultCode::NO_ERROR);
    assert_eq!(mac.create_id("inner", "file").await, (file, ResultCode::NO_ERROR), "its file exists");
    fs::remove_file(scene.path("inner/file")).unwrap();
    assert!(mac.delete_id("outer", file).await != ResultCode::NO_ERROR);
    assert_eq!(mac.resolve("inner", file).await, Err(ResultCode::ID_NOT_FOUND));
}

#[tokio::test]
async fn a_number_of_a_file_outside_the_volume_is_unknown_and_stays() {
    let scene = Scene::new();
    let mut mac = scene.client(&NESTED);
    let (file, folder) = (mac.id("outer", "outside/file").await, mac.id("outer", "outside").await);
    let root = mac.id("outer", "file").await;
    for id in [file, root, folder] {
        assert_eq!(mac.resolve("inner", id).await, Err(ResultCode::ID_NOT_FOUND));
        assert_eq!(mac.delete_id("inner", id).await, ResultCode::ID_NOT_FOUND);
    }
    assert_eq!(mac.id_below("inner", folder, "").await, Err(ResultCode::OBJECT_NOT_FOUND));
    assert_eq!(mac.id_below("inner", folder, "file").await, Err(ResultCode::OBJECT_NOT_FOUND));
    assert_eq!(mac.id_below("inner", file, "").await, Err(ResultCode::OBJECT_NOT_FOUND));
    assert_eq!(mac.id_below("outer", file, "").await, Err(ResultCode::OBJECT_TYPE_ERROR));
    assert_eq!(mac.id_below("outer", folder, "file").await, Ok(file));
    assert_eq!(mac.resolve("outer", file).await, Ok(folder));
}

#[tokio::test]
async fn what_leaves_the_inner_share_is_unknown_there() {
    let scene = Scene::new();
    let mut mac = scene.client(&NESTED);
    let (deep, file) = (mac.id("inner", "deep").await, mac.id("inner", "deep/file").await);
    assert_eq!(mac.id_below("inner", deep, "file").await, Ok(file));
    fs::rename(scene.path("inner/deep"), scene.path("outside/deep")).unwrap();
    let gone = Err(ResultCode::OBJECT_NOT_FOUND);
    until("the folder is outside the share", async || mac.id_below("inner", deep, "file").await == gone)
        .await;
    assert_eq!(mac.resolve("inner", file).await, Err(ResultCode::ID_NOT_FOUND));
    assert_eq!(mac.resolve("outer", file).await, Ok(deep));
    assert_eq!(mac.id_below("outer", deep, "file").await, Ok(file));
}

#[tokio::test]
async fn a_file_behind_a_bind_mount_has_its_own_number() {
    let mut scene = Scene::new();
    if !scene.bind("outside", "inner/bound") {
        return;
    }
    let mut mac = scene.client(&NESTED);
    let file = mac.id("outer", "outside/file").await;
    assert_eq!(mac.id("outer", "inner/bound/file").await, file);
    assert_eq!(mac.id("inner", "bound/file").await, file);
    let folder = mac.id("inner", "bound").await;
    assert_eq!(mac.id("outer", "outside").await, folder);
    assert_eq!(mac.id_below("inner", folder, "file").await, Ok(file));
    assert_eq!(mac.resolve("inner", file).await, Ok(folder));
    // A server that has just been started has not entered the mount yet.
    drop(mac);
    scene.restart();
    let mut mac = scene.client(&NESTED[1..2]);
    assert_eq!(mac.resolve("inner", file).await, Ok(folder));
    assert_eq!(mac.id_below("inner", folder, "file").await, Ok(file));
}

#[tokio::test]
async fn numbers_outlive_a_reload_and_a_restart_and_hold_in_a_share_that_comes_later() {
    let mut scene = Scene::new();
    let mut before = scene.client(&[("outer", "")]);
    let (file, deep) = (before.id("outer", "inner/deep/file").await, before.id("outer", "inner/deep").await);
    let mut after = scene.client(&[("outer", ""), ("inner", "inner")]);
    assert_eq!(
        (after.id("outer", "inner/deep/file").await, after.id("inner", "deep/file").await),
        (file, file)
    );
    let new = after.id("inner", "file").await;
    assert_eq!(before.id("outer", "inner/file").await, new, "a session that began before the reload");
    drop((before, after));
    scene.restart();
    let mut next = scene.client(&NESTED);
    assert_eq!(next.resolve("again", file).await, Ok(deep));
    assert_eq!(next.id("inner", "file").await, new);
    assert_eq!(next.id("outer", "inner/deep/file").await, file);
}
