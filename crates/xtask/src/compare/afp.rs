//! AFP: the rows and bars of issue 4, beside Netatalk's afpd.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::rows::{Bar, ComparisonRow, RowGroup, RowUnit};
use super::{ComparisonPlace, Contestant, MeasuredServer, folder};
use crate::netatalk::{self, NetatalkVolume, packages};
use crate::process::Running;
use crate::samba::{self, SambaUser};
use crate::{isolate, loader, ports, process, server};

const ADA: SambaUser = SambaUser { name: "ada", password: "secret" };
/// A Unix user that no other account of this machine has.
const UID: u32 = 61002;

/// afpd with its defaults, except for the size of requests: its default, 1 MiB with the header,
/// allows no write of 1 MiB.
const NETATALK: &[&str] = &["netatalk"];
const GLOBALS: &str = "server quantum = 2097152\nmax connections = 3000\n";

/// Makes the folder. Without `afpd`, Debian's is the peer.
pub fn place(only_ours: bool, afpd: Option<&Path>) -> Result<ComparisonPlace> {
    if !isolate::is_isolated() {
        bail!("as root only, and where namespaces may be made: afpd needs its accounts as Unix users");
    }
    if afpd.is_none() && !only_ours && packages::server().is_none() {
        eprintln!(
            "Netatalk's afpd is missing, and could not be fetched. Build version 4 from its source and say where it is: --afpd \
             PREFIX/sbin/afpd; or measure ours alone: --only ours"
        );
        std::process::exit(2);
    }
    let load = loader::compile_afp()?;
    samba::unix_users(&process::fresh_folder("compare/afp-users")?, &[(ADA, UID)])?;
    let folder = folder::prepare(UID)?;
    Ok(ComparisonPlace { load, folder, peer: afpd.map(Path::to_path_buf), host: None })
}

/// Starts a server with its own files apart from those of other servers of its kind. Ada logs in. An afpd that was
/// built by hand knows only the passwords of Unix users, so there she is a guest.
pub fn start(place: &ComparisonPlace, who: MeasuredServer, apart: &str) -> Result<Contestant> {
    let port = ports::free_port()?;
    let (running, user) = match who {
        MeasuredServer::Ours => (ours(&place.folder, port, apart)?, ADA.name),
        MeasuredServer::Peer(_) => match &place.peer {
            Some(program) => (afpd(program, &place.folder, port, apart)?, "guest"),
            None => (debians(&place.folder, port, apart)?, ADA.name),
        },
    };
    let port = port.to_string();
    let reach = ["--port", &port, "--share", "share", "--user", user, "--password", ADA.password];
    Ok(Contestant { running, reach: reach.iter().map(|&text| text.to_owned()).collect() })
}

fn ours(folder: &Path, port: u16, apart: &str) -> Result<Running> {
    let state = process::fresh_folder(&format!("compare/state{apart}"))?;
    let settings = state.with_extension("toml");
    let text = format!(
        "[server]\nafp-logins = [\"cleartext\"]\nbonjour = \"off\"\n\n[[share]]\nname = \"share\"\npath = \"{}\"\nnfs = false\nsmb = false\niscsi = false\n",
        folder.display()
    );
    std::fs::write(&settings, text)?;
    server::add_user_with(&state, ADA.name, ADA.password, UID, &["--legacy-password"])?;
    server::ours_with_settings(&settings, &state, &["--afp-port", &port.to_string()])
}

/// Debian's afpd. The shared folder is beside its own files.
fn debians(folder: &Path, port: u16, apart: &str) -> Result<Running> {
    let around = folder.parent().context("the folder is the root")?;
    let volume =
        NetatalkVolume { name: "share".into(), folder: folder.to_owned(), settings: "ea = sys".into() };
    let place = format!("netatalk{apart}");
    process::fresh_folder(&format!("compare/{place}"))?;
    netatalk::start_with(around, &place, port, &[ADA.name], &[volume], GLOBALS)
}

fn afpd(program: &Path, folder: &Path, port: u16, apart: &str) -> Result<Running> {
    let state = process::fresh_folder(&format!("compare/netatalk{apart}"))?;
    let (config, modules) = (state.join("afp.conf"), modules(program)?);
    let text = format!(
        "[Global]\nafp port = {port}\nafp listen = 127.0.0.1\nuam path = {}\nuam list = uams_guest.so\nguest account = {}\n\
         cnid scheme = sqlite\nvol dbpath = {state}\nsignature = 0123456789abcdef\nlog file = {state}/afpd.log\n\
         log level = default:warn\nzeroconf = no\n{GLOBALS}\n\
         [share]\npath = {}\nvolume name = share\nea = sys\n",
        modules.display(),
        ADA.name,
        folder.display(),
        state = state.display()
    );
    std::fs::write(&config, text)?;
    let config = config.to_string_lossy();
    let log = process::log_file(&state.join("afpd.out"))?;
    let mut running = Running::start(program, &["-d", "-F", &config], Stdio::null(), log)?;
    process::wait_for_port(&mut running, port, Duration::from_secs(20))
        .with_context(|| format!("afpd does not start; see {}", state.display()))?;
    Ok(running)
}

/// The folder of afpd's login modules: below the prefix that it was installed to.
pub fn modules(afpd: &Path) -> Result<PathBuf> {
    let prefix = afpd.parent().and_then(Path::parent).context("afpd is in no prefix")?;
    let mut libraries = vec![prefix.join("lib/netatalk"), prefix.join("lib64/netatalk")];
    libraries.extend(
        std::fs::read_dir(prefix.join("lib"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path().join("netatalk")),
    );
    let found = libraries.into_iter().find(|folder| folder.join("uams_guest.so").exists());
    found.with_context(|| format!("there is no netatalk/uams_guest.so below {}/lib", prefix.display()))
}

pub fn groups() -> Vec<RowGroup> {
    let mut groups: Vec<RowGroup> = IDLE.iter().cloned().map(RowGroup::fresh).collect();
    for rows in [READS, WRITES, SMALL] {
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
    bar: Bar,
) -> ComparisonRow {
    ComparisonRow { name, unit, file, args, peers: NETATALK, bar: Some(bar) }
}

const STREAM: Bar = Bar::Times { speed: 1.0, cpu: Some(1.0) };

const IDLE: &[ComparisonRow] = &[row(
    "idle session memory, 500",
    RowUnit::Memory,
    ("idle", "idle --count 500"),
    Bar::AtMost(32.0 * 1024.0),
)];

/// 1 client moves 1 GiB; each of 5 and 10 moves a file of 256 MiB twice.
const READS: &[ComparisonRow] = &[
    row("read 1 GiB 1 client q1", RowUnit::Bytes, ("one", "read --size 1073741824"), STREAM),
    row("read 1 GiB 1 client q4", RowUnit::Bytes, ("one", "read --size 1073741824 --depth 4"), STREAM),
    row(
        "read 5 clients q1",
        RowUnit::Bytes,
        ("many", "read --clients 5 --size 268435456 --passes 2"),
        STREAM,
    ),
    row(
        "read 5 clients q4",
        RowUnit::Bytes,
        ("many", "read --clients 5 --size 268435456 --passes 2 --depth 4"),
        STREAM,
    ),
    row(
        "read 10 clients q1",
        RowUnit::Bytes,
        ("many", "read --clients 10 --size 268435456 --passes 2"),
        STREAM,
    ),
    row(
        "read 10 clients q4",
        RowUnit::Bytes,
        ("many", "read --clients 10 --size 268435456 --passes 2 --depth 4"),
        STREAM,
    ),
    row(
        "read 50 clients q4",
        RowUnit::Bytes,
        ("crowd", "read --clients 50 --size 50331648 --seconds 3 --depth 4"),
        STREAM,
    ),
    row(
        "p99 of 4 KiB reads beside 10 streams",
        RowUnit::Tail,
        ("crowd", "beside --clients 11 --size 50331648 --seconds 3 --depth 4"),
        Bar::AtMost(2.0),
    ),
];

const WRITES: &[ComparisonRow] = &[
    row("write 1 GiB 1 client q1", RowUnit::Bytes, ("one", "write --size 1073741824"), STREAM),
    row("write 1 GiB 1 client q4", RowUnit::Bytes, ("one", "write --size 1073741824 --depth 4"), STREAM),
    row(
        "write 5 clients q1",
        RowUnit::Bytes,
        ("many", "write --clients 5 --size 268435456 --passes 2"),
        STREAM,
    ),
    row(
        "write 5 clients q4",
        RowUnit::Bytes,
        ("many", "write --clients 5 --size 268435456 --passes 2 --depth 4"),
        STREAM,
    ),
    row(
        "write 10 clients q1",
        RowUnit::Bytes,
        ("many", "write --clients 10 --size 268435456 --passes 2"),
        STREAM,
    ),
    row(
        "write 10 clients q4",
        RowUnit::Bytes,
        ("many", "write --clients 10 --size 268435456 --passes 2 --depth 4"),
        STREAM,
    ),
    row("new file 1 GiB q4", RowUnit::Bytes, ("fresh", "new --size 1073741824 --depth 4"), STREAM),
];

const SMALL: &[ComparisonRow] = &[
    row(
        "read 1 KiB q1",
        RowUnit::Ops,
        ("one", "small --block 1024 --size 104857600 --seconds 1.5"),
        Bar::speed(1.0),
    ),
    row(
        "write 1 KiB q1",
        RowUnit::Ops,
        ("one", "write --block 1024 --size 104857600 --seconds 1.5"),
        Bar::speed(1.0),
    ),
    row(
        "random read 4 KiB q1",
        RowUnit::Ops,
        ("one", "random --block 4096 --size 1073741824 --seconds 1.5"),
        Bar::speed(1.0),
    ),
    row(
        "random read 4 KiB q32",
        RowUnit::Ops,
        ("one", "random --block 4096 --size 1073741824 --depth 32 --seconds 1.5"),
        Bar::speed(1.0),
    ),
];

/// Measured on our server only: a process for each connection does not fit in memory.
const BUSY: ComparisonRow = ComparisonRow {
    peers: &[],
    ..row(
        "200 busy beside 10,000 idle",
        RowUnit::Kept,
        ("crowd", "random --block 4096 --size 50331648 --clients 200 --idle 10000 --seconds 3"),
        Bar::Keeps(95.0),
    )
};

const FILES: &[ComparisonRow] = &[
    row(
        "create+write 4 KiB+close",
        RowUnit::Ops,
        ("new", "create --block 4096 --count 2000"),
        Bar::speed(2.0),
    ),
    row("stat", RowUnit::Ops, ("new", "stat --count 2000"), Bar::speed(2.0)),
];

const DELETES: &[ComparisonRow] =
    &[row("delete", RowUnit::Ops, ("new", "remove --count 2000"), Bar::speed(2.0))];

const LISTS: &[ComparisonRow] = &[row(
    "list 10,000 with Finder info",
    RowUnit::Ops,
    ("mac", "list --block 65536 --count 10000 --passes 10"),
    Bar::speed(5.0),
)];
