//! New settings bind clients that are connected.

use std::sync::Arc;

use auth::{Grant, HostRule, SharePolicy};

use super::*;
use crate::server::testing::{ADA, BOB, people};
use crate::server::{Config, EncryptionPolicy, Service, Share, ShareKind, ShareOptions};

/// Gives the server other settings.
fn change(service: &Service, change: impl FnOnce(&mut Config)) {
    let mut config = (*service.config()).clone();
    change(&mut config);
    service.set_config(config);
}

/// The same folder with other options.
fn reoffer(config: &mut Config, name: &str, options: impl FnOnce(&mut ShareOptions)) {
    let at = config.shares.iter().position(|share| share.name == name).unwrap();
    let before = &config.shares[at];
    let ShareKind::Disk { volume, serial, created } = &before.kind else { panic!("no folder") };
    let kind = ShareKind::Disk { volume: volume.clone(), serial: *serial, created: *created };
    let mut changed = before.options.clone();
    options(&mut changed);
    let (name, comment) = (before.name.clone(), before.comment.clone());
    config.shares[at] = Arc::new(Share { name, comment, kind, options: changed });
}

async fn echoes(user: &mut User) -> Status {
    user.call(Command::ECHO, |w| echo::Request.encode(w)).await.status()
}

#[tokio::test]
async fn a_user_who_is_not_admitted_any_more_loses_the_share_and_others_keep_it() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
    let bobs = bob.make("bobs", b"def").await;
    change(&service, |config| {
        reoffer(config, "share", |options| options.policy.users = vec!["bob".into()]);
    });
    assert_eq!(ada.write(file, 0, b"x").await, Status::NETWORK_NAME_DELETED);
    assert_eq!(ada.enter("share").await, Err(Status::ACCESS_DENIED));
    assert!(ada.enter("sealed").await.is_ok(), "the session goes on");
    assert_eq!(bob.read(bobs, 0, 3).await, Ok(b"def".to_vec()));
}

#[tokio::test]
async fn a_share_that_becomes_read_only_is_entered_again_to_read() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    change(&service, |config| reoffer(config, "share", |options| options.policy.read_only = true));
    assert_eq!(ada.write(file, 0, b"x").await, Status::NETWORK_NAME_DELETED);
    ada.tree = ada.enter("share").await.unwrap();
    assert_eq!(ada.open("notes", |_| ()).await.unwrap_err(), Status::ACCESS_DENIED);
    // A change that does not affect these sessions does not interrupt them.
    change(&service, |config| reoffer(config, "share", |options| options.hide = vec!["*.bak".into()]));
    assert_eq!(echoes(&mut ada).await, Status::SUCCESS);
    ada.enter("share").await.unwrap();
}

#[tokio::test]
async fn a_host_that_may_only_read_or_not_come_loses_the_share() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    let rule = |grant| HostRule { hosts: vec![auth::HostSet::Net("192.0.2.0/24".parse().unwrap())], grant };
    let hosts = |grant| SharePolicy { hosts: vec![rule(grant)], ..SharePolicy::default() };
    let offer = |grant| change(&service, |config| reoffer(config, "share", |o| o.policy = hosts(grant)));
    offer(Some(Grant::ReadWrite));
    assert_eq!(ada.read(file, 0, 3).await, Ok(b"abc".to_vec()));
    offer(Some(Grant::ReadOnly));
    assert_eq!(ada.read(file, 0, 3).await, Err(Status::NETWORK_NAME_DELETED));
    ada.tree = ada.enter("share").await.unwrap();
    assert_eq!(ada.open("notes", |_| ()).await.unwrap_err(), Status::ACCESS_DENIED);
    offer(None);
    assert_eq!(ada.enter("share").await, Err(Status::ACCESS_DENIED));
}

#[tokio::test]
async fn a_share_that_is_gone_or_must_be_encrypted_is_lost() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    change(&service, |config| reoffer(config, "share", |options| options.require_encryption = true));
    assert_eq!(ada.read(file, 0, 3).await, Err(Status::NETWORK_NAME_DELETED));
    ada.tree = ada.enter("guests").await.unwrap();
    change(&service, |config| config.shares.retain(|share| share.name != "guests"));
    assert_eq!(ada.open("new", |_| ()).await.unwrap_err(), Status::NETWORK_NAME_DELETED);
    assert_eq!(ada.enter("guests").await, Err(Status::BAD_NETWORK_NAME));
}

#[tokio::test]
async fn the_session_of_an_account_that_is_gone_or_has_another_password_ends() {
    for accounts in [people(&[BOB]), people(&[(ADA.0, "another one"), BOB])] {
        let service = service();
        let mut ada = User::new(&service).await;
        let file = ada.make("notes", b"abc").await;
        let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
        change(&service, |config| config.accounts = accounts);
        let request = ada.request(Command::READ, |w| crate::client::read_request(file, 0, 3).encode(w));
        assert_eq!(
            status(&mut ada.client, request, FrameProtection::Plain).await,
            Some(Status::USER_SESSION_DELETED)
        );
        assert!(ada.client.log_in(&who(ADA), NEW).await.is_err());
        assert_eq!(echoes(&mut bob).await, Status::SUCCESS);
        assert_eq!(service.sessions().len(), 1);
    }
}

#[tokio::test]
async fn sessions_in_the_clear_end_when_encryption_is_required() {
    let service = service();
    let mut ada = User::new(&service).await;
    change(&service, |config| config.encryption = EncryptionPolicy::Required);
    let request = echo().on(ada.session.id, 0);
    assert_eq!(
        status(&mut ada.client, request, FrameProtection::Plain).await,
        Some(Status::USER_SESSION_DELETED)
    );
}
