//! The resource fork, in the file's sidecar.

use std::sync::Arc;

use super::elsewhere::InAttribute;
use super::places::Home;
use super::sidecar::{Beside, Layout, Sidecar, dress};
use super::{File, MOVING, SIDECAR, Streams, elsewhere, store};
use crate::backend::{NewKind, Object, RenameMode, Stability, Wait};
use crate::mac::layout::RESOURCE_STREAM;
use crate::mac::sidecar::{self, SidecarHead};
use crate::{Access, Caller, Error, Result, SetAttributes, Time};

/// Bytes copied at a time when a fork has to move.
const CHUNK: usize = 1 << 20;

/// A file's resource fork, open. Valid as long as no other thread or program writes the sidecar.
pub struct Fork {
    held: ForkLocation,
    layout: Layout,
    /// Whether it can grow where it is.
    grows: bool,
    /// Whether it is in another server's header file.
    in_header: bool,
}

/// Where a fork is.
enum ForkLocation {
    /// In a file.
    Sidecar(Sidecar),
    /// In an attribute, to be read only.
    Attribute(Vec<u8>),
}

impl Streams {
    /// The length of a file's resource fork; 0 when there is none.
    pub fn fork_len(&self, file: &File<'_>) -> Result<u64> {
        Ok(self.any_fork(file)?.map_or(0, |fork| fork.len()))
    }

    /// Its length, and when the file that it is in has changed.
    pub(crate) fn fork_state(&self, file: &File<'_>) -> Result<(u64, Time)> {
        let fork = self.any_fork(file)?.ok_or(Error::NoSuchAttribute)?;
        let changed = match &fork.held {
            ForkLocation::Sidecar(sidecar) => sidecar.object.attributes()?.changed,
            ForkLocation::Attribute(_) => file.object.attributes()?.changed,
        };
        Ok((fork.len(), changed))
    }

    /// The length of a named stream, and when the attribute's file or the store's has changed.
    pub(crate) fn stream_state(&self, file: &File<'_>, name: &[u8]) -> Result<(u64, Time)> {
        match self.open_stream(&Caller::root(), file, name)? {
            Home::Xattr(_, value)
            | Home::Samba(_, value)
            | Home::Listed(_, value)
            | Home::Synology(_, value) => Ok((value.len() as u64, file.object.attributes()?.changed)),
            Home::Store(object) | Home::Depot(object) => {
                object.attributes().map(|now| (now.size, now.changed))
            }
        }
    }

    /// The fork to read, or `None` when it is empty.
    pub fn fork(&self, caller: &Caller, file: &File<'_>) -> Result<Option<Fork>> {
        file.require(caller, Access::READ)?;
        let Some(fork) = self.any_fork(file)? else { return Ok(None) };
        if let ForkLocation::Sidecar(sidecar) = &fork.held {
            sidecar.open_for(Access::READ)?;
        }
        Ok(Some(fork))
    }

    /// The fork in the sidecar, else where another server left one. `None` when it is empty.
    fn any_fork(&self, file: &File<'_>) -> Result<Option<Fork>> {
        if self.may_have_sidecar(file)
            && let Some(fork) = Fork::beside(self.beside(file)?)
        {
            return Ok(Some(fork));
        }
        let names = super::found(file.object.list_xattrs())?.unwrap_or_default();
        if names.iter().any(|name| name == MOVING)
            && self.pairs().mend(file)?
            && let Some(fork) = Fork::beside(self.beside(file)?)
        {
            return Ok(Some(fork));
        }
        self.fork_elsewhere(file, &names)
    }

    fn fork_elsewhere(&self, file: &File<'_>, xattrs: &[Vec<u8>]) -> Result<Option<Fork>> {
        if let Some(there) = elsewhere::attribute(file.object, xattrs)? {
            let value = there.fork;
            let layout = Layout { start: 0, len: value.len() as u64, len_at: None, finder_info_at: None };
            return Ok(Some(Fork {
                held: ForkLocation::Attribute(value),
                layout,
                grows: false,
                in_header: false,
            }));
        }
        if let Some(fork) = self.depots().fork(file.object)?.map(Fork::whole).filter(|fork| fork.len() > 0) {
            return Ok(Some(fork));
        }
        let fork =
            self.server_files().header_file(file)?.and_then(Fork::in_file).filter(|fork| fork.len() > 0);
        Ok(fork.map(|fork| Fork { grows: false, in_header: true, ..fork }))
    }

    /// Writes all of `data` at `offset` of the fork, where the file has its fork; a gap before it
    /// reads as zeros.
    pub fn write_fork(
        &self,
        caller: &Caller,
        file: &File<'_>,
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<()> {
        let end = offset.checked_add(data.len() as u64).ok_or(Error::FileTooLarge)?;
        let write = |fork: &mut Vec<u8>| {
            fork.resize(fork.len().max(end as usize), 0);
            fork[offset as usize..end as usize].copy_from_slice(data);
        };
        if self.change_in_attribute(caller, file, end, write)? {
            return file.object.sync(stability);
        }
        self.fork_to_write(caller, file)?.write_at(offset, data, stability)
    }

    /// Cuts the fork, or extends it with zeros, where the file has its fork.
    pub fn cut_fork(&self, caller: &Caller, file: &File<'_>, size: u64) -> Result<()> {
        if self.change_in_attribute(caller, file, size, |fork| fork.resize(size as usize, 0))? {
            return Ok(());
        }
        self.fork_to_write(caller, file)?.truncate(size)
    }

    /// Changes a fork that is in an attribute, or belongs into one by the layout of its folder.
    /// `false` if it is elsewhere, or has no room there: then nothing was changed.
    fn change_in_attribute(
        &self,
        caller: &Caller,
        file: &File<'_>,
        end: u64,
        change: impl FnOnce(&mut Vec<u8>),
    ) -> Result<bool> {
        file.require(caller, Access::WRITE)?;
        if end >= u64::from(self.backend.limits().xattr) {
            return Ok(false); // with Samba's byte
        }
        let names = super::metadata::names(file.object)?;
        match self.any_fork(file)? {
            Some(Fork { held: ForkLocation::Sidecar(_), .. }) => return Ok(false),
            None if self.sidecar(file)?.is_some() || self.server_files().header_file(file)?.is_some() => {
                return Ok(false);
            }
            None if self.depots().fork_or_new(file)?.is_some() => return Ok(false),
            _ => {}
        }
        let mut there = match elsewhere::place(file.object, &names)? {
            Some(there) => there,
            None => match InAttribute::new(self.style(file, &names)?.fork) {
                Some(new) => new,
                None => return Ok(false),
            },
        };
        change(&mut there.fork);
        there.put(file.object)
    }

    /// The fork to write, in a file. Makes the sidecar, or makes it the server's own, if need be. A fork that
    /// is elsewhere moves into it.
    pub fn fork_to_write(&self, caller: &Caller, file: &File<'_>) -> Result<Fork> {
        file.require(caller, Access::WRITE)?;
        let there = self.any_fork(file)?;
        let is_in_depot = there.as_ref().is_none_or(Fork::is_whole);
        if is_in_depot
            && self.sidecar(file)?.is_none()
            && let Some(fork) = self.depots().fork_or_new(file)?
        {
            fork.open_for(Access::READ.union(Access::WRITE))?;
            return Ok(Fork::whole(fork));
        }
        if there.as_ref().is_none_or(|fork| fork.in_header)
            && let Some(fork) = self.header_fork(file)?
        {
            return Ok(fork);
        }
        if there.is_some_and(|fork| !fork.grows) {
            self.move_fork(file)?;
            self.give_up_header_file(file)?;
        }
        let header = self.new_header(file)?;
        let mut sidecar = self.sidecar_or_new(file, &header)?;
        if sidecar.layout().is_none() {
            sidecar.write(0, &header)?;
            sidecar = sidecar.again()?;
        }
        if sidecar.layout().is_some_and(|layout| layout.len_at.is_none()) {
            self.move_fork(file)?;
            sidecar = self.sidecar(file)?.ok_or(Error::Io)?;
        }
        sidecar.open_for(Access::READ.union(Access::WRITE))?;
        let size = sidecar.attributes.size;
        let mut fork = Fork::in_file(sidecar).ok_or(Error::Io)?;
        fork.set_end_at(size)?;
        Ok(fork)
    }

    /// Takes over the contents of Netatalk 2's file or of an attribute: the fork into a sidecar,
    /// the rest into the model. Then the old place is given up.
    pub fn take_over(&self, file: &File<'_>) -> Result<()> {
        if self.any_fork(file)?.is_some_and(|fork| !fork.grows) {
            self.move_fork(file)?;
        }
        self.give_up_header_file(file)
    }

    /// Removes a sidecar without contents: no fork, no attributes, and no Finder info that the
    /// model does not know.
    pub fn settle(&self, file: &File<'_>) -> Result<()> {
        let Some(sidecar) = self.sidecar(file)? else { return Ok(()) };
        let nothing = match (sidecar.layout(), sidecar.parsed()) {
            (Some(layout), Some(head)) => {
                let info = self.load_without_sidecar(file)?.0.finder_info_with_date();
                let known = head.finder_info.is_none() || head.finder_info == info;
                // macOS looks for the Finder info in it.
                let is_macos = sidecar.head.get(8..16) == Some(b"Mac OS X") && !info.is_none();
                layout.len == 0 && known && head.xattrs.is_empty() && !is_macos
            }
            _ => sidecar.owned && sidecar.head.is_empty(),
        };
        if !nothing {
            return Ok(());
        }
        elsewhere::drop_attribute(file.object)?; // or it would be the fork again
        file.folder.remove(&Caller::root(), &file.sidecar_name())?;
        super::pair::unmark(file.object)
    }

    /// Removes the fork. `NoSuchAttribute` when it is empty.
    pub fn remove_fork(&self, caller: &Caller, file: &File<'_>) -> Result<()> {
        if self.fork_len(file)? == 0 {
            return Err(Error::NoSuchAttribute);
        }
        self.cut_fork(caller, file, 0)?;
        self.depots().drop_stream(file.object, RESOURCE_STREAM)?;
        if self.sidecar(file)?.is_none() {
            elsewhere::drop_attribute(file.object)?;
        }
        self.settle(file)
    }

    /// After the file's mode or owner was changed: changes the sidecar's, too. One look-up if there
    /// is none.
    pub fn dress(&self, file: &File<'_>) -> Result<()> {
        if let Beside::Own(sidecar) = self.beside(file)? {
            dress(&*sidecar.object, file.object)?;
        }
        self.server_files().dress_books(file)
    }

    /// The header of a new sidecar, with the Finder info that other servers look for in it.
    fn new_header(&self, file: &File<'_>) -> Result<Vec<u8>> {
        Ok(self.load_without_sidecar(file)?.0.to_stored_sidecar(0))
    }

    /// Moves a fork that cannot grow where it is (other entries follow it, no row names it, it is
    /// not in a sidecar) behind a header of its own. The new sidecar appears whole.
    pub(crate) fn move_fork(&self, file: &File<'_>) -> Result<()> {
        self.absorb(file)?; // entries that the new header has no place for
        let old = self.sidecar(file)?;
        match old.as_ref().and_then(Sidecar::parsed) {
            Some(head) => self.move_behind(file, kept_header(&head), true),
            None => self.move_behind(file, self.new_header(file)?, false),
        }
    }

    /// Puts the fork behind this header. `known` says that the header has all attributes that the model has.
    pub(super) fn move_behind(&self, file: &File<'_>, header: Vec<u8>, known: bool) -> Result<()> {
        let from = self.any_fork(file)?;
        let new = self.unfinished(file, header, from.as_ref(), known)?;
        let name = file.sidecar_name();
        match self.beside(file)? {
            Beside::Plain => return Err(Error::Exists),
            Beside::Foreign(owner) => self.displace(file.folder, &name, &owner)?,
            Beside::Nothing | Beside::Own(_) => {}
        }
        new.rename(&Caller::root(), store::UNFINISHED, file.folder, &name, RenameMode::Replace)?;
        super::found(file.object.remove_xattr(&Caller::root(), SIDECAR))?; // that was the old one's
        elsewhere::drop_attribute(file.object)
    }

    /// Makes a sidecar in the store, and gives the folder it is in.
    fn unfinished(
        &self,
        file: &File<'_>,
        header: Vec<u8>,
        from: Option<&Fork>,
        known: bool,
    ) -> Result<Arc<dyn Object>> {
        let root = Caller::root();
        let folder = self.own_store.make_folder(&file.key())?;
        super::found(folder.remove(&root, store::UNFINISHED))?;
        let made = folder.create(&root, store::UNFINISHED, NewKind::File, 0o600)?;
        let new = Sidecar { object: made.object, attributes: made.attributes, owned: false, head: vec![] };
        new.write(0, &header)?;
        let mut new = Fork::in_file(new.again()?).ok_or(Error::Io)?;
        if let Some(from) = from {
            new.copy(from)?;
        }
        let ForkLocation::Sidecar(mut sidecar) = new.held else { return Err(Error::Io) };
        sidecar.claim(&file.key())?;
        let sidecar = sidecar.again()?;
        if known {
            sidecar.note_absorbed()?;
        }
        dress(&*sidecar.object, file.object)?;
        sidecar.object.sync(Stability::File)?;
        Ok(folder)
    }
}

/// A header with the contents of another one, as far as the sidecar's format allows.
fn kept_header(old: &SidecarHead<'_>) -> Vec<u8> {
    let xattrs: Vec<_> = old.xattrs.iter().filter_map(|attr| Some((attr.name, attr.value?))).collect();
    sidecar::synthesize(&old.finder_info, &xattrs, 0).0
}

impl Fork {
    /// A file of Samba's depot.
    pub(super) fn whole(file: Sidecar) -> Self {
        let layout = Layout { start: 0, len: file.attributes.size, len_at: None, finder_info_at: None };
        Self { held: ForkLocation::Sidecar(file), layout, grows: true, in_header: false }
    }

    /// Whether it is such a file: no header comes before it.
    fn is_whole(&self) -> bool {
        matches!(self.held, ForkLocation::Sidecar(_)) && self.layout.start == 0
    }

    pub(super) fn in_file(sidecar: Sidecar) -> Option<Self> {
        let layout = sidecar.layout()?;
        let grows = layout.len_at.is_some();
        Some(Self { held: ForkLocation::Sidecar(sidecar), layout, grows, in_header: false })
    }

    /// Whether it is in a file with a header, a sidecar or one of another server's.
    pub(super) fn is_in_sidecar(&self) -> bool {
        matches!(self.held, ForkLocation::Sidecar(_)) && !self.is_whole() && self.grows
    }

    /// Makes it ready to be read.
    pub(super) fn open(&self) -> Result<()> {
        match &self.held {
            ForkLocation::Sidecar(sidecar) => sidecar.open_for(Access::READ),
            ForkLocation::Attribute(_) => Ok(()),
        }
    }

    fn beside(beside: Beside) -> Option<Self> {
        let Beside::Own(sidecar) = beside else { return None };
        Self::in_file(sidecar).filter(|fork| fork.len() > 0)
    }

    fn object(&self) -> Result<&dyn Object> {
        match &self.held {
            ForkLocation::Sidecar(sidecar) => Ok(&*sidecar.object),
            ForkLocation::Attribute(_) => Err(Error::NotSupported), // never given out to write
        }
    }

    pub(super) fn copy(&mut self, from: &Self) -> Result<()> {
        if let ForkLocation::Sidecar(sidecar) = &from.held {
            sidecar.open_for(Access::READ)?;
        }
        let mut done = 0;
        while done < from.len() {
            let mut chunk = Vec::new();
            if from.read_at(done, CHUNK, &mut chunk, Wait::Allowed)? == 0 {
                return Err(Error::Io);
            }
            self.write_at(done, &chunk, Stability::Unstable)?;
            done += chunk.len() as u64;
        }
        Ok(())
    }

    /// Its length. There is no "empty": a fork of no bytes is not there.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.layout.len
    }

    /// Whether the fork is where and as long as it was when it was found: the sidecar was not
    /// changed, moved or replaced.
    pub(crate) fn is_unchanged(&self) -> bool {
        let ForkLocation::Sidecar(Sidecar { object, attributes: then, .. }) = &self.held else {
            return false;
        };
        object.attributes().is_ok_and(|now| {
            let same = (now.size, now.changed, now.modified) == (then.size, then.changed, then.modified);
            same && now.links > 0
        })
    }

    /// Appends up to `length` bytes from `offset` to `into`; fewer only at the end of the fork.
    pub fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> Result<usize> {
        let left = self.layout.len.saturating_sub(offset);
        let length = length.min(usize::try_from(left).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(0);
        }
        if let ForkLocation::Attribute(value) = &self.held {
            into.extend_from_slice(&value[offset as usize..offset as usize + length]);
            return Ok(length);
        }
        self.object()?.read_at(self.layout.start + offset, length, into, wait)
    }

    /// Writes all of `data` at `offset`; a gap before it reads as zeros.
    pub fn write_at(&mut self, offset: u64, data: &[u8], stability: Stability) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        let at = self.layout.start.checked_add(offset).ok_or(Error::FileTooLarge)?;
        let end = offset.checked_add(data.len() as u64).ok_or(Error::FileTooLarge)?;
        if end > self.layout.len {
            // The row first: a crash in between leaves a row that says too much, which the file's size corrects.
            self.layout.len = end;
            self.write_len()?;
        }
        self.object()?.write_at(&Caller::root(), at, data, stability)
    }

    /// Cuts the fork, or extends it with zeros.
    pub fn truncate(&mut self, size: u64) -> Result<()> {
        self.layout.start.checked_add(size).ok_or(Error::FileTooLarge)?;
        self.layout.len = size;
        self.set_end()
    }

    /// Puts it on the disk.
    pub fn sync(&self, stability: Stability) -> Result<()> {
        self.object()?.sync(stability)
    }

    /// The file that it is in.
    pub(super) fn into_file(self) -> Option<Sidecar> {
        match self.held {
            ForkLocation::Sidecar(sidecar) => Some(sidecar),
            ForkLocation::Attribute(_) => None,
        }
    }

    /// Cuts a file of this size where the fork ends: a placeholder, or bytes behind the fork.
    pub(super) fn set_end_at(&mut self, size: u64) -> Result<()> {
        if size == self.layout.start + self.layout.len { Ok(()) } else { self.set_end() }
    }

    fn set_end(&mut self) -> Result<()> {
        let end = SetAttributes { size: Some(self.layout.start + self.layout.len), ..Default::default() };
        self.object()?.set_attributes(&Caller::root(), &end)?;
        self.write_len()
    }

    /// A fork of 4 GiB or more cannot be said; the largest number stands for "to the end of the file".
    fn write_len(&self) -> Result<()> {
        if self.is_whole() {
            return Ok(());
        }
        let len = u32::try_from(self.layout.len).unwrap_or(u32::MAX);
        let at = self.layout.len_at.ok_or(Error::Io)?;
        self.object()?.write_at(&Caller::root(), at, &len.to_be_bytes(), Stability::Unstable)
    }
}
