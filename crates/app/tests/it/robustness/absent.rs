//! Shares whose folders are missing or come and go: they alone are not served, and they come back by themselves.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use ::nfs::wire::mount;
use ::nfs::wire::nlm::NlmStat;
use ::nfs::wire::v3::types::Status as NfsStatus;
use ::nfs::wire::v3::write::StableHow;
use ::smb::wire::Status;
use admin::control;
use rustix::process::Signal;

use crate::robustness::afp::Afp;
use crate::robustness::client::Client;
use crate::robustness::disks::Disk;
use crate::robustness::iscsi;
use crate::robustness::server::{Server, USER, folder, open_to_all, write_iscsi_settings};
use crate::robustness::smb::Smb;
use crate::waiting::until_equal;

fn run(top: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).current_dir(top).output().unwrap()
}

fn status(top: &Path) -> control::Status {
    serde_json::from_slice(&run(top, &["status", "--json", "--state", "state"]).stdout).unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// `share`, and `late` with more settings.
fn settings(top: &Path, more: &str) {
    let share = |name: &str| format!("[[share]]\nname = \"{name}\"\npath = \"{name}\"\n");
    let account = format!("[[user]]\nname = \"{}\"\nuid = 1000\n", USER.0);
    std::fs::write(top.join("fourfold.toml"), [&share("share"), &share("late"), more, &account].concat())
        .unwrap();
}

fn serve(top: &Path) -> Server {
    let user = format!("{}:{}", USER.0, USER.1);
    Server::run(top, &["--nfs-port", "0", "--smb-port", "0", "--user", &user])
}

fn make(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    open_to_all(folder);
}

#[test]
fn a_share_whose_folder_is_missing_comes_with_it_and_goes_with_it() {
    let (top, share) = folder();
    let (top, late) = (top.path(), top.path().join("late"));
    settings(top, "");
    let check = run(top, &["check"]);
    let said = text(check.stdout);
    assert_eq!(check.status.code(), Some(0), "{said}");
    assert!(said.contains("note: the share \"late\" is not served: "), "{said}");
    assert!(said.contains("fourfold.toml: accepted, 2 shares"), "{said}");

    let server = serve(top);
    let log = std::fs::read_to_string(top.join("log")).unwrap();
    let warning =
        format!("the share \"late\" is not served: `{}`: the folder does not exist", late.display());
    assert!(log.contains("WARN") && log.contains(&warning), "{log}");
    let (mut nfs, mut smb) = (Client::mount(server.port), Smb::enter(server.smb_port));
    let root = nfs.root.clone();
    let file = nfs.create(&root, "notes").unwrap();
    let open = smb.make("of smb", b"abc");
    assert_eq!(nfs.mnt("/late"), Err(mount::Status::NOENT));
    assert_eq!(smb.connect_tree("late"), Err(Status::BAD_NETWORK_NAME));
    let absent = status(top).not_served;
    assert_eq!((absent.len(), &*absent[0].name, &*absent[0].path), (1, "late", &*late));
    assert_eq!(absent[0].why, "the folder does not exist");
    let table = text(run(top, &["status", "--state", "state"]).stdout);
    assert!(table.contains("Not served: 1\n"), "{table}");
    assert!(!late.exists(), "it is not made");

    make(&late);
    until_equal(&true, || nfs.mnt("/late").is_ok());
    let of_late = nfs.mnt("/late").unwrap();
    let new = nfs.create(&of_late, "new").unwrap();
    assert!(late.join("new").exists());
    assert_eq!(
        (nfs.lock(&new, 1, (0, 1), true), nfs.lock(&file, 1, (0, 1), true)),
        (NlmStat::GRANTED, NlmStat::GRANTED)
    );
    let mut late_smb = Smb::enter_share(server.smb_port, "late", USER).unwrap();
    let open_late = late_smb.make("of late", b"def");
    let now = status(top);
    assert!(now.not_served.is_empty() && now.shares.iter().any(|share| share.name == "late"));

    std::fs::remove_dir_all(&late).unwrap();
    assert_eq!(late_smb.content(open_late).unwrap(), b"def", "a file that is open outlives its folder");
    late_smb.close(open_late).unwrap();
    until_equal(&1, || status(top).not_served.len());
    assert_eq!(late_smb.open("new", |_| ()), Err(Status::NETWORK_NAME_DELETED));
    assert_eq!(nfs.mnt("/late"), Err(mount::Status::NOENT));
    assert_eq!(nfs.getattr(&of_late), Err(NfsStatus::STALE));

    // The other share was there all the time: the same connections, handles, opens and locks.
    assert_eq!(nfs.lock(&file, 2, (0, 1), true), NlmStat::DENIED);
    nfs.write(&file, 0, b"abc", StableHow::FILE_SYNC).unwrap();
    assert_eq!(smb.content(open).unwrap(), b"abc");
    assert_eq!(std::fs::read(share.join("notes")).unwrap(), b"abc");
}

#[test]
fn a_reload_with_a_missing_folder_takes_the_rest_over() {
    let (top, _) = folder();
    let (top, late) = (top.path(), top.path().join("late"));
    make(&late);
    settings(top, "");
    let server = serve(top);
    let mut nfs = Client::mount(server.port);
    assert!(nfs.mnt("/late").is_ok());
    std::fs::remove_dir(&late).unwrap();
    settings(top, "[[share]]\nname = \"third\"\npath = \"share\"\n");
    server.signal(Signal::HUP);
    until_equal(&true, || nfs.mnt("/third").is_ok());
    let log = || std::fs::read_to_string(top.join("log")).unwrap();
    until_equal(&true, || log().contains("the share \"late\" is not served"));
    assert_eq!(nfs.mnt("/late"), Err(mount::Status::NOENT));
}

#[test]
fn a_share_that_must_be_mounted_is_not_served_from_the_folder_below() {
    let (top, _) = folder();
    let (top, late) = (top.path(), top.path().join("late"));
    make(&late);
    settings(top, "must-be-mounted = true\n");
    let server = serve(top);
    let mut nfs = Client::mount(server.port);
    assert_eq!(nfs.mnt("/late"), Err(mount::Status::NOENT));
    assert_eq!(
        status(top).not_served[0].why,
        "no file system is mounted there, and `must-be-mounted` is set"
    );
    assert_eq!(std::fs::read_dir(&late).unwrap().count(), 0, "nothing is written there");
    let Some(_mounted) = TmpfsMount::tmpfs(&late) else { return };
    until_equal(&true, || nfs.mnt("/late").is_ok());
    let root = nfs.mnt("/late").unwrap();
    let file = nfs.create(&root, "notes").unwrap();
    nfs.write(&file, 0, b"first", StableHow::FILE_SYNC).unwrap();

    // Another file system over it is another share's content, and handles of the first are stale.
    let Some(_second) = TmpfsMount::tmpfs(&late) else { return };
    until_equal(&Err(NfsStatus::STALE), || nfs.getattr(&file).map(drop));
    until_equal(&true, || nfs.mnt("/late").is_ok());
    let root = nfs.mnt("/late").unwrap();
    assert_eq!(nfs.lookup(&root, "notes"), Err(NfsStatus::NOENT));
}

/// Unmounted when dropped.
struct TmpfsMount<'a>(&'a Path);

impl<'a> TmpfsMount<'a> {
    /// `None`, said on standard output, where that cannot be done.
    fn tmpfs(at: &'a Path) -> Option<Self> {
        let output = Command::new("mount").args(["-t", "tmpfs", "-o", "mode=777", "tmpfs"]).arg(at).output();
        if !output.is_ok_and(|output| output.status.success()) {
            println!("skipped: mounting a tmpfs needs root");
            return None;
        }
        Some(Self(at))
    }
}

impl Drop for TmpfsMount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

/// The descriptors of the server that lead to this device.
fn held(server: &Server, device: u64) -> Vec<String> {
    let all = std::fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap().flatten();
    let of_device = all.filter(|entry| entry.path().metadata().is_ok_and(|found| found.dev() == device));
    of_device.filter_map(|entry| Some(entry.path().read_link().ok()?.display().to_string())).collect()
}

/// Each protocol ends the share in its own way, no descriptor keeps the disk, and all goes on when it is back.
#[test]
fn a_disk_that_is_unmounted_ends_its_share_and_brings_it_back() {
    let (top, share) = folder();
    let Some(disk) = Disk::mount(top.path()) else { return };
    let lun = "size = \"4 MiB\"\n";
    write_iscsi_settings(top.path(), &share, "guests = true\nmust-be-mounted = true\n", lun);
    let server = Server::run_with_iscsi(top.path(), 0);
    let (mut nfs, mut smb) = (Client::mount(server.port), Smb::enter(server.smb_port));
    let (mut afp, mut initiator) = (Afp::enter(server.afp_port), iscsi::enter(server.iscsi_port));
    let root = nfs.root.clone();
    let file = nfs.create(&root, "notes").unwrap();
    nfs.write(&file, 0, b"abc", StableHow::FILE_SYNC).unwrap();
    assert_eq!(nfs.lock(&file, 1, (0, 1), true), NlmStat::GRANTED);
    assert_eq!(nfs.names(&root).unwrap().len(), 4, "and lost+found");
    let open = smb.make("of smb", b"def");
    afp.make("of afp", b"ghi");
    initiator.write(0, 0, &[7; 512], true).unwrap();
    let device = share.metadata().unwrap().dev();
    assert!(!held(&server, device).is_empty());

    disk.detach_lazily();
    until_equal(&Err(Status::NETWORK_NAME_DELETED), || smb.content(open));
    assert_eq!(smb.connect_tree("share"), Err(Status::BAD_NETWORK_NAME));
    until_equal(&Err(NfsStatus::STALE), || nfs.getattr(&file).map(drop));
    assert!(
        crate::robustness::afp::is_closed_within(afp.client.link(), Duration::from_secs(20)),
        "its only volume is gone"
    );
    assert!(iscsi::is_closed_within(initiator.link(), Duration::from_secs(20)), "its disk is gone");
    until_equal(&Vec::<String>::new(), || held(&server, device));
    let listed = text(run(top.path(), &["lun", "list", "--state", "state"]).stdout);
    assert!(listed.contains("its share is not served: no file system is mounted there"), "{listed}");
    for words in [&["create", "share/new", "1M"][..], &["remove", "share/disk", "--force", "--yes"]] {
        let refused = run(top.path(), &[&["lun"], words, &["--state", "state"]].concat());
        let said = text(refused.stderr);
        assert!(said.contains("the share \"share\" is not served"), "{words:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(&share).unwrap().count(), 0, "nothing is written below");

    assert!(disk.attach("rw"));
    until_equal(&Ok(()), || smb.connect_tree("share").map(|tree| smb.tree = tree));
    let root = nfs.mnt("/share").unwrap();
    let again = nfs.lookup(&root, "notes").unwrap();
    assert_eq!(nfs.content(&again).unwrap(), b"abc");
    assert_eq!(nfs.lock(&again, 2, (0, 1), true), NlmStat::GRANTED, "no lock is left");
    let mut initiator = None;
    until_equal(&true, || {
        initiator = iscsi::enter_with(server.iscsi_port, &iscsi::login()).ok(); // a LUN comes after its share
        initiator.is_some()
    });
    assert_eq!(initiator.unwrap().read(0, 0, 1).unwrap(), [7; 512]);
    assert!(Afp::try_enter(server.afp_port).is_ok());
}
