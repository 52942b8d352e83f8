//! Shares that are full in mid-run, many clients, cold caches, and the options of NFS mounts.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use bench::record::Record;

use super::server::{PROGRAM, Server, records, repeat, text};

/// A small file system in memory; unmounted when dropped.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path, size: &str) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=777"), "tmpfs"]).arg(at);
        mount.output().is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

#[test]
fn a_share_that_is_full_in_mid_run_is_named_and_left_clean() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("One");
    std::fs::create_dir(&one).unwrap();
    let Some(_small) = Small::mount(&one, "12m") else {
        eprintln!("skipped: it needs root");
        return;
    };
    let server = Server::start_in(folder, "127.0.0.1", Command::new(PROGRAM), [0; 4]);
    let [folder, smb, afp, nfs, _] = server.urls();
    for url in [&folder, &smb, &afp, &nfs] {
        let _ = std::fs::remove_file(server.folder.path().join("raw.jsonl"));
        // 1 MiB fits, 64 MiB do not.
        let words = ["--workload", "small-write-1K,seq-write", "--scale", "0.1", "--repeats", "1"];
        let output = server.measure(&[url], &[&words[..], &["--output", "raw"]].concat());
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{url}: {said}");
        assert!(said.contains("the share is full. Make room"), "{url}: {said}");
        assert!(said.contains("was not completed") && !said.contains("left on the server"), "{url}: {said}");
        let runs = records(&server.folder.path().join("raw.jsonl"));
        let runs: Vec<&str> = runs.iter().filter_map(repeat).map(|run| run.workload.as_str()).collect();
        assert_eq!(runs, ["small-write-1K"], "{url}: {said}");
        assert_eq!(server.names(), ["somebody's"], "{url}");
    }
}

#[test]
fn fifty_clients_and_a_cold_cache_are_measured() {
    let server = Server::start();
    let [_, smb, afp, nfs, _] = server.urls();
    let served = server.folder.path().join("One");
    std::fs::set_permissions(&served, std::fs::Permissions::from_mode(0o777)).unwrap();
    let served = served.display().to_string();
    let words = ["--workload", "seq-read", "--scale", "0.01", "--repeats", "1", "--clients", "1,50"];
    let more = ["--cache", "warm,cold", "--server-folder", &served, "--output", "raw"];
    let output = server.measure(&[&smb, &afp, &nfs], &[&words[..], &more].concat());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let records = records(&server.folder.path().join("raw.jsonl"));
    let runs: Vec<&bench::record::MeasuredRun> = records.iter().filter_map(repeat).collect();
    assert_eq!(runs.len(), 3 * 2 * 2, "{said}");
    // 50 clients read a file of at least 256 KiB each.
    assert!(runs.iter().filter(|run| run.clients == 50).all(|run| run.bytes >= 50 * (256 << 10)));
    assert!(runs.iter().filter(|run| run.cache == bench::Residency::Cold).count() == 6);
    assert!(said.contains("seq-read, 50 clients, cold"), "{said}");
    assert_eq!(server.names(), ["somebody's"]);
}

#[test]
fn a_sweep_of_nfs_options_ends_with_a_mount_command() {
    let server = Server::start();
    let [_, smb, _, nfs, _] = server.urls();
    let words = ["--sweep", "nfs", "--scale", "0.002", "--repeats", "1", "--output", "raw"];
    let output = server.bench(&[&[nfs.as_str()], &words[..]].concat());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let port = server.port("mount -t nfs", ",port=");
    let line = said.lines().find(|line| line.contains("mount -t nfs -o vers=")).unwrap();
    let ports = if line.contains("vers=3") { format!(",mountport={port}") } else { String::new() };
    assert!(line.contains(&format!(",port={port}{ports} 127.0.0.1:/One /mnt")), "{line}");
    let records = records(&server.folder.path().join("raw.jsonl"));
    let sweep = records.iter().find_map(|record| match record {
        Record::Sweep(sweep) => Some(sweep),
        _ => None,
    });
    let sweep = sweep.unwrap();
    assert_eq!(sweep.best.len(), 6);
    // Each option is tried with the usual value and at least two others, for there are three versions; there are TCP and UDP.
    assert!(sweep.steps.len() >= 5 * 3 + 2 && sweep.steps.iter().all(|step| step.speed > 0.0));
    assert_eq!(server.names(), ["somebody's"]);

    let output = server.bench(&[&smb, "--sweep", "nfs"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// Forwards connections to a server. Each tenth answer goes in two parts by a socket with Nagle's algorithm:
/// the second part waits for the acknowledgement of the first, which the client's host delays.
fn stuttering(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(server).unwrap();
            server.set_nodelay(true).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            std::thread::spawn(move || stutter(server, client));
        }
    });
    address
}

fn stutter(mut from: TcpStream, mut to: TcpStream) {
    let mut block = vec![0; 64 << 10];
    for number in 1_u64.. {
        let Ok(count @ 1..) = from.read(&mut block) else { return };
        let part = if number.is_multiple_of(10) { count / 2 } else { count };
        if to.write_all(&block[..part]).and_then(|()| to.write_all(&block[part..count])).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_whose_answers_wait_for_delayed_acknowledgements_is_named() {
    let server = Server::start();
    let smb: u16 = server.port("open smb://", "127.0.0.1:").parse().unwrap();
    let address = stuttering(SocketAddr::from(([127, 0, 0, 1], smb)));
    let words = ["--workload", "small-read-1K", "--scale", "0.005", "--repeats", "1"];
    let output = server.measure(&[&format!("smb://{address}/One")], &words);
    let said = text(&output.stdout);
    assert!(said.contains("waited 40 ms for a delayed acknowledgement"), "{said}");
    assert!(said.contains("ip route change"), "{said}");
}
