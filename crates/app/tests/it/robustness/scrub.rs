//! `fourfold scrub` on folders of the host: damage is found, mended and gone, no bytes are lost, nothing outside is touched.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::XattrFlags;
use serde_json::Value;
use vfs::Caller;
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, Stability, Wait};
use vfs::streams::{File, Streams};

use crate::program::{for_any_user, tests_for_any_user};
use crate::robustness::random::Random;
use crate::robustness::server::Server;

/// An ordinary user.
const UID: u32 = 65_534;
/// Set for the part of a test that runs as this user.
const CHILD: &str = "FOURFOLD_SCRUB_AS_USER";
const LARGE: usize = 100_000;

/// A share, and files that have what a file can have.
struct Scene {
    top: PathBuf,
    share: PathBuf,
}

impl Scene {
    fn new(top: &Path, files: &[&str]) -> Self {
        let scene = Self { top: top.into(), share: top.join("share") };
        fs::create_dir_all(scene.share.join("sub")).unwrap();
        let settings = format!("[[share]]\nname = \"share\"\npath = {:?}\n", scene.share);
        fs::write(top.join("fourfold.toml"), settings).unwrap();
        for name in files {
            fs::write(scene.share.join(name), name).unwrap();
            with(&scene.share, name, |streams, file| {
                let root = Caller::root();
                let mut fork = streams.fork_to_write(&root, file).unwrap();
                fork.write_at(0, format!("fork of {name}").as_bytes(), Stability::File).unwrap();
                let large = vec![name.as_bytes()[0]; LARGE];
                streams.write_stream(&root, file, b"large", 0, &large, Stability::File).unwrap();
            });
        }
        scene
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = for_any_user();
        command.arg("scrub").args(words).arg("--config").arg(self.top.join("fourfold.toml"));
        command.arg("--state").arg(self.top.join("state"));
        command
    }

    fn output(&self, words: &[&str]) -> (Output, Value) {
        let output = self.command(&[words, &["--json"]].concat()).output().unwrap();
        let value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        (output, value)
    }

    /// The findings as path, kind and outcome, and the exit code.
    fn scrub(&self, words: &[&str]) -> (BTreeSet<(String, String, String)>, i32) {
        let (output, value) = self.output(words);
        let reports = value["reports"].as_array().unwrap();
        let all = reports.iter().flat_map(|report| report["findings"].as_array().unwrap());
        let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
        let found = all.map(|one| (text(one, "path"), text(one, "kind"), text(one, "outcome")));
        (found.collect(), output.status.code().unwrap())
    }
}

/// The fork and the length of the large stream of a file.
fn fork(share: &Path, name: &str) -> (String, u64) {
    with(share, name, |streams, file| {
        let root = Caller::root();
        let (mut bytes, fork) = (Vec::new(), streams.fork(&root, file).unwrap());
        fork.map(|fork| fork.read_at(0, 100, &mut bytes, Wait::Allowed).unwrap());
        (String::from_utf8(bytes).unwrap(), streams.stream_len(&root, file, b"large").unwrap_or(0))
    })
}

fn with<T>(share: &Path, path: &str, then: impl FnOnce(&Streams, &File<'_>) -> T) -> T {
    let host = Arc::new(Host::open(share, &HostOptions::default()).unwrap());
    let streams = Streams::new(host.clone());
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let root = host.root().unwrap().object;
    let folder = match folder {
        "" => root,
        inner => root.lookup(&Caller::root(), inner.as_bytes()).unwrap().object,
    };
    let object = folder.lookup(&Caller::root(), name.as_bytes()).unwrap().object;
    then(&streams, &File { folder: &*folder, name: name.as_bytes(), object: &*object })
}

/// The bytes of all files below a folder.
fn contents(folder: &Path) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => all.append(&mut contents(&entry.path())),
            false => _ = all.insert(fs::read(entry.path()).unwrap()),
        }
    }
    all
}

fn set_xattr(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty()).unwrap();
}

/// What local programs and damage do to a share.
fn damage(scene: &Scene) {
    let at = |name: &str| scene.share.join(name);
    fs::remove_file(at("a")).unwrap();
    fs::rename(at("b"), at("sub/b")).unwrap();
    fs::remove_file(at("c")).unwrap();
    fs::write(at("c"), "another").unwrap();
    set_xattr(&at("d"), "user.DOSATTRIB", b"\0\0\x63\0\x63\0\0\0nonsense");
    set_xattr(&at("sub"), "user.org.netatalk.Metadata", b"\0\x05\x16\x07\0\x02\0\0");
    fs::write(at(".fourfold-streams/notes.txt"), "whose?").unwrap();
}

fn damage_is_mended(top: &Path) {
    let scene = Scene::new(top, &["a", "b", "c", "d", "e"]);
    assert_eq!(scene.scrub(&[]), (BTreeSet::new(), 0), "a sound share");
    damage(&scene);
    let before = contents(&scene.share);

    let (found, code) = scene.scrub(&[]);
    let is_stored = |path: &str| path.starts_with(".fourfold-streams/") && !path.ends_with(".txt");
    let kinds: Vec<(&str, &str)> = found
        .iter()
        .map(|(path, kind, _)| (if is_stored(path) { "stored" } else { path }, &**kind))
        .collect();
    let expected = [
        ("._a", "sidecar-of-gone-file"),
        ("._b", "sidecar-away"),
        ("._c", "sidecar-of-gone-file"),
        ("stored", "streams-of-gone-file"),
        ("stored", "streams-of-gone-file"),
        (".fourfold-streams/notes.txt", "store-stray"),
        ("d", "metadata-damaged"),
        ("sub", "metadata-damaged"),
        ("sub/b", "sidecar-behind"),
    ];
    let sorted = |list: &[(&str, &str)]| {
        let mut list: Vec<(String, String)> = list.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        list.sort();
        list
    };
    assert_eq!(sorted(&kinds), sorted(&expected));
    assert!(found.iter().all(|(.., outcome)| outcome == "mendable"), "{found:?}");
    assert_eq!(code, 1);
    assert_eq!(contents(&scene.share), before, "a look changes nothing");

    let (found, code) = scene.scrub(&["share", "--repair"]);
    assert!(found.iter().all(|(.., outcome)| outcome == "mended"), "{found:?}");
    assert_eq!(code, 0);
    assert_eq!(scene.scrub(&["share"]), (BTreeSet::new(), 0), "the second look");
    assert!(before.is_subset(&contents(&scene.share)), "no bytes are lost");
    assert_eq!(fork(&scene.share, "sub/b"), ("fork of b".into(), LARGE as u64));
    assert_eq!(fork(&scene.share, "c"), (String::new(), 0), "a fork is not shown with another file");
    assert_eq!(fork(&scene.share, "e"), ("fork of e".into(), LARGE as u64));
}

/// A copy that keeps attributes has the keys of the original.
fn copies_get_their_forks_back(top: &Path, original: &str) {
    let scene = Scene::new(top, &["a", "b"]);
    let copy = top.join("copy");
    let copied = Command::new("cp").arg("-a").args([&scene.share, &copy]).status().unwrap();
    assert!(copied.success());
    let place = copy.to_string_lossy().into_owned();
    if original == "gone" {
        fs::remove_dir_all(&scene.share).unwrap();
        fs::create_dir(&scene.share).unwrap();
    }
    let before = contents(&copy);
    let (found, code) = scene.scrub(&[&place, "--repair"]);
    assert_eq!(code, 0, "{found:?}");
    assert!(found.iter().any(|(path, kind, _)| path == "._a" && kind == "sidecar-of-copy"), "{found:?}");
    assert_eq!(scene.scrub(&[&place]), (BTreeSet::new(), 0));
    assert!(before.is_subset(&contents(&copy)));
    assert_eq!(fork(&copy, "a"), ("fork of a".into(), LARGE as u64));
    if original == "there" {
        assert_eq!(scene.scrub(&["share"]), (BTreeSet::new(), 0));
        assert_eq!(fork(&scene.share, "a"), ("fork of a".into(), LARGE as u64));
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs one test of this program as an ordinary user, or here if it is one.
fn as_user(test: &str, run: fn(&Path)) {
    let top = tempfile::tempdir().unwrap();
    if let Some(top) = std::env::var_os(CHILD) {
        return run(Path::new(&top));
    }
    if !is_root() {
        return run(top.path());
    }
    std::os::unix::fs::chown(top.path(), Some(UID), Some(UID)).unwrap();
    let mut child = tests_for_any_user();
    child.args(["--exact", test, "--nocapture"]).env(CHILD, top.path()).uid(UID).gid(UID);
    let output = child.current_dir(top.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn damage_is_found_and_mended() {
    damage_is_mended(tempfile::tempdir().unwrap().path());
}

#[test]
fn damage_is_found_and_mended_by_an_ordinary_user() {
    as_user("robustness::scrub::damage_is_found_and_mended_by_an_ordinary_user", damage_is_mended);
}

#[test]
fn a_copied_tree_gets_its_forks_back() {
    if is_root() {
        for original in ["there", "gone"] {
            copies_get_their_forks_back(tempfile::tempdir().unwrap().path(), original);
        }
    } else {
        println!("skipped: only root can tell that files outside of the share are gone");
    }
}

#[test]
fn nothing_outside_is_touched_while_a_folder_becomes_a_link() {
    let top = tempfile::tempdir().unwrap();
    let scene = Scene::new(top.path(), &["a"]);
    let outside = top.path().join("outside");
    fs::create_dir_all(outside.join("sub")).unwrap();
    let sidecar = fs::read(scene.share.join("._a")).unwrap();
    for name in ["._victim", "sub/._victim"] {
        fs::write(outside.join(name), &sidecar).unwrap();
        set_xattr(&outside.join(name), "user.fourfold.owner", b"\x01\0\0\0nobody at all");
        set_xattr(&outside.join(name), "user.DOSATTRIB", b"nonsense");
    }
    let list = |folder: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = (contents(&outside), list(&outside), list(&outside.join("sub")));
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (sub, away) = (scene.share.join("sub"), scene.share.join("away"));
            while !ends.load(Ordering::Relaxed) {
                fs::rename(&sub, &away).unwrap();
                symlink(&outside, &sub).unwrap();
                fs::remove_file(&sub).unwrap();
                fs::rename(&away, &sub).unwrap();
            }
        });
        for _ in 0..20 {
            scene.command(&["--repair"]).output().unwrap();
        }
        ends.store(true, Ordering::Relaxed);
    });
    assert_eq!((contents(&outside), list(&outside), list(&outside.join("sub"))), before);
    // A store that is a link is not followed, either.
    fs::rename(scene.share.join(".fourfold-streams"), top.path().join("kept")).unwrap();
    symlink(&outside, scene.share.join(".fourfold-streams")).unwrap();
    symlink(&outside, scene.share.join(".fourfold-lost")).unwrap();
    fs::remove_file(scene.share.join("a")).unwrap();
    let (found, code) = scene.scrub(&["--repair"]);
    assert_eq!((contents(&outside), list(&outside), list(&outside.join("sub"))), before);
    assert!(found.iter().any(|(_, kind, _)| kind == "folder-untrusted"), "{found:?}");
    assert_eq!(code, 1, "what is lost has no place: {found:?}");
    assert!(scene.share.join("._a").exists());
}

#[test]
fn a_repair_that_is_killed_goes_on_and_loses_nothing() {
    let top = tempfile::tempdir().unwrap();
    let scene = Scene::new(top.path(), &["keep"]);
    let names: Vec<String> = (0..300).map(|number| format!("file {number}")).collect();
    for name in &names {
        fs::write(scene.share.join(name), name).unwrap();
        with(&scene.share, name, |streams, file| {
            let mut fork = streams.fork_to_write(&Caller::root(), file).unwrap();
            fork.write_at(0, format!("fork of {name}").as_bytes(), Stability::Unstable).unwrap();
        });
    }
    for (number, name) in names.iter().enumerate() {
        let path = scene.share.join(name);
        match number % 3 {
            0 => fs::remove_file(path).unwrap(),
            1 => fs::rename(path, scene.share.join("sub").join(name)).unwrap(),
            _ => set_xattr(&path, "user.DOSATTRIB", b"\0\0\x63\0\x63\0\0\0nonsense"),
        }
    }
    let before = contents(&scene.share);
    let mut random = Random::new(17);
    for _ in 0..12 {
        let mut child =
            scene.command(&["--repair"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + random.below(120) as u64)); // the moment of the kill
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(before.is_subset(&contents(&scene.share)), "no bytes are lost");
    }
    let (found, code) = scene.scrub(&["--repair"]);
    assert_eq!(code, 0, "{found:?}");
    assert_eq!(scene.scrub(&[]), (BTreeSet::new(), 0));
    assert!(before.is_subset(&contents(&scene.share)));
    assert_eq!(fork(&scene.share, "sub/file 1").0, "fork of file 1");
}

#[test]
fn a_running_server_does_the_work() {
    let top = tempfile::tempdir().unwrap();
    let scene = Scene::new(top.path(), &["a", "b", "c", "d", "e"]);
    damage(&scene);
    let _server = Server::run(top.path(), &["--nfs-port", "0"]);
    let (found, code) = scene.scrub(&["share", "--repair"]);
    assert_eq!((found.len() > 7, code), (true, 0), "{found:?}");
    assert_eq!(scene.scrub(&[]), (BTreeSet::new(), 0));
    let (found, code) = scene.scrub(&[&scene.share.join("sub").display().to_string(), "--dry-run"]);
    assert_eq!((found.len(), code), (0, 0));
    assert_eq!(fork(&scene.share, "sub/b").0, "fork of b");
}

/// A share with a quota and a LUN of 1 MiB, as a server has left it that was told to stop.
fn with_quota_and_lun(top: &Path) -> Scene {
    let scene = Scene::new(top, &["a"]);
    let settings = format!(
        "[[share]]\nname = \"share\"\npath = {:?}\nquota = \"10 MiB\"\n\n[[share.lun]]\nname = \"disk\"\nsize = \"1 MiB\"\n",
        scene.share
    );
    fs::write(top.join("fourfold.toml"), settings).unwrap();
    let server = Server::run(top, &["--nfs-port", "0", "--iscsi-port", "0"]);
    crate::robustness::quota::counted(top);
    stopped(server);
    scene
}

fn stopped(server: Server) {
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
}

fn outcome<'a>(found: &'a BTreeSet<(String, String, String)>, kind: &str) -> Option<&'a str> {
    found.iter().find(|(_, of, _)| of == kind).map(|(.., outcome)| &**outcome)
}

#[test]
fn a_quota_that_counts_wrong_is_counted_again() {
    let top = tempfile::tempdir().unwrap();
    let scene = with_quota_and_lun(top.path());
    assert_eq!(scene.scrub(&["share"]), (BTreeSet::new(), 0), "what the server has counted is what is there");
    // Without a server.
    fs::write(scene.share.join("meanwhile"), [7; 50_000]).unwrap();
    let (found, code) = scene.scrub(&["share"]);
    assert_eq!((outcome(&found, "quota-sum"), found.len(), code), (Some("mendable"), 1, 1), "{found:?}");
    let (found, code) = scene.scrub(&["share", "--repair"]);
    assert_eq!((outcome(&found, "quota-sum"), found.len(), code), (Some("mended"), 1, 0), "{found:?}");
    assert_eq!(scene.scrub(&["share"]), (BTreeSet::new(), 0));
    // Beside a server, whose sum does not have what local programs write.
    let server = Server::run(top.path(), &["--nfs-port", "0", "--iscsi-port", "0"]);
    crate::robustness::quota::counted(top.path());
    fs::write(scene.share.join("beside"), [7; 70_000]).unwrap();
    let (found, code) = scene.scrub(&["share"]);
    assert_eq!((outcome(&found, "quota-sum"), found.len(), code), (Some("mendable"), 1, 1), "{found:?}");
    let (found, code) = scene.scrub(&["share", "--repair"]);
    assert_eq!((outcome(&found, "quota-sum"), code), (Some("mended"), 0), "{found:?}");
    assert_eq!(scene.scrub(&["share"]), (BTreeSet::new(), 0));
    stopped(server);
}

#[test]
fn luns_and_their_files_are_compared() {
    let top = tempfile::tempdir().unwrap();
    let scene = with_quota_and_lun(top.path());
    let luns = scene.share.join(".fourfold-luns");
    let disk = luns.join("disk.img");
    fs::write(luns.join("old.img"), [1; 512]).unwrap();
    fs::write(luns.join(".copy.unfinished"), [1; 512]).unwrap();
    fs::OpenOptions::new().write(true).open(&disk).unwrap().set_len((1 << 20) + 100).unwrap();
    let kept = top.path().join("state/luns");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("3000000000000001.kept"), "{}").unwrap();

    let kinds = |found: &BTreeSet<(String, String, String)>| -> Vec<(String, String)> {
        let others = found.iter().filter(|(_, kind, _)| kind != "quota-sum");
        others.map(|(path, kind, outcome)| (format!("{kind} {outcome}"), path.clone())).collect()
    };
    let (found, code) = scene.scrub(&["--repair"]);
    let expected = [
        ("lun-unfinished left", ".fourfold-luns/.copy.unfinished".to_owned()),
        ("lun-size left", ".fourfold-luns/disk.img".to_owned()),
        ("lun-unknown left", ".fourfold-luns/old.img".to_owned()),
        ("lun-reservations mended", kept.join("3000000000000001.kept").display().to_string()),
    ];
    let mut expected = expected.map(|(kind, path)| (kind.to_owned(), path)).to_vec();
    let mut all = kinds(&found);
    expected.sort();
    all.sort();
    assert_eq!((all, code), (expected, 1), "a person must decide about LUNs");
    assert!(
        luns.join("old.img").exists() && luns.join(".copy.unfinished").exists(),
        "a copy may be going on"
    );
    assert!(!kept.join("3000000000000001.kept").exists());

    for stray in ["old.img", ".copy.unfinished", "disk.img"] {
        fs::remove_file(luns.join(stray)).unwrap();
    }
    let (found, code) = scene.scrub(&["--repair"]);
    let expected = vec![("lun-without-file left".to_owned(), ".fourfold-luns/disk.img".to_owned())];
    assert_eq!((kinds(&found), code), (expected, 1));
    assert!(!disk.exists(), "an empty disk is not made in the place of the lost one");
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let top = tempfile::tempdir().unwrap();
    let scene = Scene::new(top.path(), &[]);
    for words in [&["nothing"][..], &["/nonexistent"], &["--repair", "--dry-run"]] {
        let output = scene.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(!output.stderr.is_empty());
    }
    let text = String::from_utf8(scene.command(&[]).output().unwrap().stdout).unwrap();
    assert!(text.contains("share: ") && text.contains("the state folder: "), "{text}");
    assert!(text.contains("sound"), "{text}");
}
