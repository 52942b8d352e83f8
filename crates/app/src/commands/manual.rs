//! `fourfold completions` and `fourfold man`: what shells and `man` have to know of the command line.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap_complete::Shell;
use clap_mangen::Man;

use super::complete::scripts;
use crate::cli::{self, Completions, Note, ShellName};
use crate::terminal::out;

/// Prints the completions for a shell.
pub(crate) fn completions(arguments: &Completions) -> anyhow::Result<ExitCode> {
    let script = match arguments.shell {
        ShellName::Bash => scripts::BASH.to_owned(),
        ShellName::Zsh => scripts::ZSH.to_owned(),
        ShellName::Fish => scripts::FISH.to_owned(),
        ShellName::Elvish => generated(Shell::Elvish),
        ShellName::PowerShell => generated(Shell::PowerShell),
    };
    out::print(script)?;
    Ok(ExitCode::SUCCESS)
}

/// A script that knows the commands and flags, and asks nobody.
fn generated(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "fourfold", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes one page for each command.
pub(crate) fn pages(arguments: &cli::Man) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut command = cli::command_for(usize::MAX).disable_help_subcommand(true);
    command.build();
    let written = write(command, folder)?;
    out::line(format_args!("{written} pages are in {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of a command and of those below it. Returns their number.
fn write(command: clap::Command, folder: &Path) -> anyhow::Result<usize> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    let page = page(command.clone())?;
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.cloned().try_fold(1, |sum, below| Ok(sum + write(below, folder)?))
}

fn page(command: clap::Command) -> anyhow::Result<Vec<u8>> {
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_below = command.has_subcommands();
    let man = Man::new(command.after_help(None::<&str>)).manual("Fourfold").source("Fourfold");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_below {
        man.render_subcommands_section(&mut page)?;
    }
    write_notes(&notes, &mut page)?;
    Ok(page)
}

/// The text behind the help. Sections begin at headings; `man` breaks the lines of paragraphs for the terminal.
fn write_notes(notes: &str, page: &mut Vec<u8>) -> std::io::Result<()> {
    let notes = cli::parse_notes(notes);
    if notes.first().is_some_and(|first| !matches!(first, Note::Heading(_))) {
        writeln!(page, ".SH NOTES")?;
    }
    for note in &notes {
        match note {
            Note::Heading(title) => {
                writeln!(page, ".SH {}", escaped(title.trim_end_matches(':')).to_uppercase())?
            }
            Note::Paragraph(text) => writeln!(page, ".PP\n{}", escaped(text))?,
            Note::Rows(rows) => {
                for (head, tail) in rows {
                    let head = escaped(head);
                    let head = head.trim_start_matches("\\&");
                    match tail.is_empty() {
                        true => writeln!(page, ".PP\n\\fB{head}\\fR")?,
                        false => writeln!(page, ".TP\n\\fB{head}\\fR\n{}", escaped(tail))?,
                    }
                }
            }
        }
    }
    Ok(())
}

/// Text that roff prints as it is: `-` is a hyphen to it, and a line that begins with `.` or `'` a command.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_become_sections_that_man_lays_out() {
        let mut page = Vec::new();
        let notes = "Words\nthat go on.\n\nExamples:\n  fourfold a --b  it\n                  does\n  'c' \\d\n\nExit codes:\n  0  done";
        write_notes(notes, &mut page).unwrap();
        let expected = ".SH NOTES\n.PP\nWords that go on.\n.SH EXAMPLES\n.TP\n\\fBfourfold a \\-\\-b\\fR\nit does\n\
                        .PP\n\\fB'c' \\ed\\fR\n.SH EXIT CODES\n.TP\n\\fB0\\fR\ndone\n";
        assert_eq!(String::from_utf8(page).unwrap(), expected);
        assert_eq!(escaped(".so /etc/passwd"), "\\&.so /etc/passwd");
    }

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        pages(&cli::Man { folder: folder.path().to_owned() }).unwrap();
        let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page("fourfold.1").contains("fourfold\\-snapshot(1)"));
        let create = page("fourfold-snapshot-create.1");
        assert!(create.contains(".SH EXAMPLES\n.PP\n\\fBfourfold snapshot create"), "{create}");
        assert!(page("fourfold-serve.1").contains("\\-\\-nfs\\-port"));
    }
}
