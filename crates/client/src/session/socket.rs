//! Connections with a timeout, which count their bytes.

use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use conn::PieceWaits;

use super::{Reach, Traffic};
use crate::{Error, Result};

/// Bytes that one system call may fetch ahead: several small answers.
const AHEAD: usize = 16 << 10;

/// A TCP connection.
pub struct Socket {
    reader: BufReader<TcpStream>,
    traffic: Traffic,
    /// Waits for more of an answer.
    pieces: PieceWaits,
    /// Something was sent since data came last: what comes next is the beginning of an answer.
    has_asked: bool,
    seconds: u64,
}

impl Socket {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub fn connect(address: &str, reach: &Reach) -> Result<Self> {
        let stream = reach.connect(address)?;
        let prepare = || -> io::Result<()> {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(reach.timeout))?;
            stream.set_write_timeout(Some(reach.timeout))
        };
        prepare().map_err(|error| Error::Unreachable(address.to_owned(), error))?;
        let reader = BufReader::with_capacity(AHEAD, stream);
        let pieces = PieceWaits::counting();
        Ok(Self { reader, traffic: Traffic::default(), pieces, has_asked: true, seconds: reach.seconds() })
    }

    /// Bytes so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        Traffic { pieces: self.pieces.counts(), ..self.traffic }
    }

    /// An error of this connection.
    #[must_use]
    pub fn failed(&self, error: &io::Error) -> Error {
        Error::of_io(error, self.seconds)
    }

    /// Exactly `length` bytes, at most `limit`.
    ///
    /// # Errors
    /// Those of the socket, and `InvalidData` for more than the limit.
    pub fn fetch(&mut self, length: usize, limit: usize) -> io::Result<Vec<u8>> {
        if length > limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer that is too long"));
        }
        let mut bytes = vec![0; length];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Sends all parts, without copying them together.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn put(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.has_asked = true;
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut slices = &mut slices[..];
        let stream = self.reader.get_mut();
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match stream.write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.traffic.sent += count as u64;
                    IoSlice::advance_slices(&mut slices, count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begun = self.begin_wait();
        let count = self.reader.read(buffer)?;
        self.end_wait(begun, count + self.reader.buffer().len());
        self.traffic.received += count as u64;
        Ok(count)
    }
}

impl Socket {
    /// The time, if nothing of what comes next is here.
    fn begin_wait(&self) -> Option<Instant> {
        self.reader.buffer().is_empty().then(Instant::now)
    }

    /// So many bytes came after the wait.
    fn end_wait(&mut self, begun: Option<Instant>, length: usize) {
        let Some(begun) = begun else { return };
        if !std::mem::replace(&mut self.has_asked, false) {
            self.pieces.note(begun.elapsed(), length);
        }
    }
}

impl BufRead for Socket {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let begun = self.begin_wait();
        let length = self.reader.fill_buf()?.len();
        self.end_wait(begun, length);
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.traffic.received += count as u64;
        self.reader.consume(count);
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_asked = true;
        let count = self.reader.get_mut().write(bytes)?;
        self.traffic.sent += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.reader.get_mut().flush()
    }
}
