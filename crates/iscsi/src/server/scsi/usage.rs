//! The bits that commands with blocks evaluate, for REPORT SUPPORTED OPERATION CODES (SPC-4
//! 6.34.3): the address, the number of blocks, and the command's bits in the second byte. GROUP
//! NUMBER is ignored.

/// A command of 6 bytes: the address begins in the second byte.
pub(super) const fn six(opcode: u8) -> [u8; 6] {
    [opcode, 0x1f, 0xff, 0xff, 0xff, 0]
}

/// A command of 10 bytes.
pub(super) const fn ten(opcode: u8, flags: u8) -> [u8; 10] {
    [opcode, flags, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]
}

/// A command of 12 bytes.
pub(super) const fn twelve(opcode: u8, flags: u8) -> [u8; 12] {
    [opcode, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]
}

/// A command of 16 bytes.
pub(super) const fn sixteen(opcode: u8, flags: u8) -> [u8; 16] {
    [opcode, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]
}
