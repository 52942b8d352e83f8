//! Figures 9-2 to 9-6 of "Inside AppleTalk", byte for byte, and the limits.

use std::time::{Duration, Instant};

use super::*;
use crate::wire::atp::{MAX_DATA, Packet, Request, Response, UserBytes};
use crate::{Address, Endpoint};

const REQUESTER: Endpoint = Endpoint::new(Address::new(3, 7), 200);
const RESPONDER: Endpoint = Endpoint::new(Address::new(4, 9), 129);
const RETRY: RetryRule =
    RetryRule { first: Duration::from_secs(1), longest: Duration::from_secs(4), tries: Some(3) };

fn call(packets: usize, exactly_once: Option<ReleaseTimer>) -> Call {
    let (source, destination) = (REQUESTER, RESPONDER);
    let (user, data) = ([1, 2, 3, 4], b"read".to_vec());
    Call { source, destination, exactly_once, user, data, packets, retry: RETRY }
}

/// A request for these packets.
fn asked(bitmap: u8) -> Request<'static> {
    Request { exactly_once: None, bitmap, tid: 0, user: [1, 2, 3, 4], data: b"" }
}

/// What was sent, without addresses.
fn sent(outbox: &mut Outbox) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| outbox.take()).map(|packet| packet.payload).collect()
}

fn response(sequence: u8, control: u8, tid: u16, data: &[u8]) -> Vec<u8> {
    let [high, low] = tid.to_be_bytes();
    [&[control, sequence, high, low, 0, 0, 0, 0], data].concat()
}

/// Gives a packet to a requester.
fn receive(
    requester: &mut Requester,
    bytes: &[u8],
    now: Instant,
    outbox: &mut Outbox,
) -> Option<CallOutcome> {
    let Ok(Packet::Response(response)) = Packet::decode(bytes) else { panic!("not a response") };
    requester.receive(RESPONDER, REQUESTER.socket, &response, now, outbox)
}

#[test]
fn a_request_is_sent_again_until_its_tries_are_used() {
    let (mut requester, mut outbox, start) = (Requester::new(0x00ff), Outbox::default(), Instant::now());
    let id = requester.call(call(1, None), start, &mut outbox).unwrap();
    let request = [0x40, 1, 1, 0, 1, 2, 3, 4, b'r', b'e', b'a', b'd'];
    assert_eq!(sent(&mut outbox), [request]);
    let mut times = Vec::new();
    let failed = loop {
        let now = requester.deadline().unwrap();
        let failed = requester.tick(now, &mut outbox);
        times.push((now - start).as_secs());
        if !failed.is_empty() {
            break failed;
        }
        assert_eq!(sent(&mut outbox), [request]);
    };
    assert_eq!((failed, times), (vec![id], vec![1, 3, 7, 11]));
    assert_eq!((requester.len(), requester.deadline()), (0, None));
}

#[test]
fn only_missing_packets_are_asked_for_again() {
    // Figure 9-5.
    let (mut requester, mut outbox, now) = (Requester::new(0), Outbox::default(), Instant::now());
    requester.call(call(6, None), now, &mut outbox).unwrap();
    assert_eq!(sent(&mut outbox)[0][..2], [0x40, 0b0011_1111]);
    for sequence in [0, 1, 3, 4, 5] {
        let packet = response(sequence, 0x80, 1, &[sequence]);
        assert_eq!(receive(&mut requester, &packet, now, &mut outbox), None);
    }
    assert_eq!(sent(&mut outbox), <[Vec<u8>; 0]>::default());
    requester.tick(requester.deadline().unwrap(), &mut outbox);
    assert_eq!(sent(&mut outbox)[0][..4], [0x40, 0b0000_0100, 0, 1]);
    let outcome = receive(&mut requester, &response(2, 0x80, 1, &[2]), now, &mut outbox).unwrap();
    assert_eq!((outcome.data, outcome.packets), (vec![0, 1, 2, 3, 4, 5], 6));
    assert!(outbox.is_empty(), "nothing is released of a request that may be executed twice");
}

#[test]
fn a_packet_is_taken_once_and_not_beyond_the_end() {
    let (mut requester, mut outbox, now) = (Requester::new(0), Outbox::default(), Instant::now());
    requester.call(call(8, Some(ReleaseTimer::MINUTE_1)), now, &mut outbox).unwrap();
    assert_eq!(sent(&mut outbox)[0][..2], [0x61, 0xff]);
    let mut take = |sequence, control, data: &[u8]| {
        receive(&mut requester, &response(sequence, control, 1, data), now, &mut outbox)
    };
    assert_eq!(take(3, 0x80, b"beyond"), None);
    assert_eq!(take(0, 0x80, b"one "), None);
    assert_eq!(take(0, 0x80, b"other"), None);
    assert_eq!(take(200, 0x90, b"wild"), None);
    assert_eq!(take(2, 0x90, b"three"), None);
    assert_eq!(take(7, 0x80, b"beyond"), None);
    let outcome = take(1, 0x80, b"two ").unwrap();
    assert_eq!((outcome.data, outcome.packets), (b"one two three".to_vec(), 3));
    assert_eq!(sent(&mut outbox), [[0xc0, 0, 0, 1, 0, 0, 0, 0]]);
}

#[test]
fn a_request_for_status_is_answered_at_once() {
    // Figure 9-6: TResp(0) is lost, TResp(1) has STS.
    let (mut requester, mut outbox, now) = (Requester::new(0), Outbox::default(), Instant::now());
    requester.call(call(7, Some(ReleaseTimer::SECONDS_30)), now, &mut outbox).unwrap();
    receive(&mut requester, &response(1, 0x88, 1, &[]), now, &mut outbox);
    receive(&mut requester, &response(1, 0x88, 1, &[]), now, &mut outbox);
    let bitmaps: Vec<u8> = sent(&mut outbox).iter().map(|packet| packet[1]).collect();
    assert_eq!(bitmaps, [0b0111_1111, 0b0111_1101]);
    receive(&mut requester, &response(0, 0x80, 1, &[]), now, &mut outbox);
    receive(&mut requester, &response(2, 0x88, 1, &[]), now, &mut outbox);
    assert_eq!(sent(&mut outbox)[0][1], 0b0111_1000);
}

#[test]
fn a_response_from_elsewhere_is_ignored() {
    let (mut requester, mut outbox, now) = (Requester::new(0), Outbox::default(), Instant::now());
    requester.call(call(1, None), now, &mut outbox).unwrap();
    let forged =
        Response { ends: true, asks_status: false, sequence: 0, tid: 1, user: [9; 4], data: b"forged" };
    let mut from = |network, node, socket, local_socket, tid| {
        let source = Endpoint::new(Address::new(network, node), socket);
        requester.receive(source, local_socket, &Response { tid, ..forged }, now, &mut outbox)
    };
    assert_eq!(from(4, 8, 129, 200, 1), None);
    assert_eq!(from(5, 9, 129, 200, 1), None);
    assert_eq!(from(4, 9, 130, 200, 1), None);
    assert_eq!(from(4, 9, 129, 201, 1), None);
    assert_eq!(from(4, 9, 129, 200, 2), None);
    assert!(from(0, 9, 129, 200, 1).is_some(), "a network of 0 is this one");
}

#[test]
fn numbers_of_waiting_transactions_are_passed_over() {
    let (mut requester, mut outbox, now) = (Requester::new(u16::MAX - 1), Outbox::default(), Instant::now());
    let mut tids = Vec::new();
    for node in 0..3 {
        let destination = Endpoint::new(Address::new(1, node), 2);
        requester.call(Call { destination, ..call(1, None) }, now, &mut outbox).unwrap();
        tids.extend(sent(&mut outbox).iter().map(|packet| u16::from_be_bytes([packet[2], packet[3]])));
    }
    assert_eq!(tids, [u16::MAX, 0, 1]);
    // 65,533 more that are finished, and the numbers begin again.
    for _ in 0..65_533 {
        let id = requester.call(call(1, None), now, &mut outbox).unwrap();
        requester.cancel(id);
        outbox.take();
    }
    requester.call(call(1, None), now, &mut outbox).unwrap();
    assert_eq!(sent(&mut outbox)[0][2..4], [0, 2]);
}

#[test]
fn calls_are_limited_in_all_and_for_each_socket() {
    let (mut requester, mut outbox, now) = (Requester::new(0), Outbox::default(), Instant::now());
    let mut made = 0;
    for network in 0..100 {
        let destination = Endpoint::new(Address::new(network, 9), 129);
        let call = Call { destination, ..call(1, None) };
        let of_peer = (0..40).filter(|_| requester.call(call.clone(), now, &mut outbox).is_ok()).count();
        assert!(of_peer <= MAX_TRANSACTIONS_OF_PEER);
        made += of_peer;
    }
    assert_eq!((made, requester.len()), (MAX_TRANSACTIONS, MAX_TRANSACTIONS));
}

fn message(data: &[u8]) -> ResponseMessage {
    ResponseMessage { user: [0xff, 0xff, 0xec, 0x6a], data: data.to_vec() }
}

fn key(tid: u16) -> TransactionKey {
    TransactionKey::new(REQUESTER, RESPONDER.socket, tid)
}

#[test]
fn a_response_is_packets_of_578_bytes_and_an_end() {
    let (mut outbox, data) = (Outbox::default(), vec![7; 2 * MAX_DATA + 1]);
    message(&data).send(0xff, 0x0203, RESPONDER, REQUESTER, &mut outbox);
    let packets = sent(&mut outbox);
    let user: UserBytes = [0xff, 0xff, 0xec, 0x6a];
    assert_eq!(packets[0], [&[0x80, 0, 2, 3][..], &user, &[7; MAX_DATA]].concat());
    assert_eq!(packets[1], [&[0x80, 1, 2, 3, 0, 0, 0, 0][..], &[7; MAX_DATA]].concat());
    assert_eq!(packets[2..], [vec![0x90, 2, 2, 3, 0, 0, 0, 0, 7]]);
    message(&[]).send(1, 9, RESPONDER, REQUESTER, &mut outbox);
    assert_eq!(sent(&mut outbox), [[0x90, 0, 0, 9, 0xff, 0xff, 0xec, 0x6a]]);
    message(&vec![7; 2 * MAX_DATA]).send(0xff, 9, RESPONDER, REQUESTER, &mut outbox);
    assert_eq!(sent(&mut outbox).iter().map(|packet| packet[0]).collect::<Vec<_>>(), [0x80, 0x90]);
}

#[test]
fn a_wild_bitmap_gets_the_packets_that_exist() {
    let (mut outbox, long) = (Outbox::default(), vec![7; 100_000]);
    let mut counts = |bitmap, data: &[u8]| {
        message(data).send(bitmap, 1, RESPONDER, REQUESTER, &mut outbox);
        sent(&mut outbox).len()
    };
    assert_eq!(counts(0xff, &long), 8);
    assert_eq!(counts(0b1010_0000, &long), 2);
    assert_eq!(counts(0, &long), 0);
    assert_eq!(counts(0xfe, b"one packet"), 0);
    assert_eq!((room_of(0), room_of(1), room_of(0b111), room_of(0xff)), (0, 578, 1_734, 4_624));
    assert_eq!(room_of(0b1000_0000), 4_624);
}

#[test]
fn a_duplicate_is_executed_once_and_answered_from_the_list() {
    // Figure 9-3.
    let (mut responder, mut outbox, start) = (Responder::default(), Outbox::default(), Instant::now());
    assert!(!responder.repeat(key(5), &asked(1), start, &mut outbox));
    responder.admit(key(5), RESPONDER, &asked(1)).unwrap();
    assert!(responder.repeat(key(5), &asked(1), start, &mut outbox), "still executing");
    assert!(outbox.is_empty());
    assert!(responder.respond(key(5), message(b"done"), start, &mut outbox));
    let first = sent(&mut outbox);
    let later = start + Duration::from_secs(1);
    assert!(responder.repeat(key(5), &asked(1), later, &mut outbox));
    assert_eq!(sent(&mut outbox), first);
    responder.release(key(5));
    assert!(
        !responder.repeat(key(5), &asked(1), later, &mut outbox),
        "figure 9-4: a duplicate after the release is new"
    );
}

#[test]
fn a_request_that_is_executed_is_not_released() {
    let (mut responder, mut outbox, start) = (Responder::default(), Outbox::default(), Instant::now());
    responder.admit(key(5), RESPONDER, &asked(1)).unwrap();
    responder.release(key(5));
    responder.tick(start + Duration::from_secs(100_000));
    assert!(responder.repeat(key(5), &asked(1), start, &mut outbox));
    assert_eq!(responder.deadline(), None);
}

#[test]
fn responses_are_kept_as_long_as_the_request_says() {
    let times = [(0, 30), (1, 60), (2, 120), (3, 240), (4, 480), (5, 30), (7, 30)];
    for (timer, seconds) in times {
        let (mut responder, mut outbox, start) = (Responder::default(), Outbox::default(), Instant::now());
        responder
            .admit(key(1), RESPONDER, &Request { exactly_once: Some(ReleaseTimer(timer)), ..asked(1) })
            .unwrap();
        responder.respond(key(1), message(b""), start, &mut outbox);
        let end = start + Duration::from_secs(seconds);
        assert_eq!(responder.deadline(), Some(end));
        responder.tick(end - Duration::from_millis(1));
        assert_eq!(responder.len(), 1);
        // A duplicate starts the timer again, page 9-25.
        responder.repeat(key(1), &asked(1), end - Duration::from_millis(1), &mut outbox);
        responder.tick(end);
        assert_eq!(responder.len(), 1);
        responder.tick(end + Duration::from_secs(seconds));
        assert!(responder.is_empty());
    }
}

#[test]
fn the_same_duplicate_twice_at_once_is_answered_once() {
    let (mut responder, mut outbox, start) = (Responder::default(), Outbox::default(), Instant::now());
    responder.admit(key(1), RESPONDER, &asked(0xff)).unwrap();
    responder.respond(key(1), message(&[1; 4_624]), start, &mut outbox);
    assert_eq!(sent(&mut outbox).len(), 8);
    (0..100).for_each(|_| assert!(responder.repeat(key(1), &asked(0xff), start, &mut outbox)));
    assert!(outbox.is_empty());
    responder.repeat(key(1), &asked(0b11), start, &mut outbox);
    assert_eq!(sent(&mut outbox).len(), 2, "fewer packets are wanted: some have arrived");
}

#[test]
fn a_requester_that_learns_its_network_is_the_same() {
    let (mut responder, mut outbox, now) = (Responder::default(), Outbox::default(), Instant::now());
    let of = |network| TransactionKey::new(Endpoint::new(Address::new(network, 7), 200), 129, 1);
    responder.admit(of(0), RESPONDER, &asked(1)).unwrap();
    assert!(responder.repeat(of(3), &asked(1), now, &mut outbox));
    responder.respond(of(0), message(b""), now, &mut outbox);
    responder.admit(of(3), RESPONDER, &asked(1)).unwrap();
    assert!(!responder.repeat(TransactionKey::new(REQUESTER, 130, 1), &asked(1), now, &mut outbox));
}

#[test]
fn another_request_with_the_number_of_an_old_one_is_new() {
    let (mut responder, mut outbox, now) = (Responder::default(), Outbox::default(), Instant::now());
    let other = Request { user: [1, 2, 3, 5], ..asked(1) };
    responder.admit(key(1), RESPONDER, &asked(1)).unwrap();
    assert!(responder.repeat(key(1), &other, now, &mut outbox), "the old one is being executed");
    responder.respond(key(1), message(b"old"), now, &mut outbox);
    sent(&mut outbox);
    assert!(!responder.repeat(key(1), &other, now, &mut outbox));
    responder.admit(key(1), RESPONDER, &other).unwrap();
    responder.respond(key(1), message(b"new"), now, &mut outbox);
    assert!(sent(&mut outbox)[0].ends_with(b"new"));
}

#[test]
fn a_node_loses_its_own_oldest_response_first() {
    let (mut responder, mut outbox, now) = (Responder::default(), Outbox::default(), Instant::now());
    let other = TransactionKey::new(Endpoint::new(Address::new(3, 8), 200), 129, 1);
    responder.admit(other, RESPONDER, &asked(1)).unwrap();
    responder.respond(other, message(b""), now, &mut outbox);
    for tid in 0..1_000 {
        responder.admit(key(tid), RESPONDER, &asked(1)).unwrap();
        responder.respond(key(tid), message(b""), now, &mut outbox);
    }
    assert_eq!(responder.len(), MAX_TRANSACTIONS_OF_PEER + 1);
    assert!(responder.repeat(other, &asked(1), now, &mut outbox));
    assert!(responder.repeat(key(999), &asked(1), now, &mut outbox));
    assert!(!responder.repeat(key(0), &asked(1), now, &mut outbox));
}

#[test]
fn requests_beyond_the_limits_wait_for_answers() {
    let mut responder = Responder::default();
    let admitted = (0..100).filter(|tid| responder.admit(key(*tid), RESPONDER, &asked(1)).is_ok()).count();
    assert_eq!(admitted, MAX_TRANSACTIONS_OF_PEER);
    for node in 0..200 {
        for tid in 0..50 {
            let requester = Endpoint::new(Address::new(9, node), 200);
            let _ = responder.admit(TransactionKey::new(requester, 129, tid), RESPONDER, &asked(1));
        }
    }
    assert_eq!(responder.len(), MAX_TRANSACTIONS);
}
