//! A running server as its operator meets it: start, status, reload, a second one, kill -9, stop.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");

/// A server with the settings file and state folder of `folder`; killed when dropped.
struct Server {
    child: Child,
    state: PathBuf,
    said: Vec<String>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let ports = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--iscsi-port", "0"];
        let flags = ["--listen", "127.0.0.1", "--state", "state", "--portmap-port", "off"];
        let mut child = Command::new(PROGRAM)
            .arg("serve")
            .args(flags)
            .args(ports)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut said = Vec::new();
        for line in lines {
            said.push(line);
            if said.last().unwrap() == "ready" {
                break;
            }
        }
        assert_eq!(said.last().map(String::as_str), Some("ready"), "{said:?}");
        Self { child, state: folder.join("state"), said }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn exit_code(mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server does not stop");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with two folders to share and settings that share the first.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["One", "Two"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    share(folder.path(), "One");
    folder
}

fn share(folder: &Path, name: &str) {
    let text = format!("[[share]]\nname = \"{name}\"\npath = \"{name}\"\n");
    std::fs::write(folder.join("fourfold.toml"), text).unwrap();
}

fn fourfold(folder: &Path, words: &[&str]) -> Output {
    Command::new(PROGRAM).args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn shares(folder: &Path) -> Vec<String> {
    let output = fourfold(folder, &["status", "--json", "--state", "state"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let shares = status["shares"].as_array().unwrap().iter();
    shares.map(|share| share["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn it_says_ready_answers_status_and_stops_on_sigterm_with_0() {
    let folder = folder();
    let server = Server::start(folder.path());
    assert!(server.said[0].starts_with("One  "), "{:?}", server.said);
    assert_eq!(shares(folder.path()), ["One"]);
    let table = fourfold(folder.path(), &["status", "--state", "state"]);
    assert!(String::from_utf8(table.stdout).unwrap().contains("Shares: 1\n"));
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
    assert_eq!(fourfold(folder.path(), &["status", "--state", "state"]).status.code(), Some(3));
    assert!(!folder.path().join("state/control.sock").exists());
}

#[test]
fn sighup_takes_new_settings_over_and_keeps_the_old_ones_when_they_are_refused() {
    let folder = folder();
    let server = Server::start(folder.path());
    share(folder.path(), "Gone");
    server.signal(rustix::process::Signal::HUP);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(shares(folder.path()), ["One"]);
    share(folder.path(), "Two");
    server.signal(rustix::process::Signal::HUP);
    let deadline = Instant::now() + Duration::from_secs(10);
    while shares(folder.path()) != ["Two"] {
        assert!(Instant::now() < deadline, "the new share does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_second_server_with_the_same_state_is_refused_with_the_process_of_the_first() {
    let folder = folder();
    let server = Server::start(folder.path());
    let second =
        fourfold(folder.path(), &["serve", "--state", "state", "--nfs-port", "0", "--portmap-port", "off"]);
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains(&format!("another fourfold (process {})", server.child.id())), "{said}");
    assert_eq!(shares(folder.path()), ["One"]);
}

#[test]
fn after_kill_9_the_next_server_is_the_same_one() {
    let folder = folder();
    let identity = |server: &Server| std::fs::read(server.state.join("identity.toml")).unwrap();
    let mut server = Server::start(folder.path());
    let before = identity(&server);
    for _ in 0..5 {
        server.child.kill().unwrap(); // SIGKILL
        server.child.wait().unwrap();
        server = Server::start(folder.path());
        assert_eq!(identity(&server), before);
        assert_eq!(shares(folder.path()), ["One"]);
    }
}
