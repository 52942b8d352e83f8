//! Towers of protocols: at which TCP port an interface of DCE/RPC is. C706 appendices I and L.

use wire::{Malformed, Reader, Writer};

use crate::{Syntax, Uuid};

/// The most floors that are read.
const MAX_FLOORS: u16 = 16;
/// Floors over TCP: the interface, the transfer syntax, connections, TCP, IP.
const FLOORS: u16 = 5;

/// Identifiers of protocols, C706 appendix I.
const UUID: u8 = 0x0d;
const CONNECTIONS: u8 = 0x0b;
const TCP: u8 = 0x07;
const IP: u8 = 0x09;

/// A tower over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tower {
    /// The interface.
    pub interface: Syntax,
    /// The transfer syntax of its calls.
    pub transfer: Syntax,
    /// The TCP port; 0 in a question.
    pub port: u16,
}

impl Tower {
    /// The longest tower that is read. One over TCP has 75 bytes.
    pub const MAX_LEN: u32 = 1_024;

    /// The tower in `twr_t`, after its size and before its bytes: its length and those.
    ///
    /// # Errors
    /// The bytes are damaged, or the tower is longer than [`Tower::MAX_LEN`].
    pub fn take<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
        let (size, length) = (r.u32_le()?, r.u32_le()?);
        if size != length || length > Self::MAX_LEN {
            return Err(Malformed("a tower of another length than it says"));
        }
        r.take(length as usize)
    }

    /// The tower of these bytes. `None`: it is of another transport than TCP.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut r = Reader::new(bytes);
        let count = r.u16_le()?;
        if count > MAX_FLOORS {
            return Err(Malformed("a tower of too many floors"));
        }
        let mut floors = Vec::new();
        for _ in 0..count {
            let length = r.u16_le()?;
            let left = r.take(length.into())?;
            let length = r.u16_le()?;
            floors.push((left, r.take(length.into())?));
        }
        let [interface, transfer, connections, tcp, ..] = &floors[..] else { return Ok(None) };
        if connections.0 != [CONNECTIONS] || tcp.0 != [TCP] {
            return Ok(None);
        }
        let port = u16::from_be_bytes(Reader::new(tcp.1).array()?);
        let named = [named(*interface)?, named(*transfer)?];
        Ok(match named {
            [Some(interface), Some(transfer)] => Some(Self { interface, transfer, port }),
            _ => None,
        })
    }

    /// Its bytes. The address is 0.0.0.0: clients use the one that they know.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u16_le(FLOORS);
        for Syntax { uuid, major, minor } in [self.interface, self.transfer] {
            w.u16_le(19);
            w.u8(UUID);
            w.put(&uuid.0);
            w.u16_le(major);
            w.u16_le(2);
            w.u16_le(minor);
        }
        let port = self.port.to_be_bytes();
        let lower: [(u8, &[u8]); 3] = [(CONNECTIONS, &[0; 2]), (TCP, &port), (IP, &[0; 4])];
        for (protocol, address) in lower {
            w.u16_le(1);
            w.u8(protocol);
            w.u16_le(address.len() as u16);
            w.put(address);
        }
        w.into_bytes()
    }
}

/// A floor that names an interface or a transfer syntax.
fn named((left, right): (&[u8], &[u8])) -> Result<Option<Syntax>, Malformed> {
    let mut r = Reader::new(left);
    if r.u8()? != UUID {
        return Ok(None);
    }
    Ok(Some(Syntax { uuid: Uuid(r.array()?), major: r.u16_le()?, minor: Reader::new(right).u16_le()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERFACE: Syntax = Syntax { uuid: Uuid([7; 16]), major: 1, minor: 2 };
    const TOWER: Tower =
        Tower { interface: INTERFACE, transfer: Syntax { uuid: Uuid([9; 16]), ..INTERFACE }, port: 0xc001 };

    /// C706 appendix L: five floors of 75 bytes together.
    #[test]
    fn a_tower_over_tcp_has_five_floors() {
        let bytes = TOWER.encode();
        assert_eq!((bytes.len(), &bytes[..6]), (75, &[5, 0, 19, 0, 0x0d, 7][..]));
        assert_eq!(bytes[21..27], [1, 0, 2, 0, 2, 0]); // the version, and the minor one on the right side
        assert_eq!(bytes[52..66], [1, 0, 0x0b, 2, 0, 0, 0, 1, 0, 0x07, 2, 0, 0xc0, 0x01]);
        assert_eq!(bytes[66..], [1, 0, 0x09, 4, 0, 0, 0, 0, 0]);
        assert_eq!(Tower::decode(&bytes), Ok(Some(TOWER)));
        (0..75).for_each(|end| assert!(Tower::decode(&bytes[..end]).is_err(), "cut at {end}"));
    }

    #[test]
    fn a_tower_of_another_transport_is_none() {
        let mut pipe = TOWER.encode();
        pipe[61] = 0x0f; // a named pipe instead of a port
        assert_eq!(Tower::decode(&pipe), Ok(None));
        assert_eq!(Tower::decode(&[0, 0]), Ok(None));
        assert!(Tower::decode(&[17, 0]).is_err());
    }

    #[test]
    fn a_tower_that_is_longer_than_its_limit_is_not_read() {
        let taken = |size: u32, length: u32, bytes: usize| {
            let mut w = Writer::new();
            [size, length].iter().for_each(|number| w.u32_le(*number));
            w.zeros(bytes);
            let all = w.into_bytes();
            Tower::take(&mut Reader::new(&all)).map(<[u8]>::len)
        };
        assert_eq!(taken(75, 75, 80), Ok(75));
        assert!(
            taken(75, 74, 80).is_err() && taken(2_000, 2_000, 2_000).is_err() && taken(75, 75, 74).is_err()
        );
    }
}
