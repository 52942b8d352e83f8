//! A walk through a tree, by pages of each folder. Nothing but the pages of the folders on the way is kept.

use crate::backend::Node;
use crate::backend::Object;
use crate::caller::server;
use crate::{Error, Kind, Result};

/// Entries of a folder that are looked at together.
const PAGE: usize = 1024;
/// Folders in each other. A tree that is deeper has a loop of bind mounts.
const DEEPEST: usize = 1_000;

/// A visitor of each entry of a tree.
pub(crate) trait Visitor {
    /// A folder is about to be walked, which is an entry of `parent`.
    fn enter(&mut self, _folder: &Node, _parent: &Node, _path: &[Vec<u8>]) {}
    /// An entry of the folder at `path`. Whether it is a folder that is to be walked.
    fn look(&mut self, folder: &Node, name: &[u8], path: &[Vec<u8>]) -> bool;
    /// Something at `path` cannot be looked at.
    fn unreadable(&mut self, path: &[Vec<u8>], error: Error);
    /// Whether the walk goes on.
    fn goes_on(&mut self) -> bool;
}

/// A folder whose entries are being looked at.
struct ScrubbedFolder {
    folder: Node,
    /// Folders of the page that are to be walked yet.
    inner: Vec<Vec<u8>>,
    /// Where the next page begins.
    next: Option<u64>,
}

impl ScrubbedFolder {
    fn new(folder: Node) -> Self {
        Self { folder, inner: Vec::new(), next: Some(0) }
    }
}

/// Walks what is below a folder, which is at `path`.
pub(crate) fn tree(folder: Node, mut path: Vec<Vec<u8>>, visitor: &mut dyn Visitor) {
    let mut levels = vec![ScrubbedFolder::new(folder)];
    while let Some(level) = levels.last_mut() {
        if !visitor.goes_on() {
            return;
        }
        if let Some(name) = level.inner.pop() {
            let (parent, inner) = (level.folder.clone(), level.folder.lookup(server(), &name));
            path.push(name);
            match inner {
                Ok(inner) if inner.attributes.kind == Kind::Folder => {
                    if levels.len() < DEEPEST {
                        visitor.enter(&inner.object, &parent, &path);
                        levels.push(ScrubbedFolder::new(inner.object));
                        continue;
                    }
                    visitor.unreadable(&path, Error::TooMany);
                }
                // It was removed or replaced meanwhile.
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => visitor.unreadable(&path, error),
            }
            path.pop();
        } else if let Some(cookie) = level.next.take() {
            match page(&*level.folder, cookie) {
                Ok((names, next)) => {
                    level.next = next;
                    let folder = level.folder.clone();
                    level.inner =
                        names.into_iter().filter(|name| visitor.look(&folder, name, &path)).collect();
                }
                Err(error) => visitor.unreadable(&path, error),
            }
        } else {
            levels.pop();
            path.pop();
        }
    }
}

/// The entries of a folder from a cookie on, at most [`PAGE`], and where to go on.
pub(crate) fn page(folder: &dyn Object, cookie: u64) -> Result<(Vec<Vec<u8>>, Option<u64>)> {
    let (mut names, mut last) = (Vec::new(), cookie);
    let at_end = folder.list(cookie, &mut |entry| {
        last = entry.cookie;
        if !matches!(entry.name, b"." | b"..") {
            names.push(entry.name.to_vec());
        }
        names.len() < PAGE
    })?;
    Ok((names, (!at_end).then_some(last)))
}
