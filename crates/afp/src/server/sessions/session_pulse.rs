//! The lifetime of a silent session, Apple Filing Protocol Programming Guide, "Detecting
//! Disconnections". Without a clock: the caller says how much time has passed.
//!
//! ```text
//!          FPZzz                        2 min of silence
//! asleep ◄─────── awake, connected ─────────────────────► connection closed ─► away ─┬─ comes back ─► awake
//!   │  a request ────►  tickled every 30 s                                           └─ AWAY ───────► over
//!   └─ ASLEEP ─► over                       (an extended sleep ends only by FPZzz)
//! ```

use std::time::Duration;

/// How often the server sends a tickle.
pub(in crate::server) const TICKLE_EVERY: Duration = Duration::from_secs(30);
/// A client that is silent for this long counts as gone.
pub(in crate::server) const SILENCE: Duration = Duration::from_secs(120);
/// How long a client may sleep.
pub(in crate::server) const ASLEEP: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the server keeps the session of a disconnected client. This is long, because its files
/// do not block other clients meanwhile.
pub(in crate::server) const AWAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The next action for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum PulseAction {
    Nothing,
    /// Send a tickle to the client.
    Tickle,
    /// Close the connection: the client does not answer.
    Close,
    /// End the session.
    End,
}

/// The kind of sleep of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sleep {
    #[default]
    Awake,
    /// It sleeps until its next request.
    Light,
    /// It sleeps until an FPZzz with the flag to wake up.
    Extended,
}

/// The times since certain events.
#[derive(Debug, Default)]
pub(in crate::server) struct Pulse {
    sleep: Sleep,
    /// Since the client's last message, or since it fell asleep.
    silent: Duration,
    /// Since the last tickle.
    untickled: Duration,
    /// Since its connection was lost.
    away: Duration,
}

impl Pulse {
    /// Advances the time. `heard`: the client has sent something meanwhile.
    pub(in crate::server) fn pass(&mut self, time: Duration, heard: bool, connected: bool) -> PulseAction {
        self.silent = if heard { Duration::ZERO } else { self.silent + time };
        self.away = if connected { Duration::ZERO } else { self.away + time };
        if heard && self.sleep == Sleep::Light {
            self.sleep = Sleep::Awake;
        }
        if self.is_asleep() {
            return if self.silent >= ASLEEP { PulseAction::End } else { PulseAction::Nothing };
        }
        if !connected {
            return if self.away >= AWAY { PulseAction::End } else { PulseAction::Nothing };
        }
        if self.silent >= SILENCE {
            return PulseAction::Close;
        }
        self.untickled += time;
        if self.untickled < TICKLE_EVERY {
            return PulseAction::Nothing;
        }
        self.untickled = Duration::ZERO;
        PulseAction::Tickle
    }

    /// The client goes to sleep.
    pub(in crate::server) fn fall_asleep(&mut self, extended: bool) {
        self.sleep = if extended { Sleep::Extended } else { Sleep::Light };
        self.silent = Duration::ZERO;
    }

    /// The client is awake: it says so, or has reconnected.
    pub(in crate::server) fn wake_up(&mut self) {
        *self = Self::default();
    }

    /// Whether the client must not be notified.
    pub(in crate::server) fn is_asleep(&self) -> bool {
        self.sleep != Sleep::Awake
    }

    /// How long it has been disconnected.
    pub(in crate::server) fn away(&self) -> Duration {
        self.away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(10);

    /// The actions of this many steps, without empty ones.
    fn due(pulse: &mut Pulse, steps: u32, heard: bool, connected: bool) -> Vec<(u32, PulseAction)> {
        let all = (1..=steps).map(|step| (step, pulse.pass(STEP, heard, connected)));
        all.filter(|(_, due)| *due != PulseAction::Nothing).collect()
    }

    #[test]
    fn a_client_is_tickled_every_thirty_seconds_and_given_up_after_two_minutes_of_silence() {
        let due = due(&mut Pulse::default(), 12, false, true);
        assert_eq!(
            due,
            [
                (3, PulseAction::Tickle),
                (6, PulseAction::Tickle),
                (9, PulseAction::Tickle),
                (12, PulseAction::Close)
            ]
        );
    }

    #[test]
    fn a_client_that_is_heard_is_kept_for_ever() {
        let due = due(&mut Pulse::default(), 3000, true, true);
        assert!(due.len() == 1000 && due.iter().all(|(_, due)| *due == PulseAction::Tickle));
    }

    #[test]
    fn a_sleeper_is_told_nothing_and_ends_after_its_time() {
        let mut pulse = Pulse::default();
        pulse.fall_asleep(true);
        assert_eq!(due(&mut pulse, 24 * 360, false, true), [(24 * 360, PulseAction::End)]);
        let mut pulse = Pulse::default();
        pulse.fall_asleep(true);
        assert_eq!(
            due(&mut pulse, 24 * 360, false, false),
            [(24 * 360, PulseAction::End)],
            "its connection lost or not"
        );
    }

    #[test]
    fn light_sleep_ends_by_any_request_and_extended_sleep_by_its_own() {
        let mut pulse = Pulse::default();
        pulse.fall_asleep(false);
        pulse.pass(STEP, true, true);
        assert!(!pulse.is_asleep());
        pulse.fall_asleep(true);
        pulse.pass(STEP, true, true);
        assert!(pulse.is_asleep());
        pulse.wake_up();
        assert_eq!(due(&mut pulse, 3, false, true), [(3, PulseAction::Tickle)]);
    }

    #[test]
    fn a_lost_client_is_waited_for_a_day() {
        assert_eq!(due(&mut Pulse::default(), 24 * 360, false, false), [(24 * 360, PulseAction::End)]);
    }
}
