//! Calls through pipes, from what impacket wrote for the tests of crates/smb. The selectors are those of
//! `src/smb_pipes.rs`.

use std::collections::BTreeSet;

use smb::wire::rpc::Syntax;
use smb::wire::rpc::pdu::{Bind, Header, PresentationContext, Request, kind};

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
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
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
    seeds
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
