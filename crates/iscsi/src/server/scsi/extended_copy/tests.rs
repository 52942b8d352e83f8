use std::sync::{Arc, Weak};

use auth::{Account, Accounts};
use vfs::backend::memory::Memory;

use crate::server::TargetConfig;
use crate::server::scsi::testing::{self, Disk, MemoryKeeper};
use crate::server::scsi::{
    CommandRefusal, Ending, InitiatorPort, LogicalUnit, Nexus, Outcome, UnitOptions, UnitSession,
};
use crate::server::target::{Target, TargetLun};
use crate::wire::scsi::{Asc, Key, Sense, Status};

const ADA: &str = "iqn.2026-11.test:ada";
const FIRST: u64 = 0x3000_0000_0000_0001;
const SECOND: u64 = 0x3000_0000_0000_0002;

/// A target with two disks, one with blocks of 512 bytes and one with another block size, and an
/// initiator.
struct TwoDisks {
    disk: Disk,
    second: Arc<LogicalUnit>,
    ada: Arc<Nexus>,
}

impl TwoDisks {
    async fn new() -> Self {
        Self::of(512).await
    }

    async fn of(block_size: u32) -> Self {
        let disk = Disk::new(256).await;
        let options = UnitOptions { block_size, read_only: false };
        let (memory, kept) = (Arc::new(Memory::ticking()), Arc::new(MemoryKeeper::default()));
        let second = testing::unit(memory, 1, 64, options, kept).await;
        let lun = |number, unit: &Arc<LogicalUnit>| TargetLun {
            number,
            unit: unit.clone(),
            initiators: vec![],
            readers: vec![],
        };
        disk.target.set(auth::SharePolicy::for_guests(), vec![lun(0, &disk.unit), lun(1, &second)]);
        let ada = disk.nexus(ADA);
        while disk.unit.attentions.take(&ada).is_some() {}
        Self { disk, second, ada }
    }

    async fn copy(&self, list: &[u8]) -> Outcome {
        let [a, b, c, d] = (list.len() as u32).to_be_bytes();
        let cdb = [0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, 0, 0];
        self.disk.send(&self.ada, &cdb, list).await
    }

    async fn receive(&self, action: u8, id: u8) -> Result<Vec<u8>, CommandRefusal> {
        let cdb = [0x84, action, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0];
        self.disk.send(&self.ada, &cdb, b"").await.map(|good| good.bytes())
    }

    async fn first(&self, offset: u64, length: usize) -> Vec<u8> {
        bytes(&self.disk.unit, offset, length).await
    }

    async fn second(&self, offset: u64, length: usize) -> Vec<u8> {
        bytes(&self.second, offset, length).await
    }
}

async fn bytes(unit: &LogicalUnit, offset: u64, length: usize) -> Vec<u8> {
    let mut all = Vec::new();
    unit.read(offset, length).await.unwrap().append_to(&mut all).unwrap();
    all
}

/// An identification descriptor: SPC-4 tables 136 and 140.
fn target(naa: u64, block_length: u16) -> Vec<u8> {
    let mut bytes = vec![0xe4, 0, 0, 0, 1, 3, 0, 8];
    bytes.extend(naa.to_be_bytes());
    bytes.extend([0; 12]);
    bytes.extend([0, 0]);
    bytes.extend(block_length.to_be_bytes());
    bytes
}

/// A segment from block device to block device: SPC-4 table 151.
fn blocks(flags: u8, source: u16, destination: u16, count: u16, from: u64, to: u64) -> Vec<u8> {
    let mut bytes = vec![0x02, flags, 0, 0x18];
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(count.to_be_bytes());
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes
}

/// A segment with offsets: SPC-4 table 159.
fn with_offsets(length: u32, from: (u64, u16), to: (u64, u16)) -> Vec<u8> {
    let mut bytes = vec![0x0a, 0, 0, 0x1c, 0, 0, 0, 1];
    bytes.extend(length.to_be_bytes());
    bytes.extend(from.0.to_be_bytes());
    bytes.extend(to.0.to_be_bytes());
    bytes.extend(from.1.to_be_bytes());
    bytes.extend(to.1.to_be_bytes());
    bytes
}

/// A whole parameter list: SPC-4 6.5. `usage` is LIST ID USAGE.
fn list(id: u8, usage: u8, targets: &[Vec<u8>], segments: &[Vec<u8>]) -> Vec<u8> {
    let (targets, segments) = (targets.concat(), segments.concat());
    let mut bytes = vec![id, usage << 3];
    bytes.extend((targets.len() as u16).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend((segments.len() as u32).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(targets);
    bytes.extend(segments);
    bytes
}

fn both() -> Vec<Vec<u8>> {
    vec![target(FIRST, 512), target(SECOND, 0)]
}

fn illegal(asc: Asc) -> CommandRefusal {
    CommandRefusal::Check(Sense::illegal(asc))
}

/// The failure of a segment: its code, its number and the position in the list.
fn aborted(asc: Asc, segment: u16, byte: u16) -> CommandRefusal {
    let field = Sense::in_parameters(byte).field;
    CommandRefusal::Check(Sense { segment: Some(segment), field, ..Sense::new(Key::COPY_ABORTED, asc) })
}

#[tokio::test]
async fn blocks_are_copied_from_one_disk_to_another() {
    let two = TwoDisks::new().await;
    two.disk.unit.write(512, vec![7; 1024].into()).await.unwrap();
    two.second.write(0, vec![1; 8 * 512].into()).await.unwrap();
    let plan = list(1, 2, &both(), &[blocks(0, 0, 1, 3, 1, 2), blocks(0, 1, 0, 1, 2, 9)]);
    two.copy(&plan).await.unwrap();
    let expected = [vec![1; 1024], vec![7; 1024], vec![0; 512], vec![1; 512]].concat();
    assert_eq!(two.second(0, 6 * 512).await, expected);
    assert_eq!(two.first(9 * 512, 512).await, [7; 512]);
}

#[tokio::test]
async fn the_disk_that_was_asked_need_not_be_in_the_list() {
    let two = TwoDisks::new().await;
    two.disk.unit.write(0, vec![7; 512].into()).await.unwrap();
    two.copy(&list(1, 2, &[], &[blocks(0, 0xffff, 0xffff, 1, 0, 4)])).await.unwrap();
    assert_eq!(two.first(4 * 512, 512).await, [7; 512]);
}

#[tokio::test]
async fn ranges_of_one_disk_may_overlap() {
    let two = TwoDisks::new().await;
    for (from, to) in [(0, 1), (1, 0)] {
        let pattern: Vec<u8> = (0..9 * 512).map(|at| (at / 512) as u8).collect();
        two.disk.unit.write(0, pattern.into()).await.unwrap();
        two.copy(&list(1, 2, &both(), &[blocks(0, 0, 0, 8, from, to)])).await.unwrap();
        let moved = two.first(to * 512, 8 * 512).await;
        let expected: Vec<u8> = (from * 512..from * 512 + 8 * 512).map(|at| (at / 512) as u8).collect();
        assert_eq!(moved, expected);
    }
}

#[tokio::test]
async fn bytes_are_copied_from_and_to_anywhere_within_blocks() {
    let two = TwoDisks::new().await;
    two.disk.unit.write(0, vec![7; 1024].into()).await.unwrap();
    two.second.write(0, vec![1; 1536].into()).await.unwrap();
    two.copy(&list(1, 2, &both(), &[with_offsets(600, (0, 100), (1, 10))])).await.unwrap();
    let expected = [vec![1; 522], vec![7; 600], vec![1; 414]].concat();
    assert_eq!(two.second(0, 1536).await, expected);
}

#[tokio::test]
async fn blocks_of_other_sizes_fit_or_are_filled_up_spc_4_table_116() {
    let two = TwoDisks::of(4096).await;
    two.disk.unit.write(0, vec![7; 64 * 512].into()).await.unwrap();
    two.copy(&list(1, 2, &both(), &[blocks(0, 0, 1, 8, 0, 1)])).await.unwrap();
    assert_eq!(two.second(4096, 4096).await, [7; 4096]);
    // DC: the number of blocks counts blocks of the destination.
    two.copy(&list(1, 2, &both(), &[blocks(2, 0, 1, 2, 0, 2)])).await.unwrap();
    assert_eq!(two.second(8192, 8192).await, [7; 8192]);
    // Bytes that do not fill a block.
    let odd = [blocks(0, 0, 1, 9, 0, 4), blocks(0, 0, 1, 0, 0, 0)];
    let refused = two.copy(&list(1, 2, &both(), &odd)).await.unwrap_err();
    assert_eq!(refused, aborted(Asc::UNEXPECTED_INEXACT_SEGMENT, 0, 90));
    let mut padded = both();
    padded[1][28] = 0x04;
    two.second.write(5 * 4096, vec![1; 4096].into()).await.unwrap();
    two.copy(&list(1, 2, &padded, &odd)).await.unwrap();
    let expected = [vec![7; 9 * 512], vec![0; 7 * 512]].concat();
    assert_eq!(two.second(4 * 4096, 8192).await, expected);
    // CAT in the last segment: the rest is not written.
    two.second.write(5 * 4096, vec![1; 4096].into()).await.unwrap();
    two.copy(&list(1, 2, &both(), &[blocks(1, 0, 1, 9, 0, 4)])).await.unwrap();
    assert_eq!(two.second(5 * 4096, 4096).await, [1; 4096]);
}

#[tokio::test]
async fn holes_stay_holes() {
    let two = TwoDisks::new().await;
    two.second.write(0, vec![1; 64 * 512].into()).await.unwrap();
    two.copy(&list(1, 2, &both(), &[blocks(0, 0, 1, 64, 0, 0)])).await.unwrap();
    assert_eq!(two.second(0, 64 * 512).await, [0; 64 * 512]);
    assert_eq!(two.second.open().unwrap().allocated(0, 64 * 512, 9).await.unwrap().ranges, []);
}

#[tokio::test]
async fn nothing_at_all_is_no_error() {
    let two = TwoDisks::new().await;
    two.copy(b"").await.unwrap();
    two.copy(&list(1, 2, &[], &[])).await.unwrap();
    two.copy(&list(1, 2, &both(), &[blocks(0, 0, 1, 0, 0, 0)])).await.unwrap();
}

#[tokio::test]
async fn lists_that_lie_or_are_too_long_are_refused_before_anything_is_copied() {
    let two = TwoDisks::new().await;
    let good = list(1, 2, &both(), &[blocks(0, 0, 1, 1, 0, 0)]);
    for length in [15, 16, 16 + 63, good.len() - 1] {
        let refused = two.copy(&good[..length]).await.unwrap_err();
        assert_eq!(refused, illegal(Asc::PARAMETER_LIST_LENGTH_ERROR), "{length} bytes");
    }
    let targets = vec![target(FIRST, 512); 9];
    let segments = vec![blocks(0, 0, 0, 1, 0, 1); 33];
    let refused = two.copy(&list(1, 2, &targets, &segments[..1])).await.unwrap_err();
    assert_eq!(refused, illegal(Asc::TOO_MANY_TARGET_DESCRIPTORS));
    let refused = two.copy(&list(1, 2, &targets[..1], &segments)).await.unwrap_err();
    assert_eq!(refused, illegal(Asc::TOO_MANY_SEGMENT_DESCRIPTORS));
    let many = vec![blocks(0, 0, 0, 1, 0, 1); 72];
    let refused = two.copy(&list(1, 2, &targets, &many)).await.unwrap_err();
    assert_eq!(refused, illegal(Asc::PARAMETER_LIST_LENGTH_ERROR));
}

#[tokio::test]
async fn what_is_not_understood_is_refused_with_its_place() {
    let two = TwoDisks::new().await;
    let wrong = |asc, byte| {
        CommandRefusal::Check(Sense { field: Sense::in_parameters(byte).field, ..Sense::illegal(asc) })
    };
    let mut other = target(FIRST, 512);
    other[0] = 0xe0;
    let refused = two.copy(&list(1, 2, &[target(FIRST, 512), other], &[])).await.unwrap_err();
    assert_eq!(refused, wrong(Asc::UNSUPPORTED_TARGET_DESCRIPTOR, 48));
    let stream = [&[0x03, 0, 0, 0x10][..], &[0; 16]].concat();
    let refused = two.copy(&list(1, 2, &[], &[blocks(0, 0, 0, 0, 0, 0), stream])).await.unwrap_err();
    assert_eq!(refused, wrong(Asc::UNSUPPORTED_SEGMENT_DESCRIPTOR, 44));
    let mut inline = list(1, 2, &[], &[]);
    inline[15] = 4;
    let refused = two.copy(&[&inline[..], &[0; 4]].concat()).await.unwrap_err();
    assert_eq!(refused, wrong(Asc::INLINE_DATA_LENGTH_EXCEEDED, 12));
    // SPC-4 table 129.
    for (id, usage, byte) in [(1, 1, 1), (1, 3, 0)] {
        let refused = two.copy(&list(id, usage, &[], &[])).await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_parameters(byte)));
    }
    two.copy(&list(0, 3, &[], &[])).await.unwrap();
}

#[tokio::test]
async fn a_segment_that_cannot_be_copied_aborts_with_its_number_spc_4_5_17_7_4() {
    let two = TwoDisks::new().await;
    let fine = blocks(0, 0, 1, 1, 0, 0);
    let at = 16 + 64 + 28; // the second segment
    for (segment, asc, byte) in [
        (blocks(0, 2, 1, 1, 0, 0), Asc::UNREACHABLE_COPY_TARGET, at + 4),
        (blocks(0, 0, 0xc000, 1, 0, 0), Asc::UNREACHABLE_COPY_TARGET, at + 6),
        (blocks(0, 0, 1, 1, 256, 0), Asc::NONE, at + 12),
        (blocks(0, 0, 1, 2, 0, 63), Asc::NONE, at + 20),
        (blocks(0, 0, 1, 1, u64::MAX, 0), Asc::NONE, at + 12),
        (with_offsets((32 << 20) + 1, (0, 0), (0, 0)), Asc::INVALID_FIELD_IN_PARAMETER_LIST, at + 8),
    ] {
        let refused = two.copy(&list(1, 2, &both(), &[fine.clone(), segment])).await.unwrap_err();
        assert_eq!(refused, aborted(asc, 1, byte));
    }
    for (change, asc, byte) in [
        ((1, 0x01), Asc::INCORRECT_COPY_TARGET_DEVICE_TYPE, 48),
        ((15, 0x09), Asc::UNREACHABLE_COPY_TARGET, 48),
        ((7, 0x07), Asc::UNREACHABLE_COPY_TARGET, 48),
        ((31, 0x01), Asc::INVALID_FIELD_IN_PARAMETER_LIST, 48 + 29),
    ] {
        let mut targets = both();
        targets[1][change.0] = change.1;
        let refused = two.copy(&list(1, 2, &targets, std::slice::from_ref(&fine))).await.unwrap_err();
        assert_eq!(refused, aborted(asc, 0, byte));
    }
}

#[tokio::test]
async fn reservations_of_both_disks_count() {
    let two = TwoDisks::new().await;
    let bob = two.disk.nexus("iqn.2026-11.test:bob");
    let there = Some(two.second.clone());
    let plan = list(1, 2, &both(), &[blocks(0, 0, 1, 1, 0, 0)]);
    let back = list(1, 2, &both(), &[blocks(0, 1, 0, 1, 0, 0)]);
    for (kind, may_be_read) in [(1, true), (3, false)] {
        let out = |action, kind| [0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0];
        let register = [&[0; 15][..], &[1], &[0; 8]].concat();
        let with_key = [&[0; 7][..], &[1], &[0; 16]].concat();
        two.disk.send_to(there.clone(), &bob, &out(6, 0), &register).await.unwrap();
        two.disk.send_to(there.clone(), &bob, &out(1, kind), &with_key).await.unwrap();
        let refused = two.copy(&plan).await.unwrap_err();
        assert_eq!(refused, aborted(Asc::THIRD_PARTY_DEVICE_FAILURE, 0, 48));
        assert_eq!(two.copy(&back).await.is_ok(), may_be_read, "type {kind}");
        two.disk.send_to(there.clone(), &bob, &out(3, 0), &with_key).await.unwrap();
        two.copy(&plan).await.unwrap();
    }
    two.disk.send(&bob, &[0x16, 0, 0, 0, 0, 0], b"").await.unwrap();
    assert_eq!(two.copy(&plan).await.unwrap_err(), CommandRefusal::Status(Status::RESERVATION_CONFLICT));
}

#[tokio::test]
async fn what_may_only_be_read_is_not_written() {
    let disk = Disk::on(Arc::new(Memory::ticking()), 64, UnitOptions { block_size: 512, read_only: true });
    let disk = disk.await;
    let (second, ada) = (disk.unit.clone(), disk.nexus(ADA));
    let two = TwoDisks { disk, second, ada };
    let plan = list(1, 2, &[target(FIRST, 512)], &[blocks(0, 0, 0, 1, 0, 4)]);
    assert_eq!(two.copy(&plan).await.unwrap_err(), aborted(Asc::THIRD_PARTY_DEVICE_FAILURE, 0, 16));
}

#[tokio::test]
async fn what_became_of_a_copy_is_told_once() {
    let two = TwoDisks::new().await;
    let unknown = CommandRefusal::Check(Sense::in_cdb(2));
    assert_eq!(two.receive(0, 1).await.unwrap_err(), unknown);
    two.copy(&list(1, 0, &both(), &[blocks(0, 0, 1, 2, 0, 0), blocks(0, 0, 1, 1, 0, 2)])).await.unwrap();
    assert_eq!(two.receive(0, 2).await.unwrap_err(), unknown);
    assert_eq!(two.receive(4, 1).await.unwrap(), [0; 4]); // no failure
    assert_eq!(two.receive(0, 1).await.unwrap(), [0, 0, 0, 8, 1, 0, 2, 0, 0, 0, 6, 0]);
    assert_eq!(two.receive(0, 1).await.unwrap_err(), unknown);

    let refused = two.copy(&list(1, 0, &both(), &[blocks(0, 0, 1, 1, 0, 64)])).await.unwrap_err();
    assert_eq!(refused, aborted(Asc::NONE, 0, 100));
    assert_eq!(two.receive(0, 1).await.unwrap(), [0, 0, 0, 8, 2, 0, 1, 0, 0, 0, 0, 0]);
    let details = two.receive(4, 1).await.unwrap();
    assert_eq!((details.len(), details[56], details[59], details[62]), (78, 0x02, 18, 0x0a));
    assert_eq!(details[60 + 15..], [0x80, 0, 100]);
    assert_eq!(two.receive(4, 1).await.unwrap_err(), unknown);
}

#[tokio::test]
async fn what_is_to_be_discarded_or_belongs_to_a_lost_session_is_not_kept() {
    let two = TwoDisks::new().await;
    let unknown = CommandRefusal::Check(Sense::in_cdb(2));
    two.copy(&list(1, 2, &[], &[])).await.unwrap();
    assert_eq!(two.receive(0, 1).await.unwrap_err(), unknown);
    two.copy(&list(1, 0, &[], &[])).await.unwrap();
    two.disk.unit.copies.nexus_lost(&two.ada.initiator);
    assert_eq!(two.receive(0, 1).await.unwrap_err(), unknown);
    two.copy(&list(1, 0, &[], &[])).await.unwrap();
    two.disk.unit.copies.reset();
    assert_eq!(two.receive(0, 1).await.unwrap_err(), unknown);
}

#[tokio::test]
async fn a_number_that_is_in_use_cannot_be_used_again_and_there_are_only_so_many_copies() {
    use crate::wire::scsi::ListIdUsage;
    let two = TwoDisks::new().await;
    let (copies, who) = (&two.disk.unit.copies, &two.ada.initiator);
    let first = copies.begin(who, 1, ListIdUsage::HOLD).unwrap();
    let refused = two.copy(&list(1, 0, &[], &[])).await.unwrap_err();
    assert_eq!(refused, illegal(Asc::OPERATION_IN_PROGRESS));
    assert_eq!(two.receive(0, 1).await.unwrap(), [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(two.receive(4, 1).await.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(2)));
    let others: Vec<_> = (2..17).map(|id| copies.begin(who, id, ListIdUsage::HOLD).unwrap()).collect();
    assert_eq!(two.copy(&list(0, 3, &[], &[])).await.unwrap_err(), CommandRefusal::Status(Status::BUSY));
    drop(others);
    two.copy(&list(0, 3, &[], &[])).await.unwrap();
    drop(first); // the session ended before the copy did
    assert_eq!(two.receive(0, 1).await.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(2)));
}

#[tokio::test]
async fn operating_parameters_and_the_page_of_inquiry_agree() {
    let two = TwoDisks::new().await;
    let parameters = two.receive(3, 0).await.unwrap();
    assert_eq!(parameters[..4], [0, 0, 0, 43]);
    assert_eq!(parameters[44..], [0x02, 0x0a, 0xe4]);
    let page = two.disk.send(&two.ada, &[0x12, 1, 0x8f, 4, 0, 0], b"").await.unwrap().bytes();
    assert_eq!(page[..2], [0, 0x8f]);
    assert_eq!(parameters[8..16], page[4 + 16 + 8..4 + 16 + 16]);
}

/// A session at another target.
struct ForeignSession(InitiatorPort);

impl UnitSession for ForeignSession {
    fn initiator(&self) -> &InitiatorPort {
        &self.0
    }

    fn port(&self) -> u16 {
        1
    }

    fn abort_tasks(&self, _: &LogicalUnit, _: Option<u32>) -> Ending {
        Box::pin(std::future::ready(()))
    }
}

struct Nobody;

impl Accounts for Nobody {
    fn find(&self, _: &str) -> Option<Account> {
        None
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, auth::Refusal> {
        Err(auth::Refusal::Unknown)
    }
}

#[tokio::test]
async fn a_disk_of_another_target_is_reached_by_who_has_a_session_there() {
    let two = TwoDisks::new().await;
    let lun = |unit: &Arc<LogicalUnit>| TargetLun {
        number: 0,
        unit: unit.clone(),
        initiators: vec![],
        readers: vec![],
    };
    let access = auth::SharePolicy::for_guests;
    two.disk.target.set(access(), vec![lun(&two.disk.unit)]);
    let other = Target::new("iqn.2026-11.test:other", "");
    other.set(access(), vec![lun(&two.second)]);
    let targets = vec![two.disk.target.clone(), other];
    let (accounts, login_guard) = (Arc::new(Nobody), Arc::default());
    let config = Arc::new(TargetConfig { targets, accounts, own_secret: None, login_guard, paths: None });
    config.targets.iter().for_each(|target| target.join(&config));

    two.disk.unit.write(0, vec![7; 512].into()).await.unwrap();
    let plan = list(1, 2, &both(), &[blocks(0, 0, 1, 1, 0, 0)]);
    assert_eq!(two.copy(&plan).await.unwrap_err(), aborted(Asc::UNREACHABLE_COPY_TARGET, 0, 48));
    let port = InitiatorPort { name: ADA.into(), isid: [0x40, 0, 0, 0, 0, 2] };
    let session = Arc::new(ForeignSession(port));
    let weak: Weak<ForeignSession> = Arc::downgrade(&session);
    two.second.holders.arrive(weak);
    two.copy(&plan).await.unwrap();
    assert_eq!(two.second(0, 512).await, [7; 512]);
}
