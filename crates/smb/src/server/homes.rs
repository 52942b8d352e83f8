//! Homes: each user is shown a share of its own, with the name of its account, as by `[homes]` of Samba. The name of the share
//! of homes leads there, too. Other shares with that name count first.

use std::sync::Arc;

use super::config::{Config, HomesShare, Share};
use super::service::Service;
use crate::server::clients::session::User;

impl Config {
    /// The name by which a user sees its home in this share of homes: that of the account for the first one, if no share has it,
    /// else that of the share of homes.
    pub(in crate::server) fn home_name<'a>(&'a self, homes: &'a HomesShare, account: &'a str) -> &'a str {
        let is_first = self.homes.first().is_some_and(|first| first.name == homes.name);
        if is_first && self.share(account).is_none() { account } else { &homes.name }
    }

    /// The share of homes that a user means by a name.
    fn homes_named(&self, name: &str, account: &str) -> Option<&HomesShare> {
        let is_same = |one: &str| one.to_lowercase() == name.to_lowercase();
        self.homes.iter().find(|homes| is_same(&homes.name) || is_same(self.home_name(homes, account)))
    }

    /// The share of homes that a home is in.
    pub(in crate::server) fn homes_of(&self, home: &Share) -> Option<&HomesShare> {
        let name = home.options.home_in.as_ref()?;
        self.homes.iter().find(|homes| homes.name == *name)
    }
}

/// The home of a user, if this name stands for it.
pub(in crate::server) async fn home(service: &Service, user: &User, name: &str) -> Option<Arc<Share>> {
    let config = service.config();
    let homes = config.homes_named(name, &user.name).filter(|_| user.has_account())?;
    let (opener, account, caller) = (homes.opener.clone(), user.name.clone(), user.caller.clone());
    let name = config.home_name(homes, &user.name).to_owned();
    let opened = tokio::task::spawn_blocking(move || opener.open(&account, &caller, &name)).await;
    opened.ok().flatten() // a panic there was logged
}
