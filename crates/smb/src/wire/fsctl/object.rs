//! Properties of files besides data: object ids, integrity, compression; MS-FSCC 2.1.3 and 2.3.

wire::layout! {
    LittleEndian;
    /// FILE_OBJECTID_BUFFER, type 1: answer of GET_OBJECT_ID and CREATE_OR_GET_OBJECT_ID.
    #[derive(Default)]
    pub struct ObjectIdBuffer {
        pub object_id: [u8; 16],
        pub birth_volume_id: [u8; 16],
        pub birth_object_id: [u8; 16],
        pub domain_id: [u8; 16],
    }

    /// FSCTL_GET_INTEGRITY_INFORMATION_BUFFER.
    #[derive(Default)]
    pub struct Integrity {
        pub checksum_algorithm: u16 [2],
        pub flags: u32,
        pub checksum_chunk_size: u32,
        pub cluster_size: u32,
    }

    /// FSCTL_SET_INTEGRITY_INFORMATION_BUFFER.
    #[derive(Default)]
    pub struct SetIntegrity {
        /// 0 none, 2 CRC-64, 0xFFFF unchanged.
        pub checksum_algorithm: u16 [2],
        pub flags: u32,
    }

    /// CompressionState of GET_COMPRESSION and SET_COMPRESSION: 0 none, 1 the default, 2 LZNT1.
    #[derive(Default)]
    pub struct CompressionState {
        pub format: u16,
    }
}
