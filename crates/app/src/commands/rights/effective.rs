//! What people may do with a file or folder, and where it comes from. `doctor` and the line of `serve` about a share ask here, too.

use std::path::Path;

use admin::ShareSettings;
use auth::{ANONYMOUS, Account, Basis, Identity, RoleSet, Roles};
use vfs::acl::{Acl, Entry, EntryKind, Inherit, Rights, Who};
use vfs::backend::Found;
use vfs::{Kind, Volume};

use super::change::role_of;
use super::names::RightsNames;
use super::words;
use crate::people::person::RightsPerson;
use crate::serve::current::Current;

/// What somebody may do, and where it comes from.
pub(crate) struct EffectiveRights {
    pub(crate) rights: Rights,
    pub(crate) why: Vec<String>,
}

/// A file or folder of a share, as people's rights to it are found.
pub(crate) struct RightsTarget<'a> {
    pub(crate) share: &'a ShareSettings,
    pub(crate) volume: &'a Volume,
    pub(crate) found: &'a Found,
    pub(crate) parent: Option<&'a Found>,
    /// Where it is on this machine.
    pub(crate) path: &'a Path,
}

impl RightsTarget<'_> {
    /// What a person may do over a protocol with a login: no more than the server itself can do on this machine.
    pub(crate) fn rights_of(&self, person: &RightsPerson, names: &RightsNames<'_>) -> EffectiveRights {
        let roles = self.volume.roles_at(self.found).ok().flatten();
        if !person.identity.is_numbered()
            && !person.may_enter(self.share)
            && roles.as_ref().is_none_or(|roles| roles.of(&person.identity).is_empty())
        {
            let why = match &roles {
                Some(_) => format!("no role in {}", self.share.name),
                None => format!("the settings of {} do not let them in", self.share.name),
            };
            return EffectiveRights { rights: Rights::NONE, why: vec![why] };
        }
        let by_tree = self.volume.rights(&person.identity, self.found, self.parent).unwrap_or(Rights::NONE);
        let mut why = match &roles {
            Some(roles) => self.by_roles(roles, person, names),
            None => vec!["the mode and the list of the file".to_owned()],
        };
        let mut rights = by_tree;
        if self.share.read_only {
            why.push("the share is read-only".into());
            rights = rights.difference(Rights::CHANGING);
        }
        if let Some((less, reason)) = self.server_lacks(rights) {
            why.push(reason);
            rights = rights.difference(less);
        }
        EffectiveRights { rights, why }
    }

    /// Whether the share lets somebody in, and promises more than these rights to its folder.
    pub(crate) fn is_refused(&self, person: &RightsPerson, rights: Rights) -> bool {
        if !person.may_enter(self.share) {
            return false;
        }
        let roles = self.volume.roles_at(self.found).ok().flatten().map(|roles| roles.of(&person.identity));
        let has = |role| roles.is_none_or(|roles| roles.has(role));
        let changes = has(auth::Role::Owner) || has(auth::Role::Editor) || has(auth::Role::Contributor);
        let reads = changes || has(auth::Role::Reader);
        let writes = (changes || has(auth::Role::Drop)) && !self.share.read_only;
        reads && !rights.contains(Rights::READ_DATA) || writes && !rights.contains(Rights::WRITE_DATA)
    }

    fn by_roles(&self, roles: &Roles, person: &RightsPerson, names: &RightsNames<'_>) -> Vec<String> {
        let acl = self.volume.acl(self.found).ok();
        let mut why: Vec<String> = acl.iter().flat_map(|acl| self.by_list(acl, person, names)).collect();
        if acl.as_ref().is_some_and(Acl::is_cut_off) {
            why.push("the list is protected: the roles of the share do not count here".into());
            return why;
        }
        why.extend(role_reasons(roles, &person.identity, names));
        if why.is_empty() {
            why.push(format!("no role in {}", self.share.name));
        }
        let own = roles.of(&person.identity);
        if owns_only(own) {
            let owns = person.identity.uid == self.found.attributes.uid && person.identity.uid != ANONYMOUS;
            why.push(if owns {
                "made by them".into()
            } else {
                "what others have made they leave as it is".to_owned()
            });
        }
        why
    }

    /// What was set that means a person.
    fn by_list(&self, acl: &Acl, person: &RightsPerson, names: &RightsNames<'_>) -> Vec<String> {
        let (identity, of) = (&person.identity, &self.found.attributes);
        let of_kind = of.kind;
        let is_meant = |entry: &&Entry| {
            !entry.inherit.contains(Inherit::ONLY)
                && match entry.who {
                    Who::User(uid) => uid == identity.uid,
                    Who::Group(gid) => identity.in_group(gid),
                    Who::Owner | Who::OwnerRights => of.uid == identity.uid,
                    Who::OwningGroup => identity.in_group(of.gid),
                    Who::SignedIn => identity.uid != ANONYMOUS,
                    Who::Everyone => true,
                    Who::Foreign(_) => false,
                }
        };
        let meant: Vec<&Entry> = acl.set_entries().iter().filter(is_meant).collect();
        let mut said: Vec<String> = Vec::new();
        for entry in &meant {
            let is_inherited = |entry: &Entry| entry.inherit.contains(Inherit::INHERITED);
            let is_beside =
                |other: &&&Entry| other.who == entry.who && is_inherited(other) == is_inherited(entry);
            let of = |kind| {
                let those = meant.iter().filter(is_beside).filter(|other| other.kind == kind);
                those.fold(Rights::NONE, |all, other| all.union(other.rights))
            };
            let is_folder = of_kind == Kind::Folder;
            let role = role_of(of(EntryKind::Allow), of(EntryKind::Deny), is_folder);
            let place = if is_inherited(entry) { "set above" } else { "set here" };
            let (who, operations) = (names.who(&entry.who), words::operations(entry.rights));
            let line = match (role, entry.kind) {
                (Some(role), _) => format!("{place}: {role} for {who}"),
                (None, _) if operations.is_empty() => continue,
                (None, EntryKind::Allow) => format!("{place}: gives {who} {}", operations.join(", ")),
                (None, EntryKind::Deny) => format!("{place}: takes from {who} {}", operations.join(", ")),
            };
            if !said.contains(&line) {
                said.push(line);
            }
        }
        said
    }

    /// What the server itself cannot do on this machine, and why.
    fn server_lacks(&self, rights: Rights) -> Option<(Rights, String)> {
        let is_folder = self.found.attributes.kind == Kind::Folder;
        let reading = Rights::READ_DATA.union(Rights::READ_NAMED);
        let may = |access| rustix::fs::access(self.path, access).is_ok();
        let passes = if is_folder { rustix::fs::Access::EXEC_OK } else { rustix::fs::Access::empty() };
        if rights.intersects(reading) && !may(rustix::fs::Access::READ_OK | passes) {
            return Some((
                reading.union(Rights::CHANGING),
                "the server may not read it on this machine".into(),
            ));
        }
        if rights.intersects(Rights::CHANGING) && !may(rustix::fs::Access::WRITE_OK | passes) {
            let why = "the server may not write there on this machine: its file system is read-only, or it belongs to another user";
            return Some((Rights::CHANGING, why.into()));
        }
        None
    }
}

/// Whether the roles let people change only what they have made.
fn owns_only(roles: RoleSet) -> bool {
    let has = |role| roles.has(role);
    (has(auth::Role::Contributor) || has(auth::Role::Drop))
        && !has(auth::Role::Editor)
        && !has(auth::Role::Owner)
}

/// Where the roles of a person come from: `editor as a member of @studio`.
pub(crate) fn role_reasons(roles: &Roles, identity: &Identity, names: &RightsNames<'_>) -> Vec<String> {
    let counts = |entry: &&auth::RoleEntry| !Roles::new(vec![(*entry).clone()]).of(identity).is_empty();
    let said = |entry: &auth::RoleEntry| match &entry.grantee {
        auth::Grantee::User { .. } => format!("{} by name", entry.role),
        auth::Grantee::Group(gid) => format!("{} as a member of {}", entry.role, names.group(*gid)),
        auth::Grantee::Everyone => format!("{} as everyone", entry.role),
        auth::Grantee::Guests => format!("{} as everyone, with and without a login", entry.role),
    };
    roles.entries().iter().filter(counts).map(said).collect()
}

/// Whether an account has a Unix user of its own, so that entries and the disk can name it.
pub(crate) fn has_own_number(account: &Account, current: &Current) -> bool {
    let basis = current.accounts.basis(&account.name);
    let is_shared = matches!(basis, Some(Basis::DefaultUser | Basis::Anonymous | Basis::Server));
    !is_shared && account.identity.uid != ANONYMOUS
}
