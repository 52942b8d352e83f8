//! File handles: the share, the file, and a code that only this server can compute.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version of this layout, 1 |
//! | 1 | which view of the file: 0 the file, 1 its Mac sidecar, 2 the folder of its named attributes, 3 one of these |
//! | 1 | of a named attribute: the length of its name, else zero |
//! | 1 | zero |
//! | 4 | the share's tag |
//! | 8 | SipHash-2-4 of all the rest, keyed by the server's secret |
//! | up to 44 | the host's key of the file |
//! | up to 64 | the name of a named attribute |

use siphasher::sip::SipHasher24;
use vfs::HostKey;

use crate::wire::v3::types::Status;

const VERSION: u8 = 1;
const CODE: std::ops::Range<usize> = 8..16;
const HEAD: usize = 16;
/// The longest handle.
const MOST: usize = HEAD + HostKey::MAX + AttributeName::MAX;

/// The key that file handles are sealed with. Kept in the state folder: handles outlive the server.
#[derive(Clone)]
pub struct HandleSecret([u8; 16]);

impl HandleSecret {
    /// A secret of these bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes of the key.
    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The view of a file that a handle refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HandleView {
    File,
    Sidecar,
    /// The folder of its named attributes. Only version 4 has it.
    Attributes,
    /// One of these.
    Attribute(AttributeName),
}

impl HandleView {
    /// The number in a handle.
    fn number(self) -> u8 {
        match self {
            Self::File => 0,
            Self::Sidecar => 1,
            Self::Attributes => 2,
            Self::Attribute(_) => 3,
        }
    }

    fn name(&self) -> &[u8] {
        if let Self::Attribute(name) = self { name.as_bytes() } else { &[] }
    }
}

/// The name of a named attribute. A longer one has no handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AttributeName {
    len: u8,
    bytes: [u8; Self::MAX],
}

impl AttributeName {
    /// The longest name, in bytes: what a handle of 128 bytes has room for.
    pub(crate) const MAX: usize = 64;

    /// `None` for an empty name, or one that is too long.
    pub(crate) fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..name.len()).filter(|into| !into.is_empty())?.copy_from_slice(name);
        Some(Self { len: name.len() as u8, bytes })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

/// The content of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HandleContent {
    pub(crate) tag: u32,
    pub(crate) view: HandleView,
    pub(crate) key: HostKey,
}

/// A sealed handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SealedHandle {
    bytes: [u8; MOST],
    len: usize,
}

impl SealedHandle {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl HandleContent {
    /// The handle to give to a client.
    pub(crate) fn seal(&self, secret: &HandleSecret) -> SealedHandle {
        let mut bytes = [0; MOST];
        let (name, key_end) = (self.view.name(), HEAD + self.key.as_bytes().len());
        bytes[0] = VERSION;
        bytes[1] = self.view.number();
        bytes[2] = name.len() as u8; // at most AttributeName::MAX
        bytes[4..8].copy_from_slice(&self.tag.to_be_bytes());
        bytes[HEAD..HEAD + HostKey::MAX].copy_from_slice(self.key.padded());
        bytes[key_end..key_end + name.len()].copy_from_slice(name);
        let len = key_end + name.len();
        let code = code(secret, &bytes[..len]);
        bytes[CODE].copy_from_slice(&code.to_be_bytes());
        SealedHandle { bytes, len }
    }

    /// The content of a client's handle. BADHANDLE for a handle that this server did not make.
    pub(crate) fn open(secret: &HandleSecret, handle: &[u8]) -> Result<Self, Status> {
        if handle.len() <= HEAD || handle.len() > MOST || handle[0] != VERSION || handle[3] != 0 {
            return Err(Status::BADHANDLE);
        }
        let rest = &handle[HEAD..];
        let key_len = rest.len().checked_sub(handle[2].into()).filter(|length| *length > 0);
        let (key, name) = rest.split_at(key_len.ok_or(Status::BADHANDLE)?);
        let view = match (handle[1], AttributeName::new(name)) {
            (0, None) if name.is_empty() => HandleView::File,
            (1, None) if name.is_empty() => HandleView::Sidecar,
            (2, None) if name.is_empty() => HandleView::Attributes,
            (3, Some(name)) => HandleView::Attribute(name),
            _ => return Err(Status::BADHANDLE),
        };
        let key = HostKey::new(key).ok_or(Status::BADHANDLE)?;
        // The time of this comparison reveals nothing: all wrong guesses of the 64 bits are alike.
        if code(secret, handle).to_be_bytes() != handle[CODE] {
            return Err(Status::BADHANDLE);
        }
        let tag = u32::from_be_bytes([handle[4], handle[5], handle[6], handle[7]]);
        Ok(Self { tag, view, key })
    }
}

/// Of a handle of at most [`MOST`] bytes. In one piece: a listing has a handle for each entry.
fn code(secret: &HandleSecret, handle: &[u8]) -> u64 {
    let mut rest = [0; MOST];
    let end = handle.len() - CODE.len();
    rest[..CODE.start].copy_from_slice(&handle[..CODE.start]);
    rest[CODE.start..end].copy_from_slice(&handle[HEAD..]);
    SipHasher24::new_with_key(&secret.0).hash(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_opens_only_whole_unchanged_and_with_its_secret() {
        let secret = HandleSecret::new([7; 16]);
        let named =
            HandleContent { tag: 9, view: HandleView::File, key: HostKey::new(b"\x01abcdefg").unwrap() };
        let sealed = named.seal(&secret);
        assert!(sealed.as_bytes().len() <= 64); // NFS3_FHSIZE
        assert_eq!(HandleContent::open(&secret, sealed.as_bytes()), Ok(named));
        assert_eq!(
            HandleContent::open(&HandleSecret::new([8; 16]), sealed.as_bytes()),
            Err(Status::BADHANDLE)
        );
        for at in 0..sealed.as_bytes().len() {
            for bit in 0..8 {
                let mut forged = sealed.as_bytes().to_vec();
                forged[at] ^= 1 << bit;
                assert_eq!(
                    HandleContent::open(&secret, &forged),
                    Err(Status::BADHANDLE),
                    "byte {at} bit {bit}"
                );
            }
            assert_eq!(HandleContent::open(&secret, &sealed.as_bytes()[..at]), Err(Status::BADHANDLE));
        }
    }

    /// Clients keep handles over restarts and updates of the server. SipHash-2-4 of the handle
    /// without its code, by OpenSSL 3: `openssl mac -macopt hexkey:07..07 -macopt size:8 SIPHASH`.
    #[test]
    fn handles_stay_the_same() {
        let key = HostKey::new(b"\x01abcdefg").unwrap();
        let sealed = HandleContent { tag: 9, view: HandleView::File, key }.seal(&HandleSecret::new([7; 16]));
        let code = sealed.bytes[CODE].iter().rev().copied();
        assert_eq!(sealed.as_bytes()[..8], [1, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(code.collect::<Vec<_>>(), [0x20, 0x64, 0x84, 0x0d, 0x37, 0x76, 0xea, 0x30]);
        assert_eq!(&sealed.as_bytes()[16..], b"\x01abcdefg");
    }

    #[test]
    fn the_longest_key_fits_a_handle() {
        let key = HostKey::new(&[1; HostKey::MAX]).unwrap();
        let sealed =
            HandleContent { tag: 1, view: HandleView::Sidecar, key }.seal(&HandleSecret::new([0; 16]));
        assert_eq!(sealed.as_bytes().len(), 60);
        let view = HandleView::Attribute(AttributeName::new(&[b'n'; 64]).unwrap());
        let sealed = HandleContent { tag: 1, view, key }.seal(&HandleSecret::new([0; 16]));
        assert!(sealed.as_bytes().len() <= 128); // NFS4_FHSIZE
        assert!(AttributeName::new(&[b'n'; 65]).is_none() && AttributeName::new(b"").is_none());
    }

    #[test]
    fn each_view_of_a_file_has_a_handle_that_cannot_be_forged() {
        let (secret, key) = (HandleSecret::new([7; 16]), HostKey::new(b"\x01abcdefg").unwrap());
        let attribute = |name: &[u8]| HandleView::Attribute(AttributeName::new(name).unwrap());
        let views = [
            HandleView::File,
            HandleView::Sidecar,
            HandleView::Attributes,
            attribute(b"a"),
            attribute(b"com.apple.x"),
        ];
        for (at, view) in views.into_iter().enumerate() {
            let named = HandleContent { tag: 9, view, key };
            let sealed = named.seal(&secret);
            assert_eq!(HandleContent::open(&secret, sealed.as_bytes()), Ok(named));
            assert!(
                views[..at]
                    .iter()
                    .all(|other| HandleContent { view: *other, ..named }.seal(&secret) != sealed)
            );
            for at in 0..sealed.as_bytes().len() {
                let mut forged = sealed.as_bytes().to_vec();
                forged[at] ^= 1;
                assert_eq!(
                    HandleContent::open(&secret, &forged),
                    Err(Status::BADHANDLE),
                    "byte {at} of {view:?}"
                );
            }
        }
    }
}
