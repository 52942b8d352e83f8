//! The checked values of one table, with their places.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::diagnostic::{Findings, Place};
use super::kind::{ClientMatch, Kind, Raw, Value, Wrong, accept, identity};
use super::port::Port;
use super::preset::Preset;
use super::secret::Secret;
use super::setting::{Setting, Table, setting};
use super::table::SETTINGS;
use super::team;

/// One `[server]`, `[[share]]`, `[[share.client]]`, `[[share.lun]]` or `[[user]]`.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) table: Table,
    pub(super) place: Place,
    values: BTreeMap<&'static str, SettingEntry>,
    pub(super) clients: Vec<Section>,
    pub(super) luns: Vec<Section>,
}

/// A setting in the file or on the command line.
#[derive(Debug, Clone)]
struct SettingEntry {
    /// `None`: the value is wrong, which was reported.
    value: Option<Value>,
    place: Place,
    /// The places of a list's elements.
    elements: Vec<Place>,
    /// The share that has set it, if it is not this one.
    inherited: Option<String>,
    /// The preset of the share that has set it.
    preset: Option<&'static str>,
}

impl Section {
    pub(super) fn new(table: Table, place: Place) -> Self {
        Self { table, place, values: BTreeMap::new(), clients: Vec::new(), luns: Vec::new() }
    }

    pub(super) fn empty(table: Table) -> Self {
        Self::new(table, Place::Default)
    }

    /// Checks a written value and keeps it. `places` has the place of the whole value and those of
    /// a list's elements.
    pub(super) fn set(
        &mut self,
        setting: &'static Setting,
        raw: &Raw,
        places: (&Place, &[Place]),
        findings: &mut Findings,
    ) {
        let (whole, elements) = places;
        let value = accept(setting, raw).map_err(|wrongs| {
            for wrong in wrongs {
                let place = wrong.element.and_then(|index| elements.get(index)).unwrap_or(whole);
                complain(setting, &wrong, place, findings);
            }
        });
        let set = SettingEntry {
            value: value.ok(),
            place: whole.clone(),
            elements: elements.to_vec(),
            inherited: None,
            preset: None,
        };
        self.values.insert(setting.key, set);
    }

    /// Keeps a text that is already checked.
    pub(super) fn put(&mut self, key: &'static str, text: String, place: &Place) {
        let set = SettingEntry {
            value: Some(Value::Text(text)),
            place: place.clone(),
            elements: Vec::new(),
            inherited: None,
            preset: None,
        };
        self.values.insert(key, set);
    }

    /// Gives the settings that it does not set itself the values of its preset.
    pub(super) fn take_preset(&mut self) {
        let Some(preset) = self.text("preset").and_then(|name| Preset::named(&name)) else { return };
        let place = self.place_of("preset").clone();
        for (key, value) in preset.values() {
            let Some(setting) = setting(self.table, key).filter(|setting| !self.is_set(setting.key)) else {
                continue;
            };
            let set = SettingEntry {
                value,
                place: place.clone(),
                elements: Vec::new(),
                inherited: None,
                preset: Some(preset.name),
            };
            self.values.insert(setting.key, set);
        }
    }

    /// The preset that has set this setting, here or in the share above that it is inherited from.
    pub(super) fn preset_of(&self, key: &str) -> Option<&'static str> {
        self.values.get(key)?.preset
    }

    /// Keeps a text that follows from a setting of the share above, whose name this is.
    pub(super) fn derive(&mut self, key: &'static str, text: String, above: &str, place: &Place) {
        self.put(key, text, place);
        if let Some(set) = self.values.get_mut(key) {
            set.inherited = Some(above.to_owned());
        }
    }

    /// Reports missing keys.
    pub(super) fn require(&self, findings: &mut Findings) {
        let is_below = self.text("name").is_some_and(|name| name.contains('/')); // it has a folder without `path`
        for setting in SETTINGS.iter().filter(|s| s.table == self.table && s.required()) {
            if !(self.is_set(setting.key) || is_below && setting.key == "path") {
                let what = format!("{} has no `{}`", self.table.header(), setting.key);
                findings.error(&self.place, what, format!("add `{} = {}`", setting.key, setting.example));
            }
        }
    }

    /// Takes over what it does not set itself from the share above, whose name this is.
    pub(super) fn inherit(&mut self, above: &Self, name: &str) {
        let is_inherited = |setting: &&Setting| setting.inherits && team::inherits(self, setting.key);
        let inherited: Vec<&Setting> = SETTINGS.iter().filter(is_inherited).collect();
        let has_preset = self.is_set("preset");
        for setting in inherited {
            let from_above = above.values.get(setting.key).filter(|set| set.preset.is_none() || !has_preset);
            if let (false, Some(set)) = (self.is_set(setting.key), from_above) {
                let inherited = set.inherited.clone().or_else(|| Some(name.to_owned()));
                self.values.insert(setting.key, SettingEntry { inherited, ..set.clone() });
            }
        }
        if self.clients.is_empty() {
            self.clients.clone_from(&above.clients);
        }
    }

    /// The share from which it has this setting, if it has not set it itself.
    pub(super) fn inherited_from(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.inherited.as_deref()
    }

    pub(super) fn place_of(&self, key: &str) -> &Place {
        self.values.get(key).map_or(&self.place, |set| &set.place)
    }

    /// The texts of a list, with their places.
    pub(super) fn texts_with_places(&self, key: &str) -> Vec<(String, Place)> {
        let elements = self.values.get(key).map(|set| set.elements.as_slice()).unwrap_or_default();
        let place = |index| elements.get(index).unwrap_or(self.place_of(key)).clone();
        self.texts(key).into_iter().enumerate().map(|(index, text)| (text, place(index))).collect()
    }

    /// Whether the setting is present.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Whether the setting counts: it is not written wrongly, which was reported.
    pub(super) fn has_value(&self, key: &str) -> bool {
        self.values.get(key).is_none_or(|set| set.value.is_some())
    }

    pub(super) fn bool(&self, key: &str) -> bool {
        matches!(self.value(key), Some(Value::Bool(true)))
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        if let Some(Value::Number(number)) = self.value(key) { Some(number) } else { None }
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        if let Some(Value::Text(text)) = self.value(key) { Some(text) } else { None }
    }

    /// A path; a relative one counts from `folder`, or from the settings file's folder if it is written there.
    pub(super) fn secret(&self, key: &str) -> Option<Secret> {
        if let Some(Value::Secret(secret)) = self.value(key) { Some(secret) } else { None }
    }

    /// Whether a value has a hidden part.
    pub(super) fn has_secret(&self) -> bool {
        self.values
            .values()
            .any(|set| matches!(&set.value, Some(Value::Secret(secret)) if secret.is_hidden()))
    }

    pub(super) fn path(&self, key: &str, folder: &Path, file: Option<&Path>) -> Option<PathBuf> {
        let beside = match self.place_of(key) {
            Place::File { .. } => {
                file.and_then(Path::parent).map_or(folder.to_owned(), |beside| folder.join(beside))
            }
            _ => folder.to_owned(),
        };
        self.text(key).map(|path| beside.join(path))
    }

    pub(super) fn identity(&self, key: &str) -> Option<[u8; 16]> {
        self.text(key).and_then(|text| identity(&text))
    }

    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        if let Some(Value::Texts(texts)) = self.value(key) { texts } else { Vec::new() }
    }

    pub(super) fn port(&self, key: &str) -> Port {
        if let Some(Value::Port(port)) = self.value(key) { port } else { Port::Standard }
    }

    pub(super) fn addresses(&self, key: &str) -> Vec<std::net::IpAddr> {
        if let Some(Value::Addresses(addresses)) = self.value(key) { addresses } else { Vec::new() }
    }

    pub(super) fn matches(&self, key: &str) -> Vec<ClientMatch> {
        if let Some(Value::Clients(matches)) = self.value(key) { matches } else { Vec::new() }
    }

    /// The value of the setting, otherwise the default of the table.
    pub(super) fn value(&self, key: &str) -> Option<Value> {
        match self.values.get(key).and_then(|set| set.value.clone()) {
            Some(value) => Some(value),
            None => default(setting(self.table, key)?),
        }
    }
}

/// The tables of the file, overridden by the command line.
#[derive(Debug, Clone)]
pub(super) struct RawTables {
    pub(super) server: Section,
    pub(super) appletalk: Section,
    /// One section for each share, in their order.
    pub(super) shares: Vec<Section>,
    pub(super) users: Vec<Section>,
    pub(super) links: Vec<Section>,
    pub(super) sites: Vec<Section>,
}

impl RawTables {
    /// Whether a value has a hidden part.
    pub(super) fn has_secret(&self) -> bool {
        let lists = [&self.shares, &self.users, &self.links, &self.sites];
        lists.into_iter().flatten().chain([&self.server]).any(Section::has_secret)
    }
}

/// The default, after the same check as written values.
pub(super) fn default(setting: &Setting) -> Option<Value> {
    let raw = super::file::raw(&setting.default?.parse().ok()?);
    accept(setting, &raw).ok()
}

fn complain(setting: &Setting, wrong: &Wrong, place: &Place, findings: &mut Findings) {
    let better = wrong.better.as_deref();
    let key = setting.key;
    let (name, write) = match (place, setting.flag) {
        (Place::CommandLine(_), Some((flag, _))) => {
            (format!("--{flag}"), format!("--{flag} {}", plain(better.unwrap_or(setting.example))))
        }
        _ if wrong.element.is_some() && better.is_some() => (key.into(), better.unwrap_or_default().into()),
        _ => (key.into(), format!("{key} = {}", better.unwrap_or(setting.example))),
    };
    let what = match wrong.why {
        Some(why) => format!("`{name}` cannot be {}: {why}", wrong.found),
        None => format!("`{name}` must be {}, not {}", setting.kind.expects(), wrong.found),
    };
    let mut instead = format!("write `{write}`");
    if setting.kind == Kind::Port && better.unwrap_or(setting.example).parse().is_ok_and(is_privileged) {
        instead.push_str(&format!(
            "; the default is {}, as ports below 1024 need root or CAP_NET_BIND_SERVICE",
            setting.unset
        ));
    }
    findings.error(place, what, instead);
}

/// Whether only root and programs with CAP_NET_BIND_SERVICE may listen on the port.
fn is_privileged(port: u16) -> bool {
    port < 1024
}

/// A TOML value in the form for a flag: without quotes, and of a list only the first element.
fn plain(toml: &str) -> &str {
    toml.trim_start_matches('[').split(',').next().unwrap_or(toml).trim_matches(['"', ']'])
}
