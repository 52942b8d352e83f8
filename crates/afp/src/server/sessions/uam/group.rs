//! Diffie-Hellman groups.

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, Uint};

/// Bytes of a secret exponent: twice the strength of the largest group here.
pub(super) const EXPONENT: usize = 32;

/// A prime and a generator.
pub(super) struct DhGroup<const LIMBS: usize> {
    prime: Odd<Uint<LIMBS>>,
    pub(super) generator: u32,
}

impl<const LIMBS: usize> DhGroup<LIMBS> {
    /// Bytes of a number.
    pub(super) const LEN: usize = Uint::<LIMBS>::BYTES;

    pub(super) const fn new(prime: Odd<Uint<LIMBS>>, generator: u32) -> Self {
        Self { prime, generator }
    }

    pub(super) fn prime(&self) -> Vec<u8> {
        self.prime.to_be_bytes().as_ref().to_vec()
    }

    /// The public number for a secret exponent.
    pub(super) fn public(&self, secret: &[u8; EXPONENT]) -> Vec<u8> {
        self.power(&Uint::from_u32(self.generator), secret)
    }

    /// The shared number for the other side's public number. `None` if that number would make the
    /// shared one predictable.
    pub(super) fn shared(&self, theirs: &[u8], secret: &[u8; EXPONENT]) -> Option<Vec<u8>> {
        let theirs = (theirs.len() == Self::LEN).then(|| Uint::from_be_slice(theirs))?;
        let last = self.prime.as_ref().wrapping_sub(&Uint::ONE);
        (theirs > Uint::ONE && theirs < last).then(|| self.power(&theirs, secret))
    }

    /// The power, in a time that does not depend on the numbers.
    fn power(&self, base: &Uint<LIMBS>, exponent: &[u8; EXPONENT]) -> Vec<u8> {
        let parameters = FixedMontyParams::new_vartime(self.prime);
        let exponent = crypto_bigint::U256::from_be_slice(exponent);
        let power = FixedMontyForm::new(base, &parameters).pow(&exponent);
        power.retrieve().to_be_bytes().as_ref().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use crypto_bigint::U64;

    use super::*;

    #[test]
    fn numbers_that_would_make_the_secret_known_are_refused() {
        const SMALL: DhGroup<{ U64::LIMBS }> = DhGroup::new(Odd::<U64>::from_be_hex("0000000000000017"), 5);
        let mut secret = [0; EXPONENT];
        secret[EXPONENT - 1] = 6;
        assert_eq!(SMALL.public(&secret), [0, 0, 0, 0, 0, 0, 0, 8]); // 5^6 = 15625 = 679 * 23 + 8
        let shared = |theirs: u64| SMALL.shared(&theirs.to_be_bytes(), &secret);
        for theirs in [0, 1, 22, 23, 24, u64::MAX] {
            assert_eq!(shared(theirs), None, "{theirs}");
        }
        assert_eq!(shared(19), Some(vec![0, 0, 0, 0, 0, 0, 0, 2])); // 19^6 = 47045881 = 2045473 * 23 + 2
        assert_eq!(SMALL.shared(&[19], &secret), None);
    }
}
