//! Copies of files from one object to another.

use super::{Found, Object, Stability, Wait};
use crate::caller::server;
use crate::{Access, Error, Result, SetAttributes, SetTime};

/// Bytes that are copied at once.
pub(crate) const PIECE: usize = 1 << 20;

/// Copies the data of a file into a new one: the blocks are shared where the host can do that, and holes stay. `bytes` is told
/// how many were copied since its last call.
pub(crate) fn copy_data(from: &Found, to: &Found, bytes: &mut dyn FnMut(u64)) -> Result<()> {
    let size = from.attributes.size;
    if size == 0 {
        return Ok(());
    }
    from.object.prepare(server(), &from.attributes, Access::READ, true)?;
    to.object.prepare(server(), &to.attributes, Access::READ.union(Access::WRITE), true)?;
    match to.object.clone_range(server(), &*from.object, 0, 0, 0) {
        Err(Error::NotSupported | Error::CrossVolume | Error::Invalid) => {}
        cloned => {
            bytes(size);
            return cloned;
        }
    }
    let mut at = 0;
    while let Some(data) = from.object.seek(at, true)?.filter(|data| *data < size) {
        let end = from.object.seek(data, false)?.unwrap_or(size);
        at = copy_range(&*from.object, &*to.object, (data, end), bytes)?;
        if at < end {
            break; // cut meanwhile
        }
    }
    to.object.set_attributes(server(), &SetAttributes { size: Some(size), ..Default::default() })
}

fn copy_range(
    from: &dyn Object,
    to: &dyn Object,
    (start, end): (u64, u64),
    bytes: &mut dyn FnMut(u64),
) -> Result<u64> {
    let (mut at, mut piece) = (start, Vec::with_capacity(PIECE));
    while at < end {
        piece.clear();
        let length = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        if from.read_at(at, length, &mut piece, Wait::Allowed)? == 0 {
            break;
        }
        to.write_at(server(), at, &piece, Stability::Unstable)?;
        at += piece.len() as u64;
        bytes(piece.len() as u64);
    }
    Ok(at)
}

/// Gives a file the times of another one. Last, because all other changes set them.
pub(crate) fn keep_times(source: &Found, target: &dyn Object) -> Result<()> {
    let times = SetAttributes {
        accessed: SetTime::To(source.attributes.accessed),
        modified: SetTime::To(source.attributes.modified),
        ..SetAttributes::default()
    };
    target.set_attributes(server(), &times)
}
