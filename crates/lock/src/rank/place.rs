//! What a rank is.

use crate::holder::Holder;

/// The place of a lock in the order. Each rank is a type, so that a lock needs no memory for it.
pub trait Rank {
    /// The index in [`TABLE`](super::TABLE).
    const NUMBER: usize;
    /// The name in messages.
    const NAME: &'static str;
    /// How the lock records the thread that has it.
    type Holder: Holder;
}

/// One rank.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The name of its type.
    pub name: &'static str,
    /// What it protects.
    pub doc: &'static str,
}
