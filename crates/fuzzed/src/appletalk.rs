//! What arrives on links of AppleTalk.

use std::time::{Duration, Instant};

use appletalk::stack::{LinkKind, PortConfig, SeedNetwork};
use appletalk::wire::aarp::AarpPacket;
use appletalk::wire::aep::Echo;
use appletalk::wire::atp::Packet;
use appletalk::wire::ddp::{Datagram, DatagramKind};
use appletalk::wire::elap::{ElapContent, ElapFrame};
use appletalk::wire::llap::{LlapFrame, LlapKind};
use appletalk::wire::nbp::NbpPacket;
use appletalk::wire::rtmp::{RouterPacket, RtmpRequest};
use appletalk::wire::zip::{ZipMessage, ZoneListReply, ZoneListRequest};
use appletalk::{EntityName, HardwareAddress, MacName, NetworkRange, Output, PortId, Stack, StackConfig};

/// A selector and a frame: of EtherTalk, or of LocalTalk. What decodes is the same when it is encoded and decoded again.
pub fn frames(data: &[u8]) {
    match data.split_first() {
        Some((0, bytes)) => ether_frame(bytes),
        Some((_, bytes)) => local_frame(bytes),
        None => {}
    }
}

fn ether_frame(bytes: &[u8]) {
    let Ok(frame) = ElapFrame::decode(bytes) else { return };
    let again = frame.encode();
    assert!(again.len() >= ElapFrame::MIN_BYTES);
    assert_eq!(ElapFrame::decode(&again), Ok(frame));
    match frame.content {
        ElapContent::Aarp(content) => {
            if let Ok(packet) = AarpPacket::decode(content) {
                assert_eq!(AarpPacket::decode(&packet.encode()), Ok(packet));
            }
        }
        ElapContent::Datagram(content) => datagram(Datagram::decode_long(content).ok()),
    }
}

fn local_frame(bytes: &[u8]) {
    let Ok(frame) = LlapFrame::decode(bytes) else { return };
    assert_eq!(frame.encode(), bytes);
    match frame.kind {
        LlapKind::DDP_SHORT => {
            datagram(Datagram::decode_short(frame.data, frame.destination, frame.source).ok());
        }
        LlapKind::DDP_LONG => datagram(Datagram::decode_long(frame.data).ok()),
        _ => {}
    }
}

fn datagram(datagram: Option<Datagram>) {
    let Some(datagram) = datagram else { return };
    let again = datagram.encode_long().expect("it was short enough");
    assert_eq!(Datagram::decode_long(&again).as_ref(), Ok(&datagram));
    message(datagram.kind, &datagram.payload);
}

/// A datagram's type and its data.
pub fn messages(data: &[u8]) {
    if let Some((&kind, payload)) = data.split_first() {
        message(DatagramKind(kind), payload);
    }
}

fn message(kind: DatagramKind, payload: &[u8]) {
    match kind {
        DatagramKind::RTMP_DATA => {
            if let Ok(packet) = RouterPacket::decode(payload) {
                // The network's own tuple stands once when it is written.
                let again = RouterPacket::decode(&packet.encode()).expect("it was valid");
                assert_eq!((again.sender, again.range), (packet.sender, packet.range));
                assert!(again.tuples.len() <= packet.tuples.len() + 1);
                assert!(RouterPacket::decode(&packet.encode_response()).is_ok());
            }
        }
        DatagramKind::RTMP_REQUEST => {
            let request = RtmpRequest::decode(payload);
            assert_eq!(request.is_ok(), !payload.is_empty());
        }
        DatagramKind::NBP => {
            if let Ok(packet) = NbpPacket::decode(payload) {
                assert_eq!(packet.encode(), payload);
            }
        }
        DatagramKind::AEP => {
            if let Ok(echo) = Echo::decode(payload) {
                assert_eq!(echo.encode(), payload);
            }
        }
        DatagramKind::ZIP => {
            if let Ok(message) = ZipMessage::decode(payload) {
                assert_eq!(ZipMessage::decode(&message.encode()), Ok(message));
            }
        }
        DatagramKind::ATP => {
            if let Ok(packet) = Packet::decode(payload) {
                assert_eq!(Packet::decode(&packet.encode()), Ok(packet));
            }
            if let Ok(request) = ZoneListRequest::decode(payload) {
                assert_eq!(ZoneListRequest::decode(&request.encode()), Ok(request));
            }
            if let Ok(reply) = ZoneListReply::decode(payload) {
                assert_eq!(ZoneListReply::decode(&reply.encode()), Ok(reply));
            }
        }
        _ => {}
    }
}

/// The most frames that one frame makes a node send: a lookup goes to each of 256 networks.
const MOST_FRAMES: usize = 400;

/// A selector (an end node, a router), and frames, each with its port, the time until the next one, and its length.
pub fn stack(data: &[u8]) {
    let Some((&selector, mut rest)) = data.split_first() else { return };
    let (mut stack, mut now) = node(selector & 1 == 1);
    while let [head, length, after @ ..] = rest {
        let (frame, next) = after.split_at(after.len().min(usize::from(*length)));
        rest = next;
        stack.receive(PortId(head & 1), frame, now);
        assert!(frames_sent(&mut stack) <= MOST_FRAMES);
        now += Duration::from_millis(100 * u64::from(head >> 1));
        stack.tick(now);
        frames_sent(&mut stack);
    }
    assert!(stack.routes().len() <= 256 && stack.zones().len() <= 256 && stack.heard(now).len() <= 256);
    assert_eq!(stack.dropped_outputs(), 0);
}

/// A node with EtherTalk and LocalTalk that has been up for a minute, with a name. As a router it seeds LocalTalk only.
fn node(is_router: bool) -> (Stack, Instant) {
    let zone = MacName::from_text("Cellar").expect("it is short");
    let seed = NetworkRange::new(7, 7).map(|range| SeedNetwork { range, zones: vec![zone] });
    let station = HardwareAddress([2, 0, 0, 0, 0, 1]);
    let port = |link, seed| PortConfig { label: String::new(), link, hint: None, seed };
    let ports =
        vec![port(LinkKind::EtherTalk(station), None), port(LinkKind::LocalTalk, seed.filter(|_| is_router))];
    let mut now = Instant::now();
    let end = now + Duration::from_secs(60);
    let config = StackConfig { ports, zone: None, is_router, random_seed: 1 };
    let mut stack = Stack::new(config, now).expect("it is valid");
    let name = EntityName::from_text("Museum", "AFPServer", "*").expect("it is short");
    stack.register(name, 200, now).expect("it is fit");
    while let Some(deadline) = stack.deadline().filter(|deadline| *deadline < end) {
        now = now.max(deadline);
        stack.tick(now);
        frames_sent(&mut stack);
    }
    (stack, now)
}

/// Takes all outputs. The frames among them are valid.
fn frames_sent(stack: &mut Stack) -> usize {
    let mut count = 0;
    while let Some(output) = stack.take_output() {
        if let Output::Frame { port, bytes } = output {
            let is_valid = if port == PortId(0) {
                ElapFrame::decode(&bytes).is_ok()
            } else {
                LlapFrame::decode(&bytes).is_ok()
            };
            assert!(is_valid);
            count += 1;
        }
    }
    count
}
