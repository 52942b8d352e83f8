//! The local security authority: its policy (MS-LSAD), and names for SIDs (MS-LSAT).

mod request;
mod response;

pub use request::{LookUpNames, LookUpSids, LookupVariant, Request};
pub use response::{
    Domain, Luid, NamesResponse, Policy, SidsResponse, TranslatedName, TranslatedSid, accounts_response,
    handle_response, luid_response, policy_response, user_name_response,
};

/// The kind of account that a SID names, `SID_NAME_USE`, MS-LSAT 2.2.13.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameUse {
    User = 1,
    Group = 2,
    Domain = 3,
    Alias = 4,
    WellKnownGroup = 5,
    Unknown = 8,
}
