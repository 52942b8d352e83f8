//! `layout!`: a structure of fixed length, with both directions of its codec from one list of its fields.

use wire::{Malformed, Reader, Writer};

/// The types of fields in a structure of fixed length.
pub(super) trait Field: Sized {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed>;
    fn write(&self, w: &mut Writer);
}

macro_rules! integers {
    ($($type:ident $read:ident,)*) => {$(
        impl Field for $type {
            fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                r.$read()
            }

            fn write(&self, w: &mut Writer) {
                w.put(&self.to_le_bytes());
            }
        }
    )*};
}

integers! { u8 u8, u16 u16_le, u32 u32_le, u64 u64_le, i32 i32_le, i64 i64_le, }

/// One byte; anything but zero is true.
impl Field for bool {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(r.u8()? != 0)
    }

    fn write(&self, w: &mut Writer) {
        w.u8(u8::from(*self));
    }
}

/// The fields one after the other.
impl<T: Field + Copy + Default, const N: usize> Field for [T; N] {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
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

/// Declares structures whose layout is its fields in order. `[n]` after a type: `n` reserved bytes follow, which are zero
/// when written and not looked at when read.
macro_rules! layout {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $type:ty $([$reserved:literal])?,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl $name {
            pub fn decode(r: &mut ::wire::Reader<'_>) -> Result<Self, ::wire::Malformed> {
                $(
                    let $field = <$type as $crate::wire::layout::Field>::read(r)?;
                    $(r.skip($reserved)?;)?
                )*
                Ok(Self { $($field,)* })
            }

            pub fn encode(&self, w: &mut ::wire::Writer) {
                $(
                    $crate::wire::layout::Field::write(&self.$field, w);
                    $(w.zeros($reserved);)?
                )*
            }
        }

        impl $crate::wire::layout::Field for $name {
            fn read(r: &mut ::wire::Reader<'_>) -> Result<Self, ::wire::Malformed> {
                Self::decode(r)
            }

            fn write(&self, w: &mut ::wire::Writer) {
                self.encode(w);
            }
        }
    )*};
}

/// Declares a message whose body is its structure size and its fields in order, as [`layout`] does for other structures.
/// `(n)` is the structure size; `[n]` behind it or behind a type: reserved bytes.
macro_rules! body {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident ($size:literal) $([$first:literal])? {
            $($(#[$doc:meta])* pub $field:ident: $type:ty $([$reserved:literal])?,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl $name {
            const SIZE: u16 = $size;

            pub fn decode(message: &[u8]) -> Result<Self, ::wire::Malformed> {
                let r = &mut $crate::wire::buffers::body(message, Self::SIZE)?;
                $(r.skip($first)?;)?
                $(
                    let $field = <$type as $crate::wire::layout::Field>::read(r)?;
                    $(r.skip($reserved)?;)?
                )*
                Ok(Self { $($field,)* })
            }

            pub fn encode(&self, w: &mut ::wire::Writer) {
                w.u16_le(Self::SIZE);
                $(w.zeros($first);)?
                $(
                    $crate::wire::layout::Field::write(&self.$field, w);
                    $(w.zeros($reserved);)?
                )*
            }
        }
    )*};
}

/// Declares messages whose body is a structure size of 4 and two reserved bytes.
macro_rules! empty_body {
    ($($(#[$meta:meta])* pub struct $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name;

        impl $name {
            pub fn decode(message: &[u8]) -> Result<Self, ::wire::Malformed> {
                $crate::wire::buffers::body(message, 4)?.skip(2).map(|()| Self)
            }

            pub fn encode(&self, w: &mut ::wire::Writer) {
                w.u16_le(4);
                w.u16_le(0);
            }
        }
    )*};
}

pub(crate) use {body, empty_body, layout};
