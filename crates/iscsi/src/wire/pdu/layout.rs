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
        impl $crate::wire::pdu::layout::Bits for $name {
            fn of(byte: u8, mask: u8) -> Self {
                Self($crate::wire::pdu::layout::Bits::of(byte, mask))
            }

            fn put(self, mask: u8) -> u8 {
                $crate::wire::pdu::layout::Bits::put(self.0, mask)
            }
        }
    )*};
}

/// Declares a PDU with both directions of its codec.
///
/// ```text
/// pdu! {
///     /// Logout Request, RFC 7143 11.14.
///     pub struct LogoutRequest(Opcode::LOGOUT_REQUEST.0, 0x80) {   // the constant bits of bytes 0 and 1
///         pub immediate: bool = 0x40 of 0,                         // these bits of byte 0
///         pub reason: LogoutReason = 0x7f of 1,
///     } [8] {                                                      // 8 unused bytes, from byte 8 on
///         pub task_tag: u32,
///         pub cid: u16 [2],                                        // then 2 unused bytes
///         pub cmd_sn: u32,
///         pub exp_stat_sn: u32 [16],
///     }
/// }
/// ```
///
/// Unused bytes are zero when written and ignored when read. In responses, [`super::Numbers`] are among them.
macro_rules! pdu {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($opcode:expr, $flags:expr) {
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
            /// Reads the header.
            pub fn decode(r: &mut wire::Reader<'_>) -> Result<Self, wire::Malformed> {
                let _first: [u8; 4] = r.array()?;
                r.skip(4)?; // lengths
                $(let $bits = $crate::wire::pdu::layout::Bits::of(_first[$byte], $mask);)*
                $(r.skip($before)?;)?
                $(
                    let $field = wire::Field::read(r)?;
                    $(r.skip($after)?;)?
                )*
                Ok(Self { $($bits,)* $($field,)* })
            }

            /// Writes the header. This many bytes of data follow it.
            pub fn encode(&self, data_length: usize, w: &mut wire::Writer) {
                #[allow(unused_mut)]
                let mut first = [$opcode, $flags, 0, 0];
                $(first[$byte] |= $crate::wire::pdu::layout::Bits::put(self.$bits, $mask);)*
                w.put(&first);
                w.u32_be(data_length as u32 & 0x00ff_ffff);
                $(w.zeros($before);)?
                $(
                    wire::Field::write(&self.$field, w);
                    $(w.zeros($after);)?
                )*
            }
        }
    };
}

pub(super) use {bits, pdu};
