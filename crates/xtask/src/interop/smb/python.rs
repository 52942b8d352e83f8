//! Clients in Python: packages of Python's registry, in an environment below `target/`, and
//! Debian's binding of libsmbclient.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::libraries;
use super::place::SmbPlace;
use crate::interop::outcome::Outcomes;
use crate::{process, samba};

const LIMIT: Duration = Duration::from_secs(90);

/// The scripts `interop/smb/with_<name>.py`.
pub const SCRIPTS: &[&str] = &["smbprotocol", "impacket", "pysmb", LIBSMBCLIENT];
/// The script that needs no environment.
const LIBSMBCLIENT: &str = "libsmbclient";
/// The system's Python: the first one on the path may be a wrapper that works only elsewhere.
const PYTHON: &str = "/usr/bin/python3";

fn environment() -> PathBuf {
    process::root().join("target/interop-python")
}

fn requirements() -> PathBuf {
    process::root().join("interop/smb/requirements.txt")
}

/// Makes the environment, unless the wanted one is there. That needs the outside network.
pub fn install() -> Result<()> {
    let (folder, wanted) = (environment(), fs::read_to_string(requirements())?);
    if fs::read_to_string(folder.join("installed")).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let _ = fs::remove_dir_all(&folder); // there may be none
    process::run(PYTHON, &["-m", "venv", &folder.to_string_lossy()])?;
    let pip = folder.join("bin/pip").to_string_lossy().into_owned();
    let list = requirements().to_string_lossy().into_owned();
    process::run(&pip, &["install", "-q", "--disable-pip-version-check", "-r", &list])?;
    Ok(fs::write(folder.join("installed"), wanted)?)
}

/// Whether the environment is there.
pub fn is_installed() -> bool {
    environment().join("installed").exists()
}

/// The interpreter of the environment.
pub fn program() -> PathBuf {
    environment().join("bin/python")
}

/// One script.
pub fn run(outcomes: &mut Outcomes, script: &str, place: &SmbPlace, port: u16) {
    let mut python = program().to_string_lossy().into_owned();
    if script == LIBSMBCLIENT {
        if !Path::new("/usr/share/doc/python3-smbc").exists() {
            return outcomes.skip(script, "python3-smbc is not installed");
        }
        python = PYTHON.to_owned();
    } else if !is_installed() {
        return outcomes.skip(script, "its Python packages are not installed");
    }
    let file = process::root().join("interop/smb").join(format!("with_{script}.py"));
    libraries::session(outcomes, script, place, port, |args| {
        let configuration = samba::client_configuration(&place.folder.join("client"))?;
        let configuration = format!("SMB_CONF_PATH={}", configuration.display()); // for libsmbclient
        let file = file.to_string_lossy();
        let command = [&configuration, python.as_str(), "-B", &file];
        process::output("env", &[&command, args].concat(), LIMIT)
    });
}
