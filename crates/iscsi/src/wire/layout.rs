//! `pdu!`: the header of a PDU, with both directions of its codec from one list of its bits and fields.

/// A PDU, by [`wire::packed!`]. The values in parentheses are the constant bits of bytes 0 and 1. `encode` also gets the
/// length of the data that follow. In responses, [`crate::wire::pdu::SequenceNumbers`] are among the unused bytes.
macro_rules! pdu {
    ($(#[$meta:meta])* pub struct $name:ident($opcode:expr, $flags:expr) $($fields:tt)*) => {
        ::wire::packed! {
            $(#[$meta])*
            pub struct $name([$opcode, $flags, 0, 0, 0, 0, 0, 0], data_length) $($fields)*
        }
    };
}

pub(super) use pdu;
