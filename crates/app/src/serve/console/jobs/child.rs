//! This program in a process of its own, as a job.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use web::jobs::JobHandle;

/// How often a job looks whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The process has so long to end by itself, and to remove its files.
const PATIENCE: Duration = Duration::from_secs(15);
/// What it has said is read for so long after its end: a process that it has started may keep the pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Lines that wait.
const AHEAD: usize = 64;
/// The longest line in bytes; the rest is a line of its own.
const LONGEST_LINE: u64 = 64 * 1024;

/// A line of the process.
pub(super) enum ChildOutput {
    /// On its standard output.
    Output(String),
    /// On its standard error.
    Error(String),
    /// Nothing for a while.
    Nothing,
}

/// Runs `fourfold` with these words until it ends. It reads `input`. `hear` gets what it says.
pub(super) fn run(
    handle: &JobHandle,
    words: &[OsString],
    input: &str,
    mut hear: impl FnMut(ChildOutput),
) -> Result<ExitStatus, Vec<String>> {
    let cannot = |error: std::io::Error| vec![format!("the job's process: {error}")];
    // The program that runs, also if its file was replaced meanwhile.
    let mut child = Command::new("/proc/self/exe")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let mut running = JobProcess { child: &mut child, told: None };
    if let Some(mut stdin) = running.child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes()); // a process that has ended says why
    }
    let (send, said) = sync_channel(AHEAD);
    if let Some(output) = running.child.stdout.take() {
        read_on(output, send.clone(), ChildOutput::Output);
    }
    if let Some(errors) = running.child.stderr.take() {
        read_on(errors, send, ChildOutput::Error);
    }
    running.listen(handle, &said, &mut hear)
}

/// A process that ends with the job.
struct JobProcess<'a> {
    child: &'a mut Child,
    /// It was told to end.
    told: Option<Instant>,
}

impl JobProcess<'_> {
    fn listen(
        &mut self,
        handle: &JobHandle,
        said: &Receiver<ChildOutput>,
        hear: &mut impl FnMut(ChildOutput),
    ) -> Result<ExitStatus, Vec<String>> {
        let mut ended: Option<(ExitStatus, Instant)> = None;
        loop {
            match said.recv_timeout(LOOK_EVERY) {
                Ok(line) => hear(line),
                Err(RecvTimeoutError::Timeout) => hear(ChildOutput::Nothing),
                Err(RecvTimeoutError::Disconnected) => {
                    hear(ChildOutput::Nothing);
                    thread::sleep(LOOK_EVERY / 10);
                    if let Some((status, _)) = ended {
                        return Ok(status);
                    }
                }
            }
            if let Some((status, _)) = ended.filter(|(_, when)| when.elapsed() > LAST_WORDS) {
                return Ok(status);
            }
            if handle.is_cancelled() {
                self.tell_to_end();
            }
            if ended.is_none() {
                let now = self.child.try_wait().map_err(|error| vec![error.to_string()])?;
                ended = now.map(|status| (status, Instant::now()));
            }
        }
    }

    /// Ctrl-C, and later the hard way.
    fn tell_to_end(&mut self) {
        match self.told {
            None => {
                self.told = Some(Instant::now());
                let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
                // Its end is not waited for yet: the number is still its own.
                pid.map(|pid| kill_process(pid, Signal::INT));
            }
            Some(when) if when.elapsed() > PATIENCE => {
                let _ = self.child.kill();
            }
            Some(_) => {}
        }
    }
}

impl Drop for JobProcess<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has ended, unless the job fails
        let _ = self.child.wait();
    }
}

fn read_on(from: impl Read + Send + 'static, to: SyncSender<ChildOutput>, said: fn(String) -> ChildOutput) {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            match (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(1..) => {}
                _ => return,
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if to.send(said(line)).is_err() {
                return;
            }
        }
    });
}
