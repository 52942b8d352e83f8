//! The threads that serve connections: one event loop per processor. A connection lives on one loop: its socket is in that
//! loop's epoll, its tasks are in that loop's queue. Loops share nothing on the way of a request.
//!
//! One thread at a time drives a loop. While a system call blocks that thread, the watchdog lets another thread drive
//! the loop ([`event_loop`]). Connections move between loops only to balance them ([`balance`]), and to a further loop when others
//! on their loop stream ([`short`]).

mod balance;
mod event_loop;
mod idlers;
mod polling;
mod queue;
mod short;
mod slice;
mod socket;
mod task;
mod wait;

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use event_loop::driven_here;
use event_loop::{Loop, LoopKind};
pub use polling::{Polling, WaitCounts};
use resources::reserved::ReservedStreams;
pub use socket::LoopStream;
pub(crate) use socket::{Direction, Socket};
pub(crate) use task::yield_now;

use crate::stall::Watchdog;

/// Event loops. They end when this is dropped.
pub struct Loops {
    loops: Arc<[Arc<Loop>]>,
    /// Where the search for the loop of the next connection begins.
    next: AtomicUsize,
}

impl Loops {
    /// Starts so many loops, and one for short messages. Timers, and calls that wait for disks, run on the tokio runtime that this is called on.
    pub fn start(count: usize, polling: Polling) -> io::Result<Arc<Self>> {
        let watchdog = Watchdog::start("loops");
        let kinds = std::iter::repeat_n(LoopKind::General, count.max(1)).chain([LoopKind::Short]);
        let made = kinds.enumerate().map(|(number, kind)| Loop::new(number, kind, watchdog.clone(), polling));
        let loops: Arc<[Arc<Loop>]> = made.collect::<io::Result<_>>()?;
        let loops = Arc::new(Self { loops, next: AtomicUsize::new(0) });
        for one in loops.loops.iter() {
            one.start()?;
        }
        balance::start(&loops.loops)?;
        Ok(loops)
    }

    /// Connections that read these streams go before all others, which make room for them. Told once.
    pub fn keep_streams(&self, streams: &Arc<ReservedStreams>) {
        self.loops.iter().for_each(|one| one.keep_streams(streams));
    }

    /// Whether they poll before they sleep, from now on.
    pub fn set_polling(&self, polling: Polling) {
        self.loops.iter().for_each(|one| one.event_wait().set(polling));
    }

    /// Whether they do now.
    pub fn polling(&self) -> Polling {
        self.loops.first().map(|one| one.event_wait().setting()).unwrap_or_default()
    }

    /// What the waits of each loop were.
    pub fn waits(&self) -> Vec<WaitCounts> {
        self.loops.iter().map(|one| one.event_wait().counts()).collect()
    }

    /// Serves a connection as a task of the loop with the fewest connections.
    pub fn serve<F>(&self, stream: TcpStream, serve: impl FnOnce(LoopStream) -> F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let general = short::place(&self.loops);
        let in_order = (0..general).map(|at| (first + at) % general);
        let at = in_order.min_by_key(|at| self.loops[*at].connections()).unwrap_or_default();
        self.serve_on(at, stream, serve)
    }

    fn serve_on<F>(&self, at: usize, stream: TcpStream, serve: impl FnOnce(LoopStream) -> F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stream = LoopStream::new(stream, self.loops.clone(), at)?;
        let socket = stream.socket().clone();
        socket.spawn(serve(stream));
        Ok(())
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.loops.iter().for_each(|one| one.stop());
    }
}

#[cfg(test)]
mod tests;
