//! Limits of listings: a server that is broken or hostile ends a listing with an error, and not this machine's memory.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use crate::{Error, Result};

/// The most entries of one folder.
const MOST_ENTRIES: usize = 2_000_000;
/// The most bytes of their names.
const MOST_BYTES: usize = 256 << 20;

/// A listing that comes in pages.
pub(crate) struct Pages<'a> {
    folder: &'a str,
    entries: usize,
    bytes: usize,
    /// Where pages have ended, or what they were.
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl<'a> Pages<'a> {
    /// The listing of this folder begins.
    pub(crate) fn of(folder: &'a str) -> Self {
        Self { folder, entries: 0, bytes: 0, seen: HashSet::new(), hasher: RandomState::new() }
    }

    /// An entry has come, with a name of so many bytes.
    pub(crate) fn entry(&mut self, length_of_name: usize) -> Result<()> {
        self.entries += 1;
        self.bytes += length_of_name;
        if self.entries > MOST_ENTRIES || self.bytes > MOST_BYTES {
            let most = format!("more than {MOST_ENTRIES} entries, or {} MiB of names", MOST_BYTES >> 20);
            return Err(self.error(&format!("has {most}: such a folder is not read")));
        }
        Ok(())
    }

    /// The server says that more follow behind this cookie.
    pub(crate) fn go_on_behind(&mut self, cookie: u64) -> Result<()> {
        match self.seen.insert(cookie) {
            true => Ok(()),
            false => Err(self.error("is listed in circles: the server repeats a cookie")),
        }
    }

    /// The server has sent this page, for a protocol without cookies. No two pages are the same.
    pub(crate) fn page(&mut self, bytes: &[u8]) -> Result<()> {
        match self.seen.insert(self.hasher.hash_one(bytes)) {
            true => Ok(()),
            false => Err(self.error("is listed in circles: the server repeats a page")),
        }
    }

    /// The server says that more follow, and has sent nothing.
    pub(crate) fn stuck(&self) -> Error {
        self.error("is not listed to its end: the server says that more follow, and sends nothing")
    }

    fn error(&self, what: &str) -> Error {
        let folder = if self.folder.is_empty() { "/" } else { self.folder };
        Error::Other(format!("the folder {folder} {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_has_an_end_whatever_the_server_says() {
        let mut pages = Pages::of("a/b");
        let failed = (0..=MOST_ENTRIES).find_map(|_| pages.entry(1).err()).expect("an end").to_string();
        assert!(failed.starts_with("the folder a/b has more than 2000000 entries"), "{failed}");
        let mut pages = Pages::of("");
        assert!((0..=MOST_BYTES >> 16).any(|_| pages.entry(1 << 16).is_err()));
    }

    #[test]
    fn a_cookie_or_page_that_comes_again_is_an_error() {
        let mut pages = Pages::of("");
        assert!(pages.go_on_behind(9).is_ok() && pages.go_on_behind(3).is_ok());
        assert_eq!(
            pages.go_on_behind(9).unwrap_err().to_string(),
            "the folder / is listed in circles: the server repeats a cookie"
        );
        let mut pages = Pages::of("x");
        assert!(pages.page(b"one").is_ok() && pages.page(b"two").is_ok() && pages.page(b"one").is_err());
    }
}
