//! Logins by tickets, RFC 4559. `interop nfs` has logins with tickets of MIT's KDC and curl.

use super::*;

const PATH: &str = "/v1/login/negotiate";
const CONSOLE: (&str, &str) = ("x-fourfold-console", "1");

/// `Negotiate` and the base64 (RFC 4648 4) of a name.
const ADA: &str = "Negotiate YWRh";
const ADA_IN_CAPITALS: &str = "negotiate QURB";
const GRACE: &str = "Negotiate Z3JhY2U=";
const NTLM: &str = "Negotiate TlRMTVNTUAABAAAA";

impl Scene {
    async fn negotiate(&self, headers: &[(&str, &str)]) -> Response<Body> {
        self.ask("POST", PATH, headers, "").await
    }
}

fn asks(answer: &Response<Body>) -> Option<&str> {
    answer.headers().get("www-authenticate").map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_ticket_begins_a_session_and_the_answer_has_the_servers_token() {
    let scene = Scene::new();
    let asked = scene.negotiate(&[CONSOLE]).await;
    assert_eq!((asked.status(), asks(&asked)), (StatusCode::UNAUTHORIZED, Some("Negotiate")));
    for ticket in [ADA, ADA_IN_CAPITALS] {
        let answer = scene.negotiate(&[CONSOLE, ("authorization", ticket)]).await;
        assert_eq!((answer.status(), asks(&answer)), (StatusCode::OK, Some("Negotiate d2VsY29tZQ=="))); // "welcome"
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        assert_eq!(json(answer).await["user"], "ada");
        let status = scene.ask("GET", "/v1/status", &[("cookie", &cookie)], "").await;
        assert_eq!(status.status(), StatusCode::OK);
    }
    let told = json(scene.ask("GET", "/v1/login", &[], "").await).await;
    assert_eq!(told, serde_json::json!({ "user": null, "kerberos": true }));
}

#[tokio::test]
async fn other_accounts_tickets_and_sites_begin_none() {
    let scene = Scene::new();
    let other_site = ("sec-fetch-site", "cross-site");
    let cases: [(&[(&str, &str)], StatusCode); 7] = [
        (&[CONSOLE, ("authorization", GRACE)], StatusCode::FORBIDDEN),
        (&[CONSOLE, ("authorization", NTLM)], StatusCode::UNAUTHORIZED),
        (&[CONSOLE, ("authorization", "Negotiate ####")], StatusCode::UNAUTHORIZED),
        (&[CONSOLE, ("authorization", "Negotiate ZXhwaXJlZA==")], StatusCode::UNAUTHORIZED),
        (&[CONSOLE, ("authorization", "Basic YWRh")], StatusCode::UNAUTHORIZED),
        (&[("authorization", ADA)], StatusCode::FORBIDDEN),
        (&[CONSOLE, other_site, ("authorization", ADA)], StatusCode::FORBIDDEN),
    ];
    for (headers, status) in cases {
        let answer = scene.negotiate(headers).await;
        assert_eq!(answer.status(), status, "{headers:?}");
        assert!(!answer.headers().contains_key("set-cookie"));
    }
}
