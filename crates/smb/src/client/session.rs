//! The keys of a login, on the client's side.

use crate::server::Dialect;
use crate::server::login::crypto::kdf::{KeyScheme, SessionKeys, signing_key};
use crate::server::login::crypto::preauth::PreauthHash;
use crate::server::login::crypto::sealing::{Cipher, Sealer};
use crate::server::login::crypto::signing::{Signer, SigningAlgorithm};
use crate::wire::negotiate::Response;
use crate::wire::negotiate_context::Context;
use crate::wire::session_setup::SessionFlags;

/// A login, as one connection has it.
pub struct Session {
    /// Its number.
    pub id: u64,
    /// What the server said of it.
    pub flags: SessionFlags,
    pub(super) signer: Signer,
    pub(super) sealer: Option<Sealer>,
    keys: SessionKeys,
    signing: SigningAlgorithm,
    cipher: Option<Cipher>,
    /// The key for protocols above SMB.
    pub application_key: [u8; 16],
}

/// What keys depend on.
pub(super) struct KeyParameters {
    dialect: Dialect,
    signing: SigningAlgorithm,
    cipher: Option<Cipher>,
}

impl KeyParameters {
    /// What the server has chosen; `None` when it is nothing that this client knows.
    pub(super) fn of(response: &Response) -> Option<Self> {
        let dialect = Dialect::of(response.dialect.0)?;
        let mut agreed = match dialect {
            Dialect::V2_0_2 | Dialect::V2_1 => {
                Self { dialect, signing: SigningAlgorithm::HmacSha256, cipher: None }
            }
            Dialect::V3_0 | Dialect::V3_0_2 => {
                Self { dialect, signing: SigningAlgorithm::AesCmac, cipher: Some(Cipher::Aes128Ccm) }
            }
            Dialect::V3_1_1 => Self { dialect, signing: SigningAlgorithm::AesCmac, cipher: None },
        };
        for context in &response.contexts {
            match context {
                Context::Encryption(ciphers) => {
                    agreed.cipher = ciphers.first().and_then(|cipher| Cipher::from_id(cipher.0));
                }
                Context::Signing(signing) => {
                    agreed.signing = SigningAlgorithm::from_id(signing.first()?.0)?;
                }
                _ => {}
            }
        }
        Some(agreed)
    }

    fn scheme<'a>(&self, hash: &'a PreauthHash) -> KeyScheme<'a> {
        match self.dialect {
            Dialect::V2_0_2 | Dialect::V2_1 => KeyScheme::Plain,
            Dialect::V3_0 | Dialect::V3_0_2 => KeyScheme::Constant,
            Dialect::V3_1_1 => KeyScheme::Preauth(hash),
        }
    }
}

impl Session {
    /// A session that begins with this login.
    pub(super) fn new(id: u64, agreed: &KeyParameters, key: &[u8; 16], hash: &PreauthHash) -> Self {
        let keys = SessionKeys::derive(agreed.scheme(hash), key, agreed.cipher);
        Self::with_keys(id, agreed, keys.clone(), &keys.signing)
    }

    /// Another channel of this session.
    pub(super) fn channel(&self, agreed: &KeyParameters, key: &[u8; 16], hash: &PreauthHash) -> Self {
        let signing = signing_key(agreed.scheme(hash), key);
        let agreed = KeyParameters { cipher: self.cipher, ..*agreed };
        Self::with_keys(self.id, &agreed, self.keys.clone(), &signing)
    }

    /// What signs the requests that bind another connection to it, MS-SMB2 3.2.4.2.3.1: the key of the first channel,
    /// with what is agreed on at the new connection.
    pub(super) fn binder(&self, agreed: &KeyParameters) -> Self {
        let agreed = KeyParameters { cipher: self.cipher, ..*agreed };
        Self::with_keys(self.id, &agreed, self.keys.clone(), &self.keys.signing)
    }

    fn with_keys(id: u64, agreed: &KeyParameters, keys: SessionKeys, signing: &[u8; 16]) -> Self {
        // What one side sends the other receives.
        let other = SessionKeys {
            client_to_server: keys.server_to_client.clone(),
            server_to_client: keys.client_to_server.clone(),
            ..keys.clone()
        };
        Self {
            id,
            flags: SessionFlags::NONE,
            signer: Signer::new(agreed.signing, signing),
            sealer: agreed.cipher.map(|cipher| Sealer::new(cipher, &other)),
            application_key: keys.application,
            keys,
            signing: agreed.signing,
            cipher: agreed.cipher,
        }
    }

    /// The same session with random keys that no other session has.
    #[must_use]
    pub fn with_wrong_keys(&self) -> Self {
        let agreed = KeyParameters { dialect: Dialect::V3_0, signing: self.signing, cipher: self.cipher };
        let keys = SessionKeys::derive(KeyScheme::Constant, &[0x77; 16], self.cipher);
        Self::with_keys(self.id, &agreed, keys.clone(), &keys.signing)
    }

    /// The same keys under another session id.
    #[must_use]
    pub fn by_another_number(&self, id: u64) -> Self {
        let agreed = KeyParameters { dialect: Dialect::V3_0, signing: self.signing, cipher: self.cipher };
        Self::with_keys(id, &agreed, self.keys.clone(), &self.keys.signing)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({:#x})", self.id)
    }
}
