//! Changes that are refused over the network for every user: sharing a system folder, or acting as a user or group of the
//! system.

use std::path::{Path, PathBuf};

use auth::{IdRange, UnixAccounts};

use super::diagnostic::Findings;
use super::model::{Settings, ShareSettings};
use super::roots::Roots;
use super::section::Section;

/// Refuses what these settings have and those before did not have.
pub(super) fn check(before: &Settings, after: &Settings) -> Result<(), String> {
    check_paths(before, after)?;
    let (had, has) = (lowest_ids(before), lowest_ids(after));
    let lowest = before.server.host_min_uid;
    let fresh = has.iter().find(|(what, id)| *id < lowest && !had.contains(&(what.clone(), *id)));
    match fresh {
        None => Ok(()),
        Some((what, id)) => Err(format!(
            "{what} would be {id}, a user or group of the system (below `host-min-uid`, {lowest}): only a command on the server \
             does that"
        )),
    }
}

impl Settings {
    /// Refuses a folder that a change over the network may not share: one outside of `share-roots` and of the shares, and a
    /// system folder.
    ///
    /// # Errors
    /// It may not be shared, or is not there; the text says why.
    pub fn check_shareable(&self, folder: &Path) -> Result<(), String> {
        let shares = folders(self);
        Roots { roots: &self.server.share_roots, shares: &shares, state: &self.server.state }.check(folder)
    }
}

fn shares(settings: &Settings) -> impl Iterator<Item = &ShareSettings> {
    settings.shares.iter().chain(&settings.absent)
}

/// The folders of shares on this host.
fn folders(settings: &Settings) -> Vec<PathBuf> {
    shares(settings).filter(|share| !share.is_in_store()).map(|share| share.path.clone()).collect()
}

fn check_paths(before: &Settings, after: &Settings) -> Result<(), String> {
    let paths: Vec<_> = shares(before).map(|share| (&share.path, share.is_in_store())).collect();
    let (of_host, state) = (folders(before), &before.server.state);
    let roots = Roots { roots: &before.server.share_roots, shares: &of_host, state };
    for share in shares(after).filter(|share| !paths.contains(&(&share.path, share.is_in_store()))) {
        if share.is_in_store() {
            return Err(format!(
                "the folder of {}, which is in a `store`, is changed on the server only",
                share.name
            ));
        }
        roots.check(&share.path)?;
    }
    Ok(())
}

/// The numbers of users and groups that the settings give anybody, with what gives them.
fn lowest_ids(settings: &Settings) -> Vec<(String, u32)> {
    let mut all = Vec::new();
    let default = settings.server.default_user.as_deref();
    let user = default.and_then(|name| UnixAccounts::NameService.user(name));
    all.extend(user.map(|user| ("`default-user`".to_owned(), user.uid)));
    for user in &settings.users {
        let of = |key: &str| format!("`{key}` of {}", user.name);
        all.extend(user.ids.uid.map(|uid| (of("uid"), uid)));
        all.extend(user.ids.gid.map(|gid| (of("gid"), gid)));
    }
    for share in shares(settings) {
        for rule in &share.clients {
            let of = |key: &str| format!("`{key}` of a client rule of {}", share.name);
            all.extend([(of("anon-uid"), rule.anon_uid), (of("anon-gid"), rule.anon_gid)]);
        }
    }
    let ranges = settings
        .server
        .domain
        .iter()
        .flat_map(|domain| domain.trusted.iter().map(|(_, range)| *range).chain([domain.range]));
    all.extend(ranges.map(|IdRange { low, .. }| ("the lowest id of a domain".to_owned(), low)));
    all
}

/// `share-roots` are whole paths.
pub(super) fn check_roots(server: &Section, findings: &mut Findings) {
    for (root, place) in server.texts_with_places("share-roots") {
        if !root.starts_with('/') {
            let what = format!("`share-roots` must be whole paths, not {root:?}");
            findings.error(&place, what, "write paths that begin with /, such as `share-roots = [\"/srv\"]`");
        }
    }
}
