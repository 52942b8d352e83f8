//! Clients that have shown neither a token nor a session, byte by byte: what they send wrongly, slowly or in excess.

use std::alloc::System;
use std::process::Command;

use cap::Cap;
use tokio_rustls::TlsAcceptor;

use super::*;

/// Counts what this program allocates. Only [`measured`] reads it, in a process of its own.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The most memory of a connection of a stranger, with its request and its answer, so that no allocation is larger.
const MOST_MEMORY: usize = 64 * 1024;
/// The most memory with as many requests at the same time as HTTP/2 may have.
const MOST_OF_STREAMS: usize = 128 * 1024;
/// What is measured against it.
const MANY_STREAMS: &str = "requests of HTTP/2";
/// The name of [`measured`], and how its lines begin.
const MEASURED: &str = "tests::strangers::measured";
const MARK: &str = "memory of";
const HANDSHAKE: &str = "a handshake of TLS";
/// The size of the pipe to the measured server: it counts, too.
const PIPE: usize = 1024;
/// The preface of HTTP/2 and an empty SETTINGS frame, RFC 9113 3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Sends parts on one connection, with a pause after each, and returns what the server sends until it closes.
async fn talk(scene: &Scene, parts: impl IntoIterator<Item = Vec<u8>>, pause: Duration) -> String {
    let mut answer = Vec::new();
    talk_through(16 * 1024, scene, parts, pause, |bytes| answer.extend_from_slice(bytes)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// As [`talk`], through a pipe of so many bytes.
async fn talk_through(
    pipe: usize,
    scene: &Scene,
    parts: impl IntoIterator<Item = Vec<u8>>,
    pause: Duration,
    mut read: impl FnMut(&[u8]),
) {
    let (client, server) = tokio::io::duplex(pipe);
    let router = scene.router.clone();
    let serving = tokio::spawn(async move {
        let _ = crate::serve::answer(server, (CLIENT, &Standing::default()), &router, LONG).await;
    });
    let (mut reader, mut writer) = tokio::io::split(client);
    let sending = async {
        for part in parts {
            if writer.write_all(&part).await.is_err() {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        std::future::pending::<()>().await;
    };
    let reading = async {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = reader.read(&mut buffer).await {
            read(&buffer[..count]);
        }
    };
    tokio::select! {
        () = sending => {}
        () = reading => {}
        () = tokio::time::sleep(10 * LONG) => panic!("the connection does not end"),
    }
    let _ = serving.await;
}

/// The answer to one request whose lines these are. The connection then ends.
async fn ask(scene: &Scene, lines: &str, body: &str) -> String {
    let text = format!("{lines}\r\nHost: nas\r\nConnection: close\r\n\r\n{body}");
    talk(scene, [text.into_bytes()], Duration::ZERO).await
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("closed")
}

#[tokio::test(start_paused = true)]
async fn too_much_is_refused_before_it_is_kept() {
    let scene = Scene::new();
    let long = "x".repeat(20_000);
    assert_eq!(status(&ask(&scene, &format!("GET / HTTP/1.1\r\nX-Long: {long}"), "").await), "431");
    assert_eq!(status(&ask(&scene, &format!("GET /{long} HTTP/1.1"), "").await), "431");
    let many: String = (0..200).map(|number| format!("\r\nX-{number}: 1")).collect();
    assert_eq!(status(&ask(&scene, &format!("GET / HTTP/1.1{many}"), "").await), "431");
    // No body is read before a token is shown, however long it is said to be.
    for length in ["10000000", "18446744073709551615", "99999999999999999999999"] {
        let request = format!("POST /v1/settings HTTP/1.1\r\nContent-Length: {length}");
        let answer = ask(&scene, &request, "{").await;
        assert!(matches!(status(&answer), "401" | "400" | "431"), "{length}: {answer}");
        let login = format!("POST /v1/login HTTP/1.1\r\nX-Fourfold-Console: 1\r\nContent-Length: {length}");
        let answer = ask(&scene, &login, &"x".repeat(5000)).await;
        assert!(matches!(status(&answer), "413" | "400" | "431"), "{length}: {answer}");
    }
    let chunks = format!("{}0\r\n\r\n", "1000\r\n".to_owned() + &"x".repeat(4096) + "\r\n1000\r\n");
    let chunked = "POST /v1/login HTTP/1.1\r\nX-Fourfold-Console: 1\r\nTransfer-Encoding: chunked";
    assert_eq!(status(&ask(&scene, chunked, &chunks).await), "413");
}

#[tokio::test(start_paused = true)]
async fn paths_lead_nowhere_but_to_the_page() {
    let scene = Scene::new();
    for path in [
        "/../../etc/passwd",
        "/page/../../../../etc/passwd",
        "/page/..%2f..%2fetc%2fpasswd",
        "/page/%2e%2e/%2e%2e/etc/passwd",
        "/page/....//etc/passwd",
        "/page//etc/passwd",
        "//etc/passwd",
        "/page/..\\..\\etc\\passwd",
        "/page/app.js%00.css",
        "/page/index.html/",
        "/page/%61pp.js",
        "http://elsewhere.example/etc/passwd",
    ] {
        let answer = ask(&scene, &format!("GET {path} HTTP/1.1"), "").await;
        assert!(matches!(status(&answer), "400" | "404"), "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}");
    }
    for path in ["/v1//status", "/v1/../v1/status", "/V1/status", "/v1/status/", "/v1/%73tatus"] {
        let answer = ask(&scene, &format!("GET {path} HTTP/1.1"), "").await;
        assert!(matches!(status(&answer), "401" | "404"), "{path}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_two_programs_could_read_differently_are_refused() {
    let scene = Scene::new();
    for lines in [
        "POST /v1/login HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4",
        "POST /v1/login HTTP/1.1\r\nContent-Length: +3",
        "POST /v1/login HTTP/1.1\r\nTransfer-Encoding: chunked, identity",
        "GET / HTTP/1.1\r\nX: a\0b",
        "GET / HTTP/1.1\r\nX : a",
        "GET / HTTP/1.1\r\n folded: a",
        "GET /  HTTP/1.1",
        "GET / HTTP/9.9",
    ] {
        let answer = ask(&scene, lines, "{}}").await;
        assert!(matches!(status(&answer), "400" | "505" | "closed"), "{lines}: {answer}");
    }
    // With both lengths, the chunks count (RFC 9112 6.3), and nothing after them is a request: the connection closes.
    let both = "POST /v1/login HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked";
    let answer = ask(&scene, both, "0\r\n\r\nGET /v1/status HTTP/1.1\r\nHost: nas\r\n\r\n").await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn slow_clients_end_within_the_limits() {
    let scene = Scene::new();
    let drip = |text: &str| text.bytes().map(|byte| vec![byte]).collect::<Vec<_>>();
    let began = tokio::time::Instant::now();
    let second = Duration::from_secs(1);
    let headers = format!("GET / HTTP/1.1\r\nHost: nas\r\nX-Slow: {}", "x".repeat(600));
    assert_eq!(talk(&scene, drip(&headers), second).await, "", "no answer to half a request");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());

    let began = tokio::time::Instant::now();
    let login =
        "POST /v1/login HTTP/1.1\r\nHost: nas\r\nX-Fourfold-Console: 1\r\nContent-Length: 900\r\n\r\n";
    let body = [login.as_bytes().to_vec()].into_iter().chain(drip(&"x".repeat(900)));
    assert_eq!(status(&talk(&scene, body, second).await), "408");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());

    let began = tokio::time::Instant::now();
    assert_eq!(talk(&scene, [], second).await, "", "a client that sends nothing");
    assert!(began.elapsed() < Duration::from_secs(70), "{:?}", began.elapsed());
}

/// An HTTP/2 frame, RFC 9113 4.1.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The header block of `GET /v1/status`, RFC 7541 6: `:method` and `:scheme` of the static table, the others in full.
fn header_block() -> Vec<u8> {
    let mut block = vec![0x82, 0x87];
    for (index, value) in [(4, "/v1/status"), (1, "nas")] {
        block.extend([index, value.len() as u8]);
        block.extend(value.bytes());
    }
    block
}

#[tokio::test(start_paused = true)]
async fn strangers_over_http_2_are_refused_and_floods_end_their_connection() {
    let scene = Scene::new();
    let request = frame(1, 0x05, 1, &header_block());
    let answer = talk(&scene, [PREFACE.to_vec(), request], Duration::ZERO).await;
    assert!(answer.contains("fourfold token create"), "{answer}");

    // Headers without an end, in 1600 frames of 10 KiB; resets of 2000 requests.
    let unended = frame(1, 0x01, 1, &header_block());
    let more = std::iter::repeat_n(frame(9, 0, 1, &[0x40; 10 * 1024]), 1600);
    let began = tokio::time::Instant::now();
    talk(&scene, [PREFACE.to_vec(), unended].into_iter().chain(more), Duration::ZERO).await;
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    let resets = (0..2000_u32).flat_map(|number| {
        [frame(1, 0x05, 2 * number + 1, &header_block()), frame(3, 0, 2 * number + 1, &[0, 0, 0, 8])]
    });
    let began = tokio::time::Instant::now();
    let answer = talk(&scene, [PREFACE.to_vec()].into_iter().chain(resets), Duration::ZERO).await;
    assert!(answer.matches("fourfold token create").count() < 2000);
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
}

/// A stranger's request, in parts.
type RawRequest = (&'static str, Vec<Vec<u8>>);

fn kinds() -> Vec<RawRequest> {
    let one = |text: String| vec![text.into_bytes()];
    let get = |path: &str| one(format!("GET {path} HTTP/1.1\r\nHost: nas\r\nConnection: close\r\n\r\n"));
    let login = |body: &str| {
        let length = body.len();
        one(format!(
            "POST /v1/login HTTP/1.1\r\nHost: nas\r\nX-Fourfold-Console: 1\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
    };
    let cookies = format!(
        "GET /v1/status HTTP/1.1\r\nHost: nas\r\nConnection: close\r\nCookie: {}\r\n\r\n",
        "fourfold=1; ".repeat(1000)
    );
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096)).into_bytes();
    let head =
        "POST /v1/login HTTP/1.1\r\nHost: nas\r\nX-Fourfold-Console: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let flood = [PREFACE.to_vec(), frame(1, 0x01, 1, &header_block())]
        .into_iter()
        .chain(std::iter::repeat_n(frame(9, 0, 1, &[0x40; 10 * 1024]), 20));
    let streams = (0..200_u32).map(|number| frame(1, 0x05, 2 * number + 1, &header_block()));
    vec![
        ("the page", get("/")),
        ("a file of the page", get("/page/app.js")),
        ("a refused request", get("/v1/status")),
        (
            "a token",
            one(format!("GET /metrics HTTP/1.1\r\nAuthorization: Bearer {}\r\n\r\n", "x".repeat(8000))),
        ),
        ("cookies", one(cookies)),
        ("long headers", one(format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(100_000)))),
        ("a wrong password", login(r#"{"user": "ada", "password": "wrong"}"#)),
        ("deep JSON", login(&"[".repeat(4000))),
        ("a long login", login(&"x".repeat(100_000))),
        ("chunks", [head.as_bytes().to_vec()].into_iter().chain(std::iter::repeat_n(chunk, 50)).collect()),
        ("a request of HTTP/2", vec![PREFACE.to_vec(), frame(1, 0x05, 1, &header_block())]),
        (MANY_STREAMS, [PREFACE.to_vec()].into_iter().chain(streams).collect()),
        ("headers of HTTP/2", flood.collect()),
    ]
}

/// Prints the memory of each kind of request.
#[test]
#[ignore = "it measures the whole process: started by another test"]
fn measured() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let scene = Scene::new();
        for (name, parts) in kinds() {
            // The first time fills what is made once for all connections.
            talk_through(PIPE, &scene, parts.clone(), Duration::ZERO, |_| {}).await;
            let grown = growth(talk_through(PIPE, &scene, parts, Duration::ZERO, |_| {})).await;
            println!("{MARK} {name}: {grown}");
        }
        let tls = crate::tls::acceptor(&crate::tls::own(scene.state.path(), &[]).unwrap()).unwrap();
        handshake(&tls).await;
        println!("{MARK} {HANDSHAKE}: {}", growth(handshake(&tls)).await);
    });
}

/// By how much the memory of this process grows at most meanwhile.
async fn growth(work: impl Future<Output = ()>) -> usize {
    // From the peak until now, whatever is allocated raises the peak.
    let filler = vec![0_u8; ALLOCATOR.max_allocated() - ALLOCATOR.allocated()];
    let before = ALLOCATOR.max_allocated();
    work.await;
    drop(filler);
    ALLOCATOR.max_allocated() - before
}

/// Sends the beginning of a ClientHello of 16 MiB, RFC 8446 4, in records of 16 KiB.
async fn handshake(tls: &TlsAcceptor) {
    let (mut client, server) = tokio::io::duplex(PIPE);
    let sending = async {
        let mut record = vec![0; 5 + (16 << 10)];
        record[..9].copy_from_slice(&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff]);
        for _ in 0..64 {
            if client.write_all(&record).await.is_err() {
                return;
            }
        }
        panic!("the server goes on reading");
    };
    let (accepted, ()) = tokio::join!(tls.accept(server), sending);
    assert!(accepted.is_err());
}

#[test]
fn a_stranger_costs_less_than_64_kib() {
    let program = std::env::current_exe().unwrap();
    let words = ["--exact", MEASURED, "--ignored", "--nocapture", "--test-threads=1"];
    let output = Command::new(program).args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(MARK)).map(|(_, line)| line).collect();
    assert_eq!(lines.len(), kinds().len() + 1, "{text}");
    println!("{}", lines.join("\n"));
    for line in lines {
        let grown: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
        let most = if line.contains(MANY_STREAMS) { MOST_OF_STREAMS } else { MOST_MEMORY };
        assert!((1..most).contains(&grown), "{line}");
    }
}
