//! Programs of the host: run without a shell, in English, and with a time limit.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::Refusal;

/// Snapshots commit what is dirty, which takes long on a busy disk.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a program to its end and returns its standard output.
///
/// # Errors
/// It is missing, it failed, or it did not end in time.
pub(crate) fn run<S: AsRef<OsStr>>(program: &str, words: &[S]) -> Result<String, Refusal> {
    run_within(LIMIT, program, words)
}

fn run_within<S: AsRef<OsStr>>(limit: Duration, program: &str, words: &[S]) -> Result<String, Refusal> {
    let mut command = Command::new(program);
    command.args(words).env("LC_ALL", "C").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = || {
        let words = words.iter().map(|word| word.as_ref().to_string_lossy());
        words.fold(program.to_owned(), |line, word| line + " " + &word)
    };
    let missing = |why| Refusal::Program { program: program.to_owned(), package: package(program), why };
    let mut child = command.spawn().map_err(missing)?;
    let (out, err) = (child.stdout.take().map(read), child.stderr.take().map(read));
    let is_ended = wait(&child, limit);
    if !is_ended {
        // A program that a disk call blocks does not end now: another thread waits for it.
        let _ = child.kill();
        thread::spawn(move || child.wait());
        return Err(Refusal::Timeout { command: shown(), seconds: limit.as_secs() });
    }
    let status = child.wait().map_err(missing)?;
    let text = |reader: Option<thread::JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    let (out, err) = (text(out), text(err));
    if status.success() {
        return Ok(out);
    }
    let said = if err.trim().is_empty() { out } else { err };
    let said = said.trim().lines().next().map_or_else(|| status.to_string(), str::to_owned);
    // strerror(3) of ENOSPC and EDQUOT, which btrfs prints, and the words of ZFS.
    let is_full = ["No space left on device", "Disk quota exceeded", "out of space"];
    Err(match is_full.iter().any(|words| said.contains(words)) {
        true => Refusal::Full { what: format!("run `{}`", shown()) },
        false => Refusal::Command { command: shown(), said },
    })
}

/// Whether the program ends within the limit.
fn wait(child: &Child, limit: Duration) -> bool {
    let Ok(process) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
        return true; // the host has no such descriptors: wait without a limit
    };
    let limit = rustix::time::Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: 0 };
    loop {
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return ready.is_ok_and(|ready| ready > 0),
        }
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn package(program: &str) -> &'static str {
    match program {
        "btrfs" | "mkfs.btrfs" => "btrfs-progs",
        "zfs" => "zfsutils-linux or zfs-fuse",
        _ => "mount",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn output_and_failure_are_told_and_a_slow_program_is_ended() {
        assert_eq!(run("echo", &["a", "b"]).unwrap(), "a b\n");
        let failed = run("ls", &["/no/such"]).unwrap_err().to_string();
        assert!(failed.starts_with("`ls /no/such` failed: ") && failed.contains("No such file"), "{failed}");
        assert!(matches!(run("no-such-program", &[""; 0]), Err(Refusal::Program { .. })));
        let start = Instant::now();
        let slow = run_within(Duration::from_secs(1), "sleep", &["30"]);
        assert!(matches!(slow, Err(Refusal::Timeout { seconds: 1, .. })), "{slow:?}");
        assert!(start.elapsed() < Duration::from_secs(25));
    }
}
