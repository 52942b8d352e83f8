//! What crates/iscsi/src/wire/scsi has for commands that move and manage blocks. The first byte of an input says what the
//! others are.

use iscsi::wire::scsi::*;
use wire::{Malformed, Reader, Writer};

/// Decodes `$bytes` as `$type`: what it says does not depend on what is behind the command, and needs all of it.
macro_rules! command {
    ($bytes:expr, $type:ty) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($bytes)) {
            let length = length($bytes[0]);
            assert_eq!(<$type>::decode(&mut Reader::new(&$bytes[..length])), Ok(value));
        }
    };
}

/// Descriptor blocks, lists and answers.
pub fn blocks(input: &[u8]) {
    let Some((&selector, bytes)) = input.split_first() else { return };
    match selector {
        0 => command!(bytes, Access),
        1 => command!(bytes, ReadCommand),
        2 => command!(bytes, WriteCommand),
        3 => command!(bytes, CacheRange),
        4 => command!(bytes, Verify),
        5 => command!(bytes, WriteSame),
        6 => command!(bytes, Unmap),
        7 => command!(bytes, GetLbaStatus),
        8 => _ = CompareAndWrite::decode(&mut Reader::new(bytes)),
        9 => defects(bytes),
        10 => statuses(bytes),
        _ => ranges(bytes),
    }
}

/// How long a command is, SPC-4 4.2.5.1.
fn length(opcode: u8) -> usize {
    match opcode >> 5 {
        0 => 6,
        1 | 2 => 10,
        4 => 16,
        5 => 12,
        other => panic!("a command of the group {other} was decoded"),
    }
}

fn defects(bytes: &[u8]) {
    let Ok(command) = ReadDefectData::decode(&mut Reader::new(bytes)) else { return };
    let mut w = Writer::new();
    command.encode_empty(&mut w);
    assert_eq!(w.len(), if command.long { 8 } else { 4 });
}

/// A list that is made of the input tells its own length.
fn statuses(bytes: &[u8]) {
    let list: Vec<LbaStatus> = bytes
        .chunks_exact(13)
        .map(|chunk| LbaStatus {
            lba: u64::from_be_bytes(chunk[..8].try_into().unwrap()),
            count: u32::from_be_bytes(chunk[8..12].try_into().unwrap()),
            provisioning: if chunk[12] & 1 == 0 { Provisioning::Mapped } else { Provisioning::Deallocated },
        })
        .collect();
    let mut w = Writer::new();
    LbaStatus::encode_list(&list, &mut w);
    assert_eq!(Reader::new(w.as_bytes()).u32_be().map(|length| length as usize + 4), Ok(w.len()));
    assert_eq!(w.len(), LBA_STATUS_HEADER + list.len() * LBA_STATUS_DESCRIPTOR);
}

/// No more ranges than there are bytes for.
fn ranges(bytes: &[u8]) {
    let list: Result<_, Malformed> = UnmapRange::decode_list(&mut Reader::new(bytes));
    if let Ok(list) = list {
        assert!(UNMAP_HEADER + 16 * list.len() <= bytes.len());
    }
}
