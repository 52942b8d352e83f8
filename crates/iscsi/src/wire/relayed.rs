//! PERSISTENT RESERVE OUT that a server of a cluster in standby relays to the server that serves the unit, the answer, and the
//! unit attentions for initiators with a session at another server.
//!
//! ```text
//! nexus       2  number of the target port
//!             6  the initiator's number of its session
//!             1  bytes of the initiator's name
//!             n  its name, in lower case
//! command     the I_T nexus, 10 CDB, 4 bytes of the parameter list, the parameter list
//! answer      1  status, SAM-5 5.3.1; with CHECK CONDITION also
//!             1  sense key
//!             2  additional sense code and qualifier
//!             1  the wrong field: 0 none, 1 in the CDB, 2 in the parameter list; then 2 its first byte
//! attentions  2  how many follow; each: the I_T nexus, 2 additional sense code and qualifier
//! ```
//!
//! Big-endian.

use wire::{Malformed, Reader, Writer};

use super::scsi::{Asc, Key, Sense, Status, WrongField};

/// The longest parameter list: it has a TransportID for each of some hundred initiator ports.
pub const PARAMETERS_MOST: usize = 64 << 10;
/// The most unit attentions in one message.
pub const ATTENTIONS_MOST: usize = 256;
/// Bytes of the CDB of PERSISTENT RESERVE OUT.
pub const CDB: usize = 10;

/// An I_T nexus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nexus {
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub port: u16,
    /// The initiator's number of its session.
    pub isid: [u8; 6],
    /// The initiator's name.
    pub name: String,
}

impl Nexus {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (port, isid) = (r.u16_be()?, r.array()?);
        let length = usize::from(r.u8()?);
        let name = str::from_utf8(r.take(length)?).map_err(|_| Malformed("a name that is not UTF-8"))?;
        Ok(Self { port, isid, name: name.to_owned() })
    }

    fn encode(&self, w: &mut Writer) {
        w.u16_be(self.port);
        w.put(&self.isid);
        w.u8(self.name.len() as u8); // iSCSI names have 223 bytes at most
        w.put(self.name.as_bytes());
    }
}

/// The command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The I_T nexus that has sent it.
    pub nexus: Nexus,
    /// Its descriptor block.
    pub cdb: [u8; CDB],
    /// Its parameter list, of [`PARAMETERS_MOST`] bytes at most.
    pub parameters: Vec<u8>,
}

impl Command {
    /// Reads a whole message.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let (nexus, cdb) = (Nexus::decode(&mut r)?, r.array()?);
        let length = r.u32_be()? as usize;
        if length > PARAMETERS_MOST {
            return Err(Malformed("a parameter list that is too long"));
        }
        let parameters = r.take(length)?.to_vec();
        r.finish()?;
        Ok(Self { nexus, cdb, parameters })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.nexus.encode(&mut w);
        w.put(&self.cdb);
        w.u32_be(self.parameters.len() as u32); // PARAMETERS_MOST at most
        w.put(&self.parameters);
        w.into_bytes()
    }
}

/// The end of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A status other than CHECK CONDITION.
    Status(Status),
    /// CHECK CONDITION.
    Check(Sense),
}

impl Answer {
    /// Reads a whole message.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let status = Status(r.u8()?);
        if status != Status::CHECK_CONDITION {
            r.finish()?;
            return Ok(Self::Status(status));
        }
        let (key, asc) = (Key(r.u8()?), Asc(r.u8()?, r.u8()?));
        let field = match r.u8()? {
            0 => None,
            place @ (1 | 2) => Some(WrongField { in_cdb: place == 1, byte: r.u16_be()?, bit: None }),
            _ => return Err(Malformed("a field at an unknown place")),
        };
        r.finish()?;
        Ok(Self::Check(Sense { field, ..Sense::new(key, asc) }))
    }

    /// The message. Of the sense data, only what the command can cause is in it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        match self {
            Self::Status(status) => w.u8(status.0),
            Self::Check(sense) => {
                w.put(&[Status::CHECK_CONDITION.0, sense.key.0, sense.asc.0, sense.asc.1]);
                match sense.field {
                    None => w.u8(0),
                    Some(field) => {
                        w.u8(if field.in_cdb { 1 } else { 2 });
                        w.u16_be(field.byte);
                    }
                }
            }
        }
        w.into_bytes()
    }
}

/// Unit attentions, [`ATTENTIONS_MOST`] at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attentions(pub Vec<(Nexus, Asc)>);

impl Attentions {
    /// Reads a whole message.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let count = usize::from(r.u16_be()?);
        if count > ATTENTIONS_MOST {
            return Err(Malformed("too many unit attentions"));
        }
        let one = |r: &mut Reader<'_>| Ok((Nexus::decode(r)?, Asc(r.u8()?, r.u8()?)));
        let all = (0..count).map(|_| one(&mut r)).collect::<Result<Vec<_>, Malformed>>()?;
        r.finish()?;
        Ok(Self(all))
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u16_be(self.0.len() as u16); // ATTENTIONS_MOST at most
        for (nexus, asc) in &self.0 {
            nexus.encode(&mut w);
            w.put(&[asc.0, asc.1]);
        }
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nexus() -> Nexus {
        Nexus { port: 0x0102, isid: [3, 4, 5, 6, 7, 8], name: "iqn.a".into() }
    }

    const NEXUS: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8, 5, b'i', b'q', b'n', b'.', b'a'];

    #[test]
    fn the_layout_of_a_command_is_the_one_above() {
        let command = Command { nexus: nexus(), cdb: [0x5f; 10], parameters: vec![9; 3] };
        let expected = [NEXUS, &[0x5f; 10], &[0, 0, 0, 3, 9, 9, 9]].concat();
        assert_eq!(command.encode(), expected);
        assert_eq!(Command::decode(&expected), Ok(command));
        for length in 0..expected.len() {
            assert!(Command::decode(&expected[..length]).is_err(), "{length} bytes");
        }
        let too_long = [NEXUS, &[0x5f; 10], &[0, 1, 0, 1], &[0; PARAMETERS_MOST + 1]].concat();
        assert!(Command::decode(&too_long).is_err());
    }

    #[test]
    fn the_layout_of_answers_is_the_one_above() {
        let answers = [
            (Answer::Status(Status::GOOD), &[0x00][..]),
            (Answer::Status(Status::RESERVATION_CONFLICT), &[0x18]),
            (Answer::Check(Sense::new(Key::NOT_READY, Asc(4, 10))), &[2, 2, 4, 10, 0]),
            (Answer::Check(Sense::in_cdb(1)), &[2, 5, 0x24, 0, 1, 0, 1]),
            (Answer::Check(Sense::in_parameters(0x114)), &[2, 5, 0x26, 0, 2, 1, 0x14]),
        ];
        for (answer, bytes) in answers {
            assert_eq!(answer.encode(), bytes);
            assert_eq!(Answer::decode(bytes), Ok(answer));
            assert!(Answer::decode(&[bytes, &[0]].concat()).is_err());
        }
        assert!(Answer::decode(&[2, 5, 0x26, 0, 3, 0, 0]).is_err());
    }

    #[test]
    fn the_layout_of_unit_attentions_is_the_one_above() {
        let attentions = Attentions(vec![(nexus(), Asc::REGISTRATIONS_PREEMPTED)]);
        let expected = [&[0, 1], NEXUS, &[0x2a, 0x05]].concat();
        assert_eq!(attentions.encode(), expected);
        assert_eq!(Attentions::decode(&expected), Ok(attentions));
        assert!(Attentions::decode(&[1, 1]).is_err());
    }
}
