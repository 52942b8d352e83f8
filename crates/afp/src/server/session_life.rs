//! What keeps a session alive while its client is silent, asleep or away, and by what the client is known when it comes back.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lock::{Mutex, rank};
use vfs::state::Absence;

use super::session_pulse::{Due, Pulse};
use super::session_replies::Replies;
use super::session_token::Secret;

/// What a client calls itself, so that the server knows it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) id: Box<[u8]>,
    /// When its machine has started.
    pub(super) time: Option<u32>,
}

/// The life of a session.
#[derive(Default)]
pub(super) struct Life {
    /// The client has said something since the last look.
    heard: AtomicBool,
    pulse: Mutex<Pulse, rank::AfpPulse>,
    /// Proves that somebody has had this session. Without one nobody comes back.
    secret: OnceLock<Secret>,
    name: Mutex<Option<Name>, rank::AfpName>,
    pub(super) replies: Replies,
    /// While its connection is lost: what makes it give way.
    away: Mutex<Vec<Absence>, rank::AfpAbsences>,
    /// It has ended, for whatever reason.
    is_over: AtomicBool,
}

impl Life {
    /// The client has said something.
    #[inline]
    pub(super) fn hear(&self) {
        self.heard.store(true, Ordering::Relaxed);
    }

    /// Time has passed: what there is to do.
    pub(super) fn pass(&self, time: Duration, connected: bool) -> Due {
        self.pulse.lock().pass(time, self.heard.swap(false, Ordering::Relaxed), connected)
    }

    /// FPZzz: what was said before does not wake the client up again.
    pub(super) fn fall_asleep(&self, extended: bool) {
        self.pulse.lock().fall_asleep(extended);
        self.heard.store(false, Ordering::Relaxed);
    }

    /// The client is there.
    pub(super) fn wake_up(&self) {
        self.pulse.lock().wake_up();
    }

    /// Whether the client is not to be told anything.
    pub(super) fn is_asleep(&self) -> bool {
        let heard = self.heard.load(Ordering::Relaxed);
        !heard && self.pulse.lock().is_asleep()
    }

    /// How long it has been away.
    pub(super) fn time_away(&self) -> Duration {
        self.pulse.lock().away()
    }

    /// Its secret, made when the client first wants to be able to come back.
    pub(super) fn secret(&self) -> Option<&Secret> {
        if self.secret.get().is_none() {
            let _ = self.secret.set(Secret::random()?); // or somebody else has just made it
            self.replies.begin_keeping();
        }
        self.secret.get()
    }

    /// Whether the client has one, and this is it.
    pub(super) fn has_secret(&self, offered: &[u8]) -> bool {
        self.secret.get().is_some_and(|secret| secret.is(offered))
    }

    /// Whether the client can come back at all.
    pub(super) fn can_come_back(&self) -> bool {
        self.secret.get().is_some() && !self.is_over.load(Ordering::Relaxed)
    }

    /// What the client calls itself.
    pub(super) fn name(&self) -> Option<Name> {
        self.name.lock().clone()
    }

    /// The client calls itself so from now on.
    pub(super) fn set_name(&self, name: Name) {
        *self.name.lock() = Some(name);
    }

    /// The connection is lost: `leave` says so to the tree, unless the client is back already.
    pub(super) fn go_away(&self, is_back: impl Fn() -> bool, leave: impl FnOnce() -> Vec<Absence>) {
        let mut away = self.away.lock();
        if !is_back() {
            *away = leave();
        }
    }

    /// The client is back.
    pub(super) fn come_back(&self) {
        let away = std::mem::take(&mut *self.away.lock());
        drop(away);
        self.wake_up();
        self.replies.came_back();
    }

    /// It is over. Answers whether it was not before.
    pub(super) fn end(&self) -> bool {
        let first = !self.is_over.swap(true, Ordering::Relaxed);
        let away = std::mem::take(&mut *self.away.lock());
        drop(away);
        first
    }
}
