//! An issuer for tests, from RFC 8555: one thread, one request on each connection.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, IsCa, KeyPair,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::encoded;

/// How the issuer looks whether a name is the client's.
pub(super) enum Way {
    /// By a page at this port of this machine.
    Page(u16),
    /// By the lines `add NAME VALUE` and `remove NAME VALUE` of a file.
    Record(PathBuf),
}

pub(super) struct Issuer {
    port: u16,
    accounts: Arc<AtomicUsize>,
    hostile: Arc<Mutex<HostileAnswers>>,
}

/// What it answers in place of the right name and token.
#[derive(Default)]
struct HostileAnswers {
    name: Option<String>,
    token: Option<String>,
}

impl Issuer {
    pub(super) fn start(way: Way) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (accounts, hostile) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<HostileAnswers>>::default());
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let signer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut work = Work {
            base: format!("http://127.0.0.1:{port}"),
            way,
            signer,
            hostile: hostile.clone(),
            counted: accounts.clone(),
            nonces: Vec::new(),
            given: 0,
            has_refused: false,
            accounts: Vec::new(),
            orders: Vec::new(),
            names: Vec::new(),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                work.converse(stream.unwrap());
            }
        });
        Self { port, accounts, hostile }
    }

    /// It says from now on that it checks this name.
    pub(super) fn checks(&self, name: &str) {
        self.hostile.lock().unwrap().name = Some(name.into());
    }

    /// It gives this token from now on.
    pub(super) fn gives(&self, token: &str) {
        self.hostile.lock().unwrap().token = Some(token.into());
    }

    pub(super) fn directory(&self) -> String {
        format!("http://127.0.0.1:{}/directory", self.port)
    }

    pub(super) fn accounts(&self) -> usize {
        self.accounts.load(Ordering::SeqCst)
    }
}

struct Name {
    name: String,
    token: String,
    status: &'static str,
    error: Value,
}

struct Order {
    names: Vec<usize>,
    chain: Option<String>,
}

struct Work {
    base: String,
    way: Way,
    signer: CertifiedIssuer<'static, KeyPair>,
    hostile: Arc<Mutex<HostileAnswers>>,
    counted: Arc<AtomicUsize>,
    nonces: Vec<String>,
    given: usize,
    /// A nonce was refused, for no reason, as RFC 8555 6.5 permits.
    has_refused: bool,
    accounts: Vec<Value>,
    orders: Vec<Order>,
    names: Vec<Name>,
}

type Answer = (u16, Option<String>, Value);

fn problem(kind: &str, detail: &str) -> Answer {
    (400, None, json!({ "type": format!("urn:ietf:params:acme:error:{kind}"), "detail": detail }))
}

impl Work {
    fn converse(&mut self, mut stream: TcpStream) {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut first, mut headers) = (String::new(), HashMap::new());
        reader.read_line(&mut first).unwrap();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        let words: Vec<&str> = first.split(' ').collect();
        let (status, location, answer) = match (words[0], words[1]) {
            ("GET", "/directory") => (200, None, self.directory()),
            ("HEAD", "/nonce") => (200, None, Value::Null),
            ("POST", path) => {
                assert_eq!(headers["content-type"], "application/jose+json", "RFC 8555 6.2");
                self.signed(path, &serde_json::from_slice(&body).unwrap())
            }
            other => panic!("{other:?}"),
        };
        self.given += 1;
        let nonce = format!("nonce-{}", self.given);
        self.nonces.push(nonce.clone());
        let text = match &answer {
            Value::Null => String::new(),
            Value::String(chain) => chain.clone(),
            other => other.to_string(),
        };
        let location = location.map(|place| format!("Location: {place}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status} X\r\nReplay-Nonce: {nonce}\r\nRetry-After: 0\r\n{location}Content-Length: {}\r\nConnection: close\r\n\r\n",
            text.len()
        );
        let _ = stream.write_all((head + &text).as_bytes());
    }

    fn directory(&self) -> Value {
        let at = |path: &str| format!("{}/{path}", self.base);
        json!({ "newNonce": at("nonce"), "newAccount": at("account"), "newOrder": at("order") })
    }

    /// A request with a signature, RFC 8555 6.2 to 6.5.
    fn signed(&mut self, path: &str, request: &Value) -> Answer {
        let part = |name: &str| request[name].as_str().unwrap().to_owned();
        let bytes = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
        let head: Value = serde_json::from_slice(&bytes(&part("protected"))).unwrap();
        assert_eq!((&head["alg"], &head["url"]), (&json!("ES256"), &json!(format!("{}{path}", self.base))));
        let nonce = head["nonce"].as_str().unwrap();
        let at =
            self.nonces.iter().position(|known| known == nonce).expect("a nonce of this issuer, used once");
        self.nonces.remove(at);
        if !std::mem::replace(&mut self.has_refused, true) {
            return problem("badNonce", "this one is too old");
        }
        let (jwk, account) = match head["kid"].as_str() {
            None => (head["jwk"].clone(), None),
            Some(kid) => {
                let number: usize =
                    kid.strip_prefix(&format!("{}/account/", self.base)).unwrap().parse().unwrap();
                (self.accounts[number].clone(), Some(number))
            }
        };
        assert_eq!(account.is_none(), path == "/account", "only a new account shows its key");
        let member = |name: &str| bytes(jwk[name].as_str().unwrap());
        let point = [vec![4], member("x"), member("y")].concat();
        let message = format!("{}.{}", part("protected"), part("payload"));
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        key.verify(message.as_bytes(), &bytes(&part("signature"))).expect("the signature is right");
        let payload = bytes(&part("payload"));
        let payload = (!payload.is_empty()).then(|| serde_json::from_slice::<Value>(&payload).unwrap());
        self.asked(path, payload, jwk)
    }

    fn asked(&mut self, path: &str, payload: Option<Value>, jwk: Value) -> Answer {
        let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let number = || words[1].parse::<usize>().unwrap();
        match (words[0], words.len(), payload) {
            ("account", 1, Some(wanted)) => {
                assert_eq!(
                    wanted,
                    json!({ "termsOfServiceAgreed": true, "contact": ["mailto:ada@example.com"] })
                );
                let known = self.accounts.iter().position(|known| *known == jwk);
                let number = known.unwrap_or_else(|| {
                    self.accounts.push(jwk);
                    self.accounts.len() - 1
                });
                self.counted.store(self.accounts.len(), Ordering::SeqCst);
                (201, Some(format!("{}/account/{number}", self.base)), json!({ "status": "valid" }))
            }
            ("order", 1, Some(wanted)) => self.new_order(&wanted),
            ("order", 2, None) => (200, None, self.order(number())),
            ("name", 2, None) => (200, None, self.name(number())),
            ("check", 2, Some(_)) => {
                self.check(number(), &jwk);
                (200, None, json!({ "status": "processing" }))
            }
            ("finalize", 2, Some(wanted)) => self.finalize(number(), &wanted),
            ("chain", 2, None) => (200, None, self.orders[number()].chain.clone().unwrap().into()),
            other => panic!("{other:?}"),
        }
    }

    fn new_order(&mut self, wanted: &Value) -> Answer {
        let mut names = Vec::new();
        for wanted in wanted["identifiers"].as_array().unwrap() {
            assert_eq!(wanted["type"], "dns");
            let name = wanted["value"].as_str().unwrap().to_owned();
            if name.starts_with("evil") {
                return problem("rejectedIdentifier", "not this name");
            }
            let token = format!("token-{}", self.names.len());
            names.push(self.names.len());
            self.names.push(Name { name, token, status: "pending", error: Value::Null });
        }
        self.orders.push(Order { names, chain: None });
        let number = self.orders.len() - 1;
        (201, Some(format!("{}/order/{number}", self.base)), self.order(number))
    }

    fn order(&self, number: usize) -> Value {
        let order = &self.orders[number];
        let at = |path: &str, number: usize| format!("{}/{path}/{number}", self.base);
        let ready = order.names.iter().all(|name| self.names[*name].status == "valid");
        json!({
            "status": if order.chain.is_some() { "valid" } else if ready { "ready" } else { "pending" },
            "authorizations": order.names.iter().map(|name| at("name", *name)).collect::<Vec<_>>(),
            "finalize": at("finalize", number),
            "certificate": at("chain", number),
        })
    }

    fn name(&self, number: usize) -> Value {
        let Name { name, token, status, error } = &self.names[number];
        let kind = if matches!(self.way, Way::Page(_)) { "http-01" } else { "dns-01" };
        let url = format!("{}/check/{number}", self.base);
        let hostile = self.hostile.lock().unwrap();
        let checked = hostile.name.as_deref().unwrap_or(name.trim_start_matches("*."));
        let token = hostile.token.as_ref().unwrap_or(token);
        json!({
            "status": status,
            "identifier": { "type": "dns", "value": checked },
            "challenges": [
                { "type": "tls-alpn-01", "url": "x", "token": token },
                { "type": kind, "url": url, "token": token, "error": error },
            ],
        })
    }

    /// RFC 8555 8.3 and 8.4.
    fn check(&mut self, number: usize, jwk: &Value) {
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, jwk["x"], jwk["y"]);
        let token = self.names[number].token.clone();
        let expected = format!("{token}.{}", encoded(Sha256::digest(text)));
        let found = match &self.way {
            Way::Page(port) => page(*port, &token).is_some_and(|page| page == expected),
            Way::Record(zone) => {
                let name = self.names[number].name.trim_start_matches("*.").to_owned();
                let wanted = format!("add _acme-challenge.{name} {}", encoded(Sha256::digest(expected)));
                std::fs::read_to_string(zone).unwrap_or_default().lines().next_back() == Some(&wanted)
            }
        };
        let entry = &mut self.names[number];
        entry.status = if found { "valid" } else { "invalid" };
        if let (false, Way::Page(port)) = (found, &self.way) {
            entry.error = json!({ "detail": format!("no page at port {port}") });
        }
    }

    fn finalize(&mut self, number: usize, wanted: &Value) -> Answer {
        let request = BASE64_URL_SAFE_NO_PAD.decode(wanted["csr"].as_str().unwrap()).unwrap();
        let request = CertificateSigningRequestParams::from_der(&request.into()).unwrap();
        let chain = request.signed_by(&self.signer).unwrap().pem() + &self.signer.pem();
        self.orders[number].chain = Some(chain);
        (200, None, json!({ "status": "processing" }))
    }
}

/// The page of a token; `None`: it is not to be had.
fn page(port: u16, token: &str) -> Option<String> {
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: nas.example.com\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    assert!(ask("/").is_none_or(|answer| answer.starts_with("HTTP/1.1 404 ")), "nothing else is served");
    let answer = ask(&format!("/.well-known/acme-challenge/{token}"))?;
    answer.strip_prefix("HTTP/1.1 200 ")?.split_once("\r\n\r\n").map(|(_, page)| page.to_owned())
}
