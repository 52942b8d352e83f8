//! Parses the name in a CREATE, MS-FSCC 2.1.5.

use vfs::names;

use crate::server::config::{Share, ShareKind};
use crate::server::files::posix_names;
use crate::wire::Status;

/// The longest path, in UTF-16 units: what the 16-bit length on the wire can say.
const MAX_UNITS: usize = 32_767;

/// `"*<>?|`, and what stands for them in names of files.
const ALSO_IN_STREAMS: [u16; 6] = [0x22, 0x2A, 0x3C, 0x3E, 0x3F, 0x7C];
const PRIVATE: [u16; 6] = [0xF020, 0xF021, 0xF023, 0xF024, 0xF025, 0xF027];

/// A path with the stream at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::server) struct Path {
    /// Stored names, from the share's folder down.
    pub(in crate::server) components: Vec<Vec<u8>>,
    /// The stream, `None` the data of the file itself.
    pub(in crate::server) stream: Option<String>,
    /// The client asked for the folder itself (`::$INDEX_ALLOCATION`).
    pub(in crate::server) folder: bool,
    /// The client asked for the data of a file (`::$DATA`).
    pub(in crate::server) data: bool,
}

impl Path {
    /// Parses a path of a share from the wire. Names of Macs, which decompose what the user typed, are
    /// composed. Names of other clients stay as they are.
    pub(in crate::server) fn parse_from(is_mac: bool, share: &Share, units: &[u16]) -> Result<Self, Status> {
        let mut path = Self::parse(&share.options.characters.read(units))?;
        if is_mac {
            let compose = |name: &mut Vec<u8>| *name = names::to_nfc(name).into_owned();
            path.components.iter_mut().for_each(compose);
            path.stream = path.stream.map(composed);
        }
        path.store(share);
        Ok(path)
    }

    /// Parses a path of an open with the POSIX extensions: its names have no streams.
    pub(in crate::server) fn parse_posix(share: &Share, units: &[u16]) -> Result<Self, Status> {
        let components = parts(units)?.map(|part| match part {
            part if is_dots(part) || part.is_empty() => component(part),
            part => posix_names::stored_name(part),
        });
        let mut path = Self { components: components.collect::<Result<_, _>>()?, ..Self::default() };
        path.store(share);
        Ok(path)
    }

    /// Names as the volume stores them.
    fn store(&mut self, share: &Share) {
        let ShareKind::Disk { volume, .. } = &share.kind else { return };
        self.components.iter_mut().for_each(|name| *name = volume.stored_form(std::mem::take(name)));
    }

    fn parse(units: &[u16]) -> Result<Self, Status> {
        let mut path = Self::default();
        let mut parts = parts(units)?.peekable();
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            let name = if last { path.take_stream(part)? } else { part };
            if name.is_empty() && last && path.components.is_empty() && (path.stream.is_some() || path.folder)
            {
                break; // a stream of the share's own folder
            }
            path.components.push(component(name)?);
        }
        Ok(path)
    }

    /// Splits `name:stream:$TYPE`. Keeps the stream and returns the name.
    fn take_stream<'a>(&mut self, part: &'a [u16]) -> Result<&'a [u16], Status> {
        let mut pieces = part.split(|unit| *unit == u16::from(b':'));
        let name = pieces.next().unwrap_or_default();
        let Some(stream) = pieces.next() else { return Ok(name) };
        let kind = pieces.next().map(String::from_utf16_lossy);
        if pieces.next().is_some() {
            return Err(Status::OBJECT_NAME_INVALID);
        }
        match kind.as_deref() {
            Some(kind) if kind.eq_ignore_ascii_case("$INDEX_ALLOCATION") => {
                let stream = String::from_utf16_lossy(stream);
                if !stream.is_empty() && !stream.eq_ignore_ascii_case("$I30") {
                    return Err(Status::OBJECT_NAME_INVALID);
                }
                self.folder = true;
            }
            Some(kind) if !kind.eq_ignore_ascii_case("$DATA") => return Err(Status::OBJECT_NAME_INVALID),
            None if stream.is_empty() => return Err(Status::OBJECT_NAME_INVALID),
            _ if stream.is_empty() => self.data = true,
            _ => self.stream = Some(plain_stream_name(stream)?),
        }
        Ok(name)
    }
}

fn composed(stream: String) -> String {
    String::from_utf8(names::to_nfc(stream.as_bytes()).into_owned()).unwrap_or(stream)
}

/// No name can contain a slash, so a slash from a client can only mean a separator. Samba accepts
/// it, too.
fn is_separator(unit: &u16) -> bool {
    const SEPARATORS: [u16; 2] = [b'\\' as u16, b'/' as u16];
    SEPARATORS.contains(unit)
}

/// The parts of a path between its separators; none of the share's own folder.
fn parts(units: &[u16]) -> Result<impl Iterator<Item = &[u16]>, Status> {
    if units.len() > MAX_UNITS {
        return Err(Status::OBJECT_NAME_INVALID);
    }
    if units.first().is_some_and(is_separator) {
        // MS-SMB2 2.2.13: a path must not begin with a separator.
        return Err(Status::INVALID_PARAMETER);
    }
    let units = match units.split_last() {
        Some((last, before)) if is_separator(last) => before,
        _ => units,
    };
    let all = (!units.is_empty()).then(|| units.split(is_separator));
    Ok(all.into_iter().flatten())
}

fn is_dots(name: &[u16]) -> bool {
    const DOT: u16 = b'.' as u16;
    matches!(name, [DOT] | [DOT, DOT])
}

/// The stored name of one component.
pub(in crate::server) fn component(units: &[u16]) -> Result<Vec<u8>, Status> {
    const DOT: u16 = b'.' as u16;
    match units {
        [] | [DOT] => Err(Status::OBJECT_NAME_INVALID),
        [DOT, DOT] => Err(Status::OBJECT_PATH_SYNTAX_BAD),
        units => names::from_windows_view(units).map_err(|_| Status::OBJECT_NAME_INVALID),
    }
}

/// The name of a stream. It is text, and may have characters that names of files must not have:
/// MS-FSCC 2.1.5.3. These characters are stored in the same way as the private code points that
/// Macs send for them.
pub(in crate::server) fn stream_name(is_mac: bool, units: &[u16]) -> Result<String, Status> {
    plain_stream_name(units).map(|name| if is_mac { composed(name) } else { name })
}

fn plain_stream_name(units: &[u16]) -> Result<String, Status> {
    let private = |unit: &u16| match *unit {
        0x01..=0x1F => 0xF000 | unit,
        unit => ALSO_IN_STREAMS.iter().position(|also| *also == unit).map_or(unit, |at| PRIVATE[at]),
    };
    let units: Vec<u16> = units.iter().map(private).collect();
    let stored = names::from_windows_view(&units).map_err(|_| Status::OBJECT_NAME_INVALID)?;
    String::from_utf8(stored).map_err(|_| Status::OBJECT_NAME_INVALID)
}

/// The name of a stream as clients other than Macs see it. It contains the characters that are
/// forbidden only in names of files.
pub(in crate::server) fn shown_stream(units: &mut [u16]) {
    for unit in units {
        match *unit {
            0xF001..=0xF01F => *unit &= 0x1F,
            private => {
                if let Some(at) = PRIVATE.iter().position(|known| *known == private) {
                    *unit = ALSO_IN_STREAMS[at];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Path, Status> {
        Path::parse(&text.encode_utf16().collect::<Vec<_>>())
    }

    fn components(path: &Path) -> Vec<&str> {
        path.components.iter().map(|name| std::str::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn a_path_is_taken_apart_at_backslashes_and_the_last_name_at_colons() {
        let path = parse(r"a\b c\d.txt:Zone:$data").unwrap();
        assert_eq!(components(&path), ["a", "b c", "d.txt"]);
        assert_eq!(path.stream.as_deref(), Some("Zone"));
        assert!(parse("f::$DATA").unwrap().data);
        assert!(parse("d:$I30:$INDEX_ALLOCATION").unwrap().folder);
        assert_eq!(parse("").unwrap(), Path::default());
        assert_eq!(components(&parse(r"dir\").unwrap()), ["dir"]);
        assert_eq!(components(&parse(r"dir/a\b").unwrap()), ["dir", "a", "b"]);
        assert_eq!(parse(":root").unwrap().stream.as_deref(), Some("root"));
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        assert_eq!(parse(r"\a"), Err(Status::INVALID_PARAMETER));
        assert_eq!(parse(r"a\..\b"), Err(Status::OBJECT_PATH_SYNTAX_BAD));
        for name in ["a\\\\b", ".", "a*", "a?b", "x:", "x::", "a:b:$OTHER", "a:b:$DATA:c", "a\u{0}"] {
            assert_eq!(parse(name), Err(Status::OBJECT_NAME_INVALID), "{name:?}");
        }
    }

    #[test]
    fn streams_may_have_wildcards_and_control_characters_in_their_names() {
        assert_eq!(parse("f:a*?\u{1}\"").unwrap().stream.as_deref(), Some("a*?\u{1}\""));
        let mut shown: Vec<u16> = "a\u{f021}\u{f025}\u{f001}\u{f020}\u{f022}".encode_utf16().collect();
        shown_stream(&mut shown);
        assert_eq!(String::from_utf16_lossy(&shown), "a*?\u{1}\"\u{f022}");
        for name in ["f:a/b", "f:a\u{0}", "f:a\\b"] {
            assert_eq!(parse(name), Err(Status::OBJECT_NAME_INVALID), "{name:?}");
        }
    }

    #[test]
    fn private_code_points_are_the_characters_that_windows_forbids() {
        assert_eq!(components(&parse("a\u{f022}b").unwrap()), ["a:b"]);
        let tags = "f:com.apple.metadata\u{f022}_kMDItemUserTags";
        assert_eq!(parse(tags).unwrap().stream.as_deref(), Some("com.apple.metadata:_kMDItemUserTags"));
    }
}
