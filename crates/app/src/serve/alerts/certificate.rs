//! How long the certificate of the API is valid.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use admin::{Port, Settings};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// The file of the certificate that the API uses, and how long it is valid; `None` if the API uses none.
pub(super) fn of(settings: &Settings, state: &Path) -> Option<(String, Option<Duration>)> {
    let api = &settings.server.api;
    if !matches!(api.port, Port::Number(_)) || !api.tls {
        return None;
    }
    let given = api.certificate.as_ref().map(|(chain, _)| chain.clone());
    let path = match given {
        Some(path) => path,
        None => Some(state.join("api-certificate.pem")).filter(|own| own.exists())?, // else it is being made
    };
    let left = ends(&path).and_then(|end| end.duration_since(SystemTime::now()).ok());
    Some((path.display().to_string(), left))
}

/// When the first certificate of the file ends.
fn ends(path: &Path) -> Option<SystemTime> {
    let der = CertificateDer::from_pem_file(path).ok()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(&der).ok()?;
    let seconds = certificate.validity().not_after.timestamp();
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = web::own_certificate(folder.path(), &[]).unwrap().chain;
        // The certificate that the server makes for itself is valid until the year 4096.
        assert!(ends(&path).unwrap() > SystemTime::now() + Duration::from_secs(86_400 * 365 * 100));
        std::fs::write(&path, "no certificate").unwrap();
        assert_eq!(ends(&path), None);
    }
}
