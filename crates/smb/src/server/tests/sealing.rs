//! MS-SMB2 3.3.5.2.1.1 and 3.3.5.2.11: messages that are encrypted, and those that must be.

use super::*;
use crate::client::{Error, Proof};
use crate::server::EncryptionPolicy;
use crate::server::testing::{ADA, BOB, read_request};
use crate::wire::negotiate_context::{Cipher, Signing};
use crate::wire::session_setup::SessionFlags;
use crate::wire::transform::Transform;
use crate::wire::{Dialect, FileKey};

#[tokio::test]
async fn every_cipher_and_every_signing_algorithm_works() {
    let service = service();
    for cipher in [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM] {
        for signing in [Signing::HMAC_SHA256, Signing::AES_CMAC, Signing::AES_GMAC] {
            let offer = Offer { ciphers: vec![cipher], signing: vec![signing], ..Offer::default() };
            let mut ada = User::with(&service, &offer, ADA, "share").await;
            let file = ada.make("notes", b"abc").await;
            ada.seals = true;
            assert_eq!(ada.read(file, 0, 3).await, Ok(b"abc".to_vec()), "{cipher:?}");
            assert_eq!(ada.close(file).await, Status::SUCCESS);
        }
    }
}

/// MS-SMB2 3.3.5.5.3 and 3.3.5.2.11.
#[tokio::test]
async fn where_the_server_requires_encryption_nothing_else_is_served() {
    let service = service_with(|config| config.encryption = EncryptionPolicy::Required);
    for dialect in [Dialect::SMB_2_0_2, Dialect::SMB_2_1] {
        let mut client = connect(&service, &Offer::of(dialect)).await;
        let refused = client.log_in(&who(ADA), NEW).await;
        assert!(matches!(refused, Err(Error::Refused(Status::ACCESS_DENIED))), "{refused:?}");
    }
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        let mut client = connect(&service, &Offer::of(dialect)).await;
        let session = client.log_in(&who(ADA), NEW).await.unwrap();
        assert!(session.flags.contains(SessionFlags::ENCRYPT_DATA));
        let enter = || tree_connect("share").on(session.id, 0);
        assert_eq!(
            status(&mut client, enter(), FrameProtection::Signed(&session)).await,
            Some(Status::ACCESS_DENIED)
        );
        assert_eq!(
            status(&mut client, enter(), FrameProtection::Sealed(&session)).await,
            Some(Status::SUCCESS)
        );
    }
}

#[tokio::test]
async fn where_encryption_is_off_none_is_agreed_on() {
    let service = service_with(|config| config.encryption = EncryptionPolicy::Off);
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_1_1] {
        let mut client = connect(&service, &Offer::of(dialect)).await;
        let agreed = client.agreed.clone().unwrap();
        assert!(!agreed.capabilities.contains(crate::wire::Capabilities::ENCRYPTION));
        let session = client.log_in(&who(ADA), NEW).await.unwrap();
        let refused = tree_connect("sealed").on(session.id, 0);
        assert_eq!(
            status(&mut client, refused, FrameProtection::Signed(&session)).await,
            Some(Status::ACCESS_DENIED)
        );
    }
}

/// MS-SMB2 3.3.5.2.11 and 3.3.5.7.
#[tokio::test]
async fn a_share_that_requires_encryption_is_entered_in_the_clear_and_used_only_encrypted() {
    let service = service();
    let mut ada = User::with(&service, &Offer::default(), ADA, "sealed").await;
    let request = read_request(FileKey { persistent: 1, volatile: 1 }, 0, 1);
    let answer = ada.call(Command::READ, |w| request.encode(w)).await;
    assert_eq!(answer.status(), Status::ACCESS_DENIED);
    ada.seals = true;
    let file = ada.make("notes", b"abc").await;
    assert_eq!(ada.read(file, 0, 3).await, Ok(b"abc".to_vec()));
    let mut old = connect(&service, &Offer::of(Dialect::SMB_2_1)).await;
    let session = old.log_in(&who(ADA), NEW).await.unwrap();
    let enter = tree_connect("sealed").on(session.id, 0);
    assert_eq!(status(&mut old, enter, FrameProtection::Signed(&session)).await, Some(Status::ACCESS_DENIED));
}

/// MS-SMB2 3.3.5.2.1.1.
#[tokio::test]
async fn an_encrypted_message_that_is_not_its_sessions_ends_its_connection_only() {
    let service = service();
    let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
    let damages: [fn(&mut Vec<u8>); 9] = [
        |f| f[4 + 4] ^= 1,                      // signature
        |f| f[4 + 20] ^= 1,                     // nonce
        |f| f[4 + 35] ^= 1,                     // nonce, where GCM uses none
        |f| f[4 + 36] ^= 1,                     // original size
        |f| f[4 + 42] = 2,                      // flags
        |f| f[4 + 44] ^= 1,                     // session
        |f| *f.last_mut().unwrap() ^= 1,        // what is sealed
        |f| f.truncate(4 + Transform::LEN),     // nothing sealed
        |f| f.truncate(4 + Transform::LEN - 1), // no header
    ];
    for (at, damage) in damages.into_iter().enumerate() {
        let mut ada = User::new(&service).await;
        let request = echo().on(ada.session.id, 0);
        let (_, mut frame) = ada.client.prepare(vec![request], FrameProtection::Sealed(&ada.session));
        damage(&mut frame);
        let length = frame.len() as u32 - 4;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        ada.client.link.send(&frame).await.unwrap();
        assert!(ada.client.link.is_over(), "{at}");
    }
    assert!(bob.open("notes", |_| ()).await.is_ok());
}

#[tokio::test]
async fn a_key_opens_nothing_by_the_number_of_another_session() {
    let service = service();
    let mut ada = User::new(&service).await;
    let bob = ada.client.log_in(&who(BOB), NEW).await.unwrap();
    // Ada seals a frame with her session and names Bob's session in the request: it is not
    // executed.
    let request = tree_connect("share").on(bob.id, 0);
    let answer = ada.client.call(request, FrameProtection::Sealed(&ada.session)).await.unwrap();
    assert_eq!((answer.status(), answer.proof), (Status::ACCESS_DENIED, Proof::Sealed));
    let forged = ada.session.by_another_number(bob.id);
    let request = echo().on(bob.id, 0);
    let _ = ada.client.send(vec![request], FrameProtection::Sealed(&forged)).await;
    assert!(ada.client.link.is_over());
}

#[tokio::test]
async fn what_is_sealed_is_answered_sealed_also_when_it_is_refused_or_in_a_chain() {
    let mut ada = User::new(&service()).await;
    ada.seals = true;
    let gone = FileKey { persistent: 5, volatile: 5 };
    let read = ada.request(Command::READ, |w| read_request(gone, 0, 1).encode(w));
    let chain = vec![echo().on(ada.session.id, 0), read, echo().on(99, 0)];
    let answers = ada.call_chain(chain).await;
    let seen: Vec<_> = answers.iter().map(|answer| (answer.status(), answer.proof)).collect();
    let sealed = |status| (status, Proof::Sealed);
    assert_eq!(
        seen,
        [sealed(Status::SUCCESS), sealed(Status::FILE_CLOSED), sealed(Status::USER_SESSION_DELETED)]
    );
}

#[tokio::test]
async fn without_a_session_nothing_can_be_unsealed() {
    let service = service();
    let ada = User::new(&service).await;
    let mut stranger = connect(&service, &Offer::default()).await;
    let request = echo().on(ada.session.id, 0);
    let _ = stranger.send(vec![request], FrameProtection::Sealed(&ada.session)).await;
    assert!(stranger.link.is_over(), "the session belongs to another connection");
}
