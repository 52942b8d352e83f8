//! KERB_VALIDATION_INFO of a PAC, MS-PAC 2.5: what the domain controller says of a user. NDR of type serialization version 1
//! (MS-RPCE 2.2.6). NETLOGON_VALIDATION_SAM_INFO4, which a domain controller answers to a login by NTLM, has the same fields.

use auth::DomainUser;
use wire::{Malformed, Reader, Sid};

/// The most groups of a user, of all kinds together.
pub const MOST_GROUPS: usize = 10_000;
/// The longest string, in UTF-16 code units.
const LONGEST_TEXT: u32 = 1_024;
/// The strings in the middle of the structure: its file times, and the strings after the names that are used, are skipped.
const TIMES: usize = 6 * 8;
/// SE_GROUP_ENABLED, MS-PAC 2.2.1. A group without it gives no rights.
const ENABLED: u32 = 4;
/// NDR pads the structure to a multiple of 8 bytes.
const MOST_PADDING: usize = 7;

/// The head of a counted string: the characters come after the structure.
struct Text {
    length: u16,
    is_present: bool,
}

/// What a controller says of a user that has logged in by NTLM, MS-NRPC 2.2.1.4.14.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    /// The user.
    pub user: DomainUser,
    /// UserSessionKey, which is SessionBaseKey of NTLM. At this level it is not encrypted for itself: the channel is sealed.
    pub session_key: [u8; 16],
}

/// Reads what `urn:mspac:logon-info` of MIT Kerberos holds.
///
/// # Errors
/// The bytes are no such structure, or a limit is exceeded.
pub fn decode(bytes: &[u8]) -> Result<DomainUser, Malformed> {
    let mut r = Reader::new(bytes);
    header(&mut r)?;
    let head = Head::decode(&mut r)?;
    let has_resource_domain = pointer(&mut r)?;
    let (resources, has_resources) = (r.u32_le()?, pointer(&mut r)?);
    let tail = head.tail(&mut r)?;
    let resource_domain = if has_resource_domain { Some(sid(&mut r)?) } else { None };
    let resource_rids = if has_resources { memberships(&mut r, resources)? } else { Vec::new() };
    if r.remaining() > MOST_PADDING {
        return Err(Malformed("bytes after the logon information"));
    }
    tail.user(&head, resource_domain, resource_rids)
}

/// Reads NETLOGON_VALIDATION_SAM_INFO4, MS-NRPC 2.2.1.4.14, which has the same beginning. The reader must begin with the message
/// that has it: NDR aligns by the place in the message.
///
/// # Errors
/// The bytes are no such structure, or a limit is exceeded.
pub fn decode_validation(r: &mut Reader<'_>) -> Result<Validation, Malformed> {
    let head = Head::decode(r)?;
    // The DNS name of the domain, the user principal name, and what has no meaning yet.
    let further: Vec<Text> = (0..12).map(|_| Text::head(r)).collect::<Result<_, _>>()?;
    let tail = head.tail(r)?;
    for text in &further {
        text.tail(r)?;
    }
    Ok(Validation { user: tail.user(&head, None, Vec::new())?, session_key: head.session_key })
}

/// The part of fixed length that both structures have.
struct Head {
    names: Vec<Text>,
    user: u32,
    primary_group: u32,
    groups: Option<u32>,
    session_key: [u8; 16],
    server: Text,
    domain: Text,
    has_domain: bool,
    extra: Option<u32>,
}

/// What its pointers lead to.
struct Tail {
    name: String,
    full_name: String,
    rids: Vec<u32>,
    domain_name: String,
    domain: Option<Sid>,
    extra_sids: Vec<Sid>,
}

impl Head {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let list = |r: &mut Reader<'_>| {
            let (count, is_present) = (r.u32_le()?, pointer(r)?);
            Ok::<_, Malformed>(is_present.then_some(count))
        };
        r.skip(TIMES)?;
        let names: Vec<Text> = (0..6).map(|_| Text::head(r)).collect::<Result<_, _>>()?;
        r.skip(4)?; // how often the user has logged in, and how often in vain
        let (user, primary_group) = (r.u32_le()?, r.u32_le()?);
        let groups = list(r)?;
        r.skip(4)?; // flags
        let session_key = r.array()?;
        let (server, domain) = (Text::head(r)?, Text::head(r)?);
        let has_domain = pointer(r)?;
        r.skip(8 + 4 + 4 + 8 + 8 + 4 + 4)?; // the account's control flags, and its last logins
        let extra = list(r)?;
        Ok(Self { names, user, primary_group, groups, session_key, server, domain, has_domain, extra })
    }

    fn tail(&self, r: &mut Reader<'_>) -> Result<Tail, Malformed> {
        let names: Vec<String> = self.names.iter().map(|text| text.tail(r)).collect::<Result<Vec<_>, _>>()?;
        let mut names = names.into_iter();
        let (name, full_name) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        let rids = self.groups.map_or(Ok(Vec::new()), |groups| memberships(r, groups))?;
        self.server.tail(r)?;
        let domain_name = self.domain.tail(r)?;
        let domain = if self.has_domain { Some(sid(r)?) } else { None };
        let extra_sids = self.extra.map_or(Ok(Vec::new()), |extra| extra_sids(r, extra))?;
        Ok(Tail { name, full_name, rids, domain_name, domain, extra_sids })
    }
}

impl Tail {
    fn user(
        self,
        head: &Head,
        resource_domain: Option<Sid>,
        resource_rids: Vec<u32>,
    ) -> Result<DomainUser, Malformed> {
        if self.rids.len() + self.extra_sids.len() + resource_rids.len() > MOST_GROUPS {
            return Err(Malformed("a user in more than 10,000 groups"));
        }
        let domain = self.domain.ok_or(Malformed("logon information without a domain"))?;
        let of = |domain: Sid| {
            move |rid: u32| domain.with_rid(rid).ok_or(Malformed("a domain's SID that is too long"))
        };
        let mut all: Vec<Sid> = self.rids.into_iter().map(of(domain)).collect::<Result<_, _>>()?;
        all.extend(self.extra_sids);
        if let Some(resource_domain) = resource_domain {
            let resources: Vec<Sid> =
                resource_rids.into_iter().map(of(resource_domain)).collect::<Result<_, _>>()?;
            all.extend(resources);
        }
        // The number is 0 if the user is of another kind of domain; the SID is then the first extra one, MS-PAC 2.5.
        let sid = match head.user {
            0 if !all.is_empty() => all.remove(0),
            0 => return Err(Malformed("a user without a SID")),
            rid => of(domain)(rid)?,
        };
        Ok(DomainUser {
            sid,
            name: self.name,
            full_name: self.full_name,
            domain: self.domain_name,
            primary_group: of(domain)(head.primary_group)?,
            groups: all,
        })
    }
}

/// The common and the private header (MS-RPCE 2.2.6.1, 2.2.6.2), and the pointer to the structure.
fn header(r: &mut Reader<'_>) -> Result<(), Malformed> {
    if r.array::<4>()? != [1, 0x10, 8, 0] {
        return Err(Malformed("not serialized by NDR, little-endian"));
    }
    r.skip(4)?; // filler
    let length = r.u32_le()? as usize;
    r.skip(4)?; // filler
    if length > r.remaining() {
        return Err(Malformed("logon information that is cut"));
    }
    if pointer(r)? { Ok(()) } else { Err(Malformed("no logon information")) }
}

/// Skips to the next place of 4 bytes, C706 14.2.2.
fn align(r: &mut Reader<'_>) -> Result<(), Malformed> {
    r.skip(r.position().wrapping_neg() % 4)
}

fn pointer(r: &mut Reader<'_>) -> Result<bool, Malformed> {
    Ok(r.u32_le()? != 0)
}

impl Text {
    fn head(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (length, maximum) = (r.u16_le()?, r.u16_le()?);
        if length > maximum || !length.is_multiple_of(2) {
            return Err(Malformed("a string longer than its buffer"));
        }
        Ok(Self { length, is_present: pointer(r)? })
    }

    /// The characters, a conformant and varying array (C706 14.3.3.4).
    fn tail(&self, r: &mut Reader<'_>) -> Result<String, Malformed> {
        if !self.is_present {
            return Ok(String::new());
        }
        align(r)?;
        let (maximum, offset, actual) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        if offset != 0 || actual > maximum || actual != u32::from(self.length / 2) {
            return Err(Malformed("a string outside its array"));
        }
        if actual > LONGEST_TEXT {
            return Err(Malformed("a string that is too long"));
        }
        let bytes = r.take(actual as usize * 2)?;
        let units: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        Ok(String::from_utf16_lossy(&units))
    }
}

/// The length of a conformant array, which must be `expected`.
fn count(r: &mut Reader<'_>, expected: u32) -> Result<usize, Malformed> {
    align(r)?;
    let count = r.u32_le()?;
    match usize::try_from(count) {
        Ok(many) if count == expected && many <= MOST_GROUPS => Ok(many),
        _ => Err(Malformed("a list of groups of two lengths, or of too many")),
    }
}

/// The numbers of groups in a domain, MS-PAC 2.2.2.
fn memberships(r: &mut Reader<'_>, expected: u32) -> Result<Vec<u32>, Malformed> {
    let mut rids = Vec::new();
    for _ in 0..count(r, expected)? {
        let (rid, attributes) = (r.u32_le()?, r.u32_le()?);
        if attributes & ENABLED != 0 {
            rids.push(rid);
        }
    }
    Ok(rids)
}

/// Groups of other domains, MS-PAC 2.2.1: pointers and attributes, then the SIDs.
fn extra_sids(r: &mut Reader<'_>, expected: u32) -> Result<Vec<Sid>, Malformed> {
    let mut heads = Vec::new();
    for _ in 0..count(r, expected)? {
        heads.push((pointer(r)?, r.u32_le()?));
    }
    let mut sids = Vec::new();
    for (is_present, attributes) in heads {
        if !is_present {
            return Err(Malformed("a group without a SID"));
        }
        let sid = sid(r)?;
        if attributes & ENABLED != 0 {
            sids.push(sid);
        }
    }
    Ok(sids)
}

/// A SID behind a pointer, MS-DTYP 2.4.2.3.
fn sid(r: &mut Reader<'_>) -> Result<Sid, Malformed> {
    align(r)?;
    let count = r.u32_le()?;
    let sid = Sid::decode(r)?;
    if sid.subs().len() == count as usize { Ok(sid) } else { Err(Malformed("a SID of two lengths")) }
}

#[cfg(test)]
mod tests;
