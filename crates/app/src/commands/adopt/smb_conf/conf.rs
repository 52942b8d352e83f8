//! A `smb.conf` as smbd reads it: sections with their settings, each with its file and line.
//!
//! Facts, from `testparm`: spaces and case in names do not count; a backslash at the end of a line continues it; a section that
//! stands twice is one; of two values of a setting the last one counts; a section begins with what `[global]` says above it, not below.

use std::path::{Path, PathBuf};

use super::rows::{self, Row, SettingScope};

/// Files that are read at most, with all that they include.
const MOST_FILES: usize = 64;
/// Entries that sections have from `[global]` and by `copy` at most.
const MOST_ENTRIES: usize = 200_000;
/// How deep files may include others.
const DEEPEST: usize = 8;

/// A line `name = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) file: String,
    pub(super) line: usize,
    /// As it is written.
    pub(super) shown: String,
    pub(super) value: String,
    /// The row of the table; `None`: smbd does not know it.
    pub(super) row: Option<Row>,
    /// It is an inverse synonym: `writable = yes` is `read only = no`.
    pub(super) is_inverse: bool,
}

impl Entry {
    /// The name under which it counts.
    pub(super) fn name(&self) -> String {
        self.row.map_or_else(|| rows::key(&self.shown), |row| row.name.to_owned())
    }
}

/// A section with all its lines, in the order in which they count: those that it has from `[global]` first.
#[derive(Debug, Clone, Default)]
pub(super) struct ConfSection {
    pub(super) name: String,
    /// How many entries it has from `[global]`.
    pub(super) inherited: usize,
    pub(super) entries: Vec<Entry>,
}

impl ConfSection {
    /// The entry of a setting that counts: the last one.
    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.name() == name)
    }

    /// The lines that stand in the section.
    pub(super) fn own(&self) -> &[Entry] {
        self.entries.get(self.inherited..).unwrap_or_default()
    }
}

/// All sections, and the lines that are not read as smbd reads them.
#[derive(Debug, Default)]
pub(super) struct Conf {
    pub(super) global: ConfSection,
    pub(super) sections: Vec<ConfSection>,
    /// Included files that cannot be read or differ by client: the entry, its section, and why.
    pub(super) unread: Vec<(Entry, Option<String>, String)>,
    /// Why smbd does not start with the file.
    pub(super) broken: Vec<Entry>,
    files: usize,
    /// Entries that sections have from others.
    entries: usize,
    /// The section that lines belong to; `None`: `[global]`.
    at: Option<usize>,
}

impl Conf {
    pub(super) fn read(file: &Path, text: &str) -> Self {
        let mut conf = Self { files: 1, ..Self::default() };
        conf.add(file, text, 0);
        conf
    }

    fn add(&mut self, file: &Path, text: &str, depth: usize) {
        for (line, text) in whole_lines(text) {
            let text = text.trim();
            if text.is_empty() || text.starts_with(['#', ';']) {
                continue;
            }
            if let Some(rest) = text.strip_prefix('[') {
                match rest.split_once(']') {
                    Some((name, _)) => self.open(name),
                    None => self.broken.push(entry(file, line, text, "")),
                }
            } else if let Some((name, value)) = text.split_once('=') {
                self.put(file, entry(file, line, name, value), depth);
            }
        }
    }

    fn open(&mut self, name: &str) {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.eq_ignore_ascii_case("global") || name.eq_ignore_ascii_case("globals") {
            self.at = None;
            return;
        }
        let known = self.sections.iter().position(|section| rows::key(&section.name) == rows::key(&name));
        if known.is_some() {
            self.at = known;
            return;
        }
        let is_module = |entry: &Entry| entry.shown.contains(':');
        let is_default =
            |entry: &&Entry| entry.row.map_or(is_module(entry), |row| row.scope == SettingScope::Share);
        let entries: Vec<Entry> = self.global.entries.iter().filter(is_default).cloned().collect();
        if !self.has_room(entries.len()) {
            self.broken.push(entry(Path::new("smb.conf"), 0, &name, "too many settings"));
        }
        self.sections.push(ConfSection { name, inherited: entries.len(), entries });
        self.at = Some(self.sections.len() - 1);
    }

    fn put(&mut self, file: &Path, entry: Entry, depth: usize) {
        match &*entry.name() {
            "include" => self.include(file, entry, depth),
            "copy" => self.copy(entry),
            _ => self.section().entries.push(entry),
        }
    }

    fn section(&mut self) -> &mut ConfSection {
        let global = &mut self.global;
        match self.at {
            Some(at) => self.sections.get_mut(at).unwrap_or(global),
            None => global,
        }
    }

    fn include(&mut self, file: &Path, entry: Entry, depth: usize) {
        let path = file.parent().unwrap_or(Path::new("/")).join(unquoted(&entry.value));
        let read = match () {
            () if entry.value.contains('%') => Err("it differs by client".to_owned()),
            () if entry.value.eq_ignore_ascii_case("registry") => {
                Err("the registry of Samba is not read".into())
            }
            () if depth >= DEEPEST || self.files >= MOST_FILES => Err("too many files are included".into()),
            () => super::super::ini::read(&path).map_err(|error| format!("{error:#}")),
        };
        match read {
            Ok(text) => {
                self.files += 1;
                self.section().entries.push(entry);
                self.add(&path, &text, depth + 1);
            }
            Err(why) => {
                let section = self.at.map(|_| self.section().name.clone());
                self.unread.push((entry, section, why));
            }
        }
    }

    /// `copy = NAME`: what a section above says counts from here on.
    fn copy(&mut self, entry: Entry) {
        let wanted = rows::key(unquoted(&entry.value));
        let from = self.sections.iter().find(|section| rows::key(&section.name) == wanted);
        let entries = from.map(|section| section.own().to_vec()).unwrap_or_default();
        if self.has_room(entries.len()) {
            self.section().entries.extend(entries);
            self.section().entries.push(entry);
        } else {
            self.broken.push(entry);
        }
    }

    /// Counts entries that are there several times: sections that copy each other must not fill the memory.
    fn has_room(&mut self, more: usize) -> bool {
        self.entries += more;
        self.entries <= MOST_ENTRIES
    }
}

fn entry(file: &Path, line: usize, name: &str, value: &str) -> Entry {
    let shown = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let (row, is_inverse) = rows::find(&shown).map_or((None, false), |(row, inverse)| (Some(row), inverse));
    Entry { file: file.display().to_string(), line, shown, value: value.trim().to_owned(), row, is_inverse }
}

/// A text without the quotes around it.
pub(super) fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}

/// Lines with their numbers, with those that end in a backslash joined to the next. A comment is not continued.
fn whole_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.lines().enumerate() {
        let is_comment = !goes_on && line.trim_start().starts_with(['#', ';']);
        let (line, more) = match line.trim_end().strip_suffix('\\').filter(|_| !is_comment) {
            Some(line) => (line, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some((_, last)) => last.push_str(line),
            None => lines.push((number + 1, line.into())),
        }
        goes_on = more;
    }
    lines
}

/// The folder that a path leads to, if it is the same for every client: `%S` is the section.
pub(super) fn path(value: &str, section: &str) -> Option<PathBuf> {
    let path = unquoted(value).replace("%S", section);
    (!path.contains('%') && !path.is_empty()).then(|| PathBuf::from(path))
}
