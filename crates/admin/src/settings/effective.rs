//! The effective settings with their sources, for `fourfold check --print`. The text is a settings
//! file with the same effect, except for passwords.

use super::defaults::candidates;
use super::diagnostic::Place;
use super::kind::{ClientMatch, Kind, Value};
use super::model::{Settings, ShareSettings};
use super::port::Port;
use super::protocol::Protocol;
use super::secret::without_password;
use super::section::{RawTables, Section};
use super::setting::{Setting, Table};
use super::table::SETTINGS;
use super::units::{as_written, duration_as_written};

/// A setting of a share, or of the server, as it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// The key in the settings file.
    pub name: &'static str,
    /// The value as in the settings file. `None`: it is not set and has no default.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: Source,
}

impl Property {
    /// The elements of a list of texts. `None`: it is not set, or is no such list.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<String>> {
        let value: toml_edit::Value = self.value.as_deref()?.parse().ok()?;
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    }

    /// The value without quotes; the elements of a list have commas between them.
    #[must_use]
    pub fn shown(&self) -> Option<String> {
        let plain = |value: &toml_edit::Value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string().trim().to_owned(),
        };
        let value: toml_edit::Value = self.value.as_ref()?.parse().ok()?;
        Some(match value.as_array() {
            Some(list) => list.iter().map(plain).collect::<Vec<_>>().join(","),
            None => plain(&value),
        })
    }
}

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The share sets it, at this place.
    Local(Place),
    /// The share with this name sets it, at this place.
    Inherited(String, Place),
    /// The preset of the share sets it, which stands at this place.
    Preset(&'static str, Place),
    /// It is not set.
    Default,
}

/// The settings of each share as they count, in the order of the shares.
pub(super) fn properties(settings: &Settings, written: &RawTables) -> Vec<(String, Vec<Property>)> {
    let shares = written.shares.iter().zip(&settings.shares);
    let of_share = |(section, share): (&Section, &ShareSettings)| {
        let settings = SETTINGS.iter().filter(|setting| setting.table == Table::Share);
        let property = |setting: &'static Setting| Property {
            name: setting.key,
            value: of_share(share, setting).or_else(|| value(section, setting)),
            source: match (section.is_set(setting.key), section.inherited_from(setting.key)) {
                (false, _) => Source::Default,
                (true, None) => local(section, setting.key),
                (true, Some(above)) => {
                    Source::Inherited(above.to_owned(), section.place_of(setting.key).clone())
                }
            },
        };
        (share.name.clone(), settings.map(property).collect())
    };
    shares.map(of_share).collect()
}

/// What the share sets itself, or its preset.
fn local(section: &Section, key: &str) -> Source {
    let place = section.place_of(key).clone();
    match section.preset_of(key) {
        Some(preset) => Source::Preset(preset, place),
        None => Source::Local(place),
    }
}

/// The settings of `[server]` as they count.
pub(super) fn of_server(settings: &Settings, written: &RawTables, privileged: bool) -> Vec<Property> {
    let section = &written.server;
    let property = |setting: &'static Setting| Property {
        name: setting.key,
        value: beyond_server(settings, section, setting, privileged).or_else(|| value(section, setting)),
        source: match section.is_set(setting.key) {
            true => Source::Local(section.place_of(setting.key).clone()),
            false => Source::Default,
        },
    };
    SETTINGS.iter().filter(|setting| setting.table == Table::Server).map(property).collect()
}

/// What does not follow from the section of the server alone.
fn beyond_server(
    settings: &Settings,
    section: &Section,
    setting: &Setting,
    privileged: bool,
) -> Option<String> {
    match setting.kind {
        Kind::Port if section.port(setting.key) == Port::Standard => port(setting, privileged),
        Kind::Path => Some(quoted(&settings.server.state.display().to_string())),
        _ => None,
    }
}

/// What does not follow from the section alone.
fn of_share(share: &ShareSettings, setting: &Setting) -> Option<String> {
    (setting.key == "path").then(|| quoted(&share.written_path().display().to_string()))
}

fn value(section: &Section, setting: &Setting) -> Option<String> {
    Some(toml(setting, &section.value(setting.key)?))
}

/// Lines, each with its comment.
#[derive(Default)]
struct Lines(Vec<(String, String)>);

/// All settings.
pub(super) fn text(settings: &Settings, written: &RawTables, privileged: bool) -> String {
    let mut lines = Lines::default();
    let server = &written.server;
    lines.table(Table::Server, server, |setting| beyond_server(settings, server, setting, privileged));
    lines.table(Table::AppleTalk, &written.appletalk, |_| None);
    for (section, share) in written.shares.iter().zip(&settings.shares) {
        lines.table(Table::Share, section, |setting| of_share(share, setting));
        section.clients.iter().for_each(|client| lines.table(Table::Client, client, |_| None));
        section.luns.iter().for_each(|lun| lines.table(Table::Lun, lun, |_| None));
    }
    for user in &settings.users {
        let section = written.users.iter().find(|section| section.text("name").as_ref() == Some(&user.name));
        match section {
            Some(section) => lines.table(Table::User, section, |_| None),
            None => {
                lines.header(Table::User, "for this run");
                lines.0.push((format!("name = {}", quoted(&user.name)), "for this run".into()));
            }
        }
        if user.password.is_some() {
            lines.0.push(("# its password is given for this run".into(), String::new()));
        }
    }
    written.links.iter().for_each(|link| lines.table(Table::Link, link, |_| None));
    written.sites.iter().for_each(|site| lines.table(Table::Site, site, |_| None));
    lines.aligned()
}

impl Lines {
    fn header(&mut self, table: Table, source: &str) {
        if !self.0.is_empty() {
            self.0.push(Default::default());
        }
        self.0.push((table.header(), source.into()));
    }

    /// A table with all its settings; `instead` gives values that do not follow from the section
    /// alone.
    fn table(&mut self, table: Table, section: &Section, instead: impl Fn(&Setting) -> Option<String>) {
        self.header(table, &source(&section.place));
        for setting in SETTINGS.iter().filter(|setting| setting.table == table) {
            let place =
                if section.is_set(setting.key) { section.place_of(setting.key) } else { &Place::Default };
            let value = instead(setting).or_else(|| value(section, setting));
            let line = match value {
                Some(value) => format!("{} = {value}", setting.key),
                None => format!("# {}: {}", setting.key, setting.unset),
            };
            let comment = match (section.inherited_from(setting.key), section.preset_of(setting.key)) {
                (Some(above), _) => format!("inherited from {above}, {}", source(place)),
                (None, Some(preset)) => format!("preset {preset}, {}", source(place)),
                (None, None) => source(place),
            };
            self.0.push((line, comment));
        }
    }

    fn aligned(&self) -> String {
        /// A longer line shifts only its own comment.
        const WIDEST: usize = 48;
        let widths = self.0.iter().map(|(line, _)| line.chars().count()).filter(|width| *width <= WIDEST);
        let width = widths.max().unwrap_or(0);
        let line = |(line, source): &(String, String)| match source.as_str() {
            "" => format!("{line}\n"),
            source => format!("{line:<width$}  # {source}\n"),
        };
        self.0.iter().map(line).collect()
    }
}

fn source(place: &Place) -> String {
    if *place == Place::Default { "default".into() } else { place.to_string() }
}

/// The port that is tried first.
fn port(setting: &Setting, privileged: bool) -> Option<String> {
    let protocol = Protocol::ALL.into_iter().find(|one| setting.key == format!("{}-port", one.word()))?;
    candidates(Port::Standard, protocol, privileged).first().map(u16::to_string)
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn toml(setting: &Setting, value: &Value) -> String {
    let list = |texts: Vec<String>| format!("[{}]", texts.join(", "));
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Secret(secret) => quoted(&secret.to_string()),
        Value::Number(number) if setting.kind == Kind::Duration => duration_as_written(*number),
        Value::Number(number) if setting.kind == Kind::Size => as_written(*number),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => quoted(&shown(text)),
        Value::Texts(texts) => list(texts.iter().map(|text| quoted(&shown(text))).collect()),
        Value::Port(Port::Number(number)) => number.to_string(),
        Value::Port(_) => quoted("off"),
        Value::Addresses(addresses) => list(addresses.iter().map(|one| quoted(&one.to_string())).collect()),
        Value::Clients(clients)
            if setting.kind == Kind::ClientsOrAll && clients.contains(&ClientMatch::Any) =>
        {
            quoted("all")
        }
        Value::Clients(clients) => list(clients.iter().map(|one| quoted(&client(one))).collect()),
    }
}

/// A text that may be a URL with a password.
fn shown(text: &str) -> String {
    without_password(text).unwrap_or_else(|| text.to_owned())
}

fn client(one: &ClientMatch) -> String {
    match one {
        ClientMatch::Any => "*".into(),
        ClientMatch::Net(net) if net.prefix_len() == net.max_prefix_len() => net.addr().to_string(),
        ClientMatch::Net(net) => net.to_string(),
        ClientMatch::Name(name) => name.clone(),
    }
}
