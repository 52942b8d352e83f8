//! The rules of the model by themselves; `tests/acl.rs` of the crate has those of volumes.

mod beside_mode;
mod disk;
mod evaluate;
mod inherit;
mod mode;
mod samba;
mod stored;

use super::*;
use crate::{Attributes, FileId, Kind, Time};

const READ: Rights = Rights::READ_DATA;
const WRITE: Rights = Rights::WRITE_DATA;

fn attributes(kind: Kind, mode: u32) -> Attributes {
    let at = Time::default();
    Attributes {
        id: FileId::new(0, 1),
        kind,
        mode,
        uid: 10,
        gid: 20,
        links: 1,
        size: 0,
        allocated: 0,
        device: (0, 0),
        accessed: at,
        modified: at,
        changed: at,
        created: None,
    }
}
