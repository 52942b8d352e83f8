//! `fourfold pool`: file systems with snapshots, in files.

use std::process::ExitCode;

use admin::settings::units::{format_size, parse_size};
use snapshots::Pools;

use crate::cli::{PoolCommand, Where};
use crate::host::here;
use crate::terminal::{exit, out};

/// Makes, lists, mounts and destroys pools.
pub(crate) fn run(command: &PoolCommand) -> anyhow::Result<ExitCode> {
    let (PoolCommand::Create { place, .. }
    | PoolCommand::List { place, .. }
    | PoolCommand::Mount { place }
    | PoolCommand::Destroy { place, .. }) = command;
    match command {
        PoolCommand::Create { file, size, folder, .. } => {
            let no_size = || exit::usage_error(format!("{size:?} is no size; write one such as 100G"));
            let bytes = parse_size(size).ok_or_else(no_size)?;
            let Some(pools) = pools(place, true)? else { return Ok(ExitCode::from(exit::REFUSED)) };
            let pool = pools.create(file, bytes, folder)?;
            out::line(format_args!("{} ({})", pool.folder.display(), format_size(bytes)))?;
        }
        PoolCommand::List { json, .. } => {
            let Some(pools) = pools(place, false)? else { return Ok(ExitCode::from(exit::REFUSED)) };
            if *json {
                out::json(&pools.list()?)?;
                return Ok(ExitCode::SUCCESS);
            }
            let headings = ["FILE", "FOLDER", "MOUNTED"].map(str::to_owned);
            let rows = pools.list()?.into_iter().map(|pool| {
                let mounted = if pool.is_mounted { "yes" } else { "no" };
                [pool.image.display().to_string(), pool.folder.display().to_string(), mounted.into()]
            });
            out::print(out::table(std::iter::once(headings).chain(rows)))?;
        }
        PoolCommand::Mount { .. } => {
            let Some(pools) = pools(place, false)? else { return Ok(ExitCode::from(exit::REFUSED)) };
            let failed = pools.mount_all()?;
            for (pool, why) in &failed {
                out::error_line(format_args!("fourfold: {} is not mounted: {why}", pool.image.display()));
            }
            return Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        PoolCommand::Destroy { file, caution, .. } => {
            if !caution.permits(&format!("all that is in {} is deleted", file.display()))? {
                return Ok(ExitCode::SUCCESS);
            }
            let Some(pools) = pools(place, false)? else { return Ok(ExitCode::from(exit::REFUSED)) };
            pools.destroy(file)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The pools of the state folder, which is made if it is `needed`. `None`: the settings are refused, which was said.
fn pools(place: &Where, needed: bool) -> anyhow::Result<Option<Pools>> {
    match here::state(place)? {
        Ok(state) => {
            if needed {
                admin::State::open(&state)?;
            }
            Ok(Some(Pools::new(&state)))
        }
        Err(diagnostics) => {
            exit::refused(&diagnostics);
            Ok(None)
        }
    }
}
