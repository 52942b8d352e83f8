//! Executes requests about LUNs.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::control::{LunAnswer, LunRequest, LunSession, Progress};
use admin::luns::{
    LUN_BLOCK, LunError, LunRecord, LunResolution, LunTable, SMALLEST_LUN, resolve, resolve_as_noted,
};
use admin::settings::units::{format_size, format_size_exactly};
use admin::settings::{Absence, LunSettings};
use admin::{Settings, ShareSettings};
use anyhow::{Context, bail};
use iscsi::disks;
use iscsi::server::stored;
use vfs::Volume;
use vfs::state::Modes;

use super::clone::CloneRequest;
use super::file::{self, READ_WRITE};
use super::kept::LunStore;
use super::units::Units;
use crate::shares::volumes::Volumes;

/// The changes in progress: one at a time, except for copies, whose names are listed here.
#[derive(Default)]
pub(crate) struct Work(pub(super) tokio::sync::Mutex<HashSet<String>>);

/// The initiators that are logged in to a target, by the target's name.
pub(crate) type Sessions<'a> = &'a (dyn Fn(&str) -> Vec<LunSession> + Sync);

/// The context of a request.
pub(crate) struct Desk<'a> {
    /// The table of LUNs.
    pub(crate) table: &'a LunTable,
    pub(crate) server_id: &'a [u8; 16],
    pub(crate) settings: &'a Settings,
    pub(crate) volumes: &'a Volumes,
    pub(crate) work: &'a Work,
    /// The server's address for initiators; `None`: iSCSI is off.
    pub(crate) at: Option<(IpAddr, u16)>,
    /// In a running server: the served units, and their sessions.
    pub(crate) served: Option<(&'a Units, Sessions<'a>)>,
}

impl Desk<'_> {
    /// Executes a request. `progress` is called with the progress, and answers whether the client
    /// still waits.
    pub(crate) async fn answer(
        &self,
        request: LunRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<LunAnswer> {
        let lines = match request {
            LunRequest::List => return Ok(LunAnswer::Luns(self.list()?)),
            LunRequest::Create(new) => {
                let _one = self.work.0.lock().await;
                self.create(&new).await?
            }
            LunRequest::Resize { share, name, size, shrink } => {
                let _one = self.work.0.lock().await;
                self.resize((&share, &name), size, shrink).await?
            }
            LunRequest::Remove { share, name, keep_file, force } => {
                let _one = self.work.0.lock().await;
                self.remove((&share, &name), keep_file, force).await?
            }
            LunRequest::Clone { share, name, new, copy } => {
                let wanted = CloneRequest { new: &new, copy, snapshot: false };
                self.clone_lun((&share, &name), wanted, progress).await?
            }
            LunRequest::Snapshot { share, name, new, copy } => {
                let wanted = CloneRequest { new: &new, copy, snapshot: true };
                self.clone_lun((&share, &name), wanted, progress).await?
            }
        };
        Ok(LunAnswer::Done(lines))
    }

    async fn resize(
        &self,
        (share, name): (&str, &str),
        size: u64,
        shrink: bool,
    ) -> anyhow::Result<Vec<String>> {
        let lun = self.record(share, name)?;
        let (full_name, volume) = (lun.full_name(), self.volume(share)?);
        if let Some(of) = &lun.snapshot_of {
            bail!(
                "{full_name} is a snapshot of {of} and keeps its size; `fourfold lun clone` makes a LUN of it"
            );
        }
        if let Some(set) = self.set(&lun).filter(|set| set.size.is_some()) {
            let place = &set.places.size;
            bail!("the size of {full_name} stands in the settings; change it at {place}, then reload");
        }
        self.must_be_active(&lun)?;
        let there = file::find(&volume, &lun).context("its file cannot be found")?.attributes.size;
        let size = whole_blocks(size);
        if size < there {
            large_enough(size)?;
        }
        if size == there {
            return Ok(vec![format!("{full_name}: has {} already", format_size(size))]);
        }
        if size < there {
            if !shrink {
                let (has, wants) = (format_size(there), format_size(size));
                bail!("{full_name} has {has}; `--shrink` makes it {wants}, and what is behind that is lost");
            }
            self.nobody(&lun, "make it smaller")?;
        }
        match self.unit(&lun) {
            Some(unit) => unit.resize(size).await.map_err(|error| cannot_have(size, error))?,
            None => {
                let found = file::find(&volume, &lun)?;
                let open = file::open(&volume, &found, READ_WRITE, Modes::ALL).await?;
                open.resize(size).await.map_err(|error| cannot_have(size, error))?;
                open.sync().await?;
            }
        }
        let mut lines = vec![format!(
            "{full_name}: has {} now, {} before",
            format_size_exactly(size),
            format_size(there)
        )];
        lines.extend(thin(&volume, size));
        Ok(lines)
    }

    async fn remove(
        &self,
        (share, name): (&str, &str),
        keep_file: bool,
        force: bool,
    ) -> anyhow::Result<Vec<String>> {
        let lun = self.record(share, name)?;
        self.must_be_served(share)?;
        let full_name = lun.full_name();
        if let Some(set) = self.set(&lun) {
            let place = &set.places.name;
            bail!(
                "the settings name {full_name} at {place}; take its `[[share.lun]]` away there and reload first"
            );
        }
        self.must_be_active(&lun)?;
        if !force {
            self.nobody(&lun, "remove it, or add `--force`")?;
        }
        self.table.edit(|file| file.remove(share, name).map(drop))?;
        let mut lines = self.serve_anew().await?;
        self.forget(&lun).context("what it remembered of its initiators stays behind")?;
        lines.insert(0, format!("{full_name}: removed; {}", self.file_fate(&lun, keep_file)));
        Ok(lines)
    }

    /// Removes the stored reservations.
    fn forget(&self, lun: &LunRecord) -> anyhow::Result<()> {
        LunStore::new(self.table.state()).forget(lun.naa)?;
        match self.table.is_common() {
            true => Ok(stored::forget(&*self.volume(&lun.share)?, lun.naa)?),
            false => Ok(()),
        }
    }

    /// Refuses a change of a LUN that another server of the cluster serves.
    pub(super) fn must_be_active(&self, lun: &LunRecord) -> anyhow::Result<()> {
        let name = lun.full_name();
        match self.active_at(lun) {
            Some(server) => bail!("the server {server} of the cluster serves {name} now; do it there"),
            None if self.unit(lun).is_some_and(|unit| unit.is_standby()) => {
                bail!("no server of the cluster serves {name} at this moment; try again")
            }
            None => Ok(()),
        }
    }

    /// The other server of the cluster that serves a LUN.
    pub(super) fn active_at(&self, lun: &LunRecord) -> Option<String> {
        self.served.and_then(|(units, _)| units.active_at(lun.naa))
    }

    /// Removes the file or keeps it, and returns a line about it.
    fn file_fate(&self, lun: &LunRecord, keep_file: bool) -> String {
        let volume = self.volume(&lun.share);
        let folder = self.share(&lun.share).map(|share| share.path.clone()).unwrap_or_default();
        let path = folder.join(lun.file.clone().unwrap_or_else(|| admin::luns::own_file(&lun.name)));
        let path = path.display();
        if lun.file.is_some() {
            return format!("its file stays, as it was there before: {path}");
        }
        if keep_file {
            return format!("its file stays: {path}");
        }
        let stored = admin::luns::own_file_name(&lun.name);
        let removed = volume.and_then(|volume| Ok(disks::remove(&volume, stored.as_bytes())?));
        match removed {
            Ok(()) => format!("so is its file {path}"),
            Err(error) => format!("but its file {path} stays: {error:#}"),
        }
    }

    /// The settings of a LUN.
    pub(super) fn set(&self, lun: &LunRecord) -> Option<&LunSettings> {
        self.share(&lun.share).ok()?.luns.iter().find(|set| lun.is(&lun.share, &set.name))
    }

    /// The share with a name.
    pub(super) fn share(&self, name: &str) -> anyhow::Result<&ShareSettings> {
        let shares = &self.settings.shares;
        self.must_be_served(name)?;
        shares.iter().find(|share| share.name == name).with_context(|| {
            let names: Vec<&str> = shares.iter().map(|share| &*share.name).collect();
            format!("there is no share {name:?}; the shares are: {}", names.join(", "))
        })
    }

    /// Refuses to change the LUNs of a share whose folder is not there: their files cannot be seen.
    fn must_be_served(&self, share: &str) -> anyhow::Result<()> {
        match self.absence(share) {
            Some(absence) => bail!("the share {share:?} is not served: {absence}"),
            None => Ok(()),
        }
    }

    /// Why a share is not served.
    pub(super) fn absence(&self, share: &str) -> Option<&Absence> {
        self.settings.absent.iter().find(|absent| absent.name == share)?.absence.as_ref()
    }

    /// Its volume.
    pub(super) fn volume(&self, share: &str) -> anyhow::Result<Arc<Volume>> {
        self.volumes.open(self.share(share)?, self.settings)
    }

    /// The LUN with a name.
    pub(super) fn record(&self, share: &str, name: &str) -> Result<LunRecord, LunError> {
        let file = self.table.read()?;
        file.find(share, name).cloned().ok_or_else(|| LunError::Missing(format!("{share}/{name}")))
    }

    /// Its unit, if it is served.
    pub(super) fn unit(&self, lun: &LunRecord) -> Option<Arc<iscsi::server::LogicalUnit>> {
        self.served.and_then(|(units, _)| units.unit(lun.naa))
    }

    /// The initiators that are logged in to its target.
    pub(super) fn sessions(&self, lun: &LunRecord) -> Vec<LunSession> {
        let prefix = admin::luns::prefix(self.settings, self.server_id);
        let target = format!("{prefix}:{}", lun.target_suffix);
        self.served.map(|(_, sessions)| sessions(&target)).unwrap_or_default()
    }

    /// Refuses while an initiator is logged in.
    pub(super) fn nobody(&self, lun: &LunRecord, what: &str) -> anyhow::Result<()> {
        let sessions = self.sessions(lun);
        if sessions.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = sessions.iter().map(|session| &*session.initiator).collect();
        bail!("{} is logged in to {}; log out there to {what}", names.join(" and "), lun.full_name())
    }

    /// Like `serve_anew`, while no other change is in progress.
    pub(crate) async fn serve_anew_alone(&self) -> anyhow::Result<Vec<String>> {
        let _one = self.work.0.lock().await;
        self.serve_anew().await
    }

    /// In a cluster: serves the LUNs whose server is this one now, and no others. `is_changed`: another server has changed
    /// the table. Returns lines about LUNs that cannot be served.
    pub(crate) async fn look_again(&self, is_changed: bool) -> anyhow::Result<Vec<String>> {
        let _one = self.work.0.lock().await;
        let Some((units, _)) = self.served else { return Ok(Vec::new()) };
        let resolved = match is_changed {
            true => resolve_as_noted(self.table, self.settings, self.server_id)?,
            false => units.resolved(),
        };
        Ok(units.apply(resolved, self.settings, self.volumes).await)
    }

    /// Makes a running server serve the LUNs of the state folder's current contents; returns lines
    /// about LUNs that it cannot serve.
    pub(super) async fn serve_anew(&self) -> anyhow::Result<Vec<String>> {
        let resolved: LunResolution = resolve(self.table, self.settings, self.server_id)?;
        Ok(match self.served {
            Some((units, _)) => units.apply(resolved, self.settings, self.volumes).await,
            None => resolved.problems.into_iter().map(|(_, line)| line).collect(),
        })
    }

    /// A typed path, relative to the share's folder.
    pub(super) fn inside(share: &ShareSettings, typed: &str) -> anyhow::Result<PathBuf> {
        let typed = Path::new(typed);
        let path = typed.strip_prefix(&share.path).unwrap_or(typed).to_owned();
        match admin::settings::inside(&path) {
            Ok(()) => Ok(path),
            Err(problem) => {
                bail!("{problem} {:?}; write a path from its folder {} on", share.name, share.path.display())
            }
        }
    }
}

/// The size in whole blocks.
pub(super) fn whole_blocks(size: u64) -> u64 {
    size.max(1).div_ceil(LUN_BLOCK).saturating_mul(LUN_BLOCK)
}

/// Refuses a size that is too small for a disk: its unit is missing by mistake.
pub(super) fn large_enough(size: u64) -> anyhow::Result<()> {
    if size < SMALLEST_LUN {
        let (size, smallest) = (format_size_exactly(size), format_size(SMALLEST_LUN));
        bail!("a LUN of {size} is too small: the smallest has {smallest}");
    }
    Ok(())
}

fn cannot_have(size: u64, error: vfs::Error) -> anyhow::Error {
    anyhow::Error::from(error).context(format!("it cannot have {}", format_size(size)))
}

/// A note about the free space for this many bytes.
pub(super) fn thin(volume: &Volume, size: u64) -> Option<String> {
    let free = volume.space(&volume.root().ok()?.object).ok()?.available;
    (size > free).then(|| {
        format!(
            "it is larger than the {} that are free now: initiators are told when there is no more room",
            format_size(free)
        )
    })
}
