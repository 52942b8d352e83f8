//! The domain whose users may log in: the server's account, and its controller.

use std::time::{Duration, SystemTime};

use admin::Settings;
use domain::{Error, Machine, Report};

use super::DoctorFinding;
use crate::people::logons;

const ABOUT: &str = "Active Directory";
const PASSWORDS: &str = "passwords of the domain";
/// A running server changes it every 30 days.
const OLD: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Looks at the membership and at the channel for passwords, if the settings name a domain.
pub(super) fn look(settings: &Settings) -> Vec<DoctorFinding> {
    let Some(domain) = &settings.server.domain else { return Vec::new() };
    [membership(settings, &domain.name)].into_iter().chain(channel(settings, &domain.name)).collect()
}

/// Whether a domain controller verifies passwords. `None`: the server has not joined, which [`membership`] tells.
fn channel(settings: &Settings, domain: &str) -> Option<DoctorFinding> {
    let server = &settings.server;
    if !server.domain_ntlm {
        return Some(DoctorFinding::fine(PASSWORDS, "off (`domain-ntlm`): users of the domain need tickets"));
    }
    Some(match logons::channel(&server.state)? {
        Ok(controller) => {
            DoctorFinding::fine(PASSWORDS, format!("{controller} verifies those of users of {domain}"))
        }
        Err(why) => DoctorFinding::problem(
            PASSWORDS,
            format!("no controller verifies those of users of {domain}: {why}"),
            "users with tickets go on to log in; the controller must be reached at TCP port 135 and at the ports 49152-65535",
        ),
    })
}

fn membership(settings: &Settings, domain: &str) -> DoctorFinding {
    let server = &settings.server;
    match domain::report(&server.state) {
        Ok(Report { machine, .. }) if machine.domain != domain => {
            let found = format!("`domain` is {domain}, and this server is a member of {}", machine.domain);
            DoctorFinding::problem(
                ABOUT,
                found,
                "write the same domain, or `fourfold domain leave` and `join`",
            )
        }
        Ok(Report { machine, controller: Ok(host) }) => of_account(&machine, &host, SystemTime::now()),
        Ok(Report { machine, controller: Err(error) }) => {
            let found = format!("{} cannot log in to {domain}: {error}", machine.account);
            DoctorFinding::problem(
                ABOUT,
                found,
                "users with tickets go on to log in; look at the network, and at the clock",
            )
        }
        Err(Error::NotJoined) if server.kerberos_keytab.is_some() => {
            DoctorFinding::fine(ABOUT, format!("{domain}, by the keys of `kerberos-keytab`"))
        }
        Err(Error::NotJoined) => {
            let found = format!("`domain` is {domain}, and there are no keys: its users cannot log in");
            DoctorFinding::problem(
                ABOUT,
                found,
                format!("`fourfold domain join {domain} --user NAME`, or `kerberos-keytab`"),
            )
        }
        Err(error) => {
            DoctorFinding::problem(ABOUT, error.to_string(), "`fourfold domain join` makes it anew")
        }
    }
}

fn of_account(machine: &Machine, host: &str, now: SystemTime) -> DoctorFinding {
    let Machine { account, domain, .. } = machine;
    if machine.age(now) > OLD {
        let days = machine.age(now).as_secs() / (24 * 60 * 60);
        let found = format!("the password of {account} in {domain} is {days} days old");
        return DoctorFinding::warning(
            ABOUT,
            found,
            "a running server changes it every 30 days; now: `fourfold domain renew`",
        );
    }
    DoctorFinding::fine(ABOUT, format!("{account} logs in to {domain} at {host}"))
}
