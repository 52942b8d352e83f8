//! `shares.toml` in the state folder: the number each share has in file handles. A number never changes and is never
//! given twice, so that a handle of one share can never mean a file of another, whatever is shared later.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use auth::durable;
use serde::{Deserialize, Serialize};

use crate::state::{State, StateError, damaged, io_error, newer};

/// The version of the format that this program writes.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    next: u32,
    #[serde(default)]
    share: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl State {
    /// The number of each share, in the order of `names`. A name that is new gets one, on the disk before this
    /// returns. A share that is removed keeps its number, for when it comes back.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn share_numbers<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<u32>, StateError> {
        let path = self.path().join("shares.toml");
        let mut written = read(&path)?;
        let before = written.next;
        let mut numbers = Vec::new();
        for name in names {
            let next = &mut written.next;
            let number = *written.share.entry(name.to_owned()).or_insert_with(|| {
                *next += 1;
                *next - 1
            });
            numbers.push(number);
        }
        if written.next != before {
            let text = toml_edit::ser::to_string_pretty(&written)
                .map_err(|error| io_error(&path, io::Error::other(error)))?;
            durable::replace(&path, text.as_bytes()).map_err(|source| io_error(&path, source))?;
        }
        Ok(numbers)
    }
}

/// The version is read first: a later one may have any shape. Without the file there are no numbers yet.
fn read(path: &Path) -> Result<Written, StateError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Written { format: FORMAT, next: 1, share: BTreeMap::new() });
        }
        Err(source) => return Err(io_error(path, source)),
    };
    let format: Format = toml_edit::de::from_str(&text).map_err(|e| damaged(path, e.message().trim()))?;
    if format.format > FORMAT {
        return Err(newer(path, format.format));
    }
    let written: Written = toml_edit::de::from_str(&text).map_err(|e| damaged(path, e.message().trim()))?;
    match written.share.values().max() {
        Some(highest) if *highest >= written.next => Err(damaged(path, "a number is above `next`")),
        _ => Ok(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(folder: &Path, names: &[&str]) -> Vec<u32> {
        State::open(folder).unwrap().share_numbers(names.iter().copied()).unwrap()
    }

    #[test]
    fn a_number_is_never_given_twice_and_comes_back_with_its_share() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(numbers(folder.path(), &["A", "B"]), [1, 2]);
        assert_eq!(numbers(folder.path(), &["C"]), [3]);
        assert_eq!(numbers(folder.path(), &["B", "D \"x\"", "A"]), [2, 4, 1]);
        assert_eq!(numbers(folder.path(), &["D \"x\""]), [4]);
    }

    #[test]
    fn a_later_or_damaged_file_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        for text in ["format = 2\n", "format = 1\n", "format = 1\nnext = 2\n[share]\nA = 2\n"] {
            std::fs::write(folder.path().join("shares.toml"), text).unwrap();
            assert!(state.share_numbers(["A"]).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(folder.path().join("shares.toml")).unwrap(), text);
        }
    }
}
