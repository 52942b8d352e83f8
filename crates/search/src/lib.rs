//! The index of a share, so that searches need no walk: names, kinds, sizes, dates, tags, and the words of contents.
//!
//! The index only proposes entries. `vfs::Searches::find` judges each of them, in the tree, by the rights of the asker.
//!
//! It is our own format ([`segment`](self) explains it): its parts are read as they are scanned, so that it needs no memory, and an
//! entry takes about a hundred bytes. docs/design/search.md compares it with a library.

mod contents;
mod entry;
mod error;
mod index;
mod ranks;
mod segment;

pub use contents::ContentReader;
pub use entry::Contents;
pub use error::IndexFailure;
pub use index::{FULL_TABLE, IndexOptions, LEAST_TABLE, OwnerNames, SearchIndex};
