//! APTPL: the state that survives a restart, and errors of storing and loading it.

use std::sync::atomic::Ordering;

use vfs::backend::memory::Memory;

use super::*;
use crate::server::scsi::testing::MemoryKeeper;
use crate::server::scsi::{Conflict, UnitOptions};
use crate::wire::scsi::Key;

const APTPL: u8 = 0x01;
const NAA: u64 = 0x3000_0000_0000_0001;

async fn started(kept: Arc<MemoryKeeper>) -> Cluster {
    let options = UnitOptions { block_size: 512, read_only: false };
    Cluster::of(Disk::that_kept(kept, Arc::new(Memory::ticking()), 64, options).await)
}

impl Cluster {
    /// Restarts the server.
    async fn restarted(self) -> Self {
        started(self.disk.kept).await
    }
}

/// The answer while the stored state is damaged.
fn lost() -> CommandRefusal {
    check(Sense::new(Key::DATA_PROTECT, Asc::PERSISTENT_RESERVATION_INFORMATION_LOST))
}

#[tokio::test]
async fn with_aptpl_registrations_and_reservation_outlast_the_server() {
    for kind in TYPES {
        let all = Cluster::new().await;
        all.out(&all.ada, REGISTER, 0, &basic(0, 1, APTPL)).await.unwrap();
        all.out(&all.bob, REGISTER, 0, &basic(0, 2, APTPL | 0x04)).await.unwrap();
        all.keys(&all.bob, RESERVE, kind, 2, 0).await.unwrap();
        let before = all.read(3).await;
        let all = all.restarted().await;
        assert_eq!(all.read(3).await[4..], before[4..], "type {kind}");
        assert_eq!(all.generation().await, 0); // SPC-4 6.15.2
        assert_eq!(all.read(2).await[3], 0xc1); // PTPL_A
        let refused = all.disk.unit.reservations.check(&all.eve.nexus, Conflict::Writes, &[]);
        assert_eq!(refused, Err(CONFLICT));
        all.keys(&all.bob, CLEAR, 0, 2, 0).await.unwrap();
        let all = all.restarted().await;
        assert_eq!((all.reserved().await, all.registered().await), (None, vec![]));
    }
}

#[tokio::test]
async fn without_aptpl_nothing_does() {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    all.keys(&all.ada, RESERVE, 1, 1, 0).await.unwrap();
    assert!(all.disk.kept.records.lock().is_empty());
    let all = all.restarted().await;
    assert_eq!((all.reserved().await, all.registered().await), (None, vec![]));
}

#[tokio::test]
async fn the_last_registration_has_the_say() {
    let all = Cluster::new().await;
    all.out(&all.ada, REGISTER, 0, &basic(0, 1, APTPL)).await.unwrap();
    all.out(&all.bob, REGISTER, 0, &basic(0, 2, 0)).await.unwrap();
    let all = all.restarted().await;
    assert_eq!((all.registered().await, all.read(2).await[3]), (vec![], 0xc0));
}

#[tokio::test]
async fn what_cannot_be_kept_does_not_happen() {
    let all = Cluster::new().await;
    all.out(&all.ada, REGISTER, 0, &basic(0, 1, APTPL)).await.unwrap();
    all.disk.kept.fails.store(true, Ordering::Relaxed);
    let refused = all.keys(&all.ada, RESERVE, 1, 1, 0).await.unwrap_err();
    assert_eq!(refused, check(Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE)));
    assert_eq!((all.reserved().await, all.generation().await), (None, 1));
    all.disk.kept.fails.store(false, Ordering::Relaxed);
    all.keys(&all.ada, RESERVE, 1, 1, 0).await.unwrap();
}

#[tokio::test]
async fn what_is_lost_stops_all_commands_but_those_of_spc_4_5_13_5_2() {
    let damaged = Arc::new(MemoryKeeper::default());
    damaged.records.lock().insert(NAA, b"F4PR".to_vec());
    let unreadable = Arc::new(MemoryKeeper::default());
    unreadable.fails.store(true, Ordering::Relaxed);
    for kept in [damaged, unreadable] {
        let all = started(kept).await;
        all.disk.kept.fails.store(false, Ordering::Relaxed);
        let may = |cdb: &[u8]| all.disk.unit.reservations.check(&all.ada.nexus, Conflict::Never, cdb);
        for cdb in [&[0x12, 0][..], &[0xa0], &[0x03], &[0x4d], &[0xa3, 0x0a], &[0x1b, 0, 0, 0, 1], &[0x5f, 8]]
        {
            assert_eq!(may(cdb), Ok(()), "{cdb:02x?}");
        }
        for cdb in [&[0x00][..], &[0x28], &[0x2a], &[0x16], &[0x5e], &[0x25], &[0xa3, 0x0c], &[0x1b]] {
            assert_eq!(may(cdb), Err(lost()), "{cdb:02x?}");
        }
        for action in 0..8 {
            assert_eq!(all.keys(&all.ada, action, 1, 0, 1).await.unwrap_err(), lost());
        }
    }
}

#[tokio::test]
async fn replacing_a_lost_registration_takes_the_reservation_spc_4_5_13_11_3() {
    let kept = Arc::new(MemoryKeeper::default());
    kept.records.lock().insert(NAA, Vec::new());
    let all = started(kept).await;
    for (list, byte) in [(basic(1, 5, 0), 0), (basic(0, 0, 0), 8), (basic(0, 5, 0x04), 20)] {
        let refused = all.out(&all.ada, REPLACE_LOST, 1, &list).await.unwrap_err();
        assert_eq!(refused, check(Sense::in_parameters(byte)));
    }
    all.out(&all.ada, REPLACE_LOST, 1, &basic(0, 5, APTPL)).await.unwrap();
    assert_eq!((all.reserved().await, all.registered().await), (Some((5, 1)), vec![5]));
    assert_eq!(all.generation().await, 0);
    let all = all.restarted().await;
    assert_eq!(all.reserved().await, Some((5, 1)));
    let refused = all.keys(&all.ada, REPLACE_LOST, 1, 0, 5).await.unwrap_err();
    assert_eq!(refused, check(Sense::illegal(Asc::INVALID_RELEASE_OF_PERSISTENT_RESERVATION)));
}
