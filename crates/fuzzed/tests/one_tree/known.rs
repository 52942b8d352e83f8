//! Lists of operations that once disagreed with the model, made as short as possible.

use crate::op::*;
use crate::{disk, run};

fn agree(list: &[Op]) {
    let (disk, _folder) = disk();
    if let Err(disagreement) = run::run(disk, list) {
        panic!("{disagreement}");
    }
}

#[test]
fn what_one_client_writes_all_read() {
    let (rw, none) = (Modes { r: true, w: true, d: false }, Modes::default());
    agree(&[
        Op::Make(SmbA, "a"),
        Op::Open { who: AfpA, at: "a", fork: Data, access: rw, deny: none, slot: 0 },
        Op::Write(0, At(3, 4), 65),
        Op::Open { who: SmbB, at: "a", fork: Data, access: rw, deny: none, slot: 1 },
        Op::Read(1, At(0, 9)),
        Op::Open { who: Nfs3A, at: "a", fork: Data, access: rw, deny: none, slot: 2 },
        Op::Read(2, At(0, 9)),
        Op::Open { who: Nfs4A, at: "a", fork: Data, access: rw, deny: none, slot: 3 },
        Op::Read(3, At(0, 9)),
        Op::List(Nfs4B, ""),
    ]);
}

const RW: Modes = Modes { r: true, w: true, d: false };
const NONE: Modes = Modes { r: false, w: false, d: false };

/// RFC 8881 has no way to tell a client that what it has open for writing has become read-only: what its cache holds
/// would be lost.
#[test]
fn a_file_that_is_locked_after_version_4_has_opened_it_is_still_written() {
    agree(&[
        Op::Make(Nfs4A, "d"),
        Op::Open { who: Nfs4B, at: "d", fork: Data, access: RW, deny: NONE, slot: 1 },
        Op::SetReadOnly(SmbB, "d", true),
        Op::Write(1, At(1, 3), 71),
        Op::Truncate(1, 2),
        Op::Open { who: Nfs4A, at: "d", fork: Data, access: RW, deny: NONE, slot: 2 },
        Op::Open { who: Nfs3A, at: "d", fork: Data, access: RW, deny: NONE, slot: 3 },
        Op::Write(3, At(0, 1), 72),
        Op::Truncate(3, 0),
    ]);
}

#[test]
fn extended_attributes_stay_with_the_name_when_files_exchange_their_contents() {
    agree(&[
        Op::Make(Nfs3B, "d"),
        Op::Make(SmbB, "b"),
        Op::SetXattr { who: Nfs4A, at: "d", name: 2, length: 16, byte: 81 },
        Op::Exchange { who: AfpA, one: "b", other: "d" },
        Op::GetXattr { who: Nfs4A, at: "d", name: 2 },
        Op::GetXattr { who: SmbA, at: "b", name: 2 },
    ]);
}

#[test]
fn a_lock_stays_with_the_name_when_files_exchange_their_contents() {
    agree(&[
        Op::Make(Nfs4A, "b"),
        Op::Make(Nfs3A, "d"),
        Op::SetLocked(AfpA, "d", LockBits { write: false, rename: false, delete: true }),
        Op::Exchange { who: AfpA, one: "b", other: "d" },
        Op::Remove(Nfs4B, "b"),
        Op::Remove(Nfs4B, "d"),
    ]);
}
