//! Where the folders of an image are, and the identity of what is at each place.
//!
//! HFS+ lets a folder have several names. Clients expect one folder above each folder, so such a folder is another one at
//! each of its places: it has an *appearance*, a number made of the place. All below it has the same appearance.
//!
//! ```text
//! 2026-11-20/Users ─┐                    appearance a of node 77      keys: 77/a, and below it 78/a …
//!                   ├─► folder, node 77
//! 2026-11-27/Users ─┘                    appearance b of node 77            77/b, and below it 78/b …
//! ```

use std::collections::{HashMap, VecDeque};
use std::hash::Hasher;

use images::tree::NodeId;
use siphasher::sip::SipHasher24;

use crate::HostKey;
use crate::backend::WatchId;

/// Folders whose place is remembered.
const MOST_PLACES: usize = 250_000;
/// Positions in folders at which listings can go on without counting from the beginning.
const MOST_POSITIONS: usize = 4_096;
/// The first byte of a key of a file or folder, and of a sidecar. Linux has no handles of these types.
const KEY: u8 = 0xf1;
const SIDECAR_KEY: u8 = 0xf2;
/// Numbers of files that are not those in the image.
const OTHER_NUMBERS: u64 = 1 << 62;

/// A file or folder of an image, at one of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) node: NodeId,
    /// 0: it has one place, or it does not matter.
    pub(super) appearance: u64,
}

impl Place {
    pub(super) fn plain(node: NodeId) -> Self {
        Self { node, appearance: 0 }
    }

    pub(super) fn is_plain(self) -> bool {
        self.appearance == 0
    }

    /// A folder with hard links, where a folder has it under this name.
    pub(super) fn of_linked(node: NodeId, folder: Self, name: &str) -> Self {
        let mut hasher = SipHasher24::new();
        hasher.write_u64(folder.node.0);
        hasher.write_u64(folder.appearance);
        hasher.write(name.as_bytes());
        Self { node, appearance: hasher.finish().max(1) }
    }

    /// The number that clients know it by. `is_sidecar`: that of its sidecar.
    pub(super) fn number(self, is_sidecar: bool) -> u64 {
        if self.is_plain() && !is_sidecar && self.node.0 < OTHER_NUMBERS {
            return self.node.0;
        }
        let mut hasher = SipHasher24::new();
        hasher.write_u64(self.node.0);
        hasher.write_u64(self.appearance);
        hasher.write_u8(u8::from(is_sidecar));
        hasher.finish() >> 2 | OTHER_NUMBERS
    }

    pub(super) fn key(self, identity: u64, is_sidecar: bool) -> HostKey {
        let mut bytes = [0; 25];
        bytes[0] = if is_sidecar { SIDECAR_KEY } else { KEY };
        bytes[1..9].copy_from_slice(&identity.to_be_bytes());
        bytes[9..17].copy_from_slice(&self.node.0.to_be_bytes());
        bytes[17..].copy_from_slice(&self.appearance.to_be_bytes());
        HostKey::new(&bytes).expect("25 bytes are few enough")
    }
}

/// What a key of an image with this identity names, and whether that is a sidecar.
pub(super) fn of_key(key: &HostKey, identity: u64) -> Option<(Place, bool)> {
    let bytes: &[u8; 25] = key.as_bytes().try_into().ok()?;
    let number = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let is_sidecar = match bytes[0] {
        KEY => false,
        SIDECAR_KEY => true,
        _ => return None,
    };
    let place = Place { node: NodeId(number(9)?), appearance: number(17)? };
    (number(1)? == identity).then_some((place, is_sidecar))
}

/// The folders above the folders that were seen.
#[derive(Default)]
pub(super) struct Places {
    above: HashMap<Place, Place>,
    order: VecDeque<Place>,
    appearances: HashMap<u64, usize>,
    /// The names of entries, by their folder and number: listings go on after them.
    positions: HashMap<(Place, u64), String>,
}

impl Places {
    pub(super) fn above(&self, folder: Place) -> Option<Place> {
        self.above.get(&folder).copied()
    }

    /// Whether a folder of this appearance is known.
    pub(super) fn knows(&self, appearance: u64) -> bool {
        self.appearances.contains_key(&appearance)
    }

    pub(super) fn saw(&mut self, folder: Place, above: Place) {
        if self.above.insert(folder, above).is_some() {
            return;
        }
        self.order.push_back(folder);
        *self.appearances.entry(folder.appearance).or_default() += 1;
        if self.order.len() > MOST_PLACES
            && let Some(oldest) = self.order.pop_front()
        {
            self.above.remove(&oldest);
            if let Some(count) = self.appearances.get_mut(&oldest.appearance) {
                *count -= 1;
                if *count == 0 {
                    self.appearances.remove(&oldest.appearance);
                }
            }
        }
    }

    /// The name of the entry with this number, if a listing has stopped there.
    pub(super) fn position(&self, folder: Place, number: u64) -> Option<String> {
        self.positions.get(&(folder, number)).cloned()
    }

    pub(super) fn stopped(&mut self, folder: Place, number: u64, name: &str) {
        if self.positions.len() >= MOST_POSITIONS {
            self.positions.clear();
        }
        self.positions.insert((folder, number), name.to_owned());
    }
}

/// The watches of folders, of which none ever tells anything.
#[derive(Default)]
pub(super) struct Watches {
    last: i32,
    by_place: HashMap<Place, i32>,
    in_use: HashMap<i32, (Place, u64)>,
}

impl Watches {
    /// The watch of a folder. `None` if all numbers are used up.
    pub(super) fn add(&mut self, folder: Place) -> Option<WatchId> {
        if let Some(number) = self.by_place.get(&folder) {
            if let Some((_, users)) = self.in_use.get_mut(number) {
                *users += 1;
            }
            return Some(WatchId(*number));
        }
        self.last = self.last.checked_add(1)?;
        self.by_place.insert(folder, self.last);
        self.in_use.insert(self.last, (folder, 1));
        Some(WatchId(self.last))
    }

    pub(super) fn remove(&mut self, watch: WatchId) {
        let Some((folder, users)) = self.in_use.get_mut(&watch.0) else { return };
        *users -= 1;
        if *users == 0 {
            let folder = *folder;
            self.by_place.remove(&folder);
            self.in_use.remove(&watch.0);
        }
    }
}
