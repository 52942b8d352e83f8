//! The memory that one connection may make the server hold, and how a request waits for some.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;

use super::queue::WaitingRequest;
use super::{
    BEFORE_LOGIN, Budget, BudgetCharge, Class, GIVE_UP_AFTER, IDLE_AFTER, LOOK_EVERY, PROGRESS, Reservation,
    SHARES, SMALL,
};

/// What one connection may make the server hold.
pub struct Allowance {
    budget: Arc<Budget>,
    id: u64,
    pub(super) address: Option<SocketAddr>,
    has_logged_in: AtomicBool,
    /// Everything that is charged.
    held: AtomicUsize,
    /// The part of `held` that waits for the client: replies not received, messages half sent.
    owed: AtomicUsize,
    /// Bytes that went to the client and came from it since it was last idle.
    moved: AtomicUsize,
    /// When enough of what is owed moved last.
    moved_ms: AtomicU64,
    /// Bytes that moved since then.
    progress: AtomicUsize,
    /// Requests that wait for memory.
    waiting: AtomicUsize,
    /// Rung when a request waits no longer, memory was given back, or the connection is over.
    changed: Notify,
    /// One request of a client waits in the server's queue at a time.
    turn: tokio::sync::Mutex<()>,
    is_over: AtomicBool,
    on_end: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Default for Allowance {
    /// A client with a login and a budget of its own, for tests.
    fn default() -> Self {
        let allowance = Self::new(Arc::default(), 0, None);
        allowance.logged_in(true);
        allowance
    }
}

impl std::fmt::Debug for Allowance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allowance").field("client", &self.address).field("held", &self.held()).finish()
    }
}

impl Allowance {
    pub(super) fn new(budget: Arc<Budget>, id: u64, address: Option<SocketAddr>) -> Self {
        Self {
            budget,
            id,
            address,
            has_logged_in: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            owed: AtomicUsize::new(0),
            moved: AtomicUsize::new(0),
            moved_ms: AtomicU64::new(0),
            progress: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            changed: Notify::new(),
            turn: tokio::sync::Mutex::new(()),
            is_over: AtomicBool::new(false),
            on_end: OnceLock::new(),
        }
    }

    /// Says whether the client has logged in: only then it may hold more than 256 KiB.
    pub fn logged_in(&self, has_logged_in: bool) {
        if self.has_logged_in.load(Ordering::Relaxed) != has_logged_in {
            self.has_logged_in.store(has_logged_in, Ordering::Relaxed);
        }
    }

    /// The most bytes that the client may hold.
    pub fn limit(&self) -> usize {
        match self.has_logged_in.load(Ordering::Relaxed) {
            true => self.budget.limit / SHARES,
            false => BEFORE_LOGIN,
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    pub(super) fn owed(&self) -> usize {
        self.owed.load(Ordering::Acquire)
    }

    /// Reserves memory before it is allocated. Waits while the client or all clients together hold too much. `None` when the
    /// connection is over, or nothing became free for long: the request is then given up.
    pub async fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        if let Some(reserved) = self.try_reserve(bytes) {
            return Some(reserved);
        }
        let _waiting = MemoryWait::begin(self);
        let wait = async {
            let _turn = self.turn.lock().await;
            self.room_of_its_own(bytes).await?;
            self.reserve_in_turn(bytes.min(self.budget.most())).await
        };
        let waited = tokio::time::timeout(GIVE_UP_AFTER, wait).await;
        waited.unwrap_or_else(|_| {
            tracing::warn!(client = ?self.address, bytes, "a request is given up: no memory became free for it");
            None
        })
    }

    /// Memory for a reply that may be shorter than its client allows: all of it if it is there now, else 64 KiB, which need no
    /// reservation. Gives the most bytes that the reply may have, too.
    pub fn reserve_up_to(self: &Arc<Self>, bytes: usize) -> (Reservation, usize) {
        let bytes = bytes.min(self.limit());
        match self.try_reserve(bytes) {
            Some(reserved) => (reserved, bytes),
            None => (Reservation::default(), SMALL),
        }
    }

    /// Memory for data of a file that leave from the page cache if they are in it: they then take none and do not wait.
    pub async fn reserve_unless(
        self: &Arc<Self>,
        bytes: usize,
        is_resident: impl FnOnce() -> bool,
    ) -> Option<Reservation> {
        if let Some(reserved) = self.try_reserve(bytes) {
            return Some(reserved);
        }
        if is_resident() { Some(Reservation::default()) } else { self.reserve(bytes).await }
    }

    /// More memory for a message that is arriving, for which `reserved` was reserved before: however small, and however much
    /// the message takes, when the client holds nothing else. A message that is too long is refused by its protocol.
    pub(crate) async fn reserve_more(
        self: &Arc<Self>,
        bytes: usize,
        reserved: &Reservation,
    ) -> Option<Reservation> {
        if self.held() <= reserved.bytes() && bytes <= self.budget.most() {
            let class = self.class(bytes);
            if self.budget.try_charge(class, bytes) {
                self.hold(bytes);
                return Some(self.reservation(BudgetCharge::of(class, bytes)));
            }
        }
        self.reserve(bytes.max(SMALL + 1)).await
    }

    /// Reserves memory if it is there and no other request waits for it.
    pub fn try_reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        if bytes <= SMALL {
            return Some(self.reservation(BudgetCharge::default()));
        }
        if self.waiting.load(Ordering::Acquire) > 0 {
            return None;
        }
        self.try_keep(bytes.min(self.budget.most()))
    }

    /// Charges data that are kept beyond the message that brought them, however few, if there is memory for them now.
    pub fn try_keep(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        if !self.has_room(bytes) {
            return None;
        }
        let class = self.class(bytes);
        if self.budget.waiting.load(Ordering::Acquire) > 0 && self.budget.queue.lock().has(class) {
            return None;
        }
        self.budget.try_charge(class, bytes).then(|| {
            self.held.fetch_add(bytes, Ordering::AcqRel);
            self.reservation(BudgetCharge::of(class, bytes))
        })
    }

    pub(super) fn reservation(self: &Arc<Self>, charge: BudgetCharge) -> Reservation {
        Reservation { of: Some(self.clone()), charge, is_owed: false }
    }

    /// Whether the client may hold so many bytes more: any number when it holds nothing.
    fn has_room(&self, bytes: usize) -> bool {
        let held = self.held();
        held == 0 || held + bytes <= self.limit()
    }

    async fn room_of_its_own(&self, bytes: usize) -> Option<()> {
        loop {
            let changed = self.changed.notified();
            if self.is_over() {
                return None;
            }
            if self.has_room(bytes.min(self.budget.most())) {
                return Some(());
            }
            changed.await;
        }
    }

    /// Waits in the server's queue. Whoever waits sees to it that stalled clients are ended.
    async fn reserve_in_turn(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        let (waiter, mut granted) = WaitingRequest::new(self, self.class(bytes), bytes);
        self.budget.queue.lock().push(waiter);
        let _in_queue = QueuedRequest::enter(&self.budget);
        self.budget.grant();
        loop {
            if let Ok(granted) = tokio::time::timeout(LOOK_EVERY, &mut granted).await {
                return granted.ok();
            }
            if self.is_over() {
                return None;
            }
            self.budget.end_stalled();
        }
    }

    fn class(&self, bytes: usize) -> Class {
        if self.owed() > 0 && self.is_stalled(self.budget.now_ms(), IDLE_AFTER) {
            self.moved.store(0, Ordering::Relaxed);
        }
        match self.held() + bytes <= 2 * self.moved.load(Ordering::Relaxed) {
            true => Class::AtWork,
            false => Class::Unproven,
        }
    }

    /// Whether something waits for the client and nothing has moved for so long.
    pub(super) fn is_stalled(&self, now_ms: u64, time: Duration) -> bool {
        self.owed() > 0 && now_ms >= self.moved_ms.load(Ordering::Relaxed) + time.as_millis() as u64
    }

    /// Notes that so many bytes went to the client or came from it.
    pub(crate) fn has_moved(&self, bytes: usize) {
        // Counts that are lost in a race of two threads cost nothing.
        let moved = self.moved.load(Ordering::Relaxed);
        if moved < self.budget.limit {
            self.moved.store(moved + bytes, Ordering::Relaxed);
        }
        let owed = self.owed();
        if owed == 0 || bytes == 0 {
            return;
        }
        let progress = self.progress.load(Ordering::Relaxed) + bytes;
        if progress >= owed / PROGRESS {
            self.progress.store(0, Ordering::Relaxed);
            self.moved_ms.store(self.budget.now_ms(), Ordering::Relaxed);
        } else {
            self.progress.store(progress, Ordering::Relaxed);
        }
    }

    /// How many bytes of replies may wait for the client before its next message is taken.
    pub(crate) fn may_wait(&self) -> usize {
        let limit = self.limit();
        match limit > SMALL && self.budget.is_short(self.class(SMALL)) {
            true => SMALL,
            false => limit,
        }
    }

    /// Exchanges what is charged for replies that wait for what they take.
    pub(super) fn settle(&self, charged: &mut BudgetCharge, bytes: usize) {
        let before = charged.total();
        if bytes > before {
            let more = BudgetCharge::of(Class::Unproven, bytes - before);
            self.budget.charge(more);
            self.held.fetch_add(more.total(), Ordering::AcqRel);
            self.owe(more.total());
            *charged = charged.plus(more);
        } else if bytes < before {
            let less = charged.split_off(before - bytes);
            self.owed.fetch_sub(less.total(), Ordering::AcqRel);
            self.release(less);
        }
    }

    pub(super) fn owe(&self, bytes: usize) {
        if self.owed.fetch_add(bytes, Ordering::AcqRel) == 0 && bytes > 0 {
            self.moved_ms.store(self.budget.now_ms(), Ordering::Relaxed);
        }
    }

    pub(super) fn disown(&self, bytes: usize) {
        self.owed.fetch_sub(bytes, Ordering::AcqRel);
    }

    pub(super) fn hold(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn release(&self, charge: BudgetCharge) {
        if charge.total() > 0 {
            self.held.fetch_sub(charge.total(), Ordering::AcqRel);
            self.budget.give_back(charge);
            self.changed.notify_waiters();
        }
    }

    /// Waits until no request of the client waits for memory.
    pub(crate) async fn granted(&self) {
        loop {
            let changed = self.changed.notified();
            if self.waiting.load(Ordering::Acquire) == 0 || self.is_over() {
                return;
            }
            changed.await;
        }
    }

    /// Whether a request of the client waits for memory.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// What ends the connection.
    pub(crate) fn on_end(&self, end: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_end.set(Box::new(end)); // a connection begins once
    }

    /// The connection is over: nothing is waited for any more.
    pub(crate) fn over(&self) {
        self.is_over.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(super) fn end(&self) {
        self.over();
        if let Some(end) = self.on_end.get() {
            end();
        }
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        self.budget.clients.lock().remove(&self.id);
    }
}

/// A request that waits for memory.
struct MemoryWait<'a>(&'a Allowance);

impl<'a> MemoryWait<'a> {
    fn begin(of: &'a Allowance) -> Self {
        of.waiting.fetch_add(1, Ordering::AcqRel);
        Self(of)
    }
}

impl Drop for MemoryWait<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }
}

/// A request in the server's queue.
struct QueuedRequest<'a>(&'a Budget);

impl<'a> QueuedRequest<'a> {
    fn enter(budget: &'a Budget) -> Self {
        budget.waiting.fetch_add(1, Ordering::SeqCst);
        Self(budget)
    }
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        // Those behind it may have waited for this one only.
        self.0.grant();
    }
}
