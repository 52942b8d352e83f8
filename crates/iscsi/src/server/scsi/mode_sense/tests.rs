use std::sync::Arc;

use vfs::backend::memory::Memory;

use crate::server::scsi::testing::Disk;
use crate::server::scsi::{CommandRefusal, UnitOptions};
use crate::wire::scsi::{Asc, Sense};

const ADA: &str = "iqn.2026-11.test:ada";

async fn sense(disk: &Disk, cdb: &[u8]) -> Result<Vec<u8>, CommandRefusal> {
    disk.send(&disk.nexus(ADA), cdb, b"").await.map(|good| good.bytes())
}

#[tokio::test]
async fn all_pages_come_behind_a_header_and_a_block_descriptor() {
    let disk = Disk::new(0x1234).await;
    let bytes = sense(&disk, &[0x1a, 0, 0x3f, 0, 255, 0]).await.unwrap();
    assert_eq!(bytes[..4], [bytes.len() as u8 - 1, 0, 0x10, 8]); // SPC-4 table 453; DPOFUA
    assert_eq!(bytes[4..12], [0, 0, 0x12, 0x34, 0, 0, 2, 0]); // SBC-3 table 187
    let (mut at, mut pages) = (12, Vec::new());
    while at < bytes.len() {
        pages.push(bytes[at]);
        at += usize::from(bytes[at + 1]) + 2;
    }
    assert_eq!(pages, [0x01, 0x02, 0x08, 0x0a, 0x1c]);
}

#[tokio::test]
async fn the_pages_are_those_of_the_specifications() {
    let disk = Disk::new(8).await;
    for (page, expected) in [
        (0x01, &[0x01, 0x0a, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0][..]), // SBC-3 table 207
        (0x08, &[0x08, 0x12, 0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), // SBC-3 table 196
        (0x0a, &[0x0a, 0x0a, 0x22, 0x10, 0, 0, 0, 0, 0xff, 0xff, 0, 0]), // SPC-4 table 462
        (0x1c, &[0x1c, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),        // SBC-3 table 203
    ] {
        let bytes = sense(&disk, &[0x1a, 8, page, 0, 255, 0]).await.unwrap();
        assert_eq!(bytes[4..], *expected);
    }
    let bytes = sense(&disk, &[0x1a, 8, 0x0a, 1, 255, 0]).await.unwrap();
    assert_eq!(bytes[4..10], [0x4a, 1, 0, 28, 1, 0]); // SPC-4 table 466
    assert_eq!(bytes.len(), 4 + 32);
}

#[tokio::test]
async fn what_can_be_changed_is_d_sense_swp_the_write_cache_and_the_threshold() {
    let disk = Disk::new(8).await;
    let bytes = sense(&disk, &[0x1a, 8, 0x40 | 0x0a, 0, 255, 0]).await.unwrap();
    assert_eq!(bytes[4..], [0x0a, 0x0a, 0x04, 0, 0x08, 0, 0, 0, 0, 0, 0, 0]);
    let bytes = sense(&disk, &[0x1a, 8, 0x40 | 0x08, 0, 255, 0]).await.unwrap();
    assert_eq!(bytes[6], 0x04); // WCE
    assert!(bytes[7..].iter().all(|byte| *byte == 0));
    let bytes = sense(&disk, &[0x1a, 8, 0x40 | 0x1c, 2, 255, 0]).await.unwrap();
    assert_eq!(bytes[4..8], [0x5c, 2, 0, 20]);
    assert_eq!(bytes[20..], [0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]); // SBC-3 table 209
}

#[tokio::test]
async fn the_threshold_is_a_fifth_of_the_volume_until_it_is_changed() {
    let memory = Memory::ticking();
    memory.set_capacity(Some(1000 << 20));
    let disk =
        Disk::on(Arc::new(memory), 1000 << 11, UnitOptions { block_size: 512, read_only: false }).await;
    let bytes = sense(&disk, &[0x1a, 8, 0x1c, 2, 255, 0]).await.unwrap();
    assert_eq!(bytes[20..], [0x80, 1, 0, 0, 0, 0, 0, 200]);
}

#[tokio::test]
async fn subpages_come_when_they_are_asked_for() {
    let disk = Disk::new(8).await;
    let one = sense(&disk, &[0x1a, 8, 0x0a, 0, 255, 0]).await.unwrap();
    assert_eq!(one.len(), 4 + 12);
    let both = sense(&disk, &[0x1a, 8, 0x0a, 0xff, 255, 0]).await.unwrap();
    assert_eq!(both.len(), 4 + 12 + 32);
    let all = sense(&disk, &[0x1a, 8, 0x3f, 0xff, 255, 0]).await.unwrap();
    assert_eq!(all.len(), 4 + 12 + 16 + 20 + 12 + 32 + 12 + 24);
}

#[tokio::test]
async fn the_long_command_has_long_descriptors_if_they_are_allowed() {
    let disk = Disk::new(1 << 33).await;
    let bytes = sense(&disk, &[0x5a, 0, 0x0a, 0, 0, 0, 0, 0, 255, 0]).await.unwrap();
    assert_eq!(bytes[..8], [0, 8 + 8 + 12 - 2, 0, 0x10, 0, 0, 0, 8]); // SPC-4 table 454
    assert_eq!(bytes[8..16], [0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]);
    let bytes = sense(&disk, &[0x5a, 0x10, 0x0a, 0, 0, 0, 0, 0, 255, 0]).await.unwrap();
    assert_eq!(bytes[..8], [0, 8 + 16 + 12 - 2, 0, 0x10, 1, 0, 0, 16]);
    assert_eq!(bytes[8..24], [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0]); // SBC-3 table 188
}

#[tokio::test]
async fn a_read_only_unit_is_write_protected() {
    let options = UnitOptions { block_size: 4096, read_only: true };
    let disk = Disk::on(Arc::new(Memory::ticking()), 8, options).await;
    let bytes = sense(&disk, &[0x1a, 0, 0x0a, 0, 255, 0]).await.unwrap();
    assert_eq!(bytes[2], 0x90); // WP, SBC-3 6.5.1
    assert_eq!(bytes[4..12], [0, 0, 0, 8, 0, 0, 0x10, 0]);
    let bytes = sense(&disk, &[0x1a, 8, 0x40 | 0x0a, 0, 255, 0]).await.unwrap();
    assert_eq!(bytes[4..], [0x0a, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // nor may they change anything
}

#[tokio::test]
async fn what_is_not_there_is_refused() {
    let disk = Disk::new(8).await;
    for (cdb, refused) in [
        ([0x1a, 0, 0x0b, 0, 255, 0], Sense::in_cdb(2)),
        ([0x1a, 0, 0x0a, 2, 255, 0], Sense::in_cdb(3)),
        ([0x1a, 0, 0x3f, 1, 255, 0], Sense::in_cdb(3)),
        ([0x1a, 0, 0xc0 | 0x0a, 0, 255, 0], Sense::illegal(Asc::SAVING_NOT_SUPPORTED)), // SPC-4 6.11.5
    ] {
        assert_eq!(sense(&disk, &cdb).await.unwrap_err(), CommandRefusal::Check(refused));
    }
}

#[tokio::test]
async fn the_length_is_that_of_all_however_little_room_there_is() {
    let disk = Disk::new(8).await;
    let whole = sense(&disk, &[0x1a, 0, 0x3f, 0, 255, 0]).await.unwrap();
    let cut = sense(&disk, &[0x1a, 0, 0x3f, 0, 4, 0]).await.unwrap();
    assert_eq!(cut, whole[..4]);
}
