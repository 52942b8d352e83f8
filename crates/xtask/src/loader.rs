//! Compiles our C programs against libnfs and runs them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::server::Address;

/// The program `interop/nfs/<name>.c`, compiled into `target/interop/` when it changed.
pub fn compile(name: &str) -> Result<PathBuf> {
    let sources = process::root().join("interop/nfs");
    let folder = process::root().join("target/interop");
    std::fs::create_dir_all(&folder)?;
    let (source, program) = (sources.join(name).with_extension("c"), folder.join(name));
    let shared =
        ["nfs/rpc.h", "common.h", "load.h"].map(|header| process::root().join("interop").join(header));
    if is_newer(&program, &source) && shared.iter().all(|header| is_newer(&program, header)) {
        return Ok(program);
    }
    let (from, to) = (source.to_string_lossy(), program.to_string_lossy());
    let args = ["-O2", "-Wall", "-D_FILE_OFFSET_BITS=64", &from, "-o", &to, "-lnfs"];
    process::run("cc", &args).with_context(|| format!("cannot compile {from}; it needs libnfs-dev"))?;
    Ok(program)
}

fn is_newer(program: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    matches!((time(program), time(source)), (Some(made), Some(written)) if made > written)
}

/// What one run of the load program says.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct Measured {
    pub workload: String,
    pub ops: u64,
    pub bytes: i64,
    pub errors: u64,
    pub seconds: f64,
    /// The server's.
    pub cpu: f64,
    /// The load program's own, its start included.
    pub client_cpu: f64,
    /// What everything else on the machine used meanwhile.
    pub others_cpu: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub pss_kib: i64,
}

/// Runs the load program against a server.
pub fn load(program: &Path, args: &[&str], to: &Address, pid: u32) -> Result<Measured> {
    let (nfs, mount, pid) = (to.nfs_port.to_string(), to.mount_port.to_string(), pid.to_string());
    let mut all = args.to_vec();
    all.extend(["--export", &to.export, "--nfs-port", &nfs, "--mount-port", &mount, "--pid", &pid]);
    all.extend(["--uid", crate::server::UID_TEXT, "--gid", crate::server::UID_TEXT]);
    let text = process::stdout_of(program, &all, Duration::from_secs(300))?;
    let measured: Measured = serde_json::from_str(&text).with_context(|| format!("load said {text:?}"))?;
    if measured.errors > 0 {
        bail!("load {}: {} of {} operations failed", args.join(" "), measured.errors, measured.ops);
    }
    Ok(measured)
}
