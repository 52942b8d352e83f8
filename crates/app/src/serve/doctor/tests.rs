//! The doctor between the connections and the status, with counters that a test moves.

use std::sync::atomic::Ordering;

use conn::Allowance;

use super::*;

const LOOK: Duration = Duration::from_secs(5);

fn examinations() -> Examinations {
    let new = Examinations::new(ShareFolders::default());
    Examinations { pace: Pace(LOOK), diag: Err("a test has no kernel".into()), ..new }
}

fn peer() -> Peer {
    Peer {
        address: ([192, 0, 2, 7], 50_000).into(),
        local: Some(([192, 0, 2, 1], 445).into()),
        since: SystemTime::now(),
        counters: Arc::default(),
        memory: Arc::<Allowance>::default(),
    }
}

fn examined(peer: &Peer) -> ExaminedConnection {
    ExaminedConnection {
        protocol: Protocol::Smb,
        peer: peer.clone(),
        of: PeerSession { user: Some("ada".into()), ..PeerSession::default() },
    }
}

fn moves(peer: &Peer, bytes: u64) {
    peer.counters.requests.fetch_add(1, Ordering::Relaxed);
    peer.counters.bytes_in.fetch_add(bytes, Ordering::Relaxed);
}

#[test]
fn a_client_is_examined_when_it_has_moved_something() {
    let (mut doctor, peer, start) = (examinations(), peer(), Instant::now());
    doctor.note(examined(&peer), start);
    let patient = |doctor: &Examinations| doctor.clients.values().next().map(|one| one.has_moved(&peer));
    assert_eq!(patient(&doctor), Some(false), "an idle connection costs nothing");
    moves(&peer, 1000);
    assert_eq!(patient(&doctor), Some(true));
    assert!(doctor.judge(start).clients.is_empty(), "it began with this look");
    doctor.note(examined(&peer), start + LOOK);
    assert_eq!(patient(&doctor), Some(false));
    let status = doctor.judge(start + LOOK);
    assert_eq!((status.clients[0].user.as_deref(), status.clients[0].active_ms), (Some("ada"), 5000));
    assert_eq!(status.blind.as_deref(), Some("a test has no kernel"));
    assert!(doctor.judge(start + LOOK + Pace(LOOK).window()).clients.is_empty(), "a minute later");
}

#[test]
fn a_connection_that_was_idle_for_long_has_not_worked_meanwhile() {
    let (mut doctor, peer, start) = (examinations(), peer(), Instant::now());
    doctor.note(examined(&peer), start);
    moves(&peer, 1000);
    let later = start + 100 * LOOK;
    doctor.note(examined(&peer), later);
    assert_eq!(doctor.judge(later).clients[0].active_ms, 5000);
}

#[test]
fn a_trouble_keeps_the_time_when_it_was_found() {
    let (mut doctor, peer, start) = (examinations(), peer(), Instant::now());
    doctor.note(examined(&peer), start);
    for _ in 0..5 {
        peer.counters.timing.pieces.note(Duration::from_millis(40), 100);
    }
    moves(&peer, 1000);
    doctor.note(examined(&peer), start + LOOK);
    let first = doctor.judge(start + LOOK).clients[0].troubles.clone();
    assert_eq!((first[0].name.as_str(), first[0].about.as_str()), ("delayed-ack", "ada at 192.0.2.7 (SMB)"));
    let known = ("delayed-ack".to_owned(), first[0].about.clone());
    doctor.since.insert(known, "2026-01-01T00:00:00Z".into());
    let again = doctor.judge(start + 2 * LOOK).clients[0].troubles.clone();
    assert_eq!(again[0].since, "2026-01-01T00:00:00Z");
}

#[test]
fn the_path_to_a_client_is_tried_once_and_judged() {
    let (mut doctor, peer, start) = (examinations(), peer(), Instant::now());
    doctor.note(examined(&peer), start);
    moves(&peer, 1000);
    doctor.note(examined(&peer), start + LOOK);
    let known = PathSize { passes: 1500, sent: 9000 };
    doctor.paths.insert(peer.address.ip(), (start, Some(known)));
    let status = doctor.judge(start + LOOK);
    assert_eq!(status.clients[0].troubles[0].name, "mtu");
}
