//! The accounts of a directory by their names. A login finds one of thousands without a walk.

use std::collections::HashMap;

use super::Account;

/// Accounts with different names.
#[derive(Debug, Clone, Default)]
pub(super) struct AccountTable {
    /// In the order in which they were made.
    accounts: Vec<Account>,
    by_name: HashMap<String, usize>,
    /// The places of those whose names differ in case only.
    by_key: HashMap<String, Vec<usize>>,
    /// How many can log in, but not by a verifier.
    without_verifier: usize,
}

impl AccountTable {
    /// Adds an account, or replaces the one with exactly its name.
    pub(super) fn put(&mut self, account: Account) {
        self.without_verifier += usize::from(account.lacks_verifier());
        if let Some(&at) = self.by_name.get(&account.name) {
            self.without_verifier -= usize::from(self.accounts[at].lacks_verifier());
            self.accounts[at] = account;
            return;
        }
        let at = self.accounts.len();
        self.by_name.insert(account.name.clone(), at);
        self.by_key.entry(crate::account_key(&account.name)).or_default().push(at);
        self.accounts.push(account);
    }

    pub(super) fn all(&self) -> &[Account] {
        &self.accounts
    }

    /// The account with exactly this name.
    pub(super) fn find(&self, name: &str) -> Option<&Account> {
        self.by_name.get(name).map(|&at| &self.accounts[at])
    }

    /// Those whose names differ from this one in case only, the first one first.
    pub(super) fn alike(&self, name: &str) -> impl Iterator<Item = &Account> {
        let places = self.by_key.get(&crate::account_key(name));
        places.into_iter().flatten().map(|&at| &self.accounts[at])
    }

    /// Whether all that can log in have a verifier.
    pub(super) fn have_verifiers(&self) -> bool {
        self.without_verifier == 0
    }
}

impl Account {
    fn lacks_verifier(&self) -> bool {
        !self.disabled && !self.secrets.is_empty() && !self.has_verifier()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Identity, Secret};

    fn account(name: &str, secrets: Vec<Secret>) -> Account {
        Account { name: name.into(), identity: Identity::anonymous(), disabled: false, secrets }
    }

    #[test]
    fn names_are_found_exactly_and_in_any_case() {
        let mut table = AccountTable::default();
        ["ada", "ADA", "grace"].iter().for_each(|name| table.put(account(name, Vec::new())));
        table.put(account("ada", vec![Secret::Nt([0; 16])]));
        let names = |found: Vec<&Account>| found.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(table.all().iter().collect()), ["ada", "ADA", "grace"]);
        assert_eq!(names(table.alike("Ada").collect()), ["ada", "ADA"]);
        assert_eq!(table.find("ada").unwrap().secrets.len(), 1);
        assert!(table.find("Ada").is_none() && table.alike("alan").next().is_none());
    }

    #[test]
    fn an_account_that_gets_a_verifier_lacks_none() {
        let mut table = AccountTable::default();
        table.put(account("ada", vec![Secret::Nt([0; 16])]));
        assert!(!table.have_verifiers());
        table.put(account("ada", Secret::of_run("ada", "one").unwrap()));
        assert!(table.have_verifiers());
    }
}
