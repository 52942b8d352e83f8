//! Homes: each user is shown a volume of its own, with the name of its account. The name of the share of homes leads there, too.
//! Other shares with that name count first.

use std::sync::Arc;

use vfs::names::{Folding, folds_alike};

use super::config::{Config, HomesShare, Share};
use super::volumes::volume::is_named;
use crate::server::config::Version;
use crate::server::sessions::session::Session;

impl Config {
    /// The name by which a user sees its home in this share of homes: that of the account for the first one, if no share has it,
    /// else that of the share of homes.
    fn home_name<'a>(&'a self, homes: &'a HomesShare, account: &'a str) -> &'a str {
        let is_it =
            |share: &&Arc<Share>| folds_alike(share.name.as_bytes(), account.as_bytes(), Folding::default());
        let is_first = self.homes.first().is_some_and(|first| first.name == homes.name);
        if is_first && !self.shares.iter().any(|share| is_it(&share)) { account } else { &homes.name }
    }

    /// The homes that a session sees, with their names.
    pub(in crate::server) fn homes_of<'a>(
        &'a self,
        session: &'a Session,
    ) -> impl Iterator<Item = (&'a HomesShare, &'a str)> {
        let account = session.user.name.as_deref();
        let may_enter = |homes: &&HomesShare| session.grant_by(&homes.policy).is_some();
        let homes = self.homes.iter().filter(may_enter);
        homes.filter_map(move |homes| Some((homes, self.home_name(homes, account?))))
    }
}

/// The home of a session's user, if the client's name stands for it.
pub(in crate::server) async fn home(session: &Session, version: Version, sent: &[u8]) -> Option<Arc<Share>> {
    let config = session.service.config();
    let is_it = |name: &str| is_named(name, version, sent);
    let (homes, name) = config.homes_of(session).find(|(homes, name)| is_it(name) || is_it(&homes.name))?;
    let (opener, caller, name) = (homes.opener.clone(), session.user.caller.clone(), name.to_owned());
    let account = session.user.name.clone()?;
    let opened = tokio::task::spawn_blocking(move || opener.open(&account, &caller, &name)).await;
    opened.ok().flatten() // a panic there was logged
}

/// Whether an open home may stay open under new settings: those of its share of homes are as before.
pub(in crate::server) fn keeps_home(session: &Session, home: &Share, before: &Config, now: &Config) -> bool {
    let name = home.options.home_in.as_ref();
    let of = |config: &Config| config.homes.iter().find(|homes| Some(&homes.name) == name).cloned();
    let (Some(before), Some(now)) = (of(before), of(now)) else { return false };
    before.settings == now.settings
        && (session.connection().is_none() || session.grant_by(&now.policy).is_some())
}
