//! `docs/commands.md` has the output of `--help`.

use std::path::Path;
use std::process::Command;

/// What `--help` says of a command.
fn help(words: &[String]) -> Vec<String> {
    let command = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(words)
        .arg("--help")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(command.status.success(), "{words:?}");
    let help = String::from_utf8(command.stdout).unwrap();
    help.trim_end().lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Adds a command and those below it, in the order in which `--help` lists them.
fn describe(words: &[String], page: &mut String) {
    let help = help(words);
    let name =
        std::iter::once("fourfold").chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    page.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n")));
    let below = if words.is_empty() { grouped(&help) } else { listed(&help) };
    for name in below {
        describe(&[words, &[name]].concat(), page);
    }
}

/// The commands below another one. A description that is continued on the next line begins further right.
fn listed(help: &[String]) -> Vec<String> {
    let below =
        help.iter().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = below.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The commands of the first page, which has them by job: some in a line of their own, the others behind `also`.
fn grouped(help: &[String]) -> Vec<String> {
    groups(help).flat_map(|(_, lines)| names_of(lines)).collect()
}

/// The titles of the groups on the first page, each with the lines below it.
fn groups(help: &[String]) -> impl Iterator<Item = (&str, &[String])> {
    let groups = help.split(|line| line.is_empty()).filter_map(|lines| lines.split_first());
    let titled = groups.filter_map(|(first, lines)| Some((first.strip_suffix(':')?, lines)));
    titled.filter(|(title, _)| *title != "Everywhere")
}

fn names_of(lines: &[String]) -> Vec<String> {
    let (mut names, mut is_list) = (Vec::new(), false);
    for line in lines {
        let (first, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let is_row = !line.starts_with("   ");
        match (is_row, first == "also", is_list) {
            (true, false, _) => {
                names.push(first.to_owned());
                is_list = false;
            }
            (true, true, _) => {
                names.extend(rest.split(',').map(|name| name.trim().to_owned()));
                is_list = true;
            }
            (false, _, true) => names.extend(line.split(',').map(|name| name.trim().to_owned())),
            (false, _, false) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn page() -> String {
    let mut page = String::from(
        "# Commands\n\nEach command of `fourfold`, as `--help` explains it.\n\n## By job\n\n| job | commands |\n|---|---|\n",
    );
    for (title, lines) in groups(&help(&[])) {
        let link = |name: String| format!("[`{name}`](#fourfold-{name})");
        let links: Vec<String> = names_of(lines).into_iter().map(link).collect();
        page.push_str(&format!("| {title} | {} |\n", links.join(", ")));
    }
    describe(&[], &mut page);
    page
}

#[test]
fn the_committed_page_is_what_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = page();
    if std::env::var_os("FOURFOLD_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/commands.md differs from --help; write it anew with\n    \
         FOURFOLD_WRITE_DOCS=1 cargo test -p fourfold --test it commands_page"
    );
}
