//! The device identification page, SPC-4 7.8.6: the names of the unit, the port and the target.

use wire::{Malformed, Reader, Writer};

/// The longest designator: its length is one byte, and names are padded to a multiple of four.
const LONGEST: usize = 252;
/// The most designators that are read.
const MOST: usize = 128;
/// iSCSI, among the protocol identifiers of SPC-4 table 477.
const ISCSI: u8 = 5;

/// The object that has the name, SPC-4 table 595.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in SPC-4 table 595")]
pub enum DesignatorAssociation {
    LogicalUnit,
    TargetPort,
    TargetDevice,
}

/// A name, by the types of SPC-4 table 596.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DesignatorName {
    /// T10 VENDOR ID and the rest of the designator.
    Vendor(Vec<u8>),
    /// NAA of eight bytes.
    Naa(u64),
    /// Relative target port.
    Port(u16),
    /// Target port group.
    Group(u16),
    /// SCSI name string: an iSCSI name.
    Text(String),
}

/// A designation descriptor, SPC-4 7.8.6.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Designator {
    /// The object that has the name.
    pub of: DesignatorAssociation,
    /// The name.
    pub name: DesignatorName,
}

impl Designator {
    /// Its bytes. Names that are too long are cut.
    pub fn encode(&self, w: &mut Writer) {
        let (code_set, kind, bytes) = self.parts();
        let (protocol, valid, association) = match self.of {
            DesignatorAssociation::LogicalUnit => (0, 0, 0),
            DesignatorAssociation::TargetPort => (ISCSI << 4, 0x80, 0x10),
            DesignatorAssociation::TargetDevice => (ISCSI << 4, 0x80, 0x20),
        };
        w.put(&[protocol | code_set, valid | association | kind, 0, bytes.len() as u8]); // 252 at most
        w.put(&bytes);
    }

    fn parts(&self) -> (u8, u8, Vec<u8>) {
        match &self.name {
            DesignatorName::Vendor(bytes) => (2, 1, bytes[..bytes.len().min(LONGEST)].to_vec()),
            DesignatorName::Naa(naa) => (1, 3, naa.to_be_bytes().to_vec()),
            DesignatorName::Port(number) => (1, 4, u32::from(*number).to_be_bytes().to_vec()),
            DesignatorName::Group(number) => (1, 5, u32::from(*number).to_be_bytes().to_vec()),
            DesignatorName::Text(text) => (3, 8, terminated(text)),
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Option<Self>, Malformed> {
        let (code_set, kind) = (r.u8()? & 0xf, r.u8()?);
        r.skip(1)?;
        let length = usize::from(r.u8()?);
        let bytes = r.take(length)?;
        let of = match kind >> 4 & 3 {
            0 => DesignatorAssociation::LogicalUnit,
            1 => DesignatorAssociation::TargetPort,
            2 => DesignatorAssociation::TargetDevice,
            _ => return Ok(None),
        };
        let mut body = Reader::new(bytes);
        let name = match (code_set, kind & 0xf) {
            (2, 1) if length <= LONGEST => DesignatorName::Vendor(bytes.to_vec()),
            (1, 3) if length == 8 => DesignatorName::Naa(body.u64_be()?),
            (1, 4) if length == 4 => DesignatorName::Port(low_half(&mut body)?),
            (1, 5) if length == 4 => DesignatorName::Group(low_half(&mut body)?),
            (3, 8) if length <= LONGEST => DesignatorName::Text(text(bytes)?),
            _ => return Ok(None),
        };
        Ok(Some(Self { of, name }))
    }
}

/// The text with a zero after it, padded with zeros to a multiple of four, SPC-4 7.8.6.11.
fn terminated(text: &str) -> Vec<u8> {
    let mut end = text.len().min(LONGEST - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes = text.as_bytes()[..end].to_vec();
    bytes.resize((end + 1).next_multiple_of(4), 0);
    bytes
}

fn text(bytes: &[u8]) -> Result<String, Malformed> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(Malformed("a name without an end"))?;
    let text = str::from_utf8(&bytes[..end]).map_err(|_| Malformed("a name that is not UTF-8"))?;
    Ok(text.to_owned())
}

fn low_half(r: &mut Reader<'_>) -> Result<u16, Malformed> {
    r.skip(2)?; // obsolete or reserved
    r.u16_be()
}

/// All designators of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Designators(pub Vec<Designator>);

impl Designators {
    /// The page's body.
    pub fn encode(&self, w: &mut Writer) {
        self.0.iter().for_each(|designator| designator.encode(w));
    }

    /// Reads the page's body. Designators of other kinds are skipped.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut all = Vec::new();
        for _ in 0..MOST {
            if r.remaining() == 0 {
                break;
            }
            all.extend(Designator::decode(r)?);
        }
        Ok(Self(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(of: DesignatorAssociation, name: DesignatorName) -> Vec<u8> {
        let mut w = Writer::new();
        Designator { of, name }.encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn designators_are_as_in_spc_4_7_8_6() {
        let naa = bytes(DesignatorAssociation::LogicalUnit, DesignatorName::Naa(0x3000_0000_0000_0001));
        assert_eq!(naa, [0x01, 0x03, 0, 8, 0x30, 0, 0, 0, 0, 0, 0, 1]);
        let port = bytes(DesignatorAssociation::TargetPort, DesignatorName::Port(1));
        assert_eq!(port, [0x51, 0x94, 0, 4, 0, 0, 0, 1]);
        let group = bytes(DesignatorAssociation::TargetPort, DesignatorName::Group(1));
        assert_eq!(group, [0x51, 0x95, 0, 4, 0, 0, 0, 1]);
        let name = bytes(DesignatorAssociation::TargetDevice, DesignatorName::Text("iqn.x:y".into()));
        assert_eq!(name, b"\x53\xa8\x00\x08iqn.x:y\0");
        let name = bytes(DesignatorAssociation::TargetPort, DesignatorName::Text("iqn.x:yz".into()));
        assert_eq!(name, b"\x53\x98\x00\x0ciqn.x:yz\0\0\0\0");
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_between_characters() {
        let long = "\u{e9}".repeat(200);
        let name = bytes(DesignatorAssociation::TargetDevice, DesignatorName::Text(long));
        assert_eq!(name.len(), 4 + 252);
        assert!(Designators::decode(&mut Reader::new(&name)).is_ok());
    }
}
