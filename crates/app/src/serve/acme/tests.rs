//! Orders at an issuer that is written from RFC 8555: it checks each signature, nonce and address, and looks at pages and records itself.

mod issuer;
#[path = "../../../../xtask/src/ports.rs"]
mod ports;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use admin::settings::AcmeChallenge;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;

use super::challenges::ShownProof;
use super::jws::encoded;
use super::*;
use issuer::{Issuer, Way};
use ports::free_port;

fn settings(issuer: &Issuer, names: &[&str], challenge: AcmeChallenge) -> AcmeSettings {
    AcmeSettings {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        directory: issuer.directory(),
        email: Some("ada@example.com".into()),
        challenge,
        ca: None,
    }
}

async fn ordered(settings: &AcmeSettings, state: &Path) -> anyhow::Result<IssuedCertificate> {
    client::issued(settings, AccountKey::of(state).unwrap()).await
}

/// The names of the first certificate of a chain, and how many certificates it has.
fn names(chain: &str) -> (Vec<String>, usize) {
    let all: Vec<Pem> = Pem::iter_from_buffer(chain.as_bytes()).map(Result::unwrap).collect();
    let first = all[0].parse_x509().unwrap();
    let names = first.subject_alternative_name().unwrap().unwrap();
    let names = names.value.general_names.iter().map(|name| match name {
        GeneralName::DNSName(name) => (*name).to_owned(),
        other => panic!("{other:?}"),
    });
    (names.collect(), all.len())
}

#[tokio::test]
async fn a_certificate_is_given_after_a_page_for_each_name_was_seen() {
    let (state, port) = (tempfile::tempdir().unwrap(), free_port().unwrap());
    let issuer = Issuer::start(Way::Page(port));
    let wanted = settings(&issuer, &["nas.example.com", "files.example.com"], AcmeChallenge::Http(port));
    let issued = ordered(&wanted, state.path()).await.unwrap();
    assert_eq!(names(&issued.chain), (wanted.names.clone(), 2));
    let pair = state.path().join("pair.pem");
    std::fs::write(&pair, format!("{}{}", issued.chain, issued.key)).unwrap();
    let files = web::Certificate { chain: pair.clone(), key: pair };
    web::check_certificate(&files, None).expect("the key belongs to the certificate");
    assert_eq!(issuer.accounts(), 1);
    ordered(&wanted, state.path()).await.unwrap();
    assert_eq!(issuer.accounts(), 1, "the key of the folder has its account");
    assert!(std::net::TcpListener::bind(("::", port)).is_ok(), "the port is closed again");
}

#[tokio::test]
async fn a_record_is_put_into_the_zone_and_taken_away() {
    let state = tempfile::tempdir().unwrap();
    let (zone, hook) = (state.path().join("zone"), state.path().join("hook"));
    std::fs::write(&hook, format!("#!/bin/sh\necho \"$@\" >> {}\n", zone.display())).unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let issuer = Issuer::start(Way::Record(zone.clone()));
    let wanted = settings(&issuer, &["*.example.com", "example.com"], AcmeChallenge::Dns(hook.clone()));
    let issued = ordered(&wanted, state.path()).await.unwrap();
    assert_eq!(names(&issued.chain).0, wanted.names);
    let said = std::fs::read_to_string(&zone).unwrap();
    let words: Vec<Vec<&str>> = said.lines().map(|line| line.split(' ').collect()).collect();
    let doing: Vec<&str> = words.iter().map(|line| line[0]).collect();
    assert_eq!(doing, ["add", "remove", "add", "remove"]);
    assert!(
        words.iter().all(|line| line[1] == "_acme-challenge.example.com" && line[2].len() == 43),
        "{said}"
    );
    std::fs::write(&hook, "#!/bin/sh\nexit 3\n").unwrap();
    let why = ordered(&wanted, state.path()).await.err().unwrap();
    assert!(format!("{why:#}").contains("has failed"), "{why:#}");
}

#[tokio::test]
async fn refusals_say_what_the_issuer_says() {
    let state = tempfile::tempdir().unwrap();
    let issuer = Issuer::start(Way::Page(1)); // nobody listens there
    let port = free_port().unwrap();
    let wanted = settings(&issuer, &["nas.example.com"], AcmeChallenge::Http(port));
    let why = ordered(&wanted, state.path()).await.err().unwrap();
    assert!(format!("{why:#}").contains("could not check nas.example.com: no page at port 1"), "{why:#}");
    let wanted = settings(&issuer, &["evil.example.com"], AcmeChallenge::Http(port));
    let why = ordered(&wanted, state.path()).await.err().unwrap();
    assert!(format!("{why:#}").contains("not this name"), "{why:#}");
    let taken = std::net::TcpListener::bind(("::", 0)).unwrap();
    let wanted =
        settings(&issuer, &["nas.example.com"], AcmeChallenge::Http(taken.local_addr().unwrap().port()));
    let why = ordered(&wanted, state.path()).await.err().unwrap();
    assert!(format!("{why:#}").contains("`acme-http-port`"), "{why:#}");
    let gone = AcmeSettings { directory: "http://127.0.0.1:1/directory".into(), ..wanted };
    let why = ordered(&gone, state.path()).await.err().unwrap();
    assert!(format!("{why:#}").contains("cannot be reached"), "{why:#}");
}

/// A hostile issuer, or one that somebody has taken over, must not choose the arguments of a program of root.
#[tokio::test]
async fn the_hook_is_called_for_names_that_were_ordered_only() {
    let state = tempfile::tempdir().unwrap();
    let (zone, hook) = (state.path().join("zone"), state.path().join("hook"));
    std::fs::write(&hook, format!("#!/bin/sh\necho \"$@\" >> {}\n", zone.display())).unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let issuer = Issuer::start(Way::Record(zone.clone()));
    for name in ["other.example.com", "nas.example.com\nserver evil.example", ""] {
        issuer.checks(name);
        let wanted = settings(&issuer, &["nas.example.com"], AcmeChallenge::Dns(hook.clone()));
        let why = ordered(&wanted, state.path()).await.err().unwrap();
        assert!(format!("{why:#}").contains("a name that was not ordered"), "{why:#}");
    }
    assert!(!zone.exists(), "the hook was not called");
    issuer.checks("NAS.example.com");
    let wanted = settings(&issuer, &["nas.example.com"], AcmeChallenge::Dns(hook));
    ordered(&wanted, state.path()).await.unwrap();
    assert!(std::fs::read_to_string(&zone).unwrap().starts_with("add _acme-challenge.nas.example.com "));
}

#[tokio::test]
async fn the_page_shows_tokens_only() {
    let (state, port) = (tempfile::tempdir().unwrap(), free_port().unwrap());
    let issuer = Issuer::start(Way::Page(port));
    for token in ["<script>x</script>", "a HTTP/1.1\r\n", "a.b", "a=", "", &"a".repeat(257)] {
        issuer.gives(token);
        let wanted = settings(&issuer, &["nas.example.com"], AcmeChallenge::Http(port));
        let why = ordered(&wanted, state.path()).await.err().unwrap();
        assert!(format!("{why:#}").contains("is not base64url"), "{token:?}: {why:#}");
    }
}

#[tokio::test]
async fn slow_clients_of_the_page_keep_no_issuer_out() {
    const SLOW: usize = 64;
    let port = free_port().unwrap();
    let page = ShownProof::begin(&AcmeChallenge::Http(port), "nas.example.com", "token.key").await.unwrap();
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    }
    let mut issuer = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = "GET /.well-known/acme-challenge/token HTTP/1.1\r\nHost: nas.example.com\r\n\r\n";
    issuer.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = tokio::time::timeout(Duration::from_secs(5), issuer.read_to_string(&mut answer));
    read.await.expect("sooner than a slow client is given up").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\ntoken.key"), "{answer}");
    page.end().await;
    assert_eq!(slow[SLOW - 1].read(&mut [0]).await.unwrap_or(0), 0, "they end with the page");
}

#[test]
fn a_certificate_is_renewed_in_its_last_third_and_when_it_lacks_a_name() {
    let wanted = ["nas.example.com".to_owned()];
    let day = 86_400;
    let due = |has: &[&str], now: u64| {
        let has: Vec<String> = has.iter().map(|name| (*name).to_owned()).collect();
        is_due(&has, (0, 90 * day), (&wanted, now))
    };
    assert!(!due(&["NAS.example.com", "other"], 60 * day));
    assert!(due(&["nas.example.com"], 60 * day + 1));
    assert!(due(&["nas.example.com"], 91 * day));
    assert!(due(&["localhost"], 0));
}
