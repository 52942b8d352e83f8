//! Signatures of messages, MS-SMB2 3.1.4.1 and 3.1.5.1.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{cmac, hmac};

use super::gmac::Gmac;

/// Where the SMB2 header keeps what signing needs (MS-SMB2 2.2.1).
const HEADER: usize = 64;
const COMMAND: usize = 12;
const FLAGS: usize = 16;
const MESSAGE_ID: usize = 24;
const SIGNATURE: usize = 48;

const CANCEL: u8 = 0x0C;
const SERVER_TO_REDIR: u8 = 1;

/// What signs, by its number in SMB2_SIGNING_CAPABILITIES (MS-SMB2 2.2.3.1.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SigningAlgorithm {
    /// For 2.0.2 and 2.1.
    HmacSha256 = 0,
    /// For 3.0 and 3.0.2, and 3.1.1 when nothing was agreed on.
    AesCmac = 1,
    /// The fast one.
    AesGmac = 2,
}

/// A signing key, ready for use. In 3.x each channel has its own.
pub(crate) struct Signer(SigningKey);

enum SigningKey {
    HmacSha256(Box<hmac::Key>),
    AesCmac(cmac::Key),
    AesGmac(Box<Gmac>),
}

impl SigningAlgorithm {
    /// As people write it.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HmacSha256 => "HMAC-SHA256",
            Self::AesCmac => "AES-CMAC",
            Self::AesGmac => "AES-GMAC",
        }
    }

    /// The algorithm of a number, if we know it.
    #[must_use]
    #[cfg(any(test, feature = "client"))]
    pub(crate) fn from_id(id: u16) -> Option<Self> {
        [Self::HmacSha256, Self::AesCmac, Self::AesGmac].into_iter().find(|&known| known as u16 == id)
    }

    /// Its number.
    #[must_use]
    pub(crate) fn id(self) -> u16 {
        self as u16
    }
}

impl Signer {
    /// Prepares a key.
    #[must_use]
    pub(crate) fn new(algorithm: SigningAlgorithm, key: &[u8; 16]) -> Self {
        Self(match algorithm {
            SigningAlgorithm::HmacSha256 => {
                SigningKey::HmacSha256(Box::new(hmac::Key::new(hmac::HMAC_SHA256, key)))
            }
            SigningAlgorithm::AesCmac => {
                SigningKey::AesCmac(cmac::Key::new(cmac::AES_128, key).expect("a key of 128 bits"))
            }
            SigningAlgorithm::AesGmac => SigningKey::AesGmac(Box::new(Gmac::new(key))),
        })
    }

    /// Signs a message where it is: one of a compound, padding included. The flag SIGNED and all else must be there
    /// already.
    ///
    /// # Panics
    /// When the message is shorter than a header: a mistake of the caller, never of a peer.
    pub(crate) fn sign(&self, message: &mut [u8]) {
        self.sign_parts(message, &[]);
    }

    /// Signs a message that lies in two places: `head` begins with its SMB2 header, where the signature is put, and
    /// `rest` is what follows, say the data of a READ. Nothing is copied when `head` has a multiple of 16 bytes.
    ///
    /// # Panics
    /// When `head` is shorter than a header: a mistake of the caller, never of a peer.
    pub(crate) fn sign_parts(&self, head: &mut [u8], rest: &[u8]) {
        head[SIGNATURE..HEADER].fill(0);
        let signature = self.signature(head, rest);
        head[SIGNATURE..HEADER].copy_from_slice(&signature);
    }

    /// Whether the signature of a received message is right, in a time that does not depend on it. The message is one
    /// of a compound, padding included (MS-SMB2 3.3.5.2.4).
    #[must_use]
    pub(crate) fn verify(&self, message: &[u8]) -> bool {
        let Some((header, rest)) = message.split_first_chunk::<HEADER>() else { return false };
        let mut unsigned = *header;
        unsigned[SIGNATURE..].fill(0);
        verify_slices_are_equal(&self.signature(&unsigned, rest), &header[SIGNATURE..]).is_ok()
    }

    fn signature(&self, head: &[u8], rest: &[u8]) -> [u8; 16] {
        match &self.0 {
            SigningKey::HmacSha256(key) => {
                let mut mac = hmac::Context::with_key(key);
                mac.update(head);
                mac.update(rest);
                *mac.sign().as_ref().first_chunk().expect("256 bits are more than 128")
            }
            SigningKey::AesCmac(key) => {
                let mut mac = cmac::Context::with_key(key);
                let tag = mac.update(head).and_then(|()| mac.update(rest)).and_then(|()| mac.sign());
                let tag = tag.expect("a prepared key signs anything");
                *tag.as_ref().first_chunk().expect("a tag of 128 bits")
            }
            SigningKey::AesGmac(key) => key.tag(nonce(head), head, rest),
        }
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            SigningKey::HmacSha256(_) => "Signer(HMAC-SHA256)",
            SigningKey::AesCmac(_) => "Signer(AES-CMAC)",
            SigningKey::AesGmac(_) => "Signer(AES-GMAC)",
        })
    }
}

/// The nonce of AES-GMAC: the message id, then whether the server sends it, and whether it is a CANCEL.
fn nonce(head: &[u8]) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&head[MESSAGE_ID..MESSAGE_ID + 8]);
    let is_response = head[FLAGS] & SERVER_TO_REDIR;
    let is_cancel = head[COMMAND..COMMAND + 2] == [CANCEL, 0];
    nonce[8] = is_response | u8::from(is_cancel) << 1;
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    fn message(command: u8, flags: u8, id: u64, body: &[u8]) -> Vec<u8> {
        let mut message = hex("FE534D42 4000 0100 00000000 0000 0100 00000000 00000000 0000000000000000
                               FFFE0000 05000000 1900000000100000 00000000000000000000000000000000");
        (message[COMMAND], message[FLAGS]) = (command, flags);
        message[MESSAGE_ID..MESSAGE_ID + 8].copy_from_slice(&id.to_le_bytes());
        [&message, body].concat()
    }

    fn signed(algorithm: SigningAlgorithm, message: &[u8], cut: usize) -> Vec<u8> {
        let mut message = message.to_vec();
        let signer = Signer::new(algorithm, &KEY);
        let (head, rest) = message.split_at_mut(cut);
        signer.sign_parts(head, rest);
        assert!(signer.verify(&message));
        message[SIGNATURE..HEADER].to_vec()
    }

    /// "The anatomy of signing and cryptographic keys" (Microsoft Open Specifications blog, 2017): the final response to
    /// SESSION_SETUP of the 3.1.1 example, both channels.
    #[test]
    fn aes_cmac_verifies_what_windows_signed() {
        let first = hex("FE534D4240000100000000000100800009000000000000000300000000000000FFFE0000000000001900000000100000
             EBE146DA120BA25FC3376A49DFE31BC10900000048001D00A11B3019A0030A0100A3120410010000003B453CDC3524164200000000");
        let signer = |digits: &str| Signer::new(SigningAlgorithm::AesCmac, &hex(digits).try_into().unwrap());
        assert!(signer("73FE7A9A77BEF0BDE49C650D8CCB5F76").verify(&first));
        let second = hex("FE534D4240000100000000000100800009000000000000000300000000000000FFFE0000000000001900000000100000
             8D604217FFBACF40635BF9D8729921500900000048001D00A11B3019A0030A0100A312041001000000CFB046FC5D368E2200000000");
        assert!(signer("C962BCA1A9DD1697B030644199705431").verify(&second));
        assert!(!signer("C962BCA1A9DD1697B030644199705431").verify(&first));
    }

    /// RFC 4493, section 4, examples 1 and 4.
    #[test]
    fn aes_cmac_is_that_of_the_rfc() {
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c").try_into().unwrap();
        let signer = Signer::new(SigningAlgorithm::AesCmac, &key);
        assert_eq!(signer.signature(&[], &[])[..], hex("bb1d6929e95937287fa37d129b756746"));
        let message = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
                           30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
        let (head, rest) = message.split_at(40);
        assert_eq!(signer.signature(head, rest)[..], hex("51f0bebf7e3b9d92fc49741779363cfe"));
    }

    /// Expected values by OpenSSL (Python's `cryptography`), the nonce of MS-SMB2 3.1.4.1 built by hand.
    #[test]
    fn the_nonce_of_aes_gmac_says_who_sends_and_whether_it_is_a_cancel() {
        let id = 0x0102_0304_0506_0708;
        let tag = |command, flags| {
            signed(SigningAlgorithm::AesGmac, &message(command, flags, id, &[4, 0, 0, 0]), HEADER)
        };
        assert_eq!(tag(0x0D, 8), hex("a9e05fd6b7c0103dad8f0ed563ee028c"));
        assert_eq!(tag(0x0D, 9), hex("0f50a9ae8ebc45956b55e9e3880cf177"));
        assert_eq!(tag(0x0C, 8), hex("60815e3a5735765a029159e7e113b869"));
    }

    /// Expected values by Python's `hmac` and OpenSSL.
    #[test]
    fn hmac_sha256_gives_its_first_half_and_aes_cmac_all() {
        let echo = message(0x0D, 8, 0x0102_0304_0506_0708, &[4, 0, 0, 0]);
        for cut in [64, 66, 68] {
            let hmac = signed(SigningAlgorithm::HmacSha256, &echo, cut);
            assert_eq!(hmac, hex("17816184330abd1efcf6887dbfebcd73"));
            let cmac = signed(SigningAlgorithm::AesCmac, &echo, cut);
            assert_eq!(cmac, hex("e5e1dd037b628324b593bdd584f38720"));
        }
    }

    /// Expected value by OpenSSL.
    #[test]
    fn a_large_reply_is_signed_alike_wherever_its_data_lies() {
        let data: Vec<u8> = (0..20_000u32).map(|i| (i * 7) as u8).collect();
        let reply = message(8, 9, 77, &data);
        for cut in [64, 65, 80, 4096, reply.len()] {
            let tag = signed(SigningAlgorithm::AesGmac, &reply, cut);
            assert_eq!(tag, hex("a1532a78bb9759ab13c64c6cd4aa0c30"), "{cut}");
        }
    }

    #[test]
    fn a_changed_bit_anywhere_is_noticed_and_so_is_a_message_without_a_header() {
        for algorithm in [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac, SigningAlgorithm::AesGmac]
        {
            let signer = Signer::new(algorithm, &KEY);
            let mut good = message(8, 1, 5, &[9; 40]);
            signer.sign(&mut good);
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 0x10;
                assert!(!signer.verify(&bad), "{algorithm:?} at {at}");
            }
            assert!(signer.verify(&good) && !signer.verify(&good[..63]) && !signer.verify(&[]));
        }
    }
}
