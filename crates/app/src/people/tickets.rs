//! Logins by Kerberos tickets, for every protocol.

use std::sync::Arc;

use admin::Settings;
use auth::kerberos::Kerberos;
use auth::{Directory, Domain, UnixAccounts};
use domain::Machine;
use kerberos::Acceptor;

use crate::people::{groups, host_accounts, logons};
use crate::serve::current::Current;

/// The domain of the settings. If it is used as `before`, it is the same one: its users stay known.
pub(crate) fn domain(
    settings: &Settings,
    before: Option<&Arc<Domain>>,
) -> anyhow::Result<Option<Arc<Domain>>> {
    let Some(options) = &settings.server.domain else { return Ok(None) };
    match before.filter(|before| before.options() == options) {
        Some(before) => Ok(Some(before.clone())),
        None => {
            let (domain, state) =
                (Domain::new(options.clone(), &settings.server.state)?, &settings.server.state);
            let machine = Machine::read(state).ok().filter(|machine| machine.domain == options.name);
            if let Some((sid, short)) =
                machine.and_then(|machine| Some((machine.sid.parse().ok()?, machine.short)))
            {
                domain.learn(sid, &short)?;
            }
            Ok(Some(Arc::new(domain)))
        }
    }
}

/// The users and groups of the machine, and those of the domain that the state folder has.
pub(crate) fn site(settings: &Settings) -> UnixAccounts {
    match domain(settings, None) {
        Ok(Some(domain)) => UnixAccounts::Domain(domain),
        Ok(None) | Err(_) => UnixAccounts::NameService, // an error is reported where the domain is used
    }
}

/// Accounts at the start, with those of the domain and of the host.
pub(crate) fn with_others(accounts: Directory, settings: &Settings) -> anyhow::Result<Directory> {
    let accounts = accounts.with_domain(domain(settings, None)?);
    let (accounts, failed) = host_accounts::with(accounts, settings, None);
    failed.iter().for_each(|line| tracing::warn!("{line}"));
    Ok(accounts)
}

/// The state at the start.
pub(crate) fn current(settings: Settings, accounts: Directory) -> anyhow::Result<Arc<Current>> {
    let kerberos = acceptor(&settings, accounts.domain())?;
    let settings = groups::resolved_for(settings, &accounts);
    let logons = logons::logons(&settings, accounts.domain(), None)?;
    Ok(Arc::new(Current { settings, accounts, kerberos, logons }))
}

/// What takes tickets by the keytab of the settings. `None`: there is no keytab.
pub(crate) fn acceptor(
    settings: &Settings,
    domain: Option<&Arc<Domain>>,
) -> anyhow::Result<Option<Arc<Acceptor>>> {
    let server = &settings.server;
    let acceptor = |keytab| Acceptor::new(keytab, &server.kerberos_realms, &server.state, domain.cloned());
    Ok(server.kerberos_keytab.as_deref().map(acceptor).transpose()?.map(Arc::new))
}

/// The same for a protocol.
pub(crate) fn kerberos(current: &Current) -> Option<Arc<dyn Kerberos>> {
    current.kerberos.clone().map(|acceptor| -> Arc<dyn Kerberos> { acceptor })
}

/// The principals of the keytab that begin with the name of a service.
pub(crate) fn principals(current: &Current, service: &str) -> Vec<String> {
    let is_of_service =
        |name: &&String| name.split_once('/').is_some_and(|(first, _)| first.eq_ignore_ascii_case(service));
    let Some(acceptor) = &current.kerberos else { return Vec::new() };
    acceptor.principals().iter().filter(is_of_service).cloned().collect()
}

/// Tells the log whether clients of a protocol can use Kerberos: its service has this name in principals.
pub(crate) fn tell(current: &Current, protocol: &str, service: &str) {
    let Some(acceptor) = &current.kerberos else { return };
    let services = principals(current, service);
    match services.is_empty() {
        true => tracing::warn!(
            "the keytab has no key of {service}/HOST: clients of {protocol} cannot use Kerberos"
        ),
        false => {
            tracing::info!(?services, realms = ?acceptor.realms(), "clients of {protocol} may log in by Kerberos")
        }
    }
}
