//! The bitmaps of parameters of a volume, file or folder in a message, Apple Filing Protocol
//! Reference, "AFP File Bitmap", "AFP Directory Bitmap", "AFP Volume Bitmap".
//!
//! Parameters are packed in the order of their bits. Names come after all others; the place of a
//! name has its offset, counted from the first parameter.

/// Declares the bits of a bitmap by [`wire::bits!`]: their numbers, and the bytes that the parameter of each one has.
macro_rules! bitmap {
    ($(#[$doc:meta])* $name:ident { $($(#[$($bit_doc:tt)*])* $bit:ident = $number:literal, $size:literal;)* }) => {
        wire::bits! {
            $(#[$doc])*
            pub $name: u16 { $($(#[$($bit_doc)*])* $bit = 1 << $number,)* }
        }

        impl $name {
            /// Those that the reference does not define.
            pub const fn unknown(self) -> Self {
                self.difference(Self::all())
            }

            /// Bytes of the parameters, with the offsets of names but without the names.
            pub const fn fixed_len(self) -> usize {
                0 $(+ if self.0 & (1 << $number) != 0 { $size } else { 0 })*
            }
        }
    };
}

bitmap! {
    /// Parameters of a volume.
    VolumeBitmap {
        ATTRIBUTES = 0, 2;
        SIGNATURE = 1, 2;
        CREATED = 2, 4;
        MODIFIED = 3, 4;
        BACKUP = 4, 4;
        ID = 5, 2;
        BYTES_FREE = 6, 4;
        BYTES_TOTAL = 7, 4;
        /// The offset of the name: a Pascal string.
        NAME = 8, 2;
        /// As a 64-bit number, AFP 2.2 and later.
        EXTENDED_FREE = 9, 8;
        /// As a 64-bit number, AFP 2.2 and later.
        EXTENDED_TOTAL = 10, 8;
        BLOCK_SIZE = 11, 4;
    }
}

bitmap! {
    /// Parameters of a file.
    FileBitmap {
        ATTRIBUTES = 0, 2;
        PARENT_ID = 1, 4;
        CREATED = 2, 4;
        MODIFIED = 3, 4;
        BACKUP = 4, 4;
        FINDER_INFO = 5, 32;
        /// The offset of the name: a Pascal string.
        LONG_NAME = 6, 2;
        /// The offset of the name: a Pascal string.
        SHORT_NAME = 7, 2;
        FILE_NUMBER = 8, 4;
        DATA_LENGTH = 9, 4;
        RESOURCE_LENGTH = 10, 4;
        /// As a 64-bit number, AFP 3.
        EXTENDED_DATA_LENGTH = 11, 8;
        LAUNCH_LIMIT = 12, 2;
        /// AFP 3: the offset of the name (hint, length, UTF-8), and four bytes of padding. AFP 2:
        /// six bytes of ProDOS information.
        UTF8_NAME = 13, 6;
        /// As a 64-bit number, AFP 3.
        EXTENDED_RESOURCE_LENGTH = 14, 8;
        /// User, group, mode, and the user's rights; AFP 3.
        UNIX_PRIVILEGES = 15, 16;
    }
}

bitmap! {
    /// Parameters of a folder.
    DirBitmap {
        ATTRIBUTES = 0, 2;
        PARENT_ID = 1, 4;
        CREATED = 2, 4;
        MODIFIED = 3, 4;
        BACKUP = 4, 4;
        FINDER_INFO = 5, 32;
        /// The offset of the name: a Pascal string.
        LONG_NAME = 6, 2;
        /// The offset of the name: a Pascal string.
        SHORT_NAME = 7, 2;
        DIR_ID = 8, 4;
        OFFSPRING_COUNT = 9, 2;
        OWNER_ID = 10, 4;
        GROUP_ID = 11, 4;
        ACCESS_RIGHTS = 12, 4;
        /// AFP 3: the offset of the name (hint, length, UTF-8), and four bytes of padding. AFP 2:
        /// six bytes of ProDOS information.
        UTF8_NAME = 13, 6;
        /// User, group, mode, and the user's rights; AFP 3.
        UNIX_PRIVILEGES = 15, 16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_sizes_of_the_reference() {
        // FPGetVolParms: attributes, signature, three dates, id, two sizes, the name's offset, two long sizes, block size.
        assert_eq!(VolumeBitmap(0x0fff).fixed_len(), 2 + 2 + 12 + 2 + 8 + 2 + 16 + 4);
        // FPGetFileDirParms, the request of a Mac of AFP 3 for each file: attributes, parent,
        // dates, Finder information, number, fork lengths, UTF-8 name, UNIX privileges.
        assert_eq!(FileBitmap(0xe93f).fixed_len(), 2 + 4 + 12 + 32 + 4 + 8 + 6 + 8 + 16);
        // The same for each folder: id, offspring count, owner, group, access rights in place of
        // the fork lengths.
        assert_eq!(DirBitmap(0xbf3f).fixed_len(), 2 + 4 + 12 + 32 + 4 + 2 + 4 + 4 + 4 + 6 + 16);
    }

    #[test]
    fn bits_without_a_meaning_are_unknown() {
        assert_eq!(VolumeBitmap(0xffff).unknown(), VolumeBitmap(0xf000));
        assert_eq!(FileBitmap(0xffff).unknown(), FileBitmap::empty());
        assert_eq!(DirBitmap(0xffff).unknown(), DirBitmap(0x4000));
    }
}
