//! The effective settings with their sources, for `fourfold check --print`. The text is a settings
//! file with the same effect, except for passwords.

use super::defaults::candidates;
use super::diagnostic::Place;
use super::kind::{ClientMatch, Kind, Port, Value};
use super::model::{Protocol, Settings};
use super::section::Section;
use super::table::{SETTINGS, Setting, Table};
use super::units::as_written;

/// The tables of the file, overridden by the command line.
pub(super) struct Written {
    pub(super) server: Section,
    /// One section for each share, in their order.
    pub(super) shares: Vec<Section>,
    pub(super) users: Vec<Section>,
}

/// Lines, each with its comment.
#[derive(Default)]
struct Lines(Vec<(String, String)>);

/// All settings.
pub(super) fn text(settings: &Settings, written: &Written, privileged: bool) -> String {
    let mut lines = Lines::default();
    lines.table(Table::Server, &written.server, |setting| match setting.kind {
        Kind::Port if written.server.port(setting.key) == Port::Standard => port(setting, privileged),
        Kind::Path => Some(quoted(&settings.server.state.display().to_string())),
        _ => None,
    });
    for (section, share) in written.shares.iter().zip(&settings.shares) {
        lines.table(Table::Share, section, |setting| match setting.key {
            "path" => Some(quoted(&share.path.display().to_string())),
            _ => None,
        });
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
            let value = instead(setting).or_else(|| Some(toml(setting, &section.value(setting.key)?)));
            let line = match value {
                Some(value) => format!("{} = {value}", setting.key),
                None => format!("# {}: {}", setting.key, setting.unset),
            };
            self.0.push((line, source(place)));
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
        Value::Text(_) if setting.kind == Kind::VolumePassword => quoted("…"),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if setting.kind == Kind::Size => as_written(*number),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => quoted(text),
        Value::Texts(texts) => list(texts.iter().map(|text| quoted(text)).collect()),
        Value::Port(Port::Number(number)) => number.to_string(),
        Value::Port(_) => quoted("off"),
        Value::Addresses(addresses) => list(addresses.iter().map(|one| quoted(&one.to_string())).collect()),
        Value::Clients(clients) => list(clients.iter().map(|one| quoted(&client(one))).collect()),
    }
}

fn client(one: &ClientMatch) -> String {
    match one {
        ClientMatch::Any => "*".into(),
        ClientMatch::Net(net) if net.prefix_len() == net.max_prefix_len() => net.addr().to_string(),
        ClientMatch::Net(net) => net.to_string(),
    }
}
