//! Checks that a caller may reach a folder that it names by its number. As with a path, the caller
//! must be allowed to traverse each folder above it. Numbers are easy to guess.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lock::Mutex;
use vfs::backend::Found;
use vfs::{Access, Caller, HostKey, Node};

use super::open_volume::OpenVolume;
use crate::ranks;
use crate::wire::ResultCode;

/// How long the folders above a folder are remembered. Their permissions are checked each time.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How many folders of a volume a session remembers this for.
const MOST: usize = 64;
/// The most folders above a folder.
const DEEPEST: usize = 512;

/// The folders above folders, remembered for a short time.
#[derive(Default)]
pub(in crate::server) struct Ways {
    known: Mutex<HashMap<HostKey, (Instant, Way)>, ranks::AfpReach>,
}

/// The folders from the parent up to the volume's root folder.
type Way = Arc<[Node]>;

impl OpenVolume {
    /// Refuses a folder that the caller could not reach by its path.
    pub(in crate::server) fn may_reach(&self, caller: &Caller, folder: &Found) -> Result<(), ResultCode> {
        if caller.uid == 0 || self.is_root(folder) {
            return Ok(());
        }
        for node in self.way_to(folder)?.iter() {
            let found = Found { attributes: node.attributes()?, object: node.clone() };
            if !self.tree().access(caller, &found, Access::EXECUTE)?.contains(Access::EXECUTE) {
                return Err(ResultCode::ACCESS_DENIED);
            }
        }
        Ok(())
    }

    /// Refuses a folder outside the volume as one that does not exist. One that has left the volume less than
    /// [`REMEMBERED`] ago may still be inside.
    pub(in crate::server) fn check_inside(&self, folder: &Found) -> Result<(), ResultCode> {
        if self.is_root(folder) { Ok(()) } else { self.way_to(folder).map(drop) }
    }

    fn way_to(&self, folder: &Found) -> Result<Way, ResultCode> {
        let (key, now) = (folder.object.key(), Instant::now());
        let known = self.ways.known.lock().get(&key).cloned();
        if let Some((_, way)) = known.filter(|(since, _)| now.duration_since(*since) < REMEMBERED) {
            return Ok(way);
        }
        let (mut way, mut at) = (Vec::new(), folder.clone());
        while !self.is_root(&at) && way.len() < DEEPEST {
            at = self.tree().parent(&at)?;
            way.push(at.object.clone());
        }
        let way: Way = way.into();
        let mut known = self.ways.known.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, (now, way.clone()));
        Ok(way)
    }
}
