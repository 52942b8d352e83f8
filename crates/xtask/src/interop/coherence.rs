//! Clients of all protocols on one file: what each lets the others do (`interop/coherence/matrix.py`), and that nothing is
//! lost when clients and the server die (`soak.py`). And clients of NFS over TLS (`tls.py`), and homes (`homes.py`).

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::appletalk::bridge;
use super::compiled;
use super::expected::Expectations;
use super::outcome::Outcomes;
use super::smb::python;
use super::{InteropArgs, conclude, prepare};
use crate::{debian, isolate, loader, ports, process, server};

const LIMIT: Duration = Duration::from_secs(150);
/// How long the soak lasts if nobody says, and what its beginning and its end may take besides.
const SOAK: Duration = Duration::from_secs(30);
const AROUND: Duration = Duration::from_secs(120);
/// A Unix user that no other account of this machine has.
const UID: u32 = 61201;
const USER: &str = "ada";
const PASSWORD: &str = "secret";
/// Another user, whose uid is the next one.
const OTHER: (&str, &str) = ("bob", "geheim");
/// A user of the host without an account of the server, and the password that PAM takes here: also for the next ones.
const OF_HOST: (&str, &str) = ("games", "of-games");
/// A user of the host. Its account is locked according to PAM.
const LOCKED: &str = "man";
/// The lowest uid that may log in. That of `daemon` is lower, so the server refuses `daemon`, although PAM takes its password.
const MIN_UID: u32 = 3;
/// The server's name on AppleTalk, over which Macs come, too, if the network is our own.
const ON_APPLETALK: &str = "Matrix";
/// The share of homes.
const HOMES: &str = "homes";
/// The shares, and what their settings have in addition.
const SHARES: &[(&str, &str)] = &[
    ("share", "local-recall = true"),
    ("quiet", ""),
    ("silly", "deny-modes = \"silly-rename\""),
    ("data", "deny-modes = \"data-only\""),
    (HOMES, "make-homes = true"),
    ("sealed", "client = [{ match = \"*\", tls = \"required\" }]"),
];

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = python::install()
    {
        println!("no Python packages: {error:#}");
    }
    if !isolate::is_isolated() && !args.no_build {
        compiled::compile(&[bridge::PROGRAM])?;
    }
    prepare(args, debian::NFS_CLIENTS, false)?;
    let mut outcomes = Outcomes::default();
    if !python::is_installed() {
        outcomes.skip("matrix", "its Python packages are not installed");
        outcomes.skip("soak", "its Python packages are not installed");
    } else {
        if args.soak.is_none() {
            matrix(args, &mut outcomes)?;
        }
        if args.soak.is_some() || args.only.is_empty() {
            soak(args, &mut outcomes)?;
        }
    }
    let expected = Expectations::read(&process::root().join("interop/coherence/expected.toml"))?.else_pass();
    let is_whole = args.only.is_empty() && args.soak.is_none();
    let is_meant = |name: &str| is_whole || outcomes.has(name);
    conclude(args, &expected.retain(is_meant).compare(&outcomes, process::is_ci()))
}

/// The matrix. With `--list` it prints what happens instead.
fn matrix(args: &InteropArgs, outcomes: &mut Outcomes) -> Result<()> {
    // The clients of NFSv4 are silent for some time.
    let place = CoherenceRun::new("interop-coherence", 60)?;
    let settings = place.folder.join("settings.toml");
    let bridge = compiled::program(&bridge::PROGRAM)?;
    if isolate::is_isolated() {
        let text = fs::read_to_string(&settings)? + &bridge::settings(ON_APPLETALK);
        fs::write(&settings, text)?;
    }
    let _server = server::ours_with_settings(&settings, &place.folder.join("state"), &place.ports())?;
    let mut more: Vec<&str> = if args.list { vec!["--list"] } else { Vec::new() };
    if isolate::is_isolated() {
        more.extend(["--asp", &bridge, bridge::LINK, ON_APPLETALK]);
    }
    if !args.only.is_empty() {
        more.push("--only");
        more.extend(args.only.iter().map(String::as_str));
    }
    if args.only == ["homes"] {
        homes(&place, outcomes);
        return Ok(());
    }
    let text = script(outcomes, "matrix", &place, &more, LIMIT);
    if args.list {
        print!("{text}");
    } else {
        outcomes.add_lines("matrix", &text);
    }
    if !args.list && args.only.is_empty() {
        let text = script(outcomes, "tls", &place, &[], LIMIT);
        outcomes.add_lines("tls", &text);
        homes(&place, outcomes);
    }
    Ok(())
}

/// Homes of users, and users of the host.
fn homes(place: &CoherenceRun, outcomes: &mut Outcomes) {
    let [other, of_host] = [OTHER, OF_HOST].map(|(name, password)| format!("{name}:{password}"));
    let program = server::binary().display().to_string();
    let mut more = vec!["--other", &other];
    match place.has_pam {
        true => more.extend(["--of-host", &of_host, "--locked", LOCKED, "--program", &program]),
        false => outcomes.skip("homes: a user of the host", "needs root and PAM with pam_exec.so"),
    }
    let text = script(outcomes, "homes", place, &more, LIMIT);
    outcomes.add_lines("homes", &text);
}

/// Clients that die at random, beside a server that is killed twice.
fn soak(args: &InteropArgs, outcomes: &mut Outcomes) -> Result<()> {
    let place = CoherenceRun::new("interop-soak", 5)?;
    let seconds = args.soak.map_or(SOAK, |minutes| Duration::from_secs(minutes * 60));
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!(
        "soak: {} s, --seed {seed}; its log is {}",
        seconds.as_secs(),
        place.folder.join("soak.log").display()
    );
    let [program, settings, state] =
        [server::binary(), place.folder.join("settings.toml"), place.folder.join("state")]
            .map(|path| path.display().to_string());
    let (seconds_text, seed) = (seconds.as_secs().to_string(), seed.to_string());
    let mut more = vec!["--seconds", &seconds_text, "--seed", &seed, "--", &program, "serve"];
    more.extend(["--config", &settings, "--state", &state, "--listen", "127.0.0.1"]);
    more.extend(["--nfs-clients", "all", "--iscsi-port", "off", "--portmap-port", "off"]);
    more.extend(place.ports());
    let text = script(outcomes, "soak", &place, &more, seconds + AROUND);
    outcomes.add_lines("soak", &text);
    Ok(())
}

/// Runs `interop/coherence/<name>.py`, of which an outcome with its name tells whether it came to its end. Returns what it
/// prints. Its messages are in a file beside the shares.
fn script(
    outcomes: &mut Outcomes,
    name: &str,
    place: &CoherenceRun,
    more: &[&str],
    limit: Duration,
) -> String {
    let mut text = String::new();
    outcomes.run(name, &["cc"], || {
        let output = place.script(name, more, limit)?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        fs::write(place.folder.join(name).with_extension("log"), errors.as_bytes())?;
        ensure!(output.status.success(), "{}: {}", output.status, errors.trim());
        Ok(())
    });
    text
}

/// The folders, the account and the ports of one run.
struct CoherenceRun {
    folder: PathBuf,
    uid: u32,
    /// Flags and ports for SMB, AFP and NFS.
    ports: [(&'static str, String); 3],
    /// Users of the host log in by PAM.
    has_pam: bool,
}

impl CoherenceRun {
    fn new(folder: &str, grace_period: u32) -> Result<Self> {
        let folder = process::fresh_folder(folder)?;
        let uid = if process::is_root() { UID } else { rustix::process::getuid().as_raw() };
        let mut settings = format!(
            "[server]\nbonjour = \"off\"\ngrace-period = {grace_period}\nnfs-versions = [\"3\", \"4.1\"]\n\
             afp-logins = [\"dhx2\", \"cleartext\"]\n"
        );
        let pam = pam(&folder)?;
        if let Some(service) = &pam {
            // Its program lies in the clone, where `confinement` lets nothing be executed.
            settings.push_str(&format!(
                "host-accounts = \"pam\"\npam-service = \"{}\"\nhost-min-uid = {MIN_UID}\nconfinement = \"off\"\n",
                service.display()
            ));
        }
        for (name, more) in SHARES {
            let path = folder.join(name);
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
            if process::is_root() {
                chown(&path, Some(UID), Some(UID))?;
            }
            let path = if *name == HOMES { path.join("%U") } else { path };
            settings.push_str(&format!(
                "\n[[share]]\nname = \"{name}\"\npath = \"{}\"\niscsi = false\n{more}\n",
                path.display()
            ));
        }
        fs::write(folder.join("settings.toml"), settings)?;
        server::add_user(&folder.join("state"), USER, PASSWORD, uid)?;
        server::add_user(&folder.join("state"), OTHER.0, OTHER.1, uid + 1)?;
        let port = || Ok::<_, anyhow::Error>(ports::free_port()?.to_string());
        let ports = [("--smb-port", port()?), ("--afp-port", port()?), ("--nfs-port", port()?)];
        Ok(Self { folder, uid, ports, has_pam: pam.is_some() })
    }

    fn ports(&self) -> Vec<&str> {
        self.ports.iter().flat_map(|(name, port)| [*name, port]).collect()
    }

    fn script(&self, name: &str, more: &[&str], limit: Duration) -> Result<Output> {
        let scripts = process::root().join("interop/coherence");
        let [script, expected] =
            [&format!("{name}.py"), "expected.toml"].map(|file| scripts.join(file).display().to_string());
        let (folder, uid) = (self.folder.display().to_string(), self.uid.to_string());
        let nfs3 = loader::compile_coherence()?.display().to_string();
        let python = python::program().display().to_string();
        let mut words = vec!["-B", &script, "--folder", &folder, "--uid", &uid, "--nfs3", &nfs3];
        words.extend(["--user", USER, "--password", PASSWORD, "--expected", &expected]);
        words.extend(self.ports());
        process::output(python, &[&words, more].concat(), limit)
    }
}

/// A service of PAM that takes one password for all users. One account is locked. `None`: this machine lacks PAM or its module.
fn pam(folder: &Path) -> Result<Option<PathBuf>> {
    let modules = ["/lib/x86_64-linux-gnu/security", "/lib/aarch64-linux-gnu/security", "/lib64/security"];
    let has_module = modules.iter().any(|folder| Path::new(folder).join("pam_exec.so").exists());
    if !process::is_root() || !has_module {
        return Ok(None);
    }
    let folder = folder.join("pam");
    let (service, password, account) =
        (folder.join("fourfold"), folder.join("password"), folder.join("account"));
    fs::create_dir_all(&folder)?;
    let scripts = [
        (&password, format!("read -r password\n[ \"$password\" = {} ]", OF_HOST.1)),
        (&account, format!("[ \"$PAM_USER\" != {LOCKED} ]")),
    ];
    for (path, text) in scripts {
        fs::write(path, format!("#!/bin/sh\n{text}\n"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    let rules = format!(
        "auth required pam_exec.so expose_authtok quiet {}\naccount required pam_exec.so quiet {}\n",
        password.display(),
        account.display()
    );
    fs::write(&service, rules)?;
    Ok(Some(service))
}
