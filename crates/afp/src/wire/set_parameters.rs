//! The new values in commands that set parameters of files and folders. Apple Filing Protocol
//! Reference, FPSetFileDirParms, FPSetFileParms, FPSetDirParms.
//!
//! The common bits of files and folders have the same meaning for both; the bits of [`DirBitmap`]
//! that only folders have must not be set in a file's bitmap, which the server checks.

use wire::{Malformed, Reader, Writer, layout};

use super::DirBitmap;

layout! {
    /// User, group, mode, and the user's rights: Apple Filing Protocol Reference, "FPUnixPrivs".
    #[derive(Default)]
    pub struct UnixPrivileges {
        pub user: u32,
        pub group: u32,
        /// As of stat(2).
        pub mode: u32,
        /// The rights of user, everyone, group, owner, a byte each.
        pub rights: u32,
    }
}

/// New values of parameters, in the order of their bits. `None` leaves a parameter unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetParameters {
    pub attributes: Option<u16>,
    /// Dates are seconds from the year 2000.
    pub created: Option<i32>,
    pub modified: Option<i32>,
    pub backup: Option<i32>,
    pub finder_info: Option<[u8; 32]>,
    /// For a folder.
    pub owner: Option<u32>,
    /// For a folder.
    pub group: Option<u32>,
    /// For a folder: the rights of user, everyone, group, owner, a byte each.
    pub access_rights: Option<u32>,
    /// For AFP 2.
    pub prodos: Option<[u8; 6]>,
    pub unix: Option<UnixPrivileges>,
}

impl SetParameters {
    /// The parameters that can be set at all.
    pub const SETTABLE: DirBitmap = DirBitmap(
        DirBitmap::ATTRIBUTES.0
            | DirBitmap::CREATED.0
            | DirBitmap::MODIFIED.0
            | DirBitmap::BACKUP.0
            | DirBitmap::FINDER_INFO.0
            | DirBitmap::OWNER_ID.0
            | DirBitmap::GROUP_ID.0
            | DirBitmap::ACCESS_RIGHTS.0
            | DirBitmap::UTF8_NAME.0
            | DirBitmap::UNIX_PRIVILEGES.0,
    );

    /// If the bitmap has other parameters, nothing is decoded, because the offsets are unknown.
    pub fn decode(r: &mut Reader<'_>, bitmap: u16) -> Result<Self, Malformed> {
        let bitmap = DirBitmap(bitmap);
        if !Self::SETTABLE.contains(bitmap) {
            return Ok(Self::default());
        }
        let has = |bit| bitmap.contains(bit);
        Ok(Self {
            attributes: when(has(DirBitmap::ATTRIBUTES), || r.u16_be())?,
            created: when(has(DirBitmap::CREATED), || r.i32_be())?,
            modified: when(has(DirBitmap::MODIFIED), || r.i32_be())?,
            backup: when(has(DirBitmap::BACKUP), || r.i32_be())?,
            finder_info: when(has(DirBitmap::FINDER_INFO), || r.array())?,
            owner: when(has(DirBitmap::OWNER_ID), || r.u32_be())?,
            group: when(has(DirBitmap::GROUP_ID), || r.u32_be())?,
            access_rights: when(has(DirBitmap::ACCESS_RIGHTS), || r.u32_be())?,
            prodos: when(has(DirBitmap::UTF8_NAME), || r.array())?,
            unix: when(has(DirBitmap::UNIX_PRIVILEGES), || UnixPrivileges::decode(r))?,
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        self.attributes.into_iter().for_each(|attributes| w.u16_be(attributes));
        [self.created, self.modified, self.backup].into_iter().flatten().for_each(|date| w.i32_be(date));
        self.finder_info.iter().for_each(|info| w.put(info));
        [self.owner, self.group, self.access_rights]
            .into_iter()
            .flatten()
            .for_each(|number| w.u32_be(number));
        self.prodos.iter().for_each(|info| w.put(info));
        self.unix.iter().for_each(|unix| unix.encode(w));
    }

    /// Encodes the values.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.encode(&mut w);
        w.into_bytes()
    }

    /// The bitmap of the values that are set.
    pub fn bitmap(&self) -> u16 {
        let bit = |is_set, bit| if is_set { bit } else { DirBitmap::empty() };
        (bit(self.attributes.is_some(), DirBitmap::ATTRIBUTES)
            | bit(self.created.is_some(), DirBitmap::CREATED)
            | bit(self.modified.is_some(), DirBitmap::MODIFIED)
            | bit(self.backup.is_some(), DirBitmap::BACKUP)
            | bit(self.finder_info.is_some(), DirBitmap::FINDER_INFO)
            | bit(self.owner.is_some(), DirBitmap::OWNER_ID)
            | bit(self.group.is_some(), DirBitmap::GROUP_ID)
            | bit(self.access_rights.is_some(), DirBitmap::ACCESS_RIGHTS)
            | bit(self.prodos.is_some(), DirBitmap::UTF8_NAME)
            | bit(self.unix.is_some(), DirBitmap::UNIX_PRIVILEGES))
        .0
    }
}

fn when<T>(is_there: bool, read: impl FnOnce() -> Result<T, Malformed>) -> Result<Option<T>, Malformed> {
    if is_there { read().map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_in_the_order_of_their_bits() {
        // Reference, "AFP Directory Bitmap": attributes 0, dates 2 to 4, Finder information 5, owner 10, group 11, access
        // rights 12, UNIX privileges 15.
        let mut bytes = b"\x80\x20\0\0\0\x01\0\0\0\x02\x80\0\0\0".to_vec();
        bytes.extend([7; 32]);
        bytes.extend(b"\0\0\0\x0a\0\0\0\x0b\x87\x01\x02\x03");
        bytes.extend(b"\0\0\x01\xf5\0\0\0\x14\0\0\x41\xed\0\0\0\0");
        let set = SetParameters {
            attributes: Some(0x8020),
            created: Some(1),
            modified: Some(2),
            backup: Some(i32::MIN),
            finder_info: Some([7; 32]),
            owner: Some(10),
            group: Some(11),
            access_rights: Some(0x8701_0203),
            prodos: None,
            unix: Some(UnixPrivileges { user: 501, group: 20, mode: 0o40755, rights: 0 }),
        };
        assert_eq!(set.bitmap(), 0x9c3d);
        assert_eq!(SetParameters::decode(&mut Reader::new(&bytes), 0x9c3d), Ok(set));
        let mut w = Writer::new();
        set.encode(&mut w);
        assert_eq!(w.into_bytes(), bytes);
    }

    #[test]
    fn of_a_bitmap_that_cannot_be_set_nothing_is_decoded() {
        let set = SetParameters::decode(&mut Reader::new(b"\0\0\0\0\0\0"), 0x0003); // the parent's id
        assert_eq!(set, Ok(SetParameters::default()));
    }
}
