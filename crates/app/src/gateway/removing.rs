//! `fourfold cluster remove`: a server leaves the cluster for good.

use std::process::ExitCode;
use std::time::Duration;

use admin::Settings;
use anyhow::Context;
use cluster::administered::{ServerRemoval, remove};
use serde::Serialize;

use super::certificates::endpoints;
use super::{of, runtime};
use crate::cli::ClusterRemove;
use crate::terminal::out;

/// What was done. Scripts read it as JSON: fields may be added, never renamed or removed.
#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    was_drained: bool,
    had_iscsi_port: bool,
    records: usize,
}

pub(super) fn run(asked: &ClusterRemove, settings: &Settings) -> anyhow::Result<ExitCode> {
    let (cluster, name, within) = (of(settings)?, asked.name.as_str(), Duration::from_secs(asked.within));
    let what = format!("the server {name} leaves the cluster {} for good", cluster.name);
    if !asked.caution.permits_script(&what)? {
        return Ok(ExitCode::SUCCESS);
    }
    let removed = runtime()?.block_on(remove(endpoints(&cluster.etcd)?, &cluster.name, name, within));
    let ServerRemoval { was_drained, had_port, records } =
        removed.with_context(|| format!("{name} was not removed"))?;
    if asked.json {
        out::json(&Answer { name, was_drained, had_iscsi_port: had_port, records })?;
        return Ok(ExitCode::SUCCESS);
    }
    let first = if was_drained { "drained, and removed" } else { "removed" };
    let mut lines = vec![format!("{name}: {first} from the cluster {}", cluster.name)];
    if records > 0 {
        lines.push(format!("{records} records of clients were removed that no server takes over any more"));
    }
    lines.extend([
        format!("Next: disable the service on {name}, so that it does not join again,"),
        "and remove its key there: its certificate stays valid, and a server with both can join again."
            .to_owned(),
        "If it had an entry in DNS or in `cluster-addresses` of its own, remove that, too.".to_owned(),
    ]);
    out::lines(lines)?;
    Ok(ExitCode::SUCCESS)
}
