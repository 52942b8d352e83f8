//! `cargo xtask interop bench`: `fourfold bench` against other projects' servers. It measures at a small
//! scale; what is tested is that its clients understand these servers, and that it removes what it made.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::outcome::{Outcome, Outcomes};
use crate::compare::{self, ComparisonPlace, Contestant, MeasuredServer};
use crate::samba::{self, SambaShare, SambaUser};
use crate::{ganesha, isolate, ports, process, server};

/// What a measurement of one server may take.
const LIMIT: Duration = Duration::from_secs(60);
const ADA: SambaUser = SambaUser { name: "ada", password: "secret of ada" };
/// A Unix user that no other account of this machine has.
const UID: u32 = 61002;
/// Workloads of files. `video` takes its time, whatever the scale.
const FILES: &[&str] = &[
    "seq-read",
    "seq-write",
    "small-read-1K",
    "small-write-1K",
    "lmdd-512B",
    "open-155-images",
    "enumerate",
    "create-stat-delete",
    "copy-tree",
    "lock-unlock",
    "xattr-and-fork",
    "lantest",
    "backup-bands",
    "tar-tree",
    "disk-image",
    "block-mix",
    "random-read-4K",
    "read-write-25-1",
];
/// Workloads of disks.
const BLOCKS: &[&str] = &["seq-read", "seq-write", "lmdd-512B", "disk-image", "block-mix", "read-write-25-1"];

/// A server under test.
struct TestedServer {
    name: &'static str,
    program: &'static str,
    workloads: &'static [&'static str],
    start: fn(&Path, Option<&Path>) -> Result<Contestant>,
}

const PEERS: &[TestedServer] = &[
    TestedServer { name: "smbd", program: "smbd", workloads: FILES, start: smbd },
    TestedServer { name: "Ganesha", program: "ganesha.nfsd", workloads: FILES, start: nfs },
    TestedServer { name: "Ganesha-4.2", program: "ganesha.nfsd", workloads: FILES, start: nfs },
    TestedServer { name: "tgt", program: "tgtd", workloads: BLOCKS, start: tgtd },
    TestedServer { name: "Netatalk", program: "afpd", workloads: FILES, start: afpd },
];

/// Measures all peers that are installed.
pub fn run(afpd: Option<&Path>, outcomes: &mut Outcomes) -> Result<()> {
    if !isolate::is_isolated() {
        for peer in PEERS {
            outcomes.skip(peer.name, "as root only, and where namespaces may be made");
        }
        return Ok(());
    }
    let place = process::fresh_folder("interop-bench")?;
    samba::unix_users(&process::fresh_folder("interop-bench-users")?, &[(ADA, UID)])?;
    std::fs::write(place.join("password"), ADA.password)?;
    for peer in PEERS {
        let given = afpd.filter(|_| peer.program == "afpd");
        if given.is_none() && process::find(peer.program).is_none() {
            outcomes.skip(peer.name, &format!("{} is not installed", peer.program));
            continue;
        }
        let folder = place.join(peer.name).join("share");
        std::fs::create_dir_all(&folder)?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777))?;
        std::fs::write(folder.join("somebody's"), "not the measurement's")?;
        match measured(peer, &place, &folder, given) {
            Ok(lines) => {
                outcomes.add(peer.name, Outcome::Pass);
                judge(peer, &lines, outcomes);
            }
            Err(error) => outcomes.add(peer.name, Outcome::Fail(format!("{error:#}"))),
        }
        outcomes.run(&format!("{}: nothing is left", peer.name), &[], || is_clean(&folder));
    }
    Ok(())
}

/// The raw data of a measurement.
fn measured(
    peer: &TestedServer,
    place: &Path,
    folder: &Path,
    given: Option<&Path>,
) -> Result<Vec<serde_json::Value>> {
    let contestant = (peer.start)(folder, given)?;
    let output = place.join(peer.name).join("raw").display().to_string();
    let password = place.join("password").display().to_string();
    let (url, workloads) = (url(peer, &contestant.reach)?, peer.workloads.join(","));
    let small = ["--scale", "0.002", "--repeats", "1", "--clients", "1,3", "--time", "5", "--timeout", "10"];
    let what = ["bench", &url, "--workload", &workloads, "--output", &output, "--password-file", &password];
    let run = process::output(server::binary(), &[&what[..], &small].concat(), LIMIT)?;
    let said = String::from_utf8_lossy(&run.stdout);
    ensure!(said.contains("seq-read, 3 clients"), "{said}{}", String::from_utf8_lossy(&run.stderr));
    let text = std::fs::read_to_string(format!("{output}.jsonl"))?;
    text.lines().map(|line| serde_json::from_str(line).context("raw data")).collect()
}

/// The URL of a server by the options of its load program.
fn url(peer: &TestedServer, reach: &[String]) -> Result<String> {
    let option = |name: &str| {
        let at = reach.iter().position(|word| word == name);
        at.and_then(|at| reach.get(at + 1)).with_context(|| format!("{} has no {name}", peer.name))
    };
    Ok(match peer.name {
        "smbd" => format!("smb://{}@127.0.0.1:{}/share", ADA.name, option("--port")?),
        "Ganesha" | "Ganesha-4.2" => {
            let (port, mount) = (option("--nfs-port")?, option("--mount-port")?);
            let version = if peer.name == "Ganesha" { "3" } else { "4.2" };
            format!("nfs://127.0.0.1:{port}/share?vers={version}&mountport={mount}&uid={UID}&gid={UID}")
        }
        "tgt" => {
            let (port, target) = (option("--port")?, option("--target")?);
            format!("iscsi://127.0.0.1:{port}/{target}/{}", option("--lun")?)
        }
        "Netatalk" => format!("afp://127.0.0.1:{}/share", option("--port")?),
        other => bail!("{other} has no URL"),
    })
}

/// Each workload with both numbers of clients is an outcome.
fn judge(peer: &TestedServer, lines: &[serde_json::Value], outcomes: &mut Outcomes) {
    let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    for workload in peer.workloads {
        let runs = lines.iter().filter(|line| line["kind"] == "run" && line["workload"] == **workload);
        let failure = lines.iter().find(|line| {
            line["kind"] == "failure" && text(line, "cell").starts_with(&format!("{workload}, "))
        });
        let outcome = match failure {
            Some(failure) if failure["skipped"] == true => Outcome::Skip(text(failure, "message")),
            Some(failure) => Outcome::Fail(text(failure, "message")),
            None if runs.count() == 2 => Outcome::Pass,
            None => Outcome::Fail("it was not measured".into()),
        };
        outcomes.add(format!("{}: {workload}", peer.name), outcome);
    }
}

/// Only what was there before.
fn is_clean(folder: &Path) -> Result<()> {
    let names: Vec<String> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    let is_ours = |name: &&String| name.starts_with("fourfold-bench-");
    match names.iter().find(is_ours) {
        None if names.iter().any(|name| name == "somebody's") => Ok(()),
        None => bail!("a file that was there before is gone"),
        Some(name) => bail!("{name} is left"),
    }
}

fn smbd(folder: &Path, _: Option<&Path>) -> Result<Contestant> {
    let port = ports::free_port()?;
    let share = SambaShare { name: "share".into(), folder: folder.to_path_buf(), settings: MAC };
    let at = PathBuf::from("target/interop-bench/smbd-state");
    let running = samba::start(&at, port, &[ADA], &[share], "")?;
    Ok(Contestant { running, reach: vec!["--port".into(), port.to_string()] })
}

/// With extended attributes, and with named streams as files: an extended attribute of ext4 is too small for
/// a resource fork.
const MAC: &str = "  ea support = yes\n  vfs objects = streams_depot";

fn nfs(folder: &Path, _: Option<&Path>) -> Result<Contestant> {
    let server = ganesha::start(folder, Path::new("target/interop-bench/ganesha"))?;
    Ok(Contestant { reach: crate::loader::nfs_options(&server.address), running: server.running })
}

fn tgtd(folder: &Path, _: Option<&Path>) -> Result<Contestant> {
    compare::iscsi::start(&place(folder, None), MeasuredServer::Peer("default"), "-bench")
}

fn afpd(folder: &Path, given: Option<&Path>) -> Result<Contestant> {
    compare::afp::start(&place(folder, given), MeasuredServer::Peer("default"), "-bench")
}

fn place(folder: &Path, given: Option<&Path>) -> ComparisonPlace {
    let peer = given.map(Path::to_path_buf).or_else(|| process::find("afpd"));
    ComparisonPlace { load: PathBuf::new(), folder: folder.to_path_buf(), peer, host: None }
}
