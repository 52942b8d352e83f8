//! The state of a server moves to a new machine, which is another folder here.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn fourfold(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    command.args(words).current_dir(folder).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"a password\n"); // it may not read any
    child.wait_with_output().unwrap()
}

fn done(folder: &Path, words: &[&str]) -> String {
    let output = fourfold(folder, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(folder: &Path, words: &[&str], code: i32) -> String {
    let output = fourfold(folder, words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    said
}

/// A server with accounts, a share with roles, a LUN and a token.
fn old_machine() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    std::fs::create_dir(top.path().join("films")).unwrap();
    let settings = "[server]\nstate = \"state\"\n[[share]]\nname = \"films\"\npath = \"films\"\neditors = [\"t-ada\"]\nreaders = [\"t-grace\"]\n";
    std::fs::write(top.path().join("fourfold.toml"), settings).unwrap();
    done(top.path(), &["user", "add", "t-ada", "--admin"]);
    done(top.path(), &["user", "add", "t-grace"]);
    done(top.path(), &["user", "modify", "t-grace", "--disabled", "on"]);
    done(top.path(), &["lun", "create", "films/disk", "64M", "--initiator", "iqn.2026-11.test:ada"]);
    done(top.path(), &["token", "create", "grafana", "--scope", "metrics"]);
    top
}

/// What a server is, as far as its commands tell.
fn told(folder: &Path) -> [String; 5] {
    let lists: [&[&str]; 5] = [
        &["user", "list", "--json"],
        &["lun", "show", "films/disk", "--json"],
        &["token", "list", "--json"],
        &["share", "access", "films", "--json"],
        &["get", "all", "films"],
    ];
    lists.map(|words| done(folder, words).replace(&folder.display().to_string(), "TOP"))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_machine_takes_over_with_everything_that_the_old_one_was() {
    let (old, new) = (old_machine(), tempfile::tempdir().unwrap());
    let file = new.path().join("kept.json");
    done(old.path(), &["backup-state", file.to_str().unwrap()]);
    assert_eq!(mode(&file), 0o600);
    let again = refused(old.path(), &["backup-state", file.to_str().unwrap()], 1);
    assert!(again.contains("File exists"), "{again}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("grafana") && !text.contains("fourfold_"), "tokens are hashes");

    // The disk comes with the files; only the state is new.
    let copied = Command::new("cp").arg("-a").arg(old.path().join("films")).arg(new.path()).status().unwrap();
    assert!(copied.success());
    let words = ["restore-state", "kept.json", "--config", "fourfold.toml"];
    let dry = done(new.path(), &[&words[..], &["--dry-run"]].concat());
    assert!(dry.starts_with("dry run: ") && !new.path().join("state").exists(), "{dry}");
    assert!(!new.path().join("fourfold.toml").exists());
    done(new.path(), &words);
    assert_eq!(told(new.path()), told(old.path()));
    for (path, expected) in [("state", 0o700), ("state/accounts.toml", 0o600), ("state/tokens.toml", 0o600)] {
        assert_eq!(mode(&new.path().join(path)), expected, "{path}");
    }
    assert_eq!(mode(&new.path().join("fourfold.toml")), 0o600);
    let id = |top: &Path| std::fs::read_to_string(top.join("state/identity.toml")).unwrap();
    assert_eq!(id(new.path()), id(old.path()));
    done(new.path(), &["check"]);
}

#[test]
fn what_is_there_is_replaced_only_when_asked_and_is_kept() {
    let old = old_machine();
    done(old.path(), &["backup-state", "kept.json"]);
    done(old.path(), &["user", "add", "t-linus"]);
    let words = ["restore-state", "kept.json"];
    assert!(refused(old.path(), &words, 2).contains("add --yes"));
    assert!(done(old.path(), &["user", "list"]).contains("t-linus"));
    done(old.path(), &["restore-state", "kept.json", "--yes"]);
    assert!(!done(old.path(), &["user", "list"]).contains("t-linus"));
    let names: Vec<String> = std::fs::read_dir(old.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("before-restore"))
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let state = names.iter().find(|name| name.starts_with("state.")).unwrap();
    let accounts = std::fs::read_to_string(old.path().join(state).join("accounts.toml")).unwrap();
    assert!(accounts.contains("t-linus"), "{accounts}");
}

#[test]
fn an_archive_that_is_wrong_or_refused_here_changes_nothing() {
    let (old, new) = (old_machine(), tempfile::tempdir().unwrap());
    done(old.path(), &["backup-state", new.path().join("kept.json").to_str().unwrap()]);
    let text = std::fs::read_to_string(new.path().join("kept.json")).unwrap();
    let words = ["restore-state", "wrong.json", "--config", "fourfold.toml"];
    for (from, to, code, why) in [
        ("t-ada", "t-eve", 1, "its sum is another one"),
        ("\"format\": 1", "\"format\": 9", 1, "format 9"),
        ("\"sha256\"", "\"sha\"", 1, "no whole archive"),
    ] {
        std::fs::write(new.path().join("wrong.json"), text.replacen(from, to, 1)).unwrap();
        let said = refused(new.path(), &words, code);
        assert!(said.contains(why), "{said}");
    }
    // Of a machine where the settings cannot be used.
    std::fs::write(old.path().join("fourfold.toml"), "[server]\nno-such-setting = 1\n").unwrap();
    let file = new.path().join("refused.json");
    done(old.path(), &["backup-state", file.to_str().unwrap(), "--state", "state"]);
    let said = refused(new.path(), &["restore-state", "refused.json", "--config", "fourfold.toml"], 2);
    assert!(said.contains("no-such-setting") && said.contains("--without-settings"), "{said}");
    let mut left: Vec<String> = std::fs::read_dir(new.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["kept.json", "refused.json", "wrong.json"]);
}
