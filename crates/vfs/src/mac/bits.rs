//! Attribute words, as they are stored.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident($int:ty) { $($(#[$bit_doc:meta])* $bit:ident = $value:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*

            /// Whether all bits of `other` are set.
            pub fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// The same bits with those of `other` set or cleared.
            #[must_use]
            pub fn with(self, other: Self, on: bool) -> Self {
                if on { Self(self.0 | other.0) } else { Self(self.0 & !other.0) }
            }
        }

        impl BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    };
}
flags! {
    /// The Mac file server's attribute word: the low half of AppleDouble entry 14. All bits are kept, named or not.
    FileBits(u16) {
        /// Not shown by the Finder; mirrors the flag in the Finder info.
        INVISIBLE = 0x0001;
        /// An application several users may run at once (files), a share point (folders).
        MULTI_USER = 0x0002;
        /// A system file.
        SYSTEM = 0x0004;
        /// Contents may not change.
        WRITE_INHIBIT = 0x0020;
        /// Changed since the last backup.
        BACKUP_NEEDED = 0x0040;
        /// May not be renamed.
        RENAME_INHIBIT = 0x0080;
        /// May not be removed.
        DELETE_INHIBIT = 0x0100;
        /// May not be copied by the Finder.
        COPY_PROTECT = 0x0400;
        /// What the Finder calls "Locked".
        LOCKED = 0x01A0;
    }
}

flags! {
    /// The DOS attribute word of `user.DOSATTRIB`. All bits are kept, named or not.
    DosAttributes(u32) {
        /// Contents may not change.
        READONLY = 0x01;
        /// Not shown in plain listings.
        HIDDEN = 0x02;
        /// A system file.
        SYSTEM = 0x04;
        /// Changed since the last backup.
        ARCHIVE = 0x20;
    }
}

flags! {
    /// Finder flags, Inside Macintosh: More Macintosh Toolbox 7-47; the three label bits are [`super::FinderInfo::label`].
    FinderFlags(u16) {
        /// On the desktop.
        IS_ON_DESK = 0x0001;
        /// The name is shown without its extension.
        HIDE_EXTENSION = 0x0010;
        /// An application several users may run at once.
        IS_SHARED = 0x0040;
        /// Has no start-up code.
        HAS_NO_INITS = 0x0080;
        /// The Finder has seen it.
        HAS_BEEN_INITED = 0x0100;
        /// Has its own icon.
        HAS_CUSTOM_ICON = 0x0400;
        /// A template.
        IS_STATIONERY = 0x0800;
        /// The name may not change.
        NAME_LOCKED = 0x1000;
        /// Has a bundle resource.
        HAS_BUNDLE = 0x2000;
        /// Not shown.
        IS_INVISIBLE = 0x4000;
        /// An alias file.
        IS_ALIAS = 0x8000;
    }
}
