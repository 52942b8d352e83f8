//! Two measurements side by side, with the significance of their difference.

use serde::Serialize;

use crate::report::Report;
use crate::stats::welch;
use crate::{Error, Result};

/// The probability below which a difference counts.
const SIGNIFICANT: f64 = 0.05;

/// Two measurements side by side. Scripts read it: fields may be added, never renamed or removed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What both have measured.
    pub rows: Vec<ComparisonRow>,
    /// Measurements that only one of them has.
    pub missing: usize,
}

/// A measurement that both have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// The protocol.
    pub protocol: String,
    /// The workload, and how it was executed.
    pub measurement: String,
    /// The median of the second, divided by that of the first.
    pub factor: f64,
    /// The probability of such a difference by chance; `None`: too few repeats to tell.
    pub p: Option<f64>,
    /// What that means.
    pub judged: SpeedChange,
}

/// Whether the second is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpeedChange {
    /// It is faster.
    Faster,
    /// It is slower.
    Slower,
    /// The difference is one that chance makes.
    Same,
    /// There are too few repeats to tell.
    Unknown,
}

/// Compares two reports.
///
/// # Errors
/// They have no measurement in common, or measured the same with other sizes.
pub fn compare(a: &Report, b: &Report) -> Result<Comparison> {
    let refuse = |what: String| Err(Error::Other(format!("these cannot be compared: {what}")));
    if let (Some(a), Some(b)) = (&a.start, &b.start) {
        if a.scale.total_cmp(&b.scale).is_ne() {
            return refuse(format!("their scales differ, {} and {}", a.scale, b.scale));
        }
        if a.depth != b.depth {
            return refuse(format!("their depths differ, {} and {}", a.depth, b.depth));
        }
    }
    let mut rows = Vec::new();
    for before in &a.rows {
        let is_same =
            |row: &&crate::report::Row| row.cell == before.cell && row.run.protocol == before.run.protocol;
        let Some(after) = b.rows.iter().find(is_same) else { continue };
        let factor = after.summary.median / before.summary.median.max(1e-9);
        let p = welch(&before.rates, &after.rates);
        let judged = match p {
            None => SpeedChange::Unknown,
            Some(p) if p >= SIGNIFICANT => SpeedChange::Same,
            Some(_) if factor > 1.0 => SpeedChange::Faster,
            Some(_) => SpeedChange::Slower,
        };
        let (protocol, measurement) = (before.run.protocol.to_string(), before.cell.clone());
        rows.push(ComparisonRow { protocol, measurement, factor, p, judged });
    }
    if rows.is_empty() {
        let names = |report: &Report| {
            let names: Vec<&str> = report.rows.iter().map(|row| row.cell.as_str()).collect();
            names.join("; ")
        };
        return refuse(format!("one measured {}, the other {}", names(a), names(b)));
    }
    let missing = a.rows.len() + b.rows.len() - 2 * rows.len();
    Ok(Comparison { rows, missing })
}

impl Comparison {
    /// A line for each measurement.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |row: &ComparisonRow| {
            let judged = match row.judged {
                SpeedChange::Unknown => "too few repeats to tell",
                SpeedChange::Same => "no significant difference",
                SpeedChange::Faster => "faster",
                SpeedChange::Slower => "slower",
            };
            let chance = row.p.map(|p| format!(" (p = {p:.3})")).unwrap_or_default();
            let name = format!("{}, {}", row.protocol, row.measurement);
            format!("{name:<44} {:>6.2} x  {judged}{chance}", row.factor)
        };
        let missing =
            (self.missing > 0).then(|| format!("{} measurements are in one of the two only", self.missing));
        self.rows.iter().map(line).chain(missing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::record::tests::example;

    fn report(workload: &str, rates: &[f64]) -> Report {
        let run = |(repeat, rate): (usize, &f64)| {
            Record::Run(Box::new(example("smb://h/s", workload, 1, repeat, *rate)))
        };
        Report::of(&rates.iter().enumerate().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn a_difference_counts_if_it_is_larger_than_the_spread() {
        let a = report("seq-read", &[100e6, 101e6, 99e6]);
        let with = |rates: &[f64]| {
            let compared = compare(&a, &report("seq-read", rates)).unwrap();
            (compared.rows[0].judged, compared.lines().join("\n"))
        };
        let (judged, line) = with(&[200e6, 201e6, 199e6]);
        assert!(judged == SpeedChange::Faster && line.contains("2.00 x  faster (p = 0.000)"), "{line}");
        let (judged, line) = with(&[50e6, 51e6, 49e6]);
        assert!(judged == SpeedChange::Slower && line.contains("0.50 x  slower (p = 0.000)"), "{line}");
        let (judged, line) = with(&[90e6, 115e6, 101e6]);
        assert!(judged == SpeedChange::Same && line.contains("no significant difference"), "{line}");
        let (judged, line) = with(&[500e6]);
        assert!(judged == SpeedChange::Unknown && line.ends_with("too few repeats to tell"), "{line}");
    }

    #[test]
    fn different_workloads_are_not_compared() {
        let error = compare(&report("seq-read", &[1.0]), &report("seq-write", &[1.0])).unwrap_err();
        assert!(error.to_string().contains("seq-read, 1 client, the other seq-write"), "{error}");
    }
}
