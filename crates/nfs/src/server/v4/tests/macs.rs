//! The compounds of the NFSv4 client of macOS, in its order of operations: mounting, listing for the Finder, forks and Finder info as
//! named attributes, a copy that takes its name at the end, locks. For named attributes, CREATE, WRITE, ACCESS and READDIR the order
//! is that of the client's published source (xnu, `bsd/nfs`); the others, and all layouts and values, follow RFC 7530 and RFC 7531.

use vfs::mac::FinderInfo;
use vfs::{Beside, Caller};

use super::*;

const FINDER_INFO: &[u8] = b"com.apple.FinderInfo";
const RESOURCE_FORK: &[u8] = b"com.apple.ResourceFork";
/// type, change, size, named_attr, fsid, fileid and mode: the first of what a Mac asks for with each object.
const OBJECT: [u32; 2] = [1 << 1 | 1 << 3 | 1 << 4 | 1 << 7 | 1 << 8 | 1 << 20, 1 << 1];
const FILEHANDLE: u32 = 1 << 19;
const RDATTR_ERROR: u32 = 1 << 11;

fn put(handle: &[u8]) -> Vec<u8> {
    [words(&[22]), opaque(handle)].concat()
}

fn get() -> Vec<u8> {
    words(&[9, 2, OBJECT[0], OBJECT[1]])
}

fn get_with_handle() -> Vec<u8> {
    words(&[9, 2, OBJECT[0] | FILEHANDLE, OBJECT[1]])
}

fn name(number: u32, name: &[u8]) -> Vec<u8> {
    [words(&[number]), opaque(name)].concat()
}

/// The results of a compound that succeeds: the bytes of each operation after its number and status. READDIR comes last.
fn results(client: &Client, operations: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let reply = compound(client, operations.len() as u32, &operations.concat());
    let mut rest = &reply[12..];
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let opaque_len = |bytes: &[u8], at: usize| 4 + word(bytes, at).next_multiple_of(4);
    let bitmap_len = |bytes: &[u8], at: usize| 4 + 4 * word(bytes, at);
    let mut all = Vec::new();
    for operation in operations {
        let number = word(operation, 0);
        assert_eq!(
            rest[..8],
            words(&[number as u32, 0]),
            "status of operation {number}, the one at {}",
            all.len()
        );
        rest = &rest[8..];
        let len = match number {
            15 | 16 | 17 | 19 | 22 | 24 | 31 | 32 => 0, // LOOKUP, LOOKUPP, NVERIFY, OPENATTR, PUTFH, PUTROOTFH, RESTOREFH, SAVEFH
            4 | 12 | 14 | 20 => 16,                     // a stateid: CLOSE, LOCK, LOCKU, OPEN_CONFIRM
            9 => bitmap_len(rest, 0) + opaque_len(rest, bitmap_len(rest, 0)),
            18 => 40 + bitmap_len(rest, 40) + 4, // OPEN without a delegation
            25 => 4 + opaque_len(rest, 4),
            28 => 20,
            29 => 40,
            34 => bitmap_len(rest, 0),
            38 => 16,
            26 => rest.len(),
            _ => panic!("operation {number}"),
        };
        all.push(rest[..len].to_vec());
        rest = &rest[len..];
    }
    assert!(rest.is_empty());
    all
}

/// The filehandle in the result of `get_with_handle`, which is before fileid and behind a head of fixed length.
fn handle_in(result: &[u8]) -> Vec<u8> {
    let at = 16 + 4 + 8 + 8 + 4 + 16;
    let len = u32::from_be_bytes(result[at..at + 4].try_into().unwrap()) as usize;
    result[at + 4..at + 4 + len].to_vec()
}

/// type and size in the result of `get` or `get_with_handle`, and whether there are named attributes.
fn object(result: &[u8]) -> (u32, u64, u32) {
    let word = |at: usize| u32::from_be_bytes(result[at..at + 4].try_into().unwrap());
    (word(16), u64::from(word(28)) << 32 | u64::from(word(32)), word(36))
}

/// Mounting: each component of the path for itself, then the attributes of the file system.
fn mounted(client: &Client) -> Vec<u8> {
    let root = results(client, &[words(&[24]), get_with_handle()]);
    let share = results(client, &[put(&handle_in(&root[1])), name(15, b"docs"), get_with_handle()]);
    let share = handle_in(&share[2]);
    // supported_attrs, fh_expire_type, link_support, symlink_support, named_attr, unique_handles, lease_time, maxread, maxwrite.
    let general = 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 9 | 1 << 10 | 3 << 30;
    let all = results(client, &[put(&share), words(&[9, 1, general])]);
    assert_eq!(all[1][..8], words(&[1, general]));
    // Reads and writes of 1 MiB, as in FSINFO of version 3.
    assert_eq!(all[1][all[1].len() - 16..], words(&[0, 1 << 20, 0, 1 << 20]));
    share
}

/// open_create: a file that is open for reading and writing, with the mode 0644: its handle and its stateid. `sequence` is the
/// number of the OPEN.
fn created(client: &Client, id: u64, folder: &[u8], file: &[u8], sequence: u32) -> (Vec<u8>, Vec<u8>) {
    // UNCHECKED4 with the mode.
    let how = words(&[1, 0, 2, 0, 2, 4, 0o644]);
    let open = open(id, b"mac", sequence, (3, 0), &how, file);
    let calls = [put(folder), words(&[32]), open, get_with_handle(), words(&[31]), get()];
    let all = results(client, &calls);
    assert_eq!((object(&all[3]), object(&all[5]).0), ((1, 0, 0), 2)); // NF4REG without named attributes; NF4DIR
    let (handle, mut state) = (handle_in(&all[3]), all[2][..16].to_vec());
    if all[2][36 + 3] & 2 != 0 {
        let confirm = [words(&[20]), state, words(&[sequence + 1])].concat();
        state = results(client, &[put(&handle), confirm, get()])[1].clone();
    }
    (handle, state)
}

/// getnamedattr, to create: OPENATTR and OPEN in one compound, then the folder of attributes again. The handle, the stateid.
fn attribute(client: &Client, id: u64, file: &[u8], what: &[u8], sequence: u32) -> (Vec<u8>, Vec<u8>) {
    let open = open(id, b"mac", sequence, (3, 0), &words(&[1, 0, 0, 0]), what);
    let calls = [
        put(file),
        words(&[19, 1]),
        get_with_handle(),
        open,
        get_with_handle(),
        put(file),
        words(&[19, 0]),
        get(),
    ];
    let all = results(client, &calls);
    assert_eq!((object(&all[2]).0, object(&all[4]).0, object(&all[7]).0), (8, 9, 8)); // NF4ATTRDIR, NF4NAMEDATTR
    (handle_in(&all[4]), all[3][..16].to_vec())
}

/// getnamedattr, to read: LOOKUP, and the first bytes if there are any. NVERIFY is against the size 0.
fn prefetched(client: &Client, file: &[u8], what: &[u8]) -> Vec<u8> {
    let calls = [
        put(file),
        words(&[19, 0]),
        get_with_handle(),
        name(15, what),
        get_with_handle(),
        words(&[32]),
        put(file),
        words(&[19, 0]),
        get(),
        words(&[31]),
        words(&[17, 1, 1 << 4, 8, 0, 0]),
        words(&[25, 0, 0, 0, 0, 0, 0, 4096]),
    ];
    results(client, &calls)[11].clone()
}

fn write(state: &[u8], data: &[u8]) -> Vec<u8> {
    [words(&[38]), state.to_vec(), words(&[0, 0, 2]), opaque(data)].concat()
}

fn close(state: &[u8], sequence: u32) -> Vec<u8> {
    [words(&[4, sequence]), state.to_vec()].concat()
}

fn finder_info() -> [u8; 32] {
    let mut info = [0; 32];
    info[..8].copy_from_slice(b"TEXTttxt");
    info
}

#[test]
fn a_mac_copies_a_file_with_its_fork_and_finder_info_and_names_it_at_the_end() {
    let client = client();
    let id = registered(&client, b"mac", 1);
    let folder = mounted(&client);
    let (file, state) = created(&client, id, &folder, b".part", 1);
    let all = results(&client, &[put(&file), write(&state, b"data"), get()]);
    assert_eq!((&all[1][..4], object(&all[2]).1), (&words(&[4])[..], 4));
    let (info, info_state) = attribute(&client, id, &file, FINDER_INFO, 3);
    results(&client, &[put(&info), write(&info_state, &finder_info()), get()]);
    results(&client, &[put(&info), close(&info_state, 4), get()]);
    let (fork, fork_state) = attribute(&client, id, &file, RESOURCE_FORK, 5);
    results(&client, &[put(&fork), write(&fork_state, b"fork"), get()]);
    results(&client, &[put(&fork), close(&fork_state, 6), get()]);
    results(&client, &[put(&file), close(&state, 7), get()]);
    // rename: PUTFH of the old folder, SAVEFH, PUTFH of the new one, RENAME, and the attributes of both.
    let rename = [name(29, b".part"), opaque(b"copy")].concat();
    results(&client, &[put(&folder), words(&[32]), put(&folder), rename, get(), words(&[31]), get()]);
    let look_up = results(&client, &[put(&folder), name(15, b"copy"), get_with_handle()]);
    assert_eq!((object(&look_up[2]), handle_in(&look_up[2])), ((1, 4, 1), file.clone())); // it has named attributes
    let read = |bytes: &[u8]| [words(&[1]), opaque(bytes)].concat();
    assert_eq!(prefetched(&client, &file, FINDER_INFO), read(&finder_info()));
    assert_eq!(prefetched(&client, &file, RESOURCE_FORK), read(b"fork"));
    // Clients of AFP and SMB see the same.
    let volume = client.service.export_named(b"docs").expect("a share").volume.clone();
    let root = volume.root().unwrap().object;
    let found = volume.lookup(&Caller::root(), &root, b"copy").unwrap();
    let place = Beside { folder: &root, name: b"copy" };
    let info = volume.metadata(&found, Some(place)).unwrap().finder_info;
    assert_eq!(info, FinderInfo::from_prefix(&finder_info()));
    assert_eq!(volume.fork_len(&found, place), Ok(4));
}

#[test]
fn a_mac_lists_a_folder_and_the_attributes_of_a_file() {
    let client = client();
    let id = registered(&client, b"mac", 1);
    let folder = mounted(&client);
    let (file, _) = created(&client, id, &folder, b"one", 1);
    let (fork, state) = attribute(&client, id, &file, RESOURCE_FORK, 3);
    results(&client, &[put(&fork), write(&state, b"fork"), get()]);
    // readdirplus: the attributes of each object, its handle, and errors in their place.
    let attributes = words(&[2, OBJECT[0] | FILEHANDLE | RDATTR_ERROR, OBJECT[1]]);
    let list = |handle: &[u8]| {
        let read = [words(&[26, 0, 0, 0, 0, 8192, 32768]), attributes.clone()].concat();
        results(&client, &[put(handle), get(), read])[2].clone()
    };
    let listed = |bytes: &[u8], name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
    let entries = list(&folder);
    assert!(listed(&entries, &opaque(b"one")) && listed(&entries, &opaque(&file)));
    assert_eq!(entries[entries.len() - 8..], words(&[0, 1])); // no more entries, the end
    let attribute_folder = results(&client, &[put(&file), words(&[19, 0]), get_with_handle()]);
    assert!(listed(&list(&handle_in(&attribute_folder[2])), &opaque(RESOURCE_FORK)));
}

#[test]
fn a_mac_locks_with_the_attributes_first_and_removes_what_it_closed() {
    let client = client();
    let id = registered(&client, b"mac", 1);
    let folder = mounted(&client);
    let (file, state) = created(&client, id, &folder, b"one", 1);
    // lock: PUTFH, GETATTR, LOCK of all of the file for writing, by the open and a new owner of locks.
    let owner =
        [words(&[1, 3]), state.clone(), words(&[1]), id.to_be_bytes().to_vec(), opaque(b"lock")].concat();
    let lock = [words(&[12, 2, 0]), words(&[0, 0, u32::MAX, u32::MAX]), owner].concat();
    let locked = results(&client, &[put(&file), get(), lock])[2].clone();
    let unlock = [words(&[14, 2, 2]), locked, words(&[0, 0, u32::MAX, u32::MAX])].concat();
    results(&client, &[put(&file), get(), unlock]);
    results(&client, &[put(&file), close(&state, 4), get()]);
    results(&client, &[put(&folder), name(28, b"one"), get()]);
    let (status, _) = at(&client, &folder, &[name(15, b"one")]);
    assert_eq!(status, 2); // NFS4ERR_NOENT
}
