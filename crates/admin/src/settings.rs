//! The settings. One table in code ([`SETTINGS`]) defines each setting once. Everything else
//! derives from it: the parser, its error messages, the defaults, `--help`, and the page
//! `docs/settings.md`.
//!
//! ```text
//! settings file ─► file::read ─┐
//!                              ├─► Section (checked values and their places) ─► build ─► Settings
//! command line ─► flags ───────┘
//! ```

mod accounts;
mod acme;
mod api;
mod appletalk;
mod authority;
mod build;
mod classic;
mod client_rule;
mod cluster;
mod defaults;
mod diagnostic;
mod domain;
mod edit;
mod effective;
mod file;
mod flags;
mod folder;
mod foreign;
mod homes;
mod host_accounts;
mod hosts;
pub mod in_common;
mod kind;
mod link;
mod lun;
mod mac_policy;
mod mentions;
mod model;
mod over_network;
mod page;
mod poll;
mod port;
mod preset;
pub mod protocol;
mod reload;
mod roots;
mod samba_sid;
mod scope;
mod secret;
mod section;
mod server;
mod setting;
mod share;
mod subject;
mod suggest;
mod table;
mod team;
mod told;
pub mod units;

pub use self::acme::{AcmeChallenge, AcmeSettings};
pub use self::appletalk::{AppleTalkSeed, AppleTalkSettings};
pub use accounts::USER_VARIABLE;
pub use api::ApiSettings;
pub use authority::{Authority, ChangeDemand, Demand};
pub use build::Explanation;
pub use classic::ClassicRules;
pub use client_rule::{Access, ClientRule, Squash};
pub use cluster::{ClusterAddress, ClusterSettings, EtcdSettings, EtcdTls};
pub use defaults::{candidates, default_port, default_state, find_file};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use edit::{Edit, EditError};
pub use effective::{Property, Source};
pub use flags::Arguments;
pub use folder::{Absence, FolderPlace};
pub use kind::{ClientMatch, Kind, LONGEST_TARGET_NAME, MOST_NUMBER, is_lun_name};
pub use lun::{LunPlaces, LunSettings, inside};
pub use mac_policy::{MacAlert, MacPolicy, is_mac_name};
pub use mentions::{Mention, MentionRole};
pub use model::{
    DenyModes, MacLayout, ReadAhead, SearchScope, Settings, ShareSettings, SnapshotFolder, UserSettings,
};
pub use page::{PAGE_TITLE, page};
pub use poll::PollSetting;
pub use port::Port;
pub use protocol::{
    BoundPorts, ClientSec, ClientTls, Encryption, HostAudience, PerProtocol, Ports, Protocol, TrustedHosts,
};
pub use samba_sid::SambaSid;
pub use secret::{HIDDEN, Secret, VolumePassword, is_open_to_others};
pub use server::{Bonjour, LogFormat, ServerSettings};
pub use setting::{Live, Setting, Table, setting};
pub use subject::{SUBJECTS, Subject, subject_of};
pub use table::SETTINGS;
pub use team::{TeamEntry, TeamFolder, Who, list_of};
pub use told::{AuditScope, MailSettings, ToldSettings};
