//! Users and groups, Apple Filing Protocol Reference, FPGetUserInfo, FPMapID, FPMapName.
//!
//! They are the host's users and groups, by number; `uuid.rs` has their UUIDs.

use auth::UnixAccounts;

use crate::server::config::Version;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::sessions::uam;
use crate::wire::identity::{Account, GetUserInfo, MapId, MapName, MappedId, UserBitmap, UserInfo, Uuid};
use crate::wire::uuid::{UuidIdentity, number_of};
use crate::wire::{ResultCode, command};

/// The most bytes of a name in MacRoman.
const SHORT_NAME: usize = 255;
/// The names of a Mac's groups that stand for no group of this host.
const MEANINGS: [(&str, UuidIdentity); 4] = [
    ("everyone", UuidIdentity::Everyone),
    ("owner", UuidIdentity::Owner),
    ("group", UuidIdentity::OwningGroup),
    ("authedusers", UuidIdentity::SignedIn),
];

/// The name of a user or group.
fn name(named: UuidIdentity, unix: &UnixAccounts) -> Option<String> {
    match named {
        UuidIdentity::User(number) => unix.user_numbered(number).map(|user| user.name),
        UuidIdentity::Group(number) => unix.group_numbered(number).map(|group| group.name),
        other => MEANINGS.iter().find(|(_, meaning)| *meaning == other).map(|(name, _)| (*name).into()),
    }
}

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::GET_USER_INFO => user_info(request, GetUserInfo::decode(&mut request.reader())?),
        command::MAP_ID => match MapId::decode(&mut request.reader()) {
            Ok(asked) => map_id(request, asked),
            Err(_) => cut_short(request),
        },
        command::MAP_NAME => map_name(request, MapName::decode(&mut request.reader())?),
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPGetUserInfo.
fn user_info(request: &Request, asked: GetUserInfo) -> Outcome {
    let GetUserInfo { flags, bitmap, .. } = asked;
    if flags & GetUserInfo::THIS_USER == 0 {
        return Err(ResultCode::PARAM_ERROR);
    }
    // UUIDs came with AFP 3.2.
    let uuid = if request.version() >= Version::V3_2 { UserBitmap::UUID } else { 0 };
    if bitmap.0 & !(UserBitmap::USER_ID | UserBitmap::GROUP_ID | uuid) != 0 {
        return Err(ResultCode::BITMAP_ERROR);
    }
    let caller = request.caller();
    let info = UserInfo {
        user: bitmap.has(UserBitmap::USER_ID).then_some(caller.uid),
        group: bitmap.has(UserBitmap::GROUP_ID).then_some(caller.gid),
        uuid: bitmap.has(UserBitmap::UUID).then(|| UuidIdentity::User(caller.uid).uuid()),
    };
    Ok(Reply::encoded(|w| info.encode(w)))
}

/// FPMapID with a truncated number or UUID: a truncated UUID is unknown, as in Netatalk.
fn cut_short(request: &Request) -> Outcome {
    let knows_uuids = request.version() >= Version::V3_2;
    match request.body.first() {
        Some(&(MapId::USER_UUID_TO_UTF8 | MapId::GROUP_UUID_TO_UTF8)) if knows_uuids => {
            Err(ResultCode::ITEM_NOT_FOUND)
        }
        _ => Err(ResultCode::PARAM_ERROR),
    }
}

/// FPMapID. The number 0 stands for no user, and has an empty name.
fn map_id(request: &Request, asked: MapId) -> Outcome {
    check(
        request.version(),
        asked.subfunction >= MapId::USER_TO_UTF8,
        asked.subfunction >= MapId::USER_UUID_TO_UTF8,
    )?;
    let unix = &request.session.service.config().unix;
    let id = match (asked.subfunction, asked.account) {
        (MapId::USER_TO_NAME | MapId::USER_TO_UTF8, Account::Number(number)) => UuidIdentity::User(number),
        (MapId::GROUP_TO_NAME | MapId::GROUP_TO_UTF8, Account::Number(number)) => UuidIdentity::Group(number),
        (MapId::USER_UUID_TO_UTF8 | MapId::GROUP_UUID_TO_UTF8, Account::Uuid(uuid)) => {
            return uuid_mapped(unix, &uuid);
        }
        _ => return Err(ResultCode::PARAM_ERROR),
    };
    let name = match id {
        UuidIdentity::User(0) | UuidIdentity::Group(0) => String::new(),
        _ => name(id, unix).ok_or(ResultCode::ITEM_NOT_FOUND)?,
    };
    Ok(Reply::encoded(|w| match asked.subfunction {
        MapId::USER_TO_NAME | MapId::GROUP_TO_NAME => MappedId::Name(&short(&name)).encode(w),
        _ => MappedId::Utf8(name.as_bytes()).encode(w),
    }))
}

/// Both subfunctions return users and groups alike.
fn uuid_mapped(unix: &UnixAccounts, uuid: &Uuid) -> Outcome {
    let named = UuidIdentity::of(uuid).ok_or(ResultCode::ITEM_NOT_FOUND)?;
    let name = name(named, unix).ok_or(ResultCode::ITEM_NOT_FOUND)?;
    let name = name.as_bytes();
    let (is_group, number) = match named {
        UuidIdentity::User(number) => (false, number),
        UuidIdentity::Group(number) => (true, number),
        _ => (true, number_of(uuid)),
    };
    Ok(Reply::encoded(|w| MappedId::OfUuid { is_group, number, name }.encode(w)))
}

/// FPMapName.
fn map_name(request: &Request, asked: MapName<'_>) -> Outcome {
    let is_short = matches!(asked.subfunction, MapName::NAME_TO_USER | MapName::NAME_TO_GROUP);
    check(request.version(), !is_short, asked.subfunction >= MapName::UTF8_TO_USER_UUID)?;
    let unix = &request.session.service.config().unix;
    let name = uam::typed(asked.name);
    let user = || unix.user(&name).map(|user| user.uid).ok_or(ResultCode::ITEM_NOT_FOUND);
    let group = || unix.group(&name).map(|group| group.gid).ok_or(ResultCode::ITEM_NOT_FOUND);
    let meaning = || MEANINGS.iter().find(|(meaning, _)| *meaning == name).map(|(_, meaning)| *meaning);
    let account = match asked.subfunction {
        _ if name.is_empty() => return Err(ResultCode::PARAM_ERROR),
        MapName::UTF8_TO_USER | MapName::NAME_TO_USER => Account::Number(user()?),
        MapName::UTF8_TO_GROUP | MapName::NAME_TO_GROUP => Account::Number(group()?),
        MapName::UTF8_TO_USER_UUID => Account::Uuid(UuidIdentity::User(user()?).uuid()),
        MapName::UTF8_TO_GROUP_UUID => {
            let named = group().map(UuidIdentity::Group).or_else(|code| meaning().ok_or(code))?;
            Account::Uuid(named.uuid())
        }
        _ => return Err(ResultCode::PARAM_ERROR),
    };
    Ok(Reply::encoded(|w| account.encode_mapped(w)))
}

/// UTF-8 came with AFP 3.0, UUIDs with 3.2.
fn check(version: Version, is_utf8: bool, has_uuid: bool) -> Result<(), ResultCode> {
    let known = (!is_utf8 || version.is_3()) && (!has_uuid || version >= Version::V3_2);
    if known { Ok(()) } else { Err(ResultCode::PARAM_ERROR) }
}

fn short(name: &str) -> Vec<u8> {
    vfs::names::short_view(name.as_bytes(), 0, SHORT_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::{ADA, Answer, Client, Server};
    use wire::Reader;

    async fn mapped(client: &mut Client, subfunction: u8, account: Account) -> Answer {
        client.call(command::MAP_ID, |w| MapId { subfunction, account }.encode(w)).await
    }

    async fn named(client: &mut Client, subfunction: u8, name: &[u8]) -> Answer {
        client.call(command::MAP_NAME, |w| MapName { subfunction, name }.encode(w)).await
    }

    #[tokio::test]
    async fn users_are_told_their_numbers_and_uuid() {
        let mut ada = Server::new().log_in(ADA, Version::V3_4);
        let reply = ada.call(command::GET_USER_INFO, |w| w.put(&[1, 0, 0, 0, 0, 0, 7])).await.well();
        // Number 1000 behind FFFFEEEE-DDDD-CCCC-BBBB-AAAA, as Netatalk's uuid.c and macOS have it.
        let uuid =
            [&[0xff, 0xff, 0xee, 0xee, 0xdd, 0xdd, 0xcc, 0xcc, 0xbb, 0xbb, 0xaa, 0xaa][..], &[0, 0, 3, 0xe8]];
        assert_eq!(reply, [&[0, 7, 0, 0, 3, 0xe8, 0, 0, 0, 100][..], &uuid.concat()].concat());
        let other = ada.call(command::GET_USER_INFO, |w| w.put(&[0, 0, 0, 0, 5, 0, 1])).await;
        assert_eq!(other.code, ResultCode::PARAM_ERROR);
        let unknown = ada.call(command::GET_USER_INFO, |w| w.put(&[1, 0, 0, 0, 0, 0, 9])).await;
        assert_eq!(unknown.code, ResultCode::BITMAP_ERROR);
        let mut older = Server::new().log_in(ADA, Version::V3_1);
        let newer = older.call(command::GET_USER_INFO, |w| w.put(&[1, 0, 0, 0, 0, 0, 4])).await;
        assert_eq!(newer.code, ResultCode::BITMAP_ERROR);
    }

    #[tokio::test]
    async fn numbers_have_names_and_names_numbers() {
        let mut ada = Server::new().log_in(ADA, Version::V3_4);
        for (subfunction, number, expected) in [
            (MapId::USER_TO_NAME, 1001, &b"\x03bob"[..]),
            (MapId::GROUP_TO_NAME, 50, b"\x05staff"),
            (MapId::USER_TO_UTF8, 1000, b"\0\x03ada"),
            (MapId::GROUP_TO_UTF8, 100, b"\0\x05users"),
            (MapId::USER_TO_NAME, 0, b"\0"),
            (MapId::GROUP_TO_UTF8, 0, b"\0\0"),
        ] {
            assert_eq!(mapped(&mut ada, subfunction, Account::Number(number)).await.well(), expected);
        }
        let unknown = mapped(&mut ada, MapId::USER_TO_NAME, Account::Number(4242)).await;
        assert_eq!(unknown.code, ResultCode::ITEM_NOT_FOUND);
        for (subfunction, name, expected) in [
            (MapName::UTF8_TO_USER, &b"bob"[..], 1001_u32),
            (MapName::UTF8_TO_GROUP, b"staff", 50),
            (MapName::NAME_TO_USER, b"ada", 1000),
            (MapName::NAME_TO_GROUP, b"users", 100),
        ] {
            assert_eq!(named(&mut ada, subfunction, name).await.well(), expected.to_be_bytes());
        }
        assert_eq!(named(&mut ada, MapName::NAME_TO_USER, b"unknown").await.code, ResultCode::ITEM_NOT_FOUND);
        assert_eq!(named(&mut ada, MapName::NAME_TO_USER, b"").await.code, ResultCode::PARAM_ERROR);
        assert_eq!(named(&mut ada, 9, b"ada").await.code, ResultCode::PARAM_ERROR);
    }

    #[tokio::test]
    async fn uuids_lead_to_users_and_groups_and_back() {
        let mut ada = Server::new().log_in(ADA, Version::V3_2);
        for (name, expected, meant) in [
            (&b"users"[..], "abcdefabcdefabcdefabcdef00000064", &b"\0\0\0\x02\0\0\0\x64\0\x05users"[..]),
            // Group 50 of a Mac has all users that have logged in, so group 50 of this host has
            // another UUID.
            (b"staff", "666f7572666f6c642d67696400000032", b"\0\0\0\x02\0\0\0\x32\0\x05staff"),
            (b"everyone", "abcdefabcdefabcdefabcdef0000000c", b"\0\0\0\x02\0\0\0\x0c\0\x08everyone"),
        ] {
            let uuid = named(&mut ada, MapName::UTF8_TO_GROUP_UUID, name).await.well();
            assert_eq!(wire::hex::encode(&uuid), expected);
            let mut r = Reader::new(&uuid);
            let account = Account::decode_mapped(MapName::UTF8_TO_GROUP_UUID, &mut r).unwrap();
            for subfunction in [MapId::USER_UUID_TO_UTF8, MapId::GROUP_UUID_TO_UTF8] {
                assert_eq!(mapped(&mut ada, subfunction, account).await.well(), meant);
            }
        }
        let foreign = mapped(&mut ada, MapId::USER_UUID_TO_UTF8, Account::Uuid([1; 16])).await;
        assert_eq!(foreign.code, ResultCode::ITEM_NOT_FOUND);
        let half = ada.call(command::MAP_ID, |w| w.put(&[MapId::USER_UUID_TO_UTF8, 0, 0, 0, 50])).await;
        assert_eq!(half.code, ResultCode::ITEM_NOT_FOUND); // Netatalk's spectest, FPMapID
    }

    #[tokio::test]
    async fn versions_before_them_know_neither_utf8_nor_uuids() {
        let server = Server::new();
        let mut old = server.log_in(ADA, Version::V2_2);
        assert_eq!(
            mapped(&mut old, MapId::USER_TO_UTF8, Account::Number(1000)).await.code,
            ResultCode::PARAM_ERROR
        );
        assert_eq!(named(&mut old, MapName::UTF8_TO_USER, b"ada").await.code, ResultCode::PARAM_ERROR);
        let mut newer = server.log_in(ADA, Version::V3_1);
        named(&mut newer, MapName::UTF8_TO_USER, b"ada").await.well();
        let uuid = named(&mut newer, MapName::UTF8_TO_USER_UUID, b"ada").await;
        assert_eq!(uuid.code, ResultCode::PARAM_ERROR);
    }
}
