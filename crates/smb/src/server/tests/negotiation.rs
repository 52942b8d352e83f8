//! MS-SMB2 3.3.5.3 and 3.3.5.4.

use super::*;
use crate::server::testing::{ADA, Loop};
use crate::wire::negotiate::{self, Response};
use crate::wire::negotiate_context::Context;
use crate::wire::{Capabilities, Dialect, Header, SecurityMode, smb1};
use wire::Writer;

fn request(dialects: &[Dialect], contexts: Vec<Context>) -> negotiate::Request {
    negotiate::Request {
        security_mode: SecurityMode::SIGNING_ENABLED,
        capabilities: Capabilities(0x7F),
        client_guid: [3; 16],
        dialects: dialects.to_vec(),
        contexts,
    }
}

async fn ask(request: &negotiate::Request) -> Option<Status> {
    let mut client = Client::new(Loop::new(&service()));
    let request = Request::new(Command::NEGOTIATE, |w| request.encode(w));
    status(&mut client, request, FrameProtection::Plain).await
}

fn preauth() -> Context {
    Context::PreauthIntegrity { hashes: vec![1], salt: vec![1; 32] }
}

#[tokio::test]
async fn the_newest_dialect_of_both_is_chosen() {
    let service = service_with(|config| config.newest = crate::server::Dialect::V3_0_2);
    let all = [0x0202, 0x0210, 0x0300, 0x0302, 0x0311, 0x0399].map(Dialect);
    let offer = Offer { dialects: all.to_vec(), ..Offer::default() };
    let client = connect(&service, &offer).await;
    assert_eq!(client.dialect(), Dialect::SMB_3_0_2);
    assert_eq!(ask(&request(&[Dialect(0x0399)], vec![])).await, Some(Status::NOT_SUPPORTED));
    assert_eq!(ask(&request(&[], vec![])).await, Some(Status::INVALID_PARAMETER));
}

#[tokio::test]
async fn contexts_of_3_1_1_are_answered_once_each_and_preauthentication_is_a_must() {
    let newest = [Dialect::SMB_3_1_1];
    let twice = vec![preauth(), preauth()];
    let unknown = Context::Unknown { kind: 0x77, data: vec![1, 2, 3] };
    let other_hash = Context::PreauthIntegrity { hashes: vec![2], salt: vec![] };
    for (contexts, expected) in [
        (vec![preauth()], Status::SUCCESS),
        (vec![preauth(), unknown.clone(), unknown], Status::SUCCESS),
        (vec![], Status::INVALID_PARAMETER),
        (twice, Status::INVALID_PARAMETER),
        (vec![other_hash], Status::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP),
        (vec![preauth(), Context::Encryption(vec![])], Status::INVALID_PARAMETER),
        (vec![preauth(), Context::Signing(vec![])], Status::INVALID_PARAMETER),
    ] {
        assert_eq!(ask(&request(&newest, contexts.clone())).await, Some(expected), "{contexts:?}");
    }
}

#[tokio::test]
async fn negotiation_comes_first_and_once() {
    let service = service();
    let mut client = Client::new(Loop::new(&service));
    let _ = client.send(vec![echo()], FrameProtection::Plain).await;
    assert!(client.link.is_over());
    let mut client = connect(&service, &Offer::default()).await;
    let again = request(&[Dialect::SMB_2_1], vec![]);
    let _ = client
        .send(vec![Request::new(Command::NEGOTIATE, |w| again.encode(w))], FrameProtection::Plain)
        .await;
    assert!(client.link.is_over());
}

#[tokio::test]
async fn a_client_is_told_of_capabilities_of_3_that_it_has_too() {
    let both = Capabilities::MULTI_CHANNEL | Capabilities::DIRECTORY_LEASING;
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_1_1] {
        for asked in [Capabilities::NONE, Capabilities::MULTI_CHANNEL, both] {
            let offer = Offer { capabilities: asked, ..Offer::of(dialect) };
            let client = connect(&service(), &offer).await;
            assert_eq!(client.agreed.unwrap().capabilities & both, asked);
        }
    }
}

/// Linux 6.1 crashes in open_cached_dir when it caches folders under leases.
#[tokio::test]
async fn directory_leasing_is_not_offered_to_clients_that_offer_posix_extensions_or_where_it_is_off() {
    let leasing = Capabilities::DIRECTORY_LEASING;
    for (dialect, posix, is_on, expected) in [
        (Dialect::SMB_3_1_1, false, true, leasing),
        (Dialect::SMB_3_1_1, true, true, Capabilities::NONE),
        (Dialect::SMB_3_1_1, false, false, Capabilities::NONE),
        (Dialect::SMB_3_0, false, false, Capabilities::NONE),
        (Dialect::SMB_3_0, false, true, leasing),
    ] {
        let service = service_with(|config| config.directory_leases = is_on);
        let client = connect(&service, &Offer { posix, ..Offer::of(dialect) }).await;
        let agreed = client.agreed.unwrap();
        assert_eq!(agreed.capabilities & leasing, expected, "{dialect:?} {posix} {is_on}");
    }
}

fn upgrade(dialects: Vec<&'static [u8]>) -> Vec<u8> {
    let mut w = Writer::new();
    w.u32_be(0);
    smb1::Negotiate { dialects }.encode(&mut w);
    let mut frame = w.into_bytes();
    let length = frame.len() as u32 - 4;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

#[tokio::test]
async fn a_client_that_begins_with_smb1_is_told_to_choose_again() {
    let service = service();
    let mut client = Client::new(Loop::new(&service));
    let (old, any) = (smb1::Negotiate::SMB_2_002, smb1::Negotiate::SMB_2_WILDCARD);
    client.link.send(&upgrade(vec![b"NT LM 0.12", old, any])).await.unwrap();
    let answer = client.answer(0).await.unwrap();
    assert_eq!(Response::decode(&answer.message).unwrap().dialect, Dialect::WILDCARD);
    client.next_id = 1;
    client.negotiate(&Offer::default()).await.unwrap();
    assert_eq!(client.dialect(), Dialect::SMB_3_1_1);
    assert!(client.log_in(&who(ADA), NEW).await.is_ok());
}

/// MS-SMB2 3.3.5.3.1 and 3.3.5.3.2: a value of the header that the specification does not name is 0. smbd 4.17 sends these
/// 64 bytes, too; a client may refuse the answer for a credit charge.
#[tokio::test]
async fn the_header_of_the_answer_to_smb1_has_one_credit_and_no_charge() {
    let mut expected = [0; 64];
    expected[..6].copy_from_slice(b"\xfeSMB\x40\0");
    expected[14] = 1; // CreditResponse
    expected[16] = 1; // SMB2_FLAGS_SERVER_TO_REDIR
    for dialects in [vec![smb1::Negotiate::SMB_2_002], vec![smb1::Negotiate::SMB_2_WILDCARD]] {
        let mut client = Client::new(Loop::new(&service()));
        client.link.send(&upgrade(dialects)).await.unwrap();
        assert_eq!(client.answer(0).await.unwrap().message[..Header::LEN], expected);
    }
}

#[tokio::test]
async fn smb1_and_2_0_2_end_in_2_0_2_and_smb1_alone_ends_the_connection() {
    let service = service();
    let mut client = Client::new(Loop::new(&service));
    client.link.send(&upgrade(vec![b"NT LM 0.12", smb1::Negotiate::SMB_2_002])).await.unwrap();
    let answer = client.answer(0).await.unwrap();
    client.agreed = Some(Response::decode(&answer.message).unwrap());
    assert_eq!(client.dialect(), Dialect::SMB_2_0_2);
    client.next_id = 1;
    assert!(client.log_in(&who(ADA), NEW).await.is_ok());
    for frame in [upgrade(vec![b"NT LM 0.12"]), upgrade(vec![]), upgrade(vec![b"SMB 2.???"])[..40].to_vec()] {
        let mut client = Client::new(Loop::new(&service));
        let _ = client.link.send(&frame).await;
        assert!(client.link.is_over());
    }
}

#[tokio::test]
async fn before_a_login_messages_are_short() {
    let mut client = connect(&service(), &Offer::default()).await;
    let long = Request { header: Header::request(Command::ECHO, 0), body: vec![0; 65_536] };
    let _ = client.send(vec![long], FrameProtection::Plain).await;
    assert!(client.link.is_over());
}
