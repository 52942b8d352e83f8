//! The commands of a guide, in the order of its page.
//!
//! A comment, which is invisible where the page is shown, stands above each block of commands, files and output:
//!
//! | comment | the block below |
//! |---|---|
//! | `<!-- run -->` | commands, which must succeed |
//! | `<!-- run; typing: one; two -->` | the same; each program that asks gets the next of these lines |
//! | `<!-- run; fails -->` | commands of which the last one must fail |
//! | `<!-- run; may fail -->` | commands whose exit code depends on the machine |
//! | `<!-- run; until -->` | commands, repeated until they say what the page says |
//! | `<!-- says -->` | what the commands above print; `…` stands for any text, on a line by itself for any lines |
//! | `<!-- file PATH -->`, `<!-- add to PATH -->` | text of a file, or more of it |
//! | `<!-- not run: REASON -->` | commands for another machine, or a choice that the guide does not take |
//!
//! Below a line `<!-- try commands -->`, each command in the text that begins with `sudo fourfold ` is tried: its words must be right.
//!
//! Commands between a line `<!-- hidden` and a line `-->` are run, too, and the reader does not see them. They stand for what people
//! do with their machines, such as a program on a Mac that writes a file.

use anyhow::{Context, Result, bail, ensure};

/// What is done next.
#[derive(Debug, PartialEq, Eq)]
pub struct PageStep {
    /// The number of its first line on the page, from 1.
    pub line: usize,
    pub action: Action,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Run(CommandBlock),
    Write {
        path: String,
        text: String,
        append: bool,
    },
    /// A command whose words must be right, whatever its outcome is.
    Try(String),
}

/// Commands of a shell.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandBlock {
    pub script: String,
    /// What is typed, a line for each program that asks.
    pub typing: Vec<String>,
    pub exit: ExpectedExit,
    /// Whether they are repeated until they say what the page says.
    pub until: bool,
    /// What they print. Without it only the exit code counts.
    pub says: Option<Vec<String>>,
}

/// How the last of the commands ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedExit {
    #[default]
    Success,
    Failure,
    Either,
}

impl ExpectedExit {
    pub fn includes(self, success: bool) -> bool {
        match self {
            Self::Success => success,
            Self::Failure => !success,
            Self::Either => true,
        }
    }
}

/// The steps of a page.
///
/// # Errors
/// The line of a block of commands without a comment, or of a comment that is unknown or in the wrong place.
pub fn steps(page: &str) -> Result<Vec<PageStep>> {
    let (mut steps, mut marking, mut tries) = (Vec::new(), None, false);
    let mut lines = page.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        if text == "<!-- hidden" {
            let script = until("-->", &mut lines).with_context(|| at(line))?.join("\n");
            steps.push(PageStep {
                line,
                action: Action::Run(CommandBlock { script, ..CommandBlock::default() }),
            });
        } else if text == "<!-- try commands -->" {
            tries = true;
        } else if let Some(found) = Marking::parse(text).with_context(|| at(line))? {
            ensure!(marking.is_none(), "{}: two comments for one block", at(line));
            marking = Some(found);
        } else if let Some(language) = text.strip_prefix("```") {
            let block = until("```", &mut lines).with_context(|| at(line))?;
            add(&mut steps, marking.take(), language, line, block).with_context(|| at(line))?;
        } else {
            ensure!(marking.is_none(), "{}: a block stands right below its comment", at(line));
            let spans = text.split('`').skip(1).step_by(2).filter(|_| tries);
            let commands = spans.filter(|span| span.starts_with("sudo fourfold "));
            steps.extend(commands.map(|command| PageStep { line, action: Action::Try(command.to_owned()) }));
        }
    }
    ensure!(marking.is_none(), "the last comment has no block");
    Ok(steps)
}

fn at(line: usize) -> String {
    format!("line {line}")
}

fn until<'a>(end: &str, lines: &mut impl Iterator<Item = (&'a str, usize)>) -> Result<Vec<&'a str>> {
    let mut block = Vec::new();
    for (text, _) in lines {
        if text == end {
            return Ok(block);
        }
        block.push(text);
    }
    bail!("no line `{end}` follows")
}

fn add(
    steps: &mut Vec<PageStep>,
    marking: Option<Marking>,
    language: &str,
    line: usize,
    block: Vec<&str>,
) -> Result<()> {
    match marking {
        Some(Marking::Run(run)) => {
            let run = CommandBlock { script: block.join("\n"), ..run };
            steps.push(PageStep { line, action: Action::Run(run) });
        }
        Some(Marking::Says) => {
            let says = block.into_iter().map(str::to_owned).collect();
            match steps.last_mut().map(|step| &mut step.action) {
                Some(Action::Run(run)) if run.says.is_none() => run.says = Some(says),
                _ => bail!("output without commands above it"),
            }
        }
        Some(Marking::File { path, append }) => {
            let text = block.join("\n") + "\n";
            steps.push(PageStep { line, action: Action::Write { path, text, append } });
        }
        Some(Marking::NotRun) => {}
        None if matches!(language, "sh" | "console" | "bash" | "") => {
            bail!(
                "a block of commands needs a comment above it, such as <!-- run --> or <!-- not run: REASON -->"
            )
        }
        None => {}
    }
    Ok(())
}

/// A comment above a block.
enum Marking {
    Run(CommandBlock),
    Says,
    File { path: String, append: bool },
    NotRun,
}

impl Marking {
    /// Nothing for a line that is no such comment.
    fn parse(line: &str) -> Result<Option<Self>> {
        let Some(words) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) else {
            return Ok(None);
        };
        if let Some(path) = words.strip_prefix("file ") {
            return Ok(Some(Self::File { path: path.into(), append: false }));
        }
        if let Some(path) = words.strip_prefix("add to ") {
            return Ok(Some(Self::File { path: path.into(), append: true }));
        }
        if words.strip_prefix("not run: ").is_some_and(|reason| !reason.is_empty()) {
            return Ok(Some(Self::NotRun));
        }
        if words == "says" {
            return Ok(Some(Self::Says));
        }
        let mut parts = words.split("; ");
        ensure!(parts.next() == Some("run"), "an unknown comment: {line}");
        let mut run = CommandBlock::default();
        while let Some(part) = parts.next() {
            match part.strip_prefix("typing: ") {
                Some(first) => {
                    run.typing = [first].into_iter().chain(parts.by_ref()).map(str::to_owned).collect()
                }
                None if part == "fails" => run.exit = ExpectedExit::Failure,
                None if part == "may fail" => run.exit = ExpectedExit::Either,
                None if part == "until" => run.until = true,
                None => bail!("an unknown comment: {line}"),
            }
        }
        Ok(Some(Self::Run(run)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(page: &str) -> CommandBlock {
        match steps(page).unwrap().pop().unwrap().action {
            Action::Run(run) => run,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_have_the_output_that_follows_them() {
        let page =
            "Text.\n\n<!-- run -->\n```sh\nls \\\n  -l\n```\n\nIt says:\n\n<!-- says -->\n```text\na\n```\n";
        let says = Some(vec!["a".to_owned()]);
        assert_eq!(
            only(page),
            CommandBlock { script: "ls \\\n  -l".into(), says, ..CommandBlock::default() }
        );
        assert_eq!(steps(page).unwrap()[0].line, 4);
    }

    #[test]
    fn typed_lines_end_a_comment() {
        let run = only("<!-- run; fails; typing: one; two -->\n```sh\nx\n```");
        assert_eq!(run.typing, ["one", "two"]);
        assert_eq!((run.exit, run.until), (ExpectedExit::Failure, false));
    }

    #[test]
    fn hidden_commands_are_run() {
        assert_eq!(only("<!-- hidden\ntouch a\ntouch b\n-->\n").script, "touch a\ntouch b");
    }

    #[test]
    fn a_file_has_the_text_of_its_block() {
        let found = steps("<!-- add to /etc/x -->\n```toml\n[a]\n```").unwrap().pop().unwrap().action;
        assert_eq!(found, Action::Write { path: "/etc/x".into(), text: "[a]\n".into(), append: true });
    }

    #[test]
    fn commands_in_the_text_are_tried_where_the_page_says_so() {
        let text = "* `sudo fourfold list` and `fourfold list`, `ls`.\n";
        assert_eq!(steps(text).unwrap(), []);
        let tried = PageStep { line: 2, action: Action::Try("sudo fourfold list".into()) };
        assert_eq!(steps(&format!("<!-- try commands -->\n{text}")).unwrap(), [tried]);
    }

    #[test]
    fn commands_without_a_comment_are_an_error() {
        for page in ["```sh\nls\n```", "```console\n$ ls\n```", "```\nls\n```"] {
            assert!(format!("{:#}", steps(page).unwrap_err()).starts_with("line 1: a block of commands"));
        }
        assert_eq!(steps("<!-- not run: on the Mac -->\n```sh\nls\n```\n```toml\na = 1\n```").unwrap(), []);
    }

    #[test]
    fn comments_in_the_wrong_place_are_errors() {
        for page in [
            "<!-- run -->\n\n```sh\nls\n```",         // a line between
            "<!-- run -->\n<!-- run -->\n```sh\n```", // two comments
            "<!-- says -->\n```text\na\n```",         // nothing above it
            "<!-- runs -->\n```sh\nls\n```",          // unknown
            "<!-- run; always -->\n```sh\nls\n```",   // unknown
            "<!-- run -->\n```sh\nls\n",              // no end
            "<!-- hidden\nls\n",                      // no end
            "<!-- run -->",                           // no block
        ] {
            assert!(steps(page).is_err(), "{page}");
        }
    }
}
