use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::sync::watch;
use vfs::backend::NewKind;
use vfs::{Caller, SetAttributes};

use super::serve_datagrams;
use crate::server::outgoing::{self, CallEndpoint, HostSockets, RpcError};
use crate::server::portmap::ProgramAddresses;
use crate::server::testing::{Client, SHARE, TAG, actor, export, service, service_with};
use crate::server::{ExportOptions, MAX_DATAGRAM, Rule, Service};
use crate::wire::rpc::Outcome;
use crate::wire::v3::{self, Procedure, fsinfo, read};
use crate::wire::xdr::Opaque;
use crate::wire::{mount, portmap};

async fn served(service: &Arc<Service>) -> (SocketAddr, watch::Sender<bool>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (address, (stop, stopped)) = (socket.local_addr().unwrap(), watch::channel(false));
    tokio::spawn(serve_datagrams(service.clone(), socket, stopped));
    (address, stop)
}

#[tokio::test]
async fn every_program_answers_datagrams_and_an_unknown_one_is_said_to_be() {
    let (address, _stop) = served(&service()).await;
    let at = CallEndpoint::Udp(address);
    for null in [(v3::PROGRAM, 3, 0), (mount::PROGRAM, 3, 0), (portmap::PROGRAM, 2, 0)] {
        assert!(outgoing::call(&HostSockets, &at, null, &()).await.is_ok(), "{null:?}");
    }
    let unknown = outgoing::call(&HostSockets, &at, (200_000, 1, 0), &()).await;
    assert!(matches!(unknown, Err(RpcError::Refused(Outcome::ProgUnavail))));
}

#[tokio::test]
async fn noise_between_calls_gets_no_answer_and_does_no_harm() {
    let (address, _stop) = served(&service()).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for noise in [&b""[..], b"\0", b"\0\0\0\x07\0\0\0\x01", &[0xff; 4000]] {
        socket.send_to(noise, address).await.unwrap();
    }
    let null = (mount::PROGRAM, 3, 0);
    assert!(outgoing::call(&HostSockets, &CallEndpoint::Udp(address), null, &()).await.is_ok());
    let answered = socket.try_recv(&mut [0; 100]);
    assert_eq!(answered.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn serving_ends_when_told() {
    let (service, socket) = (service(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(serve_datagrams(service, socket, stopped));
    stop.send(true).unwrap();
    serving.await.unwrap();
}

#[tokio::test]
async fn no_reply_is_longer_than_a_datagram() {
    let service = service();
    let volume = service.export_named(SHARE.as_bytes()).unwrap().volume.clone();
    let (root, caller) = (volume.root().unwrap(), actor(&Caller::root()));
    let made = volume.create(&caller, &root, b"big", NewKind::File, 0o644).unwrap();
    let grown = SetAttributes { size: Some(1 << 20), ..Default::default() };
    volume.set_attributes(&caller, &made.found, &grown).unwrap();
    let client = Client::new(&service).datagram();
    let handle = client.mount("/share").await.unwrap();

    let request = fsinfo::Request { root: Opaque::new(&handle) };
    let answer = client.call((v3::PROGRAM, 3, Procedure::FSINFO.0), &request).await;
    let info = answer.value::<fsinfo::Res>().unwrap();
    assert_eq!((info.rtmax, info.wtmax), (32 * 1024, 32 * 1024));

    let what = v3::types::DirOpArgs { dir: Opaque::new(&handle), name: Opaque::new(b"big") };
    let request = v3::lookup::Request { what };
    let answer = client.call((v3::PROGRAM, 3, Procedure::LOOKUP.0), &request).await;
    let found = answer.value::<v3::lookup::Res<'_>>().unwrap();
    let request = read::Request { file: found.object, offset: 0, count: 1 << 20 };
    let answer = client.call((v3::PROGRAM, 3, Procedure::READ.0), &request).await;
    assert!(answer.results.len() < MAX_DATAGRAM);
    let read = answer.value::<Result<read::ResOkData<'_>, read::ResFail>>().unwrap();
    assert_eq!(read.data.len(), 32 * 1024);
}

/// A datagram may have been sent by somebody else, who has the server answer to a third one.
#[tokio::test]
async fn a_stranger_gets_no_more_than_it_has_sent() {
    let mut closed = export(SHARE, TAG, ExportOptions::default());
    closed.options.rules = vec![Rule { allowed: false, ..Rule::everybody() }];
    let places = ProgramAddresses { programs: 2049, portmap: Some(111), udp: true, ipv4: true, ipv6: true };
    let dump = |service: Arc<Service>| async move {
        service.set_places(places);
        let (address, _stop) = served(&service).await;
        let dump = (portmap::PROGRAM, 4, portmap::RpcbProcedure::DUMP.0);
        let null = (portmap::PROGRAM, 4, portmap::RpcbProcedure::NULL.0);
        assert!(outgoing::call(&HostSockets, &CallEndpoint::Udp(address), null, &()).await.is_ok());
        outgoing::call(&HostSockets, &CallEndpoint::Udp(address), dump, &()).await
    };
    assert!(dump(service()).await.is_ok(), "a host that a share admits");
    assert!(matches!(dump(service_with(vec![closed])).await, Err(RpcError::Refused(Outcome::SystemErr))));
}
