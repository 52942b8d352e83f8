//! `fourfold complete`: how a command line can go on. The scripts of shells ask it (`scripts.rs`), so that names of shares,
//! snapshots, accounts and LUNs are completed, too (`values.rs`).
//!
//! The answer has a candidate in each line, with a tab before its description. The line `:files` stands for files and folders.

pub(super) mod scripts;
mod values;

use std::process::ExitCode;

use clap::builder::ValueHint;
use clap::{Arg, Command};

use crate::cli::{self, Complete, Where};
use crate::terminal::out;
use values::NameSource;

/// The line that stands for files and folders.
const FILES: &str = ":files";
/// Candidates that are printed.
const MOST: usize = 1_000;

/// What a word can become, and a description, which may be empty.
type Candidate = (String, String);

/// Prints the candidates. A place that cannot be read gives no candidates: the shell would show an error in the command line.
pub(crate) fn run(asked: &Complete) -> anyhow::Result<ExitCode> {
    let words: Vec<&str> = asked.words.iter().filter_map(|word| word.to_str()).collect();
    if words.len() == asked.words.len() {
        let mut command = cli::command();
        command.build();
        let found = candidates(&command, &words);
        out::lines(found.iter().take(MOST).filter(|one| is_printable(one)).map(line))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line((word, what): &Candidate) -> String {
    if what.is_empty() { word.clone() } else { format!("{word}\t{what}") }
}

/// Lines and tabs have a meaning in the answer.
fn is_printable((word, _): &Candidate) -> bool {
    !word.chars().any(char::is_control)
}

/// Where in a command line the cursor is.
struct CursorPosition<'a> {
    /// The command, and the names that lead to it.
    command: &'a Command,
    path: Vec<&'a str>,
    /// The flag whose value comes next.
    pending: Option<&'a Arg>,
    /// Words that are values of the command itself.
    values: usize,
    /// `--state` and `--config`, as far as they were typed.
    place: Where,
}

impl<'a> CursorPosition<'a> {
    fn after(root: &'a Command, words: &[&'a str]) -> Self {
        let place = Where::typed(words);
        let mut at = Self { command: root, path: Vec::new(), pending: None, values: 0, place };
        for &word in words {
            at.take(word);
        }
        at
    }

    fn take(&mut self, word: &'a str) {
        if self.pending.take().is_some() {
            return;
        }
        if word.starts_with('-') && word.len() > 1 {
            let flag = flag(self.command, word);
            self.pending = flag.filter(|flag| flag.get_action().takes_values() && !word.contains('='));
        } else if let Some(below) = self.command.find_subcommand(word).filter(|_| self.values == 0) {
            self.command = below;
            self.path.push(below.get_name());
        } else {
            self.values += 1;
        }
    }

    /// The argument that the next word is a value of.
    fn argument(&self) -> Option<&'a Arg> {
        let takes_several = |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let next = self.command.get_positionals().nth(self.values);
        next.or_else(|| self.command.get_positionals().last().filter(takes_several))
    }
}

/// The flag of a word such as `--state`, `--state=DIR` or `-n`.
fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    let is_meant = |arg: &&Arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| name.ends_with(short)),
    };
    command.get_arguments().find(is_meant)
}

/// What the last of these words can become.
fn candidates(root: &Command, words: &[&str]) -> Vec<Candidate> {
    let Some((typed, before)) = words.split_last() else { return Vec::new() };
    let at = CursorPosition::after(root, before);
    if let Some(flag) = at.pending {
        return values(&at, flag, typed);
    }
    if let Some((name, value)) = typed.split_once('=').filter(|_| typed.starts_with("--")) {
        let Some(flag) = flag(at.command, name) else { return Vec::new() };
        let full =
            |(word, what): Candidate| (if word == FILES { word } else { format!("{name}={word}") }, what);
        return values(&at, flag, value).into_iter().map(full).collect();
    }
    if typed.starts_with('-') {
        return flags(at.command, typed);
    }
    let mut found = Vec::new();
    if at.values == 0 {
        let below = at
            .command
            .get_subcommands()
            .filter(|one| !one.is_hide_set() && one.get_name().starts_with(typed));
        found.extend(below.map(|one| (one.get_name().to_owned(), text(one.get_about()))));
    }
    if let Some(argument) = at.argument() {
        found.extend(values(&at, argument, typed));
    }
    found
}

fn flags(command: &Command, typed: &str) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
    let named = shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), text(arg.get_help()))));
    named.filter(|(name, _)| name.starts_with(typed)).collect()
}

/// The values of an argument that begin with what was typed.
fn values(at: &CursorPosition<'_>, argument: &Arg, typed: &str) -> Vec<Candidate> {
    let possible = argument.get_possible_values();
    let possible =
        possible.iter().filter(|value| !value.is_hide_set() && value.get_name().starts_with(typed));
    let mut found: Vec<Candidate> =
        possible.map(|value| (value.get_name().to_owned(), text(value.get_help()))).collect();
    if let Some(source) = NameSource::of(&at.path, argument.get_id().as_str()) {
        let names = source.names(&at.place, typed);
        found.extend(
            names.into_iter().filter(|name| name.starts_with(typed)).map(|name| (name, String::new())),
        );
    }
    if !matches!(argument.get_value_hint(), ValueHint::Unknown | ValueHint::Other) {
        found.push((FILES.to_owned(), String::new()));
    }
    found
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &str) -> Vec<String> {
        let mut command = cli::command();
        command.build();
        let words: Vec<&str> = line.split(' ').collect();
        candidates(&command, &words).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn commands_flags_and_values_are_completed() {
        assert_eq!(at("snap"), ["snapshot"]);
        assert_eq!(at("snapshot re"), ["restore", "remove", "rename", "release"]);
        assert_eq!(at("user modify ada --adm"), ["--admin"]);
        assert_eq!(at("user modify ada --admin o"), ["on", "off"]);
        assert_eq!(at("user modify ada --admin=of"), ["--admin=off"]);
        assert_eq!(at("serve --config "), [FILES]);
        assert_eq!(at("completions z"), ["zsh"]);
        assert!(at("comp").iter().all(|word| word != "complete"), "it is hidden");
        assert!(at("no-such-command x").is_empty());
        assert_eq!(at("fork pack a b "), [FILES], "it takes several");
        assert_eq!(at("man folder "), [""; 0]);
    }

    #[test]
    fn each_source_of_names_belongs_to_an_argument() {
        let mut command = cli::command();
        command.build();
        for (path, argument, _) in values::SOURCES {
            let found = path.split(' ').try_fold(&command, |above, name| above.find_subcommand(name));
            let found = found.unwrap_or_else(|| panic!("no command {path}"));
            assert!(found.get_arguments().any(|arg| arg.get_id() == *argument), "{path} {argument}");
        }
    }
}
