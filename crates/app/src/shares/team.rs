//! The folders of team folders on the disk: what local programs may do there is what the roles of the share say.
//!
//! Clients of the server have their rights by the roles alone, whatever modes the files have. Only the empty folder of a new share is
//! brought to the form that says the same to local programs. A folder with files stays as it is until `fourfold rights reset`.

use std::os::unix::fs::{MetadataExt, chown};
use std::sync::Arc;

use admin::ShareSettings;
use anyhow::Context;
use auth::{Grantee, Role, Roles};
use rustix::fs::Access;
use vfs::Volume;
use vfs::backend::host::{Host, HostOptions, as_ourselves};

use crate::host::here;
use crate::people::groups::NO_GROUP;
use crate::people::roles;

/// What was found of a share's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preparation {
    /// It has the form that the roles say.
    Ready,
    /// It has files, and local programs may do more or less there than the roles say.
    HasFiles,
}

/// Prepares the folder of a team folder for local programs, if there are no files in it.
///
/// # Errors
/// The server cannot use the folder as its people may, or cannot set its rights.
pub(crate) fn prepare(share: &ShareSettings, roles: &Roles, volume: &Volume) -> anyhow::Result<Preparation> {
    if share.is_in_store() || share.read_only {
        return Ok(Preparation::Ready);
    }
    as_ourselves(|| settle(share, roles, volume))
        .context("the server cannot act as itself")?
        .with_context(|| format!("the folder {} cannot be prepared", share.path.display()))
}

fn settle(share: &ShareSettings, roles: &Roles, volume: &Volume) -> anyhow::Result<Preparation> {
    check_usable(share)?;
    let mut entries = std::fs::read_dir(&share.path)?.flatten();
    if entries.any(|entry| entry.file_name() != "lost+found") {
        let deviations = volume.stored_rights().deviations(&volume.root()?)?;
        let deviates = deviations.iter().any(|deviation| !deviation.is_note());
        return Ok(if deviates { Preparation::HasFiles } else { Preparation::Ready });
    }
    let has_group = std::fs::metadata(&share.path)?.gid();
    if let Some(group) = group(roles).filter(|group| here::privileged() && *group != has_group) {
        chown(&share.path, None, Some(group))?;
    }
    volume.stored_rights().settle(&volume.root()?)?;
    Ok(Preparation::Ready)
}

/// The same for a share that the server begins to serve. What fails is logged: clients have their rights nevertheless.
pub(crate) fn prepare_served(share: &ShareSettings, volume: &Volume) {
    let Some(roles) = roles::of(share) else { return };
    if let Err(error) = prepare(share, &roles, volume) {
        tracing::warn!(share = share.name, "{error:#}");
    }
}

/// The same for a share that is not open yet.
pub(crate) fn prepare_closed(share: &ShareSettings) -> anyhow::Result<Preparation> {
    let Some(roles) = roles::of(share) else { return Ok(Preparation::Ready) };
    if share.is_in_store() {
        return Ok(Preparation::Ready);
    }
    let host = Host::open(&share.path, &HostOptions::default())?;
    let volume = Volume::new(Arc::new(host), vfs::VolumeOptions::default());
    volume.set_roles(Some(roles.clone()));
    prepare(share, &roles, &volume)
}

/// A line about the folder of a team folder, with what to do.
pub(crate) fn line(share: &ShareSettings, preparation: Preparation) -> Option<String> {
    let name = &share.name;
    match preparation {
        Preparation::Ready if !here::privileged() && !share.is_in_store() => Some(format!(
            "{name}: the server is not root, so all files are its own: contributors only add, and local programs of others have no \
             rights by roles"
        )),
        Preparation::Ready => None,
        Preparation::HasFiles => Some(format!(
            "{name}: clients have these rights in all files; for local programs `fourfold rights reset {name} --recursive` sets modes \
             and ACLs of the files that are there"
        )),
    }
}

/// The server changes files on behalf of its people, so it must be able to.
fn check_usable(share: &ShareSettings) -> anyhow::Result<()> {
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::access(&share.path, all).with_context(|| {
        let hint =
            if here::privileged() { "it is mounted read-only" } else { "`chown` it to the server's user" };
        format!("the server itself cannot read and write it, so its people cannot, either ({hint}?)")
    })
}

/// The group that the folder gets: the first one that changes files, otherwise the first one that reads.
fn group(roles: &Roles) -> Option<u32> {
    let with = |wanted: &[Role]| {
        let mut entries = roles.entries().iter().filter(|entry| wanted.contains(&entry.role));
        entries.find_map(|entry| match entry.grantee {
            Grantee::Group(gid) if gid != NO_GROUP => Some(gid),
            _ => None,
        })
    };
    with(&[Role::Owner, Role::Editor]).or_else(|| with(&[Role::Contributor, Role::Reader]))
}
