//! FLUSH, MS-SMB2 2.2.17 and 2.2.18.

use super::FileKey;
use super::layout::{body, empty_body};

body! {
    /// FLUSH request, MS-SMB2 2.2.17.
    pub struct Request (24) {
        /// Reserved in the specification; [`Self::FULL_SYNC`] of Mac clients.
        pub reserved: u16 [4],
        pub file: FileKey,
    }
}

impl Request {
    /// F_FULLFSYNC: the disk's cache is flushed as well. Only where the volume said that it can.
    pub const FULL_SYNC: u16 = 0xFFFF;
}

empty_body! {
    /// FLUSH response, MS-SMB2 2.2.18.
    pub struct Response;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_sync_is_in_the_reserved_field() {
        let file = FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 };
        laid_out!(
            Request,
            b"\x18\0\xff\xff\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11",
            Request { reserved: Request::FULL_SYNC, file }
        );
        laid_out!(Response, b"\x04\0\0\0", Response);
    }
}
