//! One log line for each login, failure and end, of every protocol, under the target `login`: the
//! user, the address, the method, and the reason of a failure. docs/logs.md describes the format,
//! which programs such as fail2ban read: it must not change unnoticed.
//!
//! Any client that can reach the server can make it write lines. So lines are limited for each
//! source and in total. Failures have their own limit, so that a flood of them hides no login.
//! Lines above the limits are counted, and the count is logged.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;
use wire::{ClientAddress, ClientIp};

use crate::login_limiter::network;
use crate::ranks;

/// Lines of one source at once, for failures and for others.
const BURST_OF_PLACE: u32 = 20;
/// One more line after each period.
const EACH_OF_PLACE: Duration = Duration::from_secs(3);
/// Lines of all sources at once, for failures and for others.
const BURST_OF_ALL: u32 = 400;
/// One more line after each period.
const EACH_OF_ALL: Duration = Duration::from_millis(50);
/// The most sources with a count of their own.
const MAX_PLACES: usize = 4096;
/// The most sources whose count is logged at once; the others are summed.
const MAX_TOLD: usize = 16;
/// How often the count of one source is logged.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// Characters of a user's name in a line.
const MAX_USER: usize = 64;
/// Characters of the login's target or identity, and of a reason.
const MAX_TEXT: usize = 256;

/// The destination of the lines.
type Sink = Box<dyn Fn(&Line) + Send + Sync>;

/// Writes the lines. Shared by all protocols.
pub struct LoginLog {
    sink: Sink,
    /// Failed and refused logins.
    failed: AtomicU64,
    state: Mutex<LogState, ranks::LoginLines>,
}

/// A login.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// `smb`, `afp`, `nfs` or `iscsi`.
    pub protocol: &'static str,
    /// The client's end of the connection.
    pub peer: SocketAddr,
    /// The name from the client.
    pub user: &'a str,
    /// The authentication method: `NTLMv2`, `DHX2`, `CHAP`, `guest`, …
    pub method: &'static str,
}

/// The event of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// It succeeded; the identity or the target.
    Accepted(&'a str),
    /// It failed; the reason.
    Failed(&'a str),
    /// It was not checked, because too many logins wait.
    Refused,
    /// The session has ended; its target or identity, and its duration.
    Ended {
        /// The text of [`Event::Accepted`], or empty.
        to: &'a str,
        /// `None`: unknown.
        after: Option<Duration>,
    },
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// About a login.
    Login {
        /// `accepted`, `failed`, `refused` or `ended`.
        event: &'static str,
        /// See [`Login`].
        protocol: &'static str,
        /// The client.
        peer: SocketAddr,
        /// See [`Login`]; cut to its limit.
        user: String,
        /// See [`Login`].
        method: &'static str,
        /// The identity or the target of a successful login.
        to: Option<String>,
        /// The reason of a failure.
        reason: Option<String>,
        /// The duration of a session.
        seconds: Option<u64>,
    },
    /// About lines above the limits.
    LeftOut {
        /// The source of the logins; `None`: several sources.
        address: Option<IpAddr>,
        /// The number of lines.
        lines: u64,
    },
}

/// The remaining limits, and the counts of lines above them.
struct LogState {
    places: HashMap<(IpAddr, Kind), Place>,
    all: [LineBucket; 2],
    /// Lines above the limits without a source's own count.
    elsewhere: u64,
}

struct Place {
    bucket: LineBucket,
    left_out: u64,
    told: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Other = 0,
    Failure = 1,
}

/// A limit of lines: some at once, and one more after each period.
#[derive(Clone, Copy)]
struct LineBucket {
    used: u32,
    /// The time up to which `used` is right.
    counted: Instant,
}

/// The line in the log's format, without the time.
impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Login { event, protocol, peer, user, method, to, reason, seconds } => {
                let (address, port) = (ClientIp(peer.ip()), ClientAddress(*peer).port());
                write!(f, "{event} protocol={protocol:?} address={address} port={port}")?;
                write!(f, " user={user:?} method={method:?}")?;
                to.iter().try_for_each(|to| write!(f, " to={to:?}"))?;
                reason.iter().try_for_each(|reason| write!(f, " reason={reason:?}"))?;
                seconds.iter().try_for_each(|seconds| write!(f, " seconds={seconds}"))
            }
            Self::LeftOut { address: Some(address), lines } => {
                write!(f, "left out address={} lines={lines}", ClientIp(*address))
            }
            Self::LeftOut { address: None, lines } => write!(f, "left out lines={lines}"),
        }
    }
}

impl Default for LoginLog {
    fn default() -> Self {
        Self::to(trace)
    }
}

impl LoginLog {
    /// A log whose lines do not go into the program's log: for tests.
    #[must_use]
    pub fn to(sink: impl Fn(&Line) + Send + Sync + 'static) -> Self {
        let full = LineBucket { used: 0, counted: Instant::now() };
        let state = LogState { places: HashMap::new(), all: [full; 2], elsewhere: 0 };
        Self { sink: Box::new(sink), failed: AtomicU64::new(0), state: Mutex::new(state) }
    }

    /// Writes an event of a login, unless there have recently been too many lines.
    pub fn tell(&self, login: &Login<'_>, event: Event<'_>, now: Instant) {
        let kind = match event {
            Event::Failed(_) | Event::Refused => Kind::Failure,
            Event::Accepted(_) | Event::Ended { .. } => Kind::Other,
        };
        if kind == Kind::Failure {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        let place = network(login.peer.ip());
        let Some(left_out) = self.state.lock().admit((place, kind), now) else { return };
        if left_out > 0 {
            (self.sink)(&Line::LeftOut { address: Some(login.peer.ip().to_canonical()), lines: left_out });
        }
        (self.sink)(&line(login, event));
    }

    /// How many logins have failed or were refused, also those without a line.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Writes the counts of lines above the limits, if no later line of the same source has. Called
    /// regularly.
    pub fn tend(&self, now: Instant) {
        let told = self.state.lock().left_out(now);
        for (address, lines) in told {
            (self.sink)(&Line::LeftOut { address, lines });
        }
    }
}

fn line(login: &Login<'_>, event: Event<'_>) -> Line {
    let (word, to, reason, after) = match event {
        Event::Accepted(to) => ("accepted", to, "", None),
        Event::Failed(reason) => ("failed", "", reason, None),
        Event::Refused => ("refused", "", "too many logins wait", None),
        Event::Ended { to, after } => ("ended", to, "", after),
    };
    let said = |text: &str| (!text.is_empty()).then(|| cut(text, MAX_TEXT));
    let seconds = after.map(|after| after.as_secs());
    let peer = SocketAddr::new(login.peer.ip().to_canonical(), login.peer.port());
    let Login { protocol, user, method, .. } = *login;
    let (user, to, reason) = (cut(user, MAX_USER), said(to), said(reason));
    Line::Login { event: word, protocol, peer, user, method, to, reason, seconds }
}

/// The start of a text, up to the limit of a line.
fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Texts are passed as strings, which the program's log escapes: a name cannot begin a new line.
fn trace(line: &Line) {
    match line {
        Line::Login { event, protocol, peer, user, method, to, reason, seconds } => {
            let (address, port, user) = (ClientIp(peer.ip()), ClientAddress(*peer).port(), user.as_str());
            let (to, reason) = (to.as_deref(), reason.as_deref());
            tracing::info!(target: "login", protocol, %address, port, user, method, to, reason, seconds, "{event}");
        }
        Line::LeftOut { address: Some(address), lines } => {
            let address = ClientIp(*address);
            tracing::info!(target: "login", %address, lines, "left out");
        }
        Line::LeftOut { address: None, lines } => tracing::info!(target: "login", lines, "left out"),
    }
}

impl LogState {
    /// Whether a line may be written, and how many lines of the same source were left out before
    /// it.
    fn admit(&mut self, key: (IpAddr, Kind), now: Instant) -> Option<u64> {
        if self.places.len() >= MAX_PLACES && !self.places.contains_key(&key) {
            self.places.retain(|_, place| place.left_out > 0 || place.bucket.used_at(EACH_OF_PLACE, now) > 0);
        }
        let is_known = self.places.len() < MAX_PLACES || self.places.contains_key(&key);
        if !is_known {
            self.elsewhere += 1;
            return None;
        }
        let new = Place { bucket: LineBucket { used: 0, counted: now }, left_out: 0, told: None };
        let place = self.places.entry(key).or_insert(new);
        let all = &mut self.all[key.1 as usize];
        let has_room = place.bucket.used_at(EACH_OF_PLACE, now) < BURST_OF_PLACE
            && all.used_at(EACH_OF_ALL, now) < BURST_OF_ALL;
        if !has_room {
            place.left_out += 1;
            return None;
        }
        place.bucket.used += 1;
        all.used += 1;
        Some(std::mem::take(&mut place.left_out))
    }

    /// The counts to write now: the largest, and the sum of the others.
    fn left_out(&mut self, now: Instant) -> Vec<(Option<IpAddr>, u64)> {
        let is_due = |place: &Place| {
            place.left_out > 0
                && place.told.is_none_or(|told| now.saturating_duration_since(told) >= TELL_EVERY)
        };
        let mut due: Vec<_> = self.places.iter_mut().filter(|(_, place)| is_due(place)).collect();
        due.sort_by_key(|(_, place)| std::cmp::Reverse(place.left_out));
        let mut told = Vec::new();
        let mut others = std::mem::take(&mut self.elsewhere);
        for (number, ((address, _), place)) in due.into_iter().enumerate() {
            place.told = Some(now);
            let lines = std::mem::take(&mut place.left_out);
            if number < MAX_TOLD {
                told.push((Some(*address), lines));
            } else {
                others += lines;
            }
        }
        told.extend((others > 0).then_some((None, others)));
        told
    }
}

impl LineBucket {
    fn used_at(&mut self, each: Duration, now: Instant) -> u32 {
        let since = now.saturating_duration_since(self.counted);
        let back = u32::try_from(since.as_millis() / each.as_millis()).unwrap_or(u32::MAX);
        if back >= self.used {
            (self.used, self.counted) = (0, now);
        } else {
            self.used -= back;
            self.counted += each * back;
        }
        self.used
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A log that keeps its lines.
    fn log() -> (LoginLog, Arc<Mutex<Vec<String>, ranks::KeptLines>>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        (LoginLog::to(move |line: &Line| kept.lock().push(line.to_string())), lines)
    }

    fn by(user: &'static str, peer: &str) -> Login<'static> {
        Login { protocol: "smb", peer: peer.parse().unwrap(), user, method: "NTLMv2" }
    }

    #[test]
    fn a_login_its_failure_and_its_end_are_a_line_each() {
        let (log, lines) = log();
        let (now, ada) = (Instant::now(), by("ada", "[::ffff:192.0.2.7]:51234"));
        log.tell(&ada, Event::Accepted("SMB 3.1.1"), now);
        log.tell(&ada, Event::Failed("wrong password"), now);
        log.tell(&ada, Event::Refused, now);
        log.tell(&ada, Event::Ended { to: "", after: Some(Duration::from_millis(12_900)) }, now);
        let expected = [
            "accepted WHO to=\"SMB 3.1.1\"",
            "failed WHO reason=\"wrong password\"",
            "refused WHO reason=\"too many logins wait\"",
            "ended WHO seconds=12",
        ];
        let who = "protocol=\"smb\" address=192.0.2.7 port=51234 user=\"ada\" method=\"NTLMv2\"";
        let expected = expected.map(|line| line.replace("WHO", who));
        assert_eq!(*lines.lock(), expected);
    }

    #[test]
    fn a_name_cannot_begin_a_line_of_its_own_or_pass_for_another_field() {
        let (log, lines) = log();
        let name = "ada\" address=192.0.2.1\nINFO login: accepted\u{1b}[31m";
        log.tell(&by(name, "192.0.2.7:1"), Event::Failed("wrong password"), Instant::now());
        let line = lines.lock()[0].clone();
        assert!(
            !line.contains(['\n', '\u{1b}']) && line.contains(r#"user="ada\" address=192.0.2.1\nINFO"#),
            "{line}"
        );
    }

    #[test]
    fn a_long_name_is_cut_off() {
        let (log, lines) = log();
        let long: &'static str = Box::leak("ä".repeat(100_000).into_boxed_str());
        log.tell(&by(long, "192.0.2.7:1"), Event::Failed("wrong password"), Instant::now());
        assert!(lines.lock()[0].contains(&format!("\"{}…\"", "ä".repeat(64))));
    }

    #[test]
    fn a_flood_is_cut_to_its_first_lines_and_counted_in_a_later_one() {
        let (log, lines) = log();
        let (now, mallory) = (Instant::now(), by("ada", "192.0.2.66:1"));
        (0..1000).for_each(|_| log.tell(&mallory, Event::Failed("wrong password"), now));
        assert_eq!(lines.lock().len(), 20);
        log.tell(&by("ada", "192.0.2.66:2"), Event::Accepted(""), now);
        log.tell(&by("bob", "192.0.2.7:1"), Event::Failed("wrong password"), now);
        assert_eq!(lines.lock().len(), 22); // neither logins nor other sources are hidden
        log.tell(&mallory, Event::Failed("wrong password"), now + EACH_OF_PLACE);
        assert_eq!(lines.lock()[22], "left out address=192.0.2.66 lines=980");
        assert_eq!(lines.lock().len(), 24);
    }

    #[test]
    fn what_a_flood_left_out_is_told_when_it_has_ended() {
        let (log, lines) = log();
        let now = Instant::now();
        (0..50).for_each(|_| log.tell(&by("ada", "192.0.2.66:1"), Event::Failed("wrong password"), now));
        log.tend(now);
        log.tend(now + TELL_EVERY);
        assert_eq!(lines.lock()[20..], ["left out address=192.0.2.66 lines=30"]);
    }

    #[test]
    fn a_flood_from_many_places_is_limited_too() {
        let (log, lines) = log();
        let now = Instant::now();
        let peer = |n: u32| SocketAddr::new(std::net::Ipv4Addr::from_bits(n).into(), 1);
        for n in 0..10_000 {
            let login = Login { peer: peer(n), ..by("ada", "192.0.2.66:1") };
            log.tell(&login, Event::Failed("wrong password"), now);
        }
        assert_eq!(lines.lock().len(), 400);
        assert!(log.state.lock().places.len() <= MAX_PLACES);
        log.tend(now);
        let told: Vec<String> = lines.lock()[400..].to_vec();
        assert_eq!(told.len(), MAX_TOLD + 1);
        assert_eq!(told[MAX_TOLD], format!("left out lines={}", 10_000 - 400 - MAX_TOLD));
    }
}
