//! Keybags and wrapped keys.

use super::disk::BLOCK;
use super::objects::{Header, object};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrap};
use aws_lc_rs::{digest, hmac, pbkdf2};

const ROUNDS: u32 = 10;
const SALT: [u8; 16] = *b"a salt of a test";

/// The keys of an encrypted volume.
pub(crate) struct VolumeKeys {
    pub(crate) uuid: [u8; 16],
    passphrase: String,
    kek: [u8; 32],
    pub(crate) vek: [u8; 32],
}

impl VolumeKeys {
    pub(crate) fn new(passphrase: &str, number: u8) -> Self {
        let uuid = [0xa0 + number; 16];
        Self {
            uuid,
            passphrase: passphrase.to_owned(),
            kek: [number + 1; 32],
            vek: *b"data of a volumetweak of volumes",
        }
    }

    /// The key of keys, wrapped by the passphrase.
    pub(crate) fn unlock_record(&self) -> Vec<u8> {
        let mut key = [0; 32];
        let rounds = std::num::NonZeroU32::new(ROUNDS).unwrap();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &SALT, self.passphrase.as_bytes(), &mut key);
        let mut more = element(0x84, &ROUNDS.to_be_bytes());
        more.extend(element(0x85, &SALT));
        self.packed(&wrap(&key, &self.kek), &more)
    }

    /// The key of the volume, wrapped by the key of keys.
    pub(crate) fn volume_key(&self) -> Vec<u8> {
        self.packed(&wrap(&self.kek, &self.vek), &[])
    }

    fn packed(&self, wrapped: &[u8], more: &[u8]) -> Vec<u8> {
        let flags = [0; 8];
        let inner = [
            element(0x80, &[0]),
            element(0x81, &self.uuid),
            element(0x82, &flags),
            element(0x83, wrapped),
            more.to_vec(),
        ];
        let inner = element(0xa3, &inner.concat());
        let salt = *b"the salt";
        let key =
            digest::digest(&digest::SHA256, &[&[0x01, 0x16, 0x20, 0x17, 0x15, 0x05][..], &salt].concat());
        let code = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), &inner);
        let outer = [element(0x80, &[0]), element(0x81, code.as_ref()), element(0x82, &salt), inner];
        element(0x30, &outer.concat())
    }
}

fn wrap(by: &[u8; 32], key: &[u8; 32]) -> Vec<u8> {
    let mut wrapped = [0; 40];
    AesKek::new(&AES_256, by).unwrap().wrap(key, &mut wrapped).unwrap().to_vec()
}

/// An element of DER.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    if content.len() >= 0x80 {
        bytes.push(0x81);
    }
    bytes.push(content.len() as u8);
    bytes.extend(content);
    bytes
}

/// A keybag: UUID, tag and data of its entries.
pub(crate) fn keybag(kind: u32, block: u64, xid: u64, entries: &[([u8; 16], u16, Vec<u8>)]) -> Vec<u8> {
    let mut w = Header { oid: block, xid, kind, subtype: 0 }.writer();
    w.u16_le(2);
    w.u16_le(entries.len() as u16);
    w.u32_le(BLOCK as u32);
    w.zeros(8);
    for (uuid, tag, data) in entries {
        w.put(uuid);
        w.u16_le(*tag);
        w.u16_le(data.len() as u16);
        w.zeros(4);
        w.put(data);
        w.zeros(w.len().next_multiple_of(16) - w.len());
    }
    object(w, 1)
}

/// Encrypts units of 512 bytes (XTS-AES-128). The first one has the number of its block, times eight.
pub(crate) fn encrypt(bytes: &mut [u8], block: u64, data: &[u8], tweak: &[u8]) {
    let key = |bytes: &[u8]| EncryptingKey::ecb(UnboundCipherKey::new(&AES_128, bytes).unwrap()).unwrap();
    let (data, tweak) = (key(data), key(tweak));
    for (index, unit) in bytes.chunks_exact_mut(512).enumerate() {
        let mut first = u128::from(block * 8 + index as u64).to_le_bytes();
        tweak.less_safe_encrypt(&mut first, EncryptionContext::None).unwrap();
        let mut mask = u128::from_le_bytes(first);
        for part in unit.chunks_exact_mut(16) {
            let plain = u128::from_le_bytes((&*part).try_into().unwrap());
            let mut sum = (plain ^ mask).to_le_bytes();
            data.less_safe_encrypt(&mut sum, EncryptionContext::None).unwrap();
            part.copy_from_slice(&(u128::from_le_bytes(sum) ^ mask).to_le_bytes());
            mask = mask << 1 ^ if mask >> 127 == 1 { 0x87 } else { 0 };
        }
    }
}
