//! `packed!`: a structure whose first bytes consist of bits, with both directions of its codec from one list.

/// A type of values in some bits of a byte.
pub trait BitField: Sized {
    /// From the bits of a byte under a mask.
    fn of(byte: u8, mask: u8) -> Self;
    /// The bits in their place.
    fn put(self, mask: u8) -> u8;
}

impl BitField for bool {
    fn of(byte: u8, mask: u8) -> Self {
        byte & mask != 0
    }

    fn put(self, mask: u8) -> u8 {
        if self { mask } else { 0 }
    }
}

impl BitField for u8 {
    fn of(byte: u8, mask: u8) -> Self {
        (byte & mask) >> mask.trailing_zeros()
    }

    fn put(self, mask: u8) -> u8 {
        self << mask.trailing_zeros() & mask
    }
}

/// Makes types that wrap a bit field into bit fields: `bit_fields! { Attribute, Stage }`.
#[macro_export]
macro_rules! bit_fields {
    ($($name:ident),* $(,)?) => {$(
        impl $crate::BitField for $name {
            fn of(byte: u8, mask: u8) -> Self {
                Self($crate::BitField::of(byte, mask))
            }

            fn put(self, mask: u8) -> u8 {
                $crate::BitField::put(self.0, mask)
            }
        }
    )*};
}

/// Declares a structure with both directions of its codec: first bytes that consist of bits, then other fields, which are as in
/// [`layout!`](crate::layout).
///
/// ```text
/// wire::packed! {
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
/// Unused bytes are zero when written and ignored when read. With a name after the first bytes, `encode` gets a length, which
/// it writes to bytes 5 to 7.
#[macro_export]
macro_rules! packed {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($first:expr $(, $length:ident)?) {
            $($(#[$bits_doc:meta])* $bits_vis:vis $bits:ident: $bits_type:ty = $mask:literal of $byte:literal,)*
        } $([$before:literal])? {
            $($(#[$doc:meta])* $field_vis:vis $field:ident: $type:ty $([$after:literal])?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$bits_doc])* $bits_vis $bits: $bits_type,)*
            $($(#[$doc])* $field_vis $field: $type,)*
        }

        impl $name {
            /// From its bytes.
            $vis fn decode(r: &mut $crate::Reader<'_>) -> Result<Self, $crate::Malformed> {
                let mut _first = $first;
                _first = r.array()?;
                $(let $bits = $crate::BitField::of(_first[$byte], $mask);)*
                $(r.skip($before)?;)?
                $(
                    let $field = $crate::Field::<$crate::BigEndian>::read(r)?;
                    $(r.skip($after)?;)?
                )*
                Ok(Self { $($bits,)* $($field,)* })
            }

            /// Writes its bytes.
            $vis fn encode(&self $(, $length: usize)?, w: &mut $crate::Writer) {
                #[allow(unused_mut)]
                let mut first = $first;
                $(first[5..8].copy_from_slice(&($length as u32).to_be_bytes()[1..]);)?
                $(first[$byte] |= $crate::BitField::put(self.$bits, $mask);)*
                w.put(&first);
                $(w.zeros($before);)?
                $(
                    $crate::Field::<$crate::BigEndian>::write(&self.$field, w);
                    $(w.zeros($after);)?
                )*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{Reader, Writer};

    packed! {
        /// Bits of two bytes, then a number.
        struct Both([0x80, 0]) {
            flag: bool = 0x01 of 0,
            level: u8 = 0x70 of 1,
        } [1] {
            number: u16,
        }
    }

    #[test]
    fn bits_are_in_their_places_beside_constant_ones() {
        let both = Both { flag: true, level: 5, number: 0x0102 };
        let mut w = Writer::new();
        both.encode(&mut w);
        assert_eq!(w.as_bytes(), [0x81, 0x50, 0, 1, 2]);
        assert_eq!(Both::decode(&mut Reader::new(w.as_bytes())), Ok(both));
        assert_eq!(
            Both::decode(&mut Reader::new(&[0, 0x7f, 9, 1, 2])),
            Ok(Both { flag: false, level: 7, ..both })
        );
    }
}
