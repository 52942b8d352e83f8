//! The server that the console is tested with.

use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{self, Running};
use crate::{isolate, ports, server};

pub const ADMIN: (&str, &str) = ("ada", "secret of ada");
/// A name that would be a script in a page that does not take care.
pub const HOSTILE: &str = "<img src=x onerror=hit=1><script>hit=2";
/// The name of a file that each protocol shows in another way.
pub const ODD: &str = "take 1: <b>ready";
/// What commands of the server may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The Unix user of all accounts.
const UID: u32 = 61003;

const SETTINGS: &str = r#"# The studio's server. This comment stays.
[server]
bonjour-name = "Studio"
afp-greeting = "Backups run at noon."  # shown at each login
alert-space = 0  # the disk of the tests may be nearly full

[appletalk]
links = ["ltoudp:lo"]
name = "Studio"

[[share]]
name = "studio"
path = "studio"

[[share]]
name = "studio/video"

[[share]]
name = "archive"
path = "archive"
read-only = true

[[share]]
name = "backups"
path = "backups"
quota = "40 GiB"
time-machine = true

[[share]]
name = "projects"
path = "projects"

[[share]]
name = "mirror"
path = "mirror"
"#;

/// A server with shares, accounts and a LUN.
pub struct ConsolePlace {
    folder: PathBuf,
    running: Option<Running>,
    api: u16,
    pub nfs: u16,
    /// The share `projects` can have snapshots.
    pub has_snapshots: bool,
}

impl ConsolePlace {
    /// A server whose files are in this folder.
    pub fn start(folder: PathBuf) -> Result<Self> {
        for share in ["studio/video", "archive", "backups", "projects", "mirror"] {
            std::fs::create_dir_all(folder.join(share))?;
        }
        let has_snapshots = mount_xfs(&folder)?;
        for share in ["studio", "studio/video", "archive", "backups", "projects", "mirror"] {
            std::fs::set_permissions(folder.join(share), Permissions::from_mode(0o777))?;
        }
        std::fs::write(folder.join("projects/plan"), "the first plan")?;
        make_backup(&folder.join("backups/Ada.sparsebundle"))?;
        std::fs::create_dir(folder.join("studio/scenes"))?;
        std::fs::write(folder.join("studio/scenes").join(ODD), "a scene")?;
        let roots = format!("[server]\nshare-roots = [\"{}\"]", folder.display());
        std::fs::write(folder.join("fourfold.toml"), SETTINGS.replacen("[server]", &roots, 1))?;
        let state = folder.join("state");
        std::fs::create_dir_all(&state)?;
        server::add_user_with(&state, ADMIN.0, ADMIN.1, UID, &["--admin"])?;
        server::add_user(&state, "grace", "secret of grace", UID)?;
        server::add_user(&state, HOSTILE, "secret of nobody", UID)?;
        let mut place = Self { folder, running: None, api: ports::free_port()?, nfs: 0, has_snapshots };
        place.start_again()?;
        place.run(&["lun", "create", "studio/scratch", "2G"])?;
        Ok(place)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}/", self.api)
    }

    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Starts the server, at the same port.
    pub fn start_again(&mut self) -> Result<()> {
        let (settings, state) = (self.folder.join("fourfold.toml"), self.folder.join("state"));
        let api = self.api.to_string();
        let ports = ["--admin-port", &api, "--nfs-port", "0", "--smb-port", "0", "--afp-port", "0"];
        let more = ["--iscsi-port", "0", "--bonjour", "off"];
        self.running = Some(server::ours_with_settings(&settings, &state, &[&ports[..], &more].concat())?);
        self.nfs = self.port("nfs")?;
        Ok(())
    }

    /// The port of a protocol.
    pub fn port(&self, protocol: &str) -> Result<u16> {
        let status: Value = serde_json::from_str(&self.run(&["status", "--json"])?)?;
        let listeners = status["listeners"].as_array().context("no listeners")?;
        let found = listeners.iter().find(|one| one["protocol"] == protocol && one["transport"] == "tcp");
        let address = found.and_then(|one| one["address"].as_str()).context("no such listener")?;
        Ok(address.rsplit(':').next().unwrap_or_default().parse()?)
    }

    /// The output of a command about the server.
    pub fn run(&self, words: &[&str]) -> Result<String> {
        let (config, state) = (self.folder.join("fourfold.toml"), self.folder.join("state"));
        let (config, state) = (config.to_string_lossy(), state.to_string_lossy());
        process::stdout_of(
            server::binary(),
            &[words, &["--config", &config, "--state", &state]].concat(),
            LIMIT,
        )
    }

    pub fn settings(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder.join("fourfold.toml"))?)
    }

    /// Wants more free space in the share `archive` than there is: an alert comes with the next start.
    pub fn want_space(&self) -> Result<()> {
        let floor = "path = \"archive\"\nsnapshot-floor = \"900 TiB\"";
        let settings = self.settings()?.replacen("path = \"archive\"", floor, 1);
        Ok(std::fs::write(self.folder.join("fourfold.toml"), settings)?)
    }

    /// Makes the settings those of a new installation.
    pub fn forget_shares(&self) -> Result<()> {
        let settings = self.settings()?;
        let server = settings.split("[[share]]").next().unwrap_or_default();
        Ok(std::fs::write(self.folder.join("fourfold.toml"), server)?)
    }

    /// Connections to the NFS port: each is a session.
    pub fn connect(&self, count: usize) -> Result<Vec<TcpStream>> {
        let streams: std::io::Result<Vec<TcpStream>> =
            (0..count).map(|_| TcpStream::connect(("127.0.0.1", self.nfs))).collect();
        let streams = streams?;
        ensure!(streams.len() == count, "not all connections were made");
        Ok(streams)
    }
}

/// A bundle of Time Machine whose newest backup is old.
fn make_backup(bundle: &Path) -> Result<()> {
    std::fs::create_dir_all(bundle.join("bands"))?;
    std::fs::write(bundle.join("bands/0"), "a band")?;
    let list = |inner: &str| format!("<plist version=\"1.0\"><dict>{inner}</dict></plist>\n");
    for name in ["Info.plist", "Info.bckup"] {
        std::fs::write(bundle.join(name), list("<key>band-size</key><integer>8388608</integer>"))?;
    }
    std::fs::write(bundle.join("token"), "")?;
    let history = "<key>com.apple.backupd.SnapshotCompletionDate</key><date>2026-01-02T03:04:05Z</date>";
    std::fs::write(bundle.join("com.apple.TimeMachine.SnapshotHistory.plist"), list(history))?;
    Ok(())
}

/// Mounts XFS, whose files can share blocks, as the shares `projects` and `mirror`. It ends with the namespace of this
/// process. False: that is not possible here.
fn mount_xfs(folder: &Path) -> Result<bool> {
    if !isolate::is_isolated() || !process::is_root() || process::find("mkfs.xfs").is_none() {
        return Ok(false);
    }
    for share in ["projects", "mirror"] {
        let (image, at) = (folder.join(format!("{share}.img")), folder.join(share));
        std::fs::File::create(&image)?.set_len(512 << 20)?;
        let (image, at) = (image.to_string_lossy(), at.to_string_lossy());
        process::stdout_of("mkfs.xfs", &["-q", "-m", "reflink=1", &image], LIMIT)?;
        // A container may not have loop devices.
        if process::stdout_of("mount", &["-o", "loop", &image, &at], LIMIT).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}
