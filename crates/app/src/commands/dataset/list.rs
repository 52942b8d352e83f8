//! `fourfold list`: the shares as a tree, with their space.
//!
//! The numbers are those that the host accounts for, or that a server has counted for a quota. No files are looked at for
//! them: where there are none, there is a dash.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use admin::settings::units::format_size;
use admin::{Protocol, ShareSettings};
use serde::Serialize;
use snapshots::{Dataset, EngineKind, Usage};

use super::{CurrentSettings, code, folder, is_below};
use crate::cli::ListShares;
use crate::shares::quotas::{self, Sum};
use crate::terminal::out;

/// A share for scripts.
#[derive(Serialize)]
struct ShareRow {
    name: String,
    path: PathBuf,
    /// What the share, its snapshots and the shares below it take.
    used: Option<u64>,
    /// Not all files were counted since the server stopped without saving its sums.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    used_is_estimate: bool,
    /// Bytes that files in it may still take.
    available: Option<u64>,
    /// What the files of the share take as they are now.
    referenced: Option<u64>,
    quota: Option<u64>,
    snapshots: Option<usize>,
    /// The size of the disk as clients see it.
    size: Option<u64>,
    protocols: Vec<&'static str>,
    read_only: bool,
    /// Why it is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_served: Option<String>,
}

/// What is known of the space of one share.
struct ShareSpace {
    dataset: Option<Dataset>,
    usage: Option<Usage>,
    sum: Option<Sum>,
}

impl ShareSpace {
    fn of(share: &ShareSettings, sums: &BTreeMap<PathBuf, Sum>) -> Self {
        let dataset = Dataset::find(&share.path).ok();
        let usage = dataset.as_ref().and_then(Dataset::usage);
        let sum = share.path.canonicalize().ok().and_then(|path| sums.get(&path).copied());
        Self { dataset, usage, sum }
    }

    fn is_btrfs(&self) -> bool {
        self.dataset.as_ref().is_some_and(|dataset| dataset.engine() == EngineKind::Btrfs)
    }

    /// How much of a quota is left.
    fn left(&self, quota: u64) -> Option<u64> {
        let by_host = self.dataset.as_ref().and_then(|dataset| dataset.quota_in_force(quota));
        let number = |file: PathBuf| std::fs::read_to_string(file).ok()?.trim().parse().ok();
        let by_host = by_host.and_then(|files| files.into_iter().filter_map(number).max());
        by_host.or(self.sum.map(|sum| sum.used)).map(|used: u64| quota.saturating_sub(used))
    }
}

impl ShareRow {
    fn new(now: &CurrentSettings, share: &ShareSettings, known: &BTreeMap<&str, ShareSpace>) -> Self {
        let own = &known[share.name.as_str()];
        let below = || known.iter().filter(|(name, _)| is_below(name, &share.name)).map(|(_, known)| known);
        let used = match (own.usage, own.sum) {
            // btrfs accounts for each subvolume by itself.
            (Some(usage), _) if own.is_btrfs() => {
                let inner = below().filter(|inner| inner.is_btrfs()).filter_map(|inner| inner.usage);
                Some(usage.used + inner.map(|usage| usage.used).sum::<u64>())
            }
            (Some(usage), _) => Some(usage.used),
            (None, sum) => sum.map(|sum| sum.used),
        };
        let is_leaf = below().next().is_none();
        let counted = own.sum.filter(|_| is_leaf).map(|sum| sum.used);
        let space = folder::space(&share.path).ok();
        let above = known.iter().filter(|(name, _)| **name == share.name || is_below(&share.name, name));
        let quotas = above.filter_map(|(name, known)| Some((now.share(name).ok()?.quota?, known)));
        let (available, size) =
            quotas.fold((space.map(|space| space.0), space.map(|space| space.1)), |least, of| {
                let (quota, known) = of;
                (
                    least.0.map(|least| least.min(known.left(quota).unwrap_or(quota))),
                    least.1.map(|least| least.min(quota)),
                )
            });
        Self {
            name: share.name.clone(),
            path: share.path.clone(),
            used,
            used_is_estimate: own.usage.is_none() && own.sum.is_some_and(|sum| !sum.exact),
            available,
            referenced: own.usage.map(|usage| usage.referenced).or(counted),
            quota: share.quota,
            snapshots: own.dataset.as_ref().and_then(|dataset| Some(dataset.list().ok()?.len())),
            size,
            protocols: share.protocols.iter().map(|protocol: &Protocol| protocol.word()).collect(),
            read_only: share.read_only,
            not_served: share.absence.as_ref().map(|absence| absence.why.clone()),
        }
    }

    fn cells(&self) -> [String; 8] {
        let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".into(), format_size);
        let used = if self.used_is_estimate { format!("~{}", size(self.used)) } else { size(self.used) };
        let protocols = match (&self.not_served, self.protocols.is_empty()) {
            (Some(why), _) => format!("not served: {why}"),
            (None, true) => "-".into(),
            (None, false) => self.protocols.join(" "),
        };
        let snapshots = self.snapshots.map_or_else(|| "-".into(), |count| count.to_string());
        let (name, path) = (self.name.clone(), self.path.display().to_string());
        let (available, referenced) = (size(self.available), size(self.referenced));
        [name, used, available, referenced, size(self.quota), snapshots, protocols, path]
    }
}

/// Lists the shares.
pub(crate) fn list(asked: &ListShares) -> anyhow::Result<ExitCode> {
    code((|| {
        let now = CurrentSettings::read(&asked.place)?;
        if let Some(name) = &asked.name {
            now.share(name)?;
        }
        let sums = quotas::sums(Path::new(&now.settings.server.state));
        let known: BTreeMap<&str, ShareSpace> =
            now.shares().map(|share| (share.name.as_str(), ShareSpace::of(share, &sums))).collect();
        let is_wanted =
            |name: &&str| asked.name.as_ref().is_none_or(|top| top == name || is_below(name, top));
        let shares = now.names().filter(is_wanted);
        let shares = shares.map(|name| Ok(ShareRow::new(&now, now.share(name)?, &known)));
        let shares = shares.collect::<anyhow::Result<Vec<_>>>()?;
        if asked.json {
            out::json(&shares)?;
        } else {
            let headings = ["NAME", "USED", "AVAIL", "REFER", "QUOTA", "SNAPS", "PROTOCOLS", "PATH"];
            let rows = shares.iter().map(ShareRow::cells);
            out::print(out::table(std::iter::once(headings.map(str::to_owned)).chain(rows)))
                .map_err(anyhow::Error::from)?;
        }
        Ok(())
    })())
}
