//! The grace period after the loss of servers, and the records of clients that may reclaim in it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::Cluster;
use super::common::wait;
use crate::etcd::Error;
use crate::membership::{GracePeriod, LEASE_SECONDS, end_grace};
use crate::{ClusterRecord, RecordKind, fence};

/// How long the last answer of etcd counts: less than the others wait longer than clients may reclaim.
const COUNTS_FOR: Duration = Duration::from_secs(LEASE_SECONDS - 1);

/// The progress of the grace period, for requests of clients.
#[derive(Debug)]
pub struct Grace {
    is_on: AtomicBool,
    is_known: AtomicBool,
    /// In nanoseconds of [`fence::now`].
    reclaims_until: AtomicU64,
    lost: watch::Sender<Vec<u16>>,
}

impl Default for Grace {
    fn default() -> Self {
        let (is_on, is_known) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { is_on, is_known, reclaims_until: AtomicU64::new(0), lost: watch::Sender::new(Vec::new()) }
    }
}

impl Grace {
    /// Whether clients of lost servers may have something to reclaim.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    /// Whether these clients are known here.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    /// Whether they may reclaim now.
    #[must_use]
    pub fn reclaims(&self) -> bool {
        nanos(fence::now()) < self.reclaims_until.load(Ordering::Acquire)
    }

    /// The clients of these lost servers are known here.
    pub fn know(&self, lost: &[u16]) {
        if *self.lost.borrow() == lost {
            self.is_known.store(true, Ordering::Release);
        }
    }

    /// The lost servers whose clients may have something to reclaim.
    #[must_use]
    pub fn lost(&self) -> watch::Receiver<Vec<u16>> {
        self.lost.subscribe()
    }

    /// What etcd says, which was asked at this time.
    pub(super) fn see(&self, asked: Duration, grace: Option<&GracePeriod>) {
        let lost = grace.map(|grace| grace.lost.clone()).unwrap_or_default();
        if *self.lost.borrow() != lost {
            self.is_known.store(false, Ordering::Release);
        }
        let reclaims = grace.is_some_and(|grace| grace.reclaims);
        let until = if reclaims { nanos(asked + COUNTS_FOR) } else { 0 };
        self.reclaims_until.store(until, Ordering::Release);
        self.is_on.store(grace.is_some(), Ordering::Release);
        self.lost.send_if_modified(|known| {
            let is_new = *known != lost;
            *known = lost;
            is_new
        });
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The records of lost servers.
#[derive(Debug, Default)]
pub struct LostRecords {
    /// Clients of NFSv4.
    pub clients: Vec<ClusterRecord>,
    /// Hosts with locks by NLM.
    pub hosts: Vec<ClusterRecord>,
}

impl Cluster {
    /// The grace period after the loss of servers.
    #[must_use]
    pub fn grace(&self) -> &Grace {
        &self.shared.grace
    }

    /// Records a client that may reclaim at other servers if this one is lost. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn record(&self, table: RecordKind, record: ClusterRecord) -> Result<(), String> {
        let (kept, me) = (self.kept.clone(), self.shared.me);
        wait(&self.shared.etcd, async move {
            let common = &mut *kept.common.lock().await;
            common.records.add(&mut common.etcd, (me, table), &record).await
        })
    }

    /// A client of this server has nothing to reclaim any more. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn forget_record(&self, table: RecordKind, name: &[u8]) -> Result<(), String> {
        let (kept, me, name) = (self.kept.clone(), self.shared.me, name.to_vec());
        wait(&self.shared.etcd, async move {
            let common = &mut *kept.common.lock().await;
            common.records.remove(&mut common.etcd, (me, table), &name).await
        })
    }

    /// The records of this server in this run. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn own_records(&self, table: RecordKind) -> Result<Vec<ClusterRecord>, String> {
        let (kept, me) = (self.kept.clone(), self.shared.me);
        wait(&self.shared.etcd, async move {
            let common = &mut *kept.common.lock().await;
            common.records.all(&mut common.etcd, me, table).await
        })
    }

    /// The records of lost servers.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn lost_records(&self, lost: &[u16]) -> Result<LostRecords, String> {
        let (kept, lost) = (self.kept.clone(), lost.to_vec());
        self.ask(async move {
            let common = &mut *kept.common.lock().await;
            let mut all = LostRecords::default();
            for server in lost {
                all.clients.extend(common.records.all(&mut common.etcd, server, RecordKind::Clients).await?);
                all.hosts.extend(common.records.all(&mut common.etcd, server, RecordKind::Hosts).await?);
            }
            Ok(all)
        })
        .await
    }

    /// The grace period for the clients of these servers is over: their records go.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn forget_records(&self, lost: &[u16]) -> Result<(), String> {
        let (kept, lost) = (self.kept.clone(), lost.to_vec());
        self.ask(async move {
            let common = &mut *kept.common.lock().await;
            for server in lost {
                common.records.forget(&mut common.etcd, server).await?;
            }
            Ok(())
        })
        .await
    }

    /// A client of lost servers has reclaimed all. If it was the last one, the grace period ends.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn has_reclaimed(&self, name: &[u8]) -> Result<(), String> {
        let (kept, name) = (self.kept.clone(), name.to_vec());
        let (lost, cluster) = (self.shared.grace.lost.borrow().clone(), self.shared.config.cluster.clone());
        self.ask(async move {
            let common = &mut *kept.common.lock().await;
            let mut is_last = true;
            for server in lost {
                common.records.remove(&mut common.etcd, (server, RecordKind::Clients), &name).await?;
                is_last &= !common.records.has(&mut common.etcd, server).await?;
            }
            if is_last {
                end_grace(&mut common.etcd, &cluster).await?;
            }
            Ok(())
        })
        .await
    }

    /// Runs a task on the thread for etcd, to which its connections belong.
    async fn ask<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, String> {
        let done = self.shared.etcd.spawn(task).await.map_err(|error| error.to_string())?;
        done.map_err(|error| error.to_string())
    }

    /// Where tasks of this server run.
    #[must_use]
    pub fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// Whether this server has the lowest number of all members, and the present epoch.
    #[must_use]
    pub fn first(&self) -> (bool, u64) {
        let members = self.shared.members.borrow();
        (members.members.first().is_some_and(|first| first.number == self.shared.me), members.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_reclaim_when_they_are_known_and_etcd_says_so() {
        let (grace, now) = (Grace::default(), fence::now());
        assert!(!grace.is_on() && !grace.reclaims());
        let period = |lost: &[u16], reclaims| GracePeriod { lost: lost.to_vec(), reclaims };
        grace.see(now, Some(&period(&[3], true)));
        assert!(grace.is_on() && grace.reclaims() && !grace.is_known());
        grace.know(&[2]);
        assert!(!grace.is_known(), "of an earlier loss");
        grace.know(&[3]);
        assert!(grace.is_known());
        grace.see(now, Some(&period(&[3, 4], true)));
        assert!(!grace.is_known(), "another server is lost");
        grace.see(now.saturating_sub(COUNTS_FOR), Some(&period(&[3, 4], true)));
        assert!(!grace.reclaims(), "etcd was not heard for too long");
        grace.see(now, Some(&period(&[3, 4], false)));
        assert!(grace.is_on() && !grace.reclaims());
        grace.see(now, None);
        assert!(!grace.is_on());
    }
}
