//! The folder that all servers share.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::rows::ComparisonRow;
use crate::{isolate, process};

const MIB: usize = 1 << 20;
/// The number of files in a folder that is listed.
const ENTRIES: usize = 10_000;
/// The number of files for the rows of many clients.
const CROWD: usize = 50;

/// Makes the folder. It belongs to `owner`.
pub fn prepare(owner: u32) -> Result<PathBuf> {
    let folder = process::root().join("target/compare/share");
    fs::create_dir_all(&folder)?;
    if isolate::is_isolated() {
        mount_fresh(&folder, &[])?;
    }
    clean(&folder)?;
    own(&folder, owner)?;
    Ok(folder)
}

/// Makes the files that the rows read and write, unless they exist.
pub fn fill<'a>(folder: &Path, rows: impl IntoIterator<Item = &'a ComparisonRow>) -> Result<()> {
    let owner = folder.metadata()?.uid();
    let needed: BTreeSet<&str> = rows.into_iter().flat_map(ComparisonRow::files).collect();
    for prefix in needed {
        match prefix {
            "one" => file(&folder.join("one.0"), 1024, owner)?,
            "many" => files(folder, "many", 10, 256, owner)?,
            "crowd" => files(folder, "crowd", CROWD, 48, owner)?,
            "dir" => entries(&folder.join("dir"), ENTRIES, owner)?,
            "mac" => prepare_mac(folder, owner)?,
            _ => {} // the load program makes it
        }
    }
    Ok(())
}

fn files(folder: &Path, prefix: &str, count: usize, mib: usize, owner: u32) -> Result<()> {
    (0..count).try_for_each(|client| file(&folder.join(format!("{prefix}.{client}")), mib, owner))
}

/// The folder without files.
pub fn prepare_empty() -> Result<PathBuf> {
    prepare_with(&[])
}

/// The folder without files, on a file system that has room for 2,000,000.
pub fn prepare_for_many() -> Result<PathBuf> {
    prepare_with(&["-N", "2000000"])
}

fn prepare_with(options: &[&str]) -> Result<PathBuf> {
    let folder = process::root().join("target/compare/share");
    fs::create_dir_all(&folder)?;
    mount_fresh(&folder, options)?;
    Ok(folder)
}

/// A folder of empty files.
pub fn entries(folder: &Path, count: usize, owner: u32) -> Result<()> {
    fs::create_dir_all(folder)?;
    own(folder, owner)?;
    for entry in 0..count {
        let path = folder.join(format!("entry-{entry:05}"));
        if !path.exists() {
            File::create(&path)?;
            own(&path, owner)?;
        }
    }
    Ok(())
}

/// The folder `mac`. Every second file has Finder info in the form of Netatalk and Samba.
fn prepare_mac(folder: &Path, owner: u32) -> Result<()> {
    let folder = folder.join("mac");
    entries(&folder, ENTRIES, owner)?;
    let (name, value) = ("user.org.netatalk.Metadata", netatalk_metadata(*b"TEXTttxt"));
    for entry in (0..ENTRIES).step_by(2) {
        let path = folder.join(format!("entry-{entry:05}"));
        rustix::fs::setxattr(&path, name, &value, rustix::fs::XattrFlags::empty())
            .with_context(|| format!("no extended attributes on {}", path.display()))?;
    }
    Ok(())
}

/// An AppleDouble header of version 2 with Netatalk's eight entries. Only the Finder info has
/// content.
fn netatalk_metadata(type_and_creator: [u8; 8]) -> [u8; 402] {
    const FINDER_INFO: usize = 122;
    // Id, offset, length: comment, dates, Finder info, attributes, and the file's former place
    // (device, inode, stamp, id).
    const PARTS: [[u32; 3]; 8] = [
        [4, 154, 0],
        [8, 354, 16],
        [9, FINDER_INFO as u32, 32],
        [14, 370, 4],
        [0x8044_4556, 374, 0],
        [0x8049_4E4F, 382, 0],
        [0x8053_567E, 398, 0],
        [0x8053_594E, 390, 0],
    ];
    let mut bytes = [0; 402];
    bytes[..8].copy_from_slice(&[0, 5, 0x16, 7, 0, 2, 0, 0]);
    bytes[25] = PARTS.len() as u8;
    for (i, word) in PARTS.iter().flatten().enumerate() {
        bytes[26 + 4 * i..30 + 4 * i].copy_from_slice(&word.to_be_bytes());
    }
    bytes[FINDER_INFO..FINDER_INFO + 8].copy_from_slice(&type_and_creator);
    bytes
}

/// Mounts a new file system over the folder, in a file beside it. On the host's own file system its
/// age would be measured, too. The mount ends with our mount namespace.
fn mount_fresh(folder: &Path, options: &[&str]) -> Result<()> {
    const BYTES: u64 = 12 << 30;
    let image = folder.with_file_name("share.img");
    let _ = fs::remove_file(&image); // there may be none
    File::create(&image)?.set_len(BYTES)?;
    let (image, folder) = (image.display().to_string(), folder.display().to_string());
    let mut mkfs = vec!["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    mkfs.extend(options);
    mkfs.push(&image);
    process::run("mkfs.ext4", &mkfs)?;
    process::run("mount", &["-o", "loop", &image, &folder])
}

/// A file of `mib` MiB with data that no layer can compress.
pub fn file(path: &Path, mib: usize, owner: u32) -> Result<()> {
    if path.metadata().is_ok_and(|m| m.len() == (mib * MIB) as u64) {
        return Ok(());
    }
    let mut file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut word = 0x9E37_79B9_7F4A_7C15_u64;
    let mut block = vec![0; MIB];
    for eight in block.chunks_exact_mut(8) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        eight.copy_from_slice(&word.to_le_bytes());
    }
    for number in 0..mib as u64 {
        block[..8].copy_from_slice(&number.to_le_bytes()); // no two blocks are equal
        file.write_all(&block)?;
    }
    own(path, owner)
}

/// Gives the file to the user of the load programs, if that is allowed.
fn own(path: &Path, owner: u32) -> Result<()> {
    if process::is_root() {
        chown(path, Some(owner), Some(owner))
            .with_context(|| format!("cannot give away {}", path.display()))?;
    }
    Ok(())
}

/// Removes the files of earlier runs.
fn clean(folder: &Path) -> Result<()> {
    ["new-", "kept-", "fresh-"].iter().try_for_each(|prefix| remove(folder, prefix))
}

/// Removes the files whose names begin so.
pub fn remove(folder: &Path, prefix: &str) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes back dirty data of earlier runs, so that no run pays for another, and reads the row's
/// files into the page cache.
pub fn warm(folder: &Path, prefix: &str) -> Result<()> {
    rustix::fs::sync();
    for client in 0..CROWD {
        let Ok(file) = File::open(folder.join(format!("{prefix}.{client}"))) else { break };
        std::io::copy(&mut BufReader::with_capacity(MIB, file), &mut std::io::sink())?;
    }
    Ok(())
}

/// The same for the beginning of a file.
pub fn warm_part(path: &Path, bytes: u64) -> Result<()> {
    rustix::fs::sync();
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    std::io::copy(&mut BufReader::with_capacity(MIB, file.take(bytes)), &mut std::io::sink())?;
    Ok(())
}

/// Writes to as much free memory as the largest new file needs, and frees it. A virtual machine gives memory that was
/// free for seconds back to its host. The first use of it then costs 3 s/GB, which is no server's work.
pub fn use_free_memory() {
    const BYTES: usize = 3 << 29;
    std::hint::black_box(vec![1_u8; BYTES]);
}
