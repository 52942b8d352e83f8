//! Linux's own initiator in a virtual machine (`guest.rs`), which `interop/iscsi/linux.sh` runs. It reaches a server of its own at
//! this machine's loopback address, says `pass NAME` and `fail NAME: why`, and asks for what only this side can do.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::guest;
use super::place::{PREFIX, Place, SECRET, TARGET_SECRET, TARGET_USER, USER, text};
use crate::interop::outcome::{Outcome, Outcomes};
use crate::process::{self, Running};
use crate::server;

/// For the whole machine: an emulated processor is slow, and CI's are.
const LIMIT: Duration = Duration::from_secs(240);
const CLIENT: &str = "Linux";
const SCRIPT: &str = "interop/iscsi/linux.sh";

pub fn run(outcomes: &mut Outcomes, place: &Place) -> Result<()> {
    let script = fs::read_to_string(process::root().join(SCRIPT))?;
    if let Err(why) = guest::why_not() {
        for name in checks(&script) {
            outcomes.skip(&format!("{CLIENT}: {name}"), &format!("{why:#}"));
        }
        return Ok(());
    }
    let mut heard = String::new();
    let ended = Host::new(place).and_then(|host| host.boot(&script, &mut heard));
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

/// The server, and the folder of everything.
struct Host {
    folder: PathBuf,
    port: u16,
    running: Option<Running>,
}

impl Host {
    fn new(place: &Place) -> Result<Self> {
        let mut host = Self { folder: place.work("linux")?, port: process::free_port()?, running: None };
        for name in ["open", "closed"] {
            fs::create_dir_all(host.folder.join(name))?;
        }
        fs::write(host.settings(), host.settings_text())?;
        for (user, secret) in [(USER, SECRET), (TARGET_USER, TARGET_SECRET)] {
            server::add_user_with(&host.state(), user, secret, server::UID, &["--chap-secret"])?;
        }
        host.start()?;
        // Not in the settings, where its size would stand.
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
            format!("\n[[share]]\nname = \"{name}\"\npath = \"{path}\"\nprotocols = [\"iscsi\"]\n{access}\n")
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

    /// Starts the machine and talks with it until it says that it has done.
    fn boot(mut self, script: &str, heard: &mut String) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        let settings = format!(
            "PORT={}\nPREFIX={PREFIX}\nUSER={USER}\nSECRET={SECRET}\nTARGET_USER={TARGET_USER}\nTARGET_SECRET={TARGET_SECRET}\n",
            self.port
        );
        let files = [("init", 0o755, script.into()), ("settings", 0o644, settings.into_bytes())];
        let (kernel, initial) = guest::make(&self.folder, &files)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let console = self.folder.join("console.log");
        let talk = format!("socket,id=talk,host=127.0.0.1,port={}", listener.local_addr()?.port());
        let args = [
            "-M",
            "q35",
            "-cpu",
            "max",
            "-m",
            "768",
            "-nodefaults",
            "-display",
            "none",
            "-no-reboot",
            "-kernel",
            &text(&kernel),
            "-initrd",
            &text(&initial),
            "-append",
            "console=ttyS0 panic=-1 quiet",
            "-netdev",
            "user,id=net",
            "-device",
            "virtio-net-pci,netdev=net,romfile=",
            "-device",
            "virtio-rng-pci",
            "-serial",
            &format!("file:{}", console.display()),
            "-chardev",
            &talk,
            "-serial",
            "chardev:talk",
        ];
        let log = process::log_file(&self.folder.join("qemu.log"))?;
        let mut machine = Running::start("qemu-system-x86_64", &args, Stdio::null(), log)?;
        let stream = accept(&listener, &mut machine)?;
        self.talk(&stream, deadline, heard).with_context(|| format!("see {}", console.display()))
    }

    fn talk(&mut self, mut stream: &TcpStream, deadline: Instant, heard: &mut String) -> Result<()> {
        let mut lines = BufReader::new(stream);
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            stream.set_read_timeout(Some(left))?;
            let mut line = String::new();
            let length = lines.read_line(&mut line).context("the machine takes too long")?;
            match line.trim_end() {
                "done" => return Ok(()),
                _ if length == 0 => bail!("the machine has ended"),
                line => match line.strip_prefix("ask ") {
                    Some(what) => writeln!(stream, "{}", self.answer(what)?)?,
                    None => heard.push_str(&format!("{line}\n")),
                },
            }
        }
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

/// The machine's connection, which it makes before it starts.
fn accept(listener: &TcpListener, machine: &mut Running) -> Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false)?;
            return Ok(stream);
        }
        machine.still_up()?;
        if Instant::now() > deadline {
            bail!("qemu does not connect");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
