//! Whatever a client sends, the server answers or ends its connection, and goes on serving the
//! other clients.

use super::*;
use crate::server::Service;
use crate::server::testing::{ADA, BOB, Loop, open_request, read_request, volume, write_request};
use crate::wire::{FileKey, InfoType, cancel, close, flush, lock, logoff, query_directory, tree_disconnect};
use std::sync::Arc;
use wire::Writer;

/// A fixed sequence of pseudo-random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes()[..], message].concat()
}

async fn serves_others(service: &Arc<Service>) {
    let mut bob = User::with(service, &Offer::default(), BOB, "share").await;
    let file = bob.make("bobs", b"abc").await;
    assert_eq!(bob.read(file, 0, 3).await, Ok(b"abc".to_vec()));
}

#[tokio::test]
async fn random_bytes_before_and_after_a_login() {
    let (service, mut random) = (service(), Random(1));
    for _ in 0..2000 {
        let mut link = Loop::new(&service);
        let length = random.below(300);
        let mut message = random.bytes(length);
        // Mostly bytes that look like a message.
        if length > 64 && random.below(4) > 0 {
            message[..6].copy_from_slice(b"\xfeSMB\x40\0");
            message[12..14].copy_from_slice(&[random.below(0x14) as u8, 0]);
            message[24..32].fill(0);
            message[20..24].fill(0);
        }
        let _ = link.send(&framed(&message)).await;
    }
    let mut ada = User::new(&service).await;
    for _ in 0..2000 {
        let length = 65 + random.below(300);
        let mut message = random.bytes(length);
        let header = echo().on(ada.session.id, ada.tree).header;
        let mut w = Writer::new();
        header.encode(&mut w);
        message[..64].copy_from_slice(w.as_bytes());
        message[12] = random.below(0x14) as u8;
        message[24..32].copy_from_slice(&ada.client.next_id.to_le_bytes());
        ada.client.next_id += 1;
        let _ = ada.client.link.send(&framed(&message)).await;
        if ada.client.link.is_over() || service.session(ada.session.id).is_none() {
            ada = User::new(&service).await;
        }
    }
    serves_others(&service).await;
}

/// One good request of every kind, about `file`.
fn specimens(ada: &User, file: FileKey) -> Vec<Request> {
    let info = crate::wire::query_info::Request {
        info_type: InfoType::FILE,
        information_class: 18,
        output_buffer_length: 4096,
        additional_information: 0,
        flags: crate::wire::query_info::Flags::NONE,
        file,
        input: &[],
    };
    let locks = vec![lock::Element { offset: 0, length: 10, flags: lock::Flags(0x11) }];
    let list = query_directory::Request {
        information_class: 37,
        flags: query_directory::Flags::NONE,
        file_index: 0,
        file,
        pattern: vec![u16::from(b'*')],
        output_buffer_length: 4096,
    };
    vec![
        ada.request(Command::CREATE, |w| open_request("notes").encode(w)),
        ada.request(Command::READ, |w| read_request(file, 0, 3).encode(w)),
        ada.request(Command::WRITE, |w| write_request(file, 0).encode(b"abcdef", w)),
        ada.request(Command::FLUSH, |w| flush::Request { reserved: 0, file }.encode(w)),
        ada.request(Command::QUERY_INFO, |w| info.encode(w)),
        ada.request(Command::QUERY_DIRECTORY, |w| list.encode(w)),
        ada.request(Command::LOCK, |w| {
            lock::Request { sequence_number: 0, sequence_index: 0, file, locks: locks.clone() }.encode(w);
        }),
        ada.request(Command::ECHO, |w| crate::wire::echo::Request.encode(w)),
        ada.request(Command::CANCEL, |w| cancel::Request.encode(w)),
        ada.request(Command::CLOSE, |w| close::Request { flags: close::Flags::NONE, file }.encode(w)),
        ada.request(Command::TREE_DISCONNECT, |w| tree_disconnect::Request.encode(w)),
        ada.request(Command::LOGOFF, |w| logoff::Request.encode(w)),
    ]
}

/// Sends a damaged request. Logs in again if that has ended the connection, session or tree.
async fn provoke(service: &Arc<Service>, ada: &mut User, file: &mut FileKey, frame: &[u8]) {
    let _ = ada.client.link.send(frame).await;
    let open = ada.request(Command::CREATE, |w| open_request("notes").encode(w));
    if status(&mut ada.client, open, FrameProtection::Signed(&ada.session)).await != Some(Status::SUCCESS) {
        *ada = User::new(service).await;
        // Requests that waited over the lost connection release their opens once they learn of its
        // end.
        let state = volume(service, "share").state().clone();
        for _ in 0..1000 {
            if state.opens(None, 1).is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        *file = ada.make("notes", b"abc").await;
    }
}

#[tokio::test]
async fn every_field_at_its_limits() {
    let service = service();
    let mut ada = User::new(&service).await;
    let mut file = ada.make("notes", b"abc").await;
    let limits: [&[u8]; 6] = [&[0], &[0xFF], &[0xFF; 2], &[0xFF, 0x7F], &[0xFF; 4], &[0xFF; 8]];
    for kind in 0..specimens(&ada, file).len() {
        let length = specimens(&ada, file)[kind].body.len();
        for at in (0..length).step_by(2) {
            for limit in limits {
                let mut request = specimens(&ada, file).swap_remove(kind);
                let end = length.min(at + limit.len());
                request.body[at..end].copy_from_slice(&limit[..end - at]);
                let (_, frame) = ada.client.prepare(vec![request], FrameProtection::Plain);
                provoke(&service, &mut ada, &mut file, &frame).await;
            }
        }
    }
    serves_others(&service).await;
}

#[tokio::test]
async fn chains_cut_short_and_with_bits_flipped() {
    let (service, mut random) = (service(), Random(2));
    let mut ada = User::new(&service).await;
    let mut file = ada.make("notes", b"abc").await;
    for _ in 0..1500 {
        let mut chain = specimens(&ada, file);
        chain.truncate(1 + random.below(8));
        let (_, mut frame) = ada.client.prepare(chain, FrameProtection::Plain);
        match random.below(3) {
            0 => frame.truncate(5 + random.below(frame.len() - 5)),
            _ => {
                for _ in 0..=random.below(4) {
                    let at = 4 + random.below(frame.len() - 4);
                    frame[at] ^= 1 << random.below(8);
                }
            }
        }
        let length = frame.len() as u32 - 4;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        provoke(&service, &mut ada, &mut file, &frame).await;
    }
    serves_others(&service).await;
}

#[tokio::test]
async fn a_login_cut_short_and_with_bits_flipped() {
    let (service, mut random) = (service(), Random(3));
    for _ in 0..300 {
        let mut client = connect(&service, &Offer::default()).await;
        let seed = random.next();
        client.link.damage = Some(Box::new(move |frame| {
            let mut random = Random(seed ^ frame.len() as u64);
            match random.below(3) {
                0 => frame.truncate(5 + random.below(frame.len() - 5)),
                1 => {
                    let at = 4 + random.below(frame.len() - 4);
                    frame[at] ^= 1 << random.below(8);
                }
                _ => {}
            }
            let length = frame.len() as u32 - 4;
            frame[..4].copy_from_slice(&length.to_be_bytes());
        }));
        client.link.patience = std::time::Duration::from_millis(20);
        let _ = client.log_in(&who(ADA), NEW).await;
    }
    serves_others(&service).await;
}
