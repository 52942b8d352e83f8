//! The journals of replaced bands, as the settings want them: a point begins after each session that has completed a backup.

use std::time::SystemTime;

use admin::{Settings, ShareSettings};
use vfs::{MacBackup, Volume};

use super::points::new_name;
use super::{Backups, Place};

impl Backups {
    /// Begins a point if one is due, in a bundle that no client writes to.
    ///
    /// # Errors
    /// The disk fails, or has no room.
    pub(crate) fn keep_journal(&self, place: &Place<'_>, bundle: &MacBackup) -> anyhow::Result<()> {
        if !self.is_point_due(place, bundle) {
            return Ok(());
        }
        let Some(_working) = self.background() else { return Ok(()) };
        self.begin_point(place)
    }

    /// Whether a point is to begin. One of damaged backups would take the place of a good one.
    pub(super) fn is_point_due(&self, place: &Place<'_>, bundle: &MacBackup) -> bool {
        let record = self.record(&place.name);
        let is_damaged =
            bundle.is_damaged() || record.verification.as_ref().is_some_and(|last| last.is_damaged());
        let is_kept = sessions(place.share, &place.current.settings) > 0;
        let has_none = || place.volume.backup_journals().points(&place.bundle).is_empty();
        is_kept && !is_damaged && bundle.size.is_some() && (record.is_point_due || has_none())
    }

    /// Begins a point that is due. No other request works.
    pub(super) fn begin_point(&self, place: &Place<'_>) -> anyhow::Result<()> {
        let (journals, now) = (place.volume.backup_journals(), SystemTime::now().into());
        // The newest point is the end of the last session. To undo that one, the point before is needed.
        let keep = sessions(place.share, &place.current.settings).saturating_add(1);
        if journals.begin_point(&place.bundle, &new_name(), now, keep)? {
            self.change(&place.name, |record| record.is_point_due = false);
            tracing::info!(
                share = place.share.name,
                bundle = place.name.bundle,
                "restore point begun in the journal"
            );
        }
        Ok(())
    }

    /// Removes the journals that the settings do not want any more, and those of bundles that are gone.
    pub(crate) fn tidy_journals(
        &self,
        (share, settings): (&ShareSettings, &Settings),
        volume: &Volume,
        bundles: &[MacBackup],
    ) {
        let is_wanted = sessions(share, settings) > 0;
        let is_needless = |name: &Vec<u8>| !is_wanted || !bundles.iter().any(|bundle| bundle.name == *name);
        let needless: Vec<Vec<u8>> =
            volume.backup_journals().bundles().into_iter().filter(is_needless).collect();
        if needless.is_empty() {
            return;
        }
        let Some(_working) = self.background() else { return };
        for name in needless {
            if let Err(error) = volume.backup_journals().end(&name) {
                tracing::warn!(share = share.name, %error, "a journal of backups is not removed");
            }
        }
    }
}

fn sessions(share: &ShareSettings, settings: &Settings) -> usize {
    share.undoable_sessions(settings.server.cluster.is_some())
}
