//! `tokens.toml` in the state folder: the tokens by which programs identify themselves to the API.
//!
//! The file has the SHA-256 of each token, never the token: it has 256 random bits, so that a slow hash adds nothing.

use std::path::Path;

use auth::{FileError, StateFile, durable};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wire::hex;

const TOKENS: StateFile = StateFile { format: 1, if_damaged: ", or remove it and make the tokens anew" };
const FILE: &str = "tokens.toml";
/// The beginning of each token, by which people and secret scanners recognize it.
const PREFIX: &str = "fourfold_";
/// Random bytes of a token.
const BYTES: usize = 32;
/// The most tokens of a server.
const MOST_TOKENS: usize = 1000;
/// The longest name of a token in bytes.
const LONGEST_NAME: usize = 64;

/// What a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// `/metrics`.
    Metrics,
    /// All `GET` requests of `/v1`.
    Read,
    /// All requests.
    Write,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Metrics, Self::Read, Self::Write];

    /// The word in commands and in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Whether it includes another scope.
    fn includes(self, wanted: Self) -> bool {
        self == wanted || self == Self::Write
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its name, which is unique.
    pub name: String,
    /// What it permits.
    pub scopes: Vec<Scope>,
    /// Seconds since 1970.
    pub created: u64,
    /// The SHA-256 of the token in hexadecimal digits.
    sha256: String,
}

impl Token {
    /// Whether it permits requests of this scope.
    #[must_use]
    pub fn permits(&self, wanted: Scope) -> bool {
        self.scopes.iter().any(|scope| scope.includes(wanted))
    }
}

/// Why tokens were not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A token with this name exists.
    #[error(
        "there is a token {0:?} already; `fourfold token remove` removes it, and another name makes another one"
    )]
    Exists(String),
    /// There is no token with this name.
    #[error("there is no token {0:?}; `fourfold token list` shows them")]
    Missing(String),
    /// The name is not allowed.
    #[error(
        "{0:?} cannot be the name of a token: it has 1 to {LONGEST_NAME} letters, digits, dots, hyphens and underscores"
    )]
    BadName(String),
    /// There are too many.
    #[error("there are {MOST_TOKENS} tokens already; remove one")]
    TooMany,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for the token")]
    NoRandomness,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredTokens {
    format: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    token: Vec<Token>,
}

/// The tokens of a state folder.
///
/// # Errors
/// The file cannot be read or parsed. A missing file stands for no tokens.
pub fn read(state: &Path) -> Result<Vec<Token>, TokenError> {
    Ok(TOKENS.read::<StoredTokens>(&state.join(FILE))?.map(|written| written.token).unwrap_or_default())
}

/// Makes a token and returns its secret, which is shown once.
///
/// # Errors
/// See [`TokenError`]; nothing was written.
pub fn create(state: &Path, name: &str, scopes: &[Scope]) -> Result<String, TokenError> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_of_name) {
        return Err(TokenError::BadName(name.into()));
    }
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|_| TokenError::NoRandomness)?;
    let secret = format!("{PREFIX}{}", hex::encode(&bytes));
    edit(state, |tokens| {
        if tokens.iter().any(|token| token.name == name) {
            return Err(TokenError::Exists(name.into()));
        }
        if tokens.len() >= MOST_TOKENS {
            return Err(TokenError::TooMany);
        }
        let mut scopes = scopes.to_vec();
        scopes.sort();
        scopes.dedup();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let created = now.map_or(0, |since| since.as_secs());
        tokens.push(Token { name: name.into(), scopes, created, sha256: hash(&secret) });
        Ok(())
    })?;
    Ok(secret)
}

/// Removes a token. A running server refuses it from the next request on.
///
/// # Errors
/// See [`TokenError`].
pub fn remove(state: &Path, name: &str) -> Result<(), TokenError> {
    edit(state, |tokens| {
        let before = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == before { Err(TokenError::Missing(name.into())) } else { Ok(()) }
    })
}

fn edit(
    state: &Path,
    change: impl FnOnce(&mut Vec<Token>) -> Result<(), TokenError>,
) -> Result<(), TokenError> {
    let path = state.join(FILE);
    let _lock = durable::lock(&state.join("tokens.lock")).map_err(FileError::io(&path))?;
    let mut token = read(state)?;
    change(&mut token)?;
    Ok(TOKENS.write(&path, &StoredTokens { format: TOKENS.format, token })?)
}

/// The token with this secret. The comparison of hashes tells nothing about the secret by the time it takes.
#[must_use]
pub(crate) fn find<'a>(tokens: &'a [Token], secret: &str) -> Option<&'a Token> {
    let hash = hash(secret);
    tokens.iter().find(|token| token.sha256 == hash)
}

fn hash(secret: &str) -> String {
    hex::encode(&Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_found_and_removed_and_its_secret_is_not_kept() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(read(state.path()).unwrap(), []);
        let secret = create(state.path(), "grafana", &[Scope::Metrics, Scope::Metrics]).unwrap();
        let other = create(state.path(), "script", &[Scope::Read]).unwrap();
        assert!(secret.starts_with("fourfold_") && secret.len() == 9 + 64 && secret != other);
        let tokens = read(state.path()).unwrap();
        let found = find(&tokens, &secret).unwrap();
        assert_eq!((found.name.as_str(), &found.scopes[..]), ("grafana", &[Scope::Metrics][..]));
        assert!(found.permits(Scope::Metrics) && !found.permits(Scope::Read));
        assert_eq!(find(&tokens, &secret[..72]), None);
        let file = state.path().join(FILE);
        assert!(!std::fs::read_to_string(&file).unwrap().contains(&secret[9..]));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        remove(state.path(), "grafana").unwrap();
        assert_eq!(find(&read(state.path()).unwrap(), &secret), None);
    }

    #[test]
    fn refusals_name_the_next_step() {
        let state = tempfile::tempdir().unwrap();
        create(state.path(), "one", &[Scope::Write]).unwrap();
        let again = create(state.path(), "one", &[Scope::Read]).unwrap_err().to_string();
        assert!(again.contains("fourfold token remove"), "{again}");
        for name in ["", "a b", "../x", &"n".repeat(65)] {
            assert!(matches!(create(state.path(), name, &[]), Err(TokenError::BadName(_))), "{name}");
        }
        assert!(matches!(remove(state.path(), "two"), Err(TokenError::Missing(_))));
        std::fs::write(state.path().join(FILE), "format = 7\n").unwrap();
        let newer = read(state.path()).unwrap_err().to_string();
        assert!(newer.contains("has format 7"), "{newer}");
        assert!(create(state.path(), "two", &[]).is_err(), "a file that is not understood stays");
    }

    #[test]
    fn write_includes_the_other_scopes() {
        let token =
            |scope| Token { name: String::new(), scopes: vec![scope], created: 0, sha256: String::new() };
        let permitted = |scope| Scope::ALL.map(|wanted| token(scope).permits(wanted));
        assert_eq!(permitted(Scope::Write), [true; 3]);
        assert_eq!(permitted(Scope::Read), [false, true, false]);
    }
}
