//! The background pass, which brings what no client has asked for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::mark::{self, ArrivalStage, Mark};
use super::missing::Tally;
use super::{ArrivalState, Arriving, Progress};
use crate::backend::Object;
use crate::caller::server;
use crate::names::own::is_own_name;
use crate::{Error, Kind, Result};

/// Folders in each other.
const DEEPEST: usize = 200;

impl Arriving {
    /// Lists all folders, tries again what could not be made before, then brings all data. `stop` ends it early; the next pass goes on.
    ///
    /// # Errors
    /// [`Error::Away`]: the other server does not answer. Or the host fails as a whole, such as with a full disk.
    pub fn pass(&self, stop: &dyn Fn() -> bool) -> Result<Progress> {
        let shared = &self.shared;
        if shared.is_done() {
            return Ok(self.progress());
        }
        let root = shared.inner.root()?.object;
        let (mut left, mut bytes, mut absent) = (0, 0, Tally::default());
        walk(shared, &root, stop, &mut |object| {
            if object.kind() == Kind::Folder {
                return shared.retry(object, &mut absent);
            }
            if mark::read(&**object)?.is_some() {
                left += 1;
                bytes += object.attributes()?.size;
            }
            Ok(())
        })?;
        if !stop() {
            *shared.absent.lock() = absent;
        }
        shared.left.store(left, Ordering::Relaxed);
        shared.bytes_left.store(bytes, Ordering::Relaxed);
        let failed = walk(shared, &root, stop, &mut |object| {
            let Some(fetch) = shared.fetch(object)? else { return Ok(()) };
            let size = object.attributes()?.size;
            fetch.whole(shared, &**object, stop)?;
            if !fetch.is_under_way() {
                let less = |number: u64, by: u64| Some(number.saturating_sub(by));
                let _ = shared.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| less(left, 1));
                let bytes_left = &shared.bytes_left;
                let _ =
                    bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| less(left, size));
            }
            Ok(())
        })?;
        let is_whole = failed.count == 0;
        *shared.failed.lock() = failed;
        if is_whole && !stop() {
            let is_done = shared.absent.lock().count == 0;
            let stage = if is_done { ArrivalStage::Here } else { ArrivalStage::AllButMissing };
            mark::write(&*root, &Mark::new(stage, ""))?;
            root.sync(crate::backend::Stability::File)?;
            shared.is_done.store(is_done, Ordering::Relaxed);
        }
        Ok(self.progress())
    }
}

/// Calls `each` for all folders that are listed, and for all files. Returns what failed.
fn walk(
    shared: &ArrivalState,
    root: &Arc<dyn Object>,
    stop: &dyn Fn() -> bool,
    each: &mut dyn FnMut(&Arc<dyn Object>) -> Result<()>,
) -> Result<Tally> {
    let (mut stack, mut failed) = (vec![(root.clone(), 0)], Tally::default());
    while let Some((folder, depth)) = stack.pop() {
        if let Err(error) = shared.list(&folder).and_then(|()| each(&folder)) {
            told(shared, &*folder, error, &mut failed)?;
            continue;
        }
        for name in names(&*folder)? {
            if stop() {
                return Ok(failed);
            }
            let found = match folder.lookup(server(), &name) {
                Ok(found) => found,
                Err(_) => continue, // a client has removed or renamed it
            };
            match found.attributes.kind {
                Kind::Folder if depth < DEEPEST => stack.push((found.object, depth + 1)),
                Kind::Folder => told(shared, &*found.object, Error::TooMany, &mut failed)?,
                Kind::File => {
                    if let Err(error) = each(&found.object) {
                        told(shared, &*found.object, error, &mut failed)?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(failed)
}

/// Reports what concerns one file only, and notes it. Other errors end the pass.
fn told(shared: &ArrivalState, object: &dyn Object, error: Error, failed: &mut Tally) -> Result<()> {
    match error {
        Error::Away | Error::NoSpace | Error::QuotaExceeded | Error::ReadOnly => return Err(error),
        Error::Stale => {} // a client has removed it
        _ => {
            let path = shared.mark(object).ok().flatten().map(|mark| mark.path).unwrap_or_default();
            tracing::warn!(path, %error, "it cannot be fetched from the old server");
            failed.add(path, error.to_string());
        }
    }
    Ok(())
}

fn names(folder: &dyn Object) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    folder.list(0, &mut |entry| {
        if !matches!(entry.name, b"." | b"..") && !is_own_name(entry.name) {
            names.push(entry.name.to_vec());
        }
        true
    })?;
    Ok(names)
}
