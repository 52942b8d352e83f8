//! NFSv3, one seed for each shape of each procedure. The selector is the procedure's number.

use nfs::wire::v3::types::*;
use nfs::wire::v3::*;
use nfs::wire::xdr::Encode;

use super::{Seed, chosen};

const HANDLE: &[u8] = &[0x42; 32];
const VERIFIER: Verifier = *b"verifier";

fn handle() -> FileHandle<'static> {
    FileHandle::new(HANDLE)
}

fn place() -> DirOpArgs<'static> {
    DirOpArgs { dir: handle(), name: Name::new(b"notes.txt") }
}

fn settings() -> Sattr3 {
    let mtime = SetTime::ToClientTime(NfsTime { seconds: 1_700_000_000, nanoseconds: 5 });
    Sattr3 {
        mode: Some(0o644),
        uid: Some(501),
        gid: None,
        size: Some(1 << 32),
        atime: SetTime::ToServerTime,
        mtime,
    }
}

fn attributes() -> Fattr3 {
    let time = NfsTime { seconds: 1_700_000_000, nanoseconds: 5 };
    Fattr3 {
        file_type: FileType::REG,
        mode: 0o644,
        nlink: 1,
        uid: 501,
        gid: 20,
        size: 11,
        used: 4096,
        rdev: SpecData::default(),
        fsid: 7,
        fileid: 99,
        atime: time,
        mtime: time,
        ctime: time,
    }
}

fn wcc() -> Wcc {
    Wcc { before: Some(attributes().wcc()), after: Some(attributes()) }
}

fn request(name: &'static str, procedure: Procedure, message: &impl Encode) -> Seed {
    chosen("nfs_v3_requests", name, procedure.0 as u8, message)
}

fn reply(name: &'static str, procedure: Procedure, message: &impl Encode) -> Seed {
    chosen("nfs_v3_replies", name, procedure.0 as u8, message)
}

pub fn requests() -> Vec<Seed> {
    let (object, file, dir, root) = (handle(), handle(), handle(), handle());
    let guard = Some(NfsTime { seconds: 1, nanoseconds: 2 });
    let (stable, data) = (write::StableHow::FILE_SYNC, Data::new(b"hello world"));
    let create = |how| create::Request { place: place(), how };
    let mknod = |what| mknod::Request { place: place(), what };
    let (attributes, device) = (settings(), SpecData { major: 8, minor: 1 });
    vec![
        request("getattr", Procedure::GETATTR, &getattr::Request { object }),
        request(
            "setattr",
            Procedure::SETATTR,
            &setattr::Request { object, new_attributes: settings(), guard },
        ),
        request("lookup", Procedure::LOOKUP, &lookup::Request { what: place() }),
        request("access", Procedure::ACCESS, &access::Request { object, access: 0x3f }),
        request("readlink", Procedure::READLINK, &readlink::Request { symlink: handle() }),
        request("read", Procedure::READ, &read::Request { file, offset: 1 << 32, count: 1 << 20 }),
        request("write", Procedure::WRITE, &write::Request { file, offset: 0, count: 11, stable, data }),
        request("create-unchecked", Procedure::CREATE, &create(create::CreateHow::Unchecked(attributes))),
        request("create-guarded", Procedure::CREATE, &create(create::CreateHow::Guarded(attributes))),
        request("create-exclusive", Procedure::CREATE, &create(create::CreateHow::Exclusive(VERIFIER))),
        request("mkdir", Procedure::MKDIR, &mkdir::Request { place: place(), attributes }),
        request(
            "symlink",
            Procedure::SYMLINK,
            &symlink::Request { place: place(), attributes, data: Path::new(b"../elsewhere") },
        ),
        request("mknod-chr", Procedure::MKNOD, &mknod(mknod::MknodData::Chr(attributes, device))),
        request("mknod-blk", Procedure::MKNOD, &mknod(mknod::MknodData::Blk(attributes, device))),
        request("mknod-fifo", Procedure::MKNOD, &mknod(mknod::MknodData::Fifo(attributes))),
        request("mknod-dir", Procedure::MKNOD, &mknod(mknod::MknodData::Other(FileType::DIR))),
        request("remove", Procedure::REMOVE, &remove::Request { object: place() }),
        request("rmdir", Procedure::RMDIR, &rmdir::Request { object: place() }),
        request("rename", Procedure::RENAME, &rename::Request { from: place(), to: place() }),
        request("link", Procedure::LINK, &link::Request { file, link: place() }),
        request(
            "readdir",
            Procedure::READDIR,
            &readdir::Request { dir, cookie: 3, verifier: VERIFIER, count: 4096 },
        ),
        request(
            "readdirplus",
            Procedure::READDIRPLUS,
            &readdirplus::Request { dir, cookie: 3, verifier: VERIFIER, dircount: 512, maxcount: 8192 },
        ),
        request("fsstat", Procedure::FSSTAT, &fsstat::Request { root }),
        request("fsinfo", Procedure::FSINFO, &fsinfo::Request { root }),
        request("pathconf", Procedure::PATHCONF, &pathconf::Request { object }),
        request("commit", Procedure::COMMIT, &commit::Request { file, offset: 0, count: 0 }),
    ]
}

pub fn replies() -> Vec<Seed> {
    let post_op = Some(attributes());
    let made: create::Res<'_> =
        Ok(create::ResOk { object: Some(handle()), attributes: post_op, dir_wcc: wcc() });
    let found: lookup::Res<'_> =
        Ok(lookup::ResOk { object: handle(), attributes: post_op, dir_attributes: None });
    let committed = write::StableHow::UNSTABLE;
    let read = read::ResOkData { attributes: post_op, count: 3, eof: true, data: Data::new(b"abc") };
    let link: link::Res = Ok(link::ResOk { attributes: post_op, link_dir_wcc: wcc() });
    let rename: rename::Res = Ok(rename::ResOk { from_dir_wcc: wcc(), to_dir_wcc: Wcc::default() });
    let written: write::Res = Ok(write::ResOk { wcc: wcc(), count: 3, committed, verifier: VERIFIER });
    vec![
        reply("getattr", Procedure::GETATTR, &getattr::Res::Ok(getattr::ResOk { attributes: attributes() })),
        reply("getattr-stale", Procedure::GETATTR, &getattr::Res::Err(Status::STALE.into())),
        reply("setattr-fails", Procedure::SETATTR, &setattr::Res::Err(Fail::new(Status::NOT_SYNC, wcc()))),
        reply("lookup", Procedure::LOOKUP, &found),
        reply("lookup-noent", Procedure::LOOKUP, &lookup::Res::Err(Fail::new(Status::NOENT, post_op))),
        reply("read", Procedure::READ, &read::ResData::Ok(read)),
        reply("write", Procedure::WRITE, &written),
        reply("create", Procedure::CREATE, &made),
        reply("mkdir", Procedure::MKDIR, &made),
        reply("remove", Procedure::REMOVE, &remove::Res::Ok(remove::ResOk { dir_wcc: wcc() })),
        reply("rename", Procedure::RENAME, &rename),
        reply("link", Procedure::LINK, &link),
        reply("readdir", Procedure::READDIR, &listed()),
        reply("readdirplus", Procedure::READDIRPLUS, &listed_plus()),
        reply(
            "commit",
            Procedure::COMMIT,
            &commit::Res::Ok(commit::ResOk { wcc: wcc(), verifier: VERIFIER }),
        ),
    ]
}

fn listed() -> readdir::Res<'static> {
    let entry = |fileid, name| readdir::Entry { fileid, name: Name::new(name), cookie: fileid };
    let entries = vec![entry(1, b"."), entry(2, b".."), entry(3, b"notes.txt")];
    Ok(readdir::ResOk { dir_attributes: Some(attributes()), verifier: VERIFIER, entries, eof: true })
}

fn listed_plus() -> readdirplus::Res<'static> {
    let (attributes, handle) = (Some(attributes()), Some(handle()));
    let with = |fileid, attributes, handle| {
        let name = Name::new(b"notes.txt");
        readdirplus::Entry { fileid, name, cookie: fileid, attributes, handle }
    };
    let entries = vec![with(1, attributes, handle), with(2, None, None), with(3, attributes, None)];
    Ok(readdirplus::ResOk { dir_attributes: None, verifier: VERIFIER, entries, eof: false })
}
