//! The resource fork, in the file's sidecar.

use super::sidecar::{Layout, Sidecar};
use super::{File, Streams, store};
use crate::backend::{NewKind, RenameMode, Stability, Wait};
use crate::mac::sidecar as head;
use crate::{Access, Caller, Error, Result, SetAttributes};

/// Bytes copied at a time when a fork has to move.
const CHUNK: usize = 1 << 20;

/// A file's resource fork, open. Right as long as nobody else writes the sidecar.
pub struct Fork {
    sidecar: Sidecar,
    layout: Layout,
}

impl Streams {
    /// The length of a file's resource fork; 0 when there is none.
    pub fn fork_len(&self, file: &File<'_>) -> Result<u64> {
        let sidecar = self.sidecar(file)?;
        Ok(sidecar.and_then(|sidecar| sidecar.layout()).map_or(0, |layout| layout.len))
    }

    /// The fork to read, or `None` when it is empty.
    pub fn fork(&self, caller: &Caller, file: &File<'_>) -> Result<Option<Fork>> {
        file.require(caller, Access::READ)?;
        let Some(sidecar) = self.sidecar(file)? else { return Ok(None) };
        let Some(layout) = sidecar.layout().filter(|layout| layout.len > 0) else { return Ok(None) };
        sidecar.open_for(Access::READ)?;
        Ok(Some(Fork { sidecar, layout }))
    }

    /// The fork to write. Makes the sidecar, or makes it ours, if need be.
    pub fn fork_to_write(&self, caller: &Caller, file: &File<'_>) -> Result<Fork> {
        file.require(caller, Access::WRITE)?;
        let header = self.new_header(file)?;
        let mut sidecar = self.sidecar_or_new(file, &header)?;
        if sidecar.layout().is_none() {
            sidecar.write(0, &header)?;
            sidecar = sidecar.again()?;
            sidecar.note_absorbed()?;
        }
        let layout = sidecar.layout().ok_or(Error::Io)?;
        if layout.len_at.is_none() {
            return self.rebuilt(file, sidecar, layout);
        }
        sidecar.open_for(Access::READ.union(Access::WRITE))?;
        let mut fork = Fork { sidecar, layout };
        if fork.sidecar.attributes.size != layout.start + layout.len {
            fork.set_end()?; // a placeholder, or bytes behind the fork
        }
        Ok(fork)
    }

    /// Removes a sidecar that says nothing: no fork, no attributes, and no Finder info that the model does not know.
    pub fn settle(&self, file: &File<'_>) -> Result<()> {
        let Some(sidecar) = self.sidecar(file)? else { return Ok(()) };
        let nothing = match (sidecar.layout(), sidecar.parsed()) {
            (Some(layout), Some(head)) => {
                layout.len == 0 && head.finder_info.is_none() && head.xattrs.is_empty()
            }
            _ => sidecar.owned && sidecar.head.is_empty(),
        };
        if nothing { file.folder.remove(&Caller::root(), &file.sidecar_name()) } else { Ok(()) }
    }

    /// The header of a new sidecar, with the Finder info that neighbours look for in it.
    fn new_header(&self, file: &File<'_>) -> Result<Vec<u8>> {
        Ok(self.load_alone(file.object)?.0.to_stored_sidecar(0))
    }

    /// Puts a fork that cannot grow where it is (other entries follow it, or no row names it) behind a new header.
    fn rebuilt(&self, file: &File<'_>, old: Sidecar, layout: Layout) -> Result<Fork> {
        self.absorb(file)?; // entries that the new header has no place for
        let root = Caller::root();
        let parsed = old.parsed().ok_or(Error::Io)?;
        let xattrs: Vec<_> = parsed.xattrs.iter().filter_map(|attr| Some((attr.name, attr.value?))).collect();
        let (header, _) = head::synthesize(&parsed.finder_info, &xattrs, layout.len);
        let folder = self.make_stored(&file.key())?;
        super::found(folder.remove(&root, store::UNFINISHED))?;
        let made = folder.create(&root, store::UNFINISHED, NewKind::File, 0o600)?;
        let new = Sidecar { object: made.object, attributes: made.attributes, owned: false, head: vec![] };
        new.write(0, &header)?;
        old.open_for(Access::READ)?;
        let mut done = 0;
        while done < layout.len {
            let mut chunk = Vec::new();
            let length = CHUNK.min((layout.len - done) as usize);
            if old.object.read_at(layout.start + done, length, &mut chunk, Wait::Allowed)? == 0 {
                return Err(Error::Io);
            }
            new.write(header.len() as u64 + done, &chunk)?;
            done += chunk.len() as u64;
        }
        let mut new = new.again()?;
        new.claim(&file.key())?;
        new.note_absorbed()?;
        super::sidecar::dress(&*new.object, &old.attributes)?;
        new.object.sync(Stability::File)?;
        folder.rename(&root, store::UNFINISHED, file.folder, &file.sidecar_name(), RenameMode::Replace)?;
        new.open_for(Access::READ.union(Access::WRITE))?;
        let layout = new.layout().ok_or(Error::Io)?;
        Ok(Fork { sidecar: new, layout })
    }
}

impl Fork {
    /// Its length. There is no "empty": a fork of no bytes is not there.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.layout.len
    }

    /// Appends up to `length` bytes from `offset` to `into`; fewer only at the end of the fork.
    pub fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> Result<usize> {
        let left = self.layout.len.saturating_sub(offset);
        let length = length.min(usize::try_from(left).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(0);
        }
        self.sidecar.object.read_at(self.layout.start + offset, length, into, wait)
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
        self.sidecar.object.write_at(&Caller::root(), at, data, stability)
    }

    /// Cuts it off, or lets zeros follow.
    pub fn truncate(&mut self, size: u64) -> Result<()> {
        self.layout.start.checked_add(size).ok_or(Error::FileTooLarge)?;
        self.layout.len = size;
        self.set_end()
    }

    /// Puts it on the disk.
    pub fn sync(&self, stability: Stability) -> Result<()> {
        self.sidecar.object.sync(stability)
    }

    fn set_end(&mut self) -> Result<()> {
        let end = SetAttributes { size: Some(self.layout.start + self.layout.len), ..Default::default() };
        self.sidecar.object.set_attributes(&Caller::root(), &end)?;
        self.write_len()
    }

    /// A fork of 4 GiB or more cannot be said; the largest number stands for "to the end of the file".
    fn write_len(&self) -> Result<()> {
        let len = u32::try_from(self.layout.len).unwrap_or(u32::MAX);
        let at = self.layout.len_at.ok_or(Error::Io)?;
        self.sidecar.object.write_at(&Caller::root(), at, &len.to_be_bytes(), Stability::Unstable)
    }
}
