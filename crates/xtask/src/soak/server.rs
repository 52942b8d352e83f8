//! A server of ours with all protocols over one share, and what is asked of it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::ports;
use crate::process::{self, Running};
use crate::server;

/// The share, and its two LUNs.
pub const SHARE: &str = "video";
pub const LUNS: [&str; 2] = ["edit", "others"];
/// The account of SMB and AFP.
const USER: &str = "ada";
const PASSWORD: &str = "secret of ada";
const UID: u32 = 61002;
/// The priority of what plays, among processes that have none: a player is another machine in reality, and does not wait for the
/// processors of the server.
const PLAYER_NICE: &str = "-10";
/// How long a question to the server may take. The disk may be busy.
const ANSWERED_WITHIN: Duration = Duration::from_secs(120);

/// The protocols, by the schemes of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SoakProtocol {
    Smb,
    Afp,
    Nfs,
    Iscsi,
}

impl SoakProtocol {
    pub const ALL: [Self; 4] = [Self::Smb, Self::Afp, Self::Nfs, Self::Iscsi];

    pub fn name(self) -> &'static str {
        match self {
            Self::Smb => "smb",
            Self::Afp => "afp",
            Self::Nfs => "nfs",
            Self::Iscsi => "iscsi",
        }
    }
}

/// The server, and where its things are. Dropping it ends the server.
pub struct SoakServer {
    running: Running,
    /// The folder of the share.
    pub folder: PathBuf,
    settings: PathBuf,
    password: PathBuf,
    ports: [u16; 4],
}

impl SoakServer {
    /// Serves a folder. `place` takes what else it needs. `lun_size` is that of each LUN, in GiB.
    pub fn start(place: &Path, folder: PathBuf, lun_size: u64, more: &str) -> Result<Self> {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777))?;
        let state = place.join("state");
        std::fs::create_dir_all(&state)?;
        let (settings, password) = (place.join("fourfold.toml"), place.join("password"));
        let lun = |name: &str| format!("\n[[share.lun]]\nname = \"{name}\"\nsize = \"{lun_size} GiB\"\n");
        let text = format!(
            "[server]\nstate = \"{}\"\nbonjour = \"off\"\nnfs-clients = \"all\"\nnfs-versions = [\"3\", \"4.1\", \"4.2\"]\n\
             iscsi-name = \"iqn.2026-11.invalid\"\n{more}\n[[share]]\nname = \"{SHARE}\"\npath = \"{}\"\nguests = true\n{}",
            state.display(),
            folder.display(),
            LUNS.map(lun).concat()
        );
        std::fs::write(&settings, text)?;
        std::fs::write(&password, PASSWORD)?;
        server::add_user(&state, USER, PASSWORD, UID)?;
        let ports = [ports::free_port()?, ports::free_port()?, ports::free_port()?, ports::free_port()?];
        let [smb, afp, nfs, iscsi] = ports.map(|port| port.to_string());
        let flags = ["--smb-port", &smb, "--afp-port", &afp, "--nfs-port", &nfs, "--iscsi-port", &iscsi];
        let running = server::ours_with_settings(&settings, &state, &flags)?;
        Ok(Self { running, folder, settings, password, ports })
    }

    /// The URL of the share, or of one of its LUNs.
    pub fn url(&self, protocol: SoakProtocol, lun: &str) -> String {
        let [smb, afp, nfs, iscsi] = self.ports;
        match protocol {
            SoakProtocol::Smb => format!("smb://{USER}@127.0.0.1:{smb}/{SHARE}"),
            SoakProtocol::Afp => format!("afp://{USER}@127.0.0.1:{afp}/{SHARE}"),
            SoakProtocol::Nfs => format!("nfs://127.0.0.1:{nfs}/{SHARE}?uid={UID}&gid={UID}&mountport={nfs}"),
            SoakProtocol::Iscsi => format!("iscsi://127.0.0.1:{iscsi}/iqn.2026-11.invalid:{SHARE}.{lun}/0"),
        }
    }

    /// Starts `fourfold bench`. Its output goes to `NAME.log`, and its raw data to `NAME.jsonl`.
    pub fn bench(&self, name: &Path, urls: &[String], words: &[&str]) -> Result<Running> {
        self.start_bench(&[], name, urls, words)
    }

    /// The same before all other programs of this machine, if the user may do that: as if it ran on a machine of its own.
    pub fn bench_first(&self, name: &Path, urls: &[String], words: &[&str]) -> Result<Running> {
        let first: &[&str] = if process::is_root() { &["nice", "-n", PLAYER_NICE] } else { &[] };
        self.start_bench(first, name, urls, words)
    }

    fn start_bench(&self, before: &[&str], name: &Path, urls: &[String], words: &[&str]) -> Result<Running> {
        let program = server::binary().to_string_lossy().into_owned();
        let (output, password) = (name.to_string_lossy(), self.password.to_string_lossy());
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let account = ["--password-file", &password, "--output", &output, "--seed", "7"];
        let words = [before, &[&program, "bench"], &urls, words, &account].concat();
        let log = std::fs::File::create(name.with_extension("log"))?;
        let _ = std::fs::remove_file(name.with_extension("jsonl")); // of a pass before
        Running::start(words[0], &words[1..], Stdio::from(log.try_clone()?), Stdio::from(log))
    }

    /// Runs another command of the program with the server's settings.
    pub fn command(&self, words: &[&str]) -> Result<Output> {
        let settings = self.settings.to_string_lossy();
        process::output(server::binary(), &[words, &["--config", &settings]].concat(), ANSWERED_WITHIN)
    }

    /// Runs a command that must succeed.
    pub fn done(&self, words: &[&str]) -> Result<String> {
        let output = self.command(words)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "fourfold {}: {}", words.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The bytes that it has written to files.
    pub fn written_bytes(&self) -> u64 {
        self.running.written_bytes()
    }

    /// `fourfold status`.
    pub fn status(&self) -> Result<Value> {
        serde_json::from_str(&self.done(&["status", "--json"])?).context("the status is no JSON")
    }
}

/// The repeats in the raw data of a measurement, as far as they are there.
pub fn runs(name: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(name.with_extension("jsonl")).unwrap_or_default();
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.filter(|record| record["kind"] == "run").collect()
}
