//! The responses of NTLMv2, MS-NLMP 3.3.2, for those that verify one and for those that make one.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;

/// HMAC_MD5 of pieces in a row.
///
/// # Panics
/// Never: HMAC takes keys of any length.
#[must_use]
pub fn hmac_md5(key: &[u8], pieces: &[&[u8]]) -> [u8; 16] {
    let mut mac = <Hmac<Md5> as KeyInit>::new_from_slice(key).expect("HMAC takes any key");
    pieces.iter().for_each(|piece| Mac::update(&mut mac, piece));
    mac.finalize().into_bytes().into()
}

/// NTOWFv2 of an NT hash, with the names that the client sent in UTF-16. The user's name counts in upper case.
#[must_use]
pub fn response_key(nt_hash: &[u8; 16], user: &[u16], domain: &[u16]) -> [u8; 16] {
    let names = upper_case(user).chain(domain.iter().copied());
    hmac_md5(nt_hash, &[&names.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()])
}

/// As Windows does it: each unit for itself, so that "ß" stays as it is.
fn upper_case(units: &[u16]) -> impl Iterator<Item = u16> {
    units.iter().map(|&unit| {
        let Some(c) = char::from_u32(unit.into()) else { return unit }; // half of a pair
        u16::try_from(u32::from(crate::name::upper_case(c))).unwrap_or(unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::hex;

    use crate::nt_hash;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    /// MS-NLMP 4.2.4.1.1, 4.2.4.1.3 and 4.2.4.2.2 with the values of 4.2.1.
    #[test]
    fn keys_are_those_of_the_specification() {
        let digits = |bytes: &[u8]| hex::encode(bytes);
        let key = response_key(&nt_hash("Password"), &units("User"), &units("Domain"));
        assert_eq!(digits(&key), "0c868a403bfd7a93a3001ef22ef02e3f");
        let pairs = [&b"\x02\0\x0c\0"[..], b"D\0o\0m\0a\0i\0n\0", b"\x01\0\x0c\0", b"S\0e\0r\0v\0e\0r\0"];
        let temp = [&[1, 1, 0, 0, 0, 0, 0, 0][..], &[0; 8], &[0xAA; 8], &[0; 4], &pairs.concat(), &[0; 8]];
        let proof = hmac_md5(&key, &[b"\x01\x23\x45\x67\x89\xab\xcd\xef", &temp.concat()]);
        assert_eq!(digits(&proof), "68cd0ab851e51c96aabc927bebef6a1c");
        assert_eq!(digits(&hmac_md5(&key, &[&proof])), "8de40ccadbc14a82f15cb0ad0de95ca3");
    }

    #[test]
    fn upper_case_is_that_of_windows() {
        assert_eq!(upper_case(&units("aäßéя🙂")).collect::<Vec<_>>(), units("AÄßÉЯ🙂"));
    }
}
