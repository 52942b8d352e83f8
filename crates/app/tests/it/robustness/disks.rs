//! Full, read-only and vanished disks, and files that the caller may not access.

use std::path::{Path, PathBuf};
use std::process::Command;

use nfs::wire::mount;
use nfs::wire::v3::types::{Sattr3, Status};
use nfs::wire::v3::write::StableHow;

use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder, open_to_all};

const MIB: usize = 1 << 20;

/// A small ext4 file system in a file; unmounted when dropped.
pub(crate) struct Disk {
    image: PathBuf,
    at: PathBuf,
}

impl Disk {
    /// Makes and mounts one; `None`, with a message on standard output, if that is impossible.
    pub(crate) fn mount(top: &Path) -> Option<Self> {
        let disk = Self { image: top.join("image"), at: top.join("share") };
        let file = std::fs::File::create(&disk.image).unwrap();
        file.set_len(16 * MIB as u64).unwrap();
        let root = rustix::process::geteuid().is_root();
        if !root || !run("mkfs.ext4", &["-q", path(&disk.image)]) || !disk.attach("rw") {
            println!("skipped: mounting a small file system needs root, mkfs.ext4 and a loop device");
            return None;
        }
        open_to_all(&disk.at);
        Some(disk)
    }

    pub(crate) fn attach(&self, options: &str) -> bool {
        run("mount", &["-o", &format!("loop,{options}"), path(&self.image), path(&self.at)])
    }

    /// Takes it away from under a server that uses it.
    pub(crate) fn detach_lazily(&self) {
        assert!(run("umount", &["-l", path(&self.at)]));
    }

    pub(crate) fn detach(&self) {
        // A server that has just ended may still use it for a moment.
        for _ in 0..100 {
            if run("umount", &[path(&self.at)]) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if rustix::process::geteuid().is_root() {
            let _ = run("umount", &["-l", path(&self.at)]);
        }
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn run(program: &str, words: &[&str]) -> bool {
    let output = Command::new(program).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// Writes until a write is refused; returns the number of whole written blocks, and the refusal.
fn fill(client: &mut Client, file: &[u8], stable: StableHow) -> (usize, Status) {
    let block = vec![7; MIB / 4];
    for number in 0.. {
        let written = client.write(file, (number * block.len()) as u64, &block, stable);
        let written = written.and_then(|_| client.try_commit(file).unwrap());
        if let Err(status) = written {
            return (number, status);
        }
    }
    unreachable!("a disk of 16 MiB takes everything")
}

#[test]
fn a_full_disk_is_nospc_and_works_again_when_there_is_room() {
    let (top, share) = folder();
    let Some(_disk) = Disk::mount(top.path()) else { return };
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let other = client.create(&root, "other").unwrap();
    client.write(&other, 0, b"kept", StableHow::FILE_SYNC).unwrap();
    for stable in [StableHow::UNSTABLE, StableHow::FILE_SYNC] {
        let big = client.create(&root, "big").unwrap();
        let (blocks, status) = fill(&mut client, &big, stable);
        assert_eq!(status, Status::NOSPC, "{stable:?}");
        assert!(blocks > 10, "{blocks}");
        assert_eq!(client.read(&big, 0, 4).unwrap().bytes, [7; 4]);
        assert_eq!(client.content(&other).unwrap(), b"kept");
        client.remove(&root, "big").unwrap();
    }
    let again = client.create(&root, "again").unwrap();
    client.write(&again, 0, &vec![1; MIB], StableHow::FILE_SYNC).unwrap();
}

#[test]
fn a_disk_without_room_for_names_is_nospc() {
    let (top, share) = folder();
    let Some(_disk) = Disk::mount(top.path()) else { return };
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let refused = (0..20_000).find_map(|number| client.create(&root, &format!("file{number}")).err());
    assert_eq!(refused, Some(Status::NOSPC)); // the file system has 4,096 inodes
    assert_eq!(client.mkdir(&root, "folder"), Err(Status::NOSPC));
    client.remove(&root, "file0").unwrap();
    assert!(client.mkdir(&root, "folder").is_ok());
}

#[test]
fn a_read_only_file_system_is_rofs_and_can_be_read() {
    let (top, share) = folder();
    let Some(disk) = Disk::mount(top.path()) else { return };
    std::fs::write(share.join("notes"), b"abc").unwrap();
    disk.detach();
    assert!(disk.attach("ro"));
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.lookup(&root, "notes").unwrap();
    assert_eq!(client.content(&file).unwrap(), b"abc");
    assert_eq!(client.create(&root, "new"), Err(Status::ROFS));
    assert_eq!(client.mkdir(&root, "new"), Err(Status::ROFS));
    assert_eq!(client.remove(&root, "notes"), Err(Status::ROFS));
    assert_eq!(client.rename(&root, "notes", "other"), Err(Status::ROFS));
    let mode = Sattr3 { mode: Some(0o600), ..Sattr3::default() };
    assert_eq!(client.setattr(&file, mode), Err(Status::ROFS));
    drop(server);
}

#[test]
fn a_share_served_read_only_is_rofs() {
    let (top, share) = folder();
    std::fs::write(share.join("notes"), b"abc").unwrap();
    let words = format!("share={}", share.display());
    let server = Server::run(top.path(), &[&words, "--nfs-port", "0", "--read-only"]);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.lookup(&root, "notes").unwrap();
    assert_eq!(client.content(&file).unwrap(), b"abc");
    assert_eq!(client.write(&file, 0, b"x", StableHow::UNSTABLE), Err(Status::ROFS));
    assert_eq!(client.create(&root, "new"), Err(Status::ROFS));
    assert_eq!(client.remove(&root, "notes"), Err(Status::ROFS));
}

#[test]
fn a_vanished_folder_is_stale_and_disturbs_no_other_share() {
    let (top, share) = folder();
    let second = top.path().join("second");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("notes"), b"abc").unwrap();
    let shares = [format!("share={}", share.display()), format!("second={}", second.display())];
    let server = Server::run(top.path(), &[&shares[0], &shares[1], "--nfs-port", "0"]);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.create(&root, "notes").unwrap();
    client.write(&file, 0, b"abc", StableHow::FILE_SYNC).unwrap();
    std::fs::remove_dir_all(&share).unwrap();

    assert_eq!(client.getattr(&file), Err(Status::STALE));
    assert_eq!(client.write(&file, 0, b"x", StableHow::FILE_SYNC), Err(Status::STALE));
    for status in [
        client.getattr(&root).unwrap_err(),
        client.create(&root, "new").unwrap_err(),
        client.lookup(&root, "notes").unwrap_err(),
    ] {
        assert_eq!(status, Status::STALE);
    }
    let refused = client.mnt("/share").unwrap_err();
    assert!(matches!(refused, mount::Status::NOENT | mount::Status::IO), "{refused:?}");
    let mut other = Client::mount_path(server.port, "/second").unwrap();
    let root = other.root.clone();
    let file = other.lookup(&root, "notes").unwrap();
    assert_eq!(other.content(&file).unwrap(), b"abc");
}

#[test]
fn what_the_caller_may_not_do_is_acces_or_perm() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: as an ordinary user everything runs as that user");
        return;
    }
    let (top, share) = folder();
    std::fs::write(share.join("secret"), b"abc").unwrap(); // root's
    std::fs::set_permissions(share.join("secret"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(share.join("closed")).unwrap();
    std::fs::set_permissions(share.join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    for uid in [1000, 0] {
        client.uid = uid; // the superuser is squashed
        let secret = client.lookup(&root, "secret").unwrap();
        let closed = client.lookup(&root, "closed").unwrap();
        assert_eq!(client.read(&secret, 0, 3).err(), Some(Status::ACCES), "user {uid}");
        assert_eq!(client.write(&secret, 0, b"x", StableHow::UNSTABLE), Err(Status::ACCES));
        assert_eq!(client.lookup(&closed, "x"), Err(Status::ACCES));
        assert_eq!(client.create(&closed, "x"), Err(Status::ACCES));
        assert_eq!(client.names(&closed), Err(Status::ACCES));
        let mode = Sattr3 { mode: Some(0o777), ..Sattr3::default() };
        assert_eq!(client.setattr(&secret, mode), Err(Status::PERM));
    }
    assert_eq!(std::fs::read(share.join("secret")).unwrap(), b"abc");
}
