//! A server of ours, and what runs the measurement.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use bench::record::{Record, read};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");
pub(crate) const PASSWORD: &str = "secret of tester";
/// Settings with a share, and a LUN of it.
pub(crate) const SETTINGS: &str = "[server]\nnfs-clients = \"all\"\niscsi-name = \"iqn.2026-11.invalid\"\nnfs-versions = [\"3\", \"4.1\", \"4.2\"]\n\
                        doctor-interval = \"1 s\"\n\n[[user]]\nname = \"tester\"\n\
                        uid = UID\n\n[[share]]\nname = \"One\"\npath = \"One\"\nguests = true\n\n\
                        [[share.lun]]\nname = \"disk\"\nsize = \"40 MiB\"\n";

/// A served folder `One`; killed when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) folder: tempfile::TempDir,
    said: Vec<String>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_at("127.0.0.1", Command::new(PROGRAM))
    }

    /// Listens on this address; `program` starts the program, perhaps elsewhere.
    pub(crate) fn start_at(address: &str, program: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("One")).unwrap();
        Self::start_in(folder, address, program, [0; 4])
    }

    /// Serves the folder `One` of this folder, with ports for NFS, SMB, AFP and iSCSI.
    pub(crate) fn start_in(
        folder: tempfile::TempDir,
        address: &str,
        mut program: Command,
        ports: [u16; 4],
    ) -> Self {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path().join("One"), open).unwrap();
        std::fs::write(folder.path().join("One/somebody's"), "not the benchmark's").unwrap();
        let uid = rustix::process::getuid().as_raw().to_string();
        std::fs::write(folder.path().join("fourfold.toml"), SETTINGS.replace("UID", &uid)).unwrap();
        std::fs::write(folder.path().join("password"), format!("{PASSWORD}\n")).unwrap();
        let [nfs, smb, afp, iscsi] = ports.map(|port| port.to_string());
        let ports = ["--nfs-port", &nfs, "--smb-port", &smb, "--afp-port", &afp, "--iscsi-port", &iscsi];
        let mut child = program
            .args(["serve", "--listen", address, "--state", "state", "--portmap-port", "off"])
            .args(ports)
            .args(["--user", &format!("tester:{PASSWORD}")])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let said: Vec<String> = lines.take_while(|line| line != "ready").collect();
        Self { child, folder, said }
    }

    /// The port in the first line with this text, behind the server's address.
    pub(crate) fn port(&self, text: &str, before: &str) -> String {
        let line = self.said.iter().find(|line| line.contains(text)).unwrap();
        let (_, rest) = line.split_once(before).unwrap();
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().to_owned()
    }

    /// A URL for each protocol, and that of the folder.
    pub(crate) fn urls(&self) -> [String; 5] {
        let afp = self.port("open afp://", "127.0.0.1:");
        let smb = self.port("open smb://", "127.0.0.1:");
        let nfs = self.port("mount -t nfs", ",port=");
        let iscsi = self.said.iter().find_map(|line| line.split_once("iscsi://")).unwrap().1;
        [
            format!("file://{}", self.folder.path().join("One").display()),
            format!("smb://127.0.0.1:{smb}/One"),
            format!("afp://127.0.0.1:{afp}/One"),
            format!("nfs://127.0.0.1:{nfs}/One?uid={0}&gid={0}", rustix::process::getuid().as_raw()),
            format!("iscsi://{}", iscsi.trim()),
        ]
    }

    pub(crate) fn bench(&self, words: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("bench").args(words).args(["--timeout", "5", "--time", "2", "--seed", "7"]);
        command.current_dir(self.folder.path()).stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn bench_plain(&self, words: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("bench").args(words).current_dir(self.folder.path()).output().unwrap()
    }

    /// Login flags for targets that have accounts.
    pub(crate) fn measure(&self, urls: &[&str], words: &[&str]) -> Output {
        let account = ["--user", "tester", "--password-file", "password"];
        self.bench(&[urls, &account, words].concat())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("One")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The repeat of a record that is one.
pub(crate) fn repeat(record: &Record) -> Option<&bench::record::MeasuredRun> {
    match record {
        Record::Run(run) => Some(run),
        _ => None,
    }
}

pub(crate) fn records(path: &Path) -> Vec<Record> {
    read(std::fs::File::open(path).unwrap()).unwrap()
}

/// Starts a measurement of many repeats, and waits for the first.
pub(crate) fn started(server: &Server, url: &str, words: &[&str]) -> Child {
    let account = ["--user", "tester", "--password-file", "password", "--output", "partial"];
    let mut bench = Command::new(PROGRAM)
        .args(["bench", url, "--repeats", "500", "--time", "1", "--timeout", "5"])
        .args(account)
        .args(words)
        .current_dir(server.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let raw = server.folder.path().join("partial.jsonl");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !std::fs::read_to_string(&raw).unwrap_or_default().contains("\"kind\":\"run\"") {
        assert!(Instant::now() < deadline && bench.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    bench
}
