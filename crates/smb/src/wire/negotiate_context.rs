//! Negotiate contexts of 3.1.1, MS-SMB2 2.2.3.1 and 2.2.4.1.

use wire::{Malformed, Reader, Writer};

use super::buffers::{pad8, put_utf16, utf16};

wire::number! {
    /// A signature's algorithm, MS-SMB2 2.2.3.1.7.
    pub Signing: u16 {
        HMAC_SHA256 = 0,
        AES_CMAC = 1,
        AES_GMAC = 2,
    }
}

wire::number! {
    /// An encryption's algorithm, MS-SMB2 2.2.3.1.2.
    pub Cipher: u16 {
        AES_128_CCM = 1,
        AES_128_GCM = 2,
        AES_256_CCM = 3,
        AES_256_GCM = 4,
    }
}

/// The hash of the preauthentication, MS-SMB2 2.2.3.1.1: there is one.
pub const SHA_512: u16 = 1;

/// The data of the POSIX extensions' context: their version, a GUID.
pub const POSIX: [u8; 16] = *b"\x93\xAD\x25\x50\x9C\xB4\x11\xE7\xB4\x23\x83\xDE\x96\x8B\xCD\x7C";

/// MS-SMB2 2.2.3.1. A server answers with one algorithm each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Context {
    /// MS-SMB2 2.2.3.1.1.
    PreauthIntegrity {
        hashes: Vec<u16>,
        salt: Vec<u8>,
    },
    /// MS-SMB2 2.2.3.1.2.
    Encryption(Vec<Cipher>),
    /// MS-SMB2 2.2.3.1.3.
    Compression {
        flags: u32,
        algorithms: Vec<u16>,
    },
    /// MS-SMB2 2.2.3.1.4: the server's name as the client knows it.
    Netname(Vec<u16>),
    /// MS-SMB2 2.2.3.1.5: flags.
    Transport(u32),
    /// MS-SMB2 2.2.3.1.6.
    RdmaTransform(Vec<u16>),
    /// MS-SMB2 2.2.3.1.7.
    Signing(Vec<Signing>),
    /// The POSIX extensions of Samba and Linux; see [`POSIX`].
    Posix(Vec<u8>),
    Unknown {
        kind: u16,
        data: Vec<u8>,
    },
}

impl Context {
    fn kind(&self) -> u16 {
        match self {
            Self::PreauthIntegrity { .. } => 1,
            Self::Encryption(_) => 2,
            Self::Compression { .. } => 3,
            Self::Netname(_) => 5,
            Self::Transport(_) => 6,
            Self::RdmaTransform(_) => 7,
            Self::Signing(_) => 8,
            Self::Posix(_) => 0x100,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    fn decode_data(kind: u16, data: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        Ok(match kind {
            1 => {
                let (count, salt_length) = (r.u16_le()?, r.u16_le()?);
                let hashes = numbers(&mut r, count)?;
                Self::PreauthIntegrity { hashes, salt: r.take(salt_length.into())?.to_vec() }
            }
            2 => {
                let count = r.u16_le()?;
                Self::Encryption(numbers(&mut r, count)?.into_iter().map(Cipher).collect())
            }
            3 => {
                let count = r.u16_le()?;
                r.skip(2)?; // padding
                Self::Compression { flags: r.u32_le()?, algorithms: numbers(&mut r, count)? }
            }
            5 => Self::Netname(utf16(data)?),
            6 => Self::Transport(r.u32_le()?),
            7 => {
                let count = r.u16_le()?;
                r.skip(6)?; // reserved
                Self::RdmaTransform(numbers(&mut r, count)?)
            }
            8 => {
                let count = r.u16_le()?;
                Self::Signing(numbers(&mut r, count)?.into_iter().map(Signing).collect())
            }
            0x100 => Self::Posix(data.to_vec()),
            _ => Self::Unknown { kind, data: data.to_vec() },
        })
    }

    fn encode_data(&self, w: &mut Writer) {
        match self {
            Self::PreauthIntegrity { hashes, salt } => {
                w.u16_le(hashes.len() as u16);
                w.u16_le(salt.len() as u16);
                put_utf16(w, hashes);
                w.put(salt);
            }
            Self::Encryption(ciphers) => {
                w.u16_le(ciphers.len() as u16);
                ciphers.iter().for_each(|cipher| w.u16_le(cipher.0));
            }
            Self::Compression { flags, algorithms } => {
                w.u16_le(algorithms.len() as u16);
                w.u16_le(0); // padding
                w.u32_le(*flags);
                put_utf16(w, algorithms);
            }
            Self::Netname(name) => put_utf16(w, name),
            Self::Transport(flags) => w.u32_le(*flags),
            Self::RdmaTransform(transforms) => {
                w.u16_le(transforms.len() as u16);
                w.zeros(6); // reserved
                put_utf16(w, transforms);
            }
            Self::Signing(algorithms) => {
                w.u16_le(algorithms.len() as u16);
                algorithms.iter().for_each(|algorithm| w.u16_le(algorithm.0));
            }
            Self::Posix(data) | Self::Unknown { data, .. } => w.put(data),
        }
    }
}

fn numbers(r: &mut Reader<'_>, count: u16) -> Result<Vec<u16>, Malformed> {
    utf16(r.take(usize::from(count) * 2)?)
}

/// The `count` contexts that `bytes` begins with; each begins at a multiple of 8.
pub(super) fn decode_list(bytes: &[u8], count: u16) -> Result<Vec<Context>, Malformed> {
    let mut r = Reader::new(bytes);
    let mut contexts = Vec::new();
    for _ in 0..count {
        r.skip(r.position().wrapping_neg() % 8)?;
        let (kind, length) = (r.u16_le()?, r.u16_le()?);
        r.skip(4)?; // reserved
        contexts.push(Context::decode_data(kind, r.take(length.into())?)?);
    }
    Ok(contexts)
}

/// Appends `contexts` and the padding between them. `w` must be at a multiple of 8 of the message.
pub(super) fn encode_list(contexts: &[Context], w: &mut Writer) {
    let start = w.len();
    for context in contexts {
        pad8(w, start);
        w.u16_le(context.kind());
        let length = w.len();
        w.u16_le(0);
        w.u32_le(0); // reserved
        let data = w.len();
        context.encode_data(w);
        w.patch_u16_le(length, (w.len() - data) as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, laid out by MS-SMB2 2.2.3.1.
    const LIST: &[u8] = b"\x01\0\x09\0\0\0\0\0\x01\0\x03\0\x01\0abc\0\0\0\0\0\0\0\
        \x02\0\x06\0\0\0\0\0\x02\0\x04\0\x02\0\0\0\
        \x03\0\x0a\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0\
        \x05\0\x04\0\0\0\0\0n\0\xe9\0\0\0\0\0\
        \x06\0\x04\0\0\0\0\0\x01\0\0\0\0\0\0\0\
        \x07\0\x0a\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\
        \x08\0\x06\0\0\0\0\0\x02\0\x02\0\x01\0\0\0\
        \x34\x12\x01\0\0\0\0\0z";

    fn contexts() -> Vec<Context> {
        vec![
            Context::PreauthIntegrity { hashes: vec![SHA_512], salt: b"abc".to_vec() },
            Context::Encryption(vec![Cipher::AES_256_GCM, Cipher::AES_128_GCM]),
            Context::Compression { flags: 1, algorithms: vec![2] },
            Context::Netname("né".encode_utf16().collect()),
            Context::Transport(1),
            Context::RdmaTransform(vec![1]),
            Context::Signing(vec![Signing::AES_GMAC, Signing::AES_CMAC]),
            Context::Unknown { kind: 0x1234, data: b"z".to_vec() },
        ]
    }

    #[test]
    fn contexts_begin_at_multiples_of_eight() {
        assert_eq!(decode_list(LIST, 8), Ok(contexts()));
        let mut w = Writer::new();
        encode_list(&contexts(), &mut w);
        assert_eq!(w.as_bytes(), LIST);
    }

    #[test]
    fn counts_and_lengths_that_lie_are_malformed() {
        assert!(decode_list(LIST, 9).is_err());
        assert!(decode_list(&LIST[..LIST.len() - 1], 8).is_err());
        assert!(decode_list(b"\x02\0\x04\0\0\0\0\0\x02\0\x01\0", 1).is_err());
        assert!(decode_list(b"\x01\0\x06\0\0\0\0\0\x01\0\x01\0\x01\0", 1).is_err());
        assert!(decode_list(b"\x05\0\x01\0\0\0\0\0n", 1).is_err());
    }
}
