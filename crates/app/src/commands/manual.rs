//! `fourfold completions` and `fourfold man`: what shells and `man` have to know of the command line.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap_mangen::Man;

use crate::cli::{self, Completions};
use crate::terminal::out;

/// Prints the completions for a shell.
pub(crate) fn completions(arguments: &Completions) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut cli::command(), "fourfold", &mut script);
    out::print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one page for each command.
pub(crate) fn pages(arguments: &cli::Man) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut command = cli::command().disable_help_subcommand(true);
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

/// The text behind the help: paragraphs, and sections that begin with a line such as `Examples:`. Its lines stay as they are.
fn write_notes(notes: &str, page: &mut Vec<u8>) -> std::io::Result<()> {
    let mut heading = Some("NOTES".to_owned());
    for line in notes.lines() {
        if let Some(title) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            heading = Some(title.to_uppercase());
            continue;
        }
        if line.trim().is_empty() && heading.is_some() {
            continue;
        }
        if let Some(heading) = heading.take() {
            writeln!(page, ".SH {}\n.nf", escaped(&heading))?;
        }
        writeln!(page, "{}", escaped(line))?;
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
    fn notes_become_sections_whose_lines_stay() {
        let mut page = Vec::new();
        let notes = "Words.\n\nExamples:\n  fourfold a --b\n  'c' \\d\n\nExit codes:\n  0  done";
        write_notes(notes, &mut page).unwrap();
        let expected = ".SH NOTES\n.nf\nWords.\n\n.SH EXAMPLES\n.nf\n  fourfold a \\-\\-b\n  'c' \\ed\n\n.SH EXIT CODES\n.nf\n  0  done\n";
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
        assert!(create.contains(".SH EXAMPLES\n.nf\n  fourfold snapshot create"), "{create}");
        assert!(page("fourfold-serve.1").contains("\\-\\-nfs\\-port"));
    }
}
