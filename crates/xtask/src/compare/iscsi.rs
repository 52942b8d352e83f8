//! iSCSI: the rows and bars of issue 5, beside tgt.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::rows::{Bar, ComparisonRow, RowGroup, RowUnit};
use super::{ComparisonPlace, Contestant, MeasuredServer, folder};
use crate::process::Running;
use crate::{debian, isolate, loader, ports, process, server};

pub const PACKAGES: &[&[debian::Package]] = &[debian::ISCSI_LOAD, debian::ISCSI_PEER];

/// tgt with its defaults.
const DEFAULT: &[&str] = &["default"];
/// Also with the sizes and the rules that libiscsi offers: with tgt's own, writes come in PDUs of 8
/// KiB.
const WRITERS: &[&str] = &["default", "tuned"];
const TUNED: &[(&str, &str)] = &[
    ("MaxRecvDataSegmentLength", "262144"),
    ("MaxXmitDataSegmentLength", "262144"),
    ("FirstBurstLength", "262144"),
    ("MaxBurstLength", "262144"),
    ("InitialR2T", "No"),
    ("MaxOutstandingR2T", "4"),
];

/// The size of each logical unit that the load program lays out.
const LUN_BYTES: u64 = 3 << 30;
const PEER_TARGET: &str = "iqn.2026-01.invalid:peer";

pub fn place() -> Result<ComparisonPlace> {
    if !isolate::is_isolated() {
        bail!("as root only, and where namespaces may be made: tgtd keeps its control socket in /run");
    }
    Ok(ComparisonPlace {
        load: loader::compile_iscsi()?,
        folder: folder::prepare_empty()?,
        peer: None,
        host: None,
    })
}

/// Starts a server with its own files apart from those of other servers of its kind, and fills its
/// logical unit.
pub fn start(place: &ComparisonPlace, who: MeasuredServer, apart: &str) -> Result<Contestant> {
    let port = ports::free_port()?;
    let (running, target, lun) = match who {
        MeasuredServer::Ours => (ours(&place.folder, port, apart)?, "iqn.2026-01.invalid:share.video", "0"),
        MeasuredServer::Peer(configuration) => {
            (tgtd(&place.folder, configuration, port, apart)?, PEER_TARGET, "1")
        }
    };
    let port = port.to_string();
    let reach = ["--port", &port, "--target", target, "--lun", lun].map(str::to_owned).to_vec();
    if apart.is_empty() {
        let size = LUN_BYTES.to_string();
        let fill = ["fill", "--file", "all", "--depth", "4", "--size", &size].map(str::to_owned);
        let args: Vec<String> = fill.into_iter().chain(reach.iter().cloned()).collect();
        loader::load(&place.load, &args, running.pid()).with_context(|| format!("cannot fill {who}"))?;
    }
    Ok(Contestant { running, reach })
}

fn ours(folder: &Path, port: u16, apart: &str) -> Result<Running> {
    let share = folder.join(format!("ours{apart}"));
    std::fs::create_dir_all(&share)?;
    let state = process::fresh_folder(&format!("compare/state{apart}"))?;
    let settings = state.with_extension("toml");
    let text = format!(
        "[server]\niscsi-name = \"iqn.2026-01.invalid\"\nbonjour = \"off\"\n\n[[share]]\nname = \"share\"\npath = \"{}\"\n\
         nfs = false\nsmb = false\nafp = false\nguests = true\n\n[[share.lun]]\nname = \"video\"\nsize = \"{} GiB\"\n",
        share.display(),
        LUN_BYTES >> 30
    );
    std::fs::write(&settings, text)?;
    server::ours_with_settings(&settings, &state, &["--iscsi-port", &port.to_string()])
}

/// All configurations use the same file, one after the other.
fn tgtd(folder: &Path, configuration: &str, port: u16, apart: &str) -> Result<Running> {
    let program = process::find("tgtd").context("Debian's package tgt is missing")?;
    let image = folder.join(format!("tgt{apart}.img"));
    std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(&image)?.set_len(LUN_BYTES)?;
    let state = process::fresh_folder(&format!("compare/tgt-{configuration}{apart}"))?;
    std::fs::create_dir_all("/run/tgtd")?;
    // tgtd takes no number above 32767 for its control socket.
    let (control, portal) = ((port & 0x7FFF).to_string(), format!("portal=127.0.0.1:{port}"));
    let log = process::log_file(&state.join("tgtd.log"))?;
    let mut running =
        Running::start(program, &["-f", "-C", &control, "--iscsi", &portal], Stdio::null(), log)?;
    running.kill_at_end(); // with a target it does not end on SIGTERM
    process::wait_for_port(&mut running, port, Duration::from_secs(20))
        .with_context(|| format!("tgtd does not start; see {}", state.display()))?;
    describe_to_tgtd(&control, &image, configuration)?;
    Ok(running)
}

/// One target with one thin logical unit, for all initiators.
fn describe_to_tgtd(control: &str, image: &Path, configuration: &str) -> Result<()> {
    let admin = |args: &[&str]| {
        let all = [&["-C", control, "--lld", "iscsi"], args].concat();
        process::stdout_of("tgtadm", &all, Duration::from_secs(10))
    };
    let (image, unit) = (image.to_string_lossy(), ["--mode", "logicalunit", "--tid", "1", "--lun", "1"]);
    admin(&["--op", "new", "--mode", "target", "--tid", "1", "-T", PEER_TARGET])?;
    admin(&[&["--op", "new"], &unit[..], &["--bstype", "rdwr", "-b", &image]].concat())?;
    admin(&[&["--op", "update"], &unit[..], &["--params", "thin_provisioning=1"]].concat())?;
    for (name, value) in TUNED.iter().filter(|_| configuration == "tuned") {
        admin(&["--op", "update", "--mode", "target", "--tid", "1", "--name", name, "--value", value])?;
    }
    admin(&["--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL"])?;
    Ok(())
}

/// Writes back dirty data, and reads the part of the logical unit that the load program calls
/// `part` into memory.
pub fn warm(folder: &Path, part: &str, who: MeasuredServer) -> Result<()> {
    let image = match who {
        MeasuredServer::Ours => "ours/.fourfold-luns/video.img",
        MeasuredServer::Peer(_) => "tgt.img",
    };
    let bytes = match part {
        "one" => 1 << 30,
        "many" | "crowd" => 10 << 28,
        _ => 0,
    };
    folder::warm_part(&folder.join(image), bytes)
}

pub fn groups() -> Vec<RowGroup> {
    let mut groups: Vec<RowGroup> = IDLE.iter().cloned().map(RowGroup::fresh).collect();
    for rows in [READS, WRITES, SMALL, STABLE] {
        groups.extend(RowGroup::singles(rows));
    }
    groups.push(RowGroup::new(vec![BUSY]));
    groups.push(RowGroup::new(THIN.to_vec()));
    groups.extend(RowGroup::singles(OTHERS));
    groups.push(RowGroup::once(VIDEO));
    groups
}

const fn row(
    name: &'static str,
    unit: RowUnit,
    (file, args): (&'static str, &'static str),
    bar: Option<Bar>,
) -> ComparisonRow {
    ComparisonRow { name, unit, file, args, peers: DEFAULT, bar }
}

const fn read(name: &'static str, file: &'static str, args: &'static str) -> ComparisonRow {
    row(name, RowUnit::Bytes, (file, args), STREAM)
}

const fn write(name: &'static str, file: &'static str, args: &'static str) -> ComparisonRow {
    ComparisonRow { name, unit: RowUnit::Bytes, file, args, peers: WRITERS, bar: STREAM }
}

const fn small(name: &'static str, args: &'static str) -> ComparisonRow {
    row(name, RowUnit::Ops, ("one", args), Some(Bar::speed(3.0)))
}

/// The rows of holes need the same configurations as each other.
const fn thin(name: &'static str, unit: RowUnit, args: &'static str, bar: Option<Bar>) -> ComparisonRow {
    ComparisonRow { name, unit, file: "free", args, peers: WRITERS, bar }
}

const STREAM: Option<Bar> = Some(Bar::Times { speed: 1.3, cpu: Some(0.5) });

const IDLE: &[ComparisonRow] = &[
    row("idle session memory, 200", RowUnit::Memory, ("all", "idle --count 200"), None),
    row("idle session memory, 1000", RowUnit::Memory, ("all", "idle --count 1000"), None),
];

/// 1 session moves 1 GiB; each of 5 and 10 moves 256 MiB of its own twice.
const READS: &[ComparisonRow] = &[
    read("read 1 GiB 1 session q1", "one", "read --size 1073741824"),
    read("read 1 GiB 1 session q4", "one", "read --size 1073741824 --depth 4"),
    read("read 5 sessions q1", "many", "read --clients 5 --size 268435456 --passes 2"),
    read("read 5 sessions q4", "many", "read --clients 5 --size 268435456 --passes 2 --depth 4"),
    read("read 10 sessions q1", "many", "read --clients 10 --size 268435456 --passes 2"),
    read("read 10 sessions q4", "many", "read --clients 10 --size 268435456 --passes 2 --depth 4"),
    read("read 50 sessions q4", "crowd", "read --clients 50 --size 50331648 --seconds 3 --depth 4"),
    row(
        "p99 of 4 KiB reads beside 10 streams",
        RowUnit::Tail,
        ("crowd", "beside --clients 11 --size 50331648 --seconds 3 --depth 4"),
        Some(Bar::AtMost(2.0)),
    ),
];

const WRITES: &[ComparisonRow] = &[
    write("write 1 GiB 1 session q1", "one", "write --size 1073741824"),
    write("write 1 GiB 1 session q4", "one", "write --size 1073741824 --depth 4"),
    write("write 5 sessions q1", "many", "write --clients 5 --size 268435456 --passes 2"),
    write("write 5 sessions q4", "many", "write --clients 5 --size 268435456 --passes 2 --depth 4"),
    write("write 10 sessions q1", "many", "write --clients 10 --size 268435456 --passes 2"),
    write("write 10 sessions q4", "many", "write --clients 10 --size 268435456 --passes 2 --depth 4"),
];

const SMALL: &[ComparisonRow] = &[
    small("random read 1 KiB q1", "random --block 1024 --size 1073741824 --seconds 1.5"),
    small("random read 4 KiB q1", "random --block 4096 --size 1073741824 --seconds 1.5"),
    small("random read 1 KiB q32", "random --block 1024 --size 1073741824 --depth 32 --seconds 1.5"),
    small("random read 4 KiB q32", "random --block 4096 --size 1073741824 --depth 32 --seconds 1.5"),
    small("random write 1 KiB q1", "scatter --block 1024 --size 1073741824 --seconds 1.5"),
    small("random write 4 KiB q1", "scatter --block 4096 --size 1073741824 --seconds 1.5"),
    small("random write 1 KiB q32", "scatter --block 1024 --size 1073741824 --depth 32 --seconds 1.5"),
    small("random write 4 KiB q32", "scatter --block 4096 --size 1073741824 --depth 32 --seconds 1.5"),
];

/// The disk decides most of it: the result is shown but not judged.
const STABLE: &[ComparisonRow] = &[
    row(
        "write 4 KiB FUA q1",
        RowUnit::Ops,
        ("one", "stable --block 4096 --size 1073741824 --seconds 1.5"),
        None,
    ),
    row(
        "write 4 KiB, SYNCHRONIZE CACHE q1",
        RowUnit::Ops,
        ("one", "flushed --block 4096 --size 1073741824 --seconds 1.5"),
        None,
    ),
];

/// Each round writes into the holes that the one before has left.
const THIN: &[ComparisonRow] = &[
    thin("write 256 MiB of holes q4", RowUnit::Bytes, "write --size 268435456 --depth 4", STREAM),
    thin("UNMAP 1 MiB each", RowUnit::Ops, "unmap --block 1048576 --size 268435456", None),
];

/// Measured on our server only: a process for each connection does not fit in memory.
const BUSY: ComparisonRow = ComparisonRow {
    peers: &[],
    ..row(
        "200 busy beside 10,000 idle",
        RowUnit::Kept,
        ("one", "random --block 4096 --size 1073741824 --clients 200 --idle 10000 --seconds 3"),
        Some(Bar::Keeps(95.0)),
    )
};

const OTHERS: &[ComparisonRow] = &[
    row(
        "WRITE SAME 64 KiB of zeroes q1",
        RowUnit::Ops,
        ("zero", "same --block 65536 --size 268435456 --seconds 1.5"),
        None,
    ),
    row("login and logout", RowUnit::Ops, ("all", "login --seconds 1.5"), None),
];

/// The bar is the need of cutting 4 streams of video, whatever the peer achieves.
const VIDEO: ComparisonRow = row(
    "sustained video, 4 streams of 30 MB/s, one writer",
    RowUnit::Gap,
    ("many", "video --clients 5 --count 4 --rate 30000000 --depth 4 --size 268435456 --seconds 60"),
    Some(Bar::NoGap(100.0)),
);
