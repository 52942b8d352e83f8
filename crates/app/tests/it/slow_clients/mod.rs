//! The doctor inside the server, with real clients. Each client with a trouble runs beside a client without one, whose traffic looks
//! similar.

mod disks;
mod habits;
mod impairment;
mod loopback;
mod networks;
mod scanners;
mod seen;

use std::collections::HashSet;
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
    let (mut expected, mut clients) = (Vec::new(), Vec::new());
    for case in CASES {
        let Some(place) = (case.network)(&mut networks) else {
            return eprintln!("skipped: this host makes no such networks (they need ethtool, tc and VXLAN)");
        };
        clients.push(BusyClient::begin(&place, &url(&place), case.habit));
        expected.push((place.client, case.trouble));
    }
    until_found(&server, &expected, || clients.iter().all(BusyClient::is_busy));
}

/// Waits until each client with a trouble has had this one and no other, and the others have none after a long enough time.
fn until_found(
    server: &Server,
    expected: &[(String, Option<&'static str>)],
    mut all_work: impl FnMut() -> bool,
) {
    let (deadline, mut found) = (Instant::now() + FOUND_WITHIN, HashSet::new());
    loop {
        let seen = Diagnoses::now(server.folder.path());
        assert!(!seen.is_blind(), "the kernel tells nothing of connections: {seen}");
        for (client, trouble) in expected {
            if trouble.is_some_and(|trouble| seen.troubles(client) == [trouble]) {
                found.insert(client.as_str());
            }
        }
        let is_well =
            |client: &str| seen.active_ms(client) >= LONG_ENOUGH_MS && seen.troubles(client).is_empty();
        let is_done = |(client, trouble): &(String, Option<_>)| match trouble {
            Some(_) => found.contains(client.as_str()),
            None => is_well(client),
        };
        if expected.iter().all(is_done) {
            return;
        }
        assert!(all_work(), "a client has failed: {seen}");
        if Instant::now() >= deadline && is_overloaded() {
            return eprintln!("skipped: the machine is overloaded");
        }
        assert!(Instant::now() < deadline, "expected {expected:?}, found {found:?}: {seen}");
        std::thread::sleep(Duration::from_millis(250));
    }
}
