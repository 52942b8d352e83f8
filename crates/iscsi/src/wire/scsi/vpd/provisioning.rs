wire::packed! {
    /// Body of the logical block provisioning page, SBC-3 6.6.4, without a provisioning group: 4 bytes.
    pub struct Provisioning([0; 4]) {
        /// A threshold set has two to this power of blocks.
        pub threshold_exponent: u8 = 0xff of 0,
        /// LBPU: UNMAP unmaps blocks.
        pub unmap: bool = 0x80 of 1,
        /// LBPWS: WRITE SAME (16) unmaps blocks.
        pub write_same_16: bool = 0x40 of 1,
        /// LBPWS10: WRITE SAME (10) unmaps blocks.
        pub write_same_10: bool = 0x20 of 1,
        /// LBPRZ: unmapped blocks read as zeros.
        pub reads_zeros: bool = 0x04 of 1,
        /// PROVISIONING TYPE: 0 unspecified, 1 resource provisioned, 2 thin.
        pub kind: u8 = 0x07 of 2,
    } {}
}
