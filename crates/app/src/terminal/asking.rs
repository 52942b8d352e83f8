//! Requests to the running server, with a message for the user while the command waits.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::terminal::{loudness, out};

/// How long a server may be silent before the command tells the user what it waits for.
const SILENT_FOR: Duration = Duration::from_secs(2);

/// Signs of life from the server.
#[derive(Clone)]
pub(crate) struct LivenessSignal(Sender<()>);

impl LivenessSignal {
    /// Notes a sign of life from the server.
    pub(crate) fn something(&self) {
        let _ = self.0.send(()); // later ones have no reader
    }
}

/// Runs `ask`, and after some silence tells the user what it waits for.
pub(crate) fn patiently<T>(ask: impl FnOnce(&LivenessSignal) -> T) -> T {
    let (heard, silence) = channel();
    std::thread::spawn(move || {
        if silence.recv_timeout(SILENT_FOR) == Err(RecvTimeoutError::Timeout) && !loudness::is_quiet() {
            out::error_line("fourfold: the server has not answered yet; waiting for it");
        }
    });
    ask(&LivenessSignal(heard)) // the thread ends when this is dropped
}
