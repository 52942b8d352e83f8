//! Linux's own initiator in a virtual machine (`guest`), which reaches a LUN of a cluster over a path to each of two servers: open-iscsi,
//! dm-multipath with the ALUA handler, ext4. `interop/cluster/multipath.sh` runs there, `multipath.py` keeps the servers.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{PASSWORD, UID, USER};
use crate::interop::guest::{self, Guest, Kernel};
use crate::interop::outcome::{Outcome, Outcomes};
use crate::interop::smb::python;
use crate::process::{self, Running};
use crate::{debian, server};

/// The time limit of the whole machine, whose processors are emulated.
const LIMIT: Duration = Duration::from_secs(1_500);
const CLIENT: &str = "multipath";
const DISK: &str = "linux-guest-multipath";
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_net",
    "virtio_blk",
    "virtio-rng",
    "ext4",
    "crc32c_generic",
    "iscsi_tcp",
    "sd_mod",
    "sg",
    "scsi_dh_alua",
    "dm-multipath",
    "dm-service-time",
];

/// Fetches the kernel and the disk of the machine. That needs the outside network.
pub fn fetch() -> Result<()> {
    guest::fetch_kernel(Kernel::Full)?;
    guest::fetch_disk(DISK, debian::MULTIPATH_GUEST)
}

pub fn run(outcomes: &mut Outcomes) -> Result<()> {
    let folder = process::fresh_folder("interop-cluster")?;
    let script = fs::read(process::root().join("interop/cluster/multipath.sh"))?;
    let mut servers = MultipathServers::start(&folder)?;
    let guest = Guest {
        kernel: Kernel::Full,
        modules: MODULES,
        programs: &[],
        system: None,
        disk: Some(guest::disk_image(DISK)),
        settings: format!("PORTAL={}\n", servers.portal),
        checks: vec![("main.sh", script)],
        memory_mib: 1024,
        network: &["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="],
    };
    if let Err(why) = guest.why_not() {
        outcomes.skip(CLIENT, &format!("{why:#}"));
        return Ok(());
    }
    let mut heard = String::new();
    let ended = guest.run(&folder, LIMIT, &mut heard, |what| servers.ask(what));
    outcomes.add_lines(CLIENT, &heard);
    let end = ended.map_or_else(|error| Outcome::Fail(format!("{error:#}")), |()| Outcome::Pass);
    outcomes.add(format!("{CLIENT}: it comes to its end"), end);
    Ok(())
}

/// The servers, as a script that obeys.
struct MultipathServers {
    /// The address of one of them.
    portal: String,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _running: Running,
}

impl MultipathServers {
    fn start(folder: &Path) -> Result<Self> {
        let script = process::root().join("interop/cluster/checks.py");
        let [script, folder_text, program] =
            [&script, folder, &server::binary()].map(|path| path.display().to_string());
        let uid = UID.to_string();
        let words = ["-B", &script, "--multipath", "--folder", &folder_text, "--uid", &uid, "--nfs3", ""];
        let more = ["--user", USER, "--password", PASSWORD, "--program", &program];
        let log = process::log_file(&folder.join("checks.log"))?;
        let (running, input, output) =
            Running::talking(python::program(), &[&words[..], &more].concat(), log)?;
        let mut servers =
            Self { portal: String::new(), input, output: BufReader::new(output), _running: running };
        let said = servers.line()?;
        said.strip_prefix("ready ").context("the servers do not start")?.clone_into(&mut servers.portal);
        Ok(servers)
    }

    fn ask(&mut self, what: &str) -> Result<String> {
        writeln!(self.input, "{what}")?;
        self.line()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "the servers have ended: see checks.log");
        Ok(line.trim_end().to_owned())
    }
}
