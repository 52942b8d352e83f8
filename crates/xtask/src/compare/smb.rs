//! SMB: the rows and bars of issue 3, compared with Samba's smbd in the configurations that are
//! best at something.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::rows::{Bar, ComparisonRow, RowGroup, RowUnit};
use super::{ComparisonPlace, Contestant, MeasuredServer, folder};
use crate::samba::{self, SambaShare, SambaUser};
use crate::{debian, isolate, loader, ports, process, server};

pub const PACKAGES: &[&[debian::Package]] = &[debian::SMB_LOAD, debian::SMB_PEER];

const ADA: SambaUser = SambaUser { name: "ada", password: "secret" };
/// A Unix user that no other account of this machine has: Samba maps users both ways.
const UID: u32 = 61001;

/// smbd's configurations: the lines added to the global section. All but the first answer requests
/// for data in memory without another thread.
const CONFIGURATIONS: &[(&str, &str)] = &[
    ("default", ""),
    ("sendfile", INLINE),
    (
        "recvfile",
        "  use sendfile = yes\n  aio read size = 0\n  aio write size = 0\n  min receivefile size = 16384",
    ),
    (
        "fruit",
        "  vfs objects = catia fruit streams_xattr\n  fruit:resource = file\n  fruit:metadata = netatalk",
    ),
];
const INLINE: &str = "  use sendfile = yes\n  aio read size = 0\n  aio write size = 0";

const READERS: &[&str] = &["default", "sendfile"];
const WRITERS: &[&str] = &["default", "sendfile", "recvfile"];
const ANY: &[&str] = &["default", "sendfile"];
const DEFAULT: &[&str] = &["default"];
const MAC: &[&str] = &["fruit"];

/// Makes the folder, and the Unix user for smbd.
pub fn place(libsmb2: Option<&Path>) -> Result<ComparisonPlace> {
    if !isolate::is_isolated() {
        bail!("as root only, and where namespaces may be made: smbd needs its accounts as Unix users");
    }
    let Some(load) = loader::compile_smb(libsmb2)? else {
        eprintln!("{}", loader::NO_LIBSMB2);
        std::process::exit(2);
    };
    samba::unix_users(&process::fresh_folder("compare/users")?, &[(ADA, UID)])?;
    let folder = folder::prepare(UID)?;
    Ok(ComparisonPlace { load, folder, peer: None, host: None })
}

/// Starts a server with its own files apart from those of other servers of its kind.
pub fn start(place: &ComparisonPlace, who: MeasuredServer, apart: &str) -> Result<Contestant> {
    let folder = &place.folder;
    let port = ports::free_port()?;
    let running = match who {
        MeasuredServer::Ours => {
            let state = process::fresh_folder(&format!("compare/state{apart}"))?;
            let settings = state.with_extension("toml");
            let (name, path) = ("share", folder.display());
            std::fs::write(
                &settings,
                format!(
                    "[[share]]\nname = \"{name}\"\npath = \"{path}\"\nnfs = false\nafp = false\niscsi = false\n"
                ),
            )?;
            server::add_user(&state, ADA.name, ADA.password, UID)?;
            let port = port.to_string();
            let mut addresses = vec!["--smb-port", &port, "--listen", "127.0.0.1"];
            addresses.extend(place.host.iter().flat_map(|host| ["--listen", host]));
            server::ours_with_settings(&settings, &state, &addresses)?
        }
        MeasuredServer::Peer(configuration) => {
            let Some((_, settings)) = CONFIGURATIONS.iter().find(|(name, _)| *name == configuration) else {
                bail!("smbd has no configuration {configuration}");
            };
            let share = SambaShare { name: "share".into(), folder: folder.clone(), settings: "" };
            let also = place.host.map_or(String::new(), |host| format!("\n  interfaces = lo {host}/24"));
            let at = PathBuf::from(format!("target/compare/smbd-{configuration}{apart}"));
            samba::start(&at, port, &[ADA], &[share], &format!("{settings}{also}"))?
        }
    };
    let client = samba::client_configuration(&process::root().join("target/compare/client"))?;
    let (port, client) = (port.to_string(), client.display().to_string());
    let local = folder.join("one.0").display().to_string();
    let reach = ["--port", &port, "--share", "share", "--user", ADA.name, "--password", ADA.password];
    let host = place.host.unwrap_or("127.0.0.1");
    let more = ["--host", host, "--configuration", &client, "--local", &local];
    Ok(Contestant { running, reach: reach.iter().chain(&more).map(|&text| text.to_owned()).collect() })
}

pub fn groups() -> Vec<RowGroup> {
    let mut groups: Vec<RowGroup> = IDLE.iter().cloned().map(RowGroup::fresh).collect();
    for rows in [READS, WRITES, COPIES, SMALL] {
        groups.extend(RowGroup::singles(rows));
    }
    groups.push(RowGroup::new(vec![BUSY]));
    groups.push(RowGroup::new(FILES.to_vec()));
    groups.extend(RowGroup::singles(LISTS));
    groups.push(RowGroup::last(DELETES));
    groups
}

const fn row(
    name: &'static str,
    unit: RowUnit,
    (file, args): (&'static str, &'static str),
    peers: &'static [&'static str],
    bar: Bar,
) -> ComparisonRow {
    ComparisonRow { name, unit, file, args, peers, bar: Some(bar) }
}

const STREAM: Bar = Bar::Times { speed: 1.0, cpu: Some(1.0) };
const IDLE_LIMIT: Bar = Bar::AtMost(32.0 * 1024.0);

const IDLE: &[ComparisonRow] = &[
    row("idle session memory, 200", RowUnit::Memory, ("idle", "idle --count 200"), DEFAULT, IDLE_LIMIT),
    row("idle session memory, 2,000", RowUnit::Memory, ("idle", "idle --count 2000"), DEFAULT, IDLE_LIMIT),
];

/// 1 client moves 1 GiB; each of 5 and 10 moves a file of 256 MiB twice. Unsigned.
const READS: &[ComparisonRow] = &[
    row("read 1 GiB 1 client q1", RowUnit::Bytes, ("one", "read --size 1073741824"), READERS, STREAM),
    row(
        "read 1 GiB 1 client q4",
        RowUnit::Bytes,
        ("one", "read --size 1073741824 --depth 4"),
        READERS,
        STREAM,
    ),
    row(
        "read 5 clients q1",
        RowUnit::Bytes,
        ("many", "read --clients 5 --size 268435456 --passes 2"),
        READERS,
        STREAM,
    ),
    row(
        "read 5 clients q4",
        RowUnit::Bytes,
        ("many", "read --clients 5 --size 268435456 --passes 2 --depth 4"),
        READERS,
        STREAM,
    ),
    row(
        "read 10 clients q1",
        RowUnit::Bytes,
        ("many", "read --clients 10 --size 268435456 --passes 2"),
        READERS,
        STREAM,
    ),
    row(
        "read 10 clients q4",
        RowUnit::Bytes,
        ("many", "read --clients 10 --size 268435456 --passes 2 --depth 4"),
        READERS,
        STREAM,
    ),
    row(
        "read 50 clients q4",
        RowUnit::Bytes,
        ("crowd", "read --clients 50 --size 50331648 --seconds 3 --depth 4"),
        READERS,
        STREAM,
    ),
    row(
        "p99 of 4 KiB reads beside 10 streams",
        RowUnit::Tail,
        ("crowd", "beside --clients 11 --size 50331648 --seconds 3 --depth 4"),
        READERS,
        Bar::AtMost(2.0),
    ),
];

const WRITES: &[ComparisonRow] = &[
    row("write 1 GiB 1 client q1", RowUnit::Bytes, ("one", "write --size 1073741824"), WRITERS, STREAM),
    row(
        "write 1 GiB 1 client q4",
        RowUnit::Bytes,
        ("one", "write --size 1073741824 --depth 4"),
        WRITERS,
        STREAM,
    ),
    row(
        "write 5 clients q1",
        RowUnit::Bytes,
        ("many", "write --clients 5 --size 268435456 --passes 2"),
        WRITERS,
        STREAM,
    ),
    row(
        "write 5 clients q4",
        RowUnit::Bytes,
        ("many", "write --clients 5 --size 268435456 --passes 2 --depth 4"),
        WRITERS,
        STREAM,
    ),
    row(
        "write 10 clients q1",
        RowUnit::Bytes,
        ("many", "write --clients 10 --size 268435456 --passes 2"),
        WRITERS,
        STREAM,
    ),
    row(
        "write 10 clients q4",
        RowUnit::Bytes,
        ("many", "write --clients 10 --size 268435456 --passes 2 --depth 4"),
        WRITERS,
        STREAM,
    ),
    row("new file 1 GiB q4", RowUnit::Bytes, ("fresh", "new --size 1073741824 --depth 4"), WRITERS, STREAM),
];

/// 1 GiB through smbclient. libsmb2 supports neither of the two: it signs with AES-CMAC and seals
/// with AES-CCM, slowly.
const COPIES: &[ComparisonRow] = &[
    row("get 1 GiB signed AES-GMAC", RowUnit::Bytes, ("one", "get --protection sign"), ANY, Bar::speed(1.0)),
    row("put 1 GiB signed AES-GMAC", RowUnit::Bytes, ("put", "put --protection sign"), ANY, Bar::speed(1.0)),
    row(
        "get 1 GiB sealed AES-128-GCM",
        RowUnit::Bytes,
        ("one", "get --protection encrypt"),
        ANY,
        Bar::speed(1.0),
    ),
    row(
        "put 1 GiB sealed AES-128-GCM",
        RowUnit::Bytes,
        ("put", "put --protection encrypt"),
        ANY,
        Bar::speed(1.0),
    ),
];

const SMALL: &[ComparisonRow] = &[
    row(
        "read 1 KiB q1",
        RowUnit::Ops,
        ("one", "small --block 1024 --size 104857600 --seconds 1.5"),
        READERS,
        Bar::speed(1.0),
    ),
    row(
        "read 4 KiB q1",
        RowUnit::Ops,
        ("one", "small --block 4096 --size 104857600 --seconds 1.5"),
        READERS,
        Bar::speed(1.0),
    ),
    row(
        "write 1 KiB q1",
        RowUnit::Ops,
        ("one", "write --block 1024 --size 104857600 --seconds 1.5"),
        WRITERS,
        Bar::speed(1.0),
    ),
    row(
        "random read 4 KiB q1",
        RowUnit::Ops,
        ("one", "random --block 4096 --size 1073741824 --seconds 1.5"),
        READERS,
        Bar::speed(1.0),
    ),
    row(
        "random read 4 KiB q32",
        RowUnit::Ops,
        ("one", "random --block 4096 --size 1073741824 --depth 32 --seconds 1.5"),
        READERS,
        Bar::speed(2.0),
    ),
];

/// Measured on our server only: a process for each connection does not fit in memory.
const BUSY: ComparisonRow = row(
    "200 busy beside 10,000 idle",
    RowUnit::Kept,
    ("crowd", "random --block 4096 --size 50331648 --clients 200 --idle 10000 --seconds 3"),
    &[],
    Bar::Keeps(95.0),
);

const FILES: &[ComparisonRow] = &[
    row(
        "create+write 4 KiB+close",
        RowUnit::Ops,
        ("new", "create --block 4096 --count 2000"),
        ANY,
        Bar::speed(4.0),
    ),
    row("stat", RowUnit::Ops, ("new", "stat --count 2000"), ANY, Bar::speed(2.0)),
];

const DELETES: &[ComparisonRow] =
    &[row("delete", RowUnit::Ops, ("new", "remove --count 2000"), ANY, Bar::speed(2.0))];

const LISTS: &[ComparisonRow] = &[
    row(
        "list 10,000 with ids and sizes",
        RowUnit::Ops,
        ("dir", "list --block 65536 --count 10000 --passes 10"),
        DEFAULT,
        Bar::speed(5.0),
    ),
    row(
        "list 10,000 with Finder info",
        RowUnit::Ops,
        ("mac", "finder --block 65536 --count 10000 --passes 10"),
        MAC,
        Bar::speed(8.0),
    ),
];
