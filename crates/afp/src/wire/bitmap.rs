//! The bitmaps of parameters of a volume, file or folder in a message, Apple Filing Protocol
//! Reference, "AFP File Bitmap", "AFP Directory Bitmap", "AFP Volume Bitmap".
//!
//! Parameters are packed in the order of their bits. Names come after all others; the place of a
//! name has its offset, counted from the first parameter.
//!
//! The versions are those of *Inside AppleTalk*, chapter 13 ("Directory parameters", "File parameters"), of "AppleTalk Filing Protocol
//! Version 2.1 and 2.2" (FPGetVolParms) and of the Programming Guide, "AFP Version Differences".

use super::Version;

/// Declares the bits of a bitmap by [`wire::bits!`]: their numbers, the bytes that the parameter of each one has, and the version that
/// it came with.
macro_rules! bitmap {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$($bit_doc:tt)*])* $bit:ident = $number:literal, $size:literal, $since:ident;)*
        }
    ) => {
        wire::bits! {
            $(#[$doc])*
            pub $name: u16 { $($(#[$($bit_doc)*])* $bit = 1 << $number,)* }
        }

        impl $name {
            /// The bits that a version has.
            pub const fn of(version: Version) -> Self {
                Self(0 $(| if Version::$since as u8 <= version as u8 { 1 << $number } else { 0 })*)
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
        ATTRIBUTES = 0, 2, V1_1;
        SIGNATURE = 1, 2, V1_1;
        CREATED = 2, 4, V1_1;
        MODIFIED = 3, 4, V1_1;
        BACKUP = 4, 4, V1_1;
        ID = 5, 2, V1_1;
        BYTES_FREE = 6, 4, V1_1;
        BYTES_TOTAL = 7, 4, V1_1;
        /// The offset of the name: a Pascal string.
        NAME = 8, 2, V1_1;
        /// As a 64-bit number.
        EXTENDED_FREE = 9, 8, V2_2;
        /// As a 64-bit number.
        EXTENDED_TOTAL = 10, 8, V2_2;
        BLOCK_SIZE = 11, 4, V2_2;
    }
}

bitmap! {
    /// Parameters of a file.
    FileBitmap {
        ATTRIBUTES = 0, 2, V1_1;
        PARENT_ID = 1, 4, V1_1;
        CREATED = 2, 4, V1_1;
        MODIFIED = 3, 4, V1_1;
        BACKUP = 4, 4, V1_1;
        FINDER_INFO = 5, 32, V1_1;
        /// The offset of the name: a Pascal string.
        LONG_NAME = 6, 2, V1_1;
        /// The offset of the name: a Pascal string.
        SHORT_NAME = 7, 2, V1_1;
        FILE_NUMBER = 8, 4, V1_1;
        DATA_LENGTH = 9, 4, V1_1;
        RESOURCE_LENGTH = 10, 4, V1_1;
        /// As a 64-bit number.
        EXTENDED_DATA_LENGTH = 11, 8, V3_0;
        LAUNCH_LIMIT = 12, 2, V3_0;
        /// AFP 3: the offset of the name (hint, length, UTF-8), and four bytes of padding. AFP 2:
        /// six bytes of ProDOS information.
        UTF8_NAME = 13, 6, V2_0;
        /// As a 64-bit number.
        EXTENDED_RESOURCE_LENGTH = 14, 8, V3_0;
        /// User, group, mode, and the user's rights.
        UNIX_PRIVILEGES = 15, 16, V3_0;
    }
}

bitmap! {
    /// Parameters of a folder.
    DirBitmap {
        ATTRIBUTES = 0, 2, V1_1;
        PARENT_ID = 1, 4, V1_1;
        CREATED = 2, 4, V1_1;
        MODIFIED = 3, 4, V1_1;
        BACKUP = 4, 4, V1_1;
        FINDER_INFO = 5, 32, V1_1;
        /// The offset of the name: a Pascal string.
        LONG_NAME = 6, 2, V1_1;
        /// The offset of the name: a Pascal string.
        SHORT_NAME = 7, 2, V1_1;
        DIR_ID = 8, 4, V1_1;
        OFFSPRING_COUNT = 9, 2, V1_1;
        OWNER_ID = 10, 4, V1_1;
        GROUP_ID = 11, 4, V1_1;
        ACCESS_RIGHTS = 12, 4, V1_1;
        /// AFP 3: the offset of the name (hint, length, UTF-8), and four bytes of padding. AFP 2:
        /// six bytes of ProDOS information.
        UTF8_NAME = 13, 6, V2_0;
        /// User, group, mode, and the user's rights.
        UNIX_PRIVILEGES = 15, 16, V3_0;
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
    fn each_version_has_the_bits_of_its_text() {
        // FPGetVolParms: bits 0 to 8; the long sizes and the block size with AFP 2.2 (kFPBadVolPre222Bitmap is 0xfe00).
        // FPGetFileDirParms: ProDOS information, bit 13, with AFP 2.0; long lengths, bits 11 and 14, and UNIX privileges, bit 15,
        // with AFP 3.0. The launch limit, bit 12 of files, is in no text before that of AFP 3.0.
        for (version, volume, file, dir) in [
            (Version::V1_1, 0x01ff, 0x07ff, 0x1fff),
            (Version::V2_0, 0x01ff, 0x27ff, 0x3fff),
            (Version::V2_1, 0x01ff, 0x27ff, 0x3fff),
            (Version::V2_2, 0x0fff, 0x27ff, 0x3fff),
            (Version::V2_3, 0x0fff, 0x27ff, 0x3fff),
            (Version::V3_0, 0x0fff, 0xffff, 0xbfff),
            (Version::V3_4, 0x0fff, 0xffff, 0xbfff),
        ] {
            assert_eq!(VolumeBitmap::of(version), VolumeBitmap(volume), "{version:?}");
            assert_eq!(FileBitmap::of(version), FileBitmap(file), "{version:?}");
            assert_eq!(DirBitmap::of(version), DirBitmap(dir), "{version:?}");
        }
    }
}
