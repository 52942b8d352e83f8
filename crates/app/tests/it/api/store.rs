//! The data of files, which a person at the console reads and changes as the account may.

use std::path::Path;

use serde_json::json;

use super::console::{by_person, session, start_prepared, start_with, start_with_more};
use crate::waiting::until;

const MARK: &str = "X-Fourfold-Console: 1\r\n";
const SETTINGS: &str =
    "[server]\nshare-roots = [\"/tmp\"]\n\n[[share]]\nname = \"one\"\npath = \"one\"\neditors = [\"ada\"]\n";

#[test]
fn a_person_works_with_files_as_the_roles_of_the_account_say() {
    let server = start_with_more(SETTINGS, &["--smb-port", "0"]);
    let folder = server.folder.path().canonicalize().unwrap();
    let cookie = session(&server);
    for (name, role, who) in
        [("looks", "readers", "ada"), ("closed", "editors", "grace"), ("drop", "drop", "ada")]
    {
        let path = folder.join(name);
        let new = json!({ "name": name, "path": path, "make_folder": true, "properties": { role: who, "owners": "grace" } });
        let made = by_person(&server, &cookie, "shares", new);
        assert_eq!(made.status, 200, "{}", made.body);
        std::fs::write(path.join("there"), "theirs").unwrap();
    }
    let headers = format!("{cookie}{MARK}");
    let send = |share: &str, path: &str, data: &str| {
        server.ask_with(&format!("POST /v1/files/data?share={share}&path={path}"), &headers, data)
    };
    let load = |share: &str, path: &str| {
        server.ask_with(&format!("GET /v1/files/data?share={share}&path={path}"), &cookie, "")
    };
    let change = |what: &str, body: serde_json::Value| {
        server.ask_with(&format!("POST /v1/files/{what}"), &headers, &body.to_string())
    };

    let sent = send("one", "scene", "the first");
    assert_eq!(sent.status, 200, "{}", sent.body);
    let again = send("one", "scene", "the second");
    assert!(again.status == 409 && again.json()["needs"] == "replace", "{}", again.body);
    assert_eq!(std::fs::read_to_string(folder.join("one/scene")).unwrap(), "the first");
    assert_eq!(send("one", "scene&replace=true", "the second").status, 200);
    assert_eq!(load("one", "scene").body, "the second");
    assert_eq!(change("folder", json!({ "share": "one", "path": "day" })).status, 200);
    assert_eq!(change("folder", json!({ "share": "one", "path": "day" })).status, 409, "it is there");
    let moved = change("move", json!({ "share": "one", "path": "scene", "to": "day/scene" }));
    assert_eq!(moved.status, 200, "{}", moved.body);
    assert_eq!(change("remove", json!({ "share": "one", "path": "day" })).status, 409, "it is not empty");
    assert_eq!(change("remove", json!({ "share": "one", "path": "day", "recursive": true })).status, 200);
    assert!(!folder.join("one/day").exists());

    assert_eq!(load("looks", "there").body, "theirs");
    for answer in [
        send("looks", "mine", "x"),
        change("folder", json!({ "share": "looks", "path": "mine" })),
        change("move", json!({ "share": "looks", "path": "there", "to": "gone" })),
        change("remove", json!({ "share": "looks", "path": "there" })),
        load("drop", "there"),
    ] {
        assert!(
            answer.status == 409 && answer.body.contains("your account may not do that"),
            "{}",
            answer.body
        );
    }
    assert_eq!(send("drop", "mine", "x").status, 200, "one who drops puts in");
    for answer in [load("closed", "there"), send("closed", "mine", "x")] {
        assert!(answer.status == 409 && answer.body.contains("may not enter"), "{}", answer.body);
    }
    let token = server.token("files", "write");
    let with_token = server.ask("GET /v1/files/data?share=one&path=there", &token, "");
    assert_eq!(with_token.status, 403, "{}", with_token.body);
    let left: Vec<_> =
        std::fs::read_dir(folder.join("one")).unwrap().flatten().map(|one| one.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_account_with_another_name_keeps_its_roles_and_its_user() {
    let server = start_with(SETTINGS);
    let cookie = session(&server);
    let change = json!({ "name": "one", "properties": { "editors": "ada,Grace", "readers": "grace" } });
    assert_eq!(by_person(&server, &cookie, "shares/change", change).status, 200);
    let user = |name: &str| {
        let all = server.ask_with("GET /v1/accounts", &cookie, "").json();
        all.as_array().unwrap().iter().find(|one| one["name"] == name).map(|one| one["uid"].clone())
    };
    let before = user("grace").unwrap();
    let rename = |new: &str| {
        let request = json!({ "name": "grace", "new": new, "password": "a new name for her" });
        by_person(&server, &cookie, "accounts/rename", request)
    };
    for (new, why) in [("ada", "already"), ("everyone", "another meaning"), ("@studio", ""), ("a,b", "")] {
        let refused = rename(new);
        assert!(refused.status == 409 && refused.body.contains(why), "{new}: {}", refused.body);
    }
    let renamed = rename("hopper");
    assert_eq!(renamed.status, 200, "{}", renamed.body);
    assert_eq!((user("hopper"), user("grace")), (Some(before), None));
    let settings = std::fs::read_to_string(server.folder.path().join("fourfold.toml")).unwrap();
    assert!(settings.contains("editors = [\"ada\", \"hopper\"]"), "{settings}");
    assert!(
        settings.contains("readers = [\"hopper\"]") && !settings.to_lowercase().contains("grace"),
        "{settings}"
    );
}

#[test]
fn what_is_removed_stays_in_the_bin_of_its_person_until_its_time_is_over() {
    let server = start_with_more(&format!("{SETTINGS}bin = \"30 d\"\n"), &["--smb-port", "0"]);
    let one = server.folder.path().canonicalize().unwrap().join("one");
    let cookie = session(&server);
    let headers = format!("{cookie}{MARK}");
    let change = |what: &str, body: serde_json::Value| {
        server.ask_with(&format!("POST /v1/files/{what}"), &headers, &body.to_string())
    };
    std::fs::create_dir_all(one.join("scenes/day")).unwrap();
    std::fs::write(one.join("scenes/day/take"), "one").unwrap();
    let listed = server.ask_with("GET /v1/files?share=one&path=", &cookie, "").json();
    assert_eq!(listed["bin"], 30 * 86_400);
    let removed = change("remove", json!({ "share": "one", "path": "scenes/day" }));
    assert!(removed.status == 200 && removed.body.contains("in the bin"), "{}", removed.body);
    assert!(!one.join("scenes/day").exists());
    let own = one.join(".bin/ada");
    let removal =
        std::fs::read_dir(&own).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    let kept = own.join(&removal).join("scenes/day/take");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "one");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&own).unwrap().permissions());
    assert_eq!(mode & 0o002, 0, "others put nothing there: {mode:o}");

    let back =
        json!({ "share": "one", "path": format!(".bin/ada/{removal}/scenes/day"), "to": "scenes/day" });
    assert_eq!(change("move", back).status, 200);
    assert_eq!(std::fs::read_to_string(one.join("scenes/day/take")).unwrap(), "one");
    let good = json!({ "share": "one", "path": "scenes", "recursive": true, "for_good": true });
    assert_eq!(change("remove", good).status, 200);
    let in_bin = json!({ "share": "one", "path": format!(".bin/ada/{removal}"), "recursive": true });
    assert_eq!(change("remove", in_bin).status, 200);
    assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0, "what is in the bin is removed for good");
}

#[test]
fn a_bin_that_another_person_made_is_not_used() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: root gives folders to others");
        return;
    }
    for made in [".bin/ada", ".bin"] {
        let server = start_prepared(&format!("{SETTINGS}bin = \"30 d\"\n"), &["--smb-port", "0"], |one| {
            let folder = one.join(made);
            std::fs::create_dir_all(&folder).unwrap();
            std::os::unix::fs::chown(&folder, Some(61_299), None).unwrap();
            std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        });
        let one = server.folder.path().canonicalize().unwrap().join("one");
        std::fs::write(one.join("take"), "one").unwrap();
        let headers = format!("{}{MARK}", session(&server));
        let take = json!({ "share": "one", "path": "take" }).to_string();
        let refused = server.ask_with("POST /v1/files/remove", &headers, &take);
        assert!(refused.body.contains("could not be moved into the bin"), "{}", refused.body);
        assert!(one.join("take").exists());
        assert_eq!(std::fs::read_dir(one.join(made)).unwrap().count(), 0, "nothing is left in {made}");
    }
}

#[test]
fn the_bin_is_emptied_of_what_has_been_in_it_for_long_enough() {
    let own = |one: &Path| one.join(".bin/ada");
    let settings = format!("{SETTINGS}bin = \"30 d\"\n");
    let server = start_prepared(&settings, &["--smb-port", "0"], |one| {
        std::fs::create_dir_all(own(one).join("2001-01-01 00.00.00/old/older")).unwrap();
        std::fs::create_dir_all(own(one).join("2999-01-01 00.00.00/new")).unwrap();
        std::fs::create_dir_all(own(one).join("no removal")).unwrap();
        std::fs::create_dir_all(one.join(".bin/gone/2001-01-01 00.00.00/moved here")).unwrap();
    });
    let one = server.folder.path().canonicalize().unwrap().join("one");
    until("the old removal stays", || !own(&one).join("2001-01-01 00.00.00").exists());
    assert!(own(&one).join("2999-01-01 00.00.00/new").exists() && own(&one).join("no removal").exists());
    let moved = one.join(".bin/gone/2001-01-01 00.00.00/moved here");
    assert!(moved.exists(), "no account may remove it, so the server does not");
}
