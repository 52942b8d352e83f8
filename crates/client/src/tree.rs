//! Trees of files as copies walk, read and write them: listings with details, data, and all that a file is besides its data.

use vfs::acl::{Entries, Who, summary};

use crate::metadata::{Aspect, AspectState, MetadataValue, Peer};
use crate::security::{FileSecurity, PosixAcls, within};
use crate::session::OpenFileId;
use crate::{Error, Result};

/// The longest fork, stream or attribute that is carried: it is held in memory as a whole.
pub const LONGEST: usize = 64 << 20;

/// Seconds since 1970, and nanoseconds.
pub type Stamp = (i64, u32);

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a pipe, a socket, or a link that the protocol cannot describe.
    Other,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Bytes of its data.
    pub length: u64,
    /// When its data were last changed.
    pub modified: Option<Stamp>,
    /// When anything of it was last changed.
    pub changed: Option<Stamp>,
    /// Its names, if the protocol says so; else 1.
    pub links: u32,
    /// It is read-only for all users, by a mark that is not a mode: Windows' read-only, a Mac's lock.
    pub is_locked: bool,
    /// The permissions of Unix, 12 bits, if the protocol says so.
    pub mode: Option<u32>,
    /// The numbers of its user and its group, if the protocol says so.
    pub owner: Option<(u32, u32)>,
}

/// How much a tree can hold, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// In all.
    pub total: u64,
    /// Not used.
    pub free: u64,
}

/// The entries of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeListing {
    /// In the order of the server.
    pub entries: Vec<TreeEntry>,
    /// Names that cannot be carried, as they can be shown: they are not UTF-8, or none that a file can have, such as `..` or one
    /// with a slash, or another entry has the same.
    pub unreadable: Vec<String>,
}

/// The longest name that is taken from a server, in bytes. Those of Windows and Macs have up to 255 characters.
const LONGEST_NAME: usize = 1024;

/// Whether a server's name is that of an entry of a folder, and of nothing elsewhere.
fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && !matches!(name, "." | "..") && !name.contains(['/', '\0'])
}

impl TreeListing {
    /// Adds an entry. One whose name could lead out of the folder goes to the unreadable ones.
    pub(crate) fn add(&mut self, entry: TreeEntry) {
        match is_name(&entry.name) {
            true => self.entries.push(entry),
            false => self.unreadable.push(entry.name.chars().take(LONGEST_NAME).collect()),
        }
    }

    /// Of several entries with one name the first one stays: a link and a folder of one name would lead out of the tree.
    pub(crate) fn without_doubles(mut self) -> Self {
        let mut seen = std::collections::HashSet::with_capacity(self.entries.len());
        let doubles = self.entries.extract_if(.., |entry| !seen.insert(entry.name.clone()));
        self.unreadable.extend(doubles.map(|entry| entry.name));
        self
    }
}

/// All that a file has besides its data. A part that the file does not have, or that the protocol cannot tell, is `None` or empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra {
    /// 32 bytes of Finder info.
    pub finder_info: Option<Vec<u8>>,
    /// The resource fork.
    pub fork: Vec<u8>,
    /// The Finder comment.
    pub comment: Option<String>,
    /// Named streams, which are the extended attributes of Macs.
    pub streams: Vec<(String, Vec<u8>)>,
    /// Extended attributes of OS/2 and Windows.
    pub attributes: Vec<(String, Vec<u8>)>,
    /// When it was made.
    pub created: Option<Stamp>,
    /// When its data were last changed.
    pub modified: Option<Stamp>,
    /// When it was last backed up.
    pub backup: Option<Stamp>,
    /// Hidden, system, archive, read-only, locked against renaming, locked against removing.
    pub flags: [Option<bool>; FLAGS.len()],
    /// The permissions of Unix, 12 bits.
    pub mode: Option<u32>,
    /// The number of its user.
    pub owner: Option<u32>,
    /// The number of its group.
    pub group: Option<u32>,
    /// The target of a symbolic link.
    pub target: Option<String>,
}

impl Extra {
    /// Refuses what is more than one file's metadata may take in memory, together.
    ///
    /// # Errors
    /// It is more than [`LONGEST`].
    pub(crate) fn within_limits(&self, path: &str) -> Result<()> {
        let all = self.streams.iter().chain(&self.attributes).map(|(name, value)| name.len() + value.len());
        match all.sum::<usize>() + self.fork.len() > LONGEST {
            true => Err(Error::Other(format!("{path}: more than {} MiB of metadata", LONGEST >> 20))),
            false => Ok(()),
        }
    }
}

/// The order of [`Extra::flags`].
pub const FLAGS: [Aspect<'static>; 6] = [
    Aspect::Hidden,
    Aspect::System,
    Aspect::Archive,
    Aspect::ReadOnly,
    Aspect::RenameLock,
    Aspect::DeleteLock,
];

/// The name of one of [`FLAGS`] in reports.
#[must_use]
pub fn flag_name(flag: Aspect<'_>) -> &'static str {
    match flag {
        Aspect::Hidden => "hidden",
        Aspect::System => "system",
        Aspect::Archive => "archive",
        Aspect::RenameLock => "locked against renaming",
        Aspect::DeleteLock => "locked against removing",
        _ => "read-only",
    }
}

/// Something of a file that could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataLoss {
    /// What of the file.
    pub what: String,
    /// Why; `None`: the protocol has no way to.
    pub why: Option<String>,
}

/// A tree of files on a server, or of this machine.
///
/// # Errors
/// All calls: those of [`crate::Error`].
pub trait Tree: Peer {
    /// A path as the session's calls take it. All other paths here have the names of Unix.
    fn native(&self, path: &str) -> String {
        path.to_owned()
    }

    /// The entries of a folder, without those that belong to other files.
    fn entries(&mut self, folder: &str) -> Result<TreeListing>;

    /// Up to `length` bytes of an open file; none behind its end.
    fn read(&mut self, file: OpenFileId, offset: u64, length: usize) -> Result<Vec<u8>>;

    /// Where the next data of an open file are from this offset on; what is before it is a hole. `None`: there are no more. A tree
    /// that cannot tell answers the offset.
    fn next_data(&mut self, _file: OpenFileId, offset: u64) -> Result<Option<u64>> {
        Ok(Some(offset))
    }

    /// All that a file is besides its data.
    fn extra(&mut self, path: &str, kind: Kind) -> Result<Extra>;

    /// Writes what the protocol can write, the dates last. Returns the rest.
    fn set_extra(&mut self, path: &str, kind: Kind, extra: &Extra) -> Result<Vec<MetadataLoss>> {
        let mut writing = ExtraWriter { tree: self, path, lost: Vec::new() };
        writing.contents(extra)?;
        writing.details(kind, extra)?;
        Ok(writing.lost)
    }

    /// The access control list of a file or folder, if it says more than a mode. `None` also if the protocol has none.
    fn rights(&mut self, _path: &str) -> Result<Option<Entries>> {
        Ok(None)
    }

    /// Gives it this list. `false`: the protocol has no way to.
    fn set_rights(&mut self, _path: &str, _entries: &Entries) -> Result<bool> {
        Ok(false)
    }

    /// Who it belongs to and who may use it. `extra` is what [`Self::extra`] has said of it.
    fn security(&mut self, path: &str, _kind: Kind, extra: &Extra) -> Result<FileSecurity> {
        security_of(self, path, extra)
    }

    /// Gives a file or folder the POSIX ACLs of another one of this machine. `false`: the tree keeps none.
    fn set_posix(&mut self, _path: &str, _acls: &PosixAcls) -> Result<bool> {
        Ok(false)
    }

    /// Whether files may have access control lists that the server has not shown. The mode beside such a list may give more than the
    /// list: servers show the mask of a POSIX ACL as the group's bits.
    fn hides_lists(&self) -> bool {
        false
    }

    /// The account of this machine that has the name by which the server knows this one. `None`: it has no such name.
    fn account(&mut self, _who: &Who) -> Result<Option<Who>> {
        Ok(None)
    }

    /// Sets owner, group or mode. `false`: the protocol has no way to.
    fn put_unix(&mut self, path: &str, _kind: Kind, aspect: Aspect<'_>, number: u32) -> Result<bool> {
        self.put(path, aspect, &MetadataValue::Number(number.into()))
    }

    /// What is there by this name. The tree's own folder has the empty path.
    fn entry(&mut self, path: &str) -> Result<TreeEntry>;

    /// Gives a file or a folder another name, and another folder. A file that has the name is replaced.
    fn rename(&mut self, from: &str, to: &str) -> Result<()>;

    /// Cuts an open file off, or lengthens it with zeros.
    fn set_length(&mut self, file: OpenFileId, length: u64) -> Result<()>;

    /// The same for an open resource fork.
    fn set_fork_length(&mut self, fork: OpenFileId, length: u64) -> Result<()> {
        self.set_length(fork, length)
    }

    /// Bytes of a file's resource fork.
    fn fork_length(&mut self, path: &str) -> Result<u64> {
        Ok(match self.get(path, Aspect::Fork)? {
            AspectState::Value(MetadataValue::Bytes(bytes)) => bytes.len() as u64,
            _ => 0,
        })
    }

    /// How much space there is.
    fn space(&mut self) -> Result<Space>;

    /// Removes a named stream or an extended attribute. `false`: the protocol has no way to.
    fn drop_part(&mut self, _path: &str, _part: Aspect<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Makes a symbolic link.
    fn make_link(&mut self, path: &str, target: &str) -> Result<()> {
        match self.put(path, Aspect::Target, &MetadataValue::Text(target.to_owned()))? {
            true => Ok(()),
            false => Err(Error::Unsupported("a symbolic link")),
        }
    }
}

/// What the mode, the owner and the list of a file say.
pub(crate) fn security_of<T: Tree + ?Sized>(tree: &mut T, path: &str, extra: &Extra) -> Result<FileSecurity> {
    let list = tree.rights(path)?;
    let (owner, group) = (extra.owner.map(Who::User), extra.group.map(Who::Group));
    let mut security = FileSecurity { owner, group, mode: extra.mode, list, posix: PosixAcls::default() };
    // Beside a list, servers show modes of several kinds: the bits of the group may be those of all users that the list names.
    if let (Some(list), Some(mode)) = (&security.list, extra.mode) {
        let special = mode & 0o7000;
        let own = summary(&list.list, extra.owner.unwrap_or(u32::MAX), extra.group.unwrap_or(u32::MAX));
        security.mode = Some(special | own & mode);
    }
    Ok(security)
}

/// Writes the parts of an [`Extra`] one after the other.
pub(crate) struct ExtraWriter<'a, T: Tree + ?Sized> {
    pub(crate) tree: &'a mut T,
    pub(crate) path: &'a str,
    pub(crate) lost: Vec<MetadataLoss>,
}

impl<T: Tree + ?Sized> ExtraWriter<'_, T> {
    fn put(&mut self, what: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<()> {
        let lost = match self.tree.put(self.path, aspect, value) {
            Ok(true) => return Ok(()),
            Ok(false) | Err(Error::Unsupported(_)) => None,
            Err(error) if error.ends_session() => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        self.lost.push(MetadataLoss { what: what.to_owned(), why: lost });
        Ok(())
    }

    /// What has bytes of its own.
    pub(crate) fn contents(&mut self, extra: &Extra) -> Result<()> {
        for (name, value) in &extra.streams {
            self.put(
                &format!("stream {name}"),
                Aspect::Attribute(name),
                &MetadataValue::Bytes(value.clone()),
            )?;
        }
        for (name, value) in &extra.attributes {
            self.put(&format!("attribute {name}"), Aspect::Ea(name), &MetadataValue::Bytes(value.clone()))?;
        }
        if !extra.fork.is_empty() {
            self.put("resource fork", Aspect::Fork, &MetadataValue::Bytes(extra.fork.clone()))?;
        }
        if let Some(info) = extra.finder_info.as_ref().filter(|info| info.iter().any(|byte| *byte != 0)) {
            self.put("Finder info", Aspect::FinderInfo, &MetadataValue::Bytes(info.clone()))?;
        }
        if let Some(comment) = &extra.comment {
            self.put("comment", Aspect::Comment, &MetadataValue::Text(comment.clone()))?;
        }
        Ok(())
    }

    /// Owner, group and mode.
    fn rights(&mut self, kind: Kind, extra: &Extra) -> Result<()> {
        let mode = self.owners(kind, extra)?;
        self.put_number("mode", kind, Aspect::Mode, mode).map(drop)
    }

    /// Owner and group. Returns the mode, which is cut where the two are others: [`within`].
    pub(crate) fn owners(&mut self, kind: Kind, extra: &Extra) -> Result<Option<u32>> {
        let owner_is_kept = self.put_number("owner", kind, Aspect::Owner, extra.owner)?;
        let group_is_kept = self.put_number("group", kind, Aspect::Group, extra.group)?;
        Ok(extra.mode.filter(|_| kind != Kind::Link).map(|mode| within(mode, owner_is_kept, group_is_kept)))
    }

    /// Whether the number is there now.
    fn put_number(
        &mut self,
        what: &str,
        kind: Kind,
        aspect: Aspect<'_>,
        number: Option<u32>,
    ) -> Result<bool> {
        let Some(number) = number else { return Ok(false) };
        let why = match self.tree.put_unix(self.path, kind, aspect, number) {
            Ok(true) => return Ok(true),
            Ok(false) | Err(Error::Unsupported(_)) => None,
            Err(error) if error.ends_session() => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        self.lost.push(MetadataLoss { what: what.to_owned(), why });
        Ok(false)
    }

    /// Owner, group, mode, flags, dates, then the flags that forbid changes. Over AFP, a change of the flags is a change of the file: the
    /// date follows it.
    pub(crate) fn details(&mut self, kind: Kind, extra: &Extra) -> Result<()> {
        self.rights(kind, extra)?;
        let (plain, locks): (Vec<_>, Vec<_>) = FLAGS
            .into_iter()
            .zip(extra.flags)
            .filter(|(_, flag)| *flag == Some(true))
            .partition(|(aspect, _)| matches!(aspect, Aspect::Hidden | Aspect::System | Aspect::Archive));
        for (aspect, _) in plain {
            self.put(flag_name(aspect), aspect, &MetadataValue::Flag(true))?;
        }
        let dates = [
            ("date of the last backup", Aspect::Backup, extra.backup),
            ("date of creation", Aspect::Created, extra.created),
            ("date of the last change", Aspect::Modified, extra.modified),
        ];
        for (what, aspect, date) in dates {
            if let Some((secs, nanos)) = date {
                self.put(what, aspect, &MetadataValue::Time(secs, nanos))?;
            }
        }
        let is_locked = !locks.is_empty();
        for (aspect, _) in locks {
            self.put(flag_name(aspect), aspect, &MetadataValue::Flag(true))?;
        }
        if let Some((secs, nanos)) = extra.modified.filter(|_| is_locked) {
            // Where a lock forbids it, the date is as it was.
            match self.tree.put(self.path, Aspect::Modified, &MetadataValue::Time(secs, nanos)) {
                Err(error) if error.ends_session() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// What a session says of an aspect, if it says anything.
pub(crate) fn told<T: Peer + ?Sized>(
    tree: &mut T,
    path: &str,
    aspect: Aspect<'_>,
) -> Result<Option<MetadataValue>> {
    match tree.get(path, aspect) {
        Ok(AspectState::Value(value)) => Ok(Some(value)),
        Ok(AspectState::Missing | AspectState::Impossible)
        | Err(Error::Unsupported(_) | Error::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn bytes(value: Option<MetadataValue>) -> Option<Vec<u8>> {
    match value {
        Some(MetadataValue::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

pub(crate) fn text(value: Option<MetadataValue>) -> Option<String> {
    match value {
        Some(MetadataValue::Text(text)) => Some(text),
        _ => None,
    }
}

pub(crate) fn stamp(value: Option<MetadataValue>) -> Option<Stamp> {
    match value {
        Some(MetadataValue::Time(secs, nanos)) => Some((secs, nanos)),
        _ => None,
    }
}

pub(crate) fn flag(value: Option<MetadataValue>) -> Option<bool> {
    match value {
        Some(MetadataValue::Flag(flag)) => Some(flag),
        _ => None,
    }
}

/// What two names have in common if they are one name: servers give accents composed or decomposed.
#[must_use]
pub fn name_key(name: &str) -> String {
    String::from_utf8_lossy(&vfs::names::to_nfc(name.as_bytes())).into_owned()
}

/// Below a folder: the folder itself has no name.
#[must_use]
pub fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The last name of a path.
#[must_use]
pub fn last_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: &[&str]) -> TreeListing {
        let mut listing = TreeListing::default();
        for name in names {
            listing.add(TreeEntry {
                name: (*name).into(),
                kind: Kind::File,
                length: 0,
                modified: None,
                changed: None,
                links: 1,
                is_locked: false,
                mode: None,
                owner: None,
            });
        }
        listing.without_doubles()
    }

    #[test]
    fn names_that_lead_out_of_the_folder_are_left_out() {
        let long = "x".repeat(LONGEST_NAME + 1);
        let bad = [".", "..", "", "../etc", "/etc/passwd", "a/b", "a\0b", &long];
        let listing = listed(&[&bad[..], &["a", "...", "a\\b", " "]].concat());
        let names: Vec<&str> = listing.entries.iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, ["a", "...", "a\\b", " "]);
        assert_eq!(listing.unreadable.len(), bad.len());
    }

    #[test]
    fn of_two_entries_with_one_name_the_first_stays() {
        let listing = listed(&["a", "b", "a"]);
        assert_eq!((listing.entries.len(), &listing.unreadable[..]), (2, &["a".to_owned()][..]));
    }

    #[test]
    fn metadata_of_a_file_has_a_limit_in_all() {
        let mut extra = Extra { fork: vec![0; LONGEST], ..Extra::default() };
        assert!(extra.within_limits("a").is_ok());
        extra.streams.push(("b".into(), Vec::new()));
        assert_eq!(extra.within_limits("a").unwrap_err().to_string(), "a: more than 64 MiB of metadata");
    }
}
