//! The settings of iSCSI.

use super::super::section::Section;

/// The settings of `[server]` for iSCSI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IscsiSettings {
    /// The prefix of the names of targets; `None`: a name with the server's own id.
    pub name: Option<String>,
    /// The account with which the server authenticates itself to initiators.
    pub account: Option<String>,
}

pub(super) fn read(server: &Section) -> IscsiSettings {
    IscsiSettings { name: server.text("iscsi-name"), account: server.text("iscsi-account") }
}
