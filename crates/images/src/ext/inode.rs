//! Inodes.

use formats::{Kind, Time};

use crate::{Result, decode};

/// The data are mapped by extents.
const EXTENTS: u32 = 0x8_0000;
/// The data are in the inode itself.
const INLINE: u32 = 0x1000_0000;
/// Bytes of an inode that every revision has.
const OLD: usize = 128;

/// An inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inode {
    pub(super) number: u32,
    pub(super) place: u64,
    pub(super) mode: u16,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) links: u16,
    pub(super) size: u64,
    flags: u32,
    /// The map of its blocks, or the target of a short link.
    pub(super) map: [u8; 60],
    pub(super) accessed: Time,
    pub(super) changed: Time,
    pub(super) modified: Time,
    pub(super) created: Option<Time>,
}

impl Inode {
    pub(super) fn read(number: u32, place: u64, bytes: &[u8]) -> Result<Self> {
        let mut inode = decode("inode of ext4", place, bytes, |r| {
            let (mode, low_user, low_size) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
            let (accessed, changed, modified) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
            r.skip(4)?; // when it was removed
            let (low_group, links) = (r.u16_le()?, r.u16_le()?);
            r.skip(4)?; // blocks
            let flags = r.u32_le()?;
            r.skip(4)?;
            let map: [u8; 60] = r.array()?;
            r.skip(8)?; // generation, attributes
            let high_size = r.u32_le()?;
            r.skip(8)?; // fragment, high parts of others
            let (high_user, high_group) = (r.u16_le()?, r.u16_le()?);
            r.skip(4)?;
            let at = |secs: u32| Time { secs: i64::from(secs as i32), nanos: 0 };
            Ok(Self {
                number,
                place,
                mode,
                user: u32::from(high_user) << 16 | u32::from(low_user),
                group: u32::from(high_group) << 16 | u32::from(low_group),
                links,
                size: u64::from(high_size) << 32 | u64::from(low_size),
                flags,
                map,
                accessed: at(accessed),
                changed: at(changed),
                modified: at(modified),
                created: None,
            })
        })?;
        if let Some(rest) = bytes.get(OLD..).filter(|rest| rest.len() >= 32) {
            inode.extend(rest, place)?;
        }
        Ok(inode)
    }

    /// The nanoseconds of times, and the time of creation.
    fn extend(&mut self, rest: &[u8], place: u64) -> Result<()> {
        let (length, changed, modified, accessed, created, created_more) =
            decode("inode of ext4", place + OLD as u64, rest, |r| {
                let length = r.u16_le()?;
                r.skip(2)?;
                Ok((length, r.u32_le()?, r.u32_le()?, r.u32_le()?, r.u32_le()?, r.u32_le()?))
            })?;
        if length < 24 {
            return Ok(());
        }
        self.changed = precise(self.changed, changed);
        self.modified = precise(self.modified, modified);
        self.accessed = precise(self.accessed, accessed);
        self.created = Some(precise(Time { secs: i64::from(created as i32), nanos: 0 }, created_more));
        Ok(())
    }

    pub(super) fn kind(&self) -> Kind {
        match self.mode & 0xF000 {
            0x8000 => Kind::File,
            0x4000 => Kind::Folder,
            0xA000 => Kind::Link,
            0x1000 => Kind::Fifo,
            0xC000 => Kind::Socket,
            0x2000 => Kind::CharDevice,
            _ => Kind::BlockDevice,
        }
    }

    pub(super) fn has_extents(&self) -> bool {
        self.flags & EXTENTS != 0
    }

    pub(super) fn is_inline(&self) -> bool {
        self.flags & INLINE != 0
    }
}

/// Two more bits of seconds, and nanoseconds.
fn precise(time: Time, more: u32) -> Time {
    Time { secs: time.secs + (i64::from(more & 3) << 32), nanos: (more >> 2).min(999_999_999) }
}
