//! Speeds by the size of files, as NetApp TR-3472 shows them: one chart for reads, one for writes, each with a line for a protocol and
//! a number of clients, and the published figures beside it.

use std::fmt::{self, Write};

use super::{Report, short};
use crate::suite::SizedFigure;
use crate::{Suite, Workload};

/// A target with a number of clients.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SizeLine<'a> {
    pub(super) target: &'a str,
    pub(super) clients: usize,
    pub(super) points: Vec<SizePoint>,
}

/// What one client got with files of one size, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SizePoint {
    /// Bytes of each client's file.
    pub(super) size: f64,
    /// Of the repeats.
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

/// The reads or the writes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SizeChart<'a> {
    pub(super) reads: bool,
    pub(super) lines: Vec<SizeLine<'a>>,
    pub(super) published: Vec<&'static SizedFigure>,
}

impl SizeChart<'_> {
    pub(super) fn title(&self) -> &'static str {
        if self.reads {
            "Reads, MB/s per client by the size of files"
        } else {
            "Writes, MB/s per client by the size of files"
        }
    }
}

/// The charts of a report; none if it has no files of several sizes.
pub(super) fn charts(report: &Report) -> Vec<SizeChart<'_>> {
    let scale = report.start.as_ref().map_or(1.0, |start| start.scale);
    let suite = report.start.as_ref().and_then(|start| start.suite.as_deref()).and_then(Suite::of);
    let chart = |reads: bool| {
        let mut lines: Vec<SizeLine<'_>> = Vec::new();
        for row in &report.rows {
            let workload = Workload::of(&row.run.workload).filter(|workload| workload.reads == reads);
            let Some(size) = workload.and_then(Workload::file_size) else { continue };
            let clients = row.run.clients;
            let of_one = |rate: f64| rate / clients.max(1) as f64;
            let point = SizePoint {
                size: size as f64 * scale,
                mean: of_one(row.summary.mean),
                min: of_one(row.summary.min),
                max: of_one(row.summary.max),
            };
            match lines.iter_mut().find(|line| (line.target, line.clients) == (row.target.as_str(), clients))
            {
                // Another state of the cache or durability: the line is that of the first.
                Some(line) if line.points.iter().any(|known| known.size == point.size) => {}
                Some(line) => line.points.push(point),
                None => lines.push(SizeLine { target: &row.target, clients, points: vec![point] }),
            }
        }
        let published =
            suite.into_iter().flat_map(|suite| suite.sized).filter(|figure| figure.reads == reads);
        SizeChart { reads, lines, published: published.collect() }
    };
    [true, false].map(chart).into_iter().filter(|chart| !chart.lines.is_empty()).collect()
}

/// A published range.
pub(super) fn range(figure: &SizedFigure) -> String {
    let (low, high) = figure.range;
    if low < high { format!("{low} to {high}") } else { low.to_string() }
}

/// The charts as tables.
pub(super) fn text(out: &mut String, report: &Report, targets: &[&str]) -> fmt::Result {
    for chart in charts(report) {
        writeln!(out, "\n{} (average; from the slowest to the fastest repeat)", chart.title())?;
        for line in &chart.lines {
            let plural = if line.clients == 1 { "" } else { "s" };
            let name = format!("{}, {} client{plural}", short(line.target, targets), line.clients);
            write!(out, "  {name:<18}")?;
            for point in &line.points {
                let SizePoint { size, mean, min, max } = point;
                write!(out, "  {}: {:.1} ({:.1}-{:.1})", size_name(*size), mean / 1e6, min / 1e6, max / 1e6)?;
            }
            writeln!(out)?;
        }
        for figure in &chart.published {
            writeln!(
                out,
                "  {:<18}  {} MB/s over all sizes",
                format!("{}, published", figure.system),
                range(figure)
            )?;
        }
    }
    Ok(())
}

/// A size as files are named: `500 MB`, `10 GB`.
pub(super) fn size_name(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1e9 => format!("{} GB", rounded(bytes / 1e9)),
        bytes if bytes >= 1e6 => format!("{} MB", rounded(bytes / 1e6)),
        bytes => format!("{} KB", rounded(bytes / 1e3)),
    }
}

fn rounded(value: f64) -> String {
    if value.fract().abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::example;
    use crate::record::{Record, Start};

    fn ballstate(runs: Vec<crate::record::MeasuredRun>) -> Report {
        let start = Start {
            version: String::new(),
            time: String::new(),
            command: String::new(),
            seed: 1,
            scale: 0.5,
            repeats: 3,
            depth: 4,
            limit_seconds: 30.0,
            targets: vec!["smb://h/s".into(), "nfs://h/s".into()],
            suite: Some("ballstate".into()),
            machine: crate::record::Machine::default(),
        };
        let runs = runs.into_iter().map(|run| Record::Run(Box::new(run)));
        Report::of(&std::iter::once(Record::Start(Box::new(start))).chain(runs).collect::<Vec<_>>())
    }

    #[test]
    fn each_line_is_a_protocol_with_a_number_of_clients() {
        let mut runs = Vec::new();
        for (workload, clients) in [("read-500MB", 1), ("read-1GB", 1), ("read-500MB", 5), ("write-1GB", 1)] {
            for (repeat, rate) in [90e6, 100e6, 110e6].into_iter().enumerate() {
                runs.push(example("smb://h/s", workload, clients, repeat, rate));
            }
        }
        runs.push(example("nfs://h/s", "seq-read", 1, 0, 1e6));
        let report = ballstate(runs);
        let [reads, writes] = &charts(&report)[..] else { panic!("two charts") };
        assert_eq!((reads.lines.len(), writes.lines.len(), reads.published.len()), (2, 1, 3));
        let one = SizePoint { size: 250e6, mean: 100e6, min: 90e6, max: 110e6 };
        assert_eq!(reads.lines[0].points[0], one);
        assert_eq!(reads.lines[0].points[1].size, 500e6);
        assert_eq!(reads.lines[1].points[0].mean, 20e6, "100 MB/s for five clients");
        let said = super::super::text(&report);
        assert!(said.contains("smb, 5 clients      250 MB: 20.0 (18.0-22.0)"), "{said}");
        assert!(said.contains("DAVE, published     31 to 34 MB/s over all sizes"), "{said}");
    }

    #[test]
    fn sizes_are_named_as_files_are() {
        let names = [500e6, 1e9, 2.5e9, 10e9, 262_144.0].map(size_name);
        assert_eq!(names, ["500 MB", "1 GB", "2.5 GB", "10 GB", "262.1 KB"]);
    }
}
