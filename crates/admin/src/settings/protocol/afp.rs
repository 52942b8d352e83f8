//! The settings of AFP.

use super::super::appletalk::AppleTalkSettings;
use super::super::diagnostic::Findings;
use super::super::port::Port;
use super::super::section::Section;
use super::super::server::ServerSettings;
use super::Protocol;

/// The settings of `[server]` for AFP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfpSettings {
    /// The login methods.
    pub logins: Vec<Login>,
    /// Clients may change their account's password.
    pub change_password: bool,
    /// The signature by which clients distinguish servers; `None`: the server's own id.
    pub signature: Option<[u8; 16]>,
    /// The greeting that clients show after a login.
    pub greeting: Option<String>,
}

/// The login methods of AFP for users with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// DHX2: the password, encrypted with a negotiated key.
    Dhx2,
    /// SRP: a proof of the password.
    Srp,
    /// DHX: like DHX2, but with a key that is too short today.
    Dhx,
    /// The unencrypted password.
    Cleartext,
    /// A DES challenge.
    Randnum,
    /// Two DES challenges, one in each direction.
    TwoWayRandnum,
}

impl Login {
    /// All methods, the better ones first.
    pub const ALL: [Self; 6] =
        [Self::Dhx2, Self::Srp, Self::Dhx, Self::Cleartext, Self::Randnum, Self::TwoWayRandnum];

    /// The word used in settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dhx2 => "dhx2",
            Self::Srp => "srp",
            Self::Dhx => "dhx",
            Self::Cleartext => "cleartext",
            Self::Randnum => "randnum",
            Self::TwoWayRandnum => "2-way-randnum",
        }
    }

    /// What an eavesdropper on the network learns; `None`: nothing.
    #[must_use]
    pub fn gives_away(self) -> Option<&'static str> {
        match self {
            Self::Dhx2 | Self::Srp => None,
            Self::Dhx => Some("who listens on the network can compute the key, and read the password"),
            Self::Cleartext => Some("who listens on the network reads the password"),
            Self::Randnum | Self::TwoWayRandnum => {
                Some("who listens on the network finds the first eight characters of the password in hours")
            }
        }
    }
}

pub(super) fn read(server: &Section) -> AfpSettings {
    let words = server.texts("afp-logins");
    AfpSettings {
        logins: Login::ALL
            .into_iter()
            .filter(|login| words.iter().any(|word| word == login.word()))
            .collect(),
        change_password: server.bool("afp-change-password"),
        signature: server.identity("afp-signature"),
        greeting: server.text("afp-greeting").filter(|text| !text.trim().is_empty()),
    }
}

/// Logins with weak protection are allowed, because old Macs have no others, but their user must
/// know about it. Clients come over AppleTalk, too, if the section of its settings has links.
pub(super) fn check(
    server: &Section,
    settings: &ServerSettings,
    (section, over_appletalk): (&Section, Option<&AppleTalkSettings>),
    findings: &mut Findings,
) {
    let logins = &settings.protocols.afp.logins;
    if over_appletalk.is_some() {
        check_for_old_macs(section, logins, findings);
    } else if settings.ports.of(Protocol::Afp) == Port::Off {
        return;
    }
    for login in logins {
        let Some(why) = login.gives_away() else { continue };
        let what = format!("AFP logins by {:?}: {why}", login.word());
        findings.note(server.place_of("afp-logins"), what, "keep it to networks you trust");
    }
}

fn check_for_old_macs(appletalk: &Section, logins: &[Login], findings: &mut Findings) {
    if !logins.iter().any(|login| !matches!(login, Login::Dhx2 | Login::Srp)) {
        let what = "most Macs over AppleTalk know neither `dhx2` nor `srp`, so only guests log in there";
        let instead =
            "add `randnum` or `cleartext` to `afp-logins` if you trust the network (docs/appletalk.md)";
        findings.note(appletalk.place_of("links"), what, instead);
    }
}
