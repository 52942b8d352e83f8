//! The names of a kept folder by what they fold to, kept up with what comes and goes.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use crate::names::{FoldedKey, Folding};

/// A stored name.
pub(crate) type Name = Arc<[u8]>;

/// What a name costs here, in bytes: its row in the table, which is seldom full.
const NAME_COST: usize = 64;

/// All names of a folder.
pub(super) struct Names {
    folding: Folding,
    hasher: RandomState,
    /// By the hash of their keys, which are too many bytes to keep.
    rows: HashMap<u64, Row>,
    bytes: usize,
}

/// Names whose keys have one hash.
enum Row {
    One(Name),
    Many(Vec<Name>),
}

impl Row {
    fn names(&self) -> &[Name] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

impl Names {
    pub(super) fn new<'a>(folding: Folding, all: impl Iterator<Item = &'a Name>) -> Self {
        let rows = HashMap::with_capacity(all.size_hint().0);
        let mut names = Self { folding, hasher: RandomState::new(), rows, bytes: 0 };
        all.for_each(|name| names.add(name.clone()));
        names
    }

    pub(super) fn folding(&self) -> Folding {
        self.folding
    }

    /// About how much memory they take beside the listing.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// One that came, or was there.
    pub(super) fn add(&mut self, name: Name) {
        let hash = self.hash(&FoldedKey::new(&name, self.folding));
        let Some(row) = self.rows.get_mut(&hash) else {
            self.bytes += name.len() + NAME_COST;
            self.rows.insert(hash, Row::One(name));
            return;
        };
        if row.names().contains(&name) {
            return;
        }
        self.bytes += name.len() + NAME_COST;
        let names = row.names().iter().cloned().chain([name]).collect();
        *row = Row::Many(names);
    }

    /// One that went, if it was there.
    pub(super) fn remove(&mut self, name: &[u8]) {
        let hash = self.hash(&FoldedKey::new(name, self.folding));
        let Some(row) = self.rows.get_mut(&hash) else { return };
        let left: Vec<Name> = row.names().iter().filter(|known| ***known != *name).cloned().collect();
        if left.len() == row.names().len() {
            return;
        }
        self.bytes -= name.len() + NAME_COST;
        if left.is_empty() {
            self.rows.remove(&hash);
        } else {
            *row = Row::Many(left);
        }
    }

    /// Those that fold to this key, in the order of their bytes.
    pub(super) fn like(&self, key: &FoldedKey) -> Vec<Name> {
        let row = self.rows.get(&self.hash(key));
        let candidates = row.map_or(&[][..], Row::names).iter();
        let mut alike: Vec<Name> =
            candidates.filter(|name| FoldedKey::new(name, self.folding) == *key).cloned().collect();
        alike.sort();
        alike
    }

    fn hash(&self, key: &FoldedKey) -> u64 {
        self.hasher.hash_one(key.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(names: &Names, name: &str) -> Vec<String> {
        let key = FoldedKey::new(name.as_bytes(), Folding::default());
        names.like(&key).iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn names_that_fold_alike_are_all_found_until_they_go() {
        let all: Vec<Name> = ["b", "B", "ä", "c"].map(|name| name.as_bytes().into()).into();
        let mut names = Names::new(Folding::default(), all.iter());
        assert_eq!(
            (like(&names, "b"), like(&names, "A\u{308}")),
            (vec!["B".into(), "b".into()], vec!["ä".into()])
        );
        names.add(all[0].clone());
        names.remove(b"b");
        assert_eq!(like(&names, "b"), ["B"]);
        names.remove(b"b");
        names.remove(b"B");
        assert!(like(&names, "b").is_empty());
        names.add(all[0].clone());
        assert_eq!(like(&names, "B"), ["b"]);
        all.iter().for_each(|name| names.remove(name));
        assert_eq!((names.bytes(), names.rows.len()), (0, 0));
    }
}
