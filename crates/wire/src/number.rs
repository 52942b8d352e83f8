//! `number!` and `bits!`: a number whose values or bits have names. Any number decodes; whoever uses it judges it.

/// Declares a number whose values have names. It is a [`Field`](crate::Field) in both orders of bytes.
///
/// ```text
/// wire::number! {
///     /// The documentation of the type.
///     pub Dialect: u16 { SMB_2_1 = 0x0210, SMB_3_0 = 0x0300, }
/// }
/// ```
///
/// With a format after the type it is shown by its name, which `name()` gives, and a value without a name by the format:
/// `pub ResultCode: i32 ["result {}"] { … }`.
#[macro_export]
macro_rules! number {
    (
        $(#[$meta:meta])* $vis:vis $name:ident: $type:ident [$unnamed:expr] {
            $($(#[$item:meta])* $constant:ident = $value:expr,)*
        }
    ) => {
        $crate::number! { @declare
            $(#[$meta])* $vis $name: $type { $($(#[$item])* $constant = $value,)* }
        }

        impl $name {
            /// The specification's name, if it has one.
            $vis fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some(stringify!($constant)),)*
                    _ => None,
                }
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, $unnamed, self.0),
                }
            }
        }
    };
    (
        $(#[$meta:meta])* $vis:vis $name:ident: $type:ident {
            $($(#[$item:meta])* $constant:ident = $value:expr,)*
        }
    ) => {
        $crate::number! { @declare
            #[derive(Debug)] $(#[$meta])* $vis $name: $type { $($(#[$item])* $constant = $value,)* }
        }
    };
    (
        @declare $(#[$meta:meta])* $vis:vis $name:ident: $type:ident {
            $($(#[$item:meta])* $constant:ident = $value:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        $vis struct $name($vis $type);

        #[allow(missing_docs)]
        impl $name {
            $($(#[$item])* $vis const $constant: Self = Self($value);)*
        }

        impl<'a, Order> $crate::Field<'a, Order> for $name
        where
            $type: $crate::Field<'a, Order>,
        {
            fn read(r: &mut $crate::Reader<'a>) -> Result<Self, $crate::Malformed> {
                <$type as $crate::Field<'a, Order>>::read(r).map(Self)
            }

            fn write(&self, w: &mut $crate::Writer) {
                <$type as $crate::Field<'a, Order>>::write(&self.0, w);
            }
        }
    };
}

/// Declares a number whose bits have names, with the methods of the crate `bitflags`, which the crate of the declaration has to
/// depend on. Otherwise it is as one of [`number!`](crate::number).
#[macro_export]
macro_rules! bits {
    (
        $(#[$meta:meta])* $vis:vis $name:ident: $type:ident {
            $($(#[$($item:tt)*])* $constant:ident = $value:expr,)*
        }
    ) => {
        $crate::number! { $(#[$meta])* $vis $name: $type { NONE = 0, } }

        bitflags::bitflags! {
            impl $name: $type { $($(#[$($item)*])* const $constant = $value;)* }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{BigEndian, Field, LittleEndian, Reader, Writer};

    number! {
        /// A number with a name.
        Kind: u16 {
            FIRST = 0x0102,
        }
    }

    number! {
        /// A number that is shown by its name.
        Code: i32 ["code {}"] {
            FINE = 0,
            BAD = -1,
        }
    }

    #[test]
    fn a_value_without_a_name_is_shown_by_the_format() {
        assert_eq!(format!("{:?} {:?} {:?}", Code::FINE, Code(-1), Code(7)), "FINE BAD code 7");
        assert_eq!((Code::BAD.name(), Code(7).name()), (Some("BAD"), None));
        assert_eq!(format!("{:?}", Kind(7)), "Kind(7)");
    }

    #[test]
    fn a_number_is_a_field_in_both_orders_of_bytes() {
        let bytes = [1, 2];
        assert_eq!(Field::<BigEndian>::read(&mut Reader::new(&bytes)), Ok(Kind::FIRST));
        assert_eq!(Field::<LittleEndian>::read(&mut Reader::new(&bytes)), Ok(Kind(0x0201)));
        let mut w = Writer::new();
        Field::<BigEndian>::write(&Kind::FIRST, &mut w);
        Field::<LittleEndian>::write(&Kind::FIRST, &mut w);
        assert_eq!(w.as_bytes(), [1, 2, 2, 1]);
    }
}
