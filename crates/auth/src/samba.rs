//! The accounts of a Samba server: `passdb.tdb`, and the SIDs of its domains in `secrets.tdb`. Samba has no document of the formats;
//! these are facts of its own files.

mod tdb;

/// Why a file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SambaFileError(&'static str);

/// An account.
#[derive(Clone, PartialEq, Eq)]
pub struct SambaAccount {
    /// Its name, which is that of a Unix user.
    pub name: String,
    /// The name of its domain. Without one, it is the server's.
    pub domain: String,
    /// The last number of its SID.
    pub rid: u32,
    /// The NT hash of its password. Keep it secret: it is equivalent to the password.
    pub nt_hash: Option<[u8; 16]>,
    /// Why nobody may log in with it, or not always: it stays closed.
    pub closed: Option<LoginRestriction>,
    /// It belongs to a computer or another domain, not to a person.
    pub is_machine: bool,
}

/// What keeps people from logging in with an account of Samba.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginRestriction {
    /// It has no password, an empty one, or needs none. Samba refuses such logins.
    NoPassword,
    /// It is disabled.
    Disabled,
    /// It is locked after wrong passwords.
    Locked,
    /// It has a date after which it may not log in, which may be in the future.
    Expires,
    /// Its user must choose another password first.
    MustChange,
    /// Its user may log in from some computers only.
    Workstations,
    /// Its user may log in at some hours only.
    Hours,
}

impl std::fmt::Debug for SambaAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SambaAccount")
            .field("name", &self.name)
            .field("rid", &self.rid)
            .finish_non_exhaustive()
    }
}

/// What the accounts are, MS-SAMR 2.2.1.12 as Samba numbers it.
const DISABLED: u32 = 0x0001;
/// It needs no password.
const NO_PASSWORD: u32 = 0x0004;
/// Its password does not expire.
const NO_EXPIRY: u32 = 0x0200;
/// It was locked after wrong passwords.
const LOCKED: u32 = 0x0400;
/// The NT hash of the empty password, MS-NLMP 3.3.1.
const EMPTY_PASSWORD: [u8; 16] =
    [0x31, 0xd6, 0xcf, 0xe0, 0xd1, 0x6a, 0xe9, 0x31, 0xb7, 0x3c, 0x59, 0xd7, 0xe0, 0xc0, 0x89, 0xc0];
/// Dates from this one on are "never": Samba writes the last one of 32 bits, or of its own times.
const NEVER: u32 = 0x7c00_0000;
/// Of another domain, a workstation, a server.
const MACHINES: u32 = 0x0040 | 0x0080 | 0x0100;
/// The versions of an account's value that have its fields in this order.
const VERSIONS: [u32; 2] = [3, 4];
/// Dates before the first text.
const DATES: usize = 7;
/// Texts between the domain and the numbers.
const OTHER_TEXTS: usize = 10;
/// The text among them that names computers.
const WORKSTATIONS: usize = 7;

/// The accounts of `passdb.tdb`, by name, and the names of those that cannot be read.
///
/// # Errors
/// It is no such file, or has another version.
pub fn accounts(file: &[u8]) -> Result<(Vec<SambaAccount>, Vec<String>), SambaFileError> {
    let (mut values, mut version) = (Vec::new(), None);
    tdb::records(file, |key, value| match key {
        b"INFO/version\0" => version = value.try_into().ok().map(u32::from_le_bytes),
        [b'U', b'S', b'E', b'R', b'_', name @ .., 0] => values.push((name, value)),
        _ => {}
    })?;
    if !version.is_some_and(|version| VERSIONS.contains(&version)) {
        return Err(SambaFileError("its accounts have another version of the format"));
    }
    let (mut accounts, mut unread) = (Vec::new(), Vec::new());
    for (name, value) in values {
        match account(value) {
            Some(account) => accounts.push(account),
            None => unread.push(String::from_utf8_lossy(name).into_owned()),
        }
    }
    accounts.sort_by(|a: &SambaAccount, b| a.name.cmp(&b.name));
    unread.sort();
    Ok((accounts, unread))
}

/// The SIDs of the server and its domains in `secrets.tdb`, with their names.
///
/// # Errors
/// It is no such file.
pub fn domains(file: &[u8]) -> Result<Vec<(String, String)>, SambaFileError> {
    let mut domains = Vec::new();
    tdb::records(file, |key, value| {
        let name = key.strip_prefix(b"SECRETS/SID/").map(|name| String::from_utf8_lossy(name).into_owned());
        domains.extend(name.and_then(|name| Some((name, sid(value)?))));
    })?;
    domains.sort();
    Ok(domains)
}

/// Dates; the name, the domain and other texts, each after its length; numbers of the user and its group; the LM hash, the NT hash and former
/// ones, each after its length; what it is.
fn account(value: &[u8]) -> Option<SambaAccount> {
    let (dates, mut rest) = value.split_at_checked(4 * DATES)?;
    let date = |nth: usize| number(&mut dates.get(4 * nth..)?);
    let (expires, set) = (date(2)?, date(4)?);
    let (name, domain) = (text(taken(&mut rest)?)?, text(taken(&mut rest)?).unwrap_or_default());
    let mut has_workstations = false;
    for nth in 0..OTHER_TEXTS {
        let is_said = text(taken(&mut rest)?).is_some();
        has_workstations |= nth == WORKSTATIONS && is_said;
    }
    let (rid, _group) = (number(&mut rest)?, number(&mut rest)?);
    let (_lm, nt, _former) = (taken(&mut rest)?, taken(&mut rest)?, taken(&mut rest)?);
    let what = number(&mut rest)?;
    let nt_hash: Option<[u8; 16]> = nt.try_into().ok();
    let closed = match () {
        () if what & DISABLED != 0 => Some(LoginRestriction::Disabled),
        () if what & NO_PASSWORD != 0 || nt_hash.is_none_or(|hash| hash == EMPTY_PASSWORD) => {
            Some(LoginRestriction::NoPassword)
        }
        () if what & LOCKED != 0 => Some(LoginRestriction::Locked),
        () if (1..NEVER).contains(&expires) => Some(LoginRestriction::Expires),
        () if set == 0 && what & NO_EXPIRY == 0 => Some(LoginRestriction::MustChange),
        () if has_workstations => Some(LoginRestriction::Workstations),
        () if !is_always(rest) => Some(LoginRestriction::Hours),
        () => None,
    };
    Some(SambaAccount { name, domain, rid, nt_hash, closed, is_machine: what & MACHINES != 0 })
}

/// Whether the hours of a week, a bit for each, are all allowed: the number of hours or units of the week, their length and bits.
fn is_always(mut rest: &[u8]) -> bool {
    let Some((_, after)) = rest.split_at_checked(2) else { return true };
    rest = after;
    let (Some(used), Some(hours)) = (number(&mut rest), taken(&mut rest)) else { return true };
    hours.iter().take(used as usize).all(|byte| *byte == 0xff)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*number))
}

/// Bytes after their length.
fn taken<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = number(rest)? as usize;
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(bytes)
}

/// A text with a zero at its end.
fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.strip_suffix(b"\0")?.to_vec()).ok().filter(|text| !text.is_empty())
}

/// A SID in the order of MS-DTYP 2.4.2.2, with room for 15 numbers.
fn sid(value: &[u8]) -> Option<String> {
    let [1, count, authority @ ..] = value else { return None };
    let (authority, numbers) = authority.split_first_chunk::<6>()?;
    let authority = authority.iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    let numbers = numbers.get(..4 * usize::from(*count))?.chunks_exact(4);
    let numbers =
        numbers.map(|bytes| bytes.iter().rev().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)));
    Some(numbers.fold(format!("S-1-{authority}"), |text, number| format!("{text}-{number}")))
}

#[cfg(test)]
mod tests;
