//! Each trouble as its numbers look, and one beside it that looks like it and is not.

use conn::PieceWaitCounts;

use super::*;

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

/// Five seconds of a client that reads long files over a good cable.
fn well() -> Activity {
    Activity {
        span: 5 * S,
        requests: 500,
        bytes_out: 500 << 20,
        bytes_in: 100_000,
        answering: S / 2,
        path: Some(PathActivity {
            sent: 360_000,
            busy: 4 * S,
            round_trip: MS,
            variation: MS / 10,
            least: MS / 5,
            segment: 1448,
            ..PathActivity::default()
        }),
        ..Activity::default()
    }
}

fn with(change: impl Fn(&mut Activity, &mut PathActivity)) -> Activity {
    let mut activity = well();
    let mut path = activity.path.take().unwrap();
    change(&mut activity, &mut path);
    Activity { path: Some(path), ..activity }
}

fn found_of(activities: &[Activity], path: Option<PathSize>) -> Vec<Finding> {
    judge(&Case { is_local: false, activities, window: 60 * S, path, scanner: None })
}

/// The troubles of a minute of this.
fn found(activity: Activity) -> Vec<&'static str> {
    found_of(&vec![activity; 12], None).into_iter().map(|one| one.name).collect()
}

#[test]
fn a_client_that_is_well_has_no_trouble() {
    assert_eq!(found(well()), [""; 0]);
    assert_eq!(found(Activity { span: 5 * S, ..Activity::default() }), [""; 0]);
}

#[test]
fn loss_is_named_with_the_time_that_it_costs() {
    let lossy = with(|_, path| (path.lost, path.sent, path.busy) = (300, 10_000, 4 * S));
    let all = found_of(&vec![lossy; 12], None);
    assert_eq!(all[0].name, "loss");
    assert!(all[0].text.starts_with("3.0 % loss, 48 of 60 s waiting for the network"), "{}", all[0].text);
    let arriving = with(|_, path| (path.received, path.out_of_order) = (10_000, 1400));
    assert_eq!(found(arriving), ["loss"]);
}

#[test]
fn a_few_lost_segments_are_how_tcp_finds_its_speed() {
    assert_eq!(found(with(|_, path| path.lost = 400)), [""; 0], "one in a thousand");
    assert_eq!(found(with(|_, path| (path.sent, path.lost) = (20, 2))), [""; 0], "too few to tell");
    // As a virtual cable delivered them: each packet on its own, none lost.
    let virtual_cable = with(|_, path| (path.received, path.out_of_order) = (114_979, 3269));
    assert_eq!(found(virtual_cable), [""; 0]);
}

#[test]
fn half_duplex_loses_while_data_flow_both_ways() {
    let both = with(|all, path| (all.bytes_in, path.lost, path.sent) = (400 << 20, 800, 10_000));
    let one = with(|_, path| (path.lost, path.sent) = (10, 10_000));
    let looks = [vec![both.clone(); 6], vec![one; 6]].concat();
    let all = found_of(&looks, None);
    assert_eq!(all[0].name, "half-duplex");
    assert!(
        all[0].text.contains("8.0 % of the segments are lost while data flow both ways"),
        "{}",
        all[0].text
    );
    // What is lost is a small part of all, as colliding packets make two-way transfers slow.
    let few = with(|all, path| (all.bytes_in, path.lost, path.sent) = (400 << 20, 80, 1000));
    let much = with(|_, path| (path.lost, path.sent) = (10, 300_000));
    assert_eq!(found_of(&[vec![few; 6], vec![much; 6]].concat(), None)[0].name, "half-duplex");
    // A bad cable loses in each direction.
    let cable = with(|_, path| (path.lost, path.sent) = (800, 10_000));
    assert_eq!(found_of(&[vec![both; 6], vec![cable; 6]].concat(), None)[0].name, "loss");
}

#[test]
fn bufferbloat_is_a_round_trip_that_grows_with_the_load() {
    let bloated = |_: &mut Activity, path: &mut PathActivity| {
        (path.round_trip, path.least, path.variation) = (180 * MS, 4 * MS, 5 * MS);
    };
    assert_eq!(found(with(bloated)), ["bufferbloat"]);
    // A server far away has a long round trip without load, too.
    assert_eq!(found(with(|_, path| (path.round_trip, path.least) = (180 * MS, 160 * MS))), [""; 0]);
    // A client that acknowledges short replies late.
    let late = with(|all, path| (all.bytes_out, path.round_trip) = (100_000, 200 * MS));
    assert_eq!(found(late), [""; 0]);
}

#[test]
fn wifi_varies_and_a_loaded_cable_does_not() {
    let radio = |_: &mut Activity, path: &mut PathActivity| {
        (path.round_trip, path.least, path.variation) = (12 * MS, 2 * MS, 6 * MS);
    };
    assert_eq!(found(with(radio)), ["wifi"]);
    let loaded = |_: &mut Activity, path: &mut PathActivity| {
        (path.round_trip, path.variation) = (12 * MS, MS);
    };
    assert_eq!(found(with(loaded)), [""; 0]);
    let cable = |_: &mut Activity, path: &mut PathActivity| {
        (path.round_trip, path.variation) = (2 * MS, MS);
    };
    assert_eq!(found(with(cable)), [""; 0], "its shortest round trip is that of a cable");
}

#[test]
fn wifi_is_known_by_what_the_kernel_tells_of_it() {
    // Round trips and their variation in microseconds, a second apart, as Linux told them.
    let looks = |all: &[(u64, u64)]| -> Vec<Activity> {
        let micros = Duration::from_micros;
        let look = |(trip, varies): &(u64, u64)| {
            with(|_, path| {
                (path.round_trip, path.variation, path.least) = (micros(*trip), micros(*varies), 2 * MS);
            })
        };
        all.iter().map(look).collect()
    };
    // Most variations are those within one burst of packets.
    let radio = [
        (28_262, 36),
        (9_252, 1_513),
        (12_602, 2_724),
        (14_283, 1_360),
        (19_699, 738),
        (36_810, 11_264),
        (15_757, 495),
        (19_817, 2_203),
        (21_771, 4_577),
        (9_879, 1_748),
        (13_864, 1_191),
        (11_736, 69),
    ];
    assert_eq!(found_of(&looks(&radio), None)[0].name, "wifi");
    let stable = radio.map(|(trip, varies)| (trip, varies / 4));
    assert_eq!(found_of(&looks(&stable), None), [], "a window that follows losses changes round trips, too");
}

#[test]
fn a_client_that_takes_data_slowly_has_a_full_window() {
    let slow = with(|_, path| path.window_limited = 3 * S);
    let all = found_of(&vec![slow; 12], None);
    assert_eq!(all[0].name, "slow-client");
    assert!(all[0].text.contains("full for 36 of 60 s"), "{}", all[0].text);
    assert_eq!(found(with(|_, path| path.window_limited = S / 2)), [""; 0], "now and then");
    // As Linux 6.18 counted them of a client with a buffer of 64 KiB on a cable that loses nothing.
    let probed = with(|_, path| (path.window_limited, path.lost, path.sent) = (4 * S, 118, 10_000));
    assert_eq!(found(probed), ["slow-client"], "its window is full, and the network is well");
}

#[test]
fn a_small_window_far_away_is_full_without_a_slow_client() {
    // 64 KiB every 50 ms, as a client with that window gets at that distance: 1.3 MB/s.
    let far = with(|all, path| {
        (all.requests, all.bytes_out) = (50, 5 * 1_310_720);
        (path.round_trip, path.least, path.window) = (51 * MS, 50 * MS, 65_536);
        path.window_limited = 4 * S;
    });
    let all = found_of(&vec![far; 12], None);
    assert_eq!(all[0].name, "small-window");
    assert!(
        all[0].text.contains("64 KiB and a round trip takes 50 ms: more than 1.3 MB/s"),
        "{}",
        all[0].text
    );
    let near = with(|all, path| {
        (all.requests, all.bytes_out) = (50, 5 * 1_310_720);
        (path.window, path.window_limited) = (65_536, 4 * S);
    });
    assert_eq!(found(near), ["slow-client"], "at 0.2 ms this window carries 330 MB/s");
}

#[test]
fn a_client_at_full_load_is_told_from_one_that_has_nothing_to_do() {
    let busy = |requests: u64| Activity {
        span: 5 * S,
        requests,
        bytes_out: requests * 4096,
        answering: S / 10,
        thinking: 5 * S,
        path: Some(PathActivity {
            sent: 3 * requests,
            segment: 1448,
            least: MS / 5,
            ..PathActivity::default()
        }),
        ..Activity::default()
    };
    assert_eq!(found(busy(1000)), ["busy-client"]);
    assert_eq!(found(busy(20)), [""; 0], "a person who clicks now and then");
    let shortly = found_of(&[busy(1000)], None);
    assert!(shortly.is_empty(), "five seconds are too short to tell");
}

#[test]
fn small_pieces_that_wait_for_acknowledgements_are_named_on_a_loopback_too() {
    let pieces = PieceWaitCounts { held: [57, 0], acknowledges: true, ..PieceWaitCounts::default() };
    let activities = [Activity { pieces, ..well() }];
    let all =
        judge(&Case { is_local: true, activities: &activities, window: 60 * S, path: None, scanner: None });
    assert_eq!(all[0].name, "delayed-ack");
    assert!(all[0].text.contains("57 waits of 40 ms. The server acknowledges"), "{}", all[0].text);
    // A busy machine stops clients for all kinds of times, and a loopback has none of a network's troubles.
    let pieces = PieceWaitCounts { held: [57, 3], beside: [80, 40], ..PieceWaitCounts::default() };
    let lossy = with(|_, path| (path.lost, path.window_limited) = (100_000, 4 * S));
    let activities = vec![Activity { pieces, ..lossy }; 12];
    assert!(
        judge(&Case { is_local: true, activities: &activities, window: 60 * S, path: None, scanner: None })
            .is_empty()
    );
}

#[test]
fn packets_that_vanish_are_named_with_the_size_that_passes() {
    let all = found_of(&[well()], Some(PathSize { passes: 1500, sent: 9000 }));
    assert_eq!(all[0].name, "mtu");
    assert!(all[0].text.contains("more than 1500 bytes vanish") && all[0].text.contains("sends 9000"));
    assert!(found_of(&[well()], Some(PathSize { passes: 9000, sent: 9000 })).is_empty());
}

#[test]
fn a_scanner_is_named_with_what_it_does_on_a_loopback_too() {
    let scanner = Some(ScannerEvidence { files_per_second: 140.0, folders: 50, partly: 0.9 });
    for is_local in [false, true] {
        let found = judge(&Case { is_local, activities: &[well()], window: 60 * S, path: None, scanner });
        let text = &found.iter().find(|one| one.name == "scanner").unwrap().text;
        assert!(text.contains("140 files a second in 50 folders") && text.contains("90 %"), "{text}");
    }
}
