//! A token and an open session change no identity and no trust; a person who gives the own password makes nobody a user of the
//! system, and shares no system folder.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::console::{by_person, session, start};

#[test]
fn neither_a_token_nor_an_open_session_becomes_root() {
    let server = start();
    let (token, cookie) = (server.token("script", "write"), session(&server));
    let file = || std::fs::read_to_string(server.folder.path().join("fourfold.toml")).unwrap();
    let before = file();
    for (path, body) in [
        ("settings", json!({ "key": "default-user", "value": "root" })),
        ("settings", json!({ "key": "host-accounts", "value": "pam" })),
        ("settings", json!({ "key": "admin-tls", "value": "false" })),
        ("settings", json!({ "key": "alert-webhook", "value": "http://127.0.0.1:22/" })),
        ("settings", json!({ "share": "one", "key": "path", "value": "/etc" })),
        ("settings", json!({ "share": "one", "key": "guests", "value": "true" })),
        ("settings", json!({ "share": "one", "key": "replicate-from", "value": "ssh://evil/x" })),
        ("shares", json!({ "name": "etc", "path": "/etc" })),
        ("shares/change", json!({ "name": "one", "properties": { "users": "eve" } })),
        ("folders", json!({ "path": "/srv" })),
        ("shares/rename", json!({ "name": "one", "new": "two" })),
        ("shares/remove", json!({ "name": "one" })),
        ("accounts", json!({ "name": "eve", "password": "one", "groups": ["shadow"] })),
        ("accounts/password", json!({ "name": "grace", "password": "one" })),
        ("accounts/change", json!({ "name": "grace", "uid": 1000 })),
        ("accounts/remove", json!({ "name": "grace" })),
        ("webhooks", json!({ "folder": "one", "url": "http://127.0.0.1:22/", "secret": "0123456789abcdef" })),
        ("jobs", json!({ "kind": "replicate", "source": "one", "destination": "ssh://evil/x" })),
    ] {
        let (request, text) = (format!("POST /v1/{path}"), body.to_string());
        let by_token = server.ask(&request, &token, &text);
        let by_session = server.ask_with(&request, &format!("{cookie}X-Fourfold-Console: 1\r\n"), &text);
        for answer in [by_token, by_session] {
            let needs_person = answer.status == 403 && answer.json()["needs"] == "own_password";
            assert!(needs_person, "{path} {body}: {} {}", answer.status, answer.body);
        }
    }
    assert_eq!(file(), before);
    let limits = json!({ "share": "one", "key": "guests", "value": "false" }).to_string();
    assert_eq!(
        server.ask("POST /v1/settings", &token, &limits).status,
        200,
        "what only limits needs no person"
    );
}

/// Who has not given the own password gets one answer, whether or not the host has the folder, file or user.
#[test]
fn neither_a_token_nor_an_open_session_learns_what_the_host_has() {
    let server = start();
    let (token, cookie) = (server.token("script", "write"), session(&server));
    let of_share = |path: &str| json!({ "share": "one", "key": "path", "value": path });
    let new = |path: &str| json!({ "name": "new", "path": path });
    let of_server = |key: &str, value: &str| json!({ "key": key, "value": value });
    let lun = |file: &str| json!({ "share": "one", "name": "disk", "file": file });
    let webhook = |folder: &str| json!({ "folder": folder, "url": "http://127.0.0.1:22/", "secret": "0123456789abcdef" });
    for (path, there, missing) in [
        ("settings", of_share("/etc"), of_share("/etc/no-such-folder")),
        ("settings", of_share("/etc/passwd"), of_share("/no-such-folder")),
        ("settings", of_share("/"), of_share("relative/no-such-folder")),
        ("settings", of_server("default-user", "root"), of_server("default-user", "no-such-user")),
        (
            "settings",
            of_server("admin-certificate", "/etc/passwd"),
            of_server("admin-certificate", "/etc/none"),
        ),
        ("settings", of_server("kerberos-keytab", "/etc/passwd"), of_server("kerberos-keytab", "/etc/none")),
        ("settings", of_server("pam-service", "login"), of_server("pam-service", "no-such-service")),
        ("settings", of_server("audit-log", "/etc/passwd"), of_server("audit-log", "/no-such/folder")),
        ("shares", new("/etc"), new("/etc/no-such-folder")),
        ("folders", json!({ "path": "/srv" }), json!({ "path": "/srv/no-such-folder" })),
        ("luns", lun("/etc/passwd"), lun("/etc/no-such-file")),
        ("webhooks", webhook("one"), webhook("one/no-such-folder")),
    ] {
        let ask = |body: &Value| {
            let (request, text) = (format!("POST /v1/{path}"), body.to_string());
            let by_token = server.ask(&request, &token, &text);
            let by_session = server.ask_with(&request, &format!("{cookie}X-Fourfold-Console: 1\r\n"), &text);
            [by_token, by_session].map(|answer| (answer.status, answer.body))
        };
        let (there, missing) = (ask(&there), ask(&missing));
        assert_eq!(there, missing, "{path}");
        assert!(there.iter().all(|(status, _)| matches!(status, 403 | 409)), "{path}: {there:?}");
    }
}

#[test]
fn the_own_password_shares_no_system_folder_and_makes_no_system_user() {
    let server = start();
    let cookie = session(&server);
    let at = |name: &str| server.folder.path().join(name);
    let file = || std::fs::read_to_string(at("fourfold.toml")).unwrap();
    let before = file();
    for folder in ["one/inner", "elsewhere"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    symlink("/etc", at("one/etc")).unwrap();
    symlink(at("elsewhere"), at("one/elsewhere")).unwrap();
    let refused = |path: &str, body: Value, why: &str| {
        let answer = by_person(&server, &cookie, path, body.clone());
        // The state folder of the test lies below some of these.
        let says_why = answer.body.contains(why) || answer.body.contains("state folder");
        assert!(answer.status == 409 && says_why, "{path} {body}: {} {}", answer.status, answer.body);
        assert_eq!(file(), before, "{path} {body}");
    };
    for system in
        ["/", "/etc", "/usr/../etc", "/proc/self/root/etc", "/sys", "/dev/shm", "/usr/share", "/var/lib"]
    {
        refused("shares", json!({ "name": "all", "path": system }), "system folder");
        refused("settings", json!({ "share": "one", "key": "path", "value": system }), "system folder");
    }
    refused("shares", json!({ "name": "all", "path": at("one/etc") }), "system folder");
    refused("shares", json!({ "name": "all", "path": at("one/elsewhere") }), "share-roots");
    refused("shares", json!({ "name": "all", "path": at("elsewhere") }), "share-roots");
    refused("shares", json!({ "name": "all", "path": at("one/../elsewhere") }), "share-roots");
    refused("shares", json!({ "name": "all", "path": at("state") }), "state");
    refused("settings", json!({ "key": "default-user", "value": "root" }), "user or group of the system");
    refused("settings", json!({ "key": "default-user", "value": "daemon" }), "user or group of the system");
    for key in ["share-roots", "audit-log", "state", "host-min-uid", "pam-service", "cluster-address-command"]
    {
        refused("settings", json!({ "key": key, "value": "1" }), "");
    }
    let audit = json!({ "key": "audit-log", "value": "/etc/cron.d/x" });
    refused("settings", audit, "not changed over the network");
    if rustix::process::geteuid().is_root() {
        for body in [
            json!({ "name": "eve", "password": "one", "groups": ["42"] }),
            json!({ "name": "eve", "password": "one", "uid": 1 }),
            json!({ "name": "eve", "password": "one", "gid": 6 }),
            json!({ "name": "daemon", "password": "one" }),
        ] {
            refused("accounts", body, "user of the system");
        }
        refused("accounts/change", json!({ "name": "grace", "groups": ["4"] }), "user of the system");
    }
    let inner = json!({ "name": "inner", "path": at("one/inner") });
    let shared = by_person(&server, &cookie, "shares", inner);
    assert_eq!(shared.status, 200, "a folder in a share: {}", shared.body);
    assert!(file().contains("[[share]]\nname = \"inner\""), "{}", file());
}
