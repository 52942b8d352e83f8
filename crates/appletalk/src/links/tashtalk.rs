//! A LocalTalk cable at a TashTalk chip: a serial line of 1 Mbit/s with hardware flow control. The chip sends and
//! receives on the cable, makes the handshake before each frame (request and clear to send), and answers enquiries for
//! the address of this host.
//!
//! ```text
//!  opened ── reset ──► no node ── the host sends a data frame from node N ──► node N
//!                         ▲                                                     │ a data frame from node M: node M
//!                         │ the chip answers no enquiry: the host looks         │
//!                         │ for a free address by its own enquiries             ▼ the chip answers enquiries for the
//!                         │                                                       node; the host does not see them
//! ```

mod stream;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, write};
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, ioctl_tiocexcl, tcflush, tcgetattr, tcsetattr,
};

pub use stream::FrameReader;

use super::backlog::Backlog;
use super::{Link, LinkCounters, LinkError, LinkName, MAX_LLAP_FRAME, MOST_FOREIGN, is_for_hosts};
use crate::address::HardwareAddress;
use crate::wire::llap::{LlapFrame, LlapKind};

/// The speed of the chip's serial line, in bits per second.
const SPEED: u32 = 1_000_000;
/// Commands that wait for the line. The cable carries 230.4 kbit/s: 64 of the longest frames take 1.4 s, less than the
/// protocols wait for a reply.
const MOST_WAITING: usize = 64;
/// Bytes that are read at once.
const BUFFER: usize = 2048;

/// LocalTalk by the TashTalk chip.
#[derive(Debug)]
pub struct TashTalkLink {
    name: LinkName,
    line: OwnedFd,
    /// The node for which the chip answers.
    node: Option<u8>,
    /// Bytes that arrived: those in `start..end` are not looked at yet.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    reader: FrameReader,
    frame: Vec<u8>,
    backlog: Backlog,
    counters: LinkCounters,
}

impl TashTalkLink {
    /// Opens the serial line and resets the chip.
    ///
    /// # Errors
    ///
    /// There is no such device, the server may not open it, it is no serial line, or another program has it.
    pub fn open(device: &Path) -> Result<Self, LinkError> {
        let name = LinkName::TashTalk { device: device.to_owned() };
        // Non-blocking from the start: a line without carrier would hold up the server.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let line = open(device, flags, Mode::empty()).map_err(|error| of_open(&name, device, error))?;
        prepare(line.as_fd()).map_err(|error| LinkError::NotSerial {
            link: name.clone(),
            device: device.to_owned(),
            source: error.into(),
        })?;
        let mut link = Self {
            name,
            line,
            node: None,
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            reader: FrameReader::default(),
            frame: Vec::new(),
            backlog: Backlog::new(MOST_WAITING),
            counters: LinkCounters::default(),
        };
        link.backlog.push(stream::reset());
        link.flush()?;
        Ok(link)
    }

    /// Whether the host has to see the frame. The chip has answered enquiries for its node.
    fn is_wanted(&self, frame: &[u8]) -> bool {
        LlapFrame::decode(frame).is_ok_and(|frame| {
            let is_answered = frame.kind == LlapKind::ENQUIRY && self.node == Some(frame.destination);
            is_for_hosts(&frame) && !is_answered
        })
    }

    /// Reads from the line. `false`: nothing has arrived.
    fn fill(&mut self) -> Result<bool, LinkError> {
        let length = match read(&self.line, &mut self.buffer[..]) {
            // The other end of the line is closed.
            Ok(0) => return Err(LinkError::Gone { link: self.name.clone() }),
            Ok(length) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(error) => return Err(LinkError::of_use(&self.name, "read", error)),
        };
        (self.start, self.end) = (0, length);
        Ok(true)
    }
}

/// 8 bits, no parity, 1 stop bit, RTS and CTS, nothing else: and only for this program.
fn prepare(line: BorrowedFd<'_>) -> Result<(), Errno> {
    ioctl_tiocexcl(line)?;
    let mut settings = tcgetattr(line)?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD | ControlModes::CRTSCTS;
    settings.control_modes -= ControlModes::CSTOPB | ControlModes::PARENB;
    settings.set_speed(SPEED)?;
    tcsetattr(line, OptionalActions::Now, &settings)?;
    tcflush(line, QueueSelector::IOFlush)
}

fn of_open(link: &LinkName, device: &Path, error: Errno) -> LinkError {
    let (link, device) = (link.clone(), device.to_owned());
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NXIO | Errno::NODEV => LinkError::NoDevice { link, device },
        Errno::ACCESS | Errno::PERM => LinkError::NoAccess { link, device },
        Errno::BUSY => LinkError::Busy { link, device },
        Errno::ISDIR => LinkError::NotSerial { link, device, source: error.into() },
        _ => LinkError::Io { link, what: "open the device", source: error.into() },
    }
}

impl AsFd for TashTalkLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

impl Link for TashTalkLink {
    fn name(&self) -> &LinkName {
        &self.name
    }

    fn hardware_address(&self) -> Option<HardwareAddress> {
        None
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), LinkError> {
        let length = stream::length(frame);
        let (source, kind) = match LlapFrame::decode(frame) {
            Ok(decoded) if length == Some(frame.len()) => (decoded.source, decoded.kind),
            // The chip takes the length from the frame: it would wait for the rest, or take the next command for it.
            _ => {
                return Err(LinkError::Unsendable {
                    link: self.name.clone(),
                    length: frame.len(),
                    most: MAX_LLAP_FRAME,
                });
            }
        };
        let is_data = matches!(kind, LlapKind::DDP_SHORT | LlapKind::DDP_LONG);
        if is_data && self.node != Some(source) && self.backlog.push(stream::set_node(Some(source))) {
            self.node = Some(source); // only a node that has its address sends data
        }
        if self.backlog.push(stream::transmit(frame)) {
            self.counters.sent += 1;
        } else {
            self.counters.lost += 1;
        }
        self.flush()
    }

    fn join(&mut self, _: HardwareAddress) -> Result<(), LinkError> {
        Ok(())
    }

    fn leave(&mut self, _: HardwareAddress) -> Result<(), LinkError> {
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<&[u8]>, LinkError> {
        for _ in 0..MOST_FOREIGN {
            if self.start == self.end && !self.fill()? {
                return Ok(None);
            }
            let (taken, frame) = self.reader.read(&self.buffer[self.start..self.end]);
            self.start += taken;
            self.counters.malformed = self.reader.malformed();
            if let Some(frame) = frame.filter(|frame| self.is_wanted(frame)) {
                self.counters.received += 1;
                self.frame = frame;
                return Ok(Some(&self.frame));
            }
        }
        Ok(None)
    }

    fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    fn flush(&mut self) -> Result<(), LinkError> {
        let (_, outcome) = self.backlog.flush(|bytes| write(&self.line, bytes));
        outcome.map_err(|error| LinkError::of_use(&self.name, "write", error))
    }

    fn counters(&self) -> LinkCounters {
        self.counters
    }
}
