//! How fast the disk of a folder is read by several readers at a time: past the page cache, each from a place of its own to the
//! next, as players do. It reads files that are there. Where they are too few, a file without a name is written first.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, Mode, OFlags};

use super::failure;
use crate::{Error, Result};

/// How long is read.
const FOR: Duration = Duration::from_secs(2);
/// One read.
const BLOCK: usize = 1 << 20;
/// Direct reads need memory at such a boundary.
const ALIGNED: usize = 4096;
/// The files must have so many bytes together, or the caches of the disk answer.
const ENOUGH: u64 = 1 << 30;
/// Smaller files are left out.
const SMALLEST: u64 = 64 << 20;
/// The most files that are read, and entries that are looked at to find them.
const MOST_FILES: usize = 32;
const MOST_ENTRIES: usize = 50_000;
/// A file that is written for this must leave so many times its length free.
const FREE: u64 = 4;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadSpeed {
    /// Bytes per second of all readers together.
    pub bytes_per_s: u64,
    /// The host has no reads past the page cache there, so this may be the speed of memory.
    pub may_be_memory: bool,
}

/// Something to read, from here on.
struct Source {
    file: OwnedFd,
    from: u64,
    size: u64,
}

/// Measures with so many readers. `goes_on` is told the bytes that were read, and ends the measurement with `false`. All of
/// this blocks, for some seconds.
///
/// # Errors
/// The folder has too few data, and nothing can be written there: `NotSupported`, `ReadOnly`, `NoSpace`; errors of the disk.
pub fn read_speed(folder: &Path, readers: usize, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<ReadSpeed> {
    let mut files = largest(folder);
    if files.iter().map(|(_, size)| size).sum::<u64>() < ENOUGH {
        files.clear();
    }
    let scratch = if files.is_empty() { Some(written(folder, goes_on)?) } else { None };
    let (mut sources, mut may_be_memory) = (Vec::new(), false);
    for number in 0..readers.max(1) {
        let (path, size) = match &scratch {
            Some(file) => (PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())), ENOUGH),
            None => files[number % files.len()].clone(),
        };
        let (file, is_direct) = opened(&path, scratch.is_some())?;
        may_be_memory |= !is_direct;
        // Readers of one file begin at places apart.
        let sharing = if scratch.is_some() { readers.max(1) } else { readers.div_ceil(files.len()).max(1) };
        let part = if scratch.is_some() { number } else { number / files.len() };
        let from = size / sharing as u64 * part as u64 / BLOCK as u64 * BLOCK as u64;
        sources.push(Source { file, from, size });
    }
    let begun = Instant::now();
    let bytes = read_all(&sources, goes_on)?;
    let bytes_per_s = (bytes as f64 / begun.elapsed().as_secs_f64()) as u64;
    Ok(ReadSpeed { bytes_per_s, may_be_memory })
}

/// Reads all sources at a time until the time is over. Gives the bytes.
fn read_all(sources: &[Source], goes_on: &mut dyn FnMut(u64) -> bool) -> Result<u64> {
    let (bytes, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (bytes, is_over) = (&bytes, &is_over);
    let failed = std::thread::scope(|scope| {
        let readers: Vec<_> =
            sources.iter().map(|one| scope.spawn(move || read(one, bytes, is_over))).collect();
        let begun = Instant::now();
        while begun.elapsed() < FOR && goes_on(bytes.load(Ordering::Relaxed)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        is_over.store(true, Ordering::Relaxed);
        readers.into_iter().find_map(|reader| reader.join().unwrap_or(Err(Error::Io)).err())
    });
    failed.map_or_else(|| Ok(bytes.load(Ordering::Relaxed)), Err)
}

/// One reader: from its place to the end, and again from the beginning.
fn read(source: &Source, bytes: &AtomicU64, is_over: &AtomicBool) -> Result<()> {
    let mut memory = vec![0; BLOCK + ALIGNED];
    let start = memory.as_ptr().align_offset(ALIGNED);
    let block = &mut memory[start..start + BLOCK];
    let mut at = source.from;
    while !is_over.load(Ordering::Relaxed) {
        if at + BLOCK as u64 > source.size {
            at = 0;
        }
        match rustix::io::pread(&source.file, &mut *block, at) {
            Ok(0) => return Err(Error::Io), // it became shorter
            Ok(count) => bytes.fetch_add(count as u64, Ordering::Relaxed),
            Err(error) => return Err(failure::of("pread", &source.file)(error)),
        };
        at += BLOCK as u64;
    }
    Ok(())
}

/// Opens a file for reads past the page cache, if there are any.
fn opened(path: &Path, follows: bool) -> Result<(OwnedFd, bool)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let flags = if follows { flags } else { flags | OFlags::NOFOLLOW };
    if let Ok(file) = rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty()) {
        return Ok((file, true));
    }
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(failure::fact)?;
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed); // then it is measured from memory
    Ok((file, false))
}

/// The largest files of the folder and below, on its file system.
fn largest(folder: &Path) -> Vec<(PathBuf, u64)> {
    let Ok(device) = std::fs::metadata(folder).map(|found| found.dev()) else { return Vec::new() };
    let (mut found, mut folders, mut looked): (Vec<(PathBuf, u64)>, _, _) =
        (Vec::new(), vec![folder.to_owned()], 0);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MOST_ENTRIES {
                break;
            }
            let Ok(about) = entry.metadata() else { continue };
            match about.file_type() {
                kind if kind.is_dir() && about.dev() == device => folders.push(entry.path()),
                // Sparse files would be read from no disk.
                kind if kind.is_file() && about.len() >= SMALLEST && about.blocks() * 512 >= about.len() => {
                    found.push((entry.path(), about.len()));
                }
                _ => {}
            }
        }
    }
    found.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    found.truncate(MOST_FILES);
    found
}

/// A file without a name in this folder, on the disk.
fn written(folder: &Path, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<OwnedFd> {
    let space = rustix::fs::statvfs(folder).map_err(failure::fact)?;
    if space.f_bavail.saturating_mul(space.f_frsize) < FREE * ENOUGH {
        return Err(Error::NoSpace);
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).map_err(failure::fact)?;
    // Numbers that file systems cannot make smaller: xorshift64.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = vec![0; BLOCK];
    for at in (0..ENOUGH).step_by(BLOCK) {
        for word in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_ne_bytes());
        }
        let mut done = 0;
        while done < BLOCK {
            done += rustix::io::pwrite(&file, &block[done..], at + done as u64).map_err(failure::fact)?;
        }
        if !goes_on(0) {
            return Err(Error::Io);
        }
    }
    rustix::fs::fdatasync(&file).map_err(failure::fact)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_measured_by_the_files_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(largest(folder.path()).is_empty());
        let file = std::fs::File::create(folder.path().join("sparse")).unwrap();
        file.set_len(ENOUGH).unwrap();
        assert!(largest(folder.path()).is_empty(), "a sparse file is on no disk");
    }

    #[test]
    fn several_readers_of_one_file_are_counted_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clip");
        std::fs::write(&path, vec![7; 4 * BLOCK]).unwrap();
        let source = |from| Source { file: opened(&path, false).unwrap().0, from, size: 4 * BLOCK as u64 };
        let sources = [source(0), source(2 * BLOCK as u64)];
        let mut told = 0;
        let read = read_all(&sources, &mut |bytes| {
            told = bytes;
            bytes < 16 * BLOCK as u64
        });
        assert!(read.unwrap() >= told && told >= 16 * BLOCK as u64, "they begin again at the end");
    }

    #[test]
    fn a_link_is_not_measured() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        assert!(opened(&folder.path().join("link"), false).is_err());
    }
}
