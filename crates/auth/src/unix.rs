//! The Unix accounts of this machine, read from `/etc/passwd` and `/etc/group`.
//!
//! Accounts that come from elsewhere (LDAP, sssd) are not in these files and are not seen: asking for them takes the
//! C library's name service switch. Such an account can be tied to its number with `uid` in the settings.

use std::path::Path;

/// What `/etc/passwd` and `/etc/group` said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnixAccounts {
    users: Vec<UnixUser>,
    groups: Vec<UnixGroup>,
}

/// A line of `/etc/passwd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixUser {
    /// Its name.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// Its first group.
    pub gid: u32,
}

/// A line of `/etc/group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixGroup {
    /// Its name.
    pub name: String,
    /// Its number.
    pub gid: u32,
    /// Users it is not the first group of.
    pub members: Vec<String>,
}

impl UnixAccounts {
    /// Those of this machine. A file that cannot be read counts as empty.
    #[must_use]
    pub fn system() -> Self {
        Self::read(Path::new("/etc"))
    }

    /// Those of `passwd` and `group` in a folder.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let text = |name| std::fs::read(folder.join(name)).unwrap_or_default();
        let (passwd, group) = (text("passwd"), text("group"));
        Self::parse(&String::from_utf8_lossy(&passwd), &String::from_utf8_lossy(&group))
    }

    /// The files' texts, passwd(5) and group(5). Lines that are not well formed are passed over.
    #[must_use]
    pub fn parse(passwd: &str, group: &str) -> Self {
        Self {
            users: passwd.lines().filter_map(user).collect(),
            groups: group.lines().filter_map(group_of).collect(),
        }
    }

    /// The user of a name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&UnixUser> {
        self.users.iter().find(|user| user.name == name)
    }

    /// The first user of a number.
    #[must_use]
    pub fn user_numbered(&self, uid: u32) -> Option<&UnixUser> {
        self.users.iter().find(|user| user.uid == uid)
    }

    /// The group of a name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&UnixGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The first group of a number.
    #[must_use]
    pub fn group_numbered(&self, gid: u32) -> Option<&UnixGroup> {
        self.groups.iter().find(|group| group.gid == gid)
    }

    /// The groups of a user beside its first one.
    #[must_use]
    pub fn groups_of(&self, user: &UnixUser) -> Vec<u32> {
        let others = self.groups.iter().filter(|g| g.gid != user.gid && g.members.contains(&user.name));
        others.map(|g| g.gid).collect()
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
        let ada = accounts.user("ada").unwrap();
        assert_eq!((ada.uid, ada.gid), (1000, 1000));
        assert_eq!(accounts.groups_of(ada), [50]);
        assert_eq!(accounts.user_numbered(0).unwrap().name, "root");
        assert_eq!(accounts.group("staff").unwrap().members, ["grace", "ada"]);
        assert_eq!(accounts.group("empty").unwrap().gid, 51);
        assert!(accounts.user("bad").is_none() && accounts.user("+nis").is_none());
    }
}
