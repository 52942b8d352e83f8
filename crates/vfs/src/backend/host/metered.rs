//! Changes of files, as they are counted for quotas.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::handle::as_path;
use super::object::{HostObject, attributes_of};
use super::stat;
use crate::backend::{Object, RenameMode};
use crate::quota::{BLOCK, Charge, Footprint, Meter, QuotaTransfer};
use crate::{Attributes, Error, Kind, Result};

/// Holes that are looked at in one range. What follows counts as a hole.
const MOST_HOLES: usize = 1024;

/// How a change can make a file take more or less space.
#[derive(Debug, Clone, Copy)]
pub(super) enum Growth {
    /// Data is written to a range.
    Write { offset: u64, length: u64 },
    /// The file gets this size.
    Resize(u64),
    /// Space is taken for the first bytes.
    Allocate(u64),
    /// A range is given back.
    Punch,
}

impl Growth {
    fn cuts(self) -> bool {
        matches!(self, Self::Resize(_) | Self::Punch)
    }

    /// The most space that it can take, without asking the host.
    fn most(self) -> Option<u64> {
        match self {
            Self::Write { offset, length } => {
                let end = offset.saturating_add(length).checked_next_multiple_of(BLOCK)?;
                Some(end - offset / BLOCK * BLOCK)
            }
            Self::Resize(_) | Self::Allocate(_) => None,
            Self::Punch => Some(0),
        }
    }
}

impl Footprint {
    fn of(attributes: &Attributes) -> Self {
        Self { size: attributes.size, bytes: attributes.allocated, links: attributes.links }
    }
}

fn footprint(fd: BorrowedFd<'_>) -> Result<Footprint> {
    Ok(Footprint::of(&attributes_of(&stat(fd)?)))
}

impl HostObject {
    /// Makes a change, and counts what the file takes more or less. `QuotaExceeded`, and no change, if it may take more
    /// than there is.
    pub(super) fn metered<T>(&self, growth: Growth, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(meter) = self.meter() else { return act() };
        let meter = &*meter;
        let charge = self.charge.get_or_init(|| meter.charge(self.id()));
        let ask = || footprint(self.fd());
        if let Growth::Write { offset, length } = growth
            && let Some(end) = offset.checked_add(length)
            && charge.is_dense_to(end)
        {
            let done = act();
            if !charge.is_dense_to(end) {
                charge.settle(meter, false, ask); // it was cut meanwhile
            }
            return done;
        }
        let fits = growth.most().and_then(|most| meter.reserve(most).ok());
        let reserved = match fits {
            Some(reserved) => reserved,
            None => meter.reserve(self.growth(growth)?)?,
        };
        charge.begin(meter, growth.cuts(), ask)?;
        let done = act();
        charge.settle(meter, growth.cuts(), ask);
        drop(reserved);
        done
    }

    /// What counts this file. `None` if it is not counted.
    fn meter(&self) -> Option<Arc<Meter>> {
        let own = &self.shared.meter;
        if self.kind() != Kind::File || !(own.counts() || own.counts_inside()) {
            return None;
        }
        let (device, meter) = self.place_of_meter();
        (meter.counts() && self.id().device == device).then_some(meter)
    }

    /// The meter of the share that a file or folder is in, which may be one inside this share, and the file system of that
    /// share's folder.
    pub(super) fn place_of_meter(&self) -> (u32, Arc<Meter>) {
        let own = &self.shared.meter;
        let epoch = own.epoch();
        let mine = || (self.shared.device, own.clone());
        let charge = self.charge.get();
        if let Some(moved) = charge.and_then(|charge| charge.moved_to()) {
            return moved;
        }
        if epoch == 0 {
            return mine();
        }
        if let Some((known, device, meter)) = self.metered_by.get()
            && *known == epoch
        {
            return (*device, meter.clone());
        }
        let Some(path) = self.path_on_host() else {
            // The host does not tell where a file is whose folder was not used since a restart.
            own.spoil_inside();
            return mine();
        };
        let (device, meter) = own.inside_at(&path).unwrap_or_else(mine);
        // Folders do not move to another meter, and a file's charge knows when it has.
        if self.kind() == Kind::Folder || charge.is_some() {
            let _ = self.metered_by.set((epoch, device, meter.clone()));
        }
        (device, meter)
    }

    /// The path of a file or folder that is in the folder of the share.
    fn path_on_host(&self) -> Option<PathBuf> {
        let read = |path| rustix::fs::readlink(path, Vec::new()).ok();
        let root = read(as_path(self.shared.root.as_fd()))?.into_bytes();
        let path = PathBuf::from(OsString::from_vec(read(self.path())?.into_bytes()));
        path.starts_with(Path::new(&OsString::from_vec(root))).then_some(path)
    }

    /// Before an entry comes from this folder to another one, which other quotas may count for. A file takes its space
    /// along. A folder does not go: it could not be counted at once. Clients copy it instead, as between file systems.
    pub(super) fn transferring(
        &self,
        name: &[u8],
        to: &Self,
        mode: RenameMode,
    ) -> Result<Option<QuotaTransfer>> {
        if !self.shared.meter.counts_inside() {
            return Ok(None);
        }
        let (mine, (device, others)) = (self.place_of_meter().1, to.place_of_meter());
        if Arc::ptr_eq(&mine, &others) || mine.counts_as(&others) {
            return Ok(None);
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(fd) = rustix::fs::openat(self.fd(), name, flags, Mode::empty()) else { return Ok(None) };
        let attributes = attributes_of(&stat(fd.as_fd())?);
        match attributes.kind {
            _ if mode == RenameMode::Exchange => Err(Error::CrossVolume),
            Kind::Folder => Err(Error::CrossVolume),
            Kind::File if attributes.links > 1 => Err(Error::CrossVolume),
            Kind::File => {
                let charge = mine.charge(attributes.id);
                let bytes = charge.now(|| Ok(Footprint::of(&attributes)))?;
                QuotaTransfer::begin((charge, bytes), &mine, (device, &others)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether a file may get a name in this folder: not if other quotas count for its names so far.
    pub(super) fn check_same_quotas(&self, file: &Self) -> Result<()> {
        if !self.shared.meter.counts_inside() {
            return Ok(());
        }
        let (mine, others) = (self.place_of_meter().1, file.place_of_meter().1);
        if Arc::ptr_eq(&mine, &others) || mine.counts_as(&others) { Ok(()) } else { Err(Error::CrossVolume) }
    }

    /// What a change takes, as far as the host can say.
    fn growth(&self, growth: Growth) -> Result<u64> {
        let now = footprint(self.fd())?;
        match growth {
            Growth::Punch => Ok(0),
            Growth::Allocate(length) => Ok(blocks(length).saturating_sub(now.bytes)),
            Growth::Resize(size) => Ok(now.bytes.min(blocks(size)).saturating_sub(now.charged())),
            Growth::Write { offset, length } => {
                let end = offset.saturating_add(length);
                let behind = blocks(end).saturating_sub(blocks(now.size).max(offset / BLOCK * BLOCK));
                Ok(behind + self.holes(offset, end.min(now.size))?)
            }
        }
    }

    /// How many bytes of a range are in holes.
    fn holes(&self, start: u64, end: u64) -> Result<u64> {
        let (mut at, mut holes) = (start, 0);
        for _ in 0..MOST_HOLES {
            if at >= end {
                return Ok(holes);
            }
            let data = self.seek_to(at, true)?.unwrap_or(end).min(end);
            holes += data - at;
            at = if data < end { self.seek_to(data, false)?.unwrap_or(end) } else { end };
        }
        Ok(holes + end.saturating_sub(at))
    }

    /// A file that may lose its name, or get another one. `None` if that is not counted.
    pub(super) fn going(&self, name: &[u8], found: Option<&Self>) -> Option<Going> {
        let own = &self.shared.meter;
        if !own.counts() && !own.counts_inside() {
            return None;
        }
        let (device, meter) = self.place_of_meter();
        if !meter.counts() {
            return None;
        }
        let fd = match found {
            Some(found) => found.fd.clone(),
            None => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                Arc::new(rustix::fs::openat(self.fd(), name, flags, Mode::empty()).ok()?)
            }
        };
        let attributes = attributes_of(&stat(fd.as_fd()).ok()?);
        if attributes.kind != Kind::File || attributes.id.device != device {
            return None;
        }
        let charge = meter.charge(attributes.id);
        charge.begin(&meter, false, || Ok(Footprint::of(&attributes))).ok()?;
        Some(Going { meter, fd, charge, links: attributes.links })
    }

    /// The same, if files are being counted: they are followed when they move.
    pub(super) fn moving(&self, name: &[u8]) -> Option<Going> {
        self.is_recounting().then(|| self.going(name, None)).flatten()
    }

    /// An entry was moved here.
    pub(super) fn arrived(&self, name: &[u8]) {
        if !self.is_recounting() {
            return;
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(self.fd(), name, flags, Mode::empty()).ok();
        if open().is_some() {
            self.place_of_meter().1.moved(open);
        }
    }

    fn is_recounting(&self) -> bool {
        let own = &self.shared.meter;
        (own.counts() || own.counts_inside()) && self.place_of_meter().1.is_recounting()
    }
}

/// The number in a file in which the host tells what it has counted itself.
pub(crate) fn number_in(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn blocks(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
}

/// A file whose name is being removed or changed.
pub(super) struct Going {
    meter: Arc<Meter>,
    fd: Arc<OwnedFd>,
    charge: Arc<Charge>,
    links: u32,
}

impl Going {
    /// Afterwards: without a name it does not count. If it `lost` a name but has as many as before, another file was put in
    /// its place meanwhile, of which nothing is known: all files are counted again.
    pub(super) fn settle(self, lost: bool) {
        let meter = &*self.meter;
        self.charge.settle(meter, false, || {
            let found = footprint(self.fd.as_fd())?;
            if lost && found.links >= self.links {
                meter.spoil();
            }
            Ok(found)
        });
    }
}
