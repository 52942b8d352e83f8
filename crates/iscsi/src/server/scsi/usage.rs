//! Which bits of commands that name blocks count, as REPORT SUPPORTED OPERATION CODES tells them (SPC-4 6.34.3): the
//! address and the number of blocks, and of the second byte what the command has there. GROUP NUMBER is ignored.

/// Of 6 bytes: the address begins in the second byte.
pub(super) const fn six(opcode: u8) -> [u8; 6] {
    [opcode, 0x1f, 0xff, 0xff, 0xff, 0]
}

/// Of 10 bytes.
pub(super) const fn ten(opcode: u8, flags: u8) -> [u8; 10] {
    [opcode, flags, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]
}

/// Of 12 bytes.
pub(super) const fn twelve(opcode: u8, flags: u8) -> [u8; 12] {
    [opcode, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]
}

/// Of 16 bytes.
pub(super) const fn sixteen(opcode: u8, flags: u8) -> [u8; 16] {
    [opcode, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]
}
