//! Files of the state folder that survive kill -9 and a power cut. The only place beside redb itself that touches the
//! state folder for the index; the served tree is `backend`'s.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// State files are for the server's own account only.
const PRIVATE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;

/// One at a time in this process, so that two writers of one file cannot share a temporary name.
static WRITING: Mutex<()> = Mutex::new(());

/// Replaces the file's content by `bytes`, with permission bits `mode`: on return the new content is on the disk; after
/// a crash at any point the file has the old content or the new one, whole.
pub fn write_atomically(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let _one = WRITING.lock();
    let temporary = temporary_name(path)?;
    remove_if_there(&temporary)?;
    let written = write_new(&temporary, bytes, mode).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        remove_if_there(&temporary)?;
        return Err(error);
    }
    sync_folder_of(path)
}

/// Makes the folder and what is missing above it, for the server's own account only.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path)
}

/// The existing file for reading and writing, or `None` when there is none.
pub(super) fn open_existing(path: &Path) -> io::Result<Option<File>> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file for reading and writing, made when it is missing.
pub(super) fn open_or_create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(path)
}

/// Gives a finished new file its name, durably; an error of kind `AlreadyExists` when the name is taken.
pub(super) fn publish(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems that do not know the flag.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(from, to)?,
        other => other?,
    }
    sync_folder_of(to)
}

/// Removes the file; no error when there is none.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Beside the file, hidden, and of this process only: an editing command may run beside the server.
fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(hidden))
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?; // past the umask
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_content_replaces_the_old_with_exactly_these_mode_bits_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts");
        write_atomically(&path, b"one", 0o600).unwrap();
        write_atomically(&path, b"second", 0o666).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o666);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_write_that_cannot_be_finished_leaves_the_old_state() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("folder");
        fs::create_dir(&taken).unwrap();
        fs::write(taken.join("inside"), b"kept").unwrap();
        assert!(write_atomically(&taken, b"a file cannot replace a folder", 0o600).is_err());
        assert_eq!(fs::read(taken.join("inside")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_leftover_of_a_crash_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings");
        fs::write(temporary_name(&path).unwrap(), b"half").unwrap();
        write_atomically(&path, b"whole", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn writers_of_one_file_never_mix_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::thread::scope(|scope| {
            for byte in 0..8u8 {
                let path = &path;
                scope.spawn(move || write_atomically(path, &[byte; 10_000], 0o600).unwrap());
            }
        });
        let content = fs::read(&path).unwrap();
        assert_eq!(content, [content[0]; 10_000]);
    }

    #[test]
    fn publishing_never_replaces_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&new, b"new").unwrap();
        fs::write(&old, b"old").unwrap();
        assert_eq!(publish(&new, &old).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&old).unwrap(), b"old");
    }
}
