//! The doctor inside the server, with clients on real networks: each trouble beside a network that looks like it and is none.
//!
//! ```text
//! hub (the server) ─┬─ a link ─ a client that reads     one for each: loses many packets, loses a few, keeps them for a while, is well
//!                   └─ …
//! ```

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::links::{ChildGuard, may_make_links, run};
use super::server::{PROGRAM, Server, text};

/// How long the doctor may take for all of them.
const FOUND_WITHIN: Duration = Duration::from_secs(90);
/// The most segments of 1,448 bytes in a packet: one, so that a lost packet is a lost segment.
const SINGLE: [&str; 2] = ["gso_max_segs", "1"];

/// Network namespaces that lead to one with the server; removed when dropped.
struct Networks {
    hub: String,
    clients: Vec<String>,
}

impl Networks {
    /// `None` if this user or this host makes no namespaces.
    fn new() -> Option<Self> {
        let hub = format!("hub{}", std::process::id());
        if !may_make_links() || !run(&["nft", "--version"]) || !run(&["ip", "netns", "add", &hub]) {
            return None;
        }
        let networks = Self { hub, clients: Vec::new() };
        // Reno fills queues, which BBR avoids: a cable under load keeps packets for a while. The setting is one of the namespace.
        let is_set = networks.in_hub("sysctl").args(["-qw", "net.ipv4.tcp_congestion_control=reno"]).status();
        let has_loopback = run(&["ip", "-n", &networks.hub, "link", "set", "lo", "up"]);
        (has_loopback && is_set.is_ok_and(|status| status.success())).then_some(networks)
    }

    fn in_hub(&self, program: &str) -> Command {
        inside(&self.hub, program)
    }

    /// The addresses of the hub and of the client on this link.
    fn addresses(number: usize) -> [String; 2] {
        let network = std::process::id() % 250;
        [1, 2].map(|end| format!("10.198.{network}.{}", number * 4 + end))
    }

    /// A link from the hub to a namespace. Returns the address of the hub on it.
    fn link(&mut self, namespace: &str) -> Option<String> {
        let number = self.clients.len() + 1;
        let (near, far) = (format!("h{number}"), format!("c{number}"));
        self.clients.push(namespace.to_owned());
        let peer = ["type", "veth", "peer", "name", &far, "netns", namespace];
        run(&[&["ip", "-n", &self.hub, "link", "add", &near][..], &peer].concat()).then_some(())?;
        let [hub, client] = Self::addresses(number);
        let at = |namespace: &str, device: &str, address: &str| {
            let ip = ["ip", "-n", namespace];
            let address = format!("{address}/30");
            run(&[&ip[..], &["address", "add", &address, "dev", device]].concat())
                && run(&[&ip[..], &["link", "set", "dev", device], &SINGLE].concat())
                && run(&[&ip[..], &["link", "set", device, "up"]].concat())
        };
        (at(&self.hub, &near, &hub) && at(namespace, &far, &client)).then_some(hub)
    }

    /// A client on a link of its own: the addresses of the hub and of the client.
    fn client(&mut self) -> Option<[String; 2]> {
        let name = format!("{}n{}", self.hub, self.clients.len() + 1);
        run(&["ip", "netns", "add", &name]).then_some(())?;
        let hub = self.link(&name)?;
        let [_, client] = Self::addresses(self.clients.len());
        Some([hub, client])
    }

    /// The namespace of the client that was made last.
    fn last(&self) -> &str {
        self.clients.last().expect("a client was made")
    }

    /// The last client loses so many of a thousand packets with data.
    fn loses(&self, of_thousand: u32) -> bool {
        let rules = format!(
            "add table inet t; add chain inet t in {{ type filter hook input priority 0; }}; \
             add rule inet t in ip length > 500 numgen random mod 1000 < {of_thousand} drop"
        );
        inside(self.last(), "nft").arg(rules).status().is_ok_and(|status| status.success())
    }

    /// What the hub sends to the last client goes through a bucket of this rate, with a queue of so many bytes.
    fn shaped(&self, rate: &str, queue: &str) -> bool {
        let near = format!("h{}", self.clients.len());
        let shape = ["root", "tbf", "rate", rate, "burst", "20kb", "limit", queue];
        run(&[&["tc", "-n", &self.hub, "qdisc", "replace", "dev", &near][..], &shape].concat())
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        self.clients.iter().chain([&self.hub]).for_each(|name| {
            run(&["ip", "netns", "delete", name]);
        });
    }
}

fn inside(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]);
    command
}

/// A client that reads until it is dropped.
fn reader(namespace: &str, url: &str) -> Child {
    let words = ["bench", url, "--workload", "seq-read", "--scale", "0.1", "--repeats", "1000"];
    let mut command = inside(namespace, PROGRAM);
    command.args(words).args(["--time", "3600", "--timeout", "3600"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The doctor's clients: the address, or the address and the port, with the names of their troubles.
struct Seen(Vec<(String, Vec<String>)>, String);

impl Seen {
    fn now(server: &Server) -> Self {
        let asked = ["status", "--slow", "--json", "--state", "state"];
        let output = Command::new(PROGRAM).args(asked).current_dir(server.folder.path()).output().unwrap();
        let said = text(&output.stdout);
        let status: Value = serde_json::from_str(&said).unwrap_or_default();
        let name = |trouble: &Value| trouble["name"].as_str().unwrap_or_default().to_owned();
        let client = |client: &Value| {
            let troubles = client["troubles"].as_array().into_iter().flatten().map(name).collect();
            (client["peer"].as_str().unwrap_or_default().to_owned(), troubles)
        };
        Self(status["clients"].as_array().into_iter().flatten().map(client).collect(), said)
    }

    /// The troubles of all connections of a client.
    fn of(&self, client: &str) -> Vec<&str> {
        let is_it =
            |peer: &str| peer == client || peer.rsplit_once(':').is_some_and(|(host, _)| host == client);
        let all = self.0.iter().filter(|(peer, _)| is_it(peer)).flat_map(|(_, troubles)| troubles);
        all.map(String::as_str).collect()
    }

    fn is_known(&self, client: &str) -> bool {
        self.0.iter().any(|(peer, _)| peer.starts_with(client))
    }
}

/// What was set up: a client, and the trouble that it must have; none for one that looks like it.
struct Expected(String, Option<&'static str>);

/// The trouble of a network, and what makes it.
type Setup = (Option<&'static str>, fn(&Networks) -> bool);

#[test]
fn a_lossy_network_is_named_and_what_looks_like_it_is_not() {
    let Some(mut networks) = Networks::new() else { return };
    let server = Server::start_at("0.0.0.0", networks.in_hub(PROGRAM));
    let nfs = server.port("mount -t nfs", ",port=");
    let (mut expected, mut readers) = (Vec::new(), Vec::new());
    let setups: [Setup; 4] = [
        (Some("loss"), |networks| networks.loses(30)),
        (None, |networks| networks.loses(2)),
        (None, |networks| networks.shaped("400mbit", "400kb")),
        (None, |_| true),
    ];
    for (trouble, set_up) in setups {
        let Some([hub, client]) = networks.client().filter(|_| set_up(&networks)) else {
            return eprintln!("skipped: this host makes no such links");
        };
        let url = format!("nfs://{hub}:{nfs}/One?uid=0&gid=0");
        readers.push(ChildGuard(reader(networks.last(), &url)));
        expected.push(Expected(client, trouble));
    }
    let deadline = Instant::now() + FOUND_WITHIN;
    let seen = loop {
        let seen = Seen::now(&server);
        if seen.1.contains("\"blind\"") {
            return eprintln!("skipped: the kernel tells nothing of connections");
        }
        let is_as_expected = |Expected(client, trouble): &Expected| match trouble {
            Some(trouble) => seen.of(client).contains(trouble),
            None => seen.is_known(client),
        };
        if expected.iter().all(is_as_expected) {
            break seen;
        }
        assert!(Instant::now() < deadline, "{}", seen.1);
        std::thread::sleep(Duration::from_millis(250));
    };
    for Expected(client, trouble) in &expected {
        let network = ["mtu", "delayed-ack", "half-duplex", "loss", "bufferbloat", "wifi"];
        let found: Vec<&str> = seen.of(client).into_iter().filter(|name| network.contains(name)).collect();
        assert_eq!(found, trouble.iter().copied().collect::<Vec<_>>(), "{client}: {}", seen.1);
    }
    drop(readers);
}
