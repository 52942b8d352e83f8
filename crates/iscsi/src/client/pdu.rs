//! Whole PDUs, with their digests.

use std::io::{self, Read};

use wire::{Malformed, Reader};

use super::Result;
use crate::wire::digest::crc32c;
use crate::wire::pdu::{BHS, Head, Lun, NO_TAG, Opcode, Reject, RejectReason, SequenceNumbers, padding};

/// The most room that is made for data before they arrive.
const MAX_ROOM: usize = 2 << 20;

/// A PDU from the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// Its basic header.
    pub header: [u8; BHS],
    /// Its data without the padding.
    pub data: Vec<u8>,
}

impl Pdu {
    /// Reads a PDU and verifies its digests.
    pub(super) fn read(link: &mut impl Read, header_digest: bool, data_digest: bool) -> Result<Self> {
        let mut header = [0; BHS];
        link.read_exact(&mut header)?;
        let head = Head::decode(&mut Reader::new(&header))?;
        let additional = bytes(link, head.additional)?;
        if header_digest {
            check(link, &[&header[..], &additional].concat(), "a header with a wrong digest")?;
        }
        let mut data = bytes(link, head.data + padding(head.data))?;
        if data_digest && head.data > 0 {
            check(link, &data, "data with a wrong digest")?;
        }
        data.truncate(head.data);
        Ok(Self { header, data })
    }

    /// The opcode.
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        Opcode(self.header[0] & 0x3f)
    }

    /// The tag of the task that it concerns.
    #[must_use]
    pub fn task_tag(&self) -> u32 {
        self.word(16)
    }

    /// The unit that it names, if any.
    #[must_use]
    pub fn lun(&self) -> Lun {
        let mut lun = [0; 8];
        lun.copy_from_slice(&self.header[8..16]);
        Lun(lun)
    }

    /// Its sequence numbers, which all PDUs of targets have in the same place.
    pub(super) fn numbers(&self) -> Option<SequenceNumbers> {
        SequenceNumbers::decode(&mut Reader::new(&self.header[24..36])).ok()
    }

    /// Whether its StatSN counts, RFC 7143 4.2.2.2.
    pub(super) fn has_status(&self) -> bool {
        match self.opcode() {
            Opcode::DATA_IN => self.header[1] & 1 != 0,
            Opcode::R2T => false,
            Opcode::NOP_IN => self.task_tag() != NO_TAG,
            _ => true,
        }
    }

    /// The reason of a Reject.
    pub(super) fn reject_reason(&self) -> Result<RejectReason> {
        Ok(Reject::decode(&mut Reader::new(&self.header))?.reason)
    }

    fn word(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.header[at..at + 4]);
        u32::from_be_bytes(bytes)
    }
}

/// The bytes of a PDU on the connection: header, data, digests.
pub(super) fn frame(mut bytes: Vec<u8>, data: &[u8], header_digest: bool, data_digest: bool) -> Vec<u8> {
    if header_digest {
        let digest = crc32c(&bytes);
        bytes.extend_from_slice(&digest);
    }
    let begin = bytes.len();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len() + padding(data.len()), 0);
    if data_digest && !data.is_empty() {
        let digest = crc32c(&bytes[begin..]);
        bytes.extend_from_slice(&digest);
    }
    bytes
}

fn bytes(link: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    // One long read takes less of a processor than `read_to_end`, which begins with short ones.
    let mut bytes = vec![0; count.min(MAX_ROOM)];
    link.read_exact(&mut bytes)?;
    let rest = count - bytes.len();
    if link.take(rest as u64).read_to_end(&mut bytes)? != rest {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

fn check(link: &mut impl Read, bytes: &[u8], wrong: &'static str) -> Result<()> {
    let mut digest = [0; 4];
    link.read_exact(&mut digest)?;
    if digest == crc32c(bytes) { Ok(()) } else { Err(Malformed(wrong).into()) }
}
