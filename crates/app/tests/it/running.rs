//! A running server from its operator's view: start, status, reload, a second server, kill -9,
//! stop.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::waiting::{until, until_equal};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");

/// A server with the settings file and state folder of `folder`; killed when dropped.
struct Server {
    child: Child,
    state: PathBuf,
    said: Vec<String>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        Self::start_logging_to(folder, Stdio::null())
    }

    fn start_logging_to(folder: &Path, log: impl Into<Stdio>) -> Self {
        Self::start_with(folder, &["--portmap-port", "off"], log)
    }

    fn start_with(folder: &Path, more: &[&str], log: impl Into<Stdio>) -> Self {
        let ports = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--iscsi-port", "0"];
        let flags = ["--listen", "127.0.0.1", "--state", "state", "--nfs-clients", "all"];
        let mut child = Command::new(PROGRAM)
            .arg("serve")
            .args(flags)
            .args(ports)
            .args(more)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
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

/// A pipe whose reader has gone, like that of `head -1`. A child of another test may keep the
/// reader open until it executes its own program.
fn no_reader() -> std::io::PipeWriter {
    let (reader, mut writer) = std::io::pipe().unwrap();
    drop(reader);
    while writer.write(b"\n").is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    writer
}

fn fourfold(folder: &Path, words: &[&str]) -> Output {
    Command::new(PROGRAM).args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn status(folder: &Path) -> serde_json::Value {
    let output = fourfold(folder, &["status", "--json", "--state", "state"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn shares(folder: &Path) -> Vec<String> {
    let status = status(folder);
    let shares = status["shares"].as_array().unwrap().iter();
    shares.map(|share| share["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn doctor_looks_at_a_server_that_was_started_without_a_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start_with(folder.path(), &["films", "--portmap-port", "off"], Stdio::null());
    let words = ["doctor", "--json", "--state", "state"];
    let output = Command::new(PROGRAM).args(words).current_dir(folder.path()).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let about = |thing: &str| found.as_array().unwrap().iter().find(|one| one["about"] == thing).cloned();
    assert_eq!(about("settings").unwrap()["found"], "accepted, 1 share", "{found:#}");
    assert!(about("share films").is_some(), "{found:#}");
    let taken = |one: &serde_json::Value| one["found"].as_str().unwrap().contains("listens on");
    assert!(!found.as_array().unwrap().iter().any(taken), "its own ports are taken by it: {found:#}");
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

/// A local program can put it there, and earlier versions allowed it to an NFS client by a hard
/// link.
#[test]
fn what_is_in_the_place_of_the_servers_own_folders_is_told_with_its_path_and_the_share_is_served() {
    let folder = folder();
    let one = folder.path().join("One");
    std::fs::write(one.join(".fourfold-streams"), b"").unwrap();
    std::os::unix::fs::symlink("/tmp", one.join(".fourfold-luns")).unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let _server = Server::start_logging_to(folder.path(), log);
    assert_eq!(shares(folder.path()), ["One"]);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    for name in [".fourfold-streams", ".fourfold-luns"] {
        let path = one.join(name);
        let told = format!("{} has a name of the server's own, but it is not a folder", path.display());
        assert_eq!(log.matches(&told).count(), 1, "{log}");
    }
    assert!(log.contains("To put it right, move it away."), "{log}");
}

#[test]
fn sighup_takes_new_settings_over_and_keeps_the_old_ones_when_they_are_refused() {
    let folder = folder();
    let log = folder.path().join("log");
    let server = Server::start_logging_to(folder.path(), std::fs::File::create(&log).unwrap());
    let log = || std::fs::read_to_string(&log).unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), "[[share]]\nname = 7\n").unwrap();
    server.signal(rustix::process::Signal::HUP);
    until("the settings are not refused", || log().contains("the settings were refused"));
    assert_eq!(shares(folder.path()), ["One"]);
    share(folder.path(), "Two");
    server.signal(rustix::process::Signal::HUP);
    until_equal(&vec!["Two".to_owned()], || shares(folder.path()));
}

#[test]
fn status_shows_how_the_event_loops_wait_and_a_reload_changes_it() {
    let folder = folder();
    let settings = std::fs::read_to_string(folder.path().join("fourfold.toml")).unwrap();
    let server = Server::start_with(folder.path(), &["--portmap-port", "off"], Stdio::null());
    let loops = || status(folder.path())["loops"].clone();
    assert_eq!(loops()["poll"], "auto");
    assert_eq!(loops(), loops(), "without clients no loop is woken");
    let limited = format!("[server]\npoll = \"30 us\"\n{settings}");
    std::fs::write(folder.path().join("fourfold.toml"), limited).unwrap();
    server.signal(rustix::process::Signal::HUP);
    until("the setting is not applied", || loops()["poll"] == "30 us");
    let table = fourfold(folder.path(), &["status", "--all", "--state", "state"]);
    assert!(String::from_utf8(table.stdout).unwrap().contains(" poll 30 us: "));
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

#[test]
fn answers_of_the_server_go_to_a_reader_that_has_gone_without_a_panic() {
    let folder = folder();
    let _server = Server::start(folder.path());
    let commands: [&[&str]; 4] = [&["status"], &["status", "--json"], &["say", "hello"], &["lun", "list"]];
    for words in commands {
        let mut command = Command::new(PROGRAM);
        command.args(words).args(["--state", "state"]).current_dir(folder.path()).stdin(Stdio::null());
        let output = command.stdout(no_reader()).output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(128 + 13), &b""[..]), "{words:?}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("standard output: No space left on device"), "{words:?}: {said}");
    }
}

#[test]
fn a_server_goes_on_when_its_log_has_no_reader_any_more() {
    let folder = folder();
    let server = Server::start_logging_to(folder.path(), no_reader());
    share(folder.path(), "Gone"); // it is refused; both are logged
    server.signal(rustix::process::Signal::HUP);
    std::thread::sleep(Duration::from_millis(200)); // nothing shows that it was refused: there is no log
    share(folder.path(), "Two");
    server.signal(rustix::process::Signal::HUP);
    until_equal(&vec!["Two".to_owned()], || shares(folder.path()));
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
}

/// The addresses of a process's sockets that accept connections or datagrams, from `/proc/net/tcp`
/// or `udp`.
fn sockets(pid: u32, transport: &str) -> Vec<std::net::SocketAddr> {
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|fd| Some(std::fs::read_link(fd.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .collect();
    let text = std::fs::read_to_string(format!("/proc/net/{transport}")).unwrap();
    let lines = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let waiting = lines.filter(|cells| transport == "udp" || cells[3] == "0A"); // TCP_LISTEN
    let of_us = waiting.filter(|cells| own.contains(&format!("socket:[{}]", cells[9])));
    let address = |cells: Vec<&str>| {
        let (ip, port) = cells[1].split_once(':').unwrap();
        let ip = u32::from_str_radix(ip, 16).unwrap().to_le_bytes();
        std::net::SocketAddr::from((ip, u16::from_str_radix(port, 16).unwrap()))
    };
    let mut addresses: Vec<_> = of_us.map(address).collect();
    addresses.sort();
    addresses.dedup(); // Bonjour has a socket for each interface
    addresses
}

#[test]
fn status_lists_every_socket_that_the_kernel_knows_of() {
    let folder = folder();
    let server =
        Server::start_with(folder.path(), &["--portmap-port", "0", "--bonjour", "on"], Stdio::null());
    let listed = |transport: &str| {
        let output = fourfold(folder.path(), &["status", "--json", "--state", "state"]);
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = status["listeners"].as_array().unwrap().clone();
        let of = all.into_iter().filter(|one| one["transport"] == transport);
        let mut addresses: Vec<(std::net::SocketAddr, String)> = of
            .map(|one| {
                let address = one["address"].as_str().unwrap().parse().unwrap();
                (address, one["protocol"].as_str().unwrap().to_owned())
            })
            .collect();
        addresses.sort();
        addresses
    };
    let plain = |listed: Vec<(std::net::SocketAddr, String)>| {
        listed.into_iter().map(|(at, _)| at).collect::<Vec<_>>()
    };
    let names = |listed: &[(std::net::SocketAddr, String)]| -> Vec<String> {
        let mut names: Vec<String> = listed.iter().map(|(_, name)| name.clone()).collect();
        names.sort();
        names
    };
    // Bonjour begins a moment later. It talks to its own thread by a socket that accepts no
    // connections of others.
    let known = |transport: &str| {
        let mut known = sockets(server.child.id(), transport);
        let answers = plain(listed("udp"));
        known.retain(|at| transport == "tcp" || !at.ip().is_loopback() || answers.contains(at));
        known
    };
    until("it lists others", || plain(listed("udp")) == known("udp"));
    assert_eq!(plain(listed("tcp")), known("tcp"));
    let rpcbind = ["/run/rpcbind.sock", "/var/run/rpcbind.sock"].iter().any(|path| Path::new(path).exists());
    if !rpcbind {
        assert_eq!(names(&listed("tcp")), ["afp", "iscsi", "nfs", "portmap", "smb"]);
    }
    if known("udp").iter().any(|at| at.port() == 5353) {
        assert!(names(&listed("udp")).contains(&"bonjour".to_owned()), "{:?}", listed("udp"));
    }
}

/// What a command about the server of `folder` says, in another folder.
fn elsewhere(folder: &Path, words: &[&str]) -> Output {
    let state = folder.join("state");
    let place = ["--state", state.to_str().unwrap()];
    Command::new(PROGRAM)
        .args(words)
        .args(place)
        .current_dir("/")
        .env("XDG_STATE_HOME", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn commands_know_the_shares_of_a_command_line() {
    let folder = folder();
    std::fs::remove_file(folder.path().join("fourfold.toml")).unwrap();
    std::fs::write(folder.path().join("One/notes"), b"abc").unwrap();
    let _server = Server::start_with(folder.path(), &["One", "--portmap-port", "off"], Stdio::null());
    let said = |words: &[&str]| {
        let output = elsewhere(folder.path(), words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(&["get", "read-only", "One"]).contains("One"));
    assert!(said(&["list"]).contains("One"));
    assert_eq!(said(&["names", "One"]), "0 names\n");
    said(&["scrub", "One"]);
    let notes = folder.path().join("One/notes");
    said(&["explain", "0", notes.to_str().unwrap()]);
    said(&["namespace", "list"]);
    for words in [&["snapshot", "list", "One"][..], &["snapshot", "restore", "One@gone", "notes"]] {
        let error = elsewhere(folder.path(), words).stderr;
        let error = String::from_utf8_lossy(&error);
        assert!(!error.contains("there is no share"), "{words:?}: {error}");
    }

    // The file that the server reads again, and that a next one reads in the same folder.
    let set = said(&["set", "read-only=true", "One"]);
    assert!(set.contains("One is on the command line of the server: it is now in"), "{set}");
    assert!(set.contains("made the settings file"), "{set}");
    let text = std::fs::read_to_string(folder.path().join("fourfold.toml")).unwrap();
    assert!(text.contains("name = \"One\"") && text.contains("read-only = true"), "{text}");
    let status = said(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["shares"][0]["read_only"], true, "the running server has applied it");
    let path = folder.path().join("Two");
    said(&["create", "Two", "--path", path.to_str().unwrap()]);
    assert_eq!(shares(folder.path()).len(), 2);
    said(&["inherit", "read-only", "One"]);
    assert!(said(&["get", "read-only", "One"]).contains("false"));
}

#[test]
fn a_share_of_the_command_line_is_not_removed_from_a_file() {
    let folder = folder();
    share(folder.path(), "Two");
    let _server = Server::start_with(folder.path(), &["One", "--portmap-port", "off"], Stdio::null());
    for words in [&["destroy", "One", "--keep-files"][..], &["rename", "One", "Three"]] {
        let output = elsewhere(folder.path(), words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {error}");
        assert!(error.contains("One is on the command line of the server that runs"), "{error}");
    }
    assert_eq!(shares(folder.path()).len(), 2);
}

#[test]
fn a_damaged_certificate_of_the_api_keeps_only_the_api_off() {
    let folder = folder();
    let state = folder.path().join("state");
    std::fs::create_dir(&state).unwrap();
    for name in ["api-certificate.pem", "api-key.pem"] {
        std::fs::write(state.join(name), b"-----BEGIN CERTIFICATE-----\nnonsense\n").unwrap();
    }
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let _server = Server::start_with(folder.path(), &["--portmap-port", "off", "--admin-port", "0"], log);
    assert_eq!(shares(folder.path()), ["One"]);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("The API and the console stay off") && log.contains("api-certificate.pem"), "{log}");
    let status = || {
        let output = fourfold(folder.path(), &["status", "--json", "--state", "state"]);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let listeners = status()["listeners"].clone();
    assert!(listeners.as_array().unwrap().iter().all(|one| one["protocol"] != "api"), "{listeners}");
    let is_api = |alert: &serde_json::Value| alert["name"] == "api";
    until("no alert", || status()["alerts"].as_array().unwrap().iter().any(is_api));
    let words = ["doctor", "--state", "state", "--admin-port", "0", "--portmap-port", "off"];
    let doctor = String::from_utf8(fourfold(folder.path(), &words).stdout).unwrap();
    assert!(doctor.contains("The certificate of the API in the state folder cannot be used"), "{doctor}");
}
