//! The declarations of an initiator in its first request.

use super::name::iscsi_name;
use crate::wire::keys::{KeyValue, MAX_SIMPLE};
use crate::wire::pdu::LoginStatus;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoginDeclaration {
    /// InitiatorName, in lower case.
    pub(super) initiator: String,
    /// InitiatorAlias.
    pub(super) alias: Option<String>,
    /// TargetName, in lower case. `None` in a discovery session.
    pub(super) target: Option<String>,
    /// The request has a TargetName, whatever the session's type is.
    pub(super) names_target: bool,
}

/// Keys that initiators declare in their first request, RFC 7143 6.2 and 13.4 to 13.6, 13.21.
pub(super) const FIRST: [&str; 3] = ["InitiatorName", "SessionType", "TargetName"];
/// A key that initiators may also declare later.
pub(super) const ALIAS: &str = "InitiatorAlias";
/// Keys that only targets declare.
pub(super) const OF_TARGETS: [&str; 3] = ["TargetAddress", "TargetAlias", "TargetPortalGroupTag"];

impl LoginDeclaration {
    /// Reads all pairs of the first request.
    pub(super) fn of(said: &[KeyValue<'_>]) -> Result<Self, LoginStatus> {
        let find = |key: &str| said.iter().find(|pair| pair.key == key).map(|pair| pair.value);
        let initiator = find("InitiatorName").ok_or(LoginStatus::MISSING_PARAMETER)?;
        let initiator = iscsi_name(initiator).ok_or(LoginStatus::INITIATOR_ERROR)?;
        let target = match find("SessionType") {
            Some("Discovery") => None,
            Some("Normal") | None => {
                let target = find("TargetName").ok_or(LoginStatus::MISSING_PARAMETER)?;
                Some(iscsi_name(target).ok_or(LoginStatus::NOT_FOUND)?)
            }
            Some(_) => return Err(LoginStatus::SESSION_TYPE_NOT_SUPPORTED),
        };
        let alias = find(ALIAS).filter(|alias| alias.len() <= MAX_SIMPLE).map(str::to_owned);
        Ok(Self { initiator, alias, target, names_target: find("TargetName").is_some() })
    }
}
