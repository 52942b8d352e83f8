//! A small virtual machine: Debian's kernel, taken out of its package, and a first file system made of this machine's programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::place::{said, text};
use crate::process;

/// The package that always depends on the newest kernel for virtual machines.
const KERNEL: &str = "linux-image-cloud-amd64";
const LIMIT: Duration = Duration::from_secs(120);
/// What the kernel has as modules, or built in.
const MODULES: &[&str] =
    &["virtio_pci", "virtio_net", "virtio-rng", "iscsi_tcp", "sd_mod", "sg", "ext4", "crc32c_generic"];
const PROGRAMS: &[&str] = &[
    "iscsid",
    "iscsiadm",
    "mkfs.ext4",
    "e2fsck",
    "fstrim",
    "blkdiscard",
    "sg_inq",
    "sg_vpd",
    "sg_readcap",
    "sg_opcodes",
    "sg_persist",
    "sg_unmap",
    "sg_write_same",
    "sg_get_lba_status",
    "sg_compare_and_write",
];

/// Where the kernel's package is unpacked.
fn folder() -> PathBuf {
    process::root().join("target/linux-guest")
}

/// Fetches the kernel, which needs the outside network, unless it is here.
pub fn fetch() -> Result<()> {
    if cfg!(not(target_arch = "x86_64")) || kernel().is_ok() {
        return Ok(());
    }
    let depends = said("apt-cache", &["depends", KERNEL])?;
    let package = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    let package = format!("linux-image-{}", package.context("the package has no kernel")?);
    let folder = process::fresh_folder("linux-guest")?;
    let script = "cd \"$0\" && apt-get download -q \"$1\" && dpkg-deb -x *.deb new && mv new/* . && rm *.deb";
    process::stdout_of("sh", &["-c", script, &text(&folder), &package], LIMIT).map(drop)
}

/// The kernel, and the folder of its modules.
fn kernel() -> Result<(PathBuf, PathBuf)> {
    let only = |folder: PathBuf, name: &str| {
        let mut entries = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.find(|path| text(path).contains(name))
    };
    let image = only(folder().join("boot"), "/vmlinuz-").context("no kernel was fetched")?;
    let modules = only(folder().join("lib/modules"), "-").context("the kernel has no modules")?;
    Ok((image, modules))
}

/// The kernel and the first file system, with the files given beside the programs.
pub fn make(work: &Path, more: &[(&str, u32, Vec<u8>)]) -> Result<(PathBuf, PathBuf)> {
    let (image, modules) = kernel()?;
    let mut archive = Archive::default();
    let busybox = process::find("busybox").context("no busybox")?;
    archive.file("bin/busybox", 0o755, &fs::read(busybox)?);
    add_modules(&mut archive, &modules)?;
    for program in PROGRAMS {
        let path = process::find(program).with_context(|| format!("{program} is not installed"))?;
        add_program(&mut archive, &path)?;
    }
    for (name, mode, contents) in more {
        archive.file(name, *mode, contents);
    }
    let initial = work.join("initial.cpio");
    fs::write(&initial, archive.end())?;
    Ok((image, initial))
}

/// The modules and those that they depend on; what is not listed is built in.
fn add_modules(archive: &mut Archive, modules: &Path) -> Result<()> {
    let version = modules.file_name().context("no version")?.to_string_lossy().into_owned();
    said("depmod", &["-b", &text(&folder()), &version])?;
    let listed = fs::read_to_string(modules.join("modules.dep"))?;
    let mut wanted = BTreeSet::new();
    for name in MODULES {
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
    archive.file("modules", 0o644, format!("{}\n", MODULES.join("\n")).as_bytes());
    Ok(())
}

/// A program, and the libraries that it is linked with.
fn add_program(archive: &mut Archive, path: &Path) -> Result<()> {
    let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
    archive.file(&format!("bin/{name}"), 0o755, &fs::read(path)?);
    for word in said("ldd", &[&text(path)])?.split_whitespace().filter(|word| word.starts_with('/')) {
        archive.file(word.trim_start_matches('/'), 0o755, &fs::read(word)?);
    }
    Ok(())
}

/// An archive of the form that the kernel unpacks (its Documentation/driver-api/early-userspace/buffer-format.rst): `newc`.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    names: BTreeSet<String>,
}

impl Archive {
    const FOLDER: u32 = 0o040_755;
    const FILE: u32 = 0o100_000;

    /// A file, and the folders above it; what is there already stays.
    fn file(&mut self, name: &str, mode: u32, contents: &[u8]) {
        for (at, _) in name.match_indices('/') {
            self.entry(&name[..at], Self::FOLDER, &[]);
        }
        self.entry(name, Self::FILE | mode, contents);
    }

    fn entry(&mut self, name: &str, mode: u32, contents: &[u8]) {
        if !self.names.insert(name.to_owned()) {
            return;
        }
        // Magic; inode, mode, user, group, links, time, size; four device numbers; the name's length with its NUL; checksum.
        let inode = self.names.len();
        let (size, length) = (contents.len(), name.len() + 1);
        let header = format!(
            "070701{inode:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{0:08x}{size:08x}{0:08x}{0:08x}{0:08x}{0:08x}{length:08x}{0:08x}",
            0, 1
        );
        self.bytes.extend(header.as_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

/// Why no machine can be started here.
pub fn why_not() -> Result<()> {
    if cfg!(not(target_arch = "x86_64")) {
        bail!("the virtual machine is for x86-64 only");
    }
    for program in PROGRAMS.iter().chain(&["busybox", "depmod", "qemu-system-x86_64"]) {
        ensure!(process::find(program).is_some(), "{program} is not installed");
    }
    kernel().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_every_folder_once_and_ends_with_its_trailer() {
        let mut archive = Archive::default();
        archive.file("a/b/c", 0o644, b"hello");
        archive.file("a/d", 0o755, b"");
        let bytes = archive.end();
        let names: Vec<_> =
            bytes.windows(6).enumerate().filter(|(_, magic)| magic == b"070701").map(|(at, _)| at).collect();
        assert_eq!(names.len(), 5); // a, a/b, a/b/c, a/d, the trailer
        assert!(names.iter().all(|at| at % 4 == 0));
        assert_eq!(&bytes[110..112], b"a\0");
        assert!(bytes.len() % 4 == 0 && bytes.windows(11).any(|name| name == b"TRAILER!!!\0"));
    }
}
