//! Bytes to values and back: PDUs, the text of logins, SCSI commands and what they answer.

pub mod digest;
pub mod keys;
pub mod pdu;
pub mod reservations;
pub mod scsi;

pub use ::wire::{Malformed, Reader, Writer};
