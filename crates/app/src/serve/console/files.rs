//! The files of the shares for the console, as every protocol sees them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use admin::ShareSettings;
use admin::control::{Report, Status};
use bitflags::Flags;
use vfs::acl::{Entry, EntryKind, Inherit, Rights, Who};
use vfs::backend::Found;
use vfs::mac::{FileBits, FinderInfo};
use vfs::names::{FILE_LIMIT, decode_mac_roman, mac_view, short_view, text_view, windows_view};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Beside, Caller, Description, DescriptionParts, Error, Kind, Volume};
use web::files::{
    AclEntry, AclStatus, DateStatus, EntryStatus, FileStatus, FinderStatus, FolderStatus, InSnapshot,
    NameStatus, Part, SizedName,
};

use super::snapshots::share;
use crate::serve::current::Current;
use crate::serve::running::Running;

/// The entries of a folder that are sorted. Their names take some megabytes.
const MOST_SORTED: usize = 100_000;
/// The snapshots in which a file is looked for.
const MOST_SNAPSHOTS: usize = 500;
/// The opens, locks and leases, streams and attributes that are shown, of each kind.
const MOST_SHOWN: usize = 200;

/// A file, and the folder that it is in; `None`: it is the share's own folder.
pub(super) struct FileLocation {
    pub(super) found: Found,
    place: Option<(Found, Vec<u8>)>,
}

impl FileLocation {
    /// Follows a path from the share's folder. Links are not followed.
    pub(super) fn find(volume: &Volume, path: &[u8]) -> Result<Self, Error> {
        Self::find_as(volume, &Caller::root(), path)
    }

    /// The same as a caller sees it.
    fn find_as(volume: &Volume, caller: &Caller, path: &[u8]) -> Result<Self, Error> {
        let mut at = Self { found: volume.root()?, place: None };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let found = volume.lookup(caller, &at.found.object, name)?;
            at = Self { found, place: Some((at.found, name.to_vec())) };
        }
        Ok(at)
    }

    fn beside(&self) -> Option<Beside<'_>> {
        self.place.as_ref().map(|(folder, name)| Beside { folder: &folder.object, name })
    }
}

pub(super) fn explained(error: Error, share: &ShareSettings, path: &[u8]) -> Vec<String> {
    let place = share.path.join(OsStr::from_bytes(path));
    let why = match error {
        Error::NotFound => "there is nothing of that name".to_owned(),
        Error::AccessDenied => "the name is reserved for the server itself".to_owned(),
        Error::NotFolder => "it is not a folder".to_owned(),
        other => other.to_string(),
    };
    vec![format!("{}: {why}", place.display())]
}

/// A part of a folder, sorted by name.
pub(super) fn folder(
    running: &Running,
    of: &str,
    path: &[u8],
    part: &Part,
) -> Result<FolderStatus, Vec<String>> {
    let current = running.current();
    let share = share(&current, of)?;
    let volume = running.volume(share).map_err(|error| vec![format!("{error:#}")])?;
    let listed =
        listed(&volume, &Caller::root(), path, part).map_err(|error| explained(error, share, path))?;
    Ok(FolderStatus { bin: share.bin.map(|keeps| keeps.as_secs()), ..listed })
}

/// The same as a caller sees it.
pub(super) fn listed(
    volume: &Volume,
    caller: &Caller,
    path: &[u8],
    part: &Part,
) -> Result<FolderStatus, Error> {
    let folder = FileLocation::find_as(volume, caller, path)?.found;
    let (mut names, mut cookie) = (Vec::new(), 0);
    let more = loop {
        let page = volume.list(caller, &folder, cookie)?;
        for entry in page.named() {
            let name = text_view(entry.name());
            let key = name.to_lowercase();
            if key.contains(&part.search) {
                names.push((key, name, entry.name().to_vec()));
            }
        }
        let more = names.len() > MOST_SORTED;
        match page.entries().last() {
            Some(last) if !page.complete && !more => cookie = last.cookie,
            _ => break more,
        }
    };
    names.truncate(MOST_SORTED);
    names.sort();
    let total = names.len();
    let wanted = names.into_iter().skip(part.offset).take(part.limit);
    // Entries that are gone meanwhile are left out.
    let rows = wanted.filter_map(|(_, name, stored)| {
        let found = volume.lookup(caller, &folder.object, &stored).ok()?.attributes;
        Some(EntryStatus { name, kind: kind(found.kind), size: found.size, modified: found.modified.secs })
    });
    Ok(FolderStatus { total, more, rows: rows.collect(), bin: None })
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Folder => "folder",
        Kind::Link => "link",
        Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice => "other",
    }
}

/// A file as every protocol sees it.
pub(super) fn file(running: &Running, of: &str, path: &[u8]) -> Result<FileStatus, Vec<String>> {
    let current = running.current();
    let share = share(&current, of)?;
    let volume = running.volume(share).map_err(|error| vec![format!("{error:#}")])?;
    let mut file =
        described(&volume, &current, share, path).map_err(|error| explained(error, share, path))?;
    hold(&mut file, running.status(), &current, share);
    Ok(file)
}

fn described(
    volume: &Arc<Volume>,
    current: &Current,
    share: &ShareSettings,
    path: &[u8],
) -> Result<FileStatus, Error> {
    let at = FileLocation::find(volume, path)?;
    let description = volume.description(&at.found, at.beside(), DescriptionParts::ALL)?;
    let attributes = &at.found.attributes;
    let actor = Actor::new(Caller::root(), Party::client(ClientId::unused()));
    let has_forks = matches!(attributes.kind, Kind::File | Kind::Folder);
    let streams = match has_forks {
        true => tokio::runtime::Handle::current().block_on(volume.streams(&actor, &at.found, at.beside()))?,
        false => Vec::new(),
    };
    let xattrs = if has_forks { volume.xattrs(&at.found)? } else { Vec::new() };
    let streams = streams.into_iter().map(|one| SizedName { name: text_view(&one.name), size: one.len });
    let xattrs =
        xattrs.into_iter().map(|one| SizedName { name: text_view(&one.name), size: one.value.len() as u64 });
    let secs = |time: vfs::Time| time.secs;
    Ok(FileStatus {
        share: share.name.clone(),
        path: text_view(path),
        host_path: share.path.join(OsStr::from_bytes(path)).to_string_lossy().into_owned(),
        kind: kind(attributes.kind),
        names: at.place.as_ref().map_or_else(Vec::new, |(_, name)| names(name)),
        inode: attributes.id.inode,
        size: attributes.size,
        fork: description.fork_len,
        allocated: attributes.allocated,
        links: attributes.links,
        mode: format!("{:04o}", attributes.mode),
        owner: user(current, attributes.uid),
        group: group(current, attributes.gid),
        dates: DateStatus {
            created: description.created.secs,
            modified: attributes.modified.secs,
            changed: attributes.changed.secs,
            backed_up: description.backup.map(secs),
        },
        dos: words(&description.shown_dos()),
        mac: mac_words(&description),
        finder: finder(volume, &at, &description.finder_info)?,
        streams: sorted(streams),
        attributes: sorted(xattrs),
        acl: acl(volume, &at.found, current)?,
        opens: Vec::new(),
        locks: Vec::new(),
        leases: Vec::new(),
        snapshots: in_snapshots(volume, path, &at.found),
    })
}

fn sorted(all: impl Iterator<Item = SizedName>) -> Vec<SizedName> {
    let mut all: Vec<SizedName> = all.collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all.truncate(MOST_SHOWN);
    all
}

/// The name that clients of each protocol see.
fn names(stored: &[u8]) -> Vec<NameStatus> {
    let own = text_view(stored);
    let one = |protocol, name: Option<String>| NameStatus {
        protocol,
        differs: name.as_deref() != Some(&own),
        name,
    };
    // A short name with a number depends on the number.
    let short = [1, 2].map(|id| short_view(stored, id, FILE_LIMIT));
    let short = (short[0] == short[1]).then(|| decode_mac_roman(&short[0]));
    vec![
        one("nfs", Some(own.clone())),
        one("smb", Some(String::from_utf16_lossy(&windows_view(stored)))),
        one("afp", Some(mac_view(stored).into_owned())),
        one("afp-short", short),
    ]
}

/// The names of the bits that are set, in lower case.
fn words<F: Flags>(flags: &F) -> Vec<String> {
    flags.iter_names().map(|(name, _)| name.to_lowercase().replace('_', " ")).collect()
}

fn mac_words(description: &Description) -> Vec<String> {
    let mut shown = description.bits;
    let is_locked = shown.contains(FileBits::LOCKED);
    if is_locked {
        shown.remove(FileBits::LOCKED);
    }
    is_locked.then(|| "locked".to_owned()).into_iter().chain(words(&shown)).collect()
}

fn finder(volume: &Volume, at: &FileLocation, info: &FinderInfo) -> Result<FinderStatus, Error> {
    if !matches!(at.found.attributes.kind, Kind::File | Kind::Folder) {
        return Ok(FinderStatus::default());
    }
    let code = |code: [u8; 4]| if code == [0; 4] { String::new() } else { decode_mac_roman(&code) };
    // In the Finder info of a folder, these eight bytes are the place of its window.
    let is_file = at.found.attributes.kind == Kind::File;
    Ok(FinderStatus {
        file_type: if is_file { code(info.file_type()) } else { String::new() },
        creator: if is_file { code(info.creator()) } else { String::new() },
        flags: words(&info.flags()),
        label: info.label(),
        tags: volume.mac_tree().tags(&at.found, at.beside())?,
        comment: decode_mac_roman(&volume.mac_tree().comment(&at.found, at.beside())?).replace('\r', "\n"),
    })
}

fn acl(volume: &Volume, of: &Found, current: &Current) -> Result<AclStatus, Error> {
    let acl = volume.acl(of)?;
    let entries = acl.entries.list.iter().map(|entry| acl_entry(entry, current)).collect();
    Ok(AclStatus { stored: acl.stored, entries })
}

fn acl_entry(entry: &Entry, current: &Current) -> AclEntry {
    let who = match &entry.who {
        Who::User(uid) => format!("user {}", user(current, *uid)),
        Who::Group(gid) => format!("group {}", group(current, *gid)),
        Who::Owner => "owner".into(),
        Who::OwningGroup => "group of the file".into(),
        Who::Everyone => "everyone".into(),
        Who::SignedIn => "all who are logged in".into(),
        Who::OwnerRights => "owner rights".into(),
        Who::Foreign(identity) => format!("of another system: {}", identity.escape_ascii()),
    };
    let has_all = entry.rights.contains(Rights::ALL);
    let rights = if has_all { vec!["everything".to_owned()] } else { words(&entry.rights) };
    AclEntry {
        allows: entry.kind == EntryKind::Allow,
        who,
        rights,
        inherited: entry.inherit.contains(Inherit::INHERITED),
    }
}

fn user(current: &Current, uid: u32) -> String {
    let known = current.accounts.unix().user_numbered(uid);
    known.map_or_else(|| uid.to_string(), |user| format!("{uid} ({})", user.name))
}

fn group(current: &Current, gid: u32) -> String {
    let known = current.accounts.unix().group_numbered(gid);
    known.map_or_else(|| gid.to_string(), |group| format!("{gid} ({})", group.name))
}

/// The file in the snapshots that clients see.
fn in_snapshots(volume: &Volume, path: &[u8], now: &Found) -> Vec<InSnapshot> {
    let now = now.attributes;
    let all = volume.snapshots().into_iter().take(MOST_SNAPSHOTS);
    let found = all.filter_map(|snapshot| {
        let then = FileLocation::find(volume, &[&snapshot.path.join(&b'/')[..], path].join(&b'/')).ok()?;
        let then = then.found.attributes;
        Some(InSnapshot {
            name: text_view(&snapshot.path[1]),
            taken: snapshot.taken.secs,
            size: then.size,
            modified: then.modified.secs,
            same: (then.kind, then.size, then.modified) == (now.kind, now.size, now.modified),
        })
    });
    found.collect()
}

/// Adds who holds the file.
fn hold(file: &mut FileStatus, status: Status, current: &Current, share: &ShareSettings) {
    let shares = current.settings.shares.iter().map(|share| (&*share.name, &*share.path));
    let (names, inode) = (overlapping(shares, &share.path), file.inode);
    file.opens = holders(&names, inode, status.opens, |one| (&one.share, one.inode));
    file.locks = holders(&names, inode, status.locks, |one| (&one.share, one.inode));
    file.leases = holders(&names, inode, status.leases, |one| (&one.share, one.inode));
}

/// The shares whose folder is `path`, above it or below it.
fn overlapping<'a>(shares: impl Iterator<Item = (&'a str, &'a Path)>, path: &Path) -> Vec<&'a str> {
    let overlapping = shares.filter(|(_, other)| other.starts_with(path) || path.starts_with(other));
    overlapping.map(|(name, _)| name).collect()
}

/// Those that concern the file with this number in one of these shares.
fn holders<T>(names: &[&str], inode: u64, all: Vec<T>, of: impl Fn(&T) -> (&str, u64)) -> Vec<T> {
    let is_meant = |one: &T| {
        let (shares, number) = of(one);
        number == inode && shares.split(", ").any(|name| names.contains(&name))
    };
    all.into_iter().filter(is_meant).take(MOST_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use admin::control::OpenStatus;

    use super::*;

    #[test]
    fn short_names_are_told_where_they_do_not_depend_on_a_number() {
        let short = |stored: &[u8]| names(stored).pop().unwrap().name;
        assert_eq!(short(b"notes").as_deref(), Some("notes"));
        assert_eq!(short("a name of more than thirty-one letters".as_bytes()), None);
    }

    #[test]
    fn holders_are_those_of_the_file_and_not_of_its_number_elsewhere() {
        let shares = [("one", "/a"), ("inner", "/a/b"), ("other", "/c"), ("alike", "/ab")];
        let shares = shares.map(|(name, path)| (name, Path::new(path)));
        let names = overlapping(shares.into_iter(), Path::new("/a"));
        let open = |share: &str, inode| OpenStatus {
            share: share.into(),
            file: None,
            inode,
            owner: share.into(),
            access: "r".into(),
            deny: String::new(),
        };
        let opens = vec![open("one", 7), open("one", 8), open("x, inner", 7), open("other", 7)];
        let held = holders(&names, 7, opens, |one| (&one.share, one.inode));
        assert_eq!(held.iter().map(|one| &*one.owner).collect::<Vec<_>>(), ["one", "x, inner"]);
    }
}
