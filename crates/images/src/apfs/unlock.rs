//! From a passphrase to the key of a volume ("Encryption", "Accessing Encrypted Objects").
//!
//! ```text
//! passphrase ─PBKDF2─► key of the unlock record ─RFC 3394─► KEK ─RFC 3394─► VEK, the key of the volume
//! ```
//!
//! Apple does not publish how the wrapped keys are packed: DER, as others found out.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::key_wrap::{AES_128, AES_256, AesKek, KeyWrap};
use aws_lc_rs::{digest, hmac, pbkdf2};
use wire::{Malformed, Reader};

use super::blocks::damaged;
use super::container::Container;
use super::keybag::{self, tag};
use super::object::Decoded;
use super::superblock::BlockRun;
use super::xts::Xts;
use crate::{Error, Passphrase, Result};

/// How many rounds of PBKDF2 all records of all volumes of a container may cost. macOS makes about 100,000 for each.
const MOST_ROUNDS: u64 = 20_000_000;
/// The flag of keys of 128 bits: of volumes that were encrypted by CoreStorage before they were APFS.
const SHORT_KEY: u32 = 2;

/// The rounds of PBKDF2 that are left for a container.
pub(super) struct RoundsLeft(AtomicU64);

impl Default for RoundsLeft {
    fn default() -> Self {
        Self(AtomicU64::new(MOST_ROUNDS))
    }
}

impl RoundsLeft {
    /// Takes the rounds of a record. False: so many are not left.
    fn take(&self, rounds: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(rounds)).is_ok()
    }
}

/// The key of a volume.
pub(super) fn volume_key(
    container: &Container,
    uuid: &[u8; 16],
    passphrase: Option<&Passphrase>,
) -> Result<Xts> {
    let superblock = &container.checkpoint.superblock;
    if superblock.keybag.first == 0 {
        return Err(damaged("container superblock", 0, "a volume is encrypted, and there is no keybag"));
    }
    let passphrase = passphrase.ok_or(Error::Passphrase)?;
    let of_container =
        keybag::read(&container.blocks, superblock.keybag, keybag::OF_CONTAINER, &superblock.uuid)?;
    let entry = |wanted| of_container.iter().find(|entry| entry.uuid == *uuid && entry.tag == wanted);
    let missing = || damaged("keybag of the container", 0, "it has no keys of the volume");
    let records = entry(tag::UNLOCK_RECORDS).ok_or_else(missing)?;
    let volume_key = entry(tag::VOLUME_KEY).ok_or_else(missing)?;
    let at = BlockRun::decode(&mut Reader::new(&records.data)).map_err(|_| missing())?;
    let of_volume = keybag::read(&container.blocks, at, keybag::OF_VOLUME, uuid)?;
    let records = of_volume.iter().filter(|entry| entry.tag == tag::UNLOCK_RECORDS);
    let mut costly = None;
    let kek =
        records.filter_map(|record| Packed::decode(&record.data).ok()).find_map(|record| {
            match container.rounds_left.take(record.rounds) {
                true => record.unlock(passphrase.as_bytes()),
                false => {
                    costly = Some(record.rounds);
                    None
                }
            }
        });
    let kek = kek.ok_or_else(|| match costly {
        Some(rounds) => Error::NotSupported(format!(
            "a passphrase with {rounds} rounds; all volumes of a container together may have {MOST_ROUNDS}"
        )),
        None => Error::Passphrase,
    })?;
    let wrapped = Packed::decode(&volume_key.data);
    let wrapped = wrapped.map_err(|malformed| damaged("keybag of the container", 0, malformed.0))?;
    let key = wrapped.unwrap(&kek).and_then(|vek| wrapped.xts(&vek));
    key.ok_or_else(|| damaged("keybag of the container", 0, "the key of the volume cannot be unwrapped"))
}

/// Where the keybags of volumes are, for the check. The keybag of the container needs no passphrase.
pub(super) fn volume_keybags(container: &Container) -> Vec<BlockRun> {
    let superblock = &container.checkpoint.superblock;
    if superblock.keybag.first == 0 {
        return Vec::new();
    }
    let entries = keybag::read(&container.blocks, superblock.keybag, keybag::OF_CONTAINER, &superblock.uuid);
    let records = entries.unwrap_or_default().into_iter().filter(|entry| entry.tag == tag::UNLOCK_RECORDS);
    records.filter_map(|entry| BlockRun::decode(&mut Reader::new(&entry.data)).ok()).collect()
}

/// A wrapped key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Packed {
    uuid: [u8; 16],
    flags: u32,
    wrapped: Vec<u8>,
    /// 0 for a key that no passphrase wraps.
    rounds: u64,
    salt: Vec<u8>,
}

impl Packed {
    /// Decodes a wrapped key whose HMAC is right.
    fn decode(data: &[u8]) -> Decoded<Self> {
        let mut outer = Reader::new(element(&mut Reader::new(data), 0x30)?);
        element(&mut outer, 0x80)?; // a version
        let (code, code_salt) = (element(&mut outer, 0x81)?, element(&mut outer, 0x82)?);
        let signed = outer.clone().rest();
        let mut inner = Reader::new(element(&mut outer, 0xa3)?);
        if hmac::verify(&code_key(code_salt), signed, code).is_err() {
            return Err(Malformed("the HMAC of a key is wrong"));
        }
        element(&mut inner, 0x80)?;
        let uuid = Reader::new(element(&mut inner, 0x81)?).array()?;
        let flags = Reader::new(element(&mut inner, 0x82)?).u32_le()?;
        let wrapped = element(&mut inner, 0x83)?.to_vec();
        let (mut rounds, mut salt) = (0, Vec::new());
        if inner.remaining() > 0 {
            rounds = integer(element(&mut inner, 0x84)?)?;
            salt = element(&mut inner, 0x85)?.to_vec();
        }
        Ok(Self { uuid, flags, wrapped, rounds, salt })
    }

    /// How many bytes the key has.
    fn length(&self) -> usize {
        if self.flags & SHORT_KEY != 0 { 16 } else { 32 }
    }

    /// The KEK, if the passphrase is that of the record.
    fn unlock(&self, passphrase: &[u8]) -> Option<Vec<u8>> {
        let rounds = NonZeroU32::new(u32::try_from(self.rounds).ok()?)?;
        let mut key = [0; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &self.salt, passphrase, &mut key);
        self.unwrap(&key[..self.length()])
    }

    /// The key, unwrapped by another one.
    fn unwrap(&self, by: &[u8]) -> Option<Vec<u8>> {
        let kek = AesKek::new(if by.len() == 16 { &AES_128 } else { &AES_256 }, by).ok()?;
        let wrapped = self.wrapped.get(..self.length() + 8)?;
        let mut key = vec![0; self.wrapped.len()];
        Some(kek.unwrap(wrapped, &mut key).ok()?.to_vec())
    }

    /// The two keys of XTS. The second one of a short key is derived from it and from the UUID.
    fn xts(&self, key: &[u8]) -> Option<Xts> {
        let (data, rest) = key.split_first_chunk::<16>()?;
        if let Some(tweak) = rest.first_chunk::<16>() {
            return Xts::new(data, tweak);
        }
        let derived = digest::digest(&digest::SHA256, &[key, &self.uuid].concat());
        Xts::new(data, derived.as_ref().first_chunk()?)
    }
}

/// The key of the HMAC.
fn code_key(salt: &[u8]) -> hmac::Key {
    const PREFIX: [u8; 6] = [0x01, 0x16, 0x20, 0x17, 0x15, 0x05];
    let key = digest::digest(&digest::SHA256, &[&PREFIX, salt].concat());
    hmac::Key::new(hmac::HMAC_SHA256, key.as_ref())
}

/// The content of the next element of DER, which has this tag.
fn element<'a>(r: &mut Reader<'a>, expected: u8) -> Decoded<&'a [u8]> {
    if r.u8()? != expected {
        return Err(Malformed("a key is packed otherwise"));
    }
    let length = match r.u8()? {
        short @ 0..=0x7f => usize::from(short),
        0x81 => usize::from(r.u8()?),
        0x82 => usize::from(r.u16_be()?),
        _ => return Err(Malformed("an element of a key is too long")),
    };
    r.take(length)
}

fn integer(bytes: &[u8]) -> Decoded<u64> {
    if bytes.len() > 8 {
        return Err(Malformed("a number of a key is too large"));
    }
    Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_volumes_of_a_container_share_the_rounds() {
        let rounds = RoundsLeft::default();
        assert!(rounds.take(MOST_ROUNDS - 1));
        assert!(!rounds.take(2), "so many are not left");
        assert!(rounds.take(1), "what is refused takes nothing");
        assert!(!rounds.take(1));
    }
}
