//! START STOP UNIT, SBC-3 5.25.

wire::packed! {
    /// START STOP UNIT, SBC-3 5.25.
    pub struct StartStop([0x1b, 0, 0, 0, 0, 0]) {
        /// IMMED: the response need not wait for the end of the operation.
        pub immediate: bool = 0x01 of 1,
        /// POWER CONDITION: 0 says that the other bits are valid.
        pub power_condition: u8 = 0xf0 of 4,
        /// NO_FLUSH: the cache need not be flushed first.
        pub no_flush: bool = 0x04 of 4,
        /// LOEJ: loads or ejects.
        pub load_eject: bool = 0x02 of 4,
        /// START: starts; otherwise stops.
        pub start: bool = 0x01 of 4,
    } {}
}
