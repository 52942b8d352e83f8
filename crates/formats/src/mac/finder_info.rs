//! The Finder's 32 bytes.

use std::fmt;

use super::bits::FinderFlags;
use super::time::{UNSET_2000, from_2000, to_2000};
use crate::Time;

/// The Finder's 32 bytes about a file (`FInfo`, `FXInfo`) or a folder (`DInfo`, `DXInfo`), big-endian, kept as they
/// are: unnamed bytes survive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FinderInfo([u8; FinderInfo::LEN]);

impl FinderInfo {
    /// Its size.
    pub const LEN: usize = 32;
    /// All zero, which means "none".
    pub const NONE: Self = Self([0; Self::LEN]);

    /// From the 32 bytes.
    pub fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// From however many of the 32 bytes there are; missing ones are zero, further ones ignored.
    pub fn from_prefix(bytes: &[u8]) -> Self {
        let mut info = [0; Self::LEN];
        let len = bytes.len().min(Self::LEN);
        info[..len].copy_from_slice(&bytes[..len]);
        Self(info)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// Whether it says nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// A file's type, such as `TEXT`.
    pub fn file_type(&self) -> [u8; 4] {
        self.array(0)
    }

    /// A file's creator, such as `ttxt`.
    pub fn creator(&self) -> [u8; 4] {
        self.array(4)
    }

    /// Sets a file's type and creator.
    pub fn set_type(&mut self, file_type: [u8; 4], creator: [u8; 4]) {
        self.put(0, file_type);
        self.put(4, creator);
    }

    /// Whether it marks a symbolic link whose target is the data fork.
    pub fn is_symlink(&self) -> bool {
        self.file_type() == *b"slnk" && self.creator() == *b"rhap"
    }

    /// The Finder flags, label bits included.
    pub fn flags(&self) -> FinderFlags {
        FinderFlags(u16::from_be_bytes(self.array(8)))
    }

    /// Sets the Finder flags, label bits included.
    pub fn set_flags(&mut self, flags: FinderFlags) {
        self.put(8, flags.0.to_be_bytes());
    }

    /// The colour label, 0 (none) to 7.
    pub fn label(&self) -> u8 {
        (self.0[9] >> 1) & 7
    }

    /// Sets the colour label; only the low three bits count.
    pub fn set_label(&mut self, label: u8) {
        self.0[9] = self.0[9] & !0x0E | (label & 7) << 1;
    }

    /// When it came into its folder; files and folders keep it at the same place. Zero is "unknown".
    pub fn date_added(&self) -> Option<Time> {
        match i32::from_be_bytes(self.array(20)) {
            0 => None,
            seconds => from_2000(seconds),
        }
    }

    /// Sets or clears when it came into its folder.
    pub fn set_date_added(&mut self, added: Option<Time>) {
        let seconds = to_2000(added);
        self.put(20, if seconds == UNSET_2000 { 0 } else { seconds }.to_be_bytes());
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut out = [0; N];
        out.copy_from_slice(&self.0[at..at + N]);
        out
    }

    fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        self.0[at..at + N].copy_from_slice(&bytes);
    }
}

impl fmt::Debug for FinderInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FinderInfo(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_red_tag_is_0x0c_in_byte_nine() {
        let mut info = FinderInfo::NONE;
        info.set_flags(FinderFlags::IS_INVISIBLE | FinderFlags::HAS_BEEN_INITED);
        info.set_label(6);
        assert_eq!(info.as_bytes()[8..10], [0x41, 0x0C]);
        assert_eq!(info.label(), 6);
        info.set_label(0);
        assert_eq!(info.flags().0, 0x4100);
    }

    #[test]
    fn fields_lie_where_inside_macintosh_puts_them() {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(b"TEXTttxt");
        bytes[20..24].copy_from_slice(&1_i32.to_be_bytes());
        let info = FinderInfo::new(bytes);
        assert_eq!((&info.file_type(), &info.creator()), (b"TEXT", b"ttxt"));
        assert_eq!(info.date_added(), Some(Time { secs: 946_684_801, nanos: 0 }));
    }

    #[test]
    fn all_zero_is_none_and_setting_back_returns_to_it() {
        let mut info = FinderInfo::NONE;
        assert!(info.is_none());
        info.set_date_added(Some(Time { secs: 1_700_000_000, nanos: 5 }));
        assert_eq!(info.date_added(), Some(Time { secs: 1_700_000_000, nanos: 0 }));
        info.set_date_added(None);
        assert!(info.is_none());
    }

    #[test]
    fn a_short_record_reads_as_if_zero_followed() {
        let info = FinderInfo::from_prefix(b"slnkrhap");
        assert!(info.is_symlink());
        assert!(FinderInfo::from_prefix(&[]).is_none());
    }
}
