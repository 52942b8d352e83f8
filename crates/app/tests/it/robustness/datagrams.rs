//! Datagrams that no client sends (RFC 5531 10): they are answered or dropped, and other clients
//! are not affected.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use nfs::wire::rpc::{Outcome, ReplyHeader};
use nfs::wire::v3::types::Status;
use nfs::wire::v3::{PROGRAM, Procedure, VERSION, getattr};
use nfs::wire::xdr::{Decode, Opaque};
use wire::Reader;

use crate::robustness::client::{Client, message, read_message};
use crate::robustness::neighbour::Neighbour;
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder};

/// A transaction id that no changed call has: it differs from the numbers of the calls in more than one byte.
const OWN: u32 = 0xDEAD_BEEF;
const NULL: (u32, u32, u32) = (PROGRAM, VERSION, 0);

fn socket(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

/// Sends a call until its reply arrives, as a client over UDP does.
fn answer(socket: &UdpSocket, xid: u32, call: &[u8]) -> Vec<u8> {
    let mut reply = vec![0; 1 << 16];
    for _ in 0..20 {
        socket.send(call).unwrap();
        while let Ok(length) = socket.recv(&mut reply) {
            if reply[..4] == xid.to_be_bytes() {
                return reply[..length].to_vec();
            }
        }
    }
    panic!("no answer over UDP");
}

fn outcome(reply: &[u8]) -> Outcome {
    ReplyHeader::decode(&mut Reader::new(reply)).unwrap().outcome
}

#[test]
fn random_and_changed_datagrams_disturb_no_client() {
    let (top, share) = folder();
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.create(&root, "notes").unwrap();
    let neighbour = Neighbour::start(server.port);
    let socket = socket(server.port);
    let mut random = Random::new(0x5eed_0004);
    for number in 0..3000 {
        let mut datagram = match number % 3 {
            0 => {
                let length = random.below(2000);
                random.bytes(length)
            }
            1 => read_message(number, &file, 0, 100),
            _ => {
                let request = getattr::Request { object: Opaque(&root) };
                message(number, 1000, (PROGRAM, VERSION, number % 25), &request)
            }
        };
        if number % 3 > 0 {
            let at = random.below(datagram.len());
            datagram[at] = random.next() as u8;
            datagram.truncate(random.below(2 * datagram.len()));
        }
        let _ = socket.send(&datagram); // an earlier one may have been refused
    }
    let _ = socket.send(&[]);
    let _ = socket.send(&vec![0; 65_507]);
    assert_eq!(outcome(&answer(&socket, OWN, &message(OWN, 1000, NULL, &()))), Outcome::Success);
    neighbour.finish("random datagrams");
}

#[test]
fn a_read_over_udp_never_exceeds_a_datagram() {
    let (top, share) = folder();
    std::fs::write(share.join("big"), vec![7; 1 << 20]).unwrap();
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.lookup(&root, "big").unwrap();
    let socket = socket(server.port);
    for (xid, count) in [(1, 8192), (2, 32_768), (3, 65_536), (4, 1 << 20), (5, u32::MAX)] {
        let reply = answer(&socket, xid, &read_message(xid, &file, 0, count));
        assert_eq!(outcome(&reply), Outcome::Success, "{count}");
        let mut reader = Reader::new(&reply[24..]);
        let read = nfs::wire::v3::read::ResData::decode(&mut reader).unwrap().unwrap();
        assert!(!read.data.is_empty() && read.data.len() <= count as usize && !read.eof, "{count}");
        assert!(read.data.iter().all(|&byte| byte == 7));
    }
}

#[test]
fn a_call_repeated_over_udp_is_done_once() {
    let (top, share) = folder();
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    client.create(&root, "notes").unwrap();
    let socket = socket(server.port);
    let object = nfs::wire::v3::types::DirOpArgs { dir: Opaque(&root), name: Opaque(b"notes") };
    let request = nfs::wire::v3::remove::Request { object };
    let remove = message(9, 1000, (PROGRAM, VERSION, Procedure::REMOVE.0), &request);
    let first = answer(&socket, 9, &remove);
    assert_eq!(first[24..28], Status::OK.0.to_be_bytes());
    assert_eq!(client.lookup(&root, "notes"), Err(Status::NOENT));
    for _ in 0..3 {
        assert_eq!(answer(&socket, 9, &remove), first);
    }
}
