//! Users of the host that log in with the passwords that PAM knows.

use std::sync::Arc;

use admin::Settings;
use auth::{Account, Directory, HostAccounts, HostPasswords, HostRules, Judging};
use pam::{Pam, PamRefusal, Service};
use vfs::backend::host::as_ourselves;

use crate::people::accounts;

struct ByPam(Pam);

impl HostPasswords for ByPam {
    /// Called on threads that may have acted as other users: the thread of PAM gets the rights that its caller has.
    fn judge(&self, user: &str, judging: Judging) -> Option<Account> {
        match as_ourselves(|| self.0.within_time(judging)) {
            Ok(Ok(account)) => account,
            Ok(Err(why)) => {
                tracing::warn!(user, "{why}");
                None
            }
            Err(error) => {
                tracing::warn!(user, %error, "PAM cannot be asked");
                None
            }
        }
    }

    fn verify(&self, user: &str, password: &str) -> bool {
        match self.0.verify(user, password) {
            Ok(()) => true,
            Err(why @ PamRefusal::Password(_)) => {
                tracing::debug!(user, "{why}");
                false
            }
            Err(why) => {
                tracing::warn!(user, "{why}");
                false
            }
        }
    }
}

/// Accounts with those of the host, if the settings let its users log in. `before`: those in force, which stay if the settings
/// are the same, or if PAM cannot be used: a line says so.
pub(crate) fn with(
    accounts: Directory,
    settings: &Settings,
    before: Option<&Arc<HostAccounts>>,
) -> (Directory, Option<String>) {
    let server = &settings.server;
    let Some(service) = &server.pam_service else { return (accounts.with_host_accounts(None), None) };
    let rules = HostRules { service: service.clone(), min_uid: server.host_min_uid };
    if let Some(before) = before.filter(|before| *before.rules() == rules) {
        return (accounts.with_host_accounts(Some(before.clone())), None);
    }
    match open(service) {
        Ok(pam) => {
            tracing::info!(
                service,
                "users of the host may log in with passwords over AFP and at the console (PAM)"
            );
            let host = accounts::host(server.default_user.clone());
            let host = HostAccounts::new(Arc::new(ByPam(pam)), rules, host);
            (accounts.with_host_accounts(Some(host)), None)
        }
        Err(why) => {
            let effect = if before.is_some() { "log in as before" } else { "cannot log in" };
            let line = format!("users of the host {effect}: {why}");
            (accounts.with_host_accounts(before.cloned()), Some(line))
        }
    }
}

/// PAM, with the service of the settings.
pub(crate) fn open(service: &str) -> Result<Pam, String> {
    let service = Service::of(service).ok_or("`pam-service` is neither a name nor an absolute path")?;
    Pam::open(service)
}
