//! The part of this server in what the servers of a cluster do together: the schedules, which one of them keeps, and the accounts,
//! which they have in common.

use std::sync::Arc;
use std::time::Duration;

use admin::control::Schedules;
use admin::{Arguments, Settings};
use tokio::sync::watch;

use super::in_common;
use crate::serve::component::{Component, InCommon};
use crate::serve::current::Current;
use crate::shares::keeper::Keeper;
use crate::shares::volumes::Volumes;

/// How often it is looked whether clients make backups here.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The part of this server.
pub(crate) struct Part {
    volumes: Arc<Volumes>,
    keeper: Option<Arc<Keeper>>,
    /// The shares with backups of Macs that get a snapshot after each session.
    backups: watch::Sender<Vec<String>>,
}

impl Part {
    /// Begins to tell the other servers of a cluster of backups.
    pub(crate) fn start(current: &Current, volumes: Arc<Volumes>, keeper: Option<Arc<Keeper>>) -> Arc<Self> {
        let backups = watch::Sender::new(of_backups(&current.settings));
        let part = Arc::new(Self { volumes, keeper, backups });
        if part.volumes.cluster.is_some() {
            tokio::spawn(part.clone().tell());
        }
        part
    }

    /// The program begins nothing more.
    pub(crate) fn end(&self) {
        self.keeper.iter().for_each(|keeper| keeper.end());
    }

    /// Tells the other servers of backups, and the program that this server keeps the schedules from now on.
    async fn tell(self: Arc<Self>) {
        let Some(cluster) = self.volumes.cluster.clone() else { return };
        let (mut every, mut was_here) = (tokio::time::interval(LOOK_EVERY), false);
        loop {
            every.tick().await;
            let is_here = !cluster.keeps_schedules().is_zero();
            if is_here && !was_here {
                self.keeper.iter().for_each(|keeper| keeper.wake());
            }
            was_here = is_here;
            let shares = self.backups.borrow().clone();
            cluster.tell_backups(if shares.is_empty() { shares } else { self.volumes.being_written(shares) });
        }
    }
}

fn of_backups(settings: &Settings) -> Vec<String> {
    let shares = settings.shares.iter();
    let shares = shares.filter(|share| share.time_machine && share.time_machine_snapshots > 0);
    shares.map(|share| share.name.clone()).collect()
}

impl Component for Part {
    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.keeper.iter().for_each(|keeper| keeper.wake());
        self.backups.send_replace(of_backups(&current.settings));
        Vec::new()
    }
}

impl InCommon for Part {
    fn before_reload(&self, arguments: &Arguments) -> Result<Vec<String>, Vec<String>> {
        let Some(cluster) = &self.volumes.cluster else { return Ok(Vec::new()) };
        in_common::before_reload(cluster, arguments, self.volumes.state())
    }

    fn schedules(&self) -> Schedules {
        let Some(cluster) = &self.volumes.cluster else { return Schedules::default() };
        let left = cluster.keeps_schedules().as_millis();
        Schedules {
            left_ms: Some(u64::try_from(left).unwrap_or(u64::MAX)),
            backups_elsewhere: cluster.backups_elsewhere(),
        }
    }
}
