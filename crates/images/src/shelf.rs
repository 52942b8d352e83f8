//! Several file systems as one: a folder for each volume of an image, and for each snapshot that a volume has of itself.
//!
//! A snapshot is opened when something in it is asked for. Nodes have the number of their file system in their upper 16 bits.

use std::sync::{Arc, OnceLock};

use formats::{Kind, Time};

use crate::tree::{Entry, FileSystem, Fork, Node, NodeId, Page};
use crate::{Error, OpenSnapshot, Result, Volume};

/// The folder of all file systems.
const TOP: NodeId = NodeId(1);
/// Bits of a node's number in its own file system.
const BITS: u32 = 48;
/// Stands for the top folder of a file system, whose number is known only when that is open.
const ROOT: u64 = (1 << BITS) - 1;
/// The most file systems that are shown.
pub const MOST_PARTS: usize = 10_000;

/// All that can be shown of an image: its one file system, or a folder for each.
///
/// # Errors
///
/// Why nothing can be shown.
pub fn shelf(volumes: Vec<Volume>) -> Result<Arc<dyn FileSystem>> {
    let nothing = || Error::NotSupported("an image without a file system".into());
    let first = volumes.iter().find_map(|volume| volume.files.clone().err());
    let shown: Vec<(Volume, Arc<dyn FileSystem>)> =
        volumes.into_iter().filter_map(|one| one.files.clone().ok().map(|files| (one, files))).collect();
    match shown.as_slice() {
        [] => Err(first.unwrap_or_else(nothing)),
        [(volume, files)] if volume.snapshots.is_empty() => Ok(files.clone()),
        several => Ok(Arc::new(Shelf::new(several))),
    }
}

/// File systems, each in a folder.
struct Shelf {
    name: String,
    parts: Vec<Part>,
}

/// A file system, and the folder in which it is shown.
struct Part {
    name: String,
    taken: Time,
    open: OpenSnapshot,
    opened: OnceLock<Result<Arc<dyn FileSystem>>>,
}

/// The number of a file system on the shelf, that one, and a node of it.
type Inner = (usize, Arc<dyn FileSystem>, NodeId);

impl Shelf {
    fn new(volumes: &[(Volume, Arc<dyn FileSystem>)]) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        let mut add = |name: String, taken: Time, open: OpenSnapshot| {
            let name = if name.is_empty() { "Untitled".into() } else { name.replace(['/', '\0'], ":") };
            let is_taken = |name: &str| parts.iter().any(|part: &Part| part.name.eq_ignore_ascii_case(name));
            let numbered = (2..).map(|number| format!("{name} {number}"));
            let name = [name.clone()].into_iter().chain(numbered).find(|name| !is_taken(name));
            if let Some(name) = name.filter(|_| parts.len() < MOST_PARTS) {
                parts.push(Part { name, taken, open, opened: OnceLock::new() });
            }
        };
        for (volume, files) in volumes {
            let (files, time) = (files.clone(), files.node(files.root()).map(|root| root.modified));
            add(volume.name.clone(), time.unwrap_or_default(), Arc::new(move || Ok(files.clone())));
            for snapshot in &volume.snapshots {
                let name = match volumes.len() {
                    1 => snapshot.name.clone(),
                    _ => format!("{}@{}", volume.name, snapshot.name),
                };
                add(name, snapshot.taken, snapshot.open.clone());
            }
        }
        let name = volumes.first().map(|(volume, _)| volume.name.clone()).unwrap_or_default();
        Self { name, parts }
    }

    /// The file system of a node, with its number on the shelf, and the node there. `None` for the folder of all.
    fn inner(&self, node: NodeId) -> Result<Option<Inner>> {
        if node == TOP {
            return Ok(None);
        }
        let at = usize::try_from(node.0 >> BITS).ok().and_then(|at| at.checked_sub(1));
        let part = at.and_then(|at| self.parts.get(at)).ok_or(Error::NotFound)?;
        let files = part.opened.get_or_init(|| (part.open)()).clone()?;
        let own = match node.0 & ROOT {
            ROOT => files.root(),
            own => NodeId(own),
        };
        Ok(Some((at.unwrap_or_default(), files, own)))
    }

    /// The node of a file system.
    fn within(&self, node: NodeId) -> Result<(Arc<dyn FileSystem>, NodeId)> {
        self.inner(node)?.map(|(_, files, own)| (files, own)).ok_or(Error::NotFound)
    }

    fn top(&self) -> Node {
        let newest = self.parts.iter().map(|part| part.taken).max().unwrap_or_default();
        Node {
            id: TOP,
            kind: Kind::Folder,
            mode: 0o555,
            user: 0,
            group: 0,
            flags: 0,
            links: 1,
            size: 0,
            resource_size: 0,
            finder_info: [0; 32],
            created: newest,
            modified: newest,
            changed: newest,
            accessed: newest,
            backed_up: None,
        }
    }

    fn entry_of(&self, at: usize) -> Entry {
        Entry { name: self.parts[at].name.clone(), node: outer(at, ROOT), kind: Kind::Folder }
    }
}

fn outer(at: usize, own: u64) -> NodeId {
    NodeId((at as u64 + 1) << BITS | own)
}

/// The number of a node of a file system on the shelf.
fn shown(at: usize, files: &dyn FileSystem, own: NodeId) -> Result<NodeId> {
    match own.0 {
        _ if own == files.root() => Ok(outer(at, ROOT)),
        number if number < ROOT => Ok(outer(at, number)),
        _ => Err(Error::NotSupported("a file with so large a number".into())),
    }
}

impl FileSystem for Shelf {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn format(&self) -> String {
        format!("{} file systems and snapshots", self.parts.len())
    }

    /// Names that differ in case only are told apart if any file system does that.
    fn case_sensitive(&self) -> bool {
        let opened = self.parts.iter().filter_map(|part| part.opened.get()?.as_ref().ok());
        opened.into_iter().any(|files| files.case_sensitive())
    }

    fn space(&self) -> (u64, u64) {
        match self.within(outer(0, ROOT)) {
            Ok((files, _)) => files.space(),
            Err(_) => (0, 0),
        }
    }

    fn root(&self) -> NodeId {
        TOP
    }

    fn node(&self, id: NodeId) -> Result<Node> {
        match self.inner(id)? {
            None => Ok(self.top()),
            Some((at, files, own)) => {
                let node = files.node(own)?;
                Ok(Node { id: shown(at, &*files, node.id)?, ..node })
            }
        }
    }

    fn entries(&self, folder: NodeId, after: Option<&str>, most: usize) -> Result<Page> {
        let Some((at, files, own)) = self.inner(folder)? else {
            let from = match after {
                None => 0,
                Some(after) => self.parts.iter().position(|part| part.name == after).map_or(0, |at| at + 1),
            };
            let end = (from + most).min(self.parts.len());
            let entries: Vec<Entry> = (from..end).map(|at| self.entry_of(at)).collect();
            let next = entries.last().filter(|_| end < self.parts.len()).map(|last| last.name.clone());
            return Ok(Page { entries, next });
        };
        let mut page = files.entries(own, after, most)?;
        for entry in &mut page.entries {
            entry.node = shown(at, &*files, entry.node)?;
        }
        Ok(page)
    }

    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry> {
        let Some((at, files, own)) = self.inner(folder)? else {
            let at = self.parts.iter().position(|part| part.name == name).ok_or(Error::NotFound)?;
            return Ok(self.entry_of(at));
        };
        let entry = files.lookup(own, name)?;
        Ok(Entry { node: shown(at, &*files, entry.node)?, ..entry })
    }

    fn parent(&self, folder: NodeId) -> Result<NodeId> {
        match self.inner(folder)? {
            None => Ok(TOP),
            Some((_, files, own)) if own == files.root() => Ok(TOP),
            Some((at, files, own)) => shown(at, &*files, files.parent(own)?),
        }
    }

    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let (files, own) = self.within(file)?;
        files.read(own, fork, offset, buffer)
    }

    fn link_target(&self, link: NodeId) -> Result<Vec<u8>> {
        let (files, own) = self.within(link)?;
        files.link_target(own)
    }

    fn attribute_names(&self, node: NodeId) -> Result<Vec<String>> {
        match self.inner(node)? {
            None => Ok(Vec::new()),
            Some((_, files, own)) => files.attribute_names(own),
        }
    }

    fn attribute(&self, node: NodeId, name: &str) -> Result<Vec<u8>> {
        let (files, own) = self.within(node)?;
        files.attribute(own, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Snapshot;
    use crate::memory::MemoryFiles;

    fn volume(name: &str, file: &str) -> Volume {
        let mut files = MemoryFiles::new(name);
        let folder = files.folder(files.root(), "folder");
        files.file(folder, file, file.as_bytes());
        Volume { name: name.into(), format: String::new(), files: Ok(Arc::new(files)), snapshots: Vec::new() }
    }

    fn with_snapshot(name: &str) -> Volume {
        let then = volume(name, "then").files.unwrap();
        let taken = Time { secs: 7, nanos: 0 };
        let snapshot = Snapshot { name: "monday".into(), taken, open: Arc::new(move || Ok(then.clone())) };
        Volume { snapshots: vec![snapshot], ..volume(name, "now") }
    }

    fn names(files: &dyn FileSystem, folder: NodeId) -> Vec<String> {
        files.entries(folder, None, 100).unwrap().entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn one_file_system_is_shown_as_it_is() {
        let files = shelf(vec![volume("Disk", "a")]).unwrap();
        assert_eq!((files.name(), names(&*files, files.root())), ("Disk".into(), vec!["folder".into()]));
    }

    #[test]
    fn volumes_and_snapshots_are_folders_and_files_keep_their_contents() {
        let files = shelf(vec![with_snapshot("Disk")]).unwrap();
        assert_eq!(names(&*files, files.root()), ["Disk", "monday"]);
        for (part, file) in [("Disk", "now"), ("monday", "then")] {
            let root = files.lookup(files.root(), part).unwrap().node;
            assert_eq!(files.parent(root).unwrap(), files.root());
            let folder = files.lookup(root, "folder").unwrap().node;
            assert_eq!(files.parent(folder).unwrap(), root);
            let entry = files.lookup(folder, file).unwrap();
            assert_eq!(files.node(entry.node).unwrap().id, entry.node);
            let mut bytes = [0; 9];
            let count = files.read(entry.node, Fork::Data, 0, &mut bytes).unwrap();
            assert_eq!(&bytes[..count], file.as_bytes());
        }
        let two = shelf(vec![with_snapshot("One"), volume("Two", "x")]).unwrap();
        assert_eq!(names(&*two, two.root()), ["One", "One@monday", "Two"]);
    }

    #[test]
    fn what_cannot_be_opened_says_why_if_it_is_all_there_is() {
        let closed = Volume { files: Err(Error::Passphrase), ..volume("Vault", "a") };
        assert_eq!(shelf(vec![closed.clone()]).err(), Some(Error::Passphrase));
        let files = shelf(vec![closed, volume("Open", "b")]).unwrap();
        assert_eq!(files.name(), "Open");
        assert!(matches!(shelf(Vec::new()).err(), Some(Error::NotSupported(_))));
    }
}
