//! The key of an account, and requests that it signs: JWS (RFC 7515) with ES256 (RFC 7518 3.4), as RFC 8555 6.2 wants them.

use std::path::Path;

use anyhow::anyhow;
use auth::durable;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The file of the key in the state folder.
const FILE: &str = "acme-account.key";

/// Bytes as JWS has them.
pub(super) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The key of an account of an issuer.
pub(super) struct AccountKey {
    pair: EcdsaKeyPair,
}

impl AccountKey {
    /// Reads the key in the state folder, and makes it at the first use.
    ///
    /// # Errors
    /// It cannot be read, made or kept.
    pub(super) fn of(state: &Path) -> anyhow::Result<Self> {
        let file = state.join(FILE);
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let made =
                    EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
                let made = made.map_err(|_| anyhow!("the system gives no random numbers for a key"))?;
                durable::replace(&file, made.as_ref())?;
                made.as_ref().to_vec()
            }
            Err(error) => return Err(anyhow!("{}: {error}", file.display())),
        };
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes);
        let pair =
            pair.map_err(|_| anyhow!("{} is no key; remove it, and a new account is made", file.display()))?;
        Ok(Self { pair })
    }

    /// The public key, RFC 7517. Its members are in the order of their names, as its thumbprint needs them (RFC 7638 3).
    pub(super) fn public(&self) -> Value {
        let point = self.pair.public_key().as_ref(); // 4, x, y: SEC 1 2.3.3
        let half = point.len() / 2;
        let part = |from, to| encoded(point.get(from..to).unwrap_or_default());
        json!({ "crv": "P-256", "kty": "EC", "x": part(1, half + 1), "y": part(half + 1, point.len()) })
    }

    /// What shows that the holder of this key has put a token somewhere, RFC 8555 8.1.
    pub(super) fn authorization(&self, token: &str) -> String {
        let public = self.public();
        let member = |name: &str| public[name].as_str().unwrap_or_default().to_owned();
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, member("x"), member("y"));
        format!("{token}.{}", encoded(Sha256::digest(text)))
    }

    /// A request with this header. Without a payload it only reads (RFC 8555 6.3).
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub(super) fn signed(&self, header: &Value, payload: Option<&Value>) -> anyhow::Result<Vec<u8>> {
        let header = encoded(header.to_string());
        let payload = payload.map(|payload| encoded(payload.to_string())).unwrap_or_default();
        let signature = self.pair.sign(&SystemRandom::new(), format!("{header}.{payload}").as_bytes());
        let signature = signature.map_err(|_| anyhow!("the request cannot be signed"))?;
        let request = json!({ "protected": header, "payload": payload, "signature": encoded(signature) });
        Ok(request.to_string().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_request_is_signed_by_the_key_that_the_folder_keeps() {
        let state = tempfile::tempdir().unwrap();
        let key = AccountKey::of(state.path()).unwrap();
        assert_eq!(AccountKey::of(state.path()).unwrap().public(), key.public());
        let request = key.signed(&json!({ "alg": "ES256" }), Some(&json!({ "a": 1 }))).unwrap();
        let request: Value = serde_json::from_slice(&request).unwrap();
        let text = |name: &str| request[name].as_str().unwrap().to_owned();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(text("signature")).unwrap();
        assert_eq!(signature.len(), 64, "RFC 7518 3.4: R and S of 32 bytes");
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.pair.public_key().as_ref());
        let message = format!("{}.{}", text("protected"), text("payload"));
        public.verify(message.as_bytes(), &signature).unwrap();
        std::fs::write(state.path().join(FILE), "no key").unwrap();
        assert!(AccountKey::of(state.path()).err().unwrap().to_string().contains("a new account is made"));
    }

    #[test]
    fn a_token_is_followed_by_the_thumbprint_of_the_key() {
        let state = tempfile::tempdir().unwrap();
        let key = AccountKey::of(state.path()).unwrap();
        let shown = key.authorization("evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA");
        let (token, print) = shown.split_once('.').unwrap();
        assert_eq!((token, print.len()), ("evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA", 43));
        let public = key.public();
        assert_eq!((public["x"].as_str().unwrap().len(), public["y"].as_str().unwrap().len()), (43, 43));
    }
}
