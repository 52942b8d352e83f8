//! Who may make which change: one line for each request that writes.

use serde_json::{Value, json};

use super::*;

const JSON: (&str, &str) = ("content-type", "application/json");
const MARK: (&str, &str) = ("x-fourfold-console", "1");

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Needs {
    /// A token with the scope `write`, or a session.
    Nothing,
    /// A session of the console.
    Session,
    /// The own password of the administrator whose session it is.
    OwnPassword,
    /// It is the way in.
    NoSession,
}
use Needs::{NoSession, Nothing, OwnPassword, Session};

/// Requests that would be executed. The settings of the server that is made up are all such that only a person changes them.
fn table() -> Vec<(&'static str, Value, Needs)> {
    let (share, lun) =
        (json!({ "share": "a", "name": "b" }), json!({ "share": "a", "name": "b", "size": "1G" }));
    let account = json!({ "name": "hopper", "password": "pw" });
    let hook = json!({ "folder": "a", "url": "http://127.0.0.1:22/", "secret": "0123456789abcdef" });
    vec![
        ("/v1/login", json!({}), NoSession),
        ("/v1/login/negotiate", json!({}), NoSession),
        ("/v1/logout", json!({}), NoSession),
        ("/v1/reload", json!({}), Nothing),
        ("/v1/restart", json!({}), Session),
        ("/v1/alerts/mute", json!({ "name": "space", "about": "a", "seconds": 3600 }), Session),
        ("/v1/alerts/unmute", json!({ "name": "space" }), Nothing),
        ("/v1/alerts/test", json!({}), Nothing),
        ("/v1/logins/end", json!({ "session": 999 }), Session),
        ("/v1/second-factor", json!({}), OwnPassword),
        ("/v1/second-factor/confirm", json!({ "code": "123456" }), Session),
        ("/v1/second-factor/remove", json!({}), OwnPassword),
        ("/v1/certificate", json!({ "chain": "", "key": "" }), OwnPassword),
        ("/v1/certificate/make", json!({}), OwnPassword),
        ("/v1/certificate/order", json!({}), Session),
        ("/v1/opens/close", json!({ "share": "a", "inode": 7 }), Nothing),
        ("/v1/files/data?share=a&path=b", json!({}), Session),
        ("/v1/files/folder", json!({ "share": "a", "path": "b" }), Session),
        ("/v1/files/move", json!({ "share": "a", "path": "b", "to": "c" }), Session),
        ("/v1/files/remove", json!({ "share": "a", "path": "b" }), Session),
        ("/v1/images", json!({ "place": "Mac", "passphrase": "open sesame" }), Session),
        ("/v1/images/close", json!({ "name": "Mac$" }), Session),
        ("/v1/backups/policy", json!({ "share": "a", "mac": "b", "limit": "1G" }), Nothing),
        ("/v1/messages", json!({ "text": "hello" }), Nothing),
        ("/v1/disconnect", json!({ "user": "eve" }), Nothing),
        ("/v1/caches", json!({ "limits": {} }), Nothing),
        ("/v1/streams", json!({ "share": "a", "speed": 1_000_000, "streams": 1 }), Nothing),
        ("/v1/streams/release", json!({ "id": 1 }), Nothing),
        ("/v1/luns", lun.clone(), Nothing),
        ("/v1/luns", json!({ "share": "a", "name": "b", "file": "disk.img" }), OwnPassword),
        ("/v1/luns/resize", lun, Nothing),
        ("/v1/luns/remove", share.clone(), Nothing),
        ("/v1/settings", json!({ "key": "default-user", "value": "root" }), OwnPassword),
        ("/v1/settings/undo", json!({}), OwnPassword),
        ("/v1/snapshots", share.clone(), Nothing),
        ("/v1/snapshots/look", json!({}), Nothing),
        ("/v1/snapshots/remove", share, Nothing),
        ("/v1/snapshots/rename", json!({ "share": "a", "name": "b", "new": "c" }), Nothing),
        ("/v1/snapshots/hold", json!({ "share": "a", "name": "b", "tag": "c" }), Nothing),
        ("/v1/snapshots/release", json!({ "share": "a", "name": "b", "tag": "c" }), Nothing),
        ("/v1/snapshots/restore", json!({ "share": "a", "snapshot": "b", "path": "c" }), Nothing),
        ("/v1/shares", json!({ "name": "a", "path": "/etc" }), OwnPassword),
        ("/v1/shares/change", json!({ "name": "a", "properties": { "editors": "ada" } }), OwnPassword),
        ("/v1/shares/remove", json!({ "name": "a" }), OwnPassword),
        ("/v1/shares/rename", json!({ "name": "a", "new": "b" }), OwnPassword),
        ("/v1/folders", json!({ "path": "/srv" }), OwnPassword),
        ("/v1/accounts", account.clone(), OwnPassword),
        ("/v1/accounts/password", account, OwnPassword),
        ("/v1/accounts/change", json!({ "name": "hopper", "groups": ["shadow"] }), OwnPassword),
        ("/v1/accounts/change", json!({ "name": "hopper", "uid": 0 }), OwnPassword),
        ("/v1/accounts/change", json!({ "name": "hopper", "disabled": false }), OwnPassword),
        ("/v1/accounts/change", json!({ "name": "hopper", "disabled": true, "admin": false }), OwnPassword),
        ("/v1/accounts/change", json!({ "name": "hopper", "disabled": true }), Nothing),
        ("/v1/accounts/rename", json!({ "name": "hopper", "new": "eve", "password": "pw" }), OwnPassword),
        ("/v1/accounts/remove", json!({ "name": "hopper" }), OwnPassword),
        ("/v1/rights", json!({ "share": "a", "path": "b", "who": "eve", "role": "owner" }), OwnPassword),
        ("/v1/rights", json!({ "share": "a", "path": "b", "who": "eve" }), OwnPassword),
        ("/v1/rights/reset", json!({ "share": "a", "recursive": true }), OwnPassword),
        ("/v1/rights/reset", json!({ "share": "a", "dry_run": true }), Nothing),
        ("/v1/rights/undo", json!({ "share": "a", "record": "b" }), OwnPassword),
        ("/v1/rights/check", json!({ "share": "a" }), Nothing),
        ("/v1/groups", json!({ "name": "studio", "accounts": ["hopper"] }), OwnPassword),
        ("/v1/groups/change", json!({ "name": "studio", "accounts": [] }), OwnPassword),
        ("/v1/groups/remove", json!({ "name": "studio" }), OwnPassword),
        ("/v1/webhooks", hook, OwnPassword),
        ("/v1/webhooks/remove", json!({ "id": 1 }), Nothing),
        ("/v1/webhooks/test", json!({ "id": 1 }), Nothing),
        ("/v1/jobs", json!({ "kind": "names", "share": "a" }), Nothing),
        ("/v1/jobs", json!({ "kind": "names-undo", "journal": "a" }), Nothing),
        ("/v1/jobs", json!({ "kind": "scrub" }), Nothing),
        ("/v1/jobs", json!({ "kind": "adopt", "share": "a" }), Nothing),
        ("/v1/jobs", json!({ "kind": "convert", "share": "a" }), Nothing),
        ("/v1/jobs", json!({ "kind": "convert-undo", "journal": "a" }), Nothing),
        ("/v1/jobs", json!({ "kind": "restore", "share": "a", "snapshot": "b", "path": "c" }), Nothing),
        ("/v1/jobs", json!({ "kind": "verify-backup", "share": "a", "bundle": "b" }), Nothing),
        ("/v1/jobs", json!({ "kind": "roll-back-backup", "share": "a", "bundle": "b" }), Nothing),
        ("/v1/jobs", json!({ "kind": "discard-backup", "share": "a", "bundle": "b" }), Nothing),
        ("/v1/jobs", json!({ "kind": "move-backup", "share": "a", "bundle": "b", "to": "c" }), Nothing),
        ("/v1/jobs", json!({ "kind": "clone-lun", "share": "a", "name": "b", "new": "c" }), Nothing),
        ("/v1/jobs", json!({ "kind": "snapshot-lun", "share": "a", "name": "b", "new": "c" }), Nothing),
        (
            "/v1/jobs",
            json!({ "kind": "replicate", "source": "a", "destination": "ssh://evil/a" }),
            OwnPassword,
        ),
        ("/v1/jobs", json!({ "kind": "bench", "share": "a", "protocols": ["nfs"] }), Nothing),
        ("/v1/jobs/{id}/cancel", json!({}), Nothing),
    ]
}

#[tokio::test]
async fn each_request_that_writes_says_whether_it_needs_a_person() {
    let scene = Scene::new();
    let token = format!("Bearer {}", tokens::create(scene.state.path(), "t", &[Scope::Write]).unwrap());
    let login = scene.login("ada", "secret").await;
    let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let ask = async |path: &str, who: (&str, &str), body: &Value| {
        let path = path.replace("{id}", "1");
        let answer = scene.ask("POST", &path, &[MARK, JSON, who], &body.to_string()).await;
        let status = answer.status().as_u16();
        let text = to_bytes(answer.into_body(), 1 << 16).await.unwrap();
        let needs = serde_json::from_slice::<Value>(&text).unwrap_or_default()["needs"].clone();
        ((status == 403 && needs == "own_password"), status)
    };
    for (path, body, needs) in table() {
        if needs == NoSession {
            continue;
        }
        for who in [("authorization", token.as_str()), ("cookie", cookie.as_str())] {
            let (refused, status) = ask(path, who, &body).await;
            assert_eq!(refused, needs == OwnPassword, "{path} {body} {}: {status}", who.0);
            assert!(!matches!(status, 400 | 401 | 422), "{path} {body}: {status}");
            let is_token = who.0 == "authorization";
            assert_eq!(status == 403, refused || needs == Session && is_token, "{path} {}: {status}", who.0);
        }
        if needs == OwnPassword {
            let mut with = body.clone();
            with["own_password"] = "secret".into();
            let (refused, status) = ask(path, ("cookie", &cookie), &with).await;
            assert!(!refused && !matches!(status, 400 | 403 | 422), "{path} {with}: {status}");
            let (_, status) = ask(path, ("authorization", &token), &with).await;
            assert_eq!(status, 403, "{path}: a token with a password");
            with["own_password"] = "".into();
            assert!(ask(path, ("cookie", &cookie), &with).await.0, "{path}: an empty password");
        }
    }
}

#[test]
fn the_table_has_all_requests_and_jobs_that_write_and_none_makes_tokens() {
    let table = table();
    for (method, path) in requests() {
        assert!(!path.contains("token"), "{path}: a token could make one with more rights");
        if method != "GET" {
            assert!(
                table.iter().any(|(known, ..)| known.split('?').next() == Some(&*path)),
                "{method} {path} is not in the table"
            );
        }
    }
    for kind in testing::job_kinds() {
        assert!(
            table.iter().any(|(_, body, _)| body["kind"] == kind.as_str()),
            "the job {kind} is not in the table"
        );
    }
}

#[tokio::test]
async fn wrong_own_passwords_are_delayed_as_those_of_logins() {
    let scene = Scene::new();
    let login = scene.login("ada", "secret").await;
    let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    for _ in 0..6 {
        let body = json!({ "name": "a", "path": "/srv/a", "own_password": "wrong" }).to_string();
        let answer = scene.ask("POST", "/v1/shares", &[MARK, JSON, ("cookie", &cookie)], &body).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    }
    let attempt = scene.guard.limiter.admit(CLIENT.ip(), "ada", Instant::now()).unwrap();
    assert!(scene.guard.limiter.failed(&attempt, Instant::now()) > Duration::ZERO, "the wrong ones count");
    assert_eq!(scene.server.changed_settings.load(Ordering::SeqCst), 0);
}
