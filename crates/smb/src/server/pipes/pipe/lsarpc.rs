//! The local security authority, MS-LSAD and MS-LSAT: the server's domain, and names for SIDs.

use std::collections::BTreeSet;

use super::names::{self, NamedAccount};
use super::{CallerRank, PipeHost, privileges};
use crate::wire::Status;
use crate::wire::rpc::lsarpc::{
    Domain, LookUpNames, LookUpSids, NameUse, NamesResponse, Policy, Request, SidsResponse, TranslatedName,
    TranslatedSid, accounts_response, handle_response, luid_response, policy_response, user_name_response,
};
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::Fault;

/// How many policy handles a pipe may hold.
const MAX_HANDLES: usize = 64;
/// How many names may be asked at once, MS-LSAT 3.1.4.5. SIDs are limited by the length of a call.
const MAX_NAMES: usize = 1000;

/// The policy handles of one pipe. There is only one policy, so handles have no content.
#[derive(Default)]
pub(super) struct Policies {
    open: BTreeSet<Handle>,
    last: u64,
}

impl Policies {
    fn open(&mut self) -> Option<Handle> {
        if self.open.len() >= MAX_HANDLES {
            return None;
        }
        self.last += 1;
        let mut handle = [0; 20]; // attributes, then a UUID, which is not zero
        handle[4..12].copy_from_slice(&self.last.to_le_bytes());
        self.open.insert(handle);
        Some(handle)
    }

    fn check(&self, handle: &Handle) -> Result<(), Fault> {
        if self.open.contains(handle) { Ok(()) } else { Err(Fault::CONTEXT_MISMATCH) }
    }
}

/// Answers the call `operation`.
pub(super) fn call(
    host: &dyn PipeHost,
    policies: &mut Policies,
    operation: u16,
    stub: &[u8],
) -> Result<Vec<u8>, Fault> {
    Ok(match Request::decode(operation, stub)?.ok_or(Fault::OPERATION_RANGE)? {
        Request::OpenPolicy => match policies.open() {
            Some(handle) => handle_response(&handle, Status::SUCCESS),
            None => handle_response(&[0; 20], Status::INSUFFICIENT_RESOURCES),
        },
        Request::Close { handle } => {
            policies.check(&handle)?;
            policies.open.remove(&handle);
            handle_response(&[0; 20], Status::SUCCESS)
        }
        Request::QueryInformationPolicy { handle, class } => {
            policies.check(&handle)?;
            policy_response(policy(host, class))
        }
        Request::EnumerateAccounts { handle } => {
            policies.check(&handle)?;
            accounts_response(Status::ACCESS_DENIED)
        }
        Request::LookupNames(asked) => {
            asked.handle.map_or(Ok(()), |handle| policies.check(&handle))?;
            look_up_names(host, &asked)
        }
        Request::LookupSids(asked) => {
            asked.handle.map_or(Ok(()), |handle| policies.check(&handle))?;
            look_up_sids(host, &asked)
        }
        Request::LookupPrivilegeValue { handle, name } => {
            policies.check(&handle)?;
            luid_response(privileges::luid(&name).ok_or(Status::NO_SUCH_PRIVILEGE))
        }
        Request::GetUserName { domain } => user_name(host, domain),
    })
}

/// `LsarQueryInformationPolicy`, MS-LSAD 3.1.4.4.4: a server in a workgroup, with accounts of its own.
fn policy(host: &dyn PipeHost, class: u16) -> Result<Policy, Status> {
    let server = host.server();
    match class {
        2 => Err(Status::ACCESS_DENIED), // auditing
        3 => Ok(Policy::PrimaryDomain { name: server.group }),
        5 => Ok(Policy::AccountDomain { name: server.name, sid: server.sid }),
        6 => Ok(Policy::ServerRole),
        12 => Ok(Policy::DnsDomain { name: server.group }),
        _ => Err(Status::INVALID_PARAMETER),
    }
}

/// Anonymous users may not look up names and numbers of accounts.
fn may_look_up(host: &dyn PipeHost, count: usize) -> Result<(), Status> {
    if host.caller().rank == CallerRank::Anonymous {
        return Err(Status::ACCESS_DENIED);
    }
    if count > MAX_NAMES { Err(Status::INVALID_PARAMETER) } else { Ok(()) }
}

fn look_up_names(host: &dyn PipeHost, asked: &LookUpNames) -> Vec<u8> {
    let dialect = asked.dialect;
    if let Err(status) = may_look_up(host, asked.names.len()) {
        return NamesResponse { dialect, domains: &[], sids: &[], mapped: 0, status }.encode();
    }
    let mut domains = Vec::new();
    let sids = asked.names.iter().map(|name| match names::of_name(host, name) {
        Some(NamedAccount { kind, sid, domain, .. }) => {
            TranslatedSid { kind, sid: Some(sid), domain: Some(referenced(&mut domains, domain)) }
        }
        None => TranslatedSid { kind: NameUse::Unknown, sid: None, domain: None },
    });
    let sids: Vec<_> = sids.collect();
    let mapped = sids.iter().filter(|sid| sid.sid.is_some()).count();
    let status = outcome(mapped, sids.len());
    NamesResponse { dialect, domains: &domains, sids: &sids, mapped, status }.encode()
}

fn look_up_sids(host: &dyn PipeHost, asked: &LookUpSids) -> Vec<u8> {
    let dialect = asked.dialect;
    if let Err(status) = may_look_up(host, 0) {
        return SidsResponse { dialect, domains: &[], names: &[], mapped: 0, status }.encode();
    }
    let mut domains = Vec::new();
    let names = asked.sids.iter().map(|sid| match names::of_sid(host, sid) {
        Some(NamedAccount { kind, name, domain, .. }) => {
            TranslatedName { kind, name, domain: Some(referenced(&mut domains, domain)) }
        }
        None => TranslatedName { kind: NameUse::Unknown, name: sid.to_string(), domain: None },
    });
    let names: Vec<_> = names.collect();
    let mapped = names.iter().filter(|name| name.domain.is_some()).count();
    let status = outcome(mapped, names.len());
    SidsResponse { dialect, domains: &domains, names: &names, mapped, status }.encode()
}

/// MS-LSAT 3.1.4.5 and 3.1.4.9.
fn outcome(mapped: usize, asked: usize) -> Status {
    match mapped {
        _ if mapped == asked => Status::SUCCESS,
        0 => Status::NONE_MAPPED,
        _ => Status::SOME_NOT_MAPPED,
    }
}

/// The place of `domain` in the list of those that an answer refers to.
fn referenced(domains: &mut Vec<Domain>, domain: Domain) -> usize {
    domains.iter().position(|known| *known == domain).unwrap_or_else(|| {
        domains.push(domain);
        domains.len() - 1
    })
}

/// `LsarGetUserName`, MS-LSAT 3.1.4.4.
fn user_name(host: &dyn PipeHost, with_domain: bool) -> Vec<u8> {
    let (caller, server) = (host.caller(), host.server());
    let (name, domain) = match caller.rank {
        CallerRank::Anonymous => ("ANONYMOUS LOGON", "NT AUTHORITY"),
        CallerRank::Guest => ("Guest", server.name.as_str()),
        CallerRank::User | CallerRank::Administrator => (caller.name.as_str(), server.name.as_str()),
    };
    user_name_response(name, with_domain.then_some(domain))
}
