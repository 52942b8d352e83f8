//! The life of a session while its client is silent, asleep or disconnected, and the client's
//! identification when it reconnects.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lock::Mutex;
use vfs::state::Absence;

use super::session_pulse::{Pulse, PulseAction};
use super::session_replies::Replies;
use super::session_token::TokenSecret;
use crate::ranks;

/// The identifier that a client gives, so that the server recognizes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct ClientIdentifier {
    pub(in crate::server) id: Box<[u8]>,
    /// The start time of its machine.
    pub(in crate::server) time: Option<u32>,
}

/// The life of a session.
#[derive(Default)]
pub(in crate::server) struct Life {
    /// The client has sent something since the last check.
    heard: AtomicBool,
    pulse: Mutex<Pulse, ranks::AfpPulse>,
    /// Proves that a client has had this session. Without it, no client can reconnect.
    secret: OnceLock<TokenSecret>,
    name: Mutex<Option<ClientIdentifier>, ranks::AfpName>,
    pub(in crate::server) replies: Replies,
    /// While its connection is lost: what ends the hold of its open files.
    away: Mutex<Vec<Absence>, ranks::AfpAbsences>,
    /// It has ended, for any reason.
    is_over: AtomicBool,
}

impl Life {
    /// Notes that the client has sent something.
    #[inline]
    pub(in crate::server) fn hear(&self) {
        self.heard.store(true, Ordering::Relaxed);
    }

    /// Advances the time; returns the next action.
    pub(in crate::server) fn pass(&self, time: Duration, connected: bool) -> PulseAction {
        self.pulse.lock().pass(time, self.heard.swap(false, Ordering::Relaxed), connected)
    }

    /// FPZzz: earlier messages do not wake the client up.
    pub(in crate::server) fn fall_asleep(&self, extended: bool) {
        self.pulse.lock().fall_asleep(extended);
        self.heard.store(false, Ordering::Relaxed);
    }

    /// The client is awake.
    pub(in crate::server) fn wake_up(&self) {
        self.pulse.lock().wake_up();
    }

    /// Whether the client must not be notified.
    pub(in crate::server) fn is_asleep(&self) -> bool {
        let heard = self.heard.load(Ordering::Relaxed);
        !heard && self.pulse.lock().is_asleep()
    }

    /// How long it has been disconnected.
    pub(in crate::server) fn time_away(&self) -> Duration {
        self.pulse.lock().away()
    }

    /// Its secret, which is made when the client first requests a token.
    pub(in crate::server) fn secret(&self) -> Option<&TokenSecret> {
        if self.secret.get().is_none() {
            let _ = self.secret.set(TokenSecret::random()?); // unless another thread has just set it
            self.replies.begin_keeping();
        }
        self.secret.get()
    }

    /// Whether the session has a secret, and it is this one.
    pub(in crate::server) fn has_secret(&self, offered: &[u8]) -> bool {
        self.secret.get().is_some_and(|secret| secret.is(offered))
    }

    /// Whether the client can reconnect at all.
    pub(in crate::server) fn can_come_back(&self) -> bool {
        self.secret.get().is_some() && !self.is_over.load(Ordering::Relaxed)
    }

    /// The client's identifier.
    pub(in crate::server) fn name(&self) -> Option<ClientIdentifier> {
        self.name.lock().clone()
    }

    /// Sets the client's identifier.
    pub(in crate::server) fn set_name(&self, name: ClientIdentifier) {
        *self.name.lock() = Some(name);
    }

    /// The connection is lost. `leave` tells `vfs`, unless the client has already reconnected.
    pub(in crate::server) fn go_away(
        &self,
        is_back: impl Fn() -> bool,
        leave: impl FnOnce() -> Vec<Absence>,
    ) {
        let mut away = self.away.lock();
        if !is_back() {
            *away = leave();
        }
    }

    /// The client has reconnected.
    pub(in crate::server) fn come_back(&self) {
        let away = std::mem::take(&mut *self.away.lock());
        drop(away);
        self.wake_up();
        self.replies.came_back();
    }

    /// Ends it. Answers false if it had ended before.
    pub(in crate::server) fn end(&self) -> bool {
        let first = !self.is_over.swap(true, Ordering::Relaxed);
        let away = std::mem::take(&mut *self.away.lock());
        drop(away);
        first
    }
}
