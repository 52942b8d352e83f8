//! What the operator asks of the shared folders: files by their paths, restores, scrubs.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use admin::control::{
    Progress, RestoreReport, RestoreRequest, RightsAnswer, RightsQuestion, RightsRequest, ScrubReport,
    ScrubRequest,
};
use vfs::{FileId, Volume};

use super::{VolumeEntry, Volumes};
use crate::commands::rights::RightsService;
use crate::commands::scrub;
use crate::serve::current::Current;
use crate::shares::restoring;

/// A file of a share.
pub(crate) struct OpenFile {
    pub(crate) volume: Arc<Volume>,
    pub(crate) id: FileId,
}

impl Volumes {
    /// Whether clients have files of this share open.
    pub(crate) fn is_in_use(&self, share: &str) -> bool {
        let one = self.known.lock().get(share).map(|known| known.volume.view());
        let is_open = || self.site.state().opens(None, usize::MAX).iter().any(|open| Some(open.view) == one);
        self.uses_homes(share) || is_open()
    }

    /// Where a file is; `None`: in the folder of no share.
    pub(crate) fn find(&self, path: &Path) -> Option<anyhow::Result<OpenFile>> {
        let found = match std::fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) => return Some(Err(anyhow::Error::new(error).context(path.display().to_string()))),
        };
        let parents: Vec<_> = path.ancestors().filter_map(|folder| std::fs::metadata(folder).ok()).collect();
        let known = self.known.lock();
        let holds = |known: &&VolumeEntry| {
            let place = (known.folder.device, known.folder.inode);
            parents.iter().any(|folder| (folder.dev(), folder.ino()) == place)
        };
        let volume = known.values().find(holds)?.volume.clone();
        let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
        Some(Ok(OpenFile { volume, id: FileId::new(FileId::device_of(major, minor), found.ino()) }))
    }

    /// The file that clients have open with this inode number, in this share. `None`: there is none.
    pub(crate) fn open_numbered(&self, share: &str, inode: u64) -> Option<OpenFile> {
        let volume = self.known.lock().get(share)?.volume.clone();
        let opens = self.site.state().opens(None, usize::MAX);
        let found = opens.iter().find(|open| open.view == volume.view() && open.file.inode == inode)?;
        Some(OpenFile { volume, id: found.file })
    }

    /// Restores files of a snapshot.
    pub(crate) fn restore(
        &self,
        current: &Arc<Current>,
        request: &RestoreRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<RestoreReport> {
        if self.restoring.swap(true, Ordering::AcqRel) {
            anyhow::bail!("another restore is going on; wait for its end");
        }
        let _ends = GoingOn(&self.restoring);
        restoring::restore(&current.settings, self, request, progress)
    }

    /// Scrubs a share.
    pub(crate) fn scrub(
        &self,
        current: &Arc<Current>,
        request: &ScrubRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<ScrubReport> {
        if self.scrubbing.swap(true, Ordering::AcqRel) {
            anyhow::bail!("another scrub is going on; wait for its end");
        }
        let _ends = GoingOn(&self.scrubbing);
        let place = scrub::Place { settings: &current.settings, volumes: self, is_served: true };
        place.scrub(request, progress)
    }

    /// Shows or changes rights.
    pub(crate) fn rights(
        &self,
        current: &Arc<Current>,
        request: RightsRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<RightsAnswer> {
        let service = RightsService { current, volumes: self };
        if matches!(request.question, RightsQuestion::Show | RightsQuestion::Of { .. }) {
            return service.answer(request, progress);
        }
        if self.settling.swap(true, Ordering::AcqRel) {
            anyhow::bail!("the rights of another tree are being looked at or changed; wait for its end");
        }
        let _ends = GoingOn(&self.settling);
        service.answer(request, progress)
    }
}

/// A restore, a scrub or work on rights that is going on, until dropped.
struct GoingOn<'a>(&'a AtomicBool);

impl Drop for GoingOn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
