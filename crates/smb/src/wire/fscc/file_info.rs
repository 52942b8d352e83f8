//! File information of fixed length, MS-FSCC 2.4.

use super::FileAttributes;
use crate::wire::security::AccessMask;
use crate::wire::time::NtTime;

wire::layout! {
    LittleEndian;
    /// FileBasicInformation (4). When set, times may be special values, and attributes of 0 stay as they are.
    #[derive(Default)]
    pub struct Basic {
        pub creation_time: NtTime,
        pub last_access_time: NtTime,
        pub last_write_time: NtTime,
        pub change_time: NtTime,
        pub attributes: FileAttributes [4],
    }

    /// FileStandardInformation (5).
    #[derive(Default)]
    pub struct Standard {
        pub allocation_size: u64,
        pub end_of_file: u64,
        pub number_of_links: u32,
        pub delete_pending: bool,
        pub directory: bool [2],
    }

    /// FileInternalInformation (6).
    #[derive(Default)]
    pub struct Internal {
        pub index_number: u64,
    }

    /// FileEaInformation (7): the length of all extended attributes; a reparse point has its tag here instead.
    #[derive(Default)]
    pub struct Ea {
        pub ea_size: u32,
    }

    /// FileAccessInformation (8): what the open was granted.
    #[derive(Default)]
    pub struct FileAccess {
        pub access: AccessMask,
    }

    /// FileDispositionInformation (13).
    #[derive(Default)]
    pub struct Disposition {
        pub delete_pending: bool,
    }

    /// FileDispositionInformationEx (64).
    #[derive(Default)]
    pub struct DispositionEx {
        pub flags: DispositionFlags,
    }
}

wire::bits! {
    /// Flags of FileDispositionInformationEx.
    pub DispositionFlags: u32 {
        DELETE = 0x01,
        POSIX_SEMANTICS = 0x02,
        FORCE_IMAGE_SECTION_CHECK = 0x04,
        ON_CLOSE = 0x08,
        IGNORE_READONLY_ATTRIBUTE = 0x10,
    }
}

wire::layout! {
    LittleEndian;
    /// FilePositionInformation (14).
    #[derive(Default)]
    pub struct FilePosition {
        pub current_byte_offset: u64,
    }

    /// FileModeInformation (16).
    #[derive(Default)]
    pub struct Mode {
        pub mode: ModeFlags,
    }
}

wire::bits! {
    /// Mode of FileModeInformation; the bits are those of CreateOptions.
    pub ModeFlags: u32 {
        WRITE_THROUGH = 0x0000_0002,
        SEQUENTIAL_ONLY = 0x0000_0004,
        NO_INTERMEDIATE_BUFFERING = 0x0000_0008,
        SYNCHRONOUS_IO_ALERT = 0x0000_0010,
        SYNCHRONOUS_IO_NONALERT = 0x0000_0020,
        DELETE_ON_CLOSE = 0x0000_1000,
    }
}

wire::layout! {
    LittleEndian;
    /// FileAlignmentInformation (17): 0 is bytes, 1 words, 3 double words; else the needed alignment less 1.
    #[derive(Default)]
    pub struct Alignment {
        pub requirement: u32,
    }

    /// FileAllocationInformation (19).
    #[derive(Default)]
    pub struct Allocation {
        pub allocation_size: u64,
    }

    /// FileEndOfFileInformation (20).
    #[derive(Default)]
    pub struct EndOfFile {
        pub end_of_file: u64,
    }

    /// FilePipeInformation (23).
    #[derive(Default)]
    pub struct FilePipe {
        pub read_mode: u32,
        pub completion_mode: u32,
    }

    /// FilePipeLocalInformation (24).
    #[derive(Default)]
    pub struct PipeLocal {
        pub pipe_type: u32,
        pub configuration: u32,
        pub maximum_instances: u32,
        pub current_instances: u32,
        pub inbound_quota: u32,
        pub read_data_available: u32,
        pub outbound_quota: u32,
        pub write_quota_available: u32,
        pub state: u32,
        pub end: u32,
    }

    /// FilePipeRemoteInformation (25).
    #[derive(Default)]
    pub struct PipeRemote {
        pub collect_data_time: u64,
        pub maximum_collection_count: u32,
    }

    /// FileCompressionInformation (28).
    #[derive(Default)]
    pub struct Compression {
        pub compressed_size: u64,
        pub format: u16,
        pub unit_shift: u8,
        pub chunk_shift: u8,
        pub cluster_shift: u8 [3],
    }

    /// FileObjectIdInformation (29), type 1.
    #[derive(Default)]
    pub struct ObjectId {
        pub file_reference: u64,
        pub object_id: [u8; 16],
        pub birth_volume_id: [u8; 16],
        pub birth_object_id: [u8; 16],
        pub domain_id: [u8; 16],
    }

    /// FileReparsePointInformation (33).
    #[derive(Default)]
    pub struct ReparsePoint {
        pub file_reference: u64,
        pub tag: u32,
    }

    /// FileNetworkOpenInformation (34).
    #[derive(Default)]
    pub struct NetworkOpen {
        pub creation_time: NtTime,
        pub last_access_time: NtTime,
        pub last_write_time: NtTime,
        pub change_time: NtTime,
        pub allocation_size: u64,
        pub end_of_file: u64,
        pub attributes: FileAttributes [4],
    }

    /// FileAttributeTagInformation (35).
    #[derive(Default)]
    pub struct AttributeTag {
        pub attributes: FileAttributes,
        pub reparse_tag: u32,
    }

    /// FileValidDataLengthInformation (39).
    #[derive(Default)]
    pub struct ValidDataLength {
        pub valid_data_length: u64,
    }

    /// FileStandardLinkInformation (54).
    #[derive(Default)]
    pub struct StandardLink {
        pub accessible_links: u32,
        pub total_links: u32,
        pub delete_pending: bool,
        pub directory: bool [2],
    }

    /// FileIdInformation (59).
    #[derive(Default)]
    pub struct Id {
        pub volume_serial_number: u64,
        pub file_id: [u8; 16],
    }

    /// FileStatInformation (68), FILE_STAT_INFORMATION of the Windows driver kit.
    #[derive(Default)]
    pub struct Stat {
        pub file_id: u64,
        pub creation_time: NtTime,
        pub last_access_time: NtTime,
        pub last_write_time: NtTime,
        pub change_time: NtTime,
        pub allocation_size: u64,
        pub end_of_file: u64,
        pub attributes: FileAttributes,
        pub reparse_tag: u32,
        pub number_of_links: u32,
        pub effective_access: AccessMask,
    }

    /// FileCaseSensitiveInformation (71).
    #[derive(Default)]
    pub struct CaseSensitive {
        pub flags: CaseSensitiveFlags,
    }
}

wire::bits! {
    /// Flags of FileCaseSensitiveInformation.
    pub CaseSensitiveFlags: u32 {
        CASE_SENSITIVE_DIR = 1,
    }
}
