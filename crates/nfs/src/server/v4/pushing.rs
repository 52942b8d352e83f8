//! Delegations that clients wait for, because other clients used the file or there were none left: RFC 8881 18.16.3, 18.49, 20.5 and
//! 20.7.
//!
//! ```text
//! OPEN, WANT_DELEGATION ─► none yet ─► Wish ─ each second ─► granted ─► CB_PUSH_DELEG ─► accepted
//!                                       ▲                                  │    └─ rejected ─► given back
//!                                       └────────── given back ◄─ DELAY ───┘
//! the table is full ─► Signal ─ each second ─► there is room ─► CB_RECALLABLE_OBJ_AVAIL ─► the client asks again
//! ```

use std::sync::{Arc, Weak};
use std::time::Duration;

use lock::Mutex;
use tokio::time::sleep;
use vfs::FileId;

use super::backchannel::CallbackOutcome;
use super::client::Client;
use super::delegations::{Delegation, Use, call_back, release};
use super::wanting::{WANT_PUSH, WANT_SIGNAL, WhyNoDelegation, try_grant};
use crate::ranks;
use crate::server::Service;
use crate::server::v3::Target;
use crate::wire::v4::callbacks::{Available, Callback, KINDS_OF_DELEGATIONS, Push};
use crate::wire::v4::types::Bitmap;

/// How often the server tries to fulfil wishes.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// The most wishes of one client and of all clients, and the most clients that wait for room.
const WISHES_OF_CLIENT: usize = 64;
const WISHES: usize = 1024;
const SIGNALS: usize = 4096;

/// A delegation that a client waits for.
struct WantedDelegation {
    client: Weak<Client>,
    target: Target,
    allows: Use,
}

impl WantedDelegation {
    fn file(&self) -> FileId {
        self.target.found.object.id()
    }

    fn is_of(&self, client: &Client) -> bool {
        std::ptr::eq(self.client.as_ptr(), client)
    }
}

/// The clients that wait for delegations.
#[derive(Default)]
pub(super) struct Wishes(Mutex<WishList, ranks::Nfs4Notices>);

#[derive(Default)]
struct WishList {
    wishes: Vec<WantedDelegation>,
    signals: Vec<Weak<Client>>,
    /// A task looks after them.
    is_watched: bool,
}

/// Notes that a client waits for a delegation that it does not get now, if its `want` says so. Answers whether it is told later.
pub(super) fn wish(
    service: &Arc<Service>,
    client: &Arc<Client>,
    target: &Target,
    (allows, want): (Use, u32),
    why: WhyNoDelegation,
) -> bool {
    let wishes = &service.nfs4.wishes;
    match why {
        WhyNoDelegation::Contention if want & WANT_PUSH != 0 => wishes.add(
            service,
            WantedDelegation { client: Arc::downgrade(client), target: target.clone(), allows },
        ),
        WhyNoDelegation::NoResource if want & WANT_SIGNAL != 0 => wishes.signal(service, client),
        _ => false,
    }
}

impl Wishes {
    fn add(&self, service: &Arc<Service>, wish: WantedDelegation) -> bool {
        let Some(client) = wish.client.upgrade() else { return false };
        let mut waiting = self.0.lock();
        let known = waiting.wishes.iter_mut().find(|one| one.is_of(&client) && one.file() == wish.file());
        if let Some(known) = known {
            *known = wish;
            return true;
        }
        let own = waiting.wishes.iter().filter(|one| one.is_of(&client)).count();
        if own >= WISHES_OF_CLIENT || waiting.wishes.len() >= WISHES || !waiting.watch(service) {
            return false;
        }
        waiting.wishes.push(wish);
        true
    }

    /// Notes that a client is to be told when there are delegations again. `false`: there are some, or too many clients wait.
    pub(super) fn signal(&self, service: &Arc<Service>, client: &Arc<Client>) -> bool {
        if !service.nfs4.delegations.is_full() {
            return false;
        }
        let mut waiting = self.0.lock();
        if waiting.signals.iter().any(|one| std::ptr::eq(one.as_ptr(), &**client)) {
            return true;
        }
        if waiting.signals.len() >= SIGNALS || !waiting.watch(service) {
            return false;
        }
        waiting.signals.push(Arc::downgrade(client));
        true
    }

    /// A client does not wait for the delegation of a file any more. Answers whether it did.
    pub(super) fn cancel(&self, client: &Client, file: FileId) -> bool {
        let mut waiting = self.0.lock();
        let before = waiting.wishes.len();
        waiting.wishes.retain(|wish| !(wish.is_of(client) && wish.file() == file));
        waiting.wishes.len() < before
    }

    /// The wishes to try now: those of clients that are there. `None`: no client waits, and the task ends.
    fn due(&self) -> Option<Vec<WantedDelegation>> {
        let mut waiting = self.0.lock();
        waiting.wishes.retain(|wish| is_there(&wish.client));
        waiting.signals.retain(is_there);
        if waiting.wishes.is_empty() && waiting.signals.is_empty() {
            waiting.is_watched = false;
            return None;
        }
        let copy = |wish: &WantedDelegation| WantedDelegation {
            client: wish.client.clone(),
            target: wish.target.clone(),
            ..*wish
        };
        Some(waiting.wishes.iter().map(copy).collect())
    }

    /// The clients to tell that there is room.
    fn signalled(&self, service: &Service) -> Vec<(Arc<Client>, usize)> {
        let Some(room) = service.nfs4.delegations.room() else { return Vec::new() };
        let signals = std::mem::take(&mut self.0.lock().signals);
        let share = room / signals.len().max(1);
        signals.iter().filter_map(|client| Some((client.upgrade()?, share))).collect()
    }
}

fn is_there(client: &Weak<Client>) -> bool {
    client.upgrade().is_some_and(|client| !client.is_over())
}

impl WishList {
    /// Begins to look after the wishes, unless that has begun. `false`: no task can do that.
    fn watch(&mut self, service: &Arc<Service>) -> bool {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
        if !std::mem::replace(&mut self.is_watched, true) {
            let service = Arc::downgrade(service);
            runtime.spawn(async move {
                loop {
                    sleep(TRY_EVERY).await;
                    let Some(service) = service.upgrade() else { return };
                    let Some(due) = service.nfs4.wishes.due() else { return };
                    fulfil(&service, due).await;
                }
            });
        }
        true
    }
}

async fn fulfil(service: &Arc<Service>, due: Vec<WantedDelegation>) {
    for wish in due {
        let Some(client) = wish.client.upgrade() else { continue };
        let is_callable =
            service.nfs4.sessions.of(&client).iter().any(|session| session.is_callable(service));
        if client.is_absent() || !is_callable || service.nfs4.delegations.is_contended(wish.file()) {
            continue;
        }
        let granted = try_grant(service, &client, &wish.target, (wish.allows, None)).await;
        if matches!(granted, Ok(Err(WhyNoDelegation::Contention))) {
            continue;
        }
        let is_wanted = service.nfs4.wishes.cancel(&client, wish.file());
        match granted {
            Ok(Ok(delegation)) if is_wanted => push(service, client, wish, delegation),
            Ok(Ok(delegation)) => take_back(service, &client, &delegation),
            // The client has one by now, it may not use the file any more, or the file is gone.
            Ok(Err(_)) | Err(_) => {}
        }
    }
    for (client, share) in service.nfs4.wishes.signalled(service) {
        let keep = u32::try_from(share).unwrap_or(u32::MAX);
        let available = Available { keep, kinds: Bitmap::of(KINDS_OF_DELEGATIONS) };
        let service = service.clone();
        tokio::spawn(async move { call_back(&service, &client, Callback::Available(available)).await });
    }
}

/// Sends a delegation to a client. If it does not answer, it may have got it: then it keeps it.
fn push(service: &Arc<Service>, client: Arc<Client>, wish: WantedDelegation, delegation: Arc<Delegation>) {
    let service = service.clone();
    // In a task of its own: one client that does not answer must not delay others.
    tokio::spawn(async move {
        let push = Push { handle: delegation.handle(), delegation: delegation.granted(false) };
        let called = call_back(&service, &client, Callback::Push(push)).await;
        if matches!(called, CallbackOutcome::Later | CallbackOutcome::Rejected) {
            take_back(&service, &client, &delegation);
        }
        if called == CallbackOutcome::Later {
            service.nfs4.wishes.add(&service, wish);
        }
    });
}

/// Takes back what the client does not know of.
fn take_back(service: &Service, client: &Client, delegation: &Delegation) {
    client.forget_delegation(delegation);
    release(service, delegation);
}
