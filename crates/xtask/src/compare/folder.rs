//! The folder both servers share.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::isolate;
use crate::process;
use crate::server::UID;

const MIB: usize = 1 << 20;

/// Makes the files all rows read and write, where they are not there yet.
pub fn prepare() -> Result<PathBuf> {
    let folder = process::root().join("target/compare/share");
    fs::create_dir_all(&folder)?;
    if isolate::is_isolated() {
        mount_fresh(&folder)?;
    }
    clean(&folder)?;
    fs::create_dir_all(folder.join("dir"))?;
    own(&folder)?;
    own(&folder.join("dir"))?;
    file(&folder.join("one.0"), 1024)?;
    for client in 0..10 {
        file(&folder.join(format!("many.{client}")), 256)?;
    }
    for entry in 0..10_000 {
        let path = folder.join(format!("dir/entry-{entry:05}"));
        if !path.exists() {
            File::create(&path)?;
            own(&path)?;
        }
    }
    Ok(folder)
}

/// A new file system for the folder, in a file beside it: the age of the host's own would be measured, too. It goes with
/// our mount namespace.
fn mount_fresh(folder: &Path) -> Result<()> {
    const BYTES: u64 = 12 << 30;
    let image = folder.with_file_name("share.img");
    let _ = fs::remove_file(&image); // there may be none
    File::create(&image)?.set_len(BYTES)?;
    let (image, folder) = (image.display().to_string(), folder.display().to_string());
    process::run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", &image])?;
    process::run("mount", &["-o", "loop", &image, &folder])
}

/// A file of so many MiB that no layer can shorten.
fn file(path: &Path, mib: usize) -> Result<()> {
    if path.metadata().is_ok_and(|m| m.len() == (mib * MIB) as u64) {
        return Ok(());
    }
    let mut file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut word = 0x9E37_79B9_7F4A_7C15_u64;
    let mut block = vec![0; MIB];
    for _ in 0..mib {
        for eight in block.chunks_exact_mut(8) {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            eight.copy_from_slice(&word.to_le_bytes());
        }
        file.write_all(&block)?;
    }
    own(path)
}

/// Gives it to the user the load programs claim to be, where we may.
fn own(path: &Path) -> Result<()> {
    if process::is_root() {
        chown(path, Some(UID), Some(UID)).with_context(|| format!("cannot give away {}", path.display()))?;
    }
    Ok(())
}

/// Removes what runs before have left.
fn clean(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("new-")
            || entry.file_name().to_string_lossy().starts_with("kept-")
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes back what earlier runs left dirty, so that no run pays for another, and has the row's files in the page cache.
pub fn warm(folder: &Path, prefix: &str) -> Result<()> {
    rustix::fs::sync();
    let mut block = vec![0; MIB];
    for client in 0..10 {
        let Ok(mut file) = File::open(folder.join(format!("{prefix}.{client}"))) else { break };
        while std::io::Read::read(&mut file, &mut block)? > 0 {}
    }
    Ok(())
}
