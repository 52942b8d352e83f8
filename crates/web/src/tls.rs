//! The certificate of the API: a given one, or one that the server makes for itself.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use auth::durable;
use conn::pem;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, ServerConfig, SupportedProtocolVersion};

/// The files of the certificate that the server has made, in the state folder.
const OWN: (&str, &str) = ("api-certificate.pem", "api-key.pem");

/// The files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate and those of its issuers, PEM.
    pub chain: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// The certificate of the state folder. It is made if there is none yet: for this host's names and addresses.
///
/// # Errors
/// It cannot be made or written.
pub fn own(state: &Path, addresses: &[IpAddr]) -> io::Result<Certificate> {
    let certificate = own_files(state);
    if certificate.chain.exists() && certificate.key.exists() {
        return Ok(certificate);
    }
    let (chain, key) = made(addresses)?;
    durable::replace(&certificate.key, key.as_bytes())?;
    durable::replace(&certificate.chain, chain.as_bytes())?;
    Ok(certificate)
}

/// The files of the certificate of the state folder.
pub(crate) fn own_files(state: &Path) -> Certificate {
    Certificate { chain: state.join(OWN.0), key: state.join(OWN.1) }
}

/// A new certificate for this host's names and these addresses, and its key, both PEM.
pub(crate) fn made(addresses: &[IpAddr]) -> io::Result<(String, String)> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let names = ["localhost".to_owned(), format!("{host}.local"), host];
    let addresses = addresses.iter().filter(|address| !address.is_unspecified()).map(ToString::to_string);
    let loopback = ["127.0.0.1".to_owned(), "::1".to_owned()];
    let mut names: Vec<String> = names.into_iter().chain(loopback).chain(addresses).collect();
    names.sort();
    names.dedup();
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    Ok((made.cert.pem(), made.signing_key.serialize_pem()))
}

/// TLS 1.2 and 1.3 with this certificate.
///
/// # Errors
/// A file cannot be read, or the two do not belong together; the error has the path and says what is wrong.
pub(crate) fn acceptor(certificate: &Certificate) -> io::Result<TlsAcceptor> {
    let mut config = with_certificate(certificate, rustls::DEFAULT_VERSIONS, None)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// TLS 1.3 for RPC, RFC 9289 5. `client_ca`: the issuers of certificates that clients may show; without it they are not asked.
/// A client need not offer ALPN: that of Linux does not. One that offers other protocols only is refused.
///
/// # Errors
/// The certificate, its key or the issuers cannot be read, or do not fit each other.
pub fn of_rpc(certificate: &Certificate, client_ca: Option<&Path>) -> io::Result<Arc<ServerConfig>> {
    let mut config = with_certificate(certificate, &[&rustls::version::TLS13], client_ca)?;
    config.alpn_protocols = vec![b"sunrpc".to_vec()];
    // Connections live long: nothing is kept for the next one.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Whether a server could use this certificate, and these issuers of certificates of clients.
///
/// # Errors
/// A file cannot be read, or they do not fit each other. The error has the path and says what is wrong.
pub fn check(certificate: &Certificate, client_ca: Option<&Path>) -> io::Result<()> {
    with_certificate(certificate, rustls::DEFAULT_VERSIONS, client_ca).map(drop)
}

fn with_certificate(
    certificate: &Certificate,
    versions: &[&'static SupportedProtocolVersion],
    client_ca: Option<&Path>,
) -> io::Result<ServerConfig> {
    let Certificate { chain, key } = certificate;
    let (chain_der, key_der) = (pem::certificates(chain)?, pem::key(key)?);
    let provider = Arc::new(aws_lc_rs::default_provider());
    let clients = match client_ca {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(path) => verifier(path, provider.clone())?,
    };
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .and_then(|builder| builder.with_client_cert_verifier(clients).with_single_cert(chain_der, key_der))
        .map_err(|error| pem::bad(chain, format!("it cannot be used with {}: {error}", key.display())))
}

/// Checks certificates of clients. A client may have none.
fn verifier(path: &Path, provider: Arc<CryptoProvider>) -> io::Result<Arc<dyn ClientCertVerifier>> {
    WebPkiClientVerifier::builder_with_provider(Arc::new(pem::issuers(path)?), provider)
        .allow_unauthenticated()
        .build()
        .map_err(|error| pem::bad(path, error))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio_rustls::rustls::RootCertStore;
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;

    use super::*;

    #[test]
    fn an_own_certificate_is_made_once_and_used() {
        let state = tempfile::tempdir().unwrap();
        let made = own(state.path(), &["192.0.2.7".parse().unwrap()]).unwrap();
        let text = fs::read(&made.chain).unwrap();
        assert_eq!(own(state.path(), &[]).unwrap(), made);
        assert_eq!(fs::read(&made.chain).unwrap(), text);
        assert!(acceptor(&made).is_ok());
        assert_eq!(of_rpc(&made, None).unwrap().alpn_protocols, [b"sunrpc"]); // RFC 9289 8.2
        assert!(of_rpc(&made, Some(&made.chain)).is_ok());
        let why = of_rpc(&made, Some(&made.key)).unwrap_err().to_string();
        assert!(why.contains("there is no certificate in it"), "{why}");
    }

    /// How a handshake between these two ends: the client's certificates, as the server knows them.
    fn handshake(
        server: Arc<ServerConfig>,
        client: Arc<rustls::ClientConfig>,
    ) -> Result<usize, rustls::Error> {
        let mut server = rustls::ServerConnection::new(server)?;
        let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
        let mut client = rustls::ClientConnection::new(client, name)?;
        let mut bytes = Vec::new();
        while server.is_handshaking() || client.is_handshaking() {
            client.write_tls(&mut bytes).unwrap();
            let mut sent = std::mem::take(&mut bytes);
            while !sent.is_empty() {
                let count = server.read_tls(&mut sent.as_slice()).unwrap();
                sent.drain(..count);
                server.process_new_packets()?;
            }
            server.write_tls(&mut bytes).unwrap();
            let mut sent = std::mem::take(&mut bytes);
            while !sent.is_empty() {
                let count = client.read_tls(&mut sent.as_slice()).unwrap();
                sent.drain(..count);
                client.process_new_packets()?;
            }
        }
        assert_eq!(server.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        Ok(server.peer_certificates().map_or(0, <[_]>::len))
    }

    #[test]
    fn clients_of_rpc_may_show_certificates_of_the_trusted_issuers_only() {
        let state = tempfile::tempdir().unwrap();
        let made = own(state.path(), &[]).unwrap();
        let issuer = || {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap()
        };
        let (trusted, foreign) = (issuer(), issuer());
        let ca = state.path().join("clients.pem");
        fs::write(&ca, trusted.pem()).unwrap();
        let client = |issuer: Option<&rcgen::CertifiedIssuer<'_, rcgen::KeyPair>>, alpn: &[&[u8]]| {
            let mut roots = RootCertStore::empty();
            roots.add(pem::certificates(&made.chain).unwrap().remove(0)).unwrap();
            let builder =
                rustls::ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                    .with_safe_default_protocol_versions()
                    .unwrap()
                    .with_root_certificates(roots);
            let mut config = match issuer {
                None => builder.with_no_client_auth(),
                Some(issuer) => {
                    let key = rcgen::KeyPair::generate().unwrap();
                    let params = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
                    let chain = vec![params.signed_by(&key, issuer).unwrap().der().clone()];
                    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
                    builder.with_client_auth_cert(chain, key).unwrap()
                }
            };
            config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        let server = of_rpc(&made, Some(&ca)).unwrap();
        assert_eq!(handshake(server.clone(), client(Some(&trusted), &[b"sunrpc"])), Ok(1));
        assert_eq!(handshake(server.clone(), client(None, &[b"sunrpc"])), Ok(0));
        assert_eq!(handshake(server.clone(), client(None, &[])), Ok(0), "Linux offers no ALPN");
        let refused = handshake(server.clone(), client(Some(&foreign), &[b"sunrpc"])).unwrap_err();
        assert!(matches!(refused, rustls::Error::InvalidCertificate(_)), "{refused:?}");
        let other = handshake(server, client(None, &[b"h2"])).unwrap_err();
        assert_eq!(other, rustls::Error::NoApplicationProtocol);
        // Without issuers, clients are not asked for certificates.
        assert_eq!(handshake(of_rpc(&made, None).unwrap(), client(Some(&trusted), &[b"sunrpc"])), Ok(0));
    }

    #[test]
    fn what_is_no_certificate_is_refused_with_its_path() {
        let state = tempfile::tempdir().unwrap();
        let (one, two) = (own(state.path(), &[]).unwrap(), tempfile::tempdir().unwrap());
        let other = own(two.path(), &[]).unwrap();
        let refusal = |chain: &Path, key: &Path| {
            let given = Certificate { chain: chain.into(), key: key.into() };
            acceptor(&given).err().unwrap().to_string()
        };
        let mixed = refusal(&one.chain, &other.key);
        assert!(mixed.contains("cannot be used with"), "{mixed}");
        let swapped = refusal(&one.key, &one.key);
        assert!(swapped.contains("there is no certificate in it"), "{swapped}");
        let no_key = refusal(&one.chain, &one.chain);
        assert!(no_key.contains("not a private key"), "{no_key}");
        let absent = refusal(Path::new("/nowhere/c.pem"), &one.key);
        assert!(absent.starts_with("/nowhere/c.pem: "), "{absent}");
    }
}
