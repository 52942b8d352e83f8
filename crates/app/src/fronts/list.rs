//! All fronts: their listeners, and the fronts that run.

use std::sync::Arc;

use admin::Protocol;
use admin::ServerSettings;
use admin::control::ListenerStatus;
use admin::recipe::{self, PortmapServices, Reachable};
use admin::settings::BoundPorts;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{FRONTS, Front, FrontListeners, Launch, Task, bind};
use crate::gateway::witness;
use crate::host::here;
use crate::serve::component::Component;

/// The listeners of every protocol, in the order of [`FRONTS`].
pub(crate) struct AllListeners([(Protocol, FrontListeners); FRONTS.len()]);

impl AllListeners {
    /// Opens those of the protocols that are on. Needs a tokio runtime.
    pub(crate) fn open(settings: &ServerSettings) -> anyhow::Result<Self> {
        let privileged = here::privileged();
        let mut all = FRONTS.map(|row| (row.protocol, FrontListeners::default()));
        for ((_, listeners), row) in all.iter_mut().zip(&FRONTS) {
            listeners.own = bind::open(settings, row.protocol, privileged)?;
        }
        for ((_, listeners), row) in all.iter_mut().zip(&FRONTS) {
            listeners.beside = (row.beside)(settings, privileged)?;
        }
        Ok(Self(all))
    }

    /// Whether this server tells clients of others when theirs are lost.
    pub(crate) fn has_witness(&self) -> bool {
        self.0.iter().any(|(_, listeners)| listeners.beside.is_some())
    }

    /// For a status.
    pub(crate) fn status(&self) -> Vec<ListenerStatus> {
        let own =
            self.0.iter().filter_map(|(protocol, bound)| Some(bound.own.as_ref()?.listeners(*protocol)));
        let beside =
            self.0.iter().filter_map(|(_, bound)| bound.beside.as_ref().map(witness::Listeners::status));
        own.chain(beside).flatten().collect()
    }

    pub(crate) fn ports(&self) -> BoundPorts {
        let bound = |protocol| self.0.iter().find(|(one, _)| *one == protocol);
        BoundPorts::by(|protocol| Some(bound(protocol)?.1.own.as_ref()?.port))
    }
}

/// The fronts that run, in the order of [`FRONTS`].
#[derive(Clone, Default)]
pub(crate) struct Fronts(Vec<Arc<dyn Front>>);

impl Fronts {
    /// Starts all of them, then answers on these listeners until the server stops. A protocol that is off has no listeners,
    /// and may be asked for its status. Returns where clients find them, too.
    pub(crate) async fn begin(
        launch: &Launch<'_>,
        listeners: AllListeners,
        stopping: &watch::Receiver<bool>,
    ) -> anyhow::Result<(Self, Reachable)> {
        let mut all = Vec::new();
        for row in &FRONTS {
            all.push((row.start)(launch).await?);
        }
        let mut portmap = PortmapServices::default();
        for (front, (_, listeners)) in all.iter().zip(listeners.0) {
            let (front, current) = (Arc::clone(front), launch.current.clone());
            let found = front.serve(listeners, current, stopping.clone()).await;
            portmap.locks |= found.locks;
            portmap.files |= found.files;
        }
        let host = recipe::address(&launch.current.settings.server.listen);
        Ok((Self(all), Reachable { host, ports: launch.ports, portmap }))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn Front> {
        self.0.iter().map(|front| &**front)
    }

    pub(crate) fn components(&self) -> impl Iterator<Item = Arc<dyn Component>> {
        self.0.iter().map(|front| front.clone() as Arc<dyn Component>)
    }

    /// Tells clients that the server shuts down, and lets their connections end.
    pub(crate) async fn goodbye(&self) {
        self.each(Front::goodbye).await;
    }

    /// Waits until every connection has ended.
    pub(crate) async fn stopped(&self) {
        self.each(Front::stopped).await;
    }

    async fn each(&self, work: impl Fn(Arc<dyn Front>) -> Task) {
        let mut all: JoinSet<()> = self.0.iter().cloned().map(work).collect();
        while all.join_next().await.is_some() {} // a panic there was logged
    }
}
