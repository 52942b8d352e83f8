//! Another name for a bundle: a new Mac has inherited the backups of an old one.

use admin::control::BackupName;
use anyhow::{Context, bail};
use vfs::names::{from_text_view, text_view};
use vfs::{BackupImage, backup_stem};

use super::replace::{check_changeable, in_words};
use super::{Backups, Place};

impl Backups {
    /// Gives a bundle the name of another Mac. What is known of it goes along. Lines about it.
    ///
    /// # Errors
    /// A Mac writes into it, the share has a bundle of the new name, or that is no name of a bundle.
    pub(crate) fn rename(&self, place: &Place<'_>, to: &str) -> anyhow::Result<Vec<String>> {
        let _working = self.work()?;
        check_changeable(place)?;
        let old = &place.name.bundle;
        let new = new_name(&place.bundle, to)?;
        if BackupImage::open(&place.volume, &new).is_ok() {
            bail!("the share {} has a bundle {:?} already", place.share.name, text_view(&new));
        }
        place
            .volume
            .backup_bundles()
            .rename_at_top(&place.bundle, &new)
            .map_err(|error| in_words(error, old))?;
        let name = BackupName { share: place.share.name.clone(), bundle: text_view(&new) };
        self.renamed(&place.name, &name);
        self.change(&name, |record| record.is_point_due = true);
        if let Err(error) = place.volume.backup_journals().end(&place.bundle) {
            tracing::debug!(%error, "the journal of the old name is still there");
        }
        tracing::info!(share = place.share.name, bundle = old, to = name.bundle, "backups of a Mac renamed");
        Ok(vec![format!("{old} is {} now", name.bundle)])
    }
}

/// The name of the bundle of another Mac: with the ending of the old one.
fn new_name(bundle: &[u8], mac: &str) -> anyhow::Result<Vec<u8>> {
    let name = from_text_view(mac);
    let ending = backup_stem(bundle).and_then(|stem| bundle.get(stem.len()..)).context("it is no bundle")?;
    let stem = backup_stem(&name).unwrap_or(&name);
    if stem.is_empty() || stem.starts_with(b".") || stem.contains(&b'/') || stem.contains(&0) {
        bail!("{mac:?} cannot be the name of a bundle: write the name of the Mac");
    }
    Ok([stem, ending].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_keeps_its_ending_under_the_name_of_another_mac() {
        let named = |mac| new_name(b"old.sparsebundle", mac).ok();
        assert_eq!(named("Ada's Mac").as_deref(), Some(&b"Ada's Mac.sparsebundle"[..]));
        assert_eq!(named("Ada's Mac.sparsebundle").as_deref(), Some(&b"Ada's Mac.sparsebundle"[..]));
        for wrong in ["", ".hidden", "a/b", "../up"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}
