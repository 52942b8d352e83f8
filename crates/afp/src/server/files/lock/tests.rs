//! Tests of locks with the harness. The results are those of the Apple Filing Protocol Reference,
//! FPByteRangeLock, and of Netatalk's test suite (its sets of the same names).

use vfs::state::{LockKind, Modes, Range};
use vfs::{Error, OpenOptions};
use wire::Reader;

use crate::server::config::Version;
use crate::server::files::fork::tests::{BOTH, READ, User, notes, somebody};
use crate::server::testing::Server;
use crate::wire::fork::{Width, Write};
use crate::wire::lock::{ByteRangeLock, Reply};
use crate::wire::{ResultCode, command};

const ALL: i64 = ByteRangeLock::TO_END;

fn range(fork: u16, offset: i64, length: i64) -> ByteRangeLock {
    ByteRangeLock { unlock: false, from_end: false, fork, offset, length }
}

impl User {
    /// FPByteRangeLock or FPByteRangeLockExt: returns the start of the range.
    async fn range(&mut self, width: Width, lock: ByteRangeLock) -> Result<i64, ResultCode> {
        let number = match width {
            Width::Bits32 => command::BYTE_RANGE_LOCK,
            Width::Bits64 => command::BYTE_RANGE_LOCK_EXT,
        };
        let answer = self.client.call(number, |w| lock.encode(width, w)).await;
        match answer.code {
            ResultCode::NO_ERROR => {
                Ok(Reply::decode(width, &mut Reader::new(&answer.payload)).unwrap().start)
            }
            code => Err(code),
        }
    }

    async fn lock(&mut self, fork: u16, offset: i64, length: i64) -> Result<i64, ResultCode> {
        self.range(Width::Bits64, range(fork, offset, length)).await
    }

    async fn unlock(&mut self, fork: u16, offset: i64, length: i64) -> Result<i64, ResultCode> {
        let lock = ByteRangeLock { unlock: true, ..range(fork, offset, length) };
        self.range(Width::Bits64, lock).await
    }
}

/// A file of 50 bytes that one user has open twice.
async fn two_opens() -> (Server, User, u16, u16) {
    let (server, mut ada) = notes(&[7; 50]).await;
    let (first, second) = (ada.open("notes", BOTH).await.unwrap(), ada.open("notes", BOTH).await.unwrap());
    (server, ada, first, second)
}

#[tokio::test]
async fn a_range_is_unlocked_exactly_as_it_was_locked() {
    let (_server, mut ada, fork, _) = two_opens().await;
    assert_eq!(ada.lock(fork, 10, 100).await, Ok(10));
    for (offset, length) in [(10, 75), (11, 100), (0, ALL), (200, 1)] {
        assert_eq!(ada.unlock(fork, offset, length).await, Err(ResultCode::RANGE_NOT_LOCKED));
    }
    assert_eq!(ada.unlock(fork, 10, 100).await, Ok(10));
    assert_eq!(ada.unlock(fork, 10, 100).await, Err(ResultCode::RANGE_NOT_LOCKED));
    assert_eq!(ada.lock(fork, 0, ALL).await, Ok(0));
    assert_eq!(ada.unlock(fork, 0, ALL).await, Ok(0));
}

#[tokio::test]
async fn own_ranges_do_not_overlap_and_others_conflict() {
    let (server, mut ada, first, second) = two_opens().await;
    assert_eq!(ada.lock(first, 0, 100).await, Ok(0));
    assert_eq!(ada.lock(first, 80, 100).await, Err(ResultCode::RANGE_OVERLAP));
    assert_eq!(ada.lock(second, 20, 60).await, Err(ResultCode::LOCK_ERROR));
    assert_eq!(ada.lock(second, 100, 60).await, Ok(100));
    let mut other = User::of(&server, Version::V3_4);
    let fork = other.open("notes", BOTH).await.unwrap();
    assert_eq!(other.lock(fork, 120, 1).await, Err(ResultCode::LOCK_ERROR));
    // Closing one fork keeps the other fork's locks.
    ada.close(second).await;
    assert_eq!(other.lock(fork, 99, 1).await, Err(ResultCode::LOCK_ERROR));
    assert_eq!(other.lock(fork, 120, 1).await, Ok(120));
}

#[tokio::test]
async fn a_locked_range_is_read_and_written_through_the_fork_that_locked_it_alone() {
    let (_server, mut ada, first, second) = two_opens().await;
    ada.lock(first, 0, 100).await.unwrap();
    assert_eq!(ada.read(second, 0, 40).await.0, ResultCode::LOCK_ERROR);
    assert_eq!(ada.write_at(second, 10, &[1; 40]).await, Err(ResultCode::LOCK_ERROR));
    assert_eq!(ada.read(first, 0, 40).await.0, ResultCode::NO_ERROR);
    assert_eq!(ada.write_at(first, 10, &[1; 120]).await, Ok(130));
    let resource = ada.open_resource("notes", BOTH).await;
    assert_eq!(ada.write_at(resource, 0, b"fork").await, Ok(4));
    assert_eq!(ada.lock(resource, 0, 4).await, Ok(0));
}

#[tokio::test]
async fn a_range_may_count_from_the_end() {
    let (_server, mut ada, fork, _) = two_opens().await;
    let from_end = |offset, length| ByteRangeLock { from_end: true, ..range(fork, offset, length) };
    assert_eq!(ada.range(Width::Bits32, from_end(0, 100)).await, Ok(50));
    assert_eq!(ada.unlock(fork, 50, 100).await, Ok(50));
    assert_eq!(ada.range(Width::Bits64, from_end(-10, 10)).await, Ok(40));
    assert_eq!(ada.range(Width::Bits32, from_end(-51, 1)).await, Err(ResultCode::PARAM_ERROR));
}

#[tokio::test]
async fn ranges_that_are_none_are_parameter_errors() {
    let (_server, mut ada, fork, _) = two_opens().await;
    for (offset, length) in [(-1, 75), (0, 0), (0, -2), (i64::MIN, 1), (0, i64::MIN)] {
        assert_eq!(ada.lock(fork, offset, length).await, Err(ResultCode::PARAM_ERROR));
        assert_eq!(ada.unlock(fork, offset, length).await, Err(ResultCode::PARAM_ERROR));
    }
    assert_eq!(ada.lock(fork, i64::MAX, i64::MAX).await, Ok(i64::MAX));
}

#[tokio::test]
async fn where_a_range_starts_is_never_cut_to_32_bits() {
    let (_server, mut ada, fork, second) = two_opens().await;
    assert_eq!(ada.write_at(fork, 1 << 32, b"far").await, Ok((1 << 32) + 3));
    let lock = ByteRangeLock { from_end: true, ..range(fork, 0, 1) };
    assert_eq!(ada.range(Width::Bits32, lock).await, Err(ResultCode::PARAM_ERROR));
    // A range to the end also goes beyond 32 bits.
    assert_eq!(ada.range(Width::Bits32, range(fork, 0, ALL)).await, Ok(0));
    assert_eq!(ada.lock(second, (1 << 32) + 2, 60).await, Err(ResultCode::LOCK_ERROR));
    let write = Write { from_end: false, fork: second, offset: (1 << 32) + 2, count: 1 };
    assert_eq!(ada.write(Width::Bits64, write, b"x").await, Err(ResultCode::LOCK_ERROR));
}

#[tokio::test]
async fn locks_bind_the_other_protocols_and_theirs_bind_clients() {
    let (server, mut ada, fork, _) = two_opens().await;
    ada.lock(fork, 0, 10).await.unwrap();
    let (volume, actor) = (server.volume("share"), somebody());
    let file = volume.lookup(&actor.caller, &volume.root().unwrap().object, b"notes").unwrap();
    assert_eq!(volume.stateless().read(&actor, &file, 5, 10).await.unwrap_err(), Error::RangeLocked);
    assert!(volume.stateless().read(&actor, &file, 10, 10).await.is_ok());
    let theirs = volume.open(&actor, &file, OpenOptions::data(Modes::READ)).await.unwrap();
    assert!(theirs.lock(Range::new(9, 2).unwrap(), LockKind::Shared).await.is_err());
    theirs.lock(Range::new(20, 10).unwrap(), LockKind::Shared).await.unwrap();
    assert_eq!(ada.lock(fork, 25, 1).await, Err(ResultCode::LOCK_ERROR));
    assert_eq!(ada.write_at(fork, 25, b"x").await, Err(ResultCode::LOCK_ERROR));
    assert_eq!(ada.read(fork, 25, 1).await.0, ResultCode::NO_ERROR);
}

#[tokio::test]
async fn what_was_opened_to_be_read_can_be_locked() {
    let (_server, mut ada, _, second) = two_opens().await;
    let fork = ada.open("notes", READ).await.unwrap();
    assert_eq!(ada.lock(fork, 0, 10).await, Ok(0));
    assert_eq!(ada.write_at(second, 0, b"x").await, Err(ResultCode::LOCK_ERROR));
}

#[tokio::test]
async fn too_many_locks_are_refused_as_that() {
    let (_server, mut ada, fork, second) = two_opens().await;
    let most = vfs::state::Limits::default().ranges_per_file as i64;
    for number in 0..most {
        assert_eq!(ada.lock(fork, 2 * number, 1).await, Ok(2 * number));
    }
    assert_eq!(ada.lock(fork, 2 * most, 1).await, Err(ResultCode::NO_MORE_LOCKS));
    ada.close(fork).await;
    assert_eq!(ada.lock(second, 2 * most, 1).await, Ok(2 * most));
}
