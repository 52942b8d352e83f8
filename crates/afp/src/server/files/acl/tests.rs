mod written_back;

use crate::server::Version;
use crate::server::testing::{ADA, BOB, Client, Server};
use crate::wire::acl::*;
use crate::wire::uuid::UuidIdentity;
use crate::wire::{Path, ResultCode, command};
use vfs::backend::NewKind;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller};

const ROOT: u32 = 2;

struct AclFixture {
    server: Server,
    ada: Client,
    bob: Client,
    volume: u16,
}

impl AclFixture {
    /// A file "notes" and a folder "box" of ada's, with modes 0600 and 0700, and a session of bob.
    fn new() -> Self {
        let server = Server::new();
        let tree = server.volume("share");
        let actor = Actor::new(Caller::new(ADA.2, 100, &[]), Party::client(ClientId::unused()));
        let root = tree.root().unwrap();
        tree.create(&actor, &root, b"notes", NewKind::File, 0o600).unwrap();
        tree.create(&actor, &root, b"box", NewKind::Folder, 0o700).unwrap();
        let (ada, bob) = (server.log_in(ADA, Version::V3_4), server.log_in(BOB, Version::V3_4));
        let volume = ada.open_volume("share");
        assert_eq!(bob.open_volume("share"), volume);
        Self { server, ada, bob, volume }
    }

    async fn set(&mut self, name: &str, bitmap: u16, entries: &[KauthAce]) -> ResultCode {
        let acl = (bitmap & 4 != 0).then(|| KauthAcl { flags: 0, entries: entries.to_vec() });
        let security = Security { acl, ..Security::default() };
        let path = Path::utf8(name.as_bytes());
        let set = Set { volume: self.volume, directory: ROOT, bitmap: Bitmap(bitmap), path, security };
        self.ada.call(command::SET_ACL, |w| set.encode(w)).await.code
    }

    async fn get(&mut self, name: &str, bitmap: u16) -> Security {
        let (volume, path) = (self.volume, Path::utf8(name.as_bytes()));
        let get = Get { volume, directory: ROOT, bitmap: Bitmap(bitmap), max_reply: 0, path };
        let payload = self.ada.call(command::GET_ACL, |w| get.encode(w)).await.well();
        Reply::decode(&mut wire::Reader::new(&payload)).unwrap().0
    }

    async fn bob_may(&mut self, name: &str, rights: u32) -> bool {
        let path = Path::utf8(name.as_bytes());
        let access = Access { volume: self.volume, directory: ROOT, who: [0; 16], rights, path };
        match self.bob.call(command::ACCESS, |w| access.encode(w)).await.code {
            ResultCode::NO_ERROR => true,
            ResultCode::ACCESS_DENIED => false,
            other => panic!("{other:?}"),
        }
    }
}

fn permit(who: UuidIdentity, flags: u32, rights: u32) -> KauthAce {
    KauthAce { who: who.uuid(), flags: KauthAce::PERMIT | flags, rights }
}

const READ: u32 = 0x2;
const WRITE: u32 = 0x4;

#[tokio::test]
async fn an_acl_lets_somebody_do_what_the_mode_does_not() {
    let mut tried = AclFixture::new();
    assert!(!tried.bob_may("notes", READ).await);
    let ace = permit(UuidIdentity::User(BOB.2), 0, READ | WRITE);
    assert_eq!(tried.set("notes", 4, &[ace]).await, ResultCode::NO_ERROR);
    assert!(tried.bob_may("notes", READ | WRITE).await);
    assert_eq!(tried.get("notes", 4).await.acl.unwrap().entries, [ace]);
    // The mode still applies to the owner, and other protocols see it.
    let tree = tried.server.volume("share");
    let notes = tree.lookup(&Caller::root(), &tree.root().unwrap().object, b"notes").unwrap();
    assert_eq!(notes.attributes.mode, 0o600);
    let denied = KauthAce { flags: KauthAce::DENY, rights: READ, ..ace };
    assert_eq!(tried.set("notes", 4, &[denied, ace]).await, ResultCode::NO_ERROR);
    assert!(!tried.bob_may("notes", READ).await && tried.bob_may("notes", WRITE).await, "in their order");
}

#[tokio::test]
async fn a_removed_acl_leaves_the_mode() {
    let mut tried = AclFixture::new();
    tried.set("box", 4, &[permit(UuidIdentity::User(BOB.2), 0x60, READ)]).await;
    assert_eq!(tried.set("box", 8, &[]).await, ResultCode::NO_ERROR);
    assert_eq!(tried.get("box", 4).await.acl.unwrap(), KauthAcl::default());
    assert!(!tried.bob_may("box", READ).await);
    let tree = tried.server.volume("share");
    let found = tree.lookup(&Caller::root(), &tree.root().unwrap().object, b"box").unwrap();
    assert!(!tree.has_stored_acl(&found).unwrap());
    assert_eq!(found.attributes.mode, 0o700);
}

#[tokio::test]
async fn a_file_without_an_acl_has_owner_and_group_and_no_entries() {
    let mut tried = AclFixture::new();
    let security = tried.get("notes", 7).await;
    let owner = Some(UuidIdentity::User(ADA.2).uuid());
    assert_eq!(
        security,
        Security { owner, group: Some(UuidIdentity::Group(100).uuid()), acl: Some(KauthAcl::default()) }
    );
    assert_eq!(tried.get("notes", 1).await, Security { owner, ..Security::default() });
}

#[tokio::test]
async fn what_is_made_inside_inherits_and_is_its_owners_all_the_same() {
    let mut tried = AclFixture::new();
    tried
        .set(
            "box",
            4,
            &[permit(UuidIdentity::User(BOB.2), KauthAce::FILE_INHERIT | KauthAce::DIRECTORY_INHERIT, READ)],
        )
        .await;
    let tree = tried.server.volume("share");
    let folder = tree.lookup(&Caller::root(), &tree.root().unwrap().object, b"box").unwrap();
    let caller = Caller::new(ADA.2, 100, &[]);
    let actor = Actor::new(caller.clone(), Party::client(ClientId::unused()));
    let made = tree.create(&actor, &folder, b"new", NewKind::File, 0o644).unwrap().found;
    let owners = tree.rights(&caller, &made, None).unwrap();
    assert!(owners.contains(vfs::acl::Rights::READ_DATA.union(vfs::acl::Rights::WRITE_DATA)));
    assert_eq!(made.attributes.mode & 0o077, 0, "the folder's mode denies others");
    let inherited = permit(UuidIdentity::User(BOB.2), KauthAce::INHERITED, READ);
    let inside = "box\0new".to_owned();
    assert_eq!(tried.get(&inside, 4).await.acl.unwrap().entries, [inherited]);
    // An existing file inherits on request.
    tree.create(&actor, &folder, b"old", NewKind::File, 0o600).unwrap();
    tried.set("box\0old", 8, &[]).await;
    let own = permit(UuidIdentity::User(BOB.2), 0, WRITE);
    assert_eq!(tried.set("box\0old", 4 | 16, &[own]).await, ResultCode::NO_ERROR);
    assert_eq!(tried.get("box\0old", 4).await.acl.unwrap().entries, [own, inherited]);
}

#[tokio::test]
async fn a_caller_that_may_change_the_folder_may_delete_its_entries() {
    let mut tried = AclFixture::new();
    assert!(tried.bob_may("notes", 0x10).await, "everybody may write to the share's own folder");
    assert!(!tried.bob_may("notes", 0x1000).await);
    assert!(!tried.bob_may("box", 0x20).await);
}

#[tokio::test]
async fn only_who_may_changes_an_acl() {
    let mut tried = AclFixture::new();
    std::mem::swap(&mut tried.ada, &mut tried.bob);
    let mine = permit(UuidIdentity::User(BOB.2), 0, READ);
    assert_eq!(tried.set("notes", 4, &[mine]).await, ResultCode::ACCESS_DENIED);
    assert_eq!(tried.set("nothing", 4, &[mine]).await, ResultCode::OBJECT_NOT_FOUND);
    let audit = KauthAce { flags: 3, ..mine };
    assert_eq!(tried.set("notes", 4, &[audit]).await, ResultCode::PARAM_ERROR);
}

/// chmod(2) of macOS does not change ACLs; so chmod does not change them here, from any client.
#[tokio::test]
async fn an_acl_of_a_mac_outlives_a_change_of_the_mode() {
    let mut tried = AclFixture::new();
    let ace = permit(UuidIdentity::User(BOB.2), 0, READ);
    tried.set("notes", 4, &[ace]).await;
    let tree = tried.server.volume("share");
    let actor = Actor::new(Caller::new(ADA.2, 100, &[]), Party::client(ClientId::unused()));
    let notes = tree.lookup(&Caller::root(), &tree.root().unwrap().object, b"notes").unwrap();
    let mode = vfs::SetAttributes { mode: Some(0o640), ..vfs::SetAttributes::default() };
    let after = tree.set_attributes(&actor, &notes, &mode).unwrap().after;
    assert_eq!(after.mode, 0o640);
    assert_eq!(tried.get("notes", 4).await.acl.unwrap().entries, [ace]);
    assert!(tried.bob_may("notes", READ).await && !tried.bob_may("notes", WRITE).await);
}
