//! The server's side: sends Hello and Bye, and answers. One [`Responder`] for one [`Device`].

mod datagrams;
mod limiter;
mod links;
mod metadata;
#[cfg(test)]
mod testing;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lock::Mutex;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::ranks;
use crate::wire::answer::{self, About, Description, MessageSequence};
use limiter::Limiter;
use links::Link;

/// How often the host's addresses are checked.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// When Hello is sent after the start (SOAP-over-UDP 2.2 repeats it).
const HELLO_AFTER: [Duration; 3] =
    [Duration::from_millis(0), Duration::from_millis(150), Duration::from_millis(400)];
/// When Bye is sent after the end.
const BYE_AFTER: [Duration; 2] = [Duration::from_millis(0), Duration::from_millis(100)];

/// The announced device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// It never changes. Windows recognises the device by it.
    pub uuid: [u8; 16],
    /// The computer's name, by which Windows connects.
    pub computer: String,
    /// Its workgroup.
    pub workgroup: String,
    /// The name shown to users.
    pub friendly_name: String,
    /// The program that announces it.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The addresses that the server listens on. It is never announced on a loopback interface.
    pub listen: Vec<IpAddr>,
}

/// A device that is announced until [`Self::goodbye`].
pub struct Responder {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// The addresses at which a device answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Datagrams: Probe and Resolve.
    pub udp: Vec<SocketAddr>,
    /// HTTP: descriptions.
    pub tcp: Vec<SocketAddr>,
}

impl Responder {
    /// Begins to announce the device, and keeps `sockets` current. Errors are logged. Needs a tokio
    /// runtime.
    #[must_use]
    pub fn start(device: Device, sockets: watch::Sender<Sockets>) -> Self {
        let (stop, stopping) = watch::channel(false);
        Self { stop, task: tokio::spawn(announce(device, stopping, sockets)) }
    }

    /// Sends Bye.
    pub async fn goodbye(self) {
        self.stop.send_replace(true);
        let _ = self.task.await; // a panic there has been logged
    }
}

/// A device with the state that its messages need.
struct AnnouncedDevice {
    device: Device,
    endpoint: String,
    /// The path in HTTP: `/uuid`.
    path: String,
    instance: u64,
    /// The version of the metadata: the time of this start.
    version: u64,
    numbers: AtomicU64,
    limiter: Mutex<Limiter, ranks::WsdClients>,
}

impl AnnouncedDevice {
    fn new(device: Device) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let uuid = uuid(device.uuid);
        Self {
            device,
            endpoint: format!("urn:uuid:{uuid}"),
            path: format!("/{uuid}"),
            instance: now,
            version: now,
            numbers: AtomicU64::new(0),
            limiter: Mutex::default(),
        }
    }

    fn sequence(&self) -> MessageSequence {
        MessageSequence { instance: self.instance, number: self.numbers.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    fn about<'a>(&'a self, places: &'a str) -> About<'a> {
        About { endpoint: &self.endpoint, places, version: self.version }
    }

    /// The address of the description, for clients on this link.
    fn place(&self, link: &Link) -> String {
        format!("http://{}{}", link.http_address(), self.path)
    }

    fn description(&self, to: &str) -> String {
        let device = &self.device;
        let description = Description {
            endpoint: &self.endpoint,
            friendly_name: &device.friendly_name,
            computer: &format!("{}/Workgroup:{}", device.computer, device.workgroup),
            manufacturer: &device.program,
            model: &device.program,
            firmware: &device.version,
        };
        answer::description(&message_id(), to, description)
    }
}

/// Announces the device on the present links. Starts again when they change.
async fn announce(device: Device, mut stopping: watch::Receiver<bool>, sockets: watch::Sender<Sockets>) {
    let mut announced = AnnouncedDevice::new(device);
    loop {
        let links = links::of(&announced.device.listen);
        let shared = Arc::new(announced);
        let (open, tasks) = begin(&shared, &links);
        let at = |port| open.iter().map(|open| open.link.at(port)).collect();
        sockets.send_replace(Sockets { udp: at(datagrams::PORT), tcp: at(links::HTTP_PORT) });
        let is_over = tokio::select! {
            () = stay(&shared, &open, &links) => false,
            _ = stopping.wait_for(|stop| *stop) => true,
        };
        drop(tasks); // ends the tasks
        sockets.send_replace(Sockets::default());
        if is_over {
            let bye = || answer::bye(&message_id(), shared.sequence(), &shared.endpoint);
            return repeat(&BYE_AFTER, &open, |_| bye()).await;
        }
        announced = AnnouncedDevice::new(shared.device.clone());
    }
}

/// Sends Hello. Returns when the host's addresses have changed.
async fn stay(announced: &AnnouncedDevice, open: &[Arc<datagrams::Sockets>], links: &[Link]) {
    tokio::time::sleep(random_delay()).await;
    repeat(&HELLO_AFTER, open, |link| {
        let place = announced.place(link);
        answer::hello(&message_id(), announced.sequence(), announced.about(&place))
    })
    .await;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if links::of(&announced.device.listen) != links {
            tracing::debug!("the host's addresses have changed");
            return;
        }
    }
}

/// Begins to answer on each link where that is possible.
fn begin(announced: &Arc<AnnouncedDevice>, links: &[Link]) -> (Vec<Arc<datagrams::Sockets>>, JoinSet<()>) {
    let (mut open, mut tasks, mut refused) = (Vec::new(), JoinSet::new(), None);
    for link in links {
        let both = || Ok::<_, PortError>((metadata::listen(link)?, datagrams::Sockets::open(link)?));
        match both() {
            Ok((listener, sockets)) => {
                let sockets = Arc::new(sockets);
                tasks.spawn(metadata::serve(announced.clone(), link.clone(), listener));
                tasks.spawn(datagrams::serve(announced.clone(), sockets.clone()));
                open.push(sockets);
            }
            Err(taken) => refused = refused.or(Some((link.ip, taken))),
        }
    }
    // One line, however many addresses the host has: the cause is mostly the same.
    if let Some((address, PortError { port, error })) = refused {
        tracing::warn!(%address, port, %error, "Windows does not list the server: the port cannot be used");
    }
    if !open.is_empty() {
        let name = &announced.device.computer;
        tracing::info!(name, addresses = open.len(), "announced to Windows by WS-Discovery");
    }
    (open, tasks)
}

/// A port that cannot be used.
struct PortError {
    port: &'static str,
    error: std::io::Error,
}

async fn repeat(times: &[Duration], open: &[Arc<datagrams::Sockets>], message: impl Fn(&Link) -> String) {
    let messages: Vec<String> = open.iter().map(|sockets| message(&sockets.link)).collect();
    let mut passed = Duration::ZERO;
    for after in times {
        tokio::time::sleep(after.saturating_sub(passed)).await;
        passed = *after;
        for (sockets, message) in open.iter().zip(&messages) {
            sockets.to_everyone(message).await;
        }
    }
}

/// Up to half a second: APP_MAX_DELAY, WS-Discovery 3.1.3.
fn random_delay() -> Duration {
    Duration::from_millis(u64::from(random::<1>()[0]) * 2)
}

/// A fresh `urn:uuid:…` of version 4, RFC 9562.
fn message_id() -> String {
    let mut bytes = random::<16>();
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    format!("urn:uuid:{}", uuid(bytes))
}

/// Zeros if there is no randomness: it is not used for secrets.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let _ = getrandom::fill(&mut bytes);
    bytes
}

fn uuid(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hex[part]).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_rfc_9562_wants() {
        let id = std::array::from_fn(|at| at as u8 * 0x11);
        assert_eq!(uuid(id), "00112233-4455-6677-8899-aabbccddeeff");
        let (one, other) = (message_id(), message_id());
        assert_ne!(one, other);
        assert_eq!(&one[..9], "urn:uuid:");
        assert_eq!(&one[23..24], "4");
    }
}
