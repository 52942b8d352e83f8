//! Information about the share's file system, MS-FSA 2.1.5.13.

use wire::Writer;

use super::Answer;
use crate::server::clients::open::Open;
use crate::server::clients::tree::Tree;
use crate::server::config::{Share, ShareKind};
use crate::server::connection::MAX_TRANSACT;
use crate::server::context::{Context, Failure};
use crate::wire::Status;
use crate::wire::fscc::FsClass;
use crate::wire::fscc::fs_info::{
    Control, Device, DeviceCharacteristics, FsAttribute, FsAttributes, FullSize, ObjectId, SectorFlags,
    SectorSize, Size, VolumeInfo,
};
use crate::wire::fscc::posix::FsPosix;
use crate::wire::text;

/// The sector size that clients see.
const SECTOR: u32 = 512;
/// The file system's name. Windows and other clients know the features of NTFS, and this server has
/// all of them.
const NAME: &str = "NTFS";
/// Longest name, in characters.
const LONGEST_NAME: u32 = 255;
/// The unit of space when the site has limited the share's size.
const LIMITED_UNIT: u32 = 1024;

/// The room that Windows requires for an answer that ends with a name: its structure with the
/// padding.
const VOLUME_LEN: usize = 24;
const ATTRIBUTE_LEN: usize = 16;

/// The answer of one class.
pub(super) fn answer(context: &Context, open: &Open, class: FsClass) -> Result<Answer, Failure> {
    let tree = context.tree();
    let share = &tree.share;
    let ShareKind::Disk { volume, serial, created } = &share.kind else {
        return Err(Status::INVALID_DEVICE_REQUEST.into());
    };
    let root = volume.root()?.object;
    // The space of the file system that the open is on.
    let at = open.file().map_or(&root, |file| file.open.node());
    let (caller, mut w) = (context.caller(), Writer::new());
    match class {
        FsClass::VOLUME => {
            let label = text::of(&share.name);
            let (creation_time, serial_number) = ((*created).into(), *serial as u32);
            VolumeInfo { creation_time, serial_number, supports_objects: false, label }.encode(&mut w);
            return Ok(Answer::open_ended(w.into_bytes(), VOLUME_LEN));
        }
        FsClass::ATTRIBUTE => {
            let name = text::of(NAME);
            let maximum_name_len = LONGEST_NAME;
            FsAttribute { attributes: attributes(tree), maximum_name_len, name }.encode(&mut w);
            return Ok(Answer::open_ended(w.into_bytes(), ATTRIBUTE_LEN));
        }
        FsClass::SIZE => {
            let (total, free, unit) = units(share, (volume, &caller), at)?;
            size(total, free, unit).encode(&mut w);
        }
        FsClass::FULL_SIZE => {
            let (total, free, unit) = units(share, (volume, &caller), at)?;
            let full = FullSize {
                total_units: total,
                caller_available_units: free,
                actual_available_units: free,
                sectors_per_unit: unit / SECTOR,
                bytes_per_sector: SECTOR,
            };
            full.encode(&mut w);
        }
        FsClass::DEVICE => {
            let mut characteristics = DeviceCharacteristics::DEVICE_IS_MOUNTED;
            if tree.read_only {
                characteristics |= DeviceCharacteristics::READ_ONLY_DEVICE;
            }
            Device { device_type: Device::DISK, characteristics }.encode(&mut w);
        }
        FsClass::CONTROL => Control::default().encode(&mut w),
        FsClass::OBJECT_ID => {
            let mut object_id = [0; 16];
            object_id[..8].copy_from_slice(&serial.to_le_bytes());
            ObjectId { object_id, ..ObjectId::default() }.encode(&mut w);
        }
        FsClass::SECTOR_SIZE => {
            let unit = volume.space(at)?.block_size.max(SECTOR);
            let sectors = SectorSize {
                logical_bytes: SECTOR,
                physical_bytes_for_atomicity: unit,
                physical_bytes_for_performance: unit,
                effective_physical_bytes_for_atomicity: unit,
                flags: SectorFlags::NONE,
                offset_for_sector_alignment: 0,
                offset_for_partition_alignment: 0,
            };
            sectors.encode(&mut w);
        }
        FsClass::POSIX if is_posix(open) => posix(share, (volume, &caller), at, *serial)?.encode(&mut w),
        _ => return Err(Status::INVALID_INFO_CLASS.into()),
    }
    Ok(Answer::whole(w.into_bytes()))
}

fn is_posix(open: &Open) -> bool {
    open.file().is_ok_and(|file| file.is_posix)
}

/// The numbers of statfs(2).
fn posix(
    share: &Share,
    (volume, caller): (&vfs::Volume, &vfs::Caller),
    at: &vfs::Node,
    serial: u64,
) -> Result<FsPosix, Status> {
    let (total_blocks, blocks_available, block_size) = units(share, (volume, caller), at)?;
    let space = volume.space(at)?;
    Ok(FsPosix {
        optimal_transfer_size: MAX_TRANSACT,
        block_size,
        total_blocks,
        blocks_available,
        user_blocks_available: blocks_available,
        total_file_nodes: space.files,
        free_file_nodes: space.files_free,
        file_system_id: serial,
    })
}

fn size(total: u64, free: u64, unit: u32) -> Size {
    Size {
        total_units: total,
        available_units: free,
        sectors_per_unit: unit / SECTOR,
        bytes_per_sector: SECTOR,
    }
}

/// Total and available space, and the number of bytes in one unit. A share for backups may have
/// less than its file system.
fn units(
    share: &Share,
    (volume, caller): (&vfs::Volume, &vfs::Caller),
    at: &vfs::Node,
) -> Result<(u64, u64, u32), Status> {
    let limits = &share.options.size_limits;
    let (space, unit) = match share.options.time_machine && !limits.is_empty() {
        true => (volume.backup_bundles().space(caller, at, limits)?, LIMITED_UNIT),
        false => {
            let space = volume.space(at)?;
            (space, space.block_size.max(SECTOR))
        }
    };
    Ok((space.total / u64::from(unit), space.available / u64::from(unit), unit))
}

fn attributes(tree: &Tree) -> FsAttributes {
    let mut all = FsAttributes::CASE_PRESERVED_NAMES
        | FsAttributes::UNICODE_ON_DISK
        | FsAttributes::PERSISTENT_ACLS
        | FsAttributes::SUPPORTS_SPARSE_FILES
        | FsAttributes::SUPPORTS_REPARSE_POINTS
        | FsAttributes::SUPPORTS_HARD_LINKS
        | FsAttributes::SUPPORTS_EXTENDED_ATTRIBUTES;
    // Without named streams Macs keep metadata in separate files.
    if matches!(&tree.share.kind, ShareKind::Disk { volume, .. } if volume.keeps_streams()) {
        all |= FsAttributes::NAMED_STREAMS;
    }
    // For Windows this flag means that names can differ only in case, which NTFS supports.
    all |= FsAttributes::CASE_SENSITIVE_SEARCH;
    if tree.read_only {
        all |= FsAttributes::READ_ONLY_VOLUME;
    }
    all
}
