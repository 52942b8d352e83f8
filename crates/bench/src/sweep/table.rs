//! The table of a published measurement: writing by TCP and UDP, as it is, without the cache of attributes (`noac`), and with
//! writes that the server may keep in its memory beside (`async`); then by the size of a write.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::{Choice, Step, Sweep, TCP, Tap, UDP};
use crate::run::{Watcher, all_links};
use crate::stats::Summary;
use crate::{Durability, Plan, Residency, Result, Target, Workload};

/// The sizes of the second part.
const SIZES: [u32; 4] = [64 << 10, 128 << 10, 256 << 10, 512 << 10];
/// The size of the first part: what the clients of then used, and what UDP can carry.
const SIZE: u32 = 32 << 10;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MountColumn {
    /// Attributes are cached, and each write is on the disk before its answer.
    AsItIs,
    /// The client asks for the attributes before each write.
    Noac,
    /// The same, and the server may keep what is written in its memory until COMMIT.
    NoacAsync,
}

impl MountColumn {
    /// The columns in their order.
    pub const ALL: [Self; 3] = [Self::AsItIs, Self::Noac, Self::NoacAsync];

    /// The heading.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AsItIs => "as it is",
            Self::Noac => "noac",
            Self::NoacAsync => "noac, async",
        }
    }

    fn work(self) -> (&'static str, Durability) {
        match self {
            Self::AsItIs => ("seq-write", Durability::Each),
            Self::Noac => ("seq-write-noac", Durability::Each),
            Self::NoacAsync => ("seq-write-noac", Durability::End),
        }
    }
}

/// A cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MountCell {
    /// TCP or UDP, by its number in IP.
    pub proto: u32,
    /// Bytes of a write.
    pub size: u32,
    /// Its column.
    pub column: MountColumn,
    /// The median speed in bytes per second.
    pub speed: f64,
}

impl MountCell {
    /// The row that it is in.
    #[must_use]
    pub fn row(&self) -> String {
        let proto = Step { choice: Choice::Proto, value: self.proto, speed: 0.0 }.shown();
        format!("{proto}, {} KiB", self.size >> 10)
    }
}

/// The most measurements of the table.
pub(super) const CELLS: usize = 2 * MountColumn::ALL.len() + SIZES.len();

/// Measures the table of a target. Returns whether it was completed. A server without UDP has no such row.
pub(super) fn measure(
    plan: &Plan,
    target: &Target,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
    sweep: &mut Sweep,
) -> Result<bool> {
    let first = [TCP, UDP].map(|proto| MountColumn::ALL.map(|column| (proto, SIZE, column)));
    let by_size = SIZES.map(|size| (TCP, size, MountColumn::NoacAsync));
    let mut complete = true;
    for (proto, size, column) in first.into_iter().flatten().chain(by_size) {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let plan = of_cell(plan, target, (proto, size, column));
        let mut tap = Tap { watcher: &mut *watcher, rates: Vec::new(), is_unsupported: false };
        let whole = all_links(&plan, stop, &mut tap)?;
        complete &= whole || tap.is_unsupported;
        if !tap.rates.is_empty() {
            let speed = Summary::of(&tap.rates).median;
            sweep.table.push(MountCell { proto, size, column, speed });
        }
    }
    Ok(complete)
}

fn of_cell(plan: &Plan, target: &Target, (proto, size, column): (u32, u32, MountColumn)) -> Plan {
    let mut target = target.clone();
    target.options.remove("vers"); // version 3 has both
    target.options.insert("proto".into(), if proto == UDP { "udp" } else { "tcp" }.into());
    target.options.insert("wsize".into(), size.to_string());
    let (workload, durability) = column.work();
    Plan {
        targets: vec![target],
        workloads: Workload::of(workload).into_iter().collect(),
        clients: vec![1],
        caches: vec![Residency::Warm],
        durabilities: vec![durability],
        links: plan.links.iter().take(1).copied().collect(),
        suite: None,
        ..plan.clone()
    }
}

/// Lines for a terminal: the rows, with a column for each way of mounting.
pub(crate) fn lines(cells: &[MountCell]) -> Vec<Vec<String>> {
    let mut rows: Vec<(String, [Option<f64>; 3])> = Vec::new();
    for cell in cells {
        let row = cell.row();
        let at = rows.iter().position(|(name, _)| *name == row).unwrap_or_else(|| {
            rows.push((row, [None; 3]));
            rows.len() - 1
        });
        let column = MountColumn::ALL.iter().position(|column| *column == cell.column);
        rows[at].1[column.unwrap_or_default()] = Some(cell.speed);
    }
    let heading = [""].into_iter().chain(MountColumn::ALL.map(MountColumn::name)).map(str::to_owned);
    let mut lines = vec![heading.collect::<Vec<_>>()];
    lines.extend(rows.into_iter().map(|(name, speeds)| {
        let speeds = speeds.map(|speed| speed.map_or("-".into(), |speed| format!("{:.2}", speed / 1e6)));
        [&[name][..], &speeds].concat()
    }));
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_way_and_a_column_for_each_kind_of_mount() {
        let cell = |proto, size, column, speed| MountCell { proto, size, column, speed };
        let cells = [
            cell(TCP, 32 << 10, MountColumn::AsItIs, 6.04e6),
            cell(TCP, 32 << 10, MountColumn::Noac, 6.09e6),
            cell(TCP, 32 << 10, MountColumn::NoacAsync, 7.09e6),
            cell(UDP, 32 << 10, MountColumn::NoacAsync, 10.93e6),
        ];
        let lines = lines(&cells);
        assert_eq!(lines[0], ["", "as it is", "noac", "noac, async"]);
        assert_eq!(lines[1], ["tcp, 32 KiB", "6.04", "6.09", "7.09"]);
        assert_eq!(lines[2], ["udp, 32 KiB", "-", "-", "10.93"]);
    }

    #[test]
    fn noac_asks_for_attributes_and_async_keeps_writes_in_memory() {
        let target = Target::parse("nfs://h/s?vers=4.2").unwrap();
        let any = Plan {
            targets: vec![target.clone()],
            workloads: Vec::new(),
            clients: vec![5],
            caches: vec![Residency::Cold],
            durabilities: vec![Durability::None],
            links: vec![None],
            repeats: 1,
            depth: 8,
            scale: 1.0,
            limit: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            seed: 1,
            server_folder: None,
            server_pid: None,
            images: Vec::new(),
            suite: None,
            command: String::new(),
        };
        let plan = of_cell(&any, &target, (UDP, 8192, MountColumn::NoacAsync));
        assert_eq!(plan.workloads[0].name, "seq-write-noac");
        assert_eq!(plan.durabilities, [Durability::End]);
        let options = &plan.targets[0].options;
        assert_eq!((options["proto"].as_str(), options["wsize"].as_str()), ("udp", "8192"));
        assert!(!options.contains_key("vers"), "UDP is of version 3");
    }
}
