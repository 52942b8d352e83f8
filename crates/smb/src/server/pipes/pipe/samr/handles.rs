//! The handles of one pipe, and what each may be used for.

use std::collections::BTreeMap;

use crate::wire::Status;
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::Fault;
use crate::wire::rpc::samr::{SamrObject, rights};

/// How many handles a pipe may hold.
const MAX_HANDLES: usize = 256;

/// A domain of accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccountDomain {
    /// That of the server's own accounts.
    Own,
    /// That of the groups that every Windows has.
    Builtin,
}

/// What a handle is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Server,
    Domain(AccountDomain),
    Object { kind: SamrObject, domain: AccountDomain, rid: u32 },
}

/// What a handle is of, and the rights that it was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HandleEntry {
    pub(super) kind: Kind,
    granted: u32,
}

/// The open handles.
#[derive(Default)]
pub(in super::super) struct Handles {
    open: BTreeMap<Handle, HandleEntry>,
    last: u64,
}

impl Handles {
    /// Opens a handle with the rights `access`, MS-SAMR 3.1.2.1.
    pub(super) fn open(&mut self, kind: Kind, access: u32) -> Result<Handle, Status> {
        let granted = granted(kind, access)?;
        if self.open.len() >= MAX_HANDLES {
            return Err(Status::INSUFFICIENT_RESOURCES);
        }
        self.last += 1;
        let mut handle = [0; 20]; // attributes, then a UUID, which is not zero
        handle[4..12].copy_from_slice(&self.last.to_le_bytes());
        self.open.insert(handle, HandleEntry { kind, granted });
        Ok(handle)
    }

    pub(super) fn get(&self, handle: &Handle) -> Result<HandleEntry, Fault> {
        self.open.get(handle).copied().ok_or(Fault::CONTEXT_MISMATCH)
    }

    pub(super) fn close(&mut self, handle: &Handle) -> Result<(), Fault> {
        self.open.remove(handle).map(drop).ok_or(Fault::CONTEXT_MISMATCH)
    }
}

/// The rights of a new handle. Rights to change anything are refused.
fn granted(kind: Kind, access: u32) -> Result<u32, Status> {
    let readable = HandleEntry::readable(kind);
    let mut granted = access & !(rights::MAXIMUM_ALLOWED | rights::GENERIC_READ | rights::GENERIC_EXECUTE);
    if granted & !readable != 0 {
        return Err(Status::ACCESS_DENIED);
    }
    if granted != access {
        granted = readable;
    }
    Ok(granted)
}

impl HandleEntry {
    /// The rights that all users have.
    pub(super) fn readable(kind: Kind) -> u32 {
        use rights::*;
        READ_CONTROL
            | match kind {
                Kind::Server => SERVER_CONNECT | SERVER_ENUMERATE | SERVER_LOOKUP,
                Kind::Domain(_) => {
                    DOMAIN_READ_PASSWORD
                        | DOMAIN_READ_OTHER
                        | DOMAIN_ALIAS_MEMBERSHIP
                        | DOMAIN_LIST
                        | DOMAIN_LOOKUP
                }
                Kind::Object { kind: SamrObject::Group, .. } => GROUP_READ | GROUP_MEMBERS,
                Kind::Object { kind: SamrObject::Alias, .. } => ALIAS_READ | ALIAS_MEMBERS,
                Kind::Object { kind: SamrObject::User, .. } => {
                    USER_READ_GENERAL
                        | USER_READ_PREFERENCES
                        | USER_READ_LOGON
                        | USER_READ_ACCOUNT
                        | USER_LIST_GROUPS
                        | USER_READ_GROUP
                }
            }
    }

    /// Whether the handle was opened with these rights.
    pub(super) fn need(self, rights: u32) -> Result<(), Status> {
        if self.granted & rights == rights { Ok(()) } else { Err(Status::ACCESS_DENIED) }
    }

    pub(super) fn server(self, rights: u32) -> Result<(), Status> {
        if self.kind != Kind::Server {
            return Err(Status::OBJECT_TYPE_MISMATCH);
        }
        self.need(rights)
    }

    pub(super) fn domain(self, rights: u32) -> Result<AccountDomain, Status> {
        let Kind::Domain(domain) = self.kind else { return Err(Status::OBJECT_TYPE_MISMATCH) };
        self.need(rights).map(|()| domain)
    }

    /// The domain of the handle, or that of its object.
    pub(super) fn any_domain(self) -> Result<AccountDomain, Status> {
        match self.kind {
            Kind::Server => Err(Status::OBJECT_TYPE_MISMATCH),
            Kind::Domain(domain) | Kind::Object { domain, .. } => Ok(domain),
        }
    }

    /// The domain and the number of an object.
    pub(super) fn object(self, wanted: SamrObject, rights: u32) -> Result<(AccountDomain, u32), Status> {
        match self.kind {
            Kind::Object { kind, domain, rid } if kind == wanted => self.need(rights).map(|()| (domain, rid)),
            _ => Err(Status::OBJECT_TYPE_MISMATCH),
        }
    }
}
