//! Failed calls of the host: the error number as a fact. A client learns little of a disk error, so that the log gets the call,
//! the error number and the path.

use resources::LineLimiter;
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::Error;

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
    static LIMITER: LineLimiter = LineLimiter::new();
    let Some(left_out) = LIMITER.admit() else { return };
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
}
