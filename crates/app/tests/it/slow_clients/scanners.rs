//! A virus scanner beside a program that copies the same folders. Both are libsmbclient, through Debian's python3-smbc.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::networks::{ClientPlace, Networks};
use super::{ClientProgram, JudgedClient, until_found};
use crate::bench::server::{PASSWORD, PROGRAM, Server};

/// The system's Python: the first one on the path may lack Debian's packages.
const PYTHON: &str = "/usr/bin/python3";
const BINDING: &str = "/usr/share/doc/python3-smbc";
/// The port of SMB. The server has a network of its own, so the port is free.
const PORT: u16 = 4450;
const FOLDERS: u32 = 40;
const FILES_EACH: u32 = 25;
const LENGTH: u64 = 64 << 10;

/// Opens each file, and reads so many bytes of it. The next file is in another folder.
const SCRIPT: &str = r#"
import os, sys, smbc
share, password, length, folders, files = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
context = smbc.Context()
context.functionAuthData = lambda *_: ("WORKGROUP", "tester", password)
while True:
    for file in range(files):
        for folder in range(folders):
            opened = context.open(f"{share}/folder {folder}/file {file}", os.O_RDONLY)
            assert len(opened.read(length)) == length
            opened.close()
"#;

/// A client of libsmbclient; killed when dropped.
struct LibraryClient(Child);

impl LibraryClient {
    fn begin(place: &ClientPlace, configuration: &Path, read_of_each: u64) -> Self {
        let share = format!("smb://{}:{PORT}/One", place.server);
        let numbers = [read_of_each, FOLDERS.into(), FILES_EACH.into()].map(|number| number.to_string());
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &place.namespace, PYTHON, "-c", SCRIPT, &share, PASSWORD])
            .args(numbers);
        command.env("SMB_CONF_PATH", configuration).env("HOME", "/nonexistent").stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl ClientProgram for LibraryClient {
    fn is_busy(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    fn end(&mut self) {
        let _ = self.0.kill(); // it has ended
    }
}

impl Drop for LibraryClient {
    fn drop(&mut self) {
        self.end();
        let _ = self.0.wait();
    }
}

#[test]
fn a_virus_scanner_is_named_and_a_copy_of_the_same_files_is_not() {
    if !Path::new(BINDING).exists() {
        return eprintln!("skipped: it needs python3-smbc");
    }
    let Some(mut networks) = Networks::new() else { return };
    let (Some(scans), Some(copies)) = (networks.client(), networks.client()) else {
        return eprintln!("skipped: this host makes no such networks");
    };
    let folder = tempfile::tempdir().unwrap();
    for number in 0..FOLDERS {
        let within = folder.path().join(format!("One/folder {number}"));
        std::fs::create_dir_all(&within).unwrap();
        for number in 0..FILES_EACH {
            std::fs::File::create(within.join(format!("file {number}"))).unwrap().set_len(LENGTH).unwrap();
        }
    }
    let configuration = folder.path().join("smb.conf");
    std::fs::write(&configuration, "[global]\nclient min protocol = SMB2\n").unwrap();
    let server = Server::start_in(folder, "0.0.0.0", networks.in_hub(PROGRAM), [0, PORT, 0, 0]);
    let begin = |place: &ClientPlace, each| LibraryClient::begin(place, &configuration, each);
    let (scanner, copier) = (begin(&scans, LENGTH / 16), begin(&copies, LENGTH));
    let scanner = JudgedClient::new(scans.client, Some("scanner"), scanner);
    until_found(&server, vec![scanner, JudgedClient::new(copies.client, None, copier)]);
}
