//! Accounts: who may log in, as whom they act, and what each protocol needs to verify a password.

mod name;

pub use name::is_account_name;
