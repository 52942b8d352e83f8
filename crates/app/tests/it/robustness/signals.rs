//! SIGHUP and SIGTERM while clients are connected.

use std::path::Path;
use std::time::{Duration, Instant};

use nfs::wire::mount;
use nfs::wire::v3::types::Status;
use nfs::wire::v3::write::StableHow;
use rustix::process::Signal;

use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder, open_to_all};
use crate::waiting::{until, until_equal};

fn settings(top: &Path, shares: &[&str]) {
    let share = |name: &&str| format!("[[share]]\nname = \"{name}\"\npath = \"{name}\"\n");
    let text: String = shares.iter().map(share).collect();
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
}

#[test]
fn sighup_brings_and_takes_shares_without_dropping_a_client() {
    let (top, _) = folder();
    let second = top.path().join("second");
    std::fs::create_dir(&second).unwrap();
    open_to_all(&second);
    settings(top.path(), &["share"]);
    let server = Server::run(top.path(), &["--nfs-port", "0"]);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.create(&root, "notes").unwrap();
    let verifier = client.write(&file, 0, b"abc", StableHow::UNSTABLE).unwrap();
    assert_eq!(client.mnt("/second"), Err(mount::Status::NOENT));

    settings(top.path(), &["share", "second"]);
    server.signal(Signal::HUP);
    until_equal(&true, || client.mnt("/second").is_ok());
    let new = client.mnt("/second").unwrap();
    assert!(client.create(&new, "there").is_ok() && second.join("there").exists());
    // The same connection, handles and run: the client need not send anything again.
    assert_eq!(client.content(&file).unwrap(), b"abc");
    assert_eq!(client.try_commit(&file).unwrap(), Ok(verifier));

    settings(top.path(), &["second"]);
    server.signal(Signal::HUP);
    until_equal(&Err(Status::STALE), || client.getattr(&file).map(drop));
    assert!(client.getattr(&new).is_ok());

    settings(top.path(), &["share", "second"]);
    server.signal(Signal::HUP);
    until_equal(&Ok(()), || client.getattr(&file).map(drop));
    assert_eq!(client.content(&file).unwrap(), b"abc");
}

#[test]
fn sighup_with_settings_that_are_refused_changes_nothing_for_a_client() {
    let (top, _) = folder();
    settings(top.path(), &["share"]);
    let server = Server::run(top.path(), &["--nfs-port", "0"]);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.create(&root, "notes").unwrap();
    std::fs::write(top.path().join("fourfold.toml"), "[[share]]\nname = 7\n").unwrap();
    server.signal(Signal::HUP);
    let log = top.path().join("log");
    until("the settings are not refused", || {
        assert!(client.getattr(&file).is_ok());
        std::fs::read_to_string(&log).unwrap().contains("the settings were refused")
    });
    assert!(client.getattr(&file).is_ok());
    assert!(Client::mount_path(server.port, "/share").is_ok());
}

#[test]
fn sigterm_ends_with_0_and_ends_its_connections() {
    let (top, share) = folder();
    let server = Server::start(top.path(), &share);
    let mut clients: Vec<Client> = (0..5).map(|_| Client::mount(server.port)).collect();
    let root = clients[0].root.clone();
    let file = clients[0].create(&root, "notes").unwrap();
    clients[0].write(&file, 0, b"abc", StableHow::FILE_SYNC).unwrap();
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
    for mut client in clients {
        assert!(client.is_closed_within(Duration::from_secs(10)));
    }
    assert_eq!(std::fs::read(share.join("notes")).unwrap(), b"abc");
}

#[test]
fn sigterm_in_mid_load_ends_in_time() {
    let (top, share) = folder();
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.create(&root, "notes").unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        let block = vec![1; 1 << 18];
        let mut written = 0;
        while client.try_write(&file, written % (1 << 24), &block, StableHow::FILE_SYNC).is_ok() {
            written += block.len() as u64;
            let _ = tell.send(()); // the test has heard enough
        }
    });
    (0..3).for_each(|_| told.recv().unwrap());
    let begun = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10));
    writer.join().unwrap();
}

/// sd_watchdog_enabled(3): pings come within WATCHDOG_USEC of each other.
#[test]
fn the_service_manager_hears_from_a_server_that_goes_on() {
    let (top, share) = folder();
    let path = top.path().join("manager");
    let manager = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    open_to_all(&path);
    manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _server = Server::start_with_a_watchdog(top.path(), &share, &path);
    let mut told = String::new();
    let mut buffer = [0; 4096];
    while told.matches("WATCHDOG=1").count() < 3 {
        let length = manager.recv(&mut buffer).expect("the server is silent");
        told += std::str::from_utf8(&buffer[..length]).unwrap();
    }
    assert!(told.contains("READY=1"), "{told}");
}
