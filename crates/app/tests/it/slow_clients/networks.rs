//! Network namespaces: one for the server, and one for each client, at the end of a cable of its own.
//!
//! ```text
//! hub (the server) ─┬─ cable ─ a client
//!                   ├─ cable ─ a client     with an overlay across it if the test impairs the network (impairment.rs)
//!                   └─ …
//! ```

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::impairment::{Impairment, Overlay};
use crate::bench::links::{may_make_links, run};

/// One segment in a packet, so that a lost packet is a lost segment.
const SINGLE: [&str; 2] = ["gso_max_segs", "1"];

/// The namespaces; removed when dropped.
pub(super) struct Networks {
    hub: String,
    clients: Vec<String>,
    overlays: Vec<Overlay>,
}

/// Where a client and the server find each other.
#[derive(Debug, Clone)]
pub(super) struct ClientPlace {
    pub(super) namespace: String,
    /// The address of the server for this client, and its own.
    pub(super) server: String,
    pub(super) client: String,
}

impl Networks {
    /// `None` if this user or this host makes no namespaces.
    pub(super) fn new() -> Option<Self> {
        let hub = format!("hub{}", std::process::id());
        if !may_make_links() || !run(&["ip", "netns", "add", &hub]) {
            return None;
        }
        let networks = Self { hub, clients: Vec::new(), overlays: Vec::new() };
        // Reno fills queues, which BBR avoids. The setting is one of the namespace.
        let has_reno = networks.sets(&networks.hub, "net.ipv4.tcp_congestion_control=reno");
        let has_loopback = run(&["ip", "-n", &networks.hub, "link", "set", "lo", "up"]);
        (has_loopback && has_reno).then_some(networks)
    }

    pub(super) fn in_hub(&self, program: &str) -> Command {
        inside(&self.hub, program)
    }

    /// Sets a variable of the kernel in a namespace.
    pub(super) fn sets(&self, namespace: &str, variable: &str) -> bool {
        inside(namespace, "sysctl").args(["-qw", variable]).status().is_ok_and(|status| status.success())
    }

    /// A client at the end of a good cable.
    pub(super) fn client(&mut self) -> Option<ClientPlace> {
        let number = self.clients.len() + 1;
        let namespace = format!("{}n{number}", self.hub);
        run(&["ip", "netns", "add", &namespace]).then_some(())?;
        self.clients.push(namespace.clone());
        let (near, far) = (format!("h{number}"), format!("c{number}"));
        let peer = ["type", "veth", "peer", "name", &far, "netns", &namespace];
        run(&[&["ip", "-n", &self.hub, "link", "add", &near][..], &peer].concat()).then_some(())?;
        let [server, client] = addresses(198, number);
        let is_up = run(&["ip", "-n", &namespace, "link", "set", "lo", "up"])
            && set_up(&self.hub, &near, &server)
            && set_up(&namespace, &far, &client);
        is_up.then_some(ClientPlace { namespace, server, client })
    }

    /// A client behind a network that this process makes worse.
    pub(super) fn impaired_client(&mut self, impairment: Impairment) -> Option<ClientPlace> {
        let under = self.client()?;
        let number = self.clients.len();
        let [server, client] = addresses(197, number);
        let overlay =
            Overlay::begin(number, [&self.hub, &under.namespace], [&under.server, &under.client], impairment);
        self.overlays.push(overlay.ok()?);
        for (namespace, address) in [(&self.hub, &server), (&under.namespace, &client)] {
            let device = Overlay::device(number);
            // The kernel would leave checksums to a card that is not there.
            let ethtool = inside(namespace, "ethtool").args(["-K", &device, "tx", "off"]).output();
            (ethtool.is_ok_and(|done| done.status.success()) && set_up(namespace, &device, address))
                .then_some(())?;
        }
        Some(ClientPlace { server, client, ..under })
    }

    /// What the hub sends to a client goes through a bucket of this rate, with a queue of so many bytes.
    pub(super) fn shape(&self, rate: &str, queue: &str) -> bool {
        let near = format!("h{}", self.clients.len());
        let shape = ["root", "tbf", "rate", rate, "burst", "20kb", "limit", queue];
        run(&[&["tc", "-n", &self.hub, "qdisc", "replace", "dev", &near][..], &shape].concat())
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        self.overlays.clear();
        self.clients.iter().chain([&self.hub]).for_each(|name| {
            run(&["ip", "netns", "delete", name]);
        });
    }
}

/// The addresses of the hub and of the client of this number, in a network of this process.
fn addresses(network: u8, number: usize) -> [String; 2] {
    [1, 2].map(|end| format!("10.{network}.{}.{}", std::process::id() % 250, number * 4 + end))
}

fn set_up(namespace: &str, device: &str, address: &str) -> bool {
    let ip = ["ip", "-n", namespace];
    let address = format!("{address}/30");
    run(&[&ip[..], &["address", "add", &address, "dev", device]].concat())
        && run(&[&ip[..], &["link", "set", "dev", device], &SINGLE].concat())
        && run(&[&ip[..], &["link", "set", device, "up"]].concat())
}

fn inside(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]);
    command
}

/// Moves this thread into a namespace, for good: all sockets that it makes from now on are there.
pub(super) fn enter(namespace: &str) -> io::Result<()> {
    let file = File::open(format!("/run/netns/{namespace}"))?;
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}
