//! OPLOCK_BREAK, MS-SMB2 2.2.23 to 2.2.25: of oplocks and of leases. The server notifies, the
//! client acknowledges, the server answers. The structure size says whether a message is about an
//! oplock or a lease.

use wire::{Malformed, Reader, Writer};

use super::layout::body;
use super::{FileKey, Header, LeaseKey, LeaseState, OplockLevel};

body! {
    /// An oplock's notification (2.2.23.1), acknowledgment (2.2.24.1) and response (2.2.25.1): they look the same.
    pub struct Oplock (24) {
        pub level: OplockLevel [5],
        pub file: FileKey,
    }

    /// A lease's acknowledgment (2.2.24.2) and response (2.2.25.2): they look the same.
    pub struct LeaseBreak (36) [6] {
        pub key: LeaseKey,
        pub state: LeaseState [8],
    }
}

wire::bits! {
    /// MS-SMB2 2.2.23.2.
    pub NotificationFlags: u32 {
        ACK_REQUIRED = 1,
    }
}

body! {
    /// A lease's notification, MS-SMB2 2.2.23.2.
    pub struct LeaseNotification (44) {
        /// Of a lease of version 2; else 0.
        pub new_epoch: u16,
        pub flags: NotificationFlags,
        pub key: LeaseKey,
        pub current_state: LeaseState,
        pub new_state: LeaseState [12],
    }
}

fn structure_size(message: &[u8]) -> Result<u16, Malformed> {
    let mut r = Reader::new(message);
    r.skip(Header::LEN)?;
    r.u16_le()
}

/// The acknowledgment of a client, MS-SMB2 2.2.24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Oplock(Oplock),
    Lease(LeaseBreak),
}

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        match structure_size(message)? {
            Oplock::SIZE => Oplock::decode(message).map(Self::Oplock),
            LeaseBreak::SIZE => LeaseBreak::decode(message).map(Self::Lease),
            _ => Err(Malformed("another structure size")),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        match self {
            Self::Oplock(oplock) => oplock.encode(w),
            Self::Lease(lease) => lease.encode(w),
        }
    }
}

/// The server's response, MS-SMB2 2.2.25: it repeats the acknowledgment.
pub type Response = Request;

/// The server's notification, which no request asked for, MS-SMB2 2.2.23.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    Oplock(Oplock),
    Lease(LeaseNotification),
}

impl Notification {
    /// The message id of a notification, MS-SMB2 3.3.4.6.
    pub const MESSAGE_ID: u64 = u64::MAX;

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        match structure_size(message)? {
            Oplock::SIZE => Oplock::decode(message).map(Self::Oplock),
            LeaseNotification::SIZE => LeaseNotification::decode(message).map(Self::Lease),
            _ => Err(Malformed("another structure size")),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        match self {
            Self::Oplock(oplock) => oplock.encode(w),
            Self::Lease(lease) => lease.encode(w),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LeaseKey = LeaseKey(*b"ABCDEFGHIJKLMNOP");

    #[test]
    fn an_oplock_looks_the_same_in_all_three_messages() {
        let body = b"\x18\0\x01\0\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11";
        let file = FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 };
        let oplock = Oplock { level: OplockLevel::II, file };
        laid_out!(Request, body, Request::Oplock(oplock));
        laid_out!(Notification, body, Notification::Oplock(oplock));
    }

    #[test]
    fn a_lease_is_acknowledged_by_its_key() {
        let body = b"\x24\0\0\0\0\0\0\0ABCDEFGHIJKLMNOP\x03\0\0\0\0\0\0\0\0\0\0\0";
        let state = LeaseState::READ | LeaseState::HANDLE;
        laid_out!(Request, body, Request::Lease(LeaseBreak { key: KEY, state }));
    }

    #[test]
    fn a_lease_breaks_from_a_state_to_a_state() {
        let body = b"\x2c\0\x05\0\x01\0\0\0ABCDEFGHIJKLMNOP\x07\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        let notification = LeaseNotification {
            new_epoch: 5,
            flags: NotificationFlags::ACK_REQUIRED,
            key: KEY,
            current_state: LeaseState(7),
            new_state: LeaseState::READ,
        };
        laid_out!(Notification, body, Notification::Lease(notification));
    }
}
