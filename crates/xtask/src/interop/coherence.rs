//! Clients of all protocols on one file: what each lets the others do (`interop/coherence/matrix.py`).

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::expected::Expected;
use super::outcome::Outcomes;
use super::smb::python;
use super::{Args, conclude, prepare};
use crate::process::{self, Running};
use crate::{debian, isolate, loader, server};

const LIMIT: Duration = Duration::from_secs(150);
/// A Unix user that no other account of this machine has.
const UID: u32 = 61201;
const USER: &str = "ada";
const PASSWORD: &str = "secret";
/// The shares, and what their settings have in addition.
const SHARES: &[(&str, &str)] = &[
    ("share", "local-recall = true"),
    ("quiet", ""),
    ("silly", "deny-modes = \"silly-rename\""),
    ("data", "deny-modes = \"data-only\""),
];

pub fn run(args: &Args) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = python::install()
    {
        println!("no Python packages: {error:#}");
    }
    prepare(args, debian::NFS_CLIENTS, false)?;
    let mut outcomes = Outcomes::default();
    let place = Place::new()?;
    matrix(args, &place, &mut outcomes)?;
    let expected = Expected::read(&process::root().join("interop/coherence/expected.toml"))?.else_pass();
    let is_meant = |name: &str| args.only.is_empty() || outcomes.has(name);
    conclude(args, &expected.retain(is_meant).compare(&outcomes, process::is_ci()))
}

/// The matrix. With `--list` it prints what happens instead.
fn matrix(args: &Args, place: &Place, outcomes: &mut Outcomes) -> Result<()> {
    if !python::is_installed() {
        outcomes.skip("matrix", "its Python packages are not installed");
        return Ok(());
    }
    let server = place.server()?;
    let mut text = String::new();
    let mut more: Vec<&str> = if args.list { vec!["--list"] } else { Vec::new() };
    if !args.only.is_empty() {
        more.push("--only");
        more.extend(args.only.iter().map(String::as_str));
    }
    outcomes.run("matrix", &["cc"], || {
        let output = place.script("matrix.py", &server, &more, LIMIT)?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        fs::write(place.folder.join("matrix.log"), errors.as_bytes())?;
        ensure!(output.status.success(), "{}: {}", output.status, errors.trim());
        Ok(())
    });
    if args.list {
        print!("{text}");
    } else {
        outcomes.add_lines("matrix", &text);
    }
    Ok(())
}

/// The folders and the account of one run.
struct Place {
    folder: PathBuf,
    uid: u32,
}

/// A running server, and its ports for SMB, AFP and NFS.
struct Served {
    _running: Running,
    ports: [(&'static str, String); 3],
}

impl Place {
    fn new() -> Result<Self> {
        let folder = process::fresh_folder("interop-coherence")?;
        let uid = if process::is_root() { UID } else { rustix::process::getuid().as_raw() };
        let mut settings =
            "[server]\nbonjour = \"off\"\ngrace-period = 60\nnfs-versions = [\"3\", \"4.1\"]\n\
             afp-logins = [\"dhx2\", \"cleartext\"]\n"
                .to_owned();
        for (name, more) in SHARES {
            let path = folder.join(name);
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
            if process::is_root() {
                chown(&path, Some(UID), Some(UID))?;
            }
            settings.push_str(&format!(
                "\n[[share]]\nname = \"{name}\"\npath = \"{}\"\niscsi = false\n{more}\n",
                path.display()
            ));
        }
        fs::write(folder.join("settings.toml"), settings)?;
        server::add_user(&folder.join("state"), USER, PASSWORD, uid)?;
        Ok(Self { folder, uid })
    }

    fn server(&self) -> Result<Served> {
        let port = || Ok::<_, anyhow::Error>(process::free_port()?.to_string());
        let ports = [("--smb-port", port()?), ("--afp-port", port()?), ("--nfs-port", port()?)];
        let words: Vec<&str> = ports.iter().flat_map(|(name, port)| [*name, port]).collect();
        let running = server::ours_with_settings(
            &self.folder.join("settings.toml"),
            &self.folder.join("state"),
            &words,
        )?;
        Ok(Served { _running: running, ports })
    }

    /// Runs a script of `interop/coherence`.
    fn script(
        &self,
        name: &str,
        server: &Served,
        more: &[&str],
        limit: Duration,
    ) -> Result<std::process::Output> {
        let scripts = process::root().join("interop/coherence");
        let [script, expected] = [name, "expected.toml"].map(|file| scripts.join(file).display().to_string());
        let (folder, uid) = (self.folder.display().to_string(), self.uid.to_string());
        let nfs3 = loader::compile_coherence()?.display().to_string();
        let python = python::program().display().to_string();
        let mut words = vec!["-B", &script, "--folder", &folder, "--uid", &uid, "--nfs3", &nfs3];
        words.extend(["--user", USER, "--password", PASSWORD, "--expected", &expected]);
        words.extend(server.ports.iter().flat_map(|(name, port)| [*name, port.as_str()]));
        process::output(python, &[&words, more].concat(), limit)
    }
}
