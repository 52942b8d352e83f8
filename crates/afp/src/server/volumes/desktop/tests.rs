use vfs::backend::NewKind;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Beside, Caller, Kind};
use wire::{Reader, Writer};

use crate::server::Version;
use crate::server::testing::{ADA, Answer, BOB, Client, Server};
use crate::wire::desktop::*;
use crate::wire::{FileBitmap, Path, ResultCode, command};

const ROOT: u32 = 2;
const TTXT: FourBytes = *b"ttxt";

struct DesktopFixture {
    server: Server,
    client: Client,
    desktop: u16,
}

impl DesktopFixture {
    /// A file "TeachText" and a folder "Apps" of ada's, and the desktop database open.
    async fn new() -> Self {
        let server = Server::new();
        let (tree, actor) = (server.volume("share"), actor());
        let root = tree.root().unwrap();
        tree.create(&actor, &root, b"TeachText", NewKind::File, 0o644).unwrap();
        tree.create(&actor, &root, b"Apps", NewKind::Folder, 0o755).unwrap();
        let client = server.log_in(ADA, Version::V2_2);
        let volume = client.open_volume("share");
        let mut tried = Self { server, client, desktop: 0 };
        let opened = tried.call(command::OPEN_DT, |w| OpenDt { volume }.encode(w)).await.well();
        tried.desktop = OpenDtReply::decode(&mut Reader::new(&opened)).unwrap().desktop;
        tried
    }

    async fn call(&mut self, command: u8, body: impl FnOnce(&mut Writer)) -> Answer {
        self.client.call(command, body).await
    }

    async fn add_icon(&mut self, kind: FourBytes, icon: u8, bitmap: &[u8]) -> ResultCode {
        let (desktop, size) = (self.desktop, bitmap.len() as u16);
        let add = AddIcon { desktop, creator: TTXT, kind, icon, tag: 9, size };
        self.client.call_with_data(command::ADD_ICON, |w| add.encode(w), bitmap).await.code
    }

    async fn icon(&mut self, kind: FourBytes, icon: u8, length: u16) -> Answer {
        let get = GetIcon { desktop: self.desktop, creator: TTXT, kind, icon, length };
        self.call(command::GET_ICON, |w| get.encode(w)).await
    }

    async fn icon_info(&mut self, creator: FourBytes, index: u16) -> Result<IconInfo, ResultCode> {
        let get = GetIconInfo { desktop: self.desktop, creator, index };
        let answer = self.call(command::GET_ICON_INFO, |w| get.encode(w)).await;
        match answer.code {
            ResultCode::NO_ERROR => Ok(IconInfo::decode(&mut Reader::new(&answer.payload)).unwrap()),
            code => Err(code),
        }
    }

    async fn add_appl(&mut self, directory: u32, name: &str, tag: u32) -> ResultCode {
        let path = Path::long(name.as_bytes());
        let add = AddAppl { desktop: self.desktop, directory, creator: TTXT, tag, path };
        self.call(command::ADD_APPL, |w| add.encode(w)).await.code
    }

    async fn remove_appl(&mut self, directory: u32, name: &str) -> ResultCode {
        let path = Path::long(name.as_bytes());
        let remove = RemoveAppl { desktop: self.desktop, directory, creator: TTXT, path };
        self.call(command::REMOVE_APPL, |w| remove.encode(w)).await.code
    }

    async fn appl(&mut self, index: u16, bitmap: u16) -> Answer {
        let get = GetAppl { desktop: self.desktop, creator: TTXT, index, bitmap: FileBitmap(bitmap) };
        self.call(command::GET_APPL, |w| get.encode(w)).await
    }

    async fn comment(&mut self, command: u8, name: &str) -> Answer {
        let of = OfFile { desktop: self.desktop, directory: ROOT, path: Path::long(name.as_bytes()) };
        self.call(command, |w| of.encode(w)).await
    }

    async fn add_comment(&mut self, name: &str, comment: &[u8]) -> ResultCode {
        let path = Path::long(name.as_bytes());
        let add = AddComment { desktop: self.desktop, directory: ROOT, path, comment };
        self.call(command::ADD_COMMENT, |w| add.encode(w)).await.code
    }
}

fn actor() -> Actor {
    Actor::new(Caller::new(ADA.2, 100, &[]), Party::client(ClientId::unused()))
}

#[tokio::test]
async fn only_an_open_volume_has_a_desktop_database() {
    let mut tried = DesktopFixture::new().await;
    let none = tried.desktop + 1;
    let opened = tried.call(command::OPEN_DT, |w| OpenDt { volume: none }.encode(w)).await;
    assert_eq!(opened.code, ResultCode::PARAM_ERROR);
    assert_eq!(
        tried.call(command::CLOSE_DT, |w| CloseDt { desktop: none }.encode(w)).await.code,
        opened.code
    );
    let desktop = tried.desktop;
    tried.call(command::CLOSE_DT, |w| CloseDt { desktop }.encode(w)).await.well();
}

#[tokio::test]
async fn an_icon_is_kept_as_it_came() {
    let mut tried = DesktopFixture::new().await;
    let (large, small): (Vec<u8>, Vec<u8>) = ((0..=255).collect(), (0..64).collect());
    assert_eq!(tried.icon(*b"3DMF", 1, 256).await.code, ResultCode::ITEM_NOT_FOUND);
    assert_eq!(tried.add_icon(*b"3DMF", 1, &large).await, ResultCode::NO_ERROR);
    assert_eq!(tried.add_icon(*b"3DMF", 4, &small).await, ResultCode::NO_ERROR);
    assert_eq!(tried.add_icon(*b"3DMF", 4, &large).await, ResultCode::ICON_TYPE_ERROR);
    assert_eq!(tried.icon(*b"3DMF", 1, 256).await.well(), large);
    assert_eq!(tried.icon(*b"3DMF", 1, 16).await.well(), large[..16]);
    assert_eq!(tried.icon(*b"3DMF", 4, 256).await.well(), small);
    let info = |icon, size| Ok(IconInfo { tag: 9, kind: *b"3DMF", icon, size });
    assert_eq!(tried.icon_info(TTXT, 1).await, info(1, 256));
    assert_eq!(tried.icon_info(TTXT, 2).await, info(4, 64));
    assert_eq!(tried.icon_info(TTXT, 3).await, Err(ResultCode::ITEM_NOT_FOUND));
    assert_eq!(tried.icon_info([0; 4], 2).await, Err(ResultCode::ITEM_NOT_FOUND));
}

#[tokio::test]
async fn an_icon_shorter_than_announced_is_refused() {
    let mut tried = DesktopFixture::new().await;
    let add = AddIcon { desktop: 1, creator: TTXT, kind: *b"TEXT", icon: 1, tag: 0, size: 256 };
    let answer = tried.client.call_with_data(command::ADD_ICON, |w| add.encode(w), &[0; 255]).await;
    assert_eq!(answer.code, ResultCode::PARAM_ERROR);
}

#[tokio::test]
async fn the_newest_application_that_is_still_there_is_found_first() {
    let mut tried = DesktopFixture::new().await;
    let tree = tried.server.volume("share");
    let root = tree.root().unwrap();
    tree.create(&actor(), &root, b"SimpleText", NewKind::File, 0o644).unwrap();
    assert_eq!(tried.appl(1, 0x42).await.code, ResultCode::ITEM_NOT_FOUND);
    assert_eq!(tried.add_appl(ROOT, "TeachText", 7).await, ResultCode::NO_ERROR);
    assert_eq!(tried.add_appl(ROOT, "SimpleText", 8).await, ResultCode::NO_ERROR);
    // Bitmap, tag, then the parent's id and the offset of the long name.
    let found = |tag: u8, name: &str| {
        let head = [0, 0x42, 0, 0, 0, tag, 0, 0, 0, 2, 0, 6, name.len() as u8];
        [&head[..], name.as_bytes()].concat()
    };
    assert_eq!(tried.appl(1, 0x42).await.well(), found(8, "SimpleText"));
    assert_eq!(tried.appl(0, 0x42).await.well(), found(8, "SimpleText"));
    assert_eq!(tried.appl(2, 0x42).await.well(), found(7, "TeachText"));
    assert_eq!(tried.appl(1, 0xffff).await.code, ResultCode::BITMAP_ERROR);
    tree.remove(&actor(), &root, b"SimpleText", Kind::File).unwrap();
    assert_eq!(tried.appl(1, 0x42).await.well(), found(7, "TeachText"));
    assert_eq!(tried.appl(2, 0x42).await.code, ResultCode::ITEM_NOT_FOUND);
    assert_eq!(tried.remove_appl(ROOT, "SimpleText").await, ResultCode::NO_ERROR);
    assert_eq!(tried.remove_appl(ROOT, "SimpleText").await, ResultCode::ITEM_NOT_FOUND);
}

#[tokio::test]
async fn folders_are_no_applications() {
    let mut tried = DesktopFixture::new().await;
    assert_eq!(tried.add_appl(ROOT, "Apps", 0).await, ResultCode::OBJECT_TYPE_ERROR);
    assert_eq!(tried.add_appl(ROOT, "", 0).await, ResultCode::OBJECT_TYPE_ERROR);
    assert_eq!(tried.add_appl(ROOT, "nothing", 0).await, ResultCode::OBJECT_NOT_FOUND);
    assert_eq!(tried.add_appl(1, "TeachText", 0).await, ResultCode::OBJECT_NOT_FOUND);
    assert_eq!(tried.remove_appl(ROOT, "").await, ResultCode::OBJECT_TYPE_ERROR);
    assert_eq!(tried.remove_appl(0, "TeachText").await, ResultCode::PARAM_ERROR);
}

#[tokio::test]
async fn files_and_folders_have_a_comment_of_at_most_199_bytes() {
    let mut tried = DesktopFixture::new().await;
    for name in ["TeachText", "Apps", ""] {
        assert_eq!(tried.comment(command::GET_COMMENT, name).await.code, ResultCode::ITEM_NOT_FOUND);
        assert_eq!(tried.comment(command::REMOVE_COMMENT, name).await.code, ResultCode::ITEM_NOT_FOUND);
        if name.is_empty() {
            continue; // the share's root folder belongs to the server in these tests
        }
        assert_eq!(tried.add_comment(name, b"essai").await, ResultCode::NO_ERROR);
        assert_eq!(tried.comment(command::GET_COMMENT, name).await.well(), b"\x05essai");
        assert_eq!(tried.add_comment(name, &[b'x'; 255]).await, ResultCode::NO_ERROR);
        assert_eq!(tried.comment(command::GET_COMMENT, name).await.well()[0], 199);
        tried.comment(command::REMOVE_COMMENT, name).await.well();
        assert_eq!(tried.comment(command::GET_COMMENT, name).await.code, ResultCode::ITEM_NOT_FOUND);
    }
    assert_eq!(tried.add_comment("nothing", b"essai").await, ResultCode::OBJECT_NOT_FOUND);
}

#[tokio::test]
async fn a_comment_is_part_of_the_files_metadata_for_every_protocol() {
    let mut tried = DesktopFixture::new().await;
    tried.add_comment("TeachText", b"essai").await;
    let tree = tried.server.volume("share");
    let root = tree.root().unwrap();
    let file = tree.lookup(&Caller::root(), &root.object, b"TeachText").unwrap();
    let place = Some(Beside { folder: &root.object, name: b"TeachText" });
    assert_eq!(tree.metadata(&file, place).unwrap().comment, b"essai");
}

#[tokio::test]
async fn comments_are_not_set_without_the_right_to_write() {
    let mut tried = DesktopFixture::new().await;
    tried.client = tried.server.log_in(BOB, Version::V2_2);
    tried.client.open_volume("share");
    assert_eq!(tried.add_comment("TeachText", b"essai").await, ResultCode::ACCESS_DENIED);
    let mut guest = tried.server.log_in_guest(Version::V2_2);
    let desktop = guest.open_volume("readonly");
    let add = AddComment { desktop, directory: ROOT, path: Path::long(b""), comment: b"essai" };
    assert_eq!(guest.call(command::ADD_COMMENT, |w| add.encode(w)).await.code, ResultCode::VOLUME_LOCKED);
}
