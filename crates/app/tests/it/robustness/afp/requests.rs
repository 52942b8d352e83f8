//! Commands of every number, truncated, with wrong bits, with hostile names and numbers, in a valid
//! session.

use ::afp::client::{Client, ROOT};
use ::afp::wire::directory::{OfPlace, Place};
use ::afp::wire::dsi::Command;
use ::afp::wire::file::GetFileDirParms;
use ::afp::wire::{DirBitmap, FileBitmap, Path, ResultCode, command};
use wire::Writer;

use super::client::{Afp, connect};
use super::{MIB, beside_a_neighbour};
use crate::robustness::random::Random;

/// The commands that end the session, or change to another one.
const ENDS_THE_SESSION: &[u8] = &[command::LOGOUT, command::DISCONNECT_OLD_SESSION];

const ANSWERED_TO_ALL: &[u8] = &[command::GET_SRVR_INFO, command::GET_AUTH_METHODS];

const VERSIONS: &[&str] =
    &["AFPVersion 2.1", "AFP2.2", "AFP2.3", "AFPX03", "AFP3.1", "AFP3.2", "AFP3.3", "AFP3.4"];

#[test]
fn every_command_of_every_short_length_is_answered_before_login() {
    beside_a_neighbour("commands before login", 16 * MIB, |port| {
        let mut random = Random::new(0x5eed_0031);
        // All except the commands for the server's information and for logins.
        for number in (0..=255_u8).filter(|number| !ANSWERED_TO_ALL.contains(number)) {
            let mut client = Client::open(connect(port).unwrap()).unwrap();
            for length in (0..48).step_by(3) {
                let message = [&[number][..], &random.bytes(length)].concat();
                let way = if length % 2 == 0 { Command::COMMAND } else { Command::WRITE };
                match client.ask(way, 0, &message) {
                    Ok(answer) => assert_ne!(answer.code(), ResultCode::NO_ERROR, "{number}"),
                    Err(_) => client = Client::open(connect(port).unwrap()).unwrap(),
                }
            }
        }
    });
}

#[test]
fn every_command_of_every_short_length_is_answered_in_every_version() {
    beside_a_neighbour("commands of all lengths", 64 * MIB, |port| {
        let mut random = Random::new(0x5eed_0032);
        for version in VERSIONS {
            let mut afp = Afp::enter_with(port, version, "share");
            for number in (0..=255_u8).filter(|number| !ENDS_THE_SESSION.contains(number)) {
                for length in (0..64).step_by(1 + random.below(5)) {
                    let mut message = [&[number][..], &random.bytes(length)].concat();
                    if random.below(2) == 0 && length > 3 {
                        // Most commands begin with a byte and a volume or fork: with a valid one,
                        // the rest is decoded, too.
                        message[1] = 0;
                        message[2..4].copy_from_slice(&afp.volume.to_be_bytes());
                    }
                    if random.below(3) == 0 && length > 7 {
                        message[4..8].copy_from_slice(&ROOT.to_be_bytes());
                    }
                    let at = random.below(message.len() + 1) as u32;
                    let way = if random.below(4) == 0 { (Command::WRITE, at) } else { (Command::COMMAND, 0) };
                    let answer = afp.client.ask(way.0, way.1, &message);
                    assert!(answer.is_ok(), "{version}, command {number}, {message:02x?}: {answer:?}");
                }
            }
        }
    });
}

#[test]
fn hostile_paths_lead_nowhere_but_into_the_share() {
    beside_a_neighbour("hostile paths", 16 * MIB, |port| {
        let mut afp = Afp::enter(port);
        let long = [b'x'; 60_000];
        let nuls = [0; 20_000];
        let deep = b"a\0".repeat(10_000);
        let names: [&[u8]; 18] = [
            b"..",
            b".",
            b"../../etc/passwd",
            b"/etc/passwd",
            b"a/../../b",
            b":",
            b"a:b",
            b"\0\0\0\0etc",
            &nuls,
            &long,
            &deep,
            b"\xff\xfe",
            b"\xc0\xaf",
            b"\xed\xa0\x80",
            b"nul\0\0..\0\0etc",
            b"._x",
            b"#000002",
            b"#FFFFFFFF",
        ];
        for folder in [0, 1, ROOT, 3, 16, 17, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
            for name in names {
                for kind in [0, 1, 2, 3, 4, 255] {
                    let path = Path { kind, hint: 0x0800_0103, bytes: name };
                    let place = Place { volume: afp.volume, folder, path };
                    let ask =
                        GetFileDirParms { place, files: FileBitmap::FILE_NUMBER, folders: DirBitmap::DIR_ID };
                    afp.client.call(command::GET_FILE_DIR_PARMS, |w| ask.encode(w)).unwrap();
                    for number in
                        [command::DELETE, command::CREATE_DIR, command::CREATE_FILE, command::OPEN_DIR]
                    {
                        afp.client.call(number, |w| OfPlace { place }.encode(w)).unwrap();
                    }
                }
            }
        }
        afp.parameters_of_root();
        assert!(std::fs::metadata("/etc/passwd").is_ok());
    });
}

#[test]
fn unknown_bits_are_refused() {
    // Apple Filing Protocol Reference, FPGetFileDirParms: kFPBitmapErr.
    beside_a_neighbour("bitmaps", 8 * MIB, |port| {
        for version in VERSIONS {
            let mut afp = Afp::enter_with(port, version, "share");
            let place = Place { volume: afp.volume, folder: ROOT, path: Path::long(b"") };
            // Bit 14 of a folder has no meaning.
            let ask = GetFileDirParms { place, files: FileBitmap::empty(), folders: DirBitmap(0x4000) };
            let answer = afp.client.call(command::GET_FILE_DIR_PARMS, |w| ask.encode(w)).unwrap();
            assert_eq!(answer.code(), ResultCode::BITMAP_ERROR, "{version}");
        }
        let mut random = Random::new(0x5eed_0033);
        let mut afp = Afp::enter(port);
        afp.make("notes", b"abc");
        for _ in 0..500 {
            let path = Path::utf8(if random.below(2) == 0 { b"" } else { b"notes" });
            let place = Place { volume: afp.volume, folder: ROOT, path };
            let ask = GetFileDirParms {
                place,
                files: FileBitmap(random.next() as u16),
                folders: DirBitmap(random.next() as u16),
            };
            afp.client.call(command::GET_FILE_DIR_PARMS, |w| ask.encode(w)).unwrap();
        }
    });
}

#[test]
fn forks_of_other_sessions_are_refused() {
    beside_a_neighbour("forks of others", 8 * MIB, |port| {
        let (mut ada, mut bob) = (Afp::enter(port), Afp::enter(port));
        let forks: Vec<_> = (0..20).map(|number| ada.make(&format!("mine {number}"), b"secret")).collect();
        for number in (0..2000_u16).chain(u16::MAX - 100..=u16::MAX) {
            for command in [command::READ, command::FLUSH_FORK, command::CLOSE_FORK, command::GET_FORK_PARMS]
            {
                let answer = bob.client.call(command, |w| {
                    w.u8(0);
                    w.u16_be(number);
                    w.zeros(12);
                });
                assert_eq!(
                    answer.unwrap().code(),
                    ResultCode::PARAM_ERROR,
                    "command {command}, fork {number}"
                );
            }
        }
        assert!(forks.into_iter().all(|fork| ada.client.read(fork, 0, 10).unwrap() == b"secret"));
    });
}

#[test]
fn absurd_counts_cost_nothing() {
    beside_a_neighbour("absurd counts", 64 * MIB, |port| {
        let mut afp = Afp::enter(port);
        for number in 0..50 {
            let fork = afp.make(&format!("file {number}"), b"");
            afp.client.close(fork).unwrap();
        }
        for number in [command::ENUMERATE, command::ENUMERATE_EXT, command::ENUMERATE_EXT2] {
            for count in [0, 1, 0x7FFF, u16::MAX] {
                for (start, most) in [(0, 0), (1, 1), (1, u32::MAX), (u32::MAX, u32::MAX), (0x7FFF_FFFF, 100)]
                {
                    let volume = afp.volume;
                    let answer =
                        afp.client.call(number, |w| enumerate(w, number, volume, (count, start, most)));
                    let answer = answer.unwrap();
                    assert!(answer.payload.len() <= 2 << 20);
                }
            }
        }
    });
}

fn enumerate(w: &mut Writer, number: u8, volume: u16, (count, start, most): (u16, u32, u32)) {
    w.u8(0);
    w.u16_be(volume);
    w.u32_be(ROOT);
    w.u16_be(0x0140);
    w.u16_be(0x0140);
    w.u16_be(count);
    if number == command::ENUMERATE_EXT2 {
        w.u32_be(start);
        w.u32_be(most);
    } else {
        w.u16_be(start as u16);
        w.u16_be(most as u16);
    }
    Path::utf8(b"").encode(w);
}
