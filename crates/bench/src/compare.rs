//! Two measurements side by side, with the significance of their difference.

use std::fmt::Write;

use crate::report::Report;
use crate::stats::welch;
use crate::{Error, Result};

/// The probability below which a difference counts.
const SIGNIFICANT: f64 = 0.05;

/// Compares two reports.
///
/// # Errors
/// They have no measurement in common, or measured the same with other sizes.
pub fn compare(a: &Report, b: &Report) -> Result<String> {
    let refuse = |what: String| Err(Error::Other(format!("these cannot be compared: {what}")));
    if let (Some(a), Some(b)) = (&a.start, &b.start) {
        if a.scale.total_cmp(&b.scale).is_ne() {
            return refuse(format!("their scales differ, {} and {}", a.scale, b.scale));
        }
        if a.depth != b.depth {
            return refuse(format!("their depths differ, {} and {}", a.depth, b.depth));
        }
    }
    let mut out = String::new();
    let mut count = 0;
    for before in &a.rows {
        let is_same =
            |row: &&crate::report::Row| row.cell == before.cell && row.run.protocol == before.run.protocol;
        let Some(after) = b.rows.iter().find(is_same) else { continue };
        count += 1;
        let factor = after.summary.median / before.summary.median.max(1e-9);
        let judged = match welch(&before.rates, &after.rates) {
            None => "too few repeats to tell".to_owned(),
            Some(p) if p >= SIGNIFICANT => format!("no significant difference (p = {p:.3})"),
            Some(p) if factor > 1.0 => format!("faster (p = {p:.3})"),
            Some(p) => format!("slower (p = {p:.3})"),
        };
        let name = format!("{}, {}", before.run.protocol, before.cell);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{name:<44} {factor:>6.2} x  {judged}");
    }
    if count == 0 {
        let names = |report: &Report| {
            let names: Vec<&str> = report.rows.iter().map(|row| row.cell.as_str()).collect();
            names.join("; ")
        };
        return refuse(format!("one measured {}, the other {}", names(a), names(b)));
    }
    let missing = a.rows.len() + b.rows.len() - 2 * count;
    if missing > 0 {
        let _ = writeln!(out, "{missing} measurements are in one of the two only");
    }
    Ok(out)
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
        let faster = compare(&a, &report("seq-read", &[200e6, 201e6, 199e6])).unwrap();
        assert!(faster.contains("2.00 x  faster (p = 0.000)"), "{faster}");
        let same = compare(&a, &report("seq-read", &[90e6, 115e6, 101e6])).unwrap();
        assert!(same.contains("no significant difference"), "{same}");
        let single = compare(&a, &report("seq-read", &[500e6])).unwrap();
        assert!(single.contains("too few repeats"), "{single}");
    }

    #[test]
    fn different_workloads_are_not_compared() {
        let error = compare(&report("seq-read", &[1.0]), &report("seq-write", &[1.0])).unwrap_err();
        assert!(error.to_string().contains("seq-read, 1 client, the other seq-write"), "{error}");
    }
}
