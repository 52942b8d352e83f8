//! Two servers of one folder, with a coordinator between them in this process.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use vfs::backend::Backend;
use vfs::backend::faulty::Faulty;
use vfs::backend::host::{Host, HostOptions};
use vfs::served::ServedTree;
use vfs::state::{Back, ChangeNotice, Coordinator, Elsewhere, Limits, Party, PinConflict, Policy, State};
use vfs::{FileId, Site, Volume, VolumeOptions};

use super::Scene;

/// The time that a message between servers takes.
pub const TRAVEL: Duration = Duration::from_millis(1);
/// How long a state stays where it has come.
const STAYS: Duration = Duration::from_millis(4);

/// A coordination service in this process. It knows the server that has the state of each file.
#[derive(Default)]
struct Service {
    sites: OnceLock<[Weak<Site>; 2]>,
    owners: Mutex<HashMap<FileId, Arc<Owner>>>,
    /// What servers have said and others have not heard yet.
    unheard: AtomicUsize,
}

/// The server that has a state, if there is one, and until when it stays there.
#[derive(Default)]
struct Owner {
    server: tokio::sync::Mutex<Option<usize>>,
    stays: Mutex<Option<Instant>>,
}

struct Port {
    service: Arc<Service>,
    server: usize,
    said: mpsc::UnboundedSender<(u16, FileId, Back)>,
}

impl Service {
    fn site(&self, server: usize) -> Option<Arc<Site>> {
        self.sites.get()?[server].upgrade()
    }

    /// Carries what a server says of the states that it has to the servers of the clients.
    async fn carry(self: Arc<Self>, mut said: mpsc::UnboundedReceiver<(u16, FileId, Back)>) {
        while let Some((server, file, back)) = said.recv().await {
            sleep(TRAVEL).await;
            let (to, from) = (usize::from(server), usize::from(1 - server));
            let Some(site) = self.site(to) else { return };
            let number = if let Back::Remove(number) = back { number } else { 0 };
            if let Some(last) = site.state().hear_back(file, back) {
                last().unwrap();
                let Some(from) = self.site(from) else { return };
                from.state().removed(file, number);
            }
            self.unheard.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn owner(&self, file: FileId) -> Arc<Owner> {
        self.owners.lock().unwrap().entry(file).or_default().clone()
    }

    async fn hand_over(&self, file: FileId, to: usize) {
        let owner = self.owner(file);
        let mut server = owner.server.lock().await;
        sleep(TRAVEL).await;
        let from = server.replace(to).and_then(|server| self.site(server));
        while owner.stays.lock().unwrap().is_some_and(|stays| stays > Instant::now()) {
            sleep(TRAVEL).await;
        }
        let state = loop {
            match from.as_ref().map_or(Ok(None), |from| from.state().give_up(file)) {
                Ok(state) => break state.unwrap_or_default(),
                Err(PinConflict) => sleep(TRAVEL).await,
            }
        };
        while self.unheard.load(Ordering::SeqCst) > 0 {
            sleep(TRAVEL).await;
        }
        let Some(site) = self.site(to) else { return };
        site.state().take_over(file, state);
        *owner.stays.lock().unwrap() = Some(Instant::now() + STAYS);
    }
}

impl Coordinator for Port {
    fn ask(&self, file: FileId) {
        let (service, to) = (self.service.clone(), self.server);
        tokio::spawn(async move { service.hand_over(file, to).await });
    }

    fn free(&self, _file: FileId) {} // it looks again

    fn hold(&self, file: FileId) {
        *self.service.owner(file).stays.lock().unwrap() = Some(Instant::now() + STAYS * 4);
    }

    fn back(&self, server: u16, file: FileId, back: Back) {
        self.service.unheard.fetch_add(1, Ordering::SeqCst);
        let _ = self.said.send((server, file, back));
    }

    fn hold_below(&self, folder: FileId, by: Party) -> oneshot::Receiver<Option<Elsewhere>> {
        let (answer, answered) = oneshot::channel();
        let site = self.service.site(1 - self.server);
        tokio::spawn(async move {
            sleep(TRAVEL).await;
            let Some(site) = site else { return };
            site.recall_opens(by, &site.files_open_below(folder, usize::MAX)).await;
            let _ = answer.send(site.hold_below(folder).map(|hold| Box::new(hold) as Elsewhere));
        });
        answered
    }

    fn tell(&self, told: ChangeNotice) {
        if let Some(site) = self.service.site(1 - self.server) {
            site.follow(&told);
            site.hear(&told);
        }
    }
}

/// Two servers of one folder, of which each is told the other one's changes.
pub fn servers() -> [Scene; 2] {
    servers_over(|path| Arc::new(Host::open(path, &HostOptions::default()).unwrap()))
}

/// The same with a host of which some calls take this much longer.
pub fn slow_servers(pause: Duration) -> [Scene; 2] {
    servers_over(|path| {
        let slow = Faulty::new(Host::open(path, &HostOptions::default()).unwrap());
        slow.plan().slow(pause);
        Arc::new(slow)
    })
}

fn servers_over(open: impl Fn(&Path) -> Arc<dyn Backend>) -> [Scene; 2] {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let service = Arc::new(Service::default());
    let site = |server: usize| {
        let (said, hears) = mpsc::unbounded_channel();
        tokio::spawn(service.clone().carry(hears));
        let port = Port { service: service.clone(), server, said };
        Arc::new(Site::joined(State::joined(
            Policy::default(),
            Limits::default(),
            u16::try_from(server).unwrap(),
            Arc::new(port),
        )))
    };
    let sites = [site(0), site(1)];
    service.sites.set(sites.each_ref().map(Arc::downgrade)).unwrap();
    let scene = |site: &Arc<Site>| {
        let options = VolumeOptions { shared: true, ..VolumeOptions::default() };
        let volume = Arc::new(Volume::in_site(open(dir.path()), options, site.clone()));
        Scene { root: volume.root().unwrap(), volume, dir: None }
    };
    let [first, second] = sites.each_ref().map(scene);
    [Scene { dir: Some(dir), ..first }, second]
}

/// Runs a change as a protocol does that waits for leases.
pub async fn settled<T>(scene: &Scene, run: impl FnMut() -> vfs::Result<T>) -> vfs::Result<T> {
    scene.volume.once_recalled(Duration::from_secs(60), run).await
}
