//! Signatures, encryption, and the keys for both. Pure functions of keys and bytes: no clock, no randomness, no session.
//!
//! Contexts ([`signing::Signer`], [`sealing::Sealer`]) keep their expanded keys. They are made once
//! for a session or channel, and any number of threads use them at once.

mod ccm;
mod gmac;
pub(crate) mod kdf;
pub(crate) mod preauth;
pub(crate) mod sealing;
pub(crate) mod signing;
#[cfg(test)]
mod speed;
