//! What the console's page asks: sessions of people, settings, events, throughput.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Answer, PROGRAM, Server, call_null};

/// The header of changes.
const MARK: &str = "X-Fourfold-Console: 1\r\n";
const SETTINGS: &str = "# The studio.\n[server]\nafp-greeting = \"hello\"  # to all\nshare-roots = [\"/srv\"]\n\n\
                        [[share]]\nname = \"one\"\npath = \"one\"  # here\n";

/// A server with a settings file, the administrator ada and the user grace.
pub(super) fn start() -> Server {
    start_with(SETTINGS)
}

/// The same with these settings, of which the share is the folder `one`.
pub(super) fn start_with(settings: &str) -> Server {
    start_with_more(settings, &[])
}

/// The same with more arguments.
pub(super) fn start_with_more(settings: &str, more: &[&str]) -> Server {
    start_prepared(settings, more, |_| ())
}

/// The same after something was done in the folder of the share.
pub(super) fn start_prepared(settings: &str, more: &[&str], prepare: impl FnOnce(&Path)) -> Server {
    let folder = tempfile::tempdir_in("/tmp").unwrap(); // TMPDIR may be in a system folder, which is not shared
    std::fs::create_dir(folder.path().join("one")).unwrap();
    prepare(&folder.path().join("one"));
    std::fs::write(folder.path().join("fourfold.toml"), settings).unwrap();
    let add = |name: &str, more: &[&str]| {
        let words = ["user", "add", name, "--password-stdin", "--state", "state"];
        let mut child = Command::new(PROGRAM)
            .args(words)
            .args(more)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"secret\n").unwrap();
        assert!(child.wait().unwrap().success());
    };
    add("ada", &["--admin"]);
    add("grace", &[]);
    Server::serving(folder, &[&["--config", "fourfold.toml"], more].concat())
}

pub(super) fn login(server: &Server, user: &str, password: &str) -> Answer {
    let body = json!({ "user": user, "password": password }).to_string();
    server.ask_with("POST /v1/login", MARK, &body)
}

/// The line with the cookie of a new session.
pub(super) fn session(server: &Server) -> String {
    let answer = login(server, "ada", "secret");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let line = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    for part in ["__host-fourfold=", "; httponly", "; secure", "; samesite=strict", "; path=/", "; max-age="]
    {
        assert!(line.contains(part), "{line}");
    }
    // The test reads heads in lower case; the secret has digits and small letters only.
    let value = line.split(';').next().unwrap().strip_prefix("__host-fourfold=").unwrap();
    format!("Cookie: theme=dark; __Host-fourfold={value}\r\n")
}

/// The answer to a change by a person: in a session of ada, with the own password.
pub(super) fn by_person(server: &Server, cookie: &str, path: &str, mut body: Value) -> Answer {
    body["own_password"] = "secret".into();
    server.ask_with(&format!("POST /v1/{path}"), &format!("{cookie}{MARK}"), &body.to_string())
}

#[test]
fn an_administrator_logs_in_and_only_the_own_page_changes_anything() {
    let server = start();
    let page = server.ask("GET /", "", "");
    assert!(page.head.contains("script-src 'self'") && page.head.contains("require-trusted-types-for"));
    assert!(page.body.contains("<!doctype html>") && page.head.contains("text/html"));
    assert_eq!(server.ask("GET /page/app.js", "", "").status, 200);

    let wrong = login(&server, "ada", "Secret");
    assert_eq!(wrong.status, 401);
    assert_eq!(wrong.body, login(&server, "nobody", "secret").body, "unknown names are not told apart");
    let refused = login(&server, "grace", "secret");
    assert!(
        refused.status == 403 && refused.body.contains("user modify grace --admin on"),
        "{}",
        refused.body
    );
    assert_eq!(server.ask_with("POST /v1/login", MARK, &"x".repeat(5000)).status, 413);
    let unmarked = json!({ "user": "ada", "password": "secret" }).to_string();
    assert_eq!(server.ask_with("POST /v1/login", "", &unmarked).status, 403);
    assert_eq!(server.ask_with("GET /v1/login", "", "").json(), json!({ "user": null }));

    let cookie = session(&server);
    let ask = |request: &str, more: &str| server.ask_with(request, &format!("{cookie}{more}"), "").status;
    assert_eq!(server.ask_with("GET /v1/login", &cookie, "").json(), json!({ "user": "ada" }));
    assert_eq!((ask("GET /v1/status", ""), ask("GET /metrics", "")), (200, 200));
    assert_eq!(ask("GET /v1/status", "Sec-Fetch-Site: cross-site\r\n"), 403);
    assert_eq!(ask("POST /v1/reload", ""), 403);
    assert_eq!(ask("POST /v1/reload", &format!("{MARK}Origin: https://evil.example\r\n")), 403);
    assert_eq!(ask("POST /v1/reload", &format!("{MARK}Origin: https://localhost\r\n")), 200);

    let other = session(&server);
    assert_eq!(server.ask_with("POST /v1/logout", &format!("{cookie}{MARK}"), "").status, 200);
    assert_eq!(ask("GET /v1/status", ""), 401);
    assert_eq!(server.ask_with("GET /v1/status", &other, "").status, 200, "other sessions go on");
    server.run(&["user", "modify", "ada", "--admin", "off"]);
    assert_eq!(server.ask_with("GET /v1/status", &other, "").status, 401);
    assert_eq!(login(&server, "ada", "secret").status, 403);

    let token = server.token("page", "read");
    let log = server.ask("GET /v1/log", &token, "").json();
    let lines = log["lines"].as_array().unwrap();
    let has = |words: [&str; 3]| {
        let text = |line: &Value| line["text"].as_str().unwrap_or_default().to_owned();
        lines.iter().any(|line| words.iter().all(|word| text(line).contains(word)))
    };
    assert!(has(["accepted", "protocol=\"api\"", "user=\"ada\""]), "{log}");
    assert!(has(["failed", "user=\"nobody\"", "there is no such account"]), "{log}");
    assert!(!log.to_string().contains("Secret") && !log.to_string().contains(&token), "{log}");
    let later = server.ask(&format!("GET /v1/log?after={}", log["last"]), &token, "").json();
    assert_eq!(later["lines"], json!([]));
}

#[test]
fn a_setting_is_changed_in_its_file_applied_and_taken_back() {
    let server = start();
    let token = server.token("page", "write");
    let file = server.folder.path().join("fourfold.toml");
    let text = || std::fs::read_to_string(&file).unwrap();
    let change = |body: Value| {
        let answer = server.ask("POST /v1/settings", &token, &body.to_string());
        (answer.status, answer.body)
    };
    let setting = |share: Value, key: &str| {
        let all = server.ask("GET /v1/settings", &token, "").json()["settings"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["share"] == share && one["key"] == key).unwrap()
    };
    let before = setting(json!("one"), "read-only");
    assert_eq!((&before["value"], &before["source"]), (&json!("false"), &json!("default")));
    let port = setting(Value::Null, "nfs-port");
    assert_eq!((&port["source"], &port["live"]), (&json!("run"), &json!(false)));

    assert_eq!(change(json!({ "share": "one", "key": "read-only", "value": "on" })).0, 200);
    assert_eq!(text(), SETTINGS.to_owned() + "read-only = true\n");
    assert_eq!(server.ask("GET /v1/shares", &token, "").json()[0]["read_only"], true, "it is in force");
    assert_eq!(change(json!({ "key": "afp-greeting", "value": "good day" })).0, 200);
    assert!(text().contains("afp-greeting = \"good day\"  # to all"), "{}", text());

    let refused = |body: Value, why: &str| {
        let now = text();
        let (status, answer) = change(body);
        assert!(status == 409 && answer.contains(why), "{status} {answer}");
        assert_eq!(text(), now);
    };
    refused(json!({ "share": "one", "key": "read-only", "value": "maybe" }), "true or false");
    let moved = change(json!({ "share": "one", "key": "path", "value": "state" }));
    assert_eq!(moved.0, 403, "a token learns nothing of the host's folders: {}", moved.1);
    refused(json!({ "share": "one", "key": "colour", "value": "red" }), "no property `colour`");
    refused(json!({ "share": "two", "key": "read-only", "value": "on" }), "no share");
    refused(json!({ "share": "one", "key": "name", "value": "two" }), "fourfold rename");
    refused(json!({ "key": "nfs-port", "value": "2049" }), "was started with `nfs-port`");
    refused(json!({ "key": "admin-ports", "value": "1" }), "no setting `admin-ports`");

    let cookie = session(&server);
    let secret = json!({ "share": "one", "key": "afp-password", "value": "plans777" });
    let Answer { status, body: answer, .. } = by_person(&server, &cookie, "settings", secret);
    assert!(status == 200 && text().contains("afp-password = \"plans777\""), "{status} {answer}");
    let [shown, log] =
        ["GET /v1/settings", "GET /v1/log"].map(|request| server.ask(request, &token, "").body);
    assert!(shown.contains("one: afp-password = …"), "{shown}");
    for told in [answer, shown, log] {
        assert!(!told.contains("plans777"), "the password is shown: {told}");
    }
    assert_eq!(server.ask("POST /v1/settings/undo", &token, "").status, 403, "a password is not taken away");
    assert_eq!(by_person(&server, &cookie, "settings/undo", json!({})).status, 200);

    let changes = server.ask("GET /v1/settings", &token, "").json()["changes"].clone();
    assert_eq!(changes[0]["what"], "server: afp-greeting = good day");
    assert_eq!((&changes[1]["by"], &changes[2]), (&json!("token page"), &Value::Null));
    let undo = || server.ask("POST /v1/settings/undo", &token, "").status;
    assert_eq!(undo(), 200);
    assert_eq!(undo(), 403, "it would be writable again");
    assert_eq!(by_person(&server, &cookie, "settings/undo", json!({})).status, 200);
    assert_eq!(text(), SETTINGS);
    assert_eq!(server.ask("GET /v1/shares", &token, "").json()[0]["read_only"], false);
    assert_eq!(undo(), 409, "nothing is left");
    assert_eq!(change(json!({ "share": "one", "key": "read-only", "value": "on" })).0, 200);
    std::fs::write(&file, text() + "# by hand\n").unwrap();
    assert_eq!(undo(), 409, "another program's change is not lost");
    assert!(text().ends_with("# by hand\n"));
}

#[test]
fn listeners_hear_changes_until_their_session_ends() {
    let server = start();
    let (token, cookie) = (server.token("page", "write"), session(&server));
    let mut stream = server.connect();
    write!(stream, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n{cookie}\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let until = Instant::now() + Duration::from_secs(30);
    let mut wait_for = |wanted: &dyn Fn(&str) -> bool| {
        let found = lines.by_ref().take_while(|_| Instant::now() < until).any(|line| wanted(&line));
        assert!(found, "the event does not come");
    };
    wait_for(&|line| line.to_lowercase() == "content-type: text/event-stream");
    wait_for(&|line| line == "event: holdings");
    let _client = TcpStream::connect(("127.0.0.1", server.nfs)).unwrap();
    wait_for(&|line| line.starts_with("data: ") && line.contains("\"nfs\":1"));
    let body = json!({ "key": "afp-greeting", "value": "good day" }).to_string();
    assert_eq!(server.ask("POST /v1/settings", &token, &body).status, 200);
    wait_for(&|line| line == "event: settings");
    assert_eq!(server.ask_with("POST /v1/logout", &format!("{cookie}{MARK}"), "").status, 200);
    wait_for(&|line| line == "0"); // the last chunk
}

#[test]
fn the_overview_and_the_throughput_tell_what_happens() {
    let server = start();
    let token = server.token("page", "write");
    for _ in 0..5 {
        call_null(server.nfs);
    }
    let until = Instant::now() + Duration::from_secs(20);
    let columns = loop {
        let told = server.ask("GET /v1/throughput", &token, "").json();
        let columns = told["protocols"]["nfs"].clone();
        let sum =
            |key: &str| columns[key].as_array().map_or(0, |all| all.iter().filter_map(Value::as_u64).sum());
        if sum("operations") == 5 || Instant::now() > until {
            assert_eq!((sum("operations"), sum("failed")), (5, 0), "{told}");
            assert!(sum("bytes_in") >= 5 * 40 && sum("p99_us") > 0, "{told}");
            break told;
        }
    };
    let last = columns["last"].as_u64().unwrap();
    let later = server.ask(&format!("GET /v1/throughput?after={last}"), &token, "").json();
    assert!(later["protocols"]["nfs"]["operations"].as_array().unwrap().len() < 20, "{later}");
    assert_eq!(server.ask("GET /v1/throughput?span=day", &token, "").json()["step_s"], 60);
    assert_eq!(server.ask("GET /v1/throughput?span=year", &token, "").status, 400);

    let overview = server.ask("GET /v1/overview", &token, "").json();
    assert_eq!(overview["shares"][0]["share"], "one");
    assert!(overview["shares"][0]["size"].as_u64() > overview["shares"][0]["available"].as_u64());
    let accounts = server.ask("GET /v1/accounts", &token, "").json();
    let admins: Vec<_> =
        accounts.as_array().unwrap().iter().map(|one| (&one["name"], &one["admin"])).collect();
    assert_eq!(admins, [(&json!("ada"), &json!(true)), (&json!("grace"), &json!(false))]);
    assert!(!accounts.to_string().contains("$argon2"), "{accounts}");
    let found = server.ask("GET /v1/snapshots?share=one", &token, "").json();
    if let Some(why) = found["shares"]["one"].as_str() {
        assert!(why.contains("cannot make snapshots"), "{why}");
        let refused = server.ask("POST /v1/snapshots", &token, r#"{"share": "one"}"#);
        assert!(refused.status == 409 && refused.body.contains("fourfold pool create"), "{}", refused.body);
    } else {
        let taken = server.ask("POST /v1/snapshots", &token, r#"{"share": "one", "name": "first"}"#);
        assert_eq!(taken.json()["lines"][0], "one@first");
    }
    let sessions = |search: &str| {
        let request = format!("GET /v1/sessions?search={search}");
        server.ask(&request, &token, "").json()["total"].as_u64().unwrap()
    };
    let _client = TcpStream::connect(("127.0.0.1", server.nfs)).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while sessions("NFS") == 0 {
        assert!(Instant::now() < until, "the session is not found");
    }
    assert_eq!(sessions("smb"), 0);
}

#[test]
fn a_share_is_renamed_and_ended_and_both_are_taken_back() {
    let server = start();
    let token = server.token("page", "write");
    let cookie = session(&server);
    let ask = |path: &str, body: Value| {
        let answer = by_person(&server, &cookie, path, body);
        (answer.status, answer.body)
    };
    let names = || {
        let shares = server.ask("GET /v1/shares", &token, "").json();
        let name = |share: &Value| share["name"].as_str().unwrap().to_owned();
        shares.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    std::fs::create_dir(server.folder.path().join("one/inner")).unwrap();
    std::fs::write(server.folder.path().join("one/file"), "text").unwrap();
    let inner = json!({ "name": "inner", "path": server.folder.path().join("one/inner") });
    assert_eq!(ask("shares", inner).0, 200);
    // What is taken back must lie in one of the roots, too.
    let roots = format!("share-roots = [{:?}]", server.folder.path());
    let below = |text: String| {
        text.replace("name = \"inner\"", "name = \"one/inner\"").replace("share-roots = [\"/srv\"]", &roots)
    };
    let file = server.folder.path().join("fourfold.toml");
    std::fs::write(&file, below(std::fs::read_to_string(&file).unwrap())).unwrap();
    assert_eq!(server.ask("POST /v1/reload", &token, "").status, 200);
    assert_eq!(names(), ["one", "one/inner"]);
    let before = std::fs::read_to_string(&file).unwrap();

    for (path, body, why) in [
        ("shares/rename", json!({ "name": "one", "new": "one/inner" }), "already"),
        ("shares/rename", json!({ "name": "one", "new": "a/b" }), "fourfold rename"),
        ("shares/rename", json!({ "name": "two", "new": "three" }), "no share"),
        ("shares/remove", json!({ "name": "one" }), "one/inner"),
        ("shares/remove", json!({ "name": "two" }), "no share"),
    ] {
        let (status, told) = ask(path, body.clone());
        assert!(status == 409 && told.contains(why), "{path} {body}: {status} {told}");
    }
    let (status, told) = ask("shares/rename", json!({ "name": "one", "new": "first" }));
    assert_eq!((status, names()), (200, vec!["first".to_owned(), "first/inner".to_owned()]), "{told}");
    let (status, told) = ask("shares/remove", json!({ "name": "first", "recursive": true }));
    assert_eq!((status, names()), (200, Vec::new()), "{told}");
    assert!(server.folder.path().join("one/file").exists(), "files stay");
    for _ in 0..2 {
        assert_eq!(ask("settings/undo", json!({})).0, 200);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    assert_eq!(names(), ["one", "one/inner"]);
}

#[test]
fn the_console_is_named_and_http_leads_to_it() {
    let server = start();
    let url = format!("https://localhost:{}/", server.api);
    assert!(server.run(&["status"]).contains(&format!("console {url}")), "{}", server.run(&["status"]));
    let ask = |text: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.api)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let host = format!("Host: localhost:{}\r\n\r\n", server.api);
    let led = ask(&format!("GET /page/app.js HTTP/1.1\r\n{host}"));
    assert!(
        led.starts_with("HTTP/1.1 307 ") && led.contains(&format!("location: {url}page/app.js\r\n")),
        "{led}"
    );
    let sent = ask(&format!("POST /v1/login HTTP/1.1\r\nContent-Length: 0\r\n{host}"));
    assert!(sent.starts_with("HTTP/1.1 400 ") && sent.contains("https://"), "{sent}");
    let nothing = ask("GET / HTTP/1.0\r\n\r\n");
    assert!(nothing.starts_with("HTTP/1.0 400 "), "a request without a host: {nothing}");
    assert_eq!(server.ask("GET /", "", "").status, 200, "TLS goes on");
}
