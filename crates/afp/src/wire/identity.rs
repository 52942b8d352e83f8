//! Users and groups, Apple Filing Protocol Reference, FPGetUserInfo, FPMapID, FPMapName.

use wire::{Malformed, Reader, Writer, layout};

use super::strings::{long, pascal};

/// A universal identifier of a user or group.
pub type Uuid = [u8; 16];

/// The requested values of FPGetUserInfo, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserBitmap(pub u16);

wire::fields!(UserBitmap);

impl UserBitmap {
    pub const USER_ID: u16 = 1;
    /// The id of the first group.
    pub const GROUP_ID: u16 = 2;
    pub const UUID: u16 = 4;

    pub fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }
}

layout! {
    /// FPGetUserInfo, request.
    pub struct GetUserInfo {
        /// Bit 0: for the client's own user.
        pub flags: u8,
        /// Another user. No version supports this.
        pub user: u32,
        pub bitmap: UserBitmap,
    }
}

impl GetUserInfo {
    pub const THIS_USER: u8 = 1;
}

/// FPGetUserInfo, reply. The bitmap follows from the existing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserInfo {
    pub user: Option<u32>,
    pub group: Option<u32>,
    pub uuid: Option<Uuid>,
}

impl UserInfo {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let bitmap = UserBitmap(r.u16_be()?);
        let user = bitmap.has(UserBitmap::USER_ID).then(|| r.u32_be()).transpose()?;
        let group = bitmap.has(UserBitmap::GROUP_ID).then(|| r.u32_be()).transpose()?;
        let uuid = bitmap.has(UserBitmap::UUID).then(|| r.array()).transpose()?;
        Ok(Self { user, group, uuid })
    }

    pub fn encode(&self, w: &mut Writer) {
        let bit = |there: bool, bit| if there { bit } else { 0 };
        w.u16_be(
            bit(self.user.is_some(), UserBitmap::USER_ID)
                | bit(self.group.is_some(), UserBitmap::GROUP_ID)
                | bit(self.uuid.is_some(), UserBitmap::UUID),
        );
        self.user.into_iter().chain(self.group).for_each(|number| w.u32_be(number));
        self.uuid.iter().for_each(|uuid| w.put(uuid));
    }
}

/// FPMapID, request: the name of a user or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapId {
    pub subfunction: u8,
    pub account: Account,
}

/// A user or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    Number(u32),
    Uuid(Uuid),
}

impl MapId {
    pub const USER_TO_NAME: u8 = 1;
    pub const GROUP_TO_NAME: u8 = 2;
    pub const USER_TO_UTF8: u8 = 3;
    pub const GROUP_TO_UTF8: u8 = 4;
    pub const USER_UUID_TO_UTF8: u8 = 5;
    pub const GROUP_UUID_TO_UTF8: u8 = 6;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let subfunction = r.u8()?;
        let account = match subfunction {
            Self::USER_UUID_TO_UTF8 | Self::GROUP_UUID_TO_UTF8 => Account::Uuid(r.array()?),
            _ => Account::Number(r.u32_be()?),
        };
        Ok(Self { subfunction, account })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(self.subfunction);
        match &self.account {
            Account::Number(number) => w.u32_be(*number),
            Account::Uuid(uuid) => w.put(uuid),
        }
    }
}

/// FPMapID, reply. Its form depends on the subfunction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MappedId<'a> {
    /// For `USER_TO_NAME` and `GROUP_TO_NAME`: in MacRoman.
    Name(&'a [u8]),
    /// For `USER_TO_UTF8` and `GROUP_TO_UTF8`.
    Utf8(&'a [u8]),
    /// For the two subfunctions with UUIDs.
    OfUuid { is_group: bool, number: u32, name: &'a [u8] },
}

impl<'a> MappedId<'a> {
    const USER: u32 = 1;
    const GROUP: u32 = 2;

    pub fn decode(subfunction: u8, r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match subfunction {
            MapId::USER_TO_NAME | MapId::GROUP_TO_NAME => pascal::read(r).map(Self::Name),
            MapId::USER_UUID_TO_UTF8 | MapId::GROUP_UUID_TO_UTF8 => {
                let is_group = r.u32_be()? == Self::GROUP;
                Ok(Self::OfUuid { is_group, number: r.u32_be()?, name: long::read(r)? })
            }
            _ => long::read(r).map(Self::Utf8),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        match *self {
            Self::Name(name) => pascal::put(w, name),
            Self::Utf8(name) => long::put(w, name),
            Self::OfUuid { is_group, number, name } => {
                w.u32_be(if is_group { Self::GROUP } else { Self::USER });
                w.u32_be(number);
                long::put(w, name);
            }
        }
    }
}

/// FPMapName, request: the user or group with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapName<'a> {
    pub subfunction: u8,
    /// In MacRoman for `NAME_TO_USER` and `NAME_TO_GROUP`, otherwise UTF-8.
    pub name: &'a [u8],
}

impl<'a> MapName<'a> {
    pub const UTF8_TO_USER: u8 = 1;
    pub const UTF8_TO_GROUP: u8 = 2;
    pub const NAME_TO_USER: u8 = 3;
    pub const NAME_TO_GROUP: u8 = 4;
    pub const UTF8_TO_USER_UUID: u8 = 5;
    pub const UTF8_TO_GROUP_UUID: u8 = 6;

    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let subfunction = r.u8()?;
        let name = if Self::is_short(subfunction) { pascal::read(r)? } else { long::read(r)? };
        Ok(Self { subfunction, name })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(self.subfunction);
        if Self::is_short(self.subfunction) { pascal::put(w, self.name) } else { long::put(w, self.name) }
    }

    fn is_short(subfunction: u8) -> bool {
        matches!(subfunction, Self::NAME_TO_USER | Self::NAME_TO_GROUP)
    }
}

/// FPMapName, reply: only the number or the UUID.
impl Account {
    pub fn decode_mapped(subfunction: u8, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match subfunction {
            MapName::UTF8_TO_USER_UUID | MapName::UTF8_TO_GROUP_UUID => r.array().map(Self::Uuid),
            _ => r.u32_be().map(Self::Number),
        }
    }

    pub fn encode_mapped(&self, w: &mut Writer) {
        match self {
            Self::Number(number) => w.u32_be(*number),
            Self::Uuid(uuid) => w.put(uuid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn user_info_has_what_its_bitmap_says() {
        let request = GetUserInfo { flags: 1, user: 0, bitmap: UserBitmap(3) };
        assert_eq!(written(|w| request.encode(w)), [1, 0, 0, 0, 0, 0, 3]);
        let info = UserInfo { user: Some(1000), group: None, uuid: Some([9; 16]) };
        let bytes = [&[0, 5, 0, 0, 3, 0xe8][..], &[9; 16]].concat();
        assert_eq!(written(|w| info.encode(w)), bytes);
        assert_eq!(UserInfo::decode(&mut Reader::new(&bytes)), Ok(info));
        assert!(UserInfo::decode(&mut Reader::new(&bytes[..21])).is_err());
    }

    #[test]
    fn names_are_short_or_long_as_the_subfunction_says() {
        let short = MapName { subfunction: MapName::NAME_TO_USER, name: b"ada" };
        assert_eq!(written(|w| short.encode(w)), b"\x03\x03ada");
        let long = MapName { subfunction: MapName::UTF8_TO_GROUP_UUID, name: b"staff" };
        assert_eq!(written(|w| long.encode(w)), b"\x06\0\x05staff");
        for request in [short, long] {
            let bytes = written(|w| request.encode(w));
            assert_eq!(MapName::decode(&mut Reader::new(&bytes)), Ok(request));
        }
    }

    #[test]
    fn a_uuid_is_mapped_to_what_it_is_and_its_number_and_name() {
        let request = MapId { subfunction: MapId::GROUP_UUID_TO_UTF8, account: Account::Uuid([7; 16]) };
        let bytes = [&[6][..], &[7; 16]].concat();
        assert_eq!(written(|w| request.encode(w)), bytes);
        assert_eq!(MapId::decode(&mut Reader::new(&bytes)), Ok(request));
        let reply = MappedId::OfUuid { is_group: true, number: 50, name: b"staff" };
        let bytes = b"\0\0\0\x02\0\0\0\x32\0\x05staff";
        assert_eq!(written(|w| reply.encode(w)), bytes);
        assert_eq!(MappedId::decode(MapId::GROUP_UUID_TO_UTF8, &mut Reader::new(bytes)), Ok(reply));
    }
}
