//! `docs/commands.md` has the output of `--help`.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

const COMMANDS: [&[&str]; 18] = [
    &[],
    &["serve"],
    &["check"],
    &["user"],
    &["user", "add"],
    &["user", "passwd"],
    &["user", "remove"],
    &["user", "list"],
    &["lun"],
    &["lun", "create"],
    &["lun", "list"],
    &["lun", "show"],
    &["lun", "resize"],
    &["lun", "remove"],
    &["lun", "clone"],
    &["status"],
    &["say"],
    &["disconnect"],
];

fn page() -> String {
    let mut page = String::from(
        "# Commands\n\nThis page is what `--help` says. After a change there: `FOURFOLD_WRITE_DOCS=1 cargo test -p fourfold \
         --test commands_page`.\n",
    );
    for words in COMMANDS {
        let command = Command::new(env!("CARGO_BIN_EXE_fourfold"))
            .args(words)
            .arg("--help")
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        let help = String::from_utf8(command.stdout).unwrap();
        let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let name = ["fourfold"].iter().chain(words).copied().collect::<Vec<_>>().join(" ");
        page.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n")));
    }
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
         FOURFOLD_WRITE_DOCS=1 cargo test -p fourfold --test commands_page"
    );
}
