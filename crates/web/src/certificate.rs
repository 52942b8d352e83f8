//! The certificate of the API, which can be replaced while the server runs: by an upload, by one that the server makes, or by
//! other contents of its files.
//!
//! By it clients know the server: only a person who gives the own password replaces it.

use std::net::IpAddr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use auth::durable;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use lock::RwLock;
use serde::{Deserialize, Serialize};
use tokio_rustls::TlsAcceptor;
use utoipa::ToSchema;
use vfs::backend::host::as_ourselves;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done, optional_body};
use crate::author::{Author, Peer};
use crate::tls::{self, Certificate};
use crate::{Api, ranks};

/// Names of a certificate that are read, and those that are shown.
const MOST_NAMES: usize = 1000;
const SHOWN_NAMES: usize = 20;
/// The files of an upload until it is checked, in the state folder.
const UPLOADED: (&str, &str) = ("api-certificate.uploaded.pem", "api-key.uploaded.pem");

/// The certificate in force.
pub struct LiveCertificate {
    files: Certificate,
    /// The addresses of the listeners, for one that the server makes.
    addresses: Vec<IpAddr>,
    acceptor: RwLock<TlsAcceptor, ranks::ApiCertificate>,
}

impl LiveCertificate {
    /// The certificate in these files.
    pub(crate) fn new(files: &Certificate, addresses: Vec<IpAddr>) -> std::io::Result<Self> {
        let acceptor = RwLock::new(tls::acceptor(files)?);
        Ok(Self { files: files.clone(), addresses, acceptor })
    }

    /// For the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().clone()
    }

    /// Reads the files again, for new connections.
    ///
    /// # Errors
    /// The files cannot be used: the certificate in force stays.
    pub fn again(&self) -> std::io::Result<()> {
        let acceptor = tls::acceptor(&self.files)?;
        *self.acceptor.write() = acceptor;
        Ok(())
    }

    /// Whether its files are those of the state folder, and not of the settings.
    fn is_own(&self, state: &Path) -> bool {
        self.files == tls::own_files(state)
    }

    /// The names of the certificate in its file, and from when to when it is valid, in seconds since 1970; `None`: it cannot be read.
    #[must_use]
    pub fn described(&self) -> Option<(Vec<String>, u64, u64)> {
        let CertificateText { names, begins, ends } = CertificateText::of(&self.files.chain)?;
        Some((names, begins?, ends?))
    }

    /// Replaces the files by these texts, if they can be used, and the certificate in force.
    ///
    /// # Errors
    /// The certificate stays as it was; the text says why.
    pub fn replace(&self, state: &Path, chain: &str, key: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let _one = durable::lock(&state.join("api-certificate.lock")).map_err(failed)?;
        let uploaded = Certificate { chain: state.join(UPLOADED.0), key: state.join(UPLOADED.1) };
        let wrote = durable::replace(&uploaded.chain, chain.as_bytes())
            .and_then(|()| durable::replace(&uploaded.key, key.as_bytes()))
            .map_err(failed);
        let result = wrote.and_then(|()| check_usable(&uploaded)).and_then(|()| {
            std::fs::rename(&uploaded.key, &self.files.key)
                .and_then(|()| std::fs::rename(&uploaded.chain, &self.files.chain))
                .and_then(|()| self.again())
                .map_err(failed)
        });
        for file in [&uploaded.chain, &uploaded.key] {
            let _ = std::fs::remove_file(file); // it is gone after a success
        }
        result
    }
}

/// Refuses a certificate that clients would refuse, too: its key is another one, or its time is over.
fn check_usable(files: &Certificate) -> Result<(), String> {
    let plain = |error: std::io::Error| {
        let text = error.to_string();
        // The path of the temporary file tells nothing.
        text.split_once(".pem: ").map_or_else(|| text.clone(), |(_, why)| why.to_owned())
    };
    tls::acceptor(files).map_err(plain)?;
    let described = CertificateText::of(&files.chain).ok_or("it is no certificate that can be read")?;
    if described.ends.is_some_and(|ends| ends <= now()) {
        return Err("its time is over: get a new one".into());
    }
    Ok(())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What a certificate says.
#[derive(Default)]
struct CertificateText {
    names: Vec<String>,
    /// Seconds since 1970.
    begins: Option<u64>,
    ends: Option<u64>,
}

impl CertificateText {
    /// The first certificate of a file.
    fn of(chain: &Path) -> Option<Self> {
        let all = conn::pem::certificates(chain).ok()?;
        let (_, certificate) = parse_x509_certificate(all.first()?).ok()?;
        let names = certificate.subject_alternative_name().ok().flatten();
        let names = names.into_iter().flat_map(|found| &found.value.general_names);
        let names = names.filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
            _ => None,
        });
        let validity = certificate.validity();
        let begins = u64::try_from(validity.not_before.timestamp()).ok();
        let ends = u64::try_from(validity.not_after.timestamp()).ok();
        Some(Self { names: names.take(MOST_NAMES).collect(), begins, ends })
    }
}

/// The address in a certificate: 4 or 16 bytes, RFC 5280 4.2.1.6.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// The certificate of the API.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct CertificateStatus {
    /// The API is served with TLS. Otherwise the other fields say nothing.
    is_on: bool,
    /// It lies in the state folder: the server has made it, or it was uploaded. Otherwise the settings name its files.
    is_own: bool,
    /// Its file on the server.
    file: String,
    /// The names and addresses that it is for, the first 20.
    names: Vec<String>,
    /// When it ends, in seconds since 1970; null: it cannot be read.
    ends: Option<u64>,
    /// The issuer that gives and renews it; null: `acme-names` is not set.
    issuer: Option<IssuerStatus>,
}

/// What an issuer is asked for, by ACME.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct IssuerStatus {
    /// For these names.
    pub names: Vec<String>,
    /// When it was asked last, in seconds since 1970.
    pub last: Option<u64>,
    /// Why it has given none then.
    pub error: Option<String>,
}

/// The certificate of the API and the console.
#[utoipa::path(get, path = "/v1/certificate", security(("token" = ["read"])), responses((status = 200, description = "The certificate", body = CertificateStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn certificate(State(api): State<Api>) -> Result<Response, Failure> {
    let Some(live) = api.certificate.clone() else {
        return Ok(Json(CertificateStatus::default()).into_response());
    };
    let state = api.guard.state().to_owned();
    let status = blocking(move || {
        let described =
            as_ourselves(|| CertificateText::of(&live.files.chain)).ok().flatten().unwrap_or_default();
        let file = live.files.chain.display().to_string();
        let is_own = live.is_own(&state);
        let CertificateText { mut names, ends, .. } = described;
        names.truncate(SHOWN_NAMES);
        CertificateStatus { is_on: true, is_own, file, names, ends, issuer: api.manage.issuer() }
    });
    Ok(Json(status.await?).into_response())
}

/// A certificate for the API.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCertificate {
    /// It and those of its issuers, PEM.
    chain: String,
    /// Its private key, PEM.
    key: String,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Replaces the certificate of the API, if the settings name none. It counts at once, for new connections.
#[utoipa::path(post, path = "/v1/certificate", request_body = NewCertificate, responses((status = 200, description = "It is in force", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn upload(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<NewCertificate>,
) -> Result<Response, Failure> {
    let NewCertificate { chain, key, own_password } = body(new)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    by.check_verified("the certificate of the server")?;
    replaced(api, by.name, move |_| Ok((chain, key))).await
}

/// A certificate that the server makes.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MadeCertificate {
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Makes a new certificate, which the server signs itself, in place of the one of the state folder.
#[utoipa::path(post, path = "/v1/certificate/make", request_body = MadeCertificate, responses((status = 200, description = "It is in force", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn make(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    wanted: axum::body::Bytes,
) -> Result<Response, Failure> {
    let MadeCertificate { own_password } = optional_body(&wanted)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    by.check_verified("the certificate of the server")?;
    replaced(api, by.name, |live| tls::made(&live.addresses).map_err(|error| error.to_string())).await
}

/// Orders a certificate from the issuer of the settings now. It answers when the issuer has given one, or has refused it. Only a
/// session of the console does that: issuers give a name only some certificates in a week.
#[utoipa::path(post, path = "/v1/certificate/order", responses((status = 200, description = "It is in force", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn order(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
) -> Result<Response, Failure> {
    actor.check_person("ordering a certificate")?;
    done(blocking(move || api.manage.order_certificate(&actor.name)).await?)
}

/// Puts the texts of a certificate and its key in place of those in force.
async fn replaced(
    api: Api,
    by: String,
    texts: impl FnOnce(&LiveCertificate) -> Result<(String, String), String> + Send + 'static,
) -> Result<Response, Failure> {
    let conflict = |hint: &str| Failure::new(StatusCode::CONFLICT, hint);
    let Some(live) = api.certificate.clone() else {
        return Err(conflict(
            "the API is served without TLS (`admin-tls = false`), so it has no certificate",
        ));
    };
    let state = api.guard.state().to_owned();
    if !live.is_own(&state) {
        let hint = "`admin-certificate` names its file: replace that file on the server, and have the settings read again";
        return Err(conflict(hint));
    }
    let work = move || {
        let (chain, key) = texts(&live)?;
        as_ourselves(|| live.replace(&state, &chain, &key)).map_err(|error| error.to_string())??;
        tracing::info!(by, "the certificate of the API was replaced");
        Ok(vec!["The new certificate is in force, for new connections.".to_owned()])
    };
    let cannot = |why: String| vec![format!("the certificate stays as it was: {why}")];
    done(blocking(work).await?.map_err(cannot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uploaded_certificate_counts_at_once_and_a_bad_one_changes_nothing() {
        let state = tempfile::tempdir().unwrap();
        let files = tls::own(state.path(), &[]).unwrap();
        let live = LiveCertificate::new(&files, Vec::new()).unwrap();
        assert!(live.is_own(state.path()));
        let before = std::fs::read_to_string(&files.chain).unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["nas.example".into()]).unwrap();
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let other = rcgen::generate_simple_self_signed(vec!["other.example".into()]).unwrap();
        for (chain, key) in [("", ""), (&*chain, ""), (&*chain, &*other.signing_key.serialize_pem())] {
            assert!(live.replace(state.path(), chain, key).is_err());
        }
        assert_eq!(std::fs::read_to_string(&files.chain).unwrap(), before);
        let mut late = rcgen::CertificateParams::new(vec!["old.example".into()]).unwrap();
        late.not_after = rcgen::date_time_ymd(2001, 1, 1);
        late.not_before = rcgen::date_time_ymd(2000, 1, 1);
        let pair = rcgen::KeyPair::generate().unwrap();
        let late = late.self_signed(&pair).unwrap();
        let why = live.replace(state.path(), &late.pem(), &pair.serialize_pem()).unwrap_err();
        assert!(why.contains("its time is over"), "{why}");
        live.replace(state.path(), &chain, &key).unwrap();
        assert_eq!(CertificateText::of(&files.chain).unwrap().names, ["nas.example"]);
        let left = std::fs::read_dir(state.path()).unwrap().flatten();
        let left: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        assert!(!left.iter().any(|name| name.contains("uploaded")), "{left:?}");
    }
}
