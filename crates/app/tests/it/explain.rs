//! `fourfold explain`: the answers follow the mode, the share's settings, locks of Macs, and what a server says.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn fourfold(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    command.args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn explained(folder: &Path, user: &str, path: &str) -> Value {
    let output = fourfold(folder, &["explain", user, path, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The answer to a question, and its reason.
fn answer(explained: &Value, what: &str) -> (bool, String) {
    let all = ["protocols", "rights"].iter().flat_map(|part| explained[part].as_array().unwrap());
    let all: Vec<&Value> = all.chain([&explained["way"]]).collect();
    let one = all.iter().find(|one| one["what"] == what).unwrap_or_else(|| panic!("{what}: {explained:#}"));
    (one["may"].as_bool().unwrap(), one["why"].as_str().unwrap().to_owned())
}

#[test]
fn each_answer_has_its_reason() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("studio/private")).unwrap();
    for name in ["studio/plan", "studio/private/secret"] {
        std::fs::write(at(name), "x").unwrap();
    }
    for (name, uid, gid, mode) in [
        ("studio", 1001, 50, 0o755),
        ("studio/plan", 1001, 50, 0o640),
        ("studio/private", 1001, 50, 0o700),
        ("studio/private/secret", 1001, 50, 0o666),
    ] {
        if chown(at(name), Some(uid), Some(gid)).is_err() {
            println!("skipped: only root may give files away");
            return;
        }
        std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    let text = "[server]\nstate = \"state\"\nafp-port = \"off\"\nnfs-clients = \"10.0.0.0/8\"\n\
                [[share]]\nname = \"studio\"\npath = \"studio\"\nusers = [\"ada\", \"grace\"]\n\
                [[user]]\nname = \"ada\"\nuid = 1001\ngid = 100\n[[user]]\nname = \"grace\"\nuid = 1002\ngid = 50\n\
                [[user]]\nname = \"joan\"\nuid = 1003\ngid = 101\n";
    std::fs::write(at("fourfold.toml"), text).unwrap();
    let plan = at("studio/plan").display().to_string();
    let ada = explained(folder.path(), "ada", &plan);
    assert_eq!(
        (&ada["share"], &ada["kind"], &ada["mode"]),
        (&"studio".into(), &"file".into(), &"640".into())
    );
    assert!(answer(&ada, "write it").0 && answer(&ada, "change its rights").0);
    assert_eq!(answer(&ada, "reach it"), (true, "all folders above let the user pass".into()));
    let (may, why) = answer(&ada, "AFP");
    assert!(!may && why.contains("does not serve it"), "{why}");
    assert!(answer(&ada, "NFS").0);

    let grace = explained(folder.path(), "grace", &plan);
    assert_eq!((answer(&grace, "read it").0, answer(&grace, "write it").0), (true, false));
    assert!(answer(&grace, "read it").1.contains("the mode 640 gives the group r--"), "{grace:#}");
    let (may, why) = answer(&grace, "remove or rename it");
    assert!(!may && why.contains("the folder that it is in: the mode 755 gives the group r-x"), "{why}");

    let joan = explained(folder.path(), "joan", &plan);
    let (may, why) = answer(&joan, "SMB");
    assert!(!may && why.contains("has no password"), "{why}");
    assert!(!answer(&joan, "read it").0);

    let number = explained(folder.path(), "1002", &at("studio/private/secret").display().to_string());
    let (may, why) = answer(&number, "reach it");
    assert!(!may && why.starts_with("private cannot be passed: the mode 700 gives"), "{why}");
    assert!(answer(&number, "write it").0, "the file itself is open to all");
    assert!(!answer(&number, "SMB").0, "a number is no account");
    assert_eq!(number["uses"], Value::Null, "no server runs");

    std::fs::set_permissions(at("studio/plan"), PermissionsExt::from_mode(0o440)).unwrap();
    let locked = explained(folder.path(), "ada", &plan);
    assert!(locked["locked"].as_str().unwrap().contains("no right to write"), "{locked:#}");

    let text = std::fs::read_to_string(at("fourfold.toml")).unwrap();
    std::fs::write(at("fourfold.toml"), text.replace("users =", "read-only = true\nusers =")).unwrap();
    let (may, why) = answer(&explained(folder.path(), "ada", &plan), "remove or rename it");
    assert_eq!((may, &*why), (false, "the share is read-only"));

    for (words, expected) in [
        (["explain", "nobody-here", &plan], "there is no account"),
        (["explain", "ada", "/etc/passwd"], "is in the folder of no share"),
        (["explain", "ada", "absent"], "absent is not there"),
    ] {
        let output = fourfold(folder.path(), &words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
    }
    let table = fourfold(folder.path(), &["explain", "ada", &plan]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("read it") && table.contains("No server answers"), "{table}");
}
