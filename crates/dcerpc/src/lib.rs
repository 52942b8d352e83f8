//! Remote procedure calls: DCE/RPC (C706) with Microsoft's extensions (MS-RPCE), as bytes and values. No I/O, no state.
//!
//! [`pdu`] has the messages, [`ndr`] the form of arguments inside them, [`client`] what a client writes and reads, [`epm`] the
//! endpoint mapper. A crate that serves or calls an interface has its operations.

#![allow(missing_docs, reason = "fields have the names of the specification")]

pub mod client;
pub mod epm;
pub mod ndr;
pub mod pdu;
pub mod tower;

use wire::{Malformed, Reader, Writer};

/// A UUID as it is on the wire: its first three fields little-endian, C706 appendix A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The UUID with these hexadecimal digits, as they are printed.
    pub const fn new(digits: u128) -> Self {
        let d = digits.to_be_bytes();
        Self([
            d[3], d[2], d[1], d[0], d[5], d[4], d[7], d[6], d[8], d[9], d[10], d[11], d[12], d[13], d[14],
            d[15],
        ])
    }
}

/// An interface or a transfer syntax and its version, `p_syntax_id_t`, C706 12.6.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Syntax {
    pub uuid: Uuid,
    pub major: u16,
    pub minor: u16,
}

impl Syntax {
    /// NDR, C706 appendix I: the transfer syntax that all clients support.
    pub const NDR: Self = Self::new(0x8a885d04_1ceb_11c9_9fe8_08002b104860, 2);
    /// NDR64, MS-RPCE 2.2.5.
    pub const NDR64: Self = Self::new(0x71710533_beba_4937_8319_b5dbef9ccc36, 1);
    /// The server service, MS-SRVS 1.9.
    pub const SRVSVC: Self = Self::new(0x4b324fc8_1670_01d3_1278_5a47bf6ee188, 3);
    /// The workstation service, MS-WKST 1.9.
    pub const WKSSVC: Self = Self::new(0x6bffd098_a112_3610_9833_46c3f87e345a, 1);
    /// The local security authority, MS-LSAD 1.9 and MS-LSAT 1.9.
    pub const LSARPC: Self = Self::new(0x12345778_1234_abcd_ef00_0123456789ab, 0);
    /// The accounts of a server, MS-SAMR 1.9.
    pub const SAMR: Self = Self::new(0x12345778_1234_abcd_ef00_0123456789ac, 1);
    /// The metadata service of macOS.
    pub const MDSSVC: Self = Self::new(0x885d85fb_c754_4062_a0e7_6872ce0064f4, 2);
    /// The endpoint mapper, C706 appendix O.
    pub const EPMAPPER: Self = Self::new(0xe1af8308_5d1f_11c9_91a4_08002b14a0fa, 3);
    /// Logins of users of a domain, MS-NRPC 1.9.
    pub const NETLOGON: Self = Self::new(0x12345678_1234_abcd_ef00_01234567cffb, 1);
    /// The witness service, MS-SWN 1.9.
    pub const WITNESS: Self = Self { minor: 1, ..Self::new(0xccd8c074_d0e5_4a40_92b4_d074faa6ba28, 1) };

    /// Version `major`.0 of the interface with these digits.
    pub const fn new(digits: u128, major: u16) -> Self {
        Self { uuid: Uuid::new(digits), major, minor: 0 }
    }

    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { uuid: Uuid(r.array()?), major: r.u16_le()?, minor: r.u16_le()? })
    }

    pub(crate) fn encode(&self, w: &mut Writer) {
        w.put(&self.uuid.0);
        w.u16_le(self.major);
        w.u16_le(self.minor);
    }

    /// The bits of a bind time feature negotiation, which looks like a transfer syntax, MS-RPCE 2.2.2.14.
    pub fn bind_time_features(&self) -> Option<u64> {
        const PREFIX: [u8; 8] = [0x2c, 0x1c, 0xb7, 0x6c, 0x12, 0x98, 0x40, 0x45];
        let bits = self.uuid.0.strip_prefix(&PREFIX)?;
        Some(u64::from_le_bytes(bits.try_into().ok()?))
    }
}
