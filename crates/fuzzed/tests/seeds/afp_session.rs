//! Frames, paths, server information, a session's own commands. The selectors are those of `src/afp_session.rs`.

use afp::wire::Path;
use afp::wire::dsi::{Command, DsiHeader, Options};
use afp::wire::server_info::{ServerAddress, ServerInfo};
use afp::wire::session::{
    DisconnectOldSession, GetSessionToken, GetSrvrMsg, ListedVolume, SessionToken, SrvrMsg, SrvrParms,
    TokenKind, Zzz,
};
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    [frames(), server_info(), session()].into_iter().flatten().collect()
}

fn frames() -> Vec<Seed> {
    let header = DsiHeader { is_reply: false, command: Command::WRITE, id: 7, code: 12, length: 1036 };
    let options =
        Options { request_quantum: Some(1 << 20), attention_quantum: Some(2), replay_cache: Some(128) };
    let seed = |name, selector, encode: &dyn Fn(&mut Writer)| seed("afp_frames", name, selector, encode);
    vec![
        seed("header", 0, &|w| header.encode(w)),
        seed("options", 1, &|w| options.encode(w)),
        seed("long_path", 2, &|w| Path::long(b"\0a b\0\0\0c\0").encode(w)),
        seed("utf8_path", 2, &|w| Path::utf8("é\0x".as_bytes()).encode(w)),
    ]
}

fn server_info() -> Vec<Seed> {
    let icon = [0x5a; 256];
    let info = ServerInfo {
        machine_type: b"Fourfold",
        versions: vec![b"AFP2.2", b"AFP3.4"],
        uams: vec![b"DHX2", b"No User Authent"],
        icon: Some(&icon),
        flags: 0x9fff,
        name: b"caf\x8e",
        signature: Some(*b"0123456789abcdef"),
        addresses: vec![
            ServerAddress::Ipv4([192, 0, 2, 1].into()),
            ServerAddress::Ipv4Port("192.0.2.1:5480".parse().unwrap()),
            ServerAddress::Ddp { net: 1, node: 2, socket: 3 },
            ServerAddress::Dns(b"files.example"),
            ServerAddress::Ssh(b"files.example"),
            ServerAddress::Ipv6("2001:db8::1".parse().unwrap()),
            ServerAddress::Ipv6Port("2001:db8::1".parse().unwrap(), 5480),
            ServerAddress::Other { kind: 99, data: b"?" },
        ],
        directory_names: vec![b"afpserver/files@EXAMPLE"],
        utf8_name: Some("café".as_bytes()),
    };
    let least = ServerInfo { name: b"x", versions: vec![b"AFPVersion 2.1"], ..ServerInfo::default() };
    let block = |name, bytes| Seed { target: "afp_server_info", name, bytes };
    vec![block("whole", info.encode()), block("least", least.encode())]
}

fn session() -> Vec<Seed> {
    let seed = |name, selector, encode: &dyn Fn(&mut Writer)| seed("afp_session", name, selector, encode);
    let volumes = vec![ListedVolume { flags: 0x80, name: b"Home" }, ListedVolume { flags: 0, name: b"x" }];
    let token = |kind, time, id| GetSessionToken { kind, time, id };
    vec![
        seed("srvr_parms", 0, &|w| SrvrParms { time: 5, volumes: volumes.clone() }.encode(w)),
        seed("get_srvr_msg", 1, &|w| GetSrvrMsg { kind: 1, bitmap: 3 }.encode(w)),
        seed("srvr_msg", 2, &|w| SrvrMsg { kind: 1, bitmap: 1, text: b"hi" }.encode(w)),
        seed("srvr_msg_utf8", 2, &|w| SrvrMsg { kind: 0, bitmap: 3, text: b"hi" }.encode(w)),
        seed("token_oldest", 3, &|w| token(TokenKind::LOGIN_WITHOUT_ID, None, b"").encode(w)),
        seed("token_id", 3, &|w| token(TokenKind::LOGIN_WITH_ID, None, b"mac").encode(w)),
        seed("token_time", 3, &|w| token(TokenKind::LOGIN_WITH_TIME_AND_ID, Some(9), b"mac").encode(w)),
        seed("token", 4, &|w| SessionToken { token: &[6; 16] }.encode(w)),
        seed("old_session", 5, &|w| DisconnectOldSession { kind: 0, token: &[6; 16] }.encode(w)),
        seed("zzz", 6, &|w| Zzz { flags: 1 }.encode(w)),
        seed("asleep", 7, &|w| w.u32_be(10)),
    ]
}

fn seed(target: &'static str, name: &'static str, selector: u8, encode: &dyn Fn(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target, name, bytes: w.into_bytes() }
}
