//! The service action of a command.

/// The service action in a command descriptor block, SPC-4 4.2.5.
pub fn service_action(cdb: &[u8]) -> Option<u16> {
    match cdb.first()? {
        0x7f => cdb.get(8..10)?.try_into().ok().map(u16::from_be_bytes),
        _ => Some(u16::from(cdb.get(1)? & 0x1f)),
    }
}
