//! RPCSEC_GSS with tickets of MIT's KDC: `interop/nfs/gss.py`, by python-gssapi. The console's login by a ticket, by curl.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::interop::outcome::{Outcome, Outcomes};
use crate::interop::realm::{HOST, NEEDS, Realm};
use crate::ports;
use crate::process::{self, Running};
use crate::server;

const LIMIT: Duration = Duration::from_secs(120);
const UID: u32 = 61001;
const PYTHON: &str = "/usr/bin/python3";
const GSSAPI: &str = "/usr/share/doc/python3-gssapi";
const SCRIPT: &str = "interop/nfs/gss.py";
const CLIENT: &str = "kerberos";
const CONSOLE: &str = "kerberos: a ticket logs in to the console if the account has `admin`";
const LOG: &str = "kerberos: the log names users, and says why tickets are refused";
const SETTINGS: &str = r#"[server]
listen = ["127.0.0.1"]
kerberos-keytab = "keytab"

[[share]]
name = "files"
path = "files"

[[share]]
name = "private"
path = "private"
[[share.client]]
match = "*"
sec = ["krb5p", "krb5i"]

[[share]]
name = "trusting"
path = "trusting"
[[share.client]]
match = "*"
squash = "none"
"#;

pub fn run(outcomes: &mut Outcomes) {
    let missing = NEEDS.iter().find(|program| process::find(program).is_none()).copied();
    let missing = missing.or((!Path::new(GSSAPI).exists()).then_some("python3-gssapi"));
    if let Some(missing) = missing {
        return outcomes.skip(CLIENT, &format!("{missing} is not installed"));
    }
    if !process::is_root() {
        return outcomes.skip(CLIENT, "users are other users of the host: needs root");
    }
    let result =
        checks(outcomes).map_or_else(|error| Outcome::Fail(format!("{error:#}")), |()| Outcome::Pass);
    outcomes.add(CLIENT, result);
}

fn checks(outcomes: &mut Outcomes) -> Result<()> {
    let realm = Realm::start("interop-nfs-kerberos", &[&format!("nfs/{HOST}"), &format!("HTTP/{HOST}")])?;
    realm.add_service("nfs/client.lab.test", "machine")?;
    for folder in ["files", "private", "trusting"] {
        realm.folder(folder)?;
    }
    for user in ["ada", "eve"] {
        realm.kinit(user)?;
    }
    let api = ports::free_port()?;
    let (_server, port) = serve(&realm, api)?;
    outcomes.add_lines(CLIENT, &client(&realm, port, "ada", &[])?);
    outcomes.add_lines(CLIENT, &client(&realm, port, "eve", &["refused"])?);
    outcomes.run(LOG, &[], || {
        let log = fs::read_to_string(realm.at("state.log"))?;
        for expected in ["user=\"ada@LAB.TEST\"", "user=\"eve@LAB.TEST\"", "the ticket was used before"] {
            ensure!(log.contains(expected), "the log does not have {expected}");
        }
        Ok(())
    });
    outcomes.run(CONSOLE, &["curl"], || {
        let (ada, eve) = (curl(&realm, api, "ada")?, curl(&realm, api, "eve")?);
        ensure!(ada == r#"{"user":"ada"} 200"#, "ada: {ada}");
        ensure!(eve.ends_with(" 403"), "eve: {eve}");
        Ok(())
    });
    Ok(())
}

/// Logs a user in to the console, whose page is of `HTTP/HOST`: what the server says, and the status.
fn curl(realm: &Realm, api: u16, user: &str) -> Result<String> {
    let (cache, place) = (format!("KRB5CCNAME={}", realm.cache(user)), format!("{HOST}:{api}:127.0.0.1"));
    let url = format!("https://{HOST}:{api}/v1/login/negotiate");
    let words =
        ["curl", "-sk", "--max-time", "30", "--resolve", &place, "--negotiate", "-u", ":", "-X", "POST"];
    let more = ["-H", "X-Fourfold-Console: 1", "-w", " %{http_code}", &url];
    let output = realm.run(&cache, &[&words[..], &more].concat())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What the script prints.
fn client(realm: &Realm, port: u16, user: &str, more: &[&str]) -> Result<String> {
    let script = process::root().join(SCRIPT).display().to_string();
    let cache = format!("KRB5CCNAME={}", realm.cache(user));
    let (port, uid, machine) = (port.to_string(), UID.to_string(), realm.at("machine").display().to_string());
    let words = [PYTHON, "-B", &script, &port, &uid, &machine];
    let seconds = LIMIT.as_secs().to_string();
    let limited = ["timeout", &seconds];
    let output = realm.run(&cache, &[&limited[..], &words, more].concat())?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn serve(realm: &Realm, api: u16) -> Result<(Running, u16)> {
    let (port, state, settings) = (ports::free_port()?, realm.at("state"), realm.at("fourfold.toml"));
    fs::write(&settings, SETTINGS)?;
    fs::create_dir_all(&state)?;
    server::add_user_with(&state, "ada", "local", UID, &["--admin"])?;
    let ports = ["--nfs-port", &port.to_string(), "--smb-port", "off", "--afp-port", "off"];
    let api = api.to_string();
    let more = ["--iscsi-port", "off", "--bonjour", "off", "--portmap-port", "off", "--admin-port", &api];
    Ok((server::ours_with_settings(&settings, &state, &[&ports[..], &more].concat())?, port))
}
