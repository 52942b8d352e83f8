//! Joining a domain, leaving it, and a new password.

use std::collections::HashSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ::wire::{Reader, Sid};
use kerberos::Initiator;
use ldap3::{Mod, Scope, SearchEntry};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use crate::Error;
use crate::connection::{Connection, Place, done, first};
use crate::machine::{Machine, keytab, machine_file};

/// WORKSTATION_TRUST_ACCOUNT, MS-ADTS 2.2.16.
const COMPUTER: &str = "4096";
/// AES128 and AES256, MS-KILE 2.2.7.
const ENCRYPTION_TYPES: &str = "24";
/// The longest name of a computer without its `$`.
const LONGEST_NAME: usize = 15;
/// The letters of a password: 64 of them, so that each of its 48 letters has six bits.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+";
const LENGTH: usize = 48;

/// How to join.
#[derive(Debug, Clone)]
pub struct Joining<'a> {
    /// The DNS name of the domain.
    pub domain: &'a str,
    /// The DNS name of this server.
    pub host: &'a str,
    /// A domain controller, if DNS does not know them.
    pub controller: Option<&'a str>,
    /// The folder of the account in the directory, such as `OU=Servers,DC=lab,DC=test`; `Computers` if none is named.
    pub container: Option<&'a str>,
    /// Who may make the account.
    pub user: &'a str,
    /// Its password.
    pub password: &'a str,
}

/// Whether the membership works.
#[derive(Debug, Clone)]
pub struct Report {
    /// The machine account.
    pub machine: Machine,
    /// The controller that has answered, or why none has let the account in.
    pub controller: Result<String, Error>,
}

/// Runs work that waits for the network.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Error::Broken { host: "this machine".into(), why: error.to_string() })?;
    LocalSet::new().block_on(&runtime, work)
}

fn by_password(domain: &str, user: &str, password: &str) -> Result<(String, Initiator), Error> {
    let principal = match user.contains('@') {
        true => user.to_owned(),
        false => format!("{user}@{}", domain.to_uppercase()),
    };
    match Initiator::by_password(&principal, password) {
        Ok(initiator) => Ok((principal, initiator)),
        Err(why) => Err(Error::Login { principal, why }),
    }
}

pub(crate) async fn by_machine(machine: &Machine) -> Result<Connection, Error> {
    let principal = machine.principal();
    let initiator = Initiator::by_password(&principal, &machine.password);
    let initiator = initiator.map_err(|why| Error::Login { principal: principal.clone(), why })?;
    let place = Place { domain: &machine.domain, controller: machine.controller.as_deref() };
    Connection::open(&place, &principal, &initiator).await
}

/// Makes the account of this server, or takes an existing one over, and keeps it with its keys in the state folder.
///
/// # Errors
/// Nothing is kept.
pub fn join(state: &Path, joining: &Joining<'_>) -> Result<Machine, Error> {
    let machine = wait(make(joining))?;
    machine.write(state)?;
    Ok(machine)
}

async fn make(joining: &Joining<'_>) -> Result<Machine, Error> {
    let domain = joining.domain.to_lowercase();
    let (principal, initiator) = by_password(&domain, joining.user, joining.password)?;
    let place = Place { domain: &domain, controller: joining.controller };
    let mut directory = Connection::open(&place, &principal, &initiator).await?;
    let name: String = joining.host.split('.').next().unwrap_or_default().to_uppercase();
    let name: String = name.chars().take(LONGEST_NAME).collect();
    let base = directory.base.clone();
    let mut machine = Machine {
        short: short_name(&mut directory, &base).await?,
        sid: sid_of(&mut directory, &base, "(objectClass=*)", Scope::Base).await?,
        domain,
        account: format!("{name}$"),
        host: joining.host.to_lowercase(),
        controller: joining.controller.map(str::to_owned),
        changed: now(),
        version: 0,
        password: fresh_password()?,
        previous: None,
    };
    match find(&mut directory, &machine.account).await? {
        Some(entry) => take_over(&mut directory, &entry.dn, &machine).await?,
        None => add(&mut directory, &name, joining.container, &machine).await?,
    }
    let entry = find(&mut directory, &machine.account).await?;
    let entry =
        entry.ok_or(Error::Refused { what: "show the new account", why: "it is not there".into() })?;
    machine.version = version(&entry);
    Ok(machine)
}

/// A number of the directory; it begins with 1 for a new account.
fn version(entry: &SearchEntry) -> u32 {
    first(entry, "msDS-KeyVersionNumber").and_then(|text| text.parse().ok()).unwrap_or(1)
}

async fn find(directory: &mut Connection, account: &str) -> Result<Option<SearchEntry>, Error> {
    let filter = format!("(&(objectClass=computer)(sAMAccountName={}))", ldap3::ldap_escape(account));
    let base = directory.base.clone();
    let found = directory.search(&base, Scope::Subtree, &filter, &["msDS-KeyVersionNumber"]).await?;
    Ok(found.into_iter().find(|entry| !entry.dn.is_empty()))
}

/// The name of the domain before DNS, MS-ADTS 6.1.1.2.1.1.
async fn short_name(directory: &mut Connection, base: &str) -> Result<String, Error> {
    let filter = format!("(&(objectClass=crossRef)(nCName={}))", ldap3::ldap_escape(base));
    let partitions = format!("CN=Partitions,CN=Configuration,{base}");
    let found = directory.search(&partitions, Scope::OneLevel, &filter, &["nETBIOSName"]).await?;
    let short = found.first().and_then(|entry| first(entry, "nETBIOSName")).map(str::to_owned);
    short.ok_or_else(|| Error::Broken {
        host: directory.host.clone(),
        why: "the domain has no short name".into(),
    })
}

async fn sid_of(directory: &mut Connection, base: &str, filter: &str, scope: Scope) -> Result<String, Error> {
    let found = directory.search(base, scope, filter, &["objectSid"]).await?;
    let bytes = found.first().and_then(|entry| {
        entry.bin_attrs.iter().find(|(name, _)| name.eq_ignore_ascii_case("objectSid"))?.1.first()
    });
    let sid = bytes.and_then(|bytes| Sid::decode(&mut Reader::new(bytes)).ok());
    let none = || Error::Broken { host: directory.host.clone(), why: "the domain has no SID".into() };
    sid.map(|sid| sid.to_string()).ok_or_else(none)
}

/// What the account says of this server.
fn attributes(machine: &Machine) -> Vec<(&'static str, HashSet<String>)> {
    let one = |text: &str| HashSet::from([text.to_owned()]);
    vec![
        ("dNSHostName", one(&machine.host)),
        ("servicePrincipalName", machine.services().into_iter().collect()),
        ("msDS-SupportedEncryptionTypes", one(ENCRYPTION_TYPES)),
        ("operatingSystem", one("Fourfold")),
    ]
}

async fn add(
    directory: &mut Connection,
    name: &str,
    container: Option<&str>,
    machine: &Machine,
) -> Result<(), Error> {
    let container = container.map_or_else(|| format!("CN=Computers,{}", directory.base), str::to_owned);
    let dn = format!("CN={},{container}", ldap3::dn_escape(name));
    let mut all: Vec<(Vec<u8>, HashSet<Vec<u8>>)> = Vec::new();
    let fixed = [
        ("objectClass", "computer"),
        ("sAMAccountName", &*machine.account),
        ("userAccountControl", COMPUTER),
    ];
    let fixed = fixed.map(|(name, value)| (name, HashSet::from([value.to_owned()])));
    for (name, values) in fixed.into_iter().chain(attributes(machine)) {
        all.push((name.into(), values.into_iter().map(String::into_bytes).collect()));
    }
    all.push((b"unicodePwd".to_vec(), HashSet::from([quoted(&machine.password)])));
    done("make the account", directory.changing().add(&dn, all).await)
}

/// An account of this name is that of an earlier server, or was made for this one.
async fn take_over(directory: &mut Connection, dn: &str, machine: &Machine) -> Result<(), Error> {
    let replace = |(name, values): (&str, HashSet<String>)| {
        Mod::Replace(name.as_bytes().to_vec(), values.into_iter().map(String::into_bytes).collect())
    };
    let password = Mod::Replace(b"unicodePwd".to_vec(), HashSet::from([quoted(&machine.password)]));
    let enabled = ("userAccountControl", HashSet::from([COMPUTER.to_owned()]));
    let changes = attributes(machine).into_iter().chain([enabled]).map(replace).chain([password]).collect();
    done("change the account", directory.changing().modify(dn, changes).await)
}

/// Gives the account a new password. Keys of the one before stay in the keytab, for the tickets that clients have.
///
/// # Errors
/// The account has its old password. If only the state folder cannot be written, the new password is lost, and the server must
/// join again.
pub fn renew(state: &Path) -> Result<Machine, Error> {
    let before = Machine::read(state)?;
    let after =
        Machine { password: fresh_password()?, previous: Some(before.password.clone()), ..before.clone() };
    let after = wait(change(&before, after))?;
    after.write(state)?;
    Ok(after)
}

async fn change(before: &Machine, after: Machine) -> Result<Machine, Error> {
    let mut directory = by_machine(before).await?;
    let found = find(&mut directory, &before.account).await?;
    let entry = found.ok_or(Error::Refused { what: "show the account", why: "it is not there".into() })?;
    let of = |password: &str| HashSet::from([quoted(password)]);
    let changes = vec![
        Mod::Delete(b"unicodePwd".to_vec(), of(&before.password)),
        Mod::Add(b"unicodePwd".to_vec(), of(&after.password)),
    ];
    done("change the password", directory.changing().modify(&entry.dn, changes).await)?;
    let entry = find(&mut directory, &before.account).await?;
    Ok(Machine { changed: now(), version: entry.as_ref().map_or(before.version + 1, version), ..after })
}

/// Removes the account by a user that may do so, and then what the state folder has of it. Without a user only the latter.
///
/// # Errors
/// Everything is as before.
pub fn leave(state: &Path, by: Option<(&str, &str)>) -> Result<Machine, Error> {
    let machine = Machine::read(state)?;
    if let Some((user, password)) = by {
        wait(remove(&machine, user, password))?;
    }
    for path in [keytab(state), machine_file(state)] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::File { path: path.display().to_string(), why: error.to_string() });
            }
            _ => {}
        }
    }
    Ok(machine)
}

async fn remove(machine: &Machine, user: &str, password: &str) -> Result<(), Error> {
    let (principal, initiator) = by_password(&machine.domain, user, password)?;
    let place = Place { domain: &machine.domain, controller: machine.controller.as_deref() };
    let mut directory = Connection::open(&place, &principal, &initiator).await?;
    match find(&mut directory, &machine.account).await? {
        Some(entry) => done("remove the account", directory.changing().delete(&entry.dn).await),
        None => Ok(()),
    }
}

/// Whether the account of the state folder can log in.
///
/// # Errors
/// The server has not joined.
pub fn report(state: &Path) -> Result<Report, Error> {
    let machine = Machine::read(state)?;
    let controller = wait(async { Ok(by_machine(&machine).await?.host) });
    Ok(Report { machine, controller })
}

/// A password as `unicodePwd` wants it, MS-ADTS 3.1.1.3.1.5.
fn quoted(password: &str) -> Vec<u8> {
    format!("\"{password}\"").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn fresh_password() -> Result<String, Error> {
    let mut random = [0; LENGTH];
    getrandom::fill(&mut random).map_err(|_| Error::NoRandomness)?;
    Ok(random.iter().map(|byte| char::from(LETTERS[usize::from(byte & 63)])).collect())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MS-ADTS 3.1.1.3.1.5: UTF-16 in quotation marks.
    #[test]
    fn passwords_are_sent_in_quotation_marks() {
        assert_eq!(quoted("ab"), b"\"\0a\0b\0\"\0");
        let (one, other) = (fresh_password().unwrap(), fresh_password().unwrap());
        assert!(one.len() == LENGTH && one != other);
    }

    #[test]
    fn a_server_that_is_in_no_domain_says_so() {
        let state = tempfile::tempdir().unwrap();
        assert!(matches!(report(state.path()), Err(Error::NotJoined)));
        assert!(matches!(renew(state.path()), Err(Error::NotJoined)));
        assert!(matches!(leave(state.path(), None), Err(Error::NotJoined)));
    }
}
