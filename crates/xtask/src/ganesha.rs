//! NFS-Ganesha with its VFS back end, as peers.md measured it: 1 MiB transfers, no UDP, no squash.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::ports;
use crate::process::{self, Running};
use crate::server::{ExportAddress, Server};

/// Starts it over `folder`. Its files go to `place` below the root. It requires a portmapper, so
/// one is started if none answers. (Ganesha outlives it: it registers only at its start.)
pub fn start(folder: &Path, place: &Path) -> Result<Server> {
    let place = process::root().join(place);
    std::fs::create_dir_all(&place)?;
    let _portmapper = portmapper(&place)?;
    let (nfs_port, mount_port) = (ports::free_port()?, ports::free_port()?);
    let config = place.join("ganesha.conf");
    std::fs::write(&config, configuration(folder, &place, nfs_port, mount_port))?;
    let (config, log, pid) =
        (path(&config), path(&place.join("ganesha.log")), path(&place.join("ganesha.pid")));
    let _ = std::fs::remove_file(&log);
    let _ = std::fs::remove_file(&pid);
    let program =
        process::find("ganesha.nfsd").context("ganesha.nfsd is missing: apt-get install nfs-ganesha-vfs")?;
    let args = ["-F", "-f", &config, "-L", &log, "-p", &pid];
    let mut running = Running::start(program, &args, Stdio::null(), Stdio::null())?;
    for port in [nfs_port, mount_port] {
        process::wait_for_port(&mut running, port, Duration::from_secs(20))
            .with_context(|| format!("Ganesha does not start; see {log}"))?;
    }
    let address = ExportAddress { export: "/share".into(), nfs_port, mount_port };
    Ok(Server { running, address, greeting: Vec::new() })
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A portmapper on this host, unless one answers already.
fn portmapper(place: &Path) -> Result<Option<Running>> {
    if std::net::TcpStream::connect(("127.0.0.1", 111)).is_ok() {
        return Ok(None);
    }
    let program = process::find("rpcbind").context("rpcbind is missing, and Ganesha needs it")?;
    let log = process::log_file(&place.join("rpcbind.log"))?;
    let mut running = Running::start(program, &["-f", "-w"], Stdio::null(), log)?;
    process::wait_for_port(&mut running, 111, Duration::from_secs(30))?;
    Ok(Some(running))
}

fn configuration(folder: &Path, place: &Path, nfs_port: u16, mount_port: u16) -> String {
    let (folder, place) = (folder.display(), place.display());
    format!(
        "NFS_CORE_PARAM {{ NFS_Port = {nfs_port}; MNT_Port = {mount_port}; Protocols = 3, 4; Enable_UDP = false;
                  Enable_NLM = false; Enable_RQUOTA = false; Mount_Path_Pseudo = true; RPC_Max_Connections = 10000; }}
NFSV4 {{ Graceless = true; RecoveryRoot = {place}; }}
LOG {{ Default_Log_Level = CRIT; }}
EXPORT {{ Export_Id = 1; Path = {folder}; Pseudo = /share; Protocols = 3, 4; Transports = TCP; Access_Type = RW;
         Squash = No_Root_Squash; SecType = sys; PrivilegedPort = false;
         MaxRead = 1048576; MaxWrite = 1048576; PrefRead = 1048576; PrefWrite = 1048576;
         FSAL {{ Name = VFS; }} }}
"
    )
}
