//! TLS between servers: both sides show a certificate of the cluster's own issuer, with the server's
//! name in it.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The files of a server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The certificate, and those of its issuers.
    pub certificate: std::path::PathBuf,
    /// Its private key.
    pub key: std::path::PathBuf,
    /// The certificates of the issuers of all servers of the cluster.
    pub ca: std::path::PathBuf,
}

/// Both directions.
pub struct Tls {
    pub(crate) accept: TlsAcceptor,
    pub(crate) connect: TlsConnector,
}

impl Tls {
    /// Reads the files. `name`: that of this server, which must be in the certificate.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn load(files: &Files, name: &str) -> io::Result<Self> {
        let chain = certificates(&files.certificate)?;
        if !chain.first().is_some_and(|own| is_of(own, name)) {
            return Err(bad(&files.certificate, format!("the certificate is not for the name {name}")));
        }
        let key = fs::read(&files.key).map_err(|error| bad(&files.key, error))?;
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|error| bad(&files.key, format!("not a private key in PEM: {error}")))?;
        let mut roots = RootCertStore::empty();
        for root in certificates(&files.ca)? {
            roots.add(root).map_err(|error| bad(&files.ca, error))?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(aws_lc_rs::default_provider()));
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| bad(&files.ca, error))?;
        let unfit = |error| bad(&files.certificate, format!("it cannot be used with its key: {error}"));
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| {
                builder.with_client_cert_verifier(verifier).with_single_cert(chain.clone(), key.clone_key())
            })
            .map_err(unfit)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| builder.with_root_certificates(roots).with_client_auth_cert(chain, key))
            .map_err(unfit)?;
        Ok(Self { accept: Arc::new(server).into(), connect: Arc::new(client).into() })
    }
}

fn bad(path: &Path, why: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let text = fs::read(path).map_err(|error| bad(path, error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if found.is_empty() => Err(bad(path, "there is no certificate in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(bad(path, format!("not a certificate in PEM: {error}"))),
    }
}

/// Whether a certificate is for this name of a server.
pub(crate) fn is_of(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return false };
    let Ok(Some(names)) = parsed.subject_alternative_name() else { return false };
    names
        .value
        .general_names
        .iter()
        .any(|of| matches!(of, GeneralName::DNSName(found) if found.eq_ignore_ascii_case(name)))
}
