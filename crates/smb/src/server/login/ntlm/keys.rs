//! The computations of NTLMv2, MS-NLMP 3.3.2 and 3.4. The protocol requires MD5 and RC4. No other
//! part uses them.

pub(crate) use auth::ntlm_v2::{hmac_md5, response_key};
use md5::{Digest, Md5};
use rc4::{KeyInit, Rc4, StreamCipher};

/// RC4K, MS-NLMP 6.
pub(crate) fn rc4k(key: &[u8; 16], data: [u8; 16]) -> [u8; 16] {
    let mut out = data;
    rc4(key).apply_keystream(&mut out);
    out
}

/// RC4 with a sealing key, from its beginning.
pub(super) fn rc4(key: &[u8; 16]) -> Rc4 {
    <Rc4 as KeyInit>::new_from_slice(key).expect("RC4 takes 16 bytes")
}

/// The side that signs with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    fn signing_constant(self) -> &'static [u8] {
        match self {
            Self::Client => b"session key to client-to-server signing key magic constant\0",
            Self::Server => b"session key to server-to-client signing key magic constant\0",
        }
    }

    fn sealing_constant(self) -> &'static [u8] {
        match self {
            Self::Client => b"session key to client-to-server sealing key magic constant\0",
            Self::Server => b"session key to server-to-client sealing key magic constant\0",
        }
    }
}

/// SIGNKEY with extended session security, MS-NLMP 3.4.5.2.
pub(crate) fn signing_key(exported: &[u8; 16], side: Side) -> [u8; 16] {
    Md5::new().chain_update(exported).chain_update(side.signing_constant()).finalize().into()
}

/// SEALKEY with extended session security, MS-NLMP 3.4.5.3: of 128 bits, else 56, else 40.
pub(crate) fn sealing_key(exported: &[u8; 16], side: Side, strength: usize) -> [u8; 16] {
    let seed = &exported[..strength.min(16)];
    Md5::new().chain_update(seed).chain_update(side.sealing_constant()).finalize().into()
}

/// The first signature of a side over `message`, MS-NLMP 3.4.4.2: version, checksum, sequence number 0. The checksum is
/// encrypted when keys were exchanged; `sealing` is the key for that.
pub(crate) fn signature(signing: &[u8; 16], sealing: Option<&[u8; 16]>, message: &[u8]) -> [u8; 16] {
    const SEQUENCE: [u8; 4] = [0; 4];
    let mut signature = [0; 16];
    signature[0] = 1;
    signature[4..12].copy_from_slice(&hmac_md5(signing, &[&SEQUENCE, message])[..8]);
    if let Some(sealing) = sealing {
        rc4(sealing).apply_keystream(&mut signature[4..12]);
    }
    signature
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    fn key(digits: &str) -> [u8; 16] {
        hex(digits).try_into().unwrap()
    }

    /// MS-NLMP 4.2.4.1.1, 4.2.4.1.3, 4.2.4.2.2, 4.2.4.2.3 with the values of 4.2.1.
    #[test]
    fn keys_are_those_of_the_specification() {
        let response_key = response_key(&auth::nt_hash("Password"), &units("User"), &units("Domain"));
        assert_eq!(response_key, key("0c868a403bfd7a93a3001ef22ef02e3f"));
        let temp = hex("01010000000000000000000000000000aaaaaaaaaaaaaaaa00000000
             02000c0044006f006d00610069006e00 01000c00530065007200760065007200 0000000000000000");
        let proof = hmac_md5(&response_key, &[&hex("0123456789abcdef"), &temp]);
        assert_eq!(proof, key("68cd0ab851e51c96aabc927bebef6a1c"));
        let base = hmac_md5(&response_key, &[&proof]);
        assert_eq!(base, key("8de40ccadbc14a82f15cb0ad0de95ca3"));
        assert_eq!(rc4k(&base, [0x55; 16]), key("c5dad2544fc9799094ce1ce90bc9d03e"));
        assert_eq!(sealing_key(&[0x55; 16], Side::Client, 16), key("59f600973cc4960a25480a7c196e4c58"));
        assert_eq!(signing_key(&[0x55; 16], Side::Client), key("4788dc861b4782f35d43fd98fe1a2d39"));
    }

    /// "The anatomy of signing and cryptographic keys" (Microsoft Open Specifications blog, 2017), at its end.
    #[test]
    fn keys_of_both_sides_are_those_of_windows() {
        let exported = key("270E1BA896585EEB7AF3472D3B4C75A7");
        assert_eq!(signing_key(&exported, Side::Server), key("E1BD8B416B0B709D295E12F2CF18E6C5"));
        assert_eq!(signing_key(&exported, Side::Client), key("D43F36C44BCE0630250A09EA0C2E8C2C"));
        assert_eq!(sealing_key(&exported, Side::Server, 16), key("B0F5A0B32C81FF34A878E1409B3B0EF2"));
        assert_eq!(sealing_key(&exported, Side::Client, 16), key("31E5557D99BE13F1B2665C7C7C52CE70"));
    }
}
