//! Clients of versions that are refused: the log says which host it is, and what it should use.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use nfs::wire::v3::PROGRAM;

use crate::robustness::client::{Client, message};
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::Blocking;

/// How often the log names such clients.
fn lines(top: &Path, version: &str) -> usize {
    let log = std::fs::read_to_string(top.join("log")).unwrap();
    log.lines().filter(|line| line.contains("127.0.0.1") && line.contains(version)).count()
}

fn wait_for(top: &Path, version: &str) {
    let begun = Instant::now();
    while lines(top, version) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the log does not name {version}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// NEGOTIATE of SMB 1 that offers `NT LM 0.12` alone: MS-CIFS 2.2.4.52.
fn negotiate_smb1() -> Vec<u8> {
    let mut message = b"\xFFSMB\x72".to_vec();
    message.resize(32, 0);
    message.push(0); // no parameters
    let dialect = b"\x02NT LM 0.12\0";
    message.extend((dialect.len() as u16).to_le_bytes());
    message.extend(dialect);
    let mut frame = (message.len() as u32).to_be_bytes().to_vec();
    frame.extend(message);
    frame
}

#[test]
fn a_refused_version_leaves_one_line_for_each_host() {
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    for _ in 0..3 {
        let mut old = Blocking::connect(server.smb_port).unwrap();
        old.0.write_all(&negotiate_smb1()).unwrap();
        assert!(old.is_closed_within(Duration::from_secs(20)));
        let mut old = Client::connect(server.port).unwrap();
        old.send(&crate::robustness::client::record(&message(1, 1000, (PROGRAM, 2, 0), &()))).unwrap();
        crate::robustness::client::receive(&mut old.stream).unwrap();
    }
    for (version, instead) in [("SMB 1 alone", "SMB 2 or newer"), ("version 2 of NFS", "vers=4,proto=tcp")] {
        wait_for(top.path(), version);
        assert_eq!((lines(top.path(), version), lines(top.path(), instead)), (1, 1), "{version}");
    }
}
