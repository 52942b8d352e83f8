//! Frames and datagrams of AppleTalk. The selectors are those of `src/appletalk.rs`.

use appletalk::wire::aarp::{AarpFunction, AarpPacket};
use appletalk::wire::aep::{Echo, EchoFunction};
use appletalk::wire::ddp::{Datagram, DatagramKind};
use appletalk::wire::elap::{ElapContent, ElapFrame};
use appletalk::wire::llap::{LlapFrame, LlapKind};
use appletalk::wire::nbp::{NbpFunction, NbpPacket, NbpTuple};
use appletalk::wire::rtmp::{RouterPacket, RoutingTuple};
use appletalk::wire::zip::{NetInfo, ZipMessage, ZoneListKind, ZoneListReply, ZoneListRequest};
use appletalk::{Address, Endpoint, EntityName, HardwareAddress, MacName, NetworkRange};

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    frames().into_iter().chain(messages()).chain(conversations()).collect()
}

const STATION: HardwareAddress = HardwareAddress([2, 0, 0, 0, 0, 1]);

fn zone(text: &str) -> MacName {
    MacName::from_text(text).unwrap()
}

fn lookup() -> Vec<u8> {
    let tuple = |object| NbpTuple {
        endpoint: Endpoint::new(Address::new(0xff00, 128), 253),
        enumerator: 0,
        name: EntityName::from_text(object, "AFPServer", "*").unwrap(),
    };
    NbpPacket { function: NbpFunction::LOOKUP, id: 42, tuples: vec![tuple("=")] }.encode()
}

fn frames() -> Vec<Seed> {
    let seed = |name, selector: u8, frame: Vec<u8>| {
        let bytes = [&[selector], &frame[..]].concat();
        Seed { target: "appletalk_frames", name, bytes }
    };
    let address = Address::new(0xff00, 42);
    let probe = AarpPacket {
        function: AarpFunction::PROBE,
        source_hardware: STATION,
        source: address,
        target_hardware: HardwareAddress([0; 6]),
        target: address,
    };
    let datagram = Datagram {
        destination: Endpoint::new(Address::EVERYONE, 2),
        source: Endpoint::new(Address::new(0xff00, 128), 253),
        hops: 0,
        kind: DatagramKind::NBP,
        payload: lookup(),
    };
    let (long, short) = (datagram.encode_long().unwrap(), datagram.encode_short().unwrap());
    let ether = |content| ElapFrame { destination: HardwareAddress::EVERYONE, source: STATION, content };
    let local = |kind, data| LlapFrame { destination: 255, source: 128, kind, data };
    vec![
        seed("aarp", 0, ether(ElapContent::Aarp(&probe.encode())).encode()),
        seed("ether", 0, ether(ElapContent::Datagram(&long)).encode()),
        seed("short", 1, local(LlapKind::DDP_SHORT, &short).encode()),
        seed("long", 1, local(LlapKind::DDP_LONG, &long).encode()),
        seed("enquiry", 1, local(LlapKind::ENQUIRY, &[]).encode()),
    ]
}

fn messages() -> Vec<Seed> {
    let seed = |name, kind: DatagramKind, payload: Vec<u8>| {
        let bytes = [&[kind.0], &payload[..]].concat();
        Seed { target: "appletalk_messages", name, bytes }
    };
    let tuple = |first, last, is_extended, distance| RoutingTuple {
        range: NetworkRange::new(first, last).unwrap(),
        is_extended,
        distance,
    };
    let tuples = vec![tuple(3, 5, true, 0), tuple(7, 7, false, 1), tuple(9, 9, false, 31)];
    let routes = |range| RouterPacket { sender: Address::new(3, 128), range, tuples: tuples.clone() };
    let info = |flags, default_zone| NetInfo {
        flags,
        first: 3,
        last: 5,
        zone: zone("Hall"),
        multicast: Some(HardwareAddress::zone_group(1)),
        default_zone,
    };
    let zones = vec![(3, zone("Hall")), (3, zone("Attic"))];
    let zip = |name, message: ZipMessage| seed(name, DatagramKind::ZIP, message.encode());
    let echo = Echo { function: EchoFunction::REQUEST, data: b"ping" };
    let request = ZoneListRequest { transaction: 7, kind: ZoneListKind::ALL, start: 1 };
    let reply = ZoneListReply { transaction: 7, is_last: true, zones: vec![zone("Hall"), zone("Attic")] };
    let multicast = Some(HardwareAddress::zone_group(2));
    vec![
        seed("lookup", DatagramKind::NBP, lookup()),
        seed("routes", DatagramKind::RTMP_DATA, routes(None).encode()),
        seed("ether_routes", DatagramKind::RTMP_DATA, routes(NetworkRange::new(3, 5)).encode()),
        seed("rtmp_request", DatagramKind::RTMP_REQUEST, vec![1]),
        seed("echo", DatagramKind::AEP, echo.encode()),
        seed("zone_list", DatagramKind::ATP, request.encode()),
        seed("zone_list_reply", DatagramKind::ATP, reply.encode()),
        zip("query", ZipMessage::Query(vec![3, 7])),
        zip("reply", ZipMessage::Reply(zones.clone())),
        zip("extended", ZipMessage::ExtendedReply { count: 9, zones }),
        zip("get_net_info", ZipMessage::GetNetInfo(zone("Hall"))),
        zip("net_info", ZipMessage::NetInfo(info(NetInfo::ONLY_ONE_ZONE, None))),
        zip("default_zone", ZipMessage::NetInfo(info(NetInfo::ZONE_INVALID, Some(zone("Attic"))))),
        zip("notify", ZipMessage::Notify { old: zone("Hall"), multicast, new: zone("Attic") }),
    ]
}

/// Frames that a node of `src/appletalk.rs` hears: on EtherTalk (`0`) and LocalTalk (`1`), a second apart.
fn conversations() -> Vec<Seed> {
    let router = Address::new(3, 128);
    let from = |socket, kind, payload| Datagram {
        destination: Endpoint::new(Address::EVERYONE, socket),
        source: Endpoint::new(router, socket),
        hops: 0,
        kind,
        payload,
    };
    let ether = |datagram: &Datagram| {
        let bytes = datagram.encode_long().unwrap();
        let content = ElapContent::Datagram(&bytes);
        (0, ElapFrame { destination: HardwareAddress::EVERYONE, source: STATION_OF_ROUTER, content }.encode())
    };
    let local = |datagram: &Datagram| {
        let data = datagram.encode_short().unwrap();
        let frame = LlapFrame { destination: 255, source: 5, kind: LlapKind::DDP_SHORT, data: &data };
        (1, frame.encode())
    };
    let tuples = [(3, 5, true), (20, 29, true), (40, 40, false)].map(|(first, last, is_extended)| {
        RoutingTuple { range: NetworkRange::new(first, last).unwrap(), is_extended, distance: 0 }
    });
    let range = NetworkRange::new(3, 5);
    let routes = RouterPacket { sender: router, range, tuples: tuples.to_vec() }.encode();
    let local_routes = RouterPacket { sender: Address::new(9, 5), range: None, tuples: Vec::new() }.encode();
    let info = NetInfo {
        flags: NetInfo::ZONE_INVALID,
        first: 3,
        last: 5,
        zone: MacName::default(),
        multicast: Some(HardwareAddress::zone_group(1)),
        default_zone: Some(zone("Hall")),
    };
    let zones = [3, 20, 40].map(|network| (network, zone("Hall"))).to_vec();
    let routes = ether(&from(1, DatagramKind::RTMP_DATA, routes));
    let info = ether(&from(6, DatagramKind::ZIP, ZipMessage::NetInfo(info).encode()));
    let zones = ether(&from(6, DatagramKind::ZIP, ZipMessage::Reply(zones).encode()));
    let question = ether(&from(6, DatagramKind::ZIP, ZipMessage::GetNetInfo(zone("Hall")).encode()));
    let lookup = from(2, DatagramKind::NBP, lookup());
    let lookups = [ether(&lookup), local(&lookup)];
    let heard = local(&from(1, DatagramKind::RTMP_DATA, local_routes));
    let seed = |name, selector: u8, frames: &[(u8, Vec<u8>)]| {
        let frame = |(port, bytes): &(u8, Vec<u8>)| [&[port | 20, bytes.len() as u8], &bytes[..]].concat();
        let bytes = [selector].into_iter().chain(frames.iter().flat_map(frame)).collect();
        Seed { target: "appletalk_stack", name, bytes }
    };
    let [on_ether, on_local] = lookups;
    vec![
        seed("end_node", 0, &[routes.clone(), info.clone(), on_ether.clone(), heard, on_local.clone()]),
        seed("router", 1, &[routes, info, zones, question, on_ether, on_local]),
    ]
}

const STATION_OF_ROUTER: HardwareAddress = HardwareAddress([2, 0, 0, 0, 0, 2]);
