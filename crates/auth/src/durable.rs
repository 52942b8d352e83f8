//! Files that survive a crash: either the old or the new contents, never a mixture.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Replaces the file at `path` by `contents`, readable by its owner only. On return they are on the
/// disk.
///
/// Concurrent callers must hold a lock. The new contents are written next to the file under one
/// fixed name, so that a crash leaves at most one such file, which the next call overwrites.
///
/// # Errors
/// The old file is still complete.
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let fresh = beside(path);
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(contents)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    // The rename is on the disk only after the folder is.
    File::open(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))?.sync_all()
}

/// Waits until no other process holds the lock of the file at `path`. The system releases it when
/// the process ends, for any reason.
///
/// # Errors
/// The file cannot be made or locked.
pub fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.lock().map(|()| file)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn contents_are_replaced_and_private_even_when_a_crash_left_half_a_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts.toml");
        fs::write(folder.path().join("accounts.toml.new"), "half").unwrap();
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
