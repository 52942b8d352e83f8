//! Samba's file server, as the other server of tests.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// A smbd; ended when dropped, with its sessions.
pub(crate) struct Smbd(Child);

impl Smbd {
    /// Whether it and its client are installed.
    pub(crate) fn is_here() -> bool {
        let is_here = Path::new("/usr/bin/smbclient").exists() && Path::new("/usr/sbin/smbd").exists();
        if !is_here {
            println!("skipped: no smbclient or smbd");
        }
        is_here
    }

    /// Shares a folder as `archive` with everyone.
    pub(crate) fn start(place: &Path, address: (&str, u16), share: &Path) -> Self {
        Self::start_with(place, address, share, "")
    }

    /// With more lines for the share.
    pub(crate) fn start_with(place: &Path, address: (&str, u16), share: &Path, lines: &str) -> Self {
        Self::start_by(Command::new("/usr/sbin/smbd"), place, address, (share, lines))
    }

    /// By a command that runs smbd in surroundings of its own.
    pub(crate) fn start_by(
        mut command: Command,
        place: &Path,
        (address, port): (&str, u16),
        (share, lines): (&Path, &str),
    ) -> Self {
        let at = |name: &str| {
            let folder = place.join(name);
            fs::create_dir_all(&folder).unwrap();
            folder.display().to_string()
        };
        let folders = [
            "private dir",
            "lock directory",
            "state directory",
            "cache directory",
            "pid directory",
            "ncalrpc dir",
        ];
        let folders: String =
            folders.iter().map(|name| format!("{name} = {}\n", at(&name.replace(' ', "-")))).collect();
        let text = format!(
            "[global]\ninterfaces = {address}/8\nbind interfaces only = yes\nsmb ports = {port}\ndisable netbios = yes\n\
             map to guest = bad user\nguest account = nobody\nload printers = no\nlog file = {}/log\n{folders}\
             [archive]\npath = {}\nguest ok = yes\nread only = no\nforce user = root\n{lines}",
            place.display(),
            share.display()
        );
        let config = place.join("smb.conf");
        fs::write(&config, text).unwrap();
        let child = command
            .args(["--foreground", "--no-process-group", "--debug-stdout", "--configfile"])
            .arg(&config)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(fs::File::create(place.join("output")).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let smbd = Self(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect((address, port)).is_err() {
            assert!(Instant::now() < deadline, "smbd: {}", fs::read_to_string(place.join("output")).unwrap());
            std::thread::sleep(Duration::from_millis(50));
        }
        smbd
    }
}

impl Drop for Smbd {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.0.id() as i32) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
