//! Shares as a tree, from the command line: made, changed, inherited, renamed, removed.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FILE: &str = r#"[server]
listen = ["127.0.0.1"]
state = "state"
nfs-port = 0
smb-port = 0
afp-port = 0
iscsi-port = "off"
portmap-port = "off"
bonjour = "off"

[[share]]
name = "studio"
path = "studio"
users = ["ada"]   # for now
"#;

struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("studio")).unwrap();
        std::fs::write(folder.path().join("fourfold.toml"), FILE).unwrap();
        Self(folder)
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Standard output of a command that succeeds.
    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a command that fails, with its exit code.
    fn fail(&self, words: &[&str]) -> (String, Option<i32>) {
        let output = self.command(words).output().unwrap();
        (String::from_utf8(output.stderr).unwrap(), output.status.code())
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.at("fourfold.toml")).unwrap()
    }

    /// The value and the source of a property.
    fn get(&self, property: &str, share: &str) -> (String, String) {
        let json: serde_json::Value =
            serde_json::from_str(&self.run(&["get", property, share, "--json"])).unwrap();
        let row = &json[0];
        let from = row["inherited_from"].as_str().unwrap_or_default();
        let source = format!("{} {from}", row["source"].as_str().unwrap());
        (row["value"].as_str().unwrap_or("-").into(), source.trim().into())
    }
}

const NO_SERVER: &str = "no server runs: it counts from the next start\n";

#[test]
fn a_share_below_another_one_is_made_with_its_folder_and_inherits() {
    let scene = Scene::new();
    std::fs::set_permissions(scene.at("studio"), std::fs::Permissions::from_mode(0o2770)).unwrap();
    assert_eq!(scene.run(&["create", "studio/video", "-o", "read-only=on"]), NO_SERVER);
    scene.run(&["create", "studio/video/raw"]);
    assert_eq!(std::fs::metadata(scene.at("studio/video/raw")).unwrap().mode() & 0o7777, 0o2770);
    assert_eq!(
        scene.text(),
        format!(
            "{FILE}\n[[share]]\nname = \"studio/video\"\nread-only = true\n\n[[share]]\nname = \"studio/video/raw\"\n"
        )
    );
    assert_eq!(scene.get("read-only", "studio/video/raw"), ("true".into(), "inherited studio/video".into()));
    assert_eq!(scene.get("users", "studio/video/raw"), ("ada".into(), "inherited studio".into()));
    assert_eq!(scene.get("guests", "studio/video/raw"), ("false".into(), "default".into()));
    assert_eq!(scene.get("comment", "studio"), (String::new(), "default".into()));
    let table = scene.run(&["get", "users,time-machine-size"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "PROPERTY", "VALUE", "SOURCE"]);
    assert_eq!(lines[1], ["studio", "users", "ada", "local"]);
    assert_eq!(lines[4], ["studio/video", "time-machine-size", "-", "default"]);
    assert_eq!(lines.len(), 7);
    let listed = scene.run(&["list", "studio/video"]);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["NAME", "studio/video", "studio/video/raw"]);
    scene.run(&["inherit", "read-only", "studio/video"]);
    assert_eq!(scene.get("read-only", "studio/video"), ("false".into(), "default".into()));
}

#[test]
fn the_first_share_makes_the_settings_file() {
    let scene = Scene(tempfile::tempdir().unwrap());
    let words = ["--config", "new.toml", "--state", "state"];
    let (error, code) = scene.fail(&[&["create", "studio"], &words[..]].concat());
    assert!(error.contains("add --path DIR") && code == Some(1), "{error}");
    assert!(!scene.at("new.toml").exists(), "a refusal leaves nothing");
    let said = scene.run(&[&["create", "studio", "--path", "here"], &words[..]].concat());
    let made = format!("made the settings file {}\n", scene.at("new.toml").display());
    assert_eq!(said, made + NO_SERVER);
    let text = std::fs::read_to_string(scene.at("new.toml")).unwrap();
    assert!(text.contains("name = \"studio\"") && scene.at("here").is_dir(), "{text}");
    let said = scene.run(&[&["create", "studio/video"], &words[..]].concat());
    assert_eq!(said, NO_SERVER);
    // A file without shares is enough, too.
    std::fs::write(scene.at("new.toml"), "# nothing yet\n").unwrap();
    scene.run(&[&["create", "other", "--path", "there"], &words[..]].concat());
    assert!(std::fs::read_to_string(scene.at("new.toml")).unwrap().starts_with("# nothing yet\n"));
}

#[test]
fn a_share_is_renamed_with_its_folder_and_those_below() {
    let scene = Scene::new();
    for name in ["studio/video", "studio/video/raw", "studio/archive"] {
        scene.run(&["create", name]);
    }
    std::fs::write(scene.at("studio/video/raw/take"), "1").unwrap();
    scene.run(&["rename", "studio/video", "studio/archive/film"]);
    assert_eq!(std::fs::read(scene.at("studio/archive/film/raw/take")).unwrap(), b"1");
    assert!(!scene.at("studio/video").exists());
    let folder = scene.at("studio/archive/film/raw").canonicalize().unwrap().display().to_string();
    assert_eq!(scene.get("path", "studio/archive/film/raw").0, folder);
    scene.run(&["rename", "studio/archive/film", "film"]);
    let folder = scene.at("studio/archive/film").canonicalize().unwrap().display().to_string();
    assert_eq!(scene.get("path", "film"), (folder, "local".into()), "it stays where it is");
    let (why, code) = scene.fail(&["rename", "studio", "studio/archive/studio"]);
    assert_eq!(code, Some(1));
    assert!(why.contains("lies below \"studio\" itself"), "{why}");
}

#[test]
fn nothing_is_destroyed_unasked() {
    let scene = Scene::new();
    scene.run(&["create", "studio/video"]);
    scene.run(&["create", "studio/video/raw"]);
    std::fs::write(scene.at("studio/video/take"), "1").unwrap();
    let before = scene.text();
    for (words, expected) in [
        (
            &["destroy", "studio/video"][..],
            "below \"studio/video\" are the shares studio/video/raw; --recursive",
        ),
        (&["destroy", "studio/video", "-r"], "is not empty; --keep-files leaves it as it is, --delete-files"),
        (&["destroy", "studio/video", "-r", "--delete-files"], "There is no terminal to ask at; add --yes"),
        (
            &["destroy", "studio/none"],
            "there is no share \"studio/none\"; the shares are: studio, studio/video",
        ),
    ] {
        let (why, code) = scene.fail(words);
        let is_usage = expected.contains("--yes");
        assert!(why.contains(expected) && code == Some(if is_usage { 2 } else { 1 }), "{words:?}: {why}");
        assert_eq!(scene.text(), before);
    }
    let dry = scene.run(&["destroy", "studio/video", "-r", "--delete-files", "--dry-run"]);
    assert!(dry.starts_with("dry run: all files in ") && scene.at("studio/video/take").exists(), "{dry}");
    assert_eq!(scene.text(), before);
    scene.run(&["destroy", "studio/video/raw"]);
    assert!(!scene.at("studio/video/raw").exists(), "it was empty, and the server had chosen its place");
    scene.run(&["destroy", "studio/video", "--keep-files"]);
    assert!(scene.at("studio/video/take").exists());
    scene.run(&["create", "studio/video"]);
    scene.run(&["destroy", "studio/video", "--delete-files", "--yes"]);
    assert!(!scene.at("studio/video").exists());
    assert_eq!(scene.text(), FILE);
}

#[test]
fn wrong_names_and_properties_are_refused_with_the_next_step() {
    let scene = Scene::new();
    for (words, expected) in [
        (&["create", "lab"][..], "\"lab\" needs a folder: add --path DIR"),
        (&["create", "lab/a"], "there is no share \"lab\"; the shares are: studio"),
        (&["create", "studio"], "there is a share \"studio\" already"),
        (&["create", "studio/a@b:c"], "`name` must be a name of 1 to 80 characters"),
        (&["create", "studio/.."], "it means a folder"),
        (&["create", "studio/a", "-o", "read-only"], "write PROPERTY=VALUE"),
        (&["set", "qouta=1G", "studio"], "there is no property `qouta`"),
        (&["set", "quota=much", "studio"], "`quota` must be a size such as \"256 MiB\", not \"much\""),
        (&["set", "quota=1G", "lab"], "there is no share \"lab\"; the shares are: studio"),
        (&["set", "snapshot-schedule=often:2", "studio"], "hourly, daily, nightly, weekly and monthly"),
        (&["set", "read-only=perhaps", "studio"], "must be true or false, not \"perhaps\""),
        (&["set", "name=x", "studio"], "`fourfold rename studio x`"),
        (&["get", "al", "studio"], "there is no property `al`"),
        (&["inherit", "path", "studio"], "[[share]] has no `path`"),
    ] {
        let (why, code) = scene.fail(words);
        assert!(why.contains(expected) && code != Some(0), "{words:?}: {why}");
        assert_eq!(scene.text(), FILE, "{words:?}");
    }
    assert!(!scene.at("studio/a").exists(), "a folder that was made is removed again");
}

#[test]
fn a_schedule_that_cannot_be_kept_is_refused_with_the_next_step() {
    let scene = Scene::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return }; // tmpfs makes no snapshots
    scene.run(&["create", "lab", "--path", memory.path().to_str().unwrap()]);
    let (why, code) = scene.fail(&["set", "snapshot-schedule=hourly:24", "lab"]);
    assert_eq!(code, Some(1));
    let expected = ["the schedule cannot be kept", "(tmpfs) cannot make snapshots", "`fourfold pool create"];
    assert!(expected.iter().all(|part| why.contains(part)), "{why}");
    scene.run(&["set", "snapshot-schedule=", "lab"]);
}

#[test]
fn shares_are_listed_as_a_tree_with_a_dash_for_what_is_not_known() {
    let scene = Scene::new();
    for name in ["studio/video", "studio/video/raw"] {
        scene.run(&["create", name]);
    }
    std::fs::create_dir(scene.at("other")).unwrap();
    scene.run(&["create", "studio-old", "--path", "other", "-o", "quota=1.5G"]);
    let table = scene.run(&["list"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "USED", "AVAIL", "REFER", "QUOTA", "SNAPS", "PROTOCOLS", "PATH"]);
    let names: Vec<&str> = lines[1..].iter().map(|cells| cells[0]).collect();
    assert_eq!(names, ["studio", "studio/video", "studio/video/raw", "studio-old"]);
    assert_eq!(lines[4][..7], ["studio-old", "-", "1.5", "GiB", "-", "1.5", "GiB"]);
    assert_eq!(scene.get("quota", "studio-old"), ("1.5 GiB".into(), "local".into()));
    scene.run(&["set", "quota=none", "studio-old"]);
    assert_eq!(scene.get("quota", "studio-old"), ("-".into(), "default".into()));
    scene.run(&["set", "quota=10G", "studio"]);
    assert_eq!(scene.get("quota", "studio/video"), ("-".into(), "default".into()), "it is not inherited");
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shares(scene: &Scene) -> Vec<(String, bool)> {
    let status: serde_json::Value = serde_json::from_str(&scene.run(&["status", "--json"])).unwrap();
    let of = |share: &serde_json::Value| {
        (share["name"].as_str().unwrap().to_owned(), share["read_only"].as_bool().unwrap())
    };
    status["shares"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_running_server_applies_a_change_at_once() {
    let scene = Scene::new();
    let mut child = scene.command(&["serve"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let server = Server(child);
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ready")));
    let named = |name: &str, read_only| (name.to_owned(), read_only);
    scene.run(&["create", "studio/video"]);
    assert_eq!(shares(&scene), [named("studio", false), named("studio/video", false)]);
    scene.run(&["set", "read-only=on", "studio"]);
    assert_eq!(shares(&scene), [named("studio", true), named("studio/video", true)]);
    scene.run(&["set", "read-only=off", "studio/video"]);
    assert_eq!(shares(&scene), [named("studio", true), named("studio/video", false)]);
    scene.run(&["destroy", "studio/video"]);
    assert_eq!(shares(&scene), [named("studio", true)]);
    assert!(!Path::new(&scene.at("studio/video")).exists());
    drop(server);
}
