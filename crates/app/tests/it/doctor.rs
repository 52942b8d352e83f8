//! `fourfold doctor` from a script's view: what it finds on this machine, as JSON and by exit code.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn doctor(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    command.arg("doctor").args(words).args(["--state", "state"]).current_dir(folder);
    command.env_remove("FOURFOLD_USER").output().unwrap()
}

/// The findings of `--json` about one thing.
fn about<'a>(findings: &'a Value, thing: &str) -> Vec<&'a Value> {
    findings.as_array().unwrap().iter().filter(|finding| finding["about"] == thing).collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_share_on_a_free_port_has_no_problem_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("films")).unwrap();
    let ports = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--iscsi-port", "off"];
    let output = doctor(folder.path(), &[&["films", "--json", "--portmap-port", "off"][..], &ports].concat());
    let found = json(&output);
    let problems: Vec<&Value> =
        found.as_array().unwrap().iter().filter(|finding| finding["level"] == "problem").collect();
    assert_eq!((output.status.code(), problems), (Some(0), vec![]), "{found:#}");
    assert_eq!(about(&found, "settings")[0]["found"], "accepted, 1 share");
    assert!(about(&found, "share films").len() >= 3, "space, attributes, snapshots: {found:#}");
    assert_eq!(std::fs::read_dir(folder.path().join("films")).unwrap().count(), 0);
    assert!(!folder.path().join("state").exists(), "it changes nothing");
}

#[test]
fn a_port_of_another_program_is_a_problem_that_names_the_program() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("films")).unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let output = doctor(folder.path(), &["films", "--listen", "127.0.0.1", "--smb-port", &port, "--json"]);
    let found = json(&output);
    let finding = about(&found, &format!("SMB port {port}"))[0];
    assert_eq!((output.status.code(), &finding["level"]), (Some(1), &"problem".into()), "{found:#}");
    let process = format!("(process {})", std::process::id());
    assert!(finding["found"].as_str().unwrap().contains(&process), "{finding}");
    assert!(finding["mend"].as_str().unwrap().contains("--smb-port"), "{finding}");
}

#[test]
fn the_text_shows_the_worst_first_and_all_on_request() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.toml"), "[[share]]\nname = \"Gone\"\npath = \"gone\"\n").unwrap();
    let output = doctor(folder.path(), &["--config", "x.toml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("problem  share Gone"), "{text}");
    assert!(lines.next().unwrap().contains("→ `sudo mkdir -p "), "{text}");
    assert!(text.contains("1 problem, ") && text.ends_with("; --all shows them\n"), "{text}");
    assert!(!text.contains("\nfine "), "{text}");
    let all = doctor(folder.path(), &["--config", "x.toml", "--all"]);
    assert!(String::from_utf8(all.stdout).unwrap().contains("\nfine     kernel"));
}

#[test]
fn refused_settings_are_a_problem_and_a_wrong_flag_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.toml"), "[server]\nnfs-prot = 1\n").unwrap();
    let output = doctor(folder.path(), &["--config", "x.toml", "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(1));
    let finding = about(&found, "settings")[0];
    assert!(finding["found"].as_str().unwrap().starts_with("x.toml:2:1: error:"), "{finding}");
    assert!(finding["mend"].as_str().unwrap().contains("fourfold check"), "{finding}");
    assert_eq!(doctor(folder.path(), &["--no-such-flag"]).status.code(), Some(2));
}

#[test]
fn without_settings_the_machine_and_the_default_ports_are_examined() {
    let folder = tempfile::tempdir().unwrap();
    let found = json(&doctor(folder.path(), &["--json"]));
    let settings = about(&found, "settings")[0];
    if settings["level"] == "warning" {
        assert!(settings["mend"].as_str().unwrap().contains("fourfold doctor DIR"), "{settings}");
    } // else this machine has /etc/fourfold/fourfold.toml
    let ports = found.as_array().unwrap().iter().filter(|f| f["about"].as_str().unwrap().contains(" port "));
    assert!(ports.count() >= 5, "{found:#}");
}

#[test]
fn a_settings_file_with_secrets_that_others_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("films")).unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(&file, "[[share]]\nname = \"Films\"\npath = \"films\"\nafp-password = \"hunter2\"\n")
        .unwrap();
    let found = |mode| {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        json(&doctor(folder.path(), &["--config", "x.toml", "--json"]))
    };
    let told = |found: &Value| {
        let settings = about(found, "settings");
        settings.iter().filter(|finding| finding["level"] == "warning").map(|one| one.to_string()).collect()
    };
    let open: Vec<String> = told(&found(0o640));
    assert!(open.len() == 1 && open[0].contains("chmod 600") && open[0].contains("secrets"), "{open:?}");
    assert!(!open[0].contains("hunter2"));
    let closed: Vec<String> = told(&found(0o600));
    assert_eq!(closed, [""; 0]);
}

#[test]
fn accounts_that_share_an_identity_are_told_to_get_no_home() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("homes")).unwrap();
    let user = |name: &str, uid: u32| format!("[[user]]\nname = \"{name}\"\nuid = {uid}\n");
    let users =
        [("ada", 4242), ("bob", 4243), ("rob", 4243), ("amy", 4244)].map(|(name, uid)| user(name, uid));
    let share = "[[share]]\nname = \"Homes\"\npath = \"homes/%U\"\nmake-homes = true\n";
    std::fs::write(at("x.toml"), format!("{share}{}", users.concat())).unwrap();
    std::fs::write(at("accounts"), "ada:one\nbob:two\nrob:three\n").unwrap();
    let words = ["--config", "x.toml", "--user-file", "accounts", "--json"];
    let homes = || {
        let found = json(&doctor(folder.path(), &words));
        let told = about(&found, "share Homes");
        let told = told.iter().find(|one| one["found"].as_str().unwrap().contains("home")).unwrap();
        (told["level"].as_str().unwrap().to_owned(), told["found"].as_str().unwrap().to_owned())
    };
    let (level, found) = homes();
    assert_eq!(level, "warning");
    assert!(found.contains("bob (it acts as uid 4243, as rob does)") && found.contains("rob ("), "{found}");
    assert!(!found.contains("ada") && !found.contains("amy"), "{found}");
    // A home that was made by hand is one.
    ["bob", "rob"].iter().for_each(|name| std::fs::create_dir(at("homes").join(name)).unwrap());
    assert_eq!(homes().0, "fine");
}
