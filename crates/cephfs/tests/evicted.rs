//! A process that was evicted from a file system: what it has in memory, and what it writes later, does not arrive.
//!
//! `cargo xtask interop ceph` runs this with a cluster. Without one the test says so and does nothing.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cephfs::{Mount, set_conf, set_identity};

/// The settings of a cluster with a file system `fs1`.
const CONF: &str = "FOURFOLD_TEST_CEPH_CONF";
/// Set in the process that is evicted.
const OTHER: &str = "FOURFOLD_TEST_EVICTED";
const NAME: &[u8] = b"evicted";
const TEST: &str = "what_an_evicted_process_writes_does_not_arrive";
/// An eviction needs a new map of the OSDs; without it the metadata server would wait a minute for the other process.
const WITHIN: Duration = Duration::from_secs(20);

fn mount(identity: &str) -> Option<Arc<Mount>> {
    set_conf(std::env::var_os(CONF)?.as_ref());
    set_identity(identity);
    Some(Mount::open(&"cephfs:fs1".parse().unwrap()).unwrap())
}

/// The process that is evicted: it goes on as it is told.
fn other(identity: &str) {
    let mount = mount(identity).unwrap();
    let (_, _, file) = mount.root().unwrap().create(&mount.server(), NAME, 0o644).unwrap();
    file.write(0, b"stable").unwrap();
    file.sync(false).unwrap();
    file.write(0, b"memory").unwrap();
    println!("\nready");
    std::io::stdin().lines().next(); // until it is evicted
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        let wrote = file.write(0, b"too late").and_then(|()| file.sync(false));
        let _ = done.send(wrote); // it took too long
    });
    let arrived = is_done.recv_timeout(Duration::from_secs(5));
    println!("\nsync {}", if arrived == Ok(Ok(())) { "is done" } else { "fails" });
    std::io::stdout().flush().unwrap();
    cephfs::exit(0) // without unmounting: that would wait for the cluster
}

struct Other(Child, ChildStdin, BufReader<ChildStdout>);

impl Other {
    fn start(identity: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([TEST, "--exact", "--nocapture"])
            .env(OTHER, identity)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (says, hears) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self(child, says, BufReader::new(hears))
    }

    /// The next line that begins so.
    fn says(&mut self, begin: &str) -> String {
        let mut lines = self.2.by_ref().lines().map(Result::unwrap);
        lines.find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("it has ended before {begin}"))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_an_evicted_process_writes_does_not_arrive() {
    if let Ok(identity) = std::env::var(OTHER) {
        return other(&identity);
    }
    let Some(mount) = mount("one that evicts") else {
        println!("skipped: {CONF} names no cluster");
        return;
    };
    let identity = format!("one that is evicted {}", std::process::id());
    let mut late = Other::start(&identity);
    late.says("ready");
    let begun = Instant::now();
    cephfs::evict(&identity).unwrap();
    println!("evicted after {:?}", begun.elapsed());
    let (inode, _) = mount.root().unwrap().lookup(&mount.server(), NAME).unwrap();
    let file = inode.open(&mount.server(), true).unwrap();
    file.write(0, b"after!").unwrap();
    file.sync(false).unwrap();
    assert!(begun.elapsed() < WITHIN, "{:?}", begun.elapsed());
    writeln!(late.1, "go on").unwrap();
    assert_eq!(late.says("sync"), "sync fails");
    let mut data = Vec::new();
    file.read(0, 100, &mut data).unwrap();
    assert_eq!(data, b"after!");
    // One that has no session is evicted already.
    cephfs::evict(&identity).unwrap();
    cephfs::evict("one that was never there").unwrap();
}
