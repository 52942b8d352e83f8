//! The share and its server on this side, and the machine's requests.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::past;
use crate::process::{self, Running};
use crate::samba::{self, SambaShare, SambaUser};
use crate::server;

pub const USER: &str = "ada";
pub const PASSWORD: &str = "correct-horse-12";
/// The folder of one run, below `target/`.
pub const FOLDER: &str = "interop-linux";
/// The devices that lead to the machine, and our addresses there.
const DEVICES: [(&str, &str); 2] = [("tap0", "10.0.2.2/24"), ("tap1", "10.0.3.2/24")];
/// The addresses of the two servers that a link of the share [`NAMES`] leads to.
const FAR: [&str; 2] = ["10.0.2.3", "10.0.2.4"];
/// The share with the link.
const NAMES: &str = "names";
/// The size of the file there that is copied while its server is killed, in bytes.
const LARGE: usize = 24 << 20;
const LIMIT: Duration = Duration::from_secs(60);
const ADA: SambaUser = SambaUser { name: USER, password: PASSWORD };
const SMBD: &str = "  interfaces = lo tap0 tap1\n  vfs objects = streams_xattr\n";
/// How long the server is down after it is killed.
const AWAY: Duration = Duration::from_secs(2);
/// How long clients may reclaim their locks after a restart: the machine has an emulated processor.
const GRACE_S: u32 = 10;

#[derive(Debug)]
pub struct LinuxPlace {
    folder: PathBuf,
    is_peer: bool,
    /// The folder of a share with a snapshot, where this machine can have one.
    past: Option<PathBuf>,
    running: Option<Running>,
    /// The servers at [`FAR`].
    far: Vec<Running>,
}

impl LinuxPlace {
    pub fn new(is_peer: bool) -> Result<Self> {
        let mut place = Self {
            folder: process::fresh_folder(FOLDER)?,
            is_peer,
            past: None,
            running: None,
            far: Vec::new(),
        };
        fs::create_dir_all(place.share())?;
        chown(place.share(), Some(server::UID), Some(server::UID))?;
        for (device, address) in DEVICES {
            ip(&["tuntap", "add", "dev", device, "mode", "tap"])?;
            ip(&["addr", "add", address, "dev", device])?;
            connect(device, true)?;
        }
        for address in FAR {
            ip(&["addr", "add", &format!("{address}/24"), "dev", DEVICES[0].0])?;
        }
        if is_peer {
            samba::unix_users(&place.folder, &[(ADA, server::UID)])?;
        } else {
            place.past = past::mount(&place.folder, server::UID)?;
            fs::write(place.settings(), place.settings_text())?;
            place.past.iter().try_for_each(|folder| past::take(&place.settings(), folder).map(drop))?;
            server::add_user(&place.state(), USER, PASSWORD, server::UID)?;
            place.start_far()?;
        }
        place.start()?;
        Ok(place)
    }

    fn share(&self) -> PathBuf {
        self.folder.join("share")
    }

    fn state(&self) -> PathBuf {
        self.folder.join("fourfold")
    }

    fn settings(&self) -> PathBuf {
        self.folder.join("fourfold.toml")
    }

    /// Starts both servers at [`FAR`]: the first one's file `where` says so, and both have the same large file.
    fn start_far(&mut self) -> Result<()> {
        fs::create_dir_all(self.folder.join(NAMES))?;
        for (number, address) in FAR.into_iter().enumerate() {
            let folder = self.folder.join(format!("far{number}"));
            let (settings, state) = (folder.with_extension("toml"), folder.with_extension("state"));
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("where"), format!("{number}\n"))?;
            fs::write(
                folder.join("large"),
                (0..LARGE).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect::<Vec<_>>(),
            )?;
            chown(&folder, Some(server::UID), Some(server::UID))?;
            let share = format!("[[share]]\nname = \"far\"\npath = \"{}\"\n", folder.display());
            fs::write(&settings, format!("[server]\nbonjour = \"off\"\n\n{share}"))?;
            server::add_user(&state, USER, PASSWORD, server::UID)?;
            let ports = ["--listen", address, "--smb-port", "445"];
            self.far.push(server::ours_with_settings(&settings, &state, &ports)?);
        }
        Ok(())
    }

    fn settings_text(&self) -> String {
        let past = self.past.as_ref().map(|folder| {
            let path = folder.display();
            format!(
                "\n[[share]]\nname = \"{}\"\npath = \"{path}\"\nafp = false\niscsi = false\n",
                past::SHARE
            )
        });
        format!(
            "[server]\nbonjour = \"off\"\nnfs-versions = [\"3\", \"4.0\", \"4.1\", \"4.2\"]\n\
             grace-period = {GRACE_S}\n\n[[share]]\nname = \"share\"\npath = \"{}\"\n\
             afp = false\niscsi = false\n{}\n[[share]]\nname = \"{NAMES}\"\npath = \"{}\"\nafp = false\n\n\
             [[link]]\npath = \"{NAMES}/far\"\ntargets = {:?}\n",
            self.share().display(),
            past.unwrap_or_default(),
            self.folder.join(NAMES).display(),
            FAR.map(|address| format!("smb://{address}/far"))
        )
    }

    fn start(&mut self) -> Result<()> {
        let [here, there] = DEVICES.map(|(_, address)| address.trim_end_matches("/24"));
        let listen = ["--listen", here, "--listen", there];
        let ports = ["--nfs-port", "2049", "--smb-port", "445", "--portmap-port", "111"];
        let ports = [&listen[..], &ports].concat();
        self.running = Some(if self.is_peer {
            let share = SambaShare { name: "share".into(), folder: self.share(), settings: "" };
            samba::start(&self.folder.join("smbd"), 445, &[ADA], &[share], SMBD)?
        } else {
            server::ours_with_settings(&self.settings(), &self.state(), &ports)?
        });
        Ok(())
    }

    /// Answers a request of the machine for what only this side can do or see.
    pub fn answer(&mut self, what: &str) -> Result<String> {
        let (verb, argument) = what.split_once(' ').unwrap_or((what, ""));
        let path = self.share().join(argument);
        match verb {
            "past" => Ok(if self.past.is_some() { "yes" } else { "no" }.into()),
            "names" => names(&path),
            "sum" => {
                let text = process::stdout_of("md5sum", &["--", &path.to_string_lossy()], LIMIT)?;
                Ok(text.split(' ').next().unwrap_or_default().to_owned())
            }
            "far" => Ok(fs::read_to_string(self.folder.join(argument))?.trim().to_owned()),
            "far-sum" => {
                let path = self.folder.join("far1/large");
                let text = process::stdout_of("md5sum", &["--", &path.to_string_lossy()], LIMIT)?;
                Ok(text.split(' ').next().unwrap_or_default().to_owned())
            }
            "kill-far" => {
                let mut first = self.far.drain(..1).next().context("no server")?;
                first.kill_at_end();
                Ok("done".into())
            }
            "restart" => {
                self.running = None;
                self.start()?;
                Ok("done".into())
            }
            "cut" => {
                cut(Duration::from_secs(argument.parse()?))?;
                Ok("done".into())
            }
            "kill" => {
                self.running.as_mut().context("no server")?.kill_at_end();
                self.running = None;
                std::thread::sleep(AWAY);
                self.start()?;
                Ok("done".into())
            }
            _ => bail!("the machine asks for {what:?}"),
        }
    }
}

/// Cuts every way to the machine for this time. No side is told: what it sends is lost.
fn cut(time: Duration) -> Result<()> {
    DEVICES.iter().try_for_each(|(device, _)| connect(device, false))?;
    std::thread::sleep(time);
    DEVICES.iter().try_for_each(|(device, _)| connect(device, true))
}

fn connect(device: &str, is_connected: bool) -> Result<()> {
    ip(&["link", "set", device, if is_connected { "up" } else { "down" }])
}

fn ip(args: &[&str]) -> Result<()> {
    process::stdout_of("ip", args, LIMIT).map(drop)
}

/// The names in a folder, in order, each as hexadecimal digits. `nothing` if the folder does not
/// exist.
fn names(path: &Path) -> Result<String> {
    let Ok(entries) = fs::read_dir(path) else { return Ok("nothing".into()) };
    let hex =
        |name: &std::ffi::OsStr| name.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut names: Vec<String> = entries.flatten().map(|entry| hex(&entry.file_name())).collect();
    names.retain(|name| !name.starts_with("2e666f7572666f6c64"));
    names.sort();
    Ok(names.join(" "))
}
