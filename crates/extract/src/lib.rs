//! What the contents of a file tell a search: its text, and facts such as a title, an author or the size of a picture.
//!
//! Contents come from anybody, and their formats are many. They are read in a process of its own that has given up everything
//! ([`child`]): it has no files, no network and no other processes, little memory and little time. It asks for the bytes that it
//! wants, and the server, which holds the file, sends them ([`messages`], [`Worker`]).
//!
//! ```text
//! index ─► Worker ── the name, the length ──► child: give up everything, then contents::extract
//!            ▲  └──── the bytes of a place ◄── where the bytes are needed ──┘        │
//!            └─────── facts, text, the end ◄─────────────────────────────────────────┘
//! ```

pub mod child;
pub mod contents;
pub mod extracted;
pub mod messages;
pub mod source;
mod worker;

pub use contents::is_of_interest;
pub use extracted::Extracted;
pub use source::Source;
pub use worker::{Extractor, Failure, Worker};
