//! `body!`: a message whose body has a fixed length, with both directions of its codec from one list of its fields.

/// Declares a message whose body is its structure size and its fields in order, as [`wire::layout!`] does for other structures.
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
                    let $field = <$type as ::wire::Field<'_, ::wire::LittleEndian>>::read(r)?;
                    $(r.skip($reserved)?;)?
                )*
                Ok(Self { $($field,)* })
            }

            pub fn encode(&self, w: &mut ::wire::Writer) {
                w.u16_le(Self::SIZE);
                $(w.zeros($first);)?
                $(
                    ::wire::Field::<::wire::LittleEndian>::write(&self.$field, w);
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

pub(crate) use {body, empty_body};
