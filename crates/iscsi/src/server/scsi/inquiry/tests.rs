use crate::server::scsi::CommandRefusal;
use crate::server::scsi::limits::{TRANSFER_BYTES, WRITE_SAME_BYTES};
use crate::server::scsi::testing::Disk;
use crate::wire::scsi::Sense;

const ADA: &str = "iqn.2026-11.test:ada";

async fn page(disk: &Disk, code: u8) -> Vec<u8> {
    let good = disk.send(&disk.nexus(ADA), &[0x12, 1, code, 4, 0, 0], b"").await.unwrap();
    let bytes = good.bytes();
    assert_eq!(bytes[..2], [0, code]);
    assert_eq!(usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), bytes.len() - 4);
    bytes[4..].to_vec()
}

#[tokio::test]
async fn the_standard_data_are_those_of_a_disk_by_spc_4() {
    let disk = Disk::new(8).await;
    let bytes = disk.send(&disk.nexus(ADA), &[0x12, 0, 0, 1, 0, 0], b"").await.unwrap().bytes();
    assert_eq!(bytes.len(), 96);
    assert_eq!(bytes[..8], [0, 0, 6, 0x12, 91, 0x18, 0, 0x02]); // SPC-4 table 174
    assert_eq!(&bytes[8..32], b"FOURFOLDVirtual Disk    ");
    assert_eq!(bytes[58..66], [0x00, 0xa0, 0x04, 0x60, 0x04, 0xc0, 0x09, 0x60]);
}

#[tokio::test]
async fn no_more_is_sent_than_there_is_room_for() {
    let disk = Disk::new(8).await;
    let ada = disk.nexus(ADA);
    for room in [0, 5, 36, 95] {
        let good = disk.send(&ada, &[0x12, 0, 0, 0, room, 0], b"").await.unwrap();
        assert_eq!(good.bytes().len(), usize::from(room));
    }
}

#[tokio::test]
async fn under_a_number_without_a_unit_there_is_no_device() {
    let disk = Disk::new(8).await;
    let good = disk.send_to(None, &disk.nexus(ADA), &[0x12, 0, 0, 0, 36, 0], b"").await.unwrap();
    assert_eq!(good.bytes()[0], 0x7f); // SPC-4 tables 172 and 173
    let refused = disk.send_to(None, &disk.nexus(ADA), &[0x12, 1, 0x83, 0, 36, 0], b"").await;
    assert_eq!(refused.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(2)));
}

#[tokio::test]
async fn fields_that_contradict_each_other_are_refused() {
    let disk = Disk::new(8).await;
    let ada = disk.nexus(ADA);
    for (cdb, byte) in
        [([0x12, 0, 1, 0, 36, 0], 2), ([0x12, 2, 0, 0, 36, 0], 1), ([0x12, 1, 0xb5, 0, 36, 0], 2)]
    {
        let refused = disk.send(&ada, &cdb, b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(byte)));
    }
}

#[tokio::test]
async fn every_page_of_the_list_is_there_and_the_list_ascends() {
    let disk = Disk::new(8).await;
    let list = page(&disk, 0).await;
    assert_eq!(list, [0x00, 0x80, 0x83, 0x86, 0x87, 0x88, 0x8f, 0xb0, 0xb1, 0xb2]);
    for code in list {
        page(&disk, code).await;
    }
}

#[tokio::test]
async fn the_serial_number_and_the_names_are_made_of_the_naa_identifier() {
    let disk = Disk::new(8).await;
    assert_eq!(page(&disk, 0x80).await, b"3000000000000001");
    let names = page(&disk, 0x83).await;
    let expected = [
        &b"\x01\x03\x00\x08\x30\x00\x00\x00\x00\x00\x00\x01"[..],
        b"\x02\x01\x00\x18FOURFOLD3000000000000001",
        b"\x51\x94\x00\x04\x00\x00\x00\x01",
        b"\x51\x95\x00\x04\x00\x00\x00\x01",
        b"\x53\x98\x00\x20iqn.2026-11.test:disk,t,0x0001\0\0",
        b"\x53\xa8\x00\x18iqn.2026-11.test:disk\0\0\0",
    ];
    assert_eq!(names, expected.concat());
}

#[tokio::test]
async fn the_port_is_the_first_and_has_the_name_of_rfc_7143() {
    let disk = Disk::new(8).await;
    let expected =
        [&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 36][..], b"\x53\x98\x00\x20iqn.2026-11.test:disk,t,0x0001\0\0"];
    assert_eq!(page(&disk, 0x88).await, expected.concat());
}

#[tokio::test]
async fn what_a_disk_takes_at_a_time_is_in_its_pages() {
    let disk = Disk::new(8).await;
    let limits = page(&disk, 0xb0).await;
    assert_eq!(limits.len(), 60); // SBC-3 table 216
    assert_eq!(limits[..4], [1, 255, 0, 8]);
    assert_eq!(limits[4..8], (TRANSFER_BYTES / 512).to_be_bytes());
    assert_eq!(limits[8..12], [0, 0, 8, 0]); // 1 MiB
    assert_eq!(limits[16..32], [0, 0x10, 0, 0, 0, 0, 1, 0, 0, 0, 0, 8, 0x80, 0, 0, 0]);
    assert_eq!(limits[32..40], u64::from(WRITE_SAME_BYTES / 512).to_be_bytes());
    assert_eq!(page(&disk, 0xb1).await[..5], [0, 1, 0, 0, 1]);
    assert_eq!(page(&disk, 0xb2).await, [11, 0xe4, 2, 0]); // 2^11 blocks are 1 MiB
}

#[tokio::test]
async fn the_extended_data_tell_of_a_cache_and_of_task_attributes() {
    let extended = page(&Disk::new(8).await, 0x86).await;
    assert_eq!(extended.len(), 60); // SPC-4 7.8.7
    assert_eq!(extended[..4], [0, 7, 1, 1]);
    assert!(extended[4..].iter().all(|byte| *byte == 0));
}
