//! Files of snapshots come back with their forks, streams and metadata, while clients use the share,
//! on real file systems in image files.

use std::path::{Path, PathBuf};
use std::process::{Command as Program, Output};
use std::time::Duration;

use ::smb::wire::change_notify::{self, CompletionFilter};
use ::smb::wire::create::{Disposition, ShareAccess};
use ::smb::wire::create_context::request::Context;
use ::smb::wire::create_context::values::{Lease, LeaseFlags};
use ::smb::wire::oplock_break::{self, Notification};
use ::smb::wire::{Command, LeaseKey, LeaseState, OplockLevel, Status};
use nfs::wire::v3::types::Status as Nfs3Status;
use nfs::wire::v3::write::StableHow;
use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};

use super::client::{Smb, ok};
use crate::robustness::client::Client;
use crate::robustness::server::{Server, USER, open_to_all};

/// A file system in an image file, with a share.
struct Scene {
    top: tempfile::TempDir,
}

fn run(program: &str, words: &[&str]) -> bool {
    Program::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

impl Scene {
    /// `None`, with a message on standard output, where it cannot be mounted.
    fn new(kind: &str) -> Option<Self> {
        let top = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (image, pool) = (top.path().join("image"), top.path().join("pool"));
        std::fs::File::create(&image).unwrap().set_len(400 << 20).unwrap();
        std::fs::create_dir(&pool).unwrap();
        let [image, pool] = [&image, &pool].map(|path| path.to_str().unwrap());
        if !run(&format!("mkfs.{kind}"), &["-q", image]) || !run("mount", &["-o", "loop", image, pool]) {
            println!("skipped: no {kind}, no loop device, or not root");
            return None;
        }
        let share = format!("{pool}/share");
        if kind == "btrfs" {
            assert!(run("btrfs", &["-q", "subvolume", "create", &share]));
        } else {
            std::fs::create_dir(&share).unwrap();
        }
        open_to_all(Path::new(&share));
        let settings = format!(
            "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-port = \"off\"\nsmb-port = 0\nafp-port = \"off\"\n\
             iscsi-port = \"off\"\nportmap-port = \"off\"\nbonjour = \"off\"\n\n[[share]]\nname = \"share\"\n\
             path = \"pool/share\"\n\n[[user]]\nname = \"{}\"\nuid = 1000\n",
            USER.0
        );
        std::fs::write(top.path().join("fourfold.toml"), settings).unwrap();
        Some(Self { top })
    }

    fn serve(&self) -> Server {
        let user = format!("{}:{}", USER.0, USER.1);
        Server::run(self.top.path(), &["--nfs-port", "off", "--smb-port", "0", "--user", &user])
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join("pool/share").join(path)
    }

    fn command(&self, words: &[&str]) -> Program {
        let mut command = Program::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).current_dir(self.top.path());
        command
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?}: {}{}", text(&output.stderr), text(&output.stdout));
        text(&output.stdout)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        run("umount", &["-l", self.top.path().join("pool").to_str().unwrap()]);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The parts of the test's file: a stream's name, and how many bytes it has.
const PARTS: [(&str, usize); 5] = [
    ("docs\\film", 300_000),
    ("docs\\film:AFP_Resource", 5 << 20),
    ("docs\\film:tag", 40),
    ("docs\\film:large", 200_000),
    ("docs\\small", 10),
];

/// Writes all parts with contents that follow from `seed`.
fn plant(smb: &mut Smb, seed: u8) {
    for (name, length) in PARTS {
        let file = smb.open(name, |request| request.disposition = Disposition::OVERWRITE_IF).unwrap();
        for (number, piece) in bytes(seed, length).chunks(1 << 16).enumerate() {
            smb.write(file, (number as u64) << 16, piece).unwrap();
        }
        smb.close(file).unwrap();
    }
    let info = smb.open("docs\\film:AFP_AfpInfo", |_| ()).unwrap();
    let mut value = vec![0; 60];
    value[..8].copy_from_slice(b"AFP\0\0\x01\0\0"); // the header of AfpInfo, then the Finder information
    value[16..24].copy_from_slice(&[b'A' + seed; 8]);
    smb.write(info, 0, &value).unwrap();
    smb.close(info).unwrap();
}

fn bytes(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// Everything that clients and the host see of the file.
fn described(scene: &Scene, smb: &mut Smb) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for name in PARTS.iter().map(|(name, _)| *name).chain(["docs\\film:AFP_AfpInfo"]) {
        let content = match smb.open(name, |request| {
            request.disposition = Disposition::OPEN;
            request.desired_access = 1; // FILE_READ_DATA
        }) {
            Ok(file) => {
                let content = smb.content(file).unwrap();
                smb.close(file).unwrap();
                content
            }
            Err(status) => format!("{status:?}").into_bytes(),
        };
        all.push((name.to_owned(), content));
    }
    for name in ["user.fourfold.ea.x", "system.posix_acl_access"] {
        let mut value = vec![0; 4096];
        let length = lgetxattr(scene.at("docs/film"), name, &mut value[..]).unwrap_or(0);
        all.push((name.to_owned(), value[..length].to_vec()));
    }
    let facts = scene.at("docs/film").metadata().unwrap();
    use std::os::unix::fs::MetadataExt;
    let times = (facts.mtime(), facts.mtime_nsec());
    let facts = format!("{:o} {} {} {times:?}", facts.mode(), facts.uid(), facts.gid());
    all.push(("facts".into(), facts.into_bytes()));
    all
}

#[track_caller]
fn same(now: &[(String, Vec<u8>)], then: &[(String, Vec<u8>)]) {
    for ((name, now), (_, then)) in now.iter().zip(then) {
        let show =
            |bytes: &[u8]| format!("{} bytes: {}", bytes.len(), bytes[..bytes.len().min(80)].escape_ascii());
        assert!(now == then, "{name}: {}, and not {}", show(now), show(then));
    }
}

/// A snapshot `s` of the file, and another file in its place since.
fn changed(scene: &Scene, smb: &mut Smb) -> Vec<(String, Vec<u8>)> {
    let docs = smb.open("docs", |request| request.options = ::smb::wire::create::Options::DIRECTORY_FILE);
    smb.close(docs.unwrap()).unwrap();
    plant(smb, 1);
    let set = |name: &str, value: &[u8]| {
        lsetxattr(scene.at("docs/film"), name, value, XattrFlags::empty()).unwrap();
    };
    set("user.fourfold.ea.x", b"then");
    // Version 2; user::rw-, user:1000:r--, group::r--, mask::r--, other::---
    let entries =
        [[1u16, 6, 0xFFFF, 0xFFFF], [2, 4, 1000, 0], [4, 4, 0xFFFF, 0xFFFF], [16, 4, 0xFFFF, 0xFFFF]];
    let acl: Vec<u8> = entries
        .iter()
        .chain(&[[32, 0, 0xFFFF, 0xFFFF]])
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    set("system.posix_acl_access", &[&2u32.to_le_bytes()[..], &acl].concat());
    let time = std::time::UNIX_EPOCH + Duration::new(1_700_000_000, 123_000_000);
    std::fs::File::open(scene.at("docs/film")).unwrap().set_modified(time).unwrap();
    let then = described(scene, smb);
    assert_eq!(then[1].1, bytes(1, 5 << 20));
    scene.run(&["snapshot", "create", "share@s"]);
    plant(smb, 2);
    let added = smb.make("docs\\added", b"new");
    smb.close(added).unwrap();
    set("user.fourfold.ea.x", b"later");
    then
}

fn comes_back(kind: &str) {
    let Some(scene) = Scene::new(kind) else { return };
    let server = scene.serve();
    let mut smb = Smb::enter(server.smb_port);
    let then = changed(&scene, &mut smb);
    forks_differ(&scene, &mut smb);
    let restore = ["snapshot", "restore", "share@s", "docs"];
    let dry = scene.run(&[&restore[..], &["--dry-run", "--delete"]].concat());
    assert!(dry.contains("removed   docs/added\n") && dry.contains("restored  docs/film\n"), "{dry}");
    assert!(
        dry.ends_with("a dry run, nothing was changed: 2 restored, 1 unchanged, 1 removed, 0 refused\n"),
        "{dry}"
    );

    // One client has the file in its cache, and watches the folder.
    let state = LeaseState::READ | LeaseState::HANDLE | LeaseState::WRITE;
    let lease = Lease { key: LeaseKey(*b"a key of a lease"), state, flags: LeaseFlags::NONE, v2: None };
    let lease = Context::Lease(lease);
    let mut holder = Smb::enter_as_machine(server.smb_port, 7);
    let file = holder
        .open("docs\\film", |request| {
            request.disposition = Disposition::OPEN;
            request.oplock_level = OplockLevel::LEASE;
            request.contexts = vec![lease.encode()];
        })
        .unwrap();
    let docs = smb.open("docs", |request| request.disposition = Disposition::OPEN).unwrap();
    let completion_filter = CompletionFilter::FILE_NAME;
    let watch = change_notify::Request {
        flags: change_notify::Flags::NONE,
        output_buffer_length: 4096,
        file: docs,
        completion_filter,
    };
    let watch = smb.request(Command::CHANGE_NOTIFY, |w| watch.encode(w));
    let watch = smb.start(watch).unwrap();
    smb.told_to_wait(watch);

    let command = scene.command(&restore).stdout(std::process::Stdio::piped()).spawn().unwrap();
    while let Notification::Lease(told) = Notification::decode(&holder.notified().message).unwrap() {
        let ack = oplock_break::LeaseBreak { key: told.key, state: told.new_state };
        ok(&holder.call(Command::OPLOCK_BREAK, |w| ack.encode(w))).unwrap();
        if !told.new_state.intersects(LeaseState::HANDLE) {
            break;
        }
    }
    let output = command.wait_with_output().unwrap();
    assert_eq!(
        text(&output.stdout),
        "restored  docs/film\nrestored  docs/small\n2 restored, 1 unchanged, 0 removed, 0 refused\n"
    );
    assert_eq!(smb.answer(watch).unwrap().status(), Status::SUCCESS);
    assert_eq!(holder.content(file).unwrap(), bytes(2, 300_000), "it keeps the file that it has open");
    holder.close(file).unwrap();
    smb.close(docs).unwrap();
    same(&described(&scene, &mut smb), &then);
    assert!(scene.at("docs/added").exists());
    refuses(&scene, &mut smb);

    // Without a server, beside and exactly.
    drop(server);
    scene.run(&["snapshot", "restore", "share@s", "docs/film", "--beside"]);
    let json = scene.run(&[&restore[..], &["--delete", "--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["removed"], &report["unchanged"]), (&2.into(), &3.into()), "{json}");
}

/// A change of a fork or a stream alone is told as a change of its file.
fn forks_differ(scene: &Scene, smb: &mut Smb) {
    let diff = |older: &str| scene.run(&["snapshot", "diff", older]);
    assert_eq!(diff("share@s"), "added     docs/added\nmodified  docs/film\nmodified  docs/small\n");
    scene.run(&["snapshot", "create", "share@t"]);
    assert_eq!(diff("share@t"), "");
    for stream in ["docs\\film:large", "docs\\film:AFP_Resource"] {
        let file = smb.open(stream, |request| request.disposition = Disposition::OPEN).unwrap();
        smb.write(file, 100_000, b"changed").unwrap();
        smb.close(file).unwrap();
        assert_eq!(diff("share@t"), "modified  docs/film\n", "{stream}");
        scene.run(&["snapshot", "remove", "share@t"]);
        scene.run(&["snapshot", "create", "share@t"]);
    }
}

/// What cannot be done is said with the next step.
fn refuses(scene: &Scene, smb: &mut Smb) {
    plant(smb, 3);
    let open = smb.open("docs\\film", |request| {
        request.disposition = Disposition::OPEN;
        request.share_access = ShareAccess::READ;
    });
    let output = scene.output(&["snapshot", "restore", "share@s", "docs"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(
        said.contains("refused   docs/film: a client has it open") && said.contains("disconnect --file"),
        "{said}"
    );
    assert!(said.ends_with("1 restored, 1 unchanged, 0 removed, 1 refused\n"), "{said}");
    smb.close(open.unwrap()).unwrap();
    let fail = |words: &[&str], why: &str| {
        let output = scene.output(&[&["snapshot", "restore"], words].concat());
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(why), "{words:?}: {said}");
    };
    fail(&["share@s", "docs/none"], "has no file or folder");
    fail(&["share@none", "docs"], "there is no snapshot none");
    fail(&["share@s", "../etc"], "without ..");
    fail(&["share@s", "docs/film", "--to", "none/film"], "restore that folder");
    fail(&["share@s", ".fourfold-streams"], "the server's own");
    scene.run(&["snapshot", "restore", "share@s", "docs"]);
}

#[test]
fn a_file_comes_back_whole_on_btrfs() {
    comes_back("btrfs");
}

#[test]
fn a_file_comes_back_whole_on_xfs() {
    comes_back("xfs");
}

/// The server is killed at any moment of a restore. Each file is the old or the new one, and the
/// same command goes on.
#[test]
fn after_kill_9_files_are_old_or_new_and_the_restore_goes_on() {
    const FILES: usize = 60;
    let Some(scene) = Scene::new("btrfs") else { return };
    let write = |word: &str| {
        std::fs::create_dir_all(scene.at("many")).unwrap();
        for number in 0..FILES {
            let file = scene.at(&format!("many/{number}"));
            std::fs::write(&file, word.repeat(5_000)).unwrap();
            lsetxattr(&file, "user.tag", word.as_bytes(), XattrFlags::empty()).unwrap();
        }
    };
    write("then");
    scene.run(&["snapshot", "create", "share@s"]);
    for milliseconds in [5, 25, 60] {
        write("later");
        let server = scene.serve();
        let mut command = scene.command(&["snapshot", "restore", "share@s", "many"]);
        let mut command =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds)); // the moment of the kill
        drop(server); // kill -9
        command.wait().unwrap();
        for number in 0..FILES {
            let file = scene.at(&format!("many/{number}"));
            let mut tag = [0; 10];
            let length = lgetxattr(&file, "user.tag", &mut tag[..]).unwrap();
            let word = text(&tag[..length]);
            assert!(["then", "later"].contains(&&*word), "{word}");
            assert!(
                std::fs::read(&file).unwrap() == word.repeat(5_000).into_bytes(),
                "{number} is {word} in part"
            );
        }
        scene.run(&["snapshot", "restore", "share@s", "many"]);
        let said = scene.run(&["snapshot", "restore", "share@s", "many"]);
        assert_eq!(said, "0 restored, 61 unchanged, 0 removed, 0 refused\n", "after {milliseconds} ms");
        assert_eq!(std::fs::read_dir(scene.at(".fourfold-streams/restoring")).unwrap().count(), 0);
    }
}

/// As after a save by renaming: the name has the restored file, and nothing that a client sends for the old one is lost in
/// silence.
#[test]
fn a_client_of_nfs_that_has_the_file_open_is_told_and_finds_the_restored_one() {
    let Some(scene) = Scene::new("btrfs") else { return };
    let user = format!("{}:{}", USER.0, USER.1);
    let server = Server::run(scene.top.path(), &["--nfs-port", "0", "--smb-port", "off", "--user", &user]);
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    let file = nfs.create(&root, "film").unwrap();
    nfs.write(&file, 0, b"old", StableHow::FILE_SYNC).unwrap();
    scene.run(&["snapshot", "create", "share@s"]);
    nfs.write(&file, 0, b"newer", StableHow::UNSTABLE).unwrap();
    scene.run(&["snapshot", "restore", "share@s", "film"]);
    assert_eq!(nfs.write(&file, 0, b"lost?", StableHow::UNSTABLE), Err(Nfs3Status::STALE));
    assert_eq!(nfs.try_commit(&file).unwrap(), Err(Nfs3Status::STALE));
    let restored = nfs.lookup(&root, "film").unwrap();
    assert_ne!(restored, file);
    assert_eq!(nfs.content(&restored).unwrap(), b"old");
    nfs.write(&restored, 3, b"er", StableHow::FILE_SYNC).unwrap();
    assert_eq!(std::fs::read(scene.at("film")).unwrap(), b"older");
}
