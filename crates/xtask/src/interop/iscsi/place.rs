//! The folders, accounts, LUNs and servers of one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::tgt;
use crate::process::{self, Running};
use crate::{isolate, ports, server};

/// The user that may use the LUNs of the share `closed`, with its CHAP secret.
pub const USER: &str = "ada";
pub const SECRET: &str = "correct-horse-12";
/// The account with which the target authenticates itself.
pub const TARGET_USER: &str = "fourfold";
pub const TARGET_SECRET: &str = "battery-staple-34";
/// The prefix of the targets' names.
pub const PREFIX: &str = "iqn.2026-11.org.example.interop";
/// The initiator that may use the LUN `mine`, and write to `readers`.
pub const INITIATOR: &str = "iqn.2026-11.org.example.client:interop";
/// The initiator that may only read `readers`.
pub const GUEST: &str = "iqn.2026-11.org.example.guest:interop";

/// A LUN that a run uses.
#[derive(Debug)]
pub struct LunSpec {
    pub name: &'static str,
    pub size: &'static str,
    pub block_size: u32,
    pub read_only: bool,
    /// The target asks for CHAP.
    pub is_closed: bool,
    /// Other settings of the LUN.
    pub more: &'static str,
}

const PLAIN: LunSpec =
    LunSpec { name: "", size: "100M", block_size: 512, read_only: false, is_closed: false, more: "" };

pub const LUNS: &[LunSpec] = &[
    LunSpec { name: "suite", ..PLAIN },
    LunSpec { name: "suite-4k", block_size: 4096, ..PLAIN },
    LunSpec { name: "digest", ..PLAIN },
    LunSpec { name: "paths", ..PLAIN },
    LunSpec { name: "watched", ..PLAIN },
    LunSpec { name: "read-only", read_only: true, ..PLAIN },
    LunSpec { name: "vault", is_closed: true, ..PLAIN },
    LunSpec { name: "image", size: "2G", ..PLAIN },
    LunSpec { name: "other", size: "2G", ..PLAIN },
    LunSpec { name: "big", size: "5T", ..PLAIN },
    LunSpec { name: "disk", size: "1G", ..PLAIN },
    LunSpec { name: "disk-4k", size: "1G", block_size: 4096, ..PLAIN },
    LunSpec { name: "mine", more: "initiators = [\"iqn.2026-11.org.example.client:*\"]", ..PLAIN },
    LunSpec { name: "readers", more: "readers = [\"iqn.2026-11.org.example.guest:*\"]", ..PLAIN },
];

/// The address of a LUN.
#[derive(Clone, Debug)]
pub struct LunAddress {
    pub port: u16,
    pub target: String,
    pub number: u32,
    pub is_closed: bool,
}

impl LunAddress {
    /// The address in the form for libiscsi's programs and qemu.
    pub fn url(&self) -> String {
        let login = if self.is_closed { format!("{USER}%{}@", SECRET) } else { String::new() };
        self.url_as(&login)
    }

    /// The same with `USER%SECRET@`, or nothing, before the host.
    pub fn url_as(&self, login: &str) -> String {
        format!("iscsi://{login}127.0.0.1:{}/{}/{}", self.port, self.target, self.number)
    }

    /// The address as options for qemu, with additional ones.
    pub fn qemu(&self, more: &str) -> String {
        let Self { port, target, number, .. } = self;
        format!("driver=iscsi,transport=tcp,portal=127.0.0.1:{port},target={target},lun={number}{more}")
    }
}

/// A running server.
#[derive(Debug)]
pub struct IscsiServer {
    _running: Running,
    pub port: u16,
    /// The number of each target's only LUN.
    number: u32,
    /// The folder of its state, if it is our server.
    pub state: Option<PathBuf>,
}

impl IscsiServer {
    pub fn lun(&self, name: &str) -> Result<LunAddress> {
        let wanted = LUNS.iter().find(|lun| lun.name == name).context("no such LUN")?;
        let target = target_name(wanted);
        Ok(LunAddress { port: self.port, target, number: self.number, is_closed: wanted.is_closed })
    }

    /// The address for discovery.
    pub fn portal(&self, login: &str) -> String {
        format!("iscsi://{login}127.0.0.1:{}", self.port)
    }
}

pub fn target_name(lun: &LunSpec) -> String {
    let share = if lun.is_closed { "closed" } else { "open" };
    format!("{PREFIX}:{share}.{}", lun.name)
}

#[derive(Debug)]
pub struct IscsiPlace {
    pub folder: PathBuf,
}

impl IscsiPlace {
    pub fn new() -> Result<Self> {
        let place = Self { folder: process::fresh_folder("interop-iscsi")? };
        for name in ["open", "closed", "work"] {
            fs::create_dir_all(place.folder.join(name))?;
        }
        Ok(place)
    }

    /// A folder for a client's files.
    pub fn work(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join("work").join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn port() -> Result<u16> {
        if isolate::is_isolated() { Ok(3260) } else { Ok(ports::free_port()?) }
    }

    /// `fourfold serve`.
    pub fn ours(&self) -> Result<IscsiServer> {
        let (port, state) = (Self::port()?, self.folder.join("fourfold"));
        let settings = state.with_extension("toml");
        fs::write(&settings, self.settings())?;
        for (user, secret) in [(USER, SECRET), (TARGET_USER, TARGET_SECRET)] {
            server::add_user_with(&state, user, secret, server::UID, &["--chap-secret"])?;
        }
        let running = server::ours_with_settings(&settings, &state, &["--iscsi-port", &port.to_string()])?;
        Ok(IscsiServer { _running: running, port, number: 0, state: Some(state) })
    }

    fn settings(&self) -> String {
        let mut text = format!(
            "[server]\nbonjour = \"off\"\niscsi-name = \"{PREFIX}\"\niscsi-account = \"{TARGET_USER}\"\n"
        );
        for (share, access) in
            [("open", "guests = true".to_owned()), ("closed", format!("users = [\"{USER}\"]"))]
        {
            let path = self.folder.join(share);
            text.push_str(&format!(
                "\n[[share]]\nname = \"{share}\"\npath = \"{}\"\nnfs = false\nsmb = false\nafp = false\n{access}\n",
                path.display()
            ));
            for lun in LUNS.iter().filter(|lun| lun.is_closed == (share == "closed")) {
                let LunSpec { name, size, block_size, read_only, more, .. } = lun;
                text.push_str(&format!(
                    "\n[[share.lun]]\nname = \"{name}\"\nsize = \"{size}\"\nblock-size = {block_size}\n\
                     read-only = {read_only}\n{more}\n"
                ));
            }
        }
        text
    }

    /// tgt, with LUNs of the same names.
    pub fn peer(&self) -> Result<IscsiServer> {
        let port = Self::port()?;
        let running = tgt::start(&self.folder.join("tgt"), port)?;
        Ok(IscsiServer { _running: running, port, number: 1, state: None })
    }

    /// The file of a LUN of our server.
    pub fn image_of(&self, lun: &str) -> PathBuf {
        self.folder.join("open/.fourfold-luns").join(lun).with_extension("img")
    }
}

/// The output of a program. Fails if the program fails.
pub fn said(program: &str, args: &[&str]) -> Result<String> {
    process::stdout_of(program, args, Duration::from_secs(60))
}

pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
