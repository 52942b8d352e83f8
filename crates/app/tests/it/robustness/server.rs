//! The program under test, running on a folder of its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::for_any_user;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");
/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// The NFS port.
    pub(crate) port: u16,
    pub(crate) smb_port: u16,
    pub(crate) afp_port: u16,
    pub(crate) iscsi_port: u16,
    /// Its output until it was ready.
    pub(crate) said: Vec<String>,
}

/// The account and password of servers that are started with SMB.
pub(crate) const USER: (&str, &str) = ("tester", "secret");

/// A folder to share that all users may write to, next to room for the server's state.
pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let share = top.path().join("share");
    std::fs::create_dir(&share).unwrap();
    open_to_all(&share);
    (top, share)
}

/// Gives the folders to an ordinary user.
pub(crate) fn give_to(uid: u32, top: &Path, share: &Path) {
    for folder in [top, share] {
        std::os::unix::fs::chown(folder, Some(uid), Some(uid)).unwrap();
    }
}

pub(crate) fn open_to_all(folder: &Path) {
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).unwrap();
}

impl Server {
    /// Shares `share` as `/share` on any free port.
    pub(crate) fn start(top: &Path, share: &Path) -> Self {
        Self::start_on(top, share, 0)
    }

    /// On this port.
    pub(crate) fn start_on(top: &Path, share: &Path, port: u16) -> Self {
        let folder = format!("share={}", share.display());
        Self::run(top, &[&folder, "--nfs-port", &port.to_string()])
    }

    /// Shares `share` also over SMB, to a user with the NFS client's uid.
    pub(crate) fn start_with_smb(top: &Path, share: &Path) -> Self {
        Self::start_with_smb_on(top, share, 0)
    }

    /// With SMB on this port.
    pub(crate) fn start_with_smb_on(top: &Path, share: &Path, smb_port: u16) -> Self {
        let folder = format!("share={}", share.display());
        Self::run_with_smb(top, &[&folder, "--nfs-port", "0", "--smb-port", &smb_port.to_string()])
    }

    /// Shares `share` also over AFP and SMB, to the same user.
    pub(crate) fn start_with_afp(top: &Path, share: &Path) -> Self {
        Self::start_with_afp_on(top, share, 0)
    }

    /// With AFP on this port.
    pub(crate) fn start_with_afp_on(top: &Path, share: &Path, afp_port: u16) -> Self {
        let folder = format!("share={}", share.display());
        let port = afp_port.to_string();
        Self::run_with_afp(top, &[&folder, "--nfs-port", "0", "--smb-port", "0", "--afp-port", &port])
    }

    /// Has a disk of 64 MiB for all initiators on a share `share`, in addition to NFS, SMB and AFP.
    pub(crate) fn start_with_iscsi(top: &Path, share: &Path) -> Self {
        Self::start_with_iscsi_on(top, share, 0)
    }

    /// With iSCSI on this port.
    pub(crate) fn start_with_iscsi_on(top: &Path, share: &Path, iscsi_port: u16) -> Self {
        write_iscsi_settings(top, share, "guests = true\n", "size = \"64 MiB\"\n");
        Self::run_with_iscsi(top, iscsi_port)
    }

    /// With the existing settings.
    pub(crate) fn run_with_iscsi(top: &Path, iscsi_port: u16) -> Self {
        let (user, port) = (format!("{}:{}", USER.0, USER.1), iscsi_port.to_string());
        let others = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user", &user];
        Self::run(top, &[&others[..], &["--iscsi-port", &port]].concat())
    }

    /// As [`Server::run`]; the words turn AFP on.
    pub(crate) fn run_with_afp(top: &Path, words: &[&str]) -> Self {
        Self::run_program_with_users(Command::new(PROGRAM), top, words)
    }

    /// As [`Server::run`]; the words turn SMB on.
    pub(crate) fn run_with_smb(top: &Path, words: &[&str]) -> Self {
        Self::run_program_with_users(Command::new(PROGRAM), top, words)
    }

    /// As [`Server::start_with_smb`], with this limit of descriptors.
    pub(crate) fn start_with_descriptors(limit: u32, top: &Path, share: &Path) -> Self {
        let mut program = Command::new("prlimit");
        program.arg(format!("--nofile={limit}")).arg(PROGRAM);
        let folder = format!("share={}", share.display());
        Self::run_program_with_users(program, top, &[&folder, "--nfs-port", "off", "--smb-port", "0"])
    }

    /// All protocols but iSCSI, also for guests, with this limit of descriptors.
    pub(crate) fn start_for_guests(limit: u32, top: &Path, share: &Path) -> Self {
        let mut program = Command::new("prlimit");
        program.arg(format!("--nofile={limit}")).arg(PROGRAM);
        let folder = format!("share={}", share.display());
        let ports = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--guest"];
        Self::run_program_with_users(program, top, &[&[&*folder], &ports[..]].concat())
    }

    fn run_program_with_users(program: Command, top: &Path, words: &[&str]) -> Self {
        let (name, password) = USER;
        let account =
            format!("[server]\nafp-logins = [\"cleartext\"]\n\n[[user]]\nname = \"{name}\"\nuid = 1000\n");
        std::fs::write(top.join("fourfold.toml"), account).unwrap();
        let user = format!("{name}:{password}");
        Self::run_program(program, top, &[words, &["--user", &user]].concat())
    }

    /// With these words after `serve`.
    pub(crate) fn run(top: &Path, words: &[&str]) -> Self {
        Self::run_program(Command::new(PROGRAM), top, words)
    }

    /// As [`Server::start_on`], as an ordinary user, who must own the folders.
    pub(crate) fn start_as(uid: u32, top: &Path, share: &Path, port: u16) -> Self {
        let mut program = for_any_user();
        program.uid(uid).gid(uid);
        let folder = format!("share={}", share.display());
        Self::run_program(program, top, &[&folder, "--nfs-port", &port.to_string()])
    }

    /// Pings a service manager at this socket, which expects a ping every two seconds.
    pub(crate) fn start_with_a_watchdog(top: &Path, share: &Path, socket: &Path) -> Self {
        let mut program = Command::new(PROGRAM);
        program.env("NOTIFY_SOCKET", socket).env("WATCHDOG_USEC", "2000000").env_remove("WATCHDOG_PID");
        let folder = format!("share={}", share.display());
        Self::run_program(program, top, &[&folder, "--nfs-port", "0"])
    }

    /// As [`Server::start`], with this filter of the log.
    pub(crate) fn start_with_log(filter: &str, top: &Path, share: &Path) -> Self {
        let mut program = Command::new(PROGRAM);
        program.env("FOURFOLD_LOG", filter);
        Self::run_program(program, top, &[&format!("share={}", share.display()), "--nfs-port", "0"])
    }

    /// As [`Server::run`], with these files of the pressure on the host's memory, and of that memory.
    pub(crate) fn run_under_pressure((pressure, memory): (&Path, &Path), top: &Path, words: &[&str]) -> Self {
        let mut program = Command::new(PROGRAM);
        program.env("FOURFOLD_PRESSURE_FILE", pressure).env("FOURFOLD_MEMINFO_FILE", memory);
        Self::run_program(program, top, words)
    }

    fn run_program(mut program: Command, top: &Path, words: &[&str]) -> Self {
        let log = File::options().create(true).append(true).open(top.join("log")).unwrap();
        let mut child = program
            .arg("serve")
            .args(words)
            .args(if words.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1"] })
            .args(["--portmap-port", "off"])
            .args(if words.contains(&"--nfs-clients") { &[][..] } else { &["--nfs-clients", "all"] })
            .args(if words.contains(&"--smb-port") { &[][..] } else { &["--smb-port", "off"] })
            .args(if words.contains(&"--afp-port") { &[][..] } else { &["--afp-port", "off"] })
            .args(if words.contains(&"--iscsi-port") { &[][..] } else { &["--iscsi-port", "off"] })
            .args(["--state", "state"])
            .current_dir(top)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut port, mut smb_port, mut afp_port, mut iscsi_port) = (0, 0, 0, 0);
            let mut said = Vec::new();
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                port = port_in(&line).unwrap_or(port);
                smb_port = address_port_in(&line, "smb").unwrap_or(smb_port);
                afp_port = address_port_in(&line, "afp").unwrap_or(afp_port);
                iscsi_port = iscsi_port_in(&line).unwrap_or(iscsi_port);
                said.push(line);
                if said.last().is_some_and(|line| line == "ready") {
                    let said = std::mem::take(&mut said);
                    let _ = tell.send((port, smb_port, afp_port, iscsi_port, said)); // the test may be over
                }
            }
        });
        let Ok((port, smb_port, afp_port, iscsi_port, said)) = told.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            panic!("not ready: {}", std::fs::read_to_string(top.join("log")).unwrap_or_default());
        };
        Self { child, port, smb_port, afp_port, iscsi_port, said }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; returns the exit code.
    pub(crate) fn exit_code(mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not stop");
    }

    /// Its process id.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, and the wait for it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its current memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.status_of_process("VmRSS:")
    }

    /// The most memory that it has had.
    pub(crate) fn most_memory(&self) -> u64 {
        self.status_of_process("VmHWM:")
    }

    /// Its current memory without the program's own code and constants.
    pub(crate) fn own_memory(&self) -> u64 {
        self.status_of_process("RssAnon:")
    }

    fn status_of_process(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes settings of a share with a disk; `of_share` and `of_disk` are further settings.
pub(crate) fn write_iscsi_settings(top: &Path, share: &Path, of_share: &str, of_disk: &str) {
    let text = format!(
        "[server]\niscsi-name = \"iqn.2026-11.invalid\"\nafp-logins = [\"cleartext\"]\n\n[[user]]\nname = \"{}\"\nuid = 1000\n\n\
         [[share]]\nname = \"share\"\npath = \"{}\"\n{of_share}\n[[share.lun]]\nname = \"disk\"\n{of_disk}",
        USER.0,
        share.display()
    );
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
}

/// The port in a line with a target's address.
fn iscsi_port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("iscsi")?.1.split_once("127.0.0.1:")?;
    rest.split(|end: char| !end.is_ascii_digit()).next()?.parse().ok()
}

/// The port in a line with a Mac's address of a share.
fn address_port_in(line: &str, scheme: &str) -> Option<u16> {
    let (_, rest) = line.split_once(&format!("open {scheme}://127.0.0.1:"))?;
    rest.split('/').next()?.parse().ok()
}

/// The port in a line with an NFS mount command.
fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("vers=3,tcp,port=")?;
    rest.split(',').next()?.parse().ok()
}
