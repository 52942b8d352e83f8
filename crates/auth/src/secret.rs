//! The stored secrets of a password: one for each kind of proof.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use md4::{Digest, Md4};
use serde::{Deserialize, Serialize};
use wire::hex;

use crate::srp::{self, IdentityHash, Verifier};

/// The stored secret of a password for one kind of login.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// A salted slow hash (argon2id), for protocols that send the password itself.
    Argon2(String),
    /// The NT hash, for challenge and response (MS-NLMP 3.3.1). It is equivalent to the password:
    /// keep it secret.
    Nt([u8; 16]),
    /// A verifier for logins without the password (RFC 5054). It depends on the account's name.
    Srp(Box<Verifier>),
    /// What such a verifier is derived from at each login: of a password that is read at each start, where the slow
    /// derivation of thousands would hold up the start. It is equivalent to the password, as the NT hash is.
    IdentityHash(Box<IdentityHash>),
    /// The first eight bytes of the password itself, for Macs before Mac OS 8.6 and Apple IIs.
    /// Stored only on request.
    Legacy([u8; LEGACY]),
    /// The CHAP secret (RFC 1994), unencrypted, for iSCSI. Stored only on request.
    Chap(Vec<u8>),
    /// A kind that this version does not know; kept unchanged.
    Unknown(StoredSecret),
}

/// The part of a password that the oldest Macs send.
pub const LEGACY: usize = 8;
/// The fewest bytes of a CHAP secret, RFC 7143 9.2.1: an eavesdropper can guess shorter ones.
pub const MIN_CHAP_SECRET: usize = 12;
/// The most bytes of a CHAP secret.
pub const MAX_CHAP_SECRET: usize = 255;

/// A secret in its stored form.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSecret {
    kind: String,
    /// The version of the kind's encoding.
    version: u32,
    value: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Argon2(_) => f.write_str("Argon2(…)"),
            Self::Nt(_) => f.write_str("Nt(…)"),
            Self::Srp(_) => f.write_str("Srp(…)"),
            Self::IdentityHash(_) => f.write_str("IdentityHash(…)"),
            Self::Legacy(_) => f.write_str("Legacy(…)"),
            Self::Chap(_) => f.write_str("Chap(…)"),
            Self::Unknown(stored) => write!(f, "Unknown({}, …)", stored.kind),
        }
    }
}

impl Secret {
    /// The secrets that this version always stores for an account's password. `None` if there are
    /// no random bytes for the salts.
    #[must_use]
    pub fn all_of(name: &str, password: &str) -> Option<Vec<Self>> {
        let slow = Self::slow(password)?;
        let verifier = Box::new(Verifier::of(name, password, salt()?));
        Some(vec![slow, Self::Nt(nt_hash(password)), Self::Srp(verifier)])
    }

    /// The secrets of a password that is never stored: a few microseconds for each. A slow hash would protect nothing, as
    /// the NT hash beside it is what passwords are verified by. A password that is valid as a CHAP secret is one.
    #[must_use]
    pub(crate) fn of_run(name: &str, password: &str) -> Option<Vec<Self>> {
        let hash = Box::new(IdentityHash::of(name, password, salt()?));
        let secrets = [Self::Nt(nt_hash(password)), Self::IdentityHash(hash)];
        Some(secrets.into_iter().chain(Self::chap(password)).collect())
    }

    /// Only the salted slow hash.
    pub(crate) fn slow(password: &str) -> Option<Self> {
        let hash: argon2::password_hash::phc::PasswordHash =
            Argon2::default().hash_password(password.as_bytes()).ok()?;
        Some(Self::Argon2(hash.to_string()))
    }

    /// The start of a password as old Macs send it: MacRoman, padded with zeros. `None` if they
    /// cannot type it.
    #[must_use]
    pub fn legacy(password: &str) -> Option<Self> {
        let (encoded, _, unmappable) = encoding_rs::MACINTOSH.encode(password);
        let mut bytes = [0; LEGACY];
        bytes.iter_mut().zip(encoded.iter()).for_each(|(byte, typed)| *byte = *typed);
        (!unmappable).then_some(Self::Legacy(bytes))
    }

    /// A password as a CHAP secret. `None` if it is too short or too long.
    #[must_use]
    pub fn chap(password: &str) -> Option<Self> {
        can_be_chap(password.as_bytes()).then(|| Self::Chap(password.into()))
    }

    /// Whether `password` is the one of this secret; `None` if this kind cannot tell. Slow by
    /// design.
    #[must_use]
    pub fn verifies(&self, password: &str) -> Option<bool> {
        let Self::Argon2(hash) = self else { return None };
        let Ok(hash) = PasswordHash::new(hash) else { return Some(false) };
        Some(Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
    }

    /// Its name in lists of the stored secrets.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Argon2(_) => "argon2",
            Self::Nt(_) => "nt-hash",
            Self::Srp(_) | Self::IdentityHash(_) => "srp",
            Self::Legacy(_) => "legacy",
            Self::Chap(_) => "chap",
            Self::Unknown(stored) => &stored.kind,
        }
    }

    pub(crate) fn store(&self) -> StoredSecret {
        let stored = |kind: &str, value| StoredSecret { kind: kind.into(), version: 1, value };
        match self {
            Self::Argon2(hash) => stored("argon2", hash.clone()),
            Self::Nt(hash) => stored("nt-hash", hex::encode(hash)),
            Self::Srp(verifier) => stored("srp", written(verifier)),
            Self::IdentityHash(hash) => stored("srp", written(&hash.verifier())),
            Self::Legacy(bytes) => stored("legacy", hex::encode(bytes)),
            Self::Chap(bytes) => stored("chap", hex::encode(bytes)),
            Self::Unknown(stored) => stored.clone(),
        }
    }

    pub(crate) fn load(stored: StoredSecret) -> Self {
        match (stored.kind.as_str(), stored.version) {
            ("argon2", 1) => Self::Argon2(stored.value),
            ("nt-hash", 1) => hex::decode(&stored.value).map_or(Self::Unknown(stored), Self::Nt),
            ("srp", 1) => verifier(&stored.value).map_or(Self::Unknown(stored), Self::Srp),
            ("legacy", 1) => hex::decode(&stored.value).map_or(Self::Unknown(stored), Self::Legacy),
            ("chap", 1) => chap(&stored.value).map_or(Self::Unknown(stored), Self::Chap),
            _ => Self::Unknown(stored),
        }
    }
}

fn salt() -> Option<[u8; srp::SALT]> {
    let mut salt = [0; srp::SALT];
    getrandom::fill(&mut salt).ok().map(|()| salt)
}

fn written(verifier: &Verifier) -> String {
    format!("{}:{}", hex::encode(&verifier.salt), hex::encode(&verifier.value))
}

/// Reads the form that [`Secret::store`] writes: salt and value.
fn verifier(text: &str) -> Option<Box<Verifier>> {
    let (salt, value) = text.split_once(':')?;
    Some(Box::new(Verifier { salt: hex::decode(salt)?, value: hex::decode(value)? }))
}

/// Reads the form that [`Secret::store`] writes. A secret outside of the limits, which another
/// program wrote, is invalid.
fn chap(text: &str) -> Option<Vec<u8>> {
    hex::decode_any(text).filter(|bytes| can_be_chap(bytes))
}

fn can_be_chap(bytes: &[u8]) -> bool {
    (MIN_CHAP_SECRET..=MAX_CHAP_SECRET).contains(&bytes.len())
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
        let secrets = Secret::all_of("ada", "hunter2 ✓").unwrap();
        let loaded: Vec<Secret> = secrets.iter().map(|s| Secret::load(s.store())).collect();
        assert_eq!(loaded, secrets);
        assert_eq!(loaded[0].verifies("hunter2 ✓"), Some(true));
        assert_eq!(loaded[0].verifies("hunter2"), Some(false));
        assert_eq!(loaded[1].verifies("hunter2 ✓"), None);
        assert!(
            matches!(&loaded[2], Secret::Srp(kept) if **kept == Verifier::of("ada", "hunter2 ✓", kept.salt))
        );
    }

    #[test]
    fn a_password_that_is_never_stored_has_nothing_slow_to_derive() {
        let kinds = |password| -> Vec<String> {
            Secret::of_run("ada", password).unwrap().iter().map(|secret| format!("{secret:?}")).collect()
        };
        assert_eq!(kinds("short"), ["Nt(…)", "IdentityHash(…)"]);
        assert_eq!(kinds("twelve bytes"), ["Nt(…)", "IdentityHash(…)", "Chap(…)"]);
        let [_, Secret::IdentityHash(hash)] = &Secret::of_run("ada", "short").unwrap()[..] else { panic!() };
        let stored = Secret::load(Secret::IdentityHash(hash.clone()).store());
        assert!(stored == Secret::Srp(Box::new(Verifier::of("ada", "short", hash.salt))));
    }

    #[test]
    fn the_same_password_has_another_salt_each_time_and_is_not_shown() {
        let (a, b) = (Secret::all_of("ada", "x").unwrap(), Secret::all_of("ada", "x").unwrap());
        assert!(a[0] != b[0] && a[2] != b[2]);
        assert_eq!(format!("{a:?}"), "[Argon2(…), Nt(…), Srp(…)]");
    }

    #[test]
    fn what_old_macs_send_of_a_password_is_its_first_eight_bytes_in_macroman() {
        // Inside Macintosh, "Roman Character Set": é is 0x8e, the dagger 0xa0.
        assert!(matches!(Secret::legacy("é†"), Some(Secret::Legacy([0x8e, 0xa0, 0, 0, 0, 0, 0, 0]))));
        let Some(Secret::Legacy(long)) = Secret::legacy("longer than eight") else { panic!() };
        assert_eq!(&long, b"longer t");
        assert!(Secret::legacy("✓").is_none());
        let kept = Secret::Legacy(long);
        assert!(Secret::load(kept.store()) == kept && format!("{kept:?}") == "Legacy(…)");
    }

    #[test]
    fn a_secret_of_chap_is_the_password_itself_if_that_is_long_enough() {
        let Some(kept) = Secret::chap("twelve bytes") else { panic!() };
        assert!(kept == Secret::Chap(b"twelve bytes".to_vec()) && format!("{kept:?}") == "Chap(…)");
        assert!(Secret::load(kept.store()) == kept);
        assert!(Secret::chap("eleven byte").is_none()); // RFC 7143 9.2.1: 96 bits
        let short = StoredSecret { kind: "chap".into(), version: 1, value: hex::encode(b"eleven byte") };
        assert!(matches!(Secret::load(short), Secret::Unknown(_)));
        assert!(Secret::chap(&"x".repeat(255)).is_some() && Secret::chap(&"x".repeat(256)).is_none());
    }

    #[test]
    fn a_kind_of_a_later_version_is_kept_as_it_is() {
        let stored = StoredSecret { kind: "srp".into(), version: 3, value: "abc".into() };
        assert!(Secret::load(stored.clone()).store() == stored);
    }
}
