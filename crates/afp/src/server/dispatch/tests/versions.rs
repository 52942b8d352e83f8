//! Commands and bits of bitmaps that are newer than the version of the session. Which came with which version: *Inside AppleTalk*, chapter
//! 13; "AppleTalk Filing Protocol Version 2.1 and 2.2"; Apple Filing Protocol Programming Guide, "AFP Version Differences".

use crate::server::config::Version;
use crate::server::files::fork::tests::{BOTH, User, make};
use crate::server::testing::{ADA, Client, Server};
use crate::server::transport::Transport;
use crate::wire::directory::Place;
use crate::wire::file::GetFileDirParms;
use crate::wire::fork::{OpenFork, Width, Write};
use crate::wire::login::{LoginExt, NO_USER_AUTHENT};
use crate::wire::session::GetSrvrMsg;
use crate::wire::volume::GetVolParms;
use crate::wire::{DirBitmap, FileBitmap, Path, ResultCode, VolumeBitmap, command};

/// The commands, by the version that they came with. FPLogout is left out, as it ends the session. FPZzz came with AFP 2.3, but Macs send
/// it in sessions of AFP 2.2, too.
const COMMANDS: [(Version, &[u8]); 7] = [
    (
        Version::V1_1,
        &[
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29,
            30, 31, 32, 33, 34, 35, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 192,
        ],
    ),
    (Version::V2_0, &[36, 37]),
    (Version::V2_1, &[38, 39, 40, 41, 42, 43]),
    (Version::V2_2, &[122]),
    (Version::V3_0, &[59, 60, 61, 62, 63, 64, 65, 66, 67]),
    (Version::V3_1, &[68]),
    (Version::V3_2, &[69, 70, 71, 72, 73, 74, 75, 78, 79]),
];
const OVER_TCP: [Version; 8] = [
    Version::V2_1,
    Version::V2_2,
    Version::V2_3,
    Version::V3_0,
    Version::V3_1,
    Version::V3_2,
    Version::V3_3,
    Version::V3_4,
];
const OVER_APPLETALK: [Version; 4] = [Version::V1_1, Version::V2_0, Version::V2_1, Version::V2_2];

/// All sessions that clients may have.
fn sessions() -> impl Iterator<Item = (Transport, Version)> {
    let tcp = OVER_TCP.map(|version| (Transport::Tcp, version));
    let appletalk = OVER_APPLETALK.map(|version| (Transport::AppleTalk, version));
    tcp.into_iter().chain(appletalk)
}

#[tokio::test]
async fn commands_that_are_newer_than_the_version_are_refused() {
    let server = Server::new();
    for (transport, version) in sessions() {
        let mut ada = server.log_in_over(transport, ADA, version);
        for (since, numbers) in COMMANDS {
            for &number in numbers {
                let code = ada.call(number, |_| ()).await.code;
                let sleeps_over_appletalk = number == command::ZZZ && transport == Transport::AppleTalk;
                let is_refused = since > version || sleeps_over_appletalk;
                assert_eq!(
                    code == ResultCode::CALL_NOT_SUPPORTED,
                    is_refused,
                    "{transport:?} {version:?} {number}: {code:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_data_of_a_write_that_is_newer_are_not_written() {
    let server = Server::new();
    make(&server.volume("share"), "notes", b"abc").await;
    let mut old = User::of(&server, Version::V2_3);
    let open = OpenFork { path: Path::long(b"notes"), ..old.request("", BOTH) };
    let fork = old.open_as(open).await.unwrap();
    let write = Write { from_end: false, fork, offset: 0, count: 100_000 };
    let refused = old.write(Width::Bits64, write, &[7; 100_000]).await;
    assert_eq!(refused, Err(ResultCode::CALL_NOT_SUPPORTED));
    assert_eq!(old.read(fork, 0, 9).await, (ResultCode::EOF_ERROR, b"abc".to_vec()));
}

#[tokio::test]
async fn logins_of_afp_3_are_refused_over_appletalk() {
    let server = Server::new();
    for (transport, expected) in
        [(Transport::Tcp, ResultCode::NO_ERROR), (Transport::AppleTalk, ResultCode::CALL_NOT_SUPPORTED)]
    {
        let mut client = server.connect_over(transport);
        client.open_session().await.well();
        assert_eq!(client.call(command::GET_AUTH_METHODS, |w| w.zeros(6)).await.code, expected);
        let login = LoginExt {
            flags: 0,
            version: b"AFP2.2",
            uam: NO_USER_AUTHENT,
            user: b"",
            directory: b"",
            info: b"",
        };
        assert_eq!(client.call(command::LOGIN_EXT, |w| login.encode(w)).await.code, expected);
    }
}

/// Whether the bit is refused in FPGetFileDirParms.
async fn refuses(client: &mut Client, volume: u16, name: &[u8], files: u16, folders: u16) -> bool {
    let place = Place { volume, folder: 2, path: Path::long(name) };
    let asked = GetFileDirParms { place, files: FileBitmap(files), folders: DirBitmap(folders) };
    let code = client.call(command::GET_FILE_DIR_PARMS, |w| asked.encode(w)).await.code;
    assert!([ResultCode::NO_ERROR, ResultCode::BITMAP_ERROR].contains(&code), "{code:?}");
    code == ResultCode::BITMAP_ERROR
}

#[tokio::test]
async fn bits_that_are_newer_than_the_version_are_refused() {
    let server = Server::new();
    make(&server.volume("share"), "notes", b"abc").await;
    for (transport, version) in sessions() {
        // ProDOS information, bit 13, came with AFP 2.0; long sizes of volumes with 2.2; long lengths of forks and UNIX privileges with
        // 3.0. No server of files knows the launch limit, bit 12 of files.
        let (files, folders, volumes): (u16, u16, u16) = match version {
            Version::V1_1 => (0x07ff, 0x1fff, 0x01ff),
            Version::V2_0 | Version::V2_1 => (0x27ff, 0x3fff, 0x01ff),
            Version::V2_2 | Version::V2_3 => (0x27ff, 0x3fff, 0x0fff),
            _ => (0xefff, 0xbfff, 0x0fff),
        };
        let mut ada = server.log_in_over(transport, ADA, version);
        let volume = ada.open_volume("share");
        for bit in (0..16).map(|bit| 1 << bit) {
            let what = format!("{transport:?} {version:?} {bit:#06x}");
            assert_eq!(refuses(&mut ada, volume, b"notes", bit, 0).await, bit & files == 0, "file, {what}");
            assert_eq!(refuses(&mut ada, volume, b"", 0, bit).await, bit & folders == 0, "folder, {what}");
            let asked = GetVolParms { volume, bitmap: VolumeBitmap(bit) };
            let code = ada.call(command::GET_VOL_PARMS, |w| asked.encode(w)).await.code;
            assert_eq!(code == ResultCode::BITMAP_ERROR, bit & volumes == 0, "volume, {what}");
        }
    }
}

#[tokio::test]
async fn a_message_in_utf8_is_refused_before_afp_3() {
    let server = Server::new();
    for (version, bitmap, expected) in [
        (Version::V2_3, 1, ResultCode::NO_ERROR),
        (Version::V2_3, 3, ResultCode::BITMAP_ERROR),
        (Version::V3_0, 3, ResultCode::NO_ERROR),
        (Version::V3_0, 7, ResultCode::BITMAP_ERROR),
    ] {
        let mut ada = server.log_in(ADA, version);
        let asked = GetSrvrMsg { kind: GetSrvrMsg::LOGIN, bitmap };
        assert_eq!(ada.call(command::GET_SRVR_MSG, |w| asked.encode(w)).await.code, expected, "{bitmap}");
    }
}
