//! The servers under test, ours and the peer's. They are started on free ports over a given folder.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{self, Running};

/// The uid that the load programs send: that of an ordinary user, since root may be squashed.
pub const UID: u32 = 1000;
/// The same for a command line.
pub const UID_TEXT: &str = "1000";

/// The address of a server's share.
#[derive(Clone, Debug)]
pub struct ExportAddress {
    pub export: String,
    pub nfs_port: u16,
    pub mount_port: u16,
}

impl ExportAddress {
    /// The address of `path` in the share, in the form for libnfs's programs.
    pub fn url(&self, path: &str) -> String {
        let (export, nfs, mount) = (&self.export, self.nfs_port, self.mount_port);
        format!("nfs://127.0.0.1{export}{path}?nfsport={nfs}&mountport={mount}&version=3")
    }
}

/// A server. Dropping it ends the server.
#[derive(Debug)]
pub struct Server {
    pub running: Running,
    pub address: ExportAddress,
    /// Its output before it was ready (our server only).
    pub greeting: Vec<String>,
}

/// The options of our server.
pub struct ServerOptions<'a> {
    pub share: &'a Path,
    pub state: &'a Path,
    /// `off`, or a port.
    pub portmap_port: &'a str,
    pub nfs_port: u16,
}

thread_local! {
    /// Options for servers of ours that this thread starts now.
    static MORE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Servers of ours that `start` starts have these options, too.
pub fn with_options<T>(options: &[&str], start: impl FnOnce() -> T) -> T {
    MORE.replace(options.iter().map(|option| (*option).to_owned()).collect());
    let started = start();
    MORE.take();
    started
}

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Starts this program from now on.
pub fn use_program(path: &Path) {
    PROGRAM.get_or_init(|| path.to_path_buf());
}

/// The release binary at cargo's place, unless another one was chosen.
pub fn binary() -> PathBuf {
    PROGRAM.get().cloned().unwrap_or_else(|| process::root().join("target/release/fourfold"))
}

/// Starts `fourfold serve` over the folder as share `share` and waits for its line `ready`.
pub fn ours(options: &ServerOptions<'_>) -> Result<Server> {
    let share = format!("share={}", options.share.display());
    let (state, port) = (options.state.to_string_lossy(), options.nfs_port.to_string());
    let args = [
        "serve",
        &share,
        "--state",
        &state,
        "--listen",
        "127.0.0.1",
        "--nfs-port",
        &port,
        "--smb-port",
        "off",
    ];
    let more = [
        "--nfs-clients",
        "all",
        "--afp-port",
        "off",
        "--iscsi-port",
        "off",
        "--portmap-port",
        options.portmap_port,
    ];
    let args: Vec<&str> = args.into_iter().chain(more).collect();
    let (running, greeting) = serve(&args, options.state)?;
    let address =
        ExportAddress { export: "/share".into(), nfs_port: options.nfs_port, mount_port: options.nfs_port };
    Ok(Server { running, address, greeting })
}

/// Starts `fourfold serve` with a settings file. Only the protocols in `ports` have a port. It
/// listens on the loopback device unless `ports` has addresses.
pub fn ours_with_settings(settings: &Path, state: &Path, ports: &[&str]) -> Result<Running> {
    let (settings, state_text) = (settings.to_string_lossy(), state.to_string_lossy());
    let mut args = vec!["serve", "--config", &settings, "--state", &state_text];
    args.extend(ports);
    if !ports.contains(&"--nfs-clients") {
        args.extend(["--nfs-clients", "all"]); // the clients of the suites have no login over NFS
    }
    if !ports.contains(&"--listen") {
        args.extend(["--listen", "127.0.0.1"]);
    }
    for port in ["--nfs-port", "--smb-port", "--afp-port", "--iscsi-port", "--portmap-port"] {
        if !ports.contains(&port) {
            args.extend([port, "off"]);
        }
    }
    Ok(serve(&args, state)?.0)
}

/// Starts the program and waits until it is ready. Returns its output.
fn serve(args: &[&str], state: &Path) -> Result<(Running, Vec<String>)> {
    std::fs::create_dir_all(state)?;
    let log = process::log_file(&state.with_extension("log"))?;
    let more = MORE.with_borrow(Clone::clone);
    let args: Vec<&str> = args.iter().copied().chain(more.iter().map(String::as_str)).collect();
    let mut running = Running::start(binary(), &args, Stdio::piped(), log)?;
    let greeting = greeting(&mut running).with_context(|| {
        let log = std::fs::read_to_string(state.with_extension("log")).unwrap_or_default();
        format!("fourfold {} is not ready; it says:\n{log}", args.join(" "))
    })?;
    Ok((running, greeting))
}

/// Makes an account in a state folder.
pub fn add_user(state: &Path, name: &str, password: &str, uid: u32) -> Result<()> {
    add_user_with(state, name, password, uid, &[])
}

/// The same with more options.
pub fn add_user_with(state: &Path, name: &str, password: &str, uid: u32, more: &[&str]) -> Result<()> {
    let (state, uid) = (state.to_string_lossy(), uid.to_string());
    let mut child = Command::new(binary())
        .args(["user", "add", name, "--uid", &uid, "--state", &state, "--password-stdin"])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start fourfold")?;
    child.stdin.take().context("no standard input")?.write_all(format!("{password}\n").as_bytes())?;
    ensure!(child.wait()?.success(), "cannot add the account {name}");
    Ok(())
}

/// Reads standard output up to the line `ready`. A thread reads on, so that the server never blocks
/// on its output.
fn greeting(running: &mut Running) -> Result<Vec<String>> {
    let stdout = running.stdout().context("no standard output")?;
    let (lines, arriving) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = lines.send(line);
        }
    });
    let mut greeting = Vec::new();
    loop {
        match arriving.recv_timeout(Duration::from_secs(15)) {
            Ok(line) if line == "ready" => return Ok(greeting),
            Ok(line) => greeting.push(line),
            Err(_) => bail!("no line \"ready\" within 15 s; so far: {greeting:?}"),
        }
    }
}
