//! The numbers that the kernel has for what it has looked up. A number stands for a path; it stays while the kernel knows it, also
//! when the file gets another name.

use std::collections::HashMap;

use client::tree::below;

/// The number of the mounted folder itself.
pub(crate) const ROOT: u64 = 1;

#[derive(Debug)]
struct Node {
    /// `None`: it was removed.
    path: Option<String>,
    /// How often the kernel has looked it up.
    lookups: u64,
}

/// All numbers.
#[derive(Debug)]
pub(crate) struct Nodes {
    nodes: HashMap<u64, Node>,
    numbers: HashMap<String, u64>,
    next: u64,
}

impl Nodes {
    pub(crate) fn new() -> Self {
        let root = Node { path: Some(String::new()), lookups: 1 };
        Self {
            nodes: HashMap::from([(ROOT, root)]),
            numbers: HashMap::from([(String::new(), ROOT)]),
            next: ROOT + 1,
        }
    }

    /// The path of a number, if it still has one.
    pub(crate) fn path(&self, number: u64) -> Option<String> {
        self.nodes.get(&number)?.path.clone()
    }

    /// The number of a path, if the kernel knows it.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.numbers.get(path).copied()
    }

    /// The number of a path, which the kernel is told once more.
    pub(crate) fn look_up(&mut self, path: &str) -> u64 {
        let number = match self.numbers.get(path) {
            Some(number) => *number,
            None => {
                let number = self.next;
                self.next += 1;
                self.numbers.insert(path.to_owned(), number);
                self.nodes.insert(number, Node { path: Some(path.to_owned()), lookups: 0 });
                number
            }
        };
        if let Some(node) = self.nodes.get_mut(&number) {
            node.lookups += 1;
        }
        number
    }

    /// The kernel forgets so many look-ups.
    pub(crate) fn forget(&mut self, number: u64, count: u64) {
        let Some(node) = self.nodes.get_mut(&number).filter(|_| number != ROOT) else { return };
        node.lookups = node.lookups.saturating_sub(count);
        if node.lookups == 0
            && let Some(path) = self.nodes.remove(&number).and_then(|node| node.path)
        {
            self.numbers.remove(&path);
        }
    }

    /// What had this path is gone.
    pub(crate) fn remove(&mut self, path: &str) {
        if let Some(number) = self.numbers.remove(path)
            && let Some(node) = self.nodes.get_mut(&number)
        {
            node.path = None;
        }
    }

    /// What had one path, and all below it, has another one. What had the other path is gone.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        self.remove(to);
        let inside = format!("{from}/");
        let moved: Vec<(String, u64)> = self
            .numbers
            .iter()
            .filter(|(path, _)| *path == from || path.starts_with(&inside))
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        for (path, number) in moved {
            self.numbers.remove(&path);
            let path = match path.strip_prefix(&inside) {
                Some(rest) => below(to, rest),
                None => to.to_owned(),
            };
            if let Some(node) = self.nodes.get_mut(&number) {
                node.path = Some(path.clone());
            }
            self.numbers.insert(path, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_follows_what_is_renamed_above_it() {
        let mut nodes = Nodes::new();
        let (folder, file) = (nodes.look_up("a"), nodes.look_up("a/b"));
        let other = nodes.look_up("ab");
        nodes.rename("a", "c/d");
        assert_eq!(nodes.path(folder).as_deref(), Some("c/d"));
        assert_eq!(nodes.path(file).as_deref(), Some("c/d/b"));
        assert_eq!(nodes.path(other).as_deref(), Some("ab"), "a name that only begins the same");
        assert_eq!(nodes.number("a/b"), None);
    }

    #[test]
    fn a_number_ends_when_the_kernel_has_forgotten_every_look_up() {
        let mut nodes = Nodes::new();
        let number = nodes.look_up("a");
        assert_eq!(nodes.look_up("a"), number);
        nodes.forget(number, 1);
        assert_eq!(nodes.number("a"), Some(number));
        nodes.forget(number, 1);
        assert_eq!(nodes.number("a"), None);
        assert_ne!(nodes.look_up("a"), number, "the kernel may not take it for the old file");
    }

    #[test]
    fn what_is_replaced_has_no_path_any_more() {
        let mut nodes = Nodes::new();
        let (new, old) = (nodes.look_up("new"), nodes.look_up("old"));
        nodes.rename("new", "old");
        assert_eq!(nodes.path(old), None);
        assert_eq!(nodes.path(new).as_deref(), Some("old"));
        nodes.forget(old, 1);
        assert_eq!(nodes.number("old"), Some(new), "the old number does not take the path with it");
    }

    #[test]
    fn the_root_is_never_forgotten() {
        let mut nodes = Nodes::new();
        nodes.forget(ROOT, u64::MAX);
        assert_eq!(nodes.path(ROOT).as_deref(), Some(""));
    }
}
