//! The stored persistent reservations of a logical unit, which survive a restart of the server.
//!
//! ```text
//! 0   4  "F4PR"
//! 4   2  version: 1; 2 with PRGENERATION; 3 with PRGENERATION and target ports
//! 6   1  whether they are to be kept (APTPL): 1 or 0
//! 7   1  type of the reservation, SPC-4 6.15.3.4; 0: there is none
//! 8   4  which of the registrations holds it; FFFFFFFFh: none or all
//! 12  4  how many registrations follow
//!     4  PRGENERATION, in version 2 (not 0) and 3
//!        each:  8  key
//!               1  for all target ports (ALL_TG_PT): 1 or 0
//!               2  the number of the target port, in version 3 only: not 0, and not 1 in all
//!               6  the initiator's number of its session
//!               1  bytes of the initiator's name
//!               n  its name, in lower case
//!     4  CRC32C of all that is before
//! ```
//!
//! Numbers are big-endian except for the checksum, which is stored as iSCSI sends it. An unknown
//! version is treated as damage, because its reservations are unknown.

use wire::{Malformed, Reader, Writer};

use super::digest::crc32c;
use super::scsi::ReservationType;

/// The most registrations of one logical unit.
pub const REGISTRATIONS_MOST: usize = 1024;

const MAGIC: &[u8; 4] = b"F4PR";
const VERSION: u16 = 1;
const WITH_GENERATION: u16 = 2;
const WITH_PORTS: u16 = 3;
/// The target port of registrations in versions 1 and 2.
const FIRST_PORT: u16 = 1;
const NOBODY: u32 = u32::MAX;

/// All registrations and the reservation of one logical unit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReservationRecord {
    /// APTPL of the last registration.
    pub persist: bool,
    /// PRGENERATION, if the next server of a cluster is to continue it; else 0.
    pub generation: u32,
    /// The reservation.
    pub reservation: Option<HeldReservation>,
    /// The registered I_T nexuses.
    pub registrations: Vec<Registration>,
}

/// A reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldReservation {
    /// Its type.
    pub kind: ReservationType,
    /// The index of the registration that holds it; `None`: all registered ports hold it.
    pub holder: Option<u32>,
}

/// A registered I_T nexus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Its key.
    pub key: u64,
    /// It was registered at all ports of the target.
    pub all_target_ports: bool,
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub port: u16,
    /// The initiator's number of its session.
    pub isid: [u8; 6],
    /// The initiator's name.
    pub name: String,
}

impl ReservationRecord {
    /// Decodes the stored bytes, unless they are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (body, checksum) = bytes.split_last_chunk().ok_or(Malformed("too short"))?;
        if crc32c(body) != *checksum {
            return Err(Malformed("the checksum is another"));
        }
        let mut r = Reader::new(body);
        let (magic, version) = (r.array()?, r.u16_be()?);
        if magic != *MAGIC || !matches!(version, VERSION | WITH_GENERATION | WITH_PORTS) {
            return Err(Malformed("another format or version"));
        }
        let persist = flag(r.u8()?)?;
        let (kind, holder) = (ReservationType(r.u8()?), r.u32_be()?);
        let count = r.u32_be()?;
        if count as usize > REGISTRATIONS_MOST {
            return Err(Malformed("too many registrations"));
        }
        let generation = if version == VERSION { 0 } else { r.u32_be()? };
        if version == WITH_GENERATION && generation == 0 {
            return Err(Malformed("version 2 without a generation"));
        }
        let registrations =
            (0..count).map(|_| Registration::decode(version, &mut r)).collect::<Result<Vec<_>, _>>()?;
        r.finish()?;
        if version == WITH_PORTS && !registrations.iter().any(Registration::is_elsewhere) {
            return Err(Malformed("version 3 with the first port only"));
        }
        Ok(Self { persist, generation, reservation: held(kind, holder, count)?, registrations })
    }

    /// Encodes the bytes to store.
    pub fn encode(&self, w: &mut Writer) {
        w.put(MAGIC);
        let version = self.version();
        w.u16_be(version);
        w.u8(u8::from(self.persist));
        w.u8(self.reservation.map_or(0, |held| held.kind.0));
        w.u32_be(self.reservation.and_then(|held| held.holder).unwrap_or(NOBODY));
        w.u32_be(self.registrations.len() as u32); // REGISTRATIONS_MOST at most
        if version != VERSION {
            w.u32_be(self.generation);
        }
        self.registrations.iter().for_each(|registration| registration.encode(version, w));
        w.put(&crc32c(w.as_bytes()));
    }

    /// The lowest version that can have it.
    fn version(&self) -> u16 {
        match self.generation {
            _ if self.registrations.iter().any(Registration::is_elsewhere) => WITH_PORTS,
            0 => VERSION,
            _ => WITH_GENERATION,
        }
    }
}

impl Registration {
    fn decode(version: u16, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (key, all_target_ports) = (r.u64_be()?, flag(r.u8()?)?);
        let port = if version == WITH_PORTS { r.u16_be()? } else { FIRST_PORT };
        if port == 0 {
            return Err(Malformed("no target port"));
        }
        let isid = r.array()?;
        let length = usize::from(r.u8()?);
        let name = str::from_utf8(r.take(length)?).map_err(|_| Malformed("a name that is not UTF-8"))?;
        Ok(Self { key, all_target_ports, port, isid, name: name.to_owned() })
    }

    fn is_elsewhere(&self) -> bool {
        self.port != FIRST_PORT
    }

    fn encode(&self, version: u16, w: &mut Writer) {
        w.u64_be(self.key);
        w.u8(u8::from(self.all_target_ports));
        if version == WITH_PORTS {
            w.u16_be(self.port);
        }
        w.put(&self.isid);
        w.u8(self.name.len() as u8); // iSCSI names have 223 bytes at most
        w.put(self.name.as_bytes());
    }
}

fn flag(byte: u8) -> Result<bool, Malformed> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed("neither yes nor no")),
    }
}

/// A valid reservation: held by all, or by a registered port.
fn held(kind: ReservationType, holder: u32, count: u32) -> Result<Option<HeldReservation>, Malformed> {
    let all = kind.is_all_registrants() && holder == NOBODY && count > 0;
    let one = kind.is_known() && !kind.is_all_registrants() && holder < count;
    match kind.0 {
        0 if holder == NOBODY => Ok(None),
        _ if all => Ok(Some(HeldReservation { kind, holder: None })),
        _ if one => Ok(Some(HeldReservation { kind, holder: Some(holder) })),
        _ => Err(Malformed("a reservation that nobody can hold")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> ReservationRecord {
        let name = "iqn.2026-11.test:ada".to_owned();
        ReservationRecord {
            persist: true,
            generation: 0,
            reservation: Some(HeldReservation { kind: ReservationType(5), holder: Some(0) }),
            registrations: vec![Registration {
                key: 7,
                all_target_ports: false,
                port: 1,
                isid: [1, 2, 3, 4, 5, 6],
                name,
            }],
        }
    }

    fn bytes(kept: &ReservationRecord) -> Vec<u8> {
        let mut w = Writer::new();
        kept.encode(&mut w);
        w.into_bytes()
    }

    /// Appends the right checksum to changed bytes.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let end = bytes.len() - 4;
        let checksum = crc32c(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum);
        bytes
    }

    #[test]
    fn the_layout_is_the_one_above() {
        let mut expected = b"F4PR\0\x01\x01\x05\0\0\0\0\0\0\0\x01".to_vec();
        expected.extend([0, 0, 0, 0, 0, 0, 0, 7, 0, 1, 2, 3, 4, 5, 6, 20]);
        expected.extend(b"iqn.2026-11.test:ada");
        assert_eq!(bytes(&kept())[..expected.len()], expected);
        assert_eq!(bytes(&kept()).len(), expected.len() + 4);
        assert_eq!(ReservationRecord::decode(&bytes(&kept())), Ok(kept()));
        assert_eq!(
            ReservationRecord::decode(&bytes(&ReservationRecord::default())),
            Ok(ReservationRecord::default())
        );
    }

    #[test]
    fn a_generation_makes_it_version_2() {
        let with = ReservationRecord { generation: 0x0102_0304, ..kept() };
        let (before, after) = (bytes(&kept()), bytes(&with));
        assert_eq!((after[5], &after[16..20]), (2, &[1, 2, 3, 4][..]));
        assert_eq!(after[20..after.len() - 4], before[16..before.len() - 4]);
        assert_eq!(ReservationRecord::decode(&after), Ok(with));
        let mut none = after;
        none[16..20].fill(0);
        assert!(ReservationRecord::decode(&sealed(none)).is_err());
    }

    #[test]
    fn another_port_than_the_first_makes_it_version_3() {
        let mut with = kept();
        with.registrations.push(Registration { port: 0x0203, ..with.registrations[0].clone() });
        let before = bytes(&kept());
        let after = bytes(&with);
        assert_eq!((after[5], &after[16..20]), (3, &[0; 4][..]), "PRGENERATION is there, too");
        assert_eq!(after[20..31], [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 1]);
        assert_eq!(after[31..58], before[25..before.len() - 4]);
        assert_eq!(after[66..69], [0, 2, 3]);
        assert_eq!(ReservationRecord::decode(&after), Ok(with));
        for port in [0, 1] {
            let mut other = after.clone();
            other[67..69].copy_from_slice(&[0, port]);
            assert!(ReservationRecord::decode(&sealed(other)).is_err(), "port {port}");
        }
    }

    #[test]
    fn no_byte_can_change_or_be_missing_unseen() {
        let good = bytes(&kept());
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(ReservationRecord::decode(&bad).is_err(), "byte {at}");
            assert!(ReservationRecord::decode(&good[..at]).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn what_makes_no_sense_is_damaged_even_with_a_right_checksum() {
        for (at, value) in [(5, 2), (6, 2), (7, 0), (7, 2), (7, 7), (11, 1), (12, 0xff), (24, 3), (36, 0xff)]
        {
            let mut bad = bytes(&kept());
            bad[at] = value;
            assert!(ReservationRecord::decode(&sealed(bad)).is_err(), "byte {at}");
        }
    }
}
