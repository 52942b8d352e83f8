//! What a file is besides its data, copied from a file of the snapshot: fork, streams, metadata, rights, times.

use super::file::copy_host_xattrs;
use super::{FileAtPlace, Restore, fresh};
use crate::backend::copying::{PIECE, keep_times};
use crate::backend::{Stability, Wait};
use crate::caller::server;
use crate::mac::{FileBits, Metadata};
use crate::streams::{File, Streams};
use crate::{Error, Kind, Result, streams};

/// A file with the streams of its volume.
pub(super) struct Side<'a> {
    pub(super) streams: &'a Streams,
    pub(super) file: File<'a>,
}

impl Restore<'_> {
    /// Makes all that `target` is besides its data what `source` is. `moves`: the file will be moved
    /// to its place yet.
    pub(super) fn describe(&mut self, source: &FileAtPlace, target: &FileAtPlace, moves: bool) -> Result<()> {
        let mut copied = 0;
        if let Some((from, to)) = self.streams_of(source, target) {
            copied = fork(&from, &to)? + named(&from, &to)?;
            let mut besides = from.streams.besides(server(), &from.file)?;
            besides.metadata = self.to_write(source, besides.metadata);
            if moves {
                besides.metadata.bits.remove(FileBits::RENAME_INHIBIT);
            }
            self.to.site.inhibited.learn(self.to.backend.as_ref(), &target.found, &besides.metadata);
            drop_xattrs(&to, &besides)?;
            to.streams.take_besides(server(), &to.file, &besides)?;
        }
        self.goes_on &= self.observer.bytes(copied);
        let names = streams::names(&*source.found.object)?;
        self.give_rights(source, target, moves)?;
        copy_host_xattrs(&*source.found.object, &*target.found.object, &names);
        if let Some((_, to)) = self.streams_of(source, target) {
            to.streams.dress(&to.file)?;
        }
        if target.found.attributes.kind == Kind::Folder {
            return Ok(()); // after its entries
        }
        keep_times(&source.found, &*target.found.object)
    }

    /// Gives the target the rights that the source had. In a team folder the roles decide: a file gets its owner and its own list
    /// again, a file that is replaced leaves its list to the new one, and a folder that is there keeps its own.
    fn give_rights(&self, source: &FileAtPlace, target: &FileAtPlace, moves: bool) -> Result<()> {
        let (storage, had) = (self.to.acl_storage(), &source.found.attributes);
        let of = fresh(&target.found)?;
        let rights = self.from.acl_storage().rights_of_file(&source.found)?;
        if !self.to.is_team_folder(&of)? {
            return storage.put_rights_of_file(&of, had, &rights);
        }
        match (&self.replaced, moves) {
            (_, false) => storage.put_owner_in_team(&of, had, None),
            (Some(replaced), true) => {
                let lists = storage.rights_of_file(replaced)?;
                storage.put_owner_in_team(&of, had, Some(&lists))
            }
            (None, true) => storage.put_owner_in_team(&of, had, Some(&rights)),
        }
    }

    /// The metadata with the time of creation, which the host gives to the copy anew.
    pub(super) fn to_write(&self, source: &FileAtPlace, mut metadata: Metadata) -> Metadata {
        let attributes = &source.found.attributes;
        let created = match self.options.settled {
            Some(_) => metadata.created(attributes),
            // The snapshot is itself a copy: only what a client has set is known.
            None => metadata.times.created.unwrap_or_else(|| {
                attributes.created.map_or(attributes.modified, |made| made.min(attributes.modified))
            }),
        };
        metadata.times.created = Some(created);
        metadata
    }
}

/// Copies the resource fork. Returns its length.
fn fork(from: &Side<'_>, to: &Side<'_>) -> Result<u64> {
    let has = to.streams.fork_len(&to.file)?;
    let Some(source) = from.streams.fork(server(), &from.file)? else {
        if has > 0 {
            to.streams.remove_fork(server(), &to.file)?;
        }
        return Ok(0);
    };
    let mut target = to.streams.fork_to_write(server(), &to.file)?;
    if target.len() > source.len() {
        target.truncate(source.len())?;
    }
    let (mut at, mut piece) = (0, Vec::with_capacity(PIECE));
    while at < source.len() {
        piece.clear();
        if source.read_at(at, PIECE, &mut piece, Wait::Allowed)? == 0 {
            return Err(Error::Io);
        }
        target.write_at(at, &piece, Stability::Unstable)?;
        at += piece.len() as u64;
    }
    Ok(at)
}

/// Copies the named streams, and removes those that the source does not have. Returns their bytes.
fn named(from: &Side<'_>, to: &Side<'_>) -> Result<u64> {
    let wanted = from.streams.streams(server(), &from.file)?;
    for has in to.streams.streams(server(), &to.file)? {
        if wanted.iter().all(|stream| stream.name != has.name) {
            to.streams.remove_stream(server(), &to.file, &has.name)?;
        }
    }
    let mut copied = 0;
    for stream in wanted {
        match stream_data(from, to, &stream.name, stream.len) {
            Err(Error::InvalidName) => {} // set by another program: no client may use it
            done => copied += done?,
        }
    }
    Ok(copied)
}

fn stream_data(from: &Side<'_>, to: &Side<'_>, name: &[u8], len: u64) -> Result<u64> {
    to.streams.truncate_stream(server(), &to.file, name, 0)?;
    let (mut at, mut piece) = (0, Vec::new());
    while at < len {
        piece.clear();
        if from.streams.read_stream(server(), &from.file, name, (at, PIECE), &mut piece)? == 0 {
            return Err(Error::Io);
        }
        let next = at + piece.len() as u64;
        let stability = if next < len { Stability::Unstable } else { Stability::File };
        to.streams.write_stream(server(), &to.file, name, at, &piece, stability)?;
        at = next;
    }
    Ok(at)
}

/// Removes extended attributes that the source does not have.
fn drop_xattrs(to: &Side<'_>, wanted: &streams::Besides) -> Result<()> {
    for (name, _) in to.streams.besides(server(), &to.file)?.xattrs() {
        if wanted.xattrs().iter().all(|(other, _)| other != name) {
            to.file.object.remove_xattr(server(), name)?;
        }
    }
    Ok(())
}
