//! smbclient with tickets of MIT's KDC, which is started here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::interop::outcome::Outcomes;
use crate::process::{self, Running};
use crate::server;

const NEEDS: &[&str] = &["smbclient", "krb5kdc", "kdb5_util", "kadmin.local", "kinit"];
const REALM: &str = "LAB.TEST";
/// The name by which clients know the server. They are told its address.
const HOST: &str = "filer.lab.test";
const LIMIT: Duration = Duration::from_secs(60);
const UID: u32 = 61001;

const TICKET: &str = "kerberos: a ticket logs in, and files belong to its user";
const DIALECTS: &str = "kerberos: a ticket logs in with SMB 2.1 and 3.0.2";
const SEALED: &str = "kerberos: keys of AES-256 are made of the whole session key";
const PASSWORD: &str = "kerberos: passwords go on to work";
const UNKNOWN: &str = "kerberos: a user of the realm without an account is refused, and the log says why";
const OTHER_KEY: &str =
    "kerberos: a ticket for a newer key than the keytab's is refused, and the log says why";
const ALL: [&str; 6] = [TICKET, DIALECTS, SEALED, PASSWORD, UNKNOWN, OTHER_KEY];

pub fn run(outcomes: &mut Outcomes) -> Result<()> {
    if let Some(missing) = NEEDS.iter().find(|program| process::find(program).is_none()) {
        ALL.iter().for_each(|name| outcomes.skip(name, &format!("{missing} is not installed")));
        return Ok(());
    }
    if !process::is_root() {
        ALL.iter().for_each(|name| outcomes.skip(name, "users are other users of the host: needs root"));
        return Ok(());
    }
    let realm = Realm::start()?;
    realm.kinit("ada")?;
    let (_server, port) = realm.serve()?;
    let as_ada = |more: &[&str], command: &str| realm.smbclient(port, "ada", more, command);
    outcomes.run(TICKET, &[], || {
        fs::write(realm.at("local"), "content")?;
        worked(&as_ada(&[], &format!("put {} stored", realm.at("local").display()))?)?;
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(realm.at("files/stored"))?);
        ensure!(owner == UID, "the file belongs to {owner}");
        ensure!(realm.log()?.contains("method=\"Kerberos\""), "the log does not name Kerberos");
        Ok(())
    });
    outcomes.run(DIALECTS, &[], || {
        for dialect in ["SMB2_10", "SMB3_02"] {
            worked(&as_ada(&["-m", dialect], "ls")?)?;
        }
        Ok(())
    });
    outcomes.run(SEALED, &[], || {
        let only = "--option=client smb3 encryption algorithms=AES-256-GCM";
        worked(&as_ada(&["--client-protection=encrypt", only], "ls")?)
    });
    outcomes.run(PASSWORD, &[], || {
        let (unc, port) = (format!("//{HOST}/files"), port.to_string());
        let words =
            [&*unc, "-I", "127.0.0.1", "-p", &port, "-U", "ada%local", "--use-kerberos=off", "-c", "ls"];
        worked(&realm.run("smbclient", &words)?)
    });
    outcomes.run(UNKNOWN, &[], || {
        realm.kinit("eve")?;
        refused(&realm.smbclient(port, "eve", &[], "ls")?)?;
        ensure!(realm.log()?.contains("user=\"eve@LAB.TEST\""), "the log does not name the principal");
        Ok(())
    });
    outcomes.run(OTHER_KEY, &[], || {
        realm.kadmin(&format!("change_password -randkey cifs/{HOST}"))?;
        realm.kinit("ada")?;
        refused(&realm.smbclient(port, "ada", &[], "ls")?)?;
        ensure!(realm.log()?.contains("the keytab has no key"), "the log does not say what is wrong");
        Ok(())
    });
    Ok(())
}

fn worked(output: &Output) -> Result<()> {
    let text = text(output);
    ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{}", text.trim());
    Ok(())
}

fn refused(output: &Output) -> Result<()> {
    let text = text(output);
    ensure!(text.contains("NT_STATUS_LOGON_FAILURE"), "not refused: {}", text.trim());
    Ok(())
}

fn text(output: &Output) -> String {
    let Output { stdout, stderr, .. } = output;
    [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// A realm with the users `ada` and `eve`, and the keytab of a server.
struct Realm {
    folder: PathBuf,
    environment: Vec<String>,
    _kdc: Running,
}

impl Realm {
    fn start() -> Result<Self> {
        let folder = process::fresh_folder("interop-smb-kerberos")?;
        let (port, at) = (process::free_port()?, folder.display());
        fs::create_dir(folder.join("files"))?;
        fs::set_permissions(folder.join("files"), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
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
        fs::write(folder.join("smb.conf"), "[global]\n")?;
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
        realm.kadmin(&format!("add_principal -randkey cifs/{HOST}"))?;
        realm.kadmin(&format!("ktadd -k {} -norandkey cifs/{HOST}", realm.at("keytab").display()))?;
        Ok(realm)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<Output> {
        run_with(&self.environment, program, words)
    }

    fn kadmin(&self, query: &str) -> Result<()> {
        let output = self.run("kadmin.local", &["-r", REALM, "-q", query])?;
        ensure!(output.status.success(), "kadmin: {}", text(&output));
        Ok(())
    }

    /// Gets a fresh ticket of a user, whose password is the name.
    fn kinit(&self, user: &str) -> Result<()> {
        let password = self.at("password");
        fs::write(&password, format!("{user}\n"))?;
        let (from, cache) = (password.display(), self.cache(user));
        let script = format!("exec kinit -c {cache} {user} < {from}");
        let output = self.run("sh", &["-c", &script])?;
        ensure!(output.status.success(), "kinit: {}", text(&output));
        Ok(())
    }

    fn cache(&self, user: &str) -> String {
        format!("FILE:{}", self.at(&format!("cache-{user}")).display())
    }

    fn smbclient(&self, port: u16, user: &str, more: &[&str], command: &str) -> Result<Output> {
        let (unc, port, configuration) = (format!("//{HOST}/files"), port.to_string(), self.at("smb.conf"));
        let cache = format!("KRB5CCNAME={}", self.cache(user));
        let configuration = configuration.to_string_lossy();
        let mut words = vec!["smbclient", &*unc, "-s", &*configuration, "-I", "127.0.0.1", "-p", &port];
        words.push("--use-kerberos=required");
        words.extend(more);
        words.extend(["-c", command]);
        self.run(&cache, &words)
    }

    fn serve(&self) -> Result<(Running, u16)> {
        let (port, state, settings) = (process::free_port()?, self.at("state"), self.at("fourfold.toml"));
        let text = "[server]\nlisten = [\"127.0.0.1\"]\nkerberos-keytab = \"keytab\"\n\n[[share]]\nname = \"files\"\npath = \"files\"\n";
        fs::write(&settings, text)?;
        fs::create_dir_all(&state)?;
        server::add_user(&state, "ada", "local", UID)?;
        let ports = ["--smb-port", &port.to_string(), "--nfs-port", "off", "--afp-port", "off"];
        let more = ["--iscsi-port", "off", "--bonjour", "off"];
        let running = server::ours_with_settings(&settings, &state, &[&ports[..], &more].concat())?;
        Ok((running, port))
    }

    /// The server's log.
    fn log(&self) -> Result<String> {
        Ok(fs::read_to_string(Path::new(&self.folder).join("state.log"))?)
    }
}

fn run_with(environment: &[String], program: &str, words: &[&str]) -> Result<Output> {
    let all: Vec<&str> =
        environment.iter().map(String::as_str).chain([program]).chain(words.iter().copied()).collect();
    process::output("env", &all, LIMIT)
}
