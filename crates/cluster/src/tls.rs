//! TLS between servers: both sides show a certificate of the cluster's own issuer, with the server's
//! name in it. And TLS to etcd, by default with the same certificate.

use std::io;
use std::sync::Arc;

use conn::pem;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, DEFAULT_VERSIONS, Error, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The files of a server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
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
    pub fn load(files: &CertificateFiles, name: &str) -> io::Result<Self> {
        let chain = pem::certificates(&files.certificate)?;
        if !chain.first().is_some_and(|own| is_of(own, name)) {
            return Err(pem::bad(&files.certificate, format!("the certificate is not for the name {name}")));
        }
        let key = pem::key(&files.key)?;
        let (roots, provider) = (Arc::new(pem::issuers(&files.ca)?), Arc::new(aws_lc_rs::default_provider()));
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| pem::bad(&files.ca, error))?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| {
                builder.with_client_cert_verifier(verifier).with_single_cert(chain.clone(), key.clone_key())
            })
            .map_err(|error| unfit(files, error))?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| builder.with_root_certificates(roots).with_client_auth_cert(chain, key))
            .map_err(|error| unfit(files, error))?;
        Ok(Self { accept: Arc::new(server).into(), connect: Arc::new(client).into() })
    }
}

/// TLS 1.2 and 1.3 to a service that wants such a certificate: etcd.
///
/// # Errors
/// What is wrong with which file.
pub fn to_service(files: &CertificateFiles) -> io::Result<TlsConnector> {
    let (chain, key) = (pem::certificates(&files.certificate)?, pem::key(&files.key)?);
    let roots = pem::issuers(&files.ca)?;
    ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(DEFAULT_VERSIONS)
        .and_then(|builder| builder.with_root_certificates(roots).with_client_auth_cert(chain, key))
        .map(|config| Arc::new(config).into())
        .map_err(|error| unfit(files, error))
}

fn unfit(files: &CertificateFiles, error: Error) -> io::Error {
    pem::bad(&files.certificate, format!("it cannot be used with {}: {error}", files.key.display()))
}

/// Whether one of the certificates in a file has this public key, a SubjectPublicKeyInfo (RFC 5280 4.1.2.7) in DER.
///
/// # Errors
/// The file cannot be read, or has no certificates.
pub fn is_of_issuer(ca: &std::path::Path, public_key: &[u8]) -> io::Result<bool> {
    let has = |certificate: &CertificateDer<'_>| {
        X509Certificate::from_der(certificate)
            .is_ok_and(|(_, of)| of.tbs_certificate.subject_pki.raw == public_key)
    };
    Ok(pem::certificates(ca)?.iter().any(has))
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
