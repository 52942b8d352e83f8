//! New settings apply to connected clients. A session whose user is not admitted any more ends with
//! a notice (Apple Filing Protocol Reference, DSIAttention). The same holds for a session that has
//! lost former rights in each of its volumes: a Mac reconnects by itself, and opens them with the
//! new rights. If a session keeps some volumes, only volumes with changed rights are closed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use auth::Grant;

use super::config::Config;
use super::homes::keeps_home;
use super::service::Service;
use crate::server::sessions::session::Session;
use crate::server::volumes::open_volume::OpenVolume;
use crate::wire::dsi::Attention;

impl Service {
    /// Applies new settings.
    pub fn set_config(&self, config: Config) {
        let (before, now) = self.replace_config(config);
        for session in self.all_sessions() {
            let user = session.user.name.as_deref().unwrap_or("guest");
            if !may_stay(&session, &before, &now) {
                tracing::info!(user, "the settings have changed: an AFP session ends");
                self.disconnect(&session, Attention::SHUTDOWN | Attention::DONT_RECONNECT);
                continue;
            }
            let (kept, lost): (Vec<_>, Vec<_>) = session
                .volumes
                .all()
                .into_iter()
                .partition(|volume| volume_may_stay(&session, volume, (&before, &now)));
            if lost.is_empty() {
                continue;
            }
            let names: Vec<&str> = lost.iter().map(|volume| &*volume.share.name).collect();
            tracing::info!(user, volumes = ?names, "the settings have changed: AFP volumes are closed");
            if kept.is_empty() {
                self.disconnect(&session, Attention::SHUTDOWN);
            } else {
                lost.iter().for_each(|volume| session.close_volume(volume.id));
            }
        }
    }
}

impl Session {
    fn close_volume(&self, id: u16) {
        self.volumes.close(id);
        self.forks.close_volume(id);
        self.notice(Attention::NOTIFY | Attention::VOLUME_CHANGED); // so the client looks again
    }
}

/// Whether the session may continue. Users that have changed their own password in this session
/// may.
fn may_stay(session: &Session, before: &Config, now: &Config) -> bool {
    match &session.user.name {
        None => before.guest == now.guest,
        Some(name) if session.has_changed_password.swap(false, Ordering::Relaxed) => {
            now.accounts.of_session(name).is_some_and(|account| !account.disabled)
        }
        Some(name) => auth::may_go_on(name, &*before.accounts, &*now.accounts),
    }
}

fn volume_may_stay(session: &Session, volume: &OpenVolume, (before, now): (&Config, &Config)) -> bool {
    if volume.share.options.home_in.is_some() {
        return keeps_home(session, &volume.share, before, now);
    }
    let Some(share) = now.shares.iter().find(|share| share.name == volume.share.name) else { return false };
    if session.connection().is_none() {
        return share.options.policy == volume.share.options.policy; // its client is disconnected
    }
    let granted = session.grant(share);
    let is_enough =
        granted.is_some_and(|granted| volume.grant == Grant::ReadOnly || granted == Grant::ReadWrite);
    is_enough && Arc::ptr_eq(&share.volume, &volume.share.volume)
}
