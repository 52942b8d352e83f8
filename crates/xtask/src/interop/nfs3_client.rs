//! The crate `nfs3_client`: an independent implementation of RFC 1813 in Rust. Each test checks one
//! rule of the RFC.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use nfs3_client::nfs3_types::nfs3::{
    self, Nfs3Option, Nfs3Result, cookieverf3, createverf3, diropargs3, nfs_fh3,
};
use nfs3_client::nfs3_types::nfs3::{nfsstat3, sattr3, stable_how};
use nfs3_client::nfs3_types::rpc::{auth_unix, opaque_auth};
use nfs3_client::nfs3_types::xdr_codec::Opaque;
use nfs3_client::tokio::{TokioConnector, TokioIo};
use nfs3_client::{Nfs3Connection, Nfs3ConnectionBuilder};
use tokio::net::TcpStream;

use super::outcome::Outcomes;
use crate::server::{ExportAddress, UID};

type Connection = Nfs3Connection<TokioIo<TcpStream>>;

pub fn run(outcomes: &mut Outcomes, address: &ExportAddress) {
    let mut test = |name: &str, test: fn(MountedConnection) -> Test| {
        outcomes.run(&format!("nfs3_client: {name}"), &[], || within(20, address, test));
    };
    test("MNT gives the share's root", |c| Box::pin(root(c)));
    test("FSINFO offers 1 MiB and PATHCONF 255 bytes", |c| Box::pin(limits(c)));
    test("GUARDED CREATE refuses an existing name", |c| Box::pin(guarded_create(c)));
    test("EXCLUSIVE CREATE may be repeated by its owner alone", |c| Box::pin(exclusive_create(c)));
    test("a guarded SETATTR refuses another ctime", |c| Box::pin(guarded_setattr(c)));
    test("UNSTABLE WRITE and COMMIT share one verifier", |c| Box::pin(verifier(c)));
    test("READ past the end is empty and says so", |c| Box::pin(read_past_end(c)));
    test("every change carries the attributes before and after", |c| Box::pin(weak_cache_data(c)));
    test("a handle works after RENAME and is stale after REMOVE", |c| Box::pin(handles(c)));
    test("a forged handle is refused", |c| Box::pin(forged_handle(c)));
    test("names that cannot be are refused", |c| Box::pin(bad_names(c)));
    test("READDIRPLUS in small pages has each entry once while others go", |c| Box::pin(paging(c)));
}

type Test = std::pin::Pin<Box<dyn Future<Output = Result<()>>>>;

fn within(seconds: u64, address: &ExportAddress, test: fn(MountedConnection) -> Test) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let test = async { test(MountedConnection::connect(address).await?).await };
        tokio::time::timeout(Duration::from_secs(seconds), test).await.context("no answer in time")?
    })
}

/// Runs one call on a new connection.
fn once<T>(address: &ExportAddress, call: impl AsyncFnOnce(MountedConnection) -> Result<T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let call = async { call(MountedConnection::connect(address).await?).await };
        tokio::time::timeout(Duration::from_secs(20), call).await.context("no answer in time")?
    })
}

/// The handle of a file in the root of a share.
pub fn handle_of(address: &ExportAddress, name: &str) -> Result<nfs_fh3> {
    once(address, async |mut client| Ok(ok(client.lookup(name).await?)?.object))
}

/// The beginning of the file with this handle.
pub fn read_by(address: &ExportAddress, file: nfs_fh3) -> Result<Vec<u8>> {
    once(address, async |mut client| {
        let args = nfs3::READ3args { file, offset: 0, count: 4096 };
        Ok(ok(answered(client.connection.read(&args).await)?)?.data.as_ref().to_vec())
    })
}

/// Saves a file of the root of a share as many programs do: a new file takes its place.
pub fn save_over(address: &ExportAddress, name: &str, contents: &[u8]) -> Result<()> {
    once(address, async |mut client| {
        let file = client.fresh(".saving").await?;
        client.write(&file, contents, stable_how::FILE_SYNC).await?;
        let args = nfs3::RENAME3args { from: client.at(".saving"), to: client.at(name) };
        ok(answered(client.connection.rename(&args).await)?).map(drop)
    })
}

/// A mounted connection, and calls that most tests make.
struct MountedConnection {
    connection: Connection,
    root: nfs_fh3,
}

/// The result of a successful RPC. The test checks the status in it.
fn answered<T>(answer: Result<T, nfs3_client::RpcError>) -> Result<T> {
    answer.map_err(|error| anyhow!("{error:?}"))
}

fn ok<T, E>(answer: Nfs3Result<T, E>) -> Result<T> {
    match answer {
        Nfs3Result::Ok(value) => Ok(value),
        Nfs3Result::Err((status, _)) => Err(anyhow!("{status:?}")),
    }
}

fn status<T, E>(answer: &Nfs3Result<T, E>) -> Option<nfsstat3> {
    match answer {
        Nfs3Result::Ok(_) => None,
        Nfs3Result::Err((status, _)) => Some(*status),
    }
}

fn some<T: nfs3_client::nfs3_types::xdr_codec::Pack + nfs3_client::nfs3_types::xdr_codec::Unpack>(
    value: Nfs3Option<T>,
    what: &str,
) -> Result<T> {
    match value {
        Nfs3Option::Some(value) => Ok(value),
        Nfs3Option::None => Err(anyhow!("no {what}")),
    }
}

impl MountedConnection {
    async fn connect(address: &ExportAddress) -> Result<Self> {
        let credential = opaque_auth::auth_unix(&auth_unix {
            stamp: 1,
            machinename: Opaque::borrowed(b"interop"),
            uid: UID,
            gid: UID,
            gids: vec![],
        });
        let connection = Nfs3ConnectionBuilder::new(TokioConnector, "127.0.0.1", &address.export)
            .connect_from_privileged_port(false)
            .mount_port(address.mount_port)
            .nfs3_port(address.nfs_port)
            .credential(credential)
            .mount()
            .await
            .map_err(|error| anyhow!("mount: {error:?}"))?;
        let root = connection.root_nfs_fh3();
        Ok(Self { connection, root })
    }

    fn at<'a>(&self, name: &'a str) -> diropargs3<'a> {
        diropargs3 { dir: self.root.clone(), name: name.as_bytes().into() }
    }

    async fn create(&mut self, name: &str, how: nfs3::createhow3) -> Result<nfs3::CREATE3res> {
        let args = nfs3::CREATE3args { where_: self.at(name), how };
        answered(self.connection.create(&args).await)
    }

    /// A new empty file.
    async fn fresh(&mut self, name: &str) -> Result<nfs_fh3> {
        let _ = self.remove(name).await?;
        let made = ok(self.create(name, nfs3::createhow3::GUARDED(sattr3::default())).await?)?;
        some(made.obj, "handle from CREATE")
    }

    async fn remove(&mut self, name: &str) -> Result<nfs3::REMOVE3res> {
        let args = nfs3::REMOVE3args { object: self.at(name) };
        answered(self.connection.remove(&args).await)
    }

    async fn lookup(&mut self, name: &str) -> Result<nfs3::LOOKUP3res> {
        let args = nfs3::LOOKUP3args { what: self.at(name) };
        answered(self.connection.lookup(&args).await)
    }

    async fn write(&mut self, file: &nfs_fh3, data: &[u8], stable: stable_how) -> Result<nfs3::WRITE3resok> {
        let args = nfs3::WRITE3args {
            file: file.clone(),
            offset: 0,
            count: data.len() as u32,
            stable,
            data: Opaque::borrowed(data),
        };
        ok(answered(self.connection.write(&args).await)?)
    }

    async fn attributes(&mut self, object: &nfs_fh3) -> Result<nfs3::fattr3> {
        let args = nfs3::GETATTR3args { object: object.clone() };
        Ok(ok(answered(self.connection.getattr(&args).await)?)?.obj_attributes)
    }
}

async fn root(mut c: MountedConnection) -> Result<()> {
    let root = c.root.clone();
    ensure!(matches!(c.attributes(&root).await?.type_, nfs3::ftype3::NF3DIR), "it is not a folder");
    Ok(())
}

/// RFC 1813 3.3.19 and 3.3.20.
async fn limits(mut c: MountedConnection) -> Result<()> {
    let info = ok(answered(c.connection.fsinfo(&nfs3::FSINFO3args { fsroot: c.root.clone() }).await)?)?;
    ensure!(info.rtmax == 1 << 20 && info.wtmax == 1 << 20, "rtmax {} wtmax {}", info.rtmax, info.wtmax);
    ensure!(info.rtpref <= info.rtmax && info.wtpref <= info.wtmax, "preferred sizes above the largest");
    // FSF3_LINK, FSF3_SYMLINK, FSF3_HOMOGENEOUS, FSF3_CANSETTIME
    ensure!(info.properties & 0x1b == 0x1b, "properties {:#x}", info.properties);
    let path = ok(answered(c.connection.pathconf(&nfs3::PATHCONF3args { object: c.root.clone() }).await)?)?;
    ensure!(path.name_max == 255 && path.no_trunc && path.case_preserving, "{path:?}");
    Ok(())
}

/// RFC 1813 3.3.8: GUARDED checks for the object before the CREATE.
async fn guarded_create(mut c: MountedConnection) -> Result<()> {
    c.fresh("guarded").await?;
    let again = c.create("guarded", nfs3::createhow3::GUARDED(sattr3::default())).await?;
    ensure!(status(&again) == Some(nfsstat3::NFS3ERR_EXIST), "{again:?}");
    ok(c.create("guarded", nfs3::createhow3::UNCHECKED(sattr3::default())).await?)?;
    Ok(())
}

/// RFC 1813 3.3.8: the same verifier means the request was repeated.
async fn exclusive_create(mut c: MountedConnection) -> Result<()> {
    let _ = c.remove("exclusive").await?;
    let how = |byte| nfs3::createhow3::EXCLUSIVE(createverf3([byte; 8]));
    let first = some(ok(c.create("exclusive", how(1)).await?)?.obj, "handle")?;
    let again = some(ok(c.create("exclusive", how(1)).await?)?.obj, "handle")?;
    ensure!(first == again, "the repeated request made another file");
    let other = c.create("exclusive", how(2)).await?;
    ensure!(status(&other) == Some(nfsstat3::NFS3ERR_EXIST), "{other:?}");
    Ok(())
}

/// RFC 1813 3.3.2.
async fn guarded_setattr(mut c: MountedConnection) -> Result<()> {
    let file = c.fresh("setattr").await?;
    let ctime = c.attributes(&file).await?.ctime;
    let set = |ctime| nfs3::SETATTR3args {
        object: file.clone(),
        new_attributes: sattr3 { mode: Nfs3Option::Some(0o640), ..sattr3::default() },
        guard: Nfs3Option::Some(ctime),
    };
    let (wrong, right) = (set(nfs3::nfstime3 { seconds: ctime.seconds - 1, ..ctime }), set(ctime));
    let refused = answered(c.connection.setattr(&wrong).await)?;
    ensure!(status(&refused) == Some(nfsstat3::NFS3ERR_NOT_SYNC), "{refused:?}");
    ok(answered(c.connection.setattr(&right).await)?)?;
    ensure!(c.attributes(&file).await?.mode & 0o7777 == 0o640, "the mode was not set");
    Ok(())
}

/// RFC 1813 3.3.7 and 3.3.21.
async fn verifier(mut c: MountedConnection) -> Result<()> {
    let file = c.fresh("verifier").await?;
    let first = c.write(&file, b"one", stable_how::UNSTABLE).await?;
    let second = c.write(&file, b"two", stable_how::UNSTABLE).await?;
    let args = nfs3::COMMIT3args { file: file.clone(), offset: 0, count: 0 };
    let committed = ok(answered(c.connection.commit(&args).await)?)?;
    ensure!(first.verf == second.verf && second.verf == committed.verf, "it changes while the server runs");
    let synced = c.write(&file, b"three", stable_how::FILE_SYNC).await?;
    ensure!(matches!(synced.committed, stable_how::FILE_SYNC), "FILE_SYNC became {:?}", synced.committed);
    Ok(())
}

/// RFC 1813 3.3.6.
async fn read_past_end(mut c: MountedConnection) -> Result<()> {
    let file = c.fresh("short").await?;
    c.write(&file, b"0123456789", stable_how::UNSTABLE).await?;
    for (offset, count, wanted, eof) in [
        (0, 10, 10, true),
        (0, 9, 9, false),
        (5, 100, 5, true),
        (10, 1, 0, true),
        (1 << 40, 1, 0, true),
        (3, 0, 0, false),
    ] {
        let args = nfs3::READ3args { file: file.clone(), offset, count };
        let got = ok(answered(c.connection.read(&args).await)?)?;
        let len = got.data.len();
        ensure!(
            len == wanted && got.count as usize == wanted,
            "{count} at {offset}: {len} bytes, count {}",
            got.count
        );
        ensure!(got.eof == eof, "{count} at {offset}: end of file is {}", got.eof);
    }
    Ok(())
}

/// RFC 1813 2.6: wcc_data.
async fn weak_cache_data(mut c: MountedConnection) -> Result<()> {
    let file = c.fresh("wcc").await?;
    let before = c.attributes(&file).await?;
    let wcc = c.write(&file, b"12345", stable_how::UNSTABLE).await?.file_wcc;
    let (pre, post) =
        (some(wcc.before, "attributes before WRITE")?, some(wcc.after, "attributes after WRITE")?);
    ensure!(pre.size == 0 && pre.mtime == before.mtime, "before WRITE: {pre:?}");
    ensure!(post.size == 5 && post.fileid == before.fileid, "after WRITE: {post:?}");
    let folder = ok(c.remove("wcc").await?)?.dir_wcc;
    some(folder.before, "attributes before REMOVE")?;
    some(folder.after, "attributes after REMOVE")?;
    Ok(())
}

/// RFC 1813 2.3.3: a handle names the file, not its path.
async fn handles(mut c: MountedConnection) -> Result<()> {
    let file = c.fresh("handle").await?;
    let _ = c.remove("renamed").await?;
    let args = nfs3::RENAME3args { from: c.at("handle"), to: c.at("renamed") };
    ok(answered(c.connection.rename(&args).await)?)?;
    c.write(&file, b"still", stable_how::UNSTABLE).await?;
    let found = ok(c.lookup("renamed").await?)?;
    ensure!(found.object == file, "RENAME changed the handle");
    ok(c.remove("renamed").await?)?;
    let gone = answered(c.connection.getattr(&nfs3::GETATTR3args { object: file }).await)?;
    ensure!(status(&gone) == Some(nfsstat3::NFS3ERR_STALE), "{gone:?}");
    Ok(())
}

async fn forged_handle(mut c: MountedConnection) -> Result<()> {
    let good = c.fresh("forged").await?.data.to_vec();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        let object = nfs_fh3 { data: Opaque::owned(bytes) };
        let answer = answered(c.connection.getattr(&nfs3::GETATTR3args { object }).await)?;
        let refusals = [Some(nfsstat3::NFS3ERR_BADHANDLE), Some(nfsstat3::NFS3ERR_STALE)];
        ensure!(refusals.contains(&status(&answer)), "byte {at} changed: {answer:?}");
    }
    Ok(())
}

/// RFC 1813 3.3.3 and 3.3.8: a slash cannot be in a name; 256 bytes are more than PATHCONF said.
async fn bad_names(mut c: MountedConnection) -> Result<()> {
    for name in ["a/b", "", "nul\0byte"] {
        let answer = c.create(name, nfs3::createhow3::GUARDED(sattr3::default())).await?;
        let refusals =
            [Some(nfsstat3::NFS3ERR_ACCES), Some(nfsstat3::NFS3ERR_INVAL), Some(nfsstat3::NFS3ERR_NOENT)];
        ensure!(refusals.contains(&status(&answer)), "{name:?}: {answer:?}");
    }
    for name in [".", ".."] {
        let answer = c.remove(name).await?;
        ensure!(status(&answer).is_some(), "REMOVE of {name:?} succeeds");
    }
    let long = c.create(&"n".repeat(256), nfs3::createhow3::GUARDED(sattr3::default())).await?;
    ensure!(status(&long) == Some(nfsstat3::NFS3ERR_NAMETOOLONG), "{long:?}");
    let up = ok(c.lookup("..").await?)?;
    ensure!(up.object == c.root, ".. of the root is not the root");
    Ok(())
}

/// RFC 1813 3.3.17: an entry that exists all the time is listed exactly once.
async fn paging(mut c: MountedConnection) -> Result<()> {
    const KEPT: usize = 150;
    let args = nfs3::MKDIR3args {
        where_: c.at("paging"),
        attributes: sattr3 { mode: Nfs3Option::Some(0o755), ..sattr3::default() },
    };
    let folder = some(ok(answered(c.connection.mkdir(&args).await)?)?.obj, "handle")?;
    let root = std::mem::replace(&mut c.root, folder.clone());
    for i in 0..KEPT {
        c.fresh(&format!("kept {i:03}")).await?;
        c.fresh(&format!("gone {i:03}")).await?;
    }
    let (mut names, mut cookie, mut verifier, mut page) = (Vec::new(), 0, cookieverf3::default(), 0);
    loop {
        let args = nfs3::READDIRPLUS3args {
            dir: folder.clone(),
            cookie,
            cookieverf: verifier,
            dircount: 512,
            maxcount: 4096,
        };
        let listed = ok(answered(c.connection.readdirplus(&args).await)?)?;
        ensure!(!listed.reply.entries.is_empty() || listed.reply.eof, "an empty page that is not the last");
        verifier = listed.cookieverf;
        for entry in listed.reply.entries.into_inner() {
            cookie = entry.cookie;
            names.push(String::from_utf8_lossy(entry.name.0.as_ref()).into_owned());
        }
        if listed.reply.eof {
            break;
        }
        let _ = c.remove(&format!("gone {page:03}")).await?;
        page += 1;
    }
    ensure!(page > 3, "only {page} pages: the sizes asked for were not heeded");
    names.retain(|name| name.starts_with("kept "));
    let listed = names.len();
    names.sort();
    names.dedup();
    ensure!(listed == KEPT && names.len() == KEPT, "{listed} entries, {} different, not {KEPT}", names.len());
    c.root = root;
    Ok(())
}
