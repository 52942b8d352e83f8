//! Opens, locks and clients: bytes worked out by hand from RFC 7531.

use super::super::clients::*;
use super::super::locks::*;
use super::super::opens::*;
use super::*;

const STATE: StateId = StateId { sequence: 7, other: *b"twelve bytes" };

/// Words with the state of [`STATE`] after the first of them.
fn with_state(before: &[u32], after: &[u32]) -> Vec<u8> {
    let mut bytes = words(before);
    bytes.extend(words(&[7]));
    bytes.extend(b"twelve bytes");
    bytes.extend(words(after));
    bytes
}

#[track_caller]
fn both_ways(bytes: &[u8], operation: CompoundOperation<'_>) {
    assert_eq!(decoded(bytes), Ok(operation));
    assert_eq!(bytes_of(&operation), bytes);
    for short in 0..bytes.len() {
        assert!(decoded(&bytes[..short]).is_err(), "{short} of {} bytes are enough", bytes.len());
    }
}

fn owner() -> OwnerArgument<'static> {
    OwnerArgument { client: 0x1_0000_0002, name: Opaque::new(b"me") }
}

/// OPEN up to its owner: sequence 5, read and write, denies writing.
fn open_head() -> Vec<u8> {
    let mut bytes = words(&[18, 5, 3, 2, 1, 2, 2]);
    bytes.extend(b"me\0\0");
    bytes
}

fn open<'a>(how: OpenHow<'a>, claim: Claim<'a>) -> CompoundOperation<'a> {
    let access = SHARE_READ | SHARE_WRITE;
    CompoundOperation::Open(OpenArgs { sequence: 5, access, deny: SHARE_WRITE, owner: owner(), how, claim })
}

#[test]
fn open_has_the_layout_of_the_specification_for_every_way_to_create() {
    let size = Fattr { which: Bitmap::new(&[0x10]), values: Opaque::new(&[0, 0, 0, 0, 0, 0, 0, 9]) };
    let attributes = [1, 0x10, 8, 0, 9];
    let verifier = *b"verifier";
    let exclusive = |mode: u32| [words(&[1, mode]), verifier.to_vec()].concat();
    let ways = [
        (words(&[0]), OpenHow::Existing),
        ([words(&[1, 0]), words(&attributes)].concat(), OpenHow::Unchecked(size)),
        ([words(&[1, 1]), words(&attributes)].concat(), OpenHow::Guarded(size)),
        (exclusive(2), OpenHow::Exclusive(verifier)),
        ([exclusive(3), words(&attributes)].concat(), OpenHow::ExclusiveWith(verifier, size)),
    ];
    for (form, how) in ways {
        let bytes = [open_head(), form, words(&[0, 1]), b"f\0\0\0".to_vec()].concat();
        both_ways(&bytes, open(how, Claim::Name(Opaque::new(b"f"))));
    }
}

#[test]
fn open_has_the_layout_of_the_specification_for_every_claim() {
    let name = Opaque::new(b"f");
    let named = |claim: Vec<u8>| [claim, words(&[1]), b"f\0\0\0".to_vec()].concat();
    let claims = [
        (named(words(&[0])), Claim::Name(name)),
        (words(&[1, 2]), Claim::Previous(DelegationType::WRITE)),
        (named(with_state(&[2], &[])), Claim::DelegatedName(STATE, name)),
        (named(words(&[3])), Claim::PreviouslyDelegatedName(name)),
        (words(&[4]), Claim::File),
        (with_state(&[5], &[]), Claim::DelegatedFile(STATE)),
        (words(&[6]), Claim::PreviouslyDelegatedFile),
    ];
    for (form, claim) in claims {
        let bytes = [open_head(), words(&[0]), form].concat();
        both_ways(&bytes, open(OpenHow::Existing, claim));
    }
}

#[test]
fn unknown_ways_to_open_do_not_decode() {
    for tail in [&[2, 4][..], &[1, 4, 0, 0, 4], &[0, 7]] {
        assert!(decoded(&[open_head(), words(tail)].concat()).is_err(), "{tail:?}");
    }
}

#[test]
fn opens_are_confirmed_reduced_and_closed() {
    both_ways(
        &with_state(&[20], &[6]),
        CompoundOperation::OpenConfirm(OpenConfirm { state: STATE, sequence: 6 }),
    );
    let downgrade = OpenDowngrade { state: STATE, sequence: 6, access: SHARE_READ, deny: 0 };
    both_ways(&with_state(&[21], &[6, 1, 0]), CompoundOperation::OpenDowngrade(downgrade));
    both_ways(&with_state(&[4, 8], &[]), CompoundOperation::Close(Close { sequence: 8, state: STATE }));
    both_ways(&with_state(&[8], &[]), CompoundOperation::ReturnDelegation(STATE));
    both_ways(&words(&[7, 1, 2]), CompoundOperation::PurgeDelegations(0x1_0000_0002));
    both_ways(&words(&[19, 1]), CompoundOperation::OpenAttributes(true));
}

#[test]
fn create_has_the_layout_of_the_specification_for_every_kind() {
    let attributes = Fattr { which: Bitmap::new(&[]), values: Opaque::new(b"") };
    let kinds = [
        (words(&[5, 1, 0x7a00_0000]), CreateType::Link(Opaque::new(b"z"))),
        (words(&[3, 8, 1]), CreateType::BlockDevice(8, 1)),
        (words(&[4, 1, 3]), CreateType::CharDevice(1, 3)),
        (words(&[2]), CreateType::Other(FileType::DIR)),
        (words(&[7]), CreateType::Other(FileType::FIFO)),
    ];
    for (form, kind) in kinds {
        let bytes = [words(&[6]), form, words(&[1]), b"d\0\0\0".to_vec(), words(&[0, 0])].concat();
        both_ways(&bytes, CompoundOperation::Create(Create { kind, name: Opaque::new(b"d"), attributes }));
    }
}

#[test]
fn locks_have_the_layout_of_the_specification() {
    let range = [0, 4096, u32::MAX, u32::MAX]; // to the end of every file
    let lock = |kind, reclaim, locker| {
        CompoundOperation::Lock(Lock { kind, reclaim, offset: 4096, length: u64::MAX, locker })
    };
    let mut bytes = [words(&[12, 2, 0]), words(&range), with_state(&[1, 5], &[0, 1, 2, 2])].concat();
    bytes.extend(b"me\0\0");
    let new = NewLocker { open_sequence: 5, open: STATE, sequence: 0, owner: owner() };
    both_ways(&bytes, lock(LockType::WRITE, false, Locker::New(new)));

    let bytes = [words(&[12, 3, 1]), words(&range), with_state(&[0], &[4])].concat();
    both_ways(&bytes, lock(LockType::READW, true, Locker::Known(STATE, 4)));

    let mut bytes = [words(&[13, 1]), words(&range), words(&[1, 2, 2])].concat();
    bytes.extend(b"me\0\0");
    let test = LockTest { kind: LockType::READ, offset: 4096, length: u64::MAX, owner: owner() };
    both_ways(&bytes, CompoundOperation::LockTest(test));

    let unlock = Unlock { kind: LockType::WRITE, sequence: 9, state: STATE, offset: 1, length: 2 };
    both_ways(&with_state(&[14, 2, 9], &[0, 1, 0, 2]), CompoundOperation::Unlock(unlock));

    let bytes = [words(&[39, 1, 2, 2]), b"me\0\0".to_vec()].concat();
    both_ways(&bytes, CompoundOperation::ReleaseLockOwner(owner()));
}

#[test]
fn clients_have_the_layout_of_the_specification() {
    let mut bytes = words(&[35]);
    bytes.extend(b"verifier");
    bytes.extend(words(&[4]));
    bytes.extend(b"host");
    bytes.extend(words(&[0x4000_0000, 3]));
    bytes.extend(b"tcp\0");
    bytes.extend(words(&[13]));
    bytes.extend(b"127.0.0.1.3.1\0\0\0"); // port 769
    bytes.extend(words(&[1]));
    let set = SetClientId {
        verifier: *b"verifier",
        id: Opaque::new(b"host"),
        program: 0x4000_0000,
        callback: ClientAddress { net: Opaque::new(b"tcp"), address: Opaque::new(b"127.0.0.1.3.1") },
        callback_ident: 1,
    };
    both_ways(&bytes, CompoundOperation::SetClientId(set));

    let bytes = [words(&[36, 1, 2]), b"verifier".to_vec()].concat();
    let confirm = SetClientIdConfirm { client: 0x1_0000_0002, verifier: *b"verifier" };
    both_ways(&bytes, CompoundOperation::SetClientIdConfirm(confirm));
    both_ways(&words(&[30, 1, 2]), CompoundOperation::Renew(0x1_0000_0002));
}
