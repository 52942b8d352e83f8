//! `--help` on terminals of two widths.

use std::path::Path;
use std::process::Command;

/// The widths of terminals that are looked at. Help uses at most [`MOST`] columns of them.
const WIDTHS: [usize; 2] = [80, 120];
const MOST: usize = 110;
/// Commands whose help is kept as it is: each has another kind of text.
const KEPT: [&[&str]; 6] =
    [&[], &["serve"], &["snapshot", "restore"], &["mount"], &["rights"], &["user", "add"]];

/// What `--help` says of a command at a terminal of this width.
fn help(words: &[&str], width: usize) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let output = command.args(words).arg("--help").env("COLUMNS", width.to_string()).output().unwrap();
    assert!(output.status.success(), "{words:?}");
    let help = String::from_utf8(output.stdout).unwrap();
    help.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// All commands that have a page, from the headings of docs/commands.md.
fn commands() -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = std::fs::read_to_string(page).unwrap();
    let names = page.lines().filter_map(|line| line.strip_prefix("## `fourfold")?.strip_suffix('`'));
    names.map(|names| names.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn help_is_as_it_was_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/help");
    for words in KEPT {
        for width in WIDTHS {
            let name = [&["fourfold"], words].concat().join("-");
            let path = folder.join(format!("{name}.{width}.txt"));
            let help = help(words, width);
            if std::env::var_os("FOURFOLD_WRITE_DOCS").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &help).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                help, kept,
                "write it anew with FOURFOLD_WRITE_DOCS=1 cargo test -p fourfold --test it help"
            );
        }
    }
}

#[test]
fn each_line_of_help_is_as_long_as_the_terminal_allows() {
    let all = commands();
    assert!(all.len() > 80, "{}", all.len());
    for words in &all {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for width in WIDTHS {
            let (help, width) = (help(&words, width), width.min(MOST));
            let lines: Vec<&str> = help.lines().collect();
            for line in &lines {
                let is_one = line.starts_with("Usage: ") || line.split_whitespace().count() == 1; // clap breaks no usage
                assert!(line.chars().count() <= width || is_one, "{words:?} at {width}: {line}");
            }
            // A line of a paragraph ends because the next word has no room, and not because the code breaks it there.
            for pair in lines.windows(2) {
                let is_text = |line: &str| line.starts_with(|first: char| !first.is_whitespace());
                let (line, next) = (pair[0], pair[1]);
                if is_text(line) && is_text(next) && !line.ends_with(':') {
                    let word = next.split_whitespace().next().unwrap_or_default();
                    assert!(
                        line.chars().count() + 1 + word.chars().count() > width,
                        "{words:?} at {width}: {line}"
                    );
                }
            }
        }
    }
}

#[test]
fn help_says_the_same_at_each_width() {
    for words in KEPT {
        let said = WIDTHS.map(|width| help(words, width).replace(" \\\n", " "));
        let [narrow, wide] = said.map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(narrow, wide, "{words:?}");
    }
}
