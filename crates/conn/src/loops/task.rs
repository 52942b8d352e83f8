//! A future that runs on the loop of its connection, also after the connection has moved to another loop.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use lock::Mutex;

use super::Socket;
use super::queue::TaskClass;
use crate::ranks;

/// Waits to be woken.
const IDLE: u8 = 0;
/// In the queue of its loop.
const QUEUED: u8 = 1;
/// A thread polls it.
const RUNNING: u8 = 2;
/// It was woken while a thread polls it.
const WOKEN: u8 = 3;
/// It has ended.
const OVER: u8 = 4;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future that is polled on the loop of its connection, wherever that is at the time.
pub(super) struct Task {
    state: AtomicU8,
    future: Mutex<Option<Work>, ranks::LoopTask>,
    socket: Arc<Socket>,
}

impl Task {
    /// Puts it in the queue of its loop.
    pub(super) fn spawn(socket: Arc<Socket>, future: impl Future<Output = ()> + Send + 'static) {
        let future = Mutex::new(Some(Box::pin(future) as Work));
        let task = Arc::new(Self { state: AtomicU8::new(QUEUED), future, socket });
        task.socket.current().push(task.clone());
    }

    /// When its turn is among the tasks of the loop.
    pub(super) fn class(&self) -> TaskClass {
        if self.socket.goes_first() {
            TaskClass::First
        } else if self.socket.streams() {
            TaskClass::Long
        } else {
            TaskClass::Short
        }
    }

    /// Polls it once. A panic ends it.
    pub(super) fn run(self: Arc<Self>) {
        self.state.store(RUNNING, Ordering::Release);
        let Some(mut future) = self.future.lock().take() else { return };
        let waker = Waker::from(self.clone());
        let poll = || {
            let is_pending = future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
            is_pending.then_some(future)
        };
        // The panic hook has reported it. What the future leaves behind is in the connection, which ends.
        let Ok(Some(future)) = catch_unwind(AssertUnwindSafe(poll)) else {
            self.state.store(OVER, Ordering::Release);
            return;
        };
        *self.future.lock() = Some(future);
        let idle = self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire);
        if idle.is_err() {
            self.state.store(QUEUED, Ordering::Release);
            self.socket.current().push(self.clone());
        }
    }
}

/// Lets the other tasks of the loop go on.
pub(crate) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| match std::mem::replace(&mut has_yielded, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let woken = |state| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(WOKEN),
            _ => None,
        };
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, woken) == Ok(IDLE) {
            self.socket.current().push(self.clone());
        }
    }
}
