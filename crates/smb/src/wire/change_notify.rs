//! CHANGE_NOTIFY, MS-SMB2 2.2.35 and 2.2.36.

use super::FileKey;
use super::buffers::BufferResponse;
use super::layout::body;

wire::bits! {
    /// MS-SMB2 2.2.35.
    pub Flags: u16 {
        WATCH_TREE = 1,
    }
}

wire::bits! {
    /// Which changes the client is told, MS-SMB2 2.2.35.
    pub CompletionFilter: u32 {
        FILE_NAME = 0x001,
        DIR_NAME = 0x002,
        ATTRIBUTES = 0x004,
        SIZE = 0x008,
        LAST_WRITE = 0x010,
        LAST_ACCESS = 0x020,
        CREATION = 0x040,
        EA = 0x080,
        SECURITY = 0x100,
        STREAM_NAME = 0x200,
        STREAM_SIZE = 0x400,
        STREAM_WRITE = 0x800,
    }
}

body! {
    /// CHANGE_NOTIFY request, MS-SMB2 2.2.35.
    pub struct Request (32) {
        pub flags: Flags,
        pub output_buffer_length: u32,
        pub file: FileKey,
        pub completion_filter: CompletionFilter [4],
    }
}

/// CHANGE_NOTIFY response, MS-SMB2 2.2.36: a list of FILE_NOTIFY_INFORMATION.
pub type Response = BufferResponse;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_is_watched() {
        let body = b"\x20\0\x01\0\0\x10\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\x03\x01\0\0\0\0\0\0";
        let request = Request {
            flags: Flags::WATCH_TREE,
            output_buffer_length: 4096,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            completion_filter: CompletionFilter::FILE_NAME
                | CompletionFilter::DIR_NAME
                | CompletionFilter::SECURITY,
        };
        laid_out!(Request, body, request);
    }
}
