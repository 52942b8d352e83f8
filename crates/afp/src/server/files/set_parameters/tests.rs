use crate::server::config::Version;
use crate::server::testing::{ADA, Client, Server};
use crate::wire::directory::{OfPlace, Place, SetParms};
use crate::wire::file::{CreateFile, FileDirParms, GetFileDirParms};
use crate::wire::{DirBitmap, FileBitmap, Path, ResultCode, SetParameters, UnixPrivileges, command};
use vfs::Caller;
use wire::Reader;

const ROOT: u32 = 2;

struct Scene {
    server: Server,
    ada: Client,
    volume: u16,
}

impl Scene {
    /// A file "f" and a folder "d".
    async fn new(version: Version) -> Self {
        let server = Server::new();
        let mut ada = server.log_in(ADA, version);
        let volume = ada.open_volume("share");
        let place = |name: &'static [u8]| Place { volume, folder: ROOT, path: Path::long(name) };
        let file = CreateFile { is_hard: false, place: place(b"f") };
        ada.call(command::CREATE_FILE, |w| file.encode(w)).await.well();
        ada.call(command::CREATE_DIR, |w| OfPlace { place: place(b"d") }.encode(w)).await.well();
        Self { server, ada, volume }
    }

    fn place<'a>(&self, name: &'a str) -> Place<'a> {
        Place { volume: self.volume, folder: ROOT, path: Path::long(name.as_bytes()) }
    }

    async fn set_by(&mut self, command: u8, name: &str, bitmap: u16, set: SetParameters) -> i32 {
        let parms = SetParms { place: self.place(name), bitmap, parameters: &set.to_bytes() };
        self.ada.call(command, |w| parms.encode(w)).await.code.0
    }

    async fn set(&mut self, name: &str, set: SetParameters) -> i32 {
        self.set_by(command::SET_FILE_DIR_PARMS, name, set.bitmap(), set).await
    }

    /// One parameter of a file or a folder: the same bit in both bitmaps.
    async fn get(&mut self, name: &str, bit: u16) -> Vec<u8> {
        let get = GetFileDirParms {
            place: self.place(name),
            files: FileBitmap(bit & !0x1000),
            folders: DirBitmap(bit),
        };
        let answer = self.ada.call(command::GET_FILE_DIR_PARMS, |w| get.encode(w)).await.well();
        FileDirParms::decode(&mut Reader::new(&answer)).unwrap().parameters.to_vec()
    }

    fn attributes(&self, name: &str) -> vfs::Attributes {
        let tree = self.server.volume("share");
        tree.lookup(&Caller::root(), &tree.root().unwrap().object, name.as_bytes()).unwrap().attributes
    }
}

fn nothing() -> SetParameters {
    SetParameters::default()
}

#[tokio::test]
async fn attributes_are_set_or_cleared_as_the_highest_bit_says() {
    for name in ["f", "d"] {
        let mut scene = Scene::new(Version::V3_4).await;
        // Invisible, rename and delete inhibit.
        assert_eq!(scene.set(name, SetParameters { attributes: Some(0x8181), ..nothing() }).await, 0);
        assert_eq!(scene.get(name, 1).await, [0x01, 0x81]);
        assert_eq!(scene.set(name, SetParameters { attributes: Some(0x0081), ..nothing() }).await, 0);
        assert_eq!(scene.get(name, 1).await, [0x01, 0x00]);
        // Computed bits cannot be set.
        assert_eq!(scene.set(name, SetParameters { attributes: Some(0x8018), ..nothing() }).await, 0);
        assert_eq!(scene.get(name, 1).await, [0x01, 0x00]);
    }
}

#[tokio::test]
async fn the_invisible_bit_and_the_finders_flag_are_one() {
    let mut scene = Scene::new(Version::V3_4).await;
    scene.set("f", SetParameters { attributes: Some(0x8001), ..nothing() }).await;
    assert_eq!(scene.get("f", 0x20).await[8..10], [0x40, 0]);
    let mut info = [0; 32];
    info[..8].copy_from_slice(b"TEXTttxt");
    scene.set("f", SetParameters { finder_info: Some(info), ..nothing() }).await;
    assert_eq!(scene.get("f", 0x20).await[..10], *b"TEXTttxt\0\0");
    assert_eq!(scene.get("f", 1).await, [0, 0]);
}

#[tokio::test]
async fn dates_are_seconds_since_2000() {
    for name in ["f", "d"] {
        let mut scene = Scene::new(Version::V2_2).await;
        let dates = SetParameters { created: Some(-86_400), modified: Some(7), backup: Some(9), ..nothing() };
        assert_eq!(scene.set(name, dates).await, 0);
        let expected = [(-86_400_i32).to_be_bytes(), 7_i32.to_be_bytes(), 9_i32.to_be_bytes()].concat();
        assert_eq!(scene.get(name, 0x1c).await, expected);
        assert_eq!(scene.attributes(name).modified.secs, 946_684_807);
    }
}

#[tokio::test]
async fn a_change_of_anything_else_sets_the_modification_date_to_now() {
    let mut scene = Scene::new(Version::V3_4).await;
    for set in [
        SetParameters { attributes: Some(0x8040), ..nothing() },
        SetParameters { created: Some(3), ..nothing() },
        SetParameters { backup: Some(3), ..nothing() },
        SetParameters { finder_info: Some([1; 32]), ..nothing() },
    ] {
        scene.set("f", SetParameters { modified: Some(5), ..nothing() }).await;
        let folder = scene.server.volume("share").root().unwrap().attributes.modified;
        scene.set("f", set).await;
        assert!(scene.attributes("f").modified.secs > 946_684_805, "{set:?}");
        assert_eq!(scene.server.volume("share").root().unwrap().attributes.modified, folder, "{set:?}");
    }
    // A change of visibility concerns the folder above, too.
    let folder = scene.server.volume("share").root().unwrap().attributes.modified;
    scene.set("f", SetParameters { attributes: Some(0x8001), ..nothing() }).await;
    assert!(scene.server.volume("share").root().unwrap().attributes.modified > folder);
}

#[tokio::test]
async fn access_rights_of_a_folder_are_its_mode() {
    let mut scene = Scene::new(Version::V2_2).await;
    // Owner (lowest byte) all rights 7, group search and see files 3, everyone none.
    let rights = SetParameters { access_rights: Some(0x0000_0307), ..nothing() };
    assert_eq!(scene.set_by(command::SET_DIR_PARMS, "d", 0x1000, rights).await, 0);
    assert_eq!(scene.attributes("d").mode, 0o750);
    // The caller's own byte says that Ada owns it, 0x80, and has all rights.
    assert_eq!(scene.get("d", 0x1000).await, [0x87, 0, 3, 7]);
}

#[tokio::test]
async fn unix_privileges_set_the_mode_and_leave_a_file_to_its_owner() {
    let mut scene = Scene::new(Version::V3_4).await;
    for name in ["f", "d"] {
        let unix = UnixPrivileges { user: 501, group: 20, mode: 0o100_751, rights: 0 };
        assert_eq!(scene.set(name, SetParameters { unix: Some(unix), ..nothing() }).await, 0);
        let attributes = scene.attributes(name);
        assert_eq!((attributes.mode, attributes.uid), (0o751, 1000));
    }
    let told = scene.get("f", 0x8000).await;
    assert_eq!(told[..4], 1000_u32.to_be_bytes());
    assert_eq!(told[8..12], 0o100_751_u32.to_be_bytes());
}

#[tokio::test]
async fn parameters_that_cannot_be_set_are_refused() {
    let mut scene = Scene::new(Version::V3_4).await;
    for (command, name, bitmap, expected) in [
        (command::SET_FILE_PARMS, "f", 0xffff, -5004),
        (command::SET_FILE_PARMS, "f", 0x2000, -5004), // the UTF-8 name
        (command::SET_FILE_PARMS, "f", 0x0400, -5004), // a folder's owner
        (command::SET_DIR_PARMS, "d", 0x0100, -5004),
        (command::SET_FILE_PARMS, "d", 0x0001, -5025),
        (command::SET_DIR_PARMS, "f", 0x0001, -5025),
        (command::SET_FILE_DIR_PARMS, "x", 0x0001, -5018),
    ] {
        let set = SetParameters { attributes: (bitmap == 1).then_some(0), ..nothing() };
        assert_eq!(scene.set_by(command, name, bitmap, set).await, expected, "{name} {bitmap:#x}");
    }
    let mut old = Scene::new(Version::V2_2).await;
    let unix = SetParameters { unix: Some(UnixPrivileges::default()), ..nothing() };
    assert_eq!(old.set("f", unix).await, -5004);
}

#[tokio::test]
async fn prodos_types_are_mac_types_of_four_bytes() {
    let mut scene = Scene::new(Version::V2_2).await;
    // Inside AppleTalk: type $50, auxiliary type $5445, whose low byte comes first: 'p', $50, $54, $45.
    let prodos = SetParameters { prodos: Some([0x50, 0, 0x45, 0x54, 0, 0]), ..nothing() };
    assert_eq!(scene.set("f", prodos).await, 0);
    assert_eq!(scene.get("f", 0x20).await[..8], *b"pPTEpdos");
    assert_eq!(scene.get("f", 0x2000).await, [0x50, 0, 0x45, 0x54, 0, 0]);
    let text = SetParameters { prodos: Some([4, 0, 0, 0, 0, 0]), ..nothing() };
    assert_eq!(scene.set("f", text).await, 0);
    assert_eq!(scene.get("f", 0x20).await[..8], *b"TEXTpdos");
}

#[tokio::test]
async fn a_file_of_the_type_of_links_becomes_one_with_its_number() {
    let mut scene = Scene::new(Version::V3_4).await;
    let tree = scene.server.volume("share");
    let root = tree.root().unwrap();
    let id = scene.get("f", 0x100).await;
    let file = tree.lookup(&Caller::root(), &root.object, b"f").unwrap();
    file.object.write_at(&Caller::root(), 0, b"d/inside", vfs::backend::Stability::Unstable).unwrap();
    let mut info = [0; 32];
    info[..8].copy_from_slice(b"slnkrhap");
    let link = SetParameters { finder_info: Some(info), ..nothing() };
    assert_eq!(scene.set_by(command::SET_FILE_PARMS, "f", 0x20, link).await, 0);
    let link = tree.lookup(&Caller::root(), &root.object, b"f").unwrap();
    assert_eq!(
        (link.attributes.kind, link.object.read_link().unwrap()),
        (vfs::Kind::Link, b"d/inside".to_vec())
    );
    assert_eq!(scene.get("f", 0x100).await, id);
    assert_eq!(scene.get("f", 0x20).await[..8], *b"slnkrhap");
    // Dates of links are not stored, but setting them is no error.
    assert_eq!(scene.set("f", SetParameters { created: Some(1), ..nothing() }).await, 0);
    let names: Vec<_> =
        tree.list(&Caller::root(), &root, 0).unwrap().named().map(|e| e.name().to_vec()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[tokio::test]
async fn nothing_is_set_on_a_read_only_volume() {
    let mut scene = Scene::new(Version::V3_4).await;
    scene.volume = scene.ada.open_volume("readonly");
    let set = SetParameters { attributes: Some(0x8001), ..nothing() };
    assert_eq!(scene.set("", set).await, ResultCode::VOLUME_LOCKED.0);
}

/// What Samba and ksmbd store for a client of DOS: hidden, read-only and system, MS-FSCC 2.6; and the same
/// attributes of the Apple Filing Protocol Reference, "File and Directory Attributes".
#[tokio::test]
async fn dos_attributes_of_another_server_are_seen() {
    let mut scene = Scene::new(Version::V3_4).await;
    let tree = scene.server.volume("share");
    let file = tree.lookup(&Caller::root(), &tree.root().unwrap().object, b"f").unwrap();
    for (value, bits) in [(&b"0x02"[..], 0x0001_u16), (b"0x01", 0x01A0), (b"0x04", 0x0004), (b"0x00", 0)] {
        let mode = vfs::backend::XattrMode::Set;
        file.object.set_xattr(&Caller::root(), b"user.DOSATTRIB", value, mode).unwrap();
        assert_eq!(scene.get("f", 1).await, bits.to_be_bytes(), "{value:?}");
        // kIsInvisible, Inside Macintosh: More Macintosh Toolbox 7-47.
        assert_eq!(scene.get("f", 0x20).await[8] & 0x40 != 0, bits == 1);
    }
}

/// Rights that a Mac sends for what it has made are taken and change nothing; those of a colleague are refused.
#[tokio::test]
async fn in_a_team_folder_access_rights_change_nothing() {
    use auth::{Grantee, Role, RoleEntry, Roles};

    let mut scene = Scene::new(Version::V3_4).await;
    let tree = scene.server.volume("share");
    let all = RoleEntry { role: Role::Contributor, grantee: Grantee::Everyone };
    tree.set_roles(Some(std::sync::Arc::new(Roles::new(vec![all]))));
    let folder = tree.lookup(&Caller::root(), &tree.root().unwrap().object, b"d").unwrap();
    let unix = UnixPrivileges { user: 501, group: 20, mode: 0o040_700, rights: 0 };
    for (uid, expected) in [(ADA.2, 0), (1001, -5000)] {
        let owner = vfs::SetAttributes { uid: Some(uid), mode: Some(0o2770), ..Default::default() };
        folder.object.set_attributes(&Caller::root(), &owner).unwrap();
        let rights = SetParameters { access_rights: Some(0x0000_0007), ..nothing() };
        assert_eq!(scene.set_by(command::SET_DIR_PARMS, "d", 0x1000, rights).await, expected);
        assert_eq!(scene.set("d", SetParameters { unix: Some(unix), ..nothing() }).await, expected);
        assert_eq!((scene.attributes("d").mode, scene.attributes("d").uid), (0o2770, uid));
    }
}
