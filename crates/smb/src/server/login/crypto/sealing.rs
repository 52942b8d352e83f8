//! Encryption of messages, MS-SMB2 3.1.4.3 and 3.1.4.4: AES-CCM and AES-GCM over everything after the transform header,
//! which is authenticated from its nonce on (2.2.41).

use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, UnboundKey};

use super::ccm::Ccm;
use super::kdf::SessionKeys;

/// Bytes of the transform header's nonce. GCM uses the first 12, CCM the first 11; the others are 0.
pub(crate) const NONCE_LENGTH: usize = 16;
/// Bytes of the transform header's signature.
pub(crate) const TAG_LENGTH: usize = 16;

/// What encrypts, by its number in SMB2_ENCRYPTION_CAPABILITIES (MS-SMB2 2.2.3.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cipher {
    /// For 3.0 and 3.0.2.
    Aes128Ccm = 1,
    /// The fastest.
    Aes128Gcm = 2,
    /// 3.1.1 only.
    Aes256Ccm = 3,
    /// 3.1.1 only.
    Aes256Gcm = 4,
}

impl Cipher {
    /// As people write it.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Aes128Ccm => "AES-128-CCM",
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Ccm => "AES-256-CCM",
            Self::Aes256Gcm => "AES-256-GCM",
        }
    }

    /// The cipher of a number, if we know it.
    #[must_use]
    #[cfg(any(test, feature = "client"))]
    pub(crate) fn from_id(id: u16) -> Option<Self> {
        use Cipher::{Aes128Ccm, Aes128Gcm, Aes256Ccm, Aes256Gcm};
        [Aes128Ccm, Aes128Gcm, Aes256Ccm, Aes256Gcm].into_iter().find(|&known| known as u16 == id)
    }

    /// Its number.
    #[must_use]
    pub(crate) fn id(self) -> u16 {
        self as u16
    }

    /// Bytes of its key.
    #[must_use]
    pub(crate) fn key_length(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }
}

/// The message is not what the peer encrypted, or the key is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an encrypted message is forged or damaged")]
pub(crate) struct DecryptionError;

/// The transform header, MS-SMB2 2.2.41: protocol id, signature, nonce, length, reserved, flags, session id.
const HEADER: usize = 52;
const PROTOCOL_ID: [u8; 4] = [0xFD, b'S', b'M', b'B'];
const SIGNATURE: usize = 4;
const NONCE: usize = 20;
/// What is authenticated: the nonce and all behind it.
const AUTHENTICATED: usize = NONCE;
/// 3.1.1: the message is encrypted. In 3.0 and 3.0.2: it is encrypted with AES-128-CCM.
const ENCRYPTED: u16 = 1;

/// Encrypts what the server of a session sends and decrypts what it receives, on all of its channels.
pub(crate) struct Sealer {
    outgoing: SealingKey,
    incoming: SealingKey,
    /// How many nonces have been used. A counter suffices, as the key belongs to this session alone
    /// and so is new.
    used: AtomicU64,
}

impl Sealer {
    /// Prepares the keys of a session, which must have been derived for this cipher.
    #[must_use]
    pub(crate) fn new(cipher: Cipher, keys: &SessionKeys) -> Self {
        Self {
            outgoing: SealingKey::new(cipher, keys.server_to_client.as_bytes()),
            incoming: SealingKey::new(cipher, keys.client_to_server.as_bytes()),
            used: AtomicU64::new(0),
        }
    }

    /// Encrypts a message where it is, behind room for a transform header, which is filled in (MS-SMB2 3.1.4.3).
    ///
    /// # Panics
    /// When there is no such room: a mistake of the caller, never of a peer.
    pub(crate) fn seal(&self, session_id: u64, message: &mut [u8]) {
        let (header, plain) = message.split_at_mut(HEADER);
        header[..SIGNATURE].copy_from_slice(&PROTOCOL_ID);
        let nonce = self.next_nonce();
        header[NONCE..36].copy_from_slice(&nonce);
        header[36..40].copy_from_slice(&(plain.len() as u32).to_le_bytes());
        header[40..42].fill(0);
        header[42..44].copy_from_slice(&ENCRYPTED.to_le_bytes());
        header[44..].copy_from_slice(&session_id.to_le_bytes());
        let tag = self.outgoing.encrypt_in_place(&nonce, &header[AUTHENTICATED..], plain);
        header[SIGNATURE..NONCE].copy_from_slice(&tag);
    }

    /// Decrypts in place what follows the transform header at the start of `message` (3.1.5.1). The
    /// caller checks the header's length, flags and session.
    ///
    /// # Errors
    /// The message was sealed with another key, or was changed. The content of `message` is then
    /// undefined.
    pub(crate) fn open(&self, message: &mut [u8]) -> Result<(), DecryptionError> {
        let (header, sealed) = message.split_at_mut_checked(HEADER).ok_or(DecryptionError)?;
        let array = |at: usize| *header[at..].first_chunk().expect("16 bytes of 52");
        self.incoming.decrypt_in_place(&array(NONCE), &header[AUTHENTICATED..], sealed, &array(SIGNATURE))
    }

    fn next_nonce(&self) -> [u8; NONCE_LENGTH] {
        let mut nonce = [0; NONCE_LENGTH];
        nonce[..8].copy_from_slice(&self.used.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        nonce
    }
}

/// A key for one direction, ready for use.
pub(crate) struct SealingKey(CipherKey);

enum CipherKey {
    Gcm(LessSafeKey),
    Ccm(Box<Ccm>),
}

impl SealingKey {
    /// Prepares the key of a cipher: of [`Cipher::key_length`] bytes, as [`SessionKeys`] derives it.
    ///
    /// # Panics
    /// When the key is of another length: a mistake of the caller, never of a peer.
    #[must_use]
    pub(crate) fn new(cipher: Cipher, key: &[u8]) -> Self {
        const FITS: &str = "a key as long as its cipher wants";
        let gcm = |algorithm: &'static Algorithm| {
            CipherKey::Gcm(LessSafeKey::new(UnboundKey::new(algorithm, key).expect(FITS)))
        };
        Self(match cipher {
            Cipher::Aes128Gcm => gcm(&AES_128_GCM),
            Cipher::Aes256Gcm => gcm(&AES_256_GCM),
            Cipher::Aes128Ccm | Cipher::Aes256Ccm => CipherKey::Ccm(Box::new(Ccm::new(key).expect(FITS))),
        })
    }

    /// Encrypts `buffer` where it is; `header` is the transform header from its nonce on. Gives what stands as the
    /// signature in it. A nonce must be used once only.
    #[must_use]
    pub(crate) fn encrypt_in_place(
        &self,
        nonce: &[u8; NONCE_LENGTH],
        header: &[u8],
        buffer: &mut [u8],
    ) -> [u8; TAG_LENGTH] {
        const FITS: &str = "no message is too long for its cipher";
        match &self.0 {
            CipherKey::Gcm(key) => {
                let tag = key.seal_in_place_separate_tag(gcm_nonce(nonce), Aad::from(header), buffer);
                tag.expect(FITS).as_ref().try_into().expect("a tag of 128 bits")
            }
            CipherKey::Ccm(key) => key.encrypt(ccm_nonce(nonce), header, buffer),
        }
    }

    /// Decrypts `buffer` where it is.
    ///
    /// # Errors
    /// The tag is not that of `header` and `buffer`. The content of `buffer` is then undefined.
    pub(crate) fn decrypt_in_place(
        &self,
        nonce: &[u8; NONCE_LENGTH],
        header: &[u8],
        buffer: &mut [u8],
        tag: &[u8; TAG_LENGTH],
    ) -> Result<(), DecryptionError> {
        match &self.0 {
            CipherKey::Gcm(key) => key
                .open_in_place_separate_tag(gcm_nonce(nonce), Aad::from(header), tag, buffer)
                .map(|_| ())
                .map_err(|_| DecryptionError),
            CipherKey::Ccm(key) => key.decrypt(ccm_nonce(nonce), header, buffer, tag),
        }
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl std::fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealingKey(…)")
    }
}

fn gcm_nonce(nonce: &[u8; NONCE_LENGTH]) -> aws_lc_rs::aead::Nonce {
    let first = nonce.first_chunk().expect("12 of 16");
    aws_lc_rs::aead::Nonce::assume_unique_for_key(*first)
}

fn ccm_nonce(nonce: &[u8; NONCE_LENGTH]) -> &[u8; 11] {
    nonce.first_chunk().expect("11 of 16")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// What a transform header says: the nonce, the bytes that are authenticated, the tag.
    fn parts(message: &[u8]) -> ([u8; 16], &[u8], [u8; 16], &[u8]) {
        let (header, sealed) = message.split_at(52);
        let array = |range: std::ops::Range<usize>| header[range].try_into().unwrap();
        (array(20..36), &header[20..], array(4..20), sealed)
    }

    fn check(cipher: Cipher, key: &str, sealed: &str, plain: &str) {
        let (message, plain) = (hex(sealed), hex(plain));
        let (nonce, header, tag, sealed) = parts(&message);
        let prepared = SealingKey::new(cipher, &hex(key));
        let mut buffer = plain.clone();
        assert_eq!(prepared.encrypt_in_place(&nonce, header, &mut buffer), tag);
        assert_eq!(buffer, sealed);
        assert_eq!(prepared.decrypt_in_place(&nonce, header, &mut buffer, &tag), Ok(()));
        assert_eq!(buffer, plain);
    }

    /// "Encryption in SMB 3.0: a protocol perspective" (Microsoft Open Specifications blog, 2012): a WRITE and its response.
    #[test]
    fn messages_of_3_0_are_those_of_the_published_example() {
        check(
            Cipher::Aes128Ccm,
            "261B72350558F2E9DCF613070383EDBF",
            "FD534D4281A286535415445DAE393921E44FA42E66E69A111892584FB5ED524A744DA3EE87000000000001001100001400E40800
             25C8FEE16605A437832D1CD52DA9F4645333482A175FE5384563F45FCDAFAEF38BC62BA4D5C62897996625A44C29BE5658DE2E61
             17585779E7B59FFD971278D08580D7FA899E410E910EABF5AA1DB43050B33B49182637759AC15D84BFCDF5B6B238993C0F4CF4D6
             012023F6C627297075D84B7803912D0A9639634453595EF3E33FFE4E7AC2AB",
            "FE534D4240000100000000000900400008000000000000000400000000000000FFFE0000010000001100001400E4080000000000
             0000000000000000000000003100700017000000000000000000000015010000390000020100000039020000
             00000000000000007000000000000000536D623320656E6372797074696F6E2074657374696E67",
        );
        check(
            Cipher::Aes128Ccm,
            "8FE2B57EC34D2DB5B1A9727F526BBDB5",
            "FD534D42A6015530A18F6D9AFFE22AFAE8E6648486000000000000001100001400E4080050000000000001001100001400E40800
             DBF46435C5F14169293CE079E344479BF670227E49873F458672C3098DAC467DD5809F369D674091665157871483E01F7BECD020
             64EAC3E235F913668BBC2F097980D4B378F1993EFF6E60D177309E5B",
            "FE534D4240000100000000000900210009000000000000000400000000000000FFFE0000010000001100001400E4080000000000
             000000000000000000000000110000001700000000000000 00000000",
        );
    }

    /// "SMB 3.1.1 encryption in Windows 10" (Microsoft Open Specifications blog, 2015): likewise.
    #[test]
    fn messages_of_3_1_1_are_those_of_the_published_example() {
        check(
            Cipher::Aes128Gcm,
            "A2F5E80E5D59103034F32E52F698E5EC",
            "FD534D42BD73D97D2BC9001BCAFAC0FDFF5FEEBCC7D6822D269CAF48904C664C0000000087000000000001002500000000100000
             6ECDD2A7AFC7B47763057A041B8FD4DAFFE990B70C9E09D36C084E02D14EF247F8BDE38ACF6256F8B1D3B56F77FBDEB312FEA5E9
             2CBCC1ED8FB2EBBFAA75E49A4A394BB44576545567C24D4C014D47C9FBDFDAFD2C4F9B72F8D256452620A299F48E29E53D6B61D1
             C13A19E91AF013F00D17E3ABC2FC3D36C8C1B6B93973253852DBD442E46EE8",
            "FE534D4240000100000000000900010008000000000000000500000000000000FFFE000001000000250000000010000000000000
             0000000000000000000000003100700017000000000000000000000006000000040000000100000004000000
             00000000000000007000000000000000536D623320656E6372797074696F6E2074657374696E67",
        );
        check(
            Cipher::Aes128Gcm,
            "748C50868C90F302962A5C35F5F9A8BF",
            "FD534D42ACBE1CB7ED343ADF1725EF144D90D4B0E06831DD2E8EB7B4000000000000000050000000000001002500000000100000
             26BBBF949983A6C1C796559D0F2C510CB651D1F7B6AC8DED32A2A0B8F2D793A815C6F6B848D69767A215841A42D400AE6DDB5F0B
             44173A014973321FDD7950DA6179159B82E03C9E18A050FF0EA1C967",
            "FE534D4240000100000000000900010001000000000000000500000000000000FFFE000001000000250000000010000000000000
             00000000000000000000000011000000170000000000000000000000",
        );
    }

    /// Expected values by OpenSSL (Python's `cryptography`): the end of the ciphertext, then the tag.
    #[test]
    fn each_cipher_takes_its_part_of_the_nonce_for_messages_of_any_length() {
        let key: [u8; 32] = std::array::from_fn(|i| i as u8);
        let nonce = std::array::from_fn(|i| 100 + i as u8);
        for (cipher, length, expected) in [
            (Cipher::Aes256Gcm, 100, "6f04544cae52b457 2b7a0bd1807ba4e6916bbb5a9b46ac11"),
            (Cipher::Aes256Gcm, 300_001, "35fc183e4ae6211c 4999090bf04d84523e0667aa346d1371"),
            (Cipher::Aes128Gcm, 100, "f1488c47426a4744 628bc7ba246d0ef7d8ec3749928d58cc"),
            (Cipher::Aes128Gcm, 300_001, "9b6e506bd3819fa6 c8eca9d05bbb3f101b6a0f4e99d1a4ed"),
            (Cipher::Aes256Ccm, 100, "903e9d8903df00b6 9fb3d96c975263dab9db892fcdf42ee8"),
            (Cipher::Aes256Ccm, 300_001, "52e17cdc40288c72 408ae4742699177919b327801c91fbaa"),
            (Cipher::Aes128Ccm, 100, "524c99095fd50478 31ba682192a9d9ad437946f9756730f8"),
            (Cipher::Aes128Ccm, 300_001, "d6cadae58850b4a0 139efb33ae0e5388902ca7656abd9e9a"),
        ] {
            let prepared = SealingKey::new(cipher, &key[..cipher.key_length()]);
            let plain: Vec<u8> = (0..length).map(|i: u32| (i * 3) as u8).collect();
            let mut buffer = plain.clone();
            let tag = prepared.encrypt_in_place(&nonce, &key, &mut buffer);
            let end = [&buffer[buffer.len() - 8..], &tag].concat();
            assert_eq!(end, hex(expected), "{cipher:?}, {length}");
            assert_eq!(prepared.decrypt_in_place(&nonce, &key, &mut buffer, &tag), Ok(()));
            assert_eq!(buffer, plain);
        }
    }

    #[test]
    fn a_changed_bit_anywhere_is_noticed() {
        for cipher in [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm] {
            let prepared = SealingKey::new(cipher, &[1; 32][..cipher.key_length()]);
            let (nonce, mut buffer) = ([7; 16], [5; 40]);
            let tag = prepared.encrypt_in_place(&nonce, &[2; 32], &mut buffer);
            let open = |header: &[u8], sealed: &[u8], tag: &[u8; 16]| {
                prepared.decrypt_in_place(&nonce, header, &mut sealed.to_vec(), tag)
            };
            assert_eq!(open(&[2; 32], &buffer, &tag), Ok(()));
            for at in 0..16 {
                let (mut header, mut sealed, mut wrong) = ([2; 32], buffer, tag);
                (header[at], sealed[at], wrong[at]) = (3, sealed[at] ^ 1, tag[at] ^ 0x80);
                assert_eq!(open(&header, &buffer, &tag), Err(DecryptionError));
                assert_eq!(open(&[2; 32], &sealed, &tag), Err(DecryptionError));
                assert_eq!(open(&[2; 32], &buffer, &wrong), Err(DecryptionError));
            }
        }
    }

    /// Keys of which the server's outgoing and the client's are the same.
    fn sealer(to_server: u8, to_client: u8) -> Sealer {
        let key = |byte| SealingKey::new(Cipher::Aes128Gcm, &[byte; 16]);
        Sealer { outgoing: key(to_client), incoming: key(to_server), used: AtomicU64::new(0) }
    }

    #[test]
    fn what_the_server_seals_the_client_opens_and_no_nonce_is_given_twice() {
        let (server, client) = (sealer(1, 2), sealer(2, 1));
        let mut nonces = std::collections::HashSet::new();
        for _ in 0..300 {
            let mut message = [[0; HEADER].as_slice(), b"hello"].concat();
            server.seal(0x0102_0304_0506_0708, &mut message);
            // MS-SMB2 2.2.41, field by field.
            assert_eq!(message[..4], [0xFD, 0x53, 0x4D, 0x42]);
            assert_eq!(message[36..44], [5, 0, 0, 0, 0, 0, 1, 0]);
            assert_eq!(message[44..52], [8, 7, 6, 5, 4, 3, 2, 1]);
            assert_eq!(message[31..36], [0; 5], "CCM uses 11 bytes only");
            assert!(nonces.insert(message[20..36].to_vec()));
            assert_eq!(server.open(&mut message.clone()), Err(DecryptionError), "its own message, sent back");
            assert_eq!(client.open(&mut message), Ok(()));
            assert_eq!(message[HEADER..], *b"hello");
        }
        assert_eq!(server.open(&mut [0; 51]), Err(DecryptionError));
    }
}
