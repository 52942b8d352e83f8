//! FILE_NOTIFY_INFORMATION, MS-FSCC 2.7.1.

use wire::{Malformed, Reader, Writer};

use super::chain::{self, Chain};

use crate::wire::text;

wire::number! {
    /// What happened.
    pub Action: u32 {
        ADDED = 1,
        REMOVED = 2,
        MODIFIED = 3,
        RENAMED_OLD_NAME = 4,
        RENAMED_NEW_NAME = 5,
        ADDED_STREAM = 6,
        REMOVED_STREAM = 7,
        MODIFIED_STREAM = 8,
        REMOVED_BY_DELETE = 9,
        ID_NOT_TUNNELLED = 0xA,
        TUNNELLED_ID_COLLISION = 0xB,
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    pub action: Action,
    /// From the watched folder, with `\` between names.
    pub name: Vec<u16>,
}

impl Change {
    /// How long its record is, padding for the next one included.
    pub fn padded_len(&self) -> usize {
        (12 + self.name.len() * 2).next_multiple_of(4)
    }
}

/// The changes of a reply.
pub fn decode(r: &mut Reader<'_>) -> Result<Vec<Change>, Malformed> {
    let change = |mut r: Reader<'_>| Ok(Change { action: Action(r.u32_le()?), name: text::counted(&mut r)? });
    chain::entries(r.rest()).map(|entry| change(entry?)).collect()
}

/// Writes the changes, each at a multiple of 4 bytes.
pub fn encode(changes: &[Change], w: &mut Writer) {
    let mut chain = Chain::begin(w, 4);
    for change in changes {
        chain.next(w);
        w.u32_le(change.action.0);
        text::put_counted(w, &change.name);
    }
}
