//! Accounts: which users may log in, as which Unix users they act, and the secrets with which each
//! protocol verifies a password.
//!
//! [`AccountFile`] stores them in the state folder. [`Directory`] gives them to a running server
//! through the trait [`Accounts`], with users of the host and of a domain.

pub mod common_text;
mod directory;
mod domain;
mod domain_logon;
pub mod durable;
mod file;
mod forced;
mod host_accounts;
mod host_names;
mod identity;
pub mod in_common;
pub mod kerberos;
mod login_guard;
mod login_limiter;
mod login_log;
mod name;
pub mod ntlm_v2;
mod password_rule;
mod ranks;
mod reason;
pub mod roles;
pub mod samba;
pub mod second_factor;
mod secret;
mod share_policy;
pub mod srp;
mod state_file;
mod totp;
mod unix;

pub use directory::{Account, Accounts, Directory, Refusal, may_go_on};
pub use domain::{
    DirectoryEntry, Domain, DomainOptions, DomainUser, Failure as DomainFailure, IdRange, IdRule, NameKind,
    SidName, UnixIds,
};
pub use domain_logon::{DomainLogon, LoggedOn, LoggingOn, LogonRefused, MemberNames, NtlmResponse};
pub use file::{
    AccountFile, Error, GroupRecord, MOST_GROUPS, MOST_MEMBERS, OWN_NUMBERS, Record, is_group_name,
};
pub use forced::{ForcedGroup, ForcedIdentity};
pub use host_accounts::{HostAccounts, HostPasswords, HostRules, Judging};
pub use host_names::{
    HostName, HostNameService, HostNames, LONGEST_HOST_NAME, LookupFailure, Match, NotAHost, SystemNames,
    first_match, is_host_name, is_host_pattern,
};
pub use identity::{ANONYMOUS, Basis, FileProtocol, Host, Identity, Ids, Origin};
pub use login_guard::{Lines, LoginGuard, LoginRecord};
pub use login_limiter::{Attempt, LoginLimiter, network};
pub use login_log::{Event, Line, Login, LoginLog};
pub use name::{account_key, is_account_name, is_same_name};
pub use password_rule::PasswordRule;
pub use ranks::LoginRecords;
pub use reason::reason;
pub use roles::{Grantee, Role, RoleEntry, RoleSet, Roles};
pub use secret::{LEGACY, MAX_CHAP_SECRET, MIN_CHAP_SECRET, Secret, nt_hash};
pub use share_policy::{Grant, HostRule, HostSet, SharePolicy, Visitor};
pub use state_file::{FileError, StateFile};
pub use unix::{OwnNumbers, UnixAccounts, UnixGroup, UnixUser};
