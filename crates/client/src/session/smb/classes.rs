//! Lists of servers of Unix, smbd above all. They show an entry that allows for the owner, for each user and group of a POSIX ACL, and
//! for everyone. On the server the first class that a user belongs to decides alone (POSIX 1003.1e 23.1.5), while on Windows the entry
//! of everyone is for the owner and the groups, too. Read as on Windows, such a list gives more than the server does: smbd shows
//! mode 0604 as an entry without rights for the group, and one for everyone that may read.

use vfs::acl::{Entry, EntryKind, Inherit, Rights, Who};

/// What each class has by any mode, so that no class lacks it.
const BY_ANY_MODE: Rights = Rights::READ_ATTRIBUTES.union(Rights::READ_ACL).union(Rights::SYNCHRONIZE);
/// What an owner keeps in order to change the rights again.
const BY_OWNING: Rights = Rights::WRITE_ACL.union(Rights::WRITE_ATTRIBUTES).union(Rights::TAKE_OWNERSHIP);
const PASSED_ON: Inherit = Inherit::FILES.union(Inherit::FOLDERS);

/// The classes in the order in which they apply. An account that is not known to be a user or a group counts as a user, which is the
/// narrower reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Owner,
    User,
    Group,
    Everyone,
}

/// The owner and the group of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owners<'a> {
    pub(super) owner: Option<&'a Who>,
    pub(super) group: Option<&'a Who>,
}

impl Owners<'_> {
    fn class(&self, who: &Who) -> Option<Class> {
        Some(match who {
            Who::Owner => Class::Owner,
            _ if Some(who) == self.owner => Class::Owner,
            Who::OwningGroup => Class::Group,
            _ if Some(who) == self.group => Class::Group,
            Who::Group(_) => Class::Group,
            Who::User(_) | Who::Foreign(_) => Class::User,
            Who::Everyone => Class::Everyone,
            Who::SignedIn | Who::OwnerRights => return None,
        })
    }

    /// The list in which the first class decides, with entries that deny where a later class has more; any other list as it is.
    pub(super) fn exact(&self, list: Vec<Entry>) -> Vec<Entry> {
        let classes: Option<Vec<Class>> = list.iter().map(|entry| self.class(&entry.who)).collect();
        let Some(classes) = classes else { return list };
        let shows = |class| list.iter().zip(&classes).any(|(entry, is)| *is == class && is_effective(entry));
        let allows_only = list.iter().all(|entry| entry.kind == EntryKind::Allow);
        if !allows_only || ![Class::Owner, Class::Group, Class::Everyone].into_iter().all(shows) {
            return list;
        }
        let all: Vec<(Class, Entry)> = classes.into_iter().zip(list.iter().cloned()).collect();
        if all.iter().all(|one| denied(&all, one).is_none()) {
            return list;
        }
        let of = |class| all.iter().filter(move |one| one.0 == class);
        let mut exact = Vec::with_capacity(all.len());
        for one in of(Class::Owner).chain(of(Class::User)) {
            exact.push(one.1.clone());
            exact.extend(denied(&all, one));
        }
        exact.extend(of(Class::Group).map(|one| one.1.clone()));
        exact.extend(of(Class::Group).filter_map(|one| denied(&all, one)));
        exact.extend(of(Class::Everyone).map(|one| one.1.clone()));
        exact
    }
}

/// What later classes have and this entry's account lacks.
fn denied(all: &[(Class, Entry)], (class, entry): &(Class, Entry)) -> Option<Entry> {
    let rights = |is: &dyn Fn(&(Class, Entry)) -> bool| {
        let counted = all.iter().filter(|one| is(one) && apply_together(entry, &one.1));
        counted.fold(Rights::NONE, |sum, one| sum.union(one.1.rights))
    };
    let own = rights(&|one| one.1.who == entry.who);
    let kept = if *class == Class::Owner { BY_ANY_MODE.union(BY_OWNING) } else { BY_ANY_MODE };
    let lacks = rights(&|one| one.0 > *class).difference(own).difference(kept);
    let deny = Entry { inherit: entry.inherit, ..Entry::deny(entry.who.clone(), lacks) };
    (lacks != Rights::NONE).then_some(deny)
}

fn is_effective(entry: &Entry) -> bool {
    !entry.inherit.contains(Inherit::ONLY)
}

/// Whether both count for the file itself, or both for what is made in the folder.
fn apply_together(one: &Entry, other: &Entry) -> bool {
    let passes_on = |entry: &Entry| entry.inherit.intersects(PASSED_ON);
    is_effective(one) && is_effective(other) || passes_on(one) && passes_on(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Who = Who::User(4242);
    const GROUP: Who = Who::Group(4343);
    const READS: Rights = Rights::READ_DATA.union(Rights::READ_ACL);

    fn exact(list: Vec<Entry>) -> Vec<Entry> {
        Owners { owner: Some(&OWNER), group: Some(&GROUP) }.exact(list)
    }

    /// What smbd 4.17 shows of a file of mode 0604: OWNER RW, GROUP nothing, Everyone R.
    #[test]
    fn a_group_without_rights_does_not_get_those_of_everyone() {
        let shown = vec![
            Entry::allow(OWNER, READS.union(Rights::WRITE_DATA)),
            Entry::allow(GROUP, Rights::NONE),
            Entry::allow(Who::Everyone, READS),
        ];
        let mut wanted = shown.clone();
        wanted.insert(2, Entry::deny(GROUP, Rights::READ_DATA));
        assert_eq!(exact(shown), wanted);
    }

    #[test]
    fn a_user_without_rights_does_not_get_those_of_groups() {
        let user = Who::User(7);
        let shown = vec![
            Entry::allow(Who::Everyone, Rights::NONE),
            Entry::allow(GROUP, READS),
            Entry::allow(user.clone(), Rights::NONE),
            Entry::allow(OWNER, READS),
        ];
        let found = exact(shown);
        let denied: Vec<_> = found.iter().filter(|entry| entry.kind == EntryKind::Deny).collect();
        assert_eq!(denied, [&Entry::deny(user, Rights::READ_DATA)]);
        let place = |who: &Who, kind| found.iter().position(|entry| entry.who == *who && entry.kind == kind);
        assert!(place(&denied[0].who, EntryKind::Deny) < place(&GROUP, EntryKind::Allow), "{found:?}");
    }

    #[test]
    fn what_a_folder_passes_on_is_not_taken_from_what_it_is() {
        let passed =
            |who: Who, rights| Entry::allow(who, rights).inherited_by(PASSED_ON.union(Inherit::ONLY));
        let shown = vec![
            Entry::allow(OWNER, READS),
            Entry::allow(GROUP, READS),
            Entry::allow(Who::Everyone, READS),
            passed(Who::OwningGroup, Rights::NONE),
            passed(Who::Everyone, READS),
        ];
        let found = exact(shown);
        let denied: Vec<_> = found.iter().filter(|entry| entry.kind == EntryKind::Deny).collect();
        let wanted = Entry::deny(Who::OwningGroup, Rights::READ_DATA);
        assert_eq!(denied, [&wanted.inherited_by(PASSED_ON.union(Inherit::ONLY))]);
    }

    #[test]
    fn lists_of_windows_stay_as_they_are() {
        let denies = vec![
            Entry::deny(Who::User(7), Rights::WRITE_DATA),
            Entry::allow(OWNER, READS),
            Entry::allow(GROUP, Rights::NONE),
            Entry::allow(Who::Everyone, READS),
        ];
        assert_eq!(exact(denies.clone()), denies);
        let without_group = vec![Entry::allow(OWNER, Rights::NONE), Entry::allow(Who::Everyone, READS)];
        assert_eq!(exact(without_group.clone()), without_group);
    }
}
