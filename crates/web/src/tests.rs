//! The whole of the API without sockets, in front of a server that is made up.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use auth::LoginGuard;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Request, Response, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::ServiceExt;

use crate::admitted::Standing;
use crate::testing::{self, MadeUp, requests};
use crate::{Scope, tokens};

mod accounts;
mod authors;
mod negotiate;
mod second_factor;
mod store;
mod strangers;

/// More than any condition takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until the condition holds. Fails with `what` if it never does.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.expect(what);
}

const SESSIONS: usize = 1_000;
const OPENS: usize = 100_000;
/// Far more than a page of any list takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(20);
/// How long a password is checked.
const CHECK: Duration = Duration::from_millis(30);
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), 50_000);

#[derive(Clone)]
struct Scene {
    state: Arc<tempfile::TempDir>,
    server: Arc<MadeUp>,
    guard: Arc<LoginGuard>,
    router: Router,
}

impl Scene {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let server = Arc::new(MadeUp { sessions: SESSIONS, opens: OPENS, check: CHECK, ..MadeUp::default() });
        let guard = Arc::new(LoginGuard::default());
        let api = testing::api(state.path(), server.clone(), guard.clone());
        Self { router: crate::api::router(api), state: Arc::new(state), server, guard }
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path).header("host", "nas:8443");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::from(body.to_owned())).unwrap();
        request.extensions_mut().insert(ConnectInfo(CLIENT));
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn login(&self, user: &str, password: &str) -> Response<Body> {
        let headers = [("x-fourfold-console", "1"), ("content-type", "application/json")];
        let body = serde_json::json!({ "user": user, "password": password }).to_string();
        self.ask("POST", "/v1/login", &headers, &body).await
    }

    /// Waits until so many passwords have been checked, or are being checked.
    async fn wait_for_checks(&self, count: usize) {
        until("the passwords are not checked", async || self.server.checked.load(Ordering::SeqCst) >= count)
            .await;
    }
}

async fn json(response: Response<Body>) -> Value {
    serde_json::from_slice(&to_bytes(response.into_body(), 1 << 20).await.unwrap()).unwrap()
}

#[tokio::test]
async fn nothing_is_answered_without_a_token_or_a_session_but_the_login() {
    let scene = Scene::new();
    let all = requests();
    assert!(all.len() >= 25, "{all:?}");
    for (method, path) in all {
        let open = path == "/v1/login" || path == "/v1/logout";
        let mark = [("x-fourfold-console", "1"), ("content-type", "application/json")];
        let answer = scene.ask(&method, &path, &mark, "{}").await;
        assert_eq!(
            answer.status() == StatusCode::UNAUTHORIZED,
            !open,
            "{method} {path}: {}",
            answer.status()
        );
        let forged = [mark[0], mark[1], ("cookie", "fourfold=00; __Host-fourfold=00")];
        let answer = scene.ask(&method, &path, &forged, "{}").await;
        assert_eq!(
            answer.status() == StatusCode::UNAUTHORIZED,
            !open,
            "{method} {path}: {}",
            answer.status()
        );
        let headers = answer.headers();
        for name in ["content-security-policy", "cache-control", "x-content-type-options", "x-frame-options"]
        {
            assert!(headers.contains_key(name), "{method} {path} has no {name}");
        }
        assert!(to_bytes(answer.into_body(), 4096).await.is_ok(), "{method} {path}: it tells too much");
    }
}

#[tokio::test]
async fn requests_of_other_sites_are_refused_for_each_path() {
    let scene = Scene::new();
    let login = [("x-fourfold-console", "1"), ("content-type", "application/json")];
    let credentials = r#"{"user": "ada", "password": "secret"}"#;
    let answer = scene.ask("POST", "/v1/login", &login, credentials).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    for (method, path) in requests() {
        let other = [login[0], login[1], ("cookie", &*cookie), ("sec-fetch-site", "cross-site")];
        let answer = scene.ask(&method, &path, &other, "{}").await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{method} {path}");
        if method != "GET" {
            let unmarked = [login[1], ("cookie", &*cookie)];
            let answer = scene.ask(&method, &path, &unmarked, "{}").await;
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{method} {path}");
        }
    }
    let answer = scene.ask("GET", "/v1/status", &[("cookie", &cookie)], "").await;
    assert_eq!(answer.status(), StatusCode::OK, "the session goes on");
}

#[tokio::test]
async fn a_hundred_thousand_opens_are_sent_in_parts() {
    let scene = Scene::new();
    let token = tokens::create(scene.state.path(), "page", &[Scope::Read]).unwrap();
    let token = format!("Bearer {token}");
    let began = Instant::now();
    let ask = async |path: &str| json(scene.ask("GET", path, &[("authorization", &*token)], "").await).await;
    let part = ask("/v1/opens?offset=99950&limit=100").await;
    assert_eq!((part["total"].as_u64(), part["rows"].as_array().unwrap().len()), (Some(OPENS as u64), 50));
    assert_eq!(part["rows"][49]["file"], "<script>99999</script>", "as text");
    let found = ask("/v1/opens?search=SCRIPT%3E4242%3C").await;
    assert_eq!((&found["total"], &found["rows"][0]["inode"]), (&Value::from(1), &Value::from(4242)));
    assert_eq!(ask("/v1/opens?search=nowhere").await["total"], 0);
    let sessions = ask("/v1/sessions?limit=100&search=user99").await;
    assert_eq!(sessions["total"], 11, "user99 and user990 to user999");
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_answer_of_a_wrong_password_delays_no_other_login() {
    let scene = Scene::new();
    assert_eq!(scene.login("ada", "secret").await.status(), StatusCode::OK);
    let limiter = &scene.guard.limiter;
    for _ in 0..20 {
        let attempt = limiter.admit(CLIENT.ip(), "ada", Instant::now()).unwrap();
        let _ = limiter.failed(&attempt, Instant::now());
    }
    let other = scene.clone();
    let wrong = tokio::spawn(async move { other.login("ada", "wrong").await.status() });
    scene.wait_for_checks(2).await;
    assert_eq!(scene.login("ada", "secret").await.status(), StatusCode::OK);
    assert!(!wrong.is_finished(), "the answer of the wrong one takes seconds");
    wrong.abort();
}

#[tokio::test]
async fn logins_that_clients_give_up_are_checked_one_at_a_time_and_count() {
    let scene = Scene::new();
    for number in 1..=8 {
        let other = scene.clone();
        let name = if number % 2 == 0 { "ada" } else { "nobody" };
        let given_up = tokio::spawn(async move { other.login(name, "wrong").await });
        scene.wait_for_checks(number).await;
        given_up.abort();
    }
    let is_over = async || scene.server.checking.load(Ordering::SeqCst) == 0;
    until("the last check does not end", is_over).await;
    assert_eq!(scene.server.most_checking.load(Ordering::SeqCst), 1);
    let is_slow = || {
        let attempt = scene.guard.limiter.admit(CLIENT.ip(), "hopper", Instant::now());
        attempt.is_none_or(|attempt| attempt.wait > Duration::ZERO)
    };
    until("the failures do not count", async || is_slow()).await;
}

#[tokio::test]
async fn an_account_without_admin_is_refused_and_its_answer_sets_no_cookie() {
    let scene = Scene::new();
    let answer = scene.login("grace", "secret").await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert!(!answer.headers().contains_key("set-cookie"));
    let wrong = scene.login("grace", "wrong").await;
    assert_eq!(
        (wrong.status(), wrong.headers().contains_key("set-cookie")),
        (StatusCode::UNAUTHORIZED, false)
    );
}

#[tokio::test]
async fn paths_that_lead_out_of_a_share_are_refused() {
    let scene = Scene::new();
    let token = tokens::create(scene.state.path(), "page", &[Scope::Write]).unwrap();
    let token = format!("Bearer {token}");
    let headers = [("authorization", &*token), ("content-type", "application/json")];
    let restore = async |path: &str, to: Option<&str>| {
        let body = serde_json::json!({ "share": "one", "snapshot": "noon", "path": path, "to": to });
        scene.ask("POST", "/v1/snapshots/restore", &headers, &body.to_string()).await
    };
    for (path, to) in [("", None), ("a..b/...", None), ("a", Some("b/c")), ("/a", None)] {
        assert_eq!(restore(path, to).await.status(), StatusCode::OK, "{path:?} {to:?}");
    }
    for bad in ["..", "../x", "a/../b", "a/..", ".", "a\0b"] {
        for answer in [restore(bad, None).await, restore("a", Some(bad)).await] {
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{bad:?}");
            assert!(json(answer).await["errors"][0].as_str().unwrap().contains("without `.` and `..`"));
        }
    }
}

/// What a client reads that asks again and again on one connection, until it is closed or `most` answers came.
async fn answers(scene: &Scene, request: &str, most: usize) -> usize {
    let (mut client, server) = tokio::io::duplex(64 * 1024);
    let life = Duration::from_millis(200);
    let router = scene.router.clone();
    let serving = tokio::spawn(async move {
        let _ = crate::serve::answer(server, (CLIENT, &Standing::default()), &router, life).await;
    });
    let (mut count, mut buffer) = (0, vec![0; 64 * 1024]);
    let talk = async {
        while count < most {
            if client.write_all(request.as_bytes()).await.is_err() {
                return;
            }
            match client.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => count += 1,
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, talk).await.unwrap();
    serving.abort();
    count
}

#[tokio::test]
async fn a_connection_without_a_token_or_a_session_ends_soon() {
    let scene = Scene::new();
    let token = tokens::create(scene.state.path(), "page", &[Scope::Read]).unwrap();
    let stranger = "GET /v1/login HTTP/1.1\r\nHost: nas\r\n\r\n";
    assert!(answers(&scene, stranger, 200).await < 200);
    let known = format!("GET /v1/luns HTTP/1.1\r\nHost: nas\r\nAuthorization: Bearer {token}\r\n\r\n");
    assert_eq!(answers(&scene, &known, 50).await, 50);
}

#[tokio::test]
async fn a_job_is_started_shown_and_bounded() {
    let scene = Scene::new();
    let login = scene.login("ada", "secret").await;
    let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let mark =
        [("x-fourfold-console", "1"), ("content-type", "application/json"), ("cookie", cookie.as_str())];
    let job = r#"{"kind": "names", "share": "studio"}"#;
    let started = json(scene.ask("POST", "/v1/jobs", &mark, job).await).await;
    assert_eq!(
        (&started["id"], &started["by"], &started["kind"]),
        (&1.into(), &"ada".into(), &"names".into())
    );
    let detail = async || json(scene.ask("GET", "/v1/jobs/1?after=0", &mark[2..], "").await).await;
    until("the job does not end", async || detail().await["job"]["state"] == "done").await;
    let listed = json(scene.ask("GET", "/v1/jobs", &mark[2..], "").await).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    for (method, path, body, status) in [
        ("POST", "/v1/jobs", job.replace("names", "shell"), 422),
        ("POST", "/v1/jobs", r#"{"kind": "names", "share": "a", "more": 1}"#.to_owned(), 422),
        ("POST", "/v1/jobs", format!(r#"{{"kind": "names", "share": "{}"}}"#, "a".repeat(5000)), 400),
        (
            "POST",
            "/v1/jobs",
            r#"{"kind": "restore", "share": "a", "snapshot": "b", "path": "../c"}"#.to_owned(),
            400,
        ),
        ("POST", "/v1/jobs/1/cancel", "{}".to_owned(), 409),
        ("POST", "/v1/jobs/2/cancel", "{}".to_owned(), 404),
        ("GET", "/v1/jobs/2", String::new(), 404),
        ("GET", "/v1/jobs/none", String::new(), 400),
        ("GET", "/v1/events?folder=studio/../b", String::new(), 400),
        ("GET", "/v1/events?folder=studio", String::new(), 409),
        ("GET", "/v1/code?text=", String::new(), 400),
        ("GET", "/v1/code?text=smb%3A%2F%2Fnas%2Fstudio", String::new(), 200),
    ] {
        let answer = scene.ask(method, path, &mark, &body).await;
        assert_eq!(answer.status().as_u16(), status, "{method} {path} {body}");
    }
    let code = format!("/v1/code?text={}", "a".repeat(301));
    assert_eq!(scene.ask("GET", &code, &mark, "").await.status(), StatusCode::BAD_REQUEST);
    let report = scene.ask("GET", "/v1/benchmarks/one", &mark, "").await;
    let policy = report.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("sandbox; default-src 'none'"), "{policy}: reports run no scripts");
}
