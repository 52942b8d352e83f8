//! Reading a settings file: TOML text in, checked sections out.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Array, Document, InlineTable, Item, TableLike};

use super::diagnostic::{Findings, Place};
use super::foreign::ForeignServer;
use super::kind::Raw;
use super::section::Section;
use super::setting::{Table, setting};
use super::suggest;
use super::table::SETTINGS;

/// The text of a settings file, and its name for diagnostics.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The contents of a settings file.
#[derive(Default)]
pub(super) struct Sections {
    pub(super) server: Option<Section>,
    pub(super) appletalk: Option<Section>,
    pub(super) shares: Vec<Section>,
    pub(super) users: Vec<Section>,
    pub(super) links: Vec<Section>,
    pub(super) sites: Vec<Section>,
}

impl Source {
    /// Reads the file at `folder`/`path`; diagnostics call it `path`.
    pub(super) fn open(folder: &Path, path: &Path, findings: &mut Findings) -> Option<Self> {
        let place = Place::File { path: path.into(), line: 1, column: 1 };
        match std::fs::read(folder.join(path)).map(String::from_utf8) {
            Ok(Ok(text)) => return Some(Self { path: path.into(), text }),
            Ok(Err(_)) => findings.error(&place, "the file is not UTF-8 text", "save it as UTF-8"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                findings.error(&place, "there is no such file", "name a settings file with --config FILE");
            }
            Err(error) => findings.error(
                &place,
                format!("the file cannot be read: {error}"),
                "let the server's user read it",
            ),
        }
        None
    }

    /// Reports why the text is not TOML.
    fn complain(&self, error: &toml_edit::TomlError, findings: &mut Findings) {
        let place = self.span(error.span());
        if let Some(server) = ForeignServer::recognize(&self.text) {
            findings.error(&place, server.what(), server.instead(&self.path.display().to_string()));
            return;
        }
        if error.message().trim() == "duplicate key" {
            let key = error.span().and_then(|span| self.text.get(span)).unwrap_or_default();
            findings.error(&place, format!("`{key}` is here a second time"), "keep one of the two");
        } else {
            let what = error.message().trim().replace('\n', ", ");
            findings.error(&place, what, "see https://toml.io for how TOML is written");
        }
    }

    /// The place of a byte offset.
    fn at(&self, offset: usize) -> Place {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Place::File { path: self.path.clone(), line, column }
    }

    fn span(&self, span: Option<Range<usize>>) -> Place {
        self.at(span.map_or(0, |range| range.start))
    }
}

/// Reads all tables. Only a syntax error stops the reading.
pub(super) fn read(source: &Source, findings: &mut Findings) -> Sections {
    let mut sections = Sections::default();
    let document = match Document::parse(source.text.as_str()) {
        Ok(document) => document,
        Err(error) => {
            source.complain(&error, findings);
            return sections;
        }
    };
    let mut file = FileSource { source, findings };
    for (key, item) in document.iter() {
        let place = file.key_place(document.as_table(), key, item);
        match key {
            "server" => sections.server = file.single(Table::Server, item, &place),
            "appletalk" => sections.appletalk = file.single(Table::AppleTalk, item, &place),
            "share" => sections.shares = file.tables(Table::Share, item, &place),
            "user" => sections.users = file.tables(Table::User, item, &place),
            "link" => sections.links = file.tables(Table::Link, item, &place),
            "site" => sections.sites = file.tables(Table::Site, item, &place),
            other => file.unknown_at_top(other, &place),
        }
    }
    sections
}

struct FileSource<'a> {
    source: &'a Source,
    findings: &'a mut Findings,
}

impl FileSource<'_> {
    /// A table that stands once.
    fn single(&mut self, table: Table, item: &Item, place: &Place) -> Option<Section> {
        if let Some(entries) = item.as_table_like() {
            return Some(self.section(table, entries, place.clone()));
        }
        let what = format!("`{}` must be one table", table.name());
        self.findings.error(place, what, format!("write `{}` and the settings below it", table.header()));
        None
    }

    /// `[[share]]`, or an array of inline tables.
    fn tables(&mut self, table: Table, item: &Item, place: &Place) -> Vec<Section> {
        match item {
            Item::ArrayOfTables(array) => array
                .iter()
                .map(|entry| {
                    let place = self.source.span(entry.span());
                    self.section(table, entry, place)
                })
                .collect(),
            Item::Value(toml_edit::Value::Array(array)) => self.inline_tables(table, array),
            _ => {
                let header = table.header();
                let what =
                    format!("`{}` can be given several times, so it is a list of tables", table.name());
                self.findings.error(place, what, format!("write `{header}`, with two brackets"));
                Vec::new()
            }
        }
    }

    fn inline_tables(&mut self, table: Table, array: &Array) -> Vec<Section> {
        let mut sections = Vec::new();
        for value in array {
            let place = self.source.span(value.span());
            match value.as_inline_table() {
                Some(entry) => sections.push(self.section::<InlineTable>(table, entry, place)),
                None => self.findings.error(
                    &place,
                    format!("`{}` must be a list of tables", table.name()),
                    format!("write `{}` and the settings below it", table.header()),
                ),
            }
        }
        sections
    }

    fn section<T: TableLike + ?Sized>(&mut self, table: Table, entries: &T, place: Place) -> Section {
        let mut section = Section::new(table, place);
        for (key, item) in entries.iter() {
            let place = self.key_place(entries, key, item);
            if table == Table::Share && key == "client" {
                section.clients = self.tables(Table::Client, item, &place);
            } else if table == Table::Share && key == "lun" {
                section.luns = self.tables(Table::Lun, item, &place);
            } else if let Some(setting) = setting(table, key) {
                let (raw, places) = self.value(item);
                section.set(setting, &raw, (&place, &places), self.findings);
            } else {
                self.unknown(table, key, &place);
            }
        }
        section.require(self.findings);
        section
    }

    /// A value, and the places of its elements if it is a list.
    fn value(&self, item: &Item) -> (Raw, Vec<Place>) {
        match item {
            Item::Value(value) => {
                let elements = value.as_array().into_iter().flatten();
                (raw(value), elements.map(|e| self.source.span(e.span())).collect())
            }
            _ => (Raw::Other("a table"), Vec::new()),
        }
    }

    fn key_place<T: TableLike + ?Sized>(&self, table: &T, key: &str, item: &Item) -> Place {
        let of_key = table.key(key).and_then(toml_edit::Key::span);
        let of_header = item.as_table().and_then(toml_edit::Table::span); // from its bracket
        self.source.span(of_header.or(of_key).or_else(|| item.span()))
    }

    fn unknown(&mut self, table: Table, key: &str, place: &Place) {
        let what = format!("{} has no setting `{key}`", table.header());
        let known = SETTINGS.iter().filter(|s| s.table == table).map(|s| s.key);
        let elsewhere = SETTINGS.iter().find(|s| s.key == key).map(|s| s.table.header());
        let instead = match (suggest::nearest(key, known), elsewhere, suggest::elsewhere(key)) {
            (Some(near), ..) => format!("write `{near}`"),
            (None, Some(header), _) => format!("write it below `{header}`"),
            (None, None, Some(hint)) => format!("write `{hint}`"),
            (None, None, None) => suggest::by_meaning(table, key),
        };
        self.findings.error(place, what, instead);
    }

    fn unknown_at_top(&mut self, key: &str, place: &Place) {
        let header = SETTINGS.iter().find(|s| s.key == key).map(|s| s.table.header());
        let near = suggest::nearest(key, ["server", "appletalk", "share", "user", "link", "site"]);
        let near = near.and_then(|n| Table::ALL.into_iter().find(|t| t.name() == n)).map(Table::header);
        let (what, instead) = match (header, near) {
            (Some(header), _) => {
                (format!("`{key}` stands outside of any table"), format!("write it below `{header}`"))
            }
            (None, Some(header)) => (format!("there is no table `{key}`"), format!("write `{header}`")),
            (None, None) => (
                format!("there is no table `{key}`"),
                "the tables are `[server]`, `[appletalk]`, `[[share]]`, `[[share.client]]`, `[[share.lun]]`, `[[user]]`, \
                 `[[link]]` and `[[site]]`"
                    .into(),
            ),
        };
        self.findings.error(place, what, instead);
    }
}

/// A TOML value without its decoration.
pub(super) fn raw(value: &toml_edit::Value) -> Raw {
    match value {
        toml_edit::Value::Boolean(b) => Raw::Bool(*b.value()),
        toml_edit::Value::Integer(i) => Raw::Integer(*i.value()),
        toml_edit::Value::String(s) => Raw::Text(s.value().clone()),
        toml_edit::Value::Array(array) => Raw::List(array.iter().map(raw).collect()),
        toml_edit::Value::Float(_) => Raw::Other("a fraction"),
        toml_edit::Value::Datetime(_) => Raw::Other("a date"),
        toml_edit::Value::InlineTable(_) => Raw::Other("a table"),
    }
}
