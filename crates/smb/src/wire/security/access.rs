//! ACCESS_MASK, MS-DTYP 2.4.3, with the file's and the folder's bits of MS-SMB2 2.2.13.1.

wire::bits! {
    /// Requested, granted or denied rights.
    pub AccessMask: u32 {
        READ_DATA = 0x0000_0001,
        LIST_DIRECTORY = 0x0000_0001,
        WRITE_DATA = 0x0000_0002,
        ADD_FILE = 0x0000_0002,
        APPEND_DATA = 0x0000_0004,
        ADD_SUBDIRECTORY = 0x0000_0004,
        READ_EA = 0x0000_0008,
        WRITE_EA = 0x0000_0010,
        EXECUTE = 0x0000_0020,
        TRAVERSE = 0x0000_0020,
        DELETE_CHILD = 0x0000_0040,
        READ_ATTRIBUTES = 0x0000_0080,
        WRITE_ATTRIBUTES = 0x0000_0100,
        DELETE = 0x0001_0000,
        READ_CONTROL = 0x0002_0000,
        WRITE_DAC = 0x0004_0000,
        WRITE_OWNER = 0x0008_0000,
        SYNCHRONIZE = 0x0010_0000,
        ACCESS_SYSTEM_SECURITY = 0x0100_0000,
        MAXIMUM_ALLOWED = 0x0200_0000,
        GENERIC_ALL = 0x1000_0000,
        GENERIC_EXECUTE = 0x2000_0000,
        GENERIC_WRITE = 0x4000_0000,
        GENERIC_READ = 0x8000_0000,
        /// Every right of a file: the meaning of GENERIC_ALL.
        FILE_ALL = 0x001F_01FF,
        /// The meaning of GENERIC_READ.
        FILE_READ = 0x0012_0089,
        /// The meaning of GENERIC_WRITE.
        FILE_WRITE = 0x0012_0116,
        /// The meaning of GENERIC_EXECUTE.
        FILE_EXECUTE = 0x0012_00A0,
        /// The four generic rights.
        GENERIC = 0xF000_0000,
    }
}

/// The meanings of the generic rights, MS-DTYP 2.4.3 and 2.5.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenericMapping {
    pub read: AccessMask,
    pub write: AccessMask,
    pub execute: AccessMask,
    pub all: AccessMask,
}

impl GenericMapping {
    /// The mapping for files and folders.
    pub const FILE: Self = Self {
        read: AccessMask::FILE_READ,
        write: AccessMask::FILE_WRITE,
        execute: AccessMask::FILE_EXECUTE,
        all: AccessMask::FILE_ALL,
    };
}

impl AccessMask {
    /// Replaces the generic rights by their meanings.
    pub fn mapped(self, mapping: &GenericMapping) -> Self {
        let rights = [
            (Self::GENERIC_READ, mapping.read),
            (Self::GENERIC_WRITE, mapping.write),
            (Self::GENERIC_EXECUTE, mapping.execute),
            (Self::GENERIC_ALL, mapping.all),
        ];
        let stand_for = rights.into_iter().filter(|(generic, _)| self.contains(*generic));
        stand_for.fold(self.difference(Self::GENERIC), |mask, (_, specific)| mask | specific)
    }
}
