//! The files in a disk image as a hidden share: an HFS+ volume that xorriso has made, read over SMB by smbclient, over NFS by
//! libnfs's programs, and over AFP by our own client.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::{ADA, BOB, Clients, LIMIT};
use crate::interop::outcome::Outcomes;
use crate::{ports, process, server};

/// The Unix user of ada, who owns the image; and of bob.
const UIDS: [u32; 2] = [61001, 61002];
/// What is in the image.
const FILES: [(&str, &str); 2] = [("Letters/to Grace", "Dear Grace"), ("Caf\u{e9}", "closed")];

pub fn run(outcomes: &mut Outcomes, clients: &Clients<'_>) {
    let needs = ["smbclient", "xorriso", "nfs-cat"];
    outcomes.run("disk images: one person reads the files in one over every protocol", &needs, || {
        ImageServer::start(clients)?.check(clients)
    });
}

/// A server with an image that belongs to ada.
struct ImageServer {
    _running: process::Running,
    state: PathBuf,
    settings: PathBuf,
    ports: [u16; 3],
}

impl ImageServer {
    fn start(clients: &Clients<'_>) -> Result<Self> {
        let folder = clients.local.join("images");
        let share = folder.join("share");
        fs::create_dir_all(&share)?;
        make(&folder, &share.join("Disk.iso"))?;
        let (state, settings) = (folder.join("state"), folder.join("fourfold.toml"));
        let path = share.display();
        fs::write(&settings, format!("[[share]]\nname = \"files\"\npath = \"{path}\"\niscsi = false\n"))?;
        for (user, uid) in [ADA, BOB].into_iter().zip(UIDS) {
            server::add_user(&state, user.name, user.password, uid)?;
        }
        let ports = [ports::free_port()?, ports::free_port()?, ports::free_port()?];
        let text = ports.map(|port| port.to_string());
        let arguments = ["--smb-port", &*text[0], "--nfs-port", &*text[1], "--afp-port", &*text[2]];
        let running = server::ours_with_settings(&settings, &state, &arguments)?;
        Ok(Self { _running: running, state, settings, ports })
    }

    /// `fourfold` with these words.
    fn fourfold(&self, words: &[&str]) -> Result<String> {
        let (settings, state) = (self.settings.to_string_lossy(), self.state.to_string_lossy());
        let place = ["--config", &*settings, "--state", &*state];
        process::stdout_of(server::binary(), &[words, &place].concat(), LIMIT)
    }

    fn smbclient(&self, clients: &Clients<'_>, login: &str, command: &str) -> Result<String> {
        let port = self.ports[0].to_string();
        clients.smbclient("Disk$", login, &["-p", &port], command)
    }

    fn check(&self, clients: &Clients<'_>) -> Result<()> {
        let shown = self.fourfold(&["backups", "browse", "files/Disk.iso", "--for", ADA.name, "--json"])?;
        ensure!(shown.contains("\"Disk$\"") && shown.contains("HFS+"), "{shown}");
        let (ada, bob) = (format!("{}%{}", ADA.name, ADA.password), format!("{}%{}", BOB.name, BOB.password));
        for (path, text) in FILES {
            let got = clients.local.join("got");
            let command = format!("get \"{}\" {}", path.replace('/', "\\"), got.display());
            self.smbclient(clients, &ada, &command)?;
            ensure!(fs::read_to_string(&got)? == text, "{path} has another content over SMB");
            let url = format!(
                "nfs://127.0.0.1/Disk$/{}?nfsport={1}&mountport={1}&version=3&uid={2}&gid={2}",
                path, // libnfs decodes no %20
                self.ports[1],
                UIDS[0]
            );
            let read = process::stdout_of("nfs-cat", &[&url], LIMIT)?;
            ensure!(read == text, "{path} is {read:?} over NFS");
            let password = self.state.with_extension("password");
            fs::write(&password, ADA.password)?;
            let url = format!("afp://{}@127.0.0.1:{}/Disk$/{path}", ADA.name, self.ports[2]);
            let words = ["cat", &*url, "--password-file", &*password.to_string_lossy()];
            let read = process::stdout_of(server::binary(), &words, LIMIT)?;
            ensure!(read == text, "{path} is {read:?} over AFP");
        }
        let local = clients.file("new", b"x")?;
        ensure!(self.smbclient(clients, &ada, &format!("put {local} new")).is_err(), "it can be changed");
        ensure!(self.smbclient(clients, &bob, "ls").is_err(), "another person sees it");
        let other =
            format!("nfs://127.0.0.1/Disk$/Letters?nfsport={0}&mountport={0}&version=3", self.ports[1]);
        let other = format!("{other}&uid={0}&gid={0}", UIDS[1]);
        ensure!(process::stdout_of("nfs-ls", &[&other], LIMIT).is_err(), "another user sees it over NFS");
        self.fourfold(&["backups", "browse", "--end", "Disk$"])?;
        ensure!(self.smbclient(clients, &ada, "ls").is_err(), "it is still served");
        self.check_lun(clients, &ada)
    }

    /// The same image as a LUN that initiators cannot write to.
    fn check_lun(&self, clients: &Clients<'_>, ada: &str) -> Result<()> {
        self.fourfold(&["lun", "create", "files/blocks", "--file", "Disk.iso", "--read-only"])?;
        let words = ["backups", "browse", "lun:files/blocks", "--for", ADA.name, "--json"];
        let shown = self.fourfold(&words)?;
        ensure!(shown.contains("\"blocks$\"") && shown.contains("HFS+"), "{shown}");
        let port = self.ports[0].to_string();
        let (path, text) = FILES[0];
        let got = clients.local.join("got-of-lun");
        let command = format!("get \"{}\" {}", path.replace('/', "\\"), got.display());
        clients.smbclient("blocks$", ada, &["-p", &port], &command)?;
        ensure!(fs::read_to_string(&got)? == text, "{path} has another content in the LUN");
        self.fourfold(&["backups", "browse", "--end", "blocks$"])?;
        Ok(())
    }
}

/// Makes an image with an HFS+ volume.
fn make(folder: &Path, image: &Path) -> Result<()> {
    let content = folder.join("content");
    for (path, text) in FILES {
        let file = content.join(path);
        fs::create_dir_all(file.parent().context("it has a folder")?)?;
        fs::write(file, text)?;
    }
    let (content, image_text) = (content.to_string_lossy(), image.to_string_lossy());
    process::run(
        "xorriso",
        &["-as", "mkisofs", "-quiet", "-hfsplus", "-V", "Disk", "-o", &image_text, &content],
    )?;
    if process::is_root() {
        chown(image, Some(UIDS[0]), Some(UIDS[0]))?;
    }
    Ok(())
}
