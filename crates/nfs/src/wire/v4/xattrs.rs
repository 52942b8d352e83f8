//! The operations on extended attributes, RFC 8276 8.4: an extension of minor version 2.

use super::types::*;
use super::*;

enumeration! {
    /// setxattr_option4.
    pub struct SetOption;
    EITHER = 0,
    CREATE = 1,
    REPLACE = 2,
}

record! {
    /// SETXATTR4args, 8.4.2.
    pub struct SetXattr<'a> {
        pub option: SetOption,
        pub name: Name<'a>,
        pub value: XattrValue<'a>,
    }

    /// LISTXATTRS4args, 8.4.3.
    pub struct ListXattrs {
        pub cookie: u64,
        /// The most bytes of LISTXATTRS4resok.
        pub max_count: u32,
    }
}
