//! Logins by Kerberos tickets, for every protocol.

use std::sync::Arc;

use admin::Settings;
use auth::kerberos::Kerberos;
use kerberos::Acceptor;

use crate::running::Current;

/// What takes tickets by the keytab of the settings. `None`: there is no keytab.
pub(crate) fn acceptor(settings: &Settings) -> anyhow::Result<Option<Arc<Acceptor>>> {
    let server = &settings.server;
    let acceptor = |keytab| Acceptor::new(keytab, &server.kerberos_realms, &server.state);
    Ok(server.kerberos_keytab.as_deref().map(acceptor).transpose()?.map(Arc::new))
}

/// The same for a protocol.
pub(crate) fn kerberos(current: &Current) -> Option<Arc<dyn Kerberos>> {
    current.kerberos.clone().map(|acceptor| -> Arc<dyn Kerberos> { acceptor })
}

/// Tells the log whether clients of a protocol can use Kerberos: its service has this name in principals.
pub(crate) fn tell(current: &Current, protocol: &str, service: &str) {
    let Some(acceptor) = &current.kerberos else { return };
    let is_of_service =
        |name: &&String| name.split_once('/').is_some_and(|(first, _)| first.eq_ignore_ascii_case(service));
    let services: Vec<&String> = acceptor.principals().iter().filter(is_of_service).collect();
    match services.is_empty() {
        true => tracing::warn!(
            "the keytab has no key of {service}/HOST: clients of {protocol} cannot use Kerberos"
        ),
        false => {
            tracing::info!(?services, realms = ?acceptor.realms(), "clients of {protocol} may log in by Kerberos")
        }
    }
}
