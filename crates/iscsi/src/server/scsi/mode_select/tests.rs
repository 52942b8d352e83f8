use std::sync::Arc;

use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;

use crate::server::scsi::testing::Disk;
use crate::server::scsi::{CommandRefusal, Nexus, UnitOptions};
use crate::wire::scsi::{Asc, Key, Sense};

const ADA: &str = "iqn.2026-11.test:ada";
/// The control page with SWP, SPC-4 table 462.
const PROTECTED: [u8; 12] = [0x0a, 0x0a, 0x22, 0x10, 0x08, 0, 0, 0, 0xff, 0xff, 0, 0];

async fn select(disk: &Disk, nexus: &Arc<Nexus>, pages: &[u8]) -> Result<(), CommandRefusal> {
    let data = [&[0; 4], pages].concat();
    disk.send(nexus, &[0x15, 0x10, 0, 0, data.len() as u8, 0], &data).await.map(|_| ())
}

fn wrong(byte: u16) -> CommandRefusal {
    CommandRefusal::Check(Sense::in_parameters(byte))
}

#[tokio::test]
async fn swp_refuses_all_writes_until_it_is_cleared() {
    let disk = Disk::new(8).await;
    let ada = disk.nexus(ADA);
    let write = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    select(&disk, &ada, &PROTECTED).await.unwrap();
    let refused = disk.send(&ada, &write, &[0; 512]).await.unwrap_err();
    assert_eq!(refused, CommandRefusal::Check(Sense::new(Key::DATA_PROTECT, Asc::WRITE_PROTECTED)));
    let bytes = disk.send(&ada, &[0x1a, 8, 0x0a, 0, 255, 0], b"").await.unwrap().bytes();
    assert_eq!((bytes[2], bytes[8]), (0x90, 0x08));
    let mut open = PROTECTED;
    open[4] = 0;
    select(&disk, &ada, &open).await.unwrap();
    assert!(disk.send(&ada, &write, &[0; 512]).await.is_ok());
}

#[tokio::test]
async fn d_sense_chooses_the_format_of_sense_data() {
    let disk = Disk::new(8).await;
    let mut page = PROTECTED;
    (page[2], page[4]) = (0x26, 0);
    page[0] |= 0x80; // PS is reserved here
    select(&disk, &disk.nexus(ADA), &page).await.unwrap();
    assert!(disk.unit.modes.descriptor_sense());
    disk.unit.modes.reset();
    assert!(!disk.unit.modes.descriptor_sense());
}

#[tokio::test]
async fn what_cannot_be_changed_is_refused_and_nothing_is() {
    let disk = Disk::new(8).await;
    let ada = disk.nexus(ADA);
    let mut other = PROTECTED;
    other[3] = 0; // QUEUE ALGORITHM MODIFIER
    assert_eq!(select(&disk, &ada, &other).await, Err(wrong(4 + 3)));
    let no_read_cache = [0x08, 0x12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(select(&disk, &ada, &no_read_cache).await, Err(wrong(4 + 2)));
    assert_eq!(select(&disk, &ada, &[&PROTECTED[..], &no_read_cache].concat()).await, Err(wrong(16 + 2)));
    assert!(!disk.unit.modes.write_protected());
}

#[tokio::test]
async fn pages_that_are_not_there_or_have_another_length_are_refused() {
    let disk = Disk::new(8).await;
    let ada = disk.nexus(ADA);
    assert_eq!(select(&disk, &ada, &[0x0b, 2, 0, 0]).await, Err(wrong(4)));
    assert_eq!(select(&disk, &ada, &[0x0a, 2, 0, 0]).await, Err(wrong(4 + 1)));
    assert_eq!(select(&disk, &ada, &[0x02, 2, 0, 0]).await, Err(wrong(4 + 1)));
    let refused = CommandRefusal::Check(Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR)); // SPC-4 6.9
    assert_eq!(select(&disk, &ada, &PROTECTED[..7]).await, Err(refused));
    let short = disk.send(&ada, &[0x15, 0x10, 0, 0, 3, 0], &[0; 3]).await.unwrap_err();
    assert_eq!(short, refused);
    assert!(disk.send(&ada, &[0x15, 0x10, 0, 0, 0, 0], &[]).await.is_ok());
}

#[tokio::test]
async fn nothing_can_be_saved_and_pages_have_their_format() {
    let disk = Disk::new(8).await;
    let ada = disk.nexus(ADA);
    for flags in [0x11, 0x12, 0x00] {
        let refused = disk.send(&ada, &[0x15, flags, 0, 0, 16, 0], &[0; 16]).await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(1)));
    }
}

#[tokio::test]
async fn the_size_of_the_disk_may_be_said_but_not_changed() {
    let disk = Disk::new(8).await;
    let ada = disk.nexus(ADA);
    for (blocks, size, expected) in
        [(8, 2, Ok(())), (0, 2, Ok(())), (9, 2, Err(wrong(4))), (8, 16, Err(wrong(8)))]
    {
        let data = [0, 0, 0, 8, 0, 0, 0, blocks, 0, 0, size, 0];
        let outcome = disk.send(&ada, &[0x15, 0x10, 0, 0, 12, 0], &data).await;
        assert_eq!(outcome.map(|_| ()), expected);
    }
    let long = [&[0, 0, 0, 0, 1, 0, 0, 16][..], &[0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 2, 0]].concat();
    assert!(disk.send(&ada, &[0x55, 0x10, 0, 0, 0, 0, 0, 0, 24, 0], &long).await.is_ok());
}

#[tokio::test]
async fn a_read_only_initiator_changes_no_mode_page() {
    let options = UnitOptions { block_size: 512, read_only: true };
    let disk = Disk::on(Arc::new(Memory::ticking()), 8, options).await;
    let ada = disk.nexus(ADA);
    assert_eq!(select(&disk, &ada, &PROTECTED).await, Err(wrong(4 + 4)));
    let mut same = PROTECTED;
    same[4] = 0;
    assert_eq!(select(&disk, &ada, &same).await, Ok(()));
}

#[tokio::test]
async fn the_others_are_told_that_something_has_changed_and_only_then() {
    let disk = Disk::new(8).await;
    let (ada, bob) = (disk.nexus(ADA), disk.nexus("iqn.2026-11.test:bob"));
    let _sessions = [disk.session(&ada), disk.session(&bob)];
    select(&disk, &ada, &PROTECTED).await.unwrap();
    assert!(disk.send(&ada, &[0; 6], b"").await.is_ok());
    let told = disk.send(&bob, &[0; 6], b"").await.unwrap_err();
    assert_eq!(told, CommandRefusal::Check(Sense::attention(Asc::MODE_PARAMETERS_CHANGED))); // SPC-4 6.9
    select(&disk, &ada, &PROTECTED).await.unwrap();
    assert!(disk.send(&bob, &[0; 6], b"").await.is_ok());
}

#[tokio::test]
async fn without_a_write_cache_what_was_written_is_on_the_disk() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let disk = Disk::on(faulty.clone(), 8, UnitOptions { block_size: 512, read_only: false }).await;
    let ada = disk.nexus(ADA);
    let write = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    disk.send(&ada, &write, &[1; 512]).await.unwrap();
    select(&disk, &ada, &[0x08, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
    let synced = faulty.plan().calls(Some(Call::Sync));
    assert_eq!(synced, 1); // SBC-3 6.5.6: before WCE is 0
    disk.send(&ada, &write, &[1; 512]).await.unwrap();
    assert_eq!(faulty.plan().calls(Some(Call::Sync)), 2);
}
