//! What the C library does with memory that was large and is free again.

/// From this size on memory comes from the host and goes back to it, for each allocation. Smaller than it are the buffers
/// of reads and writes, which are used again and again.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 4 << 20;

/// Gives large memory back to the host as soon as it is free. Left alone, glibc learns from the first large allocation
/// that is freed to keep such ones, for each thread: some 19 MiB for every thread that has ever worked out a slow hash
/// of a password. To be called once, at the start.
#[allow(unsafe_code)]
pub fn give_back_large_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes plain numbers; it is called before there are other threads. It cannot fail for these.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
    }
}
