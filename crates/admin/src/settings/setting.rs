//! One setting: what the table of all settings says of it.

use super::authority::Authority;
use super::kind::Kind;
use super::table::SETTINGS;

/// The table of the settings file that has a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// `[server]`.
    Server,
    /// `[appletalk]`.
    AppleTalk,
    /// `[[share]]`.
    Share,
    /// `[[share.client]]`.
    Client,
    /// `[[share.lun]]`.
    Lun,
    /// `[[user]]`.
    User,
    /// `[[link]]`.
    Link,
    /// `[[site]]`.
    Site,
}

impl Table {
    /// All tables, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Server,
        Self::AppleTalk,
        Self::Share,
        Self::Client,
        Self::Lun,
        Self::User,
        Self::Link,
        Self::Site,
    ];

    /// The dotted name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::AppleTalk => "appletalk",
            Self::Share => "share",
            Self::Client => "share.client",
            Self::Lun => "share.lun",
            Self::User => "user",
            Self::Link => "link",
            Self::Site => "site",
        }
    }

    /// The header as it is written in the file.
    #[must_use]
    pub fn header(self) -> String {
        match self {
            Self::Server | Self::AppleTalk => format!("[{}]", self.name()),
            other => format!("[[{}]]", other.name()),
        }
    }
}

/// Whether a running server applies a changed setting on SIGHUP or `reload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// It is applied, without disconnecting clients.
    Reload,
    /// It applies from the next start.
    Restart,
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its table.
    pub table: Table,
    /// Its key there.
    pub key: &'static str,
    /// Its kind of value.
    pub kind: Kind,
    /// The default as TOML; `None`: it must be set, or `unset` describes the default.
    pub default: Option<&'static str>,
    /// The effect if it is not set and has no default; empty: it must be set.
    pub unset: &'static str,
    /// A value as TOML, for the documentation and for "write … instead".
    pub example: &'static str,
    /// One line.
    pub brief: &'static str,
    /// The rest of the description, or empty.
    pub detail: &'static str,
    /// Who may change it over the network.
    pub authority: Authority,
    /// Whether a reload applies it.
    pub live: Live,
    /// Its flag of `fourfold serve`: the name without dashes, and the word for its value.
    pub flag: Option<(&'static str, &'static str)>,
    /// A share inherits it from the share that its name lies below.
    pub inherits: bool,
}

impl Setting {
    /// `server.nfs-port`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.{}", self.table.name(), self.key)
    }

    /// Whether the setting must be present.
    #[must_use]
    pub fn required(&self) -> bool {
        self.default.is_none() && self.unset.is_empty()
    }
}

/// A setting with a default.
pub(super) const fn new(
    table: Table,
    key: &'static str,
    authority: Authority,
    kind: Kind,
    default: &'static str,
) -> Setting {
    let (brief, detail, live, flag) = ("", "", Live::Reload, None);
    Setting {
        table,
        key,
        kind,
        default: Some(default),
        unset: "",
        example: default,
        brief,
        detail,
        authority,
        live,
        flag,
        inherits: matches!(table, Table::Share),
    }
}

impl Setting {
    /// Each share has its own.
    pub(super) const fn own(mut self) -> Self {
        self.inherits = false;
        self
    }
    pub(super) const fn without_default(mut self, unset: &'static str) -> Self {
        self.default = None;
        self.unset = unset;
        self
    }
    pub(super) const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }
    pub(super) const fn says(mut self, brief: &'static str, detail: &'static str) -> Self {
        self.brief = brief;
        self.detail = detail;
        self
    }
    pub(super) const fn restart(mut self) -> Self {
        self.live = Live::Restart;
        self
    }
    pub(super) const fn flag(mut self, name: &'static str, value: &'static str) -> Self {
        self.flag = Some((name, value));
        self
    }
}

pub(super) const fn port(key: &'static str, standard: &'static str, unset: &'static str) -> Setting {
    new(Table::Server, key, Authority::Administrator, Kind::Port, standard)
        .without_default(unset)
        .restart()
        .flag(key, "PORT")
}

/// The setting `key` of `table`.
#[must_use]
pub fn setting(table: Table, key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|s| s.table == table && s.key == key)
}
