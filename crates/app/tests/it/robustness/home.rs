//! An ordinary user shares the home folder: it contains the server's state, which clients cannot
//! reach.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nfs::wire::v3::types::Status;

use crate::program::for_any_user;
use crate::robustness::client::Client;

/// An ordinary user, if the test runs as root.
const UID: u32 = 12_345;

/// Stopped when dropped.
struct Server(std::process::Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn fourfold(home: &Path) -> Command {
    let mut command = for_any_user();
    command.env("HOME", home).env_remove("XDG_STATE_HOME").stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(UID).gid(UID);
    }
    command
}

fn hand_over(path: &Path) {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(path, Some(UID), Some(UID)).unwrap();
    }
}

/// Serves the home folder as the current folder, and waits until it is ready; returns the NFS port.
fn serve(home: &Path) -> (Server, u16) {
    let off = ["--smb-port", "off", "--afp-port", "off", "--iscsi-port", "off", "--portmap-port", "off"];
    let mut child = fourfold(home)
        .args(["serve", "share=.", "--listen", "127.0.0.1", "--nfs-port", "0", "--bonjour", "off"])
        .args(["--nfs-clients", "all"])
        .args(off)
        .current_dir(home)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let server = Server(child);
    assert!(lines.any(|line| line.unwrap() == "ready"), "the server does not start");
    let status = fourfold(home).args(["status", "--json"]).current_dir("/").output().unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["state"], home.join(".local/state/fourfold").to_str().unwrap());
    let listeners = status["listeners"].as_array().unwrap();
    let nfs = listeners.iter().find(|one| one["protocol"] == "nfs" && one["transport"] == "tcp").unwrap();
    let port = nfs["address"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
    (server, port)
}

#[test]
fn clients_of_a_shared_home_folder_do_not_reach_the_servers_state() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    hand_over(&home);
    std::fs::write(home.join("letter"), "hello").unwrap();
    hand_over(&home.join("letter"));
    let mut adding = fourfold(&home);
    adding.args(["user", "add", "ada"]).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut adding = adding.spawn().unwrap();
    std::io::Write::write_all(&mut adding.stdin.take().unwrap(), b"secret\n").unwrap();
    assert!(adding.wait().unwrap().success());
    let accounts = home.join(".local/state/fourfold/accounts.toml");
    assert!(accounts.exists());

    let (_server, port) = serve(&home);
    let mut client = Client::mount(port);
    let root = client.root.clone();
    assert!(client.lookup(&root, "letter").is_ok());
    let local = client.lookup(&root, ".local").unwrap();
    let state = client.lookup(&local, "state").unwrap();
    assert_eq!(client.lookup(&state, "fourfold"), Err(Status::ACCES));
    assert!(client.names(&state).unwrap().iter().all(|name| name != "fourfold"));
    assert!(client.names_plus(&state).unwrap().iter().all(|name| name != "fourfold"));
    for (folder, name) in [(&root, ".local"), (&local, "state"), (&state, "fourfold")] {
        assert_eq!(client.rename(folder, name, "away"), Err(Status::ACCES), "{name}");
    }
    assert!(client.mkdir(&root, ".fourfold").is_err());
    assert!(accounts.exists());
}
