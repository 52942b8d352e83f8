//! The rights to files and folders: what people may do, changes of it, and who may make these.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::console::{by_person, login, session, start_with};
use super::{Answer, Server};

/// Far more than such a job takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);
const SETTINGS: &str =
    "[[share]]\nname = \"one\"\npath = \"one\"\nowners = [\"ada\"]\neditors = [\"grace\"]\n";

/// A team folder of the owner ada and the editor grace, with `2019/plan`, which all users of the machine may write.
struct Scene {
    server: Server,
    cookie: String,
    read: String,
    write: String,
}

impl Scene {
    fn new() -> Self {
        let server = start_with(SETTINGS);
        let one = server.folder.path().join("one");
        std::fs::create_dir(one.join("2019")).unwrap();
        std::fs::write(one.join("2019/plan"), "text").unwrap();
        std::fs::set_permissions(one.join("2019/plan"), PermissionsExt::from_mode(0o666)).unwrap();
        symlink("/etc", one.join("out")).unwrap();
        let cookie = session(&server);
        let [read, write] = ["read", "write"].map(|scope| server.token(scope, scope));
        Self { server, cookie, read, write }
    }

    fn plan(&self) -> PathBuf {
        self.server.folder.path().join("one/2019/plan")
    }

    /// What all users of the machine may do with the plan.
    fn local_bits(&self) -> u32 {
        std::fs::metadata(self.plan()).unwrap().permissions().mode() & 7
    }

    fn get(&self, path: &str) -> Answer {
        self.server.ask(&format!("GET /v1/{path}"), &self.read, "")
    }

    fn shown(&self, path: &str) -> Value {
        let answer = self.get(&format!("rights?share=one&path={path}"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// Whether a person may do this with the plan.
    fn may(&self, person: &str, operation: &str) -> bool {
        let answer = self.get(&format!("rights/of?person={person}&share=one&path=2019/plan"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let all = answer.json()["operations"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["operation"] == operation).unwrap()["may"] == true
    }

    /// The job that a request has started, when it has ended.
    fn ended(&self, started: Answer) -> Value {
        assert_eq!(started.status, 200, "{}", started.body);
        let id = started.json()["id"].as_u64().unwrap();
        let until = Instant::now() + LONG;
        loop {
            let detail = self.get(&format!("jobs/{id}")).json();
            if detail["job"]["state"] != "running" {
                return detail;
            }
            assert!(Instant::now() < until, "{detail}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The result of a job that the administrator starts.
    fn done(&self, path: &str, body: Value) -> Value {
        let detail = self.ended(by_person(&self.server, &self.cookie, path, body));
        assert_eq!(detail["job"]["state"], "done", "{detail}");
        detail["result"].clone()
    }

    fn set(&self, who: &str, role: Option<&str>) -> Value {
        self.done("rights", json!({ "share": "one", "path": "2019", "who": who, "role": role }))
    }

    fn by_token(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.server.ask(&format!("POST /v1/{path}"), token, &body.to_string())
    }
}

#[test]
fn roles_are_shown_with_what_each_person_may_do() {
    let scene = Scene::new();
    let shown = scene.shown("2019");
    assert_eq!((&shown["is_team_folder"], &shown["kind"]), (&json!(true), &json!("folder")), "{shown}");
    let roles = json!([{ "who": "ada", "role": "owner" }, { "who": "grace", "role": "editor" }]);
    assert_eq!((&shown["roles"], &shown["entries"]), (&roles, &json!([])), "{shown}");
    let people: Vec<(&str, &Value)> = shown["people"]
        .as_array()
        .unwrap()
        .iter()
        .map(|person| (person["who"].as_str().unwrap(), &person["may"]))
        .collect();
    let (all, no_rights) = (json!(["read", "write", "remove", "rights"]), json!(["read", "write", "remove"]));
    assert_eq!(people, [("ada", &all), ("grace", &no_rights)]);
    assert!(scene.may("grace", "write") && !scene.may("grace", "rights") && scene.may("ada", "rights"));
    assert!(!scene.may("guests", "read"));
    let unknown = scene.get("rights/of?person=eve&share=one");
    assert!(unknown.status == 409 && unknown.body.contains("no account"), "{}", unknown.body);
}

#[test]
fn a_role_on_a_folder_is_set_ended_and_taken_back() {
    let scene = Scene::new();
    let first = scene.set("everyone", Some("reader"));
    assert!(first["changed"].as_u64() > Some(0) && first["failed"] == 0, "{first}");
    let entries = scene.shown("2019")["entries"].clone();
    assert_eq!(
        (&entries[0]["who"], &entries[0]["role"]),
        (&json!("everyone"), &json!("reader")),
        "{entries}"
    );
    assert_eq!(scene.shown("2019/plan")["entries"][0]["inherited"], true);
    assert!(scene.may("grace", "read") && !scene.may("grace", "write"));

    scene.set("everyone", None);
    assert!(scene.may("grace", "write"));
    assert_eq!(scene.shown("2019/plan")["entries"], json!([]));

    let none = scene.set("everyone", Some("none"));
    assert!(!scene.may("grace", "read") && scene.may("ada", "rights"), "an owner keeps the way to mend it");
    let undone = scene.done("rights/undo", json!({ "share": "one", "record": none["record"] }));
    assert!(undone["changed"].as_u64() > Some(1) && undone["failed"] == 0, "{undone}");
    assert!(scene.may("grace", "write"));
    assert_eq!(scene.shown("2019")["entries"], json!([]));
}

#[test]
fn a_reset_is_counted_made_and_taken_back() {
    let scene = Scene::new();
    let check = || scene.ended(scene.by_token(&scene.write, "rights/check", &json!({ "share": "one" })));
    let found = check()["result"].clone();
    let of_plan = |finding: &Value| finding["path"] == "2019/plan" && finding["kind"] == "world-writable";
    assert!(found["findings"].as_array().unwrap().iter().any(of_plan), "{found}");

    let reset = json!({ "share": "one", "path": "2019", "recursive": true });
    let mut dry = reset.clone();
    dry["dry_run"] = json!(true);
    let counted = scene.ended(scene.by_token(&scene.write, "rights/reset", &dry))["result"].clone();
    assert!(counted["changed"].as_u64() > Some(0) && counted["record"].is_null(), "{counted}");
    assert_eq!(scene.local_bits(), 6, "nothing was changed");

    let made = scene.done("rights/reset", reset);
    assert_eq!((&made["changed"], &made["failed"]), (&counted["changed"], &json!(0)), "{made}");
    assert_eq!(scene.local_bits(), 0);
    let left = check()["result"].clone();
    let below = |finding: &Value| finding["path"].as_str().is_some_and(|path| path.starts_with("2019"));
    assert!(!left["findings"].as_array().unwrap().iter().any(below), "{left}");

    let undone = scene.done("rights/undo", json!({ "share": "one", "record": made["record"] }));
    assert_eq!(undone["changed"], made["changed"], "{undone}");
    assert_eq!(scene.local_bits(), 6);
}

#[test]
fn taking_a_reset_back_widens_no_other_file() {
    let scene = Scene::new();
    let made = scene.done("rights/reset", json!({ "share": "one", "path": "2019", "recursive": true }));
    let private = scene.plan().with_file_name("private");
    std::fs::write(&private, "of somebody else").unwrap();
    std::fs::set_permissions(&private, PermissionsExt::from_mode(0o660)).unwrap();
    // The old file is still there, so that its inode number is not used again.
    std::fs::rename(scene.plan(), scene.plan().with_file_name("old")).unwrap();
    std::fs::rename(&private, scene.plan()).unwrap();
    let undone = scene.done("rights/undo", json!({ "share": "one", "record": made["record"] }));
    let changed = made["changed"].as_u64().unwrap() - 1;
    assert_eq!((&undone["changed"], &undone["failed"]), (&json!(changed), &json!(1)), "{undone}");
    let finding = &undone["findings"][0];
    assert_eq!((&finding["path"], &finding["kind"]), (&json!("2019/plan"), &json!("replaced")));
    assert_eq!(scene.local_bits(), 0);
}

#[test]
fn only_an_administrator_with_the_own_password_changes_rights() {
    let scene = Scene::new();
    let set = json!({ "share": "one", "path": "2019", "who": "everyone", "role": "owner" });
    let reset = json!({ "share": "one", "recursive": true });
    let undo = json!({ "share": "one", "record": "x" });
    for (path, body) in [("rights", &set), ("rights/reset", &reset), ("rights/undo", &undo)] {
        assert_eq!(scene.by_token("", path, body).status, 401, "{path}");
        assert_eq!(scene.by_token(&scene.read, path, body).status, 403, "{path}");
        let mut with = body.clone();
        with["own_password"] = json!("secret");
        for body in [body, &with] {
            let answer = scene.by_token(&scene.write, path, body);
            assert_eq!(answer.status, 403, "{path}: a token is no person: {}", answer.body);
        }
        with["own_password"] = json!("guess");
        for body in [body, &with] {
            let marked = format!("{}X-Fourfold-Console: 1\r\n", scene.cookie);
            let answer = scene.server.ask_with(&format!("POST /v1/{path}"), &marked, &body.to_string());
            assert!(answer.status == 403 && answer.body.contains("own_password"), "{path}: {}", answer.body);
        }
        let unmarked = scene.server.ask_with(&format!("POST /v1/{path}"), &scene.cookie, &body.to_string());
        assert_eq!(unmarked.status, 403, "{path}: another page asks");
    }
    assert_eq!(scene.by_token(&scene.read, "rights/check", &json!({ "share": "one" })).status, 403);
    assert_eq!(scene.server.ask("GET /v1/rights?share=one", "", "").status, 401);
    let metrics = scene.server.token("metrics", "metrics");
    assert_eq!(scene.server.ask("GET /v1/rights?share=one", &metrics, "").status, 403);
    assert_eq!(login(&scene.server, "grace", "secret").status, 403, "an editor is no administrator");
    assert_eq!((scene.shown("2019")["entries"].clone(), scene.local_bits()), (json!([]), 6));
}

#[test]
fn no_path_leads_out_of_the_share() {
    let scene = Scene::new();
    let long = "x".repeat(2000);
    for path in ["..", "../state", "2019/../../state", "2019/.", "a%00b"] {
        assert_eq!(scene.get(&format!("rights?share=one&path={path}")).status, 400, "{path}");
        assert_eq!(scene.get(&format!("rights/of?person=ada&share=one&path={path}")).status, 400, "{path}");
    }
    for path in ["out", "out/passwd", "missing", "2019/plan/x", ".fourfold-streams", "2019/.fourfold"] {
        assert_eq!(scene.get(&format!("rights?share=one&path={path}")).status, 409, "{path}");
        let place = json!({ "share": "one", "path": path });
        // One job runs at a time: the second begins when the first has ended.
        let failed = |started| {
            let detail = scene.ended(started);
            assert_eq!(detail["job"]["state"], "failed", "{path}: {detail}");
        };
        failed(scene.by_token(&scene.write, "rights/check", &place));
        failed(by_person(&scene.server, &scene.cookie, "rights/reset", place));
    }
    for (body, status) in [
        (json!({ "share": "one", "path": "../state" }), 400),
        (json!({ "share": "one", "path": "2019/.." }), 400),
        (json!({ "share": "two" }), 409),
        (json!({ "share": long }), 400),
        (json!({ "share": "one", "depth": 3 }), 422),
        (json!({ "path": "2019" }), 422),
    ] {
        assert_eq!(scene.by_token(&scene.write, "rights/check", &body).status, status, "{body}");
    }
    assert_eq!(scene.get(&format!("rights?share={long}")).status, 400);
    for record in ["../accounts", "../../etc/passwd", "", "missing"] {
        let undo = json!({ "share": "one", "record": record });
        let detail = scene.ended(by_person(&scene.server, &scene.cookie, "rights/undo", undo));
        assert_eq!(detail["job"]["state"], "failed", "{record}: {detail}");
    }
    for (who, role) in [("nobody-here", "reader"), ("", "reader"), ("everyone", "root"), ("grace", "drop")] {
        let set = json!({ "share": "one", "path": "2019", "who": who, "role": role });
        let detail = scene.ended(by_person(&scene.server, &scene.cookie, "rights", set));
        assert_eq!(detail["job"]["state"], "failed", "{who} {role}: {detail}");
    }
    let top = json!({ "share": "one", "path": "", "who": "everyone", "role": "reader" });
    let detail = scene.ended(by_person(&scene.server, &scene.cookie, "rights", top));
    assert_eq!(detail["job"]["state"], "failed", "the roles of the share are its settings: {detail}");
}
