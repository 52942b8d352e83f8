//! Answers about accounts, MS-SAMR 3.1.5.

use wire::Writer;

use super::info::{ATTRIBUTES, DisplayEntry, Info};
use super::request::Shape;
use crate::wire::Status;
use crate::wire::rpc::lsarpc::NameUse;
use crate::wire::rpc::ndr::{Encoder, Handle};
use crate::wire::security::{SecurityDescriptor, Sid};

const NO_HANDLE: Handle = [0; 20];

/// Ends the results with the status.
fn ended(mut e: Encoder, status: Status) -> Vec<u8> {
    e.u32(status.0);
    e.into_stub()
}

fn status_of<T>(result: &Result<T, Status>) -> Status {
    result.as_ref().err().copied().unwrap_or(Status::SUCCESS)
}

/// A handle: `SamrConnect`, `SamrOpenDomain` and others; `SamrCloseHandle`.
pub fn handle_response(handle: Result<Handle, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(handle.as_ref().unwrap_or(&NO_HANDLE));
    ended(e, status_of(&handle))
}

/// `SamrConnect5`, MS-SAMR 3.1.5.1.1: with the server's revision.
pub fn connect5_response(handle: Result<Handle, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    [1, 1, 3, 0].into_iter().for_each(|number| e.u32(number)); // version, its arm; revision of Windows XP and later, no features
    e.handle(handle.as_ref().unwrap_or(&NO_HANDLE));
    ended(e, status_of(&handle))
}

/// The refusal of a change.
pub fn change_response(shape: Shape, status: Status) -> Vec<u8> {
    let mut e = Encoder::new();
    match shape {
        Shape::Status => {}
        Shape::Handle => e.handle(&NO_HANDLE),
        Shape::Created { numbers } => {
            e.handle(&NO_HANDLE);
            (0..numbers).for_each(|_| e.u32(0));
        }
    }
    ended(e, status)
}

/// `SamrQueryInformationDomain` and the like.
pub fn info_response<T: Info>(class: u16, info: Result<T, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    match &info {
        Err(_) => e.null(),
        Ok(info) => {
            e.pointer();
            e.u16(class);
            info.encode(class, &mut e);
            e.flush();
        }
    }
    ended(e, status_of(&info))
}

/// `SamrEnumerateUsersInDomain` and the like: numbers and names, and where the next part begins.
pub fn list_response(next: usize, entries: &[(u32, &str)], status: Status) -> Vec<u8> {
    let mut e = Encoder::new();
    e.count(next);
    if status.is_error() {
        e.null();
    } else {
        e.pointer();
        e.count(entries.len());
        array(entries, &mut e, |(rid, name), e| {
            e.u32(*rid);
            e.counted(name);
        });
    }
    e.count(entries.len());
    ended(e, status)
}

/// A pointer to a conformant array, and the array.
fn array<T>(entries: &[T], e: &mut Encoder, encode: impl Fn(&T, &mut Encoder)) {
    e.pointer();
    e.count(entries.len());
    entries.iter().for_each(|entry| encode(entry, e));
    e.flush();
}

/// `SAMPR_ULONG_ARRAY`, MS-SAMR 2.2.7.3.
fn numbers(all: impl ExactSizeIterator<Item = u32>, e: &mut Encoder) {
    e.count(all.len());
    let all: Vec<u32> = all.collect();
    array(&all, e, |number, e| e.u32(*number));
}

/// The number and the kind of each name that was looked up.
pub type Numbers = Vec<(u32, NameUse)>;

/// `SamrLookupNamesInDomain`, MS-SAMR 3.1.5.11.2.
pub fn numbers_response(found: &Numbers, status: Status) -> Vec<u8> {
    let mut e = Encoder::new();
    numbers(found.iter().map(|(rid, _)| *rid), &mut e);
    numbers(found.iter().map(|(_, kind)| *kind as u32), &mut e);
    ended(e, status)
}

/// The name and the kind of each number that was looked up.
pub type Names = Vec<(String, NameUse)>;

/// `SamrLookupIdsInDomain`, MS-SAMR 3.1.5.11.3.
pub fn names_response(found: &Names, status: Status) -> Vec<u8> {
    let mut e = Encoder::new();
    e.count(found.len());
    array(found, &mut e, |(name, _), e| e.counted(name));
    numbers(found.iter().map(|(_, kind)| *kind as u32), &mut e);
    ended(e, status)
}

/// `SamrGetAliasMembership`, MS-SAMR 3.1.5.9.2.
pub fn alias_memberships_response(aliases: Result<Vec<u32>, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    numbers(aliases.iter().flatten().copied().collect::<Vec<_>>().into_iter(), &mut e);
    ended(e, status_of(&aliases))
}

/// `SamrGetMembersInGroup`, MS-SAMR 3.1.5.8.3.
pub fn group_members_response(members: Result<Vec<u32>, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    match &members {
        Err(_) => e.null(),
        Ok(members) => {
            e.pointer();
            e.count(members.len());
            e.pointer();
            e.pointer();
            e.count(members.len());
            members.iter().for_each(|rid| e.u32(*rid));
            e.count(members.len());
            members.iter().for_each(|_| e.u32(ATTRIBUTES));
        }
    }
    ended(e, status_of(&members))
}

/// `SamrGetGroupsForUser`, MS-SAMR 3.1.5.9.1.
pub fn groups_response(groups: Result<Vec<u32>, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    match &groups {
        Err(_) => e.null(),
        Ok(groups) => {
            e.pointer();
            e.count(groups.len());
            array(groups, &mut e, |rid, e| {
                e.u32(*rid);
                e.u32(ATTRIBUTES);
            });
        }
    }
    ended(e, status_of(&groups))
}

/// `SamrGetMembersInAlias`, MS-SAMR 3.1.5.8.4.
pub fn sids_response(sids: Result<Vec<Sid>, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    let members = sids.as_deref().unwrap_or_default();
    e.count(members.len());
    array(members, &mut e, |sid, e| e.sid(sid));
    ended(e, status_of(&sids))
}

/// `SamrLookupDomainInSamServer`, `SamrRidToSid`.
pub fn sid_response(sid: Result<Sid, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    match &sid {
        Err(_) => e.null(),
        Ok(sid) => {
            e.sid(sid);
            e.flush();
        }
    }
    ended(e, status_of(&sid))
}

/// `SamrQuerySecurityObject`, MS-SAMR 3.1.5.12.2.
pub fn security_response(descriptor: Result<SecurityDescriptor, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    match &descriptor {
        Err(_) => e.null(),
        Ok(descriptor) => {
            let mut bytes = Writer::new();
            descriptor.encode(&mut bytes);
            let bytes = bytes.into_bytes();
            e.pointer();
            e.count(bytes.len());
            e.pointer();
            e.count(bytes.len());
            e.put(&bytes);
        }
    }
    ended(e, status_of(&descriptor))
}

/// `SamrGetDomainPasswordInformation`, MS-SAMR 3.1.5.13.4: any password is good.
pub fn password_response(status: Status) -> Vec<u8> {
    let mut e = Encoder::new();
    e.align(4);
    e.u16(0); // the shortest password
    e.u32(0); // properties
    ended(e, status)
}

/// `SamrGetDisplayEnumerationIndex`, MS-SAMR 3.1.5.3.4.
pub fn display_index_response(index: Result<usize, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    e.count(index.unwrap_or(0));
    ended(e, status_of(&index))
}

/// `SamrQueryDisplayInformation`, MS-SAMR 3.1.5.3.1: `part` begins at the index `start` of a list of `total` bytes.
pub fn displayed_response(
    class: u16,
    total: usize,
    start: usize,
    part: &[DisplayEntry],
    status: Status,
) -> Vec<u8> {
    let mut e = Encoder::new();
    e.count(total);
    e.count(part.iter().map(DisplayEntry::size).sum());
    e.u16(class);
    e.count(part.len());
    e.pointer();
    e.count(part.len());
    part.iter().enumerate().for_each(|(at, one)| one.encode(class, start + at + 1, &mut e));
    e.flush();
    ended(e, status)
}
