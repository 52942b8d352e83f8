//! What is shown of a file system in an image: folders, files with their forks, attributes.

use formats::{Kind, Time};

use crate::Result;

/// A file, folder or link of one file system: HFS+'s catalogue node id, APFS's inode number. Hard links share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

/// A stream of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The data of a file.
    Data,
    /// The resource fork.
    Resource,
}

/// What the file system says of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The node.
    pub id: NodeId,
    /// What it is.
    pub kind: Kind,
    /// Permission bits, 07777.
    pub mode: u16,
    /// The user's number on the machine that wrote it.
    pub user: u32,
    /// The group's number there.
    pub group: u32,
    /// BSD flags (`chflags`).
    pub flags: u32,
    /// How many names it has.
    pub links: u32,
    /// Bytes of the data fork, as programs see them: decompressed.
    pub size: u64,
    /// Bytes of the resource fork, as programs see them.
    pub resource_size: u64,
    /// Finder information: 16 bytes of `FileInfo` or `FolderInfo`, 16 bytes of the extended one.
    pub finder_info: [u8; 32],
    /// When it was made.
    pub created: Time,
    /// When its data changed.
    pub modified: Time,
    /// When anything of it changed.
    pub changed: Time,
    /// When it was read.
    pub accessed: Time,
    /// When it was backed up, if ever.
    pub backed_up: Option<Time>,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as stored, in the form of POSIX: HFS+ stores decomposed names; a `/` that it stores is a `:` here.
    pub name: String,
    /// What it names.
    pub node: NodeId,
    /// What kind that is.
    pub kind: Kind,
}

/// A page of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Entries in the order of the file system.
    pub entries: Vec<Entry>,
    /// The name after which the next page begins; absent at the end.
    pub next: Option<String>,
}

/// A file system in an image, or a snapshot of one. All methods are read-only, and may be called by many threads.
pub trait FileSystem: Send + Sync {
    /// The name of the volume.
    fn name(&self) -> String;

    /// The format in the words of its maker, such as "HFS+ (journaled)" or "APFS (case-sensitive)".
    fn format(&self) -> String;

    /// Whether two names that differ in case name two files.
    fn case_sensitive(&self) -> bool;

    /// All blocks, and the free ones, in bytes.
    fn space(&self) -> (u64, u64);

    /// The top folder.
    fn root(&self) -> NodeId;

    /// What is known of a node.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotFound`] if there is none with this id.
    fn node(&self, id: NodeId) -> Result<Node>;

    /// The entries of a folder after `after`, at most `most`.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotFound`] if `folder` is no folder.
    fn entries(&self, folder: NodeId, after: Option<&str>, most: usize) -> Result<Page>;

    /// The entry with this name, by the comparison of this file system.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotFound`] if there is none.
    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry>;

    /// The folder that a folder is in, if the file system stores that; one of them for a folder with hard links.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotSupported`] where it is not stored, [`crate::Error::NotFound`] if there is no such folder.
    fn parent(&self, _folder: NodeId) -> Result<NodeId> {
        Err(crate::Error::NotSupported("finding the folder above".into()))
    }

    /// Reads a fork from `offset`; returns how many bytes there were, less than asked at its end only.
    ///
    /// # Errors
    ///
    /// What is damaged, or not supported.
    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize>;

    /// Where a symbolic link leads, as bytes.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotFound`] if it is no link.
    fn link_target(&self, link: NodeId) -> Result<Vec<u8>>;

    /// The names of the extended attributes, without the resource fork, Finder information and those that only store how
    /// the file is compressed.
    ///
    /// # Errors
    ///
    /// What is damaged.
    fn attribute_names(&self, node: NodeId) -> Result<Vec<String>>;

    /// The value of an extended attribute.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotFound`] if there is none.
    fn attribute(&self, node: NodeId, name: &str) -> Result<Vec<u8>>;
}
