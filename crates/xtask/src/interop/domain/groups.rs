//! Shares that name groups of the domain, and homes of its users.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::controller::{Controller, HOST, text};
use super::{BASE, DomainPlace};
use crate::interop::outcome::Outcomes;

/// How soon the groups of the directory are known after the start.
const SOON: Duration = Duration::from_secs(15);

/// The shares, whose folders are made: alice is in `outer` by `engineers`, and bob in `painters`.
pub fn shares(domain: &Controller) -> Result<String> {
    for folder in ["team", "paint", "lost", "homes"] {
        fs::create_dir(domain.at(folder))?;
        let mode = if folder == "homes" { 0o755 } else { 0o777 };
        fs::set_permissions(domain.at(folder), fs::Permissions::from_mode(mode))?;
    }
    let share = |name: &str, path: &str, more: &str| {
        format!("\n[[share]]\nname = \"{name}\"\npath = \"{path}\"\n{more}\n")
    };
    Ok([
        share("team", "team", "groups = ['LAB\\Outer']"),
        share("paint", "paint", &format!("groups = [\"{}\"]", domain.sid("painters")?)),
        share("lost", "lost", "groups = ['LAB\\no-such-group']"),
        share("homes", "homes/%U", "make-homes = true"),
    ]
    .concat())
}

pub fn checks(place: &DomainPlace, outcomes: &mut Outcomes) {
    outcomes.run("smb: a share for a group of the domain, by its name", &[], || by_name(place));
    outcomes.run("smb: a share for a group of the domain, by its SID", &[], || {
        ensure!(enters(place, "bob", "paint")?, "bob may not enter");
        ensure!(!enters(place, "alice", "paint")?, "alice may enter");
        Ok(())
    });
    outcomes.run("smb: a group that the domain does not have admits no user", &[], || {
        ensure!(!enters(place, "alice", "lost")?, "alice may enter");
        let log = fs::read_to_string(place.domain.at("state.log"))?;
        ensure!(log.contains("no-such-group"), "the log does not name it");
        Ok(())
    });
    outcomes.run("smb: a user of the domain has a home", &[], || home(place));
}

/// The directory is asked after the start.
fn by_name(place: &DomainPlace) -> Result<()> {
    let since = Instant::now();
    while !enters(place, "alice", "team")? {
        ensure!(since.elapsed() < SOON, "alice may not enter");
        std::thread::sleep(Duration::from_millis(500));
    }
    ensure!(!enters(place, "bob", "team")?, "bob may enter");
    Ok(())
}

fn home(place: &DomainPlace) -> Result<()> {
    ensure!(enters(place, "alice", "alice")? && enters(place, "bob", "homes")?, "there are no homes");
    ensure!(!enters(place, "bob", "alice")?, "bob may enter alice's");
    for user in ["alice", "bob"] {
        let found = fs::metadata(place.domain.at("homes").join(user))?;
        let expected = BASE + place.domain.rid(user)?;
        ensure!((found.uid(), found.mode() & 0o7777) == (expected, 0o700), "{user}: uid {}", found.uid());
    }
    Ok(())
}

/// Whether a user may list a share.
fn enters(place: &DomainPlace, user: &str, share: &str) -> Result<bool> {
    let cache = format!("KRB5CCNAME={}", place.domain.cache(user));
    let (configuration, unc) =
        (place.domain.at("smb.conf").display().to_string(), format!("//{HOST}/{share}"));
    let words = ["smbclient", &unc, "-c", "ls", "-s", &configuration, "--use-kerberos=required"];
    let output = place.domain.run(&cache, &words)?;
    let said = text(&output);
    let is_refused =
        ["NT_STATUS_ACCESS_DENIED", "NT_STATUS_BAD_NETWORK_NAME"].iter().any(|one| said.contains(one));
    ensure!(output.status.success() || is_refused, "{}", said.trim());
    Ok(output.status.success() && !is_refused)
}
