//! Pathnames, Apple Filing Protocol Programming Guide, "Paths".

use wire::{Field, Malformed, Reader, Writer};

use super::strings::{long, pascal};

/// A path from a client: from a folder that the command names, down and up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path<'a> {
    /// 1 short names, 2 long names (MacRoman), 3 UTF-8. Other kinds decode like long names.
    pub kind: u8,
    /// The script of the name in the client's view. Only with UTF-8.
    pub hint: u32,
    /// Names, separated by NUL bytes.
    pub bytes: &'a [u8],
}

impl<'a> Field<'a> for Path<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        Self::decode(r)
    }

    fn write(&self, w: &mut Writer) {
        self.encode(w);
    }
}

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// To the folder above.
    Up,
    /// To the entry of this name, never empty.
    Down(&'a [u8]),
}

impl<'a> Path<'a> {
    pub const SHORT: u8 = 1;
    pub const LONG: u8 = 2;
    pub const UTF8: u8 = 3;
    /// The hint for names without a certain script.
    pub const HINT_UTF8: u32 = 0x0800_0103;

    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match r.u8()? {
            Self::UTF8 => Ok(Self { kind: Self::UTF8, hint: r.u32_be()?, bytes: long::read(r)? }),
            kind => Ok(Self { kind, hint: 0, bytes: pascal::read(r)? }),
        }
    }

    /// Names longer than their length field are cut: the caller knows the limit.
    pub fn encode(&self, w: &mut Writer) {
        w.u8(self.kind);
        if self.kind == Self::UTF8 {
            w.u32_be(self.hint);
            long::put(w, self.bytes);
        } else {
            pascal::put(w, self.bytes);
        }
    }

    /// A path of UTF-8 names.
    pub fn utf8(bytes: &'a [u8]) -> Self {
        Self { kind: Self::UTF8, hint: Self::HINT_UTF8, bytes }
    }

    /// A path of long names.
    pub fn long(bytes: &'a [u8]) -> Self {
        Self { kind: Self::LONG, hint: 0, bytes }
    }

    /// Whether it has no steps.
    pub fn is_empty(&self) -> bool {
        self.steps().next().is_none()
    }

    /// The steps of the path. One NUL is a separator, wherever it is; each further NUL of a run
    /// leads up.
    pub fn steps(&self) -> impl Iterator<Item = Step<'a>> + use<'a> {
        let mut rest = self.bytes;
        let mut ups = false;
        std::iter::from_fn(move || {
            if !ups && rest.first() == Some(&0) {
                (rest, ups) = (&rest[1..], true);
            }
            if ups && rest.first() == Some(&0) {
                rest = &rest[1..];
                return Some(Step::Up);
            }
            ups = false;
            let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after;
            (!name.is_empty()).then_some(Step::Down(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Down, Up};
    use super::*;

    fn steps(bytes: &[u8]) -> Vec<Step<'_>> {
        Path::long(bytes).steps().collect()
    }

    #[test]
    fn names_are_separated_by_one_nul_and_each_further_one_leads_up() {
        assert_eq!(steps(b""), []);
        assert_eq!(steps(b"\0"), []);
        assert_eq!(steps(b"a\0b"), [Down(b"a"), Down(b"b")]);
        assert_eq!(steps(b"\0a\0b\0"), [Down(b"a"), Down(b"b")]);
        assert_eq!(steps(b"\0\0a"), [Up, Down(b"a")]);
        assert_eq!(steps(b"a\0\0\0b"), [Down(b"a"), Up, Up, Down(b"b")]);
        assert_eq!(steps(b"a\0\0"), [Down(b"a"), Up]);
    }

    #[test]
    fn a_utf8_path_has_a_hint_and_a_long_length() {
        let bytes = [3, 8, 0, 1, 3, 0, 2, b'a', b'b', b'c'];
        let mut r = Reader::new(&bytes);
        let path = Path::decode(&mut r).unwrap();
        assert_eq!((path, r.rest()), (Path::utf8(b"ab"), &b"c"[..]));
        assert!(Path::decode(&mut Reader::new(&bytes[..8])).is_err());
        assert_eq!(Path::decode(&mut Reader::new(&[2, 1, b'x'])).unwrap(), Path::long(b"x"));
    }
}
