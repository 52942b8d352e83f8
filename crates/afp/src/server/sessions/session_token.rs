//! Tokens, which prove that a client has had a session, Apple Filing Protocol Reference,
//! FPGetSessionToken.
//!
//! A token is the session's number and a secret of 192 random bits. The number identifies the
//! session. The secret is compared in constant time, so that it cannot be guessed byte by byte.

use std::fmt;

use wire::{Malformed, Reader, Writer};

const SECRET: usize = 24;

/// The longest identifier of a client.
pub(in crate::server) const MAX_NAME: usize = 256;

/// The secret part of a token.
#[derive(PartialEq, Eq)]
pub(in crate::server) struct TokenSecret([u8; SECRET]);

impl TokenSecret {
    /// A new secret, if the host has random bytes.
    pub(in crate::server) fn random() -> Option<Self> {
        let mut bytes = [0; SECRET];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Whether these bytes are the secret.
    pub(in crate::server) fn is(&self, offered: &[u8]) -> bool {
        let difference = self.0.iter().zip(offered).fold(0, |all, (ours, theirs)| all | (ours ^ theirs));
        offered.len() == SECRET && std::hint::black_box(difference) == 0
    }

    /// The token of the session with this number.
    pub(in crate::server) fn token(&self, session: u64) -> Vec<u8> {
        let mut w = Writer::new();
        w.u64_be(session);
        w.put(&self.0);
        w.into_bytes()
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}

/// The session that a token names, and the claimed secret.
pub(in crate::server) fn parts(token: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut r = Reader::new(token);
    let session = r.u64_be()?;
    Ok((session, r.rest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_session_and_no_other_secret_passes() {
        let (one, other) = (TokenSecret::random().unwrap(), TokenSecret::random().unwrap());
        let token = one.token(5);
        assert_eq!(token.len(), 32);
        let (session, secret) = parts(&token).unwrap();
        assert!(session == 5 && one.is(secret) && !other.is(secret));
        assert!(!one.is(&secret[..23]) && !one.is(&[]) && !one.is(&[secret, &[0]].concat()));
        for at in 0..secret.len() {
            let mut forged = secret.to_vec();
            forged[at] ^= 0x10;
            assert!(!one.is(&forged), "{at}");
        }
        assert!(parts(&[0; 7]).is_err());
    }
}
