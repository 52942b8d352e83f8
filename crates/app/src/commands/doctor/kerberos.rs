//! Kerberos: the keytab, its keys, and the library.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ::kerberos::{Acceptor, Entry, entries as entries_of};
use admin::{Port, Protocol, Settings};

use super::DoctorFinding;
use crate::host::here;

const ABOUT: &str = "Kerberos";
/// The encryption types that are broken: of DES, triple DES and RC4, RFC 6649 and RFC 8429.
const WEAK: &[u16] = &[1, 2, 3, 5, 7, 16, 23, 24];

/// Looks at the keytab, if the settings name one.
pub(super) fn look(settings: &Settings) -> Vec<DoctorFinding> {
    let server = &settings.server;
    let Some(keytab) = &server.kerberos_keytab else { return Vec::new() };
    let entries = match std::fs::read(keytab) {
        Err(error) => {
            let found = format!("the keytab {} cannot be read: {error}", keytab.display());
            return vec![DoctorFinding::problem(
                ABOUT,
                found,
                "`kadmin ktadd -k FILE PRINCIPAL` writes it; start as root",
            )];
        }
        Ok(file) => match entries_of(&file) {
            Ok(entries) => entries,
            Err(error) => {
                let found = format!("{} is no keytab: {error}", keytab.display());
                return vec![DoctorFinding::problem(
                    ABOUT,
                    found,
                    "`kadmin ktadd -k FILE PRINCIPAL` writes a keytab",
                )];
            }
        },
    };
    let served = Protocol::OF_FILES.into_iter().filter(|protocol| server.ports.of(*protocol) != Port::Off);
    let services: Vec<(&str, &str)> =
        served.filter_map(|protocol| Some((protocol.title(), protocol.kerberos_service()?))).collect();
    let mut findings = keys(&entries, &services, &here::host_name());
    findings.extend(realms(&entries, &server.kerberos_realms));
    findings.extend(secrecy(keytab));
    if let Err(error) = Acceptor::new(keytab, &server.kerberos_realms, &server.state, None) {
        findings.push(DoctorFinding::problem(
            ABOUT,
            error.to_string(),
            "see `kerberos-keytab` in docs/settings.md",
        ));
    } else if findings.is_empty() {
        let found = format!("{} of {}", super::counted(entries.len(), "key"), keytab.display());
        findings.push(DoctorFinding::fine(ABOUT, found));
    }
    findings
}

/// Whether each protocol has a key for this host's name, and one that is not broken.
fn keys(entries: &[Entry], services: &[(&str, &str)], host: &str) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for (protocol, service) in services {
        let of_service =
            |entry: &&Entry| entry.name.first().is_some_and(|name| name.eq_ignore_ascii_case(service));
        let own: Vec<&Entry> = entries.iter().filter(of_service).collect();
        let hosts: BTreeSet<&str> =
            own.iter().filter_map(|entry| entry.name.get(1).map(String::as_str)).collect();
        let write = format!("`kadmin ktadd -k FILE {service}/{host}`");
        if own.is_empty() {
            let found =
                format!("the keytab has no key of {service}/HOST: clients of {protocol} cannot use it");
            findings.push(DoctorFinding::warning(ABOUT, found, write));
            continue;
        }
        let is_here =
            |name: &&str| name.split('.').next().is_some_and(|first| first.eq_ignore_ascii_case(short(host)));
        if !hosts.iter().any(is_here) {
            let known: Vec<&str> = hosts.into_iter().collect();
            let found = format!(
                "for {protocol} the keytab has keys of {} only: clients that reach the server as {host} cannot use it",
                known.join(", ")
            );
            findings.push(DoctorFinding::warning(ABOUT, found, write));
        }
        let newest = own.iter().map(|entry| entry.version).max();
        if own.iter().filter(|entry| Some(entry.version) == newest).all(|entry| WEAK.contains(&entry.kind)) {
            let found = format!("for {protocol} the keytab has keys of RC4 or DES only, which are broken");
            let mend = "set AES for the account (Active Directory: msDS-SupportedEncryptionTypes = 24), and write the keytab again";
            findings.push(DoctorFinding::warning(ABOUT, found, mend));
        }
    }
    findings
}

fn short(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

/// Users of several realms have the accounts of their names.
fn realms(entries: &[Entry], set: &[String]) -> Option<DoctorFinding> {
    let realms: BTreeSet<&str> = entries.iter().map(|entry| entry.realm.as_str()).collect();
    let unknown = set.iter().find(|realm| realm.as_str() != realm.to_uppercase());
    if let Some(realm) = unknown {
        let found = format!(
            "`kerberos-realms` has {realm}: names of realms are written in capitals nearly everywhere"
        );
        return Some(DoctorFinding::warning(
            ABOUT,
            found,
            format!("write {} if that is its name", realm.to_uppercase()),
        ));
    }
    if realms.len() < 2 || !set.is_empty() {
        return None;
    }
    let names: Vec<&str> = realms.into_iter().collect();
    let found = format!(
        "the keytab has keys of several realms ({}): users of the same name in them have the same account",
        names.join(", ")
    );
    Some(DoctorFinding::warning(
        ABOUT,
        found,
        "name the realm whose users have accounts in `kerberos-realms`",
    ))
}

/// A user who can read the keytab can act as the server, and as any user towards it.
fn secrecy(keytab: &Path) -> Option<DoctorFinding> {
    let mode = std::fs::metadata(keytab).ok()?.mode();
    (mode & 0o077 != 0).then(|| {
        let found = format!(
            "other users of this machine can use the keytab {} (mode {:o})",
            keytab.display(),
            mode & 0o777
        );
        DoctorFinding::problem(ABOUT, found, format!("`chmod 600 {}`", keytab.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn entry(name: &str, realm: &str, version: u32, kind: u16) -> Entry {
        let name = name.split('/').map(str::to_owned).collect();
        Entry { name, realm: realm.into(), version, kind }
    }

    #[test]
    fn missing_foreign_and_broken_keys_are_told_apart() {
        let services = [("SMB", "cifs"), ("NFS", "nfs")];
        let found = |entries: &[Entry]| {
            keys(entries, &services, "filer.lab.test").iter().map(|one| one.found.clone()).collect::<Vec<_>>()
        };
        let (cifs, nfs) =
            (entry("cifs/filer", "LAB.TEST", 1, 18), entry("nfs/filer.lab.test", "LAB.TEST", 1, 17));
        assert!(found(&[cifs.clone(), nfs.clone()]).is_empty());
        let lines = found(std::slice::from_ref(&cifs));
        assert!(lines.len() == 1 && lines[0].contains("no key of nfs/HOST"), "{lines:?}");
        let lines = found(&[cifs.clone(), entry("nfs/other.lab.test", "LAB.TEST", 1, 18)]);
        assert!(lines.len() == 1 && lines[0].contains("keys of other.lab.test only"), "{lines:?}");
        let lines =
            found(&[cifs, entry("nfs/filer", "LAB.TEST", 1, 18), entry("nfs/filer", "LAB.TEST", 2, 23)]);
        assert!(lines.len() == 1 && lines[0].contains("RC4"), "{lines:?}");
    }

    #[test]
    fn several_realms_are_a_warning_unless_the_settings_name_one() {
        let both = [entry("nfs/a", "LAB.TEST", 1, 18), entry("nfs/a", "OTHER.TEST", 1, 18)];
        assert!(realms(&both, &[]).unwrap().found.contains("LAB.TEST, OTHER.TEST"));
        assert_eq!(realms(&both, &["LAB.TEST".into()]), None);
        assert_eq!(realms(&both[..1], &[]), None);
        assert!(realms(&both, &["lab.test".into()]).unwrap().found.contains("capitals"));
    }

    #[test]
    fn a_keytab_that_others_can_read_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        let keytab = folder.path().join("keytab");
        std::fs::write(&keytab, b"\x05\x02").unwrap();
        let with = |mode| {
            std::fs::set_permissions(&keytab, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            secrecy(&keytab)
        };
        assert_eq!(with(0o600), None);
        assert_eq!(with(0o640).map(|finding| finding.level), Some(Level::Problem));
    }
}
