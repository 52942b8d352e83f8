//! What LDAP needs before `ldap3` takes over.

pub mod bind;
