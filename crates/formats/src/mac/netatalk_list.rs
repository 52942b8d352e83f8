//! The lists of attributes that Netatalk keeps with `ea = ad`: `.AppleDouble/name::EA`, big-endian. The values are in files
//! of their own, `name::EA::ATTRIBUTE`.

use wire::{Malformed, Reader};

/// How the name of a list ends, behind the name of the file.
pub const SUFFIX: &[u8] = b"::EA";
/// What is between the name of a list and that of an attribute.
const SEPARATOR: &[u8] = b"::";
const MAGIC: [u8; 4] = *b"adEA";
const VERSION: u16 = 1;
/// The longest list that is read.
pub const MAX_LEN: usize = 1 << 20;

/// An attribute in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetatalkAttribute {
    /// Its name, as Macs see it.
    pub name: Vec<u8>,
    /// The length of its value.
    pub len: u32,
}

/// Reads a list. Bytes after the last name do not count: Netatalk leaves them.
pub fn parse(bytes: &[u8]) -> Result<Vec<NetatalkAttribute>, Malformed> {
    let mut r = Reader::new(bytes);
    if r.array()? != MAGIC || r.u16_be()? != VERSION {
        return Err(Malformed("signature or version"));
    }
    let count = r.u16_be()?;
    (0..count).map(|_| listed(&mut r)).collect()
}

/// Writes a list. `None` if it has too many attributes.
pub fn build(listed: &[NetatalkAttribute]) -> Option<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&u16::try_from(listed.len()).ok()?.to_be_bytes());
    for NetatalkAttribute { name, len } in listed {
        bytes.extend_from_slice(&len.to_be_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
    }
    (bytes.len() <= MAX_LEN).then_some(bytes)
}

fn listed(r: &mut Reader<'_>) -> Result<NetatalkAttribute, Malformed> {
    let len = r.u32_be()?;
    let mut name = Vec::new();
    loop {
        match r.u8()? {
            0 => return Ok(NetatalkAttribute { name, len }),
            byte => name.push(byte),
        }
    }
}

/// Characters of the names of attributes, as Netatalk 3 and 4 escape them in names of files.
const ESCAPED: &[(u8, &[u8])] = &[(b'/', b":2f"), (b':', b":3a")];

/// The name of the file with an attribute's value, as Netatalk 3 and 4 make it.
pub fn value_file(list: &[u8], attribute: &[u8]) -> Vec<u8> {
    escaped(list, attribute, ESCAPED)
}

fn escaped(list: &[u8], attribute: &[u8], what: &[(u8, &[u8])]) -> Vec<u8> {
    let mut name = [list, SEPARATOR].concat();
    for (at, byte) in attribute.iter().enumerate() {
        match what.iter().find(|(known, _)| known == byte && (*byte != b'.' || at == 0)) {
            Some((_, escape)) => name.extend_from_slice(escape),
            None => name.push(*byte),
        }
    }
    name
}

/// The names that the file with an attribute's value may have: Netatalk escapes characters that the host or classic
/// Macs do not allow.
pub fn value_files(list: &[u8], attribute: &[u8]) -> Vec<Vec<u8>> {
    let ways: [&[(u8, &[u8])]; 4] = [
        &[(b'/', b":2f")],
        &[(b'/', b":2f"), (b'.', b":2e")],
        ESCAPED,
        &[(b'/', b":2f"), (b':', b":3a"), (b'.', b":2e")],
    ];
    let mut names: Vec<Vec<u8>> = Vec::new();
    for name in ways.map(|way| escaped(list, attribute, way)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Netatalk's include/atalk/ea.h: magic, version, number; size and name of each attribute.
    #[test]
    fn a_list_has_sizes_and_names() {
        let bytes = b"adEA\0\x01\0\x02\0\0\0\x05com.apple.quarantine\0\0\0\x01\0x\0rest";
        let expected = [(&b"com.apple.quarantine"[..], 5), (b"x", 256)];
        let expected = expected.map(|(name, len)| NetatalkAttribute { name: name.to_vec(), len });
        assert_eq!(parse(bytes), Ok(expected.to_vec()));
        assert_eq!(build(&expected), Some(bytes[..bytes.len() - 4].to_vec()));
        for damaged in [&bytes[..7], &bytes[..30], b"adEA\0\x02\0\0", b"adEB\0\x01\0\0", b""] {
            assert!(parse(damaged).is_err(), "{}", damaged.escape_ascii());
        }
        assert_eq!(parse(b"adEA\0\x01\0\0"), Ok(vec![]));
    }

    #[test]
    fn values_are_beside_the_list() {
        assert_eq!(value_files(b"f::EA", b"x"), [b"f::EA::x"]);
        let names = value_files(b"f::EA", b"a:b/c");
        assert_eq!(names, [b"f::EA::a:b:2fc".to_vec(), b"f::EA::a:3ab:2fc".to_vec()]);
        assert_eq!(value_file(b"f::EA", b"a:b/c"), b"f::EA::a:3ab:2fc");
    }
}
