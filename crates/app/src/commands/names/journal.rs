//! The journal of changed names: a line of JSON for each, on the disk before the file is renamed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid, chownat, openat2,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use vfs::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_ATTRIBUTES, SYNOLOGY_FOLDER, SYNOLOGY_HEADER};
use vfs::mac::netatalk_list::SUFFIX as LIST;

/// The longest journal that is read.
const LONGEST: u64 = 1 << 30;

/// A change: names as bytes in hexadecimal, because they need not be text.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    folder: String,
    from: String,
    to: String,
    /// The name stays, and is that of a symbolic link: its targets before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<[String; 2]>,
}

/// A journal that is being written.
pub(super) struct NameJournal {
    file: File,
}

impl NameJournal {
    /// Makes the file.
    pub(super) fn new(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match file {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                bail!("the journal {} exists; name another file, so that it is not lost", path.display())
            }
            other => Ok(Self { file: other.with_context(|| format!("{} cannot be made", path.display()))? }),
        }
    }

    /// Renames a file and its sidecar.
    pub(super) fn rename(&mut self, folder: &Path, from: &OsStr, to: &OsStr) -> anyhow::Result<()> {
        let folder = std::path::absolute(folder)?;
        self.note(&Line { folder: hex(folder.as_os_str()), from: hex(from), to: hex(to), link: None })?;
        rename_both(&folder, from, to)
    }

    /// Gives a symbolic link another target.
    pub(super) fn lead(
        &mut self,
        folder: &Path,
        name: &OsStr,
        (before, now): (&Path, &Path),
    ) -> anyhow::Result<()> {
        let link = Some([hex(before.as_os_str()), hex(now.as_os_str())]);
        self.note(&Line { folder: hex(folder.as_os_str()), from: hex(name), to: hex(name), link })?;
        lead(folder, name, now)
    }

    fn note(&mut self, line: &Line) -> anyhow::Result<()> {
        let line = serde_json::to_string(line)? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.context("the journal cannot be written")
    }
}

/// Takes the changes of a journal back, the last first. Returns how many, and what failed.
pub(super) fn undo(path: &Path, go_on: &dyn Fn(u64, u64) -> bool) -> anyhow::Result<(usize, Vec<String>)> {
    let what = || format!("{} cannot be read", path.display());
    anyhow::ensure!(
        fs::metadata(path).with_context(what)?.len() <= LONGEST,
        "{} is too long",
        path.display()
    );
    let text = fs::read_to_string(path).with_context(what)?;
    let (mut back, mut failed) = (0, Vec::new());
    let lines: Vec<(usize, &str)> = text.lines().enumerate().collect();
    let total = lines.len();
    for (number, line) in lines.into_iter().rev() {
        let done = total - 1 - number;
        anyhow::ensure!(
            go_on(done as u64, total as u64),
            "ended after {done} of {total} names; the journal is kept"
        );
        let wrong = || format!("{}, line {}: it is no line of a journal", path.display(), number + 1);
        let Line { folder, from, to, link } = serde_json::from_str(line).with_context(wrong)?;
        let parts = (bytes(&folder), bytes(&from), bytes(&to));
        let (Some(folder), Some(from), Some(to)) = parts else { bail!("{}", wrong()) };
        let folder = PathBuf::from(folder);
        let is_name = |name: &OsStr| Path::new(name).file_name() == Some(name);
        anyhow::ensure!(is_name(&from) && is_name(&to), "{}", wrong());
        if let Some([before, now]) = link {
            let (Some(before), Some(now)) = (bytes(&before), bytes(&now)) else { bail!("{}", wrong()) };
            // One that has another target by now was not changed, or was changed again.
            if fs::read_link(folder.join(&from)).is_ok_and(|target| target.as_os_str() == now) {
                match lead(&folder, &from, Path::new(&before)) {
                    Ok(()) => {}
                    Err(error) => failed.push(format!("{:?}: {error:#}", folder.join(&from))),
                }
            }
            continue;
        }
        // The last line of a run that was cut off may say what was not done.
        let was_done =
            folder.join(&to).symlink_metadata().is_ok() || folder.join(&from).symlink_metadata().is_err();
        if !was_done {
            continue;
        }
        match rename_both(&folder, &to, &from) {
            Ok(()) => back += 1,
            Err(error) => failed.push(format!("{:?}: {error:#}", folder.join(&to))),
        }
    }
    Ok((back, failed))
}

/// Puts a link with another target into the place of a link.
fn lead(folder: &Path, name: &OsStr, target: &Path) -> anyhow::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let at = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .context("its folder has gone, or is a link now")?;
    let about = statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    anyhow::ensure!(FileType::from_raw_mode(about.st_mode) == FileType::Symlink, "it is no link any more");
    let new = format!(".fourfold-link-{}", std::process::id());
    symlinkat(target, &at, &new).context("the new link cannot be made")?;
    let (owner, group) = (Uid::from_raw(about.st_uid), Gid::from_raw(about.st_gid));
    let done = chownat(&at, &new, Some(owner), Some(group), AtFlags::SYMLINK_NOFOLLOW)
        .and_then(|()| renameat_with(&at, &new, &at, name, RenameFlags::empty()));
    done.map_err(|error| {
        let _ = unlinkat(&at, &new, AtFlags::empty()); // it was made a moment ago
        anyhow::anyhow!("it cannot be replaced: {error}")
    })
}

/// Renames a file, and what other servers and Macs keep of it in other files. No file is replaced.
fn rename_both(folder: &Path, from: &OsStr, to: &OsStr) -> anyhow::Result<()> {
    // A client that makes a link of a folder meanwhile does not lead the change to another place.
    let open = |place: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(CWD, place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    };
    let at = open(folder).context("its folder has gone, or is a link now")?;
    let no_replace = RenameFlags::NOREPLACE;
    renameat_with(&at, from, &at, to, no_replace).context("it cannot be renamed")?;
    let mut done: Vec<(OwnedFd, OsString, OsString)> = vec![(at, from.into(), to.into())];
    for (place, old, new) in beside(folder, from, to) {
        let renamed =
            open(&place).and_then(|at| renameat_with(&at, &old, &at, &new, no_replace).map(|()| at));
        match renamed {
            Ok(at) => done.push((at, old, new)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {}
            Err(error) => {
                let mut back = done.iter().rev();
                let is_back = back.all(|(at, old, new)| renameat_with(at, new, at, old, no_replace).is_ok());
                let stays = if is_back { "it has its old name" } else { "it has its new name" };
                bail!("{} cannot be renamed ({error}); {stays}", place.join(old).display())
            }
        }
    }
    Ok(())
}

/// What may belong to a file: the folder, the name, and the name that it gets with the file. docs/on-disk-format.md.
fn beside(folder: &Path, from: &OsStr, to: &OsStr) -> Vec<(PathBuf, OsString, OsString)> {
    let joined = |parts: &[&[u8]]| OsString::from_vec(parts.concat());
    let (old, new) = (from.as_bytes(), to.as_bytes());
    let headers = folder.join(OsStr::from_bytes(NETATALK2_FOLDER));
    let list = [old, LIST].concat();
    let lists = fs::read_dir(&headers).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let lists = lists.filter(|name| name.as_bytes().starts_with(&list)).map(|name| {
        let renamed = joined(&[new, &name.as_bytes()[old.len()..]]);
        (headers.clone(), name, renamed)
    });
    let synology = [SYNOLOGY_HEADER, SYNOLOGY_ATTRIBUTES].map(|end| {
        (folder.join(OsStr::from_bytes(SYNOLOGY_FOLDER)), joined(&[old, end]), joined(&[new, end]))
    });
    let sidecar = (folder.to_path_buf(), joined(&[b"._", old]), joined(&[b"._", new]));
    let header = (headers.clone(), from.to_owned(), to.to_owned());
    [sidecar, header].into_iter().chain(lists.collect::<Vec<_>>()).chain(synology).collect()
}

fn hex(name: &OsStr) -> String {
    wire::hex::encode(name.as_bytes())
}

fn bytes(hex: &str) -> Option<OsString> {
    wire::hex::decode_any(hex).map(OsString::from_vec)
}
