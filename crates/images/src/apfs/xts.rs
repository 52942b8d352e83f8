//! XTS-AES-128 (IEEE 1619-2007), as APFS encrypts: units of 512 bytes, numbered from the beginning of the container.

use aws_lc_rs::cipher::{
    AES_128, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};

/// Bytes of a unit, each of which has a tweak of its own.
pub(super) const UNIT: usize = 512;
/// Bytes of a block of AES.
const BLOCK: usize = 16;

/// A key.
pub(super) struct Xts {
    data: DecryptingKey,
    tweak: EncryptingKey,
}

impl Xts {
    /// From the key for the data and the key for the tweaks. `None` if the library refuses them.
    pub(super) fn new(data: &[u8; 16], tweak: &[u8; 16]) -> Option<Self> {
        let data = DecryptingKey::ecb(UnboundCipherKey::new(&AES_128, data).ok()?).ok()?;
        let tweak = EncryptingKey::ecb(UnboundCipherKey::new(&AES_128, tweak).ok()?).ok()?;
        Some(Self { data, tweak })
    }

    /// The number of the first unit of a block.
    pub(super) fn units(block: u64, block_size: usize) -> u64 {
        block.wrapping_mul((block_size / UNIT) as u64)
    }

    /// Decrypts whole units; the first one has the number `first`.
    pub(super) fn decrypt(&self, bytes: &mut [u8], first: u64) {
        for (index, unit) in bytes.chunks_exact_mut(UNIT).enumerate() {
            self.decrypt_unit(unit, first.wrapping_add(index as u64));
        }
    }

    fn decrypt_unit(&self, unit: &mut [u8], number: u64) {
        let mut first = u128::from(number).to_le_bytes();
        let context = EncryptionContext::None;
        self.tweak.less_safe_encrypt(&mut first, context).expect("a tweak is one block");
        mask(unit, first);
        self.data.decrypt(unit, DecryptionContext::None).expect("a unit is whole blocks");
        mask(unit, first);
    }
}

/// Adds the tweak of each block: that of the first, and each next one is twice the one before in GF(2^128).
fn mask(unit: &mut [u8], first: [u8; BLOCK]) {
    let mut tweak = u128::from_le_bytes(first);
    for block in unit.as_chunks_mut::<BLOCK>().0 {
        *block = (u128::from_le_bytes(*block) ^ tweak).to_le_bytes();
        tweak = tweak << 1 ^ if tweak >> 127 == 1 { 0x87 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 1619-2007, Annex B, vector 4: keys 27182818284590452353602874713526 and 31415926535897932384626433832795.
    #[test]
    fn the_vector_of_the_standard_is_decrypted() {
        let data = wire::hex::decode("27182818284590452353602874713526").unwrap();
        let tweak = wire::hex::decode("31415926535897932384626433832795").unwrap();
        let xts = Xts::new(&data, &tweak).unwrap();
        let mut unit = [0; UNIT];
        let begin = wire::hex::decode_any("27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c")
            .unwrap();
        unit[..32].copy_from_slice(&begin);
        xts.decrypt(&mut unit, 0);
        let expected: Vec<u8> = (0..32).collect();
        assert_eq!(unit[..32], expected[..]);
    }
}
