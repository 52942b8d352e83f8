use vfs::backend::{Found, NewKind, RenameMode};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, Volume};
use wire::Reader;

use super::*;
use crate::server::testing::{ADA, Answer, Client, Server};
use crate::wire::bitmap::FileBitmap;
use crate::wire::{Path, directory};

const WANTED: FileBitmap = FileBitmap(FileBitmap::PARENT_ID.0 | FileBitmap::FILE_NUMBER.0);

struct Scene {
    server: Server,
    ada: Client,
    volume: u16,
}

impl Scene {
    fn new(version: Version) -> Self {
        let server = Server::new();
        let ada = server.log_in(ADA, version);
        let volume = ada.open_volume("share");
        Self { server, ada, volume }
    }

    fn tree(&self) -> std::sync::Arc<Volume> {
        self.server.volume("share")
    }

    fn actor() -> Actor {
        Actor::new(Caller::root(), Party::client(ClientId(1)))
    }

    fn make(&self, folder: &Found, name: &[u8], kind: NewKind<'_>, mode: u32) -> Found {
        self.tree().create(&Self::actor(), folder, name, kind, mode).unwrap().found
    }

    async fn create(&mut self, name: &[u8]) -> Answer {
        let place = directory::Place { volume: self.volume, folder: 2, path: Path::long(name) };
        self.ada.call(command::CREATE_ID, |w| OfPlace { place }.encode(w)).await
    }

    async fn resolve(&mut self, id: u32) -> Answer {
        let volume = self.volume;
        self.ada.call(command::RESOLVE_ID, |w| ResolveId { volume, id, bitmap: WANTED }.encode(w)).await
    }

    async fn delete(&mut self, id: u32) -> ResultCode {
        let volume = self.volume;
        self.ada.call(command::DELETE_ID, |w| DeleteId { volume, id }.encode(w)).await.code
    }
}

fn id_of(answer: &Answer) -> u32 {
    FileId::decode(&mut Reader::new(&answer.payload)).unwrap().0
}

/// The reply of FPResolveID for a file: the bitmap, the folder's number, its own number.
fn told(folder: u32, id: u32) -> Vec<u8> {
    let mut bytes = vec![0x01, 0x02];
    bytes.extend(folder.to_be_bytes());
    bytes.extend(id.to_be_bytes());
    bytes
}

#[tokio::test]
async fn a_file_is_resolved_wherever_it_went() {
    let mut scene = Scene::new(Version::V3_4);
    let (tree, root) = (scene.tree(), scene.tree().root().unwrap());
    scene.make(&root, b"file", NewKind::File, 0o644);
    let folder = scene.make(&root, b"folder", NewKind::Folder, 0o755);
    let created = scene.create(b"file").await;
    assert_eq!(created.code, ResultCode::NO_ERROR);
    let id = id_of(&created);
    assert!(id >= 17);
    assert_eq!(scene.resolve(id).await.well(), told(2, id));
    tree.rename(&Scene::actor(), (&root, b"file"), (&folder, b"elsewhere"), RenameMode::Keep).unwrap();
    let in_folder = scene.resolve(id).await.well();
    let parent = u32::from_be_bytes(in_folder[2..6].try_into().unwrap());
    assert!(parent >= 17 && in_folder == told(parent, id));
    tree.remove(&Scene::actor(), &folder, b"elsewhere", Kind::File).unwrap();
    assert_eq!(scene.resolve(id).await.code, ResultCode::ID_NOT_FOUND);
}

#[tokio::test]
async fn what_is_kept_by_its_number_exists_until_that_is_deleted() {
    let mut scene = Scene::new(Version::V3_4);
    let root = scene.tree().root().unwrap();
    scene.make(&root, b"file", NewKind::File, 0o644);
    let first = scene.create(b"file").await;
    let again = scene.create(b"file").await;
    assert_eq!((first.code, again.code), (ResultCode::NO_ERROR, ResultCode::ID_EXISTS));
    assert_eq!(id_of(&first), id_of(&again));
    let id = id_of(&first);
    assert_eq!(scene.delete(id).await, ResultCode::NO_ERROR);
    assert_eq!(scene.create(b"file").await.code, ResultCode::NO_ERROR);
    scene.tree().remove(&Scene::actor(), &root, b"file", Kind::File).unwrap();
    assert_eq!(scene.delete(id).await, ResultCode::OBJECT_NOT_FOUND, "the file is gone");
    assert_eq!(scene.delete(id).await, ResultCode::ID_NOT_FOUND, "now its number has gone");
}

#[tokio::test]
async fn only_files_have_ids_and_numbers_that_nobody_has_are_not_found() {
    for (version, of_folder) in
        [(Version::V3_4, ResultCode::ID_NOT_FOUND), (Version::V2_2, ResultCode::OBJECT_TYPE_ERROR)]
    {
        let mut scene = Scene::new(version);
        let root = scene.tree().root().unwrap();
        scene.make(&root, b"folder", NewKind::Folder, 0o755);
        assert_eq!(scene.create(b"folder").await.code, ResultCode::OBJECT_TYPE_ERROR);
        assert_eq!(scene.create(b"").await.code, ResultCode::OBJECT_TYPE_ERROR);
        assert_eq!(scene.create(b"none").await.code, ResultCode::OBJECT_NOT_FOUND);
        assert_eq!(scene.resolve(2).await.code, of_folder);
        assert_eq!(scene.delete(2).await, ResultCode::OBJECT_TYPE_ERROR);
        for nobody in [0, 1, 3, 16, 9999, u32::MAX] {
            assert_eq!(scene.resolve(nobody).await.code, ResultCode::ID_NOT_FOUND);
            assert_eq!(scene.delete(nobody).await, ResultCode::ID_NOT_FOUND);
        }
    }
}

#[tokio::test]
async fn ids_in_a_folder_are_not_resolved_without_the_right_to_pass() {
    let mut scene = Scene::new(Version::V3_4);
    let root = scene.tree().root().unwrap();
    let closed = scene.make(&root, b"closed", NewKind::Folder, 0o700);
    let file = scene.make(&closed, b"file", NewKind::File, 0o644);
    let share = scene.ada.session().volumes.find(scene.volume).unwrap();
    let id = share.id_of(&file.object.key()).unwrap().0;
    assert_eq!(scene.resolve(id).await.code, ResultCode::ACCESS_DENIED);
}

#[tokio::test]
async fn ids_are_neither_created_nor_deleted_where_nothing_may_change() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("readonly");
    let place = directory::Place { volume, folder: 2, path: Path::long(b"file") };
    let created = ada.call(command::CREATE_ID, |w| OfPlace { place }.encode(w)).await;
    let deleted = ada.call(command::DELETE_ID, |w| DeleteId { volume, id: 17 }.encode(w)).await;
    assert_eq!((created.code, deleted.code), (ResultCode::VOLUME_LOCKED, ResultCode::VOLUME_LOCKED));
}
