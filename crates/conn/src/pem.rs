//! Certificates and private keys in files, in PEM. An error has the path, and says what is wrong with the file.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificates of a file: one at least.
///
/// # Errors
/// The file cannot be read, or there is no certificate in it.
pub fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if found.is_empty() => Err(bad(path, "there is no certificate in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(bad(path, format!("not a certificate in PEM: {error}"))),
    }
}

/// The private key of a file.
///
/// # Errors
/// The file cannot be read, or there is no private key in it.
pub fn key(path: &Path) -> io::Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(&read(path)?)
        .map_err(|error| bad(path, format!("not a private key in PEM: {error}")))
}

/// The issuers in a file, whose certificates are trusted.
///
/// # Errors
/// The file cannot be read, or has no certificate or one that cannot be used.
pub fn issuers(path: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for root in certificates(path)? {
        roots.add(root).map_err(|error| bad(path, error))?;
    }
    Ok(roots)
}

/// An error about a file.
pub fn bad(path: &Path, why: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path).map_err(|error| bad(path, error))
}
