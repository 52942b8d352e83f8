//! The settings file of the packages: accepted as it is, and with each of its examples.

use std::path::Path;
use std::process::Command;

/// The settings file as packages install it.
fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/fourfold.toml");
    std::fs::read_to_string(path).unwrap()
}

/// What `fourfold check` says of it, and its exit code.
fn check(settings: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fourfold.toml");
    std::fs::write(&file, settings).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    command.args(["check", "--state", "state", "--config"]).arg(&file).current_dir(folder.path());
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn the_settings_of_a_new_installation_are_accepted_and_share_nothing() {
    let (code, said) = check(&example());
    assert!(code == Some(0) && said.contains("accepted, 0 shares"), "{said}");
}

#[test]
fn the_examples_are_accepted_when_their_signs_are_removed() {
    // `#name = …` is an example, `# Text` is not. The user of the package is not on this machine.
    let is_example = |line: &str| line.starts_with('#') && !line.starts_with("# ") && line.len() > 1;
    let lines = example();
    let lines = lines.lines().filter(|line| !line.starts_with("#default-user"));
    let lines: Vec<&str> = lines.map(|line| if is_example(line) { &line[1..] } else { line }).collect();
    let share = tempfile::tempdir().unwrap();
    let settings = lines.join("\n").replace("\"/srv/studio\"", &format!("{:?}", share.path()));
    assert!(settings.contains("\n[[share]]\n") && settings.contains("\nadmin-port = "), "{settings}");
    let (code, said) = check(&settings);
    assert!(code == Some(0) && said.contains("accepted, 1 share"), "{said}");
}
