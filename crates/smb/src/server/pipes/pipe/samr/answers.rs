//! Lists, look-ups and queries.

use super::BUILTIN;
use super::accounts::{NONE, SamrAccounts, SamrGroup, SamrUser};
use super::handles::{AccountDomain, Handles};
use crate::server::pipes::pipe::PipeHost;
use crate::server::pipes::pipe::names::own_domain;
use crate::wire::Status;
use crate::wire::rpc::lsarpc::NameUse;
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::Fault;
use crate::wire::rpc::samr::{
    AliasInfo, DisplayEntry, DomainInfo, GroupInfo, Info, PartialList, Request, SamrObject, UserInfo,
    alias_memberships_response, displayed_response, group_members_response, groups_response, info_response,
    list_response, names_response, numbers_response, rights, sid_response, sids_response,
};

/// Answers a call about a domain or an object in it.
pub(super) fn of(host: &dyn PipeHost, handles: &Handles, request: Request) -> Result<Vec<u8>, Fault> {
    let domain = |handle: &Handle, rights| handles.get(handle).map(|held| held.domain(rights));
    Ok(match request {
        Request::QueryDomain { handle, class } => {
            let of = domain(&handle, rights::DOMAIN_READ_OTHER)?;
            info_response(class, of.and_then(|domain| query_domain(host, domain, class)))
        }
        Request::EnumerateUsers { list, control } => {
            let domain = domain(&list.handle, rights::DOMAIN_LIST)?;
            listed(host, domain, &list, |all| {
                let wanted = all.users().iter().filter(|user| control == 0 || user.control() & control != 0);
                wanted.map(|user| (user.rid, user.name.clone())).collect()
            })
        }
        Request::EnumerateGroups(list) => {
            let domain = domain(&list.handle, rights::DOMAIN_LIST)?;
            listed(host, domain, &list, |all| pairs(all.groups()))
        }
        Request::EnumerateAliases(list) => {
            let domain = domain(&list.handle, rights::DOMAIN_LIST)?;
            listed(host, domain, &list, |all| pairs(all.aliases()))
        }
        Request::AliasMembership { handle, sids } => {
            let domain = domain(&handle, rights::DOMAIN_ALIAS_MEMBERSHIP)?;
            alias_memberships_response(domain.map(|domain| SamrAccounts::of(host, domain).memberships(&sids)))
        }
        Request::LookupNames { handle, names } => {
            let found = domain(&handle, rights::DOMAIN_LOOKUP)?.map(|domain| {
                let all = SamrAccounts::of(host, domain).by_name();
                names.iter().map(|name| all.get(&name.to_lowercase()).copied()).collect::<Vec<_>>()
            });
            let (found, status) = looked_up(found);
            let numbers = found.into_iter().map(|found| found.unwrap_or((0, NameUse::Unknown))).collect();
            numbers_response(&numbers, status)
        }
        Request::LookupIds { handle, rids } => {
            let found = domain(&handle, rights::DOMAIN_LOOKUP)?.map(|domain| {
                let all = SamrAccounts::of(host, domain).by_number();
                rids.iter().map(|rid| all.get(rid).cloned()).collect::<Vec<_>>()
            });
            let (found, status) = looked_up(found);
            let names =
                found.into_iter().map(|one| one.unwrap_or((String::new(), NameUse::Unknown))).collect();
            names_response(&names, status)
        }
        Request::QueryDisplay { handle, class, index, most, preferred } => {
            let asked = Part { start: index, most, preferred };
            let domain = domain(&handle, rights::DOMAIN_LIST)?;
            let all = domain.and_then(|domain| displayed(host, domain, class));
            display(class, &asked, all)
        }
        Request::RidToSid { handle, rid } => {
            let held = handles.get(&handle)?;
            let sid = |domain| SamrAccounts::of(host, domain).sid(rid).ok_or(Status::INVALID_SID);
            sid_response(held.any_domain().and_then(sid))
        }
        request => of_object(host, handles, request)?,
    })
}

/// Answers a call about a user, a group or an alias.
fn of_object(host: &dyn PipeHost, handles: &Handles, request: Request) -> Result<Vec<u8>, Fault> {
    Ok(match request {
        Request::Query { kind: SamrObject::User, handle, class } => {
            let user = handles.get(&handle)?.object(SamrObject::User, rights::USER_READ_GENERAL);
            info_response(class, user.and_then(|(domain, rid)| query_user(host, domain, rid, class)))
        }
        Request::Query { kind: SamrObject::Group, handle, class } => {
            let group = handles.get(&handle)?.object(SamrObject::Group, rights::GROUP_READ);
            info_response(class, group.and_then(|(domain, rid)| query_group(host, domain, rid, class)))
        }
        Request::Query { kind: SamrObject::Alias, handle, class } => {
            let alias = handles.get(&handle)?.object(SamrObject::Alias, rights::ALIAS_READ);
            info_response(class, alias.and_then(|(domain, rid)| query_alias(host, domain, rid, class)))
        }
        Request::Members { kind: SamrObject::Alias, handle } => {
            let alias = handles.get(&handle)?.object(SamrObject::Alias, rights::ALIAS_MEMBERS);
            sids_response(alias.map(|(domain, rid)| SamrAccounts::of(host, domain).members(rid)))
        }
        Request::Members { handle, .. } => {
            let group = handles.get(&handle)?.object(SamrObject::Group, rights::GROUP_MEMBERS);
            group_members_response(group.map(|(domain, _)| SamrAccounts::of(host, domain).members_of_group()))
        }
        Request::GroupsOfUser { handle } => {
            let user = handles.get(&handle)?.object(SamrObject::User, rights::USER_LIST_GROUPS);
            groups_response(user.map(|_| vec![NONE]))
        }
        _ => return Err(Fault::OPERATION_RANGE),
    })
}

/// The found ones, and the status that says how many there are, MS-SAMR 3.1.5.11.2.
fn looked_up<T>(found: Result<Vec<Option<T>>, Status>) -> (Vec<Option<T>>, Status) {
    let found = match found {
        Ok(found) => found,
        Err(status) => return (Vec::new(), status),
    };
    let mapped = found.iter().flatten().count();
    let status = match mapped {
        _ if mapped == found.len() => Status::SUCCESS,
        0 => Status::NONE_MAPPED,
        _ => Status::SOME_NOT_MAPPED,
    };
    (found, status)
}

fn pairs(groups: Vec<SamrGroup>) -> Vec<(u32, String)> {
    groups.into_iter().map(|group| (group.rid, group.name)).collect()
}

fn listed(
    host: &dyn PipeHost,
    domain: Result<AccountDomain, Status>,
    list: &PartialList,
    all: impl Fn(&SamrAccounts<'_>) -> Vec<(u32, String)>,
) -> Vec<u8> {
    let domain = match domain {
        Ok(domain) => domain,
        Err(status) => return list_response(0, &[], status),
    };
    let all = all(&SamrAccounts::of(host, domain));
    let all: Vec<(u32, &str)> = all.iter().map(|(rid, name)| (*rid, name.as_str())).collect();
    part(&all, list.start, list.preferred)
}

/// The part of a list that begins at `start` and takes about `preferred` bytes, but has at least one entry, MS-SAMR 3.1.5.2.
pub(super) fn part(all: &[(u32, &str)], start: u32, preferred: u32) -> Vec<u8> {
    let start = (start as usize).min(all.len());
    let rest = &all[start..];
    let sizes = rest.iter().map(|(_, name)| 12 + 2 * name.len());
    let count = fitting(sizes, preferred);
    match count == rest.len() {
        true => list_response(0, rest, Status::SUCCESS),
        false => list_response(start + count, &rest[..count], Status::MORE_ENTRIES),
    }
}

/// How many entries of these sizes fit, at least one.
fn fitting(sizes: impl ExactSizeIterator<Item = usize>, preferred: u32) -> usize {
    let all = sizes.len();
    let sums = sizes.scan(0_usize, |sum, size| {
        *sum = sum.saturating_add(size);
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= preferred as usize).count().max(1).min(all)
}

fn class_of<T: Info>(class: u16) -> Result<(), Status> {
    if T::CLASSES.contains(&class) { Ok(()) } else { Err(Status::INVALID_INFO_CLASS) }
}

fn query_domain(host: &dyn PipeHost, domain: AccountDomain, class: u16) -> Result<DomainInfo, Status> {
    class_of::<DomainInfo>(class)?;
    let all = SamrAccounts::of(host, domain);
    let name = if domain == AccountDomain::Own { own_domain(host).name } else { BUILTIN.into() };
    let [users, groups, aliases] =
        [all.users().len(), all.groups().len(), all.aliases().len()].map(|count| count as u32);
    Ok(DomainInfo { name, users, groups, aliases })
}

fn query_user(host: &dyn PipeHost, domain: AccountDomain, rid: u32, class: u16) -> Result<UserInfo, Status> {
    class_of::<UserInfo>(class)?;
    let all = SamrAccounts::of(host, domain);
    let user = all.user(rid).ok_or(Status::NO_SUCH_USER)?;
    Ok(UserInfo { name: user.name.clone(), rid, primary_group: NONE, control: user.control() })
}

fn query_group(
    host: &dyn PipeHost,
    domain: AccountDomain,
    rid: u32,
    class: u16,
) -> Result<GroupInfo, Status> {
    class_of::<GroupInfo>(class)?;
    let all = SamrAccounts::of(host, domain);
    let SamrGroup { name, comment, .. } = all.group(rid).ok_or(Status::NO_SUCH_GROUP)?;
    Ok(GroupInfo { name, comment: comment.into(), members: all.users().len() as u32 })
}

fn query_alias(
    host: &dyn PipeHost,
    domain: AccountDomain,
    rid: u32,
    class: u16,
) -> Result<AliasInfo, Status> {
    class_of::<AliasInfo>(class)?;
    let all = SamrAccounts::of(host, domain);
    let SamrGroup { name, comment, .. } = all.alias(rid).ok_or(Status::NO_SUCH_ALIAS)?;
    Ok(AliasInfo { name, comment: comment.into(), members: all.members(rid).len() as u32 })
}

/// Which part of a list for people is asked for.
struct Part {
    start: u32,
    most: u32,
    preferred: u32,
}

/// The list for people, sorted by name, MS-SAMR 3.1.5.3.1. Machines have no accounts here.
fn displayed(host: &dyn PipeHost, domain: AccountDomain, class: u16) -> Result<Vec<DisplayEntry>, Status> {
    if !DisplayEntry::CLASSES.contains(&class) {
        return Err(Status::INVALID_INFO_CLASS);
    }
    let all = SamrAccounts::of(host, domain);
    let mut listed: Vec<DisplayEntry> = match class {
        1 | 4 => {
            let users = all.users().iter();
            let shown = |user: &SamrUser| DisplayEntry {
                rid: user.rid,
                control: user.control(),
                name: user.name.clone(),
                comment: String::new(),
            };
            users.map(shown).collect()
        }
        3 | 5 => {
            let shown = |SamrGroup { rid, name, comment }| DisplayEntry {
                rid,
                control: DisplayEntry::ATTRIBUTES,
                name,
                comment: str::to_owned(comment),
            };
            all.groups().into_iter().map(shown).collect()
        }
        _ => Vec::new(),
    };
    listed.sort_by_key(|one| one.name.to_lowercase());
    Ok(listed)
}

fn display(class: u16, asked: &Part, all: Result<Vec<DisplayEntry>, Status>) -> Vec<u8> {
    let all = match all {
        Ok(all) => all,
        Err(status) => return displayed_response(1, 0, 0, &[], status),
    };
    let start = (asked.start as usize).min(all.len());
    let rest = &all[start..];
    let count = fitting(rest.iter().map(DisplayEntry::size), asked.preferred).min(asked.most as usize);
    let status = if count == rest.len() { Status::SUCCESS } else { Status::MORE_ENTRIES };
    displayed_response(class, all.iter().map(DisplayEntry::size).sum(), start, &rest[..count], status)
}

/// Where the names with a prefix begin in the list for people.
pub(super) fn display_index(
    host: &dyn PipeHost,
    domain: AccountDomain,
    class: u16,
    prefix: &str,
) -> Result<usize, Status> {
    let prefix = prefix.to_lowercase();
    let all = displayed(host, domain, class)?;
    all.iter().position(|one| one.name.to_lowercase() >= prefix).ok_or(Status::NO_MORE_ENTRIES)
}
