//! What other servers have left in a folder: counted by layout, with what is damaged and what is
//! there twice and differs. Nothing is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde::Serialize;
use vfs::acl::samba as acl;
use vfs::mac::depot;
use vfs::mac::layout::{
    APPLE_FINDER_INFO, APPLE_RESOURCE, DOSATTRIB, NETATALK_METADATA, NETATALK_RESOURCE, NETATALK2_FOLDER,
    SYNOLOGY_ATTRIBUTES, SYNOLOGY_HEADER, XattrRole, classify_xattr, is_info_stream, is_resource_stream,
    sidecar_owner,
};
use vfs::mac::{Metadata, Problem, StoredParts, netatalk_list, samba, sidecar};
use vfs::names::{Map, cap, detect_map, plain_form};
use vfs::streams::ServerFolders;

use super::convert::GoOn;
use crate::shares::entries;

/// Findings that are named. Those beyond are counted.
const MOST_NAMED: usize = 50;
/// Folders in each other. A tree that is deeper has a loop of bind mounts.
const DEEPEST: usize = 1_000;
/// Bytes of a sidecar that tell its head.
const HEAD: u64 = 64 << 10;
/// The longest value of an attribute that Linux has.
const LONGEST_VALUE: usize = 64 << 10;
/// How the names of Netatalk's lists of attributes end.
const LIST: &[u8] = netatalk_list::SUFFIX;

/// One way in which servers store something beside a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StorageLayout {
    Netatalk,
    NetatalkFork,
    PlainAttributes,
    Sidecar,
    SambaDos,
    SambaInfo,
    SambaFork,
    SambaStreams,
    SambaDepot,
    SambaAcl,
    Netatalk2,
    Netatalk2Attributes,
    Synology,
    ServicesForMacintosh,
    MacCopy,
    PrivateNames,
    UnixNames,
    CapNames,
    Fourfold,
}

impl StorageLayout {
    /// What it is.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Netatalk => "Finder info in user.org.netatalk.Metadata (Netatalk 3 and 4, Samba's fruit)",
            Self::NetatalkFork => "resource forks in user.org.netatalk.ResourceFork",
            Self::PlainAttributes => "Macs' attributes in user.com.apple.* (Netatalk with ea = sys)",
            Self::Sidecar => "resource forks and attributes in ._name (AppleDouble)",
            Self::SambaDos => "DOS attributes and dates in user.DOSATTRIB (Samba, ksmbd)",
            Self::SambaInfo => "Finder info in user.DosStream.AFP_AfpInfo (Samba, fruit:metadata = stream)",
            Self::SambaFork => {
                "resource forks in user.DosStream.AFP_Resource (Samba, fruit:resource = stream)"
            }
            Self::SambaStreams => "named streams in user.DosStream.* (Samba's streams_xattr, ksmbd)",
            Self::SambaDepot => "named streams in .streams (Samba's streams_depot)",
            Self::SambaAcl => "access rights in security.NTACL (Samba's acl_xattr)",
            Self::Netatalk2 => "header files in .AppleDouble (Netatalk 2)",
            Self::Netatalk2Attributes => "attributes in .AppleDouble/name::EA (Netatalk with ea = ad)",
            Self::Synology => "@eaDir (Synology)",
            Self::ServicesForMacintosh => {
                "AFP_AfpInfo and AFP_Resource as plain attributes (Services for Macintosh)"
            }
            Self::MacCopy => "user.com.apple.FinderInfo and ResourceFork (rsync -X from a Mac)",
            Self::PrivateNames => {
                "names with private code points for characters that Windows forbids (Samba)"
            }
            Self::UnixNames => "names with private code points of Services for UNIX",
            Self::CapNames => "names with characters as a colon and two digits (Netatalk 2)",
            Self::Fourfold => "Fourfold's own attributes",
        }
    }

    /// Why clients do not see it; `None` if they do.
    pub(super) fn unserved(self) -> Option<&'static str> {
        match self {
            Self::UnixNames | Self::CapNames => {
                Some("clients see these names as they are stored; `fourfold names --fix` renames them")
            }
            _ => None,
        }
    }
}

/// Something wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SurveyFinding {
    pub(super) path: PathBuf,
    pub(super) what: String,
}

/// Findings of one kind: the first are named, all are counted.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Findings {
    pub(super) count: u64,
    pub(super) named: Vec<SurveyFinding>,
}

impl Findings {
    fn add(&mut self, path: &Path, what: impl Into<String>) {
        self.count += 1;
        if self.named.len() < MOST_NAMED {
            self.named.push(SurveyFinding { path: path.into(), what: what.into() });
        }
    }
}

/// What was found below a folder.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Survey {
    pub(super) folder: PathBuf,
    pub(crate) files: u64,
    pub(super) folders: u64,
    /// How many files and folders have something in a layout.
    pub(super) layouts: BTreeMap<StorageLayout, u64>,
    /// Values that cannot be read, or are not as their format says.
    pub(super) damaged: Findings,
    /// Copies of one thing that differ. Which one counts is said.
    pub(super) conflicts: Findings,
    /// `._name` without a file.
    pub(super) orphans: Findings,
    /// What could not be looked at.
    pub(super) unreadable: Findings,
    /// The users and groups of Samba's own database that its ACLs name, as SIDs.
    pub(super) unknown: BTreeSet<String>,
}

impl Survey {
    /// Looks at a folder and everything below it.
    pub(crate) fn of(folder: &Path, go_on: GoOn<'_>) -> anyhow::Result<Self> {
        let what = || format!("{} cannot be read", folder.display());
        let mut survey = Self { folder: folder.into(), ..Self::default() };
        let is_folder = fs::metadata(folder).with_context(what)?.is_dir();
        anyhow::ensure!(is_folder, "{} is not a folder; name the folder of a share", folder.display());
        fs::read_dir(folder).with_context(what)?;
        survey.look_at(folder);
        let ended = |looked| format!("ended after {looked} files and folders; nothing was changed");
        let total = entries::count(folder, &is_books_name, &|| go_on(0, 0)).with_context(|| ended(0))?;
        let mut looked = 0;
        let mut folders = vec![(folder.to_path_buf(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            survey.folders += 1;
            match listed(&folder) {
                Ok(_) if depth >= DEEPEST => {
                    survey.unreadable.add(&folder, "too deep: is it mounted inside itself?")
                }
                Ok(entries) => {
                    for entry in entries {
                        ensure!(go_on(looked, total.max(looked)), ended(looked));
                        looked += u64::from(!is_books_name(entry.file_name().as_bytes()));
                        folders.extend(survey.entry(&folder, &entry).map(|inner| (inner, depth + 1)));
                    }
                }
                Err(error) => survey.unreadable.add(&folder, error.to_string()),
            }
        }
        go_on(looked, looked);
        Ok(survey)
    }

    /// How many files have something in this layout.
    pub(super) fn count(&self, layout: StorageLayout) -> u64 {
        self.layouts.get(&layout).copied().unwrap_or(0)
    }

    fn add(&mut self, layout: StorageLayout) {
        *self.layouts.entry(layout).or_default() += 1;
    }

    /// Looks at an entry. Returns it if it is a folder of users.
    fn entry(&mut self, folder: &Path, entry: &DirEntry) -> Option<PathBuf> {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.as_bytes();
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => {
                self.unreadable.add(&path, error.to_string());
                return None;
            }
        };
        if kind.is_dir() && self.is_books(&path, name) {
            return None;
        }
        if kind.is_file() && self.is_sidecar(folder, &path, name) {
            return None;
        }
        if !name.is_ascii() && *plain_form(name) != *name {
            self.add(StorageLayout::PrivateNames);
        } else if detect_map([name]) == Some(Map::Sfu) {
            self.add(StorageLayout::UnixNames);
        }
        // A slash is shown as such; other escapes are shown as they are stored.
        if cap::is_netatalks(&plain_form(name)) && folder.join(OsStr::from_bytes(NETATALK2_FOLDER)).is_dir() {
            self.add(StorageLayout::CapNames);
        }
        if kind.is_dir() || kind.is_file() {
            self.look_at(&path);
        }
        self.files += u64::from(kind.is_file());
        kind.is_dir().then_some(path)
    }

    /// Whether a folder is one of another server's own; counts what is in it.
    fn is_books(&mut self, path: &Path, name: &[u8]) -> bool {
        let of = ServerFolders::named(name);
        match name {
            _ if of.netatalk => self.each_in(path, 0, &mut |survey, path, name| {
                let of = name.windows(LIST.len()).position(|part| part == LIST);
                survey.add(if of.is_some() {
                    StorageLayout::Netatalk2Attributes
                } else {
                    StorageLayout::Netatalk2
                });
                if name.ends_with(LIST) {
                    survey.check(path, |head, _| match netatalk_list::parse(head) {
                        Ok(_) => Ok(Vec::new()),
                        Err(error) => Err(error.to_string()),
                    });
                }
            }),
            _ if of.synology => self.each_in(path, 0, &mut |survey, path, name| {
                if name.ends_with(SYNOLOGY_ATTRIBUTES) || name.ends_with(SYNOLOGY_HEADER) {
                    survey.add(StorageLayout::Synology);
                    survey.check(path, |head, total| match sidecar::parse(head, total) {
                        Ok(parsed) => Ok(parsed.problems),
                        Err(error) => Err(error.to_string()),
                    });
                }
            }),
            _ if of.depot => self.each_in(path, 3, &mut |survey, _, name| {
                if depot::stream_of(name).is_some() {
                    survey.add(StorageLayout::SambaDepot);
                }
            }),
            b".AppleDB" | b".AppleDesktop" => {}
            _ => return vfs::is_own_name(name),
        }
        true
    }

    /// Calls `look` for each entry that is so deep below a folder of another server.
    fn each_in(&mut self, folder: &Path, deep: u8, look: &mut dyn FnMut(&mut Self, &Path, &[u8])) {
        let entries = match listed(folder) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable.add(folder, error.to_string()),
        };
        for entry in entries {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match (deep, is_folder) {
                (0, _) => look(self, &entry.path(), entry.file_name().as_bytes()),
                (_, true) => self.each_in(&entry.path(), deep - 1, look),
                (_, false) => {}
            }
        }
    }

    /// Reads the beginning of a file of another server, and notes what is wrong with it.
    fn check(&mut self, path: &Path, parse: fn(&[u8], u64) -> Result<Vec<Problem>, String>) {
        let mut head = Vec::new();
        let read = File::open(path).and_then(|file| {
            let total = file.metadata()?.len();
            file.take(HEAD).read_to_end(&mut head).map(|_| total)
        });
        match read.map(|total| parse(&head, total)) {
            Ok(Ok(problems)) => {
                problems.iter().for_each(|problem| self.damaged.add(path, problem.to_string()));
            }
            Ok(Err(error)) => self.damaged.add(path, error),
            Err(error) => self.unreadable.add(path, error.to_string()),
        }
    }

    /// Whether a file is a sidecar; checks it.
    fn is_sidecar(&mut self, folder: &Path, path: &Path, name: &[u8]) -> bool {
        let Some(owner) = sidecar_owner(name) else { return false };
        let mut head = Vec::new();
        let read = File::open(path).and_then(|file| {
            let total = file.metadata()?.len();
            file.take(HEAD).read_to_end(&mut head).map(|_| total)
        });
        let total = match read {
            Ok(total) => total,
            Err(error) => {
                self.unreadable.add(path, error.to_string());
                return true;
            }
        };
        if !sidecar::is_sidecar(&head) {
            return false;
        }
        self.add(StorageLayout::Sidecar);
        match sidecar::parse(&head, total) {
            Ok(parsed) => {
                parsed.problems.iter().for_each(|problem| self.damaged.add(path, problem.to_string()))
            }
            Err(error) => self.damaged.add(path, error.to_string()),
        }
        let owner = folder.join(OsStr::from_bytes(owner));
        if owner.symlink_metadata().is_err() {
            self.orphans.add(path, "there is no file of this name; clients see a plain file");
        }
        true
    }

    /// Looks at the attributes of a file or folder.
    fn look_at(&mut self, path: &Path) {
        let values = match attributes(path) {
            Ok(values) => values,
            Err(error) => return self.unreadable.add(path, error.to_string()),
        };
        let mut seen: Vec<StorageLayout> = values.iter().filter_map(|(name, _)| layout_of(name)).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter().for_each(|layout| self.add(layout));
        let value = |is: &dyn Fn(&[u8]) -> bool| {
            values.iter().find(|(name, _)| is(name)).map(|(_, value)| &value[..])
        };
        let parts = StoredParts {
            netatalk: value(&|name| name == NETATALK_METADATA),
            info_stream: value(&is_info_stream),
            finder_info: value(&|name| name == APPLE_FINDER_INFO),
            dosattrib: value(&|name| name == DOSATTRIB),
            ..StoredParts::default()
        };
        let (metadata, problems) = Metadata::from_parts(&parts);
        problems.iter().for_each(|problem| self.damaged.add(path, problem.to_string()));
        for (place, alone) in [
            ("AFP_AfpInfo", StoredParts { info_stream: parts.info_stream, ..StoredParts::default() }),
            (
                "com.apple.FinderInfo",
                StoredParts { finder_info: parts.finder_info, ..StoredParts::default() },
            ),
        ] {
            let other = Metadata::from_parts(&alone).0.finder_info;
            if !other.is_none() && other != metadata.finder_info {
                self.conflicts.add(path, format!("the Finder info in {place} differs: the other counts"));
            }
        }
        self.forks(path, &values);
        if let Some((_, value)) = values.iter().find(|(name, _)| name == acl::ATTRIBUTE) {
            match acl::NtAcl::decode(value) {
                Ok(acl) => {
                    self.unknown.extend(acl.iter().flat_map(acl::NtAcl::unknown).map(acl::text_of_sid))
                }
                Err(error) => self.damaged.add(path, format!("security.NTACL: {error}; the mode applies")),
            }
        }
    }

    /// A fork in an attribute is ignored if a sidecar has the fork.
    fn forks(&mut self, path: &Path, values: &[(Vec<u8>, Vec<u8>)]) {
        let in_attributes = values.iter().filter(|(name, value)| is_fork(name) && value.len() > 1).count();
        if in_attributes > 1 {
            self.conflicts.add(path, "the resource fork is in two attributes: the first counts");
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        let beside = folder.join(OsStr::from_bytes(&[b"._", name.as_bytes()].concat()));
        let mut head = Vec::new();
        let read = in_attributes > 0
            && File::open(&beside).is_ok_and(|file| file.take(HEAD).read_to_end(&mut head).is_ok());
        let total = fs::metadata(&beside).map_or(0, |beside| beside.len());
        if read && sidecar::parse(&head, total).is_ok_and(|parsed| !parsed.resource_range.is_empty()) {
            self.conflicts.add(path, "the resource fork is in an attribute and in ._name: ._name counts");
        }
    }
}

/// Whether a folder of this name is one of a server, and not of users.
fn is_books_name(name: &[u8]) -> bool {
    ServerFolders::named(name).any()
        || [&b".AppleDB"[..], b".AppleDesktop"].contains(&name)
        || vfs::is_own_name(name)
}

fn is_fork(name: &[u8]) -> bool {
    name == NETATALK_RESOURCE || name == APPLE_RESOURCE || is_resource_stream(name)
}

/// The layout that an attribute belongs to.
fn layout_of(name: &[u8]) -> Option<StorageLayout> {
    let is_samba = name.starts_with(samba::STREAM_PREFIX);
    Some(match name {
        NETATALK_METADATA => StorageLayout::Netatalk,
        NETATALK_RESOURCE => StorageLayout::NetatalkFork,
        APPLE_FINDER_INFO | APPLE_RESOURCE => StorageLayout::MacCopy,
        DOSATTRIB => StorageLayout::SambaDos,
        acl::ATTRIBUTE => StorageLayout::SambaAcl,
        _ if is_info_stream(name) && is_samba => StorageLayout::SambaInfo,
        _ if is_resource_stream(name) && is_samba => StorageLayout::SambaFork,
        _ if is_info_stream(name) || is_resource_stream(name) => StorageLayout::ServicesForMacintosh,
        _ if name.starts_with(b"user.fourfold.") => StorageLayout::Fourfold,
        _ => match classify_xattr(name) {
            XattrRole::SambaStream(_) => StorageLayout::SambaStreams,
            XattrRole::Client(client) if client.starts_with(b"com.apple.") => StorageLayout::PlainAttributes,
            _ => return None,
        },
    })
}

fn listed(folder: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(folder)?.collect()
}

/// The attributes of a file, with the values of those that are looked at.
fn attributes(path: &Path) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut buffer = vec![0_u8; LONGEST_VALUE];
    let length = match rustix::fs::llistxattr(path, &mut buffer[..]) {
        Ok(length) => length,
        Err(rustix::io::Errno::OPNOTSUPP) => 0,
        Err(error) => return Err(error.into()),
    };
    let names: Vec<Vec<u8>> = buffer[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    let mut attributes = Vec::new();
    for name in names {
        if layout_of(&name).is_none() {
            continue;
        }
        let length = match name.starts_with(b"user.") || name == acl::ATTRIBUTE {
            true => rustix::fs::lgetxattr(path, &*name, &mut buffer[..])?,
            false => 0,
        };
        attributes.push((name, buffer[..length].to_vec()));
    }
    Ok(attributes)
}
