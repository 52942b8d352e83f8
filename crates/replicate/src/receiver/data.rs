//! The data of files, and the names of folders.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, OFlags, fallocate, fstat, ioctl_ficlone};

use super::apply::mark;
use super::{PARTIAL, Target};
use crate::content::{self, CHUNK};
use crate::failure::{Failure, Result};
use crate::host::{self, join, split};
use crate::link::Link;
use crate::wire::{Entry, Kind, Message, Place, Want};

/// From this size on a file that was cut off is continued where it was.
const WORTH_CONTINUING: u64 = 1 << 20;

/// A folder whose names arrive.
pub(super) struct Listing {
    folder: Vec<u8>,
    /// The names here that were not compared yet, the last one first.
    here: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Target {
    /// Receives the data of a file. Returns whether its content has the checksum that the source has read.
    pub(super) fn fill(
        &mut self,
        entry: &Entry,
        size: u64,
        want: Want,
        link: &mut Link,
        count: &mut dyn FnMut(u64),
    ) -> Result<bool> {
        let path = self.place(&entry.place)?;
        let (parent, name) = (self.parent(&path)?, split(&path).1);
        let failed = |what| Failure::io::<std::io::Error>(what, &path);
        let file: File = host::open(&self.root, &path, OFlags::RDWR).map_err(failed("open"))?.into();
        if want.is_delta {
            self.start_from_base(entry, &file).map_err(failed("copy the older content of"))?;
            file.set_len(size).map_err(failed("write"))?;
        } else {
            if size >= WORTH_CONTINUING {
                host::set_xattr(&parent, name, PARTIAL, &mark(size, entry.modified))
                    .map_err(failed("change"))?;
            }
            file.set_len(want.from).map_err(failed("write"))?;
        }
        let within = |offset: u64, length: u64| match offset + length <= size {
            true => Ok(()),
            false => Err(Failure::Order("data behind the end of a file")),
        };
        let theirs = loop {
            match link.receive()? {
                Message::Data { offset, bytes } => {
                    within(offset, bytes.len() as u64)?;
                    file.write_all_at(&bytes, offset).map_err(failed("write"))?;
                    count(bytes.len() as u64);
                }
                Message::Zeros { offset, length } => {
                    within(offset, length)?;
                    zeros(&file, offset, length).map_err(failed("write"))?;
                }
                Message::End(checksum) => break checksum,
                _ => return Err(Failure::Order("no data")),
            }
        };
        file.set_len(size).map_err(failed("write"))?;
        let is_right = content::checksum(&file, size).map_err(failed("read"))? == theirs;
        host::remove_xattr(&parent, name, PARTIAL).map_err(failed("change"))?;
        if is_right {
            drop(file);
            self.metadata(entry, &parent, &path)?;
        }
        Ok(is_right)
    }

    /// Gives a file its content from the tree that came by a stream of the host's program. Returns whether it is there.
    pub(super) fn fill_from_received(&mut self, entry: &Entry) -> Result<bool> {
        let Kind::File { size, checksum, .. } = &entry.kind else { return Ok(false) };
        let path = self.place(&entry.place)?;
        let source = match (&entry.source, &entry.place) {
            (Some(source), _) | (None, Place::Tree(source)) => source,
            _ => return Ok(false),
        };
        let Some(Ok(opened)) = self.received.as_ref().map(|root| host::open(root, source, OFlags::RDONLY))
        else {
            return Ok(false);
        };
        let failed = |what| Failure::io::<std::io::Error>(what, &path);
        let stat = fstat(&opened).map_err(|why| failed("read")(why.into()))?;
        let is_size = stat.st_size.cast_unsigned() == *size;
        if !host::is_file(&stat) || !is_size || host::modified(&stat) != entry.modified {
            return Ok(false);
        }
        let (parent, name) = (self.parent(&path)?, split(&path).1);
        let file: File = host::open(&self.root, &path, OFlags::RDWR).map_err(failed("open"))?.into();
        share_or_copy(&opened.into(), &file, *size).map_err(failed("write"))?;
        file.set_len(*size).map_err(failed("write"))?;
        if let Some(checksum) = checksum
            && content::checksum(&file, *size).map_err(failed("read"))? != *checksum
        {
            return Ok(false);
        }
        host::remove_xattr(&parent, name, PARTIAL).map_err(failed("change"))?;
        drop(file);
        self.metadata(entry, &parent, &path)?;
        Ok(true)
    }

    /// Gives a file the content of the older one, with shared blocks if the host can.
    fn start_from_base(&self, entry: &Entry, file: &File) -> std::io::Result<()> {
        let Kind::File { base: Some((path, size, modified)), .. } = &entry.kind else { return Ok(()) };
        let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let older = self.older((path, *size, *modified)).ok_or_else(gone)?;
        share_or_copy(&older, file, *size)
    }

    /// Compares the names of a folder, and removes what the source does not have.
    pub(super) fn names(&mut self, folder: Vec<u8>, names: Vec<Vec<u8>>, is_last: bool) -> Result<()> {
        let mut listing = match self.listing.take() {
            Some(listing) if listing.folder == folder => listing,
            Some(_) => return Err(Failure::Order("the names of two folders")),
            None => self.listed(folder)?,
        };
        for name in names {
            if name <= listing.last {
                return Err(Failure::Order("names that are not in their order"));
            }
            while let Some(here) = listing.here.pop_if(|here| **here <= *name) {
                if here != name {
                    self.remove(&join(&listing.folder, &here))?;
                }
            }
            listing.last = name;
        }
        if !is_last {
            self.listing = Some(listing);
            return Ok(());
        }
        while let Some(here) = listing.here.pop() {
            self.remove(&join(&listing.folder, &here))?;
        }
        Ok(())
    }

    fn listed(&self, folder: Vec<u8>) -> Result<Listing> {
        let opened = self.parent(&join(&folder, b"."))?;
        let mut here = host::names(&opened).map_err(Failure::io("list", &folder))?;
        if folder.is_empty() {
            here.retain(|name| !crate::source::is_own(name));
        }
        here.reverse();
        Ok(Listing { folder, here, last: Vec::new() })
    }

    pub(super) fn names_are_complete(&self) -> Result<()> {
        if self.listing.is_some() { Err(Failure::Order("the names of a folder have no end")) } else { Ok(()) }
    }
}

/// Gives a file the content of another one, with shared blocks if the host can. Where it cannot, blocks that are the same are
/// not written: snapshots of the file go on to share them.
fn share_or_copy(from: &File, to: &File, size: u64) -> std::io::Result<()> {
    if ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let before = to.metadata()?.len();
    if before > size {
        to.set_len(size)?;
    }
    let mut other = vec![0; CHUNK];
    content::each_chunk(to, before.min(size), &mut |offset, bytes| match content::is_zero(content::read(
        from,
        offset,
        &mut other[..bytes.len()],
    )?) {
        true => zeros(to, offset, bytes.len() as u64),
        false => Ok(()),
    })?;
    content::each_chunk(from, size, &mut |offset, bytes| match content::read(
        to,
        offset,
        &mut other[..bytes.len()],
    )? == bytes
    {
        true => Ok(()),
        false => to.write_all_at(bytes, offset),
    })
}

/// Makes a range a hole, or writes zeros.
fn zeros(file: &File, offset: u64, length: u64) -> std::io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if fallocate(file, flags, offset, length).is_ok() {
        return Ok(());
    }
    let mut at = offset;
    while at < offset + length {
        let now = (offset + length - at).min(CHUNK as u64);
        file.write_all_at(&[0; CHUNK][..now as usize], at)?;
        at += now;
    }
    Ok(())
}
