//! SEND DIAGNOSTIC, SPC-4 6.42.

wire::packed! {
    /// SEND DIAGNOSTIC, SPC-4 6.42.
    pub struct SendDiagnostic([0x1d, 0, 0]) {
        /// SELF-TEST CODE: the test, and whether it runs in the background; 0 for no test.
        pub code: u8 = 0xe0 of 1,
        /// SELFTEST: the default self-test.
        pub self_test: bool = 0x04 of 1,
    } {
        /// Bytes of parameters.
        pub length: u16 [1],
    }
}
