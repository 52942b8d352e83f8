wire::packed! {
    /// Body of the extended INQUIRY data page, SPC-4 7.8.7: 60 bytes.
    pub struct ExtendedInquiry([0; 4]) {
        /// HEADSUP, ORDSUP, SIMPSUP in bits 2 to 0: the supported task attributes.
        pub attributes: u8 = 0x07 of 1,
        /// V_SUP: there is a volatile cache.
        pub volatile_cache: bool = 0x01 of 2,
        /// LUICLR: when one unit has reported a change of the list of units, the other units do not
        /// report it again.
        pub clears_lun_changes: bool = 0x01 of 3,
    } [56] {}
}
