//! Values that several commands carry.

use wire::{Field, LittleEndian, Malformed, Reader, Writer};

wire::number! {
    /// A dialect's revision, MS-SMB2 2.2.3 and 2.2.4.
    pub Dialect: u16 {
        SMB_2_0_2 = 0x0202,
        SMB_2_1 = 0x0210,
        SMB_3_0 = 0x0300,
        SMB_3_0_2 = 0x0302,
        SMB_3_1_1 = 0x0311,
        /// In the answer to an SMB1 NEGOTIATE that offers "SMB 2.???": the client must choose
        /// again.
        WILDCARD = 0x02FF,
    }
}

wire::bits! {
    /// Capabilities of both sides, MS-SMB2 2.2.3 and 2.2.4.
    pub Capabilities: u32 {
        DFS = 0x01,
        LEASING = 0x02,
        LARGE_MTU = 0x04,
        MULTI_CHANNEL = 0x08,
        PERSISTENT_HANDLES = 0x10,
        DIRECTORY_LEASING = 0x20,
        ENCRYPTION = 0x40,
        NOTIFICATIONS = 0x80,
    }
}

wire::bits! {
    /// Whether a side enables or requires signatures, MS-SMB2 2.2.3.
    pub SecurityMode: u16 {
        SIGNING_ENABLED = 1,
        SIGNING_REQUIRED = 2,
    }
}

wire::number! {
    /// MS-SMB2 2.2.13 and 2.2.14.
    pub OplockLevel: u8 {
        NONE = 0x00,
        II = 0x01,
        EXCLUSIVE = 0x08,
        BATCH = 0x09,
        LEASE = 0xFF,
    }
}

wire::bits! {
    /// MS-SMB2 2.2.13.2.8.
    pub LeaseState: u32 {
        READ = 1,
        HANDLE = 2,
        WRITE = 4,
    }
}

wire::number! {
    /// The kind of information of a QUERY_INFO or SET_INFO, MS-SMB2 2.2.37.
    pub InfoType: u8 {
        FILE = 1,
        FILE_SYSTEM = 2,
        SECURITY = 3,
        QUOTA = 4,
    }
}

/// A lease's key, which its client has chosen, MS-SMB2 2.2.13.2.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LeaseKey(pub [u8; 16]);

impl Field<'_, LittleEndian> for LeaseKey {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.array().map(Self)
    }

    fn write(&self, w: &mut Writer) {
        w.put(&self.0);
    }
}

wire::layout! {
    LittleEndian;
    /// SMB2_FILEID, MS-SMB2 2.2.14.1.
    #[derive(Hash, PartialOrd, Ord)]
    pub struct FileKey {
        pub persistent: u64,
        pub volatile: u64,
    }
}

impl FileKey {
    /// In a related request: the file of the request before. In some IOCTLs: no file.
    pub const ALL_ONES: Self = Self { persistent: u64::MAX, volatile: u64::MAX };
}

wire::layout! {
    LittleEndian;
    /// The file's properties in the responses of CREATE and CLOSE, MS-SMB2 2.2.14 and 2.2.16. Times are
    /// FILETIMEs.
    #[derive(Default)]
    pub struct NetworkOpen {
        pub creation_time: u64,
        pub last_access_time: u64,
        pub last_write_time: u64,
        pub change_time: u64,
        pub allocation_size: u64,
        pub end_of_file: u64,
        pub file_attributes: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_persistent_half_of_a_key_comes_first() {
        let mut w = Writer::new();
        FileKey { persistent: 1, volatile: 2 }.encode(&mut w);
        assert_eq!(w.as_bytes(), b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0");
        assert_eq!(FileKey::decode(&mut Reader::new(&[0xFF; 16])), Ok(FileKey::ALL_ONES));
    }

    #[test]
    fn bits_are_asked_for_together_or_one_by_one() {
        let both = LeaseState::READ | LeaseState::HANDLE;
        assert!(both.contains(LeaseState::READ) && !both.contains(LeaseState::READ | LeaseState::WRITE));
        assert!(both.intersects(LeaseState::READ | LeaseState::WRITE));
        assert_eq!(both.difference(LeaseState::READ), LeaseState(2));
    }
}
