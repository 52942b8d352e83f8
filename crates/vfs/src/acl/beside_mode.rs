//! ACLs that come before a mode and do not replace it, like those of Macs: the mode decides what no
//! entry decides. The server's own ACLs are final. So such an ACL is stored with entries behind it
//! that say what the mode says, marked [`Rights::FROM_MODE`].

use super::mode::{entries_of_mode, rights_of, rights_without};
use super::{Acl, Entries, Entry, EntryKind, Inherit, NOBODY, Rights, Who};
use crate::{Attributes, Caller, Kind};

/// The flags of entries that a folder passes on.
const PASSED_ON: Inherit = Inherit::FILES.union(Inherit::FOLDERS);

/// Entries with what the mode says behind them. If there are no entries, the mode alone applies.
pub fn before_mode(given: Vec<Entry>, protected: bool, mode: u32, is_folder: bool) -> Entries {
    if given.is_empty() && !protected {
        return Entries { list: entries_of_mode(mode, is_folder), ..Entries::default() };
    }
    let marked = |mode, is_folder, inherit| {
        let mark =
            move |entry: Entry| Entry { rights: entry.rights.union(Rights::FROM_MODE), inherit, ..entry };
        entries_of_mode(mode, is_folder).into_iter().map(mark)
    };
    let mut list = given;
    let passes_on = is_folder && list.iter().any(|entry| entry.inherit.intersects(PASSED_ON));
    list.extend(marked(mode, is_folder, Inherit::NONE));
    if passes_on {
        // A file that inherits an entry has no mode of its own any more: it gets this one's.
        list.extend(marked(mode, true, Inherit::ONLY.union(Inherit::FOLDERS)));
        list.extend(marked(mode & 0o666, false, Inherit::ONLY.union(Inherit::FILES)));
    }
    Entries { list, protected, auto_inherited: true }
}

/// The same entries before another mode; `None` for an ACL without entries from a mode.
pub(crate) fn before_another_mode(entries: &Entries, mode: u32, is_folder: bool) -> Option<Entries> {
    let is_marked = |entry: &Entry| entry.rights.contains(Rights::FROM_MODE);
    if !entries.list.iter().any(is_marked) {
        return None;
    }
    let given = entries.list.iter().filter(|entry| !is_marked(entry)).cloned().collect();
    Some(before_mode(given, entries.protected, mode, is_folder))
}

impl Acl {
    /// Entries that take the place of this file's, with what the mode says behind them. The mode repeats a stored list in a coarser
    /// form: what it adds to that, such as removing from a folder for who may only make something in it, nobody gets.
    pub fn replaced_before_mode(&self, given: Vec<Entry>, protected: bool, of: &Attributes) -> Entries {
        if self.team.is_some() {
            return Entries { list: given, protected, auto_inherited: true }; // a mode says nothing there
        }
        let mode = self.mode_beside(of.mode);
        let mut entries = before_mode(given, protected, mode, of.kind == Kind::Folder);
        if self.stored {
            let of_mode = entries.list.iter_mut().filter(|entry| is_of_mode(entry));
            of_mode.for_each(|entry| entry.rights = entry.rights.intersection(self.of_class(&entry.who, of)));
        }
        entries
    }

    /// The entries that clients must see behind those of a POSIX ACL, for which the mode decides what no entry decides. The host shows
    /// the mask of the ACL as the group's bits of the mode (POSIX 1003.1e 23.1.3), which may be more than the owning group has. These
    /// entries take that from the group, and leave it to an owner who is a member.
    pub fn bound_of_mode(&self, of: &Attributes) -> Vec<Entry> {
        let over = (of.mode & !self.mode_beside(of.mode)) >> 3 & 7;
        if self.stored || over == 0 {
            return Vec::new();
        }
        let is_folder = of.kind == Kind::Folder;
        let taken = rights_without(over, is_folder);
        let of_owner = rights_of(of.mode >> 6 & 7, is_folder).intersection(taken);
        let owner = Some(Entry::allow(self.owner.clone(), of_owner)).filter(|_| of_owner != Rights::NONE);
        owner.into_iter().chain([Entry::deny(self.group.clone(), taken)]).collect()
    }

    /// What the entries from a mode give a class of users, or, where there are none, the whole list.
    fn of_class(&self, class: &Who, of: &Attributes) -> Rights {
        if let Some(entry) = self.entries.list.iter().find(|entry| is_of_mode(entry) && entry.who == *class) {
            return entry.rights;
        }
        const STRANGER: u32 = u32::MAX - 1;
        let by = |uid, gid| self.rights(&Caller::new(uid, gid, &[]), of.uid, of.gid);
        let rights = match class {
            Who::Owner => by(of.uid, STRANGER),
            Who::OwningGroup => by(STRANGER, of.gid),
            _ => by(STRANGER, STRANGER).intersection(by(NOBODY, STRANGER)),
        };
        rights.union(Rights::FROM_MODE)
    }

    /// The mode behind the entries that are not marked, or the mode of the file if the stored
    /// entries do not say it. For an ACL that is not stored, it is what owner, group and others
    /// have. Entries for other users and groups do not count.
    pub fn mode_beside(&self, of_file: u32) -> u32 {
        let is_class = |who: &Who| matches!(who, Who::Owner | Who::OwningGroup | Who::Everyone);
        let counts = |entry: &&Entry| {
            let is_marked =
                entry.rights.contains(Rights::FROM_MODE) && !entry.inherit.contains(Inherit::ONLY);
            let says = if self.stored { is_marked } else { is_class(&entry.who) };
            says && entry.kind == EntryKind::Allow
        };
        match self.entries.list.iter().filter(counts).map(bits).collect::<Vec<u32>>()[..] {
            [owner, group, others] => owner << 6 | group << 3 | others,
            _ => of_file & 0o777,
        }
    }
}

/// Whether an entry gives this file what its mode says.
fn is_of_mode(entry: &Entry) -> bool {
    entry.kind == EntryKind::Allow
        && entry.rights.contains(Rights::FROM_MODE)
        && !entry.inherit.contains(Inherit::ONLY)
}

/// The three bits of a mode that an entry stands for.
fn bits(entry: &Entry) -> u32 {
    let bit = |right, bit| if entry.rights.contains(right) { bit } else { 0 };
    bit(Rights::READ_DATA, 4) | bit(Rights::WRITE_DATA, 2) | bit(Rights::EXECUTE, 1)
}
