//! What a search asks of files, as values without I/O: a [`Query`], the [`Facts`] of one file, and
//! [`Query::matches`], which says what a query means. An index may answer faster, but never differently.
//!
//! ```text
//! our language ─► language::parse ─┐
//! Spotlight's language ────────────┼─► Query ─► matches(Facts) ─► yes or no
//! a catalogue search ──────────────┘
//! ```

mod attribute;
mod facts;
mod folding;
mod kinds;
pub mod language;
mod pattern;
mod query;
mod shown;
pub mod spotlight;

pub use attribute::{Attribute, ValueKind};
pub use facts::{Facts, Value};
pub use folding::{MAX_WORD, folded, words};
pub use kinds::{FileKind, content_types, extension_of, extensions, kind_of};
pub use pattern::{Pattern, TextMatcher, TextTest, WordTest};
pub use query::{Comparison, MAX_COMPARISONS, MAX_DEPTH, Order, Query, Test};
