//! CLOSE, MS-SMB2 2.2.15 and 2.2.16.

use super::layout::body;
use super::{FileKey, NetworkOpen};

wire::bits! {
    /// MS-SMB2 2.2.15.
    pub Flags: u16 {
        /// The response has the file's attributes after the close.
        POSTQUERY_ATTRIB = 1,
    }
}

body! {
    /// CLOSE request, MS-SMB2 2.2.15.
    pub struct Request (24) {
        pub flags: Flags [4],
        pub file: FileKey,
    }

    /// CLOSE response, MS-SMB2 2.2.16.
    pub struct Response (60) {
        pub flags: Flags [4],
        /// All zeros unless the flags say that it was asked for.
        pub info: NetworkOpen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_repeats_the_flag_and_says_what_the_file_is_like() {
        let file = FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 };
        laid_out!(
            Request,
            b"\x18\0\x01\0\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11",
            Request { flags: Flags::POSTQUERY_ATTRIB, file }
        );
        let info = NetworkOpen {
            creation_time: 1,
            last_access_time: 2,
            last_write_time: 3,
            change_time: 4,
            allocation_size: 4096,
            end_of_file: 5,
            file_attributes: 0x20,
        };
        laid_out!(
            Response,
            b"\x3c\0\x01\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\
            \0\x10\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x20\0\0\0",
            Response { flags: Flags::POSTQUERY_ATTRIB, info }
        );
    }
}
