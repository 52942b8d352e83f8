//! FPOpenFork and FPCloseFork.

use bytes::BytesMut;
use vfs::Error;
use vfs::mac::FileBits;

use super::*;
use crate::server::testing::BOB;

#[tokio::test]
async fn what_one_denies_nobody_else_gets_not_even_the_same_client() {
    let (server, mut ada) = notes(b"abc").await;
    let held = ada.open("notes", READ | DENY_WRITE).await.unwrap();
    assert_eq!(ada.open("notes", BOTH).await, Err(ResultCode::DENY_CONFLICT));
    let bob = server.log_in(BOB, Version::V3_4);
    let mut bob = User { volume: bob.open_volume("share"), client: bob };
    assert_eq!(bob.open("notes", BOTH).await, Err(ResultCode::DENY_CONFLICT));
    // The other way round: an access in progress cannot be denied.
    assert_eq!(bob.open("notes", READ | DENY_BOTH).await, Err(ResultCode::DENY_CONFLICT));
    let reading = bob.open("notes", READ | DENY_WRITE).await.unwrap();
    assert_eq!(ada.close(held).await, ResultCode::NO_ERROR);
    assert_eq!(ada.open("notes", WRITE).await, Err(ResultCode::DENY_CONFLICT));
    assert_eq!(bob.close(reading).await, ResultCode::NO_ERROR);
    assert!(ada.open("notes", WRITE).await.is_ok());
}

#[tokio::test]
async fn the_forks_of_a_file_deny_each_for_itself_and_nothing_conflicts_with_no_access() {
    let (_server, mut ada) = notes(b"abc").await;
    ada.open("notes", BOTH | DENY_BOTH).await.unwrap();
    ada.open_resource("notes", BOTH | DENY_BOTH).await;
    let neither = ada.open("notes", 0).await.unwrap();
    assert_eq!(ada.read(neither, 0, 1).await.0, ResultCode::ACCESS_DENIED);
}

#[tokio::test]
async fn a_deny_conflict_is_answered_with_bitmap_and_parameters_and_no_fork() {
    let (_server, mut ada) = notes(b"abc").await;
    ada.open("notes", BOTH | DENY_BOTH).await.unwrap();
    let bitmap = FileBitmap::DATA_LENGTH;
    let answer = ada.try_open(OpenFork { bitmap, ..ada.request("notes", READ) }).await;
    assert_eq!(answer.code, ResultCode::DENY_CONFLICT);
    assert_eq!(answer.payload, [0x02, 0, 0, 0, 0, 0, 0, 3]);
}

#[tokio::test]
async fn deny_modes_bind_the_other_protocols_and_theirs_bind_clients() {
    let (server, mut ada) = notes(b"abc").await;
    let (volume, actor) = (server.volume("share"), somebody());
    let file = volume.lookup(&actor.caller, &volume.root().unwrap().object, b"notes").unwrap();
    let fork = ada.open("notes", READ | DENY_WRITE).await.unwrap();
    let refused =
        volume.stateless().write(&actor, &file, 0, Bytes::from_static(b"x"), Stability::Unstable).await;
    assert_eq!(refused.unwrap_err(), Error::ShareConflict);
    ada.close(fork).await;
    let deny = vfs::OpenOptions {
        deny: vfs::state::Modes::READ,
        ..vfs::OpenOptions::data(vfs::state::Modes::WRITE)
    };
    let _theirs = volume.open(&actor, &file, deny).await.unwrap();
    assert_eq!(ada.open("notes", READ).await, Err(ResultCode::DENY_CONFLICT));
}

#[tokio::test]
async fn a_fork_that_is_not_open_or_somebody_elses_is_a_parameter_error() {
    let (server, mut ada) = notes(b"abc").await;
    let fork = ada.open("notes", READ).await.unwrap();
    assert_ne!(fork, 0);
    let bob = server.log_in(BOB, Version::V3_4);
    let mut bob = User { volume: bob.open_volume("share"), client: bob };
    for other in [0, fork, fork.wrapping_add(1), u16::MAX] {
        assert_eq!(bob.read(other, 0, 1).await.0, ResultCode::PARAM_ERROR, "{other}");
        assert_eq!(bob.close(other).await, ResultCode::PARAM_ERROR, "{other}");
    }
    assert_eq!(ada.close(fork).await, ResultCode::NO_ERROR);
    assert_eq!(ada.close(fork).await, ResultCode::PARAM_ERROR);
    // The number is not used again at once.
    assert_ne!(ada.open("notes", READ).await.unwrap(), fork);
}

#[tokio::test]
async fn every_command_on_a_fork_may_be_cut_short_anywhere() {
    let (_server, mut ada) = notes(b"abc").await;
    let commands = [
        command::CLOSE_FORK,
        command::READ,
        command::READ_EXT,
        command::WRITE,
        command::WRITE_EXT,
        command::GET_FORK_PARMS,
        command::SET_FORK_PARMS,
        command::FLUSH_FORK,
        command::SYNC_FORK,
        command::BYTE_RANGE_LOCK,
        command::BYTE_RANGE_LOCK_EXT,
        command::OPEN_FORK,
    ];
    for number in commands {
        for length in 0..40 {
            let answer = ada.client.call(number, |w| w.zeros(length)).await;
            assert_eq!(answer.code, ResultCode::PARAM_ERROR, "command {number} with {length} bytes");
        }
    }
}

#[tokio::test]
async fn a_folder_has_no_fork_and_what_is_not_there_has_none() {
    let (server, mut ada) = notes(b"abc").await;
    let volume = server.volume("share");
    volume.create(&somebody(), &volume.root().unwrap(), b"folder", NewKind::Folder, 0o755).unwrap();
    assert_eq!(ada.open("folder", READ).await, Err(ResultCode::OBJECT_TYPE_ERROR));
    assert_eq!(ada.open("", READ).await, Err(ResultCode::OBJECT_TYPE_ERROR));
    assert_eq!(ada.open("missing", READ).await, Err(ResultCode::OBJECT_NOT_FOUND));
}

#[tokio::test]
async fn a_locked_file_is_opened_to_be_read_only() {
    let (server, mut ada) = notes(b"abc").await;
    let (volume, actor) = (server.volume("share"), somebody());
    let root = volume.root().unwrap();
    let file = volume.lookup(&actor.caller, &root.object, b"notes").unwrap();
    let place = Some(Beside { folder: &root.object, name: b"notes" });
    volume
        .change_metadata(&actor, &file, place, |metadata| metadata.bits |= FileBits::WRITE_INHIBIT)
        .unwrap();
    assert_eq!(ada.open("notes", BOTH).await, Err(ResultCode::OBJECT_LOCKED));
    assert!(ada.open("notes", READ).await.is_ok());
}

#[tokio::test]
async fn on_a_volume_that_is_read_only_forks_are_opened_to_be_read_only() {
    let server = Server::new();
    make(&server.volume("readonly"), "notes", b"abc").await;
    let mut ada = User::on(&server, "readonly", Version::V3_4);
    assert_eq!(ada.open("notes", WRITE).await, Err(ResultCode::VOLUME_LOCKED));
    let fork = ada.open("notes", READ).await.unwrap();
    assert_eq!(ada.read(fork, 0, 3).await, (ResultCode::NO_ERROR, b"abc".to_vec()));
    assert_eq!(ada.set_length(fork, FileBitmap::DATA_LENGTH, 0).await, ResultCode::VOLUME_LOCKED);
}

#[tokio::test]
async fn only_the_length_of_the_fork_that_is_opened_may_be_asked() {
    let (_server, mut ada) = notes(b"abc").await;
    let bitmap = FileBitmap::RESOURCE_LENGTH;
    let data = OpenFork { bitmap, ..ada.request("notes", READ) };
    assert_eq!(ada.open_as(data).await, Err(ResultCode::BITMAP_ERROR));
    let resource = OpenFork { resource: true, ..data };
    let fork = ada.open_as(resource).await.unwrap();
    let both = FileBitmap::RESOURCE_LENGTH | FileBitmap::DATA_LENGTH;
    assert_eq!(ada.parameters(fork, both).await, Err(ResultCode::BITMAP_ERROR));
    assert_eq!(ada.parameters(fork, bitmap).await.unwrap(), [0; 4]);
}

#[tokio::test]
async fn a_fork_too_long_for_an_old_client_is_refused_not_cut() {
    let server = Server::new();
    let file = make(&server.volume("share"), "film", b"").await;
    let volume = server.volume("share");
    let open = vfs::OpenOptions::data(vfs::state::Modes::WRITE);
    volume.open(&somebody(), &file, open).await.unwrap().truncate(1 << 31).await.unwrap();
    let mut old = User::of(&server, Version::V2_2);
    let film = OpenFork { path: Path::long(b"film"), ..old.request("", READ) };
    assert_eq!(old.open_as(film).await, Err(ResultCode::MISC_ERROR));
    assert!(old.open_as(OpenFork { access: AccessMode(0), ..film }).await.is_ok());
    let mut new = User::of(&server, Version::V3_0);
    let bitmap = FileBitmap::DATA_LENGTH | FileBitmap::EXTENDED_DATA_LENGTH;
    let answer = new.try_open(OpenFork { bitmap, ..new.request("film", READ) }).await.well();
    assert_eq!(answer[4..], [0x80, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0]);
}

#[tokio::test]
async fn a_symbolic_link_is_read_as_what_it_says() {
    let (server, mut ada) = notes(b"abc").await;
    let volume = server.volume("share");
    let root = volume.root().unwrap();
    volume.create(&somebody(), &root, b"link", NewKind::Link(b"../elsewhere"), 0o777).unwrap();
    let fork = ada.open("link", READ).await.unwrap();
    assert_eq!(ada.read(fork, 3, 100).await, (ResultCode::EOF_ERROR, b"elsewhere".to_vec()));
    assert_eq!(ada.read(fork, 0, 12).await, (ResultCode::NO_ERROR, b"../elsewhere".to_vec()));
    assert_eq!(ada.read(fork, 0, 11).await.0, ResultCode::PARAM_ERROR); // all or nothing
    assert_eq!(ada.parameters(fork, FileBitmap::DATA_LENGTH).await.unwrap(), [0, 0, 0, 12]);
    assert_eq!(ada.open("link", WRITE).await, Err(ResultCode::ACCESS_DENIED));
}

// Finder type and creator of an internet location; its data fork is a property list with the URL.
#[tokio::test]
async fn a_link_to_another_server_is_a_document_that_opens_its_url() {
    let server = Server::with(|config| {
        let share = Arc::get_mut(&mut config.shares[0]).unwrap();
        share.options.links = Some(Arc::default());
    });
    let volume = server.volume("share");
    let root = volume.root().unwrap();
    let text = NewKind::Link(b"msdfs:filer2\\archive,afp://filer2/Archive");
    volume.create(&somebody(), &root, b"archive", text, 0o777).unwrap();
    volume.create(&somebody(), &root, b"plain", NewKind::Link(b"../elsewhere"), 0o777).unwrap();
    let mut ada = User::of(&server, Version::V3_4);
    let fork = ada.open("archive", READ).await.unwrap();
    let (code, read) = ada.read(fork, 0, 4096).await;
    let read = String::from_utf8(read).unwrap();
    assert_eq!(code, ResultCode::EOF_ERROR);
    assert!(read.contains("<key>URL</key>\n\t<string>afp://filer2/Archive</string>"), "{read}");
    assert_eq!(ada.read(fork, 2, 3).await, (ResultCode::NO_ERROR, b"xml".to_vec()), "a part of it");
    let length = ada.parameters(fork, FileBitmap::DATA_LENGTH).await.unwrap();
    assert_eq!(length, (read.len() as u32).to_be_bytes());
    let info = ada.parameters(fork, FileBitmap::FINDER_INFO).await.unwrap();
    assert_eq!(info[..8], *b"ilafdrag");
    let attributes = ada.parameters(fork, FileBitmap::ATTRIBUTES).await.unwrap();
    assert_eq!(attributes[1] & 0x20, 0x20, "WriteInhibit");
    let unix = ada.parameters(fork, FileBitmap::UNIX_PRIVILEGES).await.unwrap();
    assert_eq!(unix[8..12], 0o100_444_u32.to_be_bytes(), "a file, which can only be read");
    assert_eq!(ada.open("archive", WRITE).await, Err(ResultCode::ACCESS_DENIED));
    let plain = ada.open("plain", READ).await.unwrap();
    assert_eq!(ada.read(plain, 0, 12).await, (ResultCode::NO_ERROR, b"../elsewhere".to_vec()));
}

#[tokio::test]
async fn forks_of_one_session_have_a_limit_and_go_with_it() {
    let (server, mut ada) = notes(b"abc").await;
    for _ in 0..crate::server::limits::MAX_FORKS {
        ada.open("notes", READ | DENY_WRITE).await.unwrap();
    }
    assert_eq!(ada.open("notes", READ).await, Err(ResultCode::TOO_MANY_FILES_OPEN));
    let bob = server.log_in(BOB, Version::V3_4);
    let mut bob = User { volume: bob.open_volume("share"), client: bob };
    assert_eq!(bob.open("notes", WRITE).await, Err(ResultCode::DENY_CONFLICT));
    drop(ada);
    assert!(bob.open("notes", WRITE).await.is_ok());
}

#[tokio::test]
async fn a_command_of_a_fork_is_about_its_file_in_every_session() {
    use crate::server::frames::AfpProtocol;
    use conn::{InFlight, Protocol, Watchdog};
    let (server, mut ada) = notes(b"abc").await;
    let mut other = User::of(&server, Version::V3_4);
    other.open("notes", READ).await.unwrap();
    let forks = [ada.open("notes", READ).await.unwrap(), other.open("notes", READ).await.unwrap()];
    assert_ne!(forks[0], forks[1]);
    let watchdog = Watchdog::start("test");
    let subject = async |user: &User, number: u8, fork: u16| {
        let mut message = vec![0, 2, 0, 9, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]; // DSICommand
        message.extend([number, 0]);
        message.extend(fork.to_be_bytes());
        let in_flight = InFlight::of_test(&watchdog);
        AfpProtocol(user.client.connection.clone())
            .answer(BytesMut::from(&message[..]), in_flight.clone())
            .await;
        in_flight.declared()
    };
    let about = subject(&ada, command::FLUSH_FORK, forks[0]).await;
    assert!(about.is_some());
    assert_eq!(about, subject(&other, command::SYNC_FORK, forks[1]).await);
    // About no file: a fork that is not open, and another command.
    assert_eq!(subject(&ada, command::FLUSH_FORK, u16::MAX).await, None);
    assert_eq!(subject(&ada, command::OPEN_VOL, forks[0]).await, None);
}
