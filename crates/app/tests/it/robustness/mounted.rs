//! `fourfold mount`: the kernel and the host's programs work in a tree that comes over SMB, AFP or NFS; what they did is looked at in
//! the folder that is served, and over another protocol.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use client::metadata::{Aspect, AspectState, MetadataValue};
use client::tree::Tree;
use client::{Connector, Reach, Target};
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};

use crate::robustness::server::{Server, USER, folder};
use crate::waiting::until;

const PATIENCE: Duration = Duration::from_secs(30);

/// A mounted folder, which is unmounted when dropped.
struct MountedFolder {
    program: Child,
    at: PathBuf,
}

impl MountedFolder {
    fn new(url: &str, at: &Path) -> Self {
        fs::create_dir_all(at).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_fourfold"))
            .args(["mount", url, at.to_str().unwrap(), "--timeout", "10"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert!(said.contains("is mounted"), "{url}: {said:?}, {:?}", program.try_wait());
        Self { program, at: at.to_owned() }
    }

    /// SIGTERM; returns the exit code.
    fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.program);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.wait()
    }

    fn wait(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.program.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
            // A child that another test has just forked may have held a file of the tree when the program unmounted it.
            if Instant::now() + PATIENCE / 2 > end {
                let _ = Command::new("umount").arg(&self.at).stderr(Stdio::null()).status();
            }
        }
        panic!("the mount did not end");
    }
}

impl Drop for MountedFolder {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).stderr(Stdio::null()).status();
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn can_mount() -> bool {
    let can = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
    if !can {
        eprintln!("skipped: needs root and /dev/fuse");
    }
    can
}

fn urls(server: &Server) -> [(&'static str, String); 3] {
    let (user, password) = USER;
    let (smb, afp, nfs) = (server.smb_port, server.afp_port, server.port);
    [
        ("smb", format!("smb://{user}:{password}@127.0.0.1:{smb}/share")),
        ("afp", format!("afp://{user}:{password}@127.0.0.1:{afp}/share?login=cleartext")),
        ("nfs", format!("nfs://127.0.0.1:{nfs}/share?mountport={nfs}&uid=1000")),
    ]
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 64 << 10];
    match getxattr(path, name, &mut value[..]) {
        Ok(length) => Some(value[..length].to_vec()),
        Err(rustix::io::Errno::NODATA) => None,
        Err(error) => panic!("{}: {name}: {error}", path.display()),
    }
}

fn attributes(path: &Path) -> Vec<String> {
    let mut names = vec![0; 64 << 10];
    let length = listxattr(path, &mut names[..]).unwrap();
    let names = String::from_utf8(names[..length].to_vec()).unwrap();
    let mut names: Vec<String> =
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.sort();
    names
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The kernel tells a program of FUSE after the call that a file is closed; a removed file has a hidden name until then.
fn remove_folder(at: &Path) {
    let end = Instant::now() + PATIENCE;
    while let Err(error) = fs::remove_dir(at) {
        let is_soon_empty = error.kind() == std::io::ErrorKind::DirectoryNotEmpty && Instant::now() < end;
        assert!(is_soon_empty, "{}: {error}", at.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Data, names, folders, links and dates.
fn works_as_a_file_system(at: &Path, served: &Path) {
    let data: Vec<u8> = (0..3_000_001_u32).map(|at| (at * 7 / 3) as u8).collect();
    fs::write(at.join("film"), &data).unwrap();
    assert!(fs::read(served.join("film")).unwrap() == data, "what is written arrives");
    assert!(fs::read(at.join("film")).unwrap() == data, "and is read");
    let file = OpenOptions::new().read(true).write(true).open(at.join("film")).unwrap();
    file.write_all_at(b"changed", 1_000_000).unwrap();
    file.set_len(2_000_000).unwrap();
    file.sync_all().unwrap();
    let now = fs::read(served.join("film")).unwrap();
    assert_eq!((now.len(), &now[1_000_000..1_000_007]), (2_000_000, &b"changed"[..]));
    drop(file);
    let mut appended = OpenOptions::new().append(true).open(at.join("film")).unwrap();
    appended.write_all(b"end").unwrap();
    drop(appended);
    assert!(fs::read(served.join("film")).unwrap().ends_with(b"end"));

    fs::create_dir(at.join("folder")).unwrap();
    assert_eq!(fs::create_dir(at.join("folder")).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    fs::write(at.join("folder/a: \"b\"?"), b"a name that Windows forbids").unwrap();
    assert!(
        served.join("folder/a: \"b\"?").exists(),
        "{:?}",
        fs::read_dir(served.join("folder")).unwrap().collect::<Vec<_>>()
    );
    assert_eq!(fs::remove_dir(at.join("folder")).unwrap_err().kind(), std::io::ErrorKind::DirectoryNotEmpty);
    fs::rename(at.join("folder"), at.join("other")).unwrap();
    assert_eq!(fs::read(at.join("other/a: \"b\"?")).unwrap(), b"a name that Windows forbids");
    fs::remove_file(at.join("other/a: \"b\"?")).unwrap();
    remove_folder(&at.join("other"));
    assert!(!served.join("other").exists());

    fs::write(at.join("old"), b"old").unwrap();
    fs::write(at.join("new"), b"new").unwrap();
    let mut open = File::open(at.join("old")).unwrap();
    fs::rename(at.join("new"), at.join("old")).unwrap();
    assert_eq!(fs::read(served.join("old")).unwrap(), b"new", "a rename replaces");
    let mut still = String::new();
    open.read_to_string(&mut still).unwrap();
    assert_eq!(still, "old", "what was replaced is read as long as it is open");
    drop(open);
    let mut open = OpenOptions::new().read(true).write(true).open(at.join("old")).unwrap();
    fs::remove_file(at.join("old")).unwrap();
    open.seek(SeekFrom::Start(0)).unwrap();
    open.write_all(b"NEW").unwrap();
    drop(open);

    std::os::unix::fs::symlink("film", at.join("link")).unwrap();
    assert_eq!(fs::read_link(at.join("link")).unwrap(), Path::new("film"));
    assert!(fs::read(at.join("link")).unwrap().ends_with(b"end"));
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(at.join("film")).unwrap().set_modified(date).unwrap();
    assert_eq!(fs::metadata(served.join("film")).unwrap().mtime(), 1_000_000_000);
    assert_eq!(fs::metadata(at.join("film")).unwrap().mtime(), 1_000_000_000);
    fs::set_permissions(at.join("film"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(fs::metadata(at.join("film")).unwrap().mode() & 0o222, 0, "no user may write");
    fs::set_permissions(at.join("film"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(at.join("locked"), b"").unwrap();
    fs::set_permissions(at.join("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::remove_file(at.join("locked")).unwrap();
    let space = rustix::fs::statvfs(at).unwrap();
    assert!(space.f_blocks > 0 && space.f_bavail > 0, "df shows free space");
    // The kernel tells of the last close after it has answered the program.
    until("something hidden is left", || fs::read_dir(at).unwrap().count() == 2);
}

/// Names of macOS for what files are besides their data.
fn keeps_what_macs_keep(at: &Path) {
    let path = at.join("letter");
    fs::write(&path, b"Dear Grace").unwrap();
    assert_eq!(attributes(&path), [""; 0]);
    let (info, fork) = ([&b"TEXTttxt"[..], &[0; 24]].concat(), vec![5; 60_000]);
    setxattr(&path, "user.com.apple.FinderInfo", &info, XattrFlags::empty()).unwrap();
    setxattr(&path, "user.com.apple.ResourceFork", &fork, XattrFlags::empty()).unwrap();
    setxattr(&path, "user.com.example.note", b"a note", XattrFlags::CREATE).unwrap();
    let again = setxattr(&path, "user.com.example.note", b"b", XattrFlags::CREATE);
    assert_eq!(again, Err(rustix::io::Errno::EXIST));
    let short = setxattr(&path, "user.com.apple.FinderInfo", b"short", XattrFlags::empty());
    assert_eq!(short, Err(rustix::io::Errno::INVAL), "Finder info has 32 bytes");
    let system = setxattr(&path, "trusted.a", b"b", XattrFlags::empty());
    assert_eq!(system, Err(rustix::io::Errno::OPNOTSUPP));
    let names = ["user.com.apple.FinderInfo", "user.com.apple.ResourceFork", "user.com.example.note"];
    assert_eq!(attributes(&path), names);
    assert_eq!(attribute(&path, names[0]).unwrap(), info);
    assert!(attribute(&path, names[1]).unwrap() == fork);
    assert_eq!(attribute(&path, names[2]).unwrap(), b"a note");
    assert_eq!(attribute(&path, "user.missing"), None);

    let copy = at.join("copy");
    run("cp", &["-a", path.to_str().unwrap(), copy.to_str().unwrap()]);
    assert_eq!(attributes(&copy), names, "cp -a carries them");
    assert!(attribute(&copy, names[1]).unwrap() == fork);
    removexattr(&copy, names[2]).unwrap();
    removexattr(&copy, names[1]).unwrap();
    assert_eq!(attributes(&copy), [names[0]]);
    assert_eq!(removexattr(&copy, names[2]), Err(rustix::io::Errno::NODATA));
    setxattr(&copy, "user.com.example.empty", b"", XattrFlags::CREATE).unwrap();
    assert_eq!(attribute(&copy, "user.com.example.empty").as_deref(), Some(&b""[..]));
    assert_eq!(attributes(&copy), [names[0], "user.com.example.empty"]);
    fs::remove_file(copy).unwrap();
}

/// The tree behind a URL, without a mount.
fn tree(url: &str) -> Box<dyn Tree> {
    Connector::new(Target::parse(url).unwrap(), Reach::direct(PATIENCE), 1, 0).tree().unwrap()
}

/// A fork that is longer than an extended attribute can be is a file with the names of macOS.
fn shows_long_forks(at: &Path, url: &str) {
    let fork: Vec<u8> = (0..300_001_u32).map(|at| (at / 3) as u8).collect();
    fs::write(at.join("game"), b"data").unwrap();
    tree(url).put("game", Aspect::Fork, &MetadataValue::Bytes(fork.clone())).unwrap();
    let forks = at.join("..namedfork");
    let path = forks.join("game/rsrc");
    let told = fs::metadata(&path).unwrap();
    assert_eq!((told.len(), told.mode() & 0o700), (300_001, 0o600));
    assert!(fs::read(&path).unwrap() == fork);
    let mut part = [0; 7];
    File::open(&path).unwrap().read_exact_at(&mut part, 200_000).unwrap();
    assert_eq!(part, fork[200_000..200_007]);
    let mut value = vec![0; 64 << 10];
    let long = getxattr(at.join("game"), "user.com.apple.ResourceFork", &mut value[..]);
    assert!(matches!(long, Err(rustix::io::Errno::TOOBIG | rustix::io::Errno::RANGE)), "{long:?}");

    assert_eq!(fs::read(forks.join("film/rsrc")).unwrap(), b"", "each file has one, as on macOS");
    let names = |folder: &Path| {
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert!(!names(at).contains(&"..namedfork".to_owned()), "it is not listed");
    assert_eq!(names(&forks), ["film", "game", "letter"], "files have forks, links have none");
    assert_eq!(names(&forks.join("game")), ["rsrc"]);
    let missing = [forks.join("nothing/rsrc"), forks.join("game/data"), forks.join("link/rsrc")];
    for missing in missing {
        assert_eq!(fs::metadata(missing).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }
    let read_only =
        |done: std::io::Result<()>| done.unwrap_err().kind() == std::io::ErrorKind::ReadOnlyFilesystem;
    assert!(read_only(fs::write(forks.join("new"), b"")));
    assert!(read_only(fs::create_dir(forks.join("game/new"))));
    assert!(read_only(fs::rename(&path, at.join("moved"))));
    fs::remove_file(at.join("game")).unwrap();
}

/// The resource fork of a file, as a client without a mount reads it.
fn fork_of(url: &str, file: &str) -> Vec<u8> {
    match tree(url).get(file, Aspect::Fork).unwrap() {
        AspectState::Value(MetadataValue::Bytes(bytes)) => bytes,
        _ => Vec::new(),
    }
}

/// A fork is written as a file: as a whole, in pieces, longer, shorter and empty.
fn writes_forks(at: &Path, url: &str) {
    let fork: Vec<u8> = (0..300_001_u32).map(|at| (at / 3) as u8).collect();
    let (game, path) = (at.join("game"), at.join("..namedfork/game/rsrc"));
    fs::write(&game, b"data").unwrap();
    setxattr(&game, "user.com.apple.FinderInfo", &[&b"APPLgame"[..], &[0; 24]].concat(), XattrFlags::empty())
        .unwrap();
    fs::write(&path, &fork).unwrap();
    let arrived = fork_of(url, "game");
    assert!(arrived == fork, "what is written arrives: {} of {} bytes", arrived.len(), fork.len());
    assert!(fs::read(&path).unwrap() == fork);
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    file.write_all_at(b"changed", 100_000).unwrap();
    file.set_len(200_000).unwrap();
    let mut part = [0; 7];
    File::open(&path).unwrap().read_exact_at(&mut part, 100_000).unwrap();
    assert_eq!((&part, fs::metadata(&path).unwrap().len()), (b"changed", 200_000), "others see it at once");
    file.sync_all().unwrap();
    let now = fork_of(url, "game");
    assert_eq!((now.len(), &now[100_000..100_007]), (200_000, &b"changed"[..]));
    drop(file);
    let mut appended = OpenOptions::new().append(true).open(&path).unwrap();
    appended.write_all(b"end").unwrap();
    drop(appended);
    assert!(fork_of(url, "game").ends_with(b"end"));
    run("truncate", &["-s", "5", path.to_str().unwrap()]);
    assert_eq!(fork_of(url, "game"), &fork[..5]);
    let new = OpenOptions::new().write(true).create_new(true).open(&path).map(drop);
    assert_eq!(new.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists, "each file has a fork");
    let mode = fs::set_permissions(&path, fs::Permissions::from_mode(0o600));
    assert_eq!(mode.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied, "it has the mode of its file");
    fs::remove_file(&path).unwrap();
    assert_eq!(fork_of(url, "game"), [0; 0], "to servers it is empty");
    assert_eq!(fs::read(&path).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    assert_eq!(fs::read_dir(at.join("..namedfork/game")).unwrap().count(), 0);
    drop(OpenOptions::new().write(true).create_new(true).open(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"");
    assert_eq!(fs::read(&game).unwrap(), b"data");
    assert_eq!(attribute(&game, "user.com.apple.FinderInfo").unwrap()[..8], *b"APPLgame");
    carries_forks(at, url);
    fs::remove_file(&game).unwrap();
}

/// Waits until the kernel asks for attributes again, which it trusts for a second: tar fails if a file changes while it is read.
fn until_asked_again() {
    std::thread::sleep(Duration::from_millis(1_100));
}

/// What programs of Linux do with forks: docs/mounting.md.
fn carries_forks(at: &Path, url: &str) {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (long, fork) = (fs::read(at.join("film")).unwrap(), at.join("..namedfork/game/rsrc"));
    run("cp", &[&text(&at.join("film")), &text(&fork)]);
    assert!(fork_of(url, "game") == long);
    let copy = at.join("copy");
    run("cp", &["-a", &text(&at.join("game")), &text(&copy)]);
    assert!(fork_of(url, "copy").is_empty(), "cp -a leaves out what is no attribute");
    run("cp", &["-a", &text(&fork), &text(&at.join("..namedfork/copy/rsrc"))]);
    assert!(fork_of(url, "copy") == long);
    // tar removes a file that is there, and makes it anew.
    let archive = at.with_extension("tar");
    until_asked_again();
    run("tar", &["-cf", &text(&archive), "-C", &text(at), "game", "..namedfork/game/rsrc"]);
    fs::write(&fork, b"another").unwrap();
    run("tar", &["-xf", &text(&archive), "-C", &text(at)]);
    assert!(fork_of(url, "game") == long);
    // With attributes it makes files by mknod.
    fs::write(&fork, b"short").unwrap();
    until_asked_again();
    run("tar", &["--xattrs", "--xattrs-include=user.*", "-cf", &text(&archive), "-C", &text(at), "game"]);
    fs::remove_file(at.join("game")).unwrap();
    run("tar", &["--xattrs", "--xattrs-include=user.*", "-xf", &text(&archive), "-C", &text(at)]);
    assert_eq!(fork_of(url, "game"), b"short");
    // mv to another file system copies, and removes.
    let outside = at.with_extension("fork");
    run("mv", &[&text(&fork), &text(&outside)]);
    assert_eq!((fork_of(url, "game"), fs::read(&outside).unwrap()), (vec![], b"short".to_vec()));
    run("mv", &[&text(&outside), &text(&fork)]);
    assert_eq!(fork_of(url, "game"), b"short");
    fs::remove_file(&copy).unwrap();
}

#[test]
fn a_file_that_a_mac_has_locked_is_refused_to_programs() {
    if !can_mount() {
        return;
    }
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let [_, (_, url), _] = urls(&server);
    let at = top.path().join("mounted");
    let mounted = MountedFolder::new(&url, &at);
    let (locked, other) = (at.join("contract"), at.join("other"));
    fs::write(&locked, b"signed").unwrap();
    fs::write(&other, b"other").unwrap();
    let lock = |on: bool| {
        let mut tree = tree(&url);
        for aspect in [Aspect::ReadOnly, Aspect::RenameLock, Aspect::DeleteLock] {
            assert!(tree.put("contract", aspect, &MetadataValue::Flag(on)).unwrap());
        }
    };
    lock(true);
    let refused = |what: &str, done: std::io::Result<()>| {
        let error = done.expect_err(what);
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{what}: {error}");
        assert_eq!(error.raw_os_error(), Some(13), "{what}"); // EACCES
    };
    refused("open", OpenOptions::new().write(true).open(&locked).map(drop));
    refused("truncate", OpenOptions::new().write(true).truncate(true).open(&locked).map(drop));
    refused("rename", fs::rename(&locked, at.join("moved")));
    refused("replace", fs::rename(&other, &locked));
    refused("remove", fs::remove_file(&locked));
    let fork = at.join("..namedfork/contract/rsrc");
    refused("write the fork", OpenOptions::new().write(true).open(&fork).map(drop));
    refused("empty the fork", fs::remove_file(&fork));
    assert_eq!(fs::read(&locked).unwrap(), b"signed");
    assert_eq!(fs::read(share.join("contract")).unwrap(), b"signed");
    assert!(tree(&url).entry("contract").unwrap().is_locked, "no attempt has unlocked it");
    lock(false);
    fs::write(&locked, b"changed").unwrap();
    fs::remove_file(&locked).unwrap();
    assert_eq!(mounted.end(), Some(0));
}

#[test]
fn programs_work_in_a_mounted_tree() {
    if !can_mount() {
        return;
    }
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let urls = urls(&server);
    for (protocol, url) in &urls {
        eprintln!("over {protocol}");
        let (at, other) = (top.path().join(protocol), top.path().join("other"));
        let mounted = MountedFolder::new(url, &at);
        works_as_a_file_system(&at, &share);
        keeps_what_macs_keep(&at);
        shows_long_forks(&at, &urls[0].1);
        writes_forks(&at, &urls[0].1);
        // Another protocol sees the same.
        let (_, second) = urls.iter().find(|(name, _)| name != protocol).unwrap();
        let through = MountedFolder::new(second, &other);
        assert_eq!(attributes(&at.join("letter")), attributes(&other.join("letter")));
        assert_eq!(attribute(&other.join("letter"), "user.com.example.note").unwrap(), b"a note");
        drop(through);
        assert_eq!(mounted.end(), Some(0), "SIGTERM unmounts");
        assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
        for name in ["film", "link", "letter"] {
            fs::remove_file(share.join(name)).unwrap();
        }
        let _ = fs::remove_file(share.join("._letter"));
    }
}

#[test]
fn a_mount_outlives_its_server() {
    if !can_mount() {
        return;
    }
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let (port, (user, password)) = (server.smb_port, USER);
    let at = top.path().join("mounted");
    let mut mounted = MountedFolder::new(&format!("smb://{user}:{password}@127.0.0.1:{port}/share"), &at);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(at.join("file")).unwrap();
    file.write_all_at(b"before", 0).unwrap();
    server.kill();
    assert!(fs::read_dir(&at).is_err(), "an error, and no hang");
    let _server = Server::start_with_smb_on(top.path(), &share, port);
    until("the mount does not go on", || fs::read_dir(&at).is_ok());
    file.write_all_at(b"after!", 6).unwrap();
    let mut all = [0; 12];
    file.read_exact_at(&mut all, 0).unwrap();
    assert_eq!(&all, b"beforeafter!", "the open file goes on");
    drop(file);
    run("umount", &[at.to_str().unwrap()]);
    assert_eq!(mounted.wait(), Some(0), "umount ends it");
}

#[test]
fn what_cannot_be_mounted_is_refused_with_a_reason() {
    let top = tempfile::tempdir().unwrap();
    let at = top.path().to_str().unwrap();
    for (url, reason) in
        [("/tmp", "only smb, afp and nfs URLs"), ("smb://ada:secret@127.0.0.1:1/share", "cannot be reached")]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_fourfold")).args(["mount", url, at]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}
