//! What the roles of a team folder give to its files. Nothing of it is stored: the entries that show it are made from the roles.
//!
//! ```text
//! entries that were set (with those inherited from such)  ─►  the rights of the caller's roles  ─►  what an owner keeps
//! ```
//!
//! The order of a list is that of MS-DTYP 2.5.3.2: entries that were set come before what is inherited, and the first that names a
//! right decides it. To own a file gives nothing that the role does not give, as with an entry for OWNER RIGHTS. A list that was
//! stored before there were roles only takes rights: what it gives counts as far as the roles give it, too.

use std::sync::{Arc, OnceLock};

use auth::{Grantee, Role, RoleSet, Roles};

use super::disk::{DiskForm, EXECUTES, RightsSource};
use super::evaluate::in_order;
use super::inherit::{Heir, entries_of};
use super::stored::StoredAcl;
use super::{Acl, Entries, Entry, EntryKind, Inherit, NOBODY, Rights, Who};
use crate::{Attributes, Caller, Kind};

/// What an owner of the share keeps, whatever a list says: the way to change the list.
const KEPT: Rights =
    Rights::READ_ATTRIBUTES.union(Rights::READ_ACL).union(Rights::WRITE_ACL).union(Rights::SYNCHRONIZE);
const READING: Rights = Rights::READ_DATA
    .union(Rights::READ_NAMED)
    .union(Rights::EXECUTE)
    .union(Rights::READ_ATTRIBUTES)
    .union(Rights::READ_ACL)
    .union(Rights::SYNCHRONIZE);
/// To put files and folders into a folder.
const ADDING: Rights = Rights::WRITE_DATA.union(Rights::APPEND);
/// To finish what one has made.
const WRITING: Rights = ADDING.union(Rights::WRITE_NAMED).union(Rights::WRITE_ATTRIBUTES);
/// The same, and to give it its name at the end: programs put a file in by a temporary name.
const FINISHING: Rights = WRITING.union(Rights::RENAMES);
/// To pass through a folder, and not to see what is in it.
const PASSING: Rights = Rights::EXECUTE.union(Rights::READ_ATTRIBUTES).union(Rights::SYNCHRONIZE);
/// What belongs to the owners of the share. Others remove what they may remove by its own rights: so an entry that takes these
/// from somebody is not undone by the folder above.
const OWNERS: Rights = Rights::WRITE_ACL.union(Rights::TAKE_OWNERSHIP).union(Rights::DELETE_CHILD);

/// Where something is in a team folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TeamPlace {
    /// It is the share's own folder.
    Root,
    /// It is a folder in it.
    Folder,
    /// It is a file, a link, or the like.
    File,
}

/// The roles that count for a file beside the entries of its ACL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamRights {
    roles: Arc<Roles>,
    place: TeamPlace,
    /// So many entries, the first ones, were set. Those after them show the roles.
    set: usize,
    /// The roles do not count: the list is protected from inheritance, or inherited from one that is.
    cut: bool,
    /// The entries were set when there were no roles.
    older: bool,
    /// Files belong to those who made them. Not so if the server acts as one user of the host.
    has_owners: bool,
}

/// What a role may do with a file or a folder of another user, below the share's own folder.
pub fn rights_of_role(role: Role, is_folder: bool) -> Rights {
    rights_of(role, if is_folder { TeamPlace::Folder } else { TeamPlace::File }, false)
}

/// What a role may do.
fn rights_of(role: Role, place: TeamPlace, owns: bool) -> Rights {
    let if_owned = |rights| if owns { rights } else { Rights::NONE };
    let is_folder = place != TeamPlace::File;
    match role {
        Role::Owner => Rights::ALL,
        Role::Editor => Rights::ALL.difference(OWNERS),
        Role::Contributor => {
            let adding = if is_folder { ADDING } else { Rights::NONE };
            READING.union(adding).union(if_owned(WRITING.union(Rights::DELETE)))
        }
        Role::Reader => READING,
        Role::Drop if place == TeamPlace::Root => PASSING.union(ADDING).union(if_owned(WRITING)),
        Role::Drop if is_folder => PASSING.union(if_owned(FINISHING)),
        // GENERIC_WRITE of Windows, with which a copying program opens again what it has made, has READ_ACL (MS-DTYP 2.4.3).
        Role::Drop => {
            let besides = Rights::READ_ATTRIBUTES.union(Rights::READ_ACL).union(Rights::SYNCHRONIZE);
            if_owned(FINISHING.union(besides))
        }
    }
}

/// The rights by a list and by roles: the entries, which all count, come first, and the roles decide what no entry does. Entries
/// give nothing beyond the limit.
pub(super) fn entries_then_roles<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    limit: Rights,
    by_roles: Rights,
) -> Rights {
    // What a mode said once has no meaning here.
    let entries = entries.filter(|entry| !entry.rights.contains(Rights::FROM_MODE));
    let (given, taken) = in_order(entries, Rights::NONE);
    given.intersection(limit).union(by_roles.difference(taken))
}

pub(super) fn all_rights_of(roles: RoleSet, place: TeamPlace, owns: bool) -> Rights {
    let of = |role| match role {
        // In a share for backups a contributor sees the top, and in it what is its own.
        Role::Contributor if roles.keeps_apart() && !owns && place != TeamPlace::Root => Rights::NONE,
        role => rights_of(role, place, owns),
    };
    roles.iter().fold(Rights::NONE, |all, role| all.union(of(role)))
}

impl TeamRights {
    /// Everything that a caller may do to a file of this owner and group. Without a role nobody has any rights.
    pub(super) fn rights(&self, caller: &Caller, (uid, gid): (u32, u32), list: &[Entry]) -> Rights {
        let roles = self.roles.of(caller);
        if roles.is_empty() {
            return Rights::NONE;
        }
        let owns = self.has_owners && caller.uid == uid && uid != NOBODY;
        let is = |who: &Who| match who {
            Who::Owner | Who::OwnerRights => owns,
            other => other.means(caller, (uid, gid)),
        };
        let counts = |entry: &&Entry| !entry.inherit.contains(Inherit::ONLY) && is(&entry.who);
        let by_roles = all_rights_of(roles, self.place, owns);
        let left = if self.cut { Rights::NONE } else { by_roles };
        let limit = if self.older { by_roles } else { Rights(u32::MAX) };
        let kept = if roles.has(Role::Owner) { KEPT } else { Rights::NONE };
        entries_then_roles(self.set(list).iter().filter(counts), limit, left).union(kept)
    }

    /// The entries of a list that were set, and are not there to show the roles.
    pub(crate) fn set<'a>(&self, list: &'a [Entry]) -> &'a [Entry] {
        list.get(..self.set).unwrap_or(list)
    }

    /// Whether the roles do not count, here and below.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }
}

/// The roles of a share, with the ACLs of what has no list of its own.
#[derive(Debug)]
pub(crate) struct TeamFolder {
    roles: Arc<Roles>,
    has_owners: bool,
    root: Arc<Acl>,
    folder: Arc<Acl>,
    file: Arc<Acl>,
    /// What has no list of its own on the disk: the root, folders, files, programs.
    forms: [OnceLock<Arc<DiskForm>>; 4],
}

impl TeamFolder {
    /// `has_owners`: files belong to those who made them.
    pub(crate) fn new(roles: Arc<Roles>, has_owners: bool) -> Self {
        let root = Entries { list: shown(&roles), protected: false, auto_inherited: true };
        let acl = |place, entries: Entries| {
            let rights =
                TeamRights { roles: roles.clone(), place, set: 0, cut: false, older: false, has_owners };
            Arc::new(Acl {
                owner: Who::User(NOBODY),
                group: Who::Group(NOBODY),
                entries,
                stored: true,
                within_mode: false,
                team: Some(rights),
            })
        };
        let passed = |is_folder| {
            let heir = Heir { is_folder, uid: NOBODY, gid: NOBODY };
            entries_of(None, Some(&root), heir).unwrap_or_default()
        };
        let (folder, file) = (acl(TeamPlace::Folder, passed(true)), acl(TeamPlace::File, passed(false)));
        let root = acl(TeamPlace::Root, root);
        Self { root, folder, file, has_owners, forms: Default::default(), roles: roles.clone() }
    }

    /// The roles.
    pub(crate) fn roles(&self) -> &Arc<Roles> {
        &self.roles
    }

    /// Whether listings of the share's folder have only what the caller may see.
    pub(crate) fn lists_only_own(&self, caller: &Caller) -> bool {
        let roles = self.roles.of(caller);
        roles.keeps_apart()
            && ![Role::Owner, Role::Editor, Role::Reader].into_iter().any(|role| roles.has(role))
    }

    /// Somebody to whom a list for the share's own folder gives less than the role in the share, which would count again at once:
    /// roles are settings of the share.
    pub(crate) fn lacking(&self, list: &Entries) -> Option<Who> {
        let counts: [fn(&Entry) -> bool; 3] = [
            |entry| !entry.inherit.contains(Inherit::ONLY),
            |entry| entry.inherit.contains(Inherit::FILES),
            |entry| entry.inherit.contains(Inherit::FOLDERS),
        ];
        let given = |list: &[Entry], who: &Who, counts: fn(&Entry) -> bool| {
            let gives = |entry: &&Entry| entry.kind == EntryKind::Allow && entry.who == *who && counts(entry);
            list.iter().filter(gives).fold(Rights::NONE, |all, entry| all.union(entry.rights))
        };
        let shown = &self.root.entries.list;
        let is_less = |who: &Who| {
            counts.iter().any(|counts| !given(&list.list, who, *counts).contains(given(shown, who, *counts)))
        };
        let people = shown.iter().map(|entry| &entry.who).filter(|who| **who != Who::OwnerRights);
        people.into_iter().find(|who| is_less(who)).cloned()
    }

    /// The ACL of something without a list of its own. Its owner and group are nobody's.
    pub(crate) fn plain(&self, place: TeamPlace) -> &Arc<Acl> {
        match place {
            TeamPlace::Root => &self.root,
            TeamPlace::Folder => &self.folder,
            TeamPlace::File => &self.file,
        }
    }

    /// What something without a list of its own is on the disk, of this mode.
    pub(crate) fn plain_form(&self, place: TeamPlace, mode: u32) -> Arc<DiskForm> {
        let at = match place {
            TeamPlace::Root => 0,
            TeamPlace::Folder => 1,
            TeamPlace::File if mode & EXECUTES == 0 => 2,
            TeamPlace::File => 3,
        };
        let roles = Some(&*self.roles);
        let form = || RightsSource { roles, list: &[], older: false, place, uid: NOBODY, mode }.form();
        self.forms[at].get_or_init(|| Arc::new(form())).clone()
    }

    /// The ACL of something with this list.
    pub(crate) fn acl(&self, place: TeamPlace, own: StoredAcl) -> Acl {
        let (cut, older) = (own.cut || own.entries.protected, !own.in_team);
        let cut = cut && place != TeamPlace::Root;
        let mut acl = own.into_acl();
        let set = acl.entries.list.len();
        if !cut {
            acl.entries.list.extend(self.plain(place).entries.list.iter().cloned());
            (acl.entries.auto_inherited, acl.entries.protected) = (true, false);
        }
        let (roles, has_owners) = (self.roles.clone(), self.has_owners);
        acl.team = Some(TeamRights { roles, place, set, cut, older, has_owners });
        acl
    }

    /// The list to store of one that a client has set, and whether it is below a protected one. `was_cut`: the list before was.
    ///
    /// Entries that only show the roles are not stored. Clients that pass a list on to what is in a folder send what they have
    /// computed: without the entries of the roles, if those do not count in the folder.
    pub(crate) fn to_store(&self, place: TeamPlace, mut sent: Entries, was_cut: bool) -> (Entries, bool) {
        if place == TeamPlace::Root {
            sent.protected = false; // there is nothing above from which it could be protected
        }
        if sent.protected {
            return (sent, false);
        }
        let unmarked = |entry: &Entry| {
            let inherit = entry.inherit.difference(Inherit::INHERITED);
            Entry { inherit, ..entry.clone() }
        };
        let shown: Vec<Entry> = self.plain(place).entries.list.iter().map(unmarked).collect();
        let is_shown = |entry: &Entry| shown.contains(&unmarked(entry));
        let is_inherited = |entry: &Entry| entry.inherit.contains(Inherit::INHERITED);
        let has_all = self.plain(place).entries.list.iter().all(|entry| sent.list.contains(entry));
        let has_none = sent.list.iter().any(is_inherited) && !sent.list.iter().any(is_shown);
        if place != TeamPlace::Root && !has_all && (was_cut || has_none) {
            return (sent, true);
        }
        sent.list.retain(|entry| !is_shown(entry));
        (sent, false)
    }

    /// The mode of something new. The group and all others get no more than they have in the folder that it is in. The
    /// client's right of the owner to execute counts for all who may read.
    pub(crate) fn mode_of_new(&self, folder: &Attributes, is_folder: bool, said: u32) -> u32 {
        let others = self.roles.entries().iter().filter(|entry| entry.grantee.is_everyone());
        let others = others.fold(0, |bits, entry| {
            bits | match entry.role {
                Role::Owner | Role::Editor => 0o6,
                Role::Contributor if self.roles.keeps_apart() => 0,
                Role::Contributor | Role::Reader => 0o4,
                Role::Drop => 0,
            }
        });
        // Without this bit a new file gets the first group of its maker, whose members need not have a role.
        let group = if folder.mode & 0o2000 != 0 { 0o60 } else { 0 };
        let mode = 0o600 | group & folder.mode | others & folder.mode;
        let executes = is_folder || said & 0o100 != 0;
        if executes { mode | (mode & 0o444) >> 2 } else { mode }
    }
}

/// The mode of a file after a client has set it: only the owner's right to execute counts, for all who may read.
pub(crate) fn mode_after(of: &Attributes, said: u32) -> u32 {
    if of.kind != Kind::File {
        return of.mode;
    }
    let executes = if said & 0o100 != 0 { (of.mode & 0o444) >> 2 } else { 0 };
    of.mode & !0o111 | executes
}

/// Those who have roles, as entries mean them. `None`: somebody whom no entry can name.
fn named(grantee: &Grantee) -> Option<Who> {
    match grantee {
        Grantee::User { uid, .. } => uid.filter(|uid| *uid != NOBODY).map(Who::User),
        Grantee::Group(group) => Some(Who::Group(*group)),
        Grantee::Everyone => Some(Who::SignedIn),
        Grantee::Guests => Some(Who::Everyone),
    }
}

/// The entries of the share's folder. It passes on what counts in it.
fn shown(roles: &Roles) -> Vec<Entry> {
    let mut all: Vec<(Who, RoleSet)> = Vec::new();
    for entry in roles.entries() {
        let Some(who) = named(&entry.grantee) else { continue };
        match all.iter_mut().find(|(known, _)| *known == who) {
            Some((_, of_who)) => *of_who = roles.set_of(of_who.iter().chain([entry.role])),
            None => all.push((who, roles.set_of([entry.role]))),
        }
    }
    let of_all = roles.set_of(all.iter().flat_map(|(_, roles)| roles.iter()));
    let own = |place| {
        let given = all_rights_of(of_all, place, true);
        let owning = |role| matches!(role, Role::Contributor | Role::Drop);
        let widest = of_all.iter().filter(|role| owning(*role)).map(|role| rights_of(role, place, true));
        widest.reduce(Rights::union).unwrap_or(given.intersection(KEPT.difference(Rights::WRITE_ACL)))
    };
    let mut list = Vec::new();
    add(&mut list, &Who::OwnerRights, own);
    for (who, roles) in &all {
        add(&mut list, who, |place| all_rights_of(*roles, place, false));
    }
    list
}

fn add(list: &mut Vec<Entry>, who: &Who, rights: impl Fn(TeamPlace) -> Rights) {
    let each = [TeamPlace::Root, TeamPlace::Folder, TeamPlace::File].map(rights);
    let mut allow = |rights: Rights, inherit: Inherit| {
        let rights = rights.difference(Rights::RENAMES);
        if rights != Rights::NONE {
            list.push(Entry::allow(who.clone(), rights).inherited_by(inherit));
        }
    };
    match each {
        [root, folder, file] if root == folder && folder == file => {
            allow(root, Inherit::FILES.union(Inherit::FOLDERS));
        }
        [root, folder, file] => {
            match root == folder {
                true => allow(root, Inherit::FOLDERS),
                false => {
                    allow(root, Inherit::NONE);
                    allow(folder, Inherit::FOLDERS.union(Inherit::ONLY));
                }
            }
            allow(file, Inherit::FILES.union(Inherit::ONLY));
        }
    }
}
