//! Quotas that the host keeps: quota groups of btrfs, from the command line and as smbclient meets them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::waiting::until;

const MIB: u64 = 1 << 20;

const FILE: &str = r#"[server]
listen = ["127.0.0.1"]
state = "state"
nfs-port = "off"
smb-port = 0
afp-port = "off"
iscsi-port = "off"
portmap-port = "off"
bonjour = "off"

[[share]]
name = "studio"
path = "pool/studio"
"#;

/// A folder with a btrfs in it, which is unmounted when it is dropped.
struct Scene {
    folder: tempfile::TempDir,
}

fn run(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

impl Scene {
    /// `None`, with a message on standard output, where no btrfs can be mounted.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (image, pool) = (folder.path().join("image"), folder.path().join("pool"));
        std::fs::File::create(&image).unwrap().set_len(256 * MIB).unwrap();
        std::fs::create_dir(&pool).unwrap();
        let [image, pool] = [&image, &pool].map(|path| path.to_str().unwrap());
        if !run("mkfs.btrfs", &["-q", image]) || !run("mount", &["-o", "loop", image, pool]) {
            println!("skipped: no btrfs, no loop device, or not root");
            return None;
        }
        let scene = Self { folder };
        assert!(run("btrfs", &["-q", "subvolume", "create", &format!("{pool}/studio")]));
        std::fs::write(scene.folder.path().join("fourfold.toml"), FILE).unwrap();
        Some(scene)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("pool/studio").join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A number of a share in `fourfold list`.
    fn listed(&self, share: &str, key: &str) -> Option<u64> {
        let rows: serde_json::Value = serde_json::from_str(&self.run(&["list", "--json"])).unwrap();
        rows.as_array().unwrap().iter().find(|row| row["name"] == share).unwrap()[key].as_u64()
    }

    /// Writes a file as a local program does. The error's number, if it is refused.
    fn fill(&self, path: &str, bytes: u64) -> Option<i32> {
        let written = std::fs::File::create(self.at(path)).and_then(|file| {
            (0..bytes / MIB).try_for_each(|_| {
                std::io::Write::write_all(&mut &file, &[7; MIB as usize]).and_then(|()| file.sync_all())
            })
        });
        written.err().and_then(|error| error.raw_os_error())
    }

    fn serve(&self) -> Server {
        let serve = ["serve", "--user", "ada:secret", "--as", "root"];
        let mut child = self.command(&serve).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let server = Server(child);
        assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ready")));
        server
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
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

const EDQUOT: i32 = 122;

#[test]
fn btrfs_keeps_the_quota_of_a_share_and_of_those_below_it() {
    let Some(scene) = Scene::new() else { return };
    let server = scene.serve();
    scene.run(&["create", "studio/video"]);
    assert_eq!(scene.listed("studio", "used"), None, "btrfs does not account for space yet");
    scene.run(&["set", "quota=40M", "studio"]);
    until("btrfs does not account", || scene.listed("studio", "used").is_some());
    assert_eq!(scene.fill("old", 10 * MIB), None);
    assert_eq!(scene.fill("video/film", 10 * MIB), None);
    assert_eq!(scene.fill("video/more", 40 * MIB), Some(EDQUOT), "both together");
    std::fs::remove_file(scene.at("video/more")).unwrap();
    assert!(run("btrfs", &["filesystem", "sync", scene.at("").to_str().unwrap()]));
    // A snapshot does not count for the quota, but what only it contains is used.
    scene.run(&["snapshot", "create", "studio@one"]);
    std::fs::remove_file(scene.at("old")).unwrap();
    assert!(run("btrfs", &["filesystem", "sync", scene.at("").to_str().unwrap()]));
    let near = |bytes: Option<u64>, expected: u64| {
        let bytes = bytes.unwrap();
        assert!(bytes.abs_diff(expected) < MIB, "{bytes}"); // btrfs takes some for itself
    };
    // btrfs counts anew after a snapshot of a share that has others below it.
    until("what was removed still counts", || scene.listed("studio", "available").unwrap() > 29 * MIB);
    near(scene.listed("studio", "available"), 30 * MIB);
    near(scene.listed("studio", "used"), 20 * MIB);
    near(scene.listed("studio/video", "referenced"), 10 * MIB);
    assert_eq!(scene.listed("studio", "snapshots"), Some(1));
    let snapshots: serde_json::Value =
        serde_json::from_str(&scene.run(&["snapshot", "list", "studio", "--json"])).unwrap();
    near(snapshots[0]["used"].as_u64(), 10 * MIB);
    let table = scene.run(&["snapshot", "list"]);
    let cells: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((cells[0], cells[2]), ("studio@one", "MiB"));
    seen_by_smbclient(&scene);
    // A smaller and a larger limit, and none, while the server runs.
    scene.run(&["set", "quota=15M", "studio/video"]);
    until("the quota does not hold", || scene.fill("video/more", 6 * MIB) == Some(EDQUOT));
    scene.run(&["set", "quota=none", "studio/video"]);
    until("the quota stays", || scene.fill("video/more", 6 * MIB).is_none());
    std::fs::remove_file(scene.at("video/more")).unwrap();
    drop(server);
    // What was taken from the settings while no server ran does not stay with the host.
    scene.run(&["inherit", "quota", "studio"]);
    let _server = scene.serve();
    until("the quota stays", || scene.fill("video/more", 40 * MIB).is_none());
}

/// The size of the disk, and the status of a file that does not fit.
fn seen_by_smbclient(scene: &Scene) {
    if !Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    let status: serde_json::Value = serde_json::from_str(&scene.run(&["status", "--json"])).unwrap();
    let listeners = status["listeners"].as_array().unwrap();
    let smb = listeners.iter().find(|one| one["protocol"] == "smb" || one["protocol"] == "SMB").unwrap();
    let port = smb["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let smbclient = |commands: &str| {
        let words = ["-p", &port, "-U", "ada%secret", "//127.0.0.1/studio", "-c", commands];
        let output = Command::new("timeout").args(["20", "smbclient"]).args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let large = scene.folder.path().join("large");
    std::fs::File::create(&large).unwrap().set_len(60 * MIB).unwrap();
    // The number of blocks of the size that smbclient prints.
    until("smbclient sees another size", || {
        let said = smbclient("ls");
        let line = said.lines().find(|line| line.contains("blocks of size")).unwrap_or_default();
        let numbers: Vec<u64> =
            line.split(|end: char| !end.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        let [blocks, size, free] = numbers[..] else { return false };
        blocks * size == 40 * MIB && (29 * MIB..30 * MIB + 1).contains(&(free * size))
    });
    assert!(smbclient(&format!("put {} large", large.display())).contains("NT_STATUS_DISK_FULL"));
    assert!(smbclient("rm large").is_empty());
}
