//! The program as scripts see it: what it prints, and its exit codes.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the program in `folder`, with `input` on its standard input.
fn run(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes()); // it may not want any
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn check_says_every_error_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.toml"), "[server]\nnfs-prot = 1\n[[share]]\nname = \"A\"\n")
        .unwrap();
    let output = run(folder.path(), &["check", "--config", "x.toml"], "");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        err(&output),
        "x.toml:2:1: error: [server] has no setting `nfs-prot`; write `nfs-port`\n\
         x.toml:3:1: error: [[share]] has no `path`; add `path = \"/srv/share\"`\n\
         fourfold: the settings are refused: 2 errors\n"
    );
}

#[test]
fn check_accepts_good_settings_with_0() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), "[[share]]\nname = \"A\"\npath = \"a\"\n").unwrap();
    let output = run(folder.path(), &["check"], "");
    assert_eq!(
        (output.status.code(), out(&output).as_str()),
        (Some(0), "fourfold.toml: accepted, 1 share\n")
    );
}

#[test]
fn check_without_a_settings_file_says_how_to_name_one() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["check", "--config", "gone.toml"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("gone.toml:1:1: error: there is no such file; name a settings file"));
}

#[test]
fn serve_refuses_what_is_wrong_on_its_command_line_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["serve", "gone/deep", "--nfs-port", "many", "--state", "s"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("command line: gone/deep: error: the folder `gone/deep` does not exist"));
    assert!(err(&output).contains("command line: --nfs-port many: error: `--nfs-port` must be a port"));
    assert_eq!(run(folder.path(), &["serve", "--no-such-flag"], "").status.code(), Some(2));
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn check_says_as_whom_each_account_acts() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[server]\nstate = \"s\"\n[[share]]\nname = \"A\"\npath = \"a\"\n[[user]]\nname = \"no-such-unix-user\"\n\
                    [[user]]\nname = \"eve\"\nuid = 4242\ngid = 4343\n";
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), settings).unwrap();
    let said = out(&run(folder.path(), &["check"], ""));
    let acts_as = if is_root() { "nobody (uid 65534)" } else { "the user the server runs as" };
    assert!(said.contains(&format!("no-such-unix-user acts as {acts_as}")), "{said}");
    assert!(said.contains("eve acts as uid 4242 and gid 4343"), "{said}");
}

#[test]
fn accounts_are_made_changed_listed_and_removed_without_showing_a_password() {
    let folder = tempfile::tempdir().unwrap();
    let user = |words: &[&str], input: &str| {
        let words: Vec<&str> = ["user"].iter().chain(words).chain(&["--state", "s"]).copied().collect();
        let output = run(folder.path(), &words, input);
        assert!(!out(&output).contains("hunter") && !err(&output).contains("hunter"));
        (output.status.code().unwrap(), out(&output) + &err(&output))
    };
    assert!(user(&["list"], "").1.starts_with("there are no accounts"));
    let made = user(&["add", "no-such-unix-user"], "hunter2\n");
    let acts_as = if is_root() { "nobody (uid 65534)" } else { "the user the server runs as" };
    assert!(made.0 == 0 && made.1.contains(acts_as), "{made:?}");
    let numbered = user(&["add", "numbered", "--uid", "4242", "--gid", "4343"], "hunter2\n").1;
    assert!(numbered.contains("acts as uid 4242 and gid 4343, which no Unix user"), "{numbered}");
    assert_eq!(user(&["remove", "numbered"], "").0, 0);
    assert_eq!(user(&["add", "invalid", "--uid", "4294967295"], "hunter2\n").0, 2);
    assert_eq!(user(&["add", "root", "--uid", "0", "--password-stdin"], "hunter3\n").0, 0);
    let twice = user(&["add", "root"], "hunter4\n");
    assert!(twice.0 == 1 && twice.1.contains("`fourfold user passwd root` sets its password"), "{twice:?}");
    assert_eq!(user(&["passwd", "root"], "hunter5\n").0, 0);
    assert_eq!(user(&["passwd", "root"], "\n").0, 1);
    let list = user(&["list", "--json"], "").1;
    assert!(list.contains("\"name\": \"root\"") && list.contains("\"uid\": 0"), "{list}");
    assert_eq!(user(&["remove", "root"], "").0, 0);
    assert_eq!(user(&["remove", "root"], "").0, 1);
    let state = auth::AccountFile::read(&folder.path().join("s")).unwrap();
    assert_eq!(state.accounts.len(), 1);
    assert_eq!(state.accounts[0].secrets[0].verifies("hunter2"), Some(true));
}

#[test]
fn what_old_macs_need_of_a_password_is_kept_when_asked_for_and_until_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let has = |words: &[&str]| {
        let words: Vec<&str> =
            ["user"].iter().chain(words).chain(&["ada", "--state", "s"]).copied().collect();
        assert_eq!(run(folder.path(), &words, "pässword\n").status.code(), Some(0));
        let state = auth::AccountFile::read(&folder.path().join("s")).unwrap();
        let legacy = |secret: &auth::Secret| Some(secret) == auth::Secret::legacy("pässword").as_ref();
        state.accounts[0].secrets.iter().any(legacy)
    };
    assert!(!has(&["add"]));
    assert!(has(&["passwd", "--legacy-password"]));
    assert!(!has(&["passwd"]));
}

#[test]
fn a_password_is_kept_as_the_secret_of_chap_when_asked_for_if_it_is_long_enough() {
    let folder = tempfile::tempdir().unwrap();
    let add = |name: &str, password: &str| {
        run(folder.path(), &["user", "add", name, "--state", "s", "--chap-secret"], password)
    };
    let short = add("ada", "eleven byte\n");
    assert_eq!(short.status.code(), Some(1));
    assert!(err(&short).contains("must have 12 to 255 bytes"), "{}", err(&short));
    assert_eq!(add("grace", "twelve bytes\n").status.code(), Some(0));
    let state = auth::AccountFile::read(&folder.path().join("s")).unwrap();
    assert_eq!(state.accounts.len(), 1);
    assert!(state.accounts[0].secrets.contains(&auth::Secret::Chap(b"twelve bytes".to_vec())));
}

#[test]
fn status_without_a_server_ends_with_3_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["status", "--state", "s"], "");
    assert_eq!(output.status.code(), Some(3));
    assert!(err(&output).contains("start one with `fourfold serve`"), "{}", err(&output));
}

#[test]
fn version_and_help_end_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let version = run(folder.path(), &["--version"], "");
    assert_eq!(out(&version), format!("fourfold {}\n", env!("CARGO_PKG_VERSION")));
    for words in [&["--help"][..], &["serve", "--help"], &["user", "add", "--help"], &["status", "--help"]] {
        let help = run(folder.path(), words, "");
        assert!(help.status.success() && out(&help).contains("Examples:"), "{words:?}");
    }
}
