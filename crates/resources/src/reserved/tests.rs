use std::net::IpAddr;

use super::*;

const MIB: u64 = 1 << 20;
const SPEED: u64 = 10 * MIB;

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// A server where two streams of 10 MiB/s of the share with the view 1 are reserved.
fn reserved() -> Arc<ReservedStreams> {
    let streams = Arc::<ReservedStreams>::default();
    streams.keep(vec![reservation(1, 2, StreamFilter { views: vec![1], ..StreamFilter::default() })], None);
    streams
}

fn reservation(id: u64, count: u32, of: StreamFilter) -> StreamReservation {
    StreamReservation { id, speed: SPEED, streams: count, of }
}

fn read(inode: u64, offset: u64) -> StreamRead<'static> {
    StreamRead {
        view: 1,
        file: FileId { device: 1, inode },
        account: Some("ada"),
        uid: 1000,
        client: Some(address(1)),
        offset,
        length: MIB as usize,
    }
}

/// Whether a read of this file is a stream's.
fn is_kept(streams: &Arc<ReservedStreams>, read: &StreamRead<'_>, now: Instant) -> bool {
    while_reading(address(1), || streams.note(read, now)).1.is_some()
}

/// Reads so many MiB from the beginning, 50 ms each, and tells which of the reads were a stream's.
fn play(streams: &Arc<ReservedStreams>, inode: u64, count: u64, now: &mut Instant) -> Vec<bool> {
    let next = |number| {
        *now += Duration::from_millis(50);
        is_kept(streams, &read(inode, number * MIB), *now)
    };
    (0..count).map(next).collect()
}

#[test]
fn the_second_of_two_reads_that_follow_each_other_is_a_streams() {
    let (streams, mut now) = (reserved(), Instant::now());
    assert_eq!(play(&streams, 7, 4, &mut now), [false, true, true, true]);
    assert!(!is_kept(&streams, &read(8, 0), now) && !is_kept(&streams, &read(8, 900 * MIB), now));
}

#[test]
fn only_so_many_streams_as_are_reserved_have_rights() {
    let (streams, mut now) = (reserved(), Instant::now());
    for inode in [1, 2] {
        assert!(play(&streams, inode, 3, &mut now)[2]);
    }
    assert!(!play(&streams, 3, 3, &mut now)[2]);
    assert_eq!(streams.counts(now)[0].1.active, 2);
    assert!(streams.counts(now)[0].1.refused > 0);
}

#[test]
fn a_stream_that_is_not_read_gives_its_place_to_another() {
    let (streams, mut now) = (reserved(), Instant::now());
    for inode in [1, 2] {
        play(&streams, inode, 3, &mut now);
    }
    now += STREAM_IDLE;
    assert_eq!(streams.counts(now)[0].1.active, 0);
    assert!(play(&streams, 3, 3, &mut now)[2]);
}

#[test]
fn each_stream_of_a_client_in_one_file_has_its_own_speed() {
    let (streams, mut now) = (Arc::<ReservedStreams>::default(), Instant::now());
    streams.keep(vec![reservation(1, 4, StreamFilter { views: vec![1], ..StreamFilter::default() })], None);
    let mut lost = 0;
    for number in 0..200 {
        now += Duration::from_millis(100); // 1 MiB plays for 100 ms
        for place in [0, 1000, 2000, 3000] {
            lost += u32::from(!is_kept(&streams, &read(1, (place + number) * MIB), now));
        }
    }
    assert_eq!(streams.counts(now)[0].1.active, 4);
    assert!(lost < 5, "{lost} reads had no rights");
    now += Duration::from_millis(100);
    for number in 0..20 {
        assert!(is_kept(&streams, &read(1, (9000 + number) * MIB), now), "one has gone on at another place");
    }
}

#[test]
fn the_next_picture_file_of_a_client_takes_the_place_of_the_last() {
    let (streams, mut now) = (reserved(), Instant::now());
    for inode in 1..20 {
        assert!(play(&streams, inode, 4, &mut now)[3], "picture {inode}");
        streams.note_end(&read(inode, 3 * MIB));
    }
    assert_eq!(streams.counts(now)[0].1.active, 1, "the sequence is one stream");
}

#[test]
fn what_is_read_beyond_the_speed_has_no_rights() {
    let (streams, now) = (reserved(), Instant::now());
    let kept = (0..200).filter(|number| is_kept(&streams, &read(1, number * MIB), now)).count();
    assert_eq!(kept, 25, "two seconds of 10 MiB/s with the headroom of a quarter");
    let later = now + Duration::from_secs(1);
    let kept = (200..300).filter(|number| is_kept(&streams, &read(1, number * MIB), later)).count();
    assert_eq!(kept, 12, "one second more");
}

#[test]
fn a_stream_is_read_ahead_by_a_second_and_not_twice() {
    let (streams, now) = (reserved(), Instant::now());
    assert_eq!(streams.note(&read(1, 0), now), None, "it may be no stream");
    assert_eq!(streams.note(&read(1, MIB), now), Some((2 * MIB, 10 * MIB)));
    for number in 2..7 {
        assert_eq!(streams.note(&read(1, number * MIB), now), None, "{number}");
    }
    assert_eq!(streams.note(&read(1, 7 * MIB), now), Some((12 * MIB, 6 * MIB)));
    assert_eq!(streams.note(&read(1, 500 * MIB), now), Some((501 * MIB, 10 * MIB)), "after a jump");
}

#[test]
fn a_reservation_is_of_its_share_account_and_client_only() {
    let (streams, now) = (Arc::<ReservedStreams>::default(), Instant::now());
    let of = StreamFilter {
        views: vec![1],
        account: Some(("ada".into(), Some(1000))),
        client: Some(address(1)),
        ..StreamFilter::default()
    };
    streams.keep(vec![reservation(1, 20, of)], None);
    let other = |inode, change: fn(&mut StreamRead<'static>)| {
        let mut one = read(inode, 0);
        change(&mut one);
        streams.note(&one, now);
        one.offset = MIB;
        while_reading(address(1), || streams.note(&one, now)).1.is_some()
    };
    assert!(other(1, |_| {}));
    assert!(!other(2, |read| read.view = 2));
    assert!(!other(3, |read| read.account = Some("eve")));
    assert!(!other(4, |read| read.client = Some(address(2))));
    assert!(other(5, |read| read.account = None), "a client that states the number of ada");
    assert!(!other(6, |read| (read.account, read.uid) = (None, 1001)));
}

#[test]
fn a_file_is_reserved_by_itself_whatever_view_reads_it() {
    let (streams, now) = (Arc::<ReservedStreams>::default(), Instant::now());
    let of = StreamFilter { files: vec![FileId { device: 1, inode: 9 }], ..StreamFilter::default() };
    streams.keep(vec![reservation(1, 1, of)], None);
    streams.note(&StreamRead { view: 5, ..read(9, 0) }, now);
    assert!(is_kept(&streams, &StreamRead { view: 6, ..read(9, MIB) }, now));
}

#[test]
fn others_make_room_while_streams_are_read_and_not_after() {
    let (streams, mut now) = (reserved(), Instant::now());
    assert!(!streams.is_read(now), "nobody reads");
    play(&streams, 1, 2, &mut now);
    assert!(streams.is_read(now));
    assert!(!streams.is_read(now + ROOM_FOR));
    streams.keep(Vec::new(), None);
    assert!(!streams.is_on() && !streams.is_read(now), "released");
}

#[test]
fn reads_that_take_longer_than_they_play_are_late_and_cut_others() {
    let (streams, mut now) = (reserved(), Instant::now());
    streams.keep(
        vec![reservation(1, 2, StreamFilter { views: vec![1], ..StreamFilter::default() })],
        Some(80 << 20),
    );
    play(&streams, 1, 2, &mut now);
    let (_, service) = while_reading(address(1), || streams.note(&read(1, 2 * MIB), now));
    service.unwrap().end(now + Duration::from_millis(90)); // 1 MiB plays for 100 ms
    assert_eq!(streams.counts(now)[0].1.late, 0);
    let (_, service) = while_reading(address(1), || streams.note(&read(1, 3 * MIB), now));
    service.unwrap().end(now + Duration::from_millis(150));
    let counts = streams.counts(now)[0].1;
    assert_eq!((counts.late, counts.longest), (1, Duration::from_millis(150)));
    assert!(streams.others().limit().unwrap() < 80 << 20);
}

#[test]
fn a_reservation_that_gets_other_views_keeps_its_streams() {
    let (streams, mut now) = (reserved(), Instant::now());
    play(&streams, 1, 3, &mut now);
    let of = StreamFilter { views: vec![1, 2], ..StreamFilter::default() };
    streams.keep(vec![reservation(1, 2, of)], None);
    assert!(is_kept(&streams, &read(1, 3 * MIB), now));
}
