//! Commands of the manual exist: each `fourfold …` in it is one of docs/commands.md, with options that it has there.
//!
//! docs/commands.md is what `--help` prints: a test of the program compares them.

use std::collections::BTreeMap;

use super::Violation;
use super::pages::MarkdownPage;

const COMMANDS: &str = "docs/commands.md";
/// Pages whose `fourfold …` are no commands: names of files, and what earlier versions had.
const OTHERS: &[&str] = &[COMMANDS, "docs/on-disk-format.md"];

/// What `--help` prints, by the words of the command.
type Helps = BTreeMap<String, String>;

pub fn check(pages: &[MarkdownPage]) -> Vec<Violation> {
    let Some(commands) = pages.iter().find(|page| page.file == COMMANDS) else {
        return vec![Violation { file: COMMANDS.into(), line: 1, what: "it is missing".into() }];
    };
    let helps = helps(&commands.text);
    let others = pages.iter().filter(|page| !OTHERS.contains(&page.file.as_str()));
    others.flat_map(|page| unknown_in(page, &helps)).collect()
}

fn helps(page: &str) -> Helps {
    let sections = page.split("\n## `").skip(1);
    let parts = sections.filter_map(|section| {
        let (name, rest) = section.split_once("`\n")?;
        let help = rest.split_once("```text\n")?.1.split_once("\n```")?.0;
        Some((name.to_owned(), help.to_owned()))
    });
    parts.collect()
}

fn unknown_in(page: &MarkdownPage, helps: &Helps) -> Vec<Violation> {
    let mut findings = Vec::new();
    for (line, text) in code(&page.text) {
        for command in commands(&text) {
            let unknown = unknown(command, helps).into_iter();
            findings.extend(unknown.map(|what| Violation { file: page.file.clone(), line, what }));
        }
    }
    findings
}

/// The code of a page with the numbers of its lines: spans in the text, and lines of blocks of commands. A line that goes on below is one
/// line.
fn code(page: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut language, mut goes_on) = (None, false);
    for (line, number) in page.lines().zip(1..) {
        if let Some(word) = line.trim_start().strip_prefix("```") {
            language = if language.is_none() { Some(word) } else { None };
            goes_on = false;
        } else if language.is_some_and(|word| matches!(word, "sh" | "console" | "bash")) {
            let text = line.trim_end_matches('\\');
            match found.last_mut().filter(|_| goes_on) {
                Some((_, before)) => before.push_str(text),
                None => found.push((number, text.to_owned())),
            }
            goes_on = text.len() < line.len();
        } else if language.is_none() {
            found.extend(line.split('`').skip(1).step_by(2).map(|span| (number, span.to_owned())));
        }
    }
    found
}

/// What follows `fourfold ` in code, up to the end of the command.
fn commands(code: &str) -> Vec<&str> {
    let code = code.split(" #").next().unwrap_or(code);
    let parts = code.split(['|', ';', '&', '(', '"']);
    let words = parts.filter_map(|part| {
        let part = part.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
        part.strip_prefix("fourfold ")
    });
    words.collect()
}

/// What the help does not have.
fn unknown(command: &str, helps: &Helps) -> Vec<String> {
    let mut name = String::from("fourfold");
    let mut words = command.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let longer = format!("{name} {word}");
        if !helps.contains_key(&longer) {
            break;
        }
        name = longer;
        words.next();
    }
    let Some(help) = helps.get(&name) else { return Vec::new() };
    let is_word =
        |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    if let Some(word) = words.peek().filter(is_word).filter(|_| needs_subcommand(help)) {
        return vec![format!("`{name} {word}` is no command of {COMMANDS}")];
    }
    let option = |word: &str| {
        let end = word.find(|c: char| c != '-' && !c.is_ascii_lowercase()).unwrap_or(word.len());
        word[..end].to_owned()
    };
    let options = words.filter(|word| word.starts_with("--")).map(option);
    let unknown =
        options.filter(|option| option.len() > 2 && option != "--help" && !help.contains(option.as_str()));
    unknown.map(|option| format!("`{name}` has no option {option} in {COMMANDS}")).collect()
}

fn needs_subcommand(help: &str) -> bool {
    let usage = help.lines().find(|line| line.starts_with("Usage: "));
    usage.is_some_and(|usage| usage.ends_with("<COMMAND>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Commands\n\n## `fourfold`\n\n```text\nUsage: fourfold <COMMAND>\n\nCommands:\n  user\n```\n\n\
                        ## `fourfold user`\n\n```text\nUsage: fourfold user <COMMAND>\n```\n\n\
                        ## `fourfold user add`\n\n```text\nUsage: fourfold user add [OPTIONS] <NAME>\n\n      --uid <UID>\n```\n";

    fn found(text: &str) -> Vec<String> {
        let page = MarkdownPage { file: "docs/a.md".into(), text: text.into() };
        unknown_in(&page, &helps(PAGE)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn commands_with_their_options_are_known() {
        let text = "`fourfold user add NAME`, `sudo fourfold user`, `fourfold --help`\n```sh\n$ fourfold user add ada --uid 5 | x \
                    --gid\n```\n";
        assert_eq!(found(text), [] as [&str; 0]);
    }

    #[test]
    fn unknown_commands_and_options_are_findings() {
        assert_eq!(found("`fourfold restore x`"), ["`fourfold restore` is no command of docs/commands.md"]);
        assert_eq!(found("`fourfold user ad`"), ["`fourfold user ad` is no command of docs/commands.md"]);
        let text = "```console\n$ x && sudo fourfold user add \\\n    ada --gid=5\n```\n";
        assert_eq!(found(text), ["`fourfold user add` has no option --gid in docs/commands.md"]);
    }

    #[test]
    fn other_code_has_no_commands() {
        assert_eq!(
            found("```text\nfourfold restore\n```\n`crates/fourfold restore`, `fourfold 0.1.0`"),
            [] as [&str; 0]
        );
    }
}
