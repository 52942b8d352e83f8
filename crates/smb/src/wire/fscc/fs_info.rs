//! File system information, MS-FSCC 2.5.

use wire::{Malformed, Reader, Writer};

use crate::wire::text;
use crate::wire::time::NtTime;

/// FileFsVolumeInformation (1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VolumeInfo {
    pub creation_time: NtTime,
    pub serial_number: u32,
    pub supports_objects: bool,
    pub label: Vec<u16>,
}

impl VolumeInfo {
    /// What comes before the label's text.
    pub const FIXED_LEN: usize = 18;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (creation_time, serial_number) = (NtTime(r.u64_le()?), r.u32_le()?);
        let (label_len, supports_objects) = (r.u32_le()?, r.u8()? != 0);
        r.skip(1)?;
        let label = text::units(r, label_len as usize)?;
        Ok(Self { creation_time, serial_number, supports_objects, label })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u64_le(self.creation_time.0);
        w.u32_le(self.serial_number);
        w.u32_le(text::byte_len(&self.label));
        w.u8(u8::from(self.supports_objects));
        w.u8(0);
        text::put(w, &self.label);
    }
}

/// FileFsLabelInformation (2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Label {
    pub label: Vec<u16>,
}

impl Label {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { label: text::counted(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        text::put_counted(w, &self.label);
    }
}

wire::layout! {
    LittleEndian;
    /// FileFsSizeInformation (3).
    #[derive(Default)]
    pub struct Size {
        pub total_units: u64,
        pub available_units: u64,
        pub sectors_per_unit: u32,
        pub bytes_per_sector: u32,
    }

    /// FileFsDeviceInformation (4).
    #[derive(Default)]
    pub struct Device {
        pub device_type: u32,
        pub characteristics: DeviceCharacteristics,
    }
}

impl Device {
    /// FILE_DEVICE_DISK.
    pub const DISK: u32 = 7;
    /// FILE_DEVICE_NAMED_PIPE.
    pub const NAMED_PIPE: u32 = 0x11;
}

wire::bits! {
    /// Characteristics of FileFsDeviceInformation.
    pub DeviceCharacteristics: u32 {
        REMOVABLE_MEDIA = 0x01,
        READ_ONLY_DEVICE = 0x02,
        FLOPPY_DISKETTE = 0x04,
        WRITE_ONCE_MEDIA = 0x08,
        REMOTE_DEVICE = 0x10,
        DEVICE_IS_MOUNTED = 0x20,
        VIRTUAL_VOLUME = 0x40,
        DEVICE_SECURE_OPEN = 0x100,
    }
}

wire::bits! {
    /// FileSystemAttributes of FileFsAttributeInformation.
    pub FsAttributes: u32 {
        CASE_SENSITIVE_SEARCH = 0x0000_0001,
        CASE_PRESERVED_NAMES = 0x0000_0002,
        UNICODE_ON_DISK = 0x0000_0004,
        PERSISTENT_ACLS = 0x0000_0008,
        FILE_COMPRESSION = 0x0000_0010,
        VOLUME_QUOTAS = 0x0000_0020,
        SUPPORTS_SPARSE_FILES = 0x0000_0040,
        SUPPORTS_REPARSE_POINTS = 0x0000_0080,
        SUPPORTS_REMOTE_STORAGE = 0x0000_0100,
        VOLUME_IS_COMPRESSED = 0x0000_8000,
        SUPPORTS_OBJECT_IDS = 0x0001_0000,
        SUPPORTS_ENCRYPTION = 0x0002_0000,
        /// Without it macOS keeps to `._` files, and asks for no attributes in listings.
        NAMED_STREAMS = 0x0004_0000,
        READ_ONLY_VOLUME = 0x0008_0000,
        SEQUENTIAL_WRITE_ONCE = 0x0010_0000,
        SUPPORTS_TRANSACTIONS = 0x0020_0000,
        SUPPORTS_HARD_LINKS = 0x0040_0000,
        SUPPORTS_EXTENDED_ATTRIBUTES = 0x0080_0000,
        SUPPORTS_OPEN_BY_FILE_ID = 0x0100_0000,
        SUPPORTS_USN_JOURNAL = 0x0200_0000,
        SUPPORTS_INTEGRITY_STREAMS = 0x0400_0000,
        SUPPORTS_BLOCK_REFCOUNTING = 0x0800_0000,
        SUPPORTS_SPARSE_VDL = 0x1000_0000,
        SUPPORTS_POSIX_UNLINK_RENAME = 0x4000_0000,
    }
}

/// FileFsAttributeInformation (5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FsAttribute {
    pub attributes: FsAttributes,
    /// In characters.
    pub maximum_name_len: u32,
    /// `NTFS` to most clients, which look at it.
    pub name: Vec<u16>,
}

impl FsAttribute {
    /// What comes before the name's text.
    pub const FIXED_LEN: usize = 12;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (attributes, maximum_name_len) = (FsAttributes(r.u32_le()?), r.u32_le()?);
        Ok(Self { attributes, maximum_name_len, name: text::counted(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.attributes.0);
        w.u32_le(self.maximum_name_len);
        text::put_counted(w, &self.name);
    }
}

wire::layout! {
    LittleEndian;
    /// FileFsControlInformation (6): quotas.
    #[derive(Default)]
    pub struct Control {
        pub free_space_start_filtering: u64,
        pub free_space_threshold: u64,
        pub free_space_stop_filtering: u64,
        pub default_quota_threshold: u64,
        pub default_quota_limit: u64,
        pub flags: ControlFlags [4],
    }
}

wire::bits! {
    /// FileSystemControlFlags.
    pub ControlFlags: u32 {
        QUOTA_TRACK = 0x001,
        QUOTA_ENFORCE = 0x002,
        CONTENT_INDEX_DISABLED = 0x008,
        LOG_QUOTA_THRESHOLD = 0x010,
        LOG_QUOTA_LIMIT = 0x020,
        LOG_VOLUME_THRESHOLD = 0x040,
        LOG_VOLUME_LIMIT = 0x080,
        QUOTAS_INCOMPLETE = 0x100,
        QUOTAS_REBUILDING = 0x200,
    }
}

wire::layout! {
    LittleEndian;
    /// FileFsFullSizeInformation (7).
    #[derive(Default)]
    pub struct FullSize {
        pub total_units: u64,
        pub caller_available_units: u64,
        pub actual_available_units: u64,
        pub sectors_per_unit: u32,
        pub bytes_per_sector: u32,
    }

    /// FileFsObjectIdInformation (8). The 48 bytes of extended information are the server's own.
    #[derive(Default)]
    pub struct ObjectId {
        pub object_id: [u8; 16],
        pub extended: [[u8; 16]; 3],
    }
}

/// FileFsDriverPathInformation (9).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriverPath {
    pub driver_in_path: bool,
    pub name: Vec<u16>,
}

impl DriverPath {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let driver_in_path = r.u8()? != 0;
        r.skip(3)?;
        Ok(Self { driver_in_path, name: text::counted(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(u8::from(self.driver_in_path));
        w.zeros(3);
        text::put_counted(w, &self.name);
    }
}

wire::layout! {
    LittleEndian;
    /// FileFsVolumeFlagsInformation (10).
    #[derive(Default)]
    pub struct VolumeFlags {
        pub flags: u32,
    }

    /// FileFsSectorSizeInformation (11).
    #[derive(Default)]
    pub struct SectorSize {
        pub logical_bytes: u32,
        pub physical_bytes_for_atomicity: u32,
        pub physical_bytes_for_performance: u32,
        pub effective_physical_bytes_for_atomicity: u32,
        pub flags: SectorFlags,
        /// 0xFFFFFFFF: not known.
        pub offset_for_sector_alignment: u32,
        pub offset_for_partition_alignment: u32,
    }
}

wire::bits! {
    /// Flags of FileFsSectorSizeInformation.
    pub SectorFlags: u32 {
        ALIGNED_DEVICE = 0x1,
        PARTITION_ALIGNED_ON_DEVICE = 0x2,
        NO_SEEK_PENALTY = 0x4,
        TRIM_ENABLED = 0x8,
    }
}
