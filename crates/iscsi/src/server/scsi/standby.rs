//! Disks of a cluster: what they answer at a server that does not serve them, and what differs at the one that does.

use std::sync::Arc;

use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;

use super::testing::{Disk, MemoryKeeper};
use super::{CommandRefusal, Nexus};
use crate::wire::scsi::{Asc, Key, Sense, Status};

const ADA: &str = "iqn.2026-11.test:ada";
const BOB: &str = "iqn.2026-11.test:bob";
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const READ_KEYS: [u8; 10] = [0x5e, 0, 0, 0, 0, 0, 0, 0, 255, 0];

async fn disk(kept: &Arc<MemoryKeeper>, is_active: bool) -> Disk {
    Disk::shared(kept.clone(), Arc::new(Memory::ticking()), is_active).await
}

/// PERSISTENT RESERVE OUT without APTPL: service action, type, two keys.
async fn out(disk: &Disk, nexus: &Arc<Nexus>, (action, kind): (u8, u8), key: u8, action_key: u8) {
    let mut list = [0; 24];
    (list[7], list[15]) = (key, action_key);
    disk.send(nexus, &[0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0], &list).await.unwrap();
}

async fn bytes(disk: &Disk, cdb: &[u8]) -> Vec<u8> {
    disk.send(&disk.nexus(ADA), cdb, b"").await.unwrap().bytes()
}

/// SPC-4 5.16.2.4.
#[tokio::test]
async fn in_standby_blocks_are_not_accessible() {
    let disk = disk(&Arc::default(), false).await;
    let ada = disk.nexus(ADA);
    let refused = CommandRefusal::Check(Sense::new(Key::NOT_READY, Asc(0x04, 0x0b)));
    let commands: [&[u8]; 11] = [
        &[0; 6],                                                   // TEST UNIT READY
        &[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0],                        // READ
        &WRITE,                                                    // WRITE
        &[0x2f, 0, 0, 0, 0, 0, 0, 0, 1, 0],                        // VERIFY
        &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0],                        // SYNCHRONIZE CACHE
        &[0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0],                        // UNMAP
        &[0x9e, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], // GET LBA STATUS
        &[0x16, 0, 0, 0, 0, 0],                                    // RESERVE
        &[0x15, 0x10, 0, 0, 0, 0],                                 // MODE SELECT
        &[0x1b, 0, 0, 0, 1, 0],                                    // START STOP UNIT
        &[0x1d, 4, 0, 0, 0, 0],                                    // SEND DIAGNOSTIC
    ];
    for cdb in commands {
        assert_eq!(disk.send(&ada, cdb, b"").await.unwrap_err(), refused, "{cdb:02x?}");
    }
}

#[tokio::test]
async fn in_standby_a_disk_is_the_same_disk() {
    let kept = Arc::default();
    let disks = [disk(&kept, true).await, disk(&kept, false).await];
    let commands: [&[u8]; 8] = [
        &[0x12, 0, 0, 0, 255, 0],           // INQUIRY
        &[0x12, 1, 0x83, 0, 255, 0],        // its names
        &[0x03, 0, 0, 0, 255, 0],           // REQUEST SENSE
        &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], // READ CAPACITY
        &[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0],
        &[0x1a, 0, 0x08, 0, 255, 0],                   // MODE SENSE, caching
        &[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0],    // REPORT LUNS
        &[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], // REPORT TARGET PORT GROUPS
    ];
    for cdb in commands {
        assert_eq!(bytes(&disks[0], cdb).await, bytes(&disks[1], cdb).await, "{cdb:02x?}");
    }
}

#[tokio::test]
async fn reservations_bind_at_the_next_server_also_without_aptpl() {
    let kept = Arc::default();
    let first = disk(&kept, true).await;
    let [ada, bob] = [ADA, BOB].map(|name| first.nexus(name));
    out(&first, &ada, (0, 0), 0, 7).await; // REGISTER
    out(&first, &ada, (1, 1), 7, 0).await; // RESERVE, write exclusive
    let keys = bytes(&first, &READ_KEYS).await;
    assert_eq!(keys[4..], [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]);
    let other = disk(&kept, false).await;
    assert_eq!(keys[..4], [0, 0, 0, 1], "PRGENERATION, SPC-4 6.15.2");
    assert_eq!(bytes(&other, &READ_KEYS).await, keys);
    let next = disk(&kept, true).await;
    assert_eq!(bytes(&next, &READ_KEYS).await, keys);
    let refused = next.send(&bob, &WRITE, &[1; 512]).await.unwrap_err();
    assert_eq!(refused, CommandRefusal::Status(Status::RESERVATION_CONFLICT));
    next.send(&ada, &WRITE, &[1; 512]).await.unwrap();
    // APTPL is as it was: REPORT CAPABILITIES, SPC-4 6.15.4.
    assert_eq!(bytes(&next, &[0x5e, 2, 0, 0, 0, 0, 0, 0, 8, 0]).await[3] & 1, 0);
}

/// SBC-3 6.5.6: without a write cache, what is acknowledged is on the disk.
#[tokio::test]
async fn there_is_no_write_cache_and_initiators_cannot_turn_it_on() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let disk = Disk::shared(Arc::default(), faulty.clone(), true).await;
    let ada = disk.nexus(ADA);
    for (control, wce) in [(0x08, 0), (0x48, 0), (0x88, 0)] {
        let page = bytes(&disk, &[0x1a, 8, control, 0, 255, 0]).await; // current, changeable, default
        assert_eq!((page[4] & 0x3f, page[6] & 0x04), (0x08, wce), "{control:02x}");
    }
    let with_cache = [0, 0, 0, 0, 0x08, 0x12, 0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let refused = disk.send(&ada, &[0x15, 0x10, 0, 0, 24, 0], &with_cache).await.unwrap_err();
    assert_eq!(refused, CommandRefusal::Check(Sense::in_parameters(6)));
    assert_eq!(bytes(&disk, &[0x12, 1, 0x86, 0, 64, 0]).await[6] & 1, 0); // V_SUP, SPC-4 7.8.7
    disk.unit.reset(); // what initiators have set ends
    for written in 1..=3 {
        disk.send(&ada, &WRITE, &[1; 512]).await.unwrap();
        assert_eq!(faulty.plan().calls(Some(Call::Sync)), written);
    }
}
