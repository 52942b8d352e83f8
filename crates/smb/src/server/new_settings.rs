//! New settings apply to connected clients: sessions and trees that they no longer allow end, the
//! others continue.
//!
//! Requests of an ended session are answered USER_SESSION_DELETED, those of an ended tree
//! NETWORK_NAME_DELETED: MS-SMB2 3.3.4.12 and 3.3.4.13. Clients reconnect on their own, under the
//! new settings.

use std::sync::Arc;

use auth::Grant;

use super::config::{Config, EncryptionPolicy, Share, ShareKind};
use super::service::Service;
use crate::server::clients::grants::{grant, grant_by};
use crate::server::clients::session::{Session, User};
use crate::server::clients::tree::Tree;

impl Service {
    /// Applies new settings.
    pub fn set_config(&self, config: Config) {
        let (before, now) = self.replace_config(config);
        let may_stay = |user: &User| may_stay(user, &before, &now);
        for session in self.all_sessions() {
            let user = session.user();
            if !may_stay(&user) || !is_protected(&session, &now) {
                tracing::info!(user = user.name, "the settings have changed: an SMB session ends");
                self.end_session_for_good(&session);
                continue;
            }
            let trees = session.trees.all();
            for tree in trees.iter().filter(|tree| !tree_may_stay(&session, tree, (&before, &now))) {
                let share = &tree.share.name;
                tracing::info!(
                    user = user.name,
                    share,
                    "the settings have changed: an SMB connection to a share ends"
                );
                session.disconnect_tree(tree);
            }
        }
        self.drop_durables(|open, user| {
            let share = &open.tree.share;
            let is_offered = match share.options.home_in {
                Some(_) => keeps_home(share, &before, &now),
                None => now.share(&share.name).is_some_and(|now| is_offered_alike(share, now)),
            };
            !may_stay(user) || !is_offered
        });
    }
}

/// Whether a user's session may continue. The account must still exist with the same password and
/// rights. For guests the settings must be as before.
fn may_stay(user: &User, before: &Config, now: &Config) -> bool {
    match user.has_account() {
        true => auth::may_go_on(&user.name, &*before.accounts, &*now.accounts),
        false => user.anonymous || before.guests.identity == now.guests.identity,
    }
}

/// Whether a session is signed and encrypted as the settings want it.
fn is_protected(session: &Session, now: &Config) -> bool {
    let is_sealed = session.requires_encryption();
    let has_account = session.user().has_account();
    (now.encryption != EncryptionPolicy::Required || is_sealed)
        && (!now.require_signing || is_sealed || session.require_signing || !has_account)
}

/// Whether the settings of a home's share of homes are as before.
fn keeps_home(home: &Share, before: &Config, now: &Config) -> bool {
    let settings = |config: &Config| config.homes_of(home).map(|homes| homes.settings.clone());
    settings(now).is_some_and(|now| settings(before) == Some(now))
}

fn tree_may_stay(session: &Session, tree: &Tree, (before, now): (&Config, &Config)) -> bool {
    if matches!(tree.share.kind, ShareKind::Pipes) {
        return true;
    }
    if let Some(homes) = now.homes_of(&tree.share) {
        let Some(connection) = session.connections().into_iter().next() else { return true };
        let granted = grant_by(&homes.policy, &session.user(), connection.peer.address.ip());
        return granted.is_some() && keeps_home(&tree.share, before, now);
    }
    let Some(share) = now.share(&tree.share.name) else { return false };
    let Some(connection) = session.connections().into_iter().next() else { return true };
    let granted = grant(share, &session.user(), connection.peer.address.ip());
    let is_enough = granted.is_some_and(|granted| tree.read_only || granted == Grant::ReadWrite);
    let is_sealed = tree.require_encryption || !share.options.require_encryption;
    is_enough && is_sealed && is_same_folder(&tree.share, share)
}

/// Whether opens of a share may be kept for a client that is not connected.
fn is_offered_alike(before: &Share, now: &Share) -> bool {
    let is_sealed = before.options.require_encryption || !now.options.require_encryption;
    before.options.policy == now.options.policy && is_sealed && is_same_folder(before, now)
}

fn is_same_folder(one: &Share, other: &Share) -> bool {
    match (&one.kind, &other.kind) {
        (ShareKind::Disk { volume: one, .. }, ShareKind::Disk { volume: other, .. }) => {
            Arc::ptr_eq(one, other)
        }
        _ => false,
    }
}
