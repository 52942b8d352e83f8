//! The keys of a machine account: Kerberos's AES keys of a password (RFC 3962), and the keytab with them.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{AES_128, AES_256, Algorithm, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::pbkdf2;
use kerberos::{Key, keytab_of};

/// The iterations that Active Directory uses, the default of RFC 3962 4.
const ITERATIONS: u32 = 4_096;
/// "kerberos", folded to 128 bits (RFC 3961 5.1 and A.1).
const FOLDED: [u8; 16] = *b"kerberos\x7b\x9b\x5b\x2b\x93\x13\x2b\x93";
/// The encryption types aes256-cts-hmac-sha1-96 and aes128-cts-hmac-sha1-96, RFC 3962 7.
const AES256: u16 = 18;
const AES128: u16 = 17;

/// A password and the version of its keys.
pub(crate) struct VersionedPassword<'a> {
    pub(crate) password: &'a str,
    pub(crate) version: u32,
}

/// The keytab of an account: keys of all `passwords` for each principal.
pub(crate) fn keytab(
    realm: &str,
    principals: &[String],
    salt: &str,
    passwords: &[VersionedPassword<'_>],
    now: u32,
) -> Option<Vec<u8>> {
    let mut keys = Vec::new();
    for VersionedPassword { password, version } in passwords {
        for (kind, algorithm, length) in [(AES256, &AES_256, 32), (AES128, &AES_128, 16)] {
            let key = string_to_key(password, salt, ITERATIONS, algorithm, length)?;
            for principal in principals {
                let name = principal.split('/').map(str::to_owned).collect();
                keys.push(Key { name, realm: realm.into(), version: *version, kind, key: key.clone() });
            }
        }
    }
    Some(keytab_of(&keys, now))
}

/// RFC 3962 4: PBKDF2, then DK with "kerberos".
fn string_to_key(
    password: &str,
    salt: &str,
    iterations: u32,
    algorithm: &'static Algorithm,
    length: usize,
) -> Option<Vec<u8>> {
    let mut seed = vec![0; length];
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA1,
        NonZeroU32::new(iterations)?,
        salt.as_bytes(),
        password.as_bytes(),
        &mut seed,
    );
    let cipher = EncryptingKey::ecb(UnboundCipherKey::new(algorithm, &seed).ok()?).ok()?;
    let (mut key, mut block) = (Vec::new(), FOLDED);
    while key.len() < length {
        cipher.encrypt(&mut block).ok()?;
        key.extend(block);
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3962 B.
    #[test]
    fn keys_are_those_of_the_specification() {
        let key = |iterations, algorithm, length| {
            let key =
                string_to_key("password", "ATHENA.MIT.EDUraeburn", iterations, algorithm, length).unwrap();
            key.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        assert_eq!(key(1, &AES_128, 16), "42263c6e89f4fc28b8df68ee09799f15");
        assert_eq!(key(1, &AES_256, 32), "fe697b52bc0d3ce14432ba036a92e65bbb52280990a2fa27883998d72af30161");
        assert_eq!(key(1_200, &AES_128, 16), "4c01cd46d632d01e6dbe230a01ed642a");
        assert_eq!(
            key(1_200, &AES_256, 32),
            "55a6ac740ad17b4846941051e1e8b0a7548d93b0ab30a8bc3ff16280382b8c2a"
        );
    }
}
