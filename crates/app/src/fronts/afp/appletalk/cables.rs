//! The links of the settings: opened, and opened again when they come back.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use admin::control::AppleTalkLinkStatus;
use appletalk::HardwareAddress;
use appletalk::links::{self, Link, LinkCounters, LinkError, LinkName};

/// How often a link that is missing is tried.
const RETRY_EVERY: Duration = Duration::from_secs(5);
/// How long a link that is down is left alone.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked whether a link still leads where its name does.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Groups of zones that one link receives.
const MAX_GROUPS: usize = 16;
/// Frames of one link before the others have a turn.
const TURN: usize = 64;

/// A link of the settings.
#[derive(Debug)]
pub(super) struct Cable {
    name: LinkName,
    link: Option<Box<dyn Link>>,
    /// Why it does not work.
    problem: Option<String>,
    /// When it is opened, or used, again.
    rests_until: Option<Instant>,
    /// When it is looked at again.
    looked_at: Option<Instant>,
    /// Its interface is down, or its cable is pulled out: nothing can be sent.
    is_unplugged: bool,
    /// It was away, and works again.
    has_returned: bool,
    /// The groups of zones whose frames it receives.
    groups: Vec<HardwareAddress>,
    /// What has passed before it was opened last.
    earlier: LinkCounters,
}

impl Cable {
    pub(super) fn new(name: LinkName) -> Self {
        let (groups, earlier) = (Vec::new(), LinkCounters::default());
        Self {
            name,
            link: None,
            problem: None,
            rests_until: None,
            looked_at: None,
            is_unplugged: false,
            has_returned: false,
            groups,
            earlier,
        }
    }

    pub(super) fn name(&self) -> &LinkName {
        &self.name
    }

    /// Whether it is open.
    pub(super) fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// The own station, if it is an open link of Ethernet.
    pub(super) fn hardware_address(&self) -> Option<HardwareAddress> {
        self.link.as_ref()?.hardware_address()
    }

    /// Opens it if that is due. Answers whether it was opened.
    pub(super) fn open(&mut self, now: Instant) -> bool {
        if self.is_open() || self.rests_until.is_some_and(|until| now < until) {
            return false;
        }
        match links::open(&self.name) {
            Ok(link) => {
                tracing::info!(link = %self.name, "AppleTalk has opened a link");
                (self.link, self.problem, self.rests_until) = (Some(link), None, None);
                self.has_returned = true;
                std::mem::take(&mut self.groups).into_iter().for_each(|group| self.join(group, now));
                self.look(now);
                true
            }
            Err(error) => {
                self.fails(&error, now);
                false
            }
        }
    }

    /// Looks at it, if that is due, or if interfaces have changed. If it is missing, it may be opened again then.
    pub(super) fn tick(&mut self, has_changed: bool, now: Instant) {
        if has_changed && !self.is_open() {
            self.rests_until = None;
        }
        if has_changed || self.looked_at.is_some_and(|at| at <= now) {
            self.look(now);
        }
    }

    fn look(&mut self, now: Instant) {
        let Some(link) = &mut self.link else { return };
        self.looked_at = Some(now + LOOK_EVERY);
        match link.check() {
            Ok(()) if self.is_unplugged => {
                self.is_unplugged = false;
                self.note(Ok(()), now);
            }
            Ok(()) => {}
            Err(error) => {
                self.is_unplugged = matches!(error, LinkError::Down { .. });
                self.fails(&error, now);
            }
        }
    }

    /// Whether it was opened, or works again, since this was asked last: another node may have taken the address there.
    pub(super) fn take_returned(&mut self) -> bool {
        std::mem::take(&mut self.has_returned)
    }

    /// Sends a frame. What a link cannot send is lost, as on a cable.
    pub(super) fn send(&mut self, frame: &[u8], now: Instant) {
        if self.is_unplugged {
            self.earlier.lost += 1;
        } else if let Some(link) = &mut self.link {
            let sent = link.send(frame);
            self.note(sent, now);
        }
    }

    /// Sends what waits.
    pub(super) fn flush(&mut self, now: Instant) {
        if let Some(link) = &mut self.link {
            let sent = link.flush();
            self.note(sent, now);
        }
    }

    /// Receives the frames of a zone's group, too.
    pub(super) fn join(&mut self, group: HardwareAddress, now: Instant) {
        if self.groups.contains(&group) || self.groups.len() >= MAX_GROUPS {
            return;
        }
        self.groups.push(group);
        if let Some(link) = &mut self.link {
            let joined = link.join(group);
            self.note(joined, now);
        }
    }

    /// No longer receives the frames of a zone's group.
    pub(super) fn leave(&mut self, group: HardwareAddress, now: Instant) {
        self.groups.retain(|known| *known != group);
        if let Some(link) = &mut self.link {
            let left = link.leave(group);
            self.note(left, now);
        }
    }

    /// The same for all groups: the stack that joined them is replaced.
    pub(super) fn leave_all(&mut self, now: Instant) {
        self.groups.clone().into_iter().for_each(|group| self.leave(group, now));
    }

    /// Gives the frames that have arrived to `take`. Some may be left.
    pub(super) fn receive(&mut self, now: Instant, mut take: impl FnMut(&[u8])) {
        for _ in 0..TURN {
            let Some(link) = &mut self.link else { return };
            let received = match link.receive() {
                Ok(Some(frame)) => {
                    take(frame);
                    continue;
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            return self.note(received, now);
        }
    }

    fn note(&mut self, outcome: Result<(), LinkError>, now: Instant) {
        match outcome {
            // The kernel takes frames for a cable that is pulled out.
            Ok(()) if self.is_unplugged => {}
            Ok(()) if self.problem.is_some() => {
                tracing::info!(link = %self.name, "a link of AppleTalk works again");
                (self.problem, self.rests_until, self.has_returned) = (None, None, true);
            }
            Ok(()) => {}
            Err(error @ LinkError::Unsendable { .. }) => {
                tracing::debug!(%error, "a frame of AppleTalk is lost")
            }
            Err(error) => self.fails(&error, now),
        }
    }

    /// It does not work: the log says so once.
    fn fails(&mut self, error: &LinkError, now: Instant) {
        let problem = error.to_string();
        if self.problem.as_ref() != Some(&problem) {
            tracing::warn!("AppleTalk: {problem}");
        }
        let is_lost = error.is_lasting() || self.link.is_none();
        self.rests_until = Some(now + if is_lost { RETRY_EVERY } else { PAUSE });
        self.is_unplugged &= !is_lost;
        if is_lost && let Some(link) = self.link.take() {
            self.earlier = sum(self.earlier, link.counters());
        }
        self.problem = Some(problem);
    }

    /// The descriptor to be polled, and whether something waits for the link to take it.
    pub(super) fn socket(&self, now: Instant) -> Option<(BorrowedFd<'_>, bool)> {
        let link = self.link.as_ref().filter(|_| self.rests_until.is_none_or(|until| until <= now))?;
        Some((link.as_fd(), link.has_backlog()))
    }

    /// When it is opened, used or looked at again.
    pub(super) fn deadline(&self, now: Instant) -> Option<Instant> {
        let rests = self.rests_until.filter(|until| *until > now || !self.is_open());
        rests.into_iter().chain(self.looked_at.filter(|_| self.is_open())).min()
    }

    /// For a status.
    pub(super) fn report(&self) -> AppleTalkLinkStatus {
        let counters = self.link.as_ref().map_or(self.earlier, |link| sum(self.earlier, link.counters()));
        AppleTalkLinkStatus {
            link: self.name.to_string(),
            problem: self.problem.clone(),
            received: counters.received,
            sent: counters.sent,
            lost: counters.lost,
            malformed: counters.malformed,
            ..AppleTalkLinkStatus::default()
        }
    }
}

fn sum(one: LinkCounters, other: LinkCounters) -> LinkCounters {
    LinkCounters {
        received: one.received + other.received,
        sent: one.sent + other.sent,
        lost: one.lost + other.lost,
        malformed: one.malformed + other.malformed,
    }
}
