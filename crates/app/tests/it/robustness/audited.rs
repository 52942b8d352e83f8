//! The audit log and the log of slow operations of a running server: what three protocols do to files of two shares.

use std::path::Path;
use std::time::Duration;

use nfs::wire::v3::types::Status;
use nfs::wire::v3::write::StableHow;
use rustix::process::Signal;
use serde_json::Value;

use crate::robustness::afp::Afp;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, USER, folder};
use crate::robustness::smb::Smb;
use crate::waiting::until;

/// The lines of the log: operation, path, and whether it was done; of one protocol.
fn lines(log: &Path, protocol: &str) -> Vec<(String, String, bool)> {
    let text = std::fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    lines
        .filter(|line| line["protocol"] == protocol)
        .inspect(|line| assert!(line["share"] == "share" && line["client"].as_str().unwrap().contains(':')))
        .map(|line| (word(&line["operation"]), word(&line["path"]), line["ok"].as_bool().unwrap()))
        .collect()
}

#[test]
fn what_clients_do_is_in_the_audit_log() {
    let (top, share) = folder();
    std::fs::create_dir(top.path().join("silent")).unwrap();
    crate::robustness::server::open_to_all(&top.path().join("silent"));
    std::fs::write(
        top.path().join("fourfold.toml"),
        "[server]\nafp-logins = [\"cleartext\"]\naudit-log = \"audit.log\"\nslow-operation = \"1 ms\"\n\
         [[share]]\nname = \"share\"\npath = \"share\"\naudit = \"changes\"\n\
         [[share]]\nname = \"silent\"\npath = \"silent\"\n",
    )
    .unwrap();
    std::fs::create_dir(share.join("docs")).unwrap();
    crate::robustness::server::open_to_all(&share.join("docs"));
    let user = format!("{}:{}", USER.0, USER.1);
    let ports = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user", &user];
    let server = Server::run(top.path(), &ports);

    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    let docs = nfs.lookup(&root, "docs").unwrap();
    let file = nfs.create(&docs, "plan").unwrap();
    for piece in 0..20 {
        nfs.write(&file, piece * 3, b"abc", StableHow::UNSTABLE).unwrap();
    }
    nfs.content(&file).unwrap();
    nfs.rename(&docs, "plan", "draft").unwrap();
    assert_eq!(nfs.remove(&docs, "absent"), Err(Status::NOENT));
    let mut silent = Client::mount_path(server.port, "/silent").unwrap();
    let other = silent.root.clone();
    silent.create(&other, "secret").unwrap();

    let mut smb = Smb::enter(server.smb_port);
    let made = smb.make("of smb", b"abc");
    smb.close(made).unwrap();
    smb.remove("of smb").unwrap();

    let mut mac = Afp::enter(server.afp_port);
    let fork = mac.make("of a mac", b"ghi");
    mac.client.close(fork).unwrap();
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));

    let log = top.path().join("audit.log");
    let said = |protocol: &str| lines(&log, protocol);
    let line = |operation: &str, path: &str, done: bool| (operation.to_owned(), path.to_owned(), done);
    assert_eq!(
        said("nfs"),
        [
            line("create", "docs/plan", true),
            line("write", "docs/plan", true),
            line("write", "docs/plan", true), // the other 19
            line("rename", "docs/plan", true),
            line("remove", "docs/absent", false),
        ]
    );
    let smb = said("smb");
    for expected in
        [line("create", "of smb", true), line("write", "of smb", true), line("remove", "of smb", true)]
    {
        assert!(smb.contains(&expected), "{expected:?} is not in {smb:?}");
    }
    let afp = said("afp");
    for expected in [line("create", "of a mac", true), line("write", "of a mac", true)] {
        assert!(afp.contains(&expected), "{expected:?} is not in {afp:?}");
    }
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("\"times\":19") && text.contains("\"to\":\"docs/draft\""), "{text}");
    assert!(!text.contains("secret"), "a share without the setting is not audited");
}

/// The operation waits for another client's lease, and its line says so.
#[test]
fn a_slow_operation_says_where_its_time_went() {
    use ::smb::wire::create::Disposition;
    use ::smb::wire::create_context::request::Context;
    use ::smb::wire::create_context::values::{Lease, LeaseFlags};
    use ::smb::wire::{LeaseKey, LeaseState, OplockLevel};

    let (top, _share) = folder();
    std::fs::write(
        top.path().join("fourfold.toml"),
        "[server]\nslow-operation = \"100 ms\"\n[[share]]\nname = \"share\"\npath = \"share\"\n",
    )
    .unwrap();
    let user = format!("{}:{}", USER.0, USER.1);
    let server = Server::run(top.path(), &["--nfs-port", "0", "--smb-port", "0", "--user", &user]);
    let mut holder = Smb::enter_as_machine(server.smb_port, 1);
    let film = holder.make("film", b"abc");
    holder.close(film).unwrap();
    let key = LeaseKey([7; 16]);
    let state = LeaseState::READ | LeaseState::HANDLE | LeaseState::WRITE;
    let lease = Context::Lease(Lease { key, state, flags: LeaseFlags::NONE, v2: None });
    holder
        .open("film", |request| {
            request.disposition = Disposition::OPEN;
            request.oplock_level = OplockLevel::LEASE;
            request.contexts = vec![lease.encode()];
        })
        .unwrap();
    let port = server.port;
    let reader = std::thread::spawn(move || {
        let mut nfs = Client::mount(port);
        let root = nfs.root.clone();
        let film = nfs.lookup(&root, "film").unwrap();
        nfs.content(&film).unwrap()
    });
    let told = holder.notified();
    std::thread::sleep(Duration::from_millis(300)); // the holder takes its time
    drop(told);
    drop(holder); // its connection ends, and the lease with it
    assert_eq!(reader.join().unwrap(), b"abc");
    let log = || std::fs::read_to_string(top.path().join("log")).unwrap();
    let is_slow = |line: &&str| line.contains("an operation was slow") && line.contains("protocol=\"nfs\"");
    until("no line of the slow operation", || log().lines().any(|line| is_slow(&line)));
    let text = log();
    let line = text.lines().find(is_slow).unwrap();
    let number = |name: &str| -> u64 {
        let value = line.split(&format!("{name}=")).nth(1).unwrap();
        value.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(number("micros") >= 100_000 && number(" leases") * 10 >= number("micros") * 8, "{line}");
    assert!(line.contains("path=\"film\"") && line.contains("share=\"share\""), "{line}");
}
