//! `fourfold lun` from the view of operators and scripts, with a server and without one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use admin::control::LunStatus;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");
const GIB: u64 = 1 << 30;

/// A folder with the share "A", open to guests, and its settings.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new(below: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/old.img"), vec![7; 2 << 20]).unwrap();
        let scene = Self(folder);
        scene.settings(below);
        scene
    }

    fn settings(&self, below: &str) {
        let server = "[server]\nstate = \"state\"\nbonjour = \"off\"\nlisten = [\"127.0.0.1\"]\nnfs-port = \"off\"\n\
                      smb-port = \"off\"\nafp-port = \"off\"\nportmap-port = \"off\"\niscsi-port = 0\n";
        let share = "[[share]]\nname = \"A\"\npath = \"a\"\nguests = true\n";
        std::fs::write(self.0.path().join("fourfold.toml"), format!("{server}{share}{below}")).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("a").join(name)
    }

    /// The LUN's own file.
    fn own(&self, name: &str) -> PathBuf {
        self.file(".fourfold-luns").join(format!("{name}.img"))
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new(PROGRAM)
            .args([&["lun"], words].concat())
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Runs a command that must succeed; returns its output.
    fn done(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail; returns its message.
    fn refused(&self, words: &[&str]) -> String {
        self.failed(words, 1)
    }

    /// The same for what cannot be meant.
    fn mistyped(&self, words: &[&str]) -> String {
        self.failed(words, 2)
    }

    fn failed(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stderr).unwrap()
    }

    fn list(&self) -> Vec<LunStatus> {
        serde_json::from_str(&self.done(&["list", "--json"])).unwrap()
    }

    fn show(&self, lun: &str) -> LunStatus {
        serde_json::from_str(&self.done(&["show", lun, "--json"])).unwrap()
    }

    fn serve(&self) -> Server {
        let mut child = Command::new(PROGRAM)
            .arg("serve")
            .current_dir(self.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said = lines.take_while(|line| line != "ready").collect();
        Server { child, said }
    }
}

/// Killed when dropped.
struct Server {
    child: Child,
    said: Vec<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in a line `iscsi://ADDRESS/TARGET/NUMBER`.
fn address(lun: &LunStatus) -> String {
    let line = &lun.connect.iter().find(|mount| mount.client == "libiscsi").unwrap().line;
    line.split("iscsi://").nth(1).unwrap().split('/').next().unwrap().to_owned()
}

/// Logs in over iSCSI (RFC 7143 11.12), without authentication; returns the status class.
fn log_in(lun: &LunStatus) -> (TcpStream, u8) {
    let keys = format!(
        "InitiatorName=iqn.2026-11.test:ada\0SessionType=Normal\0TargetName={}\0AuthMethod=None\0",
        lun.target
    );
    let mut request = vec![0; 48];
    (request[0], request[1]) = (0x43, 0x80 | 1); // immediate; transit from security to operational negotiation
    request[5..8].copy_from_slice(&(keys.len() as u32).to_be_bytes()[1..]);
    request[8] = 0x40; // ISID in enterprise format
    let mut stream = TcpStream::connect(address(lun)).unwrap();
    let mut say = |request: &[u8], keys: &[u8]| {
        let padding = vec![0; keys.len().next_multiple_of(4) - keys.len()];
        stream.write_all(&[request, keys, &padding].concat()).unwrap();
        let mut head = [0; 48];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
        stream.read_exact(&mut vec![0; length.next_multiple_of(4)]).unwrap();
        head[36]
    };
    if say(&request, keys.as_bytes()) != 0 {
        return (stream, 1);
    }
    request[1] = 0x80 | (1 << 2) | 3; // from operational negotiation to the full feature phase
    request[5..8].fill(0);
    let status = say(&request, b"");
    (stream, status)
}

#[test]
fn a_lun_is_made_shown_resized_and_removed_without_a_server() {
    let scene = Scene::new("");
    assert!(scene.done(&["list"]).starts_with("there are no LUNs"));
    let made = scene.done(&["create", "A/video", "1G", "--initiator", "iqn.1993-08.org.debian:*"]);
    assert!(made.starts_with("A/video: made, 1 GiB (1073741824 bytes); it takes room"), "{made}");
    let lun = scene.show("A/video");
    assert_eq!((lun.size, lun.block_size, lun.number, lun.served), (GIB, 512, 0, false));
    assert!(lun.naa.starts_with('3') && lun.naa.len() == 16, "{}", lun.naa);
    assert!(lun.target.starts_with("iqn.2026-11.local.fourfold-") && lun.target.ends_with(":a.video"));
    assert_eq!(lun.initiators, ["iqn.1993-08.org.debian:*"]);
    assert_eq!(std::fs::metadata(scene.own("video")).unwrap().len(), GIB);
    assert!(scene.refused(&["create", "A/VIDEO", "1G"]).contains("there is a LUN A/video already"));
    assert!(
        scene
            .done(&["resize", "A/video", "1.5 GiB"])
            .contains("has 1.5 GiB (1610612736 bytes) now, 1 GiB before")
    );
    assert!(scene.refused(&["resize", "A/video", "1G"]).contains("`--shrink` makes it 1 GiB"));
    assert!(scene.mistyped(&["resize", "A/video", "1G", "--shrink"]).contains("add --yes"));
    scene.done(&["resize", "A/video", "1G", "--shrink", "--yes"]);
    assert_eq!(std::fs::metadata(scene.own("video")).unwrap().len(), GIB);
    assert!(scene.mistyped(&["remove", "A/video"]).contains("all 1 GiB of it are lost"));
    assert!(scene.done(&["remove", "A/video", "--yes"]).contains("removed; so is its file"));
    assert!(!scene.own("video").exists() && scene.list().is_empty());
    assert!(scene.refused(&["remove", "A/video", "--yes"]).contains("there is no LUN A/video"));
}

#[test]
fn what_cannot_be_is_said_with_what_to_do() {
    let scene = Scene::new("");
    assert!(scene.mistyped(&["create", "video", "1G"]).contains("write SHARE/NAME"));
    assert!(scene.mistyped(&["create", "A/my disk", "1G"]).contains("write SHARE/NAME"));
    assert!(
        scene.refused(&["create", "B/video", "1G"]).contains("there is no share \"B\"; the shares are: A")
    );
    assert!(scene.mistyped(&["create", "A/video", "much"]).contains("is no size"));
    assert!(
        scene
            .mistyped(&["create", "A/video", "3"])
            .contains("\"3\" has no unit; write 3G for GiB, or 3B for bytes")
    );
    assert!(scene.refused(&["create", "A/video", "3B"]).contains("a LUN of 4 KiB (4096 bytes) is too small"));
    assert!(scene.list().is_empty());
    assert!(scene.refused(&["create", "A/video"]).contains("say how large it is"));
    assert!(scene.refused(&["create", "A/video", "9000 PiB"]).contains("file system has at most"));
    assert!(
        scene
            .refused(&["create", "A/x", "--file", "../fourfold.toml"])
            .contains("does not lie inside the share")
    );
    assert!(scene.refused(&["create", "A/x", "--file", "gone.img"]).contains("cannot be taken over"));
    assert!(scene.refused(&["create", "A/x", "5G", "--file", "old.img"]).contains("leave the size out"));
    assert_eq!(scene.run(&["create", "A/x", "1G", "--block-size", "1024"]).status.code(), Some(2));
    assert!(scene.list().is_empty());
    std::fs::write(scene.0.path().join("fourfold.toml"), "nonsense = 1\n").unwrap();
    assert_eq!(scene.run(&["list"]).status.code(), Some(2));
}

#[test]
fn an_image_is_taken_over_as_it_is_and_left_there() {
    let scene = Scene::new("");
    let before = std::fs::read(scene.file("old.img")).unwrap();
    let path = scene.file("old.img").canonicalize().unwrap();
    assert!(
        scene
            .done(&["create", "A/old", "--file", path.to_str().unwrap()])
            .contains("made of old.img as it is, 2 MiB")
    );
    assert!(
        scene
            .refused(&["create", "A/other", "--file", "old.img"])
            .contains("the LUN A/old is that file already")
    );
    assert!(!scene.show("A/old").own_file);
    assert!(scene.done(&["remove", "A/old", "--yes"]).contains("its file stays, as it was there before"));
    assert_eq!(std::fs::read(scene.file("old.img")).unwrap(), before);
}

#[test]
fn a_file_that_was_kept_becomes_a_lun_again() {
    let scene = Scene::new("");
    scene.done(&["create", "A/video", "64M"]);
    std::fs::write(scene.own("video"), vec![9; 64 << 20]).unwrap();
    assert!(scene.done(&["remove", "A/video", "--yes", "--keep-file"]).contains("its file stays"));
    assert!(scene.refused(&["create", "A/video", "32M"]).contains("is there already and has 64 MiB"));
    assert!(scene.done(&["create", "A/video"]).contains("made of the file that was there, 64 MiB"));
    assert_eq!(std::fs::read(scene.own("video")).unwrap(), vec![9; 64 << 20]);
}

#[test]
fn a_clone_has_the_same_contents_and_another_identity() {
    let scene = Scene::new("");
    scene.done(&["create", "A/video", "1G"]);
    let file = std::fs::File::options().write(true).open(scene.own("video")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"begin", 0).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"end", GIB - 3).unwrap();
    let said = scene.done(&["clone", "A/video", "copy", "--copy"]);
    assert!(said.contains("A/copy: made of A/video;") && said.contains("were copied"), "{said}");
    assert!(scene.refused(&["clone", "A/video", "copy"]).contains("there is a LUN A/copy already"));
    scene.done(&["clone", "A/video", "second"]);
    for name in ["copy", "second"] {
        let (lun, contents) =
            (scene.show(&format!("A/{name}")), std::fs::File::open(scene.own(name)).unwrap());
        let (mut begin, mut end) = ([0; 5], [0; 3]);
        std::os::unix::fs::FileExt::read_exact_at(&contents, &mut begin, 0).unwrap();
        std::os::unix::fs::FileExt::read_exact_at(&contents, &mut end, GIB - 3).unwrap();
        assert_eq!((&begin, &end, lun.size), (b"begin", b"end", GIB));
        assert!(lun.used.unwrap() < 64 << 20, "holes stay holes");
    }
    let mut naas: Vec<String> = scene.list().into_iter().map(|lun| lun.naa).collect();
    naas.dedup();
    assert_eq!(naas.len(), 3);
    let left = std::fs::read_dir(scene.file(".fourfold-luns")).unwrap().count();
    assert_eq!(left, 3, "no unfinished file stays");
}

#[test]
fn luns_of_the_settings_are_made_and_are_theirs() {
    let scene = Scene::new("[[share.lun]]\nname = \"set\"\nsize = \"64 MiB\"\ntarget = \"vms\"\n");
    let server = scene.serve();
    assert!(
        server.said.iter().any(|line| line.contains("iSCSI set") && line.contains(":a.vms/0")),
        "{:?}",
        server.said
    );
    let lun = scene.show("A/set");
    assert!(lun.served && lun.from_settings && scene.own("set").exists());
    assert!(scene.refused(&["remove", "A/set", "--yes"]).contains("take its `[[share.lun]]` away there"));
    assert!(scene.refused(&["resize", "A/set", "1G"]).contains("stands in the settings"));
    scene.settings("");
    admin::control::reload(&scene.0.path().join("state")).unwrap();
    let lun = scene.show("A/set");
    assert_eq!((lun.served, lun.problem.as_deref()), (false, Some("the settings no longer name it")));
    scene.done(&["remove", "A/set", "--yes"]);
}

#[test]
fn a_running_server_offers_a_new_lun_at_once_and_keeps_what_is_in_use() {
    let scene = Scene::new("");
    let _server = scene.serve();
    let said = scene.done(&["create", "A/video", "64M"]);
    assert!(said.contains("iscsiadm") && said.contains("Connect-IscsiTarget"), "{said}");
    let lun = scene.show("A/video");
    assert!(lun.served && lun.sessions.is_empty());
    let (session, status) = log_in(&lun);
    assert_eq!(status, 0);
    let names: Vec<String> =
        scene.show("A/video").sessions.into_iter().map(|session| session.initiator).collect();
    assert_eq!(names, ["iqn.2026-11.test:ada"]);
    scene.done(&["resize", "A/video", "128M"]);
    assert_eq!(scene.show("A/video").size, 128 << 20);
    let shrink = scene.refused(&["resize", "A/video", "64M", "--shrink", "--yes"]);
    assert!(shrink.contains("iqn.2026-11.test:ada is logged in to A/video"), "{shrink}");
    assert!(scene.refused(&["remove", "A/video", "--yes"]).contains("is logged in"));
    assert!(scene.refused(&["clone", "A/video", "copy", "--copy"]).contains("is logged in"));
    assert!(scene.done(&["remove", "A/video", "--yes", "--force"]).contains("removed"));
    assert!(scene.list().is_empty());
    drop(session);
    let second = scene.done(&["create", "A/video", "64M"]);
    assert!(second.starts_with("A/video: made"), "{second}");
    assert_ne!(scene.show("A/video").naa, lun.naa);
}

/// TEST UNIT READY of LUN 0, which is six zeros (SPC-4 6.47), over iSCSI (RFC 7143 11.3); returns the SCSI status. Other messages of
/// the server, such as NOP-In and asynchronous ones, are skipped.
fn test_unit_ready(stream: &mut TcpStream, number: u32) -> u8 {
    let mut request = [0; 48];
    (request[0], request[1]) = (0x01, 0x80); // a SCSI command; its last PDU
    request[16..20].copy_from_slice(&number.to_be_bytes()); // the initiator's task tag
    request[24..28].copy_from_slice(&number.to_be_bytes()); // CmdSN
    stream.write_all(&request).unwrap();
    loop {
        let mut head = [0; 48];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
        stream.read_exact(&mut vec![0; length.next_multiple_of(4)]).unwrap();
        if head[0] & 0x3f == 0x21 && head[16..20] == number.to_be_bytes() {
            return head[3];
        }
    }
}

#[test]
fn an_initiator_keeps_its_lun_through_settings_of_the_share() {
    let scene = Scene::new("");
    let _server = scene.serve();
    scene.done(&["create", "A/video", "64M"]);
    let (mut session, status) = log_in(&scene.show("A/video"));
    assert_eq!(status, 0);
    let mut numbers = 0..;
    let mut is_ready = || {
        // Unit attentions, CHECK CONDITION, are told once each: SAM-5 5.14.
        numbers.by_ref().take(3).any(|number| test_unit_ready(&mut session, number) == 0)
    };
    assert!(is_ready());
    let changes = [
        "safe-save=false",
        "read-only=true",
        "read-only=false",
        "snapshot-folder=hidden",
        "mac-sidecars=true",
    ];
    for change in changes {
        let set =
            Command::new(PROGRAM).args(["set", change, "A"]).current_dir(scene.0.path()).output().unwrap();
        let said = String::from_utf8_lossy(&set.stdout).into_owned() + &String::from_utf8_lossy(&set.stderr);
        assert!(set.status.success() && !said.contains("not served"), "{change}: {said}");
        let lun = scene.show("A/video");
        assert!(lun.served && lun.problem.is_none() && lun.sessions.len() == 1, "{change}: {lun:?}");
        assert!(is_ready(), "{change}");
    }
}

#[test]
fn what_was_made_is_there_after_a_kill() {
    let scene = Scene::new("");
    let server = scene.serve();
    scene.done(&["create", "A/video", "64M", "--target", "vms", "--number", "3", "--read-only"]);
    let before = scene.show("A/video");
    drop(server);
    let _server = scene.serve();
    let after = scene.show("A/video");
    assert_eq!((&after.naa, &after.target, after.number), (&before.naa, &before.target, 3));
    assert!(after.served && after.read_only);
    assert_eq!(log_in(&after).1, 0);
    let hidden = |path: &Path| path.file_name().unwrap() == ".fourfold-luns";
    assert!(std::fs::read_dir(scene.file("")).unwrap().any(|entry| hidden(&entry.unwrap().path())));
}

#[test]
fn what_the_state_knows_is_listed_without_settings_and_without_a_server() {
    let scene = Scene::new("");
    scene.done(&["create", "A/video", "1G"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let state = scene.0.path().join("state");
    let run = |words: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("lun").args(words).arg("--state").arg(&state).current_dir(elsewhere.path());
        command.stdin(Stdio::null()).output().unwrap()
    };
    let said = String::from_utf8(run(&["list"]).stdout).unwrap();
    assert!(
        said.contains("A/video  -") && said.contains("not served: no server runs, and no settings"),
        "{said}"
    );
    let listed: Vec<LunStatus> = serde_json::from_slice(&run(&["list", "--json"]).stdout).unwrap();
    assert_eq!((listed.len(), &*listed[0].name, listed[0].number), (1, "video", 0));
    assert_eq!(listed[0].target, scene.show("A/video").target);
    assert_eq!(run(&["show", "A/video"]).status.code(), Some(0));
    let refused = run(&["resize", "A/video", "2G"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("no server runs, and no settings file names the share \"A\""), "{said}");
    assert!(!elsewhere.path().join("state").exists());
}
