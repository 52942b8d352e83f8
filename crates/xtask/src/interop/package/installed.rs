//! The Debian package on a machine: installed, started, used, upgraded, removed, purged.

mod booted;

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{LIMIT, MOST_EXPOSED, NEXT};
use crate::interop::nfs3_client;
use crate::interop::outcome::Outcomes;
use crate::process::{self, Running};
use crate::server::{ExportAddress, UID};

pub(super) const SETTINGS: &str = "etc/fourfold/fourfold.toml";
pub(super) const STATE: &str = "var/lib/fourfold";
const UNIT: &str = "usr/lib/systemd/system/fourfold.service";
/// The file in the share.
pub(super) const FILE: &str = "notes";
pub(super) const CONTENT: &str = "served by the package\n";
pub(super) const LOGIN: &str = "ada%secret of ada";
/// How long the server may take to say that it is ready.
pub(super) const START_LIMIT: Duration = Duration::from_secs(30);

/// What zsh completes the command by, and whether it can load that.
const ZSH: &str = "autoload -U compinit; compinit -u -D; print -r -- $_comps[fourfold]; autoload +X $_comps[fourfold] && print loaded";

/// Runs all steps with the first package and the one that upgrades it. Each step needs those before.
pub fn run(outcomes: &mut Outcomes, place: &Path, packages: &[&str; 2]) -> Result<()> {
    let machine = MachineCopy::new(place)?;
    for package in packages {
        fs::copy(place.join(package), machine.path("var/tmp").join(package))?;
    }
    outcomes.run("deb: installs a user and an enabled service", &["dpkg"], || machine.installs(packages[0]));
    outcomes.run("deb: man and the shell know the commands", &["bash", "man"], || machine.is_described());
    outcomes.run("deb: fish and zsh complete commands", &["fish", "zsh"], || machine.completes());
    outcomes.run("unit: systemd finds no mistake", &["systemd-analyze"], || machine.unit_is_right());
    outcomes.run("unit: is confined", &["systemd-analyze"], || machine.unit_is_confined());
    let mut service = None;
    outcomes.run("deb: starts as the unit says, and tells systemd", &["chroot"], || {
        service = Some(InstalledService::start(&machine)?);
        service.as_ref().context("it runs")?.watchdog_is_pinged()
    });
    outcomes.run("deb: a share that a command makes is served at once", &["nfs-ls", "smbclient"], || {
        machine.shares_a_folder()?;
        machine.is_served()
    });
    let handle = nfs3_client::handle_of(&address(), FILE);
    outcomes.run("deb: an upgrade keeps settings, accounts and handles", &["nfs-ls", "smbclient"], || {
        let before = machine.identity()?;
        machine.dpkg(&["--install", &format!("/var/tmp/{}", packages[1])])?;
        drop(service.take()); // the script of the package does it where systemd runs
        service = Some(InstalledService::start(&machine)?);
        ensure!(machine.version()?.contains(NEXT), "{}", machine.version()?);
        ensure!(machine.identity()? == before, "the server has another identity");
        machine.is_served()?;
        let read = nfs3_client::read_by(&address(), handle?)?;
        ensure!(read == CONTENT.as_bytes(), "the handle gives {read:?}");
        Ok(())
    });
    drop(service);
    outcomes.run("deb: removal keeps settings and state", &["dpkg"], || {
        machine.dpkg(&["--remove", "fourfold"])?;
        ensure!(!machine.path("usr/bin/fourfold").exists(), "the program is still there");
        ensure!(
            machine.path(SETTINGS).exists() && machine.path(STATE).join("accounts.toml").exists(),
            "lost"
        );
        Ok(())
    });
    outcomes.run("deb: purge removes settings and state but no share", &["dpkg"], || machine.is_purged());
    booted::run(outcomes, &machine, packages);
    Ok(())
}

/// Where the installed server serves NFS, in the network of this process.
fn address() -> ExportAddress {
    ExportAddress { export: "/Share".into(), nfs_port: 2049, mount_port: 2049 }
}

/// Clients of NFS and SMB see the file. smbclient has its files in `samba`.
pub(super) fn is_served(samba: &Path) -> Result<()> {
    let listed = process::stdout_of("nfs-ls", &[&address().url("")], LIMIT)?;
    ensure!(listed.trim_end().ends_with(&format!(" {FILE}")), "nfs-ls says {listed}");
    let configuration = crate::samba::client_configuration(samba)?.display().to_string();
    let args = ["//127.0.0.1/Share", "-s", &configuration, "-U", LOGIN, "-c", &format!("get {FILE} -")];
    let read = process::stdout_of("smbclient", &args, LIMIT)?;
    ensure!(read.contains(CONTENT), "smbclient reads {read}");
    Ok(())
}

/// This machine's file system, as a copy that can be changed.
pub(super) struct MachineCopy {
    root: PathBuf,
    /// The process of a systemd that runs there. Programs then run in its process namespace.
    systemd: OnceCell<u32>,
}

impl MachineCopy {
    pub(super) fn new(place: &Path) -> Result<Self> {
        let [overlay, root] = ["overlay", "root"].map(|name| place.join(name));
        fs::create_dir_all(&overlay)?;
        fs::create_dir_all(&root)?;
        let mount = |args: &[&str]| process::stdout_of("mount", args, LIMIT);
        mount(&["-t", "tmpfs", "tmpfs", &overlay.display().to_string()])?;
        let [upper, work] = ["upper", "work"].map(|name| overlay.join(name));
        fs::create_dir(&upper)?;
        fs::create_dir(&work)?;
        let options = format!("lowerdir=/,upperdir={},workdir={}", upper.display(), work.display());
        mount(&["-t", "overlay", "overlay", "-o", &options, &root.display().to_string()])?;
        let machine = Self { root, systemd: OnceCell::new() };
        for (kind, folder) in [("tmpfs", "run"), ("tmpfs", "srv"), ("tmpfs", "var/tmp"), ("proc", "proc")] {
            mount(&["-t", kind, kind, &machine.path(folder).display().to_string()])?;
        }
        mount(&["--bind", "/dev", &machine.path("dev").display().to_string()])?;
        // What this machine has of an earlier installation is not the package's.
        for rest in ["etc/fourfold", STATE] {
            let _ = fs::remove_dir_all(machine.path(rest));
        }
        Ok(machine)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn root(&self) -> String {
        self.root.display().to_string()
    }

    /// Runs a program there.
    pub(super) fn run(&self, words: &[&str]) -> Result<String> {
        let (root, systemd) = (self.root(), self.systemd.get().map(u32::to_string));
        let inside = systemd.iter().flat_map(|process| ["nsenter", "--target", process, "--pid", "--"]);
        let all: Vec<&str> = inside.chain(["chroot", &root]).chain(words.iter().copied()).collect();
        process::stdout_of(all[0], &all[1..], LIMIT)
    }

    fn dpkg(&self, words: &[&str]) -> Result<String> {
        self.run(&[&["dpkg", "--force-unsafe-io"], words].concat())
    }

    fn version(&self) -> Result<String> {
        self.run(&["dpkg-query", "--show", "--showformat", "${db:Status-Abbrev} ${Version}", "fourfold"])
    }

    fn installs(&self, package: &str) -> Result<()> {
        self.dpkg(&["--install", &format!("/var/tmp/{package}")])?;
        ensure!(self.version()?.starts_with("ii "), "{}", self.version()?);
        self.run(&["getent", "passwd", "fourfold"]).context("there is no user fourfold")?;
        let enabled = self.path("etc/systemd/system/multi-user.target.wants/fourfold.service");
        ensure!(enabled.is_symlink(), "the service is not enabled");
        let checked = self.run(&["fourfold", "check", "--config", &format!("/{SETTINGS}")])?;
        ensure!(checked.contains("accepted, 0 shares"), "check says {checked}");
        Ok(())
    }

    /// Bash completes a command, and the pages have no mistakes.
    fn is_described(&self) -> Result<()> {
        let script = "source /usr/share/bash-completion/completions/fourfold; COMP_WORDS=(fourfold snap) COMP_CWORD=1; \
                      _fourfold fourfold snap fourfold; echo \"${COMPREPLY[@]}\"";
        let completed = self.run(&["bash", "-c", script])?;
        ensure!(completed.trim() == "snapshot", "bash completes `snap` to {completed}");
        let pages = self.path("usr/share/man/man1");
        let page = pages.join("fourfold-snapshot-create.1.gz").display().to_string();
        let shown = process::output("man", &["--warnings", "--local-file", &page], LIMIT)?;
        let (text, warnings) =
            (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
        ensure!(
            text.contains("fourfold snapshot create") && warnings.is_empty(),
            "man says {warnings}{text}"
        );
        Ok(())
    }

    /// fish tells what it would offer; zsh completes at a terminal only, and tells which function it would ask.
    fn completes(&self) -> Result<()> {
        let offered = self.run(&["fish", "-c", "complete -C 'fourfold snap'"])?;
        ensure!(offered.starts_with("snapshot\t"), "fish offers {offered}");
        let found = self.run(&["zsh", "-f", "-c", ZSH])?;
        ensure!(found.ends_with("fourfold\nloaded\n"), "zsh completes by {found}");
        Ok(())
    }

    fn unit_is_right(&self) -> Result<()> {
        let root = self.root();
        let output = process::output(
            "chroot",
            &[&root, "systemd-analyze", "verify", "--man=no", &format!("/{UNIT}")],
            LIMIT,
        )?;
        let said = String::from_utf8_lossy(&output.stderr);
        let about: Vec<&str> = said.lines().filter(|line| line.contains("fourfold")).collect();
        ensure!(output.status.success() && about.is_empty(), "{said}");
        Ok(())
    }

    fn unit_is_confined(&self) -> Result<()> {
        let threshold = format!("--threshold={MOST_EXPOSED}");
        let unit = format!("/{UNIT}");
        self.run(&["systemd-analyze", "security", "--offline=true", "--no-pager", &threshold, &unit])
            .map(drop)
    }

    /// What the unit says, all lines of a name joined.
    fn unit(&self, name: &str) -> Result<String> {
        let text = fs::read_to_string(self.path(UNIT))?;
        let values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        Ok(values.collect::<Vec<_>>().join(" "))
    }

    /// With the commands that the settings file names.
    fn shares_a_folder(&self) -> Result<()> {
        let folder = self.path("srv/share");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(FILE), CONTENT)?;
        chown(&folder, Some(UID), Some(UID))?;
        let password = LOGIN.split_once('%').context("a password")?.1;
        let add = format!("echo '{password}' | fourfold user add ada --uid {UID} --password-stdin");
        self.run(&["sh", "-c", &add])?;
        let named = "s/^\\[server\\]$/&\\nnfs-clients = \"127.0.0.1\"/";
        self.run(&["sed", "-i", named, "/etc/fourfold/fourfold.toml"])?;
        self.run(&["fourfold", "create", "Share", "--path", "/srv/share"]).map(drop)
    }

    fn is_served(&self) -> Result<()> {
        is_served(&self.path("var/tmp/samba"))
    }

    fn identity(&self) -> Result<String> {
        fs::read_to_string(self.path(STATE).join("identity.toml")).context("the state folder has no identity")
    }

    fn is_purged(&self) -> Result<()> {
        self.dpkg(&["--purge", "fourfold"])?;
        for gone in ["etc/fourfold", STATE, "etc/systemd/system/multi-user.target.wants/fourfold.service"] {
            ensure!(!self.path(gone).exists() && !self.path(gone).is_symlink(), "/{gone} is still there");
        }
        let kept = fs::read_to_string(self.path("srv/share").join(FILE))?;
        ensure!(kept == CONTENT, "the share has lost its file");
        Ok(())
    }
}

/// The server, started with the line and the capabilities of the unit.
struct InstalledService {
    socket: UnixDatagram,
    _running: Running,
}

impl InstalledService {
    /// Starts it, and waits until it tells that it is ready.
    fn start(machine: &MachineCopy) -> Result<Self> {
        let path = machine.path("run/notify");
        let _ = fs::remove_file(&path); // of the service before
        let socket = UnixDatagram::bind(&path)?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        let (root, line) = (machine.root(), machine.unit("ExecStart")?);
        let capabilities = machine.unit("CapabilityBoundingSet")?.to_lowercase().replace("cap_", "+");
        let bounding = format!("-all,{}", capabilities.split_whitespace().collect::<Vec<_>>().join(","));
        let mut words = vec![&*root, "env", "NOTIFY_SOCKET=/run/notify", "WATCHDOG_USEC=2000000"];
        words.extend(["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set", &bounding, "--"]);
        words.extend(line.split(' '));
        let log = process::log_file(&machine.path("var/tmp/service.log"))?;
        let mut running = Running::start("chroot", &words, Stdio::null(), log)?;
        let is_ready = told(&socket, "READY=1", START_LIMIT);
        running
            .still_up()
            .and(is_ready)
            .with_context(|| fs::read_to_string(machine.path("var/tmp/service.log")).unwrap_or_default())?;
        Ok(Self { socket, _running: running })
    }

    fn watchdog_is_pinged(&self) -> Result<()> {
        told(&self.socket, "WATCHDOG=1", START_LIMIT)
    }
}

/// Waits until the server has told systemd this.
fn told(socket: &UnixDatagram, what: &str, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    let mut buffer = [0; 4096];
    while Instant::now() < deadline {
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        if String::from_utf8_lossy(&buffer[..length]).lines().any(|line| line == what) {
            return Ok(());
        }
    }
    anyhow::bail!("the server does not tell systemd {what}")
}
