//! What is kept of a password: one secret per way of proving that one knows it.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use md4::{Digest, Md4};
use serde::{Deserialize, Serialize};

use crate::hex;

/// What is kept of a password for one kind of login.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// A salted slow hash (argon2id), for protocols that see the password itself.
    Argon2(String),
    /// The NT hash, for challenge and response (MS-NLMP 3.3.1). It is as good as the password: keep it secret.
    Nt([u8; 16]),
    /// Of a kind this version does not know; kept as it is.
    Unknown(Stored),
}

/// A secret as it stands in the file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    kind: String,
    /// Of the kind's own encoding.
    version: u32,
    value: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Argon2(_) => f.write_str("Argon2(…)"),
            Self::Nt(_) => f.write_str("Nt(…)"),
            Self::Unknown(stored) => write!(f, "Unknown({}, …)", stored.kind),
        }
    }
}

impl Secret {
    /// Every secret that this version keeps of a password. `None` when there is no randomness for the salt.
    #[must_use]
    pub fn all_of(password: &str) -> Option<Vec<Self>> {
        let hash: argon2::password_hash::phc::PasswordHash =
            Argon2::default().hash_password(password.as_bytes()).ok()?;
        Some(vec![Self::Argon2(hash.to_string()), Self::Nt(nt_hash(password))])
    }

    /// Whether `password` is the one this was made of; `None` when this kind cannot tell. Slow by intent.
    #[must_use]
    pub fn verifies(&self, password: &str) -> Option<bool> {
        let Self::Argon2(hash) = self else { return None };
        let Ok(hash) = PasswordHash::new(hash) else { return Some(false) };
        Some(Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
    }

    pub(crate) fn store(&self) -> Stored {
        let stored = |kind: &str, value| Stored { kind: kind.into(), version: 1, value };
        match self {
            Self::Argon2(hash) => stored("argon2", hash.clone()),
            Self::Nt(hash) => stored("nt-hash", hex::encode(hash)),
            Self::Unknown(stored) => stored.clone(),
        }
    }

    pub(crate) fn load(stored: Stored) -> Self {
        match (stored.kind.as_str(), stored.version) {
            ("argon2", 1) => Self::Argon2(stored.value),
            ("nt-hash", 1) => match hex::decode(&stored.value) {
                Some(hash) => Self::Nt(hash),
                None => Self::Unknown(stored),
            },
            _ => Self::Unknown(stored),
        }
    }
}

/// NTOWF of NTLM: MD4 of the password in UTF-16LE (MS-NLMP 3.3.1).
#[must_use]
pub fn nt_hash(password: &str) -> [u8; 16] {
    let units: Vec<u8> = password.encode_utf16().flat_map(u16::to_le_bytes).collect();
    Md4::digest(units).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nt_hash_is_that_of_ms_nlmp_4_2_2_1_1() {
        // MS-NLMP 4.2.2.1.2, NTOWFv1("Password").
        assert_eq!(hex::encode(&nt_hash("Password")), "a4f49c406510bdcab6824ee7c30fd852");
    }

    #[test]
    fn a_password_is_verified_by_its_slow_hash_after_a_round_trip() {
        let secrets = Secret::all_of("hunter2 ✓").unwrap();
        let loaded: Vec<Secret> = secrets.iter().map(|s| Secret::load(s.store())).collect();
        assert_eq!(loaded, secrets);
        assert_eq!(loaded[0].verifies("hunter2 ✓"), Some(true));
        assert_eq!(loaded[0].verifies("hunter2"), Some(false));
        assert_eq!(loaded[1].verifies("hunter2 ✓"), None);
    }

    #[test]
    fn the_same_password_has_another_salt_each_time_and_is_not_shown() {
        let (a, b) = (Secret::all_of("x").unwrap(), Secret::all_of("x").unwrap());
        assert_ne!(a[0], b[0]);
        assert_eq!(format!("{a:?}"), "[Argon2(…), Nt(…)]");
    }

    #[test]
    fn a_kind_of_a_later_version_is_kept_as_it_is() {
        let stored = Stored { kind: "srp".into(), version: 3, value: "abc".into() };
        assert!(Secret::load(stored.clone()).store() == stored);
    }
}
