use crate::server::config::Version;
use crate::server::testing::{ADA, BOB, Client, Server};
use crate::wire::directory::{DirId, OfPlace, Place};
use crate::wire::file::{
    CopyFile, CreateFile, ExchangeFiles, FileDirParms, GetFileDirParms, MoveAndRename, Rename,
};
use crate::wire::{DirBitmap, FileBitmap, Path, ResultCode, command};
use wire::Reader;

mod leases;
mod moving;
mod names;

const ROOT: u32 = 2;

fn at(volume: u16, folder: u32, name: &str) -> Place<'_> {
    Place { volume, folder, path: Path::utf8(name.as_bytes()) }
}

/// A Mac's operations on the files of a volume, with their result codes.
impl Client {
    async fn create_file(&mut self, volume: u16, folder: u32, name: &str, is_hard: bool) -> i32 {
        let create = CreateFile { is_hard, place: at(volume, folder, name) };
        self.call(command::CREATE_FILE, |w| create.encode(w)).await.code.0
    }

    async fn create_dir(&mut self, volume: u16, folder: u32, name: &str) -> Result<u32, i32> {
        let answer =
            self.call(command::CREATE_DIR, |w| OfPlace { place: at(volume, folder, name) }.encode(w)).await;
        match answer.code {
            ResultCode::NO_ERROR => Ok(DirId::decode(&mut Reader::new(&answer.payload)).unwrap().0),
            code => Err(code.0),
        }
    }

    async fn delete(&mut self, volume: u16, folder: u32, name: &str) -> i32 {
        self.call(command::DELETE, |w| OfPlace { place: at(volume, folder, name) }.encode(w)).await.code.0
    }

    async fn rename(&mut self, volume: u16, folder: u32, name: &str, new: &str) -> i32 {
        let rename = Rename { place: at(volume, folder, name), new_name: Path::utf8(new.as_bytes()) };
        self.call(command::RENAME, |w| rename.encode(w)).await.code.0
    }

    async fn move_to(&mut self, volume: u16, from: (u32, &str), to: (u32, &str), new: &str) -> i32 {
        let moved = MoveAndRename {
            from: at(volume, from.0, from.1),
            to_folder: to.0,
            to_path: Path::utf8(to.1.as_bytes()),
            new_name: Path::utf8(new.as_bytes()),
        };
        self.call(command::MOVE_AND_RENAME, |w| moved.encode(w)).await.code.0
    }

    async fn copy_file(&mut self, from: Place<'_>, to: Place<'_>, new: &str) -> i32 {
        let copy = CopyFile { from, to, new_name: Path::utf8(new.as_bytes()) };
        self.call(command::COPY_FILE, |w| copy.encode(w)).await.code.0
    }

    /// Returns whether it is a folder, and its parameters.
    async fn get(&mut self, place: Place<'_>, files: u16, folders: u16) -> Result<(bool, Vec<u8>), i32> {
        let get = GetFileDirParms { place, files: FileBitmap(files), folders: DirBitmap(folders) };
        let answer = self.call(command::GET_FILE_DIR_PARMS, |w| get.encode(w)).await;
        if answer.code != ResultCode::NO_ERROR {
            return Err(answer.code.0);
        }
        let got = FileDirParms::decode(&mut Reader::new(&answer.payload)).unwrap();
        assert_eq!((got.files.0, got.folders.0), (files, folders));
        Ok((got.is_folder, got.parameters.to_vec()))
    }

    /// The number of a file or folder: bit 8 of either bitmap.
    async fn id(&mut self, volume: u16, folder: u32, name: &str) -> Result<u32, i32> {
        let (_, parameters) = self.get(at(volume, folder, name), 0x100, 0x100).await?;
        Ok(u32::from_be_bytes(parameters.try_into().unwrap()))
    }
}

fn volume() -> (Server, Client, u16) {
    let server = Server::new();
    let ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    (server, ada, volume)
}

#[tokio::test]
async fn files_and_folders_come_and_go_with_the_results_of_the_reference() {
    let (_server, mut ada, v) = volume();
    assert_eq!(ada.create_file(v, ROOT, "a", false).await, 0);
    assert_eq!(ada.create_file(v, ROOT, "A", false).await, -5017, "case does not count");
    let dir = ada.create_dir(v, ROOT, "d").await.unwrap();
    assert_eq!(ada.create_dir(v, ROOT, "d").await, Err(-5017));
    assert_eq!(ada.create_dir(v, ROOT, "a").await, Err(-5017));
    assert_eq!(ada.create_file(v, ROOT, "d", false).await, -5025);
    assert_eq!(ada.create_file(v, dir, "", false).await, -5025);
    assert_eq!(ada.create_file(v, dir, "none\0b", false).await, -5018);
    assert_eq!(ada.create_file(v, 0, "b", false).await, -5019);
    assert_eq!(ada.create_file(v, 4711, "b", false).await, -5018);
    assert_eq!(ada.create_file(v + 7, ROOT, "b", false).await, -5019);
    assert_eq!(ada.create_file(v, dir, "b", false).await, 0);
    assert_eq!(ada.delete(v, ROOT, "d").await, -5007);
    assert_eq!(ada.delete(v, dir, "b").await, 0);
    assert_eq!(ada.delete(v, dir, "").await, 0);
    assert_eq!(ada.delete(v, ROOT, "d").await, -5018);
    assert_eq!(ada.create_file(v, dir, "b", false).await, -5018);
    assert_eq!(ada.delete(v, ROOT, "").await, -5000);
    // Above the volume's root folder there is nothing, and nothing can be made.
    assert_eq!(ada.create_file(v, 1, "", false).await, -5019);
    assert_eq!(ada.create_dir(v, 1, "").await, Err(-5019));
    assert_eq!(ada.delete(v, 1, "").await, -5018);
    assert_eq!(ada.create_file(v, 1, "x", false).await, -5018);
    let read_only = ada.open_volume("readonly");
    assert_eq!(ada.create_file(read_only, ROOT, "a", false).await, -5031);
    assert_eq!(ada.delete(read_only, ROOT, "a").await, -5031);
}

#[tokio::test]
async fn numbers_are_never_given_again() {
    let (_server, mut ada, v) = volume();
    ada.create_file(v, ROOT, "a", false).await;
    let first = ada.id(v, ROOT, "a").await.unwrap();
    ada.delete(v, ROOT, "a").await;
    ada.create_file(v, ROOT, "a", false).await;
    let second = ada.id(v, ROOT, "a").await.unwrap();
    assert!(second > first && first >= 17);
    // A hard create replaces the file.
    assert_eq!(ada.create_file(v, ROOT, "a", true).await, 0);
    assert!(ada.id(v, ROOT, "a").await.unwrap() > second);
}

#[tokio::test]
async fn a_file_that_is_open_is_busy() {
    let (server, mut ada, v) = volume();
    ada.create_file(v, ROOT, "a", false).await;
    let open = command::OPEN_FORK;
    // FPOpenFork: data fork, volume, folder, bitmap, read and write, long name.
    let fork = ada
        .call(open, |w| {
            w.u8(0);
            w.u16_be(v);
            w.u32_be(ROOT);
            w.u16_be(0);
            w.u16_be(3);
            Path::long(b"a").encode(w);
        })
        .await
        .well();
    let mut bob = server.log_in(BOB, Version::V3_4);
    let theirs = bob.open_volume("share");
    for (client, v) in [(&mut bob, theirs), (&mut ada, v)] {
        assert_eq!(client.delete(v, ROOT, "a").await, -5010);
        assert_eq!(client.create_file(v, ROOT, "a", false).await, -5017);
        assert_eq!(client.create_file(v, ROOT, "a", true).await, -5010);
    }
    assert_eq!(ada.rename(v, ROOT, "a", "b").await, 0, "but it can be renamed");
    ada.call(command::CLOSE_FORK, |w| {
        w.u8(0);
        w.put(&fork[2..4]);
    })
    .await
    .well();
    assert_eq!(ada.delete(v, ROOT, "b").await, 0);
}

#[tokio::test]
async fn parameters_come_with_what_it_is_and_in_the_order_of_their_bits() {
    let (_server, mut ada, v) = volume();
    let dir = ada.create_dir(v, ROOT, "d").await.unwrap();
    ada.create_file(v, dir, "file", false).await;
    let id = ada.id(v, dir, "file").await.unwrap();
    // Files: parent 1, long name 6, number 8, data length 9; folders: parent 1, number 8, offspring 9.
    let (is_folder, got) = ada.get(at(v, dir, "file"), 0x342, 0x302).await.unwrap();
    let expected = [&dir.to_be_bytes()[..], &[0, 14], &id.to_be_bytes(), &[0; 4], b"\x04file"].concat();
    assert_eq!((is_folder, got), (false, expected));
    let (is_folder, got) = ada.get(at(v, ROOT, "d"), 0x342, 0x302).await.unwrap();
    assert_eq!((is_folder, got), (true, [&ROOT.to_be_bytes()[..], &dir.to_be_bytes(), &[0, 1]].concat()));
    // The volume's root folder is in folder 1, under the volume's name.
    let (_, got) = ada.get(at(v, 1, "share"), 0, 0x102).await.unwrap();
    assert_eq!(got, [0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(ada.get(at(v, 1, ""), 0, 0x102).await, Err(-5018));
    assert_eq!(ada.get(at(v, ROOT, "none"), 1, 1).await, Err(-5018));
    assert_eq!(ada.get(at(v, ROOT, "d"), 0, 0xffff).await, Err(-5004));
}

/// The results that Netatalk's tests expect (FPGetFileDirParms:test308, test324, test334,
/// Utf8:test312, test337).
#[tokio::test]
async fn names_that_other_servers_made_short_are_known() {
    let (_server, mut ada, v) = volume();
    let long = "a name of more than 31 bytes, which old Macs cannot have";
    for (name, short, wrong) in [
        (format!("{long}.txt"), "a name of more than 31 b#11.txt", "a name of more than 31#11.txt"),
        (long.into(), "a name of more than 31 bytes#12", "a name of more than 31 byte#12."),
        ("t312-פתיחה.mp3".into(), "t312-#13.mp3", "t312-#13"),
        ("פתיחה test.mp3".into(), "???#14.mp3", "t#14.mp3"),
        ("short".into(), "shor#16", "short#15"),
    ] {
        ada.create_file(v, ROOT, &name, false).await;
        let id = ada.id(v, ROOT, &name).await.unwrap();
        let expected = if name == "short" { Err(-5018) } else { Ok(id) };
        assert_eq!(ada.id(v, ROOT, short).await, expected, "{short}, {id:x}");
        assert_eq!(ada.id(v, ROOT, wrong).await, Err(-5018), "{wrong}");
    }
}

#[tokio::test]
async fn a_path_of_an_unknown_type_is_a_parameter_error() {
    let (_server, mut ada, v) = volume();
    for kind in [0, 4, 255] {
        let place = Place { volume: v, folder: ROOT, path: Path { kind, hint: 0, bytes: b"" } };
        assert_eq!(ada.get(place, 0x100, 0x100).await, Err(-5019), "{kind}");
    }
}

#[tokio::test]
async fn that_the_folder_is_gone_counts_before_what_else_is_wrong() {
    let (_server, mut ada, v) = volume();
    for (folder, expected) in [(4711, -5018), (ROOT, -5019), (1, -5019)] {
        let cut = ada.call(command::MOVE_AND_RENAME, |w| {
            w.u8(0);
            w.u16_be(v);
            w.u32_be(folder);
        });
        assert_eq!(cut.await.code.0, expected, "{folder}");
    }
}

#[tokio::test]
async fn ids_do_not_bypass_the_right_to_pass_through_a_folder() {
    let (server, mut ada, v) = volume();
    let dir = ada.create_dir(v, ROOT, "d").await.unwrap();
    let inner = ada.create_dir(v, dir, "inner").await.unwrap();
    ada.create_file(v, inner, "f", false).await;
    let mut bob = server.log_in(BOB, Version::V3_4);
    let theirs = bob.open_volume("share");
    assert!(bob.id(theirs, inner, "f").await.is_ok());
    let tree = server.volume("share");
    let found = tree.lookup(&vfs::Caller::root(), &tree.root().unwrap().object, b"d").unwrap();
    let closed = vfs::SetAttributes { mode: Some(0o700), ..vfs::SetAttributes::default() };
    found.object.set_attributes(&vfs::Caller::root(), &closed).unwrap();
    for name in ["f", ""] {
        assert_eq!(bob.id(theirs, inner, name).await, Err(-5000), "{name}");
    }
    assert!(bob.id(theirs, dir, "").await.is_ok(), "the folder itself is visible");
    assert!(ada.id(v, inner, "f").await.is_ok());
}

#[tokio::test]
async fn folders_are_opened_by_their_number() {
    let (_server, mut ada, v) = volume();
    let dir = ada.create_dir(v, ROOT, "d").await.unwrap();
    ada.create_file(v, ROOT, "f", false).await;
    let open = |folder, name| OfPlace { place: at(v, folder, name) };
    let opened = ada.call(command::OPEN_DIR, |w| open(ROOT, "d").encode(w)).await.well();
    assert_eq!(opened, dir.to_be_bytes());
    for (folder, name, expected) in [(ROOT, "f", -5025), (ROOT, "x", -5018), (1, "", -5019)] {
        let answer = ada.call(command::OPEN_DIR, |w| open(folder, name).encode(w)).await;
        assert_eq!(answer.code.0, expected, "{folder} {name}");
    }
    ada.call(command::CLOSE_DIR, |w| {
        w.u8(0);
        w.u16_be(v);
        w.u32_be(dir);
    })
    .await
    .well();
}

#[tokio::test]
async fn a_copy_has_all_that_the_file_has() {
    let (server, mut ada, v) = volume();
    let dir = ada.create_dir(v, ROOT, "d").await.unwrap();
    ada.create_file(v, ROOT, "a", false).await;
    let tree = server.volume("share");
    let root = tree.root().unwrap();
    let file = tree.lookup(&vfs::Caller::root(), &root.object, b"a").unwrap();
    let actor = ada.session().actor();
    file.object.write_at(&actor.caller, 0, b"data", vfs::backend::Stability::Unstable).unwrap();
    let place = vfs::Beside { folder: &root.object, name: b"a" };
    for (stream, bytes) in [
        (vfs::state::Stream::Resource, &b"resources"[..]),
        (vfs::state::Stream::Named("com.example.x".into()), b"value"),
    ] {
        let options = vfs::OpenOptions {
            stream,
            create: true,
            place: Some(place),
            ..vfs::OpenOptions::data(vfs::state::Modes(3))
        };
        let open = tree.open(&actor, &file, options).await.unwrap();
        open.write_at(0, bytes.into(), vfs::backend::Stability::Unstable).await.unwrap();
    }
    tree.change_metadata(&actor, &file, Some(place), |metadata| {
        metadata.comment = b"seen".to_vec();
        metadata.set_finder_info(vfs::mac::FinderInfo::from_prefix(b"TEXTttxt"));
    })
    .unwrap();
    assert_eq!(ada.copy_file(at(v, ROOT, "a"), at(v, ROOT, "d"), "").await, 0);
    // Lengths of both forks; Finder information.
    let (_, lengths) = ada.get(at(v, dir, "a"), 0x600, 0).await.unwrap();
    assert_eq!(lengths, [0, 0, 0, 4, 0, 0, 0, 9]);
    assert_eq!(ada.get(at(v, dir, "a"), 0x20, 0).await.unwrap().1[..8], *b"TEXTttxt");
    assert_eq!(ada.get(at(v, dir, "a"), 8, 0).await, ada.get(at(v, ROOT, "a"), 8, 0).await);
    let folder = tree.lookup(&vfs::Caller::root(), &root.object, b"d").unwrap();
    let copy = tree.lookup(&vfs::Caller::root(), &folder.object, b"a").unwrap();
    let place = vfs::Beside { folder: &folder.object, name: b"a" };
    assert_eq!(tree.metadata(&copy, Some(place)).unwrap().comment, b"seen");
    let streams = tree.streams(&actor, &copy, Some(place)).await.unwrap();
    assert!(streams.iter().any(|stream| (&*stream.name, stream.len) == (&b"com.example.x"[..], 5)));
    // And to another volume.
    let other = ada.open_volume("guests");
    assert_eq!(ada.copy_file(at(v, ROOT, "a"), at(other, ROOT, ""), "b").await, 0);
    assert_eq!(ada.get(at(other, ROOT, "b"), 0x600, 0).await.unwrap().1, [0, 0, 0, 4, 0, 0, 0, 9]);
}

#[tokio::test]
async fn exchanged_files_keep_their_numbers_and_dates_and_open_forks_their_contents() {
    let (server, mut ada, v) = volume();
    let dir = ada.create_dir(v, ROOT, "d").await.unwrap();
    ada.create_file(v, ROOT, "a", false).await;
    ada.create_file(v, dir, "b", false).await;
    let tree = server.volume("share");
    let root = tree.root().unwrap();
    let file = tree.lookup(&vfs::Caller::root(), &root.object, b"a").unwrap();
    file.object.write_at(&vfs::Caller::root(), 0, b"blue", vfs::backend::Stability::Unstable).unwrap();
    // Creation date, number; length of the data fork.
    let stays = [ada.get(at(v, ROOT, "a"), 0x104, 0).await, ada.get(at(v, dir, "b"), 0x104, 0).await];
    let exchange = |one, other_folder, other| ExchangeFiles {
        one: at(v, ROOT, one),
        other_folder,
        other_path: Path::utf8(other),
    };
    for _ in 0..3 {
        ada.call(command::EXCHANGE_FILES, |w| exchange("a", dir, b"b").encode(w)).await.well();
    }
    assert_eq!(ada.get(at(v, ROOT, "a"), 0x200, 0).await.unwrap().1, [0, 0, 0, 0]);
    assert_eq!(ada.get(at(v, dir, "b"), 0x200, 0).await.unwrap().1, [0, 0, 0, 4]);
    let now = [ada.get(at(v, ROOT, "a"), 0x104, 0).await, ada.get(at(v, dir, "b"), 0x104, 0).await];
    assert_eq!(now, stays);
    for (one, folder, other, expected) in [
        ("a", ROOT, &b"a"[..], -5038),
        ("a", ROOT, b"d", -5025),
        ("x", ROOT, b"a", -5018),
        ("a", dir, b"x", -5018),
    ] {
        let answer = ada.call(command::EXCHANGE_FILES, |w| exchange(one, folder, other).encode(w)).await;
        assert_eq!(answer.code.0, expected, "{one}");
    }
}

#[tokio::test]
async fn what_cannot_be_copied_is_told_as_the_reference_says() {
    let (_server, mut ada, v) = volume();
    ada.create_dir(v, ROOT, "d").await.unwrap();
    ada.create_file(v, ROOT, "a", false).await;
    ada.create_file(v, ROOT, "b", false).await;
    let read_only = ada.open_volume("readonly");
    for (from, to, name, expected) in [
        (at(v, ROOT, "d"), at(v, ROOT, ""), "c", -5025),
        (at(v, ROOT, "x"), at(v, ROOT, ""), "c", -5018),
        (at(v, ROOT, "a"), at(v, ROOT, "b"), "c", -5025),
        (at(v, ROOT, "a"), at(v, ROOT, "x"), "c", -5018),
        (at(v, ROOT, "a"), at(v, ROOT, ""), "B", -5017),
        (at(v, ROOT, "a"), at(v, ROOT, ""), "", -5017),
        (at(v, ROOT, "a"), at(v, ROOT, ""), "d\0c", -5019),
        (at(v, ROOT, "a"), at(v + 9, ROOT, ""), "c", -5019),
        (at(v, ROOT, "a"), at(read_only, ROOT, ""), "c", -5031),
    ] {
        assert_eq!(ada.copy_file(from, to, name).await, expected, "{from:?} {to:?}");
    }
}
