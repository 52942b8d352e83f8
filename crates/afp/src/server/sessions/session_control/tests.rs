//! The results are those of the Apple Filing Protocol Reference and Programming Guide
//! ("Reconnecting"), and of Netatalk's test suite (FPDisconnectOldSession, FPGetSessionToken,
//! FPzzz).

use std::time::Duration;

use conn::observe::testing::Recorder;
use wire::Reader;

use super::*;
use crate::server::config::Version;
use crate::server::files::fork::tests::{BOTH, DENY_BOTH, READ, User, WRITE, notes};
use crate::server::limits::{MAX_AWAY, MAX_AWAY_EACH};
use crate::server::testing::{ADA, BOB, Client, Server};
use crate::wire::dsi::Command;

const WITH_TIME: TokenKind = TokenKind::LOGIN_WITH_TIME_AND_ID;

async fn ask(client: &mut Client, kind: TokenKind, time: u32, id: &[u8]) -> Vec<u8> {
    let request = GetSessionToken { kind, time: Some(time), id };
    let reply = client.call(command::GET_SESSION_TOKEN, |w| request.encode(w)).await.well();
    SessionToken::decode(&mut Reader::new(&reply)).unwrap().token.to_vec()
}

async fn disconnect_old(client: &mut Client, token: &[u8]) -> ResultCode {
    let request = DisconnectOldSession { kind: 0, token };
    client.call(command::DISCONNECT_OLD_SESSION, |w| request.encode(w)).await.code
}

async fn listed(client: &mut Client) -> Vec<(u8, Vec<u8>)> {
    let reply = client.call(command::GET_SRVR_PARMS, |w| w.u8(0)).await.well();
    let parms = SrvrParms::decode(&mut Reader::new(&reply)).unwrap();
    parms.volumes.iter().map(|volume| (volume.flags, volume.name.to_vec())).collect()
}

#[tokio::test]
async fn volumes_are_listed_for_those_who_may_open_them() {
    let server = Server::with(|config| {
        let share = std::sync::Arc::get_mut(&mut config.shares[0]).unwrap();
        (share.name, share.options.password) = ("Bücher".into(), Some(*b"password"));
        std::sync::Arc::get_mut(&mut config.shares[2]).unwrap().options.policy.users = vec!["bob".into()];
    });
    let mut ada = server.log_in(ADA, Version::V3_4);
    let before = params::date(Some(SystemTime::now().into()));
    let reply = ada.call(command::GET_SRVR_PARMS, |w| w.u8(0)).await.well();
    let time = SrvrParms::decode(&mut Reader::new(&reply)).unwrap().time;
    assert!((0..5).contains(&time.abs_diff(before as i32)));
    let mine = [(0x80, "Bu\u{308}cher".into()), (0, "guests".into())];
    assert_eq!(listed(&mut ada).await, mine);
    let mut old = server.log_in(BOB, Version::V2_2);
    let his = [(0x80, b"B\x9fcher".to_vec()), (0, b"guests".to_vec()), (0, b"readonly".to_vec())];
    assert_eq!(listed(&mut old).await, his);
    assert_eq!(listed(&mut server.log_in_guest(Version::V3_4)).await, [(0, b"guests".to_vec())]);
}

#[tokio::test]
async fn the_greeting_is_in_the_clients_encoding() {
    let server = Server::with(|config| config.greeting = Some("Grüße:\nbis 5/6 → Ende".into()));
    let mut client = server.log_in(ADA, Version::V3_4);
    for (kind, bitmap, text) in
        [(0, 3, "Grüße:\nbis 5/6 → Ende".as_bytes()), (0, 1, b"Gr\x9f\xa7e:\rbis 5/6 ? Ende"), (1, 1, b"")]
    {
        let request = GetSrvrMsg { kind, bitmap };
        let reply = client.call(command::GET_SRVR_MSG, |w| request.encode(w)).await.well();
        assert_eq!(SrvrMsg::decode(&mut Reader::new(&reply)), Ok(SrvrMsg { kind, bitmap, text }));
    }
    let other = GetSrvrMsg { kind: 2, bitmap: 1 };
    assert_eq!(client.call(command::GET_SRVR_MSG, |w| other.encode(w)).await.code, ResultCode::BITMAP_ERROR);
}

#[tokio::test]
async fn long_messages_are_cut_to_what_clients_take() {
    let server = Server::with(|config| config.greeting = Some("ä".repeat(3000)));
    let mut client = server.log_in(ADA, Version::V3_4);
    for (bitmap, length) in [(1, 199), (3, 1000)] {
        let request = GetSrvrMsg { kind: 0, bitmap };
        let reply = client.call(command::GET_SRVR_MSG, |w| request.encode(w)).await.well();
        assert_eq!(SrvrMsg::decode(&mut Reader::new(&reply)).unwrap().text.len(), length);
    }
}

#[tokio::test]
async fn a_client_whose_connection_was_lost_finds_its_forks_and_locks_again() {
    let (server, mut ada) = notes(b"0123456789").await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let token = ask(&mut ada.client, WITH_TIME, 1, b"her mac").await;
    let volume = ada.volume;
    drop(ada);
    let mut again = server.log_in(ADA, Version::V3_4);
    assert_eq!(disconnect_old(&mut again, &token).await, ResultCode::NO_ERROR);
    let mut ada = User { client: again, volume };
    assert_eq!(ada.close(fork).await, ResultCode::NO_ERROR);
    assert_eq!(server.service.sessions().len(), 1, "the reconnection's login has ended");
    ask(&mut ada.client, TokenKind::RECONNECT_WITH_TIME_AND_ID, 1, b"her mac").await;
}

#[tokio::test]
async fn a_client_that_comes_back_while_the_server_thinks_it_is_there_closes_the_old_connection() {
    let (server, mut ada) = notes(b"0123456789").await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let token = ask(&mut ada.client, WITH_TIME, 1, b"her mac").await;
    let mut again = server.log_in(ADA, Version::V3_4);
    assert_eq!(disconnect_old(&mut again, &token).await, ResultCode::NO_ERROR);
    assert_eq!(ada.client.told.recv().await, Some(None), "closed");
    assert_eq!(ada.close(fork).await, ResultCode::SESSION_CLOSED);
    let mut back = User { client: again, volume: ada.volume };
    drop(ada);
    assert_eq!(back.close(fork).await, ResultCode::NO_ERROR, "the old connection's end ends nothing");
}

#[tokio::test]
async fn another_user_or_a_forged_token_cannot_reconnect() {
    let (server, mut ada) = notes(b"0123456789").await;
    let token = ask(&mut ada.client, WITH_TIME, 1, b"her mac").await;
    let own = disconnect_old(&mut ada.client, &token).await;
    assert_eq!(own, ResultCode::MISC_ERROR, "its own session is not an old one");
    let mut forged = token.clone();
    *forged.last_mut().unwrap() ^= 1;
    let (mut bob, mut guest) = (server.log_in(BOB, Version::V3_4), server.log_in_guest(Version::V3_4));
    let mut old = server.log_in(ADA, Version::V3_1);
    let mut her = server.log_in(ADA, Version::V3_4);
    for client in [&mut bob, &mut guest, &mut old] {
        assert_eq!(disconnect_old(client, &token).await, ResultCode::MISC_ERROR);
    }
    for token in [&forged[..], &token[..31], &[token.clone(), vec![0]].concat(), &token[..8], b""] {
        assert_eq!(disconnect_old(&mut her, token).await, ResultCode::MISC_ERROR);
    }
    assert!(ada.client.told.try_recv().is_err(), "she is still connected");
    assert_eq!(disconnect_old(&mut her, &token).await, ResultCode::NO_ERROR);
}

#[tokio::test]
async fn guests_come_back_as_well() {
    let server = Server::new();
    let mut guest = server.log_in_guest(Version::V3_4);
    let token = ask(&mut guest, WITH_TIME, 1, b"").await;
    drop(guest);
    assert_eq!(disconnect_old(&mut server.log_in_guest(Version::V3_4), &token).await, ResultCode::NO_ERROR);
}

#[tokio::test]
async fn what_a_lost_client_has_open_binds_others_until_it_is_in_their_way() {
    let (server, mut ada) = notes(b"0123456789").await;
    ada.open("notes", READ | 0x20).await.unwrap(); // denies writing
    let token = ask(&mut ada.client, WITH_TIME, 1, b"her mac").await;
    let mut bob = User { client: server.log_in(BOB, Version::V3_4), volume: 0 };
    bob.volume = bob.client.open_volume("share");
    assert_eq!(bob.open("notes", WRITE).await, Err(ResultCode::DENY_CONFLICT), "she is there");
    drop(ada);
    bob.open("notes", READ).await.unwrap();
    assert_eq!(server.service.sessions().len(), 2, "kept: no other client needs its files");
    bob.open("notes", WRITE).await.unwrap();
    assert_eq!(server.service.sessions().len(), 1);
    let mut again = server.log_in(ADA, Version::V3_4);
    assert_eq!(disconnect_old(&mut again, &token).await, ResultCode::MISC_ERROR);
}

#[tokio::test]
async fn what_a_lost_client_has_open_can_be_removed_by_others() {
    let (server, mut ada) = notes(b"0123456789").await;
    ada.open("notes", READ).await.unwrap();
    ask(&mut ada.client, WITH_TIME, 1, b"her mac").await;
    let mut bob = server.log_in(BOB, Version::V3_4);
    let volume = bob.open_volume("share");
    let delete = |w: &mut wire::Writer| {
        w.u8(0);
        w.u16_be(volume);
        w.u32_be(2);
        crate::wire::Path::utf8(b"notes").encode(w);
    };
    assert_eq!(bob.call(command::DELETE, delete).await.code, ResultCode::FILE_BUSY, "she is connected");
    drop(ada);
    bob.call(command::DELETE, delete).await.well();
}

#[tokio::test]
async fn locks_bind_others_after_a_reconnection() {
    let (server, mut ada) = notes(b"0123456789").await;
    ada.open("notes", BOTH | DENY_BOTH).await.unwrap();
    let token = ask(&mut ada.client, WITH_TIME, 1, b"her mac").await;
    drop(ada);
    let mut again = server.log_in(ADA, Version::V3_4);
    assert_eq!(disconnect_old(&mut again, &token).await, ResultCode::NO_ERROR);
    let mut bob = User { client: server.log_in(BOB, Version::V3_4), volume: 0 };
    bob.volume = bob.client.open_volume("share");
    assert_eq!(bob.open("notes", READ).await, Err(ResultCode::DENY_CONFLICT));
}

#[tokio::test]
async fn without_a_token_or_after_closing_a_session_nothing_is_kept() {
    let server = Server::new();
    drop(server.log_in(ADA, Version::V3_4));
    assert_eq!(server.service.sessions().len(), 0);
    let mut ada = server.log_in(ADA, Version::V3_4);
    ask(&mut ada, WITH_TIME, 1, b"her mac").await;
    assert_eq!(ada.frame(Command::CLOSE_SESSION, 0, &[]).await, None);
    assert_eq!((server.service.sessions().len(), ada.told.recv().await), (0, Some(None)));
    let mut ada = server.log_in(ADA, Version::V3_4);
    ask(&mut ada, WITH_TIME, 1, b"her mac").await;
    ada.call(command::LOGOUT, |w| w.u8(0)).await.well();
    drop(ada);
    assert_eq!(server.service.sessions().len(), 0);
}

#[tokio::test]
async fn a_machine_that_has_started_anew_ends_what_it_left_behind() {
    let server = Server::new();
    let mut first = server.log_in(ADA, Version::V3_4);
    ask(&mut first, WITH_TIME, 100, b"her mac").await;
    let mut second = server.log_in(ADA, Version::V3_4);
    ask(&mut second, WITH_TIME, 100, b"her mac").await;
    assert_eq!(server.service.sessions().len(), 2, "two sessions of one machine");
    ask(&mut server.log_in(BOB, Version::V3_4), WITH_TIME, 200, b"her mac").await;
    assert!(first.told.try_recv().is_err(), "not hers");
    drop(second);
    let mut restarted = server.log_in(ADA, Version::V3_4);
    ask(&mut restarted, WITH_TIME, 200, b"her mac").await;
    assert_eq!(first.told.recv().await, Some(None), "closed");
    let hers = server.service.sessions().into_iter().filter(|info| info.user.as_deref() == Some("ada"));
    assert_eq!(hers.count(), 1);
    // Without a start time, sessions of one machine cannot be distinguished.
    let mut plain = server.log_in(ADA, Version::V3_0);
    ask(&mut plain, TokenKind::LOGIN_WITH_ID, 0, b"her mac").await;
    assert_eq!(restarted.told.recv().await, Some(None));
}

#[tokio::test]
async fn tokens_of_other_kinds_and_names_without_end_are_refused() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    for kind in [5, 6, 7, 8, 9, 0xffff] {
        let request = GetSessionToken { kind: TokenKind(kind), time: Some(1), id: b"x" };
        let answer = ada.call(command::GET_SESSION_TOKEN, |w| request.encode(w)).await;
        assert_eq!(answer.code, ResultCode::CALL_NOT_SUPPORTED, "{kind}");
    }
    let request = GetSessionToken { kind: WITH_TIME, time: Some(1), id: &[1; 257] };
    let answer = ada.call(command::GET_SESSION_TOKEN, |w| request.encode(w)).await;
    assert_eq!(answer.code, ResultCode::PARAM_ERROR);
    let (one, two) = (ask(&mut ada, TokenKind(0), 0, b"").await, ask(&mut ada, WITH_TIME, 1, b"a").await);
    assert!(one == two && one.len() >= 16, "one session, one token");
}

#[tokio::test]
async fn what_was_done_before_the_connection_was_lost_is_not_done_again() {
    let (recorder, (server, mut ada)) = (Recorder::start(), notes(b"0123456789").await);
    let token = ask(&mut ada.client, WITH_TIME, 1, b"her mac").await;
    let open = ada.request("notes", READ);
    let open = |w: &mut wire::Writer| open.encode(w);
    let id = ada.client.next_id();
    let opened = ada.client.call(command::OPEN_FORK, open).await.well();
    drop(ada);
    let mut again = server.log_in(ADA, Version::V3_4);
    assert_eq!(disconnect_old(&mut again, &token).await, ResultCode::NO_ERROR);
    again.set_next_id(id);
    assert_eq!(again.call(command::OPEN_FORK, open).await.well(), opened, "the same fork");
    let observed = recorder.of(again.connection.peer.address).pop().unwrap();
    assert_eq!((&*observed.command, &*observed.result, observed.failed), ("OPEN_FORK", "repeated", false));
    let fresh = again.call(command::OPEN_FORK, open).await.well();
    assert_ne!(fresh, opened, "another request");
    again.set_next_id(id);
    let same = again.call(command::OPEN_FORK, open).await.well();
    assert!(same != opened && same != fresh, "over one connection nothing is sent twice");
}

#[tokio::test]
async fn silent_clients_are_tickled_then_closed_and_kept_if_they_can_come_back() {
    let server = Server::new();
    let (mut ada, mut bob) = (server.log_in(ADA, Version::V3_4), server.log_in(BOB, Version::V2_2));
    ask(&mut ada, WITH_TIME, 1, b"her mac").await;
    server.service.beat(Duration::from_secs(30));
    let tickle = ada.told.recv().await.unwrap().unwrap();
    assert_eq!((tickle.len(), &tickle[..2], &tickle[4..]), (16, &[0, 5][..], &[0; 12][..]));
    assert!(bob.told.recv().await.unwrap().is_some());
    ada.frame(Command::TICKLE, 0, &[]).await;
    server.service.beat(Duration::from_secs(60)); // ada has sent something, bob has not
    server.service.beat(Duration::from_secs(60));
    let told = |client: &mut Client| std::iter::from_fn(|| client.told.try_recv().ok()).last();
    assert_eq!((told(&mut bob), told(&mut ada).map(|frame| frame.is_some())), (Some(None), Some(true)));
    server.service.beat(Duration::from_secs(120));
    assert_eq!(told(&mut ada), Some(None));
    drop((ada, bob));
    assert_eq!(server.service.sessions().len(), 1);
    server.service.beat(Duration::from_secs(24 * 3600));
    assert_eq!(server.service.sessions().len(), 0);
}

#[tokio::test]
async fn sleepers_are_left_in_peace() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    let zzz = |flags| move |w: &mut wire::Writer| Zzz { flags }.encode(w);
    assert_eq!(ada.call(command::ZZZ, zzz(0)).await.well(), [0, 0, 0, 24]);
    server.service.beat(Duration::from_secs(1000));
    server.service.say("Hello");
    assert!(ada.told.try_recv().is_err());
    listed(&mut ada).await; // wakes her up
    server.service.beat(Duration::from_secs(30));
    assert!(ada.told.try_recv().unwrap().is_some());
    ada.call(command::ZZZ, zzz(Zzz::EXTENDED)).await.well();
    listed(&mut ada).await;
    server.service.beat(Duration::from_secs(30));
    assert!(ada.told.try_recv().is_err(), "not awake yet");
    ada.call(command::ZZZ, zzz(Zzz::WAKE)).await.well();
    server.service.beat(Duration::from_secs(30));
    assert!(ada.told.try_recv().unwrap().is_some());
    ada.call(command::ZZZ, zzz(Zzz::EXTENDED)).await.well();
    server.service.beat(Duration::from_secs(24 * 3600));
    assert_eq!((server.service.sessions().len(), ada.told.try_recv()), (0, Ok(None)));
}

#[tokio::test]
async fn no_more_than_so_many_wait_for_their_clients_and_one_user_pushes_out_no_other() {
    let server = Server::new();
    for _ in 0..MAX_AWAY_EACH + 10 {
        let mut guest = server.log_in_guest(Version::V3_4);
        ask(&mut guest, TokenKind::LOGIN_WITHOUT_ID, 0, b"").await;
    }
    assert_eq!(server.service.sessions().len(), MAX_AWAY_EACH);
    for uid in 0..MAX_AWAY as u32 {
        let name = format!("user {uid}");
        let mut user = server.log_in((&name, "", 2000 + uid), Version::V3_4);
        ask(&mut user, TokenKind::LOGIN_WITHOUT_ID, 0, b"").await;
    }
    assert_eq!(server.service.sessions().len(), MAX_AWAY);
}
