//! Clones and snapshots of LUNs: by sharing blocks if the file system can, otherwise by copying. A snapshot is a read-only
//! LUN whose record names the LUN that it was taken of.

use std::sync::Arc;

use admin::control::Progress;
use admin::luns::{LunRecord, NewLun, own_file_name};
use admin::settings::units::format_size;
use anyhow::{Context, bail};
use iscsi::disks;
use vfs::backend::{Found, Stability};
use vfs::state::Modes;
use vfs::{Error, Open, Volume};

use super::desk::{Desk, thin};
use super::file::{self, READ_WRITE};
use super::make::now;

/// Bytes copied at a time.
const PIECE: u64 = 1 << 20;
/// The most ranges of data in one request.
const MOST_RANGES: usize = 1024;

/// The LUN to make.
pub(super) struct CloneRequest<'a> {
    pub(super) new: &'a str,
    /// Everything is copied.
    pub(super) copy: bool,
    /// It is a snapshot: read-only, and not copied unless the request says so.
    pub(super) snapshot: bool,
}

/// How the contents were cloned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloneMethod {
    Shared,
    /// This many bytes were copied, because the file system cannot share blocks, or by request.
    Copied(u64),
}

impl Desk<'_> {
    pub(super) async fn clone_lun(
        &self,
        (share_name, name): (&str, &str),
        wanted: CloneRequest<'_>,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<Vec<String>> {
        let (new, copy) = (wanted.new, wanted.copy);
        let (lun, share) = (self.record(share_name, name)?, self.share(share_name)?);
        if let Some(of) = lun.snapshot_of.as_ref().filter(|_| wanted.snapshot) {
            bail!("{} is a snapshot of {of}; `fourfold lun clone` makes a LUN of it", lun.full_name());
        }
        self.must_be_active(&lun)?;
        self.may_be(share, new)?;
        let volume = self.volume(share_name)?;
        let source = file::find(&volume, &lun).context("its file cannot be found")?;
        let full_name = format!("{share_name}/{new}").to_lowercase();
        self.begin(&volume, &full_name, new).await?;
        let filled = self.fill(&volume, &lun, &source, &wanted, progress).await;
        let ended = match filled {
            Ok(done) => {
                let mut making = self.work.0.lock().await;
                making.remove(&full_name);
                self.finish(&volume, &lun, &wanted).map(|made| (done, made))
            }
            Err(error) => {
                self.work.0.lock().await.remove(&full_name);
                Err(error)
            }
        };
        if ended.is_err() {
            let _ = disks::remove(&volume, unfinished(new).as_bytes()); // if it still has that name
        }
        let (done, made) = ended.with_context(|| format!("{share_name}/{new} cannot be made"))?;
        let how = match done {
            CloneMethod::Shared => "shares its blocks until one of the two is written to".into(),
            CloneMethod::Copied(bytes) if copy => format!("{} were copied", format_size(bytes)),
            CloneMethod::Copied(bytes) => {
                format!("the file system cannot share blocks, so {} were copied", format_size(bytes))
            }
        };
        let mut lines = vec![format!("{}: made of {}; {how}", made.full_name(), lun.full_name())];
        lines.extend(thin(&volume, source.attributes.size));
        lines.extend(self.serve_anew().await?);
        lines.extend(self.reached_how(&made, share));
        Ok(lines)
    }

    /// Reserves the name, and removes the file of an earlier attempt that a crash interrupted.
    async fn begin(&self, volume: &Volume, full_name: &str, new: &str) -> anyhow::Result<()> {
        let mut making = self.work.0.lock().await;
        if !making.insert(full_name.into()) {
            bail!("{full_name} is being made already");
        }
        let left = match disks::find(volume, own_file_name(new).as_bytes()) {
            Ok(_) => Err(anyhow::anyhow!("{}: it is there already", file::cannot_be("made", new))),
            Err(Error::NotFound) => match disks::remove(volume, unfinished(new).as_bytes()) {
                Ok(()) | Err(Error::NotFound) => Ok(()),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        };
        left.inspect_err(|_| {
            making.remove(full_name);
        })
    }

    async fn fill(
        &self,
        volume: &Arc<Volume>,
        lun: &LunRecord,
        found: &Found,
        wanted: &CloneRequest<'_>,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<CloneMethod> {
        let new = wanted.new;
        let made =
            disks::make(volume, unfinished(new).as_bytes()).with_context(|| file::cannot_be("made", new))?;
        let from = file::open(volume, found, Modes::READ, Modes::NONE).await?;
        let to = file::open(volume, &made, READ_WRITE, Modes::ALL).await?;
        // The clone contains all writes that initiators know to be written, like a disk after a
        // power failure.
        from.sync().await?;
        let size = from.size().await?;
        to.resize(size).await?;
        if !wanted.copy {
            match to.clone_from(&from, 0, 0, size).await {
                Ok(()) => {
                    to.sync().await?;
                    return Ok(CloneMethod::Shared);
                }
                Err(Error::NotSupported | Error::CrossVolume | Error::Invalid) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if wanted.snapshot && !wanted.copy {
            bail!(
                "the file system cannot share blocks; add --copy to have up to {} copied, while no initiator is logged in",
                format_size(size)
            );
        }
        self.nobody(lun, "have it copied: what is written meanwhile would be in it by halves")?;
        let before = found.object.attributes()?;
        let copied = copy_data(&from, &to, size, progress).await?;
        let after = found.object.attributes()?;
        if (before.changed, before.modified) != (after.changed, after.modified) {
            bail!("{} was written to while it was copied; log out there and try again", lun.full_name());
        }
        to.sync().await?;
        Ok(CloneMethod::Copied(copied))
    }

    /// Gives it its final name and its identity.
    fn finish(
        &self,
        volume: &Volume,
        lun: &LunRecord,
        wanted: &CloneRequest<'_>,
    ) -> anyhow::Result<LunRecord> {
        let (new, mut options) = (wanted.new, lun.options.clone());
        options.read_only = wanted.snapshot || (options.read_only && lun.snapshot_of.is_none());
        disks::rename(volume, unfinished(new).as_bytes(), own_file_name(new).as_bytes())?;
        let added = self.table.edit(|luns| {
            luns.add(NewLun {
                share: &lun.share,
                name: new,
                file: None,
                target: None,
                number: None,
                options: options.clone(),
                from_settings: false,
                snapshot_of: wanted.snapshot.then(|| lun.name.clone()),
                created: now(),
            })
            .cloned()
        });
        if added.is_err() {
            let _ = disks::remove(volume, own_file_name(new).as_bytes()); // it has been made just now
        }
        Ok(added?)
    }
}

/// The name of an incomplete file. No LUN can have such a name.
fn unfinished(new: &str) -> String {
    format!(".{new}.unfinished")
}

/// Copies data; holes stay holes. Returns the number of copied bytes.
async fn copy_data(
    from: &Open,
    to: &Open,
    size: u64,
    progress: &dyn Fn(Progress) -> bool,
) -> anyhow::Result<u64> {
    let total = from.attributes()?.allocated.min(size);
    let (mut at, mut done) = (0, 0);
    while at < size {
        let data = from.allocated(at, size - at, MOST_RANGES).await?;
        let Some((offset, length)) = data.ranges.last() else { break };
        at = if data.more { offset + length } else { size };
        for (offset, length) in data.ranges {
            let mut copied = 0;
            while copied < length {
                let now = (length - copied).min(PIECE);
                copy_piece(from, to, offset + copied, now as usize).await?;
                (copied, done) = (copied + now, done + now);
                if !progress(Progress { done, total: total.max(done) }) {
                    bail!("the command that asked for it has ended; nothing was made");
                }
            }
        }
    }
    Ok(done)
}

/// Copies through memory: a copy in the host could share blocks.
async fn copy_piece(from: &Open, to: &Open, offset: u64, length: usize) -> anyhow::Result<()> {
    let mut bytes = Vec::with_capacity(length);
    from.read_at(offset, length).await?.payload.append_to(&mut bytes)?;
    if bytes.len() < length {
        bail!("it became shorter while it was copied");
    }
    Ok(to.write_at(offset, bytes.into(), Stability::Unstable).await?)
}
