//! Frames that no client sends, MS-SMB2 2.1 and 3.3.5.2: the server closes that one connection, or
//! answers.

use std::time::Duration;

use ::smb::client::{Client, FrameProtection, Offer, Request};
use ::smb::wire::{Command, echo};

use super::client::{Blocking, Smb, connect, now};
use super::{MIB, beside_a_neighbour};
use crate::robustness::random::Random;

/// The deadline for closing a hopeless connection.
const SOON: Duration = Duration::from_secs(20);

/// A frame: its length, then the message.
fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

/// Fails unless the server closes a new connection after these bytes.
fn ends_a_new_connection(port: u16, bytes: &[u8], what: &str) {
    use ::smb::client::Link;
    let mut link = Blocking::connect(port).unwrap();
    let _ = now(link.send(bytes)); // the connection may end meanwhile
    assert!(link.is_closed_within(SOON), "{what}");
}

#[test]
fn bytes_that_are_no_frame_of_smb_end_their_connection() {
    beside_a_neighbour("other bytes", 8 * MIB, |port| {
        let mut random = Random::new(0x5eed_0010);
        ends_a_new_connection(port, b"GET / HTTP/1.1\r\nHost: fourfold\r\n\r\n", "a browser");
        ends_a_new_connection(port, &[0x81, 0, 0, 68], "a NetBIOS session request"); // RFC 1002 4.3.2
        for length in 0..4_u8 {
            ends_a_new_connection(port, &[0, 0, 0, length, 1, 2, 3, 4], "a frame too short for any message");
        }
        for protocol in [*b"\xFCSMB", *b"\xFDSMB", *b"\xFBSMB", *b"\xFFSMC", [0; 4]] {
            let message = [&protocol[..], &random.bytes(60)].concat();
            ends_a_new_connection(port, &framed(&message), "a message of another protocol");
        }
        for round in 0..300 {
            let length = random.below(600).max(4);
            let message = framed(&random.bytes(length));
            ends_a_new_connection(port, &message, &format!("random bytes, round {round}"));
        }
    });
}

#[test]
fn a_frame_longer_than_any_that_is_served_ends_its_connection_at_its_prefix() {
    beside_a_neighbour("announced lengths", 8 * MIB, |port| {
        for length in [64 * 1024 + 1, 0xFF_FFFF_u32] {
            ends_a_new_connection(port, &length.to_be_bytes(), "before login");
        }
        for length in [(8 << 20) + 128 * 1024 + 1, 0xFF_FFFF_u32] {
            use ::smb::client::Link;
            let mut smb = Smb::enter(port);
            now(smb.client.link.send(&length.to_be_bytes())).unwrap();
            assert!(smb.client.link.is_closed_within(SOON), "{length} after login");
        }
    });
}

#[test]
fn announced_lengths_take_no_memory_until_the_bytes_come() {
    beside_a_neighbour("200 clients that announce 8 MiB and send half of nothing", 32 * MIB, |port| {
        use ::smb::client::Link;
        let mut waiting: Vec<Smb> = (0..200).map(|_| Smb::enter(port)).collect();
        for smb in &mut waiting {
            now(smb.client.link.send(&(8_u32 << 20).to_be_bytes())).unwrap();
            now(smb.client.link.send(b"\xFESMB half a message")).unwrap();
        }
        std::thread::sleep(Duration::from_millis(200)); // for this time nothing more comes
    });
}

#[test]
fn requests_before_negotiate_end_their_connection() {
    beside_a_neighbour("nothing negotiated", 8 * MIB, |port| {
        for command in (1..=0x13).filter(|&command| command != Command::CANCEL.0) {
            let mut client = Client::new(Blocking::connect(port).unwrap());
            let request = Request::new(Command(command), |w| w.zeros(64));
            now(client.send(vec![request], FrameProtection::Plain)).unwrap();
            assert!(client.link.is_closed_within(SOON), "command {command:#x}");
        }
    });
}

#[test]
fn a_second_negotiate_ends_its_connection() {
    // MS-SMB2 3.3.5.4: "the server MUST disconnect the connection".
    beside_a_neighbour("negotiated twice", 8 * MIB, |port| {
        let mut client = connect(port, &Offer::default());
        assert!(now(client.negotiate(&Offer::default())).is_err());
        assert!(client.link.is_closed_within(SOON));
    });
}

#[test]
fn responses_and_chains_that_lead_astray_end_their_connection() {
    beside_a_neighbour("chains that lead astray", 8 * MIB, |port| {
        use ::smb::client::Link;
        for next in [1, 8, 56, 63, 65, 68, 72, 120, 136, 1024, u32::MAX - 7, u32::MAX] {
            let mut client = connect(port, &Offer::default());
            let mut request = Request::new(Command::ECHO, |w| echo::Request.encode(w));
            let mut bytes = client.prepare(vec![request.clone()], FrameProtection::Plain).1;
            bytes[4 + 20..4 + 24].copy_from_slice(&u32::to_le_bytes(next));
            request.header.next_command = next;
            now(client.link.send(&bytes)).unwrap();
            assert!(client.link.is_closed_within(SOON), "next command {next}");
        }
        let mut client = connect(port, &Offer::default());
        let mut request = Request::new(Command::ECHO, |w| echo::Request.encode(w));
        request.header.flags = ::smb::wire::Flags::RESPONSE;
        now(client.send(vec![request], FrameProtection::Plain)).unwrap();
        assert!(client.link.is_closed_within(SOON), "a response");
    });
}

#[test]
fn a_first_message_with_any_bit_wrong_is_answered_or_ends_its_connection() {
    beside_a_neighbour("negotiation and logins with wrong bits", 16 * MIB, |port| {
        use ::smb::client::Link;
        let mut random = Random::new(0x5eed_0011);
        let negotiate = recorded_negotiate();
        for _ in 0..300 {
            let mut bytes = negotiate.clone();
            for _ in 0..=random.below(3) {
                let at = 4 + random.below(bytes.len() - 4);
                bytes[at] ^= 1 << random.below(8);
            }
            if random.below(4) == 0 {
                bytes.truncate(4 + 4 + random.below(bytes.len() - 8));
                let length = bytes.len() as u32 - 4;
                bytes[..4].copy_from_slice(&length.to_be_bytes());
            }
            let mut link = Blocking::connect(port).unwrap();
            now(link.send(&bytes)).unwrap();
            let _ = link.0.shutdown(std::net::Shutdown::Write);
            let _ = link.frame(); // in any case, the server answers or closes
        }
    });
}

/// The bytes of the client's NEGOTIATE.
fn recorded_negotiate() -> Vec<u8> {
    struct Recorder(Vec<u8>);
    impl ::smb::client::Link for Recorder {
        async fn send(&mut self, frame: &[u8]) -> std::io::Result<()> {
            self.0 = frame.to_vec();
            Ok(())
        }
        async fn receive(&mut self) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
    }
    let mut client = Client::new(Recorder(Vec::new()));
    assert!(now(client.negotiate(&Offer::default())).is_err());
    client.link.0
}
