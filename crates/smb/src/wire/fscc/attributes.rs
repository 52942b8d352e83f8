//! File attributes, MS-FSCC 2.6.

wire::bits! {
    /// FileAttributes.
    pub FileAttributes: u32 {
        READONLY = 0x0000_0001,
        HIDDEN = 0x0000_0002,
        SYSTEM = 0x0000_0004,
        DIRECTORY = 0x0000_0010,
        ARCHIVE = 0x0000_0020,
        /// No other attribute is set; alone, it is how a request clears all of them.
        NORMAL = 0x0000_0080,
        TEMPORARY = 0x0000_0100,
        SPARSE_FILE = 0x0000_0200,
        REPARSE_POINT = 0x0000_0400,
        COMPRESSED = 0x0000_0800,
        OFFLINE = 0x0000_1000,
        NOT_CONTENT_INDEXED = 0x0000_2000,
        ENCRYPTED = 0x0000_4000,
        INTEGRITY_STREAM = 0x0000_8000,
        NO_SCRUB_DATA = 0x0002_0000,
        RECALL_ON_OPEN = 0x0004_0000,
        PINNED = 0x0008_0000,
        UNPINNED = 0x0010_0000,
        RECALL_ON_DATA_ACCESS = 0x0040_0000,
    }
}
