//! Encrypted disk images, version 2 ("encrcdsa"): AES in CBC mode by chunks, whose initial vectors are HMACs of their
//! numbers. The two keys are wrapped by a key that comes from the passphrase.
//!
//! The layout is public by the research of Weinmann, Appelbaum and Fromme ("VileFault", 2006). All numbers are big-endian.

use std::sync::Arc;

use aws_lc_rs::{hmac, pbkdf2};
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use zeroize::Zeroizing;

use crate::aes::{BLOCK, BlockKey};
use crate::part::{check_range, read_vec};
use crate::{Error, Passphrase, ReadAt, Result, decode};

const MAGIC: &[u8] = b"encrcdsa";
/// What version 1 ends with.
const OLD_MAGIC: &[u8] = b"cdsaencr";
const NAME: &str = "header of the encrypted disk image";
/// Bytes up to the pointers to keys.
const FIXED: usize = 76;
const POINTER: usize = 20;
const MAX_KEYS: usize = 64;
/// The longest header of a wrapped key.
const MAX_KEY_HEADER: u64 = 4096;
/// The type of a key that a passphrase unwraps.
const BY_PASSPHRASE: u32 = 1;
/// CSSM_ALGID_PKCS5_PBKDF2, CSSM_ALGID_3DES_3KEY_EDE, CSSM_ALGID_AES, CSSM_ALGMODE_CBC_IV8.
const PBKDF2: u32 = 103;
const TRIPLE_DES: u32 = 17;
const AES: u32 = 0x8000_0001;
/// The most iterations that are made for one passphrase, with all keys of an image: a few seconds.
const MAX_ITERATIONS: u32 = 4_000_000;
const HMAC_KEY: usize = 20;
/// What follows the two keys in the wrapped blob.
const END_OF_KEYS: &[u8] = b"CKIE\0";
const CHUNKS: std::ops::RangeInclusive<u32> = 512..=1 << 20;

/// What the image says of its encryption.
pub(super) struct Header {
    key_bits: u32,
    chunk: u64,
    data_size: u64,
    data_offset: u64,
    /// Where the wrapped keys are: type, offset, length.
    keys: Vec<(u32, u64, u64)>,
}

/// The header, if the image is encrypted.
pub(super) fn header(file: &dyn ReadAt) -> Result<Option<Header>> {
    let length = file.length();
    let starts = |at: u64, magic: &[u8]| Ok::<_, Error>(read_vec(file, at, magic.len())? == magic);
    if length < FIXED as u64 {
        return Ok(None);
    }
    if !starts(0, MAGIC)? {
        return match starts(length - OLD_MAGIC.len() as u64, OLD_MAGIC)? {
            true => Err(Error::NotSupported("an encrypted disk image of version 1".into())),
            false => Ok(None),
        };
    }
    let head = read_vec(file, 0, (length as usize).min(FIXED + MAX_KEYS * POINTER))?;
    let (version, algorithm, count, mut header) = decode(NAME, 0, &head, |r| {
        r.skip(8)?; // signature
        let version = r.u32_be()?;
        r.skip(8)?; // size of initial vectors, mode
        let (algorithm, key_bits) = (r.u32_be()?, r.u32_be()?);
        r.skip(4 + 4 + 16)?; // random numbers, UUID
        let (chunk, data_size, data_offset) = (u64::from(r.u32_be()?), r.u64_be()?, r.u64_be()?);
        let header = Header { key_bits, chunk, data_size, data_offset, keys: Vec::new() };
        Ok((version, algorithm, r.u32_be()? as usize, header))
    })?;
    if version != 2 || algorithm != AES || !matches!(header.key_bits, 128 | 256) {
        let what = format!(
            "encryption of version {version} with algorithm {algorithm} and {} bits",
            header.key_bits
        );
        return Err(Error::NotSupported(what));
    }
    if !u32::try_from(header.chunk).is_ok_and(|chunk| CHUNKS.contains(&chunk) && chunk.is_power_of_two()) {
        return Err(Error::damaged(NAME, 0, format!("chunks of {} bytes", header.chunk)));
    }
    header.keys = decode(NAME, FIXED as u64, &head[FIXED..], |r| {
        let pointers = 0..count.min(MAX_KEYS);
        pointers.map(|_| Ok((r.u32_be()?, r.u64_be()?, r.u64_be()?))).collect()
    })?;
    Ok(Some(header))
}

/// A key that a passphrase unwraps.
struct WrappedKey {
    salt: Vec<u8>,
    iterations: u32,
    iv: Vec<u8>,
    blob: Vec<u8>,
}

impl WrappedKey {
    fn read(file: &dyn ReadAt, offset: u64, length: u64) -> Result<Self> {
        let bytes = read_vec(file, offset, length.min(MAX_KEY_HEADER) as usize)?;
        let (key, algorithms) = decode(NAME, offset, &bytes, |r| {
            let kdf = r.u32_be()?;
            r.skip(4)?; // random numbers of the key derivation
            let (iterations, salt_len) = (r.u32_be()?, r.u32_be()? as usize);
            let salt = r.take(32)?;
            let iv_len = r.u32_be()? as usize;
            let iv = r.take(32)?;
            let (bits, cipher) = (r.u32_be()?, r.u32_be()?);
            r.skip(8)?; // padding, mode
            let blob_len = r.u32_be()? as usize;
            let blob = r.take(blob_len)?.to_vec();
            let salt = salt[..salt_len.min(32)].to_vec();
            let iv = iv[..iv_len.min(32)].to_vec();
            Ok((Self { salt, iterations, iv, blob }, (kdf, cipher, bits)))
        })?;
        match algorithms {
            (PBKDF2, TRIPLE_DES, 192) => Ok(key),
            (kdf, cipher, bits) => {
                let what = format!("a key wrapped by algorithms {kdf} and {cipher} with {bits} bits");
                Err(Error::NotSupported(what))
            }
        }
    }

    /// The keys of the image: AES's key and the one of the HMAC.
    /// `left` are the iterations that may still be made.
    fn unwrap(&self, passphrase: &Passphrase, key_len: usize, left: &mut u32) -> Result<ChunkKey> {
        let iterations = std::num::NonZeroU32::new(self.iterations).filter(|count| count.get() <= *left);
        let Some(iterations) = iterations else {
            return Err(Error::NotSupported(format!("a passphrase with {} iterations", self.iterations)));
        };
        *left -= iterations.get();
        let mut key = Zeroizing::new([0u8; 24]);
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA1,
            iterations,
            &self.salt,
            passphrase.as_bytes(),
            key.as_mut_slice(),
        );
        let mut blob = Zeroizing::new(self.blob.clone());
        let iv =
            self.iv.get(..8).ok_or_else(|| Error::damaged(NAME, 0, "its initial vector is too short"))?;
        let cipher = cbc::Decryptor::<des::TdesEde3>::new_from_slices(key.as_slice(), iv);
        let mut cipher = cipher.map_err(|_| Error::NotSupported("the key of the passphrase".into()))?;
        let (blocks, rest) = blob.as_chunks_mut::<8>();
        if blocks.is_empty() || !rest.is_empty() {
            return Err(Error::damaged(NAME, 0, "its wrapped key is not made of blocks"));
        }
        for block in blocks {
            cipher.decrypt_block(block.into());
        }
        let keys = without_padding(&blob).ok_or(Error::Passphrase)?;
        match keys.len() == key_len + HMAC_KEY + END_OF_KEYS.len() && keys.ends_with(END_OF_KEYS) {
            true => ChunkKey::new(&keys[..key_len], &keys[key_len..key_len + HMAC_KEY]),
            false => Err(Error::Passphrase),
        }
    }
}

/// RFC 5652, section 6.3, with blocks of 8 bytes.
fn without_padding(blob: &[u8]) -> Option<&[u8]> {
    let count = usize::from(*blob.last()?);
    let (data, padding) = blob.split_at_checked(blob.len().checked_sub(count)?)?;
    let is_padding = (1..=8).contains(&count) && padding.iter().all(|byte| usize::from(*byte) == count);
    is_padding.then_some(data)
}

/// The keys of chunks.
pub(super) struct ChunkKey {
    aes: BlockKey,
    hmac: hmac::Key,
    bits: usize,
}

impl ChunkKey {
    fn new(aes: &[u8], hmac_key: &[u8]) -> Result<Self> {
        let hmac = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, hmac_key);
        Ok(Self { aes: BlockKey::new(aes)?, hmac, bits: aes.len() * 8 })
    }

    /// How the image is encrypted, for people.
    pub(super) fn format(&self) -> String {
        format!("encrypted (AES-{})", self.bits)
    }

    fn decrypt(&self, number: u64, chunk: &mut [u8]) {
        let tag = hmac::sign(&self.hmac, &(number as u32).to_be_bytes());
        let mut iv = [0; BLOCK];
        iv.copy_from_slice(&tag.as_ref()[..BLOCK]);
        self.aes.decrypt_cbc(&iv, chunk);
    }
}

impl Header {
    /// The keys of the image.
    ///
    /// # Errors
    ///
    /// [`Error::Passphrase`] if there is none, or it is wrong.
    pub(super) fn unlock(&self, file: &dyn ReadAt, passphrase: Option<&Passphrase>) -> Result<ChunkKey> {
        let passphrase = passphrase.ok_or(Error::Passphrase)?;
        let mut result = Err(Error::NotSupported("an encrypted disk image without a passphrase".into()));
        let mut left = MAX_ITERATIONS;
        for (_, offset, length) in self.keys.iter().filter(|(kind, ..)| *kind == BY_PASSPHRASE) {
            let key = WrappedKey::read(file, *offset, *length)?;
            result = key.unwrap(passphrase, self.key_bits as usize / 8, &mut left);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    /// The bytes of an image in one file.
    pub(super) fn decrypted(&self, file: Arc<dyn ReadAt>, key: ChunkKey) -> Decrypted {
        Decrypted { source: file, offset: self.data_offset, length: self.data_size, chunk: self.chunk, key }
    }

    /// The bytes of a bundle: its bands have nothing but chunks.
    pub(super) fn decrypted_bands(&self, bands: Arc<dyn ReadAt>, key: ChunkKey) -> Decrypted {
        let length = bands.length();
        Decrypted { source: bands, offset: 0, length, chunk: self.chunk, key }
    }
}

/// The decrypted bytes of an image.
pub(super) struct Decrypted {
    source: Arc<dyn ReadAt>,
    offset: u64,
    length: u64,
    chunk: u64,
    key: ChunkKey,
}

impl Decrypted {
    /// Reads and decrypts one chunk. What was never written, and so is zero, stays zero.
    fn chunk(&self, number: u64) -> Result<Vec<u8>> {
        let start = number * self.chunk;
        let place = self.offset.saturating_add(start);
        let stored = self.source.length().saturating_sub(place).min(self.chunk) as usize / BLOCK * BLOCK;
        let mut bytes = vec![0; self.chunk as usize];
        self.source.read_at(place, &mut bytes[..stored])?;
        if bytes.iter().any(|byte| *byte != 0) {
            self.key.decrypt(number, &mut bytes[..stored]);
        }
        Ok(bytes)
    }
}

impl ReadAt for Decrypted {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range("encrypted disk image", self.length, offset, buffer.len())?;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let inside = (at % self.chunk) as usize;
            let bytes = self.chunk(at / self.chunk)?;
            let count = left.len().min(bytes.len() - inside);
            let (piece, rest) = left.split_at_mut(count);
            piece.copy_from_slice(&bytes[inside..inside + count]);
            at += count as u64;
            left = rest;
        }
        Ok(())
    }
}
