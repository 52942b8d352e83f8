use vfs::backend::NewKind;

use super::*;
use crate::server::config::{Config, Share, ShareOptions, Version};
use crate::server::files::fork::tests::{make, somebody};
use crate::server::sessions::session::SessionUser;
use crate::server::testing::{ADA, BOB, Client, Server, until};
use crate::wire::command;
use crate::wire::session::{GetSrvrMsg, SrvrMsg};
use wire::Reader;

/// The contents of an attention: the header of the Programming Guide ("DSIAttention"), then two
/// bytes.
fn attention(frame: Option<Option<Vec<u8>>>) -> Option<u16> {
    let frame = frame??;
    assert_eq!(
        (frame.len(), &frame[..2], &frame[4..16]),
        (18, &[0, 8][..], &[0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0][..])
    );
    Some(u16::from_be_bytes([frame[16], frame[17]]))
}

/// Opens the share, as FPOpenVol does.
fn open(client: &Client) {
    client.open_volume("share");
    volumes_opened(&client.session());
}

/// The client's next notification, within a while.
async fn told(client: &mut Client) -> Option<u16> {
    attention(
        tokio::time::timeout(Duration::from_secs(10), client.told.recv()).await.ok().flatten().map(Some)?,
    )
}

/// Waits until a volume is watched; another task begins the watch.
async fn watched(server: &Server) {
    let volume = server.volume("share");
    until("the volume is not watched", async || volume.mac_tree().is_watched()).await;
}

#[tokio::test]
async fn a_message_is_announced_and_can_be_asked_for() {
    let server = Server::new();
    let (mut ada, mut old) = (server.log_in(ADA, Version::V3_4), server.log_in(BOB, Version::V2_1));
    assert_eq!(server.service.say("Backup at noon"), 2);
    for client in [&mut ada, &mut old] {
        assert_eq!(told(client).await, Some(0x2000));
        let request = GetSrvrMsg { kind: GetSrvrMsg::SERVER, bitmap: 1 };
        let reply = client.call(command::GET_SRVR_MSG, |w| request.encode(w)).await.well();
        assert_eq!(SrvrMsg::decode(&mut Reader::new(&reply)).unwrap().text, b"Backup at noon");
    }
}

#[tokio::test]
async fn a_message_to_one_user_is_announced_to_that_user_alone() {
    let server = Server::new();
    let (mut ada, mut bob) = (server.log_in(ADA, Version::V3_4), server.log_in(BOB, Version::V2_1));
    server.service.say("Backup at noon");
    let is_ada = |session: &SessionInfo| session.user.as_deref() == Some("ada");
    assert_eq!(server.service.say_where("Look at the render", is_ada), 1);
    assert_eq!(server.service.say_where("Nobody", |_| false), 0);
    let request = GetSrvrMsg { kind: GetSrvrMsg::SERVER, bitmap: 1 };
    for (client, notices, text) in [(&mut ada, 2, "Look at the render"), (&mut bob, 1, "Backup at noon")] {
        for _ in 0..notices {
            assert_eq!(told(client).await, Some(0x2000));
        }
        assert!(client.told.try_recv().is_err(), "one notice for each message");
        let reply = client.call(command::GET_SRVR_MSG, |w| request.encode(w)).await.well();
        assert_eq!(SrvrMsg::decode(&mut Reader::new(&reply)).unwrap().text, text.as_bytes());
    }
    server.service.say("Back to work");
    let reply = ada.call(command::GET_SRVR_MSG, |w| request.encode(w)).await.well();
    assert_eq!(SrvrMsg::decode(&mut Reader::new(&reply)).unwrap().text, b"Back to work", "the newest counts");
}

#[tokio::test]
async fn when_the_server_stops_everybody_is_told_and_nobody_is_let_in() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    server.service.stop();
    assert_eq!(told(&mut ada).await, Some(0x8000));
    assert_eq!(ada.told.recv().await, Some(None), "closed");
    assert_eq!(server.service.sessions().len(), 0);
    let mut bob = server.connect();
    bob.open_session().await.well();
    let user = SessionUser { name: Some("bob".into()), caller: Caller::new(1001, 100, &[]) };
    assert_eq!(
        bob.connection.log_in(Version::V3_4, user).err(),
        Some(crate::wire::ResultCode::SERVER_GOING_DOWN)
    );
}

#[tokio::test]
async fn a_client_is_told_of_others_changes_and_not_of_its_own() {
    let server = Server::new();
    let (mut ada, mut bob) = (server.log_in(ADA, Version::V3_4), server.log_in(BOB, Version::V3_1));
    open(&ada);
    open(&bob);
    watched(&server).await;
    let (volume, actor) = (server.volume("share"), ada.session().actor());
    let root = volume.root().unwrap();
    volume.create(&actor, &root, b"folder", NewKind::Folder, 0o777).unwrap();
    assert_eq!(told(&mut bob).await, Some(0x3001));
    assert!(ada.told.try_recv().is_err());
    make(&server.volume("share"), "by another protocol", b"").await;
    assert_eq!(told(&mut ada).await, Some(0x3001));
}

#[tokio::test]
async fn clients_of_the_old_protocol_are_not_told_of_changes() {
    let server = Server::new();
    let old = server.log_in(ADA, Version::V2_3);
    open(&old);
    tokio::task::yield_now().await;
    assert!(!server.volume("share").mac_tree().is_watched(), "no session needs it");
}

#[test]
fn a_client_is_told_at_most_once_a_second_and_later_of_what_came_meanwhile() {
    let (told, start) = (NoticeState::default(), Instant::now());
    let at = |ms| start + Duration::from_millis(ms);
    assert!(told.is_due(start));
    assert!(!told.is_due(at(300)) && told.is_owed());
    assert!(!told.is_due(at(999)));
    assert!(told.is_due(at(1000)) && !told.is_owed());
}

#[tokio::test]
async fn what_is_nobodys_by_name_is_not_told_to_who_has_just_changed_something() {
    let server = Server::new();
    let (ada, bob) = (server.log_in(ADA, Version::V3_4), server.log_in(BOB, Version::V3_4));
    let now = Instant::now();
    ada.session().told.changes(now);
    let changes = VolumeChanges { perhaps: true, ..VolumeChanges::default() };
    assert!(!changes.concern(&ada.session(), now) && changes.concern(&bob.session(), now));
    assert!(changes.concern(&ada.session(), now + ECHO));
    let locally = VolumeChanges { locally: true, ..VolumeChanges::default() };
    assert!(locally.concern(&ada.session(), now));
    let own = VolumeChanges { by: HashSet::from([ada.session().client]), ..VolumeChanges::default() };
    assert!(!own.concern(&ada.session(), now) && own.concern(&bob.session(), now));
}

#[tokio::test]
async fn a_volume_is_watched_once_and_only_while_it_is_open() {
    let server = Server::new();
    let volume = server.volume("share");
    let weak = Arc::downgrade(&volume);
    assert!(server.service.watched.begin(&volume) && !server.service.watched.begin(&volume));
    assert!(!server.service.watched.end(&weak, || false) && server.service.watched.end(&weak, || true));
    assert!(server.service.watched.begin(&volume));
    let ada = server.log_in(ADA, Version::V3_4);
    open(&ada);
    let service = Arc::downgrade(&server.service);
    let mut watching = VolumeWatch::begin(&volume).unwrap();
    assert!(!look(&service, &weak, &mut watching, None));
    drop(ada);
    assert!(look(&service, &weak, &mut watching, None), "no session has it open");
    let root = volume.root().unwrap();
    volume.create(&somebody(), &root, b"x", NewKind::Folder, 0o777).unwrap();
}

/// Reloads the settings with this policy for "share".
fn reoffer(server: &Server, policy: auth::SharePolicy, change: impl FnOnce(&mut Config)) {
    let mut config = (*server.service.config()).clone();
    let before = config.shares[0].clone();
    let options = ShareOptions { policy, ..before.options.clone() };
    let volume = (before.volume.clone(), before.catalogue.clone());
    config.shares[0] = Share::new("share", volume, before.uuid, before.created, options);
    change(&mut config);
    server.service.set_config(config);
}

#[tokio::test]
async fn sessions_that_new_settings_do_not_allow_end_and_others_go_on() {
    let bobs = || auth::SharePolicy { users: vec!["Bob".into()], ..auth::SharePolicy::default() };
    let server = Server::new();
    let (mut ada, mut bob) = (server.log_in(ADA, Version::V3_4), server.log_in(BOB, Version::V3_4));
    open(&ada);
    open(&bob);
    reoffer(&server, bobs(), |_| ());
    assert_eq!(told(&mut ada).await, Some(0x8000));
    assert_eq!(ada.told.recv().await, Some(None), "closed");
    let mut again = server.log_in(ADA, Version::V3_4);
    assert!(again.session().grant(&server.service.config().shares[0]).is_none());
    // A session without the volume continues, and so does one with unchanged rights.
    reoffer(&server, bobs(), |_| ());
    assert!(bob.told.try_recv().is_err() && again.told.try_recv().is_err());
    // A session without its account does not come back.
    reoffer(&server, bobs(), |config| config.accounts = crate::server::testing::people(&[ADA]));
    assert_eq!(told(&mut bob).await, Some(0x9000));
    assert_eq!(server.service.sessions().len(), 1);
}
