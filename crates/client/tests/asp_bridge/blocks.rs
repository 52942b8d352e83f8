//! Reads and writes that are longer than ASP's quantum, in several commands: so does the driver of Macs, .XPP, whose callers may ask for
//! any length (*Inside Macintosh: Networking*, chapter 9, "AFPCommand").

use afp::wire::command::{READ, WRITE};
use afp::wire::dsi::{Command, DsiHeader};
use appletalk::asp::QUANTUM;

use super::session::Frame;

/// Bytes of FPRead's and FPWrite's requests up to their ends: the command, a byte, the fork, offset and count.
const READ_LEN: usize = 14;
const WRITE_LEN: usize = 12;
const OFFSET_AT: usize = 4;
const COUNT_AT: usize = 8;
/// FPWrite's second byte: the offset counts from the end of the fork.
const FROM_END: u8 = 0x80;

/// A read or a write in several commands.
pub(super) struct Blocks {
    request: Frame,
    /// The command without its data, with the next offset.
    command: Vec<u8>,
    is_write: bool,
    /// Bytes that were asked for, and those that were read or written.
    asked: usize,
    done: usize,
    /// What was read.
    data: Vec<u8>,
}

impl Blocks {
    /// `None`: the request goes as it is.
    pub(super) fn of(request: &Frame) -> Option<Self> {
        let Frame { header, payload } = request;
        let is_write = header.command == Command::WRITE;
        let (number, length) = if is_write { (WRITE, WRITE_LEN) } else { (READ, READ_LEN) };
        let is_it = matches!(header.command, Command::COMMAND | Command::WRITE)
            && payload.first() == Some(&number)
            && payload.len() >= length
            && (!is_write || header.code as usize == WRITE_LEN);
        let asked = usize::try_from(number_at(payload, COUNT_AT)?).ok()?;
        let is_whole = !is_write || payload.len() - WRITE_LEN == asked;
        (is_it && is_whole && asked > QUANTUM).then(|| Self {
            request: request.clone(),
            command: payload[..length].to_vec(),
            is_write,
            asked,
            done: 0,
            data: Vec::new(),
        })
    }

    /// The next command.
    pub(super) fn next(&mut self) -> Frame {
        let count = QUANTUM.min(self.asked - self.done);
        self.command[COUNT_AT..COUNT_AT + 4].copy_from_slice(&(count as u32).to_be_bytes());
        let mut payload = self.command.clone();
        if self.is_write {
            let from = WRITE_LEN + self.done;
            payload.extend_from_slice(&self.request.payload[from..from + count]);
        }
        Frame { header: DsiHeader { length: 0, ..self.request.header }, payload }
    }

    /// Takes the answer to the last command. Returns the answer to the whole request, if that was the last one.
    pub(super) fn answered(&mut self, reply: Frame) -> Option<Frame> {
        let (code, count) = (reply.header.code as i32, QUANTUM.min(self.asked - self.done));
        if self.is_write {
            let end = number_at(&reply.payload, 0).filter(|_| code == 0);
            self.done += count;
            let Some(end) = end.filter(|_| self.done < self.asked) else { return Some(reply) };
            self.command[1] &= !FROM_END;
            self.command[OFFSET_AT..OFFSET_AT + 4].copy_from_slice(&end.to_be_bytes());
            return None;
        }
        let is_full = code == 0 && reply.payload.len() == count;
        self.done += count;
        self.data.extend(reply.payload);
        if !is_full || self.done >= self.asked {
            return Some(self.request.reply(code, std::mem::take(&mut self.data)));
        }
        let offset = number_at(&self.command, OFFSET_AT)?.wrapping_add(count as i32);
        self.command[OFFSET_AT..OFFSET_AT + 4].copy_from_slice(&offset.to_be_bytes());
        None
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
