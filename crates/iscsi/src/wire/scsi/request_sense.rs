//! REQUEST SENSE, SPC-4 6.39.

wire::packed! {
    /// REQUEST SENSE, SPC-4 6.39.
    pub struct RequestSense([0x03, 0, 0, 0, 0, 0]) {
        /// DESC: the answer has descriptor format.
        pub descriptors: bool = 0x01 of 1,
        /// The allocation length.
        pub allocation_length: u8 = 0xff of 4,
    } {}
}
