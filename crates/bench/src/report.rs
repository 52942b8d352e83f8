//! Reports from records.

mod chart;
mod html;
mod sizes;
mod text;

use std::collections::BTreeMap;

pub use html::html;
pub(crate) use html::{STYLE, escaped};
pub use text::text;

use crate::record::{Baseline, BaselineUnit, End, Failure, MeasuredRun, Record, Start};
use crate::stats::Summary;
use crate::suite::{Figure, TimedFigure};
use crate::sweep::Sweep;
use crate::verdict::{self, Verdict};
use crate::{Suite, Unit};

/// A measurement with its repeats.
#[derive(Debug, Clone)]
pub struct Row {
    /// The target's URL.
    pub target: String,
    /// What was measured.
    pub cell: String,
    /// The repeat with the median rate.
    pub run: MeasuredRun,
    /// The rates of the repeats.
    pub rates: Vec<f64>,
    /// They, summarized.
    pub summary: Summary,
    /// What limits.
    pub verdict: Verdict,
}

/// What a load curve is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LoadCurveKey<'a> {
    workload: &'a str,
    /// Empty for the link as it is.
    link: &'a str,
}

impl std::fmt::Display for LoadCurveKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { workload, link } = self;
        match link.is_empty() {
            true => f.write_str(workload),
            false => write!(f, "{workload}, link {link}"),
        }
    }
}

/// A target, and its speeds by the number of clients.
type Curve<'a> = (&'a str, Vec<(usize, f64)>);

/// The records, sorted.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was measured where.
    pub start: Option<Start>,
    /// Bounds.
    pub baselines: Vec<Baseline>,
    /// Measurements, in the order of their first repeats.
    pub rows: Vec<Row>,
    /// What failed.
    pub failures: Vec<Failure>,
    /// What the options of mounts bring.
    pub sweeps: Vec<Sweep>,
    /// How it ended; nothing if it was killed.
    pub end: Option<End>,
}

impl Report {
    /// Of these records.
    #[must_use]
    pub fn of(records: &[Record]) -> Self {
        let mut report = Self {
            start: None,
            baselines: Vec::new(),
            rows: Vec::new(),
            failures: Vec::new(),
            sweeps: Vec::new(),
            end: None,
        };
        let mut groups: Vec<((String, String), Vec<&MeasuredRun>)> = Vec::new();
        for record in records {
            match record {
                Record::Start(start) => report.start = Some((**start).clone()),
                Record::Baseline(baseline) => report.baselines.push(baseline.clone()),
                Record::Failure(failure) => report.failures.push(failure.clone()),
                Record::Sweep(sweep) => report.sweeps.push((**sweep).clone()),
                Record::End(end) => report.end = Some(end.clone()),
                Record::Run(run) => {
                    let key = (run.target.clone(), run.cell());
                    match groups.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, runs)) => runs.push(run),
                        None => groups.push((key, vec![run])),
                    }
                }
            }
        }
        let shows_repeats = report.suite().is_some_and(|suite| suite.shows_repeats);
        report.rows = groups
            .into_iter()
            .map(|((target, cell), mut runs)| {
                let rates: Vec<f64> = runs.iter().map(|run| run.rate()).collect();
                let repeats = shows_repeats.then(|| repeats(&runs)).flatten();
                runs.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
                let run = runs[runs.len() / 2].clone();
                let mut verdict = verdict::judge(&verdict::evidence(records, &run));
                verdict.notes.extend(repeats);
                Row { target, cell, run, summary: Summary::of(&rates), rates, verdict }
            })
            .collect();
        report
    }

    /// The rows by what was measured, in order: the targets side by side.
    fn by_cell(&self) -> Vec<(&str, Vec<&Row>)> {
        let mut cells: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in &self.rows {
            match cells.iter_mut().find(|(cell, _)| *cell == row.cell) {
                Some((_, rows)) => rows.push(row),
                None => cells.push((&row.cell, vec![row])),
            }
        }
        cells
    }

    /// The published measurement that is repeated.
    fn suite(&self) -> Option<&'static Suite> {
        self.start.as_ref().and_then(|start| start.suite.as_deref()).and_then(Suite::of)
    }

    /// The published figures of what a row measured.
    fn published(&self, row: &Row) -> Vec<&'static Figure> {
        self.suite()
            .map_or_else(Vec::new, |suite| suite.figures(&row.run.workload, row.run.clients).collect())
    }

    /// The published times of what a row measured.
    fn published_times(&self, row: &Row) -> Vec<&'static TimedFigure> {
        self.suite().map_or_else(Vec::new, |suite| suite.times(&row.run.workload).collect())
    }

    /// Load curves: for each workload and link the targets with their speeds by the number of clients.
    fn curves(&self) -> BTreeMap<LoadCurveKey<'_>, Vec<Curve<'_>>> {
        let mut curves: BTreeMap<LoadCurveKey<'_>, Vec<Curve<'_>>> = BTreeMap::new();
        for row in &self.rows {
            let link = row.run.link.map_or("", |link| link.name());
            let of = curves.entry(LoadCurveKey { workload: &row.run.workload, link }).or_default();
            let point = (row.run.clients, row.summary.median);
            match of.iter_mut().find(|(target, _)| *target == row.target) {
                Some((_, points)) if points.iter().all(|(clients, _)| *clients != point.0) => {
                    points.push(point)
                }
                Some(_) => {} // another cache state or durability: the curve is that of the first
                None => of.push((&row.target, vec![point])),
            }
        }
        for of in curves.values_mut() {
            of.iter_mut().for_each(|(_, points)| points.sort_by_key(|point| point.0));
            of.retain(|(_, points)| points.len() > 1);
        }
        curves.retain(|_, of| !of.is_empty());
        curves
    }
}

/// A rate with its unit.
fn rate(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes if value < 10e6 => format!("{:.2} MB/s", value / 1e6),
        Unit::Bytes if value < 100e6 => format!("{:.1} MB/s", value / 1e6),
        Unit::Bytes => format!("{:.0} MB/s", value / 1e6),
        Unit::Operations => format!("{value:.0} op/s"),
    }
}

/// A time in nanoseconds.
fn time(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000_000 => format!("{:.0} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

fn bound(baseline: &Baseline) -> String {
    match baseline.unit {
        BaselineUnit::BytesPerSecond => rate(baseline.value, Unit::Bytes),
        BaselineUnit::Seconds => time((baseline.value * 1e9) as u64),
        BaselineUnit::Bytes => format!("{:.0} bytes", baseline.value),
    }
}

/// When the parts of a run were done; all of it, if it has no parts.
fn times(row: &Row) -> String {
    let part = |(name, seconds): &(String, f64)| format!("{name} {seconds:.2} s");
    let parts: Vec<String> = row.run.marks.iter().map(part).collect();
    if parts.is_empty() { format!("all of it {:.2} s", row.run.seconds) } else { parts.join(", ") }
}

/// Published times, for a sentence.
fn published_times(figure: &TimedFigure) -> String {
    let part = |(name, seconds): &(&str, f64)| format!("{name} {seconds} s");
    figure.times.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The bytes on the wire, as a part of those of content; what a cache hid did not cross it.
fn on_wire(row: &Row) -> Option<String> {
    let run = &row.run;
    (run.wire_bytes > 0 && run.unit() == Unit::Bytes && run.bytes > 0).then(|| {
        format!("{:.0} % of the bytes on the wire", run.wire_bytes as f64 * 100.0 / run.bytes as f64)
    })
}

/// Each repeat with its bytes on the wire beside those of content: a repeat that a cache of the client has answered has hardly any.
fn repeats(runs: &[&MeasuredRun]) -> Option<String> {
    let is_counted = runs.len() > 1 && runs.iter().all(|run| run.wire_bytes > 0 && run.unit() == Unit::Bytes);
    let mega = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
    let line = |run: &&MeasuredRun| {
        let (content, wire) = (mega(run.bytes), mega(run.wire_bytes));
        format!(
            "repeat {}: {}, {content} MB of content, {wire} MB on the wire",
            run.repeat + 1,
            rate(run.rate(), Unit::Bytes)
        )
    };
    is_counted.then(|| runs.iter().map(line).collect::<Vec<_>>().join("; "))
}

/// What a client could move with all of one processor, if it was counted.
fn ceiling(row: &Row) -> Option<String> {
    let run = &row.run;
    let used = run.client_cpu / run.seconds.max(1e-9);
    (used > 0.01).then(|| rate(run.rate() / used, run.unit()))
}

/// A target's short name where all targets are known: its protocol, or its URL if two have the same.
fn short<'a>(target: &'a str, targets: &[&str]) -> &'a str {
    let scheme = target.split(':').next().unwrap_or(target);
    let same = targets.iter().filter(|other| other.starts_with(&format!("{scheme}:"))).count();
    if same > 1 { target } else { scheme }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::example;

    #[test]
    fn each_repeat_has_its_bytes_on_the_wire_beside_those_of_content() {
        let run = |repeat, wire_bytes| MeasuredRun {
            wire_bytes,
            ..example("smb://h/s", "seq-read", 1, repeat, 50e6)
        };
        let (first, second) = (run(0, 104_000_000), run(1, 200_000));
        assert_eq!(
            repeats(&[&first, &second]).unwrap(),
            "repeat 1: 50.0 MB/s, 100.0 MB of content, 104.0 MB on the wire; \
             repeat 2: 50.0 MB/s, 100.0 MB of content, 0.2 MB on the wire"
        );
        assert_eq!(repeats(&[&first]), None, "it was not repeated");
        assert_eq!(repeats(&[&first, &run(1, 0)]), None, "the wire was not counted");
    }
}
