//! The Unix users and groups of this machine, according to its name service (nsswitch.conf): those
//! of `/etc/passwd`, and those of LDAP, sssd and others.

use std::ffi::CString;
use std::sync::Arc;

use nix::unistd::{Gid, Group, Uid, User, getgrouplist};

use crate::domain::{Domain, NameKind, SidName};

/// The source of users and groups. A look-up may take as long as the name service does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnixAccounts {
    /// The name service of this machine.
    NameService,
    /// That of this machine, and the users and groups of a domain, which have ids of their own.
    Domain(Arc<Domain>),
    /// Those of another source, and the accounts and groups of the server that have numbers of their own.
    WithOwn {
        /// The other source, which is not this variant.
        source: Box<Self>,
        /// The server's own.
        own: Arc<OwnNumbers>,
    },
    /// Given users and groups, for tests.
    Listed {
        /// The users.
        users: Vec<UnixUser>,
        /// The groups.
        groups: Vec<UnixGroup>,
    },
}

/// The accounts and groups of the server that are no users and groups of the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnNumbers {
    /// The accounts.
    pub users: Vec<UnixUser>,
    /// The groups.
    pub groups: Vec<UnixGroup>,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixUser {
    /// Its name.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// Its first group.
    pub gid: u32,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixGroup {
    /// Its name.
    pub name: String,
    /// Its number.
    pub gid: u32,
    /// Users for which it is not the first group.
    pub members: Vec<String>,
}

impl UnixAccounts {
    /// Parses the texts of `/etc/passwd` and `/etc/group`, passwd(5) and group(5). Malformed lines
    /// are ignored.
    #[must_use]
    pub fn parse(passwd: &str, group: &str) -> Self {
        Self::Listed {
            users: passwd.lines().filter_map(user).collect(),
            groups: group.lines().filter_map(group_of).collect(),
        }
    }

    /// The same, and the server's own. Names of the host and of the domain come first, numbers of the server's own do.
    #[must_use]
    pub fn with_own(self, own: OwnNumbers) -> Self {
        match own == OwnNumbers::default() {
            true => self,
            false => Self::WithOwn { source: Box::new(self), own: Arc::new(own) },
        }
    }

    /// The domain, if its users and groups are among these.
    #[must_use]
    pub fn domain(&self) -> Option<&Arc<Domain>> {
        match self {
            Self::Domain(domain) => Some(domain),
            Self::WithOwn { source, .. } => source.domain(),
            Self::NameService | Self::Listed { .. } => None,
        }
    }

    /// The user with a name. `None` also if the name service fails, which is logged.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<UnixUser> {
        match self {
            Self::NameService => answered(User::from_name(name), &name).map(UnixUser::from),
            Self::Domain(domain) => {
                Self::NameService.user(name).or_else(|| user_in(domain, domain.named(name)?))
            }
            Self::WithOwn { source, own } => {
                source.user(name).or_else(|| own.users.iter().find(|user| user.name == name).cloned())
            }
            Self::Listed { users, .. } => users.iter().find(|user| user.name == name).cloned(),
        }
    }

    /// The first user with a number.
    #[must_use]
    pub fn user_numbered(&self, uid: u32) -> Option<UnixUser> {
        match self {
            Self::NameService => answered(User::from_uid(Uid::from_raw(uid)), &uid).map(UnixUser::from),
            Self::Domain(domain) => match domain.user(uid) {
                Some(sid) => user_in(domain, domain.name(&sid)?),
                None => Self::NameService.user_numbered(uid),
            },
            Self::WithOwn { source, own } => {
                let of_own = own.users.iter().find(|user| user.uid == uid);
                of_own.cloned().or_else(|| source.user_numbered(uid))
            }
            Self::Listed { users, .. } => users.iter().find(|user| user.uid == uid).cloned(),
        }
    }

    /// The group with a name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<UnixGroup> {
        match self {
            Self::NameService => answered(Group::from_name(name), &name).map(UnixGroup::from),
            Self::Domain(domain) => {
                Self::NameService.group(name).or_else(|| group_in(domain, domain.named(name)?))
            }
            Self::WithOwn { source, own } => {
                source.group(name).or_else(|| own.groups.iter().find(|group| group.name == name).cloned())
            }
            Self::Listed { groups, .. } => groups.iter().find(|group| group.name == name).cloned(),
        }
    }

    /// The first group with a number.
    #[must_use]
    pub fn group_numbered(&self, gid: u32) -> Option<UnixGroup> {
        match self {
            Self::NameService => answered(Group::from_gid(Gid::from_raw(gid)), &gid).map(UnixGroup::from),
            Self::Domain(domain) => match domain.group(gid) {
                Some(sid) => group_in(domain, domain.name(&sid)?),
                None => Self::NameService.group_numbered(gid),
            },
            Self::WithOwn { source, own } => {
                let of_own = own.groups.iter().find(|group| group.gid == gid);
                of_own.cloned().or_else(|| source.group_numbered(gid))
            }
            Self::Listed { groups, .. } => groups.iter().find(|group| group.gid == gid).cloned(),
        }
    }

    /// The groups of a user without its first one.
    #[must_use]
    pub fn groups_of(&self, user: &UnixUser) -> Vec<u32> {
        let mut all = match self {
            Self::WithOwn { source, .. } => source.groups_of(user),
            Self::NameService | Self::Domain(_) => {
                let Ok(name) = CString::new(user.name.as_str()) else { return Vec::new() };
                let groups = getgrouplist(&name, Gid::from_raw(user.gid)).map(Some);
                answered(groups, &user.name).unwrap_or_default().into_iter().map(Gid::as_raw).collect()
            }
            Self::Listed { groups, .. } => {
                let of_user = groups.iter().filter(|group| group.members.contains(&user.name));
                of_user.map(|group| group.gid).collect::<Vec<_>>()
            }
        };
        all.retain(|gid| *gid != user.gid);
        all
    }
}

fn user_in(domain: &Domain, named: SidName) -> Option<UnixUser> {
    if named.kind != NameKind::User {
        return None;
    }
    if let Some(account) = domain.account_of(&named.sid) {
        return Some(UnixUser { name: account.name, uid: account.identity.uid, gid: account.identity.gid });
    }
    let uid = domain.id(&named.sid)?;
    Some(UnixUser { gid: domain.first_group(&named.sid).unwrap_or(uid), name: named.name, uid })
}

/// Members are not listed: users come with their groups.
fn group_in(domain: &Domain, named: SidName) -> Option<UnixGroup> {
    let gid = domain.id(&named.sid).filter(|_| named.kind == NameKind::Group)?;
    Some(UnixGroup { name: named.name, gid, members: Vec::new() })
}

/// The answer of the name service; an error is logged.
fn answered<T>(answer: nix::Result<Option<T>>, about: &dyn std::fmt::Display) -> Option<T> {
    answer.unwrap_or_else(|error| {
        tracing::warn!(%error, %about, "the name service of the host cannot be asked");
        None
    })
}

impl From<User> for UnixUser {
    fn from(user: User) -> Self {
        Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() }
    }
}

impl From<Group> for UnixGroup {
    fn from(group: Group) -> Self {
        Self { name: group.name, gid: group.gid.as_raw(), members: group.mem }
    }
}

fn user(line: &str) -> Option<UnixUser> {
    let mut fields = line.split(':');
    let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
    let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(UnixUser { name: name.into(), uid, gid })
}

fn group_of(line: &str) -> Option<UnixGroup> {
    let mut fields = line.split(':');
    let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
    let gid = fields.nth(1)?.parse().ok()?;
    let members = fields.next().unwrap_or_default().split(',').filter(|m| !m.is_empty());
    Some(UnixGroup { name: name.into(), gid, members: members.map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_as_passwd_5_and_group_5_say() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000:Ada,,,:/home/ada:/bin/bash\n+nis\nbad:x:y:z\n";
        let group = "root:x:0:\nada:x:1000:ada\nstaff:x:50:grace,ada\nempty:x:51\n# no group\n";
        let accounts = UnixAccounts::parse(passwd, group);
        let ada = &accounts.user("ada").unwrap();
        assert_eq!((ada.uid, ada.gid), (1000, 1000));
        assert_eq!(accounts.groups_of(ada), [50]);
        assert_eq!(accounts.user_numbered(0).unwrap().name, "root");
        assert_eq!(accounts.group("staff").unwrap().members, ["grace", "ada"]);
        assert_eq!(accounts.group("empty").unwrap().gid, 51);
        assert!(accounts.user("bad").is_none() && accounts.user("+nis").is_none());
    }

    #[test]
    fn the_name_service_knows_root() {
        let host = UnixAccounts::NameService;
        let root = host.user("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(host.user_numbered(0), Some(root.clone()));
        assert_eq!(host.group_numbered(0).unwrap().name, host.group("root").unwrap().name);
        assert!(!host.groups_of(&root).contains(&0));
        assert_eq!(host.user("no such user"), None);
        assert_eq!(host.user("a\0b"), None);
    }

    #[test]
    fn names_of_the_host_come_first_and_numbers_of_the_server_do() {
        let user = |name: &str, uid| UnixUser { name: name.into(), uid, gid: uid };
        let group = |name: &str, gid| UnixGroup { name: name.into(), gid, members: Vec::new() };
        let host = UnixAccounts::parse("ada:x:1000:1000::/:\n", "staff:x:50:\n");
        assert_eq!(host.clone().with_own(OwnNumbers::default()), host);
        let own = OwnNumbers {
            users: vec![user("ada", 1_900_000_001), user("grace", 1_900_000_002)],
            groups: vec![group("studio", 1_900_000_003)],
        };
        let all = host.with_own(own);
        assert_eq!(all.user("ada").unwrap().uid, 1000);
        assert_eq!(all.user("grace").unwrap().uid, 1_900_000_002);
        assert_eq!(all.user_numbered(1_900_000_001).unwrap().name, "ada");
        assert_eq!(all.user_numbered(1000).unwrap().name, "ada");
        assert_eq!(all.group("studio").unwrap().gid, 1_900_000_003);
        assert_eq!(all.group_numbered(1_900_000_003).unwrap().name, "studio");
        assert_eq!(all.group_numbered(50).unwrap().name, "staff");
        assert_eq!((all.user("eve"), all.group_numbered(51)), (None, None));
        assert!(all.domain().is_none());
    }
}
