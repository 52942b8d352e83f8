//! Snapshots of a share on btrfs, from the command line, by schedule, and as smbclient sees them.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ::afp::client::{Client, ClientLogin, ROOT};
use ::afp::wire::fork::AccessMode;
use file_systems::zfs::Pool;

use crate::waiting::{until, until_next_second};

#[path = "../../../snapshots/tests/it/scene/mod.rs"]
mod file_systems;
mod rolled_back;

/// A folder with a btrfs or ZFS in it, which is unmounted when it is dropped.
struct Scene {
    folder: tempfile::TempDir,
    zfs: Option<Pool>,
}

fn run(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

impl Scene {
    /// `None`, with a message on standard output, where no btrfs can be mounted.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (image, pool) = (folder.path().join("image"), folder.path().join("pool"));
        std::fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
        std::fs::create_dir(&pool).unwrap();
        let [image, pool] = [&image, &pool].map(|path| path.to_str().unwrap());
        if !run("mkfs.btrfs", &["-q", image]) || !run("mount", &["-o", "loop", image, pool]) {
            println!("skipped: no btrfs, no loop device, or not root");
            return None;
        }
        let scene = Self { folder, zfs: None };
        assert!(run("btrfs", &["-q", "subvolume", "create", &format!("{pool}/studio")]));
        Some(scene)
    }

    /// `None`, with a message on standard output, where no ZFS runs.
    fn on_zfs() -> Option<Self> {
        let zfs = Pool::new()?;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::os::unix::fs::symlink(zfs.root(), folder.path().join("pool")).unwrap();
        assert!(run("zfs", &["create", &zfs.dataset("studio")]));
        Some(Self { folder, zfs: Some(zfs) })
    }

    fn settings(&self, share: &str) {
        let server = "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-port = \"off\"\nsmb-port = 0\n\
                      afp-port = 0\nafp-logins = [\"cleartext\"]\niscsi-port = \"off\"\nportmap-port = \"off\"\nbonjour = \"off\"\n";
        let text = format!("{server}\n[[share]]\nname = \"studio\"\npath = \"pool/studio\"\n{share}");
        std::fs::write(self.folder.path().join("fourfold.toml"), text).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("pool/studio").join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn serve(&self) -> Server {
        let serve = ["serve", "--user", "ada:secret", "--as", "root"];
        let mut child = self.command(&serve).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let server = Server(child);
        assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ready")));
        server
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fail(&self, words: &[&str]) -> String {
        self.refused(words, 1)
    }

    /// The same for what cannot be meant.
    fn mistyped(&self, words: &[&str]) -> String {
        self.refused(words, 2)
    }

    fn refused(&self, words: &[&str], code: i32) -> String {
        let output = self.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// What smbclient says of commands in the share.
    fn smbclient(&self) -> impl Fn(&str) -> String {
        let status: serde_json::Value = serde_json::from_str(&self.run(&["status", "--json"])).unwrap();
        let listeners = status["listeners"].as_array().unwrap();
        let smb = listeners.iter().find(|one| one["protocol"] == "smb" || one["protocol"] == "SMB").unwrap();
        let port = smb["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        move |commands: &str| {
            let words = ["-p", &port, "-U", "ada%secret", "//127.0.0.1/studio", "-c", commands];
            let output = Command::new("timeout").args(["20", "smbclient"]).args(words).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
        }
    }

    /// An AFP session, and its volume.
    fn afp(&self) -> (Client<TcpStream>, u16) {
        let status: serde_json::Value = serde_json::from_str(&self.run(&["status", "--json"])).unwrap();
        let listeners = status["listeners"].as_array().unwrap();
        let is_afp = |one: &&serde_json::Value| {
            one["protocol"].as_str().is_some_and(|protocol| protocol.eq_ignore_ascii_case("afp"))
        };
        let address = listeners.iter().find(is_afp).unwrap()["address"].as_str().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut client = Client::open(stream).unwrap();
        client.log_in("AFP3.4", &ClientLogin::Cleartext { name: "ada", password: "secret" }).unwrap();
        let volume = client.open_volume("studio").unwrap();
        (client, volume)
    }

    fn names(&self) -> Vec<String> {
        let json: serde_json::Value =
            serde_json::from_str(&self.run(&["snapshot", "list", "studio", "--json"])).unwrap();
        let name = |row: &serde_json::Value| row["name"].as_str().unwrap().to_owned();
        json.as_array().unwrap().iter().map(name).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.zfs.is_some() {
            return;
        }
        run("umount", &["-l", self.folder.path().join("pool").to_str().unwrap()]);
    }
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn snapshots_are_taken_compared_held_and_removed() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("");
    std::fs::write(scene.at("film"), "one").unwrap();
    std::fs::write(scene.at("gone"), "").unwrap();
    assert_eq!(scene.run(&["snapshot", "create", "studio@first"]), "studio@first\n");
    std::fs::write(scene.at("film"), "another").unwrap();
    std::fs::rename(scene.at("gone"), scene.at("moved")).unwrap();
    std::fs::create_dir(scene.at("new")).unwrap();
    let changes = scene.run(&["snapshot", "diff", "studio@first"]);
    assert_eq!(changes, "modified  film\nrenamed   moved from gone\nadded     new\n");
    assert!(scene.fail(&["snapshot", "create", "studio@first"]).contains("first"));
    assert!(scene.fail(&["snapshot", "create", "studio@a b"]).starts_with("fourfold: "));
    assert!(scene.mistyped(&["snapshot", "remove", "studio"]).contains("write SHARE@NAME"));
    assert!(scene.run(&["snapshot", "remove", "studio@first", "--dry-run"]).starts_with("dry run: "));
    scene.run(&["snapshot", "hold", "legal", "studio@first"]);
    assert!(scene.fail(&["snapshot", "remove", "studio@first"]).contains("held (legal)"));
    scene.run(&["snapshot", "release", "legal", "studio@first"]);
    scene.run(&["snapshot", "rename", "studio@first", "begin"]);
    assert_eq!(scene.names(), ["begin"]);
    // A share that is made in one on btrfs is a subvolume, with snapshots of its own.
    scene.run(&["create", "studio/video"]);
    scene.run(&["snapshot", "create", "studio/video@x"]);
    assert!(run("btrfs", &["subvolume", "show", scene.at("video").to_str().unwrap()]));
    scene.run(&["destroy", "studio/video", "--delete-files", "--yes"]);
    assert!(!scene.at("video").exists());
    scene.run(&["snapshot", "remove", "studio@begin"]);
    assert!(scene.names().is_empty());
}

#[test]
fn a_server_keeps_the_schedule_and_shows_snapshots() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("snapshot-folder = \"visible\"\nsnapshot-schedule = \"hourly:2 weekly:1\"\n");
    std::fs::write(scene.at("film"), "one").unwrap();
    let server = scene.serve();
    // A snapshot of the schedule has the name `weekly.new` until the older ones have moved on.
    until("hourly.0 and weekly.0 are there", || {
        let mut names = scene.names();
        names.sort();
        names == ["hourly.0", "weekly.0"]
    });
    std::fs::write(scene.at("film"), "another").unwrap();
    seen_by_smbclient(&scene);
    drop(server);
    // The server has no right to remove a snapshot, but the program that it starts has.
    scene.settings("snapshot-floor = \"1000 TiB\"\n");
    let _server = scene.serve();
    until("the newest stays", || scene.names().len() <= 1);
    assert_eq!(scene.names().len(), 1, "the newest stays");
}

/// The server looks for new snapshots every 5 s by itself; a command tells it at once.
#[test]
fn clients_see_at_once_what_a_command_does_with_snapshots() {
    let Some(scene) = Scene::new() else { return };
    if !Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    scene.settings("");
    std::fs::write(scene.at("film"), "one").unwrap();
    let _server = scene.serve();
    let smbclient = scene.smbclient();
    let get = |name: &str| smbclient(&format!("get ~snapshot\\{name}\\film -"));
    for name in ["a", "b", "c"] {
        scene.run(&["snapshot", "create", &format!("studio@{name}")]);
        assert!(get(name).starts_with("one"), "{name}");
    }
    scene.run(&["snapshot", "rename", "studio@b", "other"]);
    assert!(get("other").starts_with("one"));
    assert!(get("b").contains("OBJECT_PATH_NOT_FOUND"), "{}", get("b"));
    for name in ["a", "other", "c"] {
        scene.run(&["snapshot", "remove", &format!("studio@{name}")]);
        assert!(get(name).contains("OBJECT_PATH_NOT_FOUND"), "{}", get(name));
    }
}

/// A Mac that has the old file open keeps it. One that denies others to change it is named, and nothing is changed.
#[test]
fn a_mac_holds_files_open_while_they_are_restored() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("");
    for name in ["film", "denied"] {
        std::fs::write(scene.at(name), "old").unwrap();
    }
    let _server = scene.serve();
    scene.run(&["snapshot", "create", "studio@a"]);
    for name in ["film", "denied"] {
        std::fs::write(scene.at(name), "newer").unwrap();
    }
    let (mut mac, volume) = scene.afp();
    let film = mac.open_fork((volume, ROOT, "film"), false, AccessMode::READ).unwrap();
    let deny = AccessMode::READ | AccessMode::DENY_READ | AccessMode::DENY_WRITE;
    let denied = mac.open_fork((volume, ROOT, "denied"), false, deny).unwrap();
    assert_eq!(mac.read(film, 0, 100).unwrap(), b"newer");
    scene.run(&["snapshot", "restore", "studio@a", "film"]);
    assert_eq!(std::fs::read(scene.at("film")).unwrap(), b"old");
    assert_eq!(mac.read(film, 0, 100).unwrap(), b"newer", "the file that it has open");
    let again = mac.open_fork((volume, ROOT, "film"), false, AccessMode::READ).unwrap();
    assert_eq!(mac.read(again, 0, 100).unwrap(), b"old");
    let output = scene.command(&["snapshot", "restore", "studio@a", "denied"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("refused") && said.contains("fourfold disconnect --file"), "{said}");
    assert_eq!(std::fs::read(scene.at("denied")).unwrap(), b"newer");
    mac.close(denied).unwrap();
    scene.run(&["snapshot", "restore", "studio@a", "denied"]);
    assert_eq!(std::fs::read(scene.at("denied")).unwrap(), b"old");
}

#[test]
fn a_snapshot_is_removed_while_a_mac_reads_from_it() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("snapshot-folder = \"visible\"\n");
    std::fs::write(scene.at("film"), "old").unwrap();
    let _server = scene.serve();
    scene.run(&["snapshot", "create", "studio@a"]);
    let (mut mac, volume) = scene.afp();
    let path = "Snapshots\0a\0film";
    let fork = mac.open_fork((volume, ROOT, path), false, AccessMode::READ).unwrap();
    assert_eq!(mac.read(fork, 0, 100).unwrap(), b"old");
    scene.run(&["snapshot", "remove", "studio@a"]);
    assert!(mac.read(fork, 0, 100).is_err(), "it is gone, and the client is told");
    assert!(mac.open_fork((volume, ROOT, path), false, AccessMode::READ).is_err());
    mac.close(fork).unwrap();
    let live = mac.open_fork((volume, ROOT, "film"), false, AccessMode::READ).unwrap();
    assert_eq!(mac.read(live, 0, 100).unwrap(), b"old", "the session goes on");
}

#[test]
fn a_read_only_share_binds_clients_of_the_share_above() {
    let Some(scene) = Scene::new() else { return };
    if !Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    scene.settings("");
    scene.run(&["create", "studio/video"]);
    let _server = scene.serve();
    let smbclient = scene.smbclient();
    let put = |name: &str| smbclient(&format!("put /etc/hostname {name}"));
    assert!(!put("video\\one").contains("NT_STATUS"));
    scene.run(&["set", "read-only=true", "studio/video"]);
    for refused in
        ["put /etc/hostname video\\one", "put /etc/hostname video\\two", "mkdir video\\new", "rm video\\one"]
    {
        let said = smbclient(refused);
        assert!(said.contains("WRITE_PROTECTED") || said.contains("ACCESS_DENIED"), "{refused}: {said}");
    }
    assert!(smbclient("rename video\\one video\\other").contains("NT_STATUS"));
    let name = std::fs::read_to_string("/etc/hostname").unwrap();
    assert!(smbclient("get video\\one -").contains(name.trim()), "it can be read");
    assert!(scene.at("video/one").exists() && !scene.at("video/new").exists());
    assert!(!put("beside").contains("NT_STATUS"), "the share above is writable");
    scene.run(&["set", "read-only=false", "studio/video"]);
    assert!(!put("video\\two").contains("NT_STATUS"));
    assert!(scene.at("video/two").exists());
}

#[test]
fn a_pool_is_made_used_and_destroyed() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("");
    assert!(scene.mistyped(&["pool", "create", "p.img", "many", "p"]).contains("write one such as 100G"));
    assert!(scene.fail(&["pool", "create", "p.img", "1M", "p"]).contains("128 MiB"));
    scene.run(&["pool", "create", "p.img", "160M", "p"]);
    let unmount = scene.folder.path().join("p");
    scene.run(&["create", "lab", "--path", "p/lab"]);
    scene.run(&["snapshot", "create", "lab@one"]);
    assert!(scene.run(&["pool", "list"]).lines().nth(1).unwrap().ends_with("yes"));
    assert!(scene.mistyped(&["pool", "destroy", "p.img"]).contains("--yes"));
    scene.run(&["pool", "destroy", "p.img", "--yes"]);
    assert!(!scene.folder.path().join("p.img").exists());
    run("umount", &["-l", unmount.to_str().unwrap()]); // fails: it is gone
}

/// smbclient finds the file as it was, by the visible folder and as a previous version.
fn seen_by_smbclient(scene: &Scene) {
    if !Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    let smbclient = scene.smbclient();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !smbclient("ls Snapshots\\*").contains("weekly.0") && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(smbclient("get Snapshots\\hourly.0\\film -").starts_with("one"));
    assert!(smbclient("get film -").starts_with("another"));
    let details = smbclient("allinfo film");
    let version =
        details.lines().find(|line| line.starts_with("@GMT-")).unwrap_or_else(|| panic!("{details}"));
    assert!(smbclient(&format!("get {version}\\film -")).starts_with("one"));
    assert!(smbclient("put /etc/hostname Snapshots\\hourly.0\\x").contains("WRITE_PROTECTED"));
}

/// zfs-fuse has no `.zfs`. A clone of each snapshot is mounted where ZFS shows the snapshot.
#[test]
fn snapshots_in_the_folder_of_zfs_are_seen_and_restored() {
    let Some(scene) = Scene::on_zfs() else { return };
    if !Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    let zfs = scene.zfs.as_ref().unwrap();
    scene.settings("snapshot-folder = \"visible\"\n");
    std::fs::create_dir(scene.at("docs")).unwrap();
    std::fs::write(scene.at("docs/film"), "one").unwrap();
    scene.run(&["snapshot", "create", "studio@a"]);
    let place = scene.at(".zfs/snapshot/a");
    std::fs::create_dir_all(&place).unwrap();
    let (from, to) = (zfs.dataset("studio@a"), zfs.dataset("shown"));
    let mounted = format!("mountpoint={}", place.to_str().unwrap());
    assert!(run("zfs", &["clone", "-o", "readonly=on", "-o", &mounted, &from, &to]));
    std::fs::write(scene.at("docs/film"), "another").unwrap();
    std::fs::write(scene.at("docs/new"), "new").unwrap();

    let _server = scene.serve();
    let smbclient = scene.smbclient();
    assert!(smbclient("get Snapshots\\a\\docs\\film -").starts_with("one"));
    assert!(smbclient("get docs\\film -").starts_with("another"));
    let details = smbclient("allinfo docs\\film");
    let version =
        details.lines().find(|line| line.starts_with("@GMT-")).unwrap_or_else(|| panic!("{details}"));
    assert!(smbclient(&format!("get {version}\\docs\\film -")).starts_with("one"));
    assert!(smbclient("put /etc/hostname Snapshots\\a\\x").contains("WRITE_PROTECTED"));
    let (mut mac, volume) = scene.afp();
    let film = mac.open_fork((volume, ROOT, "Snapshots\0a\0docs\0film"), false, AccessMode::READ).unwrap();
    assert_eq!(mac.read(film, 0, 100).unwrap(), b"one");
    mac.close(film).unwrap();

    scene.run(&["snapshot", "restore", "studio@a", "docs", "--delete"]);
    assert_eq!(std::fs::read(scene.at("docs/film")).unwrap(), b"one");
    assert!(!scene.at("docs/new").exists());
}

/// A Mac backs up: while it has a band open no snapshot is taken, and one when it has closed all of them.
#[test]
fn a_snapshot_is_taken_after_each_session_of_time_machine() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("time-machine = true\ntime-machine-snapshots = 2\n");
    let bands = scene.at("mac.sparsebundle/bands");
    let look = || scene.run(&["snapshot", "keep"]);
    look();
    assert!(scene.names().is_empty(), "there is no backup yet");
    std::fs::create_dir_all(&bands).unwrap();
    std::fs::write(bands.join("0"), "first").unwrap();
    look();
    look();
    assert_eq!(scene.names().len(), 1, "nothing has changed since");
    for band in ["1", "2"] {
        until_next_second(); // the names have seconds
        std::fs::write(bands.join(band), "more").unwrap();
        look();
    }
    let names = scene.names();
    assert!(names.len() == 2 && names.iter().all(|name| name.starts_with("time-machine-")), "{names:?}");
    if !Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    let _server = scene.serve();
    let status: serde_json::Value = serde_json::from_str(&scene.run(&["status", "--json"])).unwrap();
    let port = status["listeners"][0]["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    // The pipe keeps smbclient's file open until the test closes it.
    let mut mac = Command::new("smbclient")
        .args(["-p", &port, "-U", "ada%secret", "//127.0.0.1/studio", "-c"])
        .arg("cd mac.sparsebundle\\bands; put - 3")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_open = || scene.run(&["status", "--json"]).contains("\"file\": \"3\"");
    until("smbclient has no band open", is_open);
    until_next_second();
    look();
    assert_eq!(scene.names(), names, "the session goes on");
    drop(mac.stdin.take());
    mac.wait().unwrap();
    look();
    assert_eq!(scene.names().len(), 2);
    assert_ne!(scene.names(), names, "the session is over");
}

#[test]
fn a_folder_restored_into_itself_has_what_the_snapshot_has() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("");
    std::fs::create_dir_all(scene.at("a/b")).unwrap();
    for name in ["a/f", "a/b/g"] {
        std::fs::write(scene.at(name), name).unwrap();
    }
    scene.run(&["snapshot", "create", "studio@m"]);
    // The source is the snapshot, which stays as it is: what is restored is not read again.
    for _ in 0..2 {
        scene.run(&["snapshot", "restore", "studio@m", "a", "--to", "a/b", "--delete"]);
        let is_there = ["a/b/f", "a/b/b/g", "a/b/g", "a/b/b/b"].map(|name| scene.at(name).exists());
        assert_eq!(is_there, [true, true, false, false]);
    }
    scene.run(&["snapshot", "restore", "studio@m", ".", "--delete"]);
    assert_eq!(std::fs::read(scene.at("a/b/g")).unwrap(), b"a/b/g");
    assert!(!scene.at("a/b/f").exists() && scene.at("a/f").exists());
    for (path, to) in [("a", ".fourfold-snapshots/x"), (".fourfold-snapshots/m/a", "a")] {
        let refused = scene.command(&["snapshot", "restore", "studio@m", path, "--to", to]).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{path} {to}");
    }
    assert_eq!(std::fs::read(scene.at("a/f")).unwrap(), b"a/f");
}

#[test]
fn what_is_gone_is_found_in_the_newest_snapshot_with_it() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("search = \"names\"\n");
    std::fs::create_dir(scene.at("clients")).unwrap();
    let contract = scene.at("clients/contract.docx");
    std::fs::write(&contract, b"signed").unwrap();
    let _server = scene.serve();
    for name in ["one", "two"] {
        scene.run(&["snapshot", "create", &format!("studio@{name}")]);
    }
    let find = |words: &[&str]| {
        let output = scene.command(&[&["find", "contract"], words].concat()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let path = format!("{}\n", contract.display());
    until("the file is found", || find(&[]) == path);
    assert_eq!(find(&["--snapshots"]), "", "it is there now");
    std::fs::remove_dir_all(scene.at("clients")).unwrap();
    scene.run(&["snapshot", "create", "studio@three"]);
    until("the file is gone", || find(&[]).is_empty());
    until("the file is found in a snapshot", || find(&["--snapshots"]) == format!("two\t{path}"));
    let answer: serde_json::Value = serde_json::from_str(&find(&["--snapshots", "--json"])).unwrap();
    assert_eq!(answer["files"][0]["snapshot"]["name"], "two");
    assert_eq!(answer["files"][0]["size"], 6);
    scene.run(&["snapshot", "remove", "studio@two"]);
    until("an older snapshot has it", || find(&["--snapshots"]) == format!("one\t{path}"));
}
