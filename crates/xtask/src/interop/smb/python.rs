//! Python's smbprotocol and impacket, in an environment of their own below `target/`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::place::{ADA, Place};
use crate::interop::outcome::Outcomes;
use crate::process;

const LIMIT: Duration = Duration::from_secs(90);

/// The scripts `interop/smb/with_<name>.py`.
pub const SCRIPTS: &[&str] = &["smbprotocol", "impacket"];

fn environment() -> PathBuf {
    process::root().join("target/interop-python")
}

fn requirements() -> PathBuf {
    process::root().join("interop/smb/requirements.txt")
}

/// Makes the environment, where it is not there yet as wanted; that needs the outside network.
pub fn install() -> Result<()> {
    let (folder, wanted) = (environment(), fs::read_to_string(requirements())?);
    if fs::read_to_string(folder.join("installed")).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let _ = fs::remove_dir_all(&folder); // there may be none
    // The system's own: the first one on the path may be a wrapper that is only right elsewhere.
    process::run("/usr/bin/python3", &["-m", "venv", &folder.to_string_lossy()])?;
    let pip = folder.join("bin/pip").to_string_lossy().into_owned();
    let list = requirements().to_string_lossy().into_owned();
    process::run(&pip, &["install", "-q", "--disable-pip-version-check", "-r", &list])?;
    Ok(fs::write(folder.join("installed"), wanted)?)
}

/// One script; its lines are outcomes of their own, its name says whether it came to its end.
pub fn run(outcomes: &mut Outcomes, script: &str, place: &Place, port: u16) {
    let python = environment().join("bin/python");
    if !environment().join("installed").exists() {
        return outcomes.skip(script, "its Python packages are not installed");
    }
    let mut text = String::new();
    outcomes.run(script, &[], || {
        let file = process::root().join("interop/smb").join(format!("with_{script}.py"));
        let (file, port) = (file.to_string_lossy(), port.to_string());
        let files = place.folder.join("files").to_string_lossy().into_owned();
        let mut args = vec!["-B", &file, "--port", &port, "--share", "files", "--folder", &files];
        args.extend(["--user", ADA.name, "--password", ADA.password]);
        let output = process::output(&python, &args, LIMIT).context("python")?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", output.status, said.trim());
        Ok(())
    });
    outcomes.add_lines(script, &text);
}
