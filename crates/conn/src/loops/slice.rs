//! The time slice of a thread, sched_setattr(2).
//!
//! The kernel lets a thread with a short slice run sooner after it has been woken, and not for longer in all. That is what a thread
//! needs that does little for each of many requests. A kernel before 6.12 ignores it.

/// The shortest slice that the kernel gives, in nanoseconds.
const SHORTEST_NS: u64 = 100_000;

/// `struct sched_attr` of the kernel, without the fields that it got in 5.3.
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// For an ordinary thread: its slice in nanoseconds.
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Gives this thread the shortest slice. Its policy and its nice value stay. A failure only costs speed.
#[allow(unsafe_code)]
pub(super) fn shorten() {
    let size = size_of::<SchedulingAttributes>() as u32;
    let mut attributes = SchedulingAttributes::default();
    // SAFETY: the kernel writes at most `size` bytes of the struct, which lives until the call returns. 0 is this thread.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if got != 0 || attributes.policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.size = size;
    attributes.runtime = SHORTEST_NS;
    // SAFETY: the kernel reads `size` bytes of the struct.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
