use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use wire::Reader;

use super::{ForeignProgram, Portmap, ProgramAddresses, announce, withdraw};
use crate::server::outgoing::CallEndpoint;
use crate::server::testing::{Client, Fake, Outgoing, encoded, service};
use crate::server::{Company, HandleSecret, Service};
use crate::wire::portmap::{
    self, PortMapping, Procedure, Protocol, Rpcb, RpcbProcedure, Text, UniversalAddress, mappings, rpcbs,
};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::{Opaque, arguments};

const NFS: u32 = 100_003;
const MOUNT: u32 = 100_005;
const PLACES: ProgramAddresses =
    ProgramAddresses { programs: 2049, portmap: Some(111), udp: true, ipv4: true, ipv6: false };

fn client(places: ProgramAddresses) -> Client {
    let service = service();
    service.set_places(places);
    Client::new(&service)
}

fn v2(procedure: Procedure) -> (u32, u32, u32) {
    (portmap::PROGRAM, 2, procedure.0)
}

fn mapping(program: u32, version: u32, protocol: Protocol) -> PortMapping {
    PortMapping { program, version, protocol, port: 0 }
}

fn rpcb<'a>(program: u32, version: u32, netid: &'a str) -> Rpcb<'a> {
    let empty = Text::new(b"");
    Rpcb { program, version, netid: Text::new(netid.as_bytes()), address: empty, owner: empty }
}

async fn port(client: &Client, asked: PortMapping) -> u32 {
    client.call(v2(Procedure::GETPORT), &asked).await.value()
}

async fn address(client: &Client, version: u32, procedure: RpcbProcedure, asked: Rpcb<'_>) -> String {
    let answer = client.call((portmap::PROGRAM, version, procedure.0), &asked).await;
    String::from_utf8(answer.value::<Opaque<'_, 256>>().to_vec()).unwrap()
}

#[tokio::test]
async fn tells_the_port_of_what_is_served_and_0_of_anything_else() {
    let client = client(PLACES);
    for program in [NFS, MOUNT, 100_021, 100_024] {
        assert_eq!(port(&client, mapping(program, 1, Protocol::TCP)).await, 2049);
        assert_eq!(port(&client, mapping(program, 4, Protocol::UDP)).await, 2049);
        assert_eq!(port(&client, mapping(program, 3, Protocol(1))).await, 0);
    }
    assert_eq!(port(&client, mapping(100_000, 2, Protocol::UDP)).await, 111);
    assert_eq!(port(&client, mapping(100_011, 1, Protocol::UDP)).await, 0);
}

#[tokio::test]
async fn without_datagrams_nothing_is_told_of_udp() {
    let client = client(ProgramAddresses { udp: false, ..PLACES });
    assert_eq!(port(&client, mapping(NFS, 3, Protocol::UDP)).await, 0);
    assert_eq!(port(&client, mapping(NFS, 3, Protocol::TCP)).await, 2049);
}

#[tokio::test]
async fn lists_each_version_on_each_transport() {
    let client = client(PLACES);
    let answer = client.call_raw(v2(Procedure::DUMP), &[]).await.unwrap();
    let all = mappings(&mut answer.reader()).unwrap();
    // 3 of portmap, 1 of NFS, 3 of MOUNT, 1 of NLM, 1 of NSM; TCP and UDP.
    assert_eq!(all.len(), 2 * 9);
    assert!(all.contains(&PortMapping { program: MOUNT, version: 1, protocol: Protocol::UDP, port: 2049 }));
    let answer = client.call_raw((portmap::PROGRAM, 4, RpcbProcedure::DUMP.0), &[]).await.unwrap();
    let all = rpcbs(&mut answer.reader()).unwrap();
    assert_eq!(all.len(), 2 * 9);
    let nfs = all.iter().find(|line| line.program == NFS && &line.netid[..] == b"tcp").unwrap();
    assert_eq!(&nfs.address[..], b"0.0.0.0.8.1"); // RFC 5665 5.2.3.3
}

#[tokio::test]
async fn an_address_is_one_that_the_caller_can_reach() {
    let client = client(PLACES);
    for version in [3, 4] {
        let asked = rpcb(NFS, 3, "tcp");
        assert_eq!(address(&client, version, RpcbProcedure::GETADDR, asked).await, "192.0.2.200.8.1");
        let unknown = rpcb(100_011, 1, "udp");
        assert_eq!(address(&client, version, RpcbProcedure::GETADDR, unknown).await, "");
        let not_served = rpcb(NFS, 3, "tcp6");
        assert_eq!(address(&client, version, RpcbProcedure::GETADDR, not_served).await, "");
    }
}

#[tokio::test]
async fn only_getversaddr_asks_for_the_version() {
    let client = client(PLACES);
    assert_ne!(address(&client, 4, RpcbProcedure::GETADDR, rpcb(NFS, 4, "udp")).await, "");
    assert_eq!(address(&client, 4, RpcbProcedure::GETVERSADDR, rpcb(NFS, 4, "udp")).await, "");
    assert_ne!(address(&client, 4, RpcbProcedure::GETVERSADDR, rpcb(NFS, 3, "udp")).await, "");
}

#[tokio::test]
async fn registrations_and_forwarded_calls_are_refused() {
    let client = client(PLACES);
    for procedure in [Procedure::SET, Procedure::UNSET] {
        let theirs = PortMapping { program: NFS, version: 3, protocol: Protocol::TCP, port: 666 };
        assert!(!client.call(v2(procedure), &theirs).await.value::<bool>());
        let theirs = rpcb(NFS, 3, "tcp");
        assert!(!client.call((portmap::PROGRAM, 4, procedure.0), &theirs).await.value::<bool>());
    }
    assert_eq!(port(&client, mapping(NFS, 3, Protocol::TCP)).await, 2049);
    for version in [2, 3, 4] {
        let callit = (portmap::PROGRAM, version, Procedure::CALLIT.0);
        let answer = client.call_raw(callit, &[]).await.unwrap();
        assert_eq!(answer.outcome, Outcome::ProcUnavail);
    }
}

/// An rpcbind that answers on the UNIX socket, or only on port 111.
#[derive(Default)]
struct FakeRpcbind {
    registered: Mutex<HashMap<(u32, u32, String), u16>>,
}

impl FakeRpcbind {
    fn change(&self, set: bool, key: (u32, u32, String), port: u16) -> Vec<u8> {
        let mut all = self.registered.lock();
        encoded(&match (set, all.contains_key(&key)) {
            (true, true) => all[&key] == port,
            (true, false) => all.insert(key, port).is_none(),
            (false, there) => (all.remove(&key), there).1,
        })
    }

    fn version_4(&self, call: &Outgoing) -> Vec<u8> {
        let text = |text: &Opaque<'_, 256>| String::from_utf8(text.to_vec()).unwrap();
        let mut reader = Reader::new(&call.arguments);
        match RpcbProcedure(call.procedure.2) {
            RpcbProcedure::NULL => Vec::new(),
            RpcbProcedure::DUMP => {
                let all = self.registered.lock();
                let lines: Vec<_> = all
                    .iter()
                    .map(|(key, port)| {
                        (key, UniversalAddress(SocketAddr::new([0; 4].into(), *port)).to_string())
                    })
                    .collect();
                let mut w = wire::Writer::new();
                portmap::put_rpcbs(
                    &mut w,
                    lines.iter().map(|((program, version, netid), address)| Rpcb {
                        program: *program,
                        version: *version,
                        netid: Text::new(netid.as_bytes()),
                        address: Text::new(address.as_bytes()),
                        owner: Text::new(b""),
                    }),
                );
                w.into_bytes()
            }
            procedure => {
                let rpcb: Rpcb<'_> = arguments(&mut reader).unwrap();
                let port = UniversalAddress::parse(&rpcb.address).unwrap().0.port();
                let key = (rpcb.program, rpcb.version, text(&rpcb.netid));
                self.change(procedure == RpcbProcedure::SET, key, port)
            }
        }
    }
}

/// A service on a host with this rpcbind. At port `dead` no server answers any more. All other
/// ports answer.
fn beside(rpcbind: &Arc<FakeRpcbind>, dead: u16) -> Arc<Service> {
    let rpcbind = rpcbind.clone();
    let network = Fake::new(move |call| match &call.to {
        CallEndpoint::Unix(path) => path.starts_with("/run").then(|| rpcbind.version_4(call)),
        CallEndpoint::Tcp(at) | CallEndpoint::Udp(at) => (at.port() != dead).then(Vec::new),
    });
    let company = Company { network, ..Company::default() };
    let secret = HandleSecret::new([1; 16]);
    let service = Service::in_company(Vec::new(), secret, SystemTime::UNIX_EPOCH, company);
    service.set_places(ProgramAddresses { portmap: None, ..PLACES });
    service
}

#[tokio::test]
async fn registers_with_a_running_rpcbind_and_takes_it_back() {
    let rpcbind = Arc::new(FakeRpcbind::default());
    let service = beside(&rpcbind, 0);
    let announced = announce(&service, || panic!("there is an rpcbind")).await;
    assert_eq!(announced, Portmap::Registered { others: Vec::new() });
    assert!(announced.finds_locks() && announced.finds_files());
    let nfs = (NFS, 3, "tcp".to_string());
    assert_eq!(rpcbind.registered.lock().len(), 2 * 6);
    assert_eq!(rpcbind.registered.lock()[&nfs], 2049);
    withdraw(&service).await;
    assert!(rpcbind.registered.lock().is_empty());
}

#[tokio::test]
async fn replaces_who_is_gone_and_leaves_who_answers() {
    let rpcbind = Arc::new(FakeRpcbind::default());
    let (gone, there) = ((NFS, 3, "tcp".to_string()), (100_024, 1, "udp".to_string()));
    rpcbind.registered.lock().extend([(gone.clone(), 777), (there.clone(), 888)]);
    let service = beside(&rpcbind, 777);
    let others = vec![ForeignProgram { program: 100_024, version: 1, port: 888 }];
    assert_eq!(announce(&service, || panic!("there is an rpcbind")).await, Portmap::Registered { others });
    assert_eq!(rpcbind.registered.lock()[&gone], 2049);
    assert_eq!(rpcbind.registered.lock()[&there], 888);
    withdraw(&service).await;
    assert_eq!(rpcbind.registered.lock().len(), 1); // not a registration of this server
}

/// The kernel's lock service has a port for each transport, and answers on that transport alone.
#[tokio::test]
async fn the_lock_service_of_another_server_is_left_and_told_of_once() {
    let rpcbind = Arc::new(FakeRpcbind::default());
    let locks = |netid: &str| (100_021, 4, netid.to_string());
    rpcbind.registered.lock().extend([(locks("tcp"), 40_001), (locks("udp"), 40_002)]);
    let network = {
        let rpcbind = rpcbind.clone();
        Fake::new(move |call| match &call.to {
            CallEndpoint::Unix(path) => path.starts_with("/run").then(|| rpcbind.version_4(call)),
            CallEndpoint::Tcp(at) => (at.port() == 40_001).then(Vec::new),
            CallEndpoint::Udp(at) => (at.port() == 40_002).then(Vec::new),
        })
    };
    let service = Service::in_company(
        Vec::new(),
        HandleSecret::new([1; 16]),
        SystemTime::UNIX_EPOCH,
        Company { network, ..Company::default() },
    );
    service.set_places(ProgramAddresses { portmap: None, ..PLACES });
    let announced = announce(&service, || panic!("there is an rpcbind")).await;
    assert!(!announced.finds_locks() && announced.finds_files());
    let Portmap::Registered { others } = announced else { panic!("{announced:?}") };
    let said: Vec<String> = others.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["nlockmgr version 4 (port 40001)"]);
    let left = rpcbind.registered.lock();
    assert_eq!((left[&locks("tcp")], left[&locks("udp")]), (40_001, 40_002));
}

#[tokio::test]
async fn serves_portmap_itself_where_there_is_none() {
    let service = service();
    service.set_places(ProgramAddresses { portmap: None, ..PLACES });
    let at: SocketAddr = "192.0.2.9:111".parse().unwrap();
    assert_eq!(announce(&service, || Ok(at)).await, Portmap::Served(at));
    assert_eq!(service.places().portmap, Some(111));
    let off = announce(&service, || Err("not as this user".into())).await;
    assert_eq!(off, Portmap::Off("not as this user".into()));
}
