//! Changes of accounts: who may make which, and what they need for it.

use serde_json::json;

use super::*;
use crate::accounts::{AccountEdit, AccountRights, MoreSecrets};

const JSON: (&str, &str) = ("content-type", "application/json");
const MARK: (&str, &str) = ("x-fourfold-console", "1");

impl Scene {
    async fn cookie(&self) -> String {
        let login = self.login("ada", "secret").await;
        login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
    }

    fn token(&self, scope: Scope) -> String {
        format!("Bearer {}", tokens::create(self.state.path(), scope.word(), &[scope]).unwrap())
    }

    async fn changes(&self) -> Vec<crate::accounts::AccountChange> {
        std::mem::take(&mut *self.server.changes.lock().await)
    }
}

#[tokio::test]
async fn a_person_makes_changes_and_removes_accounts_and_a_token_disables_them() {
    let scene = Scene::new();
    let (write, read, cookie) = (scene.token(Scope::Write), scene.token(Scope::Read), scene.cookie().await);
    let ask = async |who: (&str, &str), path: &str, body: serde_json::Value| {
        let headers = [MARK, JSON, who];
        scene.ask("POST", &format!("/v1/accounts{path}"), &headers, &body.to_string()).await.status().as_u16()
    };
    let person = async |path: &str, mut body: serde_json::Value| {
        body["own_password"] = "secret".into();
        ask(("cookie", &cookie), path, body).await
    };
    let (write, read) = (("authorization", write.as_str()), ("authorization", read.as_str()));
    let new = json!({ "name": "hopper", "password": "pw", "uid": 5001, "groups": ["film", "50"], "chap_secret": true });
    assert_eq!(ask(read, "", new.clone()).await, 403);
    assert_eq!(person("", new).await, 200);
    assert_eq!(person("/password", json!({ "name": "hopper", "password": "other" })).await, 200);
    assert_eq!(person("/change", json!({ "name": "hopper", "uid": null, "disabled": true })).await, 200);
    assert_eq!(person("/remove", json!({ "name": "hopper" })).await, 200);
    let changes = scene.changes().await;
    assert!(changes.iter().all(|one| one.name == "hopper" && one.by == "ada"), "{changes:?}");
    let what: Vec<AccountEdit> = changes.into_iter().map(|one| one.what).collect();
    let rights = AccountRights {
        uid: Some(Some(5001)),
        gid: Some(None),
        groups: Some(vec!["film".into(), "50".into()]),
        disabled: None,
        admin: Some(false),
    };
    let expected = [
        AccountEdit::Add { password: "pw".into(), more: MoreSecrets { legacy: false, chap: true }, rights },
        AccountEdit::Password { password: "other".into(), more: None },
        AccountEdit::Rights(AccountRights {
            uid: Some(None),
            disabled: Some(true),
            ..AccountRights::default()
        }),
        AccountEdit::Remove,
    ];
    assert!(what == expected);
    assert_eq!(ask(write, "/change", json!({ "name": "hopper", "disabled": true })).await, 200);
    assert_eq!(scene.changes().await[0].by, "token write");
    for (path, body) in [
        ("", json!({ "name": "eve", "password": "pw" })),
        ("", json!({ "name": "eve", "password": "pw", "admin": true })),
        ("/password", json!({ "name": "hopper", "password": "pw" })),
        ("/password", json!({ "name": "ada", "password": "pw" })),
        ("/change", json!({ "name": "eve", "admin": true, "own_password": "secret" })),
        ("/change", json!({ "name": "hopper", "groups": ["shadow"] })),
        ("/change", json!({ "name": "ada", "disabled": true })),
        ("/remove", json!({ "name": "hopper" })),
        ("/remove", json!({ "name": "ada", "own_password": "secret" })),
    ] {
        assert_eq!(ask(write, path, body.clone()).await, 403, "{path} {body}");
    }
    assert!(scene.changes().await.is_empty(), "a token has changed who somebody is");
}

#[tokio::test]
async fn what_concerns_an_administrator_needs_the_own_password_whose_guesses_are_slowed_down() {
    let scene = Scene::new();
    let cookie = scene.cookie().await;
    let ask = async |path: &str, body: serde_json::Value| {
        let headers = [MARK, JSON, ("cookie", cookie.as_str())];
        scene.ask("POST", &format!("/v1/accounts{path}"), &headers, &body.to_string()).await
    };
    let promote = |own: serde_json::Value| json!({ "name": "grace", "admin": true, "own_password": own });
    for own in [serde_json::Value::Null, "".into(), "wrong".into()] {
        let answer = ask("/change", promote(own.clone())).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{own}");
        assert!(!json(answer).await["errors"][0].as_str().unwrap().contains("log in again"), "{own}");
    }
    for _ in 0..5 {
        assert_eq!(ask("/change", promote("wrong".into())).await.status(), StatusCode::FORBIDDEN);
    }
    let attempt = scene.guard.limiter.admit(CLIENT.ip(), "ada", Instant::now()).unwrap();
    assert!(scene.guard.limiter.failed(&attempt, Instant::now()) > Duration::ZERO, "the wrong ones count");
    assert!(scene.changes().await.is_empty());
    assert_eq!(ask("/change", promote("secret".into())).await.status(), StatusCode::OK);
    assert_eq!(scene.changes().await[0].by, "ada");
    for (path, body) in [
        ("/remove", json!({ "name": "ada", "own_password": "secret" })),
        ("/change", json!({ "name": "ada", "admin": false, "own_password": "secret" })),
        ("/change", json!({ "name": "ada", "disabled": true, "own_password": "secret" })),
    ] {
        assert_eq!(ask(path, body.clone()).await.status(), StatusCode::CONFLICT, "{path} {body}");
    }
    let renewed =
        ask("/password", json!({ "name": "ada", "password": "new", "own_password": "secret" })).await;
    assert_eq!(renewed.status(), StatusCode::OK);
    let status = scene.ask("GET", "/v1/status", &[("cookie", &*cookie)], "").await.status();
    assert_eq!(status, StatusCode::OK, "the own session goes on");
}

#[tokio::test]
async fn texts_of_account_requests_are_bounded() {
    let scene = Scene::new();
    let token = scene.token(Scope::Write);
    for (path, body, status) in [
        ("", json!({ "name": "a", "password": "p".repeat(1025) }), 400),
        ("", json!({ "name": "a", "password": "two\nlines" }), 400),
        ("", json!({ "name": "a".repeat(300), "password": "p" }), 400),
        ("", json!({ "name": "a", "password": "p", "groups": vec!["g"; 65] }), 400),
        ("", json!({ "name": "a", "password": "p", "uid": -1 }), 422),
        ("", json!({ "name": "a", "password": "p", "secret": "x" }), 422),
        ("/change", json!({ "name": "a" }), 400),
        ("/remove", json!({}), 422),
        ("/password", json!({ "name": "a", "password": "p", "legacy_password": true }), 403),
        ("/change", json!({ "name": "a", "disabled": true }), 200),
    ] {
        let headers = [("authorization", &*token), JSON];
        let answer = scene.ask("POST", &format!("/v1/accounts{path}"), &headers, &body.to_string()).await;
        assert_eq!(answer.status().as_u16(), status, "{path} {body}");
    }
}
