//! The parts around the server: the table of settings, the state folder, the control socket and the
//! mount lines for clients.

mod archive;
pub mod control;
pub mod luns;
pub mod recipe;
pub mod settings;
pub mod shell;
mod state;
pub mod video;

pub use archive::{ArchiveError, StateArchive};
pub use settings::{
    Access, ApiSettings, Arguments, AuditScope, Bonjour, BoundPorts, ClassicRules, ClientMatch, ClientRule,
    ClientSec, ClientTls, DenyModes, Diagnostic, Encryption, HostAudience, LogFormat, MacLayout,
    MailSettings, PollSetting, Port, Ports, Protocol, ReadAhead, SambaSid, SearchScope, ServerSettings,
    Settings, ShareSettings, SnapshotFolder, Squash, ToldSettings, TrustedHosts, UserSettings,
};
pub use state::{State, StateError};
