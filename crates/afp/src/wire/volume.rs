//! Volumes: opening, closing, parameters, flushing. Apple Filing Protocol Reference, FPOpenVol,
//! FPCloseVol, FPGetVolParms, FPSetVolParms, FPFlush, FPSyncDir.

use wire::{Malformed, Reader, Writer, layout};

use super::VolumeBitmap;
use super::strings::pascal;

/// FPOpenVol, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenVol<'a> {
    /// The parameters of the reply.
    pub bitmap: VolumeBitmap,
    /// The volume's name: MacRoman, or UTF-8 from AFP 3 on.
    pub name: &'a [u8],
    /// `None` if the client does not expect a password.
    pub password: Option<[u8; 8]>,
}

impl<'a> OpenVol<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (bitmap, name) = (VolumeBitmap(r.u16_be()?), pascal::read(r)?);
        if name.len().is_multiple_of(2) && r.remaining() > 0 {
            r.skip(1)?; // to an even offset: four bytes and the length come before the name
        }
        // A truncated password counts as missing.
        let password = r.rest().first_chunk().copied();
        Ok(Self { bitmap, name, password })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.bitmap.0);
        pascal::put(w, self.name);
        let Some(password) = self.password else { return };
        if self.name.len().is_multiple_of(2) {
            w.u8(0);
        }
        w.put(&password);
    }
}

layout! {
    /// FPCloseVol, FPFlush: a request that names only a volume.
    pub struct OfVolume [1] {
        pub volume: u16,
    }

    /// FPGetVolParms, request.
    pub struct GetVolParms [1] {
        pub volume: u16,
        pub bitmap: VolumeBitmap,
    }
}

/// FPSetVolParms, request. Only the backup date can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetVolParms {
    pub volume: u16,
    pub bitmap: VolumeBitmap,
    /// Seconds from the year 2000; present if the bitmap has only the backup date.
    pub backup: Option<i32>,
}

impl SetVolParms {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (volume, bitmap) = (r.u16_be()?, VolumeBitmap(r.u16_be()?));
        let backup = if bitmap == VolumeBitmap::BACKUP { Some(r.i32_be()?) } else { None };
        Ok(Self { volume, bitmap, backup })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.volume);
        w.u16_be(self.bitmap.0);
        self.backup.into_iter().for_each(|date| w.i32_be(date));
    }
}

layout! {
    /// FPSyncDir, request.
    pub struct SyncDir [1] {
        pub volume: u16,
        pub folder: u32,
    }
}

/// The reply to FPOpenVol and FPGetVolParms. Fields that the bitmap does not have are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parameters<'a> {
    pub bitmap: VolumeBitmap,
    /// Bits of [`attributes`].
    pub attributes: u16,
    /// The numbering of folders, of [`signature`].
    pub signature: u16,
    pub created: i32,
    pub modified: i32,
    pub backup: i32,
    pub id: u16,
    pub bytes_free: u32,
    pub bytes_total: u32,
    pub name: &'a [u8],
    pub extended_free: u64,
    pub extended_total: u64,
    pub block_size: u32,
}

impl<'a> Parameters<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let bitmap = VolumeBitmap(r.u16_be()?);
        let (all, start) = (r.clone(), r.position());
        let mut it = Self { bitmap, ..Self::default() };
        let has = |bit| bitmap.contains(bit);
        if has(VolumeBitmap::ATTRIBUTES) {
            it.attributes = r.u16_be()?;
        }
        if has(VolumeBitmap::SIGNATURE) {
            it.signature = r.u16_be()?;
        }
        let dates = [&mut it.created, &mut it.modified, &mut it.backup];
        for (bit, date) in
            [VolumeBitmap::CREATED, VolumeBitmap::MODIFIED, VolumeBitmap::BACKUP].into_iter().zip(dates)
        {
            if has(bit) {
                *date = r.i32_be()?;
            }
        }
        if has(VolumeBitmap::ID) {
            it.id = r.u16_be()?;
        }
        if has(VolumeBitmap::BYTES_FREE) {
            it.bytes_free = r.u32_be()?;
        }
        if has(VolumeBitmap::BYTES_TOTAL) {
            it.bytes_total = r.u32_be()?;
        }
        let name_at = if has(VolumeBitmap::NAME) { Some(r.u16_be()?) } else { None };
        if has(VolumeBitmap::EXTENDED_FREE) {
            it.extended_free = r.u64_be()?;
        }
        if has(VolumeBitmap::EXTENDED_TOTAL) {
            it.extended_total = r.u64_be()?;
        }
        if has(VolumeBitmap::BLOCK_SIZE) {
            it.block_size = r.u32_be()?;
        }
        if let Some(at) = name_at {
            let mut name = all;
            name.skip(usize::from(at))?;
            it.name = pascal::read(&mut name)?;
            // The next part begins after the name, wherever that is.
            r.skip((name.position() - start).saturating_sub(r.position() - start))?;
        }
        Ok(it)
    }

    pub fn encode(&self, w: &mut Writer) {
        let has = |bit| self.bitmap.contains(bit);
        w.u16_be(self.bitmap.0);
        if has(VolumeBitmap::ATTRIBUTES) {
            w.u16_be(self.attributes);
        }
        if has(VolumeBitmap::SIGNATURE) {
            w.u16_be(self.signature);
        }
        let dates = [
            (VolumeBitmap::CREATED, self.created),
            (VolumeBitmap::MODIFIED, self.modified),
            (VolumeBitmap::BACKUP, self.backup),
        ];
        dates.into_iter().filter(|(bit, _)| has(*bit)).for_each(|(_, date)| w.i32_be(date));
        if has(VolumeBitmap::ID) {
            w.u16_be(self.id);
        }
        if has(VolumeBitmap::BYTES_FREE) {
            w.u32_be(self.bytes_free);
        }
        if has(VolumeBitmap::BYTES_TOTAL) {
            w.u32_be(self.bytes_total);
        }
        if has(VolumeBitmap::NAME) {
            w.u16_be(self.bitmap.fixed_len() as u16); // the only name follows the other parameters
        }
        if has(VolumeBitmap::EXTENDED_FREE) {
            w.u64_be(self.extended_free);
        }
        if has(VolumeBitmap::EXTENDED_TOTAL) {
            w.u64_be(self.extended_total);
        }
        if has(VolumeBitmap::BLOCK_SIZE) {
            w.u32_be(self.block_size);
        }
        if has(VolumeBitmap::NAME) {
            pascal::put(w, self.name);
        }
    }
}

/// Volume attributes, Apple Filing Protocol Reference, "AFP Volume Attributes Bitmap".
pub mod attributes {
    pub const READ_ONLY: u16 = 0x0001;
    pub const HAS_PASSWORD: u16 = 0x0002;
    pub const FILE_IDS: u16 = 0x0004;
    pub const CATALOG_SEARCH: u16 = 0x0008;
    pub const BLANK_ACCESS: u16 = 0x0010;
    pub const UNIX_PRIVILEGES: u16 = 0x0020;
    pub const UTF8_NAMES: u16 = 0x0040;
    pub const NO_NETWORK_USER_IDS: u16 = 0x0080;
    pub const PRIVILEGES_FROM_PARENT: u16 = 0x0100;
    pub const NO_EXCHANGE_FILES: u16 = 0x0200;
    pub const EXTENDED_ATTRIBUTES: u16 = 0x0400;
    pub const ACLS: u16 = 0x0800;
    pub const CASE_SENSITIVE: u16 = 0x1000;
    /// A backup session may end an older session of the same user: Time Machine volumes.
    pub const LOCK_STEALING: u16 = 0x2000;
}

/// The numbering of folders in a volume, Apple Filing Protocol Reference, FPGetVolParms,
/// "Signature".
pub mod signature {
    pub const FLAT: u16 = 1;
    pub const FIXED_DIRECTORY_ID: u16 = 2;
    pub const VARIABLE_DIRECTORY_ID: u16 = 3;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn a_volume_password_begins_at_an_even_offset() {
        // FPOpenVol: after the command's number a pad byte, the bitmap, the name; a null byte if needed; the password.
        for (name, request) in
            [(&b"ab"[..], &b"\0\0\x20\x02ab\0password"[..]), (b"abc", b"\0\0\x20\x03abcpassword")]
        {
            let open = OpenVol { bitmap: VolumeBitmap::ID, name, password: Some(*b"password") };
            assert_eq!(OpenVol::decode(&mut Reader::new(request)), Ok(open));
            assert_eq!(bytes(|w| open.encode(w)), request);
        }
    }

    #[test]
    fn a_volume_without_a_password_may_be_asked_for_with_or_without_padding() {
        for request in [&b"\0\0\x20\x02ab"[..], b"\0\0\x20\x02ab\0"] {
            let open = OpenVol::decode(&mut Reader::new(request)).unwrap();
            assert_eq!((open.name, open.password), (&b"ab"[..], None));
        }
        assert!(OpenVol::decode(&mut Reader::new(b"\0\0\x20\x03ab")).is_err());
    }

    #[test]
    fn the_name_follows_the_other_parameters_and_its_place_counts_from_the_first_of_them() {
        // FPGetVolParms: attributes, id, name's offset, 64-bit free; 2 + 2 + 2 + 8 = 14.
        let reply = b"\x03\x21\0\x0c\0\x07\0\x0e\0\0\0\x01\0\0\0\0\x04Home";
        let parameters = Parameters {
            bitmap: VolumeBitmap(0x0321),
            attributes: attributes::FILE_IDS | attributes::CATALOG_SEARCH,
            id: 7,
            name: b"Home",
            extended_free: 1 << 32,
            ..Parameters::default()
        };
        assert_eq!(Parameters::decode(&mut Reader::new(reply)), Ok(parameters));
        assert_eq!(bytes(|w| parameters.encode(w)), reply);
    }

    #[test]
    fn every_parameter_is_in_the_order_of_its_bit() {
        // Reference, "AFP Volume Bitmap", bits 0 to 11.
        let reply = [
            &b"\x0f\xff\0\x01\0\x02\0\0\0\x03\0\0\0\x04\x80\0\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\x30"[..],
            b"\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x09\0\0\x10\0\x01v",
        ]
        .concat();
        let all = Parameters {
            bitmap: VolumeBitmap::all(),
            attributes: 1,
            signature: signature::FIXED_DIRECTORY_ID,
            created: 3,
            modified: 4,
            backup: i32::MIN,
            id: 5,
            bytes_free: 6,
            bytes_total: 7,
            name: b"v",
            extended_free: 8,
            extended_total: 9,
            block_size: 4096,
        };
        assert_eq!(bytes(|w| all.encode(w)), reply);
        assert_eq!(Parameters::decode(&mut Reader::new(&reply)), Ok(all));
        assert!(Parameters::decode(&mut Reader::new(&reply[..reply.len() - 1])).is_err());
    }

    #[test]
    fn only_the_backup_date_of_a_volume_is_set() {
        let request = b"\0\0\x07\0\x10\x80\0\0\0";
        let set = SetVolParms { volume: 7, bitmap: VolumeBitmap::BACKUP, backup: Some(i32::MIN) };
        assert_eq!(SetVolParms::decode(&mut Reader::new(request)), Ok(set));
        assert_eq!(bytes(|w| set.encode(w)), request);
        let other = SetVolParms::decode(&mut Reader::new(b"\0\0\x07\0\x01\0\0")).unwrap();
        assert_eq!((other.bitmap, other.backup), (VolumeBitmap::ATTRIBUTES, None));
    }

    #[test]
    fn requests_name_the_volume_after_a_byte_of_padding() {
        assert_eq!(bytes(|w| OfVolume { volume: 0x0102 }.encode(w)), [0, 1, 2]);
        assert_eq!(bytes(|w| GetVolParms { volume: 1, bitmap: VolumeBitmap(2) }.encode(w)), [0, 0, 1, 0, 2]);
        assert_eq!(bytes(|w| SyncDir { volume: 1, folder: 2 }.encode(w)), [0, 0, 1, 0, 0, 0, 2]);
        assert_eq!(
            SyncDir::decode(&mut Reader::new(&[0, 0, 1, 0, 0, 0, 2])),
            Ok(SyncDir { volume: 1, folder: 2 })
        );
    }
}
