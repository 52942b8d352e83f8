//! `fourfold cluster add`: a folder with what a new server of the cluster needs, or the certificate of this one.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use admin::Arguments;
use admin::settings::Edit;
use admin::settings::in_common::{NewServer, file_of, of_new_server};
use anyhow::{Context, ensure};
use auth::durable;
use cluster::tls;
use jiff::{ToSpan, Zoned};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData,
};
use serde::Serialize;

use crate::cli::ClusterAdd;
use crate::terminal::out;

/// How long certificates are valid, in years.
const YEARS: i64 = 10;
/// The name of the settings file in the folder.
const SETTINGS: &str = "fourfold.toml";
/// The name of the issuer's certificate there.
const CA: &str = "cluster-ca.pem";

/// What was made. Scripts read it as JSON: fields may be added, never renamed or removed.
#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    folder: &'a Path,
    files: Vec<String>,
    /// The server has a certificate.
    signed: bool,
    /// The issuer was made, too.
    made_ca: bool,
}

pub(super) fn run(asked: &ClusterAdd, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let edit = Edit::open(arguments)?;
    let (text, _) = edit.texts();
    let name = asked.name.as_str();
    if file_of(&text, "cluster-server").as_deref() == Some(name) {
        return this_server(asked, (&text, edit.folder()), &arguments.folder);
    }
    let listen =
        asked.listen.context("--listen is missing: the address and port of the new server for the others")?;
    let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
    let new = NewServer { name, listen: &listen.to_string(), certificate: &certificate, key: &key, ca: CA };
    let settings = of_new_server(&text, &new).map_err(anyhow::Error::msg)?;
    let ca = file(&text, edit.folder(), "cluster-ca")?;
    let folder = arguments.folder.join(asked.out.clone().unwrap_or_else(|| PathBuf::from(name)));
    ensure!(!folder.exists(), "{} exists already; name another folder with --out", folder.display());
    if let (true, Some(ca_key)) = (asked.make_ca, &asked.ca_key) {
        make_issuer(&ca, &arguments.folder.join(ca_key))?;
    }
    let signed =
        asked.ca_key.as_ref().map(|ca_key| sign(name, &ca, &arguments.folder.join(ca_key))).transpose()?;

    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut files = vec![(SETTINGS.to_owned(), settings)];
    if ca.exists() {
        files.push((CA.to_owned(), read(&ca)?));
    }
    let is_signed = signed.is_some();
    if let Some(CertificatePair { certificate: own, key: its_key }) = signed {
        files.extend([(certificate.clone(), own), (key.clone(), its_key)]);
    }
    for (file, text) in &files {
        let path = folder.join(file);
        durable::replace(&path, text.as_bytes())
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let files = files.into_iter().map(|(file, _)| file).collect();
    let answer = Answer { name, folder: &folder, files, signed: is_signed, made_ca: asked.made_ca() };
    if asked.json {
        out::json(&answer)?;
    } else {
        out::lines(said(&answer, asked))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that the settings in `folder` name.
fn file(text: &str, folder: &Path, key: &str) -> anyhow::Result<PathBuf> {
    let named = file_of(text, key).map(|file| folder.join(file));
    named.with_context(|| {
        format!("the settings have no `{key}`; docs/cluster.md has an example of all that a cluster needs")
    })
}

/// The key and the certificate of the server with these settings, where they have them.
fn this_server(
    asked: &ClusterAdd,
    (text, folder): (&str, &Path),
    current: &Path,
) -> anyhow::Result<ExitCode> {
    let name = asked.name.as_str();
    let ca_key = asked.ca_key.as_ref().map(|ca_key| current.join(ca_key));
    let ca_key = ca_key.with_context(|| {
        format!("{name} is the name of the server with these settings: with --ca-key its certificate is made")
    })?;
    let made = certify(name, (text, folder), (&ca_key, asked.make_ca))?;
    let files = made.iter().map(|path| path.display().to_string()).collect();
    let answer = Answer { name, folder, files, signed: true, made_ca: asked.made_ca() };
    if asked.json {
        out::json(&answer)?;
    } else {
        let mut lines = vec![format!("{name} has its certificate and its key: {}", answer.files.join(", "))];
        lines.extend(answer.made_ca.then(|| said_of_issuer(&ca_key)));
        lines.push(
            "Next: check the settings with `fourfold check`, start the server, and add others with this command."
                .to_owned(),
        );
        out::lines(lines)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes them. Existing ones are not replaced.
fn certify(
    name: &str,
    (text, folder): (&str, &Path),
    (ca_key, makes_ca): (&Path, bool),
) -> anyhow::Result<[PathBuf; 2]> {
    let file = |key| file(text, folder, key);
    let (ca, certificate, key) = (file("cluster-ca")?, file("cluster-certificate")?, file("cluster-key")?);
    for path in [&certificate, &key] {
        ensure!(!path.exists(), "{} exists already: {name} is in the cluster", path.display());
    }
    if makes_ca {
        make_issuer(&ca, ca_key)?;
    }
    let signed = sign(name, &ca, ca_key)?;
    for (path, text) in [(&key, &signed.key), (&certificate, &signed.certificate)] {
        durable::replace(path, text.as_bytes())
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok([certificate, key])
}

fn said_of_issuer(ca_key: &Path) -> String {
    format!("the issuer of the cluster was made; keep its key, {}, on no server", ca_key.display())
}

impl ClusterAdd {
    fn made_ca(&self) -> bool {
        self.make_ca && self.ca_key.is_some()
    }
}

fn said(answer: &Answer<'_>, asked: &ClusterAdd) -> Vec<String> {
    let Answer { name, folder, files, signed, made_ca } = answer;
    let folder = folder.display();
    let mut lines = vec![format!("{folder} has what {name} needs: {}", files.join(", "))];
    if let (true, Some(ca_key)) = (made_ca, &asked.ca_key) {
        lines.push(said_of_issuer(ca_key));
    }
    if !signed {
        lines.push(format!(
            "Next: have the issuer of `cluster-ca` sign a certificate with the DNS name {name}, and put it and its key beside the \
             settings, as {name}.pem and {name}.key. With --ca-key this command does it."
        ));
    }
    lines.extend([
        format!("Next: copy all files of {folder} to /etc/fourfold of {name}, over an encrypted way,"),
        "mount the shared file system there at the same path, check the settings with `fourfold check`,"
            .to_owned(),
        format!("start the server, and see it with `fourfold cluster status`. Then remove {folder}."),
    ]);
    lines
}

struct CertificatePair {
    certificate: String,
    key: String,
}

fn sign(name: &str, ca: &Path, ca_key: &Path) -> anyhow::Result<CertificatePair> {
    let signer = KeyPair::from_pem(&read(ca_key)?)
        .with_context(|| format!("{} is not a private key in PEM (PKCS #8)", ca_key.display()))?;
    ensure!(
        tls::is_of_issuer(ca, &signer.subject_public_key_info())?,
        "{} is not the key of {}",
        ca_key.display(),
        ca.display()
    );
    let issuer = Issuer::from_ca_cert_pem(&read(ca)?, signer)
        .with_context(|| format!("{} is not a certificate in PEM", ca.display()))?;
    let mut params = valid(CertificateParams::new(vec![name.to_owned()])?)?;
    // An etcd with users refuses certificates with a common name at its HTTP gateway.
    params.distinguished_name = DistinguishedName::new();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(CertificatePair { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// Makes the issuer. An existing one is not replaced.
fn make_issuer(ca: &Path, ca_key: &Path) -> anyhow::Result<()> {
    for path in [ca, ca_key] {
        ensure!(!path.exists(), "{} exists already; leave out --make-ca", path.display());
    }
    let mut params = valid(CertificateParams::new(Vec::new())?)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Fourfold cluster");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    for (path, text) in [(ca_key, key.serialize_pem()), (ca, certificate.pem())] {
        durable::replace(path, text.as_bytes())
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

/// From yesterday on, as clocks differ.
fn valid(mut params: CertificateParams) -> anyhow::Result<CertificateParams> {
    let day = |at: &Zoned| -> anyhow::Result<_> {
        let (month, day) = (u8::try_from(at.month())?, u8::try_from(at.day())?);
        Ok(rcgen::date_time_ymd(i32::from(at.year()), month, day))
    };
    let now = Zoned::now();
    params.not_before = day(&now.checked_sub(1.day())?)?;
    params.not_after = day(&now.checked_add(YEARS.years())?)?;
    Ok(params)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

#[cfg(test)]
mod tests {
    use cluster::tls::{CertificateFiles, Tls};

    use super::*;

    #[test]
    fn a_server_with_what_was_made_is_let_in_by_the_issuer() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        make_issuer(&at("ca.pem"), &at("ca.key")).unwrap();
        assert!(make_issuer(&at("ca.pem"), &at("other.key")).is_err(), "it is not replaced");
        let CertificatePair { certificate, key } = sign("gate3", &at("ca.pem"), &at("ca.key")).unwrap();
        fs::write(at("gate3.pem"), certificate).unwrap();
        fs::write(at("gate3.key"), key).unwrap();
        let files = CertificateFiles { certificate: at("gate3.pem"), key: at("gate3.key"), ca: at("ca.pem") };
        Tls::load(&files, "gate3").unwrap();
        assert!(Tls::load(&files, "gate4").is_err());
        assert!(sign("gate3", &at("ca.pem"), &at("ca.pem")).is_err(), "no key");
        let error = sign("gate3", &at("ca.pem"), &at("gate3.key")).map(drop).unwrap_err();
        assert!(error.to_string().contains("gate3.key is not the key of"), "{error}");
    }

    #[test]
    fn the_first_server_gets_its_certificate_where_its_settings_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let (ca_key, place) = (folder.path().join("ca.key"), folder.path());
        let text = "[server]\ncluster-ca = \"ca.pem\"\ncluster-certificate = \"own.pem\"\ncluster-key = \"own.key\"\n";
        let [certificate, key] = certify("gate1", (text, place), (&ca_key, true)).unwrap();
        let files = CertificateFiles { certificate, key, ca: place.join("ca.pem") };
        Tls::load(&files, "gate1").unwrap();
        let error = certify("gate1", (text, place), (&ca_key, false)).unwrap_err();
        assert!(error.to_string().contains("exists already"), "{error}");
        assert!(certify("gate1", ("[server]", place), (&ca_key, false)).is_err());
    }
}
