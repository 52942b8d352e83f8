//! What the server knows of the ACLs that Samba has stored: `samba-acls` and `samba-sids` of the settings.

use admin::{SambaSid, Settings};
use auth::UnixAccounts;
use vfs::Site;
use vfs::acl::Who;
use vfs::acl::samba::{SidMap, sid_of_text};

/// What the settings say of the ACLs that Samba has stored. A name that this host does not have says nothing: the SID stays
/// unknown, so what is taken from it is taken from everyone.
pub(crate) fn tell(site: &Site, settings: &Settings) {
    let server = &settings.server;
    let mut sids = SidMap::default();
    for text in &server.samba_sids {
        let (sid, who) = match SambaSid::of(text) {
            Some(SambaSid::User(sid, name)) => (sid, user_of(name).map(Who::User)),
            Some(SambaSid::Group(sid, name)) => (sid, group_of(name).map(Who::Group)),
            Some(SambaSid::Algorithmic(domain)) => {
                sid_of_text(domain).into_iter().for_each(|domain| sids.add_domain(&domain));
                continue;
            }
            None => continue, // the settings were checked
        };
        match (sid_of_text(sid), who) {
            (Some(sid), Some(who)) => sids.add(&sid, who),
            _ => tracing::warn!(
                "samba-sids: {text}: this host has no such user or group; the SID stays unknown"
            ),
        }
    }
    if server.samba_acls || !sids.is_empty() {
        site.expect_acls_of_samba();
    }
    site.tell_sids(sids);
}

fn user_of(name: &str) -> Option<u32> {
    name.parse().ok().or_else(|| UnixAccounts::NameService.user(name).map(|user| user.uid))
}

fn group_of(name: &str) -> Option<u32> {
    name.parse().ok().or_else(|| UnixAccounts::NameService.group(name).map(|group| group.gid))
}
