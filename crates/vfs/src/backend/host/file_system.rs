//! The numbers of file systems: the same after a restart, through each mount and at each other place.
//!
//! A number is made of the UUID on the disk, in the way in which Linux makes the ids that statfs(2) reports of most file
//! systems. So it stays the same when a newer kernel tells the UUID itself.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use lock::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Getter, ioctl, opcode};
use siphasher::sip::SipHasher24;

use super::{failure, handle, mounts};
use crate::backend::Limits;
use crate::ranks;
use crate::{FileId, Result};

type Uuid = [u8; 16];

/// linux/magic.h. Kernels before 6.9 do not tell the UUIDs of these, and report other ids, too: XFS the device number,
/// btrfs a number for each subvolume.
const BTRFS: u64 = 0x9123_683e;
const XFS: u64 = 0x5846_5342;
/// The file systems of disks and of memory, linux/magic.h: ext4, tmpfs, overlayfs, F2FS, bcachefs and, of OpenZFS, ZFS.
const LOCAL: [u64; 8] = [BTRFS, XFS, 0xef53, 0x0102_1994, OVERLAY, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1];
/// Two of its files may tell one number: names of one file below that were not written yet.
const OVERLAY: u64 = 0x794c_7630;

/// The device that has a number.
static DEVICES: Mutex<BTreeMap<u64, u32>, ranks::HostDevices> = Mutex::new(BTreeMap::new());

/// Whether it is one that asks no other machine and no other process.
pub(super) fn is_local(at: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(at).is_ok_and(|found| LOCAL.contains(&(found.f_type as u64 & 0xffff_ffff)))
}

/// Whether it is one of those, whose inodes have numbers of their own while they are in use.
pub(super) fn is_numbered(at: BorrowedFd<'_>) -> bool {
    let kind = rustix::fs::fstatfs(at).map(|found| found.f_type as u64 & 0xffff_ffff);
    kind.is_ok_and(|kind| kind != OVERLAY && LOCAL.contains(&kind))
}

/// What files on the file system of a folder can be.
pub(super) fn limits(root: BorrowedFd<'_>) -> Result<Limits> {
    const EXT4: i64 = 0xef53;
    const XFS: i64 = 0x5846_5342;
    let fs = rustix::fs::fstatfs(root).map_err(failure::of("fstatfs", root))?;
    let name = u32::try_from(fs.f_namelen).unwrap_or(255);
    let (file_size, links, xattr) = match fs.f_type as i64 {
        EXT4 => (16 * (1 << 40) - 4096, 65_000, 4000),
        XFS => (i64::MAX as u64, i32::MAX as u32, 65_536),
        _ => (i64::MAX as u64, 65_000, 4000),
    };
    Ok(Limits { name, file_size, links, xattr, time_step_ns: 1 })
}

/// The number of the file system that an open file is on, never 0. Without a UUID, it is made of the id that the host
/// reports, else of the device number.
pub(super) fn number(at: BorrowedFd<'_>) -> Result<u64> {
    let kind = rustix::fs::fstatfs(at).map_err(failure::of("fstatfs", at))?.f_type as u64;
    let stat = super::stat(at)?;
    let device = FileId::device_of(stat.stx_dev_major, stat.stx_dev_minor);
    match uuid(at, kind) {
        // The subvolumes of one btrfs have device numbers of their own, and Linux mounts no copy of it beside it.
        Some(uuid) if kind == BTRFS => Ok(folded(&uuid).max(1)),
        Some(uuid) => unlike_others(folded(&uuid).max(1), device),
        None => reported(at, device),
    }
}

/// The number by the id that the host reports, which also tells subvolumes apart. `at` may be open as a path only.
pub(super) fn reported(at: BorrowedFd<'_>, device: u32) -> Result<u64> {
    match handle::file_system_id(at)? {
        0 => Ok(u64::from(device).max(1)),
        id => unlike_others(id, device),
    }
}

/// A copy of a disk (a snapshot of LVM) has the same UUID. While both are mounted, the second one has another number.
fn unlike_others(id: u64, device: u32) -> Result<u64> {
    let mut devices = DEVICES.lock();
    let known = *devices.entry(id).or_insert(device);
    if known == device {
        return Ok(id);
    }
    if mounts::places_of(known)?.iter().any(|place| may_have(place, known, id)) {
        let both = [id.to_be_bytes(), u64::from(device).to_be_bytes()].concat();
        return Ok(SipHasher24::new().hash(&both).max(1));
    }
    devices.insert(id, device);
    Ok(id)
}

/// Whether the file system that is mounted at this place may be the one with this id. The device number may have gone to
/// another one meanwhile.
fn may_have(place: &Path, device: u32, id: u64) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let own = || {
        let root = rustix::fs::open(place, flags, Mode::empty()).ok()?;
        let stat = super::stat(root.as_fd()).ok()?;
        let is_it = FileId::device_of(stat.stx_dev_major, stat.stx_dev_minor) == device;
        let kind = rustix::fs::fstatfs(&root).ok()?.f_type as u64;
        let own = match uuid(root.as_fd(), kind) {
            Some(uuid) => folded(&uuid).max(1),
            None => handle::file_system_id(root.as_fd()).ok()?,
        };
        is_it.then_some(own) // else another one hides it
    };
    own().is_none_or(|own| own == id)
}

/// uuid_to_fsid() of linux/statfs.h.
fn folded(uuid: &Uuid) -> u64 {
    let (low, high) = uuid.split_at(8);
    low.iter().zip(high).rev().fold(0, |folded, (low, high)| folded << 8 | u64::from(low ^ high))
}

#[repr(C)]
struct FsUuid {
    length: u8,
    uuid: Uuid,
}

/// `xfs_fsop_geom_v1`.
#[repr(C)]
struct XfsGeometry {
    sizes: [u64; 8],
    uuid: Uuid,
    more: [u64; 4],
}

/// `btrfs_ioctl_fs_info_args`.
#[repr(C)]
struct BtrfsInfo {
    devices: [u64; 2],
    uuid: Uuid,
    more: [u64; 124],
}

fn uuid(at: BorrowedFd<'_>, kind: u64) -> Option<Uuid> {
    of_kernel(at).or_else(|| of_kind(at, kind)).filter(|uuid| *uuid != Uuid::default())
}

/// FS_IOC_GETFSUUID, since Linux 6.9.
#[allow(unsafe_code)]
fn of_kernel(at: BorrowedFd<'_>) -> Option<Uuid> {
    type Ask = Getter<{ opcode::read::<FsUuid>(0x15, 0) }, FsUuid>;
    // SAFETY: the kernel fills a structure of the size that is part of the request's number.
    let told = unsafe { ioctl(at, Ask::new()) }.ok()?;
    (usize::from(told.length) == size_of::<Uuid>()).then_some(told.uuid)
}

/// XFS_IOC_FSGEOMETRY_V1 and BTRFS_IOC_FS_INFO.
#[allow(unsafe_code)]
fn of_kind(at: BorrowedFd<'_>, kind: u64) -> Option<Uuid> {
    type AskXfs = Getter<{ opcode::read::<XfsGeometry>(b'X', 100) }, XfsGeometry>;
    type AskBtrfs = Getter<{ opcode::read::<BtrfsInfo>(0x94, 31) }, BtrfsInfo>;
    // SAFETY: the kernel fills a structure of the size that is part of the request's number.
    unsafe {
        match kind {
            XFS => ioctl(at, AskXfs::new()).ok().map(|told| told.uuid),
            BTRFS => ioctl(at, AskBtrfs::new()).ok().map(|told| told.uuid),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn requests_have_the_sizes_of_linux() {
        assert_eq!((size_of::<FsUuid>(), size_of::<XfsGeometry>(), size_of::<BtrfsInfo>()), (17, 112, 1024));
    }

    #[test]
    fn a_uuid_is_folded_as_linux_does() {
        let uuid = [1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80];
        assert_eq!(folded(&uuid), 0x8877_6655_4433_2211);
    }

    fn run(program: &str, words: &[&Path]) -> bool {
        Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
    }

    /// Mounts a new file system while `check` runs. Prints a message if that is impossible.
    fn mounted(kind: &str, check: impl Fn(BorrowedFd<'_>, &Path)) {
        let dir = tempfile::tempdir().unwrap();
        let (image, place) = (dir.path().join("image"), dir.path().join("place"));
        std::fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        std::fs::create_dir(&place).unwrap();
        let options = [Path::new("-o"), Path::new("loop"), &image, &place];
        if !run(&format!("mkfs.{kind}"), &[Path::new("-q"), &image]) || !run("mount", &options) {
            println!("skipped: no {kind} or no loop device");
            return;
        }
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(std::fs::File::open(&place).unwrap().as_fd(), &place);
        }));
        assert!(run("umount", &[Path::new("-l"), &place]));
        checked.unwrap();
    }

    #[test]
    fn old_and_new_kernels_tell_the_same() {
        let kinds = [("ext4", 0xef53), ("xfs", XFS), ("btrfs", BTRFS)];
        for (kind, magic) in kinds {
            mounted(kind, |at, _| {
                assert_eq!(rustix::fs::fstatfs(at).unwrap().f_type as u64, magic);
                let (new, number) = (of_kernel(at), number(at).unwrap());
                match of_kind(at, magic) {
                    Some(old) => assert!(new.is_none_or(|new| new == old), "{kind}"),
                    None => assert_eq!(handle::file_system_id(at).unwrap(), number, "{kind}"),
                }
                assert_eq!(number, folded(&uuid(at, magic).unwrap()), "{kind}");
            });
        }
    }
}
