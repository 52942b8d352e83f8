//! Answers requests about rights, in the server or without one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use admin::ShareSettings;
use admin::control::{
    OperationAnswer, PersonAnswer, PersonStatus, Progress, RightsAnswer, RightsEntry, RightsQuestion,
    RightsRequest, RightsStatus, RoleStatus,
};
use anyhow::{Context, anyhow, bail};
use auth::Accounts as _;
use vfs::acl::{Entry, EntryKind, Inherit, Rights};
use vfs::backend::Found;
use vfs::{Caller, Error, Kind, Volume};

use super::effective::{RightsPerson, RightsTarget};
use super::names::RightsNames;
use super::{change, tree, words};
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;

/// Called with the progress. False: the work ends.
pub(super) type Tell<'a> = &'a dyn Fn(Progress) -> bool;

/// The shares, and the accounts that use them.
pub(crate) struct RightsService<'a> {
    pub(crate) current: &'a Current,
    pub(crate) volumes: &'a Volumes,
}

/// A file or folder that was found.
pub(super) struct RightsFile<'a> {
    pub(super) share: &'a ShareSettings,
    pub(super) volume: Arc<Volume>,
    pub(super) path: Vec<u8>,
    pub(super) found: Found,
    pub(super) parent: Option<Found>,
}

impl RightsService<'_> {
    /// Does what is asked for.
    pub(crate) fn answer(&self, request: RightsRequest, tell: Tell<'_>) -> anyhow::Result<RightsAnswer> {
        let share = self.share(&request.share)?;
        let RightsRequest { path, question, .. } = request;
        if let RightsQuestion::Undo { record } = &question {
            return Ok(RightsAnswer::Done(Box::new(tree::undo(self, share, record, tell)?)));
        }
        let file = self.find(share, path)?;
        let names = RightsNames::new(&self.current.accounts);
        Ok(match question {
            RightsQuestion::Show => RightsAnswer::Shown(Box::new(self.show(&file, &names)?)),
            RightsQuestion::Of { person } => RightsAnswer::Of(Box::new(self.of(&file, &person, &names)?)),
            RightsQuestion::Set { who, role } => {
                RightsAnswer::Done(Box::new(change::set(self, &file, (&who, role.as_deref()), tell)?))
            }
            RightsQuestion::Check => RightsAnswer::Done(Box::new(tree::check(self, &file, tell)?)),
            RightsQuestion::Reset { recursive, all, dry_run } => {
                RightsAnswer::Done(Box::new(tree::reset(self, &file, (recursive, all, dry_run), tell)?))
            }
            RightsQuestion::Undo { .. } => bail!("it was answered above"),
        })
    }

    fn share(&self, name: &str) -> anyhow::Result<&ShareSettings> {
        let shares = &self.current.settings.shares;
        shares.iter().find(|share| share.name == name).with_context(|| {
            let names: Vec<&str> = shares.iter().map(|share| &*share.name).collect();
            format!("there is no share {name:?}; the shares are: {}", names.join(", "))
        })
    }

    fn find<'a>(&'a self, share: &'a ShareSettings, path: Vec<u8>) -> anyhow::Result<RightsFile<'a>> {
        let names = names_of(&path)?;
        let volume = self.volumes.open(share, &self.current.settings)?;
        let root = volume.root()?;
        let failed = |error| match error {
            Error::NotFound => anyhow!("there is no {:?} in {}", String::from_utf8_lossy(&path), share.name),
            other => anyhow!("{:?} of {}: {other}", String::from_utf8_lossy(&path), share.name),
        };
        let server = Caller::root();
        let (parent, found) = match names.split_last() {
            None => (None, root),
            Some((last, above)) => {
                let folder = match above {
                    [] => root,
                    _ => root.object.lookup_path(&server, above).map_err(failed)?,
                };
                let found = folder.object.lookup(&server, last).map_err(failed)?;
                (Some(folder), found)
            }
        };
        drop(names);
        if !matches!(found.attributes.kind, Kind::File | Kind::Folder) {
            bail!("{:?} is neither a file nor a folder", String::from_utf8_lossy(&path));
        }
        Ok(RightsFile { share, volume, path, found, parent })
    }

    fn show(&self, file: &RightsFile<'_>, names: &RightsNames<'_>) -> anyhow::Result<RightsStatus> {
        let roles = file.volume.roles_at(&file.found)?;
        let acl = file.volume.acl(&file.found)?;
        let on_disk = file.on_disk();
        let target = file.target(&on_disk);
        let is_folder = file.is_folder();
        let (mut people, mut refused) = (Vec::new(), Vec::new());
        for person in RightsPerson::all(self.current) {
            let effective = target.rights_of(&person, names);
            let status = PersonStatus {
                who: person.name().to_owned(),
                may: words::operations(effective.rights),
                summary: words::summary(effective.rights, is_folder),
                why: effective.why.join("; "),
            };
            if file.path.is_empty() && target.is_refused(&person, effective.rights) {
                refused.push(status.clone());
            }
            if !status.may.is_empty() {
                people.push(status);
            }
        }
        Ok(RightsStatus {
            share: file.share.name.clone(),
            path: String::from_utf8_lossy(&file.path).into_owned(),
            kind: file.kind().into(),
            owner: names.user(file.found.attributes.uid),
            is_team_folder: roles.is_some(),
            roles: roles
                .iter()
                .flat_map(|roles| roles.entries())
                .map(|entry| RoleStatus { who: names.grantee(&entry.grantee), role: entry.role.to_string() })
                .collect(),
            entries: entries(acl.set_entries(), is_folder, names),
            is_cut_off: acl.is_cut_off(),
            people,
            refused,
        })
    }

    fn of(&self, file: &RightsFile<'_>, name: &str, names: &RightsNames<'_>) -> anyhow::Result<PersonAnswer> {
        let person = match (name, name.parse::<u32>()) {
            ("guests", _) => RightsPerson::guests(),
            _ => match (self.current.accounts.find_in_any_case(name), name.parse()) {
                (Some(account), _) => RightsPerson::of(&account),
                (None, Ok(uid)) => RightsPerson::numbered(uid, self.current),
                (None, Err(_)) => bail!(
                    "there is no account {name:?}; `fourfold user list` shows all, and a number means a user of NFS"
                ),
            },
        };
        let on_disk = file.on_disk();
        let target = file.target(&on_disk);
        let effective = target.rights_of(&person, names);
        let is_folder = file.is_folder();
        let answer = |operation: words::RightsOperation| OperationAnswer {
            operation: operation.word().into(),
            what: operation.words(is_folder).into(),
            may: operation.is_in(effective.rights),
        };
        Ok(PersonAnswer {
            person: name.into(),
            share: file.share.name.clone(),
            path: String::from_utf8_lossy(&file.path).into_owned(),
            kind: file.kind().into(),
            operations: words::OPERATIONS.into_iter().map(answer).collect(),
            summary: words::summary(effective.rights, is_folder),
            why: effective.why,
        })
    }
}

impl RightsFile<'_> {
    pub(super) fn is_folder(&self) -> bool {
        self.found.attributes.kind == Kind::Folder
    }

    fn kind(&self) -> &'static str {
        if self.is_folder() { "folder" } else { "file" }
    }

    /// Where it is on this machine.
    pub(super) fn on_disk(&self) -> PathBuf {
        self.share.path.join(OsStr::from_bytes(&self.path))
    }

    fn target<'a>(&'a self, on_disk: &'a std::path::Path) -> RightsTarget<'a> {
        RightsTarget {
            share: self.share,
            volume: &self.volume,
            found: &self.found,
            parent: self.parent.as_ref(),
            path: on_disk,
        }
    }
}

/// The names of a path in a share.
pub(super) fn names_of(path: &[u8]) -> anyhow::Result<Vec<&[u8]>> {
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    if names.iter().any(|name| matches!(*name, b"." | b"..") || name.contains(&0)) {
        bail!("give a path without ..");
    }
    if let Some(own) = names.iter().find(|name| vfs::is_own_name(name)) {
        bail!("{:?} is reserved for the server", String::from_utf8_lossy(own));
    }
    Ok(names)
}

/// The entries that were set, by the users that they mean.
fn entries(list: &[Entry], is_folder: bool, names: &RightsNames<'_>) -> Vec<RightsEntry> {
    let mut all: Vec<(String, bool, Rights, Rights)> = Vec::new();
    for entry in list {
        let (who, inherited) = (names.who(&entry.who), entry.inherit.contains(Inherit::INHERITED));
        let known = all.iter().position(|(other, above, ..)| (other, *above) == (&who, inherited));
        let at = known.unwrap_or_else(|| {
            all.push((who, inherited, Rights::NONE, Rights::NONE));
            all.len() - 1
        });
        let (_, _, gives, takes) = &mut all[at];
        match entry.kind {
            EntryKind::Allow => *gives = gives.union(entry.rights.difference(*takes)),
            EntryKind::Deny => *takes = takes.union(entry.rights.difference(*gives)),
        }
    }
    let entry = |(who, inherited, gives, takes)| RightsEntry {
        who,
        role: change::role_of(gives, takes, is_folder).map(str::to_owned),
        gives: words::operations(gives),
        takes: words::operations(takes),
        inherited,
    };
    all.into_iter().map(entry).collect()
}
