//! The file clients of Linux's kernel, for NFS and SMB, in a virtual machine (`guest`).
//! `interop/linux/main.sh` mounts one share in every way and works in the same folders through all
//! of these mounts.

mod place;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::expected::Expectations;
use super::guest::{self, Guest, Kernel};
use super::outcome::{Outcome, Outcomes};
use super::{InteropArgs, conclude, install_and_build};
use crate::{debian, isolate, loader, process};
use place::{LinuxPlace, PASSWORD, USER};

const EXPECTED: &str = "interop/linux/expected.toml";
const CHECKS: &str = "interop/linux";
/// The time limit of the whole machine. Its processors are emulated, so everything takes some ten
/// times as long.
const LIMIT: Duration = Duration::from_secs(780);
const CLIENT: &str = "linux";
/// The disk of the machine.
const DISK: &str = "linux-guest-disk";
/// The modules of the kernel that its clients need.
pub const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_net",
    "virtio_blk",
    "virtio-rng",
    "ext4",
    "crc32c_generic",
    "nfsv3",
    "nfsv4",
    "lockd",
    "cifs",
    "nls_utf8",
    "cmac",
    "ccm",
    "gcm",
    "ctr",
    "aesni-intel",
    "ghash-generic",
    "sha512_generic",
    "md5",
    "hmac",
    "ecb",
    "des_generic",
    "md4",
];

/// Two ways to the server, so that SMB has a reason for several connections.
fn network(capture: Option<&Path>) -> Vec<String> {
    // Offload data of packets would be captured, too, and Wireshark does not expect them.
    let offload = if capture.is_some() { ",vnet_hdr=off" } else { "" };
    let device = |number: u32| {
        let mut args = vec![
            "-netdev".into(),
            format!("tap,id=net{number},ifname=tap{number},script=no,downscript=no{offload}"),
            "-device".into(),
            format!("virtio-net-pci,netdev=net{number},romfile="),
        ];
        if let Some(folder) = capture {
            let file = folder.join(format!("wire{number}.pcap"));
            let dump = format!("filter-dump,id=dump{number},netdev=net{number},file={}", file.display());
            args.extend(["-object".into(), dump]);
        }
        args
    };
    [device(0), device(1)].concat()
}

pub fn run(args: &InteropArgs) -> Result<()> {
    if args.peer {
        debian::ensure(debian::SMB_PEER, false)?;
    }
    install_and_build(args, debian::LINUX_FILES, false)?;
    if !isolate::is_isolated()
        && let Err(error) = fetch()
    {
        println!("no virtual machine: {error:#}");
    }
    isolate::enter()?;
    let mut outcomes = Outcomes::default();
    if let Err(why) = checks(args, &mut outcomes) {
        println!("{why:#}");
    }
    if args.list || args.peer {
        print!("{}", outcomes.as_toml());
    }
    if args.peer {
        return Ok(());
    }
    let expected = Expectations::read(&process::root().join(EXPECTED))?.else_pass();
    let expected = if args.only.is_empty() { expected } else { expected.retain(|name| outcomes.has(name)) };
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn fetch() -> Result<()> {
    guest::fetch_kernel(Kernel::Cloud)?;
    guest::fetch_disk(DISK, debian::LINUX_FILES_GUEST)
}

/// Runs the machine's checks. If the machine cannot be started, all checks are skipped.
fn checks(args: &InteropArgs, outcomes: &mut Outcomes) -> Result<()> {
    let programs = process::root().join(CHECKS);
    let folder = process::root().join("target").join(place::FOLDER);
    let network = network(args.capture.then_some(&*folder));
    let guest = Guest {
        kernel: Kernel::Cloud,
        modules: MODULES,
        programs: &[],
        system: None,
        disk: Some(guest::disk_image(DISK)),
        settings: format!(
            "USER={USER}\nPASSWORD={PASSWORD}\nONLY='{}'\nPEER={}\n",
            args.only.join("|"),
            u8::from(args.peer)
        ),
        checks: vec![
            ("main.sh", fs::read(programs.join("main.sh"))?),
            ("day.sh", fs::read(programs.join("day.sh"))?),
            ("posix.sh", fs::read(programs.join("posix.sh"))?),
            ("files", loader::compile_guest().and_then(|path| Ok(fs::read(path)?)).unwrap_or_default()),
        ],
        memory_mib: 1024,
        network: &network.iter().map(String::as_str).collect::<Vec<_>>(),
    };
    if let Err(why) = guest.why_not().and_then(|()| can_connect()) {
        outcomes.skip(CLIENT, &format!("{why:#}"));
        return Ok(());
    }
    let mut heard = String::new();
    let ended = LinuxPlace::new(args.peer)
        .and_then(|mut place| guest.run(&folder, LIMIT, &mut heard, |what| place.answer(what)));
    outcomes.add_lines(CLIENT, &heard);
    if let Err(error) = &ended {
        outcomes.add(format!("{CLIENT}: it comes to its end"), Outcome::Fail(format!("{error:#}")));
    } else {
        outcomes.add(format!("{CLIENT}: it comes to its end"), Outcome::Pass);
    }
    Ok(())
}

/// Checks that we can create network devices: the machine is reached through them.
fn can_connect() -> Result<()> {
    ensure!(isolate::is_isolated(), "only root has a network of its own");
    ensure!(Path::new("/dev/net/tun").exists(), "there is no /dev/net/tun");
    Ok(())
}
