//! NSM version 1, X/Open XNFS "Network Status Monitor Protocol". It tells clients that this server
//! has restarted, and releases the locks of clients that have restarted. It is the private monitor
//! of this server's lock manager and serves no other lock manager.

mod hosts;
mod kept;
mod recovery;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use lock::Mutex;
use tokio::time::{Instant, sleep_until};
use wire::Writer;

use super::answer::{Answer, CallResult};
use super::call::Call;
use super::{CommonGrace, Company, LostServers, Phase, Service};
use crate::ranks;
use crate::wire::nsm::{MonId, MonRequest, MyId, NotifyRequest, Procedure, Res, StatRequest, StatRes, State};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::Encode;

pub use hosts::{HostTable, InMemory};
use hosts::{MonitoredHost, MonitoredHosts};
pub use kept::IndexHostTable;
pub use recovery::notify_hosts;
pub(super) use recovery::tell_hosts;

/// The status monitor of this server.
pub(super) struct Monitor {
    watched: MonitoredHosts,
    /// The hosts that held locks when the previous run of this server ended.
    former: Mutex<Vec<MonitoredHost>, ranks::NsmFormer>,
    grace: Mutex<Grace, ranks::NsmGrace>,
    period: Duration,
    /// The grace period of several servers.
    common: Option<Arc<dyn CommonGrace>>,
    epoch: AtomicU64,
    crashes: AtomicU32,
    name: Vec<u8>,
}

/// How long the grace period lasts after something was reclaimed: the client may have more. It lasts for twice its time at most.
const MORE: Duration = Duration::from_secs(2);

/// The end of the grace period, and the hosts that may reclaim locks in it.
#[derive(Default)]
struct Grace {
    until: Option<Instant>,
    /// The end if clients still reclaim something.
    latest: Option<Instant>,
    reclaimers: Vec<IpAddr>,
}

impl Monitor {
    /// Reads the table of hosts. The grace period begins now, if the table has former hosts, or if `others` have to reclaim
    /// something.
    pub(super) fn new(company: &Company, others: bool) -> Self {
        let watched = MonitoredHosts::new(company.hosts.clone());
        let former = watched.kept();
        let monitor = Self {
            watched,
            former: Mutex::new(Vec::new()),
            grace: Mutex::default(),
            period: company.grace,
            common: company.common.clone(),
            epoch: AtomicU64::new(company.epoch),
            crashes: AtomicU32::new(0),
            name: company.name.clone().into_bytes(),
        };
        monitor.begin_grace(former, others);
        monitor
    }

    fn begin_grace(&self, former: Vec<MonitoredHost>, others: bool) {
        let reclaimers: Vec<IpAddr> = former.iter().map(|host| host.address).collect();
        let until = (others || !reclaimers.is_empty()).then(|| Instant::now() + self.period);
        let latest = until.map(|until| until + self.period);
        *self.grace.lock() = Grace { until, latest, reclaimers };
        *self.former.lock() = former;
    }

    /// Several servers have one grace period. Hosts of lost servers may reclaim in it. Returns them, to be told.
    pub(super) fn take_over(&self, lost: &LostServers) -> Vec<MonitoredHost> {
        self.epoch.fetch_max(lost.epoch, Ordering::Relaxed);
        let hosts: Vec<MonitoredHost> =
            lost.hosts.iter().cloned().filter_map(MonitoredHost::of_table).collect();
        self.grace.lock().reclaimers = hosts.iter().map(|host| host.address).collect();
        hosts
    }

    /// The hosts of lost servers may not reclaim any more.
    pub(super) fn end_takeover(&self) {
        self.grace.lock().reclaimers.clear();
    }

    /// Whether several servers have one grace period.
    pub(super) fn is_common(&self) -> bool {
        self.common.is_some()
    }

    /// The progress of the grace period.
    pub(super) fn phase(&self) -> Phase {
        match &self.common {
            Some(common) => common.phase(),
            None if self.in_grace() => Phase::Reclaiming,
            None => Phase::Over,
        }
    }

    /// A client of a lost server reclaims nothing more.
    pub(super) fn has_reclaimed(&self, client: &[u8]) {
        if let Some(common) = &self.common {
            common.has_reclaimed(client);
        }
    }

    /// Whether the grace period is still running.
    pub(super) fn in_grace(&self) -> bool {
        if let Some(common) = &self.common {
            return common.phase() != Phase::Over;
        }
        self.grace.lock().until.is_some_and(|until| Instant::now() < until)
    }

    /// A client has reclaimed something in the grace period.
    pub(super) fn note_reclaim(&self) {
        let mut grace = self.grace.lock();
        let Grace { until: Some(until), latest: Some(latest), .. } = &mut *grace else { return };
        if Instant::now() < *until {
            *until = (*until).max((Instant::now() + MORE).min(*latest));
        }
    }

    /// Waits for the end of the grace period.
    pub(super) async fn grace_ended(&self) {
        loop {
            let until = self.grace.lock().until;
            match until {
                Some(until) if Instant::now() < until => sleep_until(until).await,
                _ => return,
            }
        }
    }

    /// Whether this host may now reclaim the locks that it held before the restart.
    pub(super) fn may_reclaim(&self, host: IpAddr) -> bool {
        self.phase() == Phase::Reclaiming && self.grace.lock().reclaimers.contains(&host)
    }

    /// Makes sure that the host will be told when this server restarts. The entry is on the disk on
    /// return. Quick if the entry exists already.
    pub(super) async fn watch(&self, host: IpAddr, name: &[u8]) -> Result<(), ()> {
        self.watched.watch(host, name).await
    }

    /// This server's state number. It is odd while the server is up. It changes with each run and
    /// after each simulated crash.
    pub(super) fn state(&self) -> i32 {
        let (epoch, crashes) =
            (self.epoch.load(Ordering::Relaxed) % (1 << 22), self.crashes.load(Ordering::Relaxed) % (1 << 8));
        (epoch as i32) << 9 | (crashes as i32) << 1 | 1 // 31 bits
    }
}

/// Runs the procedure that a call names.
pub(super) fn dispatch(call: &Call<'_>, w: &mut Writer) -> CallResult {
    let state = || State { state: call.service.monitor.state() };
    match Procedure(call.header.procedure) {
        Procedure::NULL => call.no_arguments()?,
        Procedure::STAT => stat(call, &call.arguments()?).encode(w),
        Procedure::MON => {
            // This would have the monitor call another lock manager on this host, which does not exist.
            call.arguments::<MonRequest<'_>>()?;
            StatRes { res: Res::STAT_FAIL, state: call.service.monitor.state() }.encode(w);
        }
        Procedure::UNMON => {
            call.arguments::<MonId<'_>>()?;
            state().encode(w);
        }
        Procedure::UNMON_ALL => {
            call.arguments::<MyId<'_>>()?;
            state().encode(w);
        }
        Procedure::SIMU_CRASH => simu_crash(call)?,
        Procedure::NOTIFY => notify(call, &call.arguments()?),
        _ => return Err(Outcome::ProcUnavail),
    }
    Ok(Answer::default())
}

/// STAT: whether the host is monitored.
fn stat(call: &Call<'_>, request: &StatRequest<'_>) -> StatRes {
    let monitor = &call.service.monitor;
    let known = monitor.watched.knows(&request.mon_name);
    StatRes { res: if known { Res::STAT_SUCC } else { Res::STAT_FAIL }, state: monitor.state() }
}

/// NOTIFY: the caller has restarted, so its processes and their locks are gone.
fn notify(call: &Call<'_>, request: &NotifyRequest<'_>) {
    let host = call.origin.address;
    if call.service.locks.restarted(call.service, host, request.state) {
        tracing::info!(%host, name = %request.mon_name.escape_ascii(), "a client has restarted: its locks are released");
        forget(call.service, host);
    }
}

/// SIMU_CRASH: releases every lock as a restart would, and lets clients reclaim their locks. Only
/// this host may call it.
fn simu_crash(call: &Call<'_>) -> Result<(), Outcome> {
    call.no_arguments()?;
    if !call.origin.address.is_loopback() {
        return Err(Outcome::ProcUnavail);
    }
    let (service, monitor) = (call.service, &call.service.monitor);
    monitor.crashes.fetch_add(1, Ordering::Relaxed);
    monitor.begin_grace(monitor.watched.kept(), false);
    monitor.watched.forget_all();
    service.locks.release_all(service);
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let service = service.clone();
        runtime.spawn(async move { notify_hosts(&service).await });
    }
    Ok(())
}

/// Removes a host from the table in the background. If the server restarts before that, the host
/// gets one unnecessary notice.
fn forget(service: &Arc<Service>, host: IpAddr) {
    service.monitor.watched.let_go(host);
    let service = service.clone();
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { service.monitor.watched.forget_former(host).await });
    }
}
