//! The kernel of the virtual machine, from Debian's package, and its first file system, made of
//! this machine's programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Guest;
use super::archive::Archive;
use crate::process;

const LIMIT: Duration = Duration::from_secs(120);
const INIT: &str = "interop/guest/init.sh";
const WORDS: &str = "interop/guest/words.sh";

/// Where programs of Debian for x86-64 have their loader and their libraries.
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Which of Debian's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// The one for virtual machines.
    Cloud,
    /// The one with all modules: only that has the handlers of SCSI devices (`CONFIG_SCSI_DH`).
    Full,
}

impl Kernel {
    /// The package that always depends on the newest one.
    fn package(self) -> &'static str {
        match self {
            Self::Cloud => "linux-image-cloud-amd64",
            Self::Full => "linux-image-amd64",
        }
    }

    /// The name of the folder of the unpacked package, below `target`.
    fn name(self) -> &'static str {
        match self {
            Self::Cloud => "linux-guest",
            Self::Full => "linux-guest-full",
        }
    }

    fn folder(self) -> PathBuf {
        process::root().join("target").join(self.name())
    }
}

/// Fetches the kernel, unless it exists. That needs the outside network.
pub fn fetch_kernel(which: Kernel) -> Result<()> {
    if cfg!(not(target_arch = "x86_64")) || kernel(which).is_ok() {
        return Ok(());
    }
    let depends = said("apt-cache", &["depends", which.package()])?;
    let package = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    let package = format!("linux-image-{}", package.context("the package has no kernel")?);
    let folder = process::fresh_folder(which.name())?;
    let script = "cd \"$0\" && apt-get download -q \"$1\" && dpkg-deb -x *.deb new && mv new/* . && rm *.deb";
    said("sh", &["-c", script, &folder.to_string_lossy(), &package]).map(drop)
}

/// The kernel, and the folder of its modules.
pub fn kernel(which: Kernel) -> Result<(PathBuf, PathBuf)> {
    let only = |folder: PathBuf, name: &str| {
        let mut entries = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.find(|path| path.to_string_lossy().contains(name))
    };
    let image = only(which.folder().join("boot"), "/vmlinuz-").context("no kernel was fetched")?;
    let modules = only(which.folder().join("lib/modules"), "-").context("the kernel has no modules")?;
    Ok((image, modules))
}

/// The kernel and the archive of the first file system, which is written into `work`.
pub fn make(guest: &Guest<'_>, work: &Path) -> Result<(PathBuf, PathBuf)> {
    let (image, modules) = kernel(guest.kernel)?;
    let mut archive = Archive::default();
    let busybox = process::find("busybox").context("busybox is not installed")?;
    archive.file("bin/busybox", 0o755, &fs::read(busybox)?);
    add_modules(&mut archive, &modules, guest)?;
    for program in guest.programs {
        if let Some(system) = &guest.system {
            add_program_of(system, program, &mut archive)?;
        } else {
            let path = process::find(program).with_context(|| format!("{program} is not installed"))?;
            add_program(&mut archive, &path)?;
        }
    }
    for (name, mode, from) in [("init", 0o755, INIT), ("words.sh", 0o644, WORDS)] {
        archive.file(name, mode, &fs::read(process::root().join(from))?);
    }
    archive.file("settings", 0o644, guest.settings.as_bytes());
    for (name, contents) in &guest.checks {
        archive.file(&format!("checks/{name}"), 0o755, contents);
    }
    let initial = work.join("initial.cpio");
    fs::write(&initial, archive.end())?;
    Ok((image, initial))
}

/// Adds the modules and those that they depend on. Modules that are not listed are built in.
fn add_modules(archive: &mut Archive, modules: &Path, guest: &Guest<'_>) -> Result<()> {
    let version = modules.file_name().context("no version")?.to_string_lossy().into_owned();
    said("depmod", &["-b", &guest.kernel.folder().to_string_lossy(), &version])?;
    let listed = fs::read_to_string(modules.join("modules.dep"))?;
    let mut wanted = BTreeSet::new();
    for name in guest.modules {
        let line = listed
            .lines()
            .find(|line| line.split(':').next().is_some_and(|path| path.contains(&format!("/{name}.ko"))));
        wanted.extend(line.into_iter().flat_map(|line| line.split_whitespace()));
    }
    ensure!(!wanted.is_empty(), "modules.dep lists no module");
    let here = format!("lib/modules/{version}");
    for path in wanted.iter().map(|path| path.trim_end_matches(':')) {
        archive.file(&format!("{here}/{path}"), 0o644, &fs::read(modules.join(path))?);
    }
    for name in ["modules.dep", "modules.alias", "modules.softdep", "modules.builtin"] {
        if let Ok(contents) = fs::read(modules.join(name)) {
            archive.file(&format!("{here}/{name}"), 0o644, &contents);
        }
    }
    archive.file("modules", 0o644, format!("{}\n", guest.modules.join("\n")).as_bytes());
    Ok(())
}

/// A program, and the libraries that it is linked with.
fn add_program(archive: &mut Archive, path: &Path) -> Result<()> {
    let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
    archive.file(&format!("bin/{name}"), 0o755, &fs::read(path)?);
    let libraries = said("ldd", &[&path.to_string_lossy()])?;
    for word in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        archive.file(word.trim_start_matches('/'), 0o755, &fs::read(word)?);
    }
    Ok(())
}

/// Adds a file of an unpacked system with programs for x86-64, and the libraries of that system that it is linked with. The loader there
/// finds them.
fn add_program_of(system: &Path, program: &str, archive: &mut Archive) -> Result<()> {
    let at = |path: &str| system.join(path).to_string_lossy().into_owned();
    let (program_path, libraries) = (at(program), at(LIBRARIES));
    let listed = said(&at(LOADER), &["--library-path", &libraries, "--list", &program_path])?;
    let within = format!("{}/", system.display());
    let used = listed.split_whitespace().filter_map(|word| word.strip_prefix(&within));
    for path in used.chain([LOADER, program]) {
        archive.file(path, 0o755, &fs::read(system.join(path)).with_context(|| at(path))?);
    }
    Ok(())
}

fn said(program: &str, args: &[&str]) -> Result<String> {
    process::stdout_of(program, args, LIMIT)
}
