//! Messages over the two pipes of a process, until a moment: a process that neither reads nor writes cannot hold up the caller.

use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStdin, ChildStdout};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::Malformed;

use super::Failure;
use crate::messages::LONGEST_MESSAGE;

/// How much is read at once.
const AT_ONCE: usize = 64 << 10;

/// Both ends of a process, and the moment at which the wait ends.
pub(super) struct Conversation {
    input: ChildStdin,
    output: ChildStdout,
    heard: Vec<u8>,
    until: Instant,
}

impl Conversation {
    pub(super) fn new(input: ChildStdin, output: ChildStdout, until: Instant) -> Result<Self, Error> {
        rustix::io::ioctl_fionbio(&input, true)?;
        rustix::io::ioctl_fionbio(&output, true)?;
        Ok(Self { input, output, heard: Vec::new(), until })
    }

    /// The next message of the process, without its length.
    pub(super) fn hear(&mut self) -> Result<Vec<u8>, Failure> {
        if Instant::now() >= self.until {
            return Err(Failure::Time);
        }
        loop {
            if let Some(length) = self.heard.first_chunk::<4>() {
                let length = u32::from_le_bytes(*length) as usize;
                if length > LONGEST_MESSAGE {
                    return Err(Failure::Malformed(Malformed("message that is too long")));
                }
                if self.heard.len() >= 4 + length {
                    let rest = self.heard.split_off(4 + length);
                    let mut message = std::mem::replace(&mut self.heard, rest);
                    return Ok(message.split_off(4));
                }
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<(), Failure> {
        let mut bytes = vec![0; AT_ONCE];
        match self.output.read(&mut bytes) {
            Ok(0) => Err(Failure::Ended(None)),
            Ok(count) => {
                self.heard.extend_from_slice(&bytes[..count]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait(self.output.as_fd(), PollFlags::IN, self.until)
            }
            Err(error) => Err(Failure::Pipe(error)),
        }
    }

    /// Says something to the process.
    pub(super) fn say(&mut self, message: &[u8]) -> Result<(), Failure> {
        let mut rest = message;
        while !rest.is_empty() {
            match self.input.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    wait(self.input.as_fd(), PollFlags::OUT, self.until)?;
                }
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Err(Failure::Ended(None)),
                Err(error) => return Err(Failure::Pipe(error)),
            }
        }
        Ok(())
    }
}

/// Waits until a pipe can be used.
fn wait(pipe: BorrowedFd<'_>, wanted: PollFlags, until: Instant) -> Result<(), Failure> {
    let left = until.saturating_duration_since(Instant::now());
    let mut pipes = [PollFd::from_borrowed_fd(pipe, wanted)];
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
    match poll(&mut pipes, Some(&left)) {
        Ok(0) => Err(Failure::Time),
        Ok(_) => Ok(()),
        Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(Failure::Pipe(error.into())),
    }
}
