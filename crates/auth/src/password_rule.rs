//! What a new password must have.

use std::collections::BTreeSet;
use std::fmt;

/// The rule for passwords that are set over the network. The command line of the server takes others, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordRule;

impl PasswordRule {
    /// The fewest characters. The name of the account, in any case of letters, does not count.
    pub const CHARACTERS: usize = 10;
    /// The fewest different characters among them.
    pub const DIFFERENT: usize = 5;

    /// Whether an account may have a password.
    #[must_use]
    pub fn accepts(self, account: &str, password: &str) -> bool {
        let rest = without(account, password);
        let different = rest.iter().collect::<BTreeSet<_>>().len();
        rest.len() >= Self::CHARACTERS && different >= Self::DIFFERENT
    }
}

/// The characters of a password, in lower case, that are not the account's name.
fn without(account: &str, password: &str) -> Vec<char> {
    let (account, password) = (account.to_lowercase(), password.to_lowercase());
    match account.is_empty() {
        true => password.chars().collect(),
        false => password.replace(&account, "").chars().collect(),
    }
}

impl fmt::Display for PasswordRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at least {} characters, {} of them different; the name of the account does not count",
            Self::CHARACTERS,
            Self::DIFFERENT
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_varied_without_the_name() {
        for good in ["correct horse", "0123456789", "secret of ada", "пароль-пароль"] {
            assert!(PasswordRule.accepts("ada", good), "{good}");
        }
        for bad in
            ["", "secret", "012345678", "aaaaaaaaaaaaaaaa", "ada1234567", "AdaAdaAda123456", "ababababab"]
        {
            assert!(!PasswordRule.accepts("ada", bad), "{bad}");
        }
    }
}
