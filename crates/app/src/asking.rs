//! Asking the running server, with a word to who waits.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::out;

/// How long a server may be silent before the person at the terminal hears what the command waits for.
const SILENT_FOR: Duration = Duration::from_secs(2);

/// Signs of life from the server.
#[derive(Clone)]
pub(crate) struct Heard(Sender<()>);

impl Heard {
    /// The server has said something: it goes on.
    pub(crate) fn something(&self) {
        let _ = self.0.send(()); // a second one has no reader
    }
}

/// Runs `ask`, and says after a while of silence what it waits for.
pub(crate) fn patiently<T>(ask: impl FnOnce(&Heard) -> T) -> T {
    let (heard, silence) = channel();
    std::thread::spawn(move || {
        if silence.recv_timeout(SILENT_FOR) == Err(RecvTimeoutError::Timeout) {
            out::error_line("fourfold: the server has not answered yet; waiting for it");
        }
    });
    ask(&Heard(heard)) // the thread ends when this is dropped
}
