//! Linux's own initiator in a virtual machine (`guest`), which `interop/iscsi/linux.sh` runs. It
//! connects to a server of its own at this machine's loopback address.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::place::{IscsiPlace, PREFIX, SECRET, TARGET_SECRET, TARGET_USER, USER, text};
use crate::interop::guest::{Guest, Kernel};
use crate::interop::outcome::{Outcome, Outcomes};
use crate::ports;
use crate::process::{self, Running};
use crate::server;

/// The time limit of the whole machine: its emulated processor is slow, and so are CI's.
const LIMIT: Duration = Duration::from_secs(240);
const CLIENT: &str = "Linux";
const SCRIPT: &str = "interop/iscsi/linux.sh";
const MODULES: &[&str] =
    &["virtio_pci", "virtio_net", "virtio-rng", "iscsi_tcp", "sd_mod", "sg", "ext4", "crc32c_generic"];
const PROGRAMS: &[&str] = &[
    "iscsid",
    "iscsiadm",
    "mkfs.ext4",
    "e2fsck",
    "fstrim",
    "blkdiscard",
    "sg_inq",
    "sg_vpd",
    "sg_readcap",
    "sg_opcodes",
    "sg_persist",
    "sg_unmap",
    "sg_write_same",
    "sg_get_lba_status",
    "sg_compare_and_write",
];

pub fn run(outcomes: &mut Outcomes, place: &IscsiPlace) -> Result<()> {
    let script = fs::read_to_string(process::root().join(SCRIPT))?;
    let port = ports::free_port()?;
    let guest = Guest {
        kernel: Kernel::Cloud,
        modules: MODULES,
        programs: PROGRAMS,
        system: None,
        disk: None,
        settings: format!(
            "PORT={port}\nPREFIX={PREFIX}\nUSER={USER}\nSECRET={SECRET}\nTARGET_USER={TARGET_USER}\n\
             TARGET_SECRET={TARGET_SECRET}\n"
        ),
        checks: vec![("main.sh", script.clone().into_bytes())],
        memory_mib: 768,
        network: &["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="],
    };
    if let Err(why) = guest.why_not() {
        for name in checks(&script) {
            outcomes.skip(&format!("{CLIENT}: {name}"), &format!("{why:#}"));
        }
        return Ok(());
    }
    let mut heard = String::new();
    let ended = Host::new(place, port)
        .and_then(|mut host| guest.run(&host.folder.clone(), LIMIT, &mut heard, |what| host.answer(what)));
    outcomes.add_lines(CLIENT, &heard);
    let why = ended.map_or_else(|error| format!("{error:#}"), |()| "the script ended before".into());
    for name in checks(&script).map(|name| format!("{CLIENT}: {name}")) {
        if !outcomes.has(&name) {
            outcomes.add(name, Outcome::Fail(format!("it did not come to that: {why}")));
        }
    }
    Ok(())
}

/// The names of the script's checks, in order: its lines `check "NAME" FUNCTION`.
fn checks(script: &str) -> impl Iterator<Item = &str> {
    script.lines().filter_map(|line| line.strip_prefix("check \"")?.split('"').next())
}

/// The server and the folder of all files.
struct Host {
    folder: PathBuf,
    port: u16,
    running: Option<Running>,
}

impl Host {
    fn new(place: &IscsiPlace, port: u16) -> Result<Self> {
        let mut host = Self { folder: place.work("linux")?, port, running: None };
        for name in ["open", "closed"] {
            fs::create_dir_all(host.folder.join(name))?;
        }
        fs::write(host.settings(), host.settings_text())?;
        for (user, secret) in [(USER, SECRET), (TARGET_USER, TARGET_SECRET)] {
            server::add_user_with(&host.state(), user, secret, server::UID, &["--chap-secret"])?;
        }
        host.start()?;
        // Not in the settings, which would contain its size.
        host.lun(&["create", "open/large", "256M", "--block-size", "4096"])?;
        Ok(host)
    }

    /// `fourfold lun ...`.
    fn lun(&self, args: &[&str]) -> Result<()> {
        let (state, settings) = (text(&self.state()), text(&self.settings()));
        let args = [&["lun"], args, &["--state", &state, "--config", &settings]].concat();
        process::stdout_of(server::binary(), &args, LIMIT).map(drop)
    }

    fn state(&self) -> PathBuf {
        self.folder.join("fourfold")
    }

    fn settings(&self) -> PathBuf {
        self.folder.join("fourfold.toml")
    }

    fn settings_text(&self) -> String {
        let share = |name: &str, access: &str| {
            let path = text(&self.folder.join(name));
            format!(
                "\n[[share]]\nname = \"{name}\"\npath = \"{path}\"\nnfs = false\nsmb = false\nafp = false\n{access}\n"
            )
        };
        let lun = |name: &str, size: &str, block_size: u32| {
            format!("\n[[share.lun]]\nname = \"{name}\"\nsize = \"{size}\"\nblock-size = {block_size}\n")
        };
        [
            format!(
                "[server]\nbonjour = \"off\"\niscsi-name = \"{PREFIX}\"\niscsi-account = \"{TARGET_USER}\"\n"
            ),
            share("open", "guests = true"),
            lun("small", "256M", 512),
            share("closed", &format!("users = [\"{USER}\"]")),
            lun("vault", "64M", 512),
        ]
        .concat()
    }

    fn start(&mut self) -> Result<()> {
        let port = self.port.to_string();
        let running = server::ours_with_settings(&self.settings(), &self.state(), &["--iscsi-port", &port])?;
        self.running = Some(running);
        Ok(())
    }

    fn answer(&mut self, what: &str) -> Result<String> {
        match what.split_once(' ').unwrap_or((what, "")) {
            ("allocated", lun) => {
                let image = self.folder.join("open/.fourfold-luns").join(lun).with_extension("img");
                return Ok((fs::metadata(image)?.blocks() * 512).to_string());
            }
            ("resize", arguments) => {
                let (lun, size) = arguments.split_once(' ').context("resize LUN SIZE")?;
                self.lun(&["resize", lun, size, "--yes"])?;
            }
            ("restart", _) => {
                self.running = None;
                self.start()?;
            }
            ("kill", _) => {
                self.running.as_mut().context("no server")?.kill_at_end();
                self.running = None;
                std::thread::sleep(Duration::from_secs(2));
                self.start()?;
            }
            _ => bail!("the machine asks for {what:?}"),
        }
        Ok("done".into())
    }
}
