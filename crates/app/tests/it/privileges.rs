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
fn start(folder: &Path, more: &str) -> Server {
    std::fs::create_dir(folder.join("one")).unwrap();
    let settings = format!(
        "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-port = 0\nsmb-port = 0\nafp-port = 0\n\
                    iscsi-port = 0\nportmap-port = \"off\"\nadmin-port = 0\nbonjour = \"off\"\n\
                    [[share]]\nname = \"one\"\npath = \"one\"\n{more}"
    );
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
    let server = start(folder.path(), "");
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

/// EtherTalk needs CAP_NET_RAW, number 13 in capabilities(7).
#[test]
fn only_the_thread_of_appletalk_may_use_frames_of_ethernet() {
    const NET_RAW: u64 = 1 << 13;
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    if u64::from_str_radix(own.trim(), 16).unwrap() & NET_RAW == 0 {
        return println!("skipped: needs CAP_NET_RAW");
    }
    let folder = tempfile::tempdir().unwrap();
    // The loopback is no Ethernet: the thread tries it again and again.
    let server = start(folder.path(), "[appletalk]\nlinks = [\"ethertalk:lo\"]\n");
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.0.id())).unwrap();
    let mut has_appletalk = false;
    for thread in threads {
        // A thread that ends meanwhile has no status.
        let Ok(status) = std::fs::read_to_string(thread.unwrap().path().join("status")) else { continue };
        let value = |word: &str| {
            status.lines().find_map(|line| line.strip_prefix(word)).map(str::trim).unwrap().to_owned()
        };
        let is_appletalk = value("Name:") == "appletalk";
        let expected = if is_appletalk { NET_RAW } else { 0 };
        for word in ["CapEff:", "CapPrm:"] {
            let set = u64::from_str_radix(&value(word), 16).unwrap();
            let counted = if is_appletalk { set } else { set & NET_RAW };
            assert_eq!(counted, expected, "{} {word} {set:x}", value("Name:"));
        }
        has_appletalk |= is_appletalk;
    }
    assert!(has_appletalk);
}

/// Descriptors of a process that the programs it starts get, but input and output: their numbers and what they are.
fn inherited_by_programs(pid: u32) -> BTreeSet<(u32, String)> {
    const CLOSED_ON_EXEC: u32 = 0o2_000_000;
    let folder = format!("/proc/{pid}/fd");
    let all =
        std::fs::read_dir(&folder).unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut kept = BTreeSet::new();
    for number in all.filter_map(|name| name.parse::<u32>().ok()).filter(|number| *number > 2) {
        // A descriptor may be closed meanwhile.
        let Ok(facts) = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")) else { continue };
        let Ok(what) = std::fs::read_link(format!("{folder}/{number}")) else { continue };
        let flags = facts.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        if u32::from_str_radix(flags.trim(), 8).unwrap() & CLOSED_ON_EXEC == 0 {
            kept.insert((number, what.to_string_lossy().into_owned()));
        }
    }
    kept
}

#[test]
fn programs_that_a_server_starts_get_none_of_its_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "search = \"contents\"\n");
    let (own, given) = (inherited_by_programs(server.0.id()), inherited_by_programs(std::process::id()));
    let more: Vec<_> = own.difference(&given).collect();
    assert!(more.is_empty(), "{more:?}");
}
