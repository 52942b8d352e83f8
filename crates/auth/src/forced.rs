//! The user that all users of a share act as, instead of themselves: `force-user` and `force-group`, with the meaning of smb.conf(5).

use crate::identity::Identity;

/// The user and the group that all users of a share act as. The right to enter does not depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForcedIdentity {
    /// They act as this user, with its groups.
    pub user: Option<Identity>,
    /// They act with this group as their first one.
    pub group: Option<ForcedGroup>,
}

/// The first group of all users of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForcedGroup {
    /// Its number.
    pub gid: u32,
    /// Only of users that are in the group anyway.
    pub of_members: bool,
}

impl ForcedIdentity {
    /// The identity that a user acts with.
    #[must_use]
    pub fn apply(&self, identity: Identity) -> Identity {
        let identity = match &self.user {
            Some(user) => Identity { origin: identity.origin, ..user.clone() },
            None => identity,
        };
        match self.group {
            Some(group) if !group.of_members || identity.in_group(group.gid) => {
                let own = identity.gid;
                Identity { gid: group.gid, ..identity }.with_groups(&[own])
            }
            _ => identity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILM: u32 = 70;

    fn group(of_members: bool) -> ForcedIdentity {
        ForcedIdentity { user: None, group: Some(ForcedGroup { gid: FILM, of_members }) }
    }

    #[test]
    fn all_act_with_the_group_and_keep_their_own_ones() {
        let ada = group(false).apply(Identity::new(1000, 100, &[50]));
        assert_eq!((ada.uid, ada.gid), (1000, FILM));
        assert!(ada.in_group(100) && ada.in_group(50));
    }

    #[test]
    fn a_group_with_a_plus_is_that_of_its_members_only() {
        let of = |groups: &[u32]| group(true).apply(Identity::new(1000, 100, groups)).gid;
        assert_eq!((of(&[FILM]), of(&[50])), (FILM, 100));
    }

    #[test]
    fn a_user_has_its_own_groups_and_a_forced_group_comes_first() {
        let media = Identity::new(600, 60, &[61]);
        let forced = ForcedIdentity { user: Some(media), ..ForcedIdentity::default() };
        let ada = Identity::new(1000, 100, &[FILM]);
        assert_eq!(forced.apply(ada.clone()), Identity::new(600, 60, &[61]));
        let both = ForcedIdentity { group: group(false).group, ..forced.clone() }.apply(ada.clone());
        assert_eq!((both.uid, both.gid), (600, FILM));
        let members = ForcedIdentity { group: group(true).group, ..forced }.apply(ada);
        assert_eq!((members.uid, members.gid), (600, 60), "the forced user is not in the group");
    }
}
