//! The report as text.

use std::fmt::{self, Write};

use super::{Report, Row, bound, ceiling, on_wire, published_times, rate, short, time, times};
use crate::stats::knee;

/// The whole report.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &Report) -> fmt::Result {
    disclosure(out, report)?;
    baselines(out, report)?;
    let targets: Vec<&str> =
        report.start.iter().flat_map(|start| start.targets.iter().map(String::as_str)).collect();
    for (cell, rows) in report.by_cell() {
        writeln!(out, "\n{cell}")?;
        for row in &rows {
            line(out, row, short(&row.target, &targets))?;
        }
        for figure in rows.first().map_or_else(Vec::new, |row| report.published(row)) {
            let (low, high) = figure.range;
            let range = if low < high { format!("{low} to {high}") } else { low.to_string() };
            writeln!(out, "  published: {} {range} MB/s", figure.system)?;
        }
        let timed = rows.first().map_or_else(Vec::new, |row| report.published_times(row));
        if !timed.is_empty() || rows.iter().any(|row| !row.run.marks.is_empty()) {
            rows.iter()
                .try_for_each(|row| writeln!(out, "  {:<8} {}", short(&row.target, &targets), times(row)))?;
        }
        for figure in timed {
            writeln!(out, "  published: {} {}", figure.system, published_times(figure))?;
        }
        for row in &rows {
            writeln!(out, "    {}: {}", short(&row.target, &targets), row.verdict.text)?;
            row.verdict.notes.iter().try_for_each(|note| writeln!(out, "      {note}"))?;
        }
    }
    super::sizes::text(out, report, &targets)?;
    curves(out, report, &targets)?;
    sweeps(out, report)?;
    failures(out, report)?;
    match &report.end {
        Some(end) if end.complete => Ok(()),
        _ => writeln!(out, "\nThe measurement was not completed. What is above was measured."),
    }
}

fn disclosure(out: &mut String, report: &Report) -> fmt::Result {
    let Some(start) = &report.start else { return Ok(()) };
    let machine = &start.machine;
    writeln!(out, "fourfold bench {}, {}, seed {}", start.version, start.time, start.seed)?;
    let memory = machine.memory_bytes >> 30;
    let (system, kernel, processors) = (&machine.system, &machine.kernel, machine.processors);
    writeln!(out, "{system}, Linux {kernel}, {processors} x {}, {memory} GiB", machine.processor)?;
    if let Some(system) = &machine.file_system {
        writeln!(out, "file system: {system}")?;
    }
    machine.disks.iter().try_for_each(|disk| writeln!(out, "disk {disk}"))?;
    let (repeats, depth, scale) = (start.repeats, start.depth, start.scale);
    writeln!(out, "{repeats} repeats, up to {depth} transfers in flight per client, scale {scale}")?;
    let mut agreed: Vec<(&str, &str)> = Vec::new();
    for row in &report.rows {
        if !agreed.iter().any(|(target, _)| *target == row.target) {
            agreed.push((&row.target, &row.run.agreed));
        }
    }
    agreed.iter().try_for_each(|(target, agreed)| writeln!(out, "{target}: {agreed}"))?;
    writeln!(out, "again: {}", start.command)
}

fn baselines(out: &mut String, report: &Report) -> fmt::Result {
    if report.baselines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nbounds")?;
    for baseline in &report.baselines {
        let mut about = baseline.target.as_ref().map_or_else(String::new, |target| format!("  {target}"));
        about += &baseline.link.map_or_else(String::new, |link| format!(", link {link}"));
        writeln!(out, "  {:<22} {:>12}{about}", baseline.name, bound(baseline))?;
    }
    Ok(())
}

fn line(out: &mut String, row: &Row, name: &str) -> fmt::Result {
    let (unit, summary, latency) = (row.run.unit(), &row.summary, &row.run.latency);
    let spread = format!("({}-{})", rate(summary.min, unit), rate(summary.max, unit));
    write!(
        out,
        "  {name:<8} {:>12} {spread:<28} CV {:>4.1} %",
        rate(summary.median, unit),
        summary.cv * 100.0
    )?;
    let (p50, p95) = (time(latency.p50), time(latency.p95));
    let (p99, max) = (time(latency.p99), time(latency.max));
    write!(out, "  p50 {p50}, p95 {p95}, p99 {p99}, max {max}")?;
    let seconds = row.run.seconds.max(1e-9);
    write!(out, "; client CPU {:.2}", row.run.client_cpu / seconds)?;
    if let Some(cpu) = row.run.server_cpu {
        write!(out, ", server CPU {:.2}", cpu / seconds)?;
    }
    if let Some(ceiling) = ceiling(row) {
        write!(out, ", client's ceiling {ceiling}")?;
    }
    if let Some(wire) = on_wire(row) {
        write!(out, ", {wire}")?;
    }
    if let Some(busy) = row.run.disk_busy {
        write!(out, ", disk {:.0} % busy", busy * 100.0)?;
    }
    if row.run.pictures > 0 {
        write!(out, "; {} of {} pictures late", row.run.late, row.run.pictures)?;
    }
    writeln!(out, "{}", if row.run.cut_short { "; cut short by the time limit" } else { "" })
}

fn curves(out: &mut String, report: &Report, targets: &[&str]) -> fmt::Result {
    for (loaded, curves) in report.curves() {
        let unit =
            crate::Workload::of(loaded.workload).map_or(crate::Unit::Operations, |workload| workload.unit);
        writeln!(out, "\n{loaded}, by clients")?;
        for (target, points) in curves {
            let text: Vec<String> =
                points.iter().map(|(clients, value)| format!("{clients}: {}", rate(*value, unit))).collect();
            let knee = match knee(&points) {
                Some(clients) => format!("; the knee is at {clients}: more clients share the same speed"),
                None => String::new(),
            };
            writeln!(out, "  {:<8} {}{knee}", short(target, targets), text.join("  "))?;
        }
    }
    Ok(())
}

fn sweeps(out: &mut String, report: &Report) -> fmt::Result {
    for sweep in &report.sweeps {
        writeln!(out, "\nNFS options for {}", sweep.target)?;
        for step in &sweep.steps {
            let mark = if sweep.best.contains(step) { "  best" } else { "" };
            let speed = rate(step.speed, crate::Unit::Bytes);
            writeln!(out, "  {:<14} {:>8} {speed:>12}{mark}", step.choice.name(), step.shown())?;
        }
        for (number, line) in crate::sweep::table_lines(&sweep.table).iter().enumerate() {
            let cells: Vec<String> = line.iter().map(|cell| format!("{cell:>12}")).collect();
            let unit = if number == 0 { "  writing, MB/s" } else { "" };
            writeln!(out, "  {}{unit}", cells.join(" "))?;
        }
        writeln!(out, "  {}\n  {}\n  {}", sweep.mount, sweep.text(), crate::sweep::PUBLISHED)?;
    }
    Ok(())
}

/// The same failure of several measurements is one paragraph.
fn failures(out: &mut String, report: &Report) -> fmt::Result {
    let mut said: Vec<(&str, &str)> = Vec::new();
    for failure in &report.failures {
        let key = (failure.target.as_str(), failure.message.as_str());
        if said.contains(&key) {
            continue;
        }
        said.push(key);
        let same = || report.failures.iter().filter(|other| (&*other.target, &*other.message) == key);
        let kind = if failure.skipped { "not measured" } else { "failed" };
        writeln!(out, "\n{kind}: {}: {}", failure.target, failure.message)?;
        let cells: Vec<&str> = same().filter_map(|failure| failure.cell.as_deref()).collect();
        if !cells.is_empty() {
            writeln!(out, "  {}", cells.join("; "))?;
        }
        for left in same().flat_map(|failure| &failure.left) {
            writeln!(out, "  left on the server: {left}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::example;
    use crate::record::{End, Failure, Record};

    #[test]
    fn the_text_has_medians_verdicts_the_knee_and_what_failed() {
        let mut records = Vec::new();
        for (clients, speed) in [(1, 100e6), (5, 300e6), (10, 305e6), (50, 290e6)] {
            for repeat in 0..3 {
                let rate = speed * (1.0 + repeat as f64 / 100.0);
                records.push(Record::Run(Box::new(example("smb://h/s", "seq-read", clients, repeat, rate))));
            }
        }
        records.push(Record::Failure(Failure {
            target: "nfs://h/s".into(),
            cell: None,
            message: "the share is full".into(),
            skipped: false,
            left: vec!["fourfold-bench-1".into()],
        }));
        records.push(Record::End(End { complete: false, seconds: 1.0 }));
        let text = text(&Report::of(&records));
        assert!(text.contains("seq-read, 5 clients"), "{text}");
        assert!(text.contains("101 MB/s (100 MB/s-102 MB/s)"), "{text}");
        assert!(text.contains("the knee is at 5"), "{text}");
        assert!(text.contains("failed: nfs://h/s: the share is full"), "{text}");
        assert!(text.contains("left on the server: fourfold-bench-1"), "{text}");
        assert!(text.contains("was not completed"), "{text}");
    }
}
