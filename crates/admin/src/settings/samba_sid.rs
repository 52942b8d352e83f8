//! What the SIDs of Samba's own database are on this host.

use super::kind::Raw;

/// What a SID of Samba is on this host: an element of `samba-sids`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SambaSid<'a> {
    /// The SID of this user, by name or number.
    User(&'a str, &'a str),
    /// The SID of this group, by name or number.
    Group(&'a str, &'a str),
    /// The SID of a domain whose RIDs follow from the numbers of users and groups.
    Algorithmic(&'a str),
}

impl<'a> SambaSid<'a> {
    /// Reads `SID=user:NAME`, `SID=group:NAME` or `SID=algorithmic`.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        let (sid, here) = text.split_once('=').map(|(sid, here)| (sid.trim(), here.trim()))?;
        let mut numbers = sid.strip_prefix("S-1-")?.split('-');
        let is_sid = numbers.clone().count() > 1 && numbers.all(|number| number.parse::<u32>().is_ok());
        let name = |kind| here.strip_prefix(kind).map(str::trim).filter(|name| !name.is_empty());
        match (is_sid, name("user:"), name("group:")) {
            (true, Some(user), _) => Some(Self::User(sid, user)),
            (true, _, Some(group)) => Some(Self::Group(sid, group)),
            (true, ..) if here == "algorithmic" => Some(Self::Algorithmic(sid)),
            _ => None,
        }
    }
}

/// A written element of the list.
pub(super) fn accepted(raw: &Raw) -> Result<String, Option<String>> {
    let text = raw.text().ok_or(None)?;
    SambaSid::of(text).map(|_| text.to_owned()).ok_or(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sid_is_a_user_a_group_or_a_whole_domain() {
        let sid = "S-1-5-21-2989691162-903356138-2778055252-1000";
        assert_eq!(SambaSid::of(&format!("{sid}=user:ada")), Some(SambaSid::User(sid, "ada")));
        assert_eq!(SambaSid::of(&format!("{sid} = group: 100")), Some(SambaSid::Group(sid, "100")));
        assert_eq!(SambaSid::of("S-1-5-21-1-2-3=algorithmic"), Some(SambaSid::Algorithmic("S-1-5-21-1-2-3")));
        for wrong in [
            "",
            "S-1-5-21",
            "S-1-5-21=",
            "S-1-5-21=user:",
            "S-1-x=user:ada",
            "ada=S-1-5-21-1",
            "S-1-5-21=ada",
        ] {
            assert_eq!(SambaSid::of(wrong), None, "{wrong}");
        }
    }
}
