//! The background pass, which brings what no client has asked for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::mark::{self, Mark, Stage};
use super::{Arriving, Progress, Shared};
use crate::acl::server;
use crate::backend::Object;
use crate::finding::own_folders::is_own_name;
use crate::{Error, Kind, Result};

/// Folders in each other.
const DEEPEST: usize = 200;

impl Arriving {
    /// Lists all folders, then brings all data. `stop` ends it early; the next pass goes on.
    ///
    /// # Errors
    /// [`Error::Away`]: the other server does not answer. Or the host fails as a whole, such as with a full disk.
    pub fn pass(&self, stop: &dyn Fn() -> bool) -> Result<Progress> {
        let shared = &self.shared;
        if shared.is_done() {
            return Ok(self.progress());
        }
        let root = shared.inner.root()?.object;
        let (mut left, mut bytes) = (0, 0);
        let mut failed = walk(shared, &root, stop, &mut |object| {
            if mark::read(&**object)?.is_some() {
                left += 1;
                bytes += object.attributes()?.size;
            }
            Ok(())
        })?;
        shared.left.store(left, Ordering::Relaxed);
        shared.bytes_left.store(bytes, Ordering::Relaxed);
        failed += walk(shared, &root, stop, &mut |object| {
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
        shared.failed.store(failed, Ordering::Relaxed);
        if failed == 0 && !stop() {
            mark::write(&*root, &Mark::new(Stage::Here, ""))?;
            root.sync(crate::backend::Stability::File)?;
            shared.is_done.store(true, Ordering::Relaxed);
        }
        Ok(self.progress())
    }
}

/// Calls `each` for all files. Returns how many files and folders failed.
fn walk(
    shared: &Shared,
    root: &Arc<dyn Object>,
    stop: &dyn Fn() -> bool,
    each: &mut dyn FnMut(&Arc<dyn Object>) -> Result<()>,
) -> Result<u64> {
    let (mut stack, mut failed) = (vec![(root.clone(), 0)], 0);
    while let Some((folder, depth)) = stack.pop() {
        if let Err(error) = shared.list(&folder) {
            failed += told(shared, &*folder, error)?;
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
                Kind::Folder => failed += 1,
                Kind::File => {
                    if let Err(error) = each(&found.object) {
                        failed += told(shared, &*found.object, error)?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(failed)
}

/// Reports what concerns one file only, and counts it. Other errors end the pass.
fn told(shared: &Shared, object: &dyn Object, error: Error) -> Result<u64> {
    match error {
        Error::Away | Error::NoSpace | Error::QuotaExceeded | Error::ReadOnly => Err(error),
        Error::Stale => Ok(0), // a client has removed it
        _ => {
            let path = shared.mark(object).ok().flatten().map(|mark| mark.path).unwrap_or_default();
            tracing::warn!(path, %error, "it cannot be fetched from the old server");
            Ok(1)
        }
    }
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
