//! What the threads of this process wait for, as far as the kernel and the crate `lock` tell.

use std::fs;

use lock::waiting::{self, WaitingThread};

/// Threads in a report. A server has a few hundred at most.
const MOST: usize = 64;
/// Where the kernel has a thread that waits for work: in a poll, in a futex, for a timer.
const IDLE: &[&str] = &["poll", "futex", "nanosleep", "0", ""];

/// A line for each thread that waits for a lock, or is in a system call other than those of idle threads.
pub(crate) fn that_wait() -> Vec<String> {
    let locks = waiting::list();
    let mut lines: Vec<String> = locks.iter().map(for_lock).collect();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let threads = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
    lines.extend(
        threads.filter(|thread| !locks.iter().any(|lock| lock.thread == *thread)).filter_map(in_kernel),
    );
    lines.truncate(MOST);
    lines
}

/// Whether a thread runs, or would if a processor were free: no call holds it up.
pub(crate) fn is_running(thread: u32) -> bool {
    // The state follows the name, which may contain anything.
    let stat = of(thread, "stat").unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
}

fn for_lock(WaitingThread { thread, lock, holder }: &WaitingThread) -> String {
    let holder = holder.map_or_else(String::new, |holder| format!(", which {} has", named(holder)));
    format!("{} waits for the lock {lock}{holder}", named(*thread))
}

/// Best effort: who may read this depends on the kernel's settings.
fn in_kernel(thread: u32) -> Option<String> {
    let at = of(thread, "wchan").unwrap_or_default();
    if IDLE.iter().any(|idle| at == *idle || (!idle.is_empty() && *idle != "0" && at.contains(idle))) {
        return None;
    }
    let call = of(thread, "syscall").and_then(|call| Some(call.split(' ').next()?.to_owned()));
    let call = call.map_or_else(String::new, |call| format!(" (system call {call})"));
    Some(format!("{} is in {at}{call}", named(thread)))
}

fn named(thread: u32) -> String {
    format!("thread {thread} {:?}", of(thread, "comm").unwrap_or_default())
}

fn of(thread: u32, what: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/{what}")).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::{Duration, Instant};

    use lock::Mutex;

    use super::*;
    use crate::ranks;

    #[test]
    fn a_thread_that_waits_for_a_lock_is_told_with_the_lock_and_its_holder() {
        let lock = Arc::new(Mutex::<_, ranks::Peers>::new(()));
        let held = lock.lock();
        let (tell, told) = mpsc::channel();
        let waiter = std::thread::Builder::new().name("waiter".into());
        let waiter = waiter.spawn({
            let lock = lock.clone();
            move || {
                tell.send(()).unwrap();
                drop(lock.lock());
            }
        });
        told.recv().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let is_it = |line: &String| line.contains("\"waiter\" waits for the lock Peers, which thread");
        while !that_wait().iter().any(is_it) {
            assert!(Instant::now() < deadline, "{:?}", that_wait());
        }
        drop(held);
        waiter.unwrap().join().unwrap();
    }

    #[test]
    fn a_thread_that_sleeps_does_not_run() {
        let thread = std::thread::spawn(std::thread::park);
        assert!(is_running(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()));
        let tasks = || fs::read_dir("/proc/self/task").unwrap().flatten();
        let of_task = |task: fs::DirEntry| task.file_name().to_str().unwrap().parse::<u32>().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while tasks().map(of_task).all(is_running) {
            assert!(Instant::now() < deadline);
        }
        thread.thread().unpark();
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_in_a_system_call_is_told() {
        let (read, write) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || {
            use std::io::Read;
            let mut read = read;
            read.read(&mut [0]).unwrap()
        });
        let deadline = Instant::now() + Duration::from_secs(20);
        // Where /proc does not say where a thread is, there is nothing to tell.
        while !that_wait().iter().any(|line| line.contains("pipe")) && Instant::now() < deadline {
            if of(std::process::id(), "wchan").is_none_or(|at| at == "0") {
                break;
            }
        }
        drop(write);
        assert_eq!(thread.join().unwrap(), 0);
    }
}
