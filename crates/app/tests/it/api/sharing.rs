//! Shares that the console makes: the folder is looked for, or made, and the settings are set with it.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::console::{by_person, session, start};
use super::{Answer, Server};

struct Scene {
    server: Server,
    cookie: String,
}

impl Scene {
    fn new() -> Self {
        let server = start();
        let cookie = session(&server);
        Self { server, cookie }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.server.folder.path().join(name)
    }

    fn ask(&self, path: &str, body: Value) -> Answer {
        by_person(&self.server, &self.cookie, path, body)
    }

    fn settings(&self) -> String {
        std::fs::read_to_string(self.at("fourfold.toml")).unwrap()
    }

    fn names(&self, path: Value) -> Vec<String> {
        let body = if path.is_null() { json!({}) } else { json!({ "path": path }) };
        let answer = self.ask("folders", body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let folders = answer.json()["folders"].as_array().unwrap().clone();
        folders.iter().map(|folder| folder["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn only_folders_that_may_be_shared_are_listed() {
    let scene = Scene::new();
    for folder in ["one/films", "one/Adverts", "one/.hidden", "elsewhere/private"] {
        std::fs::create_dir_all(scene.at(folder)).unwrap();
    }
    std::fs::write(scene.at("one/file"), "text").unwrap();
    symlink(scene.at("elsewhere"), scene.at("one/link")).unwrap();
    let one = scene.at("one").canonicalize().unwrap();
    assert!(scene.names(Value::Null).contains(&one.display().to_string()));
    assert_eq!(scene.names(json!(one)), ["Adverts", "films"]);
    let listed = scene.ask("folders", json!({ "path": one.join("films/..") })).json();
    assert_eq!((&listed["path"], &listed["above"]), (&json!(one), &Value::Null));
    for path in ["/", "/etc", "/proc/self/root", "relative"] {
        assert_eq!(scene.ask("folders", json!({ "path": path })).status, 409, "{path}");
    }
    for name in ["elsewhere", "one/link", "one/../elsewhere", "state", "one/missing"] {
        assert_eq!(scene.ask("folders", json!({ "path": scene.at(name) })).status, 409, "{name}");
    }
}

#[test]
fn a_share_is_made_with_its_folder_and_settings_in_one_change() {
    let scene = Scene::new();
    std::fs::set_permissions(scene.at("one"), std::fs::Permissions::from_mode(0o2770)).unwrap();
    let before = scene.settings();
    let new = scene.at("one/studio");
    let properties = json!({ "editors": "ada,grace", "comment": "Plans" });
    let request = json!({ "name": "studio", "path": new, "make_folder": true, "properties": properties });
    let answer = scene.ask("shares", request);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(new.is_dir() && new.metadata().unwrap().uid() == scene.at("one").metadata().unwrap().uid());
    let text = scene.settings();
    assert!(
        text.contains("editors = [\"ada\", \"grace\"]") && text.contains("comment = \"Plans\""),
        "{text}"
    );

    let change = json!({ "editors": "grace", "readers": "everyone", "comment": null });
    let answer = scene.ask("shares/change", json!({ "name": "studio", "properties": change }));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let changed = scene.settings();
    assert!(
        changed.contains("editors = [\"grace\"]") && changed.contains("readers = [\"everyone\"]"),
        "{changed}"
    );
    assert!(!changed.contains("comment ="), "{changed}");
    for expected in [&text, &before] {
        assert_eq!(scene.ask("settings/undo", json!({})).status, 200);
        assert_eq!(scene.settings(), *expected, "each is one change");
    }
}

#[test]
fn a_folder_is_made_only_for_a_share_that_is_made() {
    let scene = Scene::new();
    std::fs::create_dir(scene.at("elsewhere")).unwrap();
    symlink(scene.at("elsewhere"), scene.at("one/link")).unwrap();
    let before = scene.settings();
    for (name, properties) in [
        ("elsewhere/new", json!({})),
        ("one/link/new", json!({})),
        ("one/missing/new", json!({})),
        ("one/new", json!({ "no-such-setting": "1" })),
        ("one/new", json!({ "quota": "plenty" })),
        ("one/new", json!({ "audit-log": "/etc/cron.d/x" })),
    ] {
        let body =
            json!({ "name": "new", "path": scene.at(name), "make_folder": true, "properties": properties });
        let answer = scene.ask("shares", body);
        assert!(answer.status == 409, "{name} {properties}: {} {}", answer.status, answer.body);
        assert!(!scene.at(name).exists(), "{name}");
    }
    let missing = scene.ask("shares", json!({ "name": "new", "path": scene.at("one/new") }));
    assert!(missing.status == 409 && missing.body.contains("make the folder"), "{}", missing.body);
    assert_eq!(scene.settings(), before);

    let homes = json!({ "make-homes": "true" });
    let path = scene.at("one/homes/%U");
    let answer = scene
        .ask("shares", json!({ "name": "homes", "path": path, "make_folder": true, "properties": homes }));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(scene.at("one/homes").is_dir() && !path.exists());
}
