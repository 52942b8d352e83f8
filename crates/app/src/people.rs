//! Who may use the server: accounts, groups, users of the host and of a domain, and what they may do.

pub(crate) mod accounts;
pub(crate) mod groups;
pub(crate) mod host_accounts;
pub(crate) mod logons;
pub(crate) mod membership;
pub(crate) mod person;
pub(crate) mod rights;
pub(crate) mod roles;
pub(crate) mod team;
pub(crate) mod tickets;
pub(crate) mod who;
