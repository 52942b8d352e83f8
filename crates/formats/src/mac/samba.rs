//! What Samba (and ksmbd) keep in extended attributes: DOS attributes and creation time in `user.DOSATTRIB`, streams in
//! `user.DosStream.<name>:$DATA`.

use wire::{Malformed, Reader, Writer};

use super::bits::DosAttributes;
use super::{plist, time};
use crate::Time;

const VALID_ATTRIBUTES: u32 = 0x01;
const VALID_CREATE_TIME: u32 = 0x10;
const VALID_ITIME: u32 = 0x40;
/// The version written: Samba since 4.11 and ksmbd read it; version 5 would shut out older ones.
const VERSION: u16 = 4;

/// The value of `user.DOSATTRIB`, an NDR structure, little-endian, in one of five versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DosAttrib {
    /// The attribute word.
    pub attributes: DosAttributes,
    /// When the file was made.
    pub created: Option<Time>,
    /// "Instance time", in ticks: what Samba 4.11 to 4.16 made file ids from. Kept, never used.
    pub itime: Option<u64>,
}

impl DosAttrib {
    /// Reads any version, and the bare hex string of old Samba.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let text = parse_hex(&bytes[..end]).map(|attributes| Self { attributes, ..Self::default() });
        let mut r = Reader::new(bytes);
        r.skip((end + 1).next_multiple_of(2).min(bytes.len()))?;
        if r.remaining() < 4 {
            return text.ok_or(Malformed("neither a version nor a hex number"));
        }
        let version = r.u16_le()?;
        if r.u16_le()? != version {
            return text.ok_or(Malformed("two versions"));
        }
        r.skip(r.position().next_multiple_of(4) - r.position())?;
        match version {
            1 => Self::version_1(&mut r),
            2 => Self::version_2(&mut r),
            3 => Self::version_3(&mut r),
            4 => Self::version_4(&mut r),
            5 => Self::version_5(&mut r),
            _ => text.ok_or(Malformed("a version nobody knows")),
        }
    }

    fn version_1(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let attributes = DosAttributes(r.u32_le()?);
        r.skip(4 + 8 + 8)?; // size of attributes, size, allocated
        Ok(Self { attributes, created: time::from_1601(r.u64_le()?), itime: None })
    }

    /// The epoch of this version's time is not known: Samba takes the attributes only.
    fn version_2(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(4)?; // flags
        Ok(Self { attributes: DosAttributes(r.u32_le()?), ..Self::default() })
    }

    fn version_3(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (valid, attributes) = (r.u32_le()?, DosAttributes(r.u32_le()?));
        r.skip(4 + 8 + 8)?; // size of attributes, size, allocated
        Ok(Self { attributes, created: created(valid, r.u64_le()?), itime: None })
    }

    fn version_4(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (valid, attributes, itime) = (r.u32_le()?, DosAttributes(r.u32_le()?), r.u64_le()?);
        let itime = (valid & VALID_ITIME != 0).then_some(itime);
        Ok(Self { attributes, created: created(valid, r.u64_le()?), itime })
    }

    fn version_5(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (valid, attributes) = (r.u32_le()?, DosAttributes(r.u32_le()?));
        Ok(Self { attributes, created: created(valid, r.u64_le()?), itime: None })
    }

    /// Writes version 4.
    pub fn build(&self) -> Vec<u8> {
        let mut valid = VALID_ATTRIBUTES;
        if self.created.is_some() {
            valid |= VALID_CREATE_TIME;
        }
        if self.itime.is_some() {
            valid |= VALID_ITIME;
        }
        let mut w = Writer::onto(Vec::with_capacity(32));
        w.zeros(2); // an empty hex string and its alignment
        w.u16_le(VERSION);
        w.u16_le(VERSION); // which arm of the union
        w.zeros(2);
        w.u32_le(valid);
        w.u32_le(self.attributes.0);
        w.u64_le(self.itime.unwrap_or_default());
        w.u64_le(time::to_1601(self.created));
        w.into_bytes()
    }
}

fn created(valid: u32, ticks: u64) -> Option<Time> {
    if valid & VALID_CREATE_TIME == 0 { None } else { time::from_1601(ticks) }
}

fn parse_hex(text: &[u8]) -> Option<DosAttributes> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().map(DosAttributes)
}

/// What all stream attributes begin with, unless the site configured another prefix.
pub const STREAM_PREFIX: &[u8] = b"user.DosStream.";
/// The end of the names of streams in stored attributes.
pub const STREAM_SUFFIX: &[u8] = b":$DATA";

/// The stream an attribute holds, or `None` when it is no stream. The type suffix may be missing
/// (`store_stream_type = no`).
pub fn stream_name(xattr: &[u8]) -> Option<&[u8]> {
    let name = xattr.strip_prefix(STREAM_PREFIX)?;
    Some(name.strip_suffix(STREAM_SUFFIX).unwrap_or(name)).filter(|name| !name.is_empty())
}

/// Bytes of the shortest value that Samba continues in further attributes: it fills the first.
const SHORTEST_CONTINUED: usize = 1024;
/// The most attributes of one stream (`max xattrs per stream`).
const MOST_ATTRIBUTES: u8 = 16;

/// The data of a stream attribute, and whether a byte follows them. Samba appends one: zero, or how
/// many further attributes continue the stream. ksmbd appends none, so a byte that Samba would not
/// have appended belongs to the data. A stream of ksmbd that ends in a zero byte cannot be told
/// from one of Samba.
pub fn stream_data(value: &[u8]) -> (&[u8], bool) {
    match value.split_last() {
        Some((0, data)) => (data, true),
        Some((1..MOST_ATTRIBUTES, data)) if data.len() >= SHORTEST_CONTINUED => (data, true),
        _ => (value, false),
    }
}

/// The attribute in which Samba keeps a stream of this stored name.
pub fn stream_attribute(name: &[u8]) -> Vec<u8> {
    [STREAM_PREFIX, name, STREAM_SUFFIX].concat()
}

/// Whether the plain attributes of a file have a zero byte at the end that does not belong to them,
/// as Netatalk (`ea = samba`) and Samba (`streams_xattr:prefix = user.`) append it. One of a known
/// form among these names and values tells; others cannot. Every value with bytes must end in a zero byte then.
pub fn are_terminated<'a>(attributes: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> bool {
    let mut told = false;
    for (name, value) in attributes {
        match value.split_last() {
            Some((0, _)) => told |= is_terminated(name, value) == Some(true),
            Some(_) => return false,
            None => {}
        }
    }
    told
}

/// An attribute of Macs that is a text: the name and number of an encoding.
const TEXT: &[u8] = b"com.apple.TextEncoding";
/// Another one: flags, time, program and identifier with semicolons. Macs of some years end it with a zero byte of its own.
const QUARANTINE: &[u8] = b"com.apple.quarantine";
/// An attribute of Macs that is a time: seconds and nanoseconds, 8 bytes each.
const LAST_USED: (&[u8], usize) = (b"com.apple.lastuseddate#PS", 16);

/// The same of one attribute: `None` if its form does not say where it ends, as that of a property list and of a text does.
pub fn is_terminated(name: &[u8], value: &[u8]) -> Option<bool> {
    let (last, data) = value.split_last()?;
    let has_zero = *last == 0;
    if name == TEXT {
        return Some(has_zero);
    }
    if name == QUARANTINE {
        return (!has_zero).then_some(false);
    }
    if name == LAST_USED.0 {
        return (has_zero || value.len() == LAST_USED.1).then_some(value.len() == LAST_USED.1 + 1);
    }
    match plist::is_list(value) {
        true => Some(false),
        false => (has_zero && plist::is_list(data)).then_some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKS: u64 = 133_444_736_000_000_000; // 1 700 000 000 UNIX seconds
    const TIME: Option<Time> = Some(Time { secs: 1_700_000_000, nanos: 0 });

    /// From the IDL: string, alignment, version, union switch, alignment, then the numbers given.
    fn by_hand(text: &[u8], version: u16, numbers: &[&[u8]]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend_from_slice(&numbers.concat());
        bytes
    }

    #[test]
    fn every_version_gives_attributes_and_all_but_the_second_the_time() {
        let (attributes, ticks) = (&0x23_u32.to_le_bytes()[..], &TICKS.to_le_bytes()[..]);
        let valid = &0x11_u32.to_le_bytes()[..];
        let sizes = &[0; 20][..];
        let expected = DosAttrib { attributes: DosAttributes(0x23), created: TIME, itime: None };
        for text in [&b"\0"[..], b"0x23\0"] {
            let parse =
                |version, numbers: &[&[u8]]| DosAttrib::parse(&by_hand(text, version, numbers)).unwrap();
            assert_eq!(parse(1, &[attributes, sizes, ticks, ticks]), expected);
            assert_eq!(parse(2, &[valid, attributes, sizes, ticks]).attributes, expected.attributes);
            assert_eq!(parse(3, &[valid, attributes, sizes, ticks, ticks]), expected);
            assert_eq!(parse(4, &[valid, attributes, &[7; 8], ticks]), expected);
            assert_eq!(parse(5, &[valid, attributes, ticks]), expected);
        }
    }

    /// A value Samba wrote on 2026-03-02, from a report on its mailing list.
    #[test]
    fn a_real_value_of_version_five() {
        let bytes = b"\0\0\x05\0\x05\0\0\0\x11\0\0\0\x20\x04\0\0\x99\x9C\x19\xAE\x54\xAA\xDC\x01";
        let created = Some(Time { secs: 1_772_463_358, nanos: 916_111_300 });
        assert_eq!(
            DosAttrib::parse(bytes),
            Ok(DosAttrib { attributes: DosAttributes(0x420), created, itime: None })
        );
    }

    #[test]
    fn old_samba_wrote_the_hex_number_only() {
        for text in [&b"0x22"[..], b"0x22\0", b"0x22\0\0"] {
            assert_eq!(DosAttrib::parse(text).unwrap().attributes, DosAttributes(0x22));
        }
        for text in [&b""[..], b"\0", b"22", b"0x+2", b"0x", b"\0\0\x09\0\x09\0\0\0", b"\0\0\x04\0\x03\0\0\0"]
        {
            assert!(DosAttrib::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_time_that_is_not_valid_is_none() {
        let numbers: [&[u8]; 3] = [&1_u32.to_le_bytes(), &0x20_u32.to_le_bytes(), &TICKS.to_le_bytes()];
        assert_eq!(DosAttrib::parse(&by_hand(b"\0", 5, &numbers)).unwrap().created, None);
    }

    #[test]
    fn what_is_written_is_version_four_in_32_bytes() {
        let value = DosAttrib { attributes: DosAttributes(0x21), created: TIME, itime: Some(5) };
        let bytes = value.build();
        let numbers: [&[u8]; 4] =
            [&0x51_u32.to_le_bytes(), &0x21_u32.to_le_bytes(), &5_u64.to_le_bytes(), &TICKS.to_le_bytes()];
        assert_eq!(bytes, by_hand(b"\0", 4, &numbers));
        assert_eq!((bytes.len(), DosAttrib::parse(&bytes)), (32, Ok(value)));
    }

    #[test]
    fn a_stream_has_its_name_in_that_of_the_attribute() {
        assert_eq!(stream_name(b"user.DosStream.a:b:$DATA"), Some(&b"a:b"[..]));
        assert_eq!(stream_name(b"user.DosStream.plain"), Some(&b"plain"[..]));
        assert_eq!((stream_name(b"user.DosStream.:$DATA"), stream_name(b"user.other")), (None, None));
    }

    #[test]
    fn sambas_values_end_in_a_byte_of_its_own_and_those_of_ksmbd_do_not() {
        assert_eq!(stream_data(b"data\0"), (&b"data"[..], true));
        assert_eq!(stream_data(b"data"), (&b"data"[..], false));
        assert_eq!(stream_data(b"a line\n"), (&b"a line\n"[..], false));
        assert_eq!(stream_data(b"\0"), (&b""[..], true));
        assert_eq!(stream_data(b""), (&b""[..], false));
        let continued = [&[b'x'; 60_000][..], &[2]].concat();
        assert_eq!(stream_data(&continued), (&continued[..60_000], true));
    }

    #[test]
    fn a_property_list_tells_whether_values_are_terminated() {
        let list = plist::write_text("text");
        let longer = [&list[..], b"\0"].concat();
        let told = |values: &[&[u8]]| are_terminated(values.iter().map(|value| (&b"x"[..], *value)));
        assert!(told(&[&longer]) && told(&[b"0083;Safari\0", &longer, b""]));
        assert!(!told(&[&list]) && !told(&[b"0083;Safari\0"]) && !told(&[&longer, b"plain"]) && !told(&[]));
    }

    #[test]
    fn texts_and_times_of_macs_tell_whether_values_are_terminated() {
        let quarantine = b"com.apple.quarantine";
        // Mac OS X 10.6 wrote such a value itself.
        assert_eq!(is_terminated(quarantine, b"0083;5c1b;Safari;\0"), None);
        assert_eq!(is_terminated(quarantine, b"0083;5c1b;Safari;"), Some(false));
        assert_eq!(is_terminated(b"com.apple.TextEncoding", b"utf-8;134217984\0"), Some(true));
        let used = b"com.apple.lastuseddate#PS";
        assert_eq!(is_terminated(used, &[0; 16]), Some(false));
        assert_eq!(is_terminated(used, &[0; 17]), Some(true));
        assert_eq!(is_terminated(b"other", b"0083;Safari\0"), None);
    }
}
