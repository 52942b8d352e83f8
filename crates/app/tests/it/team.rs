//! Team folders from the command line to a client: three people share one folder.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const SERVER: &str = "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-port = 0\nsmb-port = 0\nafp-port = \"off\"\n\
                      iscsi-port = \"off\"\nportmap-port = \"off\"\nbonjour = \"off\"\n";

/// The numbers that the server itself gives.
const OWN: std::ops::RangeInclusive<u32> = 1_900_000_000..=1_900_999_999;

/// Accounts that no host has as users.
const PEOPLE: [&str; 4] = ["t-ada", "t-grace", "t-linus", "t-eve"];

struct Scene(tempfile::TempDir);

struct Server {
    child: Child,
    said: Vec<String>,
    smb: String,
    folder: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scene {
    /// A settings file without shares, and accounts of everybody.
    fn new() -> Self {
        let scene = Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        std::fs::set_permissions(scene.0.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::write(scene.at("fourfold.toml"), SERVER).unwrap();
        PEOPLE.iter().for_each(|name| drop(scene.run(&["user", "add", name])));
        scene
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).current_dir(self.0.path());
        command
    }

    fn output(&self, words: &[&str]) -> Output {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(b"secret\n"); // a password, for those who ask
        child.wait_with_output().unwrap()
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a command that fails, with its exit code.
    fn fail(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = self.output(words);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn json(&self, words: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.run(words)).unwrap()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.at("fourfold.toml")).unwrap()
    }

    fn serve(&self) -> Server {
        let mut serve = self.command(&["serve"]);
        let mut child =
            serve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let is_ready = line.starts_with("ready");
            said.push(line);
            if is_ready {
                break;
            }
        }
        let mut server = Server { child, said, smb: String::new(), folder: self.0.path().into() };
        let status = self.json(&["status", "--json"]);
        let listeners = status["listeners"].as_array().unwrap();
        let smb = listeners.iter().find(|one| one["protocol"].as_str().unwrap().eq_ignore_ascii_case("smb"));
        let address = smb.expect("SMB is served")["address"].as_str().unwrap().to_owned();
        server.smb = address.rsplit(':').next().unwrap().to_owned();
        server
    }
}

impl Server {
    /// What smbclient says of commands in a share; `None` where there is no smbclient.
    fn smb(&self, who: &str, share: &str, commands: &str) -> Option<String> {
        if !Path::new("/usr/bin/smbclient").exists() {
            println!("skipped in part: no smbclient");
            return None;
        }
        let (user, share) = (format!("{who}%secret"), format!("//127.0.0.1/{share}"));
        let words = ["20", "smbclient", "-p", &self.smb, "-U", &user, &share, "-c", commands];
        let output = Command::new("timeout").args(words).current_dir(&self.folder).output().unwrap();
        Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    }

    #[track_caller]
    fn may(&self, who: &str, share: &str, commands: &str) {
        if let Some(said) = self.smb(who, share, commands) {
            assert!(
                !said.contains("NT_STATUS") && !said.contains("does not exist"),
                "{who}, {commands}: {said}"
            );
        }
    }

    #[track_caller]
    fn may_not(&self, who: &str, share: &str, commands: &str) {
        if let Some(said) = self.smb(who, share, commands) {
            assert!(said.contains("NT_STATUS_ACCESS_DENIED"), "{who}, {commands}: {said}");
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn three_people_share_the_folder_that_create_has_made() {
    let scene = Scene::new();
    std::fs::write(scene.at("letter"), "of ada").unwrap();
    let said = scene.run(&[
        "create",
        "Studio",
        "--path",
        "studio",
        "--editor",
        "t-ada,t-grace",
        "--reader",
        "t-linus",
    ]);
    for line in [
        "Studio: t-ada may change all files, also those of others\n",
        "Studio: t-grace may change all files, also those of others\n",
        "Studio: t-linus may read everything\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let server = scene.serve();
    server.may("t-ada", "Studio", "put letter plan; mkdir drafts");
    server.may("t-grace", "Studio", "put letter plan; rename plan drafts\\plan; get drafts\\plan -");
    server.may("t-linus", "Studio", "get drafts\\plan -");
    server.may_not("t-linus", "Studio", "put letter mine");
    server.may_not("t-eve", "Studio", "ls");
    let status = scene.run(&["status"]);
    assert!(status.contains("by roles"), "{status}");
}

#[test]
fn a_role_that_is_given_or_taken_counts_at_once() {
    let scene = Scene::new();
    std::fs::write(scene.at("letter"), "of ada").unwrap();
    scene.run(&["create", "Studio", "--path", "studio", "--editor", "t-ada"]);
    let server = scene.serve();
    server.may_not("t-linus", "Studio", "ls");
    scene.run(&["share", "access", "Studio", "--reader", "t-linus"]);
    server.may("t-linus", "Studio", "ls");
    server.may_not("t-linus", "Studio", "put letter mine");
    scene.run(&["share", "access", "Studio", "--editor", "t-linus"]);
    server.may("t-linus", "Studio", "put letter mine");
    scene.run(&["share", "access", "Studio", "--remove", "t-linus"]);
    server.may_not("t-linus", "Studio", "ls");
    server.may("t-ada", "Studio", "del mine");
}

#[test]
fn members_of_a_group_of_the_server_have_its_role() {
    let scene = Scene::new();
    std::fs::write(scene.at("letter"), "of ada").unwrap();
    let made = scene.run(&["group", "add", "t-studio", "t-ada", "t-grace"]);
    assert!(made.contains("members: t-ada, t-grace"), "{made}");
    scene.run(&["create", "Studio", "--path", "studio", "--editor", "@t-studio"]);
    let server = scene.serve();
    server.may("t-ada", "Studio", "put letter plan");
    server.may("t-grace", "Studio", "put letter plan");
    server.may_not("t-linus", "Studio", "ls");
    scene.run(&["group", "modify", "t-studio", "--add", "t-linus", "--remove", "t-grace"]);
    server.may("t-linus", "Studio", "del plan");
    server.may_not("t-grace", "Studio", "ls");
    let groups = scene.json(&["group", "list", "--json"]);
    assert_eq!(groups[0]["accounts"], serde_json::json!(["t-ada", "t-linus"]));
    let gid = u32::try_from(groups[0]["gid"].as_u64().unwrap()).unwrap();
    assert!(OWN.contains(&gid));
    if is_root() {
        assert_eq!(scene.at("studio").metadata().unwrap().gid(), gid, "local programs see the group, too");
    }
    let removed = scene.run(&["group", "remove", "t-studio"]);
    assert!(removed.contains("Studio: its role for @t-studio is for no one now"), "{removed}");
    server.may_not("t-ada", "Studio", "ls");
}

#[test]
fn groups_have_accounts_only_and_names_of_their_own() {
    let scene = Scene::new();
    let (code, why) = scene.fail(&["group", "add", "t-studio", "t-nobody"]);
    assert!(code == Some(1) && why.contains("there is no account \"t-nobody\""), "{why}");
    let (code, why) = scene.fail(&["group", "add", "root", "t-ada"]);
    assert!(code == Some(1) && why.contains("this host has a group \"root\""), "{why}");
    let (code, why) = scene.fail(&["group", "add", "everyone"]);
    assert!(code == Some(1) && why.contains("cannot be a group's name"), "{why}");
    scene.run(&["group", "add", "t-studio", "t-ada"]);
    let (code, why) = scene.fail(&["group", "add", "T-Studio"]);
    assert!(code == Some(1) && why.contains("`fourfold group modify` changes its members"), "{why}");
    scene.run(&["user", "remove", "t-ada"]);
    assert!(scene.run(&["group", "list"]).contains("no members"));
}

#[test]
fn an_account_without_a_host_user_owns_what_it_makes() {
    if !is_root() {
        println!("skipped: only root can act as others");
        return;
    }
    let scene = Scene::new();
    std::fs::write(scene.at("letter"), "of ada").unwrap();
    let accounts = scene.json(&["user", "list", "--json"]);
    let numbers: Vec<u32> = accounts
        .as_array()
        .unwrap()
        .iter()
        .map(|account| u32::try_from(account["uid"].as_u64().unwrap()).unwrap())
        .collect();
    assert!(numbers.iter().all(|number| OWN.contains(number)), "{numbers:?}");
    assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{numbers:?}");
    assert!(scene.run(&["user", "list"]).contains(&format!("uid {}, a number of its own", numbers[0])));
    scene.run(&["create", "Studio", "--path", "studio", "--contributor", "everyone"]);
    let server = scene.serve();
    if server.smb("t-ada", "Studio", "put letter plan").is_none() {
        return;
    }
    assert_eq!(scene.at("studio/plan").metadata().unwrap().uid(), numbers[0]);
    server.may_not("t-grace", "Studio", "put letter plan");
    server.may("t-grace", "Studio", "put letter other; get plan -");
    server.may("t-ada", "Studio", "put letter plan; del plan");
}

#[test]
fn the_table_of_access_is_shown_for_people_and_scripts() {
    let scene = Scene::new();
    scene.run(&[
        "create",
        "Studio",
        "--path",
        "studio",
        "--owner",
        "t-ada",
        "--reader",
        "everyone,@no-such-group",
    ]);
    let shown = scene.run(&["share", "access", "Studio"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("WHO") && lines[1].starts_with("t-ada"), "{shown}");
    assert!(lines[3].contains("there is no such group yet: `fourfold group add no-such-group"), "{shown}");
    assert_eq!(lines.last(), Some(&"no one else may enter"));
    let json = scene.json(&["share", "access", "Studio", "--json"]);
    assert_eq!(json["team"], true);
    assert_eq!(
        json["access"][1],
        serde_json::json!({"who": "everyone", "role": "reader", "may": "read everything"})
    );
    scene.run(&["create", "Studio/video"]);
    let inner = scene.run(&["share", "access", "Studio/video"]);
    assert!(inner.contains("inherited from Studio\n"), "{inner}");
}

#[test]
fn a_role_takes_the_place_of_the_one_before() {
    let scene = Scene::new();
    scene.run(&["create", "Studio", "--path", "studio", "--owner", "t-ada", "--editor", "t-grace"]);
    scene.run(&["share", "access", "Studio", "--reader", "T-GRACE", "--drop", "guests"]);
    assert!(
        scene.text().ends_with("owners = [\"t-ada\"]\nreaders = [\"T-GRACE\"]\ndrop = [\"guests\"]\n"),
        "{}",
        scene.text()
    );
    let before = scene.text();
    for (words, expected) in [
        (&["--remove", "t-eve"][..], "\"t-eve\" has no role in the share"),
        (&["--reader", "t-eve", "--editor", "T-Eve"], "is given two roles"),
        (&["--editor", "+studio"], "write \"@studio\""),
        (&["--remove", "t-ada,t-grace,guests"], "no one would have a role"),
    ] {
        let (code, why) = scene.fail(&[&["share", "access", "Studio"], words].concat());
        assert!(code == Some(1) && why.contains(expected), "{words:?}: {why}");
    }
    assert_eq!(scene.text(), before);
}

#[test]
fn a_share_that_gets_its_first_role_says_who_may_not_enter_any_more() {
    let scene = Scene::new();
    std::fs::create_dir(scene.at("old")).unwrap();
    std::fs::set_permissions(scene.at("old"), PermissionsExt::from_mode(0o777)).unwrap();
    scene.run(&["create", "Old", "--path", "old", "-o", "users=t-ada,t-grace"]);
    let shown = scene.run(&["share", "access", "Old"]);
    assert!(shown.contains("it has no roles") && shown.contains("t-ada, t-grace may enter"), "{shown}");
    let said = scene.run(&["share", "access", "Old", "--editor", "t-ada"]);
    assert!(said.contains("Old: `users` is removed from the settings"), "{said}");
    assert!(said.contains("Old: t-grace may not enter any more"), "{said}");
    assert!(!scene.text().contains("users"), "{}", scene.text());
}

#[test]
fn create_does_not_leave_a_share_that_its_accounts_cannot_write_without_saying_so() {
    if !is_root() {
        println!("skipped: accounts act as the server's own user");
        return;
    }
    let scene = Scene::new();
    let (code, why) = scene.fail(&["create", "Fresh", "--path", "fresh"]);
    assert_eq!(code, Some(1));
    let advice = "`fourfold share access Fresh --editor t-ada,t-grace,t-linus,t-eve`";
    assert!(
        why.contains("t-ada, t-grace, t-linus and t-eve cannot read and write") && why.contains(advice),
        "{why}"
    );
    assert!(scene.text().contains("name = \"Fresh\""), "the share is made");
    let words: Vec<&str> = advice.trim_matches('`').split(' ').skip(1).collect();
    scene.run(&words);
    std::fs::write(scene.at("letter"), "of eve").unwrap();
    scene.serve().may("t-eve", "Fresh", "put letter plan");
}

#[test]
fn only_an_empty_folder_is_prepared() {
    if !is_root() {
        println!("skipped: the modes of others' files are not ours");
        return;
    }
    let scene = Scene::new();
    scene.run(&["create", "New", "--path", "new", "--editor", "t-ada"]);
    assert_eq!(scene.at("new").metadata().unwrap().mode() & 0o2007, 0o2000);
    std::fs::create_dir(scene.at("full")).unwrap();
    std::fs::set_permissions(scene.at("full"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(scene.at("full/file"), "old").unwrap();
    let said = scene.run(&["create", "Full", "--path", "full", "--editor", "t-ada"]);
    assert!(said.contains("`fourfold rights reset") && said.contains("--recursive`"), "{said}");
    assert_eq!(scene.at("full").metadata().unwrap().mode() & 0o7777, 0o755);
    let server = scene.serve();
    assert!(
        server.said.iter().any(|line| line.contains("Full: clients have these rights")),
        "{:?}",
        server.said
    );
    std::fs::write(scene.at("letter"), "of ada").unwrap();
    server.may("t-ada", "Full", "put letter file; put letter new");
}
