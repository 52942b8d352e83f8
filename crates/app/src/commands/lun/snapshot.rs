//! `fourfold lun snapshot`: snapshots of LUNs, which are read-only LUNs.

use std::process::ExitCode;

use admin::control::{LunAnswer, LunRequest, LunStatus};
use anyhow::{Context, bail};

use super::{one, say, table};
use crate::cli::LunSnapshot;
use crate::terminal::{exit, out};

/// The name of the LUN that is the snapshot SNAPSHOT of the LUN NAME.
pub(super) fn lun_name(name: &str, snapshot: &str) -> String {
    format!("{name}.{snapshot}")
}

/// The share, the LUN and the name of SHARE/NAME@SNAPSHOT.
pub(super) fn names(typed: &str) -> anyhow::Result<(&str, &str, &str)> {
    let parts = typed.split_once('@').and_then(|(lun, snapshot)| {
        let (share, name) = admin::luns::split(lun)?;
        admin::luns::split(&format!("x/{}", lun_name(name, snapshot)))?;
        (!snapshot.is_empty()).then_some((share, name, snapshot))
    });
    parts.ok_or_else(|| {
        exit::usage_error(format!(
            "{typed:?} names no snapshot of a LUN: write SHARE/NAME@SNAPSHOT; both names together have up to 63 letters and \
             digits of ASCII, `-`, `_` and `.`"
        ))
    })
}

/// Executes the command. The inner error is the exit code of refused settings.
pub(super) fn run(
    command: &LunSnapshot,
    ask: impl Fn(LunRequest) -> anyhow::Result<Result<LunAnswer, ExitCode>>,
) -> anyhow::Result<Result<anyhow::Result<()>, ExitCode>> {
    Ok(match command {
        LunSnapshot::Create { named, copy } => {
            let (share, name, snapshot) = names(&named.snapshot)?;
            let new = lun_name(name, snapshot);
            let (share, name) = (share.into(), name.into());
            ask(LunRequest::Snapshot { share, name, new, copy: *copy })?.map(|answer| say(&answer))
        }
        LunSnapshot::List { lun, json, .. } => {
            let of = lun.as_deref().map(super::names).transpose()?;
            ask(LunRequest::List)?.map(|answer| list(answer, of, *json))
        }
        LunSnapshot::Remove { named, force, caution } => {
            let (share, name, snapshot) = names(&named.snapshot)?;
            let found = match ask(LunRequest::List)? {
                Ok(answer) => one(answer, share, &lun_name(name, snapshot)),
                Err(code) => return Ok(Err(code)),
            };
            let missing = || {
                format!("there is no snapshot {}; `fourfold lun snapshot list` shows them", named.snapshot)
            };
            let found = found.with_context(missing)?;
            if !found.snapshot_of.as_ref().is_some_and(|of| of.eq_ignore_ascii_case(name)) {
                bail!(
                    "{} is no snapshot of {share}/{name}; `fourfold lun remove` removes LUNs",
                    found.full_name()
                );
            }
            if !caution.permits_script(&format!("the snapshot {} is removed", named.snapshot))? {
                return Ok(Ok(Ok(())));
            }
            let (share, name) = (found.share, found.name);
            ask(LunRequest::Remove { share, name, keep_file: false, force: *force })?
                .map(|answer| say(&answer))
        }
    })
}

fn list(answer: LunAnswer, of: Option<(&str, &str)>, json: bool) -> anyhow::Result<()> {
    let LunAnswer::Luns(luns) = answer else { bail!("the server answered something else") };
    let is_asked = |lun: &LunStatus| {
        let Some(name) = &lun.snapshot_of else { return false };
        of.is_none_or(|(share, of)| lun.share == share && name.eq_ignore_ascii_case(of))
    };
    let luns: Vec<LunStatus> = luns.into_iter().filter(is_asked).collect();
    if json {
        out::json(&luns)
    } else if luns.is_empty() {
        Ok(out::line("there are no snapshots; `fourfold lun snapshot create SHARE/NAME@SNAPSHOT` takes one")?)
    } else {
        Ok(out::print(table::list(&luns))?)
    }
}
