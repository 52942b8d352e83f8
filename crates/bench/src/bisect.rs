//! Where speed is lost between a disk and a client over the network: the same data at each stage, and what each one loses.
//!
//! ```text
//! disk ─► file system ─► protocol over the loopback ─┐
//!                                                     ├─► protocol over the network
//!                        raw TCP over the network  ──┘
//! ```
//!
//! A stage should be as fast as the slowest of those before it. The first that is much slower is the one to mend.

use std::fmt::{self, Write};

use crate::baseline::name;
use crate::record::{Baseline, Record};
use crate::report::Report;
use crate::{Durability, Error, Plan, Protocol, Residency, Result, Target, Workload};

/// A stage that loses this part of what it gets is named in the verdict.
const MUCH: f64 = 0.2;
/// The address of the loopback.
const LOOPBACK: &str = "127.0.0.1";

/// A stage, with its speed in bytes per second if it could be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// Its speed.
    pub speed: Option<f64>,
    /// What it could have: the least of the stages before it.
    pub bound: Option<f64>,
}

impl Stage {
    /// The part of the bound that it loses.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        Some((1.0 - self.speed? / self.bound?).max(0.0))
    }
}

/// The stages of reads or of writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// Reads, and not writes.
    pub reads: bool,
    /// In their order.
    pub stages: Vec<Stage>,
}

/// The plan that measures all stages for a target: the served folder, the target over the loopback, and the target as it is.
///
/// # Errors
/// [`Error::Address`] with the reason if it cannot be measured so.
pub fn plan(plan: &Plan) -> Result<Plan> {
    let wrong = |why: &str| Err(Error::Address(why.to_owned()));
    let [target] = &plan.targets[..] else {
        return wrong("a bisection is about one target: smb://, afp://, nfs:// or iscsi://");
    };
    if target.protocol == Protocol::File {
        return wrong("a bisection is about one target of a protocol; the served folder is --server-folder");
    }
    let Some(folder) = &plan.server_folder else {
        return wrong("a bisection needs --server-folder: the served folder on this machine");
    };
    let local = Target::parse(&format!("file://{}", folder.display()))?;
    let near = Target { host: LOOPBACK.into(), ..target.clone() };
    let mut targets = vec![local, near];
    if !is_loopback(target) {
        targets.push(target.clone());
    }
    // A disk over iSCSI has no file that could be dropped from the page cache.
    let cache = if target.protocol == Protocol::Iscsi { Residency::Warm } else { Residency::Cold };
    let workloads = ["seq-write", "seq-read"].into_iter().filter_map(Workload::of).collect();
    Ok(Plan {
        targets,
        workloads,
        clients: vec![1],
        caches: vec![cache],
        durabilities: vec![Durability::End],
        suite: None,
        ..plan.clone()
    })
}

fn is_loopback(target: &Target) -> bool {
    [LOOPBACK, "localhost", "::1"].contains(&target.host.as_str())
}

/// The stages that records show.
#[must_use]
pub fn bisections(records: &[Record]) -> Vec<Bisection> {
    let report = Report::of(records);
    [false, true]
        .map(|reads| bisection(&report, reads))
        .into_iter()
        .filter(|one| !one.stages.is_empty())
        .collect()
}

fn bisection(report: &Report, reads: bool) -> Bisection {
    let workload = if reads { "seq-read" } else { "seq-write" };
    let of = |is_it: &dyn Fn(&Target, bool) -> bool| {
        let row = report.rows.iter().find(|row| {
            let target = Target::parse(&row.target);
            row.run.workload == workload && target.is_ok_and(|target| is_it(&target, row.run.link.is_some()))
        });
        row.map(|row| row.summary.median)
    };
    let bound = |names: &[&str], is_it: &dyn Fn(&Baseline) -> bool| {
        names.iter().find_map(|name| {
            let found = report.baselines.iter().find(|one| one.name == **name && is_it(one));
            found.map(|one| one.value)
        })
    };
    let disk = bound(&[if reads { name::DISK_READ } else { name::DISK_WRITE }], &|_| true);
    let files = of(&|target, _| target.protocol == Protocol::File);
    let near = of(&|target, has_link| target.protocol != Protocol::File && is_loopback(target) && !has_link);
    let far = of(&|target, has_link| target.protocol != Protocol::File && (!is_loopback(target) || has_link));
    let is_far = |one: &Baseline| {
        let target = one.target.as_deref().map(Target::parse);
        target.is_some_and(|target| target.is_ok_and(|target| !is_loopback(&target) || one.link.is_some()))
    };
    let raw = if reads { name::RAW_FROM } else { name::RAW_TO };
    let raw = bound(&[raw, name::LINK, name::INTERFACE], &is_far);
    let least = |all: [Option<f64>; 2]| all.into_iter().flatten().reduce(f64::min);
    let stages = vec![
        Stage { name: "disk", speed: disk, bound: None },
        Stage { name: "file system", speed: files, bound: disk },
        Stage { name: "protocol over the loopback", speed: near, bound: least([files, disk]) },
        Stage { name: "raw TCP over the network", speed: raw, bound: None },
        Stage { name: "protocol over the network", speed: far, bound: least([near.or(files), raw]) },
    ];
    let is_known = stages.iter().any(|stage| stage.speed.is_some() && stage.bound.is_some());
    Bisection { reads, stages: if is_known { stages } else { Vec::new() } }
}

impl Bisection {
    /// What to mend first.
    #[must_use]
    pub fn verdict(&self) -> String {
        let what = if self.reads { "Reads" } else { "Writes" };
        let worst = self.stages.iter().filter_map(|stage| Some((stage, stage.loss()?)));
        match worst.filter(|(_, loss)| *loss >= MUCH).max_by(|(_, a), (_, b)| a.total_cmp(b)) {
            Some((stage, loss)) => format!(
                "{what} lose most at the stage \"{}\": {:.0} % of the {:.0} MB/s that it could have. {}",
                stage.name,
                loss * 100.0,
                stage.bound.unwrap_or_default() / 1e6,
                advice(stage.name)
            ),
            None => format!("{what} lose little: each stage has what the ones before it allow."),
        }
    }
}

fn advice(stage: &str) -> &'static str {
    match stage {
        "file system" => {
            "Look at its options, at other programs that use the disk, and at a scrub or a rebuild."
        }
        "protocol over the loopback" => {
            "It is the server or its client: more transfers in flight (--depth), and the verdict of the measurement says what is full."
        }
        _ => {
            "It is the network, between the protocol and raw TCP: delayed acknowledgements, a small window, loss. The verdict of the \
             measurement and `fourfold status --slow` name them."
        }
    }
}

impl fmt::Display for Bisection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", if self.reads { "Reads" } else { "Writes" })?;
        for stage in &self.stages {
            let speed = stage
                .speed
                .map_or_else(|| "not measured".to_owned(), |speed| format!("{:.1} MB/s", speed / 1e6));
            let loss = stage.loss().map_or_else(String::new, |loss| format!("  loses {:.0} %", loss * 100.0));
            writeln!(f, "  {:<28}{speed:>14}{loss}", stage.name)?;
        }
        writeln!(f, "  {}", self.verdict())
    }
}

/// All of them, as text.
#[must_use]
pub fn text(records: &[Record]) -> String {
    let mut out = String::new();
    let found = bisections(records);
    if found.is_empty() {
        return "No two stages could be measured.\n".into();
    }
    // Writing to a string does not fail.
    for one in &found {
        let _ = write!(out, "{one}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::BaselineUnit::BytesPerSecond;
    use crate::record::tests::example;

    fn bound(name: &str, target: Option<&str>, value: f64) -> Record {
        let target = target.map(Into::into);
        Record::Baseline(Baseline { name: name.into(), target, link: None, value, unit: BytesPerSecond })
    }

    fn run(target: &str, rate: f64) -> Record {
        Record::Run(Box::new(example(target, "seq-write", 1, 0, rate)))
    }

    const FAR: &str = "iscsi://192.0.2.1:3260/iqn.x/0";

    /// The report of 2007: 8 to 10 MB/s were written over iSCSI, where 30 were needed and the disks and the network had more.
    fn of_2007(far: f64) -> Vec<Record> {
        vec![
            bound(name::DISK_WRITE, None, 120e6),
            run("file:///tank", 110e6),
            run("iscsi://127.0.0.1:3260/iqn.x/0", 95e6),
            bound(name::RAW_TO, Some(FAR), 112e6),
            run(FAR, far),
        ]
    }

    #[test]
    fn the_stage_that_loses_most_is_named() {
        let found = bisections(&of_2007(9e6));
        assert_eq!(found.len(), 1);
        let losses: Vec<Option<u32>> = found[0]
            .stages
            .iter()
            .map(|stage| stage.loss().map(|loss| (loss * 100.0).round() as u32))
            .collect();
        assert_eq!(losses, [None, Some(8), Some(14), None, Some(91)]);
        let verdict = found[0].verdict();
        assert!(
            verdict.starts_with(
                "Writes lose most at the stage \"protocol over the network\": 91 % of the 95 MB/s"
            )
        );
        assert!(text(&of_2007(9e6)).contains("protocol over the network         9.0 MB/s  loses 91 %"));
    }

    #[test]
    fn a_slow_link_is_no_loss_of_the_protocol() {
        let mut records = of_2007(11e6);
        records[3] = bound(name::RAW_TO, Some(FAR), 11.2e6);
        assert!(bisections(&records)[0].verdict().contains("lose little"));
    }

    #[test]
    fn stages_that_could_not_be_measured_are_said() {
        let records = vec![bound(name::DISK_WRITE, None, 120e6), run("file:///tank", 50e6)];
        let said = text(&records);
        assert!(said.contains("not measured") && said.contains("\"file system\": 58 %"), "{said}");
        assert_eq!(text(&[]), "No two stages could be measured.\n");
    }
}
