//! `layout!`: a structure, with both directions of its codec from one list of its fields.

use crate::{Malformed, Reader, Writer};

/// Numbers begin with their most significant byte.
pub enum BigEndian {}

/// Numbers begin with their least significant byte.
pub enum LittleEndian {}

/// A type of fields in structures that [`layout!`](crate::layout) declares, whose numbers have this order of bytes.
pub trait Field<'a, Order = BigEndian>: Sized {
    /// Reads the field, leaving `r` after it.
    fn read(r: &mut Reader<'a>) -> Result<Self, Malformed>;
    /// Appends the field.
    fn write(&self, w: &mut Writer);
}

macro_rules! integers {
    ($($type:ident $be:ident $le:ident,)*) => {$(
        impl Field<'_, BigEndian> for $type {
            fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                r.$be()
            }

            fn write(&self, w: &mut Writer) {
                w.put(&self.to_be_bytes());
            }
        }

        impl Field<'_, LittleEndian> for $type {
            fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                r.$le()
            }

            fn write(&self, w: &mut Writer) {
                w.put(&self.to_le_bytes());
            }
        }
    )*};
}

integers! {
    u8 u8 u8,
    u16 u16_be u16_le,
    u32 u32_be u32_le,
    u64 u64_be u64_le,
    i32 i32_be i32_le,
    i64 i64_be i64_le,
}

/// One byte; anything but zero is true.
impl<Order> Field<'_, Order> for bool {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(r.u8()? != 0)
    }

    fn write(&self, w: &mut Writer) {
        w.u8(u8::from(*self));
    }
}

/// The fields one after the other.
impl<'a, T: Field<'a, LittleEndian> + Copy + Default, const N: usize> Field<'a, LittleEndian> for [T; N] {
    fn read(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut fields = [T::default(); N];
        for field in &mut fields {
            *field = T::read(r)?;
        }
        Ok(fields)
    }

    fn write(&self, w: &mut Writer) {
        for field in self {
            field.write(w);
        }
    }
}

impl<const N: usize> Field<'_, BigEndian> for [u8; N] {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.array()
    }

    fn write(&self, w: &mut Writer) {
        w.put(self);
    }
}

/// Makes types that wrap a field into fields of big-endian structures: `fields! { Bitmap, Kind }`.
#[macro_export]
macro_rules! fields {
    ($($name:ident),* $(,)?) => {$(
        impl $crate::Field<'_> for $name {
            fn read(r: &mut $crate::Reader<'_>) -> Result<Self, $crate::Malformed> {
                $crate::Field::<$crate::BigEndian>::read(r).map(Self)
            }

            fn write(&self, w: &mut $crate::Writer) {
                $crate::Field::<$crate::BigEndian>::write(&self.0, w);
            }
        }
    )*};
}

/// Declares structures whose layout is their fields in order, with `decode` and `encode`. They are fields themselves. Numbers are
/// big-endian; in declarations that begin with `LittleEndian;` they are little-endian.
///
/// ```text
/// wire::layout! {
///     /// The documentation of the structure.
///     pub struct Request<'a> [1] {         // [1]: a byte of padding before the first field
///         pub offset: u64 [2],             // [2]: two bytes of padding after the field
///         pub name: &'a [u8] => pascal,    // by `read(r)` and `put(w, value)` of the module `pascal`
///         pub data: &'a [u8] => rest,
///     }
/// }
/// ```
///
/// Padding is zero when written and ignored when read. `[even]` is padding by the functions `skip(r)` and
/// `pad(w, start)` of the module `even`.
#[macro_export]
macro_rules! layout {
    (LittleEndian; $($structures:tt)*) => { $crate::layout!(@in $crate::LittleEndian; $($structures)*); };
    (@in $order:ty; $(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? $([$before:tt])? {
            $($(#[$doc:meta])* $field_vis:vis $field:ident: $type:ty $(=> $form:ident)? $([$after:tt])?,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis struct $name $(<$life>)? { $($(#[$doc])* $field_vis $field: $type,)* }

        impl $(<$life>)? $name $(<$life>)? {
            #[allow(missing_docs)]
            $vis fn decode(r: &mut $crate::layout!(@reader $($life)?)) -> Result<Self, $crate::Malformed> {
                $($crate::layout!(@skip r, $before);)?
                $(
                    let $field: $type = $crate::layout!(@read r, $order $(, $form)?)?;
                    $($crate::layout!(@skip r, $after);)?
                )*
                Ok(Self { $($field,)* })
            }

            #[allow(missing_docs)]
            $vis fn encode(&self, w: &mut $crate::Writer) {
                let _start = w.len();
                $($crate::layout!(@pad w, _start, $before);)?
                $(
                    $crate::layout!(@write w, &self.$field, $order $(, $form)?);
                    $($crate::layout!(@pad w, _start, $after);)?
                )*
            }
        }

        $crate::layout!(@field $order, $name $(<$life>)?);
    )*};
    (@reader) => { $crate::Reader<'_> };
    (@reader $life:lifetime) => { $crate::Reader<$life> };
    (@read $r:ident, $order:ty) => { $crate::Field::<$order>::read($r) };
    (@read $r:ident, $order:ty, $form:ident) => { $form::read($r) };
    (@write $w:ident, $value:expr, $order:ty) => { $crate::Field::<$order>::write($value, $w) };
    (@write $w:ident, $value:expr, $order:ty, $form:ident) => { $form::put($w, $value) };
    (@skip $r:ident, $count:literal) => { $r.skip($count)? };
    (@skip $r:ident, $form:ident) => { $form::skip($r)? };
    (@pad $w:ident, $start:ident, $count:literal) => { $w.zeros($count) };
    (@pad $w:ident, $start:ident, $form:ident) => { $form::pad($w, $start) };
    (@field $order:ty, $name:ident) => { $crate::layout!(@implement '_, [], $order, $name); };
    (@field $order:ty, $name:ident <$life:lifetime>) => {
        $crate::layout!(@implement $life, [<$life>], $order, $name<$life>);
    };
    (@implement $life:lifetime, [$($generics:tt)*], $order:ty, $type:ty) => {
        impl $($generics)* $crate::Field<$life, $order> for $type {
            fn read(r: &mut $crate::Reader<$life>) -> Result<Self, $crate::Malformed> {
                Self::decode(r)
            }

            fn write(&self, w: &mut $crate::Writer) {
                self.encode(w);
            }
        }
    };
    ($($structures:tt)*) => { $crate::layout!(@in $crate::BigEndian; $($structures)*); };
}

#[cfg(test)]
mod tests {
    use crate::{Malformed, Reader, Writer};

    /// Bytes up to the end.
    mod rest {
        use super::*;

        pub(super) fn read<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
            Ok(r.rest())
        }

        pub(super) fn put(w: &mut Writer, bytes: &[u8]) {
            w.put(bytes);
        }
    }

    layout! {
        /// Two numbers.
        #[derive(Default)]
        struct Pair {
            one: u8 [1],
            other: u16,
        }

        /// A structure in a structure, and bytes without a length.
        struct Whole<'a> [2] {
            pair: Pair,
            id: [u8; 3],
            data: &'a [u8] => rest,
        }
    }

    layout! {
        LittleEndian;
        /// Numbers of which the first byte is the least significant one.
        struct Little {
            number: u16,
            flag: bool [1],
            words: [u32; 2],
        }
    }

    #[test]
    fn a_declaration_says_that_numbers_are_little_endian() {
        let bytes = [1, 2, 7, 0, 3, 0, 0, 0, 4, 0, 0, 0];
        let little = Little { number: 0x0201, flag: true, words: [3, 4] };
        assert_eq!(Little::decode(&mut Reader::new(&bytes)), Ok(little));
        let mut w = Writer::new();
        little.encode(&mut w);
        assert_eq!(w.as_bytes(), [1, 2, 1, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    }

    #[test]
    fn fields_and_padding_are_in_the_order_of_the_declaration() {
        let bytes = [0, 0, 1, 0, 2, 3, 4, 5, 6, 7, 8];
        let pair = Pair { one: 1, other: 0x0203 };
        let whole = Whole { pair, id: [4, 5, 6], data: &[7, 8] };
        assert_eq!(Whole::decode(&mut Reader::new(&bytes)), Ok(whole));
        let mut w = Writer::onto(vec![9]);
        whole.encode(&mut w);
        assert_eq!(w.as_bytes()[1..], bytes);
        assert!(Whole::decode(&mut Reader::new(&bytes[..8])).is_err());
        assert_eq!(Whole::decode(&mut Reader::new(&[7; 9])).map(|whole| whole.pair.one), Ok(7));
    }
}
