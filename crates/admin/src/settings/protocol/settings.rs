//! The settings of all protocols together.

use std::path::Path;

use super::super::appletalk::{self, AppleTalkSettings};
use super::super::diagnostic::Findings;
use super::super::section::Section;
use super::super::server::ServerSettings;
use super::super::share::LocatedShare;
use super::afp::{self, AfpSettings};
use super::iscsi::{self, IscsiSettings};
use super::nfs::{self, NfsSettings};
use super::smb::{self, SmbSettings};

/// What `[server]` says of each protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolSettings {
    /// NFS.
    pub nfs: NfsSettings,
    /// SMB.
    pub smb: SmbSettings,
    /// AFP.
    pub afp: AfpSettings,
    /// iSCSI.
    pub iscsi: IscsiSettings,
}

/// The settings of a section; relative paths count from `folder`, or from the settings file's folder. `state` is the state folder.
pub(in crate::settings) fn read(
    server: &Section,
    folder: &Path,
    file: Option<&Path>,
    state: &Path,
) -> ProtocolSettings {
    ProtocolSettings {
        nfs: nfs::read(server, folder, file, state),
        smb: smb::read(server),
        afp: afp::read(server),
        iscsi: iscsi::read(server),
    }
}

/// What protocols need that is not in one setting alone.
pub(in crate::settings) fn check(
    server: &Section,
    settings: &ServerSettings,
    (section, over_appletalk): (&Section, Option<&AppleTalkSettings>),
    (sections, shares): (&[Section], &[LocatedShare]),
    findings: &mut Findings,
) {
    appletalk::check(section, over_appletalk, findings);
    nfs::check(server, settings, (sections, shares), findings);
    smb::check(server, &settings.protocols.smb, shares, findings);
    afp::check(server, settings, (section, over_appletalk), findings);
}
