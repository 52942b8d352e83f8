//! `fourfold replicate` between two hosts: two folders with settings of their own, and a program `ssh` that starts the other side
//! here.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::waiting::{is_so_within, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");

fn run(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

/// A btrfs, and the hosts `one` and `two` with the share `studio` and the share `backup` on it.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// `None`, with a message on standard output, where no btrfs can be mounted.
    fn new() -> Option<Self> {
        let scene = Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        let (image, pool) = (scene.folder.path().join("image"), scene.folder.path().join("pool"));
        std::fs::File::create(&image).unwrap().set_len(512 << 20).unwrap();
        std::fs::create_dir(&pool).unwrap();
        let [image, pool] = [&image, &pool].map(|path| path.to_str().unwrap());
        if !run("mkfs.btrfs", &["-q", image]) || !run("mount", &["-o", "loop", image, pool]) {
            println!("skipped: no btrfs, no loop device, or not root");
            return None;
        }
        for share in ["studio", "backup"] {
            assert!(run("btrfs", &["-q", "subvolume", "create", &format!("{pool}/{share}")]));
        }
        scene.settings("one", "studio", "");
        scene.settings("two", "backup", "");
        scene.ssh();
        Some(scene)
    }

    fn settings(&self, host: &str, share: &str, below: &str) {
        let server = "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-port = \"off\"\nsmb-port = 0\n\
                      afp-port = \"off\"\niscsi-port = \"off\"\nportmap-port = \"off\"\nbonjour = \"off\"\n";
        let text = format!("{server}\n[[share]]\nname = \"{share}\"\npath = \"../pool/{share}\"\n{below}");
        std::fs::create_dir_all(self.folder.path().join(host)).unwrap();
        std::fs::write(self.folder.path().join(host).join("fourfold.toml"), text).unwrap();
    }

    /// As ssh does, it gives its words to a shell of the other host as one line.
    fn ssh(&self) {
        let bin = self.folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(PROGRAM, bin.join("fourfold")).unwrap();
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = -- ] || exit 99\ncd {}/\"$2\" || exit 255\nshift 2\nexec sh -c \"exec $*\"\n",
            self.folder.path().display()
        );
        std::fs::write(bin.join("ssh"), text).unwrap();
        std::fs::set_permissions(bin.join("ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("pool").join(path)
    }

    fn command(&self, host: &str, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        let path = format!("{}/bin:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        command.args(words).current_dir(self.folder.path().join(host)).env("PATH", path).stdin(Stdio::null());
        command
    }

    fn output(&self, host: &str, words: &[&str]) -> Output {
        self.command(host, words).output().unwrap()
    }

    #[track_caller]
    fn done(&self, host: &str, words: &[&str]) -> String {
        let output = self.output(host, words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, host: &str, words: &[&str]) -> String {
        let output = self.output(host, words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap()
    }

    /// The names of the snapshots of a share, the newest first.
    fn names(&self, host: &str, share: &str) -> Vec<String> {
        let said = self.done(host, &["snapshot", "list", share, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        json.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    }

    fn serve(&self, host: &str) -> Server {
        let mut command = self.command(host, &["serve", "--user", "ada:secret", "--as", "root"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
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

#[test]
fn a_share_is_replicated_over_ssh_verified_and_promoted() {
    let Some(scene) = Scene::new() else { return };
    std::fs::write(scene.at("studio/film"), "one").unwrap();
    scene.done("one", &["snapshot", "create", "studio@first"]);
    scene.done("one", &["snapshot", "hold", "legal", "studio@first"]);
    let plan = scene.done("one", &["replicate", "studio", "ssh://two/backup", "--dry-run"]);
    assert!(plan.starts_with("all of it would be sent: 2 files and folders"), "{plan}");
    assert_eq!(scene.names("one", "studio"), ["first"], "a dry run takes no snapshot");
    let said = scene.done("one", &["replicate", "studio", "ssh://two/backup", "--json"]);
    let outcome: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&outcome["event"], outcome["snapshots"].as_array().unwrap().len()),
        (&"done".into(), 2),
        "{said}"
    );
    let methods = |outcome: &serde_json::Value| -> Vec<String> {
        let all = outcome["methods"].as_array().unwrap();
        all.iter().map(|one| one["method"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(methods(&outcome), ["send", "send"], "both ends are on btrfs: {said}");
    assert_eq!(scene.names("two", "backup"), scene.names("one", "studio"));
    assert!(scene.refused("two", &["snapshot", "remove", "backup@first"]).contains("held (legal)"));

    std::fs::write(scene.at("studio/film"), "another").unwrap();
    std::fs::write(scene.at("studio/new"), "new").unwrap();
    let said = scene.done("one", &["replicate", "studio", "ssh://two/backup"]);
    assert!(said.starts_with("ssh://two/backup has replicate-"), "{said}");
    assert_eq!(std::fs::read(scene.at("backup/film")).unwrap(), b"another");
    // One snapshot of the command's own stays, on both sides.
    assert_eq!(scene.names("one", "studio").len(), 2);
    assert_eq!(scene.names("two", "backup"), scene.names("one", "studio"));
    // The other way round: what was a destination cannot be the source's destination.
    let refused = scene.refused("one", &["replicate", "ssh://two/backup", "studio"]);
    assert!(refused.contains("has files of its own (film), and is no replica"), "{refused}");
    let said = scene
        .done("one", &["replicate", "studio", "ssh://two/backup", "--verify", "--method=files", "--json"]);
    let outcome: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(outcome["methods"][0]["why"], "--method files was given", "{said}");
    let said = scene.done("two", &["replicate", "--promote", "backup"]);
    assert!(said.starts_with("backup is a share of its own now"), "{said}");
    assert!(scene.refused("two", &["replicate", "--promote", "backup"]).contains("is no replica"));
    let refused = scene.refused("one", &["replicate", "studio", "ssh://two/backup"]);
    assert!(refused.contains("the other side: ") && refused.contains("is no replica"), "{refused}");
}

#[test]
fn mistakes_are_told_with_the_next_step() {
    let Some(scene) = Scene::new() else { return };
    std::fs::write(scene.at("studio/film"), "one").unwrap();
    let refused = |words: &[&str]| scene.refused("one", &[&["replicate"], words].concat());
    assert!(refused(&["nothing", "ssh://two/backup"]).contains("the shares are: studio"));
    assert!(refused(&["studio", "ssh://two"]).contains("write ssh://HOST/SHARE"));
    assert!(refused(&["studio", "ssh://nowhere/backup"]).contains("ssh to nowhere ended"));
    assert!(
        refused(&["ssh://one/studio", "ssh://two/backup"]).contains("one of the two must be on this machine")
    );
    let unknown = refused(&["studio", "ssh://two/unknown"]);
    assert!(unknown.contains("the shares are: backup"), "{unknown}");
    assert!(refused(&["studio@gone", "ssh://two/backup"]).contains("has no snapshot gone"));
    let inside = scene.at("studio/inner");
    let before = scene.names("one", "studio");
    let overlaps = |to: &Path| refused(&["studio", to.to_str().unwrap()]).contains("one is inside the other");
    assert!(overlaps(&inside) && !inside.exists(), "nothing is made");
    // By another name, and around the source.
    std::os::unix::fs::symlink(scene.at("studio"), scene.folder.path().join("link")).unwrap();
    assert!(overlaps(&scene.folder.path().join("link")) && overlaps(&scene.at("")));
    assert_eq!(std::fs::read(scene.at("studio/film")).unwrap(), b"one");
    assert_eq!(scene.names("one", "studio"), before, "no snapshot was taken");
    assert!(refused(&["studio", "/proc/x"]).contains("cannot make snapshots"));
    assert_eq!(scene.output("one", &["replicate", "studio"]).status.code(), Some(2));
    // A shell whose start-up files print something.
    let ssh = scene.folder.path().join("bin/ssh");
    std::fs::write(&ssh, "#!/bin/sh\necho Welcome to two, the host of backups\ncat > /dev/null\n").unwrap();
    assert!(refused(&["studio", "ssh://two/backup"]).contains("start-up files must print nothing"));
}

#[test]
fn an_overlap_is_refused_over_ssh_too() {
    let Some(scene) = Scene::new() else { return };
    std::fs::write(scene.at("studio/film"), "one").unwrap();
    let ssh = |host: &str, path: &str| format!("ssh://{host}/{}", scene.at(path).display());
    let before = scene.names("one", "studio");
    let refused = |from: &str, to: &str| {
        let said = scene.refused("one", &["replicate", from, to]);
        assert!(said.contains("one folder, or one is inside the other"), "{from} {to}: {said}");
        let names: Vec<_> =
            std::fs::read_dir(scene.at("studio")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(!names.contains(&"inner".into()), "nothing is made: {names:?}");
        assert!(!scene.at("studio/.fourfold-snapshots/.replica").exists());
    };
    refused("studio", &ssh("two", "studio/inner"));
    refused("ssh://one/studio", scene.at("studio/inner").to_str().unwrap());
    assert_eq!(scene.names("one", "studio"), before, "no snapshot was taken");
    // A destination that was empty, and stays so.
    assert!(run("btrfs", &["-q", "subvolume", "create", scene.at("studio/made").to_str().unwrap()]));
    refused("studio", &ssh("two", "studio/made"));
    assert!(!snapshots::is_replica(&scene.at("studio/made")));
    // A replica around its source.
    scene.done("one", &["replicate", "studio", "ssh://two/backup"]);
    std::fs::rename(scene.at("studio"), scene.at("backup/studio")).unwrap();
    let around = scene.at("backup/studio");
    let said = scene.refused("one", &["replicate", around.to_str().unwrap(), "ssh://two/backup"]);
    assert!(said.contains("one folder, or one is inside the other"), "{said}");
    assert_eq!(std::fs::read(scene.at("backup/studio/film")).unwrap(), b"one");
}

#[test]
fn shares_are_destroyed_with_their_snapshots_and_what_they_have_received() {
    let Some(scene) = Scene::new() else { return };
    std::fs::write(scene.at("studio/film"), "one").unwrap();
    scene.done("one", &["replicate", "studio", "ssh://two/backup"]);
    scene.done("one", &["create", "studio/inner"]);
    std::fs::write(scene.at("studio/inner/cut"), "1").unwrap();
    scene.done("one", &["snapshot", "create", "studio/inner@s"]);
    scene.done("one", &["snapshot", "hold", "keep", "studio/inner@s"]);
    let destroy = ["destroy", "studio", "--recursive", "--delete-files", "--yes"];
    let refused = scene.refused("one", &destroy);
    assert!(refused.contains("`fourfold snapshot release keep studio/inner@s`"), "{refused}");
    assert!(scene.at("studio/inner/cut").exists() && scene.at("studio/film").exists());
    scene.done("one", &["snapshot", "release", "keep", "studio/inner@s"]);
    scene.done("one", &destroy);
    assert!(!scene.at("studio").exists());
    scene.done("two", &["destroy", "backup", "--delete-files", "--yes"]);
    assert!(!scene.at("backup").exists());
}

/// kill -9 of both sides, again and again, until a run comes to its end.
#[test]
fn a_killed_run_is_continued() {
    let Some(scene) = Scene::new() else { return };
    for number in 0..400u32 {
        std::fs::write(scene.at(&format!("studio/{number}")), vec![number as u8; 20_000]).unwrap();
    }
    std::fs::write(scene.at("studio/large"), vec![7; 24 << 20]).unwrap();
    scene.done("one", &["snapshot", "create", "studio@all"]);
    let mut kills = 0;
    for wait in (30..).step_by(60).take(60) {
        let mut command = scene.command("one", &["replicate", "studio@all", "ssh://two/backup"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut ended = None;
        is_so_within(Duration::from_millis(wait), || {
            ended = child.try_wait().unwrap();
            ended.is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        if ended.is_some_and(|status| status.success()) {
            break;
        }
        kills += 1;
    }
    scene.done("one", &["replicate", "studio@all", "ssh://two/backup"]);
    assert!(kills > 1, "the first run came to its end");
    assert_eq!(scene.names("two", "backup"), ["all"]);
    let same = ["-r", "--no-dereference", "--exclude=.fourfold-snapshots"];
    let (one, two) = (scene.at("studio"), scene.at("backup/.fourfold-snapshots/all"));
    assert!(run("diff", &[&same[..], &[one.to_str().unwrap(), two.to_str().unwrap()]].concat()));
}

#[test]
fn a_server_fetches_a_replica_and_lets_nobody_change_it() {
    let Some(scene) = Scene::new() else { return };
    std::fs::write(scene.at("studio/film"), "one").unwrap();
    scene.settings(
        "two",
        "backup",
        "replicate-from = \"ssh://one/studio\"\nreplicate-schedule = \"hourly\"\n",
    );
    let server = scene.serve("two");
    until("no replica is fetched", || !scene.names("two", "backup").is_empty());
    assert_eq!(std::fs::read(scene.at("backup/film")).unwrap(), b"one");
    // The program that fetches may be faster than the server that it tells of the replica.
    let is_known = || scene.done("two", &["status", "--json"]).contains("\"read_only\": true");
    until("the server does not know of the replica", is_known);
    if !Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    let status: serde_json::Value = serde_json::from_str(&scene.done("two", &["status", "--json"])).unwrap();
    let listeners = status["listeners"].as_array().unwrap();
    let port = listeners[0]["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let smbclient = |commands: &str| {
        let words = ["-p", &port, "-U", "ada%secret", "//127.0.0.1/backup", "-c", commands];
        let output = Command::new("timeout").args(["20", "smbclient"]).args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    assert!(smbclient("get film -").starts_with("one"));
    let refused = smbclient("put /etc/hostname x");
    assert!(refused.contains("NT_STATUS_"), "{refused}");
    assert!(!scene.at("backup/x").exists());
    scene.done("two", &["replicate", "--promote", "backup"]);
    smbclient("put /etc/hostname x");
    assert!(scene.at("backup/x").exists(), "after the promotion it can be changed at once");
    drop(server);
}
