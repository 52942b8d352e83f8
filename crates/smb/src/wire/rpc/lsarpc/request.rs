//! Calls about the policy of the server, names and SIDs, MS-LSAD 3.1.4 and MS-LSAT 3.1.4.

use wire::Malformed;

use crate::wire::rpc::ndr::{Decoder, Handle};
use crate::wire::security::Sid;

/// A call, MS-LSAD 3.1.4 and MS-LSAT 3.1.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Close {
        handle: Handle,
    },
    OpenPolicy,
    QueryInformationPolicy {
        handle: Handle,
        class: u16,
    },
    EnumerateAccounts {
        handle: Handle,
    },
    LookupNames(LookUpNames),
    LookupSids(LookUpSids),
    LookupPrivilegeValue {
        handle: Handle,
        name: String,
    },
    /// Whether the client also wants the domain.
    GetUserName {
        domain: bool,
    },
}

/// The variant of a call. The variants differ in the fields around a name or a SID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupVariant {
    /// `LsarLookupNames`, `LsarLookupSids`.
    First,
    /// `LsarLookupNames2`, `LsarLookupSids2` and, without a handle, `LsarLookupSids3`: with flags.
    Second,
    /// `LsarLookupNames3` and, without a handle, `LsarLookupNames4`: with whole SIDs.
    Third,
}

/// SIDs for names, MS-LSAT 3.1.4.5 to 3.1.4.8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUpNames {
    pub dialect: LookupVariant,
    pub handle: Option<Handle>,
    pub names: Vec<String>,
}

/// Names for SIDs, MS-LSAT 3.1.4.9 to 3.1.4.11.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUpSids {
    pub dialect: LookupVariant,
    pub handle: Option<Handle>,
    pub sids: Vec<Sid>,
}

impl Request {
    /// The call `operation` with its arguments; none where there is no such operation.
    pub fn decode(operation: u16, stub: &[u8]) -> Result<Option<Self>, Malformed> {
        let d = &mut Decoder::new(stub);
        Ok(Some(match operation {
            0 => Self::Close { handle: d.handle()? },
            // The access asked for is ignored: each call is checked by itself.
            6 | 44 => Self::OpenPolicy,
            7 | 46 => Self::QueryInformationPolicy { handle: d.handle()?, class: d.u16()? },
            11 => Self::EnumerateAccounts { handle: d.handle()? },
            14 => Self::LookupNames(LookUpNames::decode(LookupVariant::First, true, d)?),
            58 => Self::LookupNames(LookUpNames::decode(LookupVariant::Second, true, d)?),
            68 => Self::LookupNames(LookUpNames::decode(LookupVariant::Third, true, d)?),
            77 => Self::LookupNames(LookUpNames::decode(LookupVariant::Third, false, d)?),
            15 => Self::LookupSids(LookUpSids::decode(LookupVariant::First, true, d)?),
            57 => Self::LookupSids(LookUpSids::decode(LookupVariant::Second, true, d)?),
            76 => Self::LookupSids(LookUpSids::decode(LookupVariant::Second, false, d)?),
            31 => Self::LookupPrivilegeValue { handle: d.handle()?, name: d.counted()? },
            45 => get_user_name(d)?,
            _ => return Ok(None),
        }))
    }
}

impl LookUpNames {
    /// The fields after the names say how far to search. The server searches only its own accounts.
    fn decode(dialect: LookupVariant, with_handle: bool, d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let handle = if with_handle { Some(d.handle()?) } else { None };
        let (count, maximum) = (d.u32()?, d.u32()?);
        let heads = d.heads(count, maximum, 8, Decoder::counted_head)?;
        let name = |head| if head { d.counted_tail() } else { Ok(String::new()) };
        let names = heads.into_iter().map(name).collect::<Result<_, _>>()?;
        Ok(Self { dialect, handle, names })
    }
}

impl LookUpSids {
    fn decode(dialect: LookupVariant, with_handle: bool, d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let handle = if with_handle { Some(d.handle()?) } else { None };
        Ok(Self { dialect, handle, sids: d.sids()? })
    }
}

/// `LsarGetUserName`, MS-LSAT 3.1.4.4.
fn get_user_name(d: &mut Decoder<'_>) -> Result<Request, Malformed> {
    d.unique_wide_string()?; // the server's name
    if d.pointer()? {
        d.counted()?;
    }
    Ok(Request::GetUserName { domain: d.pointer()? })
}
