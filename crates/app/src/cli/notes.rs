//! The texts behind the options of a command's help: paragraphs, headings, and rows such as examples.
//!
//! The code breaks their lines as those of other texts. What a terminal shows is laid out for its width: the lines of a paragraph are
//! joined, and clap wraps them. A paragraph ends at an empty line, and before `Exit codes:`. A row begins with two spaces; two or
//! more spaces part what is typed from its explanation, and a line that begins further right continues the explanation.

use clap::Command;

/// Columns of the terminal if it does not say, and those that are used at most: longer lines are hard to read.
const USUAL_WIDTH: usize = 100;
const MOST_WIDTH: usize = 110;
/// Columns before a row, and between its parts.
const INDENT: usize = 2;
const GAP: usize = 2;
/// Columns that an explanation has at least beside what is typed, and where it begins if nothing is beside it.
const LEAST_TAIL: usize = 36;
const BELOW: usize = 6;
/// Words of a heading.
const MOST_HEADING_WORDS: usize = 6;

/// A part of such a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    /// A line such as `Examples:`.
    Heading(String),
    /// Sentences.
    Paragraph(String),
    /// What is typed, each with its explanation, which may be empty.
    Rows(Vec<(String, String)>),
}

/// The columns of help: those of the terminal, else of the environment.
pub(crate) fn width() -> usize {
    let of_terminal = rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .map(|size| usize::from(size.ws_col));
    let of_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
    let known = of_terminal.ok().filter(|columns| *columns > 0).or_else(of_environment);
    known.unwrap_or(USUAL_WIDTH).clamp(1, MOST_WIDTH)
}

/// The command and those below it, with their texts laid out for a terminal of this width.
pub(crate) fn laid_out(command: Command, width: usize) -> Command {
    let text = command.get_after_help().map(|text| render(&parse(&text.to_string()), width));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(|below| laid_out(below, width))
}

/// The parts of a text. A text that was laid out has the same parts.
pub(crate) fn parse(text: &str) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let (depth, words) = (line.len() - line.trim_start().len(), line.trim());
        match (depth, notes.last_mut()) {
            _ if words.is_empty() => is_open = false,
            (0, _) if is_heading(words) => {
                notes.push(Note::Heading(words.to_owned()));
                is_open = false;
            }
            (0, Some(Note::Paragraph(open))) if is_open && !words.starts_with("Exit codes:") => {
                open.push(' ');
                open.push_str(words);
            }
            (0, _) => {
                notes.push(Note::Paragraph(words.to_owned()));
                is_open = true;
            }
            (INDENT, Some(Note::Rows(rows))) => rows.push(row(words)),
            (_, Some(Note::Rows(rows))) => continue_row(rows, words),
            _ => notes.push(Note::Rows(vec![row(words)])),
        }
    }
    notes
}

fn is_heading(words: &str) -> bool {
    words.ends_with(':') && words.split(' ').count() <= MOST_HEADING_WORDS
}

fn row(words: &str) -> (String, String) {
    let (head, tail) = words.split_once("  ").unwrap_or((words, ""));
    (head.to_owned(), tail.trim_start().to_owned())
}

/// A line that begins further right belongs to the explanation, or to a command that was continued by a backslash.
fn continue_row(rows: &mut [(String, String)], words: &str) {
    let Some((head, tail)) = rows.last_mut() else { return };
    let (into, words) = match head.strip_suffix('\\') {
        Some(begun) => {
            *head = begun.to_owned();
            let (more, explained) = row(words);
            head.push_str(&more);
            (tail, explained)
        }
        None => (tail, words.to_owned()),
    };
    let space = if into.is_empty() || words.is_empty() { "" } else { " " };
    into.push_str(space);
    into.push_str(&words);
}

/// The text for a terminal of this width. Paragraphs stay lines, which clap wraps.
pub(crate) fn render(notes: &[Note], width: usize) -> String {
    let mut text = String::new();
    let mut before: Option<&Note> = None;
    for note in notes {
        match (before, note) {
            (None, _) | (Some(Note::Heading(_)), Note::Rows(_)) => {}
            _ => text.push('\n'),
        }
        match note {
            Note::Heading(words) | Note::Paragraph(words) => text.push_str(&format!("{words}\n")),
            Note::Rows(all) => rows(all, width).iter().for_each(|line| text.push_str(&format!("{line}\n"))),
        }
        before = Some(note);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Two columns if there is room for both, else each explanation below its row.
fn rows(rows: &[(String, String)], width: usize) -> Vec<String> {
    let most = width.saturating_sub(INDENT + GAP + LEAST_TAIL);
    let explained = rows.iter().filter(|(_, tail)| !tail.is_empty()).map(|(head, _)| length(head));
    let column =
        explained.filter(|length| *length <= most).max().map_or(BELOW, |longest| INDENT + longest + GAP);
    let mut lines = Vec::new();
    for (head, tail) in rows {
        let mut typed = broken(head, width);
        let mut tail = wrapped(tail, width.saturating_sub(column)).into_iter();
        let fits = typed.len() == 1 && length(head) + INDENT + GAP <= column;
        if let (true, Some(last), Some(first)) = (fits, typed.last_mut(), tail.as_slice().first()) {
            *last = format!("{last:<column$}{first}");
            tail.next();
        }
        lines.append(&mut typed);
        lines.extend(tail.map(|words| format!("{:column$}{words}", "")));
    }
    lines
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A command as lines that a shell takes as one.
fn broken(command: &str, width: usize) -> Vec<String> {
    const CONTINUED: &str = " \\";
    let mut lines = vec![" ".repeat(INDENT)];
    let words = shell_words(command);
    let many = words.len();
    for (at, word) in words.into_iter().enumerate() {
        let Some(line) = lines.last_mut() else { break };
        let is_first = line.trim().is_empty();
        let room = if at + 1 == many { width } else { width.saturating_sub(CONTINUED.len()) };
        if is_first {
            line.push_str(word);
        } else if length(line) + 1 + length(word) <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            line.push_str(CONTINUED);
            lines.push(format!("{}{word}", " ".repeat(BELOW)));
        }
    }
    lines
}

/// The words of a command. Quoted ones have spaces.
fn shell_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut begin, mut quote) = (0, None);
    for (at, letter) in command.char_indices() {
        match (quote, letter) {
            (None, ' ') => {
                words.push(&command[begin..at]);
                begin = at + 1;
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    words.push(&command[begin..]);
    words
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "A sentence that the code
breaks in the middle.

Examples:
  fourfold ls URL                   what is there
  fourfold cp URL --a-long-option --and 'one that is quoted'  copies
                                    more
  fourfold rm URL

Exit codes:
  0  done
  1  a server cannot be reached, refuses the login, or has no such file";

    #[test]
    fn a_wide_terminal_has_two_columns() {
        let expected = "A sentence that the code breaks in the middle.

Examples:
  fourfold ls URL                                             what is there
  fourfold cp URL --a-long-option --and 'one that is quoted'  copies more
  fourfold rm URL

Exit codes:
  0  done
  1  a server cannot be reached, refuses the login, or has no such file";
        assert_eq!(render(&parse(TEXT), 110), expected);
    }

    #[test]
    fn a_narrow_terminal_has_long_explanations_below() {
        let expected = "A sentence that the code breaks in the middle.

Examples:
  fourfold ls URL  what is there
  fourfold cp URL --a-long-option --and \\
      'one that is quoted'
                   copies more
  fourfold rm URL

Exit codes:
  0  done
  1  a server cannot be reached, refuses the login, or
     has no such file";
        assert_eq!(render(&parse(TEXT), 56), expected);
    }

    #[test]
    fn a_text_that_was_laid_out_has_the_same_parts() {
        let parts = parse(TEXT);
        assert!(matches!(&parts[..], [Note::Paragraph(_), Note::Heading(_), Note::Rows(_), ..]), "{parts:?}");
        for width in [1, 40, 56, 80, 110, usize::MAX] {
            assert_eq!(parse(&render(&parts, width)), parts, "{width}");
        }
    }

    #[test]
    fn exit_codes_in_a_line_are_a_paragraph() {
        let text = "A sentence.\nExit codes: 0 done, 1 not done";
        assert_eq!(render(&parse(text), 80), "A sentence.\n\nExit codes: 0 done, 1 not done");
    }
}
