//! Resource forks as files. Linux has no extended attributes of more than 64 KiB, and many forks are longer.
//!
//! macOS names the fork of a file `NAME/..namedfork/rsrc`. Linux looks for no name below a file, so the first two change places here:
//! `..namedfork/NAME/rsrc`, in the folder that has the file. Listings do not show `..namedfork`, as on macOS.

use client::tree::{Kind, TreeEntry, below};

/// The name that macOS has for the forks of a file, sys/paths.h: `_PATH_FORKSPECIFIER`.
const FORKS: &str = "..namedfork";
/// The name that macOS has for the resource fork: `_PATH_RSRCFORKSPEC`.
pub(crate) const RESOURCE_FORK: &str = "rsrc";

/// What a path of the mounted folder names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place<'p> {
    /// What the server has by this path.
    Tree(&'p str),
    /// `..namedfork` of the folder with this path: it has a folder for each file.
    Folder(&'p str),
    /// The folder of the file with this path.
    File(String),
    /// The resource fork of the file with this path.
    Fork(String),
    /// Nothing.
    Nothing,
}

/// What a path names.
pub(crate) fn place(path: &str) -> Place<'_> {
    let parts = path.split('/');
    let Some(at) = parts.clone().position(|part| part == FORKS) else { return Place::Tree(path) };
    let length: usize = parts.clone().take(at).map(|part| part.len() + 1).sum();
    let folder = &path[..length.saturating_sub(1)];
    match parts.skip(at + 1).collect::<Vec<_>>()[..] {
        [] => Place::Folder(folder),
        [name] => Place::File(below(folder, name)),
        [name, RESOURCE_FORK] => Place::Fork(below(folder, name)),
        _ => Place::Nothing,
    }
}

/// Whether a path is one of forks: there no names can be made, moved or removed.
pub(crate) fn is_fixed(path: &str) -> bool {
    !matches!(place(path), Place::Tree(_))
}

/// A folder of forks beside what it is made for.
pub(crate) fn folder(name: &str, of: &TreeEntry) -> TreeEntry {
    let (mode, length) = (Some(0o555), 0);
    TreeEntry {
        name: name.to_owned(),
        kind: Kind::Folder,
        length,
        links: 1,
        is_locked: true,
        mode,
        ..of.clone()
    }
}

/// The fork of a file. Each file has one, which may be empty.
pub(crate) fn fork(of: &TreeEntry, length: u64) -> TreeEntry {
    let mode = of.mode.map(|mode| mode & 0o666);
    TreeEntry { name: RESOURCE_FORK.to_owned(), kind: Kind::File, length, links: 1, mode, ..of.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_has_the_name_that_macos_gives_it() {
        for (path, named) in [
            ("", Place::Tree("")),
            ("a/b", Place::Tree("a/b")),
            ("a/..namedforks/b", Place::Tree("a/..namedforks/b")),
            ("..namedfork", Place::Folder("")),
            ("a/b/..namedfork", Place::Folder("a/b")),
            ("..namedfork/c", Place::File("c".into())),
            ("a/b/..namedfork/c", Place::File("a/b/c".into())),
            ("..namedfork/c/rsrc", Place::Fork("c".into())),
            ("a/b/..namedfork/c/rsrc", Place::Fork("a/b/c".into())),
            ("a/..namedfork/c/data", Place::Nothing),
            ("a/..namedfork/c/rsrc/d", Place::Nothing),
            ("a/..namedfork/..namedfork", Place::File("a/..namedfork".into())),
        ] {
            assert_eq!(place(path), named, "{path}");
            assert_eq!(is_fixed(path), !matches!(named, Place::Tree(_)), "{path}");
        }
    }
}
