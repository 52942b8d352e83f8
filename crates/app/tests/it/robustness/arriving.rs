//! Shares with a `from`: clients use them while their files arrive from another server.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use crate::ports::free_port;
use crate::robustness::migrated_rights::{NONE, attribute, mode, posix_acl, set_mode};
use crate::robustness::server::{Server, USER, folder, open_to_all};
use crate::robustness::smbd::Smbd;

const FILM: u64 = 192 << 20;
const MARK: &str = "user.fourfold.arriving";

/// What smbclient says to these commands in the share of this port.
fn said(port: u16, commands: &str) -> String {
    let output = smbclient(port, commands);
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn smbclient(port: u16, commands: &str) -> Output {
    let (user, port) = (format!("{}%{}", USER.0, USER.1), port.to_string());
    let words = ["60", "smbclient", "-U", &user, "-p", &port, "//127.0.0.1/share", "-c", commands];
    Command::new("timeout").args(words).output().unwrap()
}

/// How far the share is, as `fourfold status` says it.
fn status(top: &Path) -> Value {
    let words = ["status", "--json", "--state", "state"];
    let output = Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).current_dir(top).output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    status["arriving"][0].clone()
}

fn wait_until(top: &Path, is_so: impl Fn(&Value) -> bool) {
    let began = Instant::now();
    loop {
        let now = status(top);
        if is_so(&now) {
            return;
        }
        let log = || fs::read_to_string(top.join("log")).unwrap_or_default();
        assert!(began.elapsed() < Duration::from_secs(90), "{now}: {}", log());
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn is_marked(file: &Path) -> bool {
    rustix::fs::getxattr(file, MARK, &mut [0_u8; 256][..]).is_ok()
}

/// The files of the old server.
fn fill(old: &Path) {
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::create_dir_all(old.join("Projects/2001")).unwrap();
    for (name, text) in
        [("letter", "Dear Grace"), ("obsolete", "not needed"), ("Projects/2001/plan", "plan"), ("empty", "")]
    {
        fs::write(old.join(name), text).unwrap();
    }
    let note = (old.join("letter"), "user.DosStream.note:$DATA", b"a note\0");
    rustix::fs::setxattr(note.0, note.1, note.2, rustix::fs::XattrFlags::empty()).unwrap();
    let film = File::create(old.join("film")).unwrap();
    for at in [0, FILM / 2, FILM - 5] {
        film.write_all_at(b"frame", at).unwrap();
    }
    for name in ["letter", "film", "Projects/2001/plan"] {
        File::options().write(true).open(old.join(name)).unwrap().set_modified(date).unwrap();
    }
    // The rights arrive, too: other users may use these.
    for name in ["film", "letter", "obsolete", "Projects", "Projects/2001"] {
        open_to_all(&old.join(name));
    }
}

#[test]
fn files_of_smbd_arrive_while_clients_use_them() {
    if !Smbd::is_here() || !rustix::process::geteuid().is_root() {
        println!("skipped: no smbd, or not root");
        return;
    }
    let ((top, share), (place, old)) = (folder(), folder());
    fill(&old);
    let port = free_port().unwrap();
    let smbd = || Smbd::start_with(place.path(), ("127.0.0.1", port), &old, "vfs objects = streams_xattr\n");
    let (from, home) = (format!("smb://127.0.0.1:{port}/archive"), format!("share={}", share.display()));
    let words = [&*home, "--from", &from, "--nfs-port", "off", "--smb-port", "0"];
    let start = || Server::run_with_smb(top.path(), &words);

    let (first_smbd, server) = (smbd(), start());
    let listed = said(server.smb_port, "ls; ls Projects\\2001\\*");
    for name in ["letter", "film", "obsolete", "plan", "201326592"] {
        assert!(listed.contains(name), "{name}: {listed}");
    }
    let worked =
        said(server.smb_port, "get letter -; get letter:note -; put /etc/hostname new; del obsolete");
    assert!(worked.contains("Dear Grace") && worked.contains("a note"), "{worked}");
    let number = fs::metadata(share.join("film")).unwrap().ino();
    server.kill();
    assert!(is_marked(&share.join("film")), "it was killed before all was here");
    assert!(!is_marked(&share.join("letter")));

    // Without the old server what is here goes on, and the rest fails at once.
    drop(first_smbd);
    let server = start();
    let worked = said(server.smb_port, "get letter -; put /etc/hostname newer; rename film Projects\\movie");
    assert!(worked.contains("Dear Grace") && !worked.contains("NT_STATUS"), "{worked}");
    let failed = said(server.smb_port, "get Projects\\movie /dev/null");
    assert!(failed.contains("NT_STATUS_HOST_UNREACHABLE"), "{failed}");
    wait_until(top.path(), |now| now["is_away"] == true && now["is_done"] == false);

    // It comes back: everything arrives, also what was renamed meanwhile, with its number and date.
    let second_smbd = smbd();
    wait_until(top.path(), |now| now["is_done"] == true);
    let movie = share.join("Projects/movie");
    let about = fs::metadata(&movie).unwrap();
    assert_eq!((about.ino(), about.mtime(), about.len()), (number, 1_000_000_000, FILM));
    assert!(about.blocks() * 512 < FILM / 2, "holes stay: {}", about.blocks());
    for name in ["letter", "Projects/movie", "Projects/2001/plan", "empty"] {
        assert!(!is_marked(&share.join(name)), "{name}");
    }
    assert!(!share.join("obsolete").exists() && share.join("new").exists() && share.join("newer").exists());
    drop(second_smbd);
    let got = smbclient(server.smb_port, "get Projects\\movie -");
    let copy = got.stdout;
    assert_eq!(copy.len() as u64, FILM, "{}", String::from_utf8_lossy(&got.stderr));
    let frames: Vec<u64> =
        [0, FILM / 2, FILM - 5].into_iter().filter(|at| copy[*at as usize..].starts_with(b"frame")).collect();
    assert_eq!((frames.len(), copy.iter().filter(|byte| **byte != 0).count()), (3, 15));

    // The old server is not needed after that, and the share needs no `from`.
    server.signal(Signal::TERM);
    server.exit_code();
    let without = [&*home, "--nfs-port", "off", "--smb-port", "0"];
    let server = Server::run_with_smb(top.path(), &without);
    assert!(said(server.smb_port, "get Projects\\2001\\plan -").contains("plan"));
}

#[test]
fn files_arrive_over_nfs_afp_and_from_a_folder_and_half_a_share_is_not_served_without_them() {
    let (other, old) = folder();
    fill(&old);
    for path in ["letter", "obsolete", "empty", "film", "Projects", "Projects/2001", "Projects/2001/plan"] {
        open_to_all(&old.join(path));
    }
    let source = Server::start_with_afp(other.path(), &old);
    let (user, password) = USER;
    for from in [
        old.display().to_string(),
        format!("nfs://127.0.0.1:{0}/share?mountport={0}&uid=1000", source.port),
        format!("afp://{user}:{password}@127.0.0.1:{}/share?login=cleartext", source.afp_port),
    ] {
        let (top, share) = folder();
        let home = format!("share={}", share.display());
        let words = [&*home, "--from", &from, "--nfs-port", "0"];
        let server = Server::run(top.path(), &words);
        wait_until(top.path(), |now| now["files_left"] != 0 || now["is_done"] == true);
        drop(server);
        if is_marked(&share.join("film")) {
            let words = ["serve", &*home, "--state", "state", "--nfs-port", "0", "--listen", "127.0.0.1"];
            let off =
                ["--smb-port", "off", "--afp-port", "off", "--iscsi-port", "off", "--portmap-port", "off"];
            let words = [&words[..], &off].concat();
            let mut again = Command::new("timeout");
            let again = again.arg("20").arg(env!("CARGO_BIN_EXE_fourfold")).args(words);
            let refused = again.current_dir(top.path()).output().unwrap();
            let why = String::from_utf8_lossy(&refused.stderr);
            assert!(why.contains("still on the server that they come from"), "{from}: {why}");
        }
        let server = Server::run(top.path(), &words);
        wait_until(top.path(), |now| now["is_done"] == true);
        server.signal(Signal::TERM);
        for name in ["letter", "Projects/2001/plan", "empty", "film"] {
            assert!(!is_marked(&share.join(name)), "{from}: {name}");
            assert!(
                fs::read(share.join(name)).unwrap() == fs::read(old.join(name)).unwrap(),
                "{from}: {name}"
            );
        }
        assert_eq!(fs::metadata(share.join("film")).unwrap().mtime(), 1_000_000_000, "{from}");
    }
}

#[test]
fn what_cannot_arrive_is_counted_and_named_by_status() {
    let ((top, share), (_other, old)) = (folder(), folder());
    fs::write(old.join("letter"), "Dear Grace").unwrap();
    // A pipe is no data.
    assert!(Command::new("mkfifo").arg(old.join("pipe")).status().unwrap().success());
    let (home, from) = (format!("share={}", share.display()), old.display().to_string());
    let server = Server::run(top.path(), &[&*home, "--from", &from, "--nfs-port", "0"]);
    wait_until(top.path(), |now| now["missing"] == 1 && now["files_left"] == 0 && now["files"] == 1);
    let now = status(top.path());
    assert_eq!((&now["is_done"], &now["failed"]), (&Value::from(false), &Value::from(0)), "{now}");
    assert_eq!(now["named"][0]["path"], "pipe", "{now}");
    let words = ["status", "--state", "state"];
    let shown =
        Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).current_dir(top.path()).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("1 cannot be made here") && shown.contains("Not arrived"), "{shown}");
    assert!(!shown.contains("all is here"), "{shown}");
    server.signal(Signal::TERM);
    server.exit_code();
    // Who has read that may give the old server up.
    let server = Server::run(top.path(), &[&*home, "--nfs-port", "0"]);
    assert_eq!(fs::read(share.join("letter")).unwrap(), b"Dear Grace");
    drop(server);
}

#[test]
fn lists_arrive_and_a_folder_here_passes_on_nothing() {
    const ACCESS: &str = "system.posix_acl_access";
    const DEFAULT: &str = "system.posix_acl_default";
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
        return;
    }
    let ((top, share), (_place, old)) = (folder(), folder());
    fs::create_dir(old.join("plans")).unwrap();
    for (name, bits) in [("plans/house", 0o640), ("letter", 0o640), ("secret", 0o600)] {
        fs::write(old.join(name), name).unwrap();
        set_mode(&old.join(name), bits);
    }
    let access =
        posix_acl(&[(0x01, 6, NONE), (0x02, 4, 12_345), (0x04, 0, NONE), (0x10, 4, NONE), (0x20, 0, NONE)]);
    let passed_on =
        posix_acl(&[(0x01, 7, NONE), (0x04, 5, NONE), (0x08, 7, 3456), (0x10, 7, NONE), (0x20, 0, NONE)]);
    let put = |path: &Path, name: &str, value: &[u8]| {
        rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty())
    };
    let has_acls = put(&old.join("plans/house"), ACCESS, &access)
        .and_then(|()| put(&old.join("plans"), DEFAULT, &passed_on))
        // The share here would let the user 12345 into all that is made in it.
        .and_then(|()| {
            put(
                &share,
                DEFAULT,
                &posix_acl(&[
                    (0x01, 7, NONE),
                    (0x02, 7, 12_345),
                    (0x04, 7, NONE),
                    (0x10, 7, NONE),
                    (0x20, 7, NONE),
                ]),
            )
        })
        .is_ok();
    if !has_acls {
        println!("skipped: no POSIX ACLs here");
        return;
    }
    let (from, home) = (format!("file://{}", old.display()), format!("share={}", share.display()));
    let _server =
        Server::run_with_smb(top.path(), &[&home, "--from", &from, "--nfs-port", "off", "--smb-port", "0"]);
    wait_until(top.path(), |now| now["is_done"] == true);
    assert_eq!(attribute(&share.join("plans/house"), ACCESS), Some(access));
    assert_eq!(attribute(&share.join("plans"), DEFAULT), Some(passed_on));
    for (name, bits) in [("letter", 0o640), ("secret", 0o600)] {
        assert_eq!(attribute(&share.join(name), ACCESS), None, "{name}");
        assert_eq!(mode(&share.join(name)), bits, "{name}");
    }
    assert_eq!(mode(&share.join("plans/house")) & 0o777, 0o640, "the group's bits are the mask");
}
