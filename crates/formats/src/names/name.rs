//! The stored name: one component of a path in the bytes of the host, and the rules for it.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;

use crate::Error;

/// A stored name: one component of a path, in the bytes the host holds.
///
/// Behaves as its bytes (`Deref`, `Borrow`, `AsRef`), so a map keyed by `Name` is searched with `&[u8]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<[u8]>);

/// Why bytes are not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NameError {
    /// No bytes at all.
    #[error("the name is empty")]
    Empty,
    /// More bytes than the host holds. See [`long`](super::long).
    #[error("the name is too long")]
    TooLong,
    /// A slash, a NUL, or something the view it came from never shows.
    #[error("the name has a forbidden character")]
    Forbidden,
    /// `.` or `..`.
    #[error("the name is a dot or two")]
    Dots,
}

impl Name {
    /// The longest name of the usual hosts (ext4, XFS, btrfs, ZFS), in bytes.
    pub const MAX: usize = 255;

    /// Checks and keeps the bytes. Does not change them.
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Result<Self, NameError> {
        let bytes = bytes.into();
        check(&bytes)?;
        if bytes.len() > Self::MAX {
            return Err(NameError::TooLong);
        }
        Ok(Self(bytes))
    }

    /// The bytes on the host.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same bytes, as the standard library's file functions want them.
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

/// All rules of a stored name but its length: a name kept beside its shortened one has these too.
pub(super) fn check(bytes: &[u8]) -> Result<(), NameError> {
    match bytes {
        b"" => Err(NameError::Empty),
        b"." | b".." => Err(NameError::Dots),
        _ if bytes.iter().any(|b| matches!(b, 0 | b'/')) => Err(NameError::Forbidden),
        _ => Ok(()),
    }
}

impl Deref for Name {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Name {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<OsStr> for Name {
    fn as_ref(&self) -> &OsStr {
        self.as_os_str()
    }
}

impl TryFrom<&[u8]> for Name {
    type Error = NameError;

    fn try_from(bytes: &[u8]) -> Result<Self, NameError> {
        Self::new(bytes)
    }
}

impl TryFrom<&str> for Name {
    type Error = NameError;

    fn try_from(text: &str) -> Result<Self, NameError> {
        Self::new(text.as_bytes())
    }
}

/// For logs: control characters and bytes that are not UTF-8 are escaped.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            chunk.valid().chars().try_for_each(|c| match c.is_control() {
                true => write!(f, "{}", c.escape_default()),
                false => write!(f, "{c}"),
            })?;
            chunk.invalid().iter().try_for_each(|b| write!(f, "\\x{b:02x}"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({self})")
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        match error {
            NameError::TooLong => Self::NameTooLong,
            NameError::Empty | NameError::Forbidden | NameError::Dots => Self::InvalidName,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_name_is_any_bytes_but_slash_and_nul() {
        for good in [&b"a"[..], b"...", b".a", b"\xff\xfe", b"a:b\\c*?", b"\x01\x1f", &[b'x'; 255]] {
            assert_eq!(Name::new(good).map(|n| n.to_vec()), Ok(good.to_vec()));
        }
    }

    #[test]
    fn each_refusal_has_its_fact() {
        assert_eq!(Name::new(*b""), Err(NameError::Empty));
        assert_eq!(Name::new(*b"."), Err(NameError::Dots));
        assert_eq!(Name::new(*b".."), Err(NameError::Dots));
        assert_eq!(Name::new(*b"a/b"), Err(NameError::Forbidden));
        assert_eq!(Name::new(*b"a\0"), Err(NameError::Forbidden));
        assert_eq!(Name::new([b'x'; 256]), Err(NameError::TooLong));
    }

    #[test]
    fn a_map_of_names_is_searched_by_bytes() {
        let map = std::collections::HashMap::from([(Name::try_from("notes").unwrap(), 1)]);
        assert_eq!(map.get(&b"notes"[..]), Some(&1));
    }

    #[test]
    fn a_logged_name_shows_what_is_not_text() {
        assert_eq!(Name::new(*b"Icon\r\xff").unwrap().to_string(), "Icon\\r\\xff");
    }
}
