use wire::Sid;

/// A user of a directory, as the domain controller describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainUser {
    /// Its SID.
    pub sid: Sid,
    /// The name with which it logs in, without the domain.
    pub name: String,
    /// The person's name; may be empty.
    pub full_name: String,
    /// The short name of its domain, such as `LAB`.
    pub domain: String,
    /// Its first group.
    pub primary_group: Sid,
    /// All groups, also those in which it is by another group, and those of other domains.
    pub groups: Vec<Sid>,
}
