//! The doctor inside the server, with real clients. Each client with a trouble runs beside a client without one, whose traffic looks
//! similar.

mod disks;
mod habits;
mod impairment;
mod loopback;
mod networks;
mod scanners;
mod seen;

use std::time::{Duration, Instant};

use self::habits::{BusyClient, Habit};
use self::impairment::Impairment;
use self::networks::{ClientPlace, Networks};
use self::seen::{Diagnoses, is_overloaded};
use crate::bench::server::{PROGRAM, Server};

/// How long the doctor may take for all of them.
const FOUND_WITHIN: Duration = Duration::from_secs(300);
/// The time in which a client must have done something before its having no trouble counts. The doctor judges 12 s.
const LONG_ENOUGH_MS: u64 = 8000;
/// Receive buffers of a client that has little memory, or an old system.
const SMALL_BUFFERS: &str = "net.ipv4.tcp_rmem=4096 32768 65536";
const MS: Duration = Duration::from_millis(1);

/// A client, its network, and the trouble that it must have.
struct Case {
    trouble: Option<&'static str>,
    network: fn(&mut Networks) -> Option<ClientPlace>,
    habit: Habit,
}

const CASES: [Case; 12] = [
    Case {
        trouble: Some("loss"),
        network: |all| all.impaired_client(Impairment { lost: 30, rate: 4_000_000, ..Impairment::default() }),
        habit: habits::reads,
    },
    Case {
        trouble: None, // so few are how TCP finds its speed
        network: |all| all.impaired_client(Impairment { lost: 2, rate: 4_000_000, ..Impairment::default() }),
        habit: habits::reads,
    },
    Case {
        trouble: None, // a cable under load: packets wait, all of them as long
        network: |all| all.client().filter(|_| all.shape("100mbit", "200kb")),
        habit: habits::reads,
    },
    Case {
        trouble: Some("bufferbloat"),
        network: |all| {
            all.impaired_client(Impairment { rate: 2_500_000, queue: 800_000, ..Impairment::default() })
        },
        habit: habits::reads,
    },
    Case {
        trouble: None, // a server far away has long round trips without load, too
        network: |all| {
            all.impaired_client(Impairment { delay: 40 * MS, rate: 4_000_000, ..Impairment::default() })
        },
        habit: habits::reads,
    },
    Case {
        trouble: Some("wifi"),
        network: |all| {
            let radio =
                Impairment { delay: MS / 2, rate: 20_000_000, contention: 6 * MS, ..Impairment::default() };
            all.impaired_client(radio)
        },
        habit: habits::reads_blocks,
    },
    Case {
        trouble: Some("half-duplex"),
        network: |all| all.impaired_client(Impairment { half_duplex: 12_500_000, ..Impairment::default() }),
        habit: habits::copies_then_reads,
    },
    Case {
        trouble: Some("loss"), // a bad cable loses packets one way, too
        network: |all| all.impaired_client(Impairment { lost: 60, ..Impairment::default() }),
        habit: habits::copies_then_reads,
    },
    Case {
        trouble: Some("slow-client"),
        network: |all| all.client().filter(|place| all.sets(&place.namespace, SMALL_BUFFERS)),
        habit: habits::takes_slowly,
    },
    Case {
        trouble: Some("small-window"), // its window is full, too, but it takes data at once
        network: |all| {
            let far = all.impaired_client(Impairment { delay: 25 * MS, ..Impairment::default() });
            far.filter(|place| all.sets(&place.namespace, SMALL_BUFFERS))
        },
        habit: habits::reads,
    },
    Case {
        trouble: None, // it waits for the network between two requests, and needs no time for itself
        network: |all| all.impaired_client(Impairment { delay: 10 * MS, ..Impairment::default() }),
        habit: habits::asks_one_by_one,
    },
    Case { trouble: Some("busy-client"), network: Networks::client, habit: habits::computes },
];

#[test]
#[ignore = "twelve clients keep both processors busy for half a minute: `cargo xtask test` runs it alone"]
fn each_trouble_of_a_network_or_client_is_named_and_no_other() {
    let Some(mut networks) = Networks::new() else { return };
    let server = Server::start_at("0.0.0.0", networks.in_hub(PROGRAM));
    let nfs = server.port("mount -t nfs", ",port=");
    let large = std::fs::File::create(server.folder.path().join("One").join(habits::LARGE.0));
    large.and_then(|file| file.set_len(habits::LARGE.1)).unwrap();
    let url = |place: &ClientPlace| format!("nfs://{}:{nfs}/One?uid=0&gid=0", place.server);
    let mut clients = Vec::new();
    for Case { trouble, network, habit } in CASES {
        let Some(place) = network(&mut networks) else {
            return eprintln!("skipped: this host makes no such networks (they need ethtool, tc and VXLAN)");
        };
        let program = BusyClient::begin(&place, &url(&place), habit);
        clients.push(JudgedClient::new(place.client, trouble, program));
    }
    until_found(&server, clients);
}

/// A program that uses the server over and over.
trait ClientProgram {
    fn is_busy(&mut self) -> bool;
    /// Lets it end. Returns at once.
    fn end(&mut self);
}

/// A client, and the trouble that it must have.
struct JudgedClient {
    address: String,
    trouble: Option<&'static str>,
    program: Box<dyn ClientProgram>,
    is_judged: bool,
}

impl JudgedClient {
    fn new(address: String, trouble: Option<&'static str>, program: impl ClientProgram + 'static) -> Self {
        Self { address, trouble, program: Box::new(program), is_judged: false }
    }

    /// Whether it has the trouble that it must have, and no other; or none, after a long enough time.
    fn is_as_expected(&self, seen: &Diagnoses) -> bool {
        let troubles = seen.troubles(&self.address);
        match self.trouble {
            Some(trouble) => troubles == [trouble],
            None => troubles.is_empty() && seen.active_ms(&self.address) >= LONG_ENOUGH_MS,
        }
    }
}

/// Waits until each client was judged as expected. It ends then, and leaves the processors to the others: twelve clients
/// together need more than two, and a client that waits for one shows less of its network.
fn until_found(server: &Server, mut clients: Vec<JudgedClient>) {
    let deadline = Instant::now() + FOUND_WITHIN;
    loop {
        let seen = Diagnoses::now(server.folder.path());
        assert!(!seen.is_blind(), "the kernel tells nothing of connections: {seen}");
        assert!(
            clients.iter_mut().all(|client| client.is_judged || client.program.is_busy()),
            "one failed: {seen}"
        );
        for client in clients.iter_mut().filter(|client| !client.is_judged) {
            client.is_judged = client.is_as_expected(&seen);
            if client.is_judged {
                client.program.end();
            }
        }
        let left = clients.iter().filter(|client| !client.is_judged);
        let left: Vec<_> = left.map(|client| (&client.address, client.trouble)).collect();
        if left.is_empty() {
            return;
        }
        if Instant::now() >= deadline && is_overloaded() {
            return eprintln!("skipped: the machine is overloaded");
        }
        assert!(Instant::now() < deadline, "not as expected: {left:?}: {seen}");
        std::thread::sleep(Duration::from_millis(250));
    }
}
