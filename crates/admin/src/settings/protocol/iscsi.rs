//! The settings of iSCSI.

use super::super::section::Section;
use super::Row;

/// What the program knows of iSCSI.
pub(super) const ROW: Row = Row {
    word: "iscsi",
    title: "iSCSI",
    port: 3260,
    service: "iscsi-target",
    has_datagrams: false,
    files: None,
    users_log_in: false,
    encrypts: false,
    has_volume_passwords: false,
    kerberos: None,
    kernel_server: None,
    goes_over_appletalk: false,
};

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
