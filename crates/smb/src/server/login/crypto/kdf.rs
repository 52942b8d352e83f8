//! The keys of a session, MS-SMB2 3.1.4.2 and 3.3.5.5.3.

use aws_lc_rs::hmac;

use super::preauth::PreauthHash;
use super::sealing::Cipher;

/// How the dialect makes keys of what authentication has agreed on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyScheme<'a> {
    /// 2.0.2 and 2.1: everything is the session key itself.
    Plain,
    /// 3.0 and 3.0.2: derived, each key with a constant of its own.
    Constant,
    /// 3.1.1: derived with the session's preauthentication hash.
    Preauth(&'a PreauthHash),
}

/// A key for encryption, as long as its cipher wants it; empty before 3.0, which has no encryption.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CipherKey {
    bytes: [u8; 32],
    length: usize,
}

/// The keys of a session. Each further channel has its own signing key ([`signing_key`]) and shares the others.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SessionKeys {
    /// Signs, in both directions, on the first channel.
    pub(crate) signing: [u8; 16],
    /// Decrypts what the client sends (`Session.DecryptionKey`).
    pub(crate) client_to_server: CipherKey,
    /// Encrypts what the server sends (`Session.EncryptionKey`).
    pub(crate) server_to_client: CipherKey,
    /// For protocols above SMB (`Session.ApplicationKey`).
    pub(crate) application: [u8; 16],
}

impl CipherKey {
    /// The bytes: 16, 32 or none.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Keys are never shown.
impl std::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKeys(…)")
    }
}

impl std::fmt::Debug for CipherKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CipherKey(…)")
    }
}

impl SessionKeys {
    /// The keys of a session whose login ended with `exported`, the key of the GSS mechanism: 16 bytes from NTLM. The
    /// 256-bit ciphers take all of it, everything else its first 16 bytes (3.3.5.5.3: padded with zeros).
    #[must_use]
    pub(crate) fn derive(scheme: KeyScheme<'_>, exported: &[u8], cipher: Option<Cipher>) -> Self {
        let session_key = session_key(exported);
        let length = cipher.map_or(16, Cipher::key_length);
        let for_cipher = if length == 32 { exported } else { &session_key };
        let cipher_key = |label: &[u8], context: &[u8]| {
            let mut key = CipherKey { bytes: [0; 32], length };
            derive(for_cipher, label, context, &mut key.bytes[..length]);
            key
        };
        let (to_server, to_client, application) = match scheme {
            KeyScheme::Plain => {
                let none = CipherKey { bytes: [0; 32], length: 0 };
                (none.clone(), none, session_key)
            }
            KeyScheme::Constant => (
                cipher_key(b"SMB2AESCCM\0", b"ServerIn \0"),
                cipher_key(b"SMB2AESCCM\0", b"ServerOut\0"),
                short(&session_key, b"SMB2APP\0", b"SmbRpc\0"),
            ),
            KeyScheme::Preauth(hash) => (
                cipher_key(b"SMBC2SCipherKey\0", hash.as_bytes()),
                cipher_key(b"SMBS2CCipherKey\0", hash.as_bytes()),
                short(&session_key, b"SMBAppKey\0", hash.as_bytes()),
            ),
        };
        Self {
            signing: signing_key(scheme, exported),
            client_to_server: to_server,
            server_to_client: to_client,
            application,
        }
    }
}

/// The signing key of a channel (`Channel.SigningKey`): of the key and, in 3.1.1, the preauthentication hash of the
/// SESSION_SETUP that bound it.
#[must_use]
pub(crate) fn signing_key(scheme: KeyScheme<'_>, exported: &[u8]) -> [u8; 16] {
    let session_key = session_key(exported);
    match scheme {
        KeyScheme::Plain => session_key,
        KeyScheme::Constant => short(&session_key, b"SMB2AESCMAC\0", b"SmbSign\0"),
        KeyScheme::Preauth(hash) => short(&session_key, b"SMBSigningKey\0", hash.as_bytes()),
    }
}

fn session_key(exported: &[u8]) -> [u8; 16] {
    let mut key = [0; 16];
    let length = exported.len().min(16);
    key[..length].copy_from_slice(&exported[..length]);
    key
}

fn short(key: &[u8; 16], label: &[u8], context: &[u8]) -> [u8; 16] {
    let mut out = [0; 16];
    derive(key, label, context, &mut out);
    out
}

/// SP800-108 in counter mode with HMAC-SHA256 and a 32-bit counter. One round gives 256 bits, all that is ever wanted.
/// Labels bring the NUL that MS-SMB2 counts to them; the separator comes after it.
fn derive(key: &[u8], label: &[u8], context: &[u8], out: &mut [u8]) {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let mut round = hmac::Context::with_key(&key);
    round.update(&1u32.to_be_bytes());
    round.update(label);
    round.update(&[0]);
    round.update(context);
    round.update(&(out.len() as u32 * 8).to_be_bytes());
    out.copy_from_slice(&round.sign().as_ref()[..out.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    fn hash(digits: &str) -> PreauthHash {
        let mut hash = PreauthHash::new();
        hash.set(hex(digits).try_into().unwrap());
        hash
    }

    /// "The anatomy of signing and cryptographic keys" (Microsoft Open Specifications blog, 2017), 3.1.1 multichannel. Its
    /// names are the client's: it encrypts with what the server decrypts with.
    #[test]
    fn keys_of_3_1_1_are_those_of_the_published_example() {
        let preauth = hash(
            "0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79
             28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01",
        );
        let exported = hex("270E1BA896585EEB7AF3472D3B4C75A7");
        let keys = SessionKeys::derive(KeyScheme::Preauth(&preauth), &exported, Some(Cipher::Aes128Gcm));
        assert_eq!(keys.signing[..], hex("73FE7A9A77BEF0BDE49C650D8CCB5F76"));
        assert_eq!(keys.client_to_server.as_bytes(), hex("629BCBC54422A0F572B97F45989B6073"));
        assert_eq!(keys.server_to_client.as_bytes(), hex("E2AF0DCEFAC68DA71A0DFBD0D1350D74"));
        assert_eq!(keys.application[..], hex("6D7AD7954E9EC61E907B4D473DC178FF"));
        let second = hash(
            "EA3BF912B11CBFEC5B1889E8209614218687F82FA5294521AD3063425E49E88A
             10BD022124CE25123BC9111F52D9566BA88BF46344E6063DC5E3FF0389026F6C",
        );
        let channel = signing_key(KeyScheme::Preauth(&second), &hex("84B9DBB730116A8FA6E9889555C265F9"));
        assert_eq!(channel[..], hex("C962BCA1A9DD1697B030644199705431"));
    }

    /// The same article, 3.0 multichannel, and "Encryption in SMB 3.0: a protocol perspective" (2012).
    #[test]
    fn keys_of_3_0_are_those_of_the_published_examples() {
        let exported = hex("7CD451825D0450D235424E44BA6E78CC");
        let keys = SessionKeys::derive(KeyScheme::Constant, &exported, Some(Cipher::Aes128Ccm));
        assert_eq!(keys.signing[..], hex("0B7E9C5CAC36C0F6EA9AB275298CEDCE"));
        assert_eq!(keys.client_to_server.as_bytes(), hex("FAD27796665B313EBB578F388632B4F7"));
        assert_eq!(keys.server_to_client.as_bytes(), hex("B0F0427F7CEB416D1D9DCC0CD4F99447"));
        assert_eq!(keys.application[..], hex("BB23A4575AA26C721AF525AF15A87B4F"));
        let channel = signing_key(KeyScheme::Constant, &hex("4E01A2B313BCF660CC250BEF021AEDE6"));
        assert_eq!(channel[..], hex("BA1A17DBBFEC349BCA105563D598952F"));
        let exported = hex("B4546771B515F766A86735532DD6C4F0");
        let keys = SessionKeys::derive(KeyScheme::Constant, &exported, Some(Cipher::Aes128Ccm));
        assert_eq!(keys.client_to_server.as_bytes(), hex("261B72350558F2E9DCF613070383EDBF"));
        assert_eq!(keys.server_to_client.as_bytes(), hex("8FE2B57EC34D2DB5B1A9727F526BBDB5"));
    }

    #[test]
    fn before_3_0_the_session_key_signs_padded_with_zeros_or_cut_to_16_bytes() {
        let signing = |exported: &[u8]| signing_key(KeyScheme::Plain, exported);
        assert_eq!(signing(&[1; 24]), [1; 16]);
        assert_eq!(signing(&[1; 8]), [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
