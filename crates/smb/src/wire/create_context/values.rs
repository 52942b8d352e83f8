//! What requests and responses have in common: leases and the flags of durable opens.

use wire::{Malformed, Reader, Writer};

use crate::wire::{LeaseKey, LeaseState};

wire::bits! {
    /// MS-SMB2 2.2.13.2.11.
    pub DurableFlags: u32 {
        PERSISTENT = 2,
    }
}

wire::bits! {
    /// MS-SMB2 2.2.13.2.10 and 2.2.14.2.11.
    pub LeaseFlags: u32 {
        BREAK_IN_PROGRESS = 2,
        PARENT_KEY_SET = 4,
    }
}

/// A lease, asked for or granted. MS-SMB2 2.2.13.2.8 and .10, 2.2.14.2.10 and .11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub key: LeaseKey,
    pub state: LeaseState,
    pub flags: LeaseFlags,
    /// What version 2 has more.
    pub v2: Option<LeaseV2>,
}

/// What a lease of version 2 has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseV2 {
    /// The lease on the folder, when [`LeaseFlags::PARENT_KEY_SET`].
    pub parent_key: LeaseKey,
    pub epoch: u16,
}

impl Lease {
    /// A length of 32 is version 1, of 52 version 2.
    pub fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        let (key, state) = (LeaseKey(r.array()?), LeaseState(r.u32_le()?));
        let flags = LeaseFlags(r.u32_le()?);
        r.skip(8)?; // duration, reserved
        let v2 = match r.remaining() {
            0 => None,
            20 => Some(LeaseV2 { parent_key: LeaseKey(r.array()?), epoch: r.u16_le()? }),
            _ => return Err(Malformed("a lease of another length")),
        };
        Ok(Self { key, state, flags, v2 })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.put(&self.key.0);
        w.u32_le(self.state.0);
        w.u32_le(self.flags.0);
        w.u64_le(0); // duration, reserved
        if let Some(v2) = self.v2 {
            w.put(&v2.parent_key.0);
            w.u16_le(v2.epoch);
            w.u16_le(0); // reserved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &[u8] = b"ABCDEFGHIJKLMNOP\x03\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0abcdefghijklmnop\x05\x01\0\0";

    fn encoded(lease: Lease) -> Vec<u8> {
        let mut w = Writer::new();
        lease.encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn the_length_says_the_version() {
        let v1 = Lease {
            key: LeaseKey(*b"ABCDEFGHIJKLMNOP"),
            state: LeaseState::READ | LeaseState::HANDLE,
            flags: LeaseFlags::PARENT_KEY_SET,
            v2: None,
        };
        assert_eq!(Lease::decode(&V2[..32]), Ok(v1));
        assert_eq!(encoded(v1), V2[..32]);
        let v2 =
            Lease { v2: Some(LeaseV2 { parent_key: LeaseKey(*b"abcdefghijklmnop"), epoch: 0x0105 }), ..v1 };
        assert_eq!(Lease::decode(V2), Ok(v2));
        assert_eq!(encoded(v2), V2);
    }

    #[test]
    fn other_lengths_are_malformed() {
        let longer = [V2, &[0]].concat();
        for len in (0..=longer.len()).filter(|len| ![32, 52].contains(len)) {
            assert!(Lease::decode(&longer[..len]).is_err(), "{len}");
        }
    }
}
