//! Calls about accounts, MS-SAMR 3.1.5.

use wire::Malformed;

use crate::wire::rpc::ndr::{Decoder, Handle};
use crate::wire::security::Sid;

/// The most names or numbers of one call, MS-SAMR 3.1.5.11.2: clients say this size for the array.
const MAX_LOOKED_UP: u32 = 1000;

/// A call, MS-SAMR 3.1.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Connect {
        access: u32,
    },
    Connect5 {
        access: u32,
    },
    Close {
        handle: Handle,
    },
    QuerySecurity {
        handle: Handle,
    },
    LookupDomain {
        handle: Handle,
        name: String,
    },
    EnumerateDomains(PartialList),
    OpenDomain {
        handle: Handle,
        access: u32,
        sid: Sid,
    },
    QueryDomain {
        handle: Handle,
        class: u16,
    },
    /// With the bits of accounts that are wanted; 0 for all.
    EnumerateUsers {
        list: PartialList,
        control: u32,
    },
    EnumerateGroups(PartialList),
    EnumerateAliases(PartialList),
    AliasMembership {
        handle: Handle,
        sids: Vec<Sid>,
    },
    LookupNames {
        handle: Handle,
        names: Vec<String>,
    },
    LookupIds {
        handle: Handle,
        rids: Vec<u32>,
    },
    Open(SamrOpen),
    Query {
        kind: SamrObject,
        handle: Handle,
        class: u16,
    },
    /// The members of a group or an alias.
    Members {
        kind: SamrObject,
        handle: Handle,
    },
    GroupsOfUser {
        handle: Handle,
    },
    QueryDisplay {
        handle: Handle,
        class: u16,
        index: u32,
        most: u32,
        preferred: u32,
    },
    DisplayIndex {
        handle: Handle,
        class: u16,
        prefix: String,
    },
    /// `SamrGetUserDomainPasswordInformation`.
    PasswordOfUser {
        handle: Handle,
    },
    /// `SamrGetDomainPasswordInformation`, which needs no handle.
    PasswordOfDomain,
    RidToSid {
        handle: Handle,
        rid: u32,
    },
    /// A change, and the form of its refusal.
    Change(Shape),
}

/// What a handle of a domain's part is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamrObject {
    User,
    Group,
    Alias,
}

/// `SamrOpenUser`, `SamrOpenGroup` and `SamrOpenAlias`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamrOpen {
    pub kind: SamrObject,
    pub domain: Handle,
    pub access: u32,
    pub rid: u32,
}

/// A list that a client takes in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialList {
    pub handle: Handle,
    pub start: u32,
    /// How many bytes the client would like.
    pub preferred: u32,
}

/// The results of a refused change, before its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// None.
    Status,
    /// A handle.
    Handle,
    /// A handle and numbers.
    Created { numbers: usize },
}

impl Request {
    /// The call `operation` with its arguments; `None` if there is no such operation.
    pub fn decode(operation: u16, stub: &[u8]) -> Result<Option<Self>, Malformed> {
        let d = &mut Decoder::new(stub);
        Ok(Some(match operation {
            0 | 57 | 62 | 64 => connect(operation, d)?,
            1 => Self::Close { handle: d.handle()? },
            3 => Self::QuerySecurity { handle: d.handle()? },
            5 => Self::LookupDomain { handle: d.handle()?, name: d.counted()? },
            6 => Self::EnumerateDomains(PartialList::decode(d)?),
            7 => Self::OpenDomain { handle: d.handle()?, access: d.u32()?, sid: d.sid()? },
            8 | 46 => Self::QueryDomain { handle: d.handle()?, class: d.u16()? },
            11 => Self::EnumerateGroups(PartialList::decode(d)?),
            13 => {
                let (handle, start, control, preferred) = (d.handle()?, d.u32()?, d.u32()?, d.u32()?);
                Self::EnumerateUsers { list: PartialList { handle, start, preferred }, control }
            }
            15 => Self::EnumerateAliases(PartialList::decode(d)?),
            16 => Self::AliasMembership { handle: d.handle()?, sids: d.sids()? },
            17 => Self::LookupNames { handle: d.handle()?, names: names(d)? },
            18 => Self::LookupIds { handle: d.handle()?, rids: rids(d)? },
            19 => Self::Open(SamrOpen::decode(SamrObject::Group, d)?),
            27 => Self::Open(SamrOpen::decode(SamrObject::Alias, d)?),
            34 => Self::Open(SamrOpen::decode(SamrObject::User, d)?),
            20 => Self::Query { kind: SamrObject::Group, handle: d.handle()?, class: d.u16()? },
            28 => Self::Query { kind: SamrObject::Alias, handle: d.handle()?, class: d.u16()? },
            36 | 47 => Self::Query { kind: SamrObject::User, handle: d.handle()?, class: d.u16()? },
            25 => Self::Members { kind: SamrObject::Group, handle: d.handle()? },
            33 => Self::Members { kind: SamrObject::Alias, handle: d.handle()? },
            39 => Self::GroupsOfUser { handle: d.handle()? },
            40 | 48 | 51 => Self::QueryDisplay {
                handle: d.handle()?,
                class: d.u16()?,
                index: d.u32()?,
                most: d.u32()?,
                preferred: d.u32()?,
            },
            41 | 49 => Self::DisplayIndex { handle: d.handle()?, class: d.u16()?, prefix: d.counted()? },
            44 => Self::PasswordOfUser { handle: d.handle()? },
            56 => Self::PasswordOfDomain,
            65 => Self::RidToSid { handle: d.handle()?, rid: d.u32()? },
            _ => return Ok(Shape::of(operation).map(Self::Change)),
        }))
    }
}

impl Shape {
    fn of(operation: u16) -> Option<Self> {
        Some(match operation {
            2 | 9 | 21 | 22 | 24 | 26 | 29 | 31 | 32 | 37 | 38 | 45 | 52..=55 | 58 => Self::Status,
            23 | 30 | 35 => Self::Handle,
            10 | 12 | 14 => Self::Created { numbers: 1 },
            50 => Self::Created { numbers: 2 },
            _ => return None,
        })
    }
}

/// `SamrConnect` and its successors, MS-SAMR 3.1.5.1: the server's name, in the first form as one
/// character, and the wanted access, before which or after which is what the client is.
fn connect(operation: u16, d: &mut Decoder<'_>) -> Result<Request, Malformed> {
    if operation != 0 {
        d.unique_wide_string()?;
    } else if d.pointer()? {
        d.u16()?;
    }
    if operation == 62 {
        d.u32()?; // the client's revision
    }
    let access = d.u32()?;
    if operation != 64 {
        return Ok(Request::Connect { access });
    }
    match (d.u32()?, d.u32()?) {
        (1, 1) => {
            d.u32()?; // its revision
            d.u32()?; // its features
            Ok(Request::Connect5 { access })
        }
        _ => Err(Malformed("a revision in another form")),
    }
}

impl PartialList {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self { handle: d.handle()?, start: d.u32()?, preferred: d.u32()? })
    }
}

impl SamrOpen {
    fn decode(kind: SamrObject, d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self { kind, domain: d.handle()?, access: d.u32()?, rid: d.u32()? })
    }
}

/// The count of a conformant and varying array, C706 14.3.3.4, after the count that goes before it.
fn varying(d: &mut Decoder<'_>, size: usize) -> Result<u32, Malformed> {
    let (count, maximum, offset, actual) = (d.u32()?, d.u32()?, d.u32()?, d.u32()?);
    let fits = count <= MAX_LOOKED_UP && count as usize <= d.remaining() / size;
    if offset != 0 || actual != count || actual > maximum || !fits {
        return Err(Malformed("an array of another length"));
    }
    Ok(count)
}

fn names(d: &mut Decoder<'_>) -> Result<Vec<String>, Malformed> {
    let count = varying(d, 8)?;
    let heads = (0..count).map(|_| d.counted_head()).collect::<Result<Vec<_>, _>>()?;
    heads.into_iter().map(|head| if head { d.counted_tail() } else { Ok(String::new()) }).collect()
}

fn rids(d: &mut Decoder<'_>) -> Result<Vec<u32>, Malformed> {
    let count = varying(d, 4)?;
    (0..count).map(|_| d.u32()).collect()
}
