//! Whether this server keeps the schedules of its shares. In a cluster one server does, and this program asks its own server
//! whether that is it. A server that was stopped does not answer: what it said last counts until its membership can have ended.

use std::time::Duration;

use admin::Settings;
use admin::control::{self, AskError, Schedules};
use cluster::fence;

/// How long the server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(1_000);
/// Nothing is begun later than this before another server may keep the schedules.
const MARGIN: Duration = Duration::from_millis(1_000);

/// What the server said last.
#[derive(Default)]
pub(super) struct Role {
    now: Now,
    /// The server is starting, or does not answer.
    is_unanswered: bool,
    /// The shares in which clients of other servers make backups of Macs.
    pub(super) backups_elsewhere: Vec<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Now {
    /// Another server keeps them, or it is not known yet.
    #[default]
    Elsewhere,
    /// Until then, by the clock of [`fence::now`].
    Until(Duration),
    /// The server is alone.
    Alone,
}

impl Role {
    /// Asks the server.
    pub(super) fn ask(&mut self, settings: &Settings) {
        let (asked, answer) = (fence::now(), control::schedules(&settings.server.state, ANSWER_WITHIN));
        self.hear(asked, answer, settings.server.cluster.is_some());
    }

    fn hear(&mut self, asked: Duration, answer: Result<Schedules, AskError>, in_cluster: bool) {
        self.is_unanswered = in_cluster && answer.is_err();
        match answer {
            Ok(Schedules { left_ms, backups_elsewhere }) => {
                self.backups_elsewhere = backups_elsewhere;
                self.now = match left_ms {
                    None => Now::Alone,
                    Some(0) => Now::Elsewhere,
                    Some(left) => Now::Until(asked + Duration::from_millis(left)),
                };
            }
            Err(_) if !in_cluster => self.now = Now::Alone, // the server is starting, or busy
            Err(_) if self.now == Now::Alone => self.now = Now::Elsewhere,
            Err(_) => {} // what it said last counts
        }
    }

    /// Whether something may begin now. The server is asked again if its last answer is about to end.
    pub(super) fn may_begin(&mut self, settings: &Settings) -> bool {
        if self.left(fence::now()) < MARGIN {
            self.ask(settings);
        }
        self.left(fence::now()) >= MARGIN
    }

    /// Whether what runs may go on.
    pub(super) fn is_here(&self) -> bool {
        !self.left(fence::now()).is_zero()
    }

    /// Whether the answer of the server ends.
    pub(super) fn is_for_a_time(&self) -> bool {
        matches!(self.now, Now::Until(_))
    }

    /// Whether the server of a cluster has not answered.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }

    fn left(&self, now: Duration) -> Duration {
        match self.now {
            Now::Elsewhere => Duration::ZERO,
            Now::Until(until) => until.saturating_sub(now),
            Now::Alone => Duration::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_SERVER: fn() -> Result<Schedules, AskError> = || Err(AskError::NoServer("state".into()));

    fn said(left_ms: Option<u64>) -> Result<Schedules, AskError> {
        Ok(Schedules { left_ms, backups_elsewhere: Vec::new() })
    }

    #[test]
    fn a_server_that_is_alone_keeps_its_schedules_while_it_starts() {
        let mut role = Role::default();
        assert!(!role.is_here());
        role.hear(Duration::ZERO, NO_SERVER(), false);
        assert!(role.is_here() && !role.is_for_a_time());
        role.hear(Duration::ZERO, said(None), true); // in a cluster from its next start on
        assert!(role.is_here());
        role.hear(Duration::ZERO, NO_SERVER(), true);
        assert!(!role.is_here());
    }

    #[test]
    fn what_a_server_of_a_cluster_said_counts_until_its_membership_can_have_ended() {
        let (mut role, asked) = (Role::default(), Duration::from_secs(100));
        role.hear(asked, NO_SERVER(), true);
        assert_eq!(role.left(asked), Duration::ZERO);
        role.hear(asked, said(Some(4_000)), true);
        role.hear(asked + Duration::from_secs(3), NO_SERVER(), true); // it was stopped
        assert_eq!(role.left(asked + Duration::from_secs(3)), Duration::from_secs(1));
        assert_eq!(role.left(asked + Duration::from_secs(5)), Duration::ZERO);
        role.hear(asked, said(Some(0)), true);
        assert_eq!(role.left(asked), Duration::ZERO);
    }
}
