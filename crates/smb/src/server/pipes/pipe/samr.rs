//! The accounts of the server, MS-SAMR, for Windows' "Select Users or Groups", Computer Management and `net user`.
//!
//! There are two domains: the server's own, whose users are its accounts and whose aliases are the groups of these, and
//! `BUILTIN`. Nothing can be changed here: changes are refused to all callers, and so are handles for them.

mod accounts;
mod answers;
mod handles;

pub(super) use handles::Handles;

use self::accounts::SamrAccounts;
use self::handles::{AccountDomain, HandleEntry, Kind};
use super::names::own_domain;
use super::{CallerRank, PipeHost};
use crate::wire::Status;
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::Fault;
use crate::wire::rpc::samr::{
    Request, SamrObject, SamrOpen, change_response, connect5_response, display_index_response,
    handle_response, list_response, password_response, rights, security_response, sid_response,
};
use crate::wire::security::{AccessMask, Ace, AceFlags, Acl, SecurityDescriptor, Sid, well_known};

/// The name of the domain of the groups that every Windows has.
const BUILTIN: &str = "Builtin";

/// Answers the call `operation`.
pub(super) fn call(
    host: &dyn PipeHost,
    handles: &mut Handles,
    operation: u16,
    stub: &[u8],
) -> Result<Vec<u8>, Fault> {
    Ok(match Request::decode(operation, stub)?.ok_or(Fault::OPERATION_RANGE)? {
        Request::Connect { access } => handle_response(connect(host, handles, access)),
        Request::Connect5 { access } => connect5_response(connect(host, handles, access)),
        Request::Close { handle } => {
            handles.close(&handle)?;
            handle_response(Ok([0; 20]))
        }
        Request::QuerySecurity { handle } => {
            let held = handles.get(&handle)?;
            security_response(held.need(rights::READ_CONTROL).map(|()| descriptor(held.kind)))
        }
        Request::LookupDomain { handle, name } => {
            let server = handles.get(&handle)?.server(rights::SERVER_LOOKUP);
            sid_response(server.and_then(|()| look_up_domain(host, &name)))
        }
        Request::EnumerateDomains(list) => {
            match handles.get(&list.handle)?.server(rights::SERVER_ENUMERATE) {
                Ok(()) => {
                    let own = own_domain(host).name;
                    answers::part(&[(0, own.as_str()), (0, BUILTIN)], list.start, list.preferred)
                }
                Err(status) => list_response(0, &[], status),
            }
        }
        Request::OpenDomain { handle, access, sid } => {
            let server = handles.get(&handle)?.server(rights::SERVER_LOOKUP);
            handle_response(server.and_then(|()| open_domain(host, handles, access, &sid)))
        }
        Request::Open(open) => handle_response(open_object(host, handles, &open)?),
        Request::PasswordOfUser { handle } => {
            let user = handles.get(&handle)?.object(SamrObject::User, 0);
            password_response(user.err().unwrap_or(Status::SUCCESS))
        }
        Request::PasswordOfDomain => {
            let known =
                if host.caller().rank >= CallerRank::User { Status::SUCCESS } else { Status::ACCESS_DENIED };
            password_response(known)
        }
        Request::DisplayIndex { handle, class, prefix } => {
            let domain = handles.get(&handle)?.domain(rights::DOMAIN_LIST);
            let index = domain.and_then(|domain| answers::display_index(host, domain, class, &prefix));
            display_index_response(index)
        }
        Request::Change(shape) => change_response(shape, Status::ACCESS_DENIED),
        other => answers::of(host, handles, other)?,
    })
}

/// Only users with an account may ask for the accounts, as on Windows since version 10 (1607) only administrators may.
fn connect(host: &dyn PipeHost, handles: &mut Handles, access: u32) -> Result<Handle, Status> {
    if host.caller().rank < CallerRank::User {
        return Err(Status::ACCESS_DENIED);
    }
    handles.open(Kind::Server, access)
}

fn look_up_domain(host: &dyn PipeHost, name: &str) -> Result<Sid, Status> {
    let own = own_domain(host);
    match name.to_lowercase() {
        name if name == own.name.to_lowercase() => Ok(own.sid),
        name if name == BUILTIN.to_lowercase() => Ok(well_known::BUILTIN),
        _ => Err(Status::NO_SUCH_DOMAIN),
    }
}

fn open_domain(host: &dyn PipeHost, handles: &mut Handles, access: u32, sid: &Sid) -> Result<Handle, Status> {
    let domain = match *sid {
        well_known::BUILTIN => AccountDomain::Builtin,
        sid if sid == own_domain(host).sid => AccountDomain::Own,
        _ => return Err(Status::NO_SUCH_DOMAIN),
    };
    handles.open(Kind::Domain(domain), access)
}

fn open_object(
    host: &dyn PipeHost,
    handles: &mut Handles,
    SamrOpen { kind, domain, access, rid }: &SamrOpen,
) -> Result<Result<Handle, Status>, Fault> {
    let domain = match handles.get(domain)?.domain(rights::DOMAIN_LOOKUP) {
        Ok(domain) => domain,
        Err(status) => return Ok(Err(status)),
    };
    let accounts = SamrAccounts::of(host, domain);
    let (found, missing) = match kind {
        SamrObject::User => (accounts.user(*rid).is_some(), Status::NO_SUCH_USER),
        SamrObject::Group => (accounts.group(*rid).is_some(), Status::NO_SUCH_GROUP),
        SamrObject::Alias => (accounts.alias(*rid).is_some(), Status::NO_SUCH_ALIAS),
    };
    let kind = Kind::Object { kind: *kind, domain, rid: *rid };
    Ok(if found { handles.open(kind, *access) } else { Err(missing) })
}

/// What may be done to an object: all users may read it.
fn descriptor(kind: Kind) -> SecurityDescriptor {
    let entry =
        Ace::allow(well_known::AUTHENTICATED_USERS, AccessMask(HandleEntry::readable(kind)), AceFlags::NONE);
    SecurityDescriptor {
        owner: Some(well_known::ADMINISTRATORS),
        group: Some(well_known::ADMINISTRATORS),
        dacl: Some(Acl::new(vec![entry])),
        ..SecurityDescriptor::default()
    }
}
