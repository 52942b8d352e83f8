//! The sum of a quota that the server counts, compared with the files.

use admin::ShareSettings;
use admin::settings::units::format_size_exactly;
use anyhow::Context;
use vfs::backend::host;
use vfs::quota::Quota;

use super::work::{Place, ScrubRecorder, settle};

/// Counts the files of a share. A running server counts the changes of clients meanwhile, so what changes while the files
/// are counted says nothing.
pub(super) fn check(
    place: &Place<'_>,
    share: &ShareSettings,
    repair: bool,
    recorder: &ScrubRecorder<'_>,
) -> anyhow::Result<()> {
    let folder = share.path.canonicalize()?;
    let state = place.volumes.state();
    let sum = || match place.is_served {
        true => place.volumes.quotas().counted_sum(&folder),
        false => crate::shares::quotas::exact_sum(state, &folder),
    };
    let Some(before) = sum() else { return Ok(()) };
    let fresh = Quota::counted(u64::MAX, None);
    let counted = host::recount(&folder, Some(state), &fresh, None);
    let is_exact = counted.context("the files cannot be counted for the quota")?.is_exact;
    let counted = fresh.used().unwrap_or(before);
    if !is_exact || counted == before || sum() != Some(before) {
        return Ok(());
    }
    let what = format!(
        "the quota counts {}, the files take {}",
        format_size_exactly(before),
        format_size_exactly(counted)
    );
    let mend = || match place.is_served {
        true => place.volumes.quotas().count_now(&folder),
        false => Ok(crate::shares::quotas::forget(state)?),
    };
    settle(
        recorder,
        ("quotas.json".into(), "quota-sum", what),
        ("clients get more or less space than the quota says", "--repair has the files counted"),
        (repair, Some(&mend)),
    );
    Ok(())
}
