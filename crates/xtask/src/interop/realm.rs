//! A realm of MIT's KDC, which is started here: users, the keytab of a server, and tickets.

use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::ports;
use crate::process::{self, Running};

/// The programs that it needs.
pub const NEEDS: &[&str] = &["krb5kdc", "kdb5_util", "kadmin.local", "kinit"];
pub const REALM: &str = "LAB.TEST";
/// The name by which clients know the server. They are told its address.
pub const HOST: &str = "filer.lab.test";
const LIMIT: Duration = Duration::from_secs(60);

/// A realm with the users `ada` and `eve`, whose passwords are their names.
pub struct Realm {
    folder: PathBuf,
    environment: Vec<String>,
    _kdc: Running,
}

impl Realm {
    /// Starts a KDC in a folder of its own. `services`: the server's principals, whose keys are in `keytab`.
    pub fn start(folder: &str, services: &[&str]) -> Result<Self> {
        let folder = process::fresh_folder(folder)?;
        let (port, at) = (ports::free_port()?, folder.display());
        fs::write(
            folder.join("krb5.conf"),
            format!(
                "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n \
                 dns_canonicalize_hostname = false\n udp_preference_limit = 1\n[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
            ),
        )?;
        fs::write(
            folder.join("kdc.conf"),
            format!(
                "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n {REALM} = {{\n  \
                 database_name = {at}/principal\n  key_stash_file = {at}/stash\n  acl_file = {at}/acl\n  \
                 supported_enctypes = aes256-cts-hmac-sha1-96:normal\n }}\n"
            ),
        )?;
        let environment =
            vec![format!("KRB5_CONFIG={at}/krb5.conf"), format!("KRB5_KDC_PROFILE={at}/kdc.conf")];
        let output = run_with(&environment, "kdb5_util", &["create", "-s", "-r", REALM, "-P", "master"])?;
        ensure!(output.status.success(), "kdb5_util: {}", text(&output));
        let words: Vec<&str> =
            environment.iter().map(String::as_str).chain(["krb5kdc", "-n", "-r", REALM]).collect();
        let mut kdc = Running::start("env", &words, Stdio::null(), Stdio::null())?;
        process::wait_for_port(&mut kdc, port, LIMIT)?;
        let realm = Self { folder, environment, _kdc: kdc };
        for user in ["ada", "eve"] {
            realm.kadmin(&format!("add_principal -pw {user} {user}"))?;
        }
        for service in services {
            realm.add_service(service, "keytab")?;
        }
        Ok(realm)
    }

    /// A principal with a random key, which is added to a keytab.
    pub fn add_service(&self, principal: &str, keytab: &str) -> Result<()> {
        self.kadmin(&format!("add_principal -randkey {principal}"))?;
        self.kadmin(&format!("ktadd -k {} -norandkey {principal}", self.at(keytab).display()))
    }

    /// A folder for all users.
    pub fn folder(&self, name: &str) -> Result<()> {
        fs::create_dir(self.at(name))?;
        Ok(fs::set_permissions(self.at(name), std::os::unix::fs::PermissionsExt::from_mode(0o777))?)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn run(&self, program: &str, words: &[&str]) -> Result<Output> {
        run_with(&self.environment, program, words)
    }

    pub fn kadmin(&self, query: &str) -> Result<()> {
        let output = self.run("kadmin.local", &["-r", REALM, "-q", query])?;
        ensure!(output.status.success(), "kadmin: {}", text(&output));
        Ok(())
    }

    /// Gets a fresh ticket of a user.
    pub fn kinit(&self, user: &str) -> Result<()> {
        let password = self.at("password");
        fs::write(&password, format!("{user}\n"))?;
        let (from, cache) = (password.display(), self.cache(user));
        let script = format!("exec kinit -c {cache} {user} < {from}");
        let output = self.run("sh", &["-c", &script])?;
        ensure!(output.status.success(), "kinit: {}", text(&output));
        Ok(())
    }

    /// The cache with a user's tickets.
    pub fn cache(&self, user: &str) -> String {
        format!("FILE:{}", self.at(&format!("cache-{user}")).display())
    }
}

fn text(output: &Output) -> String {
    let Output { stdout, stderr, .. } = output;
    [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

fn run_with(environment: &[String], program: &str, words: &[&str]) -> Result<Output> {
    let all: Vec<&str> =
        environment.iter().map(String::as_str).chain([program]).chain(words.iter().copied()).collect();
    process::output("env", &all, LIMIT)
}
