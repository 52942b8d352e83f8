//! What a loop does before it sleeps: sockets whose readers have work for the time in which nothing else is to be done.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use lock::Mutex;

use super::socket::Socket;
use crate::ranks;

/// The sockets of a loop whose readers go on when the loop has nothing else to do.
#[derive(Default)]
pub(super) struct Idlers {
    sockets: Mutex<Vec<Weak<Socket>>, ranks::LoopIdlers>,
    /// How many there are. If there are none, the loop takes no lock.
    count: AtomicUsize,
}

impl Idlers {
    /// Adds a socket, which is told once.
    pub(super) fn add(&self, socket: &Arc<Socket>) {
        let mut sockets = self.sockets.lock();
        sockets.push(Arc::downgrade(socket));
        self.count.store(sockets.len(), Ordering::Release);
    }

    pub(super) fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Tells all of them.
    pub(super) fn tell(&self) {
        let mut sockets = self.sockets.lock();
        let told = std::mem::take(&mut *sockets);
        self.count.store(0, Ordering::Release);
        drop(sockets);
        told.iter().filter_map(Weak::upgrade).for_each(|socket| socket.is_idle());
    }
}
