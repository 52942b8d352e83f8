//! The identity whose permissions the kernel checks. As root each call runs with the caller's
//! file-system ids. Linux keeps those per thread, so they are switched only when the thread last
//! worked for another caller. If the server is an ordinary user, everything runs as that user.

use std::cell::{Cell, RefCell};

use super::failure;
use crate::{Caller, Error, Result};

/// The ids that the thread has now.
#[derive(Clone, PartialEq, Eq)]
enum Worn {
    /// Not known: threads inherit ids from the thread that started them.
    Unknown,
    Ours,
    Of(Caller),
}

thread_local! {
    static WORN: RefCell<Worn> = const { RefCell::new(Worn::Unknown) };
    /// Whether this thread was seen to change its ids.
    static PRIVILEGED: Cell<bool> = const { Cell::new(false) };
}

/// `(uid_t)-1`: setfsuid and setfsgid leave the thread's ids as they are when they are given it.
const INVALID: u32 = u32::MAX;

/// Whether it is the server itself, or a client with all of its rights.
pub(super) fn is_ourselves(caller: &Caller) -> bool {
    (caller.uid, caller.gid, caller.groups.len()) == (0, 0, 0)
}

/// Whether this thread has the ids of a client now, which may do less than the server.
pub(super) fn is_narrow() -> bool {
    WORN.with_borrow(|worn| matches!(worn, Worn::Of(client) if client.uid != 0))
}

/// Switches this thread to the caller's ids. Protocols have no callers with [`INVALID`] ids. If one
/// comes nevertheless, the call must not go on with the ids that the thread happens to have.
pub(super) fn act_as(caller: &Caller) -> Result<()> {
    if caller.uid == INVALID || caller.gid == INVALID {
        return Err(Error::AccessDenied);
    }
    if is_ourselves(caller) {
        return act_as_ourselves(); // the same, and so need not be switched
    }
    WORN.with_borrow_mut(|worn| {
        if matches!(worn, Worn::Of(now) if now == caller) {
            return Ok(());
        }
        *worn = Worn::Unknown;
        switch(caller)?;
        *worn = Worn::Of(caller.clone());
        Ok(())
    })
}

/// Switches this thread to the server's own ids.
pub(super) fn act_as_ourselves() -> Result<()> {
    WORN.with_borrow_mut(|worn| {
        if *worn == Worn::Ours {
            return Ok(());
        }
        *worn = Worn::Unknown;
        switch(&Caller::root())?;
        *worn = Worn::Ours;
        Ok(())
    })
}

/// Sets this thread's supplementary groups, file-system group and file-system user. The C library's `setgroups` would
/// change every thread; the system call changes one.
#[allow(unsafe_code)]
fn switch(caller: &Caller) -> Result<()> {
    // SAFETY: setgroups reads `len` gids from a live slice; setfsgid and setfsuid take plain numbers.
    unsafe {
        if libc::syscall(libc::SYS_setgroups, caller.groups.len(), caller.groups.as_ptr()) != 0 {
            return Err(failure::of_server("setgroups"));
        }
        // Both answer the id before the call and cannot fail visibly; a second call shows what is set. They fail for want
        // of a privilege only, which a thread has or has not: it is looked at once.
        libc::setfsgid(caller.gid);
        libc::setfsuid(caller.uid);
        if !PRIVILEGED.get() {
            let (gid, uid) = (libc::setfsgid(u32::MAX), libc::setfsuid(u32::MAX));
            if gid as u32 != caller.gid || uid as u32 != caller.uid {
                return Err(failure::of_server("setfsgid or setfsuid"));
            }
            // Ids that were set already would be so without the privilege, too.
            PRIVILEGED.set(caller.uid != 0 && caller.gid != 0);
        }
    }
    Ok(())
}

/// Whether the host lets only those link to a file who own it, or may read and write it, proc(5).
pub(crate) fn links_are_protected() -> bool {
    static PROTECTED: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
        let text = std::fs::read_to_string("/proc/sys/fs/protected_hardlinks");
        text.is_ok_and(|text| text.trim() != "0")
    });
    *PROTECTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_switched_per_thread_and_back() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can switch ids");
            return;
        }
        act_as(&Caller::new(4242, 4343, &[7, 8])).unwrap();
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(status.contains("Uid:\t0\t0\t0\t4242"), "{status}");
        assert!(status.contains("Gid:\t0\t0\t0\t4343"));
        assert!(status.contains("Groups:\t7 8"));
        act_as_ourselves().unwrap();
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(status.contains("Uid:\t0\t0\t0\t0"));
    }

    #[test]
    fn a_caller_without_a_valid_id_does_not_act_at_all() {
        for (uid, gid) in [(u32::MAX, 100), (1000, u32::MAX)] {
            assert_eq!(act_as(&Caller::new(uid, gid, &[])), Err(Error::AccessDenied));
        }
    }
}
