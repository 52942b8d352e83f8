//! A restart that the console asks for. The server stops as by a signal, and its exit code has the service manager start it again.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The exit code: not 0, for `Restart=on-failure` of the unit, and not 2, which it does not restart. `EX_TEMPFAIL` of sysexits.h.
const CODE: u8 = 75;

/// The order, once for the process.
static IS_WANTED: AtomicBool = AtomicBool::new(false);
static ORDERED: Notify = Notify::const_new();

/// Whether a service manager has started this process, and would do so again. systemd gives its services this variable
/// (sd_notify(3)).
pub(crate) fn is_possible() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// Orders the restart.
pub(crate) fn order() {
    IS_WANTED.store(true, Ordering::Release);
    ORDERED.notify_one();
}

/// Waits for the order.
pub(crate) async fn ordered() {
    ORDERED.notified().await;
}

/// The exit code of a server that has stopped.
pub(crate) fn exit_code() -> ExitCode {
    if IS_WANTED.load(Ordering::Acquire) { ExitCode::from(CODE) } else { ExitCode::SUCCESS }
}
