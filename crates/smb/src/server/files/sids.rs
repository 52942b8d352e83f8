//! The SIDs of a domain's users and groups in descriptors. The tree has Unix ids, and [`super::security`] writes them as
//! S-1-22-1-uid and S-1-22-2-gid; clients see those of a domain by their SIDs in it, and may send either.

use auth::{Domain, UnixAccounts};

use crate::server::config::Config;
use crate::wire::security::well_known::Unix;
use crate::wire::security::{AceBody, SecurityDescriptor, Sid};

/// Replaces the SIDs of Unix ids that are of a domain, for a client.
pub(in crate::server) fn show(descriptor: &mut SecurityDescriptor, unix: &UnixAccounts) {
    let Some(domain) = unix.domain() else { return };
    sids(descriptor).for_each(|sid| *sid = shown(domain, *sid));
}

/// The SID that clients see.
pub(in crate::server) fn shown(domain: &Domain, sid: Sid) -> Sid {
    match Unix::of(&sid) {
        Some(Unix::User(uid)) => domain.user(uid).unwrap_or(sid),
        Some(Unix::Group(gid)) => domain.group(gid).unwrap_or(sid),
        None => sid,
    }
}

/// Replaces the SIDs of the server's own accounts, as `samr` gives them, and those of a domain, in what a client sends.
pub(in crate::server) fn take(descriptor: &mut SecurityDescriptor, config: &Config) {
    let own = config.own_domain();
    for sid in sids(descriptor) {
        *sid = Unix::of_domain(sid, &own).map_or(*sid, Unix::sid);
    }
    take_of_domain(descriptor, &config.unix);
}

/// An owner is a user here, whatever it is in the domain. In entries, a SID that is not known to be a user's is a group's: a
/// user's own id is one of its groups.
fn take_of_domain(descriptor: &mut SecurityDescriptor, unix: &UnixAccounts) {
    let Some(domain) = unix.domain() else { return };
    if let Some(owner) = &mut descriptor.owner {
        *owner = domain.owner_id(owner).map_or(*owner, |id| Unix::User(id).sid());
    }
    if let Some(group) = &mut descriptor.group {
        *group = domain.group_id(group).map_or(*group, |id| Unix::Group(id).sid());
    }
    for sid in entries(descriptor) {
        *sid = match domain.id(sid) {
            Some(id) if domain.is_user(sid) => Unix::User(id).sid(),
            Some(id) => Unix::Group(id).sid(),
            None => *sid,
        };
    }
}

fn sids(descriptor: &mut SecurityDescriptor) -> impl Iterator<Item = &mut Sid> {
    let SecurityDescriptor { owner, group, dacl, .. } = descriptor;
    let aces = dacl.iter_mut().flat_map(|dacl| &mut dacl.aces);
    owner.iter_mut().chain(group).chain(aces.filter_map(|ace| of_body(&mut ace.body)))
}

fn entries(descriptor: &mut SecurityDescriptor) -> impl Iterator<Item = &mut Sid> {
    let aces = descriptor.dacl.iter_mut().flat_map(|dacl| &mut dacl.aces);
    aces.filter_map(|ace| of_body(&mut ace.body))
}

fn of_body(body: &mut AceBody) -> Option<&mut Sid> {
    match body {
        AceBody::Plain { sid, .. } => Some(sid),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use auth::{DomainOptions, DomainUser, IdRange, IdRule};

    use super::*;
    use crate::wire::security::{AccessMask, Ace, AceFlags, Acl};

    const DOMAIN: &str = "S-1-5-21-1-2-3";

    fn sid(text: &str) -> Sid {
        text.parse().unwrap()
    }

    fn unix() -> UnixAccounts {
        let state = tempfile::tempdir().unwrap();
        let (rule, range) = (IdRule::Rid, IdRange { low: 1_000_000, high: 1_999_999 });
        let options = DomainOptions { name: "lab.test".into(), rule, range, trusted: Vec::new() };
        let domain = Domain::new(options, state.path()).unwrap();
        let alice = DomainUser {
            sid: sid(DOMAIN).with_rid(1103).unwrap(),
            name: "alice".into(),
            full_name: String::new(),
            domain: "LAB".into(),
            primary_group: sid(DOMAIN).with_rid(513).unwrap(),
            groups: Vec::new(),
        };
        domain.enter("LAB.TEST", alice).unwrap();
        UnixAccounts::Domain(Arc::new(domain))
    }

    fn descriptor(owner: &str, group: &str, entries: &[&str]) -> SecurityDescriptor {
        let ace = |text: &&str| Ace::allow(sid(text), AccessMask::READ_DATA, AceFlags::NONE);
        SecurityDescriptor {
            owner: Some(sid(owner)),
            group: Some(sid(group)),
            dacl: Some(Acl::new(entries.iter().map(ace).collect())),
            ..SecurityDescriptor::default()
        }
    }

    #[test]
    fn ids_of_a_domain_are_shown_by_their_sids_and_others_as_before() {
        let mut shown = descriptor(
            "S-1-22-1-1001103",
            "S-1-22-2-1000513",
            &["S-1-22-2-1001105", "S-1-22-1-1000", "S-1-1-0"],
        );
        show(&mut shown, &unix());
        let expected = descriptor(
            "S-1-5-21-1-2-3-1103",
            "S-1-5-21-1-2-3-513",
            &["S-1-5-21-1-2-3-1105", "S-1-22-1-1000", "S-1-1-0"],
        );
        assert_eq!(shown, expected);
        let mut same = descriptor("S-1-22-1-1001103", "S-1-22-2-1000513", &[]);
        show(&mut same, &UnixAccounts::NameService);
        assert_eq!(same, descriptor("S-1-22-1-1001103", "S-1-22-2-1000513", &[]));
    }

    /// The numbers are those that Samba computes: 1000 + 2 * uid, and 1001 + 2 * gid.
    #[test]
    fn the_servers_own_accounts_may_be_sent_by_their_numbers_in_its_domain() {
        let mut config = (*crate::server::testing::service().config()).clone();
        config.guid = [7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 1, 2, 3, 4];
        let of_other = "S-1-5-21-7-8-10-3000";
        let mut taken =
            descriptor("S-1-5-21-7-8-9-3000", "S-1-5-21-7-8-9-1101", &["S-1-5-21-7-8-9-3002", of_other]);
        take(&mut taken, &config);
        assert_eq!(taken, descriptor("S-1-22-1-1000", "S-1-22-2-50", &["S-1-22-1-1001", of_other]));
    }

    #[test]
    fn entries_that_a_client_sends_are_of_a_known_user_or_of_a_group() {
        let mut taken = descriptor(
            "S-1-5-21-1-2-3-512",
            "S-1-5-21-1-2-3-513",
            &["S-1-5-21-1-2-3-1103", "S-1-5-21-1-2-3-1199", "S-1-5-21-9-9-9-1103", "S-1-5-32-544"],
        );
        take_of_domain(&mut taken, &unix());
        let expected = descriptor(
            "S-1-22-1-1000512",
            "S-1-22-2-1000513",
            &["S-1-22-1-1001103", "S-1-22-2-1001199", "S-1-5-21-9-9-9-1103", "S-1-5-32-544"],
        );
        assert_eq!(taken, expected);
    }
}
