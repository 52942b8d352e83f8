//! The numbers of information classes: FileInfoClass of QUERY_INFO, SET_INFO and QUERY_DIRECTORY.

wire::number! {
    /// A class of file information, MS-FSCC 2.4, as SMB2 carries it in one byte.
    pub FileClass: u8 {
        DIRECTORY = 1,
        FULL_DIRECTORY = 2,
        BOTH_DIRECTORY = 3,
        BASIC = 4,
        STANDARD = 5,
        INTERNAL = 6,
        EA = 7,
        ACCESS = 8,
        NAME = 9,
        RENAME = 10,
        LINK = 11,
        NAMES = 12,
        DISPOSITION = 13,
        POSITION = 14,
        FULL_EA = 15,
        MODE = 16,
        ALIGNMENT = 17,
        ALL = 18,
        ALLOCATION = 19,
        END_OF_FILE = 20,
        ALTERNATE_NAME = 21,
        STREAM = 22,
        PIPE = 23,
        PIPE_LOCAL = 24,
        PIPE_REMOTE = 25,
        COMPRESSION = 28,
        OBJECT_ID = 29,
        QUOTA = 32,
        REPARSE_POINT = 33,
        NETWORK_OPEN = 34,
        ATTRIBUTE_TAG = 35,
        ID_BOTH_DIRECTORY = 37,
        ID_FULL_DIRECTORY = 38,
        VALID_DATA_LENGTH = 39,
        SHORT_NAME = 40,
        HARD_LINK = 46,
        NORMALIZED_NAME = 48,
        ID_GLOBAL_TX_DIRECTORY = 50,
        STANDARD_LINK = 54,
        REMOTE_PROTOCOL = 55,
        ID = 59,
        ID_EXTD_DIRECTORY = 60,
        ID_EXTD_BOTH_DIRECTORY = 63,
        DISPOSITION_EX = 64,
        RENAME_EX = 65,
        STAT = 68,
        CASE_SENSITIVE = 71,
        /// The SMB3 POSIX extensions' own class, of QUERY_INFO and QUERY_DIRECTORY.
        POSIX = 100,
    }
}

wire::number! {
    /// A class of file system information, MS-FSCC 2.5.
    pub FsClass: u8 {
        VOLUME = 1,
        LABEL = 2,
        SIZE = 3,
        DEVICE = 4,
        ATTRIBUTE = 5,
        CONTROL = 6,
        FULL_SIZE = 7,
        OBJECT_ID = 8,
        DRIVER_PATH = 9,
        VOLUME_FLAGS = 10,
        SECTOR_SIZE = 11,
        /// The SMB3 POSIX extensions' own class.
        POSIX = 100,
    }
}
