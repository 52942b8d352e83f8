//! Logins with a second factor, from the first code to its end.

use serde_json::json;

use super::*;

const MARK: (&str, &str) = ("x-fourfold-console", "1");
const JSON: (&str, &str) = ("content-type", "application/json");

impl Scene {
    async fn send(&self, path: &str, cookie: &str, body: &Value) -> (u16, Value) {
        let answer = self.ask("POST", path, &[MARK, JSON, ("cookie", cookie)], &body.to_string()).await;
        (answer.status().as_u16(), json(answer).await)
    }

    /// A session of ada, with a code if there is one. Its cookie, or what is needed.
    async fn session(&self, code: Option<&str>) -> Result<String, Value> {
        let body = json!({ "user": "ada", "password": "secret", "code": code }).to_string();
        let answer = self.ask("POST", "/v1/login", &[MARK, JSON], &body).await;
        let cookie = answer.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
        match cookie {
            Some(cookie) => Ok(cookie.split(';').next().unwrap().to_owned()),
            None => Err(json(answer).await["needs"].clone()),
        }
    }

    async fn is_open(&self, cookie: &str) -> bool {
        self.ask("GET", "/v1/server", &[("cookie", cookie)], "").await.status() == StatusCode::OK
    }

    /// Sets the second factor of ada by this session. Her recovery codes.
    async fn set_factor(&self, cookie: &str) -> Vec<String> {
        let own = json!({ "own_password": "secret" });
        let (status, shown) = self.send("/v1/second-factor", cookie, &own).await;
        assert_eq!(status, 200, "{shown}");
        assert!(shown["code"]["path"].as_str().unwrap().starts_with("M0 0h1v1h-1z"), "the corner of a code");
        let code = auth::second_factor::code_now(shown["secret"].as_str().unwrap());
        let (status, set) = self.send("/v1/second-factor/confirm", cookie, &json!({ "code": code })).await;
        assert_eq!(status, 200, "{set}");
        serde_json::from_value(set["recovery_codes"].clone()).unwrap()
    }
}

#[tokio::test]
async fn a_login_needs_a_code_from_the_first_one_to_the_end() {
    let scene = Scene::new();
    let own = scene.session(None).await.unwrap();
    let other = scene.session(None).await.unwrap();
    let recovery = scene.set_factor(&own).await;
    assert!(scene.is_open(&own).await && !scene.is_open(&other).await, "sessions without a code end");
    assert_eq!(scene.session(None).await, Err("code".into()));
    assert_eq!(scene.session(Some("no code")).await, Err("code".into()));
    scene.session(Some(&recovery[0])).await.unwrap();
    assert_eq!(scene.session(Some(&recovery[0])).await, Err("code".into()), "it counts once");
    let ticket = [MARK, ("authorization", "Negotiate YWRh")]; // ada
    assert_eq!(scene.ask("POST", "/v1/login/negotiate", &ticket, "").await.status(), StatusCode::FORBIDDEN);
    let told = json(scene.ask("GET", "/v1/second-factor", &[("cookie", &own)], "").await).await;
    assert_eq!((&told["account"], &told["recovery_codes"]), (&"ada".into(), &9.into()));
    assert_eq!(told["accounts"], json!(["ada"]));
    let end = "/v1/second-factor/remove";
    let (status, refused) = scene.send(end, &own, &json!({ "own_password": "secret" })).await;
    assert_eq!((status, &refused["needs"]), (403, &"code".into()), "the password alone does not end it");
    let body = json!({ "own_password": "secret", "code": recovery[1] });
    assert_eq!(scene.send(end, &own, &body).await.0, 200);
    scene.session(None).await.unwrap();
}

#[tokio::test]
async fn the_right_password_with_wrong_codes_is_slow_as_a_wrong_password() {
    let scene = Scene::new();
    let own = scene.session(None).await.unwrap();
    let recovery = scene.set_factor(&own).await;
    for _ in 0..5 {
        assert_eq!(scene.session(Some("no code")).await, Err("code".into()));
    }
    let attempt = scene.guard.limiter.admit(CLIENT.ip(), "ada", Instant::now()).unwrap();
    assert!(scene.guard.limiter.failed(&attempt, Instant::now()) > Duration::ZERO);
    scene.session(Some(&recovery[0])).await.unwrap();
}

#[tokio::test]
async fn an_administrator_ends_the_factor_of_another_account_whose_phone_is_lost() {
    let scene = Scene::new();
    let own = scene.session(None).await.unwrap();
    std::fs::write(
        scene.state.path().join("second-factors.toml"),
        "format = 1\n[[factor]]\naccount = \"grace\"\nsecret = \"MZXW6YTB\"\nsince = 1\nused_step = 1\n",
    )
    .unwrap();
    let body = json!({ "account": "grace", "own_password": "secret" });
    assert_eq!(scene.send("/v1/second-factor/remove", &own, &body).await.0, 200);
    assert_eq!(scene.send("/v1/second-factor/remove", &own, &body).await.0, 409, "there is none any more");
}

#[tokio::test]
async fn where_the_rule_demands_one_a_session_only_sets_it_up() {
    let scene = Scene::new();
    let before = scene.session(None).await.unwrap();
    scene.server.requires_second_factor.store(true, Ordering::SeqCst);
    let answer = scene.login("ada", "secret").await;
    let own = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(json(answer).await["needs"], "second_factor");
    let sets_up =
        ["/v1/login", "/v1/login/negotiate", "/v1/logout", "/v1/second-factor", "/v1/second-factor/confirm"];
    for (method, path) in requests() {
        if sets_up.contains(&path.as_str()) {
            continue;
        }
        for cookie in [&own, &before] {
            let answer = scene.ask(&method, &path, &[MARK, JSON, ("cookie", cookie)], "{}").await;
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{method} {path}");
            assert_eq!(json(answer).await["needs"], "second_factor", "{method} {path}");
        }
    }
    let told = json(scene.ask("GET", "/v1/login", &[("cookie", &own)], "").await).await;
    assert_eq!((&told["user"], &told["needs"]), (&"ada".into(), &"second_factor".into()));

    let recovery = scene.set_factor(&own).await;
    assert!(scene.is_open(&own).await && !scene.is_open(&before).await);
    let told = json(scene.ask("GET", "/v1/login", &[("cookie", &own)], "").await).await;
    assert_eq!(told.get("needs"), None);
    let body = json!({ "own_password": "secret", "code": recovery[0] });
    assert_eq!(scene.send("/v1/second-factor/remove", &own, &body).await.0, 200);
    assert!(!scene.is_open(&own).await, "without one it again only sets one up");
}

#[tokio::test]
async fn the_rule_binds_tickets_and_not_tokens() {
    let scene = Scene::new();
    let token = tokens::create(scene.state.path(), "prometheus", &[Scope::Read]).unwrap();
    scene.server.requires_second_factor.store(true, Ordering::SeqCst);
    let bearer = format!("Bearer {token}");
    let status = scene.ask("GET", "/v1/server", &[("authorization", &bearer)], "").await.status();
    assert_eq!(status, StatusCode::OK);
    let ticket = [MARK, ("authorization", "Negotiate YWRh")]; // ada
    let answer = scene.ask("POST", "/v1/login/negotiate", &ticket, "").await;
    let own = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(json(answer).await["needs"], "second_factor");
    assert!(!scene.is_open(&own).await);
    scene.set_factor(&own).await;
    assert!(scene.is_open(&own).await);
}

#[tokio::test]
async fn a_file_of_second_factors_that_cannot_be_read_opens_nothing() {
    let scene = Scene::new();
    let own = scene.session(None).await.unwrap();
    scene.server.requires_second_factor.store(true, Ordering::SeqCst);
    std::fs::write(scene.state.path().join("second-factors.toml"), "format = 1\n[[factor").unwrap();
    assert!(!scene.is_open(&own).await);
    assert_eq!(scene.login("ada", "secret").await.status(), StatusCode::INTERNAL_SERVER_ERROR);
}
