//! Whether the people whom shares let in may do there what the shares promise, and whether team folders are on the disk what their
//! roles say.

use std::sync::Arc;

use admin::{Settings, ShareSettings};
use vfs::backend::host::{Host, HostOptions};
use vfs::{Volume, VolumeOptions};

use super::DoctorFinding;
use crate::commands::rights::{TopRights, top};
use crate::people::{accounts, groups, roles};
use crate::serve::current::Current;

/// People that a line names.
const MOST_NAMED: usize = 4;

/// Looks at the folder of each share.
pub(super) fn look(settings: &Settings) -> Vec<DoctorFinding> {
    let Ok(accounts) = accounts::read(&settings.server.state, settings) else { return Vec::new() };
    let settings = groups::resolved_for(settings.clone(), &accounts);
    let current = Current { settings, accounts, kerberos: None, logons: None };
    let shares = current.settings.shares.iter().filter(|share| !share.homes && !share.is_in_store());
    shares.flat_map(|share| of_share(share, &current)).collect()
}

fn of_share(share: &ShareSettings, current: &Current) -> Vec<DoctorFinding> {
    let options = HostOptions { read_only: true, ..HostOptions::default() };
    let Ok(host) = Host::open(&share.path, &options) else { return Vec::new() };
    let volume = Volume::new(Arc::new(host), VolumeOptions::default());
    volume.set_roles(roles::of(share));
    let Ok(TopRights { refused, deviations }) = top(share, &volume, current) else { return Vec::new() };
    let about = format!("share {}", share.name);
    let mut findings = Vec::new();
    if let Some((_, why)) = refused.first() {
        let names: Vec<&str> = refused.iter().take(MOST_NAMED).map(|(name, _)| name.as_str()).collect();
        let more = if refused.len() > names.len() { " and others" } else { "" };
        let found = format!("{}{more} may do less there than it promises: {why}", names.join(", "));
        findings.push(match share.team {
            Some(_) => {
                let mend = format!("`fourfold rights show {}` says more", share.name);
                DoctorFinding::problem(&*about, found, mend)
            }
            // It may be meant so: modes say who reads and who writes there.
            None => {
                let name = &share.name;
                let mend = format!(
                    "`fourfold set editors=NAMES {name}` makes it a folder that these people use together"
                );
                DoctorFinding::warning(&*about, found, mend)
            }
        });
    }
    if !deviations.is_empty() {
        let found = format!("local programs do not have the rights of its roles: {}", deviations.join("; "));
        let mend = format!("`sudo fourfold rights reset {} --recursive`", share.name);
        findings.push(DoctorFinding::warning(&*about, found, mend));
    }
    if findings.is_empty() && share.team.is_some() {
        findings.push(DoctorFinding::fine(about, "its roles are true for all who have one"));
    }
    findings
}
