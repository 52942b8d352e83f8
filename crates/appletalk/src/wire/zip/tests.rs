//! Each message against its figure in chapter 8.

use super::*;

fn zone(text: &str) -> MacName {
    MacName::from_text(text).unwrap()
}

fn both_ways(message: &ZipMessage, bytes: &[u8]) {
    assert_eq!(message.encode(), bytes);
    assert_eq!(ZipMessage::decode(bytes).as_ref(), Ok(message));
}

#[test]
fn a_query_has_a_count_and_networks() {
    both_ways(&ZipMessage::Query(vec![3, 0x102]), &[1, 2, 0, 3, 1, 2]);
    assert!(ZipMessage::decode(&[1, 4, 0, 3]).is_err());
}

#[test]
fn a_reply_has_the_network_before_each_of_its_zones() {
    let zones = vec![(3, zone("Hall")), (3, zone("Attic")), (9, zone("Hall"))];
    both_ways(&ZipMessage::Reply(zones), b"\x02\x02\0\x03\x04Hall\0\x03\x05Attic\0\x09\x04Hall");
}

#[test]
fn an_extended_reply_counts_the_zones_of_all_its_packets() {
    let zones = vec![(3, zone("Hall"))];
    both_ways(&ZipMessage::ExtendedReply { count: 40, zones }, b"\x08\x28\0\x03\x04Hall");
}

#[test]
fn get_net_info_is_that_of_figure_8_4() {
    both_ways(&ZipMessage::GetNetInfo(zone("Hall")), b"\x05\0\0\0\0\0\x04Hall");
    let info = NetInfo {
        flags: NetInfo::ONLY_ONE_ZONE,
        first: 3,
        last: 5,
        zone: zone("Hall"),
        multicast: Some(HardwareAddress::zone_group(1)),
        default_zone: None,
    };
    let bytes = b"\x06\x20\0\x03\0\x05\x04Hall\x06\x09\0\x07\0\0\x01";
    both_ways(&ZipMessage::NetInfo(info), bytes);
}

#[test]
fn an_invalid_zone_is_answered_with_the_default_one() {
    let info = NetInfo {
        flags: NetInfo::ZONE_INVALID | NetInfo::USE_BROADCAST,
        first: 3,
        last: 3,
        zone: zone("Cellar"),
        multicast: None,
        default_zone: Some(zone("Hall")),
    };
    both_ways(&ZipMessage::NetInfo(info), b"\x06\xc0\0\x03\0\x03\x06Cellar\0\x04Hall");
}

#[test]
fn notify_has_the_new_name_last() {
    let multicast = Some(HardwareAddress::zone_group(2));
    let message = ZipMessage::Notify { old: zone("Hall"), multicast, new: zone("Attic") };
    both_ways(&message, b"\x07\0\0\0\0\0\x04Hall\x06\x09\0\x07\0\0\x02\x05Attic");
}

#[test]
fn zone_lists_are_transactions_of_one_packet() {
    let request = ZoneListRequest { transaction: 0x1234, kind: ZoneListKind::ALL, start: 1 };
    let bytes = [0x40, 1, 0x12, 0x34, 8, 0, 0, 1];
    assert_eq!((request.encode(), ZoneListRequest::decode(&bytes)), (bytes.to_vec(), Ok(request)));
    let reply =
        ZoneListReply { transaction: 0x1234, is_last: true, zones: vec![zone("Hall"), zone("Attic")] };
    let bytes = b"\x90\0\x12\x34\x01\0\0\x02\x04Hall\x05Attic";
    assert_eq!((reply.encode(), ZoneListReply::decode(bytes)), (bytes.to_vec(), Ok(reply)));
    assert!(ZoneListRequest::decode(&bytes[..]).is_err(), "a response is no request");
}

#[test]
fn unknown_functions_and_half_messages_are_refused() {
    assert!(ZipMessage::decode(&[99, 0]).is_err());
    assert!(ZipMessage::decode(b"\x06\x80\0\x03\0\x05\x04Hall\0").is_err(), "no default zone");
    assert!(ZipMessage::decode(b"\x02\x01\0\x03\x05Hal").is_err());
}
