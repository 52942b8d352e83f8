//! Signatures, encryption, and the keys for both. Pure functions of keys and bytes: no clock, no randomness, no session.
//!
//! Contexts ([`signing::Signer`], [`sealing::Sealer`]) keep their expanded keys, are made once for a session or channel, and are used by any
//! number of threads at once.

mod ccm;
mod gmac;
pub(super) mod kdf;
pub(super) mod preauth;
pub(super) mod sealing;
pub(super) mod signing;
#[cfg(test)]
mod speed;
