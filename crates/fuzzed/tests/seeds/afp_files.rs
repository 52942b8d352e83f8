//! Commands about volumes, files and folders. The selectors are those of `src/afp_files.rs`.

use afp::wire::directory::{CloseDir, DirId, OfPlace, Place, SetParms};
use afp::wire::file::{
    CopyFile, CreateFile, ExchangeFiles, FileDirParms, GetFileDirParms, MoveAndRename, Rename,
};
use afp::wire::volume::{GetVolParms, OfVolume, OpenVol, Parameters, SetVolParms, SyncDir};
use afp::wire::{DirBitmap, FileBitmap, Path, SetParameters, UnixPrivileges, VolumeBitmap};
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    [volumes(), places(), pairs()].into_iter().flatten().collect()
}

const LONG: Place<'_> = Place { volume: 1, folder: 2, path: Path { kind: 2, hint: 0, bytes: b"a\0\0b" } };
const UTF8: Place<'_> =
    Place { volume: 1, folder: 17, path: Path { kind: 3, hint: 0x0800_0103, bytes: b"caf\x65\xcc\x81" } };

fn volumes() -> Vec<Seed> {
    let open = OpenVol { bitmap: VolumeBitmap::ID, name: b"Home", password: Some(*b"password") };
    let parameters = Parameters {
        bitmap: VolumeBitmap::all(),
        created: 1,
        modified: 2,
        backup: i32::MIN,
        id: 1,
        name: b"Home",
        extended_free: 1 << 40,
        ..Parameters::default()
    };
    let set = SetVolParms { volume: 1, bitmap: VolumeBitmap::BACKUP, backup: Some(5) };
    vec![
        seed("open_vol", 0, |w| open.encode(w)),
        seed("close_vol", 1, |w| OfVolume { volume: 1 }.encode(w)),
        seed("get_vol_parms", 2, |w| GetVolParms { volume: 1, bitmap: VolumeBitmap::all() }.encode(w)),
        seed("set_vol_parms", 3, |w| set.encode(w)),
        seed("sync_dir", 4, |w| SyncDir { volume: 1, folder: 2 }.encode(w)),
        seed("vol_parms", 5, |w| parameters.encode(w)),
    ]
}

fn places() -> Vec<Seed> {
    let set = SetParameters {
        attributes: Some(0x8020),
        created: Some(1),
        modified: Some(2),
        backup: Some(i32::MIN),
        finder_info: Some([7; 32]),
        unix: Some(UnixPrivileges { user: 501, group: 20, mode: 0o100_644, rights: 0 }),
        ..SetParameters::default()
    };
    let folder = SetParameters {
        owner: Some(501),
        group: Some(20),
        access_rights: Some(0x0707_0707),
        prodos: Some([0; 6]),
        ..SetParameters::default()
    };
    let parms = |place, set: SetParameters, w: &mut Writer| {
        SetParms { place, bitmap: set.bitmap(), parameters: &set.to_bytes() }.encode(w)
    };
    let get = GetFileDirParms { place: UTF8, files: FileBitmap::all(), folders: DirBitmap::all() };
    let (files, folders) = (FileBitmap::FILE_NUMBER, DirBitmap::DIR_ID);
    let found = FileDirParms { files, folders, is_folder: true, parameters: b"\0\0\0\x11" };
    vec![
        seed("delete", 6, |w| OfPlace { place: LONG }.encode(w)),
        seed("close_dir", 7, |w| CloseDir { volume: 1, folder: 17 }.encode(w)),
        seed("dir_id", 8, |w| DirId(17).encode(w)),
        seed("set_parms", 9, |w| parms(UTF8, set, w)),
        seed("set_folder", 9, |w| parms(LONG, folder, w)),
        seed("get_file_dir_parms", 10, |w| get.encode(w)),
        seed("file_dir_parms", 11, |w| found.encode(w)),
        seed("create_file", 12, |w| CreateFile { is_hard: true, place: UTF8 }.encode(w)),
    ]
}

fn pairs() -> Vec<Seed> {
    let (to_path, new_name) = (Path::long(b"folder"), Path::utf8(b"new"));
    let moved = MoveAndRename { from: UTF8, to_folder: 2, to_path, new_name };
    let exchange = ExchangeFiles { one: UTF8, other_folder: 2, other_path: to_path };
    vec![
        seed("rename", 13, |w| Rename { place: LONG, new_name }.encode(w)),
        seed("move_and_rename", 14, |w| moved.encode(w)),
        seed("copy_file", 15, |w| CopyFile { from: LONG, to: UTF8, new_name }.encode(w)),
        seed("exchange_files", 16, |w| exchange.encode(w)),
    ]
}

fn seed(name: &'static str, selector: u8, encode: impl FnOnce(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target: "afp_files", name, bytes: w.into_bytes() }
}
