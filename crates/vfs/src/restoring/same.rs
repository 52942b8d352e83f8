//! Whether a live file is what it is in the snapshot. What is not certain is compared byte for byte.

use super::parts::Side;
use super::{FileAtPlace, Restore, settled};
use crate::backend::copying::PIECE;
use crate::backend::{Found, Object, Wait};
use crate::caller::server;
use crate::changing::permitted::Plan;
use crate::state::Cause;
use crate::streams::Besides;
use crate::{Access, Error, Kind, Result, Time, Volume};

impl Restore<'_> {
    pub(super) fn is_same(&mut self, source: &FileAtPlace, there: &FileAtPlace) -> Result<bool> {
        let (then, now) = (&source.found.attributes, &there.found.attributes);
        let is_file = then.kind == Kind::File;
        if then.kind != now.kind || then.modified != now.modified || is_file && then.size != now.size {
            return Ok(false);
        }
        if matches!(then.kind, Kind::CharDevice | Kind::BlockDevice) && then.device != now.device {
            return Ok(false);
        }
        if !self.is_described_alike(source, there)? {
            return Ok(false);
        }
        match then.kind {
            Kind::Link => Ok(source.found.object.read_link()? == there.found.object.read_link()?),
            Kind::File => self.has_same_data(&source.found, &there.found),
            _ => Ok(true),
        }
    }

    /// Whether a live file or folder has the rights, metadata, fork and streams that it has in the snapshot.
    pub(super) fn is_described_alike(&self, source: &FileAtPlace, there: &FileAtPlace) -> Result<bool> {
        let (then, now) = (&source.found.attributes, &there.found.attributes);
        let by_mode = || -> Result<bool> {
            let rights = |volume: &Volume, of| volume.acl_storage().rights_of_file(of);
            let is_same = then.mode == now.mode;
            Ok(is_same && rights(self.from, &source.found)? == rights(self.to, &there.found)?)
        };
        let has_owner = (then.uid, then.gid) == (now.uid, now.gid);
        if !has_owner || !(self.to.is_team_folder(&there.found)? || by_mode()?) {
            return Ok(false);
        }
        let Some((from, to)) = self.streams_of(source, there) else { return Ok(true) };
        let old = from.streams.besides(server(), &from.file)?;
        let new = to.streams.besides(server(), &to.file)?;
        Ok(self.says_the_same((source, &old), (there, &new))
            && old.fork_len == new.fork_len
            && has_same_fork(&from, &to)?
            && has_same_streams((&from, &old), (&to, &new))?)
    }

    fn says_the_same(
        &self,
        (source, old): (&FileAtPlace, &Besides),
        (there, new): (&FileAtPlace, &Besides),
    ) -> bool {
        let (mut then, mut now) = (old.metadata.clone(), new.metadata.clone());
        match self.options.settled {
            Some(_) => {
                then = self.to_write(source, then);
                now = self.to_write(there, now);
            }
            // When the file was made is not known, unless a client has set it.
            None if then.times.created.is_none() => now.times.created = None,
            None => {}
        }
        for metadata in [&mut then, &mut now] {
            metadata.times.created = metadata.times.created.map(as_stored);
        }
        let sorted = |besides: &Besides| {
            let mut xattrs = besides.xattrs().to_vec();
            xattrs.sort();
            xattrs
        };
        then == now && sorted(old) == sorted(new)
    }

    fn has_same_data(&mut self, source: &Found, there: &Found) -> Result<bool> {
        let (file, to, actor) = (there.object.id(), self.to, &self.actor);
        // What a client has written and not sent yet counts, too.
        let permitted = to.permit(actor, Plan::Look)?;
        settled(to, || permitted.recall(file, Cause::Read))?;
        let (then, now) = (&source.attributes, there.object.attributes()?);
        if (then.size, then.modified) != (now.size, now.modified) {
            return Ok(false);
        }
        let is_settled = self.options.settled.is_some_and(|settled| then.changed < settled);
        if is_settled
            && then.changed == now.changed
            && source.object.key().local() == there.object.key().local()
        {
            return Ok(true);
        }
        for found in [source, there] {
            found.object.prepare(server(), &found.attributes, Access::READ, true)?;
        }
        self.has_same_bytes(&*source.object, &*there.object)
    }

    fn has_same_bytes(&mut self, one: &dyn Object, other: &dyn Object) -> Result<bool> {
        let (mut a, mut b, mut at) = (Vec::new(), Vec::new(), 0);
        loop {
            a.clear();
            b.clear();
            one.read_at(at, PIECE, &mut a, Wait::Allowed)?;
            other.read_at(at, PIECE, &mut b, Wait::Allowed)?;
            if a != b || a.is_empty() {
                return Ok(a == b);
            }
            at += a.len() as u64;
            self.goes_on &= self.observer.bytes(a.len() as u64);
        }
    }
}

/// A time of creation in the steps in which metadata keep it (MS-DTYP 2.3.3).
fn as_stored(time: Time) -> Time {
    Time { nanos: time.nanos - time.nanos % 100, ..time }
}

fn has_same_fork(from: &Side<'_>, to: &Side<'_>) -> Result<bool> {
    let forks = (from.streams.fork(server(), &from.file)?, to.streams.fork(server(), &to.file)?);
    let (Some(one), Some(other)) = forks else { return Ok(true) };
    alike(
        |at, into| one.read_at(at, PIECE, into, Wait::Allowed),
        |at, into| other.read_at(at, PIECE, into, Wait::Allowed),
    )
}

fn has_same_streams((from, old): (&Side<'_>, &Besides), (to, new): (&Side<'_>, &Besides)) -> Result<bool> {
    let lengths = |besides: &Besides| {
        let mut all: Vec<(Vec<u8>, u64)> =
            besides.streams.iter().map(|stream| (stream.name.clone(), stream.len)).collect();
        all.sort();
        all
    };
    let all = lengths(old);
    if all != lengths(new) {
        return Ok(false);
    }
    for (name, _) in &all {
        let is_same = alike(
            |at, into| from.streams.read_stream(server(), &from.file, name, (at, PIECE), into),
            |at, into| to.streams.read_stream(server(), &to.file, name, (at, PIECE), into),
        );
        match is_same {
            Ok(false) => return Ok(false),
            Ok(true) | Err(Error::InvalidName) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether two sources of bytes have the same bytes.
fn alike(
    mut one: impl FnMut(u64, &mut Vec<u8>) -> Result<usize>,
    mut other: impl FnMut(u64, &mut Vec<u8>) -> Result<usize>,
) -> Result<bool> {
    let (mut a, mut b, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        a.clear();
        b.clear();
        one(at, &mut a)?;
        other(at, &mut b)?;
        if a != b || a.is_empty() {
            return Ok(a == b);
        }
        at += a.len() as u64;
    }
}
