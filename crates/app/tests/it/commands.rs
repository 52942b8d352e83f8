//! The program from a script's view: its output, and its exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

#[path = "commands/check.rs"]
mod check;

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
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes()); // it may not read any
    child.wait_with_output().unwrap()
}

/// The same with another standard output.
fn run_into(folder: &Path, words: &[&str], input: &str, stdout: impl Into<Stdio>) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes()); // it may not read any
    child.wait_with_output().unwrap()
}

/// A pipe whose reader has gone, like that of `head -1`. A child of another test may keep the
/// reader open until it executes its own program.
fn no_reader() -> std::io::PipeWriter {
    let (reader, mut writer) = std::io::pipe().unwrap();
    drop(reader);
    while writer.write(b"\n").is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    writer
}

/// A full device: a write to it gives ENOSPC.
fn full() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
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
    let output = run(folder.path(), &["check", "--config", "x.toml", "--state", "state"], "");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        err(&output),
        "x.toml:2:1: error: [server] has no setting `nfs-prot`; write `nfs-port`\n\
         x.toml:3:1: error: [[share]] has no `path`; add `path = \"/srv/share\"`\n\
         fourfold: the settings are refused: 2 errors\n"
    );
    let output = run(folder.path(), &["check", "--config", "x.toml", "--state", "state", "--json"], "");
    let checked: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!((output.status.code(), &checked["accepted"]), (Some(2), &false.into()), "{checked}");
    assert_eq!(
        checked["diagnostics"][0],
        serde_json::json!({
            "severity": "error", "place": "x.toml:2:1", "line": 2, "column": 1,
            "what": "[server] has no setting `nfs-prot`", "instead": "write `nfs-port`"
        })
    );
    assert_eq!(checked["diagnostics"].as_array().map(Vec::len), Some(2));
}

#[test]
fn check_accepts_good_settings_with_0() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), "[[share]]\nname = \"A\"\npath = \"a\"\n").unwrap();
    let output = run(folder.path(), &["check"], "");
    // There may be notes before it: the usual ports of this host may be taken.
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).ends_with("fourfold.toml: accepted, 1 share\n"), "{}", out(&output));
    let output = run(folder.path(), &["check", "--json"], "");
    let checked: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((&checked["accepted"], &checked["shares"]), (&true.into(), &1.into()), "{checked}");
    assert!(checked["file"].as_str().is_some_and(|file| file.ends_with("fourfold.toml")), "{checked}");
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
fn check_reports_the_unix_user_of_each_account() {
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
    let acts_as = if is_root() { "a number of its own" } else { "the user the server runs as" };
    assert!(made.0 == 0 && made.1.contains(acts_as), "{made:?}");
    let numbered = user(&["add", "numbered", "--uid", "4242", "--gid", "4343"], "hunter2\n").1;
    assert!(numbered.contains("acts as uid 4242 and gid 4343, which no Unix user"), "{numbered}");
    assert_eq!(user(&["remove", "numbered"], "").0, 0);
    assert_eq!(user(&["add", "invalid", "--uid", "4294967295"], "hunter2\n").0, 2);
    assert_eq!(user(&["add", "root", "--uid", "0", "--password-stdin"], "hunter3\n").0, 0);
    let twice = user(&["add", "root"], "hunter4\n");
    assert!(twice.0 == 1 && twice.1.contains("`fourfold user passwd` sets its password"), "{twice:?}");
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
    let first = out(&run(folder.path(), &["--help"], ""));
    assert!(first.contains("Begin, and look:") && first.contains("Exit codes: 0 done"), "{first}");
    for words in [&["serve", "--help"][..], &["user", "add", "--help"], &["status", "--help"]] {
        let help = run(folder.path(), words, "");
        assert!(help.status.success() && out(&help).contains("Examples:"), "{words:?}");
    }
}

/// Every command that prints, in an order in which each has something to print; and its input.
const PRINTING: [(&[&str], &str); 17] = [
    (&["--help"], ""),
    (&["--version"], ""),
    (&["serve", "--help"], ""),
    (&["check"], ""),
    (&["user", "list"], ""),
    (&["user", "add", "ada"], "secret\n"),
    (&["user", "passwd", "ada"], "secret\n"),
    (&["user", "list"], ""),
    (&["user", "list", "--json"], ""),
    (&["user", "remove", "ada"], ""),
    (&["lun", "list"], ""),
    (&["lun", "create", "A/disk", "64M"], ""),
    (&["lun", "list"], ""),
    (&["lun", "list", "--json"], ""),
    (&["lun", "show", "A/disk"], ""),
    (&["lun", "resize", "A/disk", "128M"], ""),
    (&["lun", "remove", "A/disk", "--yes"], ""),
];

fn share_with_state() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    let text = "[server]\nstate = \"state\"\n[[share]]\nname = \"A\"\npath = \"a\"\n";
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    folder
}

#[test]
fn a_reader_that_has_gone_ends_every_command_without_a_word() {
    let folder = share_with_state();
    for (words, input) in PRINTING {
        let output = run_into(folder.path(), words, input, no_reader());
        assert_eq!((output.status.code(), err(&output).as_str()), (Some(128 + 13), ""), "{words:?}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error_of_every_command() {
    let folder = share_with_state();
    for (words, input) in PRINTING {
        let output = run_into(folder.path(), words, input, full());
        assert_eq!(
            (output.status.code(), err(&output).as_str()),
            (
                Some(1),
                "fourfold: the answer cannot be written to standard output: No space left on device (os error 28)\n"
            ),
            "{words:?}"
        );
    }
}

#[test]
fn a_server_that_hangs_is_waited_for_with_a_word_and_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("s");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("lock"), "4242\n").unwrap();
    let _silent = std::os::unix::net::UnixListener::bind(state.join("control.sock")).unwrap();
    let started = std::time::Instant::now();
    let output = run(folder.path(), &["status", "--state", "s"], "");
    let took = started.elapsed().as_secs();
    assert!((10..25).contains(&took), "{took} s");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        err(&output).replace(&folder.path().display().to_string(), "TMP"),
        "fourfold: the server has not answered yet; waiting for it\n\
         fourfold: the server (process 4242) of the state folder TMP/s has not answered for 10 s; its log may say why, \
         and a server that hangs must be killed\n"
    );
}

#[test]
fn the_list_of_accounts_says_what_is_kept_of_each_password() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("password"), "twelve bytes\nmore\n").unwrap();
    let user = |words: &[&str]| {
        let words: Vec<&str> = ["user"].iter().chain(words).chain(&["--state", "s"]).copied().collect();
        let output = run(folder.path(), &words, "");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
        out(&output)
    };
    user(&["add", "ada", "--password-file", "password"]);
    user(&["add", "grace", "--password-file", "password", "--chap-secret", "--legacy-password"]);
    let list = user(&["list"]);
    let kept = |name: &str| {
        let line = list.lines().find(|line| line.starts_with(name)).unwrap();
        line.split("; kept: ").nth(1).unwrap().to_owned()
    };
    assert_eq!(kept("ada"), "slow hash, NT hash (SMB), SRP verifier (AFP)");
    assert_eq!(
        kept("grace"),
        "slow hash, NT hash (SMB), SRP verifier (AFP), legacy password (old Macs), CHAP secret (iSCSI)"
    );
    let accounts: serde_json::Value = serde_json::from_str(&user(&["list", "--json"])).unwrap();
    assert_eq!(accounts[0]["secrets"], serde_json::json!(["argon2", "nt-hash", "srp"]));
    assert_eq!(accounts[1]["secrets"], serde_json::json!(["argon2", "nt-hash", "srp", "legacy", "chap"]));
    let file = auth::AccountFile::read(&folder.path().join("s")).unwrap();
    assert_eq!(file.accounts[0].secrets[0].verifies("twelve bytes"), Some(true));
    let gone = run(folder.path(), &["user", "passwd", "ada", "--password-file", "gone", "--state", "s"], "");
    assert!(err(&gone).starts_with("fourfold: the password file gone cannot be read: "), "{}", err(&gone));
}

#[test]
fn accounts_and_groups_that_are_not_there_are_a_warning_with_the_line() {
    let folder = share_with_state();
    let text = "[server]\nstate = \"state\"\niscsi-account = \"disk\"\n[[share]]\nname = \"A\"\npath = \"a\"\n\
                users = [\"ada\", \"grace\"]\ngroups = [\"root\", \"no-such-group\"]\n[[user]]\nname = \"linus\"\n";
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    assert_eq!(run(folder.path(), &["user", "add", "ada"], "secret\n").status.code(), Some(0));
    let output = run(folder.path(), &["check"], "");
    let said = out(&output);
    let (before, _) = said.split_once("ada acts as ").unwrap();
    assert_eq!(
        (output.status.code(), before),
        (
            Some(0),
            "fourfold.toml:3:1: note: there is no account \"disk\" with a CHAP secret; `fourfold user add --chap-secret` \
             makes one\n\
             fourfold.toml:7:17: note: there is no account \"grace\", so it opens the share \"A\" to no one; `fourfold user \
             add` makes one\n\
             fourfold.toml:8:19: note: this machine has no group \"no-such-group\", so it opens the share \"A\" to no one; \
             write the name of a group that `getent group` knows\n\
             fourfold.toml:10:1: note: the account \"linus\" has no password, so nobody can log in with it; `fourfold user \
             add` sets one\n\
             fourfold.toml: accepted, 1 share\n"
        )
    );
}

#[test]
fn check_prints_every_setting_with_its_source_as_a_settings_file_that_is_accepted() {
    let folder = share_with_state();
    std::fs::write(
        folder.path().join("fourfold.toml"),
        "[server]\nstate = \"state\"\nsmb-port = \"off\"\n[[share]]\nname = \"A\"\npath = \"a\"\nafp-password = \"plans\"\n\
         [[share.client]]\nmatch = [\"10.0.0.1\", \"fd00::/8\"]\n[[share.lun]]\nname = \"disk\"\nsize = \"3 GiB\"\n\
         [[user]]\nname = \"grace\"\n[[link]]\npath = \"A/archive\"\ntargets = [\"smb://filer2/archive\"]\n\
         [[site]]\nname = \"berlin\"\nnetworks = [\"10.1.0.0/16\"]\nservers = [\"filer2\"]\n",
    )
    .unwrap();
    let flags = ["check", "--print", "--nfs-port", "3049", "--read-only", "B=a", "--user", "ada:hunter2"];
    let output = run(folder.path(), &flags, "");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    let top = folder.path().canonicalize().unwrap().display().to_string();
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").replace(&top, "TMP"))
        .collect();
    for expected in [
        "nfs-port = 3049 # command line: --nfs-port 3049",
        "smb-port = \"off\" # fourfold.toml:3:1",
        "grace-period = 45 # default",
        "# afp-greeting: none # default",
        "# cache-size: half of `cache-memory` # default",
        "path = \"TMP/a\" # fourfold.toml:6:1",
        "read-only = true # command line: --read-only",
        "afp-password = \"…\" # fourfold.toml:7:1",
        "match = [\"10.0.0.1\", \"fd00::/8\"] # fourfold.toml:9:1",
        "size = \"3 GiB\" # fourfold.toml:12:1",
        "name = \"B\" # command line: B=a",
        "name = \"ada\" # for this run",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{text}");
    }
    assert!(!text.contains("hunter2") && !text.contains("plans"));
    for setting in admin::settings::SETTINGS.iter().filter(|s| s.table != admin::settings::Table::Client) {
        let said = |line: &String| {
            line.starts_with(&format!("{} = ", setting.key))
                || line.starts_with(&format!("# {}: ", setting.key))
        };
        assert!(lines.iter().any(said), "{}", setting.path());
    }
    std::fs::write(folder.path().join("printed.toml"), text.replace("\"…\"", "\"plans\"")).unwrap();
    let again = run(folder.path(), &["check", "--config", "printed.toml"], "");
    assert_eq!(again.status.code(), Some(0), "{}\n{text}", err(&again));
}

#[test]
fn each_flag_of_user_modify_changes_its_own_part_of_an_account() {
    let folder = tempfile::tempdir().unwrap();
    let user =
        |words: &[&str]| run(folder.path(), &[&["user"], words, &["--state", "s"]].concat(), "secret\n");
    assert_eq!(user(&["add", "ada", "--uid", "61003"]).status.code(), Some(0));
    let account = || -> serde_json::Value {
        let all: serde_json::Value = serde_json::from_str(&out(&user(&["list", "--json"]))).unwrap();
        all[0].clone()
    };
    let mut expected = account();
    let secrets = expected["secrets"].as_array().unwrap().len();
    assert!(secrets > 0 && expected["uid"] == 61003 && expected["admin"] == false, "{expected}");
    for (words, key, value, said) in [
        (["--admin", "on"], "admin", serde_json::json!(true), "ada: may administer the server"),
        (["--disabled", "on"], "disabled", serde_json::json!(true), "ada: may not log in"),
        (["--uid", "61004"], "uid", serde_json::json!(61004), "ada: acts as "),
        (["--gid", "61005"], "gid", serde_json::json!(61005), "ada: acts as "),
        (["--groups", "61006,61007"], "groups", serde_json::json!([61006, 61007]), "ada: acts as "),
        (["--groups", ""], "groups", serde_json::json!([]), "ada: acts as "),
        (["--disabled", "off"], "disabled", serde_json::json!(false), "ada: may log in"),
        (["--admin", "off"], "admin", serde_json::json!(false), "ada: may not administer the server"),
    ] {
        let done = user(&["modify", "ada", words[0], words[1]]);
        assert!(
            done.status.success() && out(&done).starts_with(said),
            "{words:?}: {} {}",
            out(&done),
            err(&done)
        );
        expected[key] = value;
        assert_eq!(account(), expected, "{words:?}");
    }
    for (words, code, why) in [
        (&["ada"][..], 2, "--admin"),
        (&["ada", "--admin", "maybe"], 2, "possible values: on, off"),
        (&["ada", "--uid", "4294967295"], 2, "4294967295"),
        (&["ada", "--groups", "no-such-group"], 1, "no-such-group"),
        (&["eve", "--admin", "on"], 1, "eve"),
    ] {
        let refused = user(&[&["modify"], words].concat());
        assert!(
            refused.status.code() == Some(code) && err(&refused).contains(why),
            "{words:?}: {}",
            err(&refused)
        );
        assert_eq!(account(), expected, "{words:?}");
    }
}
