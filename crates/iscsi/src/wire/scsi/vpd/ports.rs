//! The VPD page of SCSI ports, SPC-4 7.8.14, by which initiators find other paths to a disk.

use wire::{Malformed, Reader, Writer};

use super::Designators;

/// A target port in the SCSI ports page, SPC-4 7.8.14.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScsiPort {
    /// Its relative port identifier.
    pub number: u16,
    /// Its names.
    pub names: Designators,
}

/// Body of the SCSI ports page, SPC-4 7.8.14: the ports of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScsiPorts(pub Vec<ScsiPort>);

impl ScsiPorts {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        self.0.iter().for_each(|port| port.encode(w));
    }

    /// From its bytes, up to their end.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut ports = Vec::new();
        while r.remaining() > 0 {
            ports.push(ScsiPort::decode(r)?);
        }
        Ok(Self(ports))
    }
}

impl ScsiPort {
    fn encode(&self, w: &mut Writer) {
        let mut names = Writer::new();
        self.names.encode(&mut names);
        w.zeros(2);
        w.u16_be(self.number);
        w.zeros(2);
        w.u16_be(0); // no initiator port
        w.zeros(2);
        w.u16_be(u16::try_from(names.len()).unwrap_or(u16::MAX));
        w.put(names.as_bytes());
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(2)?;
        let number = r.u16_be()?;
        r.skip(2)?;
        let initiator = usize::from(r.u16_be()?);
        r.skip(initiator)?;
        r.skip(2)?;
        let length = usize::from(r.u16_be()?);
        let names = Designators::decode(&mut Reader::new(r.take(length)?))?;
        Ok(Self { number, names })
    }
}
