//! Sessions of Macs with their bundles, as the server sees them.
//!
//! ```text
//!            a client opens a file of the bundle for writing
//!     none ──────────────────────────────────────────────────► goes on ◄──────┐ it comes back
//!      ▲                                                          │  └─────► lost: no connection, the files are kept for it
//!      └── the last such file is closed: completed, cancelled, slept, lost, disk full, limit, permission ◄┘
//! ```
//!
//! A session in which nothing changed does not count: the Mac has only looked.
//!
//! Over AFP a Mac says that it sleeps. Over SMB it does not. There a Mac that had gone away without a farewell, and had come back
//! for the files that it had open, is taken to sleep when it goes again.

use admin::control::{BackupSession, SessionEnd};

use super::record::{BackupRecord, RunningSession};

/// A bundle at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// Seconds since 1970.
    pub(crate) now: i64,
    /// Who has files of it open for writing: the account and the address, and whether there is a connection.
    pub(crate) writers: Vec<(String, bool)>,
    /// Bytes of its bands.
    pub(crate) size: u64,
    /// One of them has said that it sleeps.
    pub(crate) is_asleep: bool,
    /// When the bands were changed last.
    pub(crate) changed: i64,
    /// When the newest backup was completed.
    pub(crate) completed: Option<i64>,
    /// A write was refused since the last look, because the disk was full.
    pub(crate) was_full: bool,
    /// The limit of the Mac or of the share leaves no room for another band.
    pub(crate) is_at_limit: bool,
    /// Files of the bundle belong to another user than the bundle.
    pub(crate) is_of_others: bool,
}

impl BackupRecord {
    /// Notes what is seen. Answers how a session has ended that ends now.
    pub(crate) fn look(&mut self, look: &Look) -> Option<SessionEnd> {
        self.note_size(look.now, look.size);
        let Some((by, _)) = look.writers.first() else { return self.ended(look) };
        let is_here = look.writers.iter().any(|(_, is_connected)| *is_connected) && !look.is_asleep;
        let session = self.session.get_or_insert_with(|| RunningSession {
            began: look.now,
            by: by.clone(),
            size: look.size,
            changed: look.changed,
            completed: look.completed,
            lost: None,
            is_asleep: false,
            returns: 0,
            away_s: 0,
            was_full: false,
        });
        session.was_full |= look.was_full;
        if !is_here {
            session.lost = session.lost.or(Some(look.now));
            session.is_asleep |= look.is_asleep;
        } else if let Some(since) = session.lost.take() {
            session.is_asleep = false;
            session.returns = session.returns.saturating_add(1);
            session.away_s = session.away_s.saturating_add(look.now.saturating_sub(since).max(0));
        }
        None
    }

    /// The session that went on when the server was stopped or has crashed.
    pub(crate) fn server_began(&mut self) {
        if let Some(session) = self.session.take() {
            self.is_unlearned = true;
            self.add_session(BackupSession {
                began: session.began,
                ended: None,
                end: Some(SessionEnd::ServerStopped),
                by: session.by,
                grown: 0,
                away_s: session.away_s,
            });
        }
    }

    fn ended(&mut self, look: &Look) -> Option<SessionEnd> {
        let session = self.session.take()?;
        let is_completed = look.completed > session.completed;
        let has_changed = look.changed != session.changed || look.size != session.size;
        let end = match session.lost {
            _ if is_completed => SessionEnd::Completed,
            _ if session.was_full || look.was_full => SessionEnd::DiskFull,
            Some(_) if session.is_asleep || session.returns > 0 => SessionEnd::Slept,
            Some(_) => SessionEnd::Lost,
            None if look.is_at_limit => SessionEnd::Limit,
            None if look.is_of_others => SessionEnd::Permission,
            None if !has_changed => return None,
            None => SessionEnd::Cancelled,
        };
        self.is_unlearned = true;
        self.next_unlearned = 0;
        self.is_point_due |= end == SessionEnd::Completed;
        self.add_session(BackupSession {
            began: session.began,
            ended: Some(session.lost.unwrap_or(look.now)),
            end: Some(end),
            by: session.by,
            grown: i64::try_from(i128::from(look.size) - i128::from(session.size)).unwrap_or(i64::MAX),
            away_s: session.away_s,
        });
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(now: i64) -> Look {
        Look { now, size: 100, changed: 5, completed: Some(1), ..Look::default() }
    }

    fn writing(now: i64) -> Look {
        Look { writers: vec![("ada at 192.0.2.7".into(), true)], ..idle(now) }
    }

    /// How a session ends that has these looks.
    fn end(looks: &[Look]) -> Option<SessionEnd> {
        let mut record = BackupRecord::default();
        looks.iter().map(|look| record.look(look)).fold(None, |last, end| end.or(last))
    }

    #[test]
    fn a_session_with_a_new_backup_is_completed() {
        let after = Look { completed: Some(20), size: 150, changed: 21, ..idle(30) };
        let mut record = BackupRecord::default();
        assert_eq!(record.look(&writing(10)), None);
        assert_eq!(record.look(&after), Some(SessionEnd::Completed));
        let (session, _) = record.last_end().unwrap();
        assert_eq!((session.began, session.ended, session.grown), (10, Some(30), 50));
        assert!(session.by.starts_with("ada at") && record.is_unlearned);
        assert_eq!(record.look(&idle(40)), None, "it is told once");
    }

    #[test]
    fn a_session_that_the_mac_ends_itself_was_cancelled() {
        assert_eq!(end(&[writing(10), Look { size: 150, ..idle(20) }]), Some(SessionEnd::Cancelled));
        assert_eq!(end(&[writing(10), idle(20)]), None, "it has only looked");
    }

    #[test]
    fn a_session_whose_connection_goes_is_lost_unless_it_comes_back() {
        let lost = |now| Look { writers: vec![("client 7".into(), false)], ..idle(now) };
        let mut record = BackupRecord::default();
        let ends: Vec<_> =
            [writing(10), lost(20), lost(30), idle(900)].iter().map(|look| record.look(look)).collect();
        assert_eq!(ends[3], Some(SessionEnd::Lost));
        assert_eq!(record.last_end().unwrap().0.ended, Some(20), "it ended when the connection did");
        let back = [writing(10), lost(20), writing(30), Look { completed: Some(35), ..idle(40) }];
        assert_eq!(end(&back), Some(SessionEnd::Completed));
    }

    #[test]
    fn a_mac_that_says_that_it_sleeps_slept() {
        let asleep = |now| Look { is_asleep: true, ..writing(now) };
        let mut record = BackupRecord::default();
        record.look(&writing(10));
        record.look(&asleep(20));
        assert_eq!(record.session.as_ref().unwrap().lost, Some(20), "it is away although it is connected");
        assert_eq!(record.look(&Look { size: 150, ..idle(900) }), Some(SessionEnd::Slept));
        let awake = [writing(10), asleep(20), writing(30), Look { size: 150, ..idle(40) }];
        assert_eq!(end(&awake), Some(SessionEnd::Cancelled));
    }

    #[test]
    fn a_mac_that_had_come_back_before_sleeps_when_it_goes_again() {
        let lost = |now| Look { writers: vec![("client 7".into(), false)], ..idle(now) };
        let mut record = BackupRecord::default();
        for look in [writing(10), lost(20), writing(80), lost(100)] {
            record.look(&look);
        }
        assert_eq!(record.look(&idle(900)), Some(SessionEnd::Slept));
        assert_eq!(record.last_end().unwrap().0.away_s, 60);
    }

    #[test]
    fn files_of_another_user_are_a_reason() {
        let changed = Look { size: 150, is_of_others: true, ..idle(20) };
        assert_eq!(end(&[writing(10), changed]), Some(SessionEnd::Permission));
    }

    #[test]
    fn no_room_is_a_reason_before_others() {
        let changed = |now| Look { size: 150, ..idle(now) };
        let full = Look { was_full: true, ..writing(15) };
        assert_eq!(end(&[writing(10), full, changed(20)]), Some(SessionEnd::DiskFull));
        let at_limit = Look { is_at_limit: true, ..changed(20) };
        assert_eq!(end(&[writing(10), at_limit]), Some(SessionEnd::Limit));
    }

    #[test]
    fn a_session_that_the_server_left_is_told_after_its_start() {
        let mut record = BackupRecord::default();
        record.look(&writing(10));
        record.server_began();
        assert_eq!(record.last_end().unwrap().1, SessionEnd::ServerStopped);
        assert!(record.session.is_none() && record.is_unlearned);
    }
}
