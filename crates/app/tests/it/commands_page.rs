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
    let below =
        help.iter().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A description that is continued on the next line begins further right.
    let names = below.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    for name in names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help") {
        describe(&[words, &[name.to_owned()]].concat(), page);
    }
}

fn page() -> String {
    let mut page = String::from(
        "# Commands\n\nThis page is what `--help` says. After a change there: `FOURFOLD_WRITE_DOCS=1 cargo test -p fourfold \
         --test it commands_page`.\n",
    );
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
