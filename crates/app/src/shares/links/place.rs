//! Links in their places: a symbolic link for each, which clients find where files are found. The state folder has the list of
//! those that were made, so that they are removed with their line in the settings, also while the server was off.
//!
//! Users may change the folders on the way. Nothing here follows a symbolic link of theirs or leaves the share, and no file is
//! ever replaced, except for links of a namespace.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use admin::{Settings, ShareSettings};
use namespace::{Link, text};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The file in the state folder.
const FILE: &str = "links.json";
/// The largest file that is read.
const LARGEST: u64 = 8 << 20;
/// The name under which a link is made that replaces another one. Clients do not see it.
const NEW: &str = ".fourfold-new-link";
/// The mode of folders on the way to a link.
const FOLDER_MODE: u32 = 0o755;

/// A link that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LinkRecord {
    /// The folder of the share.
    folder: PathBuf,
    /// The path below it.
    below: String,
    /// The text of the link.
    text: String,
}

/// Makes the links that are missing, and removes those that are not in the settings any more. Returns why links are not in their
/// places, by their paths.
pub(super) fn all(settings: &Settings, state: &Path) -> HashMap<String, String> {
    let before = read(state);
    let (mut made, mut problems) = (Vec::new(), HashMap::new());
    for link in &settings.links.links {
        match place_of(settings, link) {
            Ok(wanted) => {
                if let Err(why) = place(&wanted) {
                    problems.insert(link.path.clone(), why);
                }
                made.push(wanted);
            }
            Err(why) => _ = problems.insert(link.path.clone(), why),
        }
    }
    let (places, mut kept): (Vec<(PathBuf, String)>, _) =
        (made.iter().map(|new| (new.folder.clone(), new.below.clone())).collect(), Vec::new());
    for old in before.iter().filter(|old| !places.contains(&(old.folder.clone(), old.below.clone()))) {
        if let Err(error) = remove(old)
            && error.kind() != io::ErrorKind::NotFound
        {
            let folder = old.folder.display();
            tracing::warn!(target: "link", %folder, link = old.below, %error, "a link that is not in the settings any more stays");
            kept.push(old.clone()); // another attempt follows
        }
    }
    made.append(&mut kept);
    if made != before
        && let Err(error) = write(state, &made)
    {
        tracing::warn!(target: "link", %error, "the list of links in the state folder cannot be written");
    }
    problems
}

/// The share of a path, and the path below it.
pub(crate) fn share_of<'s>(settings: &'s Settings, path: &str) -> Option<(&'s ShareSettings, String)> {
    let below = |share: &'s ShareSettings| {
        let rest = path.strip_prefix(&share.name)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| (share, rest.trim_start_matches('/').to_owned()))
    };
    let shares = settings.shares.iter().chain(&settings.absent);
    shares.filter_map(below).max_by_key(|(share, _)| share.name.len())
}

fn place_of(settings: &Settings, link: &Link) -> Result<LinkRecord, String> {
    let (share, below) = share_of(settings, &link.path).ok_or("it is in no share")?;
    match &share.absence {
        Some(absence) => Err(format!("its share is not served: {}", absence.why)),
        None => Ok(LinkRecord { folder: share.path.clone(), below, text: link.text() }),
    }
}

fn place(wanted: &LinkRecord) -> Result<(), String> {
    let failed = |error: Errno| format!("it cannot be made: {}", io::Error::from(error));
    let (above, name) = wanted.below.rsplit_once('/').unwrap_or(("", &wanted.below));
    let folder = open_folder(&wanted.folder, above, true).map_err(failed)?;
    match rustix::fs::readlinkat(&folder, name, Vec::new()) {
        Ok(found) if found.as_bytes() == wanted.text.as_bytes() => Ok(()),
        Ok(found) if text::is_marked(found.as_bytes()) => {
            let _ = rustix::fs::unlinkat(&folder, NEW, AtFlags::empty()); // of a run that was killed
            rustix::fs::symlinkat(&wanted.text, &folder, NEW).map_err(failed)?;
            rustix::fs::renameat(&folder, NEW, &folder, name).map_err(failed)
        }
        Ok(_) | Err(Errno::INVAL) => Err(format!(
            "there is another file `{}`; move it away, or give the link another path",
            wanted.below
        )),
        Err(Errno::NOENT) => rustix::fs::symlinkat(&wanted.text, &folder, name).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

/// Removes a link that was made, unless something else is in its place.
fn remove(old: &LinkRecord) -> io::Result<()> {
    let (above, name) = old.below.rsplit_once('/').unwrap_or(("", &old.below));
    let folder = open_folder(&old.folder, above, false)?;
    match rustix::fs::readlinkat(&folder, name, Vec::new()) {
        Ok(found) if found.as_bytes() == old.text.as_bytes() => {
            Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
        }
        Ok(_) | Err(Errno::INVAL | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A folder of a share, with those on the way. Symbolic links on the way are an error.
fn open_folder(share: &Path, below: &str, make: bool) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::openat(CWD, share, flags, Mode::empty())?;
    for name in below.split('/').filter(|name| !name.is_empty()) {
        let open = || {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            rustix::fs::openat2(&folder, name, flags, Mode::empty(), resolve)
        };
        folder = match open() {
            Err(Errno::NOENT) if make => {
                match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(FOLDER_MODE)) {
                    Ok(()) | Err(Errno::EXIST) => open()?,
                    Err(error) => return Err(error),
                }
            }
            other => other?,
        };
    }
    Ok(folder)
}

fn read(state: &Path) -> Vec<LinkRecord> {
    let read = || -> io::Result<Vec<LinkRecord>> {
        let file = File::open(state.join(FILE))?;
        if file.metadata()?.len() > LARGEST {
            return Err(io::Error::other("it is too large"));
        }
        Ok(serde_json::from_reader(io::BufReader::new(file))?)
    };
    read().unwrap_or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            tracing::warn!(target: "link", %error, "the list of links in the state folder is damaged; links that were made earlier stay");
        }
        Vec::new()
    })
}

fn write(state: &Path, made: &[LinkRecord]) -> io::Result<()> {
    auth::durable::replace(&state.join(FILE), &serde_json::to_vec_pretty(made)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use admin::Arguments;

    use super::*;

    fn settings(folder: &Path, links: &[(&str, &str)]) -> Settings {
        let link =
            |(path, target): &(&str, &str)| format!("[[link]]\npath = {path:?}\ntargets = [{target:?}]\n");
        let text = links.iter().map(link).collect::<String>() + "[[share]]\nname = \"s\"\npath = \"s\"\n";
        fs::write(folder.join("fourfold.toml"), text).unwrap();
        Settings::load(&Arguments::new(false, folder.into())).unwrap()
    }

    fn shown(folder: &Path, path: &str) -> Option<String> {
        fs::read_link(folder.join("s").join(path)).ok().map(|text| text.to_string_lossy().into_owned())
    }

    #[test]
    fn links_come_change_and_go_with_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("s")).unwrap();
        let one = settings(folder, &[("s/a/old", "smb://filer2/archive"), ("s/b", "nfs://filer2/b")]);
        assert_eq!(all(&one, folder), HashMap::new());
        assert_eq!(shown(folder, "a/old").unwrap(), r"msdfs:filer2\archive");
        assert_eq!(shown(folder, "b").unwrap(), "msdfs:nfs://filer2/b");
        fs::remove_file(folder.join("s/b")).unwrap();
        assert_eq!(all(&one, folder), HashMap::new(), "a client has removed it");
        assert_eq!(shown(folder, "b").unwrap(), "msdfs:nfs://filer2/b");
        let two = settings(folder, &[("s/a/old", "smb://filer3/archive")]);
        assert_eq!(all(&two, folder), HashMap::new());
        assert_eq!(shown(folder, "a/old").unwrap(), r"msdfs:filer3\archive");
        assert_eq!(shown(folder, "b"), None, "it is not in the settings any more");
    }

    #[test]
    fn other_files_stay_and_links_of_users_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir_all(folder.join("s/data")).unwrap();
        fs::create_dir(folder.join("outside")).unwrap();
        symlink("data", folder.join("s/plain")).unwrap();
        symlink("../outside", folder.join("s/way")).unwrap();
        fs::write(folder.join(FILE), b"{ damaged").unwrap();
        let places = [("s/data", "smb://f/a"), ("s/plain", "smb://f/b"), ("s/way/in", "smb://f/c")];
        let problems = all(&settings(folder, &places), folder);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems["s/data"].contains("another file `data`"), "{problems:?}");
        assert!(problems["s/plain"].contains("another file"), "{problems:?}");
        assert!(fs::read_dir(folder.join("outside")).unwrap().next().is_none());
        assert_eq!(shown(folder, "plain").unwrap(), "data");
    }
}
