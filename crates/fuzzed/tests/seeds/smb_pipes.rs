//! Calls through pipes, from what impacket wrote for the tests of crates/smb. The selectors are those of
//! `src/smb_pipes.rs`.

use std::collections::BTreeSet;

use dcerpc::Syntax;
use dcerpc::ndr::Encoder;
use dcerpc::pdu::{Bind, Header, PresentationContext, Request, Trailer, kind};
use dcerpc::tower::Tower;

use super::Seed;

const CALLS: &str = include_str!("../../../smb/src/server/pipes/pipe/tests/calls.txt");

struct Call {
    interface: &'static str,
    what: &'static str,
    operation: u16,
    stub: Vec<u8>,
}

/// One call of each operation.
fn calls() -> Vec<Call> {
    let mut seen = BTreeSet::new();
    let lines = CALLS.lines().filter(|line| !line.starts_with('#'));
    let calls = lines.filter_map(|line| {
        let [interface, what, operation, stub, _] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let call = Call { interface, what, operation: operation.parse().unwrap(), stub: hex(stub) };
        seen.insert((interface, call.operation)).then_some(call)
    });
    calls.collect()
}

fn hex(text: &str) -> Vec<u8> {
    wire::hex::decode_any(text).unwrap()
}

const INTERFACES: [(&str, Syntax); 4] = [
    ("srvsvc", Syntax::SRVSVC),
    ("wkssvc", Syntax::WKSSVC),
    ("lsarpc", Syntax::LSARPC),
    ("samr", Syntax::SAMR),
];

pub fn seeds() -> Vec<Seed> {
    let mut seeds = vec![seed("smb_rpc", "bind", &[0], bind(Syntax::SRVSVC))];
    seeds.push(seed("smb_rpc", "request", &[0], request(15, &[0; 36])));
    for call in calls() {
        let interface = INTERFACES.iter().position(|(name, _)| *name == call.interface).unwrap();
        let name = format!("{}-{}", call.interface, call.what);
        seeds.push(seed("smb_rpc", name.leak(), &[interface as u8 + 1, call.operation as u8], call.stub));
    }
    for (index, (name, syntax)) in INTERFACES.into_iter().enumerate() {
        let calls = calls().into_iter().filter(|call| call.interface == name);
        let messages = calls.map(|call| request(call.operation, &call.stub));
        let all = [bind(syntax)].into_iter().chain(messages).collect::<Vec<_>>().concat();
        seeds.push(seed("smb_pipe", name, &[3, 16 * index as u8], all));
    }
    seeds.extend(over_tcp());
    seeds
}

/// What clients of a cluster send: the mapper is asked for the witness, and the witness to register a client.
fn over_tcp() -> [Seed; 6] {
    let mut lookup = Encoder::new();
    [0, 0, 0, 1].iter().for_each(|number| lookup.u32(*number));
    lookup.handle(&[0; 20]);
    lookup.u32(10);
    let mut map = Encoder::new();
    map.null();
    map.pointer();
    let tower = Tower { interface: Syntax::WITNESS, transfer: Syntax::NDR, port: 0 }.encode();
    map.count(tower.len());
    map.count(tower.len());
    map.put(&tower);
    map.handle(&[0; 20]);
    map.u32(4);
    let mut register = Encoder::new();
    register.u32(0x0002_0000);
    for text in [Some("files"), None, Some("192.0.2.1"), Some("CLIENT")] {
        register.optional_string(text);
        register.flush();
    }
    register.u32(1);
    register.u32(120);
    let header = Header { auth_length: 16, ..Header::new(kind::REQUEST, 2) };
    let signed = header.message(|w| {
        w.zeros(24);
        Trailer { service: 10, level: 6, padding: 12, context: 1 }.encode(w);
        w.zeros(16);
    });
    [
        seed("smb_rpc", "epm-lookup", &[5, 2], lookup.into_stub()),
        seed("smb_rpc", "epm-map", &[5, 3], map.into_stub()),
        seed("smb_rpc", "witness-register-ex", &[6, 4], register.into_stub()),
        seed("smb_rpc", "witness-notify", &[6, 3], vec![0; 20]),
        seed("smb_rpc", "witness-unregister-ex", &[6, 5], vec![0; 20]),
        seed("smb_rpc", "signed", &[7], signed),
    ]
}

fn seed(target: &'static str, name: &'static str, selectors: &[u8], bytes: Vec<u8>) -> Seed {
    Seed { target, name, bytes: [selectors, &bytes].concat() }
}

fn bind(interface: Syntax) -> Vec<u8> {
    let context = PresentationContext { id: 0, interface, transfers: vec![Syntax::NDR, Syntax::NDR64] };
    let bind = Bind { max_transmit: 4280, max_receive: 4280, group: 0, contexts: vec![context] };
    Header::new(kind::BIND, 1).message(|w| bind.encode(w))
}

fn request(operation: u16, stub: &[u8]) -> Vec<u8> {
    let request = Request { allocation_hint: stub.len() as u32, context: 0, operation, object: None, stub };
    Header::new(kind::REQUEST, 2).message(|w| request.encode(w))
}
