//! Macros that make the codec of a fixed header out of its fields and bits.

/// A type of values in some bits of a byte.
pub(super) trait Bits: Sized {
    fn of(byte: u8, mask: u8) -> Self;
    fn put(self, mask: u8) -> u8;
}

impl Bits for bool {
    fn of(byte: u8, mask: u8) -> Self {
        byte & mask != 0
    }

    fn put(self, mask: u8) -> u8 {
        if self { mask } else { 0 }
    }
}

impl Bits for u8 {
    fn of(byte: u8, mask: u8) -> Self {
        (byte & mask) >> mask.trailing_zeros()
    }

    fn put(self, mask: u8) -> u8 {
        self << mask.trailing_zeros() & mask
    }
}

macro_rules! bits {
    ($($name:ident),*) => {$(
        impl $crate::wire::layout::Bits for $name {
            fn of(byte: u8, mask: u8) -> Self {
                Self($crate::wire::layout::Bits::of(byte, mask))
            }

            fn put(self, mask: u8) -> u8 {
                $crate::wire::layout::Bits::put(self.0, mask)
            }
        }
    )*};
}

/// Declares a structure with both directions of its codec: first bytes that consist of bits, then other fields.
///
/// ```text
/// packed! {
///     /// START STOP UNIT, SBC-3 5.25.
///     pub struct StartStop([0x1b, 0, 0, 0, 0, 0]) {     // the constant bits of the first bytes
///         pub immediate: bool = 0x01 of 1,              // these bits of byte 1
///         pub power_condition: u8 = 0xf0 of 4,
///     } [8] {                                           // 8 unused bytes
///         pub task_tag: u32,
///         pub cid: u16 [2],                             // then 2 unused bytes
///     }
/// }
/// ```
///
/// Unused bytes are zero when written and ignored when read.
macro_rules! packed {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($first:expr $(, $length:ident)?) {
            $($(#[$bits_doc:meta])* pub $bits:ident: $bits_type:ty = $mask:literal of $byte:literal,)*
        } $([$before:literal])? {
            $($(#[$doc:meta])* pub $field:ident: $type:ty $([$after:literal])?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $($(#[$bits_doc])* pub $bits: $bits_type,)*
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            /// From its bytes.
            pub fn decode(r: &mut wire::Reader<'_>) -> Result<Self, wire::Malformed> {
                let mut _first = $first;
                _first = r.array()?;
                $(let $bits = $crate::wire::layout::Bits::of(_first[$byte], $mask);)*
                $(r.skip($before)?;)?
                $(
                    let $field = wire::Field::read(r)?;
                    $(r.skip($after)?;)?
                )*
                Ok(Self { $($bits,)* $($field,)* })
            }

            /// Writes its bytes.
            pub fn encode(&self $(, $length: usize)?, w: &mut wire::Writer) {
                #[allow(unused_mut)]
                let mut first = $first;
                $(first[5..8].copy_from_slice(&($length as u32).to_be_bytes()[1..]);)?
                $(first[$byte] |= $crate::wire::layout::Bits::put(self.$bits, $mask);)*
                w.put(&first);
                $(w.zeros($before);)?
                $(
                    wire::Field::write(&self.$field, w);
                    $(w.zeros($after);)?
                )*
            }
        }
    };
}

/// A PDU, by [`packed!`]. The values in parentheses are the constant bits of bytes 0 and 1. `encode` also gets the
/// length of the data that follow. In responses, [`crate::wire::pdu::Numbers`] are among the unused bytes.
macro_rules! pdu {
    ($(#[$meta:meta])* pub struct $name:ident($opcode:expr, $flags:expr) $($fields:tt)*) => {
        $crate::wire::layout::packed! {
            $(#[$meta])*
            pub struct $name([$opcode, $flags, 0, 0, 0, 0, 0, 0], data_length) $($fields)*
        }
    };
}

pub(super) use {bits, packed, pdu};
