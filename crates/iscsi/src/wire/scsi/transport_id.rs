//! Initiator ports in parameter lists: TransportIDs of iSCSI, SPC-4 7.6.4.6.

use wire::{Malformed, Reader, Writer};

/// The PROTOCOL IDENTIFIER of iSCSI, SPC-4 7.6.1.
const ISCSI: u8 = 5;
/// Longest iSCSI name in bytes, RFC 7143 4.2.7.1.
const NAME_MOST: usize = 223;
/// The least ADDITIONAL LENGTH.
const ADDITIONAL_LEAST: usize = 20;
/// The separator between the name and the session's number.
const SEPARATOR: &str = ",i,0x";

/// An initiator port or, without a session's number, all ports of an initiator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportId {
    /// The iSCSI name as it was sent.
    pub name: String,
    /// The initiator's number of its session: format code 01b.
    pub isid: Option<[u8; 6]>,
}

impl TransportId {
    /// Reads a TransportID of iSCSI, in either format.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = r.u8()?;
        if kind & 0xf != ISCSI {
            return Err(Malformed("a TransportID of another protocol"));
        }
        r.skip(1)?;
        let length = usize::from(r.u16_be()?);
        if length < ADDITIONAL_LEAST || !length.is_multiple_of(4) {
            return Err(Malformed("a TransportID of a strange length"));
        }
        let text = until_null(r.take(length)?)?;
        let (name, isid) = match kind >> 6 {
            0 => (text, None),
            1 => {
                let (name, isid) = text.split_once(SEPARATOR).ok_or(Malformed("no ISID in a TransportID"))?;
                (name, Some(from_hex(isid)?))
            }
            _ => return Err(Malformed("a TransportID of an unknown format")),
        };
        if name.is_empty() || name.len() > NAME_MOST {
            return Err(Malformed("an iSCSI name that is too short or too long"));
        }
        Ok(Self { name: name.to_owned(), isid })
    }

    /// Reads all TransportIDs.
    pub fn decode_all(bytes: &[u8]) -> Result<Vec<Self>, Malformed> {
        let mut r = Reader::new(bytes);
        let mut all = Vec::new();
        while r.remaining() > 0 {
            all.push(Self::decode(&mut r)?);
        }
        Ok(all)
    }

    /// Writes the format that has all known parts.
    pub fn encode(&self, w: &mut Writer) {
        let mut text = self.name.clone();
        if let Some(isid) = self.isid {
            text.push_str(SEPARATOR);
            isid.iter().for_each(|byte| text.push_str(&format!("{byte:02x}")));
        }
        let length = (text.len() + 1).next_multiple_of(4).max(ADDITIONAL_LEAST);
        w.u8(ISCSI | if self.isid.is_some() { 0x40 } else { 0 });
        w.u8(0);
        w.u16_be(length as u16); // 244 at most
        w.put(text.as_bytes());
        w.zeros(length - text.len());
    }
}

/// The text before the first null byte; without one, all of it.
fn until_null(bytes: &[u8]) -> Result<&str, Malformed> {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    str::from_utf8(text).map_err(|_| Malformed("an iSCSI name that is not UTF-8"))
}

/// Twelve digits, or fewer, to which zeros are prepended.
fn from_hex(digits: &str) -> Result<[u8; 6], Malformed> {
    if digits.is_empty() || digits.len() > 12 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(Malformed("an ISID that is not hexadecimal"));
    }
    let number = u64::from_str_radix(digits, 16).map_err(|_| Malformed("an ISID that is not hexadecimal"))?;
    let [_, _, isid @ ..] = number.to_be_bytes();
    Ok(isid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> TransportId {
        TransportId { name: "iqn.2026-11.test:ada".into(), isid: Some([0x40, 0, 1, 0x37, 0, 0x0a]) }
    }

    #[test]
    fn a_port_is_encoded_as_in_spc_4_table_506() {
        let mut w = Writer::new();
        ada().encode(&mut w);
        let mut expected = vec![0x45, 0, 0, 40];
        expected.extend(b"iqn.2026-11.test:ada,i,0x40000137000a\0\0\0");
        assert_eq!(w.into_bytes(), expected);
    }

    #[test]
    fn a_device_is_encoded_as_in_spc_4_table_505() {
        let mut w = Writer::new();
        TransportId { name: "iqn.2026-11.a:b".into(), isid: None }.encode(&mut w);
        let mut expected = vec![0x05, 0, 0, 20];
        expected.extend(b"iqn.2026-11.a:b\0\0\0\0\0");
        assert_eq!(w.into_bytes(), expected);
    }

    #[test]
    fn several_are_read_one_after_another() {
        let device = TransportId { name: "iqn.2026-11.test:eve".into(), isid: None };
        let mut w = Writer::new();
        ada().encode(&mut w);
        device.encode(&mut w);
        assert_eq!(TransportId::decode_all(w.as_bytes()), Ok(vec![ada(), device]));
        assert!(TransportId::decode_all(&w.as_bytes()[..w.len() - 1]).is_err());
    }

    #[test]
    fn what_stands_behind_the_null_does_not_count_and_digits_may_be_few() {
        let mut bytes = vec![0x45, 0, 0, 24];
        bytes.extend(b"iqn.2026-11.a:b,i,0xAB\0x");
        let port = TransportId { name: "iqn.2026-11.a:b".into(), isid: Some([0, 0, 0, 0, 0, 0xab]) };
        assert_eq!(TransportId::decode_all(&bytes), Ok(vec![port]));
    }

    #[test]
    fn what_is_no_iscsi_port_is_refused() {
        let with = |head: [u8; 4], text: &[u8]| {
            let mut bytes = head.to_vec();
            bytes.extend(text);
            TransportId::decode_all(&bytes).is_err()
        };
        assert!(with([0x00, 0, 0, 20], &[0; 20])); // Fibre Channel
        assert!(with([0x85, 0, 0, 20], b"iqn.2026-11.a:b\0\0\0\0\0")); // format code 10b
        assert!(with([0x45, 0, 0, 20], b"iqn.2026-11.a:b\0\0\0\0\0")); // no ISID
        assert!(with([0x45, 0, 0, 24], b"iqn.2026-11.a:b,i,0x+1\0\0"));
        assert!(with([0x05, 0, 0, 20], &[0; 20]));
        assert!(with([0x05, 0, 0, 16], &[b'a'; 16]));
        assert!(with([0x05, 0, 0, 21], &[b'a'; 21]));
        assert!(with([0x05, 0, 0, 224], &[b'a'; 224]));
    }
}
