//! Passwords of a domain's users, which a domain controller verifies for every protocol.

use std::path::Path;
use std::sync::Arc;

use admin::Settings;
use admin::control::DomainStatus;
use auth::{Account, Accounts, Domain, DomainLogon, LogonRefused, Refusal};
use domain::{Error, Health, Logons, Machine};

use crate::serve::current::Current;

/// What asks a domain controller, if the server has joined the domain of the settings and they permit it. One that is used as
/// `before` goes on to be used, with its channel.
pub(crate) fn logons(
    settings: &Settings,
    domain: Option<&Arc<Domain>>,
    before: Option<&Arc<Logons>>,
) -> anyhow::Result<Option<Arc<Logons>>> {
    let (server, Some(domain)) = (&settings.server, domain) else { return Ok(None) };
    if !server.domain_ntlm {
        return Ok(None);
    }
    if let (Some(before), Ok(machine)) = (before, Machine::read(&server.state))
        && before.is_of(&machine)
    {
        return Ok(Some(before.clone()));
    }
    match Logons::new(&server.state, domain.clone()) {
        Ok(logons) => Ok(Some(Arc::new(logons))),
        Err(Error::NotJoined) => {
            tracing::info!(
                "users of the domain need Kerberos tickets: this server has no machine account there"
            );
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The same for a protocol.
pub(crate) fn for_protocol(current: &Current) -> Option<Arc<dyn DomainLogon>> {
    current.logons.clone().map(|logons| -> Arc<dyn DomainLogon> { logons })
}

/// Whether a domain controller verifies passwords now.
pub(crate) fn status(current: &Current) -> Option<DomainStatus> {
    let name = current.settings.server.domain.as_ref()?.name.clone();
    let (controller, error) = match current.logons.as_ref()?.health() {
        Health::Works(controller) => (Some(controller), None),
        Health::Starting => (None, Some("no answer of a domain controller yet".to_owned())),
        Health::Away(why) => (None, Some(why)),
    };
    Some(DomainStatus { name, controller, error })
}

/// The controller that verifies passwords for the account of a state folder: as a running server says, else by a channel of our
/// own. `None`: the server has not joined, or a running one does not do it.
pub(crate) fn channel(state: &Path) -> Option<Result<String, String>> {
    match admin::control::status(state) {
        Ok(status) => {
            let DomainStatus { controller, error, .. } = status.domain?;
            Some(controller.ok_or_else(|| error.unwrap_or_default()))
        }
        Err(_) if Machine::read(state) == Err(Error::NotJoined) => None,
        Err(_) => Some(domain::check_channel(state)),
    }
}

/// Verifies a password, by a domain controller if the user has none here. It waits for the network: call it where blocking is
/// allowed, in a thread of the runtime.
///
/// # Errors
/// The login is refused.
pub(crate) fn verify(current: &Current, name: &str, password: &str) -> Result<Account, Refusal> {
    let accounts = &current.accounts;
    let has_password = accounts.find(name).is_some_and(|account| !account.secrets.is_empty());
    let Some(logons) = current.logons.as_ref().filter(|_| !has_password) else {
        return accounts.verify(name, password);
    };
    let runtime = tokio::runtime::Handle::try_current().map_err(|_| Refusal::NoController)?;
    match runtime.block_on(logons.by_password(name, password)) {
        Ok(logon) => match accounts.find(&logon.account) {
            Some(account) if account.disabled => Err(Refusal::Disabled),
            found => found.ok_or(Refusal::Unknown),
        },
        Err(LogonRefused::WrongPassword) => Err(Refusal::WrongPassword),
        Err(LogonRefused::Unknown) => Err(Refusal::Unknown),
        Err(LogonRefused::NoController(_) | LogonRefused::Busy | LogonRefused::Clock) => {
            Err(Refusal::NoController)
        }
        Err(refused) => {
            tracing::info!(user = name, %refused, "a login of a domain's user");
            Err(Refusal::Disabled)
        }
    }
}
