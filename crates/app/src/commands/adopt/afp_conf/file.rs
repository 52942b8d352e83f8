//! The file: sections, settings with their lines, and included files, as Netatalk reads them.

use std::path::{Path, PathBuf};

use super::super::ini;

/// Files that include each other.
const MOST_FILES: usize = 16;

/// A setting, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) file: PathBuf,
    /// Counted from 1.
    pub(super) line: usize,
    /// In lower case, with one blank between words.
    pub(super) name: String,
    pub(super) value: String,
}

/// A section. Several of one name are one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NetatalkSection {
    pub(super) name: String,
    pub(super) settings: Vec<Setting>,
}

impl NetatalkSection {
    /// The setting of this name: the last one counts.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.name == name)
    }
}

/// The sections of a file and of those that it includes, and the includes that cannot be read.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub(super) all: Vec<NetatalkSection>,
    pub(super) unread: Vec<(Setting, String)>,
    /// Lines that are neither a section nor a setting.
    pub(super) wrong: Vec<Setting>,
    files: usize,
}

impl Sections {
    pub(super) fn of(file: &Path, text: &str) -> Self {
        let mut sections = Self::default();
        let mut at = "Global".to_owned();
        sections.read(file, text, &mut at);
        sections
    }

    pub(super) fn find(&self, name: &str) -> Option<&NetatalkSection> {
        self.all.iter().find(|section| section.name.eq_ignore_ascii_case(name))
    }

    fn section(&mut self, name: &str) -> &mut NetatalkSection {
        let at = self.all.iter().position(|section| section.name.eq_ignore_ascii_case(name));
        let at = at.unwrap_or_else(|| {
            self.all.push(NetatalkSection { name: name.into(), settings: Vec::new() });
            self.all.len() - 1
        });
        &mut self.all[at]
    }

    /// `at`: the section that the first line belongs to.
    fn read(&mut self, file: &Path, text: &str, at: &mut String) {
        self.files += 1;
        let (mut whole, mut begun) = (String::new(), None);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            let first = *begun.get_or_insert(number + 1);
            if let Some(part) = line.strip_suffix('\\') {
                whole.push_str(part);
                continue;
            }
            whole.push_str(line);
            self.line(file, first, whole.trim(), at);
            whole.clear();
            begun = None;
        }
        self.line(file, begun.unwrap_or_default(), whole.trim(), at);
    }

    fn line(&mut self, file: &Path, line: usize, text: &str, at: &mut String) {
        let setting = |name: &str, value: &str| {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            Setting { file: file.into(), line, name, value: value.to_owned() }
        };
        if text.is_empty() || text.starts_with(['#', ';']) {
            return;
        }
        if let Some(name) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(at);
            self.section(name.trim());
            return;
        }
        let Some((name, value)) = text.split_once('=') else {
            self.wrong.push(setting("", text));
            return;
        };
        let found = setting(name, &plain(value));
        if found.name == "include" {
            self.include(&found, at);
        }
        self.section(at).settings.push(found);
    }

    fn include(&mut self, setting: &Setting, at: &mut String) {
        if self.files >= MOST_FILES {
            return self.unread.push((setting.clone(), "too many files include others".into()));
        }
        match ini::read(Path::new(&setting.value)) {
            Ok(text) => self.read(Path::new(&setting.value), &text, at),
            Err(error) => self.unread.push((setting.clone(), format!("{error:#}"))),
        }
    }
}

/// A value: what is in quotes, or what is before a comment.
fn plain(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some((quoted, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return quoted.to_owned();
        }
    }
    value.split([';', '#']).next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_lines_and_values_end_at_a_comment() {
        let text = "; comment\n[Global]\nuam list = a \\\n  b\n[Media]\n path=/srv/m # here\nComment = \"a; b\"\nread  Only = yes;x\nnonsense\n\
                    [global]\nmax connections = 5\n";
        let sections = Sections::of(Path::new("afp.conf"), text);
        let value = |section: &str, name: &str| {
            sections.find(section).and_then(|one| one.get(name)).map(|one| (one.line, one.value.clone()))
        };
        assert_eq!(value("Global", "uam list"), Some((3, "a   b".into())));
        assert_eq!(value("media", "path"), Some((6, "/srv/m".into())));
        assert_eq!(value("Media", "comment"), Some((7, "a; b".into())));
        assert_eq!(value("Media", "read only"), Some((8, "yes".into())));
        assert_eq!(value("Global", "max connections"), Some((11, "5".into())));
        assert_eq!((sections.all.len(), sections.wrong[0].line), (2, 9));
    }

    #[test]
    fn an_included_file_is_read_where_it_is_named_and_circles_end() {
        let folder = tempfile::tempdir().unwrap();
        let more = folder.path().join("more.conf");
        std::fs::write(&more, format!("read only = yes\ninclude = {}\n[Other]\npath = /o\n", more.display()))
            .unwrap();
        let text = format!("[Media]\npath = /m\ninclude = {}\ninclude = /no/such/file\n", more.display());
        let sections = Sections::of(Path::new("afp.conf"), &text);
        let media = sections.find("Media").unwrap();
        assert_eq!(media.get("read only").map(|one| (&*one.file, one.line)), Some((&*more, 1)));
        assert!(sections.find("Other").is_some());
        assert!(sections.unread.iter().any(|(setting, _)| setting.value == "/no/such/file"));
    }
}
