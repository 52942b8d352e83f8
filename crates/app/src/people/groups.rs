//! The groups that shares name: of the host, of the domain, or SIDs. Those of the domain are known as soon as the directory has
//! listed them, so they are looked up again and again. So are the people and groups that have roles.

use admin::{Settings, ShareSettings};
use auth::{ANONYMOUS, Directory, Domain, ForcedGroup, ForcedIdentity, Identity, NameKind, UnixAccounts};
use wire::Sid;

use crate::people::roles;

/// The invalid gid, `(gid_t)-1`: no process and no user has it.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// The numbers of the groups whose members may enter a share. An unknown name stands for a group
/// without members: a share must not be open to all users because its groups are unknown.
pub(crate) fn of(share: &ShareSettings) -> Vec<u32> {
    match share.group_ids.len() == share.groups.len() {
        true => share.group_ids.clone(),
        false => share
            .groups
            .iter()
            .map(|name| number(name, &UnixAccounts::NameService).unwrap_or(NO_GROUP))
            .collect(),
    }
}

/// The settings with the numbers of all groups, and with the roles of all team folders.
pub(crate) fn resolved_for(settings: Settings, accounts: &Directory) -> Settings {
    roles::resolved(resolved(settings, &accounts.site()), accounts)
}

/// The settings with the numbers of all groups.
fn resolved(mut settings: Settings, site: &UnixAccounts) -> Settings {
    for share in settings.shares.iter_mut().chain(&mut settings.absent) {
        share.group_ids = share.groups.iter().map(|name| number(name, site).unwrap_or(NO_GROUP)).collect();
        share.classic.forced = forced(share, site);
    }
    settings
}

/// The user that all users of a share act as. An unknown user acts as the anonymous user. An unknown group is the anonymous group.
pub(crate) fn forced(share: &ShareSettings, site: &UnixAccounts) -> ForcedIdentity {
    let user = share.classic.force_user.as_deref().map(|name| match site.user(name) {
        Some(user) if user.uid != 0 => Identity::new(user.uid, user.gid, &site.groups_of(&user)),
        _ => {
            tracing::warn!(
                share = share.name,
                user = name,
                "the user of `force-user` is not known here: users act as nobody"
            );
            Identity::anonymous()
        }
    });
    let group = share.classic.force_group.as_deref().map(|name| {
        let (name, of_members) = match name.strip_prefix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let gid = number(name, site).unwrap_or_else(|| {
            tracing::warn!(share = share.name, group = name, "the group of `force-group` is not known here");
            ANONYMOUS
        });
        ForcedGroup { gid, of_members }
    });
    ForcedIdentity { user, group }
}

/// Looks again for groups of the domain, and for those of the domain who have roles, if it is another number now, or known now. The host's groups are as at the last reload.
/// Asks no other machine.
pub(crate) fn resolve_again(
    settings: &Settings,
    domain: Option<&std::sync::Arc<Domain>>,
) -> Option<Settings> {
    let domain = domain?;
    let mut changed = None;
    for (at, share) in settings.shares.iter().enumerate() {
        if let Some(now) = roles::again(share, domain) {
            tracing::info!(share = share.name, "the directory knows others of those who have a role");
            changed.get_or_insert_with(|| settings.clone()).shares[at].roles = Some(now);
        }
    }
    let shares =
        settings.shares.iter().enumerate().filter(|(_, share)| share.group_ids.len() == share.groups.len());
    for (at, share) in shares {
        for (index, name) in share.groups.iter().enumerate().filter(|(_, name)| is_of_domain(name)) {
            let (before, now) = (share.group_ids[index], number_in(domain, name).unwrap_or(NO_GROUP));
            if before == now {
                continue;
            }
            match now {
                NO_GROUP => tracing::warn!(
                    share = share.name,
                    group = name,
                    "the directory does not have the group any more"
                ),
                _ => tracing::info!(
                    share = share.name,
                    group = name,
                    gid = now,
                    "the group of the domain is known"
                ),
            }
            changed.get_or_insert_with(|| settings.clone()).shares[at].group_ids[index] = now;
        }
    }
    changed
}

/// The number of a group; `None` if it is not known.
pub(crate) fn number(name: &str, site: &UnixAccounts) -> Option<u32> {
    match site.domain() {
        Some(domain) if is_of_domain(name) => number_in(domain, name),
        _ => site.group(name).map(|group| group.gid),
    }
}

/// Whether only a domain can have a group of this name.
pub(crate) fn is_of_domain(name: &str) -> bool {
    name.contains(['\\', '@']) || name.parse::<Sid>().is_ok()
}

pub(crate) fn number_in(domain: &Domain, name: &str) -> Option<u32> {
    if let Ok(sid) = name.parse::<Sid>() {
        return domain.membership_id(&sid);
    }
    let named = domain.named(name).filter(|named| named.kind == NameKind::Group)?;
    domain.membership_id(&named.sid)
}

/// Why a group that is not known is not, and what to do about it.
pub(crate) fn unknown(name: &str, share: &str, settings: &Settings) -> (String, &'static str) {
    let opens = format!("so it opens the share {share:?} to no one");
    match (is_of_domain(name), &settings.server.domain) {
        (true, None) => (
            format!("{name:?} is a group of a domain, and `domain` is not set, {opens}"),
            "set `domain`, or write the name of a group that `getent group` knows",
        ),
        (true, Some(_)) => (
            format!("the domain has no group {name:?} as far as the server knows, {opens} until it does"),
            "a server that has joined the domain asks every five minutes: `fourfold domain status`; or write the SID of the group",
        ),
        (false, _) => (
            format!("this machine has no group {name:?}, {opens}"),
            "write the name of a group that `getent group` knows",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use auth::{DirectoryEntry, DomainOptions, IdRule, UnixIds};

    use super::*;

    const DOMAIN: &str = "S-1-5-21-1-2-3";

    fn settings(groups: &str) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\ngroups = [{groups}]\n");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap()
    }

    fn domain(state: &std::path::Path) -> Arc<Domain> {
        let options = DomainOptions {
            name: "lab.test".into(),
            rule: IdRule::Rid,
            range: "100000-199999".parse().unwrap(),
            trusted: vec![("S-1-5-21-7-7-7".parse().unwrap(), "200000-299999".parse().unwrap())],
        };
        Arc::new(Domain::new(options, state).unwrap())
    }

    fn entry(rid: u32, name: &str, kind: NameKind) -> DirectoryEntry {
        let sid = format!("{DOMAIN}-{rid}").parse().unwrap();
        DirectoryEntry { sid, name: name.into(), kind, disabled: false, numbers: UnixIds::default() }
    }

    #[test]
    fn a_group_that_does_not_exist_has_no_members_but_still_restricts_a_share() {
        assert_eq!(of(&settings("\"root\", \"no-such-group\"").shares[0]), [0, NO_GROUP]);
        assert_eq!(of(&settings("").shares[0]), [0; 0]);
    }

    #[test]
    fn groups_of_the_domain_count_once_the_directory_has_listed_them() {
        let state = tempfile::tempdir().unwrap();
        let domain = domain(state.path());
        let site = UnixAccounts::Domain(domain.clone());
        let names = r"'LAB\Designers', 'designers@lab.test', 'S-1-5-21-1-2-3-1105', 'S-1-5-21-7-7-7-5', 'LAB\alice', 'root'";
        let first = resolved(settings(names), &site);
        assert_eq!(first.shares[0].group_ids, [NO_GROUP, NO_GROUP, NO_GROUP, 200_005, NO_GROUP, 0]);
        domain.learn(DOMAIN.parse().unwrap(), "LAB").unwrap();
        domain
            .list(vec![entry(1105, "designers", NameKind::Group), entry(1104, "alice", NameKind::User)])
            .1
            .unwrap();
        let then = resolve_again(&first, Some(&domain)).unwrap();
        assert_eq!(then.shares[0].group_ids, [101_105, 101_105, 101_105, 200_005, NO_GROUP, 0]);
        assert!(resolve_again(&then, Some(&domain)).is_none(), "nothing is new");
        domain.list(vec![entry(1104, "alice", NameKind::User)]).1.unwrap();
        let last = resolve_again(&then, Some(&domain)).unwrap();
        assert_eq!(last.shares[0].group_ids[0], NO_GROUP, "the group was removed");
    }

    #[test]
    fn an_unknown_group_of_the_domain_is_told_apart_from_one_of_the_host() {
        let all = settings("");
        assert!(unknown("LAB\\x", "A", &all).0.contains("`domain` is not set"));
        assert!(unknown("x", "A", &all).0.contains("this machine has no group"));
    }
}
