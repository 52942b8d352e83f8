//! Failed calls of the host: the error number as a fact. A client learns little of a disk error, so that the log gets the call,
//! the error number and the path.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::Error;

/// Lines in the log within [`PERIOD`]. A failing disk fails every call.
const LINES: u64 = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// The result of a call on an open file or folder.
pub(super) fn of<'a>(call: &'static str, at: impl AsFd + 'a) -> impl FnOnce(Errno) -> Error + 'a {
    move |errno| {
        report(call, errno, Some(at.as_fd()), b"");
        fact(errno)
    }
}

/// The result of a call on an entry of a folder.
pub(super) fn of_entry<'a>(
    call: &'static str,
    folder: impl AsFd + 'a,
    name: &'a [u8],
) -> impl FnOnce(Errno) -> Error + 'a {
    move |errno| {
        report(call, errno, Some(folder.as_fd()), name);
        fact(errno)
    }
}

/// The result of a call that is not on an open file.
pub(in crate::backend) fn of_call(call: &'static str, errno: Errno) -> Error {
    report(call, errno, None, b"");
    fact(errno)
}

/// The result of a call that does not fail by the fault of a client.
pub(super) fn of_server(call: &'static str) -> Error {
    log(call, last_errno(), None, b"");
    Error::Io
}

/// The result of a call, by its name and the error number that it left behind.
pub(super) fn last(call: &'static str, at: Option<BorrowedFd<'_>>) -> Error {
    let errno = last_errno();
    report(call, errno, at, b"");
    fact(errno)
}

/// The same for a call whose failures are not logged.
pub(super) fn last_fact() -> Error {
    fact(last_errno())
}

fn last_errno() -> Errno {
    let number = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Errno::from_raw_os_error(number)
}

/// The host's error number as a fact.
pub(super) fn fact(error: Errno) -> Error {
    match error {
        Errno::NOENT => Error::NotFound,
        Errno::EXIST => Error::Exists,
        Errno::NOTDIR => Error::NotFolder,
        Errno::ISDIR => Error::IsFolder,
        Errno::NOTEMPTY => Error::NotEmpty,
        Errno::PERM => Error::NotPermitted,
        Errno::ACCESS => Error::AccessDenied,
        Errno::ROFS => Error::ReadOnly,
        Errno::NOSPC => Error::NoSpace,
        Errno::DQUOT => Error::QuotaExceeded,
        Errno::FBIG | Errno::OVERFLOW | Errno::TOOBIG | Errno::RANGE => Error::FileTooLarge,
        Errno::NAMETOOLONG => Error::NameTooLong,
        Errno::INVAL => Error::Invalid,
        Errno::XDEV => Error::CrossVolume,
        Errno::MLINK => Error::TooManyLinks,
        Errno::STALE => Error::Stale,
        Errno::BUSY | Errno::TXTBSY => Error::Busy,
        Errno::OPNOTSUPP | Errno::NOSYS => Error::NotSupported,
        Errno::AGAIN => Error::WouldBlock,
        Errno::LOOP => Error::IsLink,
        Errno::NODATA => Error::NoSuchAttribute,
        Errno::NFILE | Errno::MFILE | Errno::NOMEM => Error::Exhausted,
        _ => Error::Io,
    }
}

/// Logs an error that is not the answer to a client's request.
fn report(call: &str, errno: Errno, at: Option<BorrowedFd<'_>>, name: &[u8]) {
    if matches!(fact(errno), Error::Io | Error::Exhausted) {
        log(call, errno, at, name);
    }
}

fn log(call: &str, errno: Errno, at: Option<BorrowedFd<'_>>, name: &[u8]) {
    static LIMITER: Limiter = Limiter::new();
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let Some(left_out) = LIMITER.admit(START.elapsed()) else { return };
    let mut path = at.map(path_of).unwrap_or_default();
    if !name.is_empty() {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    let path = path.escape_ascii();
    tracing::warn!(call, %errno, %path, left_out, "a call of the host failed");
}

/// Where an open file lies now, without a call that the disk could hold up.
fn path_of(fd: BorrowedFd<'_>) -> Vec<u8> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::readlink(link, Vec::new()).map(std::ffi::CString::into_bytes).unwrap_or_default()
}

/// Limits lines. Both counts are approximate when threads meet.
struct Limiter {
    /// When the period began, in milliseconds.
    since: AtomicU64,
    lines: AtomicU64,
    left_out: AtomicU64,
}

impl Limiter {
    const fn new() -> Self {
        Self { since: AtomicU64::new(0), lines: AtomicU64::new(0), left_out: AtomicU64::new(0) }
    }

    /// Whether a line may be written, and how many were left out before it.
    fn admit(&self, now: Duration) -> Option<u64> {
        let now = now.as_millis() as u64;
        let since = self.since.load(Ordering::Relaxed);
        if now.saturating_sub(since) >= PERIOD.as_millis() as u64
            && self.since.compare_exchange(since, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.lines.store(0, Ordering::Relaxed);
        }
        if self.lines.fetch_add(1, Ordering::Relaxed) < LINES {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<String>>);

    impl Visit for Log {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            self.0.lock().unwrap().push_str(&format!("{field}={value:?} "));
        }
    }

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_disk_error_is_logged_with_its_call_and_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let file = std::fs::File::create(&path).unwrap();
        let log = Log::default();
        let _default = tracing::subscriber::set_default(log.clone());
        assert_eq!(of("fsync", &file)(Errno::ACCESS), Error::AccessDenied);
        assert_eq!(*log.0.lock().unwrap(), "", "an answer to the client");
        assert_eq!(of("fsync", &file)(Errno::IO), Error::Io);
        let folder_fd = std::fs::File::open(folder.path()).unwrap();
        assert_eq!(of_entry("openat2", &folder_fd, b"sub")(Errno::NFILE), Error::Exhausted);
        let said = log.0.lock().unwrap().clone();
        assert!(said.contains("call=\"fsync\" errno=Input/output error"), "{said}");
        assert!(said.contains(&format!("path={} ", path.display())), "{said}");
        assert!(said.contains(&format!("path={}/sub ", folder.path().display())), "{said}");
    }

    #[test]
    fn ten_lines_a_minute_are_written_and_the_others_counted() {
        let limiter = Limiter::new();
        let admitted = (0..25).filter(|_| limiter.admit(Duration::from_secs(1)).is_some()).count();
        assert_eq!(admitted, 10);
        assert_eq!(limiter.admit(Duration::from_secs(59)), None);
        assert_eq!(limiter.admit(Duration::from_secs(61)), Some(16));
        assert_eq!(limiter.admit(Duration::from_secs(62)), Some(0));
    }
}
