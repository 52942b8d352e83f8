//! What the directory says of users after they have come, and a directory that does not answer.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::controller::{Controller, HOST, REALM, SERVER, text};
use super::{DomainPlace, SETTINGS};
use crate::interop::outcome::Outcomes;
use crate::{ports, process, server};

/// How soon the sessions of a disabled user end after SIGHUP, docs/domain.md.
const SOON: Duration = Duration::from_secs(15);

pub fn checks(place: &DomainPlace, outcomes: &mut Outcomes) {
    outcomes.run("domain-ids rfc2307: numbers of the directory, which is away", &[], || numbers(place));
    outcomes
        .run("smb: the session of a user ends when the directory disables the user", &[], || ended(place));
}

/// A second server, with what the first one has kept. The directory cannot be reached while it starts and serves.
fn numbers(place: &DomainPlace) -> Result<()> {
    let domain = &place.domain;
    let (state, settings) = (domain.at("state2"), domain.at("numbers.toml"));
    fs::create_dir(&state)?;
    for file in ["domain-machine.toml", "domain.keytab", "domain-ids.toml", "domain-names.txt"] {
        fs::copy(domain.at("state").join(file), state.join(file)).context(file)?;
    }
    fs::create_dir(domain.at("numbers"))?;
    fs::set_permissions(domain.at("numbers"), fs::Permissions::from_mode(0o777))?;
    let text = SETTINGS
        .replace("domain = ", "domain-ids = \"rfc2307\"\ndomain = ")
        .replace("path = \"files\"", "path = \"numbers\"");
    fs::write(&settings, text)?;
    let port = ports::free_port()?.to_string();
    let ports = ["--listen", SERVER, "--smb-port", &port, "--nfs-port", "0", "--bonjour", "off"];
    domain.away(|| {
        let _server = server::ours_with_settings(&settings, &state, &ports)?;
        let local = domain.at("local").display().to_string();
        let put = place.client("smbclient", "alice", &["-p", &port, "-c", &format!("put {local} mine")])?;
        ensure!(put.status.success(), "{}", super::text(&put).trim());
        let stored = fs::metadata(domain.at("numbers/mine"))?;
        ensure!((stored.uid(), stored.gid()) == (10_001, 10_050), "{} {}", stored.uid(), stored.gid());
        let bob = place.client("smbclient", "bob", &["-p", &port, "-c", "ls"])?;
        ensure!(!bob.status.success(), "bob, who has no number, may enter");
        let log = fs::read_to_string(domain.at("state2.log"))?;
        ensure!(log.contains("uidNumber"), "the log does not say what bob lacks");
        Ok(())
    })
}

/// Bob's client is connected when he is disabled.
fn ended(place: &DomainPlace) -> Result<()> {
    let domain = &place.domain;
    let (configuration, unc) = (domain.at("smb.conf").display().to_string(), format!("//{HOST}/files"));
    let login = format!("bob@{REALM}%{}", Controller::password("bob")); // else it asks, where commands come from
    let mut client = Command::new("smbclient")
        .args([&*unc, "-s", &configuration, "--use-kerberos=required", "-U", &login])
        .env("KRB5_CONFIG", domain.at("krb5.conf"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut commands = client.stdin.take().context("no input")?;
    let done = end_session(place, &mut commands);
    _ = commands.write_all(b"ls\nquit\n"); // a client that has noticed it has ended
    drop(commands);
    let said = client.wait_with_output()?;
    let said = text(&said);
    done.with_context(|| said.clone())?;
    let is_told = ["NT_STATUS_USER_SESSION_DELETED", "disconnected"].iter().any(|text| said.contains(text));
    ensure!(is_told, "{said}");
    Ok(())
}

fn end_session(place: &DomainPlace, commands: &mut impl Write) -> Result<()> {
    let domain = &place.domain;
    let state = domain.at("state").display().to_string();
    let program = server::binary().display().to_string();
    let has_session = || -> Result<bool> {
        let status = domain.run(&program, &["status", "--state", &state])?;
        Ok(text(&status).contains("bob"))
    };
    commands.write_all(b"ls\n")?;
    until(Duration::from_secs(10), "bob has no session", &has_session)?;
    domain.disable("bob")?;
    process::run("kill", &["-HUP", &place.server.pid().to_string()])?;
    until(SOON, "bob's session goes on", &|| Ok(!has_session()?))
}

fn until(limit: Duration, what: &str, is_so: &dyn Fn() -> Result<bool>) -> Result<()> {
    let since = Instant::now();
    while since.elapsed() < limit {
        if is_so()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    bail!("{what}")
}
