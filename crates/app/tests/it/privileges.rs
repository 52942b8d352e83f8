//! What the threads of a running server may do.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");
/// The capabilities of a server of root without a cluster and PAM, capabilities(7): CHOWN 0, DAC_OVERRIDE 1, DAC_READ_SEARCH 2,
/// FOWNER 3, FSETID 4, SETGID 6, SETUID 7, NET_BIND_SERVICE 10, MKNOD 27, LEASE 28.
const NEEDED: u64 = 0b11111 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 27 | 1 << 28;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with the API, a settings file and a program that keeps schedules.
fn start(folder: &Path) -> Server {
    std::fs::create_dir(folder.join("one")).unwrap();
    let settings = "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-port = 0\nsmb-port = 0\nafp-port = 0\n\
                    iscsi-port = 0\nportmap-port = \"off\"\nadmin-port = 0\nbonjour = \"off\"\n\
                    [[share]]\nname = \"one\"\npath = \"one\"\n";
    std::fs::write(folder.join("fourfold.toml"), settings).unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["serve", "--config", "fourfold.toml"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line == "ready").unwrap();
    Server(child)
}

/// The lines of all threads that begin with this word, without repeats.
fn of_threads(pid: u32, word: &str) -> BTreeSet<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    // A thread that ends meanwhile has no status.
    let statuses =
        threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("status")).ok());
    let value = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix(word).map(str::trim).map(str::to_owned));
        line.unwrap()
    };
    statuses.map(value).collect()
}

#[test]
fn each_thread_has_only_the_capabilities_that_are_needed() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let pid = server.0.id();
    assert!(std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().count() > 5, "its threads run");
    assert_eq!(of_threads(pid, "NoNewPrivs:"), BTreeSet::from(["1".to_owned()]));
    let is_root = rustix::process::geteuid().is_root();
    for word in ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:"] {
        let sets = of_threads(pid, word);
        assert_eq!(sets.len(), 1, "threads differ in {word} {sets:?}");
        let set = u64::from_str_radix(sets.first().unwrap(), 16).unwrap();
        let permitted = match word {
            "CapInh:" | "CapAmb:" => 0,
            "CapBnd:" if !is_root => u64::MAX, // only root can make it smaller
            _ if is_root => NEEDED,
            _ => 0,
        };
        assert_eq!(set & !permitted, 0, "{word} {set:x}");
    }
}
