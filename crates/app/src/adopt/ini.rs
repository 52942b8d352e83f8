//! Files with sections and `name = value`, as Samba and Netatalk read them.

use std::path::Path;

use anyhow::Context as _;

/// The longest file that is read: the settings of thousands of shares.
const LONGEST: u64 = 4 << 20;

/// A section: its name, and its settings in their order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) settings: Vec<(String, String)>,
}

impl Section {
    /// The last value of a setting, under any of its names.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        let is_named = |name: &str| names.contains(&name);
        self.settings.iter().rev().find(|(name, _)| is_named(name)).map(|(_, value)| &**value)
    }
}

/// A truth value of these files.
pub(super) fn truth(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" | "on" => Some(true),
        "no" | "false" | "0" | "off" => Some(false),
        _ => None,
    }
}

/// Reads a file as text.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    let what = || format!("{} cannot be read", file.display());
    let length = std::fs::metadata(file).with_context(what)?.len();
    anyhow::ensure!(
        length <= LONGEST,
        "{} is longer than {LONGEST} bytes: is it a settings file?",
        file.display()
    );
    Ok(String::from_utf8_lossy(&std::fs::read(file).with_context(what)?).into_owned())
}

/// Its sections. Names of settings are in lower case with one space between words, as both servers
/// compare them. What stands before the first section is the section `global`.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in whole_lines(text) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            sections.push(Section { name: name.trim().into(), settings: Vec::new() });
        } else if let Some((name, value)) = line.split_once('=') {
            if sections.is_empty() {
                sections.push(Section { name: "global".into(), settings: Vec::new() });
            }
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            let value = value.trim().trim_matches('"').to_owned();
            sections
                .iter_mut()
                .next_back()
                .into_iter()
                .for_each(|last| last.settings.push((name.clone(), value.clone())));
        }
    }
    sections
}

/// Lines, with those that end in a backslash joined to the next.
fn whole_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let (line, more) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(line),
            None => lines.push(line.into()),
        }
        goes_on = more;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_their_settings_whatever_the_spaces_and_the_case() {
        let text = "workgroup = X\n[ Media ]\n; a comment\n  Read  Only = No\n  valid users = ada, \\\n@staff\n\
                    comment = \"Films\"\ncomment = Films 2\nnonsense\n";
        let found = sections(text);
        assert_eq!(
            found[0],
            Section { name: "global".into(), settings: vec![("workgroup".into(), "X".into())] }
        );
        assert_eq!((&*found[1].name, found[1].value(&["read only"]).and_then(truth)), ("Media", Some(false)));
        assert_eq!(found[1].value(&["valid users"]), Some("ada, @staff"));
        assert_eq!(found[1].value(&["comment"]), Some("Films 2"));
    }
}
