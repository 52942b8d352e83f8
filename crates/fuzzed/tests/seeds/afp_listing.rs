//! Listings, searches, files by their numbers. The selectors are those of `src/afp_listing.rs`.

use afp::wire::directory::Place;
use afp::wire::enumerate::{self, Enumerate};
use afp::wire::id::{DeleteId, FileId, ResolveId, ResolveIdReply};
use afp::wire::search::{self, RequestBitmap, SearchRequest, Specification};
use afp::wire::{DirBitmap, FileBitmap, Path};
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    [listings(), searches(), ids()].into_iter().flatten().collect()
}

fn listings() -> Vec<Seed> {
    let place = Place { volume: 1, folder: 2, path: Path::utf8("caf\u{e9}".as_bytes()) };
    let (files, folders) = (FileBitmap(0x213e), DirBitmap(0x213e));
    let request = Enumerate { place, files, folders, count: 200, start: 1, max_reply: 60_000 };
    let entries = |framing: enumerate::Framing, w: &mut Writer| {
        framing.put(w, false, |w| w.put(b"a file"));
        framing.put(w, true, |w| w.put(b"a folder!"));
    };
    let reply = enumerate::Reply { files, folders, count: 1, entries: b"\0\x06\0\0ab" };
    vec![
        seed("enumerate", 0, |w| request.encode(enumerate::EnumerateForm::Plain, w)),
        seed("enumerate_ext", 1, |w| request.encode(enumerate::EnumerateForm::Ext, w)),
        seed("enumerate_ext2", 2, |w| request.encode(enumerate::EnumerateForm::Ext2, w)),
        seed("enumerated", 3, |w| reply.encode(w)),
        seed("entries", 4, |w| entries(enumerate::EnumerateForm::Plain.framing(), w)),
        seed("entries_ext", 5, |w| entries(enumerate::EnumerateForm::Ext2.framing(), w)),
        seed("results", 6, |w| entries(search::SearchForm::Plain.framing(), w)),
        seed("results_ext", 7, |w| entries(search::SearchForm::Ext.framing(), w)),
    ]
}

fn searches() -> Vec<Seed> {
    let by_name = SearchRequest {
        volume: 1,
        matches: 10,
        position: [0; 16],
        files: FileBitmap::LONG_NAME,
        folders: DirBitmap::LONG_NAME,
        bitmap: RequestBitmap(0x8000_0041),
        lower: Specification { attributes: 0x20, long_name: b"Data", ..Specification::default() },
        upper: Specification { attributes: 0x01a0, ..Specification::default() },
    };
    let all = Specification {
        created: 1,
        modified: 2,
        backup: 3,
        finder_info: *b"TEXTttxt\x40\0                      ",
        utf8_name: (Path::HINT_UTF8, b"x"),
        extended_data_length: 1 << 33,
        ..Specification::default()
    };
    let files = SearchRequest {
        folders: DirBitmap::empty(),
        bitmap: RequestBitmap::OF_FILES,
        lower: all,
        upper: Specification { utf8_name: (0, b""), ..all },
        ..by_name
    };
    let folders = SearchRequest { files: FileBitmap::empty(), bitmap: RequestBitmap::OF_FOLDERS, ..by_name };
    let reply = search::Reply {
        position: [7; 16],
        files: by_name.files,
        folders: by_name.folders,
        count: 1,
        entries: b"\x02\0ab",
    };
    vec![
        seed("search", 8, |w| by_name.encode(search::SearchForm::Plain, w)),
        seed("search_ext", 9, |w| by_name.encode(search::SearchForm::Ext, w)),
        seed("search_files", 9, |w| files.encode(search::SearchForm::Ext, w)),
        seed("search_folders", 9, |w| folders.encode(search::SearchForm::Ext, w)),
        seed("found", 10, |w| reply.encode(w)),
    ]
}

fn ids() -> Vec<Seed> {
    let bitmap = FileBitmap(0x0142);
    vec![
        seed("file_id", 11, |w| FileId(17).encode(w)),
        seed("delete_id", 12, |w| DeleteId { volume: 1, id: 17 }.encode(w)),
        seed("resolve_id", 13, |w| ResolveId { volume: 1, id: 17, bitmap }.encode(w)),
        seed("resolved", 14, |w| ResolveIdReply { bitmap, parameters: b"\0\0\0\x02" }.encode(w)),
    ]
}

fn seed(name: &'static str, selector: u8, encode: impl FnOnce(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target: "afp_listing", name, bytes: w.into_bytes() }
}
