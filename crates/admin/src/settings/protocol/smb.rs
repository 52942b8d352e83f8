//! The settings of SMB.

use super::super::diagnostic::Findings;
use super::super::section::Section;
use super::super::server::ServerSettings;
use super::super::share::LocatedShare;

/// The settings of `[server]` for SMB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmbSettings {
    /// Clients must sign.
    pub signing_required: bool,
    /// Whether clients encrypt.
    pub encryption: Encryption,
    /// The oldest dialect that clients may speak, as `3.0.2`.
    pub min_dialect: String,
    /// Clients may cache listings of folders under leases.
    pub directory_leases: bool,
    /// Clients may use the POSIX extensions.
    pub posix: bool,
}

/// The use of encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// No encryption.
    Off,
    /// The client decides.
    Optional,
    /// Unencrypted requests are refused.
    Required,
}

impl ServerSettings {
    /// Whether all clients encrypt what they send, to shares that do not require it, too.
    #[must_use]
    pub fn requires_encryption(&self) -> bool {
        self.protocols.smb.encryption == Encryption::Required
    }
}

pub(super) fn read(server: &Section) -> SmbSettings {
    SmbSettings {
        signing_required: server.text("smb-signing").as_deref() == Some("required"),
        encryption: match server.text("smb-encryption").as_deref() {
            Some("off") => Encryption::Off,
            Some("required") => Encryption::Required,
            _ => Encryption::Optional,
        },
        min_dialect: server.text("smb-min-dialect").unwrap_or_default(),
        directory_leases: server.bool("smb-directory-leases"),
        posix: server.bool("smb-posix"),
    }
}

/// Required encryption needs encryption to be on.
pub(super) fn check(
    server: &Section,
    settings: &SmbSettings,
    shares: &[LocatedShare],
    findings: &mut Findings,
) {
    if settings.encryption != Encryption::Off {
        return;
    }
    for (_, share) in shares.iter().filter(|(_, share)| share.encryption_required) {
        let what = format!("`smb-encryption` is \"off\", and the share {:?} requires encryption", share.name);
        let instead = "write `smb-encryption = \"optional\"`, or take `encryption` of the share away";
        findings.error(server.place_of("smb-encryption"), what, instead);
    }
}
