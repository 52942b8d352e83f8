//! The devices that wsdd on another machine finds by WS-Discovery. The other machine is a network
//! namespace.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::interop::cable::{ADDRESS, CLIENT, CableNetwork};
use crate::interop::outcome::Outcomes;
use crate::process::{self, Running};
use crate::{isolate, server};

const NEEDS: &[&str] = &["ip", "wsdd"];
const HELLO: &str = "wsdd: a server that starts is found by its Hello and described";
const PROBE: &str = "wsdd: a client that starts finds the server by a Probe";
const RELOAD: &str = "wsdd: a reload without SMB shares says Bye, and one with them Hello";
const BYE: &str = "wsdd: a server that stops says Bye";
const TAKEN: &str = "wsdd: beside another program that has the port the server runs and says so";
const ALL: [&str; 5] = [HELLO, PROBE, RELOAD, BYE, TAKEN];

/// How long an announcement may take.
const HEARD_WITHIN: Duration = Duration::from_secs(20);

pub fn run(outcomes: &mut Outcomes) -> Result<()> {
    if !isolate::is_isolated() {
        ALL.iter().for_each(|name| outcomes.skip(name, "needs a network of its own, which root has"));
        return Ok(());
    }
    if let Some(missing) = NEEDS.iter().find(|program| process::find(program).is_none()) {
        ALL.iter().for_each(|name| outcomes.skip(name, &format!("{missing} is not installed")));
        return Ok(());
    }
    let _network = CableNetwork::new()?;
    let place = WsddPlace::new()?;
    let client = WsddClient::start(&place, "first")?;
    let mut server = None;
    outcomes.run(HELLO, &[], || {
        server = Some(place.server()?);
        client.until(&found()?, 1)
    });
    outcomes.run(PROBE, &[], || WsddClient::start(&place, "second")?.until(&found()?, 1));
    outcomes.run(RELOAD, &[], || {
        let server = server.as_ref().context("no server")?;
        place.reload(server, "smb = false\nafp = false\niscsi = false")?;
        client.until("\"Bye ", 1)?;
        place.reload(server, "")?;
        client.until(&found()?, 2)
    });
    outcomes.run(BYE, &[], || {
        let said = client.count("\"Bye ")?;
        drop(server.take());
        client.until("\"Bye ", said + 1)
    });
    outcomes.run(TAKEN, &[], || {
        let _other = TcpListener::bind((ADDRESS, 5357))?;
        let _server = place.server()?;
        let log = place.0.join("state.log");
        until(
            || Ok(fs::read_to_string(&log)?.contains("Windows does not list the server")),
            "it does not say so",
        )
    });
    Ok(())
}

/// The line that wsdd prints when it has read the description.
fn found() -> Result<String> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
    let name = host.trim().split('.').next().unwrap_or_default().to_uppercase();
    Ok(format!("discovered {name} in Workgroup:WORKGROUP on {ADDRESS}"))
}

/// The server's folders.
struct WsddPlace(PathBuf);

impl WsddPlace {
    fn new() -> Result<Self> {
        let place = Self(process::fresh_folder("interop-wsdd")?);
        fs::create_dir(place.0.join("share"))?;
        place.write_settings("")?;
        Ok(place)
    }

    fn settings(&self) -> PathBuf {
        self.0.join("fourfold.toml")
    }

    fn write_settings(&self, more: &str) -> Result<()> {
        Ok(fs::write(self.settings(), format!("[[share]]\nname = \"A\"\npath = \"share\"\n{more}\n"))?)
    }

    fn server(&self) -> Result<Running> {
        let ports = ["--listen", ADDRESS, "--smb-port", "445", "--nfs-port", "12049"];
        server::ours_with_settings(&self.settings(), &self.0.join("state"), &ports)
    }

    fn reload(&self, server: &Running, more: &str) -> Result<()> {
        self.write_settings(more)?;
        let pid = Pid::from_raw(server.pid().cast_signed()).context("no process id")?;
        Ok(kill_process(pid, Signal::HUP)?)
    }
}

/// A wsdd that searches for devices, and logs the messages that it receives.
struct WsddClient {
    log: PathBuf,
    _running: Running,
}

impl WsddClient {
    fn start(place: &WsddPlace, name: &str) -> Result<Self> {
        let log = place.0.join(format!("{name}.log"));
        let wsdd = process::find("wsdd").context("no wsdd")?.to_string_lossy().into_owned();
        let args = ["netns", "exec", CLIENT, &wsdd, "--discovery", "--no-host", "--ipv4only", "-vv"];
        let running = Running::start("ip", &args, Stdio::null(), process::log_file(&log)?)?;
        let client = Self { log, _running: running };
        client.until("joined multicast group", 1)?;
        Ok(client)
    }

    fn count(&self, text: &str) -> Result<usize> {
        Ok(read(&self.log)?.matches(text).count())
    }

    fn until(&self, text: &str, times: usize) -> Result<()> {
        until(|| Ok(self.count(text)? >= times), &format!("wsdd does not write {text:?} {times} times"))
    }
}

fn read(log: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(log)?).into_owned())
}

fn until(mut is_so: impl FnMut() -> Result<bool>, else_say: &str) -> Result<()> {
    let deadline = Instant::now() + HEARD_WITHIN;
    while !is_so()? {
        ensure!(Instant::now() < deadline, "{else_say} within {} s", HEARD_WITHIN.as_secs());
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}
