//! The requests of an order, RFC 8555 7.

use std::path::Path;
use std::time::Duration;

use admin::settings::AcmeSettings;
use anyhow::{Context, anyhow, bail, ensure};
use hyper::{HeaderMap, Method};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use serde_json::{Value, json};

use super::challenges::ShownProof;
use super::jws::{AccountKey, encoded};
use crate::serve::https::{self, HttpAnswer, HttpRequest};

/// How long one request may take.
const ATTEMPT: Duration = Duration::from_secs(30);
/// Requests that an issuer answers by "another nonce" are sent again so often, RFC 8555 6.5.
const MOST_NONCES: usize = 5;
/// How often a thing that takes time is looked at,
const MOST_LOOKS: usize = 60;
/// and the pauses between, unless the issuer says how long, RFC 8555 7.5.1.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest token of a challenge, in characters. Those of issuers have some 40.
const LONGEST_TOKEN: usize = 256;
/// The longest reason of a refusal that is told, in characters.
const LONGEST_REASON: usize = 500;

/// A certificate with those of its issuers, and its key, both PEM.
pub(super) struct IssuedCertificate {
    pub(super) chain: String,
    pub(super) key: String,
}

/// An account at an issuer.
struct AcmeClient<'a> {
    key: AccountKey,
    issuers: Option<&'a Path>,
    directory: Value,
    /// The URL of the account, when it has one.
    account: Option<String>,
    nonce: Option<String>,
}

/// Gets a certificate.
///
/// # Errors
/// The issuer refuses it, or cannot be asked; the error says why.
pub(super) async fn issued(settings: &AcmeSettings, key: AccountKey) -> anyhow::Result<IssuedCertificate> {
    let issuers = settings.ca.as_deref();
    let sent = HttpRequest { method: Method::GET, headers: &[], body: Vec::new() };
    let directory = asked(&settings.directory, sent, issuers).await?;
    let directory =
        json_of(&directory).with_context(|| format!("{} is no ACME directory", settings.directory))?;
    let mut client = AcmeClient { key, issuers, directory, account: None, nonce: None };
    client.register(settings.email.as_deref()).await.context("the account at the issuer")?;
    client.order(settings).await
}

async fn asked(url: &str, sent: HttpRequest<'_>, issuers: Option<&Path>) -> anyhow::Result<HttpAnswer> {
    let answer = tokio::time::timeout(ATTEMPT, https::answer(url, sent, issuers)).await;
    answer.map_err(|_| anyhow!("the issuer does not answer within {} s", ATTEMPT.as_secs()))?
}

fn json_of(answer: &HttpAnswer) -> anyhow::Result<Value> {
    ensure!(answer.status.is_success(), "the issuer answered {}: {}", answer.status, reason(&answer.body));
    Ok(serde_json::from_slice(&answer.body)?)
}

/// Why an issuer refuses something, RFC 8555 6.7.
fn reason(body: &[u8]) -> String {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let inner = problem["subproblems"].as_array().into_iter().flatten().map(|one| &one["detail"]);
    let texts = std::iter::once(&problem["detail"]).chain(inner).filter_map(Value::as_str);
    let text = texts.collect::<Vec<_>>().join("; ");
    let text = if text.is_empty() { "it gives no reason".to_owned() } else { text };
    text.chars().filter(|c| !c.is_control()).take(LONGEST_REASON).collect()
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn text(value: &Value, name: &str) -> anyhow::Result<String> {
    value[name].as_str().map(str::to_owned).with_context(|| format!("the issuer's answer has no {name:?}"))
}

impl AcmeClient<'_> {
    /// Sends a signed request. Without a payload it only reads.
    async fn post(&mut self, url: &str, payload: Option<&Value>) -> anyhow::Result<HttpAnswer> {
        for _ in 0..MOST_NONCES {
            let nonce = self.fresh_nonce().await?;
            let who = match &self.account {
                Some(account) => ("kid", json!(account)),
                None => ("jwk", self.key.public()),
            };
            let mut head = json!({ "alg": "ES256", "nonce": nonce, "url": url });
            head[who.0] = who.1;
            let headers = [("content-type", "application/jose+json".to_owned())];
            let sent = HttpRequest {
                method: Method::POST,
                headers: &headers,
                body: self.key.signed(&head, payload)?,
            };
            let answer = asked(url, sent, self.issuers).await?;
            self.nonce = header(&answer.headers, "replay-nonce");
            let problem: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            if problem["type"] != "urn:ietf:params:acme:error:badNonce" {
                return Ok(answer);
            }
        }
        bail!("the issuer refuses each nonce that it gives")
    }

    async fn fresh_nonce(&mut self) -> anyhow::Result<String> {
        if let Some(nonce) = self.nonce.take() {
            return Ok(nonce);
        }
        let url = text(&self.directory, "newNonce")?;
        let sent = HttpRequest { method: Method::HEAD, headers: &[], body: Vec::new() };
        let answer = asked(&url, sent, self.issuers).await?;
        header(&answer.headers, "replay-nonce").context("the issuer gives no nonce")
    }

    /// Finds or makes the account of the key, RFC 8555 7.3.
    async fn register(&mut self, email: Option<&str>) -> anyhow::Result<()> {
        let url = text(&self.directory, "newAccount")?;
        let mut wanted = json!({ "termsOfServiceAgreed": true });
        if let Some(email) = email {
            wanted["contact"] = json!([format!("mailto:{email}")]);
        }
        let answer = self.post(&url, Some(&wanted)).await?;
        json_of(&answer)?;
        self.account = Some(header(&answer.headers, "location").context("the issuer names no account")?);
        Ok(())
    }

    /// Orders a certificate for all names, RFC 8555 7.4.
    async fn order(&mut self, settings: &AcmeSettings) -> anyhow::Result<IssuedCertificate> {
        let names = settings.names.iter().map(|name| json!({ "type": "dns", "value": name }));
        let wanted = json!({ "identifiers": names.collect::<Vec<_>>() });
        let url = text(&self.directory, "newOrder")?;
        let answer = self.post(&url, Some(&wanted)).await?;
        let order = json_of(&answer)?;
        let place = header(&answer.headers, "location").context("the issuer names no order")?;
        let authorizations: Vec<&str> =
            order["authorizations"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        ensure!(
            authorizations.len() <= settings.names.len(),
            "the issuer checks more names than were ordered"
        );
        for url in authorizations {
            self.authorize(url, settings).await?;
        }
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(settings.names.clone())?;
        params.distinguished_name = DistinguishedName::new();
        let request = params.serialize_request(&key)?;
        let finalize = text(&order, "finalize")?;
        json_of(&self.post(&finalize, Some(&json!({ "csr": encoded(request.der()) }))).await?)?;
        let order = self.settled(&place).await?;
        ensure!(order["status"] == "valid", "the issuer has refused the order: {}", reason_in(&order));
        let chain = self.post(&text(&order, "certificate")?, None).await?;
        ensure!(chain.status.is_success(), "the issuer does not give the certificate: {}", chain.status);
        let chain = String::from_utf8(chain.body).context("the certificate is no text")?;
        Ok(IssuedCertificate { chain, key: key.serialize_pem() })
    }

    /// Shows that a name is the server's own, RFC 8555 7.5.
    async fn authorize(&mut self, url: &str, settings: &AcmeSettings) -> anyhow::Result<()> {
        let answer = self.post(url, None).await?;
        let found = json_of(&answer)?;
        let name = ordered(&found["identifier"], &settings.names)?;
        if found["status"] == "valid" {
            return Ok(());
        }
        let kind = ShownProof::kind(&settings.challenge);
        let challenges = found["challenges"].as_array();
        let challenge = challenges.and_then(|all| all.iter().find(|one| one["type"] == kind));
        let challenge = challenge.with_context(|| format!("the issuer does not check {name} by {kind}"))?;
        let shown = self.key.authorization(&token(challenge)?);
        let shown = ShownProof::begin(&settings.challenge, &name, &shown).await?;
        let checked = self.check(url, &text(challenge, "url")?, (&name, kind)).await;
        shown.end().await;
        checked
    }

    async fn check(&mut self, url: &str, challenge: &str, (name, kind): (&str, &str)) -> anyhow::Result<()> {
        json_of(&self.post(challenge, Some(&json!({}))).await?)?;
        let found = self.settled(url).await?;
        if found["status"] == "valid" {
            return Ok(());
        }
        let tried = found["challenges"].as_array().into_iter().flatten().find(|one| one["type"] == kind);
        bail!("the issuer could not check {name}: {}", reason_in(tried.unwrap_or(&found)))
    }

    /// What a thing has become that takes time.
    async fn settled(&mut self, url: &str) -> anyhow::Result<Value> {
        for _ in 0..MOST_LOOKS {
            let answer = self.post(url, None).await?;
            let found = json_of(&answer)?;
            if !matches!(found["status"].as_str(), Some("pending" | "processing" | "ready")) {
                return Ok(found);
            }
            let wanted = header(&answer.headers, "retry-after").and_then(|text| text.parse().ok());
            let pause = wanted.map_or(PAUSE, Duration::from_secs).min(LONGEST_PAUSE);
            tokio::time::sleep(pause).await;
        }
        bail!("the issuer does not come to an end")
    }
}

/// The name that an issuer checks. It must be one that was ordered: the issuer does not choose what the program that changes the zone
/// is called with. Of a name with `*` it checks what follows (RFC 8555 7.1.4).
fn ordered(identifier: &Value, names: &[String]) -> anyhow::Result<String> {
    let checked = identifier["value"].as_str().unwrap_or_default();
    let plain = |name: &str| name.trim_start_matches("*.").to_ascii_lowercase();
    let known = names.iter().map(|name| plain(name)).find(|name| *name == plain(checked));
    known.context("the issuer checks a name that was not ordered")
}

/// The token of a challenge, RFC 8555 8.3. With other characters the issuer would choose what the page says.
fn token(challenge: &Value) -> anyhow::Result<String> {
    let token = text(challenge, "token")?;
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_token = (1..=LONGEST_TOKEN).contains(&token.len()) && token.chars().all(is_of_token);
    ensure!(is_token, "the token of the challenge is not base64url, as RFC 8555 8.3 wants it");
    Ok(token)
}

/// The reason in an order or a challenge.
fn reason_in(found: &Value) -> String {
    reason(found["error"].to_string().as_bytes())
}
