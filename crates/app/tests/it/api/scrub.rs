//! The job `scrub`: what it finds and mends, its progress, and its end when it is cancelled.

use std::time::{Duration, Instant};

use rustix::fs::XattrFlags;
use serde_json::Value;

use super::Server;

const FILES: usize = 8000;

/// A server of a share with many files, one of which has damaged metadata.
fn server() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let share = folder.path().join("one");
    std::fs::create_dir(&share).unwrap();
    for number in 0..FILES {
        std::fs::write(share.join(format!("file {number}")), b"").unwrap();
    }
    let damaged = b"\0\0\x63\0\x63\0\0\0nonsense";
    rustix::fs::setxattr(share.join("file 7"), "user.DOSATTRIB", damaged, XattrFlags::empty()).unwrap();
    Server::serving(folder, &["one"])
}

fn started(server: &Server, token: &str, repair: bool) -> u64 {
    let body = format!(r#"{{"kind": "scrub", "share": "one", "repair": {repair}}}"#);
    let answer = server.ask("POST /v1/jobs", token, &body);
    let job = answer.json();
    assert_eq!(
        (job["kind"].as_str(), job["unit"].as_str()),
        (Some("scrub"), Some("files")),
        "{}",
        answer.body
    );
    job["id"].as_u64().unwrap()
}

/// The job and its lines, once it has ended.
fn ended(server: &Server, token: &str, id: u64) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let detail = server.ask(&format!("GET /v1/jobs/{id}"), token, "").json();
        if detail["job"]["state"] != "running" {
            return detail;
        }
        assert!(Instant::now() < until, "{detail}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_scrub_tells_what_it_has_found_and_mended() {
    let server = server();
    let token = server.token("script", "write");
    for (repair, outcome) in [(false, "mendable"), (true, "mended")] {
        let id = started(&server, &token, repair);
        let detail = ended(&server, &token, id);
        assert_eq!(detail["job"]["state"], "done", "{detail}");
        let (done, total) =
            (detail["job"]["done"].as_u64().unwrap(), detail["job"]["total"].as_u64().unwrap());
        assert!(done == total && done >= FILES as u64, "{done} of {total}");
        let result = &detail["result"];
        let findings = result["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{result}");
        let text = |field: &str| findings[0][field].as_str().unwrap();
        assert_eq!((text("path"), text("kind"), text("outcome")), ("file 7", "metadata-damaged", outcome));
    }
    let clean = ended(&server, &token, started(&server, &token, false));
    assert_eq!(clean["result"]["findings"].as_array().unwrap().len(), 0, "{clean}");
}

#[test]
fn a_scrub_that_is_cancelled_says_how_far_it_came() {
    let server = server();
    let token = server.token("script", "write");
    let id = started(&server, &token, false);
    // One scrub runs at a time.
    let second = server.ask("POST /v1/jobs", &token, r#"{"kind": "scrub", "share": "one"}"#);
    let cancelled = server.ask(&format!("POST /v1/jobs/{id}/cancel"), &token, "{}");
    let detail = ended(&server, &token, id);
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    assert_eq!((second.status, &detail["job"]["state"]), (409, &"cancelled".into()), "{detail}");
    assert!(detail.to_string().contains("cancelled after"), "{detail}");
    assert!(detail["job"]["done"].as_u64().unwrap() < FILES as u64, "{detail}");
}
