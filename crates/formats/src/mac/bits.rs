//! Attribute words, as they are stored.

use bitflags::bitflags;

/// The Mac file server's attribute word: the low half of AppleDouble entry 14. All bits are kept, named or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileBits(pub u16);

bitflags! {
    impl FileBits: u16 {
        /// Not shown by the Finder; mirrors the flag in the Finder info.
        const INVISIBLE = 0x0001;
        /// An application several users may run at once (files), a share point (folders).
        const MULTI_USER = 0x0002;
        /// A system file.
        const SYSTEM = 0x0004;
        /// Contents may not change.
        const WRITE_INHIBIT = 0x0020;
        /// Changed since the last backup.
        const BACKUP_NEEDED = 0x0040;
        /// May not be renamed.
        const RENAME_INHIBIT = 0x0080;
        /// May not be removed.
        const DELETE_INHIBIT = 0x0100;
        /// May not be copied by the Finder.
        const COPY_PROTECT = 0x0400;
        /// What the Finder calls "Locked".
        const LOCKED = 0x01A0;
        /// Never stored: the file has the read-only attribute of Windows. Beside what the other bits
        /// forbid, only a client of SMB may remove or rename it.
        const READ_ONLY = 0x8000;
    }
}

/// The DOS attribute word of `user.DOSATTRIB`. All bits are kept, named or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DosAttributes(pub u32);

bitflags! {
    impl DosAttributes: u32 {
        /// Contents may not change.
        const READONLY = 0x01;
        /// Not shown in plain listings.
        const HIDDEN = 0x02;
        /// A system file.
        const SYSTEM = 0x04;
        /// Changed since the last backup.
        const ARCHIVE = 0x20;
    }
}

/// Finder flags, Inside Macintosh: More Macintosh Toolbox 7-47; the three label bits are [`super::FinderInfo::label`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FinderFlags(pub u16);

bitflags! {
    impl FinderFlags: u16 {
        /// On the desktop.
        const IS_ON_DESK = 0x0001;
        /// The name is shown without its extension.
        const HIDE_EXTENSION = 0x0010;
        /// An application several users may run at once.
        const IS_SHARED = 0x0040;
        /// Has no start-up code.
        const HAS_NO_INITS = 0x0080;
        /// The Finder has seen it.
        const HAS_BEEN_INITED = 0x0100;
        /// Has its own icon.
        const HAS_CUSTOM_ICON = 0x0400;
        /// A template.
        const IS_STATIONERY = 0x0800;
        /// The name may not change.
        const NAME_LOCKED = 0x1000;
        /// Has a bundle resource.
        const HAS_BUNDLE = 0x2000;
        /// Not shown.
        const IS_INVISIBLE = 0x4000;
        /// An alias file.
        const IS_ALIAS = 0x8000;
    }
}
