//! `fourfold rights` on a team folder of the host, with and without a running server: what it shows is what the roles say, what it finds
//! is what local programs could not do, and what it changes is taken back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{XattrFlags, setxattr};
use serde_json::Value;

use crate::robustness::migrated_rights::{NONE, attribute, posix_acl};
use crate::robustness::server::Server;

const ADA: u32 = 4_100_000;
const GRACE: u32 = 4_100_001;
const ACCOUNTANT: u32 = 4_100_002;
const STRANGER: u32 = 4_100_003;
const ACCESS: &str = "system.posix_acl_access";
const PLAN: &str = "studio/2019/plan.pdf";

/// A share with roles, in which files are as `cp` of root makes them.
struct Scene {
    top: tempfile::TempDir,
}

impl Scene {
    /// `None`: the host has no POSIX ACLs, or the test does not run as root.
    fn new() -> Option<Self> {
        let top = tempfile::tempdir().unwrap();
        let share = top.path().join("share");
        fs::create_dir_all(share.join("2019")).unwrap();
        fs::write(share.join("2019/plan.pdf"), "plan").unwrap();
        fs::write(share.join("notes"), "notes").unwrap();
        for (path, mode) in [("", 0o755), ("2019", 0o755), ("2019/plan.pdf", 0o644), ("notes", 0o644)] {
            fs::set_permissions(share.join(path), PermissionsExt::from_mode(mode)).unwrap();
        }
        let users = [("ada", ADA), ("grace", GRACE), ("accountant", ACCOUNTANT)];
        let users: String = users
            .iter()
            .map(|(name, uid)| format!("[[user]]\nname = {name:?}\nuid = {uid}\ngid = {uid}\n"))
            .collect();
        let settings = format!(
            "{users}[[share]]\nname = \"studio\"\npath = {share:?}\neditors = [\"ada\", \"accountant\"]\nreaders = [\"grace\"]\n"
        );
        fs::write(top.path().join("fourfold.toml"), settings).unwrap();
        let minimal = posix_acl(&[(0x01, 7, NONE), (0x04, 5, NONE), (0x20, 5, NONE)]);
        let has_acls = setxattr(&share, ACCESS, &minimal, XattrFlags::empty()).is_ok();
        if !has_acls || !rustix::process::geteuid().is_root() {
            println!("skipped: no POSIX ACLs here, or not root");
            return None;
        }
        Some(Self { top })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join("share").join(path)
    }

    /// What the command prints, and its exit code.
    fn rights(&self, words: &[&str]) -> (String, i32) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.arg("rights").args(words).current_dir(self.top.path());
        command.arg("--config").arg(self.top.path().join("fourfold.toml"));
        let output = command.arg("--state").arg(self.top.path().join("state")).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (String::from_utf8(said).unwrap(), output.status.code().unwrap())
    }

    fn json(&self, words: &[&str]) -> (Value, i32) {
        let (said, code) = self.rights(&[words, &["--json"]].concat());
        (serde_json::from_str(&said).unwrap_or_else(|_| panic!("{words:?}: {said}")), code)
    }

    /// Whether a person may read, write, remove, and say who may do what.
    fn may(&self, person: &str, path: &str) -> [bool; 4] {
        let (answer, _) = self.json(&["of", person, path]);
        let may = |word| {
            let all = answer["operations"].as_array().unwrap();
            all.iter().find(|one| one["operation"] == word).unwrap()["may"].as_bool().unwrap()
        };
        ["read", "write", "remove", "rights"].map(may)
    }

    fn kinds(&self, path: &str) -> Vec<(String, String)> {
        let (found, _) = self.json(&["check", path]);
        let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
        let findings = found["reports"][0]["findings"].as_array().unwrap();
        findings.iter().map(|one| (text(one, "path"), text(one, "kind"))).collect()
    }
}

fn has(kinds: &[(String, String)], path: &str, kind: &str) -> bool {
    kinds.iter().any(|(at, what)| (at.as_str(), what.as_str()) == (path, kind))
}

fn mode(at: &Path) -> u32 {
    fs::metadata(at).unwrap().mode() & 0o7777
}

/// What each role says about what others have made.
const EDITOR: [bool; 4] = [true, true, true, false];
const READER: [bool; 4] = [true, false, false, false];
const NOTHING: [bool; 4] = [false; 4];

fn what_is_shown_is_what_the_roles_say(scene: &Scene) {
    assert_eq!((scene.may("ada", PLAN), scene.may("ada", "studio/2019")), (EDITOR, EDITOR));
    assert_eq!((scene.may("grace", PLAN), scene.may("guests", PLAN)), (READER, NOTHING));
    let (shown, code) = scene.json(&["show", PLAN]);
    assert_eq!((&shown["is_team_folder"], &shown["is_cut_off"], code), (&true.into(), &false.into(), 0));
    assert_eq!(shown["roles"][0]["who"], "ada");
    let (text, code) = scene.rights(&["of", "grace", PLAN]);
    assert!(text.contains("reader by name") && code == 0, "{text}");
}

fn what_cp_has_made_is_found_and_mended(scene: &Scene) {
    let kinds = scene.kinds("studio");
    for path in ["", "2019"] {
        assert!(has(&kinds, path, "no-default-acl") && has(&kinds, path, "no-setgid"), "{kinds:?}");
    }
    assert!(has(&kinds, "2019/plan.pdf", "lacks") && has(&kinds, "2019/plan.pdf", "exceeds"), "{kinds:?}");
    let (preview, code) = scene.json(&["reset", "studio", "--recursive", "--dry-run"]);
    assert_eq!(
        (&preview["looked"], &preview["changed"], &preview["record"], code),
        (&4.into(), &4.into(), &Value::Null, 0)
    );
    assert_eq!((mode(&scene.at("notes")), scene.rights(&["check", "studio"]).1), (0o644, 1));

    let (done, code) = scene.json(&["reset", "studio", "--recursive"]);
    assert_eq!((&done["changed"], &done["failed"], code), (&4.into(), &0.into(), 0), "{done}");
    let (text, code) = scene.rights(&["check"]);
    assert_eq!(code, 0, "{text}");
    // By hand: each editor writes, the reader reads, no others; the anonymous user is one of the others.
    let expected = posix_acl(&[
        (0x01, 6, NONE),
        (0x02, 7, ADA),
        (0x02, 5, GRACE),
        (0x02, 7, ACCOUNTANT),
        (0x04, 0, NONE),
        (0x10, 6, NONE),
        (0x20, 0, NONE),
    ]);
    assert_eq!(attribute(&scene.at("notes"), ACCESS), Some(expected));
    assert_eq!((mode(&scene.at("2019")), mode(&scene.at("notes"))), (0o2770, 0o660));
    let record = done["record"].as_str().unwrap();
    let (back, code) = scene.json(&["reset", "studio", "--undo", record]);
    assert_eq!((&back["changed"], &back["failed"], code), (&4.into(), &0.into(), 0), "{back}");
    assert_eq!((mode(&scene.at("2019")), mode(&scene.at("notes"))), (0o755, 0o644));
    assert_eq!(attribute(&scene.at("2019"), "system.posix_acl_default"), None);
    assert_eq!(scene.rights(&["reset", "studio", "--recursive"]).1, 0);
}

fn the_accountant_may_only_read_2019(scene: &Scene) {
    let (text, code) = scene.rights(&["set", "studio/2019", "accountant", "reader"]);
    assert_eq!(code, 0, "{text}");
    let on_all = [PLAN, "studio/2019", "studio/notes"].map(|path| scene.may("accountant", path));
    assert_eq!(on_all, [READER, READER, EDITOR]);
    assert_eq!(scene.may("ada", PLAN), EDITOR);
    let on_disk = attribute(&scene.at("2019/plan.pdf"), ACCESS).unwrap();
    let entry = [&2_u16.to_le_bytes()[..], &5_u16.to_le_bytes(), &ACCOUNTANT.to_le_bytes()].concat();
    assert!(
        on_disk.windows(8).any(|window| window == entry),
        "read and execute, behind the mask: {on_disk:x?}"
    );
    let (shown, _) = scene.json(&["show", PLAN]);
    let set = &shown["entries"][0];
    assert_eq!(
        (&set["who"], &set["role"], &set["inherited"]),
        (&"accountant".into(), &"reader".into(), &true.into())
    );
    let (text, code) = scene.rights(&["check", "studio"]);
    assert_eq!(code, 0, "{text}");

    assert_eq!(scene.rights(&["set", "studio/2019", "accountant", "none"]).1, 0);
    assert_eq!([PLAN, "studio/2019"].map(|path| scene.may("accountant", path)), [NOTHING; 2]);
    let (text, code) = scene.rights(&["unset", "studio/2019", "accountant"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!([PLAN, "studio/2019"].map(|path| scene.may("accountant", path)), [EDITOR; 2]);
    assert_eq!(scene.rights(&["check", "studio"]).1, 0);
    assert_eq!(attribute(&scene.at("2019/plan.pdf"), "user.fourfold.acl"), None);
}

fn what_local_programs_break_is_named(scene: &Scene) {
    chown(scene.at("notes"), Some(STRANGER), None).unwrap();
    fs::set_permissions(scene.at("2019/plan.pdf"), PermissionsExt::from_mode(0o606)).unwrap();
    setxattr(scene.at("2019"), "user.fourfold.acl", b"made up", XattrFlags::empty()).unwrap();
    let kinds = scene.kinds("studio");
    assert!(has(&kinds, "notes", "foreign-owner"), "{kinds:?}");
    assert!(has(&kinds, "2019/plan.pdf", "world-writable"), "{kinds:?}");
    assert!(has(&kinds, "2019/plan.pdf", "lacks"), "the mask takes it from all: {kinds:?}");
    assert!(has(&kinds, "2019", "unsealed-list"), "{kinds:?}");
    assert_eq!(scene.rights(&["reset", "studio/2019", "--recursive"]).1, 0);
    assert_eq!(scene.kinds("studio"), [("notes".to_owned(), "foreign-owner".to_owned())]);
    chown(scene.at("notes"), Some(ADA), None).unwrap();
}

fn all(scene: &Scene) {
    what_is_shown_is_what_the_roles_say(scene);
    what_cp_has_made_is_found_and_mended(scene);
    the_accountant_may_only_read_2019(scene);
    what_local_programs_break_is_named(scene);
}

#[test]
fn the_command_works_without_a_server() {
    let Some(scene) = Scene::new() else { return };
    all(&scene);
}

#[test]
fn a_running_server_does_the_same() {
    let Some(scene) = Scene::new() else { return };
    let _server = Server::run(scene.top.path(), &["--nfs-port", "0"]);
    all(&scene);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let Some(scene) = Scene::new() else { return };
    for (words, why) in [
        (&["set", "studio", "ada", "reader"][..], "are its settings"),
        (&["set", "studio/2019", "nobody-here", "reader"], "there is no account"),
        (&["unset", "studio/2019", "ada"], "nothing was set for ada"),
        (&["of", "nobody-here", PLAN], "there is no account"),
        (&["show", "studio/2020"], "there is no"),
        (&["show", "elsewhere/x"], "begins with no share"),
        (&["reset", "studio", "--undo", "../lock"], "there is no record"),
    ] {
        let (said, code) = scene.rights(words);
        assert!(said.contains(why) && code != 0, "{words:?}: {said}");
    }
}

/// Files per second on a tree of many files; run by hand: it measures, and checks only that all is looked at.
#[test]
#[ignore = "a measurement"]
fn fifty_thousand_files_are_reset() {
    let Some(scene) = Scene::new() else { return };
    for folder in 0..50 {
        let at = scene.at(&format!("d{folder}"));
        fs::create_dir(&at).unwrap();
        (0..1000).for_each(|file| fs::write(at.join(format!("f{file}")), b"").unwrap());
    }
    for words in [&["reset", "studio", "--recursive"][..], &["check", "studio"]] {
        let began = std::time::Instant::now();
        let (said, _) = scene.rights(words);
        println!("{words:?} {:?}: {}", began.elapsed(), said.lines().next().unwrap_or_default());
        assert!(said.contains("50054 looked at"), "{said}");
    }
}
