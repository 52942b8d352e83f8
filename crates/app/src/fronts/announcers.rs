//! How other machines learn of the server by themselves.

use std::sync::Arc;

use super::Launch;
use super::bonjour::BonjourAnnouncer;
use super::wsd::WsdAnnouncer;
use crate::serve::component::Component;

/// What announces the server.
pub(crate) struct Announcers {
    bonjour: Arc<BonjourAnnouncer>,
    wsd: Arc<WsdAnnouncer>,
}

impl Announcers {
    /// Begins to announce what the settings say, at the bound ports.
    pub(crate) fn start(launch: &Launch<'_>) -> Self {
        let Launch { current, state, volumes, ports, .. } = *launch;
        Self {
            bonjour: BonjourAnnouncer::start(current, volumes.clone(), ports),
            wsd: WsdAnnouncer::start(current, *state.server_id(), ports),
        }
    }

    pub(crate) fn components(&self) -> [Arc<dyn Component>; 2] {
        [self.bonjour.clone(), self.wsd.clone()]
    }

    /// Sends goodbyes, so that other machines remove the server from their lists at once.
    pub(crate) async fn stopped(&self) {
        tokio::join!(self.bonjour.stopped(), self.wsd.stopped());
    }
}
