//! The paths that differ between two snapshots, as btrfs itself knows them: the work is that of the changes, not of all files.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::ops::Bound;
use std::path::Path;

use super::Program;
use crate::host::{join, split};
use crate::keys::STORE;
use crate::wire::btrfs::{self, Command};

/// With more paths than that a walk through both trees takes less memory.
const MOST: usize = 1 << 18;

/// Paths that differ.
#[derive(Debug, Default)]
pub(crate) struct ChangedPaths {
    /// In the newer tree: what was changed, and the folders with other names in them.
    paths: BTreeSet<Vec<u8>>,
    /// These, and the folders above them.
    above: BTreeSet<Vec<u8>>,
    /// In the older tree, or of no tree: what got another name or was removed.
    pub(crate) before: BTreeSet<Vec<u8>>,
    has_links: bool,
}

impl ChangedPaths {
    /// Whether this path, or something below it, may have changed.
    pub(crate) fn leads_to(&self, path: &[u8]) -> bool {
        self.above.contains(path)
    }

    fn add(&mut self, path: Vec<u8>) {
        self.paths.insert(path);
    }

    /// The folder of a path has other names in it.
    fn add_folder_of(&mut self, path: &[u8]) {
        self.add(folder_of(path).to_vec());
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Changed(path) => {
                self.add_folder_of(&path);
                self.add(path);
            }
            Command::Renamed(from, to) => {
                for path in self.remove_below(&from) {
                    self.add([&to[..], &path[from.len()..]].concat());
                }
                self.add_folder_of(&from);
                self.add_folder_of(&to);
                self.add(to);
                self.before.insert(from);
            }
            Command::Linked(path, of) => {
                self.has_links = true;
                self.add_folder_of(&path);
                self.add(path);
                self.add(of);
            }
            Command::Removed(path) => {
                self.remove_below(&path);
                self.add_folder_of(&path);
                self.before.insert(path);
            }
            Command::Other => {}
        }
    }

    /// Takes a path and all that is below it.
    fn remove_below(&mut self, path: &[u8]) -> Vec<Vec<u8>> {
        let inside = join(path, b"");
        let range = (Bound::Included(path.to_vec()), Bound::Unbounded);
        let at_or_below = |one: &&Vec<u8>| **one == path || one.starts_with(&inside);
        let found = self.paths.range::<Vec<u8>, _>(range).take_while(|one| one.starts_with(path));
        let found: Vec<Vec<u8>> = found.filter(at_or_below).cloned().collect();
        for path in &found {
            self.paths.remove(path);
        }
        found
    }

    fn complete(mut self) -> Self {
        for path in &self.paths {
            let mut path = &path[..];
            // The folders above one that is there are there.
            while self.above.insert(path.to_vec()) && !path.is_empty() {
                path = folder_of(path);
            }
        }
        self.above.insert(Vec::new());
        self
    }
}

fn folder_of(path: &[u8]) -> &[u8] {
    split(path).0
}

/// What btrfs says that differs. `None`: a walk through both trees has to find it, because the program fails or the
/// changes have to do with names of files that stay as they are: hard links, and forks in the server's own folder.
pub(crate) fn changed(older: &Path, newer: &Path) -> Option<ChangedPaths> {
    let (program, output) = Program::send_btrfs(Some(older), newer, false).ok()?;
    let changed = read(BufReader::new(output))?;
    program.end().ok()?;
    let has_forks = |path: &Vec<u8>| path.starts_with(STORE);
    let is_walk_needed = changed.has_links || changed.paths.iter().chain(&changed.before).any(has_forks);
    (!is_walk_needed).then(|| changed.complete())
}

fn read(mut stream: impl Read) -> Option<ChangedPaths> {
    let mut bytes = vec![0; btrfs::START];
    stream.read_exact(&mut bytes).ok()?;
    btrfs::start(&bytes).ok()?;
    let mut changed = ChangedPaths::default();
    loop {
        bytes.resize(btrfs::COMMAND_HEAD, 0);
        match stream.read(&mut bytes[..1]).ok()? {
            0 => return Some(changed),
            _ => stream.read_exact(&mut bytes[1..]).ok()?,
        }
        let length = btrfs::length(&bytes).ok()?;
        bytes.resize(length, 0);
        stream.read_exact(&mut bytes[btrfs::COMMAND_HEAD..]).ok()?;
        changed.take(btrfs::command(&bytes).ok()?);
        if changed.paths.len() + changed.before.len() > MOST {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(commands: &[Command]) -> Vec<String> {
        let mut changed = ChangedPaths::default();
        commands.iter().cloned().for_each(|command| changed.take(command));
        let text = |path: &Vec<u8>| String::from_utf8(path.clone()).unwrap();
        changed.paths.iter().map(text).collect()
    }

    #[test]
    fn a_path_follows_the_renames_of_its_folders() {
        let bytes = |path: &str| path.as_bytes().to_vec();
        let renamed = |from: &str, to: &str| Command::Renamed(bytes(from), bytes(to));
        let changed = |path: &str| Command::Changed(bytes(path));
        assert_eq!(
            paths(&[
                changed("o257-7-0"),
                renamed("o257-7-0", "docs/new"),
                changed("docs/new/a"),
                changed("docs/news"),
                renamed("docs/new", "films"),
            ]),
            ["", "docs", "docs/news", "films", "films/a"]
        );
        assert_eq!(paths(&[changed("a/b"), Command::Removed(bytes("a/b"))]), ["a"]);
    }

    #[test]
    fn folders_above_a_change_lead_to_it() {
        let mut changed = ChangedPaths::default();
        changed.take(Command::Changed(b"a/b/c".to_vec()));
        let changed = changed.complete();
        for path in ["", "a", "a/b", "a/b/c"] {
            assert!(changed.leads_to(path.as_bytes()), "{path}");
        }
        assert!(!changed.leads_to(b"a/b/d") && !changed.leads_to(b"b"));
    }
}
