//! Links: slow ones, long ones, ones that lose large packets, and those that `--link` makes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bench::record::Record;

use super::server::{PROGRAM, Server, records, repeat, started, text};

/// A program that is killed when dropped.
pub(crate) struct ChildGuard(pub(crate) Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network namespace behind a link of its own; removed when dropped.
struct Namespace {
    name: String,
    /// The addresses of this end and of the end in the namespace.
    here: String,
    there: String,
}

/// Whether this user and this host make namespaces and links.
pub(crate) fn may_make_links() -> bool {
    let may = rustix::process::geteuid().is_root() && run(&["ip", "-V"]) && run(&["tc", "-V"]);
    if !may {
        eprintln!("skipped: it needs root, ip and tc");
    }
    may
}

impl Namespace {
    /// `None` if this user or this host makes no namespaces.
    fn new() -> Option<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let name = format!("bench{process}n{number}");
        if !may_make_links() || !run(&["ip", "netns", "add", &name]) {
            return None;
        }
        let address = |end| format!("10.199.{}.{}", process % 250, number * 4 + end);
        let namespace = Self { name, here: address(1), there: address(2) };
        let inside = |words: &[&str]| run(&[&["ip", "-n", &namespace.name], words].concat());
        let (here, there) = namespace.ends();
        let (own, far) = (format!("{}/30", namespace.here), format!("{}/30", namespace.there));
        let peer = ["type", "veth", "peer", "name", &there, "netns", &namespace.name];
        let made = run(&[&["ip", "link", "add", &here], &peer[..]].concat())
            && run(&["ip", "address", "add", &own, "dev", &here])
            && run(&["ip", "link", "set", &here, "up"])
            && inside(&["address", "add", &far, "dev", &there])
            && inside(&["link", "set", &there, "up"])
            && inside(&["link", "set", "lo", "up"]);
        made.then_some(namespace)
    }

    /// The interfaces here and in the namespace.
    fn ends(&self) -> (String, String) {
        (format!("{}a", self.name), format!("{}b", self.name))
    }

    /// Gives both ends of the link this queueing discipline.
    fn shape(&self, words: &[&str]) -> bool {
        let (here, there) = self.ends();
        run(&[&["tc", "qdisc", "replace", "dev", &here, "root"], words].concat())
            && run(&[&["tc", "-n", &self.name, "qdisc", "replace", "dev", &there, "root"], words].concat())
    }

    /// Drops packets above this length in both directions, at the far end. Each packet has one segment.
    fn drops_packets_above(&self, length: u32) -> bool {
        let (here, there) = self.ends();
        let single = ["gso_max_segs", "1"];
        let range = format!("{}:", length + 1);
        let drops = |chain: &str| {
            let rule = ["iptables", "-A", chain, "-m", "length", "--length", &range, "-j", "DROP"];
            self.inside(rule[0]).args(&rule[1..]).output().is_ok_and(|output| output.status.success())
        };
        run(&[&["ip", "link", "set", "dev", &here], &single[..]].concat())
            && run(&[&["ip", "-n", &self.name, "link", "set", "dev", &there], &single[..]].concat())
            && drops("INPUT")
            && drops("OUTPUT")
    }

    fn inside(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        run(&["ip", "link", "delete", &self.ends().0]);
        run(&["ip", "netns", "delete", &self.name]);
    }
}

pub(crate) fn run(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).output().is_ok_and(|output| output.status.success())
}

/// Whether the interfaces of a measurement's links exist.
fn has_links(pid: u32) -> bool {
    let names = std::fs::read_dir("/sys/class/net").unwrap();
    let prefix = format!("ffb{pid}n");
    names.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
}

/// Waits until the kernel has removed a measurement's links.
fn links_are_gone(pid: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while has_links(pid) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    !has_links(pid)
}

#[test]
fn a_slow_link_and_a_long_link_are_named_as_the_limit() {
    let Some(namespace) = Namespace::new() else { return };
    let server = Server::start_at(&namespace.there, namespace.inside(PROGRAM));
    let far = format!("{}:5480", namespace.there);
    let mut answer = namespace.inside(PROGRAM);
    let answer = answer.args(["bench", "answer", &far]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut answer = ChildGuard(answer.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(answer.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let smb = server.port("open smb://", &format!("{}:", namespace.there));
    let url = format!("smb://{}:{smb}/One?raw=5480", namespace.there);

    let shaped = namespace.shape(&["tbf", "rate", "100mbit", "burst", "64kb", "latency", "50ms"]);
    let output = server.measure(&[&url], &["--workload", "seq-read", "--scale", "0.02", "--repeats", "1"]);
    let said = text(&output.stdout);
    assert!(!shaped || said.contains("Limited by the link"), "{said}");

    let shaped = namespace.shape(&["netem", "delay", "5ms"]);
    let small = ["--workload", "small-read-1K", "--scale", "0.002", "--repeats", "1"];
    let output = server.measure(&[&url], &small);
    let said = text(&output.stdout);
    assert!(!shaped || said.contains("Limited by latency"), "{said}");
}

#[test]
fn a_link_of_its_own_is_full_at_its_speed_and_is_removed() {
    if !may_make_links() {
        return;
    }
    let server = Server::start();
    let [_, smb, _, nfs, _] = server.urls();
    let words = ["--workload", "seq-read", "--scale", "0.03", "--repeats", "1", "--output", "raw"];
    let output = server.measure(&[&smb, &nfs], &[&words[..], &["--link", "100M,none"]].concat());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains("seq-read, 1 client, link 100M"), "{said}");
    assert_eq!(said.matches("Limited by the link").count(), 2, "{said}");
    let records = records(&server.folder.path().join("raw.jsonl"));
    let runs: Vec<&bench::record::MeasuredRun> = records.iter().filter_map(repeat).collect();
    assert_eq!(runs.len(), 4);
    for run in runs {
        // 1,448 of 1,538 bytes of a full Ethernet frame are data: 11.8 of 12.5 MB/s; the bucket adds a little.
        let speed = run.wire_bytes as f64 / run.seconds;
        match run.link {
            Some(_) => assert!((9.5e6..12.6e6).contains(&speed), "{speed}"),
            None => assert!(speed > 20e6, "{speed}"),
        }
    }
    assert_eq!(server.names(), ["somebody's"]);
}

#[test]
fn a_link_is_removed_after_ctrl_c_and_after_a_kill() {
    if !may_make_links() {
        return;
    }
    let server = Server::start();
    let [_, smb, ..] = server.urls();
    let words = ["--workload", "small-read-1K", "--scale", "0.01", "--link", "1G"];
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let bench = started(&server, &smb, &words);
        let pid = bench.id();
        assert!(has_links(pid));
        rustix::process::kill_process(rustix::process::Pid::from_child(&bench), signal).unwrap();
        bench.wait_with_output().unwrap();
        assert!(links_are_gone(pid), "{signal:?}");
        if signal == rustix::process::Signal::INT {
            assert_eq!(server.names(), ["somebody's"]);
        }
        std::fs::remove_file(server.folder.path().join("partial.jsonl")).unwrap();
    }
}

#[test]
fn a_link_to_another_machine_is_refused_with_the_reason() {
    if !may_make_links() {
        return;
    }
    let server = Server::start();
    let output = server.measure(&["smb://203.0.113.250/One"], &["--link", "1G", "--workload", "seq-read"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("a link leads to this machine only"), "{said}");
}

#[test]
fn large_packets_that_vanish_are_named_with_the_size_that_arrives() {
    let Some(namespace) = Namespace::new() else { return };
    let server = Server::start_at(&namespace.there, namespace.inside(PROGRAM));
    let nfs = server.port("mount -t nfs", ",port=");
    let url = format!("nfs://{}:{nfs}/One?uid=0&gid=0", namespace.there);
    // Both ends have an MTU of 1,500 bytes. Packets above 1,200 bytes are dropped without a word.
    let drops = namespace.drops_packets_above(1200);
    let words = ["bench", &url, "--workload", "seq-read", "--scale", "0.005", "--timeout", "2"];
    let output = Command::new(PROGRAM).args(words).output().unwrap();
    let said = text(&output.stdout);
    if !drops {
        eprintln!("skipped: it needs iptables");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    let size = named_size(&said);
    assert!((1168..=1200).contains(&size), "{said}");
    assert_eq!(server.names(), ["somebody's"]);
}

/// The size that a sentence names.
fn named_size(said: &str) -> u32 {
    let (_, rest) = said.split_once("packets of more than ").expect(said);
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn datagrams_that_vanish_are_named_with_the_size_that_arrives() {
    let Some(namespace) = Namespace::new() else { return };
    let server = Server::start_at(&namespace.there, namespace.inside(PROGRAM));
    let nfs = server.port("mount -t nfs", ",port=");
    let url = format!("nfs://{0}:{nfs}/One?uid=0&gid=0&proto=udp&mountport={nfs}", namespace.there);
    if !namespace.drops_packets_above(1200) {
        return eprintln!("skipped: it needs iptables");
    }
    let words = ["bench", &url, "--workload", "seq-read", "--scale", "0.005", "--timeout", "2"];
    let said = text(&Command::new(PROGRAM).args(words).output().unwrap().stdout);
    // A write has longer headers than a read; sizes are told apart to 32 bytes.
    assert!((1100..=1200).contains(&named_size(&said)), "{said}");
}

#[test]
fn a_server_names_the_size_that_reaches_a_client_whose_segments_vanish() {
    let Some(namespace) = Namespace::new() else { return };
    let server = Server::start_at(&namespace.there, namespace.inside(PROGRAM));
    let nfs = server.port("mount -t nfs", ",port=");
    let url = format!("nfs://{}:{nfs}/One?uid=0&gid=0", namespace.there);
    let words =
        ["bench", &url, "--workload", "seq-read", "--scale", "0.1", "--time", "3600", "--timeout", "3600"];
    let mut client = Command::new(PROGRAM);
    let client = client.args(words).args(["--repeats", "1000"]).stdout(Stdio::null()).stderr(Stdio::null());
    let client = ChildGuard(client.spawn().unwrap());
    let doctor = || {
        let asked = ["status", "--slow", "--json", "--state", "state"];
        let output = Command::new(PROGRAM).args(asked).current_dir(server.folder.path()).output().unwrap();
        text(&output.stdout)
    };
    let until = |is_it: &dyn Fn(&str) -> bool| {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let said = doctor();
            if is_it(&said) {
                return said;
            }
            assert!(Instant::now() < deadline, "{said}");
            std::thread::sleep(Duration::from_millis(250));
        }
    };
    until(&|said| said.contains("\"protocol\"")); // the client reads
    if !namespace.drops_packets_above(1200) {
        return eprintln!("skipped: it needs iptables");
    }
    let said = until(&|said| said.contains("packets of more than") || said.contains("\"blind\""));
    drop(client);
    if !said.contains("\"blind\"") {
        assert_eq!(named_size(&said), 1200, "{said}");
    }
}

#[test]
fn what_the_cache_of_a_mounted_folder_hid_is_told() {
    let Some(namespace) = Namespace::new() else { return };
    // The files are here: no byte crosses the interface to the server that the URL names.
    let server = Server::start();
    let [folder, ..] = server.urls();
    let url = format!("{folder}?server={}", namespace.there);
    let words = ["--workload", "seq-read", "--scale", "0.5", "--repeats", "1", "--output", "raw"];
    let output = server.measure(&[&url], &words);
    let said = text(&output.stdout);
    let records = records(&server.folder.path().join("raw.jsonl"));
    let run = records.iter().find_map(repeat).unwrap();
    assert!(run.wire_interface.as_deref().unwrap().starts_with("bench"), "{run:?}");
    assert!(run.wire_bytes < run.bytes / 100, "{run:?}");
    assert!(run.seconds < 0.2 || said.contains("cache hid"), "{said}");
}

#[test]
fn all_protocols_of_a_host_are_measured_with_its_empty_disk() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("One")).unwrap();
    let ports = [2049, 445, 548, 3260];
    let server = Server::start_in(folder, &namespace.there, namespace.inside(PROGRAM), ports);
    let host = format!("{}/One", namespace.there);
    let words = ["--workload", "seq-read", "--scale", "0.001", "--repeats", "1", "--output", "raw"];
    let output = server.measure(&["--all", &host], &words);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let records = records(&server.folder.path().join("raw.jsonl"));
    let mut protocols: Vec<&str> = records.iter().filter_map(repeat).map(|run| run.protocol.name()).collect();
    protocols.sort_unstable();
    assert_eq!(protocols, ["afp", "iscsi", "nfs", "smb"], "{said}{}", text(&output.stderr));
    assert!(matches!(records.last(), Some(Record::End(end)) if end.complete));
}
