//! The program in packages: stripped, and what it needs of the machine where it runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::LIMIT;
use crate::process;

/// The stripped program.
pub struct PackagedProgram {
    pub bytes: Vec<u8>,
    /// The stripped file. It can be run.
    pub file: PathBuf,
    /// The libraries that the loader adds, and the loader. None for a static program.
    pub libraries: Vec<PathBuf>,
}

impl PackagedProgram {
    /// Strips `binary` into `folder`. The file itself stays as it is.
    pub fn stripped(binary: &Path, folder: &Path) -> Result<Self> {
        ensure!(binary.is_file(), "there is no program {}; compile it first", binary.display());
        let file = folder.join("fourfold");
        let (from, to) = (binary.display().to_string(), file.display().to_string());
        process::stdout_of("strip", &["--strip-unneeded", "-R", ".comment", "-o", &to, &from], LIMIT)
            .context("cannot strip the program; `strip` is in the Debian package binutils")?;
        let bytes = std::fs::read(&file)?;
        Ok(Self { libraries: libraries(&file)?, bytes, file })
    }

    pub fn is_static(&self) -> bool {
        self.libraries.is_empty()
    }

    /// The oldest glibc that has all symbols of the program; `None` for a static one.
    pub fn glibc(&self) -> Option<(u32, u32)> {
        (!self.is_static()).then(|| newest_glibc(&self.bytes)).flatten()
    }

    /// What it needs, for people.
    pub fn needs(&self) -> String {
        match self.glibc() {
            Some((major, minor)) => format!("needs glibc {major}.{minor} or later"),
            None => "static".to_owned(),
        }
    }

    /// Debian's name of the processor.
    pub fn debian_architecture(&self) -> Result<&'static str> {
        Ok(if self.machine()? == "aarch64" { "arm64" } else { "amd64" })
    }

    /// The processor for which the program is, from the head of the ELF file.
    pub fn machine(&self) -> Result<&'static str> {
        match self.bytes.get(18..20) {
            Some([0x3e, 0]) => Ok("x86_64"),
            Some([0xb7, 0]) => Ok("aarch64"),
            other => Err(anyhow::anyhow!(
                "the program is for an unknown processor ({other:?}); packages are for x86_64 and aarch64"
            )),
        }
    }
}

/// The newest version among the names of symbol versions, `GLIBC_2.34`. They are text in the file.
fn newest_glibc(bytes: &[u8]) -> Option<(u32, u32)> {
    const NAME: &[u8] = b"GLIBC_";
    let version = |rest: &[u8]| {
        let text: String = rest
            .iter()
            .take(8)
            .take_while(|b| b.is_ascii_digit() || **b == b'.')
            .map(|b| *b as char)
            .collect();
        let mut numbers = text.split('.').map(|part| part.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    };
    let names = bytes.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    names.filter_map(|(at, _)| version(&bytes[at + NAME.len()..])).max()
}

/// The files that `ldd` names. A static program has none.
fn libraries(file: &Path) -> Result<Vec<PathBuf>> {
    let output = process::output("ldd", &[&file.display().to_string()], LIMIT)?;
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

fn listed(ldd: &str) -> Vec<PathBuf> {
    let file = |line: &str| {
        let line = line.trim();
        let (path, _) = line.rsplit_once(" (0x")?;
        let path = path.rsplit(" => ").next()?;
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    ldd.lines().filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_files_and_not_what_the_kernel_adds() {
        let ldd = "\tlinux-vdso.so.1 (0x00007ffc3b5f6000)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f5)\n\
                   \t/lib64/ld-linux-x86-64.so.2 (0x00007f6)\n";
        assert_eq!(
            listed(ldd),
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from)
        );
        assert!(listed("\tstatically linked\n").is_empty());
    }

    #[test]
    fn versions_of_glibc_are_compared_as_numbers() {
        assert_eq!(newest_glibc(b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.4\0GLIBC_PRIVATE\0"), Some((2, 34)));
        assert_eq!(newest_glibc(b"\0"), None);
    }
}
