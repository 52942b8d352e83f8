//! The thread that talks to etcd. Other threads of the server may all wait: for it, for disks, for other servers. If the
//! renewal of the lease had to wait for them, the server would lose its membership.

use std::io;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot, watch};

use super::Numbering;

/// Ends the thread when it is dropped.
pub(super) struct Thread {
    _alive: oneshot::Sender<()>,
}

/// Begins it. Tasks run there by the handle.
pub(super) fn begin() -> io::Result<(Handle, Thread)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (alive, ended) = oneshot::channel::<()>();
    let run = move || runtime.block_on(async { drop(ended.await) });
    thread::Builder::new().name("etcd".into()).spawn(run)?;
    Ok((handle, Thread { _alive: alive }))
}

/// What other threads want of etcd, besides texts.
pub(super) struct Orders {
    pub(super) numbering: mpsc::Sender<Numbering>,
    /// The shares in which clients of this server make backups.
    pub(super) backups: watch::Sender<Vec<String>>,
}

/// The other ends.
pub(super) struct OrderReceivers {
    pub(super) numberings: mpsc::Receiver<Numbering>,
    pub(super) backups: watch::Receiver<Vec<String>>,
}

pub(super) fn orders() -> (Orders, OrderReceivers) {
    let ((numbering, numberings), (backups, backups_here)) = (mpsc::channel(1), watch::channel(Vec::new()));
    (Orders { numbering, backups }, OrderReceivers { numberings, backups: backups_here })
}
