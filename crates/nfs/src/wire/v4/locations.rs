//! Where a file system is, RFC 7530 8.

use super::types::*;
use super::*;

/// fs_locations4, kept as it is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FsLocations<'a>(&'a [u8]);

/// fs_location4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsLocation {
    /// Names or addresses of servers, which all have the same path.
    pub servers: Vec<String>,
    /// pathname4: the names on the way to the file system there.
    pub path: Vec<String>,
}

impl<'a> FsLocations<'a> {
    /// Those that [`write()`] has made.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The path of the file system on this server, and where else it is.
    pub fn read(&self) -> Result<(Vec<Vec<u8>>, Vec<FsLocation>), Malformed> {
        let r = &mut Reader::new(self.0);
        let root = strings(r)?;
        let text = |name: Vec<u8>| String::from_utf8_lossy(&name).into_owned();
        let mut locations = Vec::new();
        for _ in 0..r.u32_be()? {
            let servers = strings(r)?.into_iter().map(text).collect();
            locations.push(FsLocation { servers, path: strings(r)?.into_iter().map(text).collect() });
        }
        Ok((root, locations))
    }
}

/// A counted array of strings. Each has at least its length, so the bytes limit their number.
fn strings(r: &mut Reader<'_>) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut strings = Vec::new();
    for _ in 0..r.u32_be()? {
        strings.push(PathName::decode(r)?.to_vec());
    }
    Ok(strings)
}

/// utf8str_cs and utf8str_cis of a path or a server.
type PathName<'a> = Opaque<'a, VALUES_LIMIT>;

/// Writes fs_locations4.
pub fn write(root: &[Vec<u8>], locations: &[FsLocation], w: &mut Writer) {
    let names = |names: &[String], w: &mut Writer| {
        w.u32_be(names.len() as u32); // some tens at most
        names.iter().for_each(|name| PathName::new(name.as_bytes()).encode(w));
    };
    w.u32_be(root.len() as u32); // a path of the host
    root.iter().for_each(|name| PathName::new(name).encode(w));
    w.u32_be(locations.len() as u32); // some tens at most
    for location in locations {
        names(&location.servers, w);
        names(&location.path, w);
    }
}

impl<'a> Decode<'a> for FsLocations<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut ahead = r.clone();
        strings(&mut ahead)?;
        for _ in 0..ahead.u32_be()? {
            strings(&mut ahead)?;
            strings(&mut ahead)?;
        }
        Ok(Self(r.take(r.remaining() - ahead.remaining())?))
    }
}

impl Encode for FsLocations<'_> {
    fn encode(&self, w: &mut Writer) {
        w.put(self.0);
    }
}
