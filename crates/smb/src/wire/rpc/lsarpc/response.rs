//! Answers about the policy of the server, names and SIDs, MS-LSAD 3.1.4 and MS-LSAT 3.1.4.

use super::{LookupVariant, NameUse};
use crate::wire::Status;
use crate::wire::rpc::ndr::{Encoder, Handle};
use crate::wire::security::Sid;

/// A context handle and a status: `LsarOpenPolicy2`, `LsarClose`.
pub fn handle_response(handle: &Handle, status: Status) -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(handle);
    e.u32(status.0);
    e.into_stub()
}

/// What is asked of the policy, MS-LSAD 2.2.4.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// `PolicyPrimaryDomainInformation`: the domain that the server belongs to, without a SID in a workgroup.
    PrimaryDomain { name: String },
    /// `PolicyAccountDomainInformation`: the server as a domain of accounts.
    AccountDomain { name: String, sid: Sid },
    /// `PolicyLsaServerRoleInformation`: a primary server.
    ServerRole,
    /// `PolicyDnsDomainInformation`.
    DnsDomain { name: String },
}

/// `LsarQueryInformationPolicy`, MS-LSAD 3.1.4.4.4.
pub fn policy_response(policy: Result<Policy, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    match policy {
        Err(status) => {
            e.null();
            e.u32(status.0);
        }
        Ok(policy) => {
            e.pointer();
            policy.encode(&mut e);
            e.flush();
            e.u32(Status::SUCCESS.0);
        }
    }
    e.into_stub()
}

impl Policy {
    fn encode(&self, e: &mut Encoder) {
        match self {
            Self::PrimaryDomain { name } => {
                e.u16(3);
                e.counted(name);
                e.null();
            }
            Self::AccountDomain { name, sid } => {
                e.u16(5);
                e.counted(name);
                e.sid(sid);
            }
            Self::ServerRole => {
                e.u16(6);
                e.u32(3); // 32 bits, although MS-LSAD's text reads like 16: what Windows and Samba send
            }
            Self::DnsDomain { name } => {
                e.u16(12);
                e.counted(name);
                e.counted(""); // the domain's DNS name, the forest's
                e.counted("");
                e.put(&[0; 16]); // its GUID
                e.null(); // its SID
            }
        }
    }
}

/// A domain to which names belong, `LSAPR_TRUST_INFORMATION`, MS-LSAT 2.2.11.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    pub name: String,
    pub sid: Sid,
}

/// `LSAPR_REFERENCED_DOMAIN_LIST`, MS-LSAT 2.2.12, behind a pointer.
fn domains(domains: &[Domain], e: &mut Encoder) {
    e.pointer();
    e.count(domains.len());
    if domains.is_empty() {
        e.null();
        return e.u32(0);
    }
    e.pointer();
    e.count(domains.len()); // as many as there may be: ignored by clients
    e.count(domains.len());
    for domain in domains {
        e.counted(&domain.name);
        e.sid(&domain.sid);
    }
    e.flush();
}

/// The answer to one name, `LSA_TRANSLATED_SID` and its extended forms, MS-LSAT 2.2.15, 2.2.25, 2.2.27.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslatedSid {
    pub kind: NameUse,
    /// None where the name is unknown.
    pub sid: Option<Sid>,
    pub domain: Option<usize>,
}

/// The answer to one SID, `LSAPR_TRANSLATED_NAME` and its extended form, MS-LSAT 2.2.19, 2.2.21.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslatedName {
    pub kind: NameUse,
    pub name: String,
    pub domain: Option<usize>,
}

/// `LsarLookupNames` and its successors.
#[derive(Debug)]
pub struct NamesResponse<'a> {
    pub dialect: LookupVariant,
    pub domains: &'a [Domain],
    pub sids: &'a [TranslatedSid],
    pub mapped: usize,
    pub status: Status,
}

/// `LsarLookupSids` and its successors.
#[derive(Debug)]
pub struct SidsResponse<'a> {
    pub dialect: LookupVariant,
    pub domains: &'a [Domain],
    pub names: &'a [TranslatedName],
    pub mapped: usize,
    pub status: Status,
}

impl NamesResponse<'_> {
    pub fn encode(&self) -> Vec<u8> {
        lookup(self.domains, self.sids, self.mapped, self.status, |sid, e| sid.encode(self.dialect, e))
    }
}

impl SidsResponse<'_> {
    pub fn encode(&self) -> Vec<u8> {
        lookup(self.domains, self.names, self.mapped, self.status, |name, e| name.encode(self.dialect, e))
    }
}

fn lookup<T>(
    referenced: &[Domain],
    entries: &[T],
    mapped: usize,
    status: Status,
    entry: impl Fn(&T, &mut Encoder),
) -> Vec<u8> {
    let mut e = Encoder::new();
    domains(referenced, &mut e);
    e.count(entries.len());
    if entries.is_empty() {
        e.null();
    } else {
        e.pointer();
        e.count(entries.len());
        entries.iter().for_each(|one| entry(one, &mut e));
        e.flush();
    }
    e.count(mapped);
    e.u32(status.0);
    e.into_stub()
}

fn domain_index(domain: Option<usize>, e: &mut Encoder) {
    e.i32(domain.and_then(|index| i32::try_from(index).ok()).unwrap_or(-1));
}

impl TranslatedSid {
    /// In the first two forms the SID is that of the domain and one number more.
    fn encode(&self, dialect: LookupVariant, e: &mut Encoder) {
        if dialect == LookupVariant::Third {
            e.align(4);
        }
        e.u16(self.kind as u16);
        match (dialect, &self.sid) {
            (LookupVariant::Third, Some(sid)) => e.sid(sid),
            (LookupVariant::Third, None) => e.null(),
            (_, sid) => e.u32(sid.as_ref().map_or(0, |sid| self.relative(sid))),
        }
        domain_index(self.domain, e);
        if dialect != LookupVariant::First {
            e.u32(0); // flags: found by its own name, in no other forest
        }
    }

    fn relative(&self, sid: &Sid) -> u32 {
        match self.kind {
            NameUse::Domain => u32::MAX, // the SID of the domain itself
            _ => sid.subs().last().copied().unwrap_or(0),
        }
    }
}

impl TranslatedName {
    fn encode(&self, dialect: LookupVariant, e: &mut Encoder) {
        e.align(4);
        e.u16(self.kind as u16);
        e.counted(&self.name);
        domain_index(self.domain, e);
        if dialect != LookupVariant::First {
            e.u32(0);
        }
    }
}

/// `LsarGetUserName`, MS-LSAT 3.1.4.4.
pub fn user_name_response(user: &str, domain: Option<&str>) -> Vec<u8> {
    let mut e = Encoder::new();
    e.pointer();
    e.counted(user);
    e.flush();
    match domain {
        None => e.null(),
        Some(domain) => {
            e.pointer(); // a pointer to a pointer to the string
            e.pointer();
            e.counted(domain);
            e.flush();
        }
    }
    e.u32(Status::SUCCESS.0);
    e.into_stub()
}

/// A privilege as the server knows it, `LUID`, MS-DTYP 2.3.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Luid(pub u32);

/// `LsarLookupPrivilegeValue`, MS-LSAD 3.1.4.8.1.
pub fn luid_response(luid: Result<Luid, Status>) -> Vec<u8> {
    let mut e = Encoder::new();
    e.u32(luid.map_or(0, |luid| luid.0));
    e.i32(0);
    e.u32(luid.err().unwrap_or(Status::SUCCESS).0);
    e.into_stub()
}

/// `LsarEnumerateAccounts` without accounts, MS-LSAD 3.1.4.5.2.
pub fn accounts_response(status: Status) -> Vec<u8> {
    let mut e = Encoder::new();
    e.u32(0); // where to go on
    e.u32(0); // how many
    e.null();
    e.u32(status.0);
    e.into_stub()
}
