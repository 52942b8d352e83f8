//! The doctor: looks where the time of each client goes, and says what slows it down.
//!
//! ```text
//! each look: connections that moved ─► counts, and what the kernel knows of them (sock_diag) ─► activity ─┐
//!            /proc/diskstats and interfaces, if any moved                                                  │ a window of 12 looks
//!            packets of all sizes, to a client whose segments vanish (rarely, on a thread of its own)      ▼
//!                                                              status, console, alerts ◄─ rules (judge.rs)
//! ```
//!
//! A look asks for at most [`MOST_EXAMINED`] connections that have moved data since the last one, 2 µs each: 1 ms, and with the usual 5 s
//! from look to look 0.02 % of a processor. A connection that does nothing costs nothing, and no request is touched.

mod history;
mod judge;
mod machine;
mod pace;
mod probe;
mod sample;
mod scanning;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak, mpsc};
use std::time::{Duration, Instant, SystemTime};

use admin::Protocol;
use admin::control::{ClientDiagnosis, DoctorStatus, Status, Trouble};
use conn::Peer;
use conn::diag::SockDiag;
use lock::Mutex;
use tokio::sync::watch;

use self::history::Histories;
use self::judge::{Case, Finding, judge};
use self::machine::{MachineCounts, MachineFinding};
use self::pace::Pace;
use self::probe::PathSize;
use self::sample::{Activity, ActivityWindow, ConnectionCounts, parts};
use self::scanning::{ScannerEvidence, ScannerWatch, ShareFolders, folders_of};
use crate::fronts::{ExaminedConnection, Fronts, PeerSession};
use crate::ranks;
use crate::serve::component::Component;
use crate::serve::current::Current;

/// The most connections that are examined at one look. With more, they take turns.
const MOST_EXAMINED: usize = 512;
/// The most clients in a status.
const MOST_SHOWN: usize = 256;
/// How long it is known which packets reach a client.
const PATH_KNOWN_FOR: Duration = Duration::from_secs(600);

/// A connection, while both ends live.
type ConnectionKey = (Protocol, SocketAddr, Option<SocketAddr>);
/// Which packets reach a client.
type TriedPath = (IpAddr, Option<PathSize>);

/// The doctor of a server: what it has found.
pub(crate) struct Doctor {
    status: Mutex<DoctorStatus, ranks::Diagnoses>,
    folders: ShareFolders,
    /// How often it looks; `None`: never.
    pace: watch::Sender<Option<Pace>>,
}

impl Doctor {
    /// Begins to look after the clients of these fronts. Needs a tokio runtime.
    pub(crate) fn start(fronts: Fronts, current: &Current) -> Arc<Self> {
        let (pace, paces) = watch::channel(pace_of(current));
        let folders = ShareFolders::default();
        *folders.lock() = folders_of(&current.settings);
        let doctor = Arc::new(Self { status: Mutex::default(), folders: folders.clone(), pace });
        tokio::spawn(look(Arc::downgrade(&doctor), Examinations::new(folders), paces, fronts));
        doctor
    }

    /// The troubles of clients and of this machine.
    pub(crate) fn troubles(&self) -> Vec<Trouble> {
        let status = self.status.lock();
        let of_clients = status.clients.iter().flat_map(|client| &client.troubles);
        of_clients.chain(&status.machine).cloned().collect()
    }
}

impl Component for Doctor {
    fn report(&self, status: &mut Status) {
        status.doctor = self.status.lock().clone();
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        *self.folders.lock() = folders_of(&current.settings);
        let pace = pace_of(current);
        self.pace.send_if_modified(|now| std::mem::replace(now, pace) != pace);
        Vec::new()
    }
}

fn pace_of(current: &Current) -> Option<Pace> {
    current.settings.server.told.doctor_interval.map(Pace)
}

/// Looks until the server ends.
async fn look(
    doctor: Weak<Doctor>,
    mut kept: Examinations,
    mut paces: watch::Receiver<Option<Pace>>,
    fronts: Fronts,
) {
    loop {
        let pace = *paces.borrow_and_update();
        let Some(pace) = pace else {
            kept.stop();
            let Some(doctor) = doctor.upgrade() else { return };
            *doctor.status.lock() = DoctorStatus::default();
            drop(doctor);
            if paces.changed().await.is_err() {
                return;
            }
            continue;
        };
        tokio::select! {
            () = tokio::time::sleep(pace.look()) => {}
            changed = paces.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return, // the server ends
            },
        }
        let (fronts, folders) = (fronts.clone(), kept.scanners.folders());
        let examined = tokio::task::spawn_blocking(move || {
            let found = kept.examine(&fronts, pace, Instant::now());
            (kept, found)
        });
        let Some(doctor) = doctor.upgrade() else { return };
        let found = match examined.await {
            Ok((after, found)) => {
                kept = after;
                found
            }
            Err(_) => {
                kept = Examinations::new(folders); // a panic there was logged
                continue;
            }
        };
        if let Some(status) = found {
            *doctor.status.lock() = status;
        }
    }
}

/// What is known of all clients.
struct Examinations {
    /// How often it looked last.
    pace: Pace,
    diag: Result<SockDiag, String>,
    clients: HashMap<ConnectionKey, Patient>,
    /// What each client has done since the server began.
    histories: Histories,
    /// Which packets reach a client, as it was tried last, and what the threads that try it tell.
    paths: HashMap<IpAddr, (Instant, Option<PathSize>)>,
    tried: (mpsc::Sender<TriedPath>, mpsc::Receiver<TriedPath>),
    /// The machine at earlier looks.
    machine: VecDeque<(Instant, MachineCounts)>,
    /// Which clients are scanners of files.
    scanners: ScannerWatch,
    /// When each trouble was found: its kind, and what it is about.
    since: BTreeMap<(String, String), String>,
    /// The last status says something.
    has_said: bool,
    looks: usize,
}

/// A connection that is examined.
struct Patient {
    user: Option<String>,
    last: ConnectionCounts,
    at: Instant,
    window: ActivityWindow,
}

impl Patient {
    fn has_moved(&self, peer: &Peer) -> bool {
        ConnectionCounts::of(peer, None).moved() != self.last.moved() || self.last.has_unsent()
    }
}

impl Examinations {
    fn new(folders: ShareFolders) -> Self {
        Self {
            pace: Pace(Duration::ZERO),
            scanners: ScannerWatch::new(folders),
            diag: SockDiag::open().map_err(|error| error.to_string()),
            clients: HashMap::new(),
            histories: Histories::default(),
            paths: HashMap::new(),
            tried: mpsc::channel(),
            machine: VecDeque::new(),
            since: BTreeMap::new(),
            has_said: false,
            looks: 0,
        }
    }

    /// Forgets what it has seen of connections, and notes no reads: it does not look for a while, or at another pace.
    fn stop(&mut self) {
        self.scanners.stop();
        self.clients.clear();
        self.machine.clear();
        self.has_said = false;
    }

    /// One look. The new status, if there is one.
    fn examine(&mut self, fronts: &Fronts, pace: Pace, now: Instant) -> Option<DoctorStatus> {
        if self.pace != pace {
            self.stop();
            self.pace = pace;
        }
        let (mut moved, there) = (Vec::new(), RefCell::new(HashSet::new()));
        for front in fronts.iter() {
            let is_wanted = |protocol: Protocol, peer: &Peer| {
                let key = (protocol, peer.address, peer.local);
                there.borrow_mut().insert(key);
                self.clients.get(&key).is_none_or(|patient| patient.has_moved(peer))
            };
            moved.extend(front.examined(&is_wanted));
        }
        let there = there.into_inner();
        self.clients.retain(|key, _| there.contains(key));
        self.paths.retain(|_, (at, _)| now.duration_since(*at) < PATH_KNOWN_FOR);
        while let Ok((client, path)) = self.tried.1.try_recv() {
            self.paths.insert(client, (now, path));
        }
        if moved.len() > MOST_EXAMINED {
            let turn = self.looks.wrapping_mul(MOST_EXAMINED) % moved.len();
            moved.rotate_left(turn);
            moved.truncate(MOST_EXAMINED);
        }
        self.looks = self.looks.wrapping_add(1);
        let is_busy = !moved.is_empty();
        let is_worth_noting = moved.into_iter().fold(false, |is_worth, one| self.note(one, now) | is_worth);
        self.scanners.look(pace, now, is_worth_noting);
        (is_busy || self.has_said).then(|| self.judge(now))
    }

    /// Notes what a connection has done since it was examined last. Returns whether a scanner could have done it.
    fn note(&mut self, of: ExaminedConnection, now: Instant) -> bool {
        let ExaminedConnection { protocol, peer, of: PeerSession { user, system, .. } } = of;
        let asked = match (self.diag.as_mut(), peer.local) {
            (Ok(diag), Some(local)) => diag.tcp_info(local, peer.address),
            _ => Ok(None),
        };
        let info = asked.unwrap_or_else(|error| {
            self.diag = Err(error.to_string());
            None
        });
        let counts = ConnectionCounts::of(&peer, info);
        let key = (protocol, peer.address, peer.local);
        let mut is_worth_noting = false;
        if let Some(patient) = self.clients.get_mut(&key) {
            // A connection that was idle has not worked since its last look.
            let span = now.duration_since(patient.at).min(self.pace.look());
            let activity = Activity::between(&patient.last, &counts, span);
            is_worth_noting = ScannerWatch::is_worth_noting(&activity);
            self.histories.add(peer.address.ip(), (protocol, system, user.as_deref()), &activity);
            patient.window.push(now, activity);
            (patient.user, patient.last, patient.at) = (user, counts, now);
        } else {
            let window = ActivityWindow::default();
            self.clients.insert(key, Patient { user, last: counts, at: now, window });
        }
        let client = peer.address.ip();
        if let Some(path) = info.filter(probe::is_suspicious)
            && !client.is_loopback()
            && !self.paths.contains_key(&client)
        {
            self.try_path(client, path.path_mtu, now);
        }
        is_worth_noting
    }

    /// Tries which packets reach a client, on a thread of its own: that takes up to half a minute.
    fn try_path(&mut self, client: IpAddr, sent: u32, now: Instant) {
        self.paths.insert(client, (now, None)); // not tried again meanwhile
        let tell = self.tried.0.clone();
        let work = move || {
            let _ = tell.send((client, probe::largest(client, sent))); // the doctor may have ended
        };
        if let Err(error) = std::thread::Builder::new().name("path".into()).spawn(work) {
            tracing::debug!(%error, "a path is not tried");
        }
    }

    /// Judges all that moved in the last looks, and this machine.
    fn judge(&mut self, now: Instant) -> DoctorStatus {
        let (mut clients, window) = (Vec::new(), self.pace.window());
        for ((protocol, peer, _), patient) in &mut self.clients {
            patient.window.expire(now, window);
            if !patient.window.is_empty() {
                let path = self.paths.get(&peer.ip()).and_then(|(_, path)| *path);
                let scanner = self.scanners.of(peer.ip());
                clients.push(diagnosis((*protocol, *peer), patient, (path, scanner, window)));
            }
        }
        let machine = self.judge_machine(now);
        let before = std::mem::take(&mut self.since);
        let mut dated = |about: &str, name: &str, text: String| {
            let key = (name.to_owned(), about.to_owned());
            let since = before.get(&key).cloned().unwrap_or_else(|| timestamp(SystemTime::now()));
            self.since.insert(key, since.clone());
            Trouble { name: name.to_owned(), about: about.to_owned(), since, text }
        };
        let mut shown: Vec<ClientDiagnosis> = Vec::new();
        for (mut client, found) in clients {
            let who = client.who();
            client.troubles = found.into_iter().map(|one| dated(&who, one.name, one.text)).collect();
            shown.push(client);
        }
        let machine = machine.into_iter().map(|(name, about, text)| dated(&about, name, text)).collect();
        shown.sort_by_key(|client| {
            (client.troubles.is_empty(), Reverse(client.network_ms + client.server_ms), client.peer)
        });
        shown.truncate(MOST_SHOWN);
        let blind = self.diag.as_ref().err().cloned();
        let status = DoctorStatus { clients: shown, machine, blind, protocols: self.histories.advice() };
        self.has_said = !status.clients.is_empty() || !status.machine.is_empty();
        status
    }

    /// Compares the machine with itself at the first of the looks that are judged together.
    fn judge_machine(&mut self, now: Instant) -> Vec<MachineFinding> {
        let window = self.pace.window();
        if self.machine.back().is_some_and(|(last, _)| now.duration_since(*last) >= window) {
            self.machine.clear(); // nothing happened since
        }
        while self.machine.get(1).is_some_and(|(second, _)| now.duration_since(*second) >= window) {
            self.machine.pop_front();
        }
        let counts = MachineCounts::now();
        let found = self.machine.front().map(|(_, before)| counts.judge(before)).unwrap_or_default();
        self.machine.push_back((now, counts));
        found
    }
}

/// What a client does, and what slows it down.
fn diagnosis(
    (protocol, peer): (Protocol, SocketAddr),
    patient: &Patient,
    (path, scanner, window): (Option<PathSize>, Option<ScannerEvidence>, Duration),
) -> (ClientDiagnosis, Vec<Finding>) {
    let (activities, is_local) = (patient.window.all(), peer.ip().is_loopback());
    let spent = parts(&activities, is_local);
    let of_path = |of: fn(&sample::PathActivity) -> u64| -> u64 {
        activities.iter().filter_map(|one| one.path.as_ref()).map(of).sum()
    };
    let (sent, lost) = (of_path(|path| path.sent), of_path(|path| path.lost));
    let last = activities.iter().rev().find_map(|one| one.path.as_ref());
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let client = ClientDiagnosis {
        protocol,
        peer,
        user: patient.user.clone(),
        active_ms: ms(spent.active),
        network_ms: ms(spent.network),
        server_ms: ms(spent.server),
        client_ms: ms(spent.client),
        round_trip_micros: last.map_or(0, |path| micros(path.round_trip)),
        least_round_trip_micros: last.map_or(0, |path| micros(path.least)),
        lost_percent: lost as f64 * 100.0 / sent.max(1) as f64,
        troubles: Vec::new(),
    };
    (client, judge(&Case { is_local, activities: &activities, window, path, scanner }))
}

fn timestamp(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests;
