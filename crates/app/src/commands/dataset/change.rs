//! A property of a share that another command sets.

use std::process::ExitCode;

use admin::ShareSettings;

use super::{CurrentSettings, code};
use crate::cli::Where;

/// Sets a property of a share to what follows from the share, or removes it.
pub(crate) fn change_share(
    place: &Where,
    name: &str,
    key: &str,
    value: impl FnOnce(&ShareSettings) -> anyhow::Result<Option<String>>,
) -> anyhow::Result<ExitCode> {
    code((|| {
        let mut now = CurrentSettings::read(place)?;
        let value = value(now.share(name)?)?;
        let (mut edit, first) = now.edit_of(name)?;
        match value {
            Some(value) => edit.set(name, key, &value)?,
            None => _ = edit.unset(name, key)?,
        }
        now.save(edit)?;
        first.keep()?;
        now.reload()
    })())
}
