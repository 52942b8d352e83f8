//! A Mac over AppleTalk, beside clients of SMB and NFS, in one process: each test has a network of its own, in which LToUDP goes
//! over the loopback. The workstation shares its codecs with the server, as the client of AFP does.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ::afp::client::{Client, Login, ROOT};
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
use appletalk::links::LinkName;
use appletalk::{Endpoint, EntityName};
use rustix::process::Signal;
use wire::Reader;

use crate::robustness::client::Client as Nfs;
use crate::robustness::network;
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
        mac.log_in(version, &Login::Cleartext { name: USER.0, password: USER.1 }).unwrap();
        let volume = mac.open_volume("share").unwrap();
        Self { server, found, mac, volume, share, top }
    }

    fn status(&self) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        let output = command
            .args(["status", "--all", "--state", "state"])
            .current_dir(self.top.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
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
