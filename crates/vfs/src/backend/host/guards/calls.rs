//! The calls of the host that guards need: fcntl(2) for leases, signalfd(2), fanotify(7).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

use crate::HostKey;
use crate::backend::host::handle;

/// A kind of lease at the host, fcntl(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// None.
    None,
    /// Opens for writing wait.
    Read,
    /// All opens wait.
    Write,
}

impl Kind {
    fn number(self) -> libc::c_int {
        match self {
            Self::None => libc::F_UNLCK,
            Self::Read => libc::F_RDLCK,
            Self::Write => libc::F_WRLCK,
        }
    }
}

/// The signal by which the kernel says that a lease must be given up. It is sent to one thread only, which has it
/// blocked. The number has no other user.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 9
}

#[repr(C)]
struct GuardOwner {
    kind: libc::c_int,
    id: libc::pid_t,
}

/// Of fcntl(2), the same on every architecture that Linux calls generic.
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_OWNER_TID: libc::c_int = 0;

/// Takes a lease, about which `thread` is told by a signal. To give a lease up makes the kernel forget the receiver.
#[allow(unsafe_code)]
pub(super) fn take_lease(fd: BorrowedFd<'_>, kind: Kind, thread: i32) -> Result<(), Errno> {
    let owner = GuardOwner { kind: F_OWNER_TID, id: thread };
    // SAFETY: the first call takes an integer, the second reads one struct f_owner_ex, which lives until it returns.
    let failed = unsafe {
        libc::fcntl(fd.as_raw_fd(), F_SETSIG, signal()) != 0
            || libc::fcntl(fd.as_raw_fd(), F_SETOWN_EX, &raw const owner) != 0
    };
    if failed { Err(last()) } else { set_lease(fd, kind) }
}

/// Changes a lease or gives it up.
#[allow(unsafe_code)]
pub(super) fn set_lease(fd: BorrowedFd<'_>, kind: Kind) -> Result<(), Errno> {
    // SAFETY: F_SETLEASE takes an integer.
    let failed = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, kind.number()) != 0 };
    if failed { Err(last()) } else { Ok(()) }
}

/// The lease on this descriptor; one that is being broken counts as what must be left of it.
#[allow(unsafe_code)]
pub(super) fn lease(fd: BorrowedFd<'_>) -> Kind {
    // SAFETY: F_GETLEASE takes no argument.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETLEASE) } {
        libc::F_RDLCK => Kind::Read,
        libc::F_WRLCK => Kind::Write,
        _ => Kind::None,
    }
}

fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Blocks the signal in this thread. Returns the descriptor from which this thread reads it, and the thread's number.
/// SIGIO comes instead if the kernel's queue of signals is full.
#[allow(unsafe_code)]
pub(super) fn signals() -> io::Result<(OwnedFd, i32)> {
    // SAFETY: the set lives on the stack and is initialized by sigemptyset; the result is a new descriptor that we own.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGIO);
        if libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fd), libc::gettid()))
    }
}

/// Takes a signal from the queue: the descriptor whose lease is broken, or `None` within for SIGIO.
#[allow(unsafe_code)]
pub(super) fn next_signal(queue: &OwnedFd) -> Option<Option<RawFd>> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the kernel writes at most one whole structure, of which every bit pattern is valid.
    let info = unsafe {
        let count = libc::read(queue.as_raw_fd(), info.as_mut_ptr().cast(), size);
        if usize::try_from(count) != Ok(size) {
            return None;
        }
        info.assume_init()
    };
    Some((info.ssi_signo.cast_signed() == signal()).then_some(info.ssi_fd))
}

/// A group for events about names. `None`: the kernel is older than 5.13, or the sandbox forbids it.
#[allow(unsafe_code)]
pub(super) fn name_events() -> Option<OwnedFd> {
    let flags = libc::FAN_CLASS_NOTIF | libc::FAN_REPORT_FID | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
    // SAFETY: the call takes integers; the result is a new descriptor that we own.
    unsafe {
        let fd = libc::fanotify_init(flags, libc::O_RDONLY as libc::c_uint);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// Events about the names of the file itself; to remove a name changes the count of links, which is an attribute.
pub(super) const OF_FILE: u64 = libc::FAN_MOVE_SELF | libc::FAN_ATTRIB;
/// Events about the entries of a folder.
pub(super) const OF_ENTRIES: u64 =
    libc::FAN_CREATE | libc::FAN_DELETE | libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO | libc::FAN_ONDIR;

/// Begins or ends the events of a file, which `at` names.
#[allow(unsafe_code)]
pub(super) fn mark(group: &OwnedFd, at: BorrowedFd<'_>, events: u64, begin: bool) -> Result<(), Errno> {
    let flags = if begin { libc::FAN_MARK_ADD } else { libc::FAN_MARK_REMOVE };
    let path = std::ffi::CString::new(handle::as_path(at)).map_err(|_| Errno::INVAL)?;
    // SAFETY: the path is a C string that lives until the call returns.
    let failed =
        unsafe { libc::fanotify_mark(group.as_raw_fd(), flags, events, libc::AT_FDCWD, path.as_ptr()) != 0 };
    if failed { Err(last()) } else { Ok(()) }
}

/// A file as events name it: its file system, and its handle there.
pub(super) type Subject = (u64, HostKey);

/// What the events of this file call it.
pub(super) fn subject(at: BorrowedFd<'_>) -> Option<Subject> {
    let (key, _) = handle::key_at(at, b"").ok()?;
    Some((handle::file_system_id(at).ok()?, key))
}

/// What an event says.
pub(super) enum LeaseEvent {
    /// Another process did something to this file.
    By { subject: Subject, of_attributes: bool },
    /// Events were lost.
    Lost,
}

/// Takes the queued events of other processes, at most as many as fit in one buffer. Answers whether there were any.
pub(super) fn take_events(group: &OwnedFd, sink: &mut dyn FnMut(LeaseEvent)) -> bool {
    let mut buffer = vec![0_u8; 16 * 1024];
    let Ok(count) = rustix::io::read(group, &mut buffer) else { return false };
    let (mut rest, own) = (&buffer[..count], rustix::process::getpid().as_raw_nonzero().get());
    while let Some(event) = next_event(&mut rest) {
        match event {
            RawEvent { overflow: true, .. } => sink(LeaseEvent::Lost),
            RawEvent { pid, subject: Some(subject), of_attributes, .. } if pid != own => {
                sink(LeaseEvent::By { subject, of_attributes });
            }
            RawEvent { .. } => {}
        }
    }
    count > 0
}

struct RawEvent {
    pid: i32,
    overflow: bool,
    of_attributes: bool,
    subject: Option<Subject>,
}

/// struct fanotify_event_metadata and the first fanotify_event_info_fid that follows it, fanotify(7). The length of the
/// whole event comes first.
fn next_event(rest: &mut &[u8]) -> Option<RawEvent> {
    const HEAD: usize = 24;
    let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
    if length < HEAD || length > rest.len() {
        return None;
    }
    let (event, after) = rest.split_at(length);
    *rest = after;
    let mask = u64::from_ne_bytes(event[8..16].try_into().ok()?);
    let pid = i32::from_ne_bytes(event[20..24].try_into().ok()?);
    let has = |bit| mask & bit != 0;
    let (overflow, of_attributes) = (has(libc::FAN_Q_OVERFLOW), has(libc::FAN_ATTRIB));
    Some(RawEvent { pid, overflow, of_attributes, subject: subject_in(&event[HEAD..]) })
}

/// The file system (8 bytes after the head of 4), and struct file_handle: length, type, bytes.
fn subject_in(info: &[u8]) -> Option<Subject> {
    let file_system = u64::from_ne_bytes(info.get(4..12)?.try_into().ok()?);
    let length = u32::from_ne_bytes(info.get(12..16)?.try_into().ok()?) as usize;
    let kind = i32::from_ne_bytes(info.get(16..20)?.try_into().ok()?);
    let mut key = vec![u8::try_from(kind).ok()?];
    key.extend_from_slice(info.get(20..20 + length)?);
    Some((file_system, HostKey::new(&key)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_events_end_the_buffer() {
        for bytes in [&[][..], &[1, 0, 0], &[23, 0, 0, 0], &[255, 255, 255, 255, 1], &[0; 40]] {
            assert!(next_event(&mut &*bytes).is_none(), "{bytes:?}");
        }
        let mut short = vec![0; 30];
        short[0] = 30;
        let event = next_event(&mut &*short).unwrap();
        assert!(event.subject.is_none() && !event.overflow);
    }
}
