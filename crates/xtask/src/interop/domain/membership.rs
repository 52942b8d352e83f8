//! `fourfold domain`: joining, a new password, and leaving.

use std::fs;
use std::process::Output;

use anyhow::{Result, ensure};

use super::DomainPlace;
use super::controller::{Controller, text};
use crate::interop::outcome::Outcomes;
use crate::server;

/// Before the server is started: it joins, and has no keytab of its own.
pub fn join(domain: &Controller) -> Result<()> {
    let words = ["join", "lab.test", "--user", "administrator", "--host", super::HOST, "--json"];
    let output = fourfold(domain, &words, "administrator")?;
    ensure!(output.status.success(), "{}", text(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = domain.sid("alice")?.rsplit_once('-').map_or("", |(domain, _)| domain);
    ensure!(said.contains("FILER$") && said.contains(expected), "{said}");
    Ok(())
}

/// A wrong password, and a domain that is not there.
pub fn refused(domain: &Controller) -> Result<()> {
    fs::write(domain.at("wrong"), "wrong\n")?;
    let file = domain.at("wrong").display().to_string();
    let words = ["join", "lab.test", "--user", "administrator", "--password-file", &file];
    let output = run(domain, &words)?;
    ensure!(output.status.code() == Some(1) && text(&output).contains("cannot log in"), "{}", text(&output));
    let words = ["join", "nowhere.test", "--user", "administrator", "--password-file", &file];
    let output = run(domain, &words)?;
    ensure!(output.status.code() == Some(1), "{}", text(&output));
    Ok(())
}

/// With users logged in.
pub fn checks(place: &DomainPlace, outcomes: &mut Outcomes) {
    outcomes.run("domain status: the account of the server logs in", &[], || {
        let output = run(&place.domain, &["status", "--json"])?;
        let said = text(&output);
        ensure!(output.status.success() && said.contains("\"works\": true"), "{said}");
        ensure!(said.contains("dc1.lab.test"), "{said}");
        Ok(())
    });
    outcomes.run("domain renew: tickets for the old and the new key are taken", &[], || {
        let output = run(&place.domain, &["renew"])?;
        ensure!(output.status.success(), "{}", text(&output));
        place.smbclient("alice", "ls")?;
        place.domain.kinit("alice")?;
        place.smbclient("alice", "ls")?;
        let status = run(&place.domain, &["status"])?;
        ensure!(status.status.success(), "{}", text(&status));
        Ok(())
    });
    outcomes.run("domain join: an account that exists is taken over", &[], || {
        join(&place.domain)?;
        place.domain.kinit("alice")?;
        place.smbclient("alice", "ls").map(|_| ())
    });
    outcomes.run("domain leave: the account and the keys are gone", &[], || {
        let output = fourfold(&place.domain, &["leave", "--user", "administrator"], "administrator")?;
        ensure!(output.status.success(), "{}", text(&output));
        ensure!(!place.domain.at("state/domain.keytab").exists(), "the keys are still there");
        let status = run(&place.domain, &["status"])?;
        ensure!(
            status.status.code() == Some(1) && text(&status).contains("in no domain"),
            "{}",
            text(&status)
        );
        Ok(())
    });
}

/// `fourfold domain` with the password of a user.
fn fourfold(domain: &Controller, words: &[&str], user: &str) -> Result<Output> {
    fs::write(domain.at("password"), Controller::password(user) + "\n")?;
    let file = domain.at("password").display().to_string();
    run(domain, &[words, &["--password-file", &file]].concat())
}

fn run(domain: &Controller, words: &[&str]) -> Result<Output> {
    let (program, state) = (server::binary().display().to_string(), domain.at("state").display().to_string());
    domain.run(&program, &[&["domain"], words, &["--state", &state]].concat())
}
