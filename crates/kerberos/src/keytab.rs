//! Keytabs: which principals and realms they have keys of, and those of the server's own account. MIT Kerberos's file format, version 2 (0x0502).

use wire::{Malformed, Reader, Writer};

/// The format's version, big-endian.
const VERSION: u16 = 0x0502;
/// The most entries that are read.
const MOST_ENTRIES: usize = 10_000;
/// The most components of a principal's name.
const MOST_COMPONENTS: u16 = 8;

/// A key's owner. The key itself is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The components of its name: the service and the host.
    pub name: Vec<String>,
    /// Its realm.
    pub realm: String,
    /// The version of the key.
    pub version: u32,
    /// Its encryption type, RFC 3961 8: 17 and 18 are AES, 23 is RC4.
    pub kind: u16,
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.name.join("/"), self.realm)
    }
}

/// The entries of a keytab, in their order.
///
/// # Errors
/// The bytes are no keytab of version 2.
pub fn entries(file: &[u8]) -> Result<Vec<Entry>, Malformed> {
    let mut r = Reader::new(file);
    if r.u16_be()? != VERSION {
        return Err(Malformed("another version than 0x0502"));
    }
    let mut entries = Vec::new();
    while r.remaining() > 0 && entries.len() < MOST_ENTRIES {
        // A negative length is that of a hole, where an entry was removed.
        let length = r.i32_be()?;
        let bytes = r.take(length.unsigned_abs() as usize)?;
        if length > 0 {
            entries.push(entry(bytes)?);
        }
    }
    Ok(entries)
}

/// A key for a new keytab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The components of its owner's name.
    pub name: Vec<String>,
    /// The owner's realm.
    pub realm: String,
    /// The version of the key.
    pub version: u32,
    /// Its encryption type, RFC 3961 8.
    pub kind: u16,
    /// The key itself.
    pub key: Vec<u8>,
}

/// KRB5_NT_PRINCIPAL, RFC 4120 6.2.
const PRINCIPAL: u32 = 1;

/// A keytab with these keys, written at `now`, in seconds since 1970.
#[must_use]
pub fn keytab_of(keys: &[Key], now: u32) -> Vec<u8> {
    let mut file = Writer::new();
    file.u16_be(VERSION);
    for Key { name, realm, version, kind, key } in keys {
        let mut w = Writer::new();
        w.u16_be(name.len() as u16);
        for text in [realm].into_iter().chain(name) {
            w.u16_be(text.len() as u16);
            w.put(text.as_bytes());
        }
        w.u32_be(PRINCIPAL);
        w.u32_be(now);
        w.u8(*version as u8);
        w.u16_be(*kind);
        w.u16_be(key.len() as u16);
        w.put(key);
        w.u32_be(*version);
        let entry = w.into_bytes();
        file.u32_be(entry.len() as u32);
        file.put(&entry);
    }
    file.into_bytes()
}

fn entry(bytes: &[u8]) -> Result<Entry, Malformed> {
    let mut r = Reader::new(bytes);
    let components = r.u16_be()?;
    if components > MOST_COMPONENTS {
        return Err(Malformed("a principal of too many components"));
    }
    let realm = text(&mut r)?;
    let name = (0..components).map(|_| text(&mut r)).collect::<Result<_, _>>()?;
    r.skip(8)?; // the type of the name, and the time when the key was written
    let short = r.u8()?;
    let kind = r.u16_be()?;
    let length = r.u16_be()?;
    r.skip(usize::from(length))?;
    let version = if r.remaining() >= 4 { r.u32_be()? } else { 0 };
    Ok(Entry { name, realm, version: if version == 0 { u32::from(short) } else { version }, kind })
}

fn text(r: &mut Reader<'_>) -> Result<String, Malformed> {
    let length = r.u16_be()?;
    Ok(String::from_utf8_lossy(r.take(usize::from(length))?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `ktutil` of MIT Kerberos 1.20 writes it: cifs/fs.lab.test@LAB.TEST, key version 2, aes256; then a hole.
    #[test]
    fn principals_and_versions_are_read_and_holes_are_skipped() {
        let name = b"\0\x02\0\x08LAB.TEST\0\x04cifs\0\x0bfs.lab.test";
        let rest = [&b"\0\0\0\x01\x65\0\0\0\x02\0\x12\0\x20"[..], &[7; 32], b"\0\0\0\x02"].concat();
        let length = (name.len() + rest.len()) as u32;
        let hole = [&(-6_i32).to_be_bytes()[..], &[0; 6]].concat();
        let file = [&b"\x05\x02"[..], &length.to_be_bytes(), name, &rest, &hole].concat();
        let read = entries(&file).unwrap();
        assert_eq!(read.iter().map(Entry::to_string).collect::<Vec<_>>(), ["cifs/fs.lab.test@LAB.TEST"]);
        assert_eq!((read[0].version, read[0].kind), (2, 18));
        let key = Key {
            name: vec!["cifs".into(), "fs.lab.test".into()],
            realm: "LAB.TEST".into(),
            version: 2,
            kind: 18,
            key: vec![7; 32],
        };
        assert_eq!(
            keytab_of(&[key], 0x6500_0000),
            [&file[..file.len() - hole.len()]].concat(),
            "as ktutil writes it"
        );
        for end in 3..file.len() - 1 {
            _ = entries(&file[..end]); // no panic
        }
        assert!(entries(b"\x05\x01").is_err() && entries(b"").is_err());
    }
}
