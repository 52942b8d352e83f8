//! Names are completed: `fourfold complete`, and the script for bash.

use std::path::Path;
use std::process::Command;

fn complete(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let output = command.args(["complete", "--"]).args(words).current_dir(folder).output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{words:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

fn server() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    for share in ["studio", "stills"] {
        std::fs::create_dir(top.path().join(share)).unwrap();
    }
    let settings = "[server]\nstate = \"state\"\n[[share]]\nname = \"studio\"\npath = \"studio\"\n\
                    [[share]]\nname = \"stills\"\npath = \"stills\"\n";
    std::fs::write(top.path().join("fourfold.toml"), settings).unwrap();
    auth::AccountFile::edit(&made(&top.path().join("state")), |file| {
        file.add("ada", auth::Ids::default(), "a password")?;
        file.add_group("office", vec!["ada".into()]).map(drop)
    })
    .unwrap();
    let new = admin::luns::NewLun {
        share: "studio",
        name: "disk",
        file: None,
        target: None,
        number: None,
        options: admin::luns::LunOptions::default(),
        from_settings: false,
        snapshot_of: None,
        created: 0,
    };
    admin::luns::LunFile::edit(&top.path().join("state"), |file| file.add(new).map(drop)).unwrap();
    top
}

fn made(state: &Path) -> std::path::PathBuf {
    admin::State::folder(state).unwrap();
    state.to_owned()
}

#[test]
fn names_of_the_settings_and_the_state_are_completed() {
    let top = server();
    let at = |words: &[&str]| complete(top.path(), words);
    assert_eq!(at(&["destroy", "st"]), ["studio", "stills"]);
    assert_eq!(at(&["snapshot", "remove", "stu"]), ["studio@"]);
    assert_eq!(at(&["user", "remove", ""]), ["ada"]);
    assert_eq!(at(&["group", "remove", ""]), ["office"]);
    assert_eq!(at(&["share", "access", "studio", "--editor", "@"]), ["@office"]);
    assert_eq!(at(&["lun", "resize", ""]), ["studio/disk"]);
    assert_eq!(at(&["set", "read-o"]), ["read-only=", "read-only-by-mode="]);
    assert_eq!(at(&["list", "--config", "gone.toml", ""]), [""; 0], "no error is shown");
    let elsewhere = tempfile::tempdir().unwrap();
    let config = top.path().join("fourfold.toml").display().to_string();
    assert_eq!(complete(elsewhere.path(), &["list", "--config", &config, "stu"]), ["studio"]);
}

#[test]
fn bash_completes_names_with_signs_at_which_it_parts_words() {
    let top = server();
    let program = Path::new(env!("CARGO_BIN_EXE_fourfold"));
    let script = Command::new(program).args(["completions", "bash"]).output().unwrap();
    std::fs::write(top.path().join("script"), script.stdout).unwrap();
    let completed = |line: &str| {
        let program = format!("PATH={}:$PATH; source ./script", program.parent().unwrap().display());
        let ask = format!(
            "{program}; COMP_LINE='{line}' COMP_POINT={}; COMP_WORDBREAKS=$' \\t\\n\"><=;|&(:@'; _fourfold; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            line.len()
        );
        let Ok(output) = Command::new("bash").args(["-c", &ask]).current_dir(top.path()).output() else {
            return "skipped: there is no bash".to_owned();
        };
        String::from_utf8(output.stdout).unwrap().trim().replace('\n', " ")
    };
    for (line, expected) in [
        ("fourfold snap", "snapshot"),
        ("fourfold destroy stu", "studio"),
        ("fourfold lun show studio/", "studio/disk"),
        ("fourfold share access studio --editor=@of", "office"),
        ("fourfold user modify ada --admin o", "on off"),
    ] {
        let completed = completed(line);
        assert!(completed == expected || completed.starts_with("skipped"), "{line}: {completed}");
    }
}
