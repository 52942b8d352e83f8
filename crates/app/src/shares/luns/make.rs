//! Makes a LUN, or takes an existing image over.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use admin::ShareSettings;
use admin::control::NewLunRequest;
use admin::luns::{LunError, LunOptions, LunRecord, NewLun, own_file, own_file_name};
use admin::settings::units::{format_size, format_size_exactly};
use admin::settings::{Protocol, is_lun_name};
use anyhow::{Context, bail};
use iscsi::disks;
use vfs::{Error, Volume};

use super::desk::{Desk, large_enough, thin, whole_blocks};
use super::file;

/// The source of a new LUN's contents.
enum Source {
    /// A new file.
    New,
    /// An existing file of the server's own.
    Left,
    /// An image in the share.
    Image(PathBuf),
}

impl Desk<'_> {
    pub(super) async fn create(&self, new: &NewLunRequest) -> anyhow::Result<Vec<String>> {
        let share = self.share(&new.share)?;
        self.may_be(share, &new.name)?;
        if new.target.as_ref().is_some_and(|word| !is_lun_name(word)) {
            return Err(LunError::BadName(new.target.clone().unwrap_or_default()).into());
        }
        let volume = self.volume(&new.share)?;
        let (source, size) = self.source(share, &volume, new).await?;
        let image = if let Source::Image(path) = &source { Some(path.clone()) } else { None };
        let added = self.add(new, image);
        if added.is_err() && matches!(source, Source::New) {
            let _ = disks::remove(&volume, own_file_name(&new.name).as_bytes()); // nothing is in it
        }
        let lun = added?;
        let (name, size_said) = (lun.full_name(), format_size_exactly(size));
        let mut lines = vec![match &source {
            Source::New => format!("{name}: made, {size_said}; it takes room as it is written to"),
            Source::Left => format!("{name}: made of the file that was there, {size_said}"),
            Source::Image(path) => format!("{name}: made of {} as it is, {size_said}", path.display()),
        }];
        lines.extend(thin(&volume, size).filter(|_| matches!(source, Source::New)));
        lines.extend(self.serve_anew().await?);
        lines.extend(self.reached_how(&lun, share));
        Ok(lines)
    }

    /// Whether a LUN may get this name.
    pub(super) fn may_be(&self, share: &ShareSettings, name: &str) -> anyhow::Result<()> {
        if !is_lun_name(name) {
            return Err(LunError::BadName(name.into()).into());
        }
        if let Ok(there) = self.record(&share.name, name) {
            return Err(LunError::Exists(there.full_name()).into());
        }
        match share.luns.iter().find(|set| set.name.eq_ignore_ascii_case(name)) {
            Some(set) => bail!("the settings name a LUN {}/{name} at {}", share.name, set.places.name),
            None => Ok(()),
        }
    }

    async fn source(
        &self,
        share: &ShareSettings,
        volume: &std::sync::Arc<Volume>,
        new: &NewLunRequest,
    ) -> anyhow::Result<(Source, u64)> {
        if let Some(typed) = &new.file {
            let path = Self::inside(share, typed)?;
            let shown = share.path.join(&path);
            let found = file::at(volume, &path)
                .with_context(|| format!("{} cannot be taken over", shown.display()))?;
            let there = as_large_as_said(found.attributes.size, new, &path)?;
            return Ok((Source::Image(path), there));
        }
        match disks::find(volume, own_file_name(&new.name).as_bytes()) {
            Ok(found) => {
                Ok((Source::Left, as_large_as_said(found.attributes.size, new, &own_file(&new.name))?))
            }
            Err(Error::NotFound) => {
                let size = whole_blocks(
                    new.size.context("say how large it is: `fourfold lun create SHARE/NAME SIZE`")?,
                );
                large_enough(size)?;
                file::make(volume, &new.name, size).await?;
                Ok((Source::New, size))
            }
            Err(error) => Err(error).with_context(|| file::cannot_be("opened", &new.name)),
        }
    }

    fn add(&self, new: &NewLunRequest, file: Option<PathBuf>) -> Result<LunRecord, LunError> {
        let options = LunOptions {
            block_size: new.block_size,
            read_only: new.read_only,
            initiators: new.initiators.iter().map(|name| name.to_lowercase()).collect(),
            readers: new.readers.iter().map(|name| name.to_lowercase()).collect(),
        };
        let (target, number) = (new.target.as_deref(), new.number);
        let (share, name, created) = (&*new.share, &*new.name, now());
        let new = NewLun {
            share,
            name,
            file,
            target,
            number,
            options,
            from_settings: false,
            snapshot_of: None,
            created,
        };
        self.table.edit(|luns| luns.add(new).cloned())
    }

    /// The mount lines of a new LUN, or why initiators cannot reach it.
    pub(super) fn reached_how(&self, lun: &LunRecord, share: &ShareSettings) -> Vec<String> {
        if !share.protocols.contains(&Protocol::Iscsi) {
            return vec![format!(
                "the share {:?} is not shown over iSCSI: see its setting `iscsi`",
                share.name
            )];
        }
        if self.served.is_none() {
            return vec!["no server runs; `fourfold serve` serves it".into()];
        }
        if self.unit(lun).is_none() {
            return Vec::new(); // the reason was reported
        }
        let connect = self.connect(lun, share);
        if connect.is_empty() {
            return vec!["iSCSI is off: see `iscsi-port`".into()];
        }
        connect.into_iter().map(|mount| format!("  {:<9} {}", mount.client, mount.line)).collect()
    }
}

/// An image that is taken over keeps its size.
fn as_large_as_said(there: u64, new: &NewLunRequest, path: &std::path::Path) -> anyhow::Result<u64> {
    match new.size {
        Some(size) if size != there && whole_blocks(size) != there => bail!(
            "{} is there already and has {}; leave the size out to take it over as it is",
            path.display(),
            format_size(there)
        ),
        _ if there < u64::from(new.block_size) => bail!("{} has no whole block", path.display()),
        _ => Ok(there),
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
