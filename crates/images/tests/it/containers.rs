//! Containers and partition maps: what is written here from their specifications is read, and its damage is found.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::common::{Bundle, check, file, files, find, lines, noise, read};
use crate::writer::{ROOT, Writer};
use aws_lc_rs::cipher::{AES_128, AES_256, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::{hmac, pbkdf2};
use cbc::cipher::{BlockModeEncrypt, KeyIvInit};
use images::tree::Fork;
use images::{Error, Passphrase, ReadAt, Source};

/// A small volume with one file.
pub(crate) fn volume() -> Vec<u8> {
    let mut writer = Writer::new(128, "Disk");
    writer.file(ROOT, "file", b"in an image");
    writer.build()
}

#[track_caller]
fn has_the_file(source: &Source) {
    let files = files(source);
    assert_eq!(read(files.as_ref(), find(files.as_ref(), "file").unwrap(), Fork::Data), b"in an image");
}

fn info(band_size: usize, size: usize) -> Vec<u8> {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n\
         <key>band-size</key>\n<integer>{band_size}</integer>\n<key>bundle-backingstore-version</key>\n\
         <integer>1</integer>\n<key>diskimage-bundle-type</key>\n<string>com.apple.diskimage.sparsebundle</string>\n\
         <key>size</key>\n<integer>{size}</integer>\n</dict>\n</plist>\n"
    )
    .into_bytes()
}

/// A sparse bundle: bands of zeros are missing, and the zeros at the end of a band, too.
fn bundle(disk: &[u8], band_size: usize) -> Bundle {
    let mut bundle = Bundle::default();
    bundle.0.insert("Info.plist".into(), info(band_size, disk.len()));
    bundle.0.insert("token".into(), Vec::new());
    for (number, band) in disk.chunks(band_size).enumerate() {
        let used = band.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        if used > 0 {
            bundle.0.insert(format!("bands/{number:x}"), band[..used].to_vec());
        }
    }
    bundle
}

fn source(bundle: Bundle) -> Source {
    Source::Bundle(Arc::new(bundle))
}

#[test]
fn bands_that_are_missing_or_short_are_zeros() {
    let bundle = bundle(&volume(), 20_000);
    assert!(bundle.0.len() < 128 * 4096 / 20_000, "some bands are missing");
    let source = source(bundle);
    has_the_file(&source);
    assert_eq!(lines(&check(&source).1), [""; 0]);
}

#[test]
fn a_bundle_without_its_list_is_damaged() {
    let mut without = bundle(&volume(), 20_000);
    without.0.remove("Info.plist");
    assert!(matches!(images::open(&source(without), None), Err(Error::Damaged { .. })));
    let mut other = bundle(&volume(), 20_000);
    other.0.insert("Info.plist".into(), b"<plist><dict><key>a</key><true/></dict></plist>".to_vec());
    assert!(matches!(images::open(&source(other), None), Err(Error::NotSupported(_))));
}

/// libyal, "Sparse disk image format": two index nodes.
pub(crate) fn sparse_image(disk: &[u8]) -> Vec<u8> {
    const SECTORS: usize = 8;
    let mut bands: Vec<(u32, &[u8])> =
        disk.chunks(SECTORS * 512).enumerate().map(|(n, band)| (n as u32 + 1, band)).collect();
    bands.retain(|(_, band)| band.iter().any(|byte| *byte != 0));
    bands.reverse();
    let (first, second) = bands.split_at(3);
    // The second node is behind all bands that the first one could have.
    let next = 4096 + 1008 * SECTORS * 512;
    let mut bytes =
        [&b"sprs"[..], &3u32.to_be_bytes(), &(SECTORS as u32).to_be_bytes(), &1u32.to_be_bytes()].concat();
    bytes.extend(((disk.len() / 512) as u32).to_be_bytes());
    bytes.extend((next as u64).to_be_bytes());
    bytes.extend(0u64.to_be_bytes());
    bytes.resize(64, 0);
    bytes.extend(first.iter().flat_map(|(number, _)| number.to_be_bytes()));
    bytes.resize(4096, 0);
    first.iter().for_each(|(_, band)| bytes.extend_from_slice(band));
    bytes.resize(next, 0);
    let mut node = [&b"sprs"[..], &1u32.to_be_bytes(), &0u32.to_be_bytes(), &0u64.to_be_bytes()].concat();
    node.resize(56, 0);
    node.extend(second.iter().flat_map(|(number, _)| number.to_be_bytes()));
    node.resize(4096, 0);
    bytes.extend(node);
    second.iter().for_each(|(_, band)| bytes.extend_from_slice(band));
    bytes
}

#[test]
fn sparse_images_are_read() {
    let image = sparse_image(&volume());
    has_the_file(&file(image.clone()));
    let mut damaged = image.clone();
    damaged[64..68].copy_from_slice(&5000u32.to_be_bytes());
    assert!(matches!(images::open(&file(damaged), None), Err(Error::Damaged { .. })));
    let mut cycle = image;
    cycle[20..28].fill(0);
    cycle[27] = 1;
    assert!(matches!(images::open(&file(cycle), None), Err(Error::Damaged { .. })));
}

/// The keys of an encrypted image, and its header: a passphrase unwraps them.
struct Encryption {
    aes: EncryptingKey,
    hmac: hmac::Key,
    header: Vec<u8>,
}

const CHUNK: usize = 512;
const DATA_OFFSET: usize = 122_880;

impl Encryption {
    fn new(bits: usize, passphrase: &str, data_size: usize) -> Self {
        let (key, hmac_key) = (noise(bits / 8, 5), noise(20, 6));
        let (salt, iv) = (noise(20, 7), noise(8, 8));
        let mut derived = [0; 24];
        let iterations = NonZeroU32::new(1000).unwrap();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA1, iterations, &salt, passphrase.as_bytes(), &mut derived);
        let mut blob = [&key[..], &hmac_key, b"CKIE\0"].concat();
        let padding = 8 - blob.len() % 8;
        blob.extend(vec![padding as u8; padding]);
        let mut cipher = cbc::Encryptor::<des::TdesEde3>::new_from_slices(&derived, &iv).unwrap();
        blob.as_chunks_mut::<8>().0.iter_mut().for_each(|block| cipher.encrypt_block(block.into()));

        let number = |value: u32| value.to_be_bytes().to_vec();
        let padded = |bytes: &[u8]| [bytes, &vec![0; 32 - bytes.len()]].concat();
        let mut header =
            [b"encrcdsa".to_vec(), number(2), number(16), number(5), number(0x8000_0001)].concat();
        header.extend(
            [number(bits as u32), number(91), number(160), vec![9; 16], number(CHUNK as u32)].concat(),
        );
        header.extend((data_size as u64).to_be_bytes());
        header.extend((DATA_OFFSET as u64).to_be_bytes());
        header.extend([number(1), number(1)].concat());
        header.extend(4096u64.to_be_bytes());
        header.extend(616u64.to_be_bytes());
        header.resize(4096, 0);
        header.extend([number(103), number(0), number(1000), number(20), padded(&salt)].concat());
        header.extend([number(8), padded(&iv), number(192), number(17), number(7), number(6)].concat());
        header.extend([number(blob.len() as u32), blob].concat());
        header.resize(DATA_OFFSET, 0);
        let algorithm = if bits == 128 { &AES_128 } else { &AES_256 };
        let aes = EncryptingKey::ecb(UnboundCipherKey::new(algorithm, &key).unwrap()).unwrap();
        Self { aes, hmac: hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &hmac_key), header }
    }

    /// AES in CBC mode by chunks.
    fn encrypted(&self, plain: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        for (number, chunk) in plain.chunks(CHUNK).enumerate() {
            let tag = hmac::sign(&self.hmac, &(number as u32).to_be_bytes());
            let mut before: Vec<u8> = tag.as_ref()[..16].to_vec();
            for block in chunk.chunks(16) {
                let mut mixed: Vec<u8> = block.iter().zip(&before).map(|(one, other)| one ^ other).collect();
                self.aes.encrypt(&mut mixed).unwrap();
                all.extend_from_slice(&mixed);
                before = mixed;
            }
        }
        all
    }
}

fn opened(source: &Source, passphrase: &str) -> Result<Vec<images::Volume>, Error> {
    images::open(source, Some(&Passphrase::new(passphrase.into())))
}

#[track_caller]
fn opens_with_the_passphrase_only(source: &Source) {
    assert!(matches!(images::open(source, None), Err(Error::Passphrase)));
    assert!(matches!(opened(source, "wrong"), Err(Error::Passphrase)));
    let volumes = opened(source, "correct horse").unwrap();
    let files = volumes[0].files.clone().unwrap();
    assert_eq!(read(files.as_ref(), find(files.as_ref(), "file").unwrap(), Fork::Data), b"in an image");
}

#[test]
fn encrypted_files_open_with_the_passphrase() {
    let disk = volume();
    for bits in [128, 256] {
        let encryption = Encryption::new(bits, "correct horse", disk.len());
        let image = [encryption.header.clone(), encryption.encrypted(&disk)].concat();
        opens_with_the_passphrase_only(&file(image));
        let sparse = sparse_image(&disk);
        let encryption = Encryption::new(bits, "correct horse", sparse.len());
        opens_with_the_passphrase_only(&file(
            [encryption.header.clone(), encryption.encrypted(&sparse)].concat(),
        ));
    }
}

/// An image has up to 64 keys: each with as many iterations as one may have, a passphrase would take minutes.
#[test]
fn the_limit_of_iterations_is_one_of_all_keys() {
    let disk = volume();
    let encryption = Encryption::new(128, "correct horse", disk.len());
    let mut image = [encryption.header.clone(), encryption.encrypted(&disk)].concat();
    let (keys, first, second, length) = (72, 76, 8192, 616);
    image[keys + 3] = 2;
    image.copy_within(first..first + 20, first + 20);
    image[first + 24..first + 32].copy_from_slice(&(second as u64).to_be_bytes());
    image.copy_within(4096..4096 + length, second);
    image[second + 8..second + 12].copy_from_slice(&4_000_000u32.to_be_bytes());
    assert!(opened(&file(image.clone()), "correct horse").is_ok());
    assert!(matches!(opened(&file(image), "wrong"), Err(Error::NotSupported(_))));
}

#[test]
fn encrypted_bundles_open_with_the_passphrase() {
    let disk = volume();
    let encryption = Encryption::new(128, "correct horse", disk.len());
    let mut bundle = bundle(&encryption.encrypted(&disk), 20_480);
    bundle.0.insert("token".into(), encryption.header.clone());
    // A band that was never written is no part of the encrypted data.
    assert!(bundle.0.remove("bands/19").is_some());
    let source = source(bundle);
    opens_with_the_passphrase_only(&source);
}

/// A UDIF image with one table, whose runs are compressed in different ways.
pub(crate) fn udif(disk: &[u8]) -> Vec<u8> {
    const RUN: usize = 32 * 512;
    let (mut data, mut entries) = (Vec::new(), Vec::new());
    for (number, run) in disk.chunks(RUN).enumerate() {
        let (kind, stored) = match number % 3 {
            _ if run.iter().all(|byte| *byte == 0) => (0u32, Vec::new()),
            0 => (1, run.to_vec()),
            _ => (0x8000_0005, zlib(run)),
        };
        entries.push(run_entry(kind, number * RUN / 512, run.len() / 512, data.len(), stored.len()));
        data.extend(stored);
    }
    entries.push(run_entry(0xFFFF_FFFF, disk.len() / 512, 0, data.len(), 0));
    with_trailer(data, &table(&entries, disk.len() / 512), disk.len() / 512)
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut stream = flate2::Compress::new(flate2::Compression::fast(), true);
    let mut output = vec![0; bytes.len() + 1024];
    stream.compress(bytes, &mut output, flate2::FlushCompress::Finish).unwrap();
    output.truncate(stream.total_out() as usize);
    output
}

fn run_entry(kind: u32, start: usize, sectors: usize, offset: usize, length: usize) -> Vec<u8> {
    let mut entry = [kind.to_be_bytes(), [0; 4]].concat();
    [start, sectors, offset, length].into_iter().for_each(|value| entry.extend((value as u64).to_be_bytes()));
    entry
}

fn table(entries: &[Vec<u8>], sectors: usize) -> Vec<u8> {
    let mut table =
        [&b"mish"[..], &1u32.to_be_bytes(), &0u64.to_be_bytes(), &(sectors as u64).to_be_bytes()].concat();
    table.resize(200, 0);
    table.extend((entries.len() as u32).to_be_bytes());
    table.extend(entries.concat());
    table
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let of = |chunk: &[u8]| {
        let bits = chunk.iter().chain(&[0; 2]).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        (0..4)
            .map(|at| {
                if at > chunk.len() { '=' } else { char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63]) }
            })
            .collect::<String>()
    };
    bytes.chunks(3).map(of).collect()
}

fn with_trailer(data: Vec<u8>, table: &[u8], sectors: usize) -> Vec<u8> {
    let list = format!(
        "<?xml version=\"1.0\"?>\n<plist version=\"1.0\"><dict><key>resource-fork</key><dict><key>blkx</key><array><dict>\
         <key>Attributes</key><string>0x0050</string><key>Data</key><data>\n{}\n</data><key>ID</key><string>0</string>\
         <key>Name</key><string>whole disk</string></dict></array></dict></dict></plist>",
        base64(table)
    );
    let mut crc = flate2::Crc::new();
    crc.update(&data);
    let mut trailer =
        [&b"koly"[..], &4u32.to_be_bytes(), &512u32.to_be_bytes(), &1u32.to_be_bytes()].concat();
    [0, 0, data.len() as u64, 0, 0].into_iter().for_each(|value| trailer.extend(value.to_be_bytes()));
    trailer.extend([1u32, 1].into_iter().flat_map(u32::to_be_bytes));
    trailer.extend([7; 16]);
    trailer.extend([2, 32, crc.sum()].into_iter().flat_map(u32::to_be_bytes));
    trailer.resize(216, 0);
    trailer.extend((data.len() as u64).to_be_bytes());
    trailer.extend((list.len() as u64).to_be_bytes());
    trailer.resize(488, 0);
    trailer.extend(1u32.to_be_bytes());
    trailer.extend((sectors as u64).to_be_bytes());
    trailer.resize(512, 0);
    [data, list.into_bytes(), trailer].concat()
}

#[test]
fn udif_images_are_read_and_their_checksums_compared() {
    let image = udif(&volume());
    assert!(image.len() < volume().len() / 4);
    let source = file(image.clone());
    has_the_file(&source);
    assert_eq!(lines(&check(&source).1), [""; 0]);
    let mut damaged = image;
    damaged[20] ^= 1; // in the first run, which is not compressed
    assert_eq!(
        lines(&check(&file(damaged)).1),
        ["data of the disk image: its CRC-32 is another one than the trailer says"]
    );
}

#[test]
fn runs_of_udif_stay_within_disk_and_file() {
    let trailer = |entry: Vec<u8>| file(with_trailer(vec![1; 4096], &table(&[entry], 100), 100));
    for (entry, is_sound) in [
        (run_entry(1, 0, 8, 0, 4096), true),
        (run_entry(1, 99, 2, 0, 4096), false),
        (run_entry(1, 0, 8, 1 << 40, 4096), false),
        (run_entry(0x8000_0005, 0, 8, 0, usize::MAX), false),
        (run_entry(2, usize::MAX, 2, 0, 0), false),
    ] {
        assert_eq!(images::open(&trailer(entry), None).is_ok(), is_sound);
    }
    let unknown = images::open(&trailer(run_entry(0x8000_0099, 0, 8, 0, 4096)), None);
    assert!(matches!(unknown, Err(Error::NotSupported(_))));
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A disk with both GUID partition tables, and the volume from sector 40 on.
pub(crate) fn gpt(volume: &[u8]) -> Vec<u8> {
    const HFS_PLUS: [u8; 16] =
        [0, 0x53, 0x46, 0x48, 0, 0, 0xAA, 0x11, 0xAA, 0x11, 0, 0x30, 0x65, 0x43, 0xEC, 0xAC];
    let sectors = 40 + volume.len() / 512 + 40;
    let mut disk = vec![0; sectors * 512];
    disk[510..512].copy_from_slice(&[0x55, 0xAA]);
    disk[446 + 4] = 0xEE;
    disk[40 * 512..40 * 512 + volume.len()].copy_from_slice(volume);
    let mut entry = [HFS_PLUS, [5; 16]].concat();
    entry.extend(40u64.to_le_bytes());
    entry.extend((40 + volume.len() as u64 / 512 - 1).to_le_bytes());
    entry.extend(0u64.to_le_bytes());
    "disk image".encode_utf16().for_each(|unit| entry.extend(unit.to_le_bytes()));
    entry.resize(128 * 128, 0);
    let last = sectors - 1;
    for (own, other, entries) in [(1, last, 2), (last, 1, last - 32)] {
        let mut header =
            [&b"EFI PART"[..], &0x1_0000u32.to_le_bytes(), &92u32.to_le_bytes(), &[0; 8]].concat();
        [own, other, 34, sectors - 34]
            .into_iter()
            .for_each(|value| header.extend((value as u64).to_le_bytes()));
        header.extend([6; 16]);
        header.extend((entries as u64).to_le_bytes());
        header.extend([128, 128, crc(&entry)].into_iter().flat_map(u32::to_le_bytes));
        let sum = crc(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        disk[own * 512..own * 512 + header.len()].copy_from_slice(&header);
        disk[entries * 512..entries * 512 + entry.len()].copy_from_slice(&entry);
    }
    disk
}

#[test]
fn both_guid_partition_tables_are_checked() {
    let disk = gpt(&volume());
    has_the_file(&file(disk.clone()));
    assert_eq!(lines(&check(&file(disk.clone())).1), [""; 0]);
    let last = disk.len() - 512;
    for (at, wanted) in [
        (512 + 20, "GPT header: its checksum is wrong"),
        (512, "GPT header: it has no signature"),
        (1024 + 60, "GPT header: the checksum of its entries is wrong"),
        (last + 20, "backup GPT header: its checksum is wrong"),
        (last - 32 * 512 + 60, "backup GPT header: the checksum of its entries is wrong"),
    ] {
        let mut damaged = disk.clone();
        damaged[at] ^= 1;
        let source = file(damaged);
        has_the_file(&source);
        assert_eq!(lines(&check(&source).1), [wanted]);
    }
}

#[test]
fn a_volume_without_both_headers_is_named_by_the_map() {
    let mut disk = gpt(&volume());
    let start = 40 * 512;
    disk[start + 1024..start + 1536].fill(0);
    let end = start + volume().len();
    disk[end - 1024..end].fill(0);
    let source = file(disk);
    assert_eq!(
        lines(&check(&source).1),
        [
            "volume header: it has no signature of HFS+",
            "alternate volume header: it has no signature of HFS+"
        ]
    );
    let volumes = images::open(&source, None).unwrap();
    assert!(matches!(volumes[0].files, Err(Error::Damaged { .. })));
}

#[test]
fn apples_partition_map_is_read() {
    let volume = volume();
    let mut disk = vec![0; 64 * 512];
    disk[..4].copy_from_slice(b"ER\x02\x00");
    let entry = |count: u32, start: u32, blocks: u32, name: &str, kind: &str| {
        let mut entry =
            [&b"PM\0\0"[..], &count.to_be_bytes(), &start.to_be_bytes(), &blocks.to_be_bytes()].concat();
        entry.extend(name.bytes().chain(std::iter::repeat(0)).take(32));
        entry.extend(kind.bytes().chain(std::iter::repeat(0)).take(32));
        entry
    };
    let blocks = (volume.len() / 512) as u32;
    for (at, entry) in [
        (512, entry(2, 1, 63, "Apple", "Apple_partition_map")),
        (1024, entry(2, 64, blocks, "disk image", "Apple_HFS")),
    ] {
        disk[at..at + entry.len()].copy_from_slice(&entry);
    }
    disk.extend(&volume);
    has_the_file(&file(disk.clone()));
    disk[1024] = 0;
    let problems = check(&file(disk)).1;
    assert_eq!(lines(&problems), ["entry 2 of Apple's partition map: it has no signature"]);
}

#[test]
fn master_boot_records_and_extended_ones_are_read() {
    let volume = volume();
    let mut disk = vec![0; 200 * 512];
    let mut entry = |sector: usize, number: usize, kind: u8, start: u32, sectors: u32| {
        let at = sector * 512 + 446 + 16 * number;
        disk[at + 4] = kind;
        disk[at + 8..at + 12].copy_from_slice(&start.to_le_bytes());
        disk[at + 12..at + 16].copy_from_slice(&sectors.to_le_bytes());
        disk[sector * 512 + 510..sector * 512 + 512].copy_from_slice(&[0x55, 0xAA]);
    };
    let sectors = (volume.len() / 512) as u32;
    entry(0, 0, 0x05, 63, 137 + sectors);
    entry(63, 1, 0x05, 10, 127 + sectors);
    entry(73, 0, 0xAF, 127, sectors);
    disk.extend(&volume);
    has_the_file(&file(disk.clone()));
    // A chain that leads back to its first record ends.
    let at = 73 * 512 + 446 + 16;
    disk[at + 4] = 0x05;
    disk[at + 8..at + 16].copy_from_slice(&[10, 0, 0, 0, 1, 0, 0, 0]);
    assert!(lines(&check(&file(disk)).1).iter().any(|line| line.contains("its chain does not end")));
}

#[test]
fn a_partition_beyond_the_disk_is_reported() {
    let mut disk = gpt(&volume());
    disk.truncate(60 * 512);
    let problems = lines(&check(&file(disk)).1);
    assert!(
        problems.iter().any(|line| line.contains("partition “disk image”: it ends beyond")),
        "{problems:?}"
    );
}

#[test]
fn ranges_beyond_the_end_are_damage() {
    let bytes = vec![1u8; 10];
    let mut buffer = [0; 5];
    assert!(bytes.read_at(5, &mut buffer).is_ok());
    for offset in [6, u64::MAX] {
        assert!(matches!(bytes.read_at(offset, &mut buffer), Err(Error::Damaged { .. })));
    }
}
