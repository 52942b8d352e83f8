//! Bonjour: the server announces its services by multicast DNS (RFC 6762), so that Macs and other
//! clients list it.

mod services;
mod voice;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use admin::ShareSettings;
use admin::control::{Listener, ListenerStatus, Status};
use admin::settings::BoundPorts;
use lock::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::ranks;
use crate::serve::component::Component;
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;
use services::Announcement;
pub(crate) use services::{Service, one, shown};
use voice::Voice;

/// How long the goodbye may take.
const GOODBYE_WITHIN: Duration = Duration::from_secs(2);

/// Announces the server.
pub(crate) struct BonjourAnnouncer {
    volumes: Arc<Volumes>,
    ports: BoundPorts,
    /// The sockets that it listens on now.
    sockets: watch::Receiver<Vec<SocketAddr>>,
    /// `None` after the stop.
    speaker: Mutex<Option<Speaker>, ranks::BonjourSpeaker>,
}

/// The task that announces, and the channel for announcements.
struct Speaker {
    wanted: watch::Sender<Option<Announcement>>,
    task: JoinHandle<()>,
}

impl BonjourAnnouncer {
    /// Begins to announce the services of these settings, at the bound ports.
    pub(crate) fn start(current: &Current, volumes: Arc<Volumes>, ports: BoundPorts) -> Arc<Self> {
        let (wanted, changes) = watch::channel(None);
        let (listens, sockets) = watch::channel(Vec::new());
        let task = tokio::spawn(speak(changes, listens));
        let speaker = Mutex::new(Some(Speaker { wanted, task }));
        let view = Arc::new(Self { volumes, ports, sockets, speaker });
        view.want(current);
        view
    }

    fn want(&self, current: &Current) {
        // An error of the index is reported by the protocols.
        let id = |share: &ShareSettings| self.volumes.mac_id(share).ok();
        let announcement = Announcement::of(&current.settings, self.ports, id);
        if let Some(speaker) = &*self.speaker.lock() {
            speaker.wanted.send_if_modified(|now| {
                let differs = *now != announcement;
                *now = announcement;
                differs
            });
        }
    }

    /// Sends goodbyes, so that other machines remove the server from their lists at once.
    pub(crate) async fn stopped(&self) {
        let Some(Speaker { wanted, task }) = self.speaker.lock().take() else { return };
        drop(wanted);
        let _ = tokio::time::timeout(GOODBYE_WITHIN, task).await; // then it stops without a goodbye
    }
}

impl Component for BonjourAnnouncer {
    fn report(&self, status: &mut Status) {
        let sockets = self.sockets.borrow();
        status.listeners.extend(sockets.iter().map(|address| ListenerStatus {
            protocol: Listener::Bonjour,
            transport: "udp".into(),
            address: *address,
        }));
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.want(current);
        Vec::new()
    }
}

/// Announces the current announcement until the sender is dropped.
async fn speak(mut wanted: watch::Receiver<Option<Announcement>>, sockets: watch::Sender<Vec<SocketAddr>>) {
    let mut voice: Option<Voice> = None;
    let mut host = None;
    loop {
        sockets.send_replace(voice.as_ref().map(Voice::sockets).unwrap_or_default());
        tokio::select! {
            changed = wanted.changed() => {
                if let Some(voice) = voice.take() {
                    voice.goodbye().await;
                }
                if changed.is_err() {
                    return;
                }
                let announcement = wanted.borrow_and_update().clone();
                if announcement.is_some() && host.is_none() {
                    host = voice::host();
                }
                voice = announcement.zip(host.as_ref()).and_then(|(what, host)| Voice::raise(what, host));
            }
            over = Voice::until_over(voice.as_ref()) => {
                if let Some(old) = voice.take() {
                    voice = old.again(over).await;
                }
            }
        }
    }
}
