//! FPRead, FPWrite, FPGetForkParms, FPSetForkParms.

use vfs::Error;

use super::*;
use crate::wire::lock::ByteRangeLock;

#[tokio::test]
async fn a_read_that_meets_the_end_gives_what_there_is_and_says_so() {
    let (_server, mut ada) = notes(b"0123456789").await;
    let fork = ada.open("notes", READ).await.unwrap();
    assert_eq!(ada.read(fork, 2, 3).await, (ResultCode::NO_ERROR, b"234".to_vec()));
    assert_eq!(ada.read(fork, 7, 3).await, (ResultCode::NO_ERROR, b"789".to_vec()));
    assert_eq!(ada.read(fork, 7, 4).await, (ResultCode::EOF_ERROR, b"789".to_vec()));
    assert_eq!(ada.read_ext(fork, 10, 1).await, (ResultCode::EOF_ERROR, vec![]));
    assert_eq!(ada.read_ext(fork, i64::MAX, 1).await, (ResultCode::EOF_ERROR, vec![]));
    assert_eq!(ada.read(fork, 100, 0).await, (ResultCode::NO_ERROR, vec![]));
    for (offset, count) in [(-1, 1), (0, -1), (i64::MIN, i64::MIN)] {
        assert_eq!(ada.read_ext(fork, offset, count).await.0, ResultCode::PARAM_ERROR);
    }
}

#[tokio::test]
async fn a_read_ends_behind_a_newline() {
    let (_server, mut ada) = notes(b"one\rtwo\xf2\nend").await;
    let fork = ada.open("notes", READ).await.unwrap();
    for (offset, count, mask, newline, expected) in [
        (0, 20, 0xff, 13, (ResultCode::NO_ERROR, &b"one\r"[..])),
        (0, 3, 0xff, 13, (ResultCode::NO_ERROR, b"one")),
        // The mask removes the high bit: "\xf2" counts as an "r".
        (4, 20, 0x7f, b'r', (ResultCode::NO_ERROR, b"two\xf2")),
        (9, 20, 0xff, 13, (ResultCode::EOF_ERROR, b"end")),
    ] {
        let read = Read { fork, offset, count, newline_mask: mask, newline };
        let answer = ada.client.call(command::READ, |w| read.encode(Width::Bits32, w)).await;
        assert_eq!((answer.code, &answer.payload[..]), expected);
    }
}

#[tokio::test]
async fn a_fork_is_used_only_as_it_was_opened() {
    let (_server, mut ada) = notes(b"abc").await;
    let writing = ada.open("notes", WRITE).await.unwrap();
    assert_eq!(ada.read(writing, 0, 0).await.0, ResultCode::ACCESS_DENIED);
    assert_eq!(ada.write_at(writing, 0, b"x").await, Ok(1));
    let reading = ada.open("notes", READ).await.unwrap();
    assert_eq!(ada.write_at(reading, 0, b"x").await, Err(ResultCode::ACCESS_DENIED));
    assert_eq!(ada.set_length(reading, FileBitmap::DATA_LENGTH, 0).await, ResultCode::ACCESS_DENIED);
}

#[tokio::test]
async fn a_write_says_where_it_ended_and_may_count_from_the_end() {
    let (_server, mut ada) = notes(b"abc").await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let write = Write { from_end: false, fork, offset: 1, count: 4 };
    assert_eq!(ada.write(Width::Bits32, write, b"BCDE").await, Ok(5));
    let append = Write { from_end: true, offset: 0, count: 2, ..write };
    assert_eq!(ada.write(Width::Bits64, append, b"fg").await, Ok(7));
    let before = Write { from_end: true, offset: -1, count: 1, ..write };
    assert_eq!(ada.write(Width::Bits32, before, b"G").await, Ok(7));
    assert_eq!(ada.read(fork, 0, 7).await, (ResultCode::NO_ERROR, b"aBCDEfG".to_vec()));
    let too_far = Write { from_end: true, offset: -8, ..before };
    assert_eq!(ada.write(Width::Bits32, too_far, b"x").await, Err(ResultCode::PARAM_ERROR));
    let none = Write { offset: 100, count: 0, ..write };
    assert_eq!(ada.write(Width::Bits32, none, b"").await, Ok(100));
    assert_eq!(ada.parameters(fork, FileBitmap::DATA_LENGTH).await.unwrap(), [0, 0, 0, 7]);
}

#[tokio::test]
async fn a_write_takes_no_more_than_it_says_and_needs_no_less() {
    let (_server, mut ada) = notes(b"abc").await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let write = Write { from_end: false, fork, offset: 0, count: 2 };
    assert_eq!(ada.write(Width::Bits32, write, b"XYZ").await, Ok(2));
    let more = Write { count: 3, ..write };
    assert_eq!(ada.write(Width::Bits32, more, b"xy").await, Err(ResultCode::PARAM_ERROR));
    // A plain command has its data after the parameters.
    let answer = ada.client.call(command::WRITE, |w| {
        more.encode(Width::Bits32, w);
        w.put(b"123");
    });
    assert_eq!(answer.await.well(), [0, 0, 0, 3]);
    assert_eq!(ada.read(fork, 0, 3).await.1, b"123");
}

#[tokio::test]
async fn beyond_what_32_bits_say_nothing_is_read_and_there_is_no_room() {
    let (_server, mut ada) = notes(b"abc").await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let most = i64::from(i32::MAX);
    assert_eq!(ada.read(fork, most + 21, 3000).await.0, ResultCode::PARAM_ERROR);
    for (offset, code) in [
        (most + 21, ResultCode::PARAM_ERROR), // encoded as a negative number
        (most, ResultCode::DISK_FULL),
        (most - 29, ResultCode::DISK_FULL),
    ] {
        let write = Write { from_end: false, fork, offset, count: 30 };
        assert_eq!(ada.write(Width::Bits32, write, &[7; 30]).await, Err(code), "{offset}");
    }
    let write = Write { from_end: false, fork, offset: i64::MAX, count: 30 };
    assert_eq!(ada.write(Width::Bits64, write, &[7; 30]).await, Err(ResultCode::DISK_FULL));
    assert_eq!(ada.write_at(fork, 1 << 32, b"far").await, Ok((1 << 32) + 3));
    assert_eq!(ada.read_ext(fork, 1 << 32, 3).await, (ResultCode::NO_ERROR, b"far".to_vec()));
    let end = Write { from_end: true, fork, offset: 0, count: 1 };
    assert_eq!(ada.write(Width::Bits32, end, b"x").await, Err(ResultCode::DISK_FULL));
}

#[tokio::test]
async fn the_two_forks_are_two() {
    let (server, mut ada) = notes(b"abc").await;
    let resource = ada.open_resource("notes", BOTH).await;
    assert_eq!(ada.read(resource, 0, 10).await, (ResultCode::EOF_ERROR, vec![]));
    assert_eq!(ada.write_at(resource, 0, b"resource").await, Ok(8));
    assert_eq!(ada.read(resource, 2, 3).await, (ResultCode::NO_ERROR, b"sou".to_vec()));
    let data = ada.open("notes", READ).await.unwrap();
    assert_eq!(ada.read(data, 0, 3).await.1, b"abc");
    assert_eq!(fork_len(&server.volume("share"), "notes"), 8);
    assert_eq!(ada.parameters(resource, FileBitmap::RESOURCE_LENGTH).await.unwrap(), [0, 0, 0, 8]);
    assert_eq!(ada.set_length(resource, FileBitmap::EXTENDED_RESOURCE_LENGTH, 4).await, ResultCode::NO_ERROR);
    assert_eq!(ada.read(resource, 0, 8).await, (ResultCode::EOF_ERROR, b"reso".to_vec()));
    assert_eq!(fork_len(&server.volume("share"), "notes"), 4);
}

#[tokio::test]
async fn a_length_is_set_by_exactly_one_bit_of_the_fork_that_is_open() {
    let (_server, mut ada) = notes(b"abc").await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let data = FileBitmap::DATA_LENGTH;
    for bitmap in [
        FileBitmap::empty(),
        FileBitmap::ATTRIBUTES,
        FileBitmap::RESOURCE_LENGTH,
        FileBitmap::EXTENDED_RESOURCE_LENGTH,
        data | FileBitmap::EXTENDED_DATA_LENGTH,
        data | FileBitmap::ATTRIBUTES,
    ] {
        assert_eq!(ada.set_length(fork, bitmap, 1).await, ResultCode::BITMAP_ERROR, "{bitmap:?}");
    }
    assert_eq!(ada.set_length(fork, data, -2).await, ResultCode::PARAM_ERROR);
    let extended = FileBitmap::EXTENDED_DATA_LENGTH;
    assert_eq!(ada.set_length(fork, extended, -(1 << 31)).await, ResultCode::PARAM_ERROR);
    assert_eq!(ada.set_length(fork, extended, 1 << 31).await, ResultCode::NO_ERROR);
    assert_eq!(ada.read_ext(fork, (1 << 31) + 1, 1).await, (ResultCode::EOF_ERROR, vec![]));
    assert_eq!(ada.read(fork, (1 << 31) - 1, 1).await, (ResultCode::NO_ERROR, vec![0]));
    assert_eq!(ada.set_length(fork, data, 2).await, ResultCode::NO_ERROR);
    assert_eq!(ada.read(fork, 0, 9).await, (ResultCode::EOF_ERROR, b"ab".to_vec()));
}

#[tokio::test]
async fn before_version_3_there_are_no_long_lengths() {
    let (server, _) = notes(b"abc").await;
    let mut old = User::of(&server, Version::V2_2);
    let fork = old.open_as(OpenFork { path: Path::long(b"notes"), ..old.request("", BOTH) }).await.unwrap();
    let extended = FileBitmap::EXTENDED_DATA_LENGTH;
    assert_eq!(old.set_length(fork, extended, 1).await, ResultCode::BITMAP_ERROR);
    assert_eq!(old.parameters(fork, extended).await, Err(ResultCode::BITMAP_ERROR));
    assert_eq!(old.set_length(fork, FileBitmap::DATA_LENGTH, 1).await, ResultCode::NO_ERROR);
}

#[tokio::test]
async fn others_locks_stop_cutting_but_not_growing() {
    // Netatalk's test suite, FPByteRangeLock, two users.
    let (server, mut ada) = notes(&[7; 50]).await;
    let mut other = User::of(&server, Version::V3_4);
    let data = FileBitmap::DATA_LENGTH;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let lock = ByteRangeLock { unlock: false, from_end: false, fork, offset: 0, length: 100 };
    ada.client.call(command::BYTE_RANGE_LOCK, |w| lock.encode(Width::Bits32, w)).await.well();
    let theirs = other.open("notes", BOTH).await.unwrap();
    assert_eq!(other.set_length(theirs, data, 60).await, ResultCode::NO_ERROR);
    assert_eq!(ada.write_at(fork, 55, &[8; 40]).await, Ok(95));
    assert_eq!(other.set_length(theirs, data, 60).await, ResultCode::LOCK_ERROR);
    assert_eq!(ada.set_length(fork, data, 200).await, ResultCode::NO_ERROR);
    assert_eq!(other.set_length(theirs, data, 120).await, ResultCode::NO_ERROR);
}

#[tokio::test]
async fn what_is_opened_follows_its_file() {
    let (server, mut ada) = notes(b"abc").await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let resource = ada.open_resource("notes", BOTH).await;
    let (volume, actor) = (server.volume("share"), somebody());
    let root = volume.root().unwrap();
    volume.rename(&actor, (&root, b"notes"), (&root, b"moved"), vfs::backend::RenameMode::Replace).unwrap();
    assert_eq!(ada.write_at(resource, 0, b"fork").await, Ok(4));
    assert_eq!(fork_len(&volume, "moved"), 4);
    let name = ada.parameters(fork, FileBitmap::LONG_NAME).await.unwrap();
    assert_eq!(name, b"\0\x02\x05moved");
}

#[tokio::test]
async fn a_full_disk_and_a_used_up_quota_are_a_full_disk() {
    use vfs::backend::faulty::{Call, Faulty};
    use vfs::backend::memory::Memory;
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let server = Server::on(disk.clone());
    make(&server.volume("share"), "notes", b"abc").await;
    let mut ada = User::of(&server, Version::V3_4);
    let fork = ada.open("notes", BOTH).await.unwrap();
    for error in [Error::NoSpace, Error::QuotaExceeded, Error::FileTooLarge] {
        disk.plan().fail(1, Some(Call::WriteAt), error);
        assert_eq!(ada.write_at(fork, 0, b"x").await, Err(ResultCode::DISK_FULL));
        disk.plan().fail(1, Some(Call::Truncate), error);
        let length = FileBitmap::DATA_LENGTH;
        assert_eq!(ada.set_length(fork, length, 9).await, ResultCode::DISK_FULL);
    }
    disk.plan().fail(1, Some(Call::ReadAt), Error::Io);
    assert_eq!(ada.read(fork, 0, 3).await.0, ResultCode::MISC_ERROR);
    assert_eq!(ada.read(fork, 0, 3).await, (ResultCode::NO_ERROR, b"abc".to_vec()));
}
