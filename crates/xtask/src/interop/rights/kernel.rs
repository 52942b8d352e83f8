//! The clients of Linux's kernel in a virtual machine, as ways into the team folder: NFSv3, NFSv4.2, and SMB with a mount for each
//! person. `interop/rights/kernel.sh` mounts, `kernel_worker.py` does there what `way_kernel.py` asks for here.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{ListedPerson, PASSWORD, TeamServer, played};
use crate::interop::guest::{self, Guest, Kernel};
use crate::interop::outcome::{Outcome, Outcomes};
use crate::{debian, isolate, process};

/// The disk of the machine.
const DISK: &str = "rights-guest-disk";
/// Of the whole machine, whose processors are emulated.
const LIMIT: Duration = Duration::from_secs(900);
const CLIENT: &str = "kernel";
const WAYS: &str = "kernel-nfs3,kernel-nfs4,kernel-cifs";
/// The worker in the machine.
const WORKER: &str = "10.0.2.15:7000";
/// Our address on the way to the machine.
const ADDRESS: &str = "10.0.2.2";
const DEVICE: &str = "tap0";
const FILES: &[&str] = &["kernel_worker.py", "way_local.py", "way.py"];

/// Fetches the kernel and the disk. That needs the outside network.
pub fn fetch() -> Result<()> {
    guest::fetch_kernel(Kernel::Cloud)?;
    guest::fetch_disk(DISK, &[debian::LINUX_FILES_GUEST, &["python3-minimal"]].concat())
}

/// Plays the grid by the kernel's clients. If the machine cannot be started, it is skipped.
pub fn run(place: &Path, people: &[ListedPerson], outcomes: &mut Outcomes) -> Result<()> {
    let network = format!("tap,id=net0,ifname={DEVICE},script=no,downscript=no");
    let scripts = process::root().join("interop/rights");
    let mut checks = vec![("main.sh", fs::read(scripts.join("kernel.sh"))?)];
    for name in FILES {
        checks.push((name, fs::read(scripts.join(name))?));
    }
    let mut guest = Guest {
        kernel: Kernel::Cloud,
        modules: crate::interop::linux::MODULES,
        programs: &[],
        system: None,
        disk: Some(guest::disk_image(DISK)),
        settings: String::new(),
        checks,
        memory_mib: 1024,
        network: &["-netdev", &network, "-device", "virtio-net-pci,netdev=net0,romfile="],
    };
    if let Err(why) = guest.why_not().and_then(|()| can_connect()) {
        outcomes.skip(CLIENT, &format!("{why:#}"));
        return Ok(());
    }
    for args in [
        &["tuntap", "add", "dev", DEVICE, "mode", "tap"][..],
        &["addr", "add", "10.0.2.2/24", "dev", DEVICE],
        &["link", "set", DEVICE, "up"],
    ] {
        process::stdout_of("ip", args, Duration::from_secs(20))?;
    }
    let server =
        TeamServer::start_at(&place.join("kernel"), people, &["--listen", "127.0.0.1", "--listen", ADDRESS])?;
    guest.settings = settings(&server, people);
    let mut heard = String::new();
    let ended = guest.run(place, LIMIT, &mut heard, |_| {
        let words = [server.arguments(), vec!["--guest".into(), WORKER.into()]].concat();
        let text = played("grid", &words, &[WAYS.to_owned()])?;
        outcomes.add_lines("grid", &text);
        println!("{CLIENT}: {}", text.lines().last().unwrap_or_default());
        Ok("done".into())
    });
    outcomes.add_lines(CLIENT, &heard);
    let outcome = ended.map_or_else(|error| Outcome::Fail(format!("{error:#}")), |()| Outcome::Pass);
    outcomes.add(CLIENT, outcome);
    Ok(())
}

fn settings(server: &TeamServer, people: &[ListedPerson]) -> String {
    let named = |person: &ListedPerson| format!("{}:{}", person.name, person.uid);
    let (outside, inside): (Vec<_>, Vec<_>) = people.iter().partition(|person| person.role == "none");
    let (inside, outside): (Vec<_>, Vec<_>) =
        (inside.into_iter().map(named).collect(), outside.into_iter().map(named).collect());
    format!(
        "PASSWORD={PASSWORD}\nNFS_PORT={}\nSMB_PORT={}\nPEOPLE='{}'\nOUTSIDER={}\n",
        server.port("--nfs-port"),
        server.port("--smb-port"),
        inside.join(" "),
        outside.join("")
    )
}

/// Checks that we can create network devices: the machine is reached through them.
fn can_connect() -> Result<()> {
    ensure!(isolate::is_isolated(), "only root has a network of its own");
    ensure!(Path::new("/dev/net/tun").exists(), "there is no /dev/net/tun");
    Ok(())
}
