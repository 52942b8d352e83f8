//! The place of an ordinary user's state folder.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An unused uid, for an ordinary user if the test runs as root.
const UID: u32 = 12_345;

/// A user with a home folder.
struct Person {
    _folder: tempfile::TempDir,
    home: PathBuf,
}

impl Person {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let person = Self { _folder: folder, home };
        person.own(&person.home);
        person
    }

    fn own(&self, path: &Path) {
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(path, Some(UID), Some(UID)).unwrap();
        }
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.home.join(name);
        std::fs::create_dir(&path).unwrap();
        self.own(&path);
        path
    }

    fn command(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = crate::program::for_any_user();
        command.args(words).current_dir(folder).env("HOME", &self.home).env_remove("XDG_STATE_HOME");
        if rustix::process::geteuid().is_root() {
            command.uid(UID).gid(UID);
        }
        command
    }

    /// Its output on both streams.
    fn run(&self, folder: &Path, words: &[&str]) -> (Option<i32>, String) {
        said(self.command(folder, words))
    }
}

fn said(mut command: Command) -> (Option<i32>, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(b"secret\n");
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

#[test]
fn an_account_made_anywhere_is_there_for_every_command_anywhere() {
    let ada = Person::new();
    let (work, state) = (ada.folder("work"), ada.home.join(".local/state/fourfold"));
    let (code, added) = ada.run(&work, &["user", "add", "ada"]);
    assert_eq!(code, Some(0), "{added}");
    assert!(added.contains(&format!("made in {}", state.display())), "{added}");
    for folder in [&ada.home, &work, Path::new("/")] {
        assert!(ada.run(folder, &["user", "list"]).1.starts_with("ada "), "{}", folder.display());
    }
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!work.join(".fourfold").exists());
    let (code, missing) = ada.run(Path::new("/"), &["status"]);
    assert_eq!(code, Some(3));
    assert!(missing.contains(&state.display().to_string()), "{missing}");
}

#[test]
fn the_home_folder_can_be_shared_and_a_folder_in_the_state_cannot() {
    let ada = Person::new();
    assert_eq!(ada.run(&ada.home, &["user", "add", "ada"]).0, Some(0));
    let (code, shared) = ada.run(&ada.home, &["check", "."]);
    assert_eq!(code, Some(0), "{shared}");
    assert!(shared.contains("clients can neither see nor move it"), "{shared}");
    for folder in [".local/state/fourfold", "."] {
        let state = ["--state", ".local/state/fourfold"];
        let words = [&["check", folder][..], if folder == "." { &state } else { &[] }].concat();
        let (code, refused) = ada.run(&ada.home, &words);
        assert_eq!(code, Some(2), "{refused}");
        assert!(refused.contains("holds secrets"), "{refused}");
    }
}

#[test]
fn xdg_state_home_counts_when_it_is_absolute() {
    let ada = Person::new();
    let place = |xdg: &str| {
        let mut command = ada.command(&ada.home, &["status"]);
        command.env("XDG_STATE_HOME", xdg);
        said(command).1
    };
    let named = |folder: &str| format!("state folder {}; ", ada.home.join(folder).display());
    let other = ada.home.join("other");
    assert!(place(other.to_str().unwrap()).contains(&named("other/fourfold")));
    assert!(place("relative").contains(&named(".local/state/fourfold")));
    assert!(place("").contains(&named(".local/state/fourfold")));
}

#[test]
fn without_a_home_folder_the_state_lies_in_the_current_one() {
    let ada = Person::new();
    let mut command = ada.command(&ada.home, &["status"]);
    command.env_remove("HOME");
    let said = said(command).1;
    // A user with an entry in /etc/passwd has a home folder without HOME, too.
    if rustix::process::geteuid().is_root() {
        assert!(said.contains(&format!("state folder {}; ", ada.home.join(".fourfold").display())), "{said}");
    }
}

#[test]
fn a_home_folder_that_cannot_be_written_to_is_named_with_what_to_do() {
    let ada = Person::new();
    std::fs::set_permissions(&ada.home, std::fs::Permissions::from_mode(0o500)).unwrap();
    let (code, refused) = ada.run(Path::new("/"), &["user", "add", "ada"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        refused,
        format!(
            "fourfold: the state folder: {}: Permission denied (os error 13); choose another folder with --state DIR\n",
            ada.home.join(".local/state/fourfold").display()
        )
    );
}

#[test]
fn the_state_folder_of_an_earlier_version_is_used_and_named() {
    let ada = Person::new();
    let work = ada.folder("work");
    let earlier = work.join(".fourfold");
    assert_eq!(ada.run(&work, &["user", "add", "grace", "--state", ".fourfold"]).0, Some(0));
    assert!(ada.run(&work, &["user", "list"]).1.starts_with("grace "));
    let (_, added) = ada.run(&work, &["user", "add", "ada"]);
    assert!(added.contains(&format!("made in {}", earlier.display())), "{added}");
    let (code, checked) = ada.run(&work, &["check", "."]);
    assert_eq!(code, Some(0));
    let note = format!("the state folder is `{}`, which an earlier version made", earlier.display());
    assert!(checked.contains(&note), "{checked}");
    assert!(!ada.home.join(".local").exists());
}
