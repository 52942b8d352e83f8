//! What all commands have in common: exit codes of usage errors, --dry-run, --quiet, --verbose.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn fourfold(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    command.args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A server with a share and an account.
fn server() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    std::fs::create_dir(top.path().join("a")).unwrap();
    let text = "[server]\nstate = \"state\"\n[[share]]\nname = \"A\"\npath = \"a\"\n";
    std::fs::write(top.path().join("fourfold.toml"), text).unwrap();
    std::fs::write(top.path().join("secret"), "a password\n").unwrap();
    let made = fourfold(top.path(), &["user", "add", "ada", "--password-file", "secret", "--quiet"]);
    assert_eq!((made.status.code(), out(&made).as_str(), err(&made).as_str()), (Some(0), "", ""));
    top
}

#[test]
fn what_cannot_be_meant_ends_every_command_with_2() {
    let top = server();
    for (words, why) in [
        (&["no-such-command"][..], "unrecognized subcommand"),
        (&["status", "--no-such-flag"], "--no-such-flag"),
        (&["snapshot", "remove", "A"], "write SHARE@NAME"),
        (&["snapshot", "restore", "A", "x"], "write SHARE@NAME"),
        (&["set", "read-only", "A"], "PROPERTY=VALUE"),
        (&["set", "A"], "no property is given"),
        (&["lun", "create", "A", "1G"], "write SHARE/NAME"),
        (&["lun", "create", "A/x", "1"], "has no unit"),
        (&["lun", "remove", "A/x@y"], "write SHARE/NAME"),
        (&["pool", "create", "p.img", "much", "p"], "is no size"),
        (&["cat", "http://nas/a/b"], "http"),
        (&["cp", "smb://nas/share", "."], "a whole share"),
        (&["setup"], "no terminal"),
        (&["user", "remove", "ada", "--quiet", "--verbose"], "cannot be used with"),
    ] {
        let output = fourfold(top.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", err(&output));
        assert!(err(&output).contains(why), "{words:?}: {}", err(&output));
    }
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_it_would_do() {
    let top = server();
    std::fs::write(top.path().join("a/file"), "1").unwrap();
    fourfold(top.path(), &["group", "add", "office", "ada"]);
    fourfold(top.path(), &["token", "create", "grafana"]);
    fourfold(top.path(), &["lun", "create", "A/disk", "64M"]);
    let state = || {
        let files =
            ["accounts.toml", "tokens.toml", "luns.toml"].map(|name| top.path().join("state").join(name));
        let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
        (texts, std::fs::read_to_string(top.path().join("fourfold.toml")).unwrap())
    };
    let before = state();
    for words in [
        &["user", "remove", "ada"][..],
        &["group", "remove", "office"],
        &["token", "remove", "grafana"],
        &["lun", "remove", "A/disk"],
        &["lun", "resize", "A/disk", "128M"],
        &["rename", "A", "B"],
        &["destroy", "A", "--keep-files"],
        &["destroy", "A", "--delete-files"],
        &["rm", "-r", "a"],
        &["cp", "a/file", "a/copy"],
        &["migrate", "a", "new", "--delete"],
    ] {
        std::fs::create_dir_all(top.path().join("new")).unwrap();
        let output = fourfold(top.path(), &[words, &["--dry-run"]].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
        assert!(out(&output).starts_with("dry run: "), "{words:?}: {}", out(&output));
        assert_eq!(state(), before, "{words:?}");
        assert!(top.path().join("a/file").exists() && !top.path().join("a/copy").exists(), "{words:?}");
        assert_eq!(std::fs::read_dir(top.path().join("new")).unwrap().count(), 0, "{words:?}");
    }
}

#[test]
fn a_dry_run_of_a_copy_counts_what_is_new_changed_and_surplus() {
    let top = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("from/new", "1"),
        ("from/inner/deep", "22"),
        ("from/changed", "333"),
        ("to/changed", "4"),
        ("to/old/x", ""),
    ] {
        let path = top.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let output = fourfold(top.path(), &["migrate", "from", "to", "--delete", "--dry-run", "--verbose"]);
    let said = out(&output);
    assert!(said.starts_with("dry run: 3 files would be copied, 6 B; 0 are there already\n"), "{said}");
    assert!(said.contains("1 of the destination would be overwritten, 2 removed"), "{said}");
    let steps = err(&output);
    for step in ["would copy \"inner/deep\"", "would copy \"changed\"", "would remove \"old\""] {
        assert!(steps.contains(step), "{steps}");
    }
    assert!(!top.path().join("to/inner").exists() && top.path().join("to/old/x").exists());
    let done = fourfold(top.path(), &["migrate", "from", "to", "--delete"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert!(top.path().join("to/inner/deep").exists() && !top.path().join("to/old").exists());
    let again = out(&fourfold(top.path(), &["migrate", "from", "to", "--dry-run"]));
    assert!(again.starts_with("dry run: 0 files would be copied, 0 B; 3 are there already\n"), "{again}");
}

#[test]
fn quiet_commands_print_what_was_asked_for_and_nothing_else() {
    let top = server();
    let quiet = |words: &[&str]| {
        let output = fourfold(top.path(), &[words, &["-q"]].concat());
        assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""), "{words:?}");
        out(&output)
    };
    assert!(quiet(&["user", "list"]).contains("ada"));
    assert!(quiet(&["token", "create", "grafana"]).starts_with("fourfold_"));
    for words in
        [&["token", "remove", "grafana"][..], &["set", "read-only=on", "A"], &["user", "remove", "ada"]]
    {
        assert_eq!(quiet(words), "", "{words:?}");
    }
    let failed = fourfold(top.path(), &["user", "remove", "ada", "-q"]);
    assert!(failed.status.code() == Some(1) && err(&failed).contains("ada"), "what goes wrong is said");
}

#[test]
fn a_setting_that_does_not_exist_leads_to_the_one_that_is_meant() {
    let top = server();
    let text = std::fs::read_to_string(top.path().join("fourfold.toml")).unwrap();
    std::fs::write(top.path().join("fourfold.toml"), format!("{text}snapshots = 7\n")).unwrap();
    let said = err(&fourfold(top.path(), &["check"]));
    let expected =
        "fourfold.toml:6:1: error: [[share]] has no setting `snapshots`; write `snapshot-schedule = ";
    assert!(said.starts_with(expected) && said.lines().count() == 2, "{said}");
}

#[test]
fn settings_of_samba_lead_to_adopt() {
    let top = tempfile::tempdir().unwrap();
    std::fs::write(
        top.path().join("smb.conf"),
        "[global]\n  workgroup = HOME\n[films]\n  path = /srv/films\n",
    )
    .unwrap();
    let output = fourfold(top.path(), &["check", "--config", "smb.conf", "--state", "state"]);
    assert_eq!(output.status.code(), Some(2));
    let said = err(&output);
    assert!(
        said.contains("settings of Samba")
            && said.contains("`fourfold adopt --smb-conf smb.conf --settings`"),
        "{said}"
    );
}
