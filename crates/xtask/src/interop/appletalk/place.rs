//! The cables between the virtual machine and our side: nodes of ours, and what Wireshark says of the frames.
//!
//! ```text
//!                    ┌ tap0 ── cable0 ─┬─ server
//!  virtual machine ──┤                 └─ node
//!                    └ tap1 ── cable1 ─── router
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::interop::compiled::{self, TestProgram};
use crate::interop::outcome::Outcomes;
use crate::process::{self, Running};
use crate::server;

/// The devices that lead to the machine, and the bridges that they are in.
const CABLES: [(&str, &str); 2] = [("tap0", "cable0"), ("tap1", "cable1")];
/// Our server and nodes, by the devices that they use. The router gives its network these numbers and zones.
const NODES: &[NodeKind] = &[
    NodeKind { device: SERVER, cable: "cable0", name: "Museum:AFPServer", seed: &[] },
    NodeKind { device: "node", cable: "cable0", name: "Watcher:Workstation", seed: &[] },
    NodeKind {
        device: "router",
        cable: "cable1",
        name: "Depot:AFPServer",
        seed: &["20-22", "Attic", "Cellar"],
    },
];
const LIMIT: Duration = Duration::from_secs(20);
/// The program of a node of AppleTalk.
pub const NODE: TestProgram = TestProgram { folder: "appletalk", name: "node" };
/// The checks of [`AppleTalkPlace::judge`].
pub const CHECKS: [&str; 2] = ["wireshark, nothing is malformed", "wireshark, every protocol was spoken"];
/// Wireshark's names of the protocols that the checks use.
const PROTOCOLS: &[&str] = &["aarp", "ddp", "nbp", "rtmp", "zip"];

const SERVER: &str = "server";
const ROUTER: &str = "router";

#[derive(Debug)]
struct NodeKind {
    device: &'static str,
    cable: &'static str,
    name: &'static str,
    seed: &'static [&'static str],
}

/// Something at a cable that answers questions.
trait Neighbour: std::fmt::Debug {
    /// `state`, `zones` and others: `crates/appletalk/tests/node`.
    fn ask(&mut self, question: &str) -> Result<String>;
}

/// A node of AppleTalk that answers questions (`crates/appletalk/tests/node`).
#[derive(Debug)]
struct Node {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _running: Running,
}

impl Node {
    fn start(folder: &Path, kind: &NodeKind) -> Result<Self> {
        let link = format!("ethertalk:{}", kind.device);
        let log = process::log_file(&folder.join(kind.device).with_extension("log"))?;
        let args = [&[link.as_str(), kind.name], kind.seed].concat();
        let (running, input, output) = Running::talking(compiled::program(&NODE)?, &args, log)?;
        Ok(Self { input, output: BufReader::new(output), _running: running })
    }
}

impl Neighbour for Node {
    fn ask(&mut self, question: &str) -> Result<String> {
        writeln!(self.input, "{question}")?;
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "our node has ended");
        Ok(line.trim_end().to_owned())
    }
}

/// Our server, with a share that guests may write to.
#[derive(Debug)]
struct FileServer {
    state: PathBuf,
    running: Running,
}

impl FileServer {
    fn start(folder: &Path, kind: &NodeKind) -> Result<Self> {
        let (share, state, settings) =
            (folder.join("share"), folder.join("fourfold"), folder.join("fourfold.toml"));
        fs::create_dir_all(&share)?;
        fs::set_permissions(&share, fs::Permissions::from_mode(0o777))?;
        let name = kind.name.split(':').next().unwrap_or_default();
        let text = format!(
            "[server]\nbonjour = \"off\"\n\n[appletalk]\nlinks = [\"ethertalk:{}\"]\nname = \"{name}\"\n\n\
             [[share]]\nname = \"share\"\npath = \"{}\"\nguests = true\nnfs = false\nsmb = false\niscsi = false\n",
            kind.device,
            share.display()
        );
        fs::write(&settings, text)?;
        let running = server::ours_with_settings(&settings, &state, &[])?;
        Ok(Self { state, running })
    }

    /// What `fourfold status` says of AppleTalk.
    fn status(&mut self) -> Result<Value> {
        self.running.still_up()?;
        let state = self.state.to_string_lossy();
        let said = process::stdout_of(server::binary(), &["status", "--json", "--state", &state], LIMIT)?;
        Ok(serde_json::from_str::<Value>(&said)?["appletalk"].take())
    }
}

impl Neighbour for FileServer {
    fn ask(&mut self, question: &str) -> Result<String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let status = self.status()?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = text(&status["name"]);
            let answer = match question {
                "zones" => {
                    let mut zones: Vec<String> =
                        status["zones"].as_array().into_iter().flatten().map(text).collect();
                    zones.sort();
                    zones.join("|")
                }
                "state" => match name.split_once('@') {
                    Some((_, zone)) => {
                        let link = &status["links"][0];
                        format!("{} {} {zone}", text(&link["node"]), text(&link["networks"]))
                    }
                    None => String::new(),
                },
                other => bail!("our server is asked for {other:?}"),
            };
            if !answer.is_empty() {
                return Ok(answer);
            }
            ensure!(Instant::now() < deadline, "our server is not ready: {status}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Everything at this end of the cables.
#[derive(Debug)]
pub struct AppleTalkPlace {
    folder: PathBuf,
    tshark: Option<Running>,
    nodes: BTreeMap<&'static str, Box<dyn Neighbour>>,
}

impl AppleTalkPlace {
    pub fn new(folder: &Path) -> Result<Self> {
        for (tap, cable) in CABLES {
            ip(&format!("link add {cable} type bridge"))?;
            ip(&format!("tuntap add dev {tap} mode tap"))?;
            ip(&format!("link set {tap} master {cable} up"))?;
            ip(&format!("link set {cable} up"))?;
        }
        for NodeKind { device, cable, .. } in NODES {
            ip(&format!("link add {} type veth peer name {device}", port(device)))?;
            ip(&format!("link set {} master {cable} up", port(device)))?;
            ip(&format!("link set {device} up"))?;
        }
        let mut place = Self { folder: folder.to_owned(), tshark: None, nodes: BTreeMap::new() };
        place.start(ROUTER)?; // while the machine boots, it looks whether there is another one
        if let Some(tshark) = process::find("tshark") {
            let (file, log) = (place.capture(), process::log_file(&folder.join("tshark.log"))?);
            let args = ["-i", CABLES[0].1, "-i", CABLES[1].1, "-q", "-w", &file];
            place.tshark = Some(Running::start(tshark, &args, Stdio::null(), log)?);
        }
        Ok(place)
    }

    /// The machine's network devices, as options of qemu.
    pub fn network() -> Vec<String> {
        let device = |(tap, _): (&str, &str)| {
            [
                "-netdev".into(),
                format!("tap,id={tap},ifname={tap},script=no,downscript=no,vnet_hdr=off"),
                "-device".into(),
                format!("virtio-net-pci,netdev={tap},romfile="),
            ]
        };
        CABLES.into_iter().flat_map(device).collect()
    }

    fn capture(&self) -> String {
        self.folder.join("wire.pcapng").display().to_string()
    }

    /// Answers a request of the machine for what only this side can do or see.
    pub fn answer(&mut self, what: &str) -> Result<String> {
        let (verb, rest) = what.split_once(' ').context("a request has a verb and a node")?;
        match verb {
            "start" => self.start(rest).map(|()| "done".into()),
            "lossy" => lossy(rest).map(|()| "done".into()),
            device => match self.nodes.get_mut(device) {
                Some(node) => node.ask(rest),
                None => bail!("the machine asks for {what:?}"),
            },
        }
    }

    fn start(&mut self, device: &str) -> Result<()> {
        let kind = NODES.iter().find(|kind| kind.device == device).context("there is no such node")?;
        let neighbour: Box<dyn Neighbour> = match device {
            SERVER => Box::new(FileServer::start(&self.folder, kind)?),
            _ => Box::new(Node::start(&self.folder, kind)?),
        };
        self.nodes.insert(kind.device, neighbour);
        Ok(())
    }

    /// Checks what Wireshark makes of the frames.
    pub fn judge(mut self, client: &str, outcomes: &mut Outcomes) {
        self.nodes.clear();
        self.tshark = None;
        let file = self.capture();
        let read = |filter: &str| process::stdout_of("tshark", &["-r", &file, "-Y", filter], LIMIT);
        let [malformed, spoken] = CHECKS;
        outcomes.run(&format!("{client}: {malformed}"), &["tshark"], || {
            let bad = read("(_ws.malformed || _ws.expert.severity == error) && (ddp || aarp)")?;
            let some: Vec<&str> = bad.lines().take(5).collect();
            ensure!(bad.is_empty(), "{} frames: {}", bad.lines().count(), some.join("; "));
            Ok(())
        });
        outcomes.run(&format!("{client}: {spoken}"), &["tshark"], || {
            for protocol in PROTOCOLS {
                ensure!(!read(protocol)?.is_empty(), "no frame of {protocol}");
            }
            Ok(())
        });
    }
}

/// The other end of a node's device, which is in the bridge.
fn port(device: &str) -> String {
    format!("{device}-port")
}

/// From now on, the bridges lose so many percent of the frames.
fn lossy(percent: &str) -> Result<()> {
    let rules = format!(
        "table bridge cables {{ chain loss {{ type filter hook forward priority 0; numgen random mod 100 < {percent} drop; }}; }}"
    );
    process::stdout_of("nft", &[&rules], LIMIT).map(drop)
}

fn ip(words: &str) -> Result<()> {
    process::stdout_of("ip", &words.split(' ').collect::<Vec<_>>(), LIMIT).map(drop)
}
