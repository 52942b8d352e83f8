//! The report as one HTML file without references to others.

use std::fmt::{self, Write};

use super::chart::{self, Axes, Bar, Line};
use super::{Report, Row, bound, ceiling, published_times, rate, short, sizes, time, times};
use crate::stats::knee;
use crate::suite::Figure;
use crate::{Suite, Unit, Workload};

pub(crate) const STYLE: &str = include_str!("style.css");

/// The whole report.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = HtmlPage { report, targets: targets(report) }.write(&mut out);
    out
}

/// With the characters that HTML gives a meaning replaced.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The targets that were measured, in the order of the command line.
fn targets(report: &Report) -> Vec<&str> {
    let mut targets: Vec<&str> =
        report.start.iter().flat_map(|start| start.targets.iter().map(String::as_str)).collect();
    for row in &report.rows {
        if !targets.contains(&row.target.as_str()) {
            targets.push(&row.target);
        }
    }
    targets
}

struct HtmlPage<'a> {
    report: &'a Report,
    targets: Vec<&'a str>,
}

impl HtmlPage<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        out.push_str("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        write!(out, "<title>fourfold bench</title><style>{STYLE}</style><main>")?;
        self.head(out)?;
        if !self.report.end.as_ref().is_some_and(|end| end.complete) {
            out.push_str(
                "<p class=\"warning\">The measurement was not completed. What is here was measured.</p>",
            );
        }
        self.legend(out)?;
        out.push_str(
            "<h2>Side by side</h2><p>Medians; the thin line is from the slowest to the fastest repeat. ",
        );
        out.push_str("All targets worked on the same data.</p><div class=\"grid\">");
        for (cell, rows) in self.report.by_cell() {
            self.card(out, cell, &rows)?;
        }
        out.push_str("</div>");
        self.sizes(out)?;
        self.curves(out)?;
        self.sweeps(out)?;
        self.latencies(out)?;
        self.table(out)?;
        self.failures(out)?;
        self.bounds(out)?;
        self.disclosure(out)?;
        out.push_str("</main></html>\n");
        Ok(())
    }

    fn head(&self, out: &mut String) -> fmt::Result {
        out.push_str("<h1>fourfold bench</h1>");
        let Some(start) = &self.report.start else { return Ok(()) };
        let machine = &start.machine;
        write!(
            out,
            "<p>{}, Linux {}, {} processors ({}), {} GiB; fourfold {}, {}",
            escaped(&machine.system),
            escaped(&machine.kernel),
            machine.processors,
            escaped(&machine.processor),
            machine.memory_bytes >> 30,
            escaped(&start.version),
            escaped(&start.time)
        )?;
        if let Some(system) = &machine.file_system {
            write!(out, "; file system {}", escaped(system))?;
        }
        let (repeats, depth, scale) = (start.repeats, start.depth, start.scale);
        write!(out, ". {repeats} repeats, up to {depth} transfers in flight per client, scale {scale}.</p>")?;
        if let Some(suite) = start.suite.as_deref().and_then(Suite::of) {
            write!(out, "<p>The suite {}: {}.</p>", suite.name, escaped(suite.about))?;
        }
        write!(out, "<p>Again: <code>{}</code></p>", escaped(&start.command))
    }

    fn color(&self, target: &str) -> usize {
        self.targets.iter().position(|known| *known == target).unwrap_or(0)
    }

    fn legend(&self, out: &mut String) -> fmt::Result {
        out.push_str("<ul class=\"legend\">");
        for (number, target) in self.targets.iter().enumerate() {
            let color = number % usize::from(chart::COLORS);
            let agreed = self.report.rows.iter().find(|row| row.target == *target);
            let agreed = agreed.map_or("not measured", |row| &row.run.agreed);
            write!(out, "<li><i style=\"background:var(--s{color})\"></i><b>{}</b> ", escaped(target))?;
            write!(out, "<span>{}</span>", escaped(agreed))?;
        }
        out.push_str("</ul>");
        Ok(())
    }

    fn card(&self, out: &mut String, cell: &str, rows: &[&Row]) -> fmt::Result {
        let mut bars: Vec<Bar> = rows
            .iter()
            .map(|row| Bar {
                name: short_name(&row.target, &self.targets),
                label: rate(row.summary.median, row.run.unit()),
                color: self.color(&row.target),
                is_local: row.run.protocol == crate::Protocol::File,
                value: row.summary.median,
                min: row.summary.min,
                max: row.summary.max,
            })
            .collect();
        bars.extend(rows.first().into_iter().flat_map(|row| self.report.published(row)).map(published));
        let about = rows.first().and_then(|row| Workload::of(&row.run.workload)).map(|w| w.about);
        write!(out, "<section><h3>{}</h3><p>{}</p>", escaped(cell), escaped(about.unwrap_or_default()))?;
        out.push_str(&chart::bars(cell, &bars));
        let timed = rows.first().map_or_else(Vec::new, |row| self.report.published_times(row));
        if !timed.is_empty() || rows.iter().any(|row| !row.run.marks.is_empty()) {
            let name = |row: &Row| short_name(&row.target, &self.targets);
            let own = rows.iter().map(|row| format!("{}: {}", name(row), times(row)));
            let published =
                timed.into_iter().map(|one| format!("{}, published: {}", one.system, published_times(one)));
            let lines = own.chain(published).map(|line| escaped(&line)).collect::<Vec<_>>();
            write!(out, "<p>{}</p>", lines.join("<br>"))?;
        }
        out.push_str("<details><summary>What limits it</summary><ul>");
        for row in rows {
            let name = short_name(&row.target, &self.targets);
            write!(out, "<li><b>{}</b>: {}", escaped(&name), escaped(&row.verdict.text))?;
            for note in &row.verdict.notes {
                write!(out, " {}", escaped(note))?;
            }
        }
        out.push_str("</ul></details></section>");
        Ok(())
    }

    /// Speeds by the size of files, with the published ones as pairs of lines.
    fn sizes(&self, out: &mut String) -> fmt::Result {
        let charts = sizes::charts(self.report);
        if charts.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>By the size of files</h2><div class=\"grid\">");
        for chart in charts {
            let points = || chart.lines.iter().flat_map(|line| &line.points);
            let (low, high) = points()
                .fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one.size), high.max(one.size)));
            let measured = chart.lines.iter().enumerate().map(|(number, line)| Line {
                color: number,
                points: line.points.iter().map(|point| (point.size, point.mean)).collect(),
            });
            let last = usize::from(chart::COLORS) - 1;
            let bounds = chart.published.iter().flat_map(|figure| [figure.range.0, figure.range.1]);
            let published = bounds
                .map(|speed| Line { color: last, points: vec![(low, speed * 1e6), (high, speed * 1e6)] });
            let axes = Axes {
                about: chart.title(),
                x: "size of each client's file",
                y: "MB/s per client",
                mark: sizes::size_name,
                number: |value| format!("{:.0}", value / 1e6),
            };
            let drawn = chart::lines(&axes, &measured.chain(published).collect::<Vec<_>>());
            write!(out, "<section><h3>{}</h3>{drawn}<ul class=\"legend\">", chart.title())?;
            for (number, line) in chart.lines.iter().enumerate() {
                let (color, name) =
                    (number % usize::from(chart::COLORS), short_name(line.target, &self.targets));
                write!(
                    out,
                    "<li><i style=\"background:var(--s{color})\"></i>{}, {} clients",
                    escaped(&name),
                    line.clients
                )?;
            }
            for figure in &chart.published {
                write!(
                    out,
                    "<li><i style=\"background:var(--s{last})\"></i>{}: {} MB/s, published, over all sizes",
                    figure.system,
                    sizes::range(figure)
                )?;
            }
            out.push_str("</ul></section>");
        }
        out.push_str("</div>");
        Ok(())
    }

    /// What a reader must know to judge the figures.
    fn disclosure(&self, out: &mut String) -> fmt::Result {
        let Some(start) = &self.report.start else { return Ok(()) };
        let machine = &start.machine;
        let mut rows = vec![
            ("client's machine", format!("{}, Linux {}", machine.system, machine.kernel)),
            ("processors", format!("{} × {}", machine.processors, machine.processor)),
            ("memory", format!("{:.1} GiB", machine.memory_bytes as f64 / f64::from(1 << 30))),
            ("program", format!("fourfold {}, seed {}, scale {}", start.version, start.seed, start.scale)),
            ("repeats", format!("{}, at most {:.0} s each", start.repeats, start.limit_seconds)),
        ];
        rows.extend(
            machine
                .file_system
                .iter()
                .map(|system| ("file system of the server, and its options", system.clone())),
        );
        rows.extend(machine.disks.iter().map(|disk| ("disk", disk.clone())));
        for target in &self.targets {
            if let Some(row) = self.report.rows.iter().find(|row| row.target == *target) {
                rows.push(("target, and what was agreed", format!("{target}: {}", row.run.agreed)));
            }
        }
        let most = |of: fn(&Row) -> Option<f64>| self.report.rows.iter().filter_map(of).reduce(f64::max);
        let percent = |part: f64| format!("{:.0} % at most", part * 100.0);
        let of_clients =
            |row: &Row| Some(row.run.client_cpu / row.run.seconds.max(1e-9) / row.run.clients.max(1) as f64);
        rows.extend(
            most(|row| row.run.disk_busy).map(|part| ("busiest disk of this machine", percent(part))),
        );
        rows.extend(
            most(|row| Some(row.run.machine_busy)).map(|part| ("processors of this machine", percent(part))),
        );
        rows.extend(most(of_clients).map(|part| ("a client's processor", percent(part))));
        out.push_str("<h2>Disclosure</h2><div class=\"wide\"><table>");
        for (name, value) in rows {
            write!(out, "<tr><td>{name}<td class=\"text\">{}</tr>", escaped(&value))?;
        }
        out.push_str("</table></div>");
        Ok(())
    }

    fn curves(&self, out: &mut String) -> fmt::Result {
        let curves = self.report.curves();
        if curves.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>By the number of clients</h2><div class=\"grid\">");
        for (loaded, curves) in curves {
            let unit = Workload::of(loaded.workload).map_or(Unit::Operations, |workload| workload.unit);
            // The local folder's curve would flatten those of the protocols.
            let is_local = |target: &str| target.starts_with("file:");
            let all_local = curves.iter().all(|(target, _)| is_local(target));
            let lines: Vec<Line> = curves
                .iter()
                .filter(|(target, _)| all_local || !is_local(target))
                .map(|(target, points)| Line {
                    color: self.color(target),
                    points: points.iter().map(|(clients, value)| (*clients as f64, *value)).collect(),
                })
                .collect();
            let title = loaded.to_string();
            let axes = Axes {
                about: &title,
                x: "clients",
                y: if unit == Unit::Bytes { "MB/s" } else { "op/s" },
                mark: |clients| format!("{clients:.0}"),
                number: if unit == Unit::Bytes {
                    |v| format!("{:.0}", v / 1e6)
                } else {
                    |v| format!("{v:.0}")
                },
            };
            write!(out, "<section><h3>{}</h3>{}<ul>", escaped(&title), chart::lines(&axes, &lines))?;
            for (target, points) in curves {
                if let Some(clients) = knee(&points) {
                    let name = short_name(target, &self.targets);
                    write!(out, "<li><b>{}</b>: the knee is at {clients} clients", escaped(&name))?;
                }
            }
            out.push_str("</ul></section>");
        }
        out.push_str("</div>");
        Ok(())
    }

    fn sweeps(&self, out: &mut String) -> fmt::Result {
        for sweep in &self.report.sweeps {
            write!(out, "<h2>NFS options for {}</h2><p>The fastest: ", escaped(&sweep.target))?;
            write!(out, "<code>{}</code>. {}</p>", escaped(&sweep.mount), escaped(&sweep.text()))?;
            write!(out, "<p>{}</p>", escaped(crate::sweep::PUBLISHED))?;
            out.push_str("<div class=\"wide\"><table><tr><th>option<th>value<th>speed<th></tr>");
            for step in &sweep.steps {
                let mark = if sweep.best.contains(step) { "best" } else { "" };
                let (name, speed) = (step.choice.name(), rate(step.speed, Unit::Bytes));
                write!(out, "<tr><td>{name}<td>{}<td>{speed}<td>{mark}</tr>", step.shown())?;
            }
            out.push_str("</table></div><p>Writing, MB/s:</p><div class=\"wide\"><table>");
            for line in crate::sweep::table_lines(&sweep.table) {
                write!(out, "<tr><td>{}</tr>", line.join("<td>"))?;
            }
            out.push_str("</table></div>");
        }
        Ok(())
    }

    /// The part of the operations that took at most so long.
    fn latencies(&self, out: &mut String) -> fmt::Result {
        out.push_str("<h2>Latencies</h2><p>The part of the operations that took at most so long.</p>");
        out.push_str("<div class=\"grid\">");
        for (cell, rows) in self.report.by_cell() {
            let lines: Vec<Line> = rows
                .iter()
                .map(|row| Line { color: self.color(&row.target), points: cumulative(&row.run.histogram) })
                .collect();
            let axes = Axes {
                about: cell,
                x: "latency",
                y: "operations",
                mark: |nanoseconds| time(nanoseconds as u64),
                number: |part| format!("{:.0} %", part * 100.0),
            };
            let chart = chart::lines(&axes, &lines);
            if !chart.is_empty() {
                write!(out, "<section><h3>{}</h3>{chart}</section>", escaped(cell))?;
            }
        }
        out.push_str("</div>");
        Ok(())
    }

    fn table(&self, out: &mut String) -> fmt::Result {
        out.push_str(
            "<h2>All figures</h2><div class=\"wide\"><table><tr><th>measurement<th>target<th>median",
        );
        out.push_str("<th>min<th>max<th>CV<th>p50<th>p95<th>p99<th>longest<th>client CPU<th>server CPU");
        out.push_str("<th>client's ceiling</tr>");
        for (cell, rows) in self.report.by_cell() {
            for row in rows {
                let (unit, summary, latency) = (row.run.unit(), &row.summary, &row.run.latency);
                let name = short_name(&row.target, &self.targets);
                write!(out, "<tr><td>{}<td>{}", escaped(cell), escaped(&name))?;
                for value in [summary.median, summary.min, summary.max] {
                    write!(out, "<td>{}", rate(value, unit))?;
                }
                write!(out, "<td>{:.1} %", summary.cv * 100.0)?;
                for value in [latency.p50, latency.p95, latency.p99, latency.max] {
                    write!(out, "<td>{}", time(value))?;
                }
                let seconds = row.run.seconds.max(1e-9);
                write!(out, "<td>{:.2}", row.run.client_cpu / seconds)?;
                let server = row.run.server_cpu.map(|cpu| format!("{:.2}", cpu / seconds));
                let ceiling = ceiling(row).unwrap_or_default();
                write!(out, "<td>{}<td>{ceiling}</tr>", server.unwrap_or_default())?;
            }
        }
        out.push_str(
            "</table></div><p>CPU in processors. The client's ceiling is the speed that one processor of ",
        );
        out.push_str("this machine would reach with this client, if it never waited.</p>");
        Ok(())
    }

    fn failures(&self, out: &mut String) -> fmt::Result {
        if self.report.failures.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Not measured</h2><ul>");
        for failure in &self.report.failures {
            let cell = failure.cell.as_ref().map_or_else(String::new, |cell| format!(", {cell}"));
            let text = format!("{}{cell}: {}", failure.target, failure.message);
            write!(out, "<li>{}", escaped(&text))?;
            for left in &failure.left {
                write!(out, "<br>left on the server: <code>{}</code>", escaped(left))?;
            }
        }
        out.push_str("</ul>");
        Ok(())
    }

    fn bounds(&self, out: &mut String) -> fmt::Result {
        if self.report.baselines.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Bounds</h2><div class=\"wide\"><table><tr><th>bound<th>value<th>target</tr>");
        for baseline in &self.report.baselines {
            let target = baseline.target.as_deref().unwrap_or_default();
            let link = baseline.link.map_or_else(String::new, |link| format!(", link {link}"));
            write!(out, "<tr><td>{}<td>{}", escaped(&baseline.name), bound(baseline))?;
            write!(out, "<td class=\"text\">{}{link}</tr>", escaped(target))?;
        }
        out.push_str("</table></div>");
        Ok(())
    }
}

/// A published figure as a bar: the middle of its range.
fn published(figure: &Figure) -> Bar {
    let (low, high) = (figure.range.0 * 1e6, figure.range.1 * 1e6);
    let value = f64::midpoint(low, high);
    Bar {
        name: figure.system.into(),
        label: format!("{}, published", rate(value, Unit::Bytes)),
        color: usize::from(chart::COLORS) - 1,
        is_local: false,
        value,
        min: low,
        max: high,
    }
}

/// A name that fits beside a bar.
fn short_name(target: &str, targets: &[&str]) -> String {
    let name = short(target, targets);
    let number = targets.iter().position(|known| *known == target).unwrap_or(0) + 1;
    match name == target {
        true => format!("{} ({number})", target.split(':').next().unwrap_or(target)),
        false => name.to_owned(),
    }
}

fn cumulative(histogram: &[(u64, u64)]) -> Vec<(f64, f64)> {
    let all = histogram.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let mut sum = 0_u64;
    let part = |(bound, count): &(u64, u64)| {
        sum = sum.saturating_add(*count);
        (*bound as f64, sum as f64 / all.max(1) as f64)
    };
    histogram.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::record::tests::example;

    #[test]
    fn the_page_refers_to_no_other_file_and_runs_no_program() {
        let run = |target: &str, clients| Record::Run(Box::new(example(target, "seq-read", clients, 0, 1e8)));
        let targets = ["smb://h/<s>", "nfs://h/s"];
        let records: Vec<Record> =
            targets.iter().flat_map(|target| [run(target, 1), run(target, 5)]).collect();
        let page = html(&Report::of(&records));
        assert!(page.contains("smb://h/&lt;s&gt;") && !page.contains("<s>"));
        assert!(page.matches("<svg").count() >= 4, "{page}");
        for forbidden in ["<script", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.contains("100 MB/s") && page.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn extreme_values_are_drawn() {
        let extremes = [0.0, 1e-300, 1e300, -1.0];
        let mut records = Vec::new();
        for (number, seconds) in extremes.into_iter().enumerate() {
            let mut run = example("smb://h/s", "seq-read", number, number, 1.0);
            (run.seconds, run.bytes, run.client_cpu) = (seconds, u64::MAX, f64::MAX);
            run.histogram = vec![(0, 0), (u64::MAX, u64::MAX / 2), (1, 1)];
            run.latency.max = u64::MAX;
            records.push(Record::Run(Box::new(run)));
        }
        assert!(html(&Report::of(&records)).ends_with("</html>\n"));
        assert!(!crate::report::text(&Report::of(&records)).is_empty());
    }

    #[test]
    fn latencies_add_up_to_all_operations() {
        assert_eq!(cumulative(&[(10, 1), (20, 2), (30, 1)]), [(10.0, 0.25), (20.0, 0.75), (30.0, 1.0)]);
    }
}
