//! The server in the list *Network* of Windows: WS-Discovery, with the same setting as Bonjour.

use std::sync::Arc;
use std::time::Duration;

use admin::control::{Listener, ListenerStatus, Status};
use admin::settings::BoundPorts;
use admin::{Bonjour, Protocol, Settings};
use lock::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use wsd::{Device, Responder, Sockets};

use crate::host::here;
use crate::ranks;
use crate::serve::component::Component;
use crate::serve::current::Current;

/// The only port at which Windows connects to a listed computer.
const PORT: u16 = Protocol::Smb.standard_port();
/// The workgroup of computers without a domain.
const WORKGROUP: &str = "WORKGROUP";
/// How long the goodbye may take.
const GOODBYE_WITHIN: Duration = Duration::from_secs(2);

/// Announces the server to Windows.
pub(crate) struct WsdAnnouncer {
    uuid: [u8; 16],
    ports: BoundPorts,
    sockets: watch::Receiver<Sockets>,
    /// `None` after the stop.
    speaker: Mutex<Option<Speaker>, ranks::WsdSpeaker>,
}

/// The task that announces, and the channel for announcements.
struct Speaker {
    wanted: watch::Sender<Option<Device>>,
    task: JoinHandle<()>,
}

impl WsdAnnouncer {
    /// Begins to announce the device of these settings, at the bound ports. `uuid` is the server's
    /// permanent id.
    pub(crate) fn start(current: &Current, uuid: [u8; 16], ports: BoundPorts) -> Arc<Self> {
        let (wanted, changes) = watch::channel(None);
        let (answering, sockets) = watch::channel(Sockets::default());
        let speaker = Mutex::new(Some(Speaker { wanted, task: tokio::spawn(speak(changes, answering)) }));
        let view = Arc::new(Self { uuid, ports, sockets, speaker });
        view.want(&current.settings);
        view
    }

    fn want(&self, settings: &Settings) {
        let device = device(settings, self.uuid, self.ports);
        if let Some(speaker) = &*self.speaker.lock() {
            speaker.wanted.send_if_modified(|now| {
                let differs = *now != device;
                *now = device;
                differs
            });
        }
    }

    /// Sends a goodbye, so that the server is removed from the list at once.
    pub(crate) async fn stopped(&self) {
        let Some(Speaker { wanted, task }) = self.speaker.lock().take() else { return };
        drop(wanted);
        let _ = tokio::time::timeout(GOODBYE_WITHIN, task).await; // then it stops without a goodbye
    }
}

impl Component for WsdAnnouncer {
    fn report(&self, status: &mut Status) {
        let Sockets { udp, tcp } = self.sockets.borrow().clone();
        for (transport, addresses) in [("udp", udp), ("tcp", tcp)] {
            status.listeners.extend(addresses.into_iter().map(|address| ListenerStatus {
                protocol: Listener::Wsd,
                transport: transport.into(),
                address,
            }));
        }
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.want(&current.settings);
        Vec::new()
    }
}

/// Announces the current device until the view is dropped.
async fn speak(mut wanted: watch::Receiver<Option<Device>>, sockets: watch::Sender<Sockets>) {
    let mut responder: Option<Responder> = None;
    loop {
        let changed = wanted.changed().await;
        if let Some(old) = responder.take() {
            old.goodbye().await;
        }
        if changed.is_err() {
            return;
        }
        let device = wanted.borrow_and_update().clone();
        responder = device.map(|device| Responder::start(device, sockets.clone()));
    }
}

/// The device for these settings; `None` if Windows cannot reach it, or if the settings turn it
/// off.
fn device(settings: &Settings, uuid: [u8; 16], ports: BoundPorts) -> Option<Device> {
    let server = &settings.server;
    let shows_share = settings.shares.iter().any(|share| share.protocols.contains(&Protocol::Smb));
    let is_reachable = server.listen.iter().any(|ip| !ip.is_loopback());
    if server.bonjour == Bonjour::Off
        || ports.of(Protocol::Smb) != Some(PORT)
        || !shows_share
        || !is_reachable
    {
        return None;
    }
    let host = here::host_name();
    Some(Device {
        uuid,
        computer: host.split('.').next().unwrap_or_default().to_uppercase(),
        workgroup: WORKGROUP.into(),
        friendly_name: here::server_name(server),
        program: "Fourfold".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        listen: server.listen.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports() -> BoundPorts {
        BoundPorts::default().with(Protocol::Smb, Some(445)).with(Protocol::Afp, Some(548))
    }

    fn announced(server: &str, share: &str, ports: BoundPorts) -> Option<Device> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!("[server]\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n{share}");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap();
        device(&settings, [7; 16], ports)
    }

    #[test]
    fn windows_is_told_of_a_server_that_it_can_reach() {
        let device = announced("bonjour-name = \"Studio\"", "", ports()).unwrap();
        assert_eq!((device.friendly_name.as_str(), device.uuid), ("Studio", [7; 16]));
        assert_eq!(device.computer, device.computer.to_uppercase());
        assert!(!device.computer.contains('.') && !device.computer.is_empty());
    }

    #[test]
    fn windows_is_not_told_of_what_it_cannot_reach() {
        let here = "listen = [\"127.0.0.1\", \"::1\"]\nbonjour = \"on\"";
        for (server, share, ports) in [
            ("bonjour = \"off\"", "", ports()),
            (here, "", ports()),
            ("", "smb = false", ports()),
            ("", "", ports().with(Protocol::Smb, None)),
            ("", "", ports().with(Protocol::Smb, Some(10_445))),
        ] {
            assert_eq!(announced(server, share, ports), None, "{server:?} {share:?} {ports:?}");
        }
    }
}
