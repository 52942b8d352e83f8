//! The names that a server has for SIDs: the local security authority by its pipe, MS-LSAT 3.1.4.11, with the PDUs of C706 12.6.

use std::collections::HashMap;

use ::smb::wire::create::{Disposition, Options};
use ::smb::wire::fsctl::Code;
use ::smb::wire::security::AccessMask;
use ::smb::wire::tree_connect::{self, RequestFlags};
use ::smb::wire::{Command, FileKey};
use auth::UnixAccounts;
use vfs::acl::Who;
use wire::{Malformed, Reader, Writer};

use super::{Smb, malformed};
use crate::{Error, Result};

/// The most SIDs whose accounts are remembered.
const MOST: usize = 4096;
/// Accounts with smaller numbers belong to the system of this machine: a user of another one who has such a name is not meant.
const FIRST_USER: u32 = 1000;
/// The group `users` of most systems.
const USERS: u32 = 100;
/// The most bytes of a fragment.
const FRAGMENT: u16 = 4280;
/// The longest answer that is read.
const LONGEST: usize = 64 << 10;
/// The interface `lsarpc` 0.0, MS-LSAT 1.9, and the encoding NDR 2.0, as they are sent.
const LSARPC: [u8; 20] = *b"\x78\x57\x34\x12\x34\x12\xcd\xab\xef\x00\x01\x23\x45\x67\x89\xab\0\0\0\0";
const NDR: [u8; 20] = *b"\x04\x5d\x88\x8a\xeb\x1c\xc9\x11\x9f\xe8\x08\x00\x2b\x10\x48\x60\x02\0\0\0";
/// Types of PDUs.
const REQUEST: u8 = 0;
const RESPONSE: u8 = 2;
const BIND: u8 = 11;
const BIND_ACK: u8 = 12;
/// The first and the last fragment.
const WHOLE: u8 = 3;
/// Bytes before the arguments of a response.
const RESPONSE_HEAD: usize = 24;
/// LsarOpenPolicy2 and LsarLookupSids.
const OPEN_POLICY: u16 = 44;
const LOOK_UP_SIDS: u16 = 15;
/// POLICY_LOOKUP_NAMES, MS-LSAD 2.2.1.1.2.
const MAY_LOOK_UP: u32 = 0x800;
/// SID_NAME_USE: users, and the kinds of groups.
const USER: u16 = 1;
const GROUPS: [u16; 3] = [2, 4, 5];

/// The accounts of this machine for SIDs of the server.
pub(super) struct SidNames {
    accounts: UnixAccounts,
    known: HashMap<Vec<u8>, Option<Who>>,
    /// The pipe: its tree, its open file, and the policy.
    pipe: Option<(u32, FileKey, [u8; 20])>,
    is_missing: bool,
}

impl Default for SidNames {
    fn default() -> Self {
        let accounts = UnixAccounts::NameService;
        Self { accounts, known: HashMap::new(), pipe: None, is_missing: false }
    }
}

impl SidNames {
    fn here(&self, name: &str, kind: u16) -> Option<Who> {
        if kind == USER {
            let user = self.accounts.user(name)?;
            return Some(Who::User(user.uid))
                .filter(|_| user.uid >= FIRST_USER && user.uid != vfs::acl::NOBODY);
        }
        let gid = self.accounts.group(name).filter(|_| GROUPS.contains(&kind))?.gid;
        Some(Who::Group(gid)).filter(|_| gid == USERS || gid >= FIRST_USER && gid != vfs::acl::NOBODY)
    }
}

impl Smb {
    /// The account of this machine that has the name by which the server knows a SID.
    pub(super) fn account_of(&mut self, sid: &[u8]) -> Result<Option<Who>> {
        if let Some(known) = self.names.known.get(sid) {
            return Ok(known.clone());
        }
        if self.names.is_missing {
            return Ok(None);
        }
        let found = match self.look_up(sid) {
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => {
                self.names.is_missing = self.names.pipe.is_none(); // it tells nobody names
                None
            }
            Ok(found) => found.and_then(|(name, kind)| self.names.here(&name, kind)),
        };
        if self.names.known.len() >= MOST {
            self.names.known.clear();
        }
        self.names.known.insert(sid.to_vec(), found.clone());
        Ok(found)
    }

    fn look_up(&mut self, sid: &[u8]) -> Result<Option<(String, u16)>> {
        if self.names.pipe.is_none() {
            self.names.pipe = Some(self.open_pipe()?);
        }
        let Some((tree, file, policy)) = self.names.pipe else { return Ok(None) };
        let answer = self.on_tree(tree, |smb| smb.ask(file, LOOK_UP_SIDS, &look_up_sids(&policy, sid)))?;
        first_name(&answer).map_err(malformed)
    }

    fn open_pipe(&mut self) -> Result<(u32, FileKey, [u8; 20])> {
        let path = format!(r"\\{}\IPC$", self.host).encode_utf16().collect();
        let request = tree_connect::Request { flags: RequestFlags::NONE, path };
        let tree = self.call(Command::TREE_CONNECT, |w| request.encode(w))?.header.tree_id();
        self.on_tree(tree, |smb| {
            let file = smb.create("lsarpc", |request| {
                (request.disposition, request.options) = (Disposition::OPEN, Options::NONE);
                request.desired_access = (AccessMask::FILE_READ | AccessMask::FILE_WRITE).0;
            })?;
            let bound = smb.exchange(file, &bind())?;
            if bound.get(2) != Some(&BIND_ACK) {
                return Err(Error::Unsupported("names for SIDs"));
            }
            let opened = smb.ask(file, OPEN_POLICY, &open_policy())?;
            let policy = opened.first_chunk().copied().ok_or(Error::Unsupported("names for SIDs"))?;
            if opened.get(20..24) != Some(&[0; 4]) {
                return Err(Error::Refused("the names of accounts".into()));
            }
            Ok((tree, file, policy))
        })
    }

    /// Does something on another tree of the session.
    fn on_tree<T>(&mut self, tree: u32, act: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (own, base) = (std::mem::replace(&mut self.tree, tree), std::mem::take(&mut self.base));
        let done = act(self);
        (self.tree, self.base) = (own, base);
        done
    }

    /// A call; returns its results.
    fn ask(&mut self, file: FileKey, operation: u16, arguments: &[u8]) -> Result<Vec<u8>> {
        let mut body = Writer::new();
        body.u32_le(arguments.len() as u32); // a hint
        body.u16_le(0); // the context of the bind
        body.u16_le(operation);
        body.put(arguments);
        let answer = self.exchange(file, &pdu(REQUEST, body.as_bytes()))?;
        let is_whole =
            answer.get(2) == Some(&RESPONSE) && answer.get(3).is_some_and(|flags| flags & WHOLE == WHOLE);
        match answer.get(RESPONSE_HEAD..) {
            Some(results) if is_whole => Ok(results.to_vec()),
            _ => Err(Error::Other("an answer of the local security authority that is no whole one".into())),
        }
    }

    fn exchange(&mut self, file: FileKey, pdu: &[u8]) -> Result<Vec<u8>> {
        let answer = self.control(file, Code::PIPE_TRANSCEIVE, pdu)?;
        if answer.len() > LONGEST {
            Err(Error::Other("an answer that is too long".into()))
        } else {
            Ok(answer)
        }
    }
}

/// A PDU in one fragment.
fn pdu(kind: u8, body: &[u8]) -> Vec<u8> {
    const HEAD: usize = 16;
    let mut w = Writer::new();
    w.put(&[5, 0, kind, WHOLE, 0x10, 0, 0, 0]); // little-endian, ASCII, IEEE
    w.u16_le((HEAD + body.len()) as u16); // a SID, or less
    w.u16_le(0); // no authentication of its own
    w.u32_le(1); // the number of the call
    w.put(body);
    w.into_bytes()
}

fn bind() -> Vec<u8> {
    let mut w = Writer::new();
    w.u16_le(FRAGMENT);
    w.u16_le(FRAGMENT);
    w.u32_le(0); // a new association
    w.put(&[1, 0, 0, 0]); // one context
    w.put(&[0, 0, 1, 0]); // its number, with one encoding
    w.put(&LSARPC);
    w.put(&NDR);
    pdu(BIND, w.as_bytes())
}

fn open_policy() -> Vec<u8> {
    let mut w = Writer::new();
    w.u32_le(0); // no name of the server
    w.u32_le(24); // the length of the attributes, none of which count
    w.zeros(20);
    w.u32_le(MAY_LOOK_UP);
    w.into_bytes()
}

fn look_up_sids(policy: &[u8; 20], sid: &[u8]) -> Vec<u8> {
    const POINTER: u32 = 0x2_0000;
    let mut w = Writer::new();
    w.put(policy);
    w.u32_le(1);
    w.u32_le(POINTER);
    w.u32_le(1);
    w.u32_le(POINTER + 4);
    w.u32_le(sid.get(1).copied().unwrap_or_default().into());
    w.put(sid);
    w.zeros(8); // no names yet
    w.u32_le(1); // of this server, and whom it trusts
    w.u32_le(0); // none are found yet
    w.into_bytes()
}

/// The first name of an answer, and of what kind it is.
pub(super) fn first_name(answer: &[u8]) -> std::result::Result<Option<(String, u16)>, Malformed> {
    let r = &mut Reader::new(answer);
    if r.u32_le()? != 0 {
        let (count, domains, _) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        skip_domains(r, count, domains)?;
    }
    let (count, names) = (r.u32_le()?, r.u32_le()?);
    if count != 1 || names == 0 || r.u32_le()? != 1 {
        return Ok(None);
    }
    let (kind, _) = (r.u16_le()?, r.u16_le()?);
    r.skip(4)?; // the lengths of the name, which come again
    let name = r.u32_le()?;
    r.skip(4)?; // the domain
    if name == 0 {
        return Ok(None);
    }
    Ok(Some((string(r)?, kind)))
}

fn skip_domains(r: &mut Reader<'_>, count: u32, domains: u32) -> std::result::Result<(), Malformed> {
    /// One SID has one domain.
    const MOST_DOMAINS: u32 = 16;
    if domains == 0 {
        return Ok(());
    }
    if r.u32_le()? != count || count > MOST_DOMAINS {
        return Err(Malformed("the domains of a look-up"));
    }
    let mut parts = Vec::new();
    for _ in 0..count {
        r.skip(4)?;
        parts.push((r.u32_le()? != 0, r.u32_le()? != 0));
    }
    for (has_name, has_sid) in parts {
        if has_name {
            string(r)?;
        }
        if has_sid {
            let numbers = r.u32_le()?;
            r.skip(8 + 4 * usize::from(numbers.min(15) as u8))?;
        }
    }
    Ok(())
}

/// A conformant and varying array of UTF-16, aligned to four bytes behind it.
fn string(r: &mut Reader<'_>) -> std::result::Result<String, Malformed> {
    r.skip(8)?; // its room, and where it begins
    let length = r.u32_le()? as usize;
    let bytes = r.take(length.checked_mul(2).ok_or(Malformed("the length of a name"))?)?;
    let units: Vec<u16> = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
    if length % 2 == 1 {
        r.skip(2)?;
    }
    Ok(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of LsarLookupSids for one user, as MS-LSAT 2.2 lays them out.
    fn answer() -> Vec<u8> {
        let word = |number: u32| number.to_le_bytes();
        let text = |text: &str| {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let length = word(text.len() as u32);
            [&length[..], &word(0), &length, &units, &vec![0; units.len() % 4]].concat()
        };
        let domain = [&[6, 0, 6, 0][..], &word(1), &word(1)].concat(); // "NAS"
        let sid = [&word(4)[..], &[1, 4, 0, 0, 0, 0, 0, 5], &[word(21), word(1), word(2), word(3)].concat()]
            .concat();
        let domains =
            [&word(1)[..], &word(1), &word(1), &word(32), &word(1), &domain, &text("NAS"), &sid].concat();
        let name = [&[1, 0, 0, 0][..], &[6, 0, 6, 0], &word(1), &word(0)].concat();
        let names = [&word(1)[..], &word(1), &word(1), &name, &text("ada")].concat();
        [domains, names, word(1).to_vec(), word(0).to_vec()].concat()
    }

    #[test]
    fn an_answer_has_the_name_of_a_sid_and_its_kind() {
        let whole = answer();
        assert_eq!(first_name(&whole).unwrap(), Some(("ada".to_owned(), USER)));
        for length in 0..whole.len() - 8 {
            let _ = first_name(&whole[..length]); // no panic
        }
    }

    #[test]
    fn accounts_of_the_system_are_nobody_of_another_machine() {
        let accounts =
            UnixAccounts::parse("ada:x:1000:100::/:\nbackup:x:34:34::/:\n", "users:x:100:\nshadow:x:42:\n");
        let names = SidNames { accounts, ..SidNames::default() };
        assert_eq!(names.here("ada", USER), Some(Who::User(1000)));
        assert_eq!(names.here("users", 2), Some(Who::Group(100)));
        for (name, kind) in [("backup", USER), ("shadow", 4), ("ada", 2), ("none", USER)] {
            assert_eq!(names.here(name, kind), None, "{name}");
        }
    }
}
