//! The API over HTTP of a running server, asked by another TLS implementation's client code and plain HTTP/1.1.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

#[path = "api/console.rs"]
mod console;
#[path = "api/files.rs"]
mod files;
#[path = "api/idle.rs"]
mod idle;
#[path = "api/jobs.rs"]
mod jobs;
#[path = "api/rights.rs"]
mod rights;
#[path = "api/scrub.rs"]
mod scrub;
#[path = "api/sharing.rs"]
mod sharing;
#[path = "api/store.rs"]
mod store;
#[path = "api/trust.rs"]
mod trust;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");

/// A server with the API; killed when dropped.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
    api: u16,
    nfs: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("one")).unwrap();
        Self::serving(folder, &["one"])
    }

    /// A server of this folder, with more arguments.
    fn serving(folder: tempfile::TempDir, more: &[&str]) -> Self {
        let mut server = Self::without_api(folder, &[&["--admin-port", "0"], more].concat());
        let status: Value = serde_json::from_str(&server.run(&["status", "--json"])).unwrap();
        let port = |protocol: &str| {
            let listeners = status["listeners"].as_array().unwrap();
            let found = listeners.iter().find(|one| one["protocol"] == protocol).unwrap();
            found["address"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap()
        };
        (server.api, server.nfs) = (port("api"), port("nfs"));
        server
    }

    /// A server whose ports are not known.
    fn without_api(folder: tempfile::TempDir, more: &[&str]) -> Self {
        let ports = ["--smb-port", "--afp-port", "--iscsi-port", "--portmap-port"];
        let off = ports.into_iter().filter(|port| !more.contains(port)).flat_map(|port| [port, "off"]);
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--listen", "127.0.0.1", "--state", "state", "--nfs-port", "0"])
            .args(off)
            .args(more)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        lines.find(|line| line == "ready").unwrap();
        Self { child, folder, api: 0, nfs: 0 }
    }

    /// The output of a command about this server.
    fn run(&self, words: &[&str]) -> String {
        let output = Command::new(PROGRAM)
            .args(words)
            .args(["--state", "state"])
            .current_dir(self.folder.path())
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn token(&self, name: &str, scope: &str) -> String {
        self.run(&["token", "create", name, "--scope", scope]).trim().to_owned()
    }

    /// A connection whose server proves itself by the certificate in its state folder.
    fn connect(&self) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        let certificate = self.folder.path().join("state/api-certificate.pem");
        roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TcpStream::connect(("127.0.0.1", self.api)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
    }

    fn ask(&self, request: &str, token: &str, body: &str) -> Answer {
        let authorization =
            if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        self.ask_with(request, &authorization, body)
    }

    /// As [`Self::ask`], with these lines of headers.
    fn ask_with(&self, request: &str, headers: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        let length = body.len();
        let text = format!(
            "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}"
        );
        // The server may answer and close before it has read all.
        let _ = stream.write_all(text.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}: {answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }
}

/// Sends NFSPROC3_NULL, RFC 5531 9 and RFC 1813 3.3.0.
fn call_null(port: u16) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let words: [u32; 11] = [0x8000_0028, 7, 0, 2, 100_003, 3, 0, 0, 0, 0, 0];
    let call: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    stream.write_all(&call).unwrap();
    let mut reply = [0; 28];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!((reply[7], reply[27]), (7, 0), "{reply:?}");
}

#[test]
fn tokens_open_what_their_scopes_permit_and_nothing_else() {
    let server = Server::start();
    let [metrics, read, write] = ["metrics", "read", "write"].map(|scope| server.token(scope, scope));
    let statuses = |request: &str| {
        ["", "fourfold_00", &metrics, &read, &write].map(|token| server.ask(request, token, "").status)
    };
    assert_eq!(statuses("GET /metrics"), [401, 401, 200, 403, 200]);
    assert_eq!(statuses("GET /v1/status"), [401, 401, 403, 200, 200]);
    assert_eq!(statuses("POST /v1/reload"), [401, 401, 403, 403, 200]);
    assert_eq!(statuses("GET /"), [200; 5]);
    assert_eq!(statuses("GET /../../etc/passwd"), [404; 5]);
    assert_eq!(statuses("DELETE /v1/status"), [405; 5]);
    let refused = server.ask("GET /v1/status", "", "");
    assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
    assert!(refused.head.contains("cache-control: no-store"), "{}", refused.head);
    assert!(refused.body.contains("fourfold token create"), "{}", refused.body);
    server.run(&["token", "remove", "read"]);
    assert_eq!(server.ask("GET /v1/status", &read, "").status, 401, "a removed token is refused at once");
    let kept: Value = serde_json::from_str(&server.run(&["token", "list", "--json"])).unwrap();
    assert_eq!(kept[1]["name"], "write");
    assert!(kept[1]["created"].as_u64().unwrap() > 1_700_000_000 && kept[1].get("sha256").is_none());
}

#[test]
fn a_reload_reads_the_certificate_again() {
    let server = Server::start();
    let token = server.token("reader", "read");
    let fresh = tempfile::tempdir().unwrap();
    web::own_certificate(fresh.path(), &[]).unwrap();
    let state = server.folder.path().join("state");
    for name in ["api-key.pem", "api-certificate.pem"] {
        std::fs::copy(fresh.path().join(name), state.join(name)).unwrap();
    }
    assert_eq!(admin::control::reload(&state).unwrap(), [""; 0]);
    assert_eq!(server.ask("GET /v1/status", &token, "").status, 200, "the new certificate proves the server");

    std::fs::write(state.join("api-key.pem"), "no key").unwrap();
    let said = admin::control::reload(&state).unwrap().join("\n");
    assert!(said.contains("the certificate of the API stays as it was"), "{said}");
    assert_eq!(server.ask("GET /v1/status", &token, "").status, 200, "the earlier key is in force");
}

#[test]
fn the_api_tells_and_does_what_commands_do() {
    let server = Server::start();
    let token = server.token("script", "write");
    let told = server.ask("GET /v1/status", &token, "").json();
    let printed: Value = serde_json::from_str(&server.run(&["status", "--json"])).unwrap();
    assert_eq!((&told["listeners"], &told["shares"]), (&printed["listeners"], &printed["shares"]));
    assert_eq!(server.ask("GET /v1/shares", &token, "").json(), printed["shares"]);
    let _client = TcpStream::connect(("127.0.0.1", server.nfs)).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let sessions = loop {
        let sessions = server.ask("GET /v1/sessions?limit=1", &token, "").json();
        if sessions["total"] == 1 || Instant::now() > until {
            break sessions;
        }
    };
    assert_eq!((&sessions["total"], &sessions["rows"][0]["protocol"]), (&1.into(), &"nfs".into()));
    assert_eq!(server.ask("GET /v1/sessions?offset=1", &token, "").json()["rows"], Value::Array(Vec::new()));

    let bad = |request: &str, body: &str| {
        let answer = server.ask(request, &token, body);
        (answer.status, answer.json()["errors"][0].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(bad("POST /v1/disconnect", "{}").0, 400, "all sessions are not ended by mistake");
    let (status, why) = bad("POST /v1/disconnect", r#"{"users": "ada"}"#);
    assert!(status == 422 && why.contains("unknown field `users`"), "{status} {why}");
    let (status, why) = bad("POST /v1/disconnect", r#"{"user": "ada"}"#);
    assert!(status == 409 && why.contains("no SMB, AFP or iSCSI session"), "{status} {why}");
    assert_eq!(bad("POST /v1/messages", "{").0, 400);
    assert_eq!(bad("POST /v1/messages", &format!(r#"{{"text": "{}"}}"#, "x".repeat(2000))).0, 400);
    assert_eq!(bad("POST /v1/messages", &format!(r#"{{"text": "{}"}}"#, "x".repeat(100_000))).0, 413);
    assert_eq!(bad("GET /v1/opens?limit=all", "").0, 400);

    let limit = |caches: Value| {
        let caches = caches["caches"].as_array().unwrap().clone();
        caches.into_iter().find(|cache| cache["name"] == "directory").unwrap()["limit"].as_u64().unwrap()
    };
    let answer = server.ask("POST /v1/caches", &token, r#"{"limits": {"directory": "17M"}}"#);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(limit(server.ask("GET /v1/caches", &token, "").json()), 17 << 20);
    assert_eq!(limit(serde_json::from_str(&server.run(&["caches", "--json"])).unwrap()), 17 << 20);
    let (status, why) = bad("POST /v1/caches", r#"{"limits": {"icons": "17M"}}"#);
    assert!(status == 409 && why.contains("there is no cache `icons`"), "{status} {why}");

    let document = server.ask("GET /v1/openapi.json", &token, "").json();
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths.len(), 95, "{paths:?}");
    for path in paths.into_iter().filter(|path| !path.contains("events")) {
        let method = if document["paths"][path].get("get").is_some() { "GET" } else { "POST" };
        let status = server.ask(&format!("{method} {path}"), &token, "").status;
        // A path with a name in it: there is nothing of this name.
        let is_known = status != 404 || path.contains('{');
        assert!(is_known && status != 405, "{path} is described, and answers {status}");
    }
}

#[test]
fn metrics_count_operations_by_protocol_and_command() {
    let server = Server::start();
    let token = server.token("prometheus", "metrics");
    for _ in 0..3 {
        call_null(server.nfs);
    }
    let until = Instant::now() + Duration::from_secs(10);
    let wanted = r#"fourfold_operations_total{protocol="nfs",command="NULL",share="",result="ok"} 3"#;
    let text = loop {
        let answer = server.ask("GET /metrics", &token, "");
        assert!(answer.head.contains("application/openmetrics-text"), "{}", answer.head);
        if answer.body.contains(wanted) || Instant::now() > until {
            break answer.body;
        }
    };
    for line in [
        wanted,
        "# TYPE fourfold_operation_duration_seconds histogram",
        r#"fourfold_operation_duration_seconds_count{protocol="nfs",command="NULL",share=""} 3"#,
        r#"fourfold_operation_duration_seconds_bucket{le="+Inf",protocol="nfs",command="NULL",share=""} 3"#,
        "# TYPE fourfold_transferred_bytes counter",
        r#"fourfold_build{version="#,
        r#"fourfold_cache_hits_total{cache="directory"}"#,
        "# UNIT fourfold_resident_memory_bytes bytes",
        r#"fourfold_recalls_total{result="revoked"} 0"#,
        "# EOF",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    dashboard_names_only_metrics_of(&text);
}

/// What a query of Prometheus calls the metric whose type this line of OpenMetrics states: counters end in `_total`, and
/// histograms have three names.
fn names(line: &str) -> Vec<String> {
    let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) else {
        return Vec::new();
    };
    match kind {
        "counter" => vec![format!("{name}_total")],
        "histogram" => ["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")).to_vec(),
        _ => vec![name.to_owned()],
    }
}

/// The dashboard asks for what is told, and all that is told is on it.
fn dashboard_names_only_metrics_of(text: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana-dashboard.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let queries: String = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|target| format!("{} ", target["expr"].as_str().unwrap()))
        .collect();
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let asked: std::collections::BTreeSet<&str> =
        queries.split(|letter| !is_of_name(letter)).filter(|word| word.starts_with("fourfold_")).collect();
    let told: std::collections::BTreeSet<String> = text.lines().flat_map(names).collect();
    assert!(asked.len() > 30, "{asked:?}");
    for name in &asked {
        assert!(told.contains(*name), "the dashboard asks for {name}, which the server does not tell");
    }
    for name in &told {
        assert!(asked.contains(name.as_str()), "{name} is told, and not on the dashboard");
    }
}
