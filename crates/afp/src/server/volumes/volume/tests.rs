use crate::server::config::{ShareOptions, Version};
use crate::server::testing::{ADA, Client, Server, share};
use crate::wire::volume::{GetVolParms, OfVolume, OpenVol, Parameters, SetVolParms, SyncDir, attributes};
use crate::wire::{ResultCode, VolumeBitmap, command};
use vfs::index::Index;
use wire::Reader;

async fn open(
    client: &mut Client,
    bitmap: u16,
    name: &[u8],
    password: Option<[u8; 8]>,
) -> Result<Vec<u8>, i32> {
    let open = OpenVol { bitmap: VolumeBitmap(bitmap), name, password };
    let answer = client.call(command::OPEN_VOL, |w| open.encode(w)).await;
    if answer.code == ResultCode::NO_ERROR { Ok(answer.payload) } else { Err(answer.code.0) }
}

async fn parameters(client: &mut Client, volume: u16, bitmap: u16) -> Vec<u8> {
    let asked = GetVolParms { volume, bitmap: VolumeBitmap(bitmap) };
    client.call(command::GET_VOL_PARMS, |w| asked.encode(w)).await.well()
}

#[tokio::test]
async fn opening_a_volume_twice_gives_the_same_number_and_closing_it_ends_both() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    // Bitmap: the volume's id alone, 0x0020.
    let first = open(&mut ada, 0x20, b"share", None).await.unwrap();
    assert_eq!(first[..2], [0, 0x20]);
    assert_eq!(open(&mut ada, 0x20, b"SHARE", None).await.unwrap(), first, "the Chooser ignores case");
    let volume = u16::from_be_bytes([first[2], first[3]]);
    let close = OfVolume { volume };
    ada.call(command::CLOSE_VOL, |w| close.encode(w)).await.well();
    assert_eq!(ada.call(command::CLOSE_VOL, |w| close.encode(w)).await.code, ResultCode::PARAM_ERROR);
    assert_eq!(ada.call(command::FLUSH, |w| close.encode(w)).await.code, ResultCode::PARAM_ERROR);
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_as_the_reference_says() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    assert_eq!(open(&mut ada, 0, b"share", None).await, Err(-5004)); // no id: unusable
    assert_eq!(open(&mut ada, 0xffff, b"share", None).await, Err(-5004));
    assert_eq!(open(&mut ada, 0x20, b"none", None).await, Err(-5018));
    let mut guest = server.log_in_guest(Version::V3_4);
    assert_eq!(open(&mut guest, 0x20, b"share", None).await, Err(-5018));
    open(&mut guest, 0x20, b"guests", None).await.unwrap();
}

#[tokio::test]
async fn a_volume_password_is_asked_of_who_opens_it() {
    let state = tempfile::tempdir().unwrap();
    let index = Index::open(state.path()).unwrap();
    let options = ShareOptions { password: Some(*b"sesame\0\0"), ..ShareOptions::default() };
    let server = Server::with(|config| config.shares.push(share(&index, "locked", options)));
    let mut ada = server.log_in(ADA, Version::V2_1);
    assert_eq!(open(&mut ada, 0x20, b"locked", None).await, Err(-5000));
    assert_eq!(open(&mut ada, 0x20, b"locked", Some(*b"sesam\0\0\0")).await, Err(-5000));
    let opened = open(&mut ada, 0x21, b"locked", Some(*b"sesame\0\0")).await.unwrap();
    assert_eq!(
        u16::from_be_bytes([opened[2], opened[3]]) & attributes::HAS_PASSWORD,
        attributes::HAS_PASSWORD
    );
}

#[tokio::test]
async fn attributes_are_those_of_the_clients_version() {
    let server = Server::new();
    // FPGetVolParms: file ids 4, search 8; UNIX privileges 0x20, UTF-8 0x40, no network user ids 0x80; EAs 0x400, ACLs 0x800.
    for (version, share, expected) in [
        (Version::V2_0, "share", 0x0000), // Inside AppleTalk: read-only 1, and no other
        (Version::V1_1, "readonly", 0x0001),
        (Version::V2_1, "share", 0x000c),
        (Version::V2_1, "readonly", 0x000d),
        (Version::V3_1, "share", 0x00ec),
        (Version::V3_4, "share", 0x0cec),
    ] {
        let mut ada = server.log_in(ADA, version);
        let volume = ada.open_volume(share);
        let reply = parameters(&mut ada, volume, 1).await;
        assert_eq!(reply, [0, 1, (expected >> 8) as u8, expected as u8], "{version:?} {share}");
    }
}

#[tokio::test]
async fn old_clients_see_no_more_than_two_and_four_gigabytes() {
    let server = Server::new(); // on a store of 16 TiB in memory
    for (version, bitmap, expected, extended) in [
        (Version::V2_1, 0x00c0, 0x7fff_ffff, 0),
        (Version::V2_2, 0x06c0, u32::MAX, 1 << 44),
        (Version::V3_4, 0x06c0, u32::MAX, 1 << 44),
    ] {
        let mut ada = server.log_in(ADA, version);
        let volume = ada.open_volume("share");
        let reply = parameters(&mut ada, volume, bitmap).await;
        let told = Parameters::decode(&mut Reader::new(&reply)).unwrap();
        assert_eq!((told.bytes_free, told.bytes_total), (expected, expected));
        assert_eq!(told.extended_total, extended);
    }
}

#[tokio::test]
async fn a_backup_volume_is_as_large_as_the_site_says() {
    let state = tempfile::tempdir().unwrap();
    let index = Index::open(state.path()).unwrap();
    let options = ShareOptions {
        time_machine: true,
        size_limits: vfs::BackupLimits { share: Some(5 << 30), macs: Vec::new() },
        ..ShareOptions::default()
    };
    let server = Server::with(|config| config.shares.push(share(&index, "backups", options)));
    let mut ada = server.log_in(ADA, Version::V3_3);
    let volume = ada.open_volume("backups");
    let reply = parameters(&mut ada, volume, 0x0601).await;
    let told = Parameters::decode(&mut Reader::new(&reply)).unwrap();
    assert_eq!((told.extended_free, told.extended_total), (5 << 30, 5 << 30));
    assert_eq!(told.attributes & 0x2000, 0x2000); // lock stealing
}

#[tokio::test]
async fn the_name_is_macroman_of_27_bytes_or_decomposed() {
    let state = tempfile::tempdir().unwrap();
    let index = Index::open(state.path()).unwrap();
    let name = "Ünterlagen aus lang vergangenen Tagen";
    let server = Server::with(|config| config.shares.push(share(&index, name, ShareOptions::default())));
    let mut old = server.log_in(ADA, Version::V2_2);
    let volume = old.open_volume(name);
    let reply = parameters(&mut old, volume, 0x100).await;
    assert!(reply[4] <= 27 && reply[5] == 0x86, "Ü is 0x86 in MacRoman");
    let (_, long_name) = reply.split_at(5);
    open(&mut old, 0x20, long_name, None).await.unwrap(); // the name of FPGetSrvrParms
    let mut new = server.log_in(ADA, Version::V3_4);
    let volume = new.open_volume(name);
    let reply = parameters(&mut new, volume, 0x100).await;
    assert_eq!(&reply[5..8], "U\u{308}".as_bytes());
    open(&mut new, 0x20, &reply[5..], None).await.unwrap();
}

#[tokio::test]
async fn the_backup_date_is_kept_and_changes_no_other() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    let before = parameters(&mut ada, volume, 0x0c).await;
    assert_eq!(parameters(&mut ada, volume, 0x10).await[2..], [0x80, 0, 0, 0]); // none yet
    let set = |bitmap, backup| SetVolParms { volume, bitmap: VolumeBitmap(bitmap), backup };
    ada.call(command::SET_VOL_PARMS, |w| set(0x10, Some(77)).encode(w)).await.well();
    assert_eq!(parameters(&mut ada, volume, 0x10).await[2..], [0, 0, 0, 77]);
    assert_eq!(parameters(&mut ada, volume, 0x0c).await, before);
    let refused = ada.call(command::SET_VOL_PARMS, |w| set(0x0c, None).encode(w)).await;
    assert_eq!(refused.code, ResultCode::BITMAP_ERROR);
    let volume = ada.open_volume("readonly");
    let set = SetVolParms { volume, bitmap: VolumeBitmap::BACKUP, backup: Some(1) };
    assert_eq!(ada.call(command::SET_VOL_PARMS, |w| set.encode(w)).await.code, ResultCode::VOLUME_LOCKED);
}

#[tokio::test]
async fn volumes_and_folders_are_put_on_the_disk() {
    let server = Server::new();
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    ada.call(command::FLUSH, |w| OfVolume { volume }.encode(w)).await.well();
    ada.call(command::SYNC_DIR, |w| SyncDir { volume, folder: 2 }.encode(w)).await.well();
    let none = ada.call(command::SYNC_DIR, |w| SyncDir { volume, folder: 4711 }.encode(w)).await;
    assert_eq!(none.code, ResultCode::OBJECT_NOT_FOUND);
}
