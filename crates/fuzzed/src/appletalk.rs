//! What arrives on links of AppleTalk.

use appletalk::wire::aarp::AarpPacket;
use appletalk::wire::aep::Echo;
use appletalk::wire::atp::AtpPacket;
use appletalk::wire::ddp::{Datagram, DatagramKind};
use appletalk::wire::elap::{ElapContent, ElapFrame};
use appletalk::wire::llap::{LlapFrame, LlapKind};
use appletalk::wire::nbp::NbpPacket;
use appletalk::wire::rtmp::{RouterPacket, RtmpRequest};
use appletalk::wire::zip::{ZipMessage, ZoneListReply, ZoneListRequest};

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
            if let Ok(packet) = AtpPacket::decode(payload) {
                assert_eq!(packet.encode(), payload);
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
