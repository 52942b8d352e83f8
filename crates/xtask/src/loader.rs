//! Compiles our C programs, some with libnfs, libsmb2 and libiscsi, and runs them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::server::ExportAddress;

/// The program `interop/nfs/<name>.c`, compiled into `target/interop/` if it has changed.
pub fn compile(name: &str) -> Result<PathBuf> {
    let (from, program) =
        (process::root().join("interop/nfs").join(name).with_extension("c"), program(name)?);
    if is_current(&program, &from, "nfs/rpc.h") {
        return Ok(program);
    }
    cc(&from, &program, &["-lnfs".to_owned()]).context("it needs libnfs-dev")?;
    Ok(program)
}

/// The program `interop/coherence/nfs3.c`.
pub fn compile_coherence() -> Result<PathBuf> {
    let (from, program) = (process::root().join("interop/coherence/nfs3.c"), program("coherence-nfs3")?);
    if !is_current(&program, &from, "nfs/rpc.h") {
        cc(&from, &program, &["-lnfs".to_owned()]).context("it needs libnfs-dev")?;
    }
    Ok(program)
}

/// The instructions for a machine without libsmb2.
pub const NO_LIBSMB2: &str = "libsmb2 is missing, with which the load program speaks SMB. Debian 13 has it: apt-get install \
libsmb2-dev. Before that, build it by hand from its source (cmake, with BUILD_SHARED_LIBS off) and say where its headers and \
libsmb2.a are: --libsmb2 DIR";

/// The program `interop/smb/load.c`. `None` if libsmb2 is not found. `given` is a folder with it.
pub fn compile_smb(given: Option<&Path>) -> Result<Option<PathBuf>> {
    let (from, program) = (process::root().join("interop/smb/load.c"), program("smb-load")?);
    let options = match given {
        Some(folder) => Some(libsmb2_in(folder)?),
        None => pkg_config("libsmb2"),
    };
    let Some(options) = options else { return Ok(None) };
    cc(&from, &program, &options).context("with libsmb2")?;
    Ok(Some(program))
}

/// The program `interop/afp/load.c`, which needs no library.
pub fn compile_afp() -> Result<PathBuf> {
    let (from, program) = (process::root().join("interop/afp/load.c"), program("afp-load")?);
    cc(&from, &program, &[])?;
    Ok(program)
}

/// The library `interop/appletalk/timers.c`, for the same reason without a C library.
pub fn compile_timers() -> Result<PathBuf> {
    let (from, library) =
        (process::root().join("interop/appletalk/timers.c"), program("appletalk-timers.so")?);
    cc(&from, &library, &["-shared", "-fPIC", "-nostdlib"].map(str::to_owned))?;
    Ok(library)
}

/// The library `interop/afp/limits.c`, which is loaded before the C library of another release, and so uses none.
pub fn compile_limits() -> Result<PathBuf> {
    let (from, library) = (process::root().join("interop/afp/limits.c"), program("afp-limits.so")?);
    cc(&from, &library, &["-shared", "-fPIC", "-nostdlib"].map(str::to_owned))?;
    Ok(library)
}

/// The program `interop/iscsi/load.c`.
pub fn compile_iscsi() -> Result<PathBuf> {
    let (from, program) = (process::root().join("interop/iscsi/load.c"), program("iscsi-load")?);
    cc(&from, &program, &["-liscsi".to_owned()]).context("it needs libiscsi-dev")?;
    Ok(program)
}

/// The program `interop/linux/files.c`, linked so that it runs in a virtual machine, too.
pub fn compile_guest() -> Result<PathBuf> {
    let (from, program) = (process::root().join("interop/linux/files.c"), program("linux-files")?);
    if !is_current(&program, &from, "common.h") {
        cc(&from, &program, &["-static", "-pthread"].map(str::to_owned))?;
    }
    Ok(program)
}

/// The library `interop/iscsi/preload.c`, which is loaded before libiscsi.
pub fn compile_preload() -> Result<PathBuf> {
    let (from, library) = (process::root().join("interop/iscsi/preload.c"), program("iscsi-preload.so")?);
    if !is_current(&library, &from, "common.h") {
        cc(&from, &library, &["-shared", "-fPIC", "-ldl"].map(str::to_owned))
            .context("it needs libiscsi-dev")?;
    }
    Ok(library)
}

/// The compiler's options for a folder that `make install` or a build has filled.
fn libsmb2_in(folder: &Path) -> Result<Vec<String>> {
    let archives = ["libsmb2.a", "lib/libsmb2.a", "build/lib/libsmb2.a"].map(|name| folder.join(name));
    let Some(archive) = archives.into_iter().find(|path| path.exists()) else {
        bail!("there is no libsmb2.a in {}", folder.display());
    };
    let headers = if folder.join("include").is_dir() { folder.join("include") } else { folder.to_path_buf() };
    Ok(vec![format!("-I{}", headers.display()), archive.display().to_string()])
}

fn pkg_config(library: &str) -> Option<Vec<String>> {
    let output =
        process::output("pkg-config", &["--cflags", "--libs", library], Duration::from_secs(10)).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.split_whitespace().map(str::to_owned).collect())
}

fn program(name: &str) -> Result<PathBuf> {
    let folder = process::root().join("target/interop");
    std::fs::create_dir_all(&folder)?;
    Ok(folder.join(name))
}

fn cc(source: &Path, program: &Path, options: &[String]) -> Result<()> {
    let (from, to) = (source.to_string_lossy(), program.to_string_lossy());
    let mut args = vec!["-O2", "-Wall", "-D_FILE_OFFSET_BITS=64", &from, "-o", &to];
    args.extend(options.iter().map(String::as_str));
    process::run("cc", &args).with_context(|| format!("cannot compile {from}"))
}

/// Whether the program is newer than its source, the protocol's own header and the common headers.
fn is_current(program: &Path, source: &Path, header: &str) -> bool {
    let headers = [header, "common.h", "load.h"].map(|header| process::root().join("interop").join(header));
    is_newer(program, source) && headers.iter().all(|header| is_newer(program, header))
}

fn is_newer(program: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    matches!((time(program), time(source)), (Some(made), Some(written)) if made > written)
}

/// The result of one run of the load program.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct LoadResult {
    pub workload: String,
    pub ops: u64,
    pub bytes: i64,
    pub errors: u64,
    pub seconds: f64,
    /// The server's CPU time.
    pub cpu: f64,
    /// The load program's own, its start included.
    pub client_cpu: f64,
    /// The CPU time of all other programs in the same time.
    pub others_cpu: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    #[serde(default)]
    pub max_us: f64,
    /// Bytes that disturbing clients moved in the same time.
    #[serde(default)]
    pub beside: u64,
    /// Small operations of connections that are held in the same time.
    #[serde(default)]
    pub beside_ops: u64,
    /// What the server took for these.
    #[serde(default)]
    pub held_kib: i64,
    /// For paced streams: how often no data came for more than 100 ms.
    #[serde(default)]
    pub gaps: u64,
    #[serde(default)]
    pub longest_gap_ms: f64,
    /// The slowest client's speed as a part of the mean.
    #[serde(default)]
    pub fairness: f64,
    /// The part of the speed that remains beside idle connections.
    #[serde(default)]
    pub kept: f64,
    pub pss_kib: i64,
}

/// An NFS server's address as options of the load program.
pub fn nfs_options(to: &ExportAddress) -> Vec<String> {
    let (nfs, mount, id) = (to.nfs_port.to_string(), to.mount_port.to_string(), crate::server::UID_TEXT);
    let options =
        ["--export", &to.export, "--nfs-port", &nfs, "--mount-port", &mount, "--uid", id, "--gid", id];
    options.map(str::to_owned).to_vec()
}

/// Runs the load program against the server of that process.
pub fn load(program: &Path, args: &[String], pid: u32) -> Result<LoadResult> {
    let pid = pid.to_string();
    let mut all: Vec<&str> = args.iter().map(String::as_str).collect();
    all.extend(["--pid", &pid]);
    let text = process::stdout_of(program, &all, Duration::from_secs(300))?;
    let measured: LoadResult = serde_json::from_str(&text).with_context(|| format!("load said {text:?}"))?;
    if measured.errors > 0 {
        bail!("load {}: {} of {} operations failed", args.join(" "), measured.errors, measured.ops);
    }
    Ok(measured)
}
