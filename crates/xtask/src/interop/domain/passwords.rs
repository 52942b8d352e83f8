//! Users of the domain without Kerberos: a domain controller verifies their passwords.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::controller::{Controller, HOST, text};
use super::{BASE, DomainPlace, SETTINGS};
use crate::interop::outcome::Outcomes;
use crate::{process, server};

/// How long a first login waits at most for a controller that is away, docs/domain.md; on a busy machine.
const FIRST: Duration = Duration::from_secs(20);
/// How long a later one takes on a busy machine, and a login of an account of the server. They wait for nothing.
const LATER: Duration = Duration::from_secs(8);
/// In which time the log takes another login of a place.
const LINE: Duration = Duration::from_millis(3_500);
/// How often a login is made again whose line the log may have left out.
const TRIES: usize = 4;
/// How soon a controller that has come back is asked again.
const BACK: Duration = Duration::from_secs(30);

pub fn checks(place: &DomainPlace, outcomes: &mut Outcomes) {
    let mut run = |name: &str, check: &dyn Fn() -> Result<()>| outcomes.run(name, &[], check);
    run("ntlm: a user of the domain acts with the ids of the SID and of nested groups", &|| identity(place));
    run("ntlm: signed and encrypted sessions have the key of the domain controller", &|| protected(place));
    run("ntlm: the domain as clients write it", &|| domains(place));
    run("ntlm: a wrong password, and a user that is disabled or must choose a password", &|| refused(place));
    run("ntlm: afp: a password by DHX2", &|| afp(place));
    run("ntlm: domain status, doctor and status tell of the channel", &|| told(place));
    run("ntlm: the controller is away, and comes back", &|| away(place));
    run("ntlm: `domain-ntlm = false`", &|| off(place));
}

fn smbclient(place: &DomainPlace, login: &str, words: &[&str]) -> Result<Output> {
    let (configuration, unc) = (place.domain.at("smb.conf").display().to_string(), format!("//{HOST}/files"));
    let fixed = [&*unc, "-s", &configuration, "--use-kerberos=off", "-U", login];
    place.domain.run("smbclient", &[&fixed, words].concat())
}

fn works(place: &DomainPlace, login: &str, words: &[&str]) -> Result<String> {
    let output = smbclient(place, login, words)?;
    let text = text(&output);
    ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{login}: {}", text.trim());
    Ok(text)
}

fn fails(place: &DomainPlace, login: &str, status: &str) -> Result<()> {
    let said = text(&smbclient(place, login, &["-c", "ls"])?);
    ensure!(said.contains(status), "{login}: no {status}: {}", said.trim());
    Ok(())
}

/// Whether the log has a text after a login, which may come some time after the answer. If it does not, the login is made again: beyond
/// a burst, the log takes one login of a place in three seconds.
pub fn logged(place: &DomainPlace, text: &str, log_in: &dyn Fn() -> Result<()>) -> Result<()> {
    for _ in 0..TRIES {
        let since = Instant::now();
        while since.elapsed() < LINE {
            if fs::read_to_string(place.domain.at("state.log"))?.contains(text) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        log_in()?;
    }
    bail!("the log does not say: {text}");
}

fn of(user: &str) -> String {
    format!("LAB\\{user}%{}", Controller::password(user))
}

/// Bob's file can be read by `outer`, in which alice is by another group.
fn identity(place: &DomainPlace) -> Result<()> {
    let domain = &place.domain;
    works(place, &of("alice"), &["-c", &format!("put {} by-password", domain.at("local").display())])?;
    let stored = fs::metadata(domain.at("files/by-password"))?;
    let expected = (BASE + domain.rid("alice")?, BASE + domain.rid("Domain_Users")?);
    ensure!((stored.uid(), stored.gid()) == expected, "{} {}", stored.uid(), stored.gid());
    works(place, &of("alice"), &["-c", "get bobs /dev/null"])?;
    let carol = smbclient(place, &of("carol"), &["-c", "get bobs /dev/null"])?;
    ensure!(text(&carol).contains("NT_STATUS_ACCESS_DENIED"), "carol reads it: {}", text(&carol).trim());
    logged(place, "user=\"alice\" method=\"NTLMv2\"", &|| works(place, &of("alice"), &["-c", "ls"]).map(drop))
}

fn protected(place: &DomainPlace) -> Result<()> {
    for protection in ["sign", "encrypt"] {
        works(place, &of("alice"), &[&format!("--client-protection={protection}"), "-c", "ls"])?;
    }
    for version in ["SMB2_02", "SMB2_10", "SMB3_00", "SMB3_11"] {
        works(place, &of("alice"), &["-m", version, "--client-protection=sign", "-c", "ls"])?;
    }
    Ok(())
}

/// A principal name, a DNS name, lower case; and an account of the server whatever domain is named.
fn domains(place: &DomainPlace) -> Result<()> {
    let password = Controller::password("alice");
    for user in ["alice@lab.test", "lab.test\\alice", "lab\\ALICE"] {
        works(place, &format!("{user}%{password}"), &["-c", "ls"])?;
    }
    for user in ["local", "LAB\\local", "ELSEWHERE\\local"] {
        works(place, &format!("{user}%local"), &["-c", "ls"])?;
    }
    fails(place, &format!("FILER\\alice%{password}"), "NT_STATUS_LOGON_FAILURE")?;
    fails(place, &format!("ELSEWHERE\\alice%{password}"), "NT_STATUS_LOGON_FAILURE")
}

fn refused(place: &DomainPlace) -> Result<()> {
    place.domain.tool(&[
        "user",
        "setpassword",
        "erin",
        "--newpassword=Erin-pw2!",
        "--must-change-at-next-login",
    ])?;
    let dave = of("dave");
    for (login, status, line) in [
        (
            "LAB\\alice%wrong",
            "NT_STATUS_LOGON_FAILURE",
            "the domain controller says that the password is wrong",
        ),
        (
            "LAB\\zoe%wrong",
            "NT_STATUS_LOGON_FAILURE",
            "there is no such account, neither here nor in the domain",
        ),
        (&dave, "NT_STATUS_ACCOUNT_DISABLED", "the user is disabled in the domain"),
        (
            "LAB\\erin%Erin-pw2!",
            "NT_STATUS_PASSWORD_MUST_CHANGE",
            "the user must choose a new password in the domain first",
        ),
    ] {
        let log_in = || fails(place, login, status);
        log_in()?;
        logged(place, line, &log_in)?;
    }
    Ok(())
}

/// The client of `fourfold` logs in by DHX2.
fn afp(place: &DomainPlace) -> Result<()> {
    let domain = &place.domain;
    let program = server::binary().display().to_string();
    let (file, url) = (domain.at("afp-password"), format!("afp://alice@127.0.0.1:{}/files", place.afp));
    let copy = |password: &str, name: &str| -> Result<Output> {
        fs::write(&file, format!("{password}\n"))?;
        let (local, file) = (domain.at("local").display().to_string(), file.display().to_string());
        domain.run(&program, &["cp", &local, &format!("{url}/{name}"), "--password-file", &file])
    };
    let log_in = || {
        let done = copy(&Controller::password("alice"), "by DHX2")?;
        ensure!(done.status.success(), "{}", text(&done).trim());
        Ok(())
    };
    log_in()?;
    let (owner, expected) = (fs::metadata(domain.at("files/by DHX2"))?.uid(), BASE + domain.rid("alice")?);
    ensure!(owner == expected, "the file is of {owner}, not {expected}");
    let wrong = copy("wrong", "wrong")?;
    ensure!(!wrong.status.success(), "a wrong password is taken");
    logged(place, "method=\"DHX2\"", &|| {
        fs::remove_file(domain.at("files/by DHX2"))?;
        log_in()
    })
}

fn fourfold(place: &DomainPlace, words: &[&str]) -> Result<Output> {
    let program = server::binary().display().to_string();
    let state = place.domain.at("state").display().to_string();
    place.domain.run(&program, &[words, &["--state", &state]].concat())
}

fn told(place: &DomainPlace) -> Result<()> {
    let said = text(&fourfold(place, &["domain", "status", "--json"])?);
    ensure!(said.contains("\"passwords\": \"10.99.0.1\""), "{said}");
    let said = text(&fourfold(place, &["status"])?);
    ensure!(said.contains("domain lab.test, 10.99.0.1 verifies passwords"), "{said}");
    let settings = place.domain.at("fourfold.toml").display().to_string();
    let said = text(&fourfold(place, &["doctor", "--all", "--config", &settings])?);
    ensure!(said.contains("10.99.0.1 verifies those of users of lab.test"), "{said}");
    Ok(())
}

fn timed(limit: Duration, what: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let since = Instant::now();
    work()?;
    ensure!(since.elapsed() < limit, "{what} took {:?}", since.elapsed());
    Ok(())
}

fn away(place: &DomainPlace) -> Result<()> {
    place.domain.away(|| {
        let refused = || fails(place, &of("alice"), "NT_STATUS_NO_LOGON_SERVERS");
        timed(FIRST, "the first refusal", refused)?;
        timed(LATER, "the next refusal", refused)?;
        timed(LATER, "a login of an account", || works(place, "local%local", &["-c", "ls"]).map(drop))?;
        let said = text(&fourfold(place, &["status"])?);
        ensure!(said.contains("no controller verifies passwords"), "{said}");
        Ok(())
    })?;
    let since = Instant::now();
    while let Err(error) = works(place, &of("alice"), &["-c", "ls"]) {
        ensure!(since.elapsed() < BACK, "not after {BACK:?}: {error:#}");
        std::thread::sleep(Duration::from_millis(500));
    }
    let log = fs::read_to_string(place.domain.at("state.log"))?;
    ensure!(
        log.contains("no domain controller verifies passwords"),
        "the log does not tell that it was away"
    );
    Ok(())
}

fn off(place: &DomainPlace) -> Result<()> {
    let settings = place.domain.at("fourfold.toml");
    let reload = |text: &str| -> Result<()> {
        fs::write(&settings, text)?;
        process::run("kill", &["-HUP", &place.server.pid().to_string()])
    };
    reload(&SETTINGS.replace("domain = ", "domain-ntlm = false\ndomain = "))?;
    let since = Instant::now();
    while let Err(error) = fails(place, &of("alice"), "NT_STATUS_LOGON_FAILURE") {
        ensure!(since.elapsed() < BACK, "{error:#}");
        std::thread::sleep(Duration::from_millis(200));
    }
    place.smbclient("alice", "ls")?; // with a ticket
    reload(SETTINGS)?;
    let since = Instant::now();
    while let Err(error) = works(place, &of("alice"), &["-c", "ls"]) {
        ensure!(since.elapsed() < BACK, "{error:#}");
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}
