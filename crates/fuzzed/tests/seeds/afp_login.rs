//! Logins and who is who. The selectors are those of `src/afp_login.rs`.

use afp::wire::identity::{Account, GetUserInfo, MapId, MapName, MappedId, UserBitmap, UserInfo};
use afp::wire::login::{
    AuthMethods, CLEARTXT_PASSWRD, ChangePassword, Continue, DHX2, GetAuthMethods, Login, LoginCont,
    LoginExt, NO_USER_AUTHENT, SRP,
};
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let guest = Login { version: b"AFP2.2", uam: NO_USER_AUTHENT, user: b"", info: b"" };
    let clear = Login { version: b"AFP3.4", uam: CLEARTXT_PASSWRD, user: b"ada", info: b"secret\0\0" };
    let ext =
        LoginExt { flags: 0, version: b"AFP3.4", uam: SRP, user: b"ada", directory: b"", info: b"\0\x01" };
    let change = ChangePassword { uam: DHX2, user: b"ada", info: &[7; 20] };
    let info = UserInfo { user: Some(1000), group: Some(100), uuid: Some([9; 16]) };
    let by_uuid = MapId { subfunction: MapId::USER_UUID_TO_UTF8, account: Account::Uuid([7; 16]) };
    let by_number = MapId { subfunction: MapId::USER_TO_NAME, account: Account::Number(1000) };
    let mapped = MappedId::OfUuid { is_group: true, number: 50, name: b"staff" };
    vec![
        seed("guest", 0, &|w| guest.encode(w)),
        seed("cleartext", 0, &|w| clear.encode(w)),
        seed("ext", 1, &|w| ext.encode(w)),
        seed("kerberos", 12, &|w| w.put(b"\x03ada\0\x07\x60\x05\x06\x03abc")),
        seed("kerberos_reply", 13, &|w| w.put(b"\0\x03abc")),
        seed("cont", 2, &|w| LoginCont { id: 2, info: &[5; 16] }.encode(w)),
        seed("continue", 3, &|w| Continue { id: 2, info: &[5; 32] }.encode(w)),
        seed("change_password", 4, &|w| change.encode(w)),
        seed("get_auth_methods", 5, &|w| GetAuthMethods { flags: 0, directory: b"/" }.encode(w)),
        seed("auth_methods", 6, &|w| AuthMethods { flags: 0, uams: vec![DHX2, SRP] }.encode(w)),
        seed("get_user_info", 7, &|w| GetUserInfo { flags: 1, user: 0, bitmap: UserBitmap(7) }.encode(w)),
        seed("user_info", 8, &|w| info.encode(w)),
        seed("map_uuid", 9, &|w| by_uuid.encode(w)),
        seed("map_id", 9, &|w| by_number.encode(w)),
        seed("map_name", 10, &|w| {
            MapName { subfunction: MapName::UTF8_TO_USER, name: "é".as_bytes() }.encode(w);
        }),
        seed("mapped_name", 11, &|w| w.put(b"\x01\x03ada")),
        seed("mapped_uuid", 11, &|w| {
            w.u8(MapId::GROUP_UUID_TO_UTF8);
            mapped.encode(w);
        }),
    ]
}

fn seed(name: &'static str, selector: u8, encode: &dyn Fn(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target: "afp_login", name, bytes: w.into_bytes() }
}
