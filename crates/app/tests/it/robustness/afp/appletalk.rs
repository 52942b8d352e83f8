//! A Mac over AppleTalk, beside clients of SMB and NFS, in one process: each test has a network of its own, in which LToUDP goes
//! over the loopback. The workstation shares its codecs with the server, as the client of AFP does.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ::afp::client::{Client, ClientLogin, ROOT};
use ::afp::wire::directory::Place;
use ::afp::wire::dsi;
use ::afp::wire::enumerate::{self, Enumerate, EnumerateForm};
use ::afp::wire::fork::{AccessMode, OneFork, Read, Width, Write, WriteReply};
use ::afp::wire::lock::ByteRangeLock;
use ::afp::wire::server_info::ServerInfo;
use ::afp::wire::session::{GetSrvrMsg, SrvrMsg};
use ::afp::wire::{DirBitmap, FileBitmap, Path, ResultCode, command};
use ::client::appletalk::{AspStream, Workstation};
use ::smb::wire::Status;
use ::smb::wire::create::{Disposition, ShareAccess};
use appletalk::links::{self, LinkName};
use appletalk::wire::llap::{LlapFrame, LlapKind};
use appletalk::{Address, Datagram, DatagramKind, Endpoint, EntityName};
use rustix::process::Signal;
use wire::Reader;

use crate::robustness::client::Client as Nfs;
use crate::robustness::network;
use crate::robustness::random::Random;
use crate::robustness::server::{Server, USER, folder};
use crate::robustness::smb::Smb;

/// *Inside AppleTalk*: eight packets of 578 bytes.
const QUANTUM: usize = 4624;
/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

struct Scene {
    server: Server,
    /// The server's name and its place, as the Chooser finds them.
    found: (String, Endpoint),
    mac: Client<AspStream>,
    volume: u16,
    share: PathBuf,
    top: tempfile::TempDir,
}

impl Scene {
    /// A server with all protocols, and a Mac that has logged in with this version.
    fn new(version: &str) -> Self {
        let (top, share) = folder();
        let words = format!("share={}", share.display());
        let words =
            [&words, "--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--appletalk", "ltoudp:lo"];
        let server = Server::run_with_afp(top.path(), &words);
        let mut node = Workstation::open(&LinkName::LToUdp { interface: Some("lo".into()) }).unwrap();
        let any = EntityName::from_text("=", "AFPServer", "*").unwrap();
        let found = loop {
            // The name is checked for some seconds before it is registered.
            if let [found] = &node.find(any.clone(), PATIENCE).unwrap()[..] {
                break (found.name.object.to_string(), found.endpoint);
            }
        };
        let mut mac = Client::open(node.session(found.1, PATIENCE).unwrap()).unwrap();
        mac.log_in(version, &ClientLogin::Cleartext { name: USER.0, password: USER.1 }).unwrap();
        let volume = mac.open_volume("share").unwrap();
        Self { server, found, mac, volume, share, top }
    }

    fn status(&self) -> String {
        status(self.top.path())
    }

    /// Writes as old clients do: what one write does not take follows in the next.
    fn write_all(&mut self, fork: u16, data: &[u8]) {
        let mut offset = 0;
        while offset < data.len() {
            let left = &data[offset..];
            let write = Write { from_end: false, fork, offset: offset as i64, count: left.len() as i64 };
            let sent = &left[..left.len().min(QUANTUM)];
            let reply = self.mac.call_with_data(command::WRITE, |w| write.encode(Width::Bits32, w), sent);
            let reply = reply.unwrap().well().unwrap();
            let end = WriteReply::decode(Width::Bits32, &mut Reader::new(&reply)).unwrap().end;
            assert_eq!(end as usize, offset + sent.len());
            offset = end as usize;
        }
    }

    fn read_all(&mut self, fork: u16) -> Vec<u8> {
        let mut content = Vec::new();
        loop {
            let read =
                Read { fork, offset: content.len() as i64, count: 1 << 20, newline_mask: 0, newline: 0 };
            let reply = self.mac.call(command::READ, |w| read.encode(Width::Bits32, w)).unwrap();
            content.extend_from_slice(&reply.payload);
            match reply.code() {
                ResultCode::NO_ERROR => assert_eq!(reply.payload.len(), QUANTUM),
                ResultCode::EOF_ERROR => return content,
                other => panic!("{other:?}"),
            }
        }
    }

    /// How many entries the share has.
    fn listed(&mut self) -> u16 {
        let place = Place { volume: self.volume, folder: ROOT, path: Path::long(b"") };
        let (files, folders) = (FileBitmap::LONG_NAME, DirBitmap::LONG_NAME);
        let asked = Enumerate { place, files, folders, count: 100, start: 1, max_reply: QUANTUM as u32 };
        let reply = self.mac.call(command::ENUMERATE, |w| asked.encode(EnumerateForm::Plain, w)).unwrap();
        let reply = reply.well().unwrap();
        enumerate::Reply::decode(&mut Reader::new(&reply)).unwrap().count
    }

    fn close_fork(&mut self, fork: u16) {
        self.mac.call(command::CLOSE_FORK, |w| OneFork { fork }.encode(w)).unwrap().well().unwrap();
    }
}

/// What `fourfold status --all` says of the server of this folder.
fn status(top: &std::path::Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let output = command.args(["status", "--all", "--state", "state"]).current_dir(top).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_mac_over_appletalk_shares_files_with_smb_and_nfs() {
    if !network::is_own("robustness::afp::appletalk::a_mac_over_appletalk_shares_files_with_smb_and_nfs") {
        return;
    }
    let mut scene = Scene::new("AFPVersion 2.1");
    let content: Vec<u8> = (0..20_000_u32).map(|at| (at / 7) as u8).collect();
    scene.mac.create(scene.volume, "notes").unwrap();
    let fork = scene.mac.open_data(scene.volume, "notes").unwrap().0;
    scene.write_all(fork, &content);
    assert_eq!(scene.read_all(fork), content);
    scene.close_fork(fork);
    assert_eq!(std::fs::read(scene.share.join("notes")).unwrap(), content);

    let mut smb = Smb::enter(scene.server.smb_port);
    let file = smb.open("notes", |request| request.disposition = Disposition::OPEN).unwrap();
    assert_eq!(smb.read(file, 0, 20_000).unwrap(), content);
    smb.close(file).unwrap();
    let file = smb.make("from Windows", b"text");
    smb.close(file).unwrap();
    let mut nfs = Nfs::mount(scene.server.port);
    let root = nfs.root.clone();
    nfs.create(&root, "from UNIX").unwrap();
    assert_eq!(scene.listed(), 3);
    let fork = scene.mac.open_fork((scene.volume, ROOT, "from Windows"), false, AccessMode::READ).unwrap().0;
    assert_eq!(scene.read_all(fork), b"text");

    let status = scene.status();
    let name = format!("AppleTalk: {}:AFPServer@*", scene.found.0);
    for part in [&name, "ltoudp:lo", "appletalk:0.", USER.0] {
        assert!(status.contains(part), "{part}: {status}");
    }
    let log = std::fs::read_to_string(scene.top.path().join("log")).unwrap();
    assert!(log.contains("address=appletalk:0.") && log.contains("AFPVersion 2.1, not encrypted"), "{log}");
    let Scene { mac, server, .. } = scene;
    drop(mac);
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn deny_modes_and_locks_hold_between_appletalk_and_smb() {
    if !network::is_own("robustness::afp::appletalk::deny_modes_and_locks_hold_between_appletalk_and_smb") {
        return;
    }
    let mut scene = Scene::new("AFP2.2");
    let mut smb = Smb::enter(scene.server.smb_port);
    let file = smb.make("notes", b"0123456789");
    smb.close(file).unwrap();
    let of = (scene.volume, ROOT, "notes");
    let deny = AccessMode(AccessMode::READ.0 | AccessMode::DENY_WRITE.0);
    let fork = scene.mac.open_fork(of, false, deny).unwrap();
    let writing = smb.open("notes", |request| request.disposition = Disposition::OPEN);
    assert_eq!(writing, Err(Status::SHARING_VIOLATION));
    scene.close_fork(fork.0);

    let alone = smb.open("notes", |request| {
        request.disposition = Disposition::OPEN;
        request.share_access = ShareAccess::NONE;
    });
    let refused = scene.mac.open_fork(of, false, AccessMode::READ).unwrap_err();
    assert_eq!(refused.code(), Some(ResultCode::DENY_CONFLICT));
    smb.close(alone.unwrap()).unwrap();

    let fork = scene.mac.open_data(scene.volume, "notes").unwrap();
    let lock = ByteRangeLock { unlock: false, from_end: false, fork: fork.0, offset: 2, length: 3 };
    let locked = scene.mac.call(command::BYTE_RANGE_LOCK, |w| lock.encode(Width::Bits32, w)).unwrap();
    locked.well().unwrap();
    let file = smb.open("notes", |request| {
        request.disposition = Disposition::OPEN;
        request.share_access = ShareAccess(7);
    });
    let file = file.unwrap();
    assert_eq!(smb.read(file, 0, 10), Err(Status::FILE_LOCK_CONFLICT));
    // The end of the session frees what it held.
    scene.mac.ask(dsi::Command::CLOSE_SESSION, 0, &[]).unwrap();
    crate::waiting::until("the lock is still held", || smb.read(file, 0, 10).as_deref() == Ok(b"0123456789"));
}

#[test]
fn a_mac_hears_messages_and_the_end_of_the_server() {
    if !network::is_own("robustness::afp::appletalk::a_mac_hears_messages_and_the_end_of_the_server") {
        return;
    }
    let Scene { server, mut mac, top, found, .. } = Scene::new("AFP2.2");
    let mut say = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let said = say.args(["say", "Lunch", "--state", "state"]).current_dir(top.path()).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let request = GetSrvrMsg { kind: GetSrvrMsg::SERVER, bitmap: 1 };
    let reply = mac.call(command::GET_SRVR_MSG, |w| request.encode(w)).unwrap().well().unwrap();
    assert_eq!(SrvrMsg::decode(&mut Reader::new(&reply)).unwrap().text, b"Lunch");
    server.signal(Signal::TERM);
    assert!(mac.receive().is_err(), "the session ends");
    // Apple Filing Protocol Reference, "AFP Attention Bits": a message; the server goes down, in 0 minutes.
    let attentions: Vec<&[u8]> = mac.unasked.iter().map(|frame| &frame.payload[..]).collect();
    assert_eq!(attentions, [[0x20, 0], [0x80, 0]]);
    assert_eq!(server.exit_code(), Some(0));
    drop(found);
}

#[test]
fn the_chooser_learns_versions_and_logins_without_a_session() {
    if !network::is_own(
        "robustness::afp::appletalk::the_chooser_learns_versions_and_logins_without_a_session",
    ) {
        return;
    }
    let Scene { mut mac, found, server: _server, .. } = Scene::new("AFPVersion 1.1");
    let block = mac.status().unwrap();
    let info = ServerInfo::decode(&block).unwrap();
    assert_eq!(info.name, found.0.as_bytes());
    assert_eq!(info.versions, [&b"AFPVersion 1.1"[..], b"AFPVersion 2.0", b"AFPVersion 2.1", b"AFP2.2"]);
    assert_eq!(info.uams, [&b"Cleartxt Passwrd"[..]]);
    assert!(info.icon.is_some() && info.signature.is_some());
}

/// What the Chooser shows, in the order of the names.
fn chooser(node: &mut Workstation) -> Vec<String> {
    let any = EntityName::from_text("=", "AFPServer", "*").unwrap();
    let mut names: Vec<String> =
        node.find(any, PATIENCE).unwrap().iter().map(|found| found.name.object.to_string()).collect();
    names.sort();
    names
}

#[test]
fn a_reload_changes_appletalk_and_keeps_sessions() {
    if !network::is_own("robustness::afp::appletalk::a_reload_changes_appletalk_and_keeps_sessions") {
        return;
    }
    let (top, share) = folder();
    let write = |appletalk: &str| {
        let text = format!(
            "[server]\nafp-logins = [\"cleartext\"]\n{appletalk}\n[[user]]\nname = \"{}\"\nuid = 1000\n",
            USER.0
        );
        std::fs::write(top.path().join("fourfold.toml"), text).unwrap();
    };
    let log = || std::fs::read_to_string(top.path().join("log")).unwrap();
    write("[appletalk]\nlinks = [\"ltoudp:lo\"]\nname = \"First\"");
    let (share, user) = (format!("share={}", share.display()), format!("{}:{}", USER.0, USER.1));
    let words = [&*share, "--nfs-port", "off", "--smb-port", "off", "--afp-port", "0", "--user", &user];
    let server = Server::run(top.path(), &words);
    let line = "AppleTalk: the Chooser shows First, over ltoudp:lo";
    assert!(server.said.iter().any(|said| said == line), "{:?}", server.said);
    let open = || Workstation::open(&LinkName::LToUdp { interface: Some("lo".into()) }).unwrap();
    let mut node = open();
    crate::waiting::until("the server is not there", || chooser(&mut node) == ["First"]);
    let first = EntityName::from_text("First", "AFPServer", "*").unwrap();
    let found = open().find(first, PATIENCE).unwrap()[0].endpoint;
    let mut mac = Client::open(open().session(found, PATIENCE).unwrap()).unwrap();
    mac.log_in("AFPVersion 2.1", &ClientLogin::Cleartext { name: USER.0, password: USER.1 }).unwrap();
    let volume = mac.open_volume("share").unwrap();

    let reload = |appletalk: &str| {
        write(appletalk);
        server.signal(Signal::HUP);
    };
    reload("[appletalk]\nlinks = [\"ltoudp:lo\"]\nname = \"Second\"");
    crate::waiting::until("the name did not change", || chooser(&mut node) == ["Second"]);
    mac.create(volume, "after the new name").unwrap();

    reload("[appletalk]\nlinks = [\"ltoudp:lo\", \"ltoudp\"]\nname = \"Second\"");
    crate::waiting::until("it does not begin again", || log().contains("AppleTalk begins again"));
    mac.create(volume, "after the new link").unwrap();

    // Only a server that starts with EtherTalk keeps the right to use frames of Ethernet.
    reload("[appletalk]\nlinks = [\"ethertalk:lo\"]\nname = \"Third\"");
    crate::waiting::until("it is not refused", || log().contains("`[appletalk]` stays as it was"));
    mac.create(volume, "after the refusal").unwrap();

    reload("");
    assert!(mac.receive().is_err(), "the session ends");
    crate::waiting::until("the name is still there", || chooser(&mut node).is_empty());
    reload("[appletalk]\nlinks = [\"ltoudp:lo\"]\nname = \"Fourth\"");
    crate::waiting::until("AppleTalk does not come back", || chooser(&mut node) == ["Fourth"]);
}

#[test]
fn a_cable_that_is_pulled_out_is_reported_at_once() {
    if !network::is_own("robustness::afp::appletalk::a_cable_that_is_pulled_out_is_reported_at_once") {
        return;
    }
    let ip = |words: &str| assert!(Command::new("ip").args(words.split(' ')).status().unwrap().success());
    ip("link add east type veth peer name west");
    let plug = |state: &str| ip(&format!("link set west {state}"));
    ip("link set east up");
    let (top, share) = folder();
    let share = format!("share={}", share.display());
    let words = [&*share, "--nfs-port", "off", "--smb-port", "off", "--afp-port", "0"];
    let _server =
        Server::run_with_afp(top.path(), &[&words[..], &["--appletalk", "ethertalk:east"]].concat());
    let is_shown = |pulled: bool| {
        let said = status(top.path());
        said.contains("ethertalk:east") && said.contains("its cable is pulled out") == pulled
    };
    for _ in 0..2 {
        crate::waiting::until("the cable that is pulled out is not reported", || is_shown(true));
        plug("up");
        crate::waiting::until("the cable that was put in is not used", || is_shown(false));
        plug("down");
    }
    let log = std::fs::read_to_string(top.path().join("log")).unwrap();
    assert!(log.contains("a link of AppleTalk works again"), "{log}");
}

/// The frames of a node that send what they like to the server's sockets: whole requests of ASP, NBP, ZIP, RTMP and echo, and garbage.
fn hostile_frame(random: &mut Random, node: u8, server: u8) -> Vec<u8> {
    let (garbage, data) = (random.below(587), random.below(578));
    let mut datagram = Datagram {
        destination: Endpoint::new(Address::new(0, server), [1, 2, 4, 6, 129, 130][random.below(6)]),
        source: Endpoint::new(Address::new(0, node), 1 + random.below(254) as u8),
        hops: 0,
        kind: DatagramKind(1 + random.below(7) as u8),
        payload: random.bytes(garbage),
    };
    match random.below(4) {
        0 => {} // garbage
        1 => {
            // OpenSess: exactly once, and the response is kept for eight minutes.
            datagram.kind = DatagramKind::ATP;
            datagram.destination.socket = 129;
            datagram.payload = vec![0x64, 1, random.below(256) as u8, 1, 4, datagram.source.socket, 1, 0];
        }
        _ => {
            // Commands, writes, tickles, ends and answers of any session.
            datagram.kind = DatagramKind::ATP;
            let control = [0x40, 0x60, 0x64, 0x80, 0x90, 0xc0][random.below(6)];
            let (function, session) = (random.below(9) as u8, random.below(256) as u8);
            let head =
                [control, 0xff, 0, random.below(256) as u8, function, session, 0, random.below(4) as u8];
            datagram.payload = [&head[..], &random.bytes(data)].concat();
        }
    }
    let data = datagram.encode_short().unwrap();
    LlapFrame { destination: server, source: node, kind: LlapKind::DDP_SHORT, data: &data }.encode()
}

#[test]
fn all_nodes_of_a_localtalk_take_no_memory_and_end_no_session() {
    if !network::is_own(
        "robustness::afp::appletalk::all_nodes_of_a_localtalk_take_no_memory_and_end_no_session",
    ) {
        return;
    }
    let mut scene = Scene::new("AFP2.2");
    let status = scene.status();
    let node = |text: &str| text.split(|end: char| !end.is_ascii_digit()).next()?.parse::<u8>().ok();
    let mac = status.split("appletalk:0.").nth(1).and_then(node).expect("the Mac's node");
    let server = scene.found.1.address.node;
    let mut flood = links::open(&LinkName::LToUdp { interface: Some("lo".into()) }).unwrap();
    let mut random = Random::new(0x5eed_0042);
    scene.mac.create(scene.volume, "before").unwrap();
    let mut most = 0;
    let start = scene.server.own_memory();
    for _ in 0..40 {
        for node in (1..=254).filter(|node| ![mac, server].contains(node)) {
            flood.send(&hostile_frame(&mut random, node, server)).unwrap();
            while flood.receive().unwrap().is_some() {}
        }
        scene.listed(); // the server has taken what was before it, or lost it
        most = most.max(scene.server.own_memory().saturating_sub(start));
    }
    println!("the server grew by {most} bytes");
    assert!(most < 32 << 20, "{most}");
    scene.mac.create(scene.volume, "afterwards").unwrap();
}
