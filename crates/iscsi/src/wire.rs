//! Codecs: PDUs, the text of logins, SCSI commands and their answers.

pub mod digest;
pub mod keys;
mod layout;
pub mod pdu;
pub mod relayed;
pub mod reservations;
pub mod scsi;

pub use ::wire::{Malformed, Reader, Writer};
