//! Port mapper version 2 and rpcbind versions 3 and 4, RFC 1833.

use core::net::{IpAddr, SocketAddr};
use std::fmt; // values, not sockets

use wire::{Malformed, Reader, Writer};

use super::xdr::{Opaque, enumeration, list, put_list, record};

/// The program's number, the same for all versions.
pub const PROGRAM: u32 = 100_000;
/// The port on which it listens.
pub const PORT: u16 = 111;
/// The lowest and the highest version.
pub const VERSIONS: (u32, u32) = (2, 4);
/// The longest network identifier, address and owner that is decoded; RFC 1833 sets no limit.
pub const STRING_LIMIT: usize = 256;
/// The most bytes of arguments for a forwarded call that are decoded: the length of a UDP datagram.
pub const CALL_ARGUMENTS_LIMIT: usize = 0x1_0000;

/// A string of rpcbind's.
pub type Text<'a> = Opaque<'a, STRING_LIMIT>;

enumeration! {
    /// The procedures of version 2, RFC 1833 3.2.
    pub struct Procedure;
    NULL = 0,
    SET = 1,
    UNSET = 2,
    GETPORT = 3,
    DUMP = 4,
    CALLIT = 5,
}

enumeration! {
    /// The procedures of versions 3 and 4, RFC 1833 2.2.1. CALLIT is named BCAST in version 4. The
    /// procedures after TADDR2UADDR exist in version 4 only.
    pub struct RpcbProcedure;
    NULL = 0,
    SET = 1,
    UNSET = 2,
    GETADDR = 3,
    DUMP = 4,
    CALLIT = 5,
    GETTIME = 6,
    UADDR2TADDR = 7,
    TADDR2UADDR = 8,
    GETVERSADDR = 9,
    INDIRECT = 10,
    GETADDRLIST = 11,
    GETSTAT = 12,
}

enumeration! {
    /// The transports of version 2: IP protocol numbers.
    pub struct Protocol;
    TCP = 6,
    UDP = 17,
}

record! {
    /// mapping, RFC 1833 3.1: argument of SET, UNSET (without transport and port) and GETPORT (without port), item of
    /// DUMP's list. SET and UNSET answer a boolean, GETPORT a number, 0 when there is none.
    pub struct PortMapping {
        pub program: u32,
        pub version: u32,
        pub protocol: Protocol,
        pub port: u32,
    }

    /// call_args and rpcb_rmtcallargs: a call to forward to a program of this host.
    pub struct CallRequest<'a> {
        pub program: u32,
        pub version: u32,
        pub procedure: u32,
        pub arguments: Opaque<'a, CALL_ARGUMENTS_LIMIT>,
    }

    /// rpcb, RFC 1833 2.1: argument of SET, UNSET, GETADDR and GETVERSADDR, item of DUMP's list. SET and UNSET answer
    /// a boolean, the others the universal address as a string, empty when there is none.
    pub struct Rpcb<'a> {
        pub program: u32,
        pub version: u32,
        /// "tcp", "udp", "tcp6" or "udp6" (RFC 5665 4).
        pub netid: Text<'a>,
        pub address: Text<'a>,
        pub owner: Text<'a>,
    }
}

/// Writes the answer to DUMP of version 2.
pub fn put_mappings(w: &mut Writer, mappings: impl IntoIterator<Item = PortMapping>) {
    put_list(w, mappings);
}

/// Reads the answer to DUMP of version 2.
pub fn mappings(r: &mut Reader<'_>) -> Result<Vec<PortMapping>, Malformed> {
    list(r)
}

/// Writes the answer to DUMP of versions 3 and 4.
pub fn put_rpcbs<'a>(w: &mut Writer, rpcbs: impl IntoIterator<Item = Rpcb<'a>>) {
    put_list(w, rpcbs);
}

/// Reads the answer to DUMP of versions 3 and 4.
pub fn rpcbs<'a>(r: &mut Reader<'a>) -> Result<Vec<Rpcb<'a>>, Malformed> {
    list(r)
}

/// An address with its port as rpcbind writes it, RFC 5665 5.2.3.3 and 5.2.3.4: the port's two bytes in decimal after
/// the host, so that 192.0.2.1 port 2049 is `192.0.2.1.8.1`, and that port at `2001:db8::1` is `2001:db8::1.8.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniversalAddress(pub SocketAddr);

impl UniversalAddress {
    /// Reads a universal address. `None` if the text is not one.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (rest, low) = text.rsplit_once('.')?;
        let (host, high) = rest.rsplit_once('.')?;
        let host: IpAddr = host.parse().ok()?;
        Some(Self(SocketAddr::new(host, u16::from_be_bytes([byte(high)?, byte(low)?]))))
    }
}

impl fmt::Display for UniversalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [high, low] = self.0.port().to_be_bytes();
        write!(f, "{}.{high}.{low}", self.0.ip())
    }
}

/// A decimal number below 256, digits only.
fn byte(text: &str) -> Option<u8> {
    text.parse().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
