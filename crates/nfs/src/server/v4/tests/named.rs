//! Named attributes, RFC 7530 5.3, by the layouts of RFC 7531, and the same as other protocols see them.

use vfs::backend::{Found, Stability};
use vfs::mac::{FileBits, FinderInfo};
use vfs::state::{Modes, Stream};
use vfs::{Beside, Caller, OpenOptions, Volume};

use super::*;
use crate::server::testing::actor;

const FINDER_INFO: &[u8] = b"com.apple.FinderInfo";
const RESOURCE_FORK: &[u8] = b"com.apple.ResourceFork";
const ANONYMOUS: [u8; 16] = [0; 16];

fn open_folder(create: u32) -> Vec<u8> {
    words(&[19, create])
}

fn lookup(name: &[u8]) -> Vec<u8> {
    [words(&[15]), opaque(name)].concat()
}

fn put_handle(handle: &[u8]) -> Vec<u8> {
    [words(&[22]), opaque(handle)].concat()
}

/// The handle in the results of a GETFH that is the last operation.
fn last_handle(reply: &[u8]) -> Vec<u8> {
    let at = reply.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap();
    let length = u32::from_be_bytes(reply[at + 8..at + 12].try_into().unwrap()) as usize;
    reply[at + 12..at + 12 + length].to_vec()
}

/// A file `f` of user 1000, its handle, and that of the folder of its attributes.
fn file(client: &Client) -> (u64, Vec<u8>, Vec<u8>) {
    let id = registered(client, b"me", 1);
    let handle = opened(client, id, b"first", (3, 0), b"f").1;
    let (status, reply) = at(client, &handle, &[open_folder(1), words(&[10])]);
    assert_eq!(status, 0);
    (id, handle, last_handle(&reply))
}

/// UNCHECKED4 with the size 0.
fn emptied() -> Vec<u8> {
    words(&[1, 0, 1, 0x10, 8, 0, 0])
}

/// An attribute that is open for reading and writing, and confirmed: its stateid and its handle.
fn opened_in(client: &Client, folder: &[u8], id: u64, owner: &[u8], name: &[u8]) -> (StateBytes, Vec<u8>) {
    let calls = [open(id, owner, 1, (3, 0), &emptied(), name), words(&[10])];
    let (status, reply) = at(client, folder, &calls);
    assert_eq!((status, &reply[..8]), (0, &words(&[18, 0])[..]));
    let (state, handle) = (reply[8..24].to_vec(), last_handle(&reply));
    let confirm = [words(&[20]), state, words(&[2])].concat();
    let (status, reply) = at(client, &handle, &[confirm]);
    assert_eq!(status, 0);
    (reply[8..24].try_into().unwrap(), handle)
}

fn write(state: &[u8], offset: u32, data: &[u8]) -> Vec<u8> {
    [words(&[38]), state.to_vec(), words(&[0, offset, 2]), opaque(data)].concat()
}

fn read(state: &[u8], offset: u32, count: u32) -> Vec<u8> {
    [words(&[25]), state.to_vec(), words(&[0, offset, count])].concat()
}

fn read_back(data: &[u8]) -> Vec<u8> {
    [words(&[25, 0, 1]), opaque(data)].concat()
}

fn volume(client: &Client) -> std::sync::Arc<Volume> {
    client.service.export_named(b"docs").expect("a share").volume.clone()
}

fn found(client: &Client, name: &[u8]) -> Found {
    let volume = volume(client);
    volume.lookup(&Caller::root(), &volume.root().unwrap().object, name).unwrap()
}

#[test]
fn the_folder_is_there_when_a_file_has_attributes_or_a_client_wants_to_make_one() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let handle = opened(&client, id, b"o", (3, 0), b"f").1;
    let named_attr = words(&[9, 1, 1 << 7]);
    assert_eq!(at(&client, &handle, &[open_folder(0)]).0, 2); // NFS4ERR_NOENT
    assert_eq!(at(&client, &handle, std::slice::from_ref(&named_attr)).1[16..], words(&[4, 0]));
    let (status, reply) = at(&client, &handle, &[open_folder(1), words(&[9, 1, 2]), words(&[10])]);
    // GETATTR: type (1) is NF4ATTRDIR (8).
    assert_eq!((status, &reply[..28]), (0, &words(&[19, 0, 9, 0, 1, 2, 4])[..]));
    assert_eq!(reply[28..32], words(&[8]));
    let folder = last_handle(&reply);
    let (state, attribute) = opened_in(&client, &folder, id, b"a", b"note");
    assert_eq!(at(&client, &attribute, &[write(&state, 0, b"hello")]).0, 0);
    assert_eq!(at(&client, &handle, &[open_folder(0)]).0, 0);
    assert_eq!(at(&client, &handle, &[named_attr]).1[16..], words(&[4, 1]));
    // LOOKUPP leads to the file. There are no attributes of attributes.
    let (status, reply) = at(&client, &folder, &[words(&[16]), words(&[10])]);
    assert_eq!((status, last_handle(&reply)), (0, handle));
    assert_eq!(at(&client, &folder, &[open_folder(1)]).0, 22);
    assert_eq!(at(&client, &attribute, &[open_folder(1)]).0, 22);
    // The share's own folder has none, and sidecars and the pseudo-root neither: NFS4ERR_NOTSUPP.
    assert_eq!(in_docs(&client, &[open_folder(1)]).0, 10004);
    assert_eq!(compound(&client, 2, &[words(&[24]), open_folder(1)].concat())[..4], words(&[10004]));
}

#[test]
fn an_attribute_is_written_read_listed_and_a_stream_of_other_protocols() {
    let client = client();
    let (id, _, folder) = file(&client);
    let name = b"com.apple.metadata:_kMDItemUserTags";
    let (state, attribute) = opened_in(&client, &folder, id, b"a", name);
    assert_eq!(at(&client, &attribute, &[write(&state, 2, b"hello")]).0, 0);
    assert_eq!(at(&client, &attribute, &[read(&state, 0, 100)]), (0, read_back(b"\0\0hello")));
    // By the anonymous stateid, too.
    assert_eq!(at(&client, &attribute, &[read(&ANONYMOUS, 2, 100)]), (0, read_back(b"hello")));
    // type (1) is NF4NAMEDATTR (9), size (4).
    let get = words(&[9, 1, 0x12]);
    assert_eq!(at(&client, &attribute, &[get]), (0, words(&[9, 0, 1, 0x12, 12, 9, 0, 7])));
    let listing = words(&[26, 0, 0, 0, 0, 512, 4096, 1, 2]);
    let (status, reply) = at(&client, &folder, &[listing]);
    assert_eq!(status, 0);
    assert_eq!(reply[28..28 + 40], opaque(name));
    assert_eq!(reply[68..], words(&[1, 2, 4, 9, 0, 1]));
    let streams = volume(&client);
    let root = streams.root().unwrap();
    let place = Beside { folder: &root.object, name: b"f" };
    let stream = streams.stateless().streams_now(&found(&client, b"f"), place).unwrap();
    assert_eq!((stream.len(), &stream[0].name[..], stream[0].len), (1, &name[..], 7));
    // SETATTR of the size (4), then of the mode (33): only attributes of files have that.
    let cut = [&words(&[34])[..], &state, &words(&[1, 0x10, 8, 0, 3])].concat();
    assert_eq!(at(&client, &attribute, &[cut]), (0, words(&[34, 0, 1, 0x10])));
    assert_eq!(at(&client, &attribute, &[read(&state, 0, 100)]).1, read_back(b"\0\0h"));
    let mode = [&words(&[34])[..], &ANONYMOUS, &words(&[2, 0, 2, 4, 0o600])].concat();
    assert_eq!(at(&client, &attribute, &[mode]).0, 22);
    // RENAME inside the folder, then REMOVE. CLOSE before: open files have their names.
    assert_eq!(
        at(&client, &attribute, &[[words(&[4, 3]), state.to_vec()].concat(), words(&[5, 0, 0, 0])]).0,
        0
    );
    let rename = [words(&[29]), opaque(name), opaque(b"other")].concat();
    assert_eq!(at(&client, &folder, &[words(&[32]), rename]).0, 0);
    assert_eq!(
        (at(&client, &folder, &[lookup(name)]).0, at(&client, &folder, &[lookup(b"other")]).0),
        (2, 0)
    );
    let remove = [words(&[28]), opaque(b"other")].concat();
    assert_eq!(at(&client, &folder, std::slice::from_ref(&remove)).0, 0);
    assert_eq!(at(&client, &folder, &[remove]).0, 2);
}

#[test]
fn finder_info_and_resource_fork_are_those_of_macs() {
    let client = client();
    let (id, _, folder) = file(&client);
    let (volume, file) = (volume(&client), found(&client, b"f"));
    let root = volume.root().unwrap();
    let place = Beside { folder: &root.object, name: b"f" };
    assert_eq!(at(&client, &folder, &[lookup(FINDER_INFO)]).0, 2);
    let (state, attribute) = opened_in(&client, &folder, id, b"a", FINDER_INFO);
    let info = [b"TEXTttxt".to_vec(), vec![0; 24]].concat();
    assert_eq!(at(&client, &attribute, &[write(&state, 0, &info)]).0, 0);
    assert_eq!(volume.metadata(&file, Some(place)).unwrap().finder_info, FinderInfo::from_prefix(&info));
    assert_eq!(at(&client, &attribute, &[read(&state, 4, 100)]).1, read_back(&info[4..]));
    assert_eq!(at(&client, &attribute, &[write(&state, 30, b"abc")]).0, 27); // NFS4ERR_FBIG
    // A Mac writes the resource fork.
    let options = OpenOptions {
        stream: Stream::Resource,
        create: true,
        place: Some(place),
        ..OpenOptions::data(Modes::READ.union(Modes::WRITE))
    };
    let fork = now(volume.open(&actor(&Caller::root()), &file, options)).unwrap();
    now(fork.write_at(0, bytes::Bytes::from_static(b"resources"), Stability::File)).unwrap();
    drop(fork);
    let (status, reply) =
        at(&client, &folder, &[lookup(RESOURCE_FORK), words(&[9, 1, 0x10]), read(&ANONYMOUS, 0, 99)]);
    assert_eq!(status, 0);
    assert_eq!(reply[8..], [words(&[9, 0, 1, 0x10, 8, 0, 9]), read_back(b"resources")].concat());
    // REMOVE of both.
    for name in [FINDER_INFO, RESOURCE_FORK] {
        let remove = [words(&[28]), opaque(name)].concat();
        let close = [words(&[4, 3]), state.to_vec()].concat();
        if name == FINDER_INFO {
            assert_eq!(at(&client, &attribute, &[close]).0, 0);
        }
        assert_eq!(at(&client, &folder, &[remove]).0, 0, "{}", name.escape_ascii());
        assert_eq!(at(&client, &folder, &[lookup(name)]).0, 2);
    }
    assert_eq!(volume.fork_len(&file, place), Ok(0));
}

#[test]
fn rights_locks_and_denials_bind_attributes() {
    let client = client();
    let (id, handle, folder) = file(&client);
    let (state, attribute) = opened_in(&client, &folder, id, b"a", b"note");
    assert_eq!(at(&client, &attribute, &[write(&state, 0, b"hello")]).0, 0);
    // Mode 0600: another user neither finds the folder nor reads by a handle.
    let mode = [&words(&[34])[..], &ANONYMOUS, &words(&[2, 0, 2, 4, 0o600])].concat();
    assert_eq!(at(&client, &handle, &[mode]).0, 0);
    let other = client.clone().user(2000);
    assert_eq!(at(&other, &handle, &[open_folder(0)]).0, 13);
    assert_eq!(at(&other, &attribute, &[read(&ANONYMOUS, 0, 9)]).0, 13);
    assert_eq!(at(&other, &attribute, &[write(&ANONYMOUS, 0, b"x")]).0, 13);
    assert_eq!(at(&other, &folder, &[[words(&[28]), opaque(b"note")].concat()]).0, 13);
    assert_eq!(at(&other, &folder, &[words(&[3, 0x3f])]).1, words(&[3, 0, 0x1f, 0]));
    // An open that denies writing excludes others: SHARE_DENIED.
    let second = registered(&client, b"you", 2);
    let deny = open(second, b"b", 1, (1, 2), &words(&[0]), b"note");
    assert_eq!(at(&client, &folder, &[deny]).0, 10015);
    // A file that a Mac has locked does not change: PERM.
    let locked = found(&client, b"f");
    let lock = |metadata: &mut vfs::mac::Metadata| metadata.bits.insert(FileBits::WRITE_INHIBIT);
    volume(&client).change_metadata(&actor(&Caller::root()), &locked, None, lock).unwrap();
    assert_eq!(at(&client, &attribute, &[write(&ANONYMOUS, 0, b"x")]).0, 1);
    assert_eq!(at(&client, &folder, &[[words(&[28]), opaque(b"note")].concat()]).0, 1);
    assert_eq!(at(&client, &attribute, &[read(&ANONYMOUS, 0, 9)]).1, read_back(b"hello"));
}

#[test]
fn what_attributes_do_not_have_is_refused() {
    let client = client();
    let (id, handle, folder) = file(&client);
    let (state, attribute) = opened_in(&client, &folder, id, b"a", b"note");
    // Names: longer than a handle has room for, and those that no entry has.
    let long = open(id, b"b", 1, (3, 0), &emptied(), &[b'n'; 65]);
    assert_eq!(at(&client, &folder, &[long]).0, 63);
    assert_eq!(at(&client, &folder, &[lookup(b"..")]).0, 10041);
    // An exclusive OPEN: NOTSUPP. CREATE and LINK in the folder: INVAL. LOOKUP in an attribute: NOTDIR.
    let exclusive = open(id, b"c", 1, (3, 0), &[words(&[1, 2]), b"verifier".to_vec()].concat(), b"x");
    assert_eq!(at(&client, &folder, &[exclusive]).0, 10004);
    let make = [words(&[6, 2]), opaque(b"d"), words(&[0, 0])].concat();
    assert_eq!(at(&client, &folder, &[make]).0, 22);
    let link = [words(&[11]), opaque(b"g")].concat();
    assert_eq!(at(&client, &handle, &[words(&[32]), put_handle(&folder), link]).0, 22);
    assert_eq!(at(&client, &attribute, &[lookup(b"x")]).0, 20);
    // RENAME out of the folder: XDEV. READ of the folder: ISDIR. LOCK of an attribute: INVAL.
    let rename = [words(&[29]), opaque(b"note"), opaque(b"x")].concat();
    assert_eq!(at(&client, &handle, &[words(&[32]), put_handle(&folder), rename]).0, 18);
    assert_eq!(at(&client, &folder, &[read(&ANONYMOUS, 0, 1)]).0, 21);
    let owner = [id.to_be_bytes().to_vec(), opaque(b"locker")].concat();
    let new_locker = [words(&[1, 3]), state.to_vec(), words(&[0]), owner].concat();
    let lock = [words(&[12, 2, 0, 0, 0, 0, 1]), new_locker].concat();
    assert_eq!(at(&client, &attribute, &[lock]).0, 22);
    // Version 3 has no such handles: NFS3ERR_BADHANDLE.
    let answer = now(client.call_raw((PROGRAM, 3, 1), &opaque(&folder))).unwrap();
    assert_eq!(answer.results, words(&[10001]));
}
