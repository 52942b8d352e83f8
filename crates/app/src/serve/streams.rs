//! The streams that are reserved: kept over restarts, admitted by what the disk and the link carry, released when they are idle.

mod admission;
mod kept;

use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use admin::ShareSettings;
use admin::control::{
    CapacityStatus, MOST_STREAMS, NewReservation, Progress, ReservationStatus, Status, StreamsAnswer,
    StreamsRequest, StreamsStatus,
};
use admin::video::video_format;
use anyhow::{Context, bail, ensure};
use auth::Accounts;
use conn::Loops;
use lock::Mutex;
use vfs::backend::host::{as_ourselves, read_speed};
use vfs::reserved::{ReservedStreams, StreamCounts, StreamFilter, StreamReservation};

use self::admission::{Admission, Asked};
use self::kept::{Capacity, KeptReservation, KeptStreams};
use crate::ranks;
use crate::serve::component::Component;
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;

/// The most reservations.
const MOST: usize = 64;
/// Streams that are not read for so long are released, if nothing else was said.
const IDLE_S: u64 = 4 * 3600;
/// How often it is looked whether streams are idle.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The most readers of a measurement.
const MOST_READERS: usize = 16;

/// The reservations of a running server.
pub(crate) struct StreamsDesk {
    volumes: Arc<Volumes>,
    /// The state folder.
    state: PathBuf,
    streams: Arc<ReservedStreams>,
    kept: Mutex<KeptStreams, ranks::StreamDesk>,
    started: Instant,
}

impl StreamsDesk {
    /// With what is kept in the state folder.
    pub(crate) fn new(current: &Arc<Current>, volumes: Arc<Volumes>) -> Arc<Self> {
        let state = current.settings.server.state.clone();
        let kept = KeptStreams::read(&state).unwrap_or_else(|error| {
            tracing::warn!("no stream is reserved: {error:#}");
            KeptStreams::default()
        });
        let streams = volumes.reserved().clone();
        let (kept, started) = (Mutex::new(kept), Instant::now());
        let desk = Arc::new(Self { volumes, state, streams, kept, started });
        if let Ok(lines) = as_ourselves(|| desk.apply(current)) {
            lines.iter().for_each(|line| tracing::warn!("{line}"));
        }
        desk
    }

    /// The same, for a server: connections of these loops keep to the reservations. Streams that are idle are released until the
    /// desk is dropped. Needs a tokio runtime.
    pub(crate) fn start(current: &Arc<Current>, volumes: &Arc<Volumes>, loops: &Loops) -> Arc<Self> {
        let desk = Self::new(current, volumes.clone());
        loops.keep_streams(volumes.reserved());
        tokio::spawn(look(Arc::downgrade(&desk)));
        desk
    }

    /// Executes a request. `lun` gives the file of a LUN by its full name.
    ///
    /// # Errors
    /// It was not executed.
    pub(crate) fn answer(
        &self,
        current: &Current,
        request: StreamsRequest,
        lun: &dyn Fn(&str) -> Option<PathBuf>,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<StreamsAnswer> {
        match request {
            StreamsRequest::List => Ok(StreamsAnswer::List(self.status())),
            StreamsRequest::Reserve(new) => {
                self.reserve(current, new, lun, progress).map(StreamsAnswer::Done)
            }
            StreamsRequest::Release { id } => self.release(current, id).map(StreamsAnswer::Done),
        }
    }

    fn reserve(
        &self,
        current: &Current,
        new: NewReservation,
        lun: &dyn Fn(&str) -> Option<PathBuf>,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<Vec<String>> {
        let speed = speed(&new)?;
        ensure!((1..=MOST_STREAMS).contains(&new.streams), "a reservation has 1 to {MOST_STREAMS} streams");
        let (share, file) = place(current, &new, lun)?;
        if let Some(user) = &new.user {
            ensure!(current.accounts.find(user).is_some(), "there is no account {user:?}");
        }
        let device = device(share)?;
        let capacity = self.capacity(share, device, &new, progress)?;
        let mut kept = self.kept.lock();
        ensure!(kept.reservations.len() < MOST, "there are {MOST} reservations already; release one");
        let link = admission::link(new.client);
        let before = kept.reserved_on(device);
        let asked = Asked { speed, streams: new.streams, format: new.format.as_deref() };
        let admission =
            Admission { disk: &capacity, link: link.as_ref(), on_disk: before, on_link: kept.reserved() };
        admission.admit(&asked)?;
        let id = kept.reservations.iter().map(|one| one.id).max().unwrap_or(0).max(kept.last) + 1;
        let reservation = KeptReservation {
            id,
            share: share.name.clone(),
            lun: new.lun,
            file,
            device,
            format: new.format,
            speed,
            streams: new.streams,
            user: new.user,
            client: new.client,
            idle_s: new.idle_s.unwrap_or(IDLE_S),
            made: unix_now(),
        };
        let words = status_of(&reservation, StreamCounts::default()).words();
        let until = status_of(&reservation, StreamCounts::default()).idle_words();
        let mut changed = kept.clone();
        changed.last = id;
        changed.reservations.push(reservation);
        changed.keep_capacity(capacity);
        changed.write(&self.state)?;
        *kept = changed;
        drop(kept);
        let mut lines = vec![format!("{words} reserved as number {id}; {until}")];
        lines.extend(self.apply(current));
        Ok(lines)
    }

    fn release(&self, current: &Current, id: Option<u64>) -> anyhow::Result<Vec<String>> {
        let mut kept = self.kept.lock();
        let mut changed = kept.clone();
        changed.reservations.retain(|one| id.is_some_and(|id| one.id != id));
        let count = kept.reservations.len() - changed.reservations.len();
        match (id, count) {
            (Some(id), 0) => bail!("no reservation has the number {id}; `fourfold stream list` has them"),
            (None, 0) => bail!("no stream is reserved"),
            _ => {}
        }
        changed.write(&self.state)?;
        *kept = changed;
        drop(kept);
        self.apply(current);
        Ok(vec![format!("{count} {} released", if count == 1 { "reservation" } else { "reservations" })])
    }

    /// What the disk of a share carries: given, known, or measured now.
    fn capacity(
        &self,
        share: &ShareSettings,
        device: u64,
        new: &NewReservation,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<Capacity> {
        let at = unix_now();
        let made = |speed, source: &str| Capacity {
            device,
            speed,
            source: source.into(),
            at,
            folder: share.path.clone(),
        };
        if let Some(speed) = new.capacity {
            ensure!(speed > 0, "a capacity has more than 0 bytes per second");
            return Ok(made(speed, "given"));
        }
        let known = self.kept.lock().capacities.iter().find(|known| known.device == device).cloned();
        if let Some(known) = known.filter(|_| !new.measure) {
            return Ok(known);
        }
        let others = self.kept.lock().reservations.iter().map(|one| one.streams as usize).sum::<usize>();
        let readers = (others + new.streams as usize).clamp(1, MOST_READERS);
        let mut goes_on = |done| progress(Progress { done, total: 0 });
        let measured = read_speed(&share.path, readers, &mut goes_on).map_err(|error| {
            anyhow::anyhow!(
                "how fast the disk of {} is cannot be measured ({error}): give its speed with --capacity, as `fourfold bench \
                 --workload seq-read` tells it",
                share.name
            )
        })?;
        let source = match measured.may_be_memory {
            true => format!("measured with {readers} readers, perhaps from memory"),
            false => format!("measured with {readers} readers"),
        };
        Ok(made(measured.bytes_per_s, &source))
    }

    /// Has the reservations that are kept count; returns lines about those that cannot.
    fn apply(&self, current: &Current) -> Vec<String> {
        let kept = self.kept.lock().clone();
        let mut lines = Vec::new();
        let mut reservations = Vec::new();
        for one in &kept.reservations {
            match self.filter(current, one) {
                Ok(of) => reservations.push(StreamReservation {
                    id: one.id,
                    speed: one.speed,
                    streams: one.streams,
                    of,
                }),
                Err(error) => lines.push(format!("the reservation {} has no effect: {error:#}", one.id)),
            }
        }
        // A read belongs to the first one that matches: a LUN before its share, and a person before all people.
        reservations
            .sort_by_key(|one| (one.of.files.is_empty(), one.of.account.is_none(), one.of.client.is_none()));
        let devices = kept.reservations.iter().map(|one| one.device);
        let speeds = devices.filter_map(|device| Some(kept.capacity_of(device)?.speed));
        self.streams.keep(reservations, speeds.min());
        lines
    }

    /// Which reads are of a reservation, as the shares and accounts are now.
    fn filter(&self, current: &Current, of: &KeptReservation) -> anyhow::Result<StreamFilter> {
        let share = current.settings.shares.iter().find(|share| share.name == of.share);
        let share = share.with_context(|| format!("the share {} is not served", of.share))?;
        let account = match &of.user {
            None => None,
            Some(user) => {
                let account =
                    current.accounts.find(user).with_context(|| format!("there is no account {user:?}"))?;
                Some((user.clone(), Some(account.identity.uid)))
            }
        };
        let mut filter = StreamFilter { account, client: of.client, ..StreamFilter::default() };
        match &of.file {
            Some(file) => {
                let found = self.volumes.find(file).context("its LUN is in no share")??;
                filter.files.push(found.id);
            }
            None => filter.views.push(self.volumes.open(share, &current.settings)?.view()),
        }
        Ok(filter)
    }

    fn status(&self) -> StreamsStatus {
        let kept = self.kept.lock().clone();
        let counts = self.streams.counts(Instant::now());
        let reservations = kept.reservations.iter().map(|one| {
            let found = counts.iter().find(|(id, _)| *id == one.id).map(|(_, counts)| *counts);
            let problem =
                found.is_none().then(|| "has no effect: its share, LUN or account is not there".to_owned());
            ReservationStatus { problem, ..status_of(one, found.unwrap_or_default()) }
        });
        let link = admission::link(None);
        let capacities = kept.capacities.iter().map(|disk| {
            let on_disk = kept.reserved_on(disk.device);
            let admission = Admission { disk, link: link.as_ref(), on_disk, on_link: kept.reserved() };
            let of_disk = |one: &&KeptReservation| one.device == disk.device;
            let mut shares: Vec<String> =
                kept.reservations.iter().filter(of_disk).map(|one| one.share.clone()).collect();
            shares.sort();
            shares.dedup();
            if shares.is_empty() {
                shares.push(disk.folder.display().to_string());
            }
            CapacityStatus {
                shares,
                speed: disk.speed,
                left: admission.left(),
                source: disk.source.clone(),
                at: disk.at,
                link: link.clone().filter(|(_, speed)| *speed < disk.speed),
                folder: disk.folder.clone(),
            }
        });
        let waited = self.streams.others().waited();
        StreamsStatus {
            reservations: reservations.collect(),
            capacities: capacities.collect(),
            others: self.streams.others().limit().filter(|_| self.streams.is_read(Instant::now())),
            others_waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Releases what was not read for long.
    fn release_idle(&self, now: Instant) {
        let counts = self.streams.counts(now);
        let mut kept = self.kept.lock();
        let is_idle = |one: &KeptReservation| {
            let read = counts.iter().find(|(id, _)| *id == one.id).and_then(|(_, counts)| counts.last);
            // After a restart, and as long as it was never read, the time runs from there.
            let since = now.duration_since(read.unwrap_or(self.started).min(now)).as_secs();
            let age = unix_now().saturating_sub(one.made);
            one.idle_s > 0 && since.min(age) >= one.idle_s
        };
        let (idle, stay): (Vec<_>, Vec<_>) = kept.reservations.iter().cloned().partition(|one| is_idle(one));
        if idle.is_empty() {
            return;
        }
        let mut changed = kept.clone();
        changed.reservations = stay;
        if let Err(error) = changed.write(&self.state) {
            tracing::warn!("idle streams stay reserved: {error:#}");
            return;
        }
        *kept = changed;
        drop(kept);
        let ids: Vec<u64> = idle.iter().map(|one| one.id).collect();
        self.streams.release(&ids);
        for one in &idle {
            tracing::info!(
                "{} released: no stream was read",
                status_of(one, StreamCounts::default()).words()
            );
        }
    }
}

impl Component for StreamsDesk {
    fn report(&self, status: &mut Status) {
        status.streams = self.status();
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.apply(current)
    }
}

/// Looks for idle streams until the server ends.
async fn look(desk: std::sync::Weak<StreamsDesk>) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    loop {
        every.tick().await;
        let Some(desk) = desk.upgrade() else { return };
        let work = move || as_ourselves(|| desk.release_idle(Instant::now()));
        let _ = tokio::task::spawn_blocking(work).await; // a panic there was logged
    }
}

/// Bytes per second of each stream.
fn speed(new: &NewReservation) -> anyhow::Result<u64> {
    match (&new.format, new.speed) {
        (Some(id), None) => {
            let format = video_format(id).with_context(|| {
                format!("there is no format {id:?}; `fourfold stream formats` lists them, and --speed takes any speed")
            })?;
            Ok(format.speed as u64)
        }
        (None, Some(speed)) if speed > 0 => Ok(speed),
        (None, Some(_)) => bail!("a stream has more than 0 bytes per second"),
        (None, None) => bail!("say what a stream needs: a format or a speed"),
        (Some(_), Some(_)) => bail!("say a format or a speed, not both"),
    }
}

/// The share, and the file of the LUN if it is one.
fn place<'a>(
    current: &'a Current,
    new: &NewReservation,
    lun: &dyn Fn(&str) -> Option<PathBuf>,
) -> anyhow::Result<(&'a ShareSettings, Option<PathBuf>)> {
    let named = |name: &str| {
        let share = current.settings.shares.iter().find(|share| share.name == name);
        share.with_context(|| format!("there is no share {name:?}"))
    };
    match (&new.share, &new.lun) {
        (Some(name), None) => Ok((named(name)?, None)),
        (None, Some(full)) => {
            let (share, _) =
                full.split_once('/').with_context(|| format!("{full:?} is no LUN: write SHARE/NAME"))?;
            let file = lun(full).with_context(|| format!("there is no LUN {full:?}, or iSCSI is off"))?;
            Ok((named(share)?, Some(file)))
        }
        (None, None) => bail!("say of what: a share or a LUN"),
        (Some(_), Some(_)) => bail!("say a share or a LUN, not both"),
    }
}

/// The number of the file system of a share.
fn device(share: &ShareSettings) -> anyhow::Result<u64> {
    let path: &Path = &share.path;
    ensure!(
        !share.is_in_store(),
        "{} is not on this machine's disks: nothing can be promised for it",
        share.name
    );
    let found = std::fs::metadata(path)
        .with_context(|| format!("the folder of {} cannot be looked at", share.name))?;
    Ok(found.dev())
}

fn status_of(of: &KeptReservation, counts: StreamCounts) -> ReservationStatus {
    let client: Option<IpAddr> = of.client;
    ReservationStatus {
        id: of.id,
        share: of.share.clone(),
        lun: of.lun.clone(),
        format: of.format.clone(),
        speed: of.speed,
        streams: of.streams,
        user: of.user.clone(),
        client,
        idle_s: of.idle_s,
        made: of.made,
        active: counts.active as u64,
        reads: counts.reads,
        bytes: counts.bytes,
        late: counts.late,
        longest_ms: u64::try_from(counts.longest.as_millis()).unwrap_or(u64::MAX),
        beyond: counts.refused,
        problem: None,
    }
}

/// Seconds since 1970.
fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
