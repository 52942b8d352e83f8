//! SRP-6a with SHA-1 over the group of 1536 bits, RFC 5054: a client proves that it knows the
//! password without sending it. The server stores only a verifier.

use std::sync::LazyLock;

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, U1536};
use sha1::{Digest, Sha1};

/// Bytes of a number of the group.
pub const LEN: usize = 192;
/// Bytes of a salt.
pub const SALT: usize = 16;
/// Bytes of a hash.
pub const HASH: usize = 20;
/// Bits of a hash, and so of the private key of a password.
const HASH_BITS: u32 = 160;
/// RFC 5054, Appendix A, number 2: a safe prime.
const MODULUS: Odd<U1536> = Odd::<U1536>::from_be_hex(concat!(
    "9def3cafb939277ab1f12a8617a47bbbdba51df499ac4c80beeea9614b19cc4d5f4f5f556e27cbde51c6a94be4607a29",
    "1558903ba0d0f84380b655bb9a22e8dcdf028a7cec67f0d08134b1c8b97989149b609e0be3bab63d47548381dbc5b1fc",
    "764e3f4b53dd9da1158bfd3e2b9c8cf56edf019539349627db2fd53d24b7c48665772e437d6c7f8ce442734af7ccb7ae",
    "837c264ae3a9beb87f8a2fe9b8b5292e5a021fff5e91479e8ce7a28c2442c6f315180f93499a234dcf76e3fed135f9bb",
));
/// The generator of the group.
pub const GENERATOR: u8 = 2;

type Form = FixedMontyForm<{ U1536::LIMBS }>;

static PARAMETERS: LazyLock<FixedMontyParams<{ U1536::LIMBS }>> =
    LazyLock::new(|| FixedMontyParams::new_vartime(MODULUS));
static MULTIPLIER: LazyLock<Form> = LazyLock::new(|| {
    let mut generator = [0; LEN];
    generator[LEN - 1] = GENERATOR;
    form(&sha1(&[&modulus(), &generator]))
});

/// The stored verifier of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// Hashed with the password.
    pub salt: [u8; SALT],
    /// The generator to the power of that hash.
    pub value: [u8; LEN],
}

impl Verifier {
    /// The verifier of a name and a password, RFC 5054, 2.4. The name must have the form that users
    /// type at each login.
    #[must_use]
    pub fn of(name: &str, password: &str, salt: [u8; SALT]) -> Self {
        IdentityHash::of(name, password, salt).verifier()
    }
}

/// What a verifier is derived from: for passwords that are read anew at each start, so that nothing is derived before a
/// login. Who has it can log in by this method.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentityHash {
    /// Hashed with the password.
    pub salt: [u8; SALT],
    /// SHA-1 of the name, a colon and the password.
    pub hash: [u8; HASH],
}

impl IdentityHash {
    /// That of a name and a password.
    #[must_use]
    pub fn of(name: &str, password: &str, salt: [u8; SALT]) -> Self {
        Self { salt, hash: sha1(&[name.as_bytes(), b":", password.as_bytes()]) }
    }

    /// The verifier. It takes a time that does not depend on the hash.
    #[must_use]
    pub fn verifier(&self) -> Verifier {
        let value = form(&[GENERATOR]).pow_bounded_exp(&self.private_key(), HASH_BITS);
        Verifier { salt: self.salt, value: bytes(&value) }
    }

    /// x of RFC 5054, 2.4.
    fn private_key(&self) -> U1536 {
        U1536::from_be_slice(&widened(&sha1(&[&self.salt, &self.hash])))
    }
}

/// The group's prime.
#[must_use]
pub fn modulus() -> [u8; LEN] {
    unsigned(&MODULUS)
}

/// The server's side of one login.
pub struct Server {
    verifier: Form,
    private: U1536,
    public: [u8; LEN],
}

impl Server {
    /// A login with a private key made from random bytes, RFC 5054, 2.5.3.
    #[must_use]
    pub fn new(verifier: &[u8; LEN], random: &[u8; LEN]) -> Self {
        let verifier = form(verifier);
        let private = U1536::from_be_slice(random);
        let public = MULTIPLIER.mul(&verifier).add(&power(&form(&[GENERATOR]), &private));
        Self { verifier, private, public: bytes(&public) }
    }

    /// The server's public number B.
    #[must_use]
    pub fn public(&self) -> &[u8; LEN] {
        &self.public
    }

    /// The shared number of both sides if the password is right, RFC 5054, 2.6. `None` if the
    /// client's number A would make it predictable.
    #[must_use]
    pub fn secret(&self, client: &[u8]) -> Option<[u8; LEN]> {
        let mut padded = [0; LEN];
        padded[LEN.checked_sub(client.len())?..].copy_from_slice(client);
        let number = form(&padded);
        let scramble = U1536::from_be_slice(&widened(&sha1(&[&padded, &self.public])));
        if number.retrieve() == U1536::ZERO || scramble == U1536::ZERO {
            return None;
        }
        let base = number.mul(&self.verifier.pow_bounded_exp(&scramble, HASH_BITS));
        Some(bytes(&power(&base, &self.private)))
    }
}

/// The power, in a time that does not depend on the numbers.
fn power(base: &Form, exponent: &U1536) -> Form {
    base.pow(exponent)
}

/// A number of the group.
fn form(bytes: &[u8]) -> Form {
    let number = U1536::from_be_slice(&widened(bytes));
    Form::new(&number.rem(MODULUS.as_nz_ref()), &PARAMETERS)
}

fn bytes(number: &Form) -> [u8; LEN] {
    unsigned(&number.retrieve())
}

fn unsigned(number: &U1536) -> [u8; LEN] {
    let mut out = [0; LEN];
    out.copy_from_slice(number.to_be_bytes().as_ref());
    out
}

/// At most [`LEN`] bytes, with leading zeros.
fn widened(bytes: &[u8]) -> [u8; LEN] {
    let mut out = [0; LEN];
    out[LEN - bytes.len()..].copy_from_slice(bytes);
    out
}

fn sha1(parts: &[&[u8]]) -> [u8; HASH] {
    parts.iter().fold(Sha1::new(), |hash, part| hash.chain_update(part)).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_private_key_is_that_of_rfc_5054_appendix_b() {
        let salt = wire::hex::decode::<16>("beb25379d1a8581eb5a727673a2441ee").unwrap();
        let x = IdentityHash::of("alice", "password123", salt).private_key();
        let expected = "94b7555aabe9127cc58ccf4993db6cf84d16c124";
        assert_eq!(wire::hex::encode(&unsigned(&x)[LEN - 20..]), expected);
    }

    #[test]
    fn a_verifier_is_the_generator_to_the_power_of_the_private_key() {
        let hash = IdentityHash::of("ada", "secret", [7; SALT]);
        let expected = bytes(&power(&form(&[GENERATOR]), &hash.private_key()));
        assert!(
            hash.verifier().value == expected && Verifier::of("ada", "secret", [7; SALT]).value == expected
        );
    }

    #[test]
    fn a_client_that_would_make_the_secret_known_is_refused() {
        let verifier = Verifier::of("ada", "secret", [7; SALT]);
        let server = Server::new(&verifier.value, &[9; LEN]);
        assert!(server.secret(&[]).is_none() && server.secret(&[0; LEN]).is_none());
        assert!(server.secret(&modulus()).is_none());
        assert!(server.secret(&[1; LEN + 1]).is_none());
        assert!(server.secret(&[1]).is_some());
    }
}
