//! smbclient with tickets of MIT's KDC, which is started here.

use std::fs;
use std::process::Output;

use anyhow::{Result, ensure};

use crate::interop::outcome::Outcomes;
use crate::interop::realm::{HOST, NEEDS, Realm};
use crate::ports;
use crate::process::{self, Running};
use crate::server;

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
    if let Some(missing) = NEEDS.iter().chain(&["smbclient"]).find(|program| process::find(program).is_none())
    {
        ALL.iter().for_each(|name| outcomes.skip(name, &format!("{missing} is not installed")));
        return Ok(());
    }
    if !process::is_root() {
        ALL.iter().for_each(|name| outcomes.skip(name, "users are other users of the host: needs root"));
        return Ok(());
    }
    let realm = Realm::start("interop-smb-kerberos", &[&format!("cifs/{HOST}")])?;
    realm.folder("files")?;
    fs::write(realm.at("smb.conf"), "[global]\n")?;
    realm.kinit("ada")?;
    let (_server, port) = serve(&realm)?;
    let as_ada = |more: &[&str], command: &str| smbclient(&realm, port, "ada", more, command);
    outcomes.run(TICKET, &[], || {
        fs::write(realm.at("local"), "content")?;
        worked(&as_ada(&[], &format!("put {} stored", realm.at("local").display()))?)?;
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(realm.at("files/stored"))?);
        ensure!(owner == UID, "the file belongs to {owner}");
        ensure!(log(&realm)?.contains("method=\"Kerberos\""), "the log does not name Kerberos");
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
        refused(&smbclient(&realm, port, "eve", &[], "ls")?)?;
        ensure!(log(&realm)?.contains("user=\"eve@LAB.TEST\""), "the log does not name the principal");
        Ok(())
    });
    outcomes.run(OTHER_KEY, &[], || {
        realm.kadmin(&format!("change_password -randkey cifs/{HOST}"))?;
        realm.kinit("ada")?;
        refused(&smbclient(&realm, port, "ada", &[], "ls")?)?;
        ensure!(
            log(&realm)?.contains("the keytab has another version of the key"),
            "the log does not say what is wrong"
        );
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

fn smbclient(realm: &Realm, port: u16, user: &str, more: &[&str], command: &str) -> Result<Output> {
    let (unc, port, configuration) = (format!("//{HOST}/files"), port.to_string(), realm.at("smb.conf"));
    let cache = format!("KRB5CCNAME={}", realm.cache(user));
    let configuration = configuration.to_string_lossy();
    let mut words = vec!["smbclient", &*unc, "-s", &*configuration, "-I", "127.0.0.1", "-p", &port];
    words.push("--use-kerberos=required");
    words.extend(more);
    words.extend(["-c", command]);
    realm.run(&cache, &words)
}

fn serve(realm: &Realm) -> Result<(Running, u16)> {
    let (port, state, settings) = (ports::free_port()?, realm.at("state"), realm.at("fourfold.toml"));
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
fn log(realm: &Realm) -> Result<String> {
    Ok(fs::read_to_string(realm.at("state.log"))?)
}
