//! Chains of requests (MS-SMB2 3.3.5.2.7), longer than those of any client.

use ::smb::client::{FrameProtection, Request};
use ::smb::wire::create::Options;
use ::smb::wire::{Command, FileKey, Status, close, echo, read};

use super::client::{Smb, charge, now, open_request, read_request};
use super::{MIB, beside_a_neighbour};

/// Sends a chain and returns the statuses of its answers.
fn call_chain(smb: &mut Smb, requests: Vec<Request>) -> Vec<Status> {
    let session = smb.session.clone();
    let ids = now(smb.client.send(requests, FrameProtection::Signed(&session))).unwrap();
    ids.into_iter().map(|id| smb.answer(id).unwrap().status()).collect()
}

/// A client with this many credits.
fn with_credits(port: u16) -> Smb {
    let mut smb = Smb::enter(port);
    for _ in 0..4 {
        let mut echo = Request::new(Command::ECHO, |w| echo::Request.encode(w)).on(smb.session.id, 0);
        echo.header.credits = u16::MAX;
        smb.try_request(echo).unwrap();
    }
    smb
}

#[test]
fn a_chain_of_a_thousand_is_answered_whole() {
    beside_a_neighbour("chains of a thousand", 32 * MIB, |port| {
        let mut smb = with_credits(port);
        let echo = || Request::new(Command::ECHO, |w| echo::Request.encode(w));
        let echoes = (0..1000).map(|_| echo().on(smb.session.id, 0)).collect();
        assert_eq!(call_chain(&mut smb, echoes), [Status::SUCCESS; 1000]);

        let create = smb.request(Command::CREATE, |w| open_request("chained").encode(w));
        let read = read_request(FileKey::ALL_ONES, 0, 100);
        let close = close::Request { flags: close::Flags::NONE, file: FileKey::ALL_ONES };
        let mut chain = vec![create];
        chain.extend((0..998).map(|_| Request::new(Command::READ, |w| read.encode(w)).related()));
        chain.push(Request::new(Command::CLOSE, |w| close.encode(w)).related());
        let statuses = call_chain(&mut smb, chain);
        assert_eq!((statuses[0], statuses[999]), (Status::SUCCESS, Status::SUCCESS));
        assert!(statuses[1..999].iter().all(|status| *status == Status::END_OF_FILE));
    });
}

#[test]
fn a_chain_that_begins_with_a_related_request_is_invalid() {
    // MS-SMB2 3.3.5.2.7.2: "If SMB2_FLAGS_RELATED_OPERATIONS is set in the first request": INVALID_PARAMETER.
    beside_a_neighbour("related to nothing", 8 * MIB, |port| {
        let mut smb = Smb::enter(port);
        let read = read_request(FileKey::ALL_ONES, 0, 100);
        let chain = vec![Request::new(Command::READ, |w| read.encode(w)).related()];
        let ids = now(smb.client.send(chain, FrameProtection::Plain)).unwrap();
        assert_eq!(smb.answer(ids[0]).unwrap().status(), Status::INVALID_PARAMETER);
        smb.echo().unwrap();
    });
}

#[test]
fn a_chain_of_thousands_of_folders_opens_and_closes_them() {
    beside_a_neighbour("chains of creates", 64 * MIB, |port| {
        let mut smb = with_credits(port);
        let open = |smb: &Smb| {
            let mut request = open_request("folder");
            request.options = Options::DIRECTORY_FILE;
            smb.request(Command::CREATE, |w| request.encode(w))
        };
        for _ in 0..4 {
            let chain: Vec<_> = (0..500).map(|_| open(&smb)).collect();
            assert_eq!(call_chain(&mut smb, chain), [Status::SUCCESS; 500]);
        }
    });
}

/// 20 READs of 8 MiB in one frame do not fit a frame, whose length has 24 bits (MS-SMB2 2.1): some
/// of them are answered, the others refused, and no answer is incomplete.
#[test]
fn more_data_than_a_frame_can_carry_is_refused_request_by_request() {
    beside_a_neighbour("chains that ask for 160 MiB", 96 * MIB, |port| {
        let mut smb = with_credits(port);
        let file = smb.make("big", b"begin");
        smb.write(file, 8 * MIB - 3, b"end").unwrap();
        let read = || {
            let request = read_request(file, 0, 8 << 20);
            Request::new(Command::READ, |w| request.encode(w)).charge(charge(8 << 20))
        };
        let (session, tree) = (smb.session.clone(), smb.tree);
        let chain = (0..20).map(|_| read().on(session.id, tree)).collect();
        let ids = now(smb.client.send(chain, FrameProtection::Signed(&session))).unwrap();
        let mut whole = 0;
        for id in ids {
            let answer = smb.answer(id).unwrap();
            match answer.status() {
                Status::SUCCESS => {
                    let data = read::Response::decode(&answer.message).unwrap().data;
                    assert!(data.len() == 8 << 20 && data.starts_with(b"begin") && data.ends_with(b"end"));
                    whole += 1;
                }
                status => assert_eq!(status, Status::INSUFFICIENT_RESOURCES),
            }
        }
        assert!(whole >= 1);
        assert_eq!(smb.read(file, 0, 5).unwrap(), b"begin");
    });
}
