//! Changes of the settings file by commands. Comments, the order and the layout of the file stay.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table as TomlTable, Value};

use super::authority::{self, ChangeDemand};
use super::build::Explanation;
use super::defaults::find_file;
use super::diagnostic::{Diagnostic, Findings, Place};
use super::file::{self, Source};
use super::flags::Arguments;
use super::kind::{Kind, truth};
use super::model::Settings;
use super::over_network;
use super::secret::HIDDEN;
use super::section::Section;
use super::setting::{Setting, Table, setting};
use super::suggest;
use super::table::SETTINGS;

/// Why a change was not made. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The settings would be refused.
    #[error("the settings would be refused")]
    Refused(Vec<Diagnostic>),
    /// Something is missing or in the way; the text says what to do.
    #[error("{0}")]
    Failed(String),
}

type Result<T> = std::result::Result<T, EditError>;

/// A settings file that is being changed. Nothing is written before [`Edit::save`].
#[derive(Debug)]
pub struct Edit {
    /// The file by its given name.
    shown: PathBuf,
    /// The file itself, links resolved.
    path: PathBuf,
    text: String,
    document: DocumentMut,
}

impl Edit {
    /// Opens the settings file of these arguments.
    ///
    /// # Errors
    /// There is no settings file, or it is not TOML.
    pub fn open(arguments: &Arguments) -> Result<Self> {
        let shown = arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
        let shown = shown.ok_or_else(|| {
            let make = "`fourfold check --print NAME=DIR > fourfold.toml` makes one of a command line";
            failed(format!("there is no settings file here: name one with --config FILE; {make}"))
        })?;
        let mut findings = Findings::default();
        let Some(source) = Source::open(&arguments.folder, &shown, &mut findings) else {
            return Err(EditError::Refused(findings.sorted()));
        };
        let Ok(document) = source.text.parse::<DocumentMut>() else {
            let _ = file::read(&source, &mut findings); // it says what is wrong
            return Err(EditError::Refused(findings.sorted()));
        };
        let path = arguments.folder.join(&shown);
        let path = path.canonicalize().map_err(|error| failed(format!("{}: {error}", path.display())))?;
        Ok(Self { shown, path, text: source.text, document })
    }

    /// The folder of the file: relative paths in it count from here.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The file itself, links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether shares have such a property.
    ///
    /// # Errors
    /// They have not; the text names similar ones.
    pub fn check_property(key: &str) -> Result<()> {
        share_setting(key).map(drop)
    }

    /// Whether the file has a share of this name.
    ///
    /// # Errors
    /// The file does not write its shares as `[[share]]`.
    pub fn has(&mut self, share: &str) -> Result<bool> {
        if self.document.get("share").is_none() {
            return Ok(false);
        }
        Ok(self.shares()?.iter().any(|table| name(table) == share))
    }

    /// Sets a setting of a share to the value that was typed: `on`, `10 GiB`, `ada,grace`.
    ///
    /// # Errors
    /// There is no such share or setting, or the value is wrong.
    pub fn set(&mut self, share: &str, key: &str, text: &str) -> Result<()> {
        let setting = share_setting(key)?;
        let table = self.share(share)?;
        if is_as_shown(setting, table, text)? {
            return Ok(());
        }
        let value = checked(setting, text)?;
        put(table, key, value);
        Ok(())
    }

    /// Sets a setting of a share to a list of texts.
    ///
    /// # Errors
    /// There is no such share or setting, or the value is wrong.
    pub fn set_list(&mut self, share: &str, key: &str, texts: &[String]) -> Result<()> {
        let setting = share_setting(key)?;
        let table = self.share(share)?;
        let value = accepted(setting, Value::Array(texts.iter().map(String::as_str).collect()), "…")?;
        put(table, key, value);
        Ok(())
    }

    /// Sets a setting of `[server]` to the value that was typed.
    ///
    /// # Errors
    /// There is no such setting, or the value is wrong.
    pub fn set_server(&mut self, key: &str, text: &str) -> Result<()> {
        let setting = server_setting(key)?;
        let shown = self.shown.display().to_string();
        let server = self.document.entry("server").or_insert_with(|| {
            let mut table = TomlTable::new();
            table.decor_mut().set_prefix("\n");
            Item::Table(table)
        });
        let wrong = || failed(format!("{shown} has its server in one line: write it as `[server]`"));
        let server = server.as_table_mut().ok_or_else(wrong)?;
        if !is_as_shown(setting, server, text)? {
            let value = checked(setting, text)?;
            put(server, key, value);
        }
        Ok(())
    }

    /// Removes a setting of `[server]`: it counts by default. False: it was not set.
    ///
    /// # Errors
    /// There is no such setting, or the file writes its server in one line.
    pub fn unset_server(&mut self, key: &str) -> Result<bool> {
        server_setting(key)?;
        let shown = self.shown.display().to_string();
        let Some(server) = self.document.get_mut("server") else { return Ok(false) };
        let wrong = || failed(format!("{shown} has its server in one line: write it as `[server]`"));
        Ok(server.as_table_mut().ok_or_else(wrong)?.remove(key).is_some())
    }

    /// The text of the file before the changes, and after them.
    #[must_use]
    pub fn texts(&self) -> (String, String) {
        (self.text.clone(), self.document.to_string())
    }

    /// Makes the whole text this one: an earlier text of the file.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn replace_all(&mut self, text: &str) -> Result<()> {
        self.document =
            text.parse().map_err(|error| failed(format!("the earlier text is not TOML: {error}")))?;
        Ok(())
    }

    /// Removes a setting of a share: it counts as inherited, or by default. False: the share does not set it.
    ///
    /// # Errors
    /// There is no such share or setting, or the share must have it.
    pub fn unset(&mut self, share: &str, key: &str) -> Result<bool> {
        share_setting(key)?;
        if key == "name" {
            return Err(failed(
                "a share cannot be without a name: `fourfold rename` gives it another one".into(),
            ));
        }
        Ok(self.share(share)?.remove(key).is_some())
    }

    /// Adds a share behind the last one.
    ///
    /// # Errors
    /// The file does not write its shares as `[[share]]`.
    pub fn add(&mut self, share: &str, path: Option<&Path>) -> Result<()> {
        let mut table = TomlTable::new();
        table.insert("name", share.into());
        if let Some(path) = path {
            table.insert("path", path.display().to_string().into());
        }
        // Comments at the end of the file stay above a share that comes there: they belong to what is before them.
        let is_last = self.document.iter().last().is_none_or(|(key, _)| key == "share")
            || self.document.get("share").is_none();
        let comments = self.document.trailing().as_str().unwrap_or_default().trim_end().to_owned();
        if is_last && !comments.is_empty() {
            table.decor_mut().set_prefix(format!("{comments}\n\n"));
            self.document.set_trailing("");
        } else {
            table.decor_mut().set_prefix("\n");
        }
        self.shares()?.push(table);
        Ok(())
    }

    /// Removes a share and the rules and LUNs below it.
    ///
    /// # Errors
    /// There is no such share.
    pub fn remove(&mut self, share: &str) -> Result<()> {
        let index = self.index(share)?;
        self.shares()?.remove(index);
        Ok(())
    }

    /// Gives a share, and those below it, another name. The caller moves a folder whose place follows from the name.
    ///
    /// # Errors
    /// There is no such share.
    pub fn rename(&mut self, share: &str, new: &str) -> Result<()> {
        self.index(share)?;
        for table in self.shares()?.iter_mut() {
            let Some(Value::String(name)) = table.get_mut("name").and_then(Item::as_value_mut) else {
                continue;
            };
            let renamed = match name.value().strip_prefix(share) {
                Some("") => new.to_owned(),
                Some(rest) if rest.starts_with('/') => format!("{new}{rest}"),
                _ => continue,
            };
            let decor = name.decor().clone();
            *name = toml_edit::Formatted::new(renamed);
            *name.decor_mut() = decor;
        }
        Ok(())
    }

    /// Checks the changed settings, as [`Edit::save`] does, and returns them. The file stays.
    ///
    /// # Errors
    /// The settings would be refused.
    pub fn check(&self, arguments: &Arguments) -> Result<(Settings, Explanation)> {
        self.explained(arguments, &self.document.to_string()).or_else(|mut refused| {
            self.explained(arguments, &self.text).map_err(EditError::Refused)?;
            // The file has no such lines: it stays as it was.
            refused.iter_mut().for_each(|one| one.place = Place::Default);
            Err(EditError::Refused(refused))
        })
    }

    /// Checks the changed settings and writes them to the file in one step. Returns the settings as they count now.
    ///
    /// # Errors
    /// The settings would be refused, another program has changed the file meanwhile, or it cannot be written.
    pub fn save(self, arguments: &Arguments) -> Result<(Settings, Explanation)> {
        let text = self.document.to_string();
        let explained = self.check(arguments)?;
        let shown = self.shown.display();
        if fs::read(&self.path).is_ok_and(|now| now != self.text.as_bytes()) {
            return Err(failed(format!("{shown} has been changed meanwhile by another program: try again")));
        }
        let has_secrets = explained.1.written.has_secret();
        replace(&self.path, &text, has_secrets)
            .map_err(|error| failed(format!("{shown} cannot be written: {error}")))?;
        Ok(explained)
    }

    /// What the changes demand of who makes them over the network. It follows from the texts alone: folders, users and other
    /// things of this host have no part in it, so that who may not make the change does not learn of them.
    #[must_use]
    pub fn demanded(&self, arguments: &Arguments) -> ChangeDemand {
        let written = |text: &str| {
            let (file, source) = (Some(self.shown.clone()), Some(self.source(text)));
            Settings::written(arguments, file, source)
        };
        authority::demanded(&written(&self.text), &written(&self.document.to_string()))
    }

    /// Refuses changes that are never made over the network: those that share a system folder or name a user of the system. Call
    /// it only for an author who may make the change, as the error tells what this host has.
    ///
    /// # Errors
    /// It is such a change, or the settings would be refused.
    pub fn check_over_network(&self, arguments: &Arguments) -> Result<()> {
        let before = self.explained(arguments, &self.text).map_err(EditError::Refused)?;
        let after = self.explained(arguments, &self.document.to_string()).map_err(|mut refused| {
            refused.iter_mut().for_each(|one| one.place = Place::Default);
            EditError::Refused(refused)
        })?;
        over_network::check(&before.0, &after.0).map_err(failed)
    }

    fn explained(
        &self,
        arguments: &Arguments,
        text: &str,
    ) -> std::result::Result<(Settings, Explanation), Vec<Diagnostic>> {
        let (file, source) = (Some(self.shown.clone()), Some(self.source(text)));
        Settings::explained(arguments, file, source, Findings::default())
    }

    fn source(&self, text: &str) -> Source {
        Source { path: self.shown.clone(), text: text.into() }
    }

    fn shares(&mut self) -> Result<&mut ArrayOfTables> {
        let shown = self.shown.display().to_string();
        let shares =
            self.document.entry("share").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let wrong = || failed(format!("{shown} has its shares in one line: write each as `[[share]]`"));
        shares.as_array_of_tables_mut().ok_or_else(wrong)
    }

    fn index(&mut self, share: &str) -> Result<usize> {
        let names: Vec<String> = self.shares()?.iter().map(|table| name(table).to_owned()).collect();
        names.iter().position(|name| name == share).ok_or_else(|| {
            let known = match suggest::nearest(share, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("the shares are: {}", names.join(", ")),
            };
            failed(format!("{} has no share {share:?}; {known}", self.shown.display()))
        })
    }

    fn share(&mut self, share: &str) -> Result<&mut TomlTable> {
        let index = self.index(share)?;
        let missing = || failed(format!("there is no share {share:?}"));
        self.shares()?.get_mut(index).ok_or_else(missing)
    }
}

fn failed(text: String) -> EditError {
    EditError::Failed(text)
}

fn name(table: &TomlTable) -> &str {
    table.get("name").and_then(Item::as_str).unwrap_or_default()
}

/// The setting of `[server]` with this key.
fn server_setting(key: &str) -> Result<&'static Setting> {
    setting(Table::Server, key).ok_or_else(|| {
        let keys = SETTINGS.iter().filter(|s| s.table == Table::Server).map(|s| s.key);
        let known = match suggest::nearest(key, keys) {
            Some(near) => format!("did you mean `{near}`?"),
            None => suggest::by_meaning(Table::Server, key),
        };
        failed(format!("there is no setting `{key}` of the server; {known}"))
    })
}

/// The setting of shares with this key.
fn share_setting(key: &str) -> Result<&'static Setting> {
    setting(Table::Share, key).ok_or_else(|| {
        let keys = SETTINGS.iter().filter(|s| s.table == Table::Share).map(|s| s.key);
        let known = match (suggest::nearest(key, keys), suggest::elsewhere(key)) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(hint)) => format!("write `{hint}`"),
            (None, None) => suggest::by_meaning(Table::Share, key),
        };
        failed(format!("there is no property `{key}`; {known}"))
    })
}

/// A typed value as TOML, if the setting accepts it.
fn checked(setting: &'static Setting, text: &str) -> Result<Value> {
    let shown = setting.kind.secret(text).map_or(text.to_owned(), |_| HIDDEN.to_string());
    accepted(setting, value(setting, text), &shown)
}

fn accepted(setting: &'static Setting, value: Value, shown: &str) -> Result<Value> {
    let place = Place::Property(format!("{}={shown}", setting.key));
    let mut findings = Findings::default();
    let elements = value.as_array().map_or(0, Array::len);
    let places = vec![place.clone(); elements];
    Section::empty(setting.table).set(setting, &file::raw(&value), (&place, &places), &mut findings);
    if findings.refused() { Err(EditError::Refused(findings.sorted())) } else { Ok(value) }
}

/// Whether a text is what is shown of the secret that the table has: then the secret stays. A text with a hidden part that is not
/// that of the secret is refused.
fn is_as_shown(setting: &Setting, table: &TomlTable, text: &str) -> Result<bool> {
    if !setting.kind.is_secret() || !text.contains(HIDDEN) {
        return Ok(false);
    }
    let old = table.get(setting.key).and_then(Item::as_str).and_then(|old| setting.kind.secret(old));
    match old.is_some_and(|old| old.to_string() == text) {
        true => Ok(true),
        false => Err(failed(format!(
            "`{}` is shown with {HIDDEN} for what is hidden: write all of it",
            setting.key
        ))),
    }
}

/// Writes a value into a table. The comment behind an old value stays.
fn put(table: &mut TomlTable, key: &str, value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

/// A typed value as TOML. One that is not of the setting's kind becomes a text, which the check of the kind refuses.
fn value(setting: &Setting, text: &str) -> Value {
    let whole = || text.parse::<i64>().map_or_else(|_| text.into(), Value::from);
    match setting.kind {
        Kind::Bool => match truth(text).as_deref() {
            Some("true") => true.into(),
            Some(_) => false.into(),
            None => text.into(),
        },
        Kind::Number(..) | Kind::Port | Kind::BlockSize | Kind::Size => whole(),
        Kind::Addresses
        | Kind::Texts
        | Kind::People
        | Kind::SomeOf(_)
        | Kind::Initiators
        | Kind::SambaSids
        | Kind::Macs
        | Kind::Clients
        | Kind::ClientsOrAll
        | Kind::Networks => {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            Value::Array(words.collect())
        }
        _ => text.into(),
    }
}

/// Replaces the file in one step; owner, group and mode stay, but others cannot read secrets. On return it is on the disk.
fn replace(path: &Path, text: &str, has_secrets: bool) -> io::Result<()> {
    let old = fs::metadata(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let fresh = folder.join(format!(".fourfold-settings.{}", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        let _ = fchown(&file, Some(old.uid()), Some(old.gid())); // only root may give it to others
        let mode = if has_secrets { 0o600 } else { old.mode() };
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
