//! `cargo xtask compare --all`: the rows of all protocols, a table for each, judged by their bars.
//!
//! Each protocol is measured by `compare PROTOCOL` as a process of its own, which has its own
//! namespace and file system.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::judge::{self, MEAN, RowVerdict, ServerMedians, TableLine};
use super::{CompareArgs, ComparedProtocol, install, rows};
use crate::netatalk::packages;
use crate::process;

const ALL: [ComparedProtocol; 4] =
    [ComparedProtocol::Nfs, ComparedProtocol::Smb, ComparedProtocol::Afp, ComparedProtocol::Iscsi];
/// So many of the rows that fall short are listed below the tables.
const FURTHEST: usize = 5;
/// A smaller change than this part is not flagged.
const CHANGE: f64 = 0.05;
/// The exit status of a comparison whose library or peer is missing.
const NOT_INSTALLED: i32 = 2;
/// The table in the documentation is between these lines.
const DOCUMENT: &str = "docs/performance.md";
const BEGIN: &str = "<!-- begin: all rows -->\n";
const END: &str = "<!-- end: all rows -->\n";

/// The file that `--json` writes and `--against` reads.
#[derive(Deserialize, Serialize)]
struct StoredReport {
    rows: Vec<TableLine>,
}

pub fn run(args: &CompareArgs) -> Result<()> {
    if args.page {
        return page();
    }
    let protocols = match args.protocol {
        None => ALL.to_vec(),
        Some(one) if ALL.contains(&one) => vec![one],
        Some(other) => bail!("--all has no rows of {other:?}"),
    };
    let before = args.against.as_deref().map(read).transpose()?;
    let mut run = ComparisonRun::default();
    for protocol in protocols {
        run.measure(protocol, args)?;
    }
    let text = text(&run.lines, &run.notes);
    print!("\n{text}");
    if let Some(before) = before {
        print!("\n{}", against(&before, &run.lines));
    }
    if is_full(args) && !run.failed {
        write_page(&text_of_judged(&run.lines, &run.notes))?;
    }
    if let Some(path) = &args.json {
        let stored = serde_json::to_string_pretty(&StoredReport { rows: run.lines })?;
        std::fs::write(path, stored).with_context(|| format!("cannot write {}", path.display()))?;
    }
    ensure!(!run.failed, "a comparison failed, see above");
    Ok(())
}

/// Writes the tables of the reports that are there.
fn page() -> Result<()> {
    let mut lines = Vec::new();
    for protocol in ALL {
        let path = report_of(protocol);
        let report =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        lines.extend(judge::lines(protocol, &protocol.groups(), &report)?);
    }
    let text = text_of_judged(&lines, &[]);
    print!("{text}");
    write_page(&text)
}

/// The text for the page, which has no rows without a bar.
fn text_of_judged(lines: &[TableLine], notes: &[String]) -> String {
    let judged: Vec<TableLine> = lines.iter().filter(|line| line.bar.is_some()).cloned().collect();
    text(&judged, notes)
}

/// The last report of a protocol.
fn report_of(protocol: ComparedProtocol) -> PathBuf {
    process::root().join(format!("target/compare/all-{}.json", protocol.title().to_lowercase()))
}

fn write_page(text: &str) -> Result<()> {
    let path = process::root().join(DOCUMENT);
    let document = std::fs::read_to_string(&path)?;
    std::fs::write(&path, with_table(&document, text)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Whether the documentation gets the table: only if every row was measured properly.
fn is_full(args: &CompareArgs) -> bool {
    args.protocol.is_none() && args.rows.is_empty() && args.only.is_none() && !args.quick
}

fn read(path: &Path) -> Result<Vec<TableLine>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let stored: StoredReport =
        serde_json::from_str(&text).with_context(|| format!("{} is not from --all", path.display()))?;
    Ok(stored.rows)
}

/// What was measured so far.
#[derive(Default)]
struct ComparisonRun {
    lines: Vec<TableLine>,
    /// What was not measured, and why.
    notes: Vec<String>,
    failed: bool,
    /// Whether our server was built by an earlier comparison.
    is_built: bool,
}

impl ComparisonRun {
    /// Runs the comparison of one protocol. If it fails, the rows of other protocols are still
    /// useful.
    fn measure(&mut self, protocol: ComparedProtocol, args: &CompareArgs) -> Result<()> {
        let (title, peer) = (protocol.title(), protocol.peer_program());
        if rows::chosen(protocol.groups(), &args.rows).is_empty() {
            return Ok(());
        }
        install(protocol)?;
        let mut only = args.only.clone();
        let is_fetched =
            protocol == ComparedProtocol::Afp && (args.afpd.is_some() || packages::install().is_ok());
        if !is_fetched && process::find(peer).is_none() {
            self.notes.push(format!("{title}: {peer} is not installed. Fourfold is measured alone."));
            only = Some("ours".into());
        }
        let report = report_of(protocol);
        std::fs::create_dir_all(process::root().join("target/compare"))?;
        let _ = std::fs::remove_file(&report); // there may be none
        let arguments = command(protocol, args, &report, only.as_deref(), self.is_built);
        let status = Command::new(std::env::current_exe()?).args(arguments).status();
        let status = status.context("cannot start xtask")?;
        self.is_built = true;
        if status.code() == Some(NOT_INSTALLED) {
            self.notes.push(format!("{title} is not measured: a library or the peer is not installed."));
        } else if !status.success() {
            self.notes.push(format!("{title}: the comparison failed ({status})."));
            self.failed = true;
        }
        if let Ok(text) = std::fs::read_to_string(&report) {
            self.lines.extend(judge::lines(protocol, &protocol.groups(), &text)?);
        }
        Ok(())
    }
}

/// The command line of the comparison of one protocol.
fn command(
    protocol: ComparedProtocol,
    args: &CompareArgs,
    report: &Path,
    only: Option<&str>,
    is_built: bool,
) -> Vec<String> {
    let mut all = vec!["compare".to_owned(), format!("{protocol:?}").to_lowercase()];
    let path = |path: &PathBuf| path.display().to_string();
    let options = [
        ("--json", Some(report.display().to_string())),
        ("--rounds", Some(args.rounds.to_string())),
        ("--retries", Some(args.retries.to_string())),
        ("--rows", Some(args.rows.join(",")).filter(|words| !words.is_empty())),
        ("--only", only.map(str::to_owned)),
        ("--libsmb2", args.libsmb2.as_ref().map(path)),
        ("--afpd", args.afpd.as_ref().map(path)),
        ("--program", args.program.as_ref().map(path)),
    ];
    for (name, value) in options {
        all.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    all.extend(args.quick.then(|| "--quick".to_owned()));
    all.extend(args.pinned.then(|| "--pinned".to_owned()));
    all.extend((args.no_build || is_built).then(|| "--no-build".to_owned()));
    all
}

/// A table for each protocol, what was not measured, and the last lines: shortfalls and means.
fn text(lines: &[TableLine], notes: &[String]) -> String {
    let mut text = String::new();
    for protocol in ALL {
        let own: Vec<&TableLine> = lines.iter().filter(|line| line.protocol == protocol.title()).collect();
        if !own.is_empty() {
            text.push_str(&table(protocol.title(), &own));
        }
    }
    for note in notes {
        let _ = writeln!(text, "{note}\n");
    }
    text.push_str(&last_lines(lines));
    text
}

fn table(title: &str, lines: &[&TableLine]) -> String {
    let mut text =
        format!("| {title} | Fourfold | peer | speed | CPU | bar | |\n|---|---|---|---|---|---|---|\n");
    let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2} ×"));
    for line in lines {
        let side =
            |side: &Option<ServerMedians>| side.as_ref().map_or("-".to_owned(), |side| cell(side, line));
        let peer =
            line.peer.as_ref().map_or("-".to_owned(), |peer| format!("{} ({})", cell(peer, line), peer.who));
        let _ = writeln!(
            text,
            "| {} | {} | {peer} | {} | {} | {} | {} |",
            line.row,
            side(&line.ours),
            ratio(line.ratio),
            ratio(line.cpu_ratio),
            line.bar.as_deref().unwrap_or("-"),
            verdict(line)
        );
    }
    text.push('\n');
    text
}

fn verdict(line: &TableLine) -> String {
    match line.verdict {
        RowVerdict::Ok => "ok".into(),
        RowVerdict::NotJudged => "-".into(),
        RowVerdict::FallsShort => format!("falls short: {}", line.short_of.join(", ")),
    }
}

/// Speed or size, and CPU, in the row's units.
fn cell(side: &ServerMedians, line: &TableLine) -> String {
    let fairness = if line.bar.as_ref().is_some_and(|bar| bar.contains("fairness")) {
        format!(", fairness {:.2}", side.fairness)
    } else {
        String::new()
    };
    match line.unit.split(';').next().unwrap_or_default() {
        "MB/s" => format!("{} MB/s{}, {:.2} s/GB{fairness}", grouped(side.speed), spread(side), side.cpu),
        "op/s" => format!("{}/s{}, {:.1} µs each", grouped(side.speed), spread(side), side.cpu),
        "bytes per connection" => format!("{:.1} KB each", side.speed / 1000.0),
        "% kept" => format!("{:.1} %", side.speed),
        _ => format!("{:.1} ms", side.speed),
    }
}

/// How far the runs lie apart: the larger distance of a run from the median.
fn spread(side: &ServerMedians) -> String {
    let apart = (side.most - side.speed).max(side.speed - side.least) / side.speed.max(f64::MIN_POSITIVE);
    format!(" ±{:.0} %", apart * 100.0)
}

/// A whole number with commas between groups of three digits.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn last_lines(lines: &[TableLine]) -> String {
    let mut text = String::new();
    let mut short: Vec<&TableLine> =
        lines.iter().filter(|line| line.verdict == RowVerdict::FallsShort).collect();
    short.sort_by(|a, b| a.reached.unwrap_or(1.0).total_cmp(&b.reached.unwrap_or(1.0)));
    let judged = lines.iter().filter(|line| line.verdict != RowVerdict::NotJudged).count();
    let _ = writeln!(
        text,
        "{} of {judged} rows fall short{}",
        short.len(),
        if short.is_empty() { "." } else { ", the furthest first:\n" }
    );
    for line in short.iter().take(FURTHEST) {
        let part = line.reached.unwrap_or(1.0) * 100.0;
        let _ = writeln!(text, "* {} {}: {part:.0} % of the bar", line.protocol, line.row);
    }
    let behind = lines.iter().filter(|line| line.is_behind()).count();
    let _ = writeln!(text, "\n{behind} rows are behind the peer.");
    let means = ALL.iter().map(|protocol| {
        let own = judge::mean(lines.iter().filter(|line| line.protocol == protocol.title()));
        format!(
            "{} {}",
            protocol.title(),
            own.map_or("-".into(), |(mean, count)| format!("{mean:.2} ({count} rows)"))
        )
    });
    let _ = writeln!(text, "\nGeometric mean of the speeds: {}.", means.collect::<Vec<_>>().join(", "));
    if let Some((mean, count)) = judge::mean(lines) {
        let verdict = if mean >= MEAN { "ok" } else { "falls short" };
        let _ = writeln!(text, "Over all {count} rows: {mean:.2} (bar {MEAN:.1}): {verdict}.");
    }
    text
}

/// Our figures beside those of an earlier run.
fn against(before: &[TableLine], now: &[TableLine]) -> String {
    let mut text =
        "| | row | speed before | now | change | CPU before | now | change | |\n|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for line in now {
        let same = |other: &&TableLine| other.protocol == line.protocol && other.row == line.row;
        let Some(then) = before.iter().find(same).and_then(|line| line.ours.as_ref()) else { continue };
        let Some(ours) = &line.ours else { continue };
        let (speed, cpu) = (change(then.speed, ours.speed), change(then.cpu, ours.cpu));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.2} | {:.2} | {} | {} |",
            line.protocol,
            line.row,
            grouped(then.speed),
            grouped(ours.speed),
            percent(speed),
            then.cpu,
            ours.cpu,
            percent(cpu),
            flags(line, speed, cpu)
        );
    }
    text
}

fn change(before: f64, now: f64) -> f64 {
    if before > 0.0 { now / before - 1.0 } else { 0.0 }
}

fn percent(change: f64) -> String {
    format!("{:+.1} %", change * 100.0)
}

/// Changes above 5 %, in words. Of memory and waiting times, less is better.
fn flags(line: &TableLine, speed: f64, cpu: f64) -> String {
    let is_rate = line.unit.starts_with("MB/s") || line.unit.starts_with("op/s");
    let words = match is_rate {
        true => ("faster", "SLOWER"),
        false if line.unit.starts_with('%') => ("more", "LESS"),
        false => ("LARGER", "smaller"),
    };
    let mut flags = Vec::new();
    if speed.abs() > CHANGE {
        flags.push(if speed > 0.0 { words.0 } else { words.1 });
    }
    if is_rate && cpu.abs() > CHANGE {
        flags.push(if cpu > 0.0 { "MORE CPU" } else { "less CPU" });
    }
    flags.join(", ")
}

/// The document with another table.
fn with_table(document: &str, table: &str) -> Result<String> {
    let (head, rest) =
        document.split_once(BEGIN).with_context(|| format!("{DOCUMENT} has no line {BEGIN}"))?;
    let (_, tail) = rest.split_once(END).with_context(|| format!("{DOCUMENT} has no line {END}"))?;
    Ok(format!("{head}{BEGIN}\n{table}\n{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(row: &str, speed: f64, cpu: f64, reached: f64) -> TableLine {
        let side = |who: &str, speed, cpu| ServerMedians {
            who: who.into(),
            speed,
            least: speed,
            most: speed * 1.1,
            cpu,
            fairness: 1.0,
        };
        let short_of = if reached < 1.0 { vec!["speed".to_owned()] } else { Vec::new() };
        TableLine {
            protocol: "SMB".into(),
            row: row.into(),
            unit: "MB/s; CPU s/GB".into(),
            ours: Some(side("ours", speed, cpu)),
            peer: Some(side("sendfile", 1000.0, 0.5)),
            ratio: Some(speed / 1000.0),
            cpu_ratio: Some(cpu / 0.5),
            bar: Some("≥ 1.2 ×, CPU ≤ 0.8 ×".into()),
            verdict: if reached < 1.0 { RowVerdict::FallsShort } else { RowVerdict::Ok },
            short_of,
            reached: Some(reached),
        }
    }

    #[test]
    fn the_table_ends_with_the_shortfalls_and_the_means() {
        let lines = [line("a", 4000.0, 0.2, 1.5), line("b", 1000.0, 0.4, 0.83), line("c", 500.0, 0.2, 0.4)];
        let text = text(&lines, &["AFP: afpd is not installed: ours alone is measured.".into()]);
        assert!(text.contains("| a | 4,000 MB/s ±10 %, 0.20 s/GB | 1,000 MB/s ±10 %, 0.50 s/GB (sendfile) | 4.00 × | 0.40 × | ≥ 1.2 ×, CPU ≤ 0.8 × | ok |"));
        assert!(text.contains("| falls short: speed |"));
        assert!(text.contains("afpd is not installed"));
        assert!(
            text.contains(", the furthest first:\n\n* SMB c: 40 % of the bar\n* SMB b: 83 % of the bar\n"),
            "{text}"
        );
        assert!(text.contains("1 rows are behind the peer."), "{text}");
        // The cube root of 4 x 1 x 0.5.
        assert!(text.contains("NFS -, SMB 1.26 (3 rows), AFP -, iSCSI -."), "{text}");
        assert!(text.ends_with("Over all 3 rows: 1.26 (bar 2.6): falls short.\n"), "{text}");
    }

    #[test]
    fn changes_above_five_percent_are_flagged() {
        let before = [line("a", 1000.0, 0.5, 1.0), line("b", 1000.0, 0.5, 1.0), line("c", 1000.0, 0.5, 1.0)];
        let now = [line("a", 940.0, 0.5, 1.0), line("b", 1040.0, 0.6, 1.0), line("d", 1.0, 1.0, 1.0)];
        let text = against(&before, &now);
        assert!(
            text.contains("| SMB | a | 1,000 | 940 | -6.0 % | 0.50 | 0.50 | +0.0 % | SLOWER |"),
            "{text}"
        );
        assert!(text.contains("| +4.0 % | 0.50 | 0.60 | +20.0 % | MORE CPU |"), "{text}");
        assert_eq!(text.lines().count(), 4); // c was not measured again, d is new
    }

    #[test]
    fn a_stored_run_can_be_read_again() {
        let stored = serde_json::to_string(&StoredReport { rows: vec![line("a", 2.0, 1.0, 0.5)] }).unwrap();
        let again: StoredReport = serde_json::from_str(&stored).unwrap();
        assert_eq!((again.rows[0].ratio, again.rows[0].verdict), (Some(0.002), RowVerdict::FallsShort));
    }

    #[test]
    fn the_text_around_the_table_stays() {
        let document = format!("before\n{BEGIN}old\n{END}after\n");
        assert_eq!(with_table(&document, "new\n").unwrap(), format!("before\n{BEGIN}\nnew\n\n{END}after\n"));
        assert!(with_table("no markers", "new").is_err());
        let page = std::fs::read_to_string(process::root().join(DOCUMENT)).unwrap();
        assert!(with_table(&page, "new").is_ok());
    }
}
