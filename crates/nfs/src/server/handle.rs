//! File handles: the share, the file, and a code that only this server can compute.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version of this layout, 1 |
//! | 1 | which view of the file: 0 the file, 1 its Mac sidecar |
//! | 2 | zero |
//! | 4 | the share's tag |
//! | 8 | SipHash-2-4 of all the rest, keyed by the server's secret |
//! | up to 44 | the host's key of the file |

use siphasher::sip::SipHasher24;
use vfs::HostKey;

use crate::wire::v3::types::Status;

const VERSION: u8 = 1;
const CODE: std::ops::Range<usize> = 8..16;
const HEAD: usize = 16;

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
pub(crate) enum View {
    File,
    Sidecar,
}

/// The content of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Named {
    pub(crate) tag: u32,
    pub(crate) view: View,
    pub(crate) key: HostKey,
}

/// A sealed handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sealed {
    bytes: [u8; HEAD + HostKey::MAX],
    len: usize,
}

impl Sealed {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Named {
    /// The handle to give to a client.
    pub(crate) fn seal(&self, secret: &HandleSecret) -> Sealed {
        let mut bytes = [0; HEAD + HostKey::MAX];
        bytes[0] = VERSION;
        bytes[1] = u8::from(self.view == View::Sidecar);
        bytes[4..8].copy_from_slice(&self.tag.to_be_bytes());
        bytes[HEAD..].copy_from_slice(self.key.padded());
        let code = code(secret, &bytes[..CODE.start], &self.key);
        bytes[CODE].copy_from_slice(&code.to_be_bytes());
        Sealed { bytes, len: HEAD + self.key.as_bytes().len() }
    }

    /// The content of a client's handle. BADHANDLE for a handle that this server did not make.
    pub(crate) fn open(secret: &HandleSecret, handle: &[u8]) -> Result<Self, Status> {
        if handle.len() <= HEAD || handle[0] != VERSION || handle[1] > 1 || handle[2..4] != [0, 0] {
            return Err(Status::BADHANDLE);
        }
        let key = HostKey::new(&handle[HEAD..]).ok_or(Status::BADHANDLE)?;
        // The time of this comparison reveals nothing: all wrong guesses of the 64 bits are alike.
        if code(secret, &handle[..CODE.start], &key).to_be_bytes() != handle[CODE] {
            return Err(Status::BADHANDLE);
        }
        let view = if handle[1] == 1 { View::Sidecar } else { View::File };
        let tag = u32::from_be_bytes([handle[4], handle[5], handle[6], handle[7]]);
        Ok(Self { tag, view, key })
    }
}

/// In one piece: a listing has a handle for each entry.
fn code(secret: &HandleSecret, head: &[u8], key: &HostKey) -> u64 {
    let mut rest = [0; CODE.start + HostKey::MAX];
    rest[..CODE.start].copy_from_slice(head);
    rest[CODE.start..].copy_from_slice(key.padded());
    SipHasher24::new_with_key(&secret.0).hash(&rest[..CODE.start + key.as_bytes().len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_opens_only_whole_unchanged_and_with_its_secret() {
        let secret = HandleSecret::new([7; 16]);
        let named = Named { tag: 9, view: View::File, key: HostKey::new(b"\x01abcdefg").unwrap() };
        let sealed = named.seal(&secret);
        assert!(sealed.as_bytes().len() <= 64); // NFS3_FHSIZE
        assert_eq!(Named::open(&secret, sealed.as_bytes()), Ok(named));
        assert_eq!(Named::open(&HandleSecret::new([8; 16]), sealed.as_bytes()), Err(Status::BADHANDLE));
        for at in 0..sealed.as_bytes().len() {
            for bit in 0..8 {
                let mut forged = sealed.as_bytes().to_vec();
                forged[at] ^= 1 << bit;
                assert_eq!(Named::open(&secret, &forged), Err(Status::BADHANDLE), "byte {at} bit {bit}");
            }
            assert_eq!(Named::open(&secret, &sealed.as_bytes()[..at]), Err(Status::BADHANDLE));
        }
    }

    /// Clients keep handles over restarts and updates of the server. SipHash-2-4 of the handle
    /// without its code, by OpenSSL 3: `openssl mac -macopt hexkey:07..07 -macopt size:8 SIPHASH`.
    #[test]
    fn handles_stay_the_same() {
        let key = HostKey::new(b"\x01abcdefg").unwrap();
        let sealed = Named { tag: 9, view: View::File, key }.seal(&HandleSecret::new([7; 16]));
        let code = sealed.bytes[CODE].iter().rev().copied();
        assert_eq!(sealed.as_bytes()[..8], [1, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(code.collect::<Vec<_>>(), [0x20, 0x64, 0x84, 0x0d, 0x37, 0x76, 0xea, 0x30]);
        assert_eq!(&sealed.as_bytes()[16..], b"\x01abcdefg");
    }

    #[test]
    fn the_longest_key_fits_a_handle() {
        let key = HostKey::new(&[1; HostKey::MAX]).unwrap();
        let sealed = Named { tag: 1, view: View::Sidecar, key }.seal(&HandleSecret::new([0; 16]));
        assert_eq!(sealed.as_bytes().len(), 60);
    }
}
