//! Snapshots and clones of LUNs, with an initiator that is logged in, on a real btrfs and on a file system that cannot share
//! blocks.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use admin::control::LunStatus;
use iscsi::client::{Client, Login};
use iscsi::wire::scsi::Key;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");
/// Bytes of the written blocks.
const LENGTH: usize = 64 * 512;

fn run(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

/// A folder with the share "A".
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// `None`, with a message on standard output, where the file system cannot be mounted.
    fn new(kind: &str) -> Option<Self> {
        let scene = Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        let (image, pool) = (scene.folder.path().join("image"), scene.folder.path().join("pool"));
        std::fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
        std::fs::create_dir(&pool).unwrap();
        let [image, pool] = [&image, &pool].map(|path| path.to_str().unwrap());
        if !run(&format!("mkfs.{kind}"), &["-q", image]) || !run("mount", &["-o", "loop", image, pool]) {
            println!("skipped: no {kind}, no loop device, or not root");
            return None;
        }
        let share = format!("{pool}/a");
        if kind != "btrfs" || !run("btrfs", &["-q", "subvolume", "create", &share]) {
            std::fs::create_dir(&share).unwrap();
        }
        let text = "[server]\nstate = \"state\"\nbonjour = \"off\"\nlisten = [\"127.0.0.1\"]\nnfs-port = \"off\"\n\
                    smb-port = \"off\"\nafp-port = \"off\"\nportmap-port = \"off\"\niscsi-port = 0\n\
                    [[share]]\nname = \"A\"\npath = \"pool/a\"\nguests = true\n";
        std::fs::write(scene.folder.path().join("fourfold.toml"), text).unwrap();
        Some(scene)
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn done(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap()
    }

    fn show(&self, lun: &str) -> LunStatus {
        serde_json::from_str(&self.done(&["lun", "show", lun, "--json"])).unwrap()
    }

    fn share(&self, path: &str) -> PathBuf {
        self.folder.path().join("pool/a").join(path)
    }

    fn serve(&self) -> Server {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--as", "root"]).current_dir(self.folder.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let server = Server(child);
        assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ready")));
        server
    }

    /// A session with the target of a LUN, ready for commands.
    fn log_in(&self, lun: &str) -> Client<TcpStream> {
        let lun = self.show(lun);
        let line = &lun.connect.iter().find(|mount| mount.client == "libiscsi").unwrap().line;
        let address = line.split("iscsi://").nth(1).unwrap().split('/').next().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut client = Client::new(stream);
        client.log_in(&Login::to(&lun.target)).unwrap();
        client.until_ready(lun.number).unwrap();
        client
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        run("umount", &["-l", self.folder.path().join("pool").to_str().unwrap()]);
    }
}

/// Killed by signal 9 when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn block(mark: u8) -> Vec<u8> {
    vec![mark; LENGTH]
}

#[test]
fn a_snapshot_is_read_only_a_clone_writable_and_both_survive_a_kill() {
    let Some(scene) = Scene::new("btrfs") else { return };
    let server = scene.serve();
    scene.done(&["lun", "create", "A/video", "64M"]);
    let mut ada = scene.log_in("A/video");
    ada.write(0, 0, &block(1), false).unwrap();
    ada.synchronize(0).unwrap();
    // ada stays logged in: taking a snapshot disturbs no session.
    let said = scene.done(&["lun", "snapshot", "create", "A/video@monday"]);
    assert!(said.contains("A/video.monday: made of A/video; shares its blocks"), "{said}");
    ada.write(0, 0, &block(2), false).unwrap();
    ada.synchronize(0).unwrap();
    scene.done(&["snapshot", "create", "A@both"]);
    drop(server);
    let _server = scene.serve();
    let snapshot = scene.show("A/video.monday");
    assert!(snapshot.read_only && snapshot.served);
    assert_eq!(snapshot.snapshot_of.as_deref(), Some("video"));
    let mut reader = scene.log_in("A/video.monday");
    assert_eq!(reader.read(0, 0, 64).unwrap(), block(1));
    // SPC-4: DATA PROTECT, WRITE PROTECTED.
    let refused = reader.write(0, 0, &block(3), false).unwrap_err();
    assert_eq!(refused.sense().map(|(key, _)| key), Some(Key::DATA_PROTECT), "{refused:?}");
    scene.done(&["lun", "clone", "A/video@monday", "trial"]);
    let mut writer = scene.log_in("A/trial");
    assert_eq!(writer.read(0, 0, 64).unwrap(), block(1));
    writer.write(0, 0, &block(4), true).unwrap();
    assert_eq!(reader.read(0, 0, 64).unwrap(), block(1));
    assert_eq!(scene.log_in("A/video").read(0, 0, 64).unwrap(), block(2));
    // The snapshot of the share contains the LUN, with what was synchronized.
    let inside = std::fs::read(scene.share(".fourfold-snapshots/both/.fourfold-luns/video.img")).unwrap();
    assert_eq!(inside[..LENGTH], block(2));
    snapshots_are_listed_and_removed(&scene);
}

fn snapshots_are_listed_and_removed(scene: &Scene) {
    let list = |words: &[&str]| -> Vec<String> {
        let said = scene.done(&[&["lun", "snapshot", "list", "--json"], words].concat());
        let luns: Vec<LunStatus> = serde_json::from_str(&said).unwrap();
        luns.into_iter().map(|lun| lun.name).collect()
    };
    assert_eq!(list(&[]), ["video.monday"]);
    assert!(list(&["A/trial"]).is_empty());
    let refused = |words: &[&str]| scene.refused(&[&["lun", "snapshot"], words].concat());
    assert!(refused(&["create", "A/video@monday"]).contains("there is a LUN A/video.monday already"));
    let mistyped = scene.run(&["lun", "snapshot", "create", "A/video"]);
    assert_eq!(mistyped.status.code(), Some(2));
    assert!(String::from_utf8(mistyped.stderr).unwrap().contains("write SHARE/NAME@SNAPSHOT"));
    assert!(refused(&["create", "A/video.monday@x"]).contains("`fourfold lun clone` makes a LUN of it"));
    assert!(refused(&["remove", "A/video@tuesday"]).contains("there is no snapshot A/video@tuesday"));
    assert!(refused(&["remove", "A/tri@al"]).contains("there is no snapshot"));
    assert!(scene.refused(&["lun", "resize", "A/video.monday", "128M"]).contains("keeps its size"));
    assert!(refused(&["remove", "A/video@monday"]).contains("is logged in"));
    scene.done(&["lun", "snapshot", "remove", "A/video@monday", "--force"]);
    assert!(list(&[]).is_empty() && !scene.share(".fourfold-luns/video.monday.img").exists());
}

#[test]
fn a_file_system_that_cannot_share_blocks_is_refused_unless_a_copy_is_asked_for() {
    let Some(scene) = Scene::new("ext4") else { return };
    scene.done(&["lun", "create", "A/video", "64M"]);
    let refused = scene.refused(&["lun", "snapshot", "create", "A/video@monday"]);
    assert!(refused.contains("cannot share blocks; add --copy"), "{refused}");
    let files = std::fs::read_dir(scene.share(".fourfold-luns")).unwrap().count();
    assert_eq!(files, 1, "no unfinished file stays");
    let said = scene.done(&["lun", "snapshot", "create", "A/video@monday", "--copy"]);
    assert!(said.contains("were copied"), "{said}");
    assert!(scene.show("A/video.monday").read_only);
    assert!(!scene.show("A/video").read_only);
}
