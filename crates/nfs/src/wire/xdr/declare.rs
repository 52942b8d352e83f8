//! `record!` and `enumeration!`: a type and both directions of its codec from one list of its fields or values.

/// Declares structures with their fields in layout order, and their codecs.
macro_rules! record {
    (@decode $name:ident { $($field:ident)* }) => {
        impl $crate::wire::xdr::Decode<'_> for $name {
            fn decode(r: &mut ::wire::Reader<'_>) -> Result<Self, ::wire::Malformed> {
                Ok(Self { $($field: $crate::wire::xdr::Decode::decode(r)?,)* })
            }
        }
    };
    (@decode $name:ident <$life:lifetime> { $($field:ident)* }) => {
        impl<$life> $crate::wire::xdr::Decode<$life> for $name<$life> {
            fn decode(r: &mut ::wire::Reader<$life>) -> Result<Self, ::wire::Malformed> {
                Ok(Self { $($field: $crate::wire::xdr::Decode::decode(r)?,)* })
            }
        }
    };
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident $(<$life:lifetime>)? { $($(#[$doc:meta])* pub $field:ident: $type:ty,)* }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name $(<$life>)? { $($(#[$doc])* pub $field: $type,)* }

        $crate::wire::xdr::record!(@decode $name $(<$life>)? { $($field)* });

        impl $(<$life>)? $crate::wire::xdr::Encode for $name $(<$life>)? {
            fn encode(&self, w: &mut ::wire::Writer) {
                $($crate::wire::xdr::Encode::encode(&self.$field, w);)*
            }
        }
    )*};
}

/// Declares an enumeration of the specification by [`wire::number!`].
macro_rules! enumeration {
    ($(#[$meta:meta])* pub struct $name:ident; $($(#[$const_meta:meta])* $constant:ident = $value:expr,)*) => {
        ::wire::number! {
            $(#[$meta])*
            pub $name: u32 [concat!(stringify!($name), "({})")] { $($(#[$const_meta])* $constant = $value,)* }
        }

        impl $crate::wire::xdr::Decode<'_> for $name {
            fn decode(r: &mut ::wire::Reader<'_>) -> Result<Self, ::wire::Malformed> {
                r.u32_be().map(Self)
            }
        }

        impl $crate::wire::xdr::Encode for $name {
            fn encode(&self, w: &mut ::wire::Writer) {
                w.u32_be(self.0);
            }
        }
    };
}

pub(crate) use {enumeration, record};
