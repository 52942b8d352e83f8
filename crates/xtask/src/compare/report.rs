//! The table of medians and ratios.

use std::fmt::Write;

use serde_json::{Value, json};

use super::rows::{Bar, ComparisonRow, RowGroup, RowUnit};
use super::{MeasuredServer, Sample};
use crate::loader::LoadResult;

/// A run is disturbed if other programs use more than this part of one CPU. (The kernel's writing
/// back counts as such a program.)
pub const DISTURBED: f64 = 0.25;

/// Speed of one run, in the row's units.
pub fn speed(row: &ComparisonRow, m: &LoadResult) -> f64 {
    match row.unit {
        RowUnit::Bytes => m.bytes as f64 / m.seconds / 1e6,
        RowUnit::Ops => m.ops as f64 / m.seconds,
        RowUnit::Memory => m.bytes as f64 / m.ops as f64,
        RowUnit::Gap => m.longest_gap_ms,
        RowUnit::Tail => m.p99_us / 1e3,
        RowUnit::Kept => m.kept * 100.0,
    }
}

/// Server CPU of one run, in the row's units.
pub fn cpu(row: &ComparisonRow, m: &LoadResult) -> f64 {
    match row.unit {
        RowUnit::Bytes => m.cpu / (m.bytes as f64 / 1e9),
        RowUnit::Ops => m.cpu / m.ops as f64 * 1e6,
        RowUnit::Memory => m.cpu,
        RowUnit::Gap | RowUnit::Tail | RowUnit::Kept => m.cpu / m.seconds,
    }
}

/// Median, smallest and largest value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Self { median, least, most })
    }

    fn text(self, decimals: usize) -> String {
        format!("{:.*} ({:.*}-{:.*})", decimals, self.median, decimals, self.least, decimals, self.most)
    }
}

/// All runs of one row on one server.
struct Column {
    who: MeasuredServer,
    speed: Spread,
    cpu: Spread,
    p50: Spread,
    p99: Spread,
    pss_kib: i64,
    fairness: f64,
    /// The additional results of a row of paced streams.
    streams: String,
}

fn column(row: &ComparisonRow, who: MeasuredServer, samples: &[Sample]) -> Option<Column> {
    let runs: Vec<&LoadResult> =
        samples.iter().filter(|s| s.row == row.name && s.who == who).map(|s| &s.measured).collect();
    let of = |value: &dyn Fn(&LoadResult) -> f64| Spread::of(runs.iter().map(|m| value(m)).collect());
    Some(Column {
        who,
        speed: of(&|m| speed(row, m))?,
        cpu: of(&|m| cpu(row, m))?,
        p50: of(&|m| m.p50_us)?,
        p99: of(&|m| m.p99_us)?,
        pss_kib: runs.iter().map(|m| m.pss_kib).max()?,
        fairness: of(&|m| m.fairness)?.median,
        streams: runs.last().map(|m| streams(m))?,
    })
}

fn streams(m: &LoadResult) -> String {
    let rate = |bytes: f64| bytes / m.seconds / 1e6;
    format!(
        "{} gaps over 100 ms; p99 {:.1} max {:.1} ms; read {:.0} MB/s while {:.0} MB/s were written",
        m.gaps,
        m.p99_us / 1e3,
        m.max_us / 1e3,
        rate(m.bytes as f64),
        rate(m.beside as f64)
    )
}

impl Column {
    fn text(&self, unit: RowUnit) -> String {
        let pss = self.pss_kib as f64 / 1024.0;
        let latency = format!("p50 {:.0} p99 {:.0} us", self.p50.median, self.p99.median);
        match unit {
            RowUnit::Bytes => {
                format!("{} MB/s; cpu {} s/GB; PSS {pss:.0} MiB", self.speed.text(0), self.cpu.text(2))
            }
            RowUnit::Ops => {
                format!(
                    "{} op/s; {latency}; cpu {} us/op; PSS {pss:.0} MiB",
                    self.speed.text(0),
                    self.cpu.text(1)
                )
            }
            RowUnit::Memory => format!("{} B each; cpu {:.2} s in 3 s", self.speed.text(0), self.cpu.median),
            RowUnit::Gap => {
                format!("longest {} ms; {}; cpu {}", self.speed.text(1), self.streams, self.cpu.text(2))
            }
            RowUnit::Kept => format!("{} %; cpu {}", self.speed.text(1), self.cpu.text(2)),
            RowUnit::Tail => {
                format!(
                    "p99 {} ms, p50 {:.2} ms; cpu {}",
                    self.speed.text(2),
                    self.p50.median / 1e3,
                    self.cpu.text(2)
                )
            }
        }
    }
}

/// A row's medians: those of our server, and those of the peer in each configuration.
struct Columns {
    ours: Option<Column>,
    peers: Vec<Column>,
}

impl Columns {
    fn of(row: &ComparisonRow, samples: &[Sample]) -> Self {
        let peers = row.peers.iter().filter_map(|name| column(row, MeasuredServer::Peer(name), samples));
        Self { ours: column(row, MeasuredServer::Ours, samples), peers: peers.collect() }
    }

    /// The peer in its best configuration: the fastest, or the one with the least memory.
    fn best(&self, row: &ComparisonRow) -> Option<&Column> {
        let by_speed = |a: &&Column, b: &&Column| a.speed.median.total_cmp(&b.speed.median);
        match row.unit {
            RowUnit::Memory | RowUnit::Gap | RowUnit::Tail => self.peers.iter().min_by(by_speed),
            RowUnit::Bytes | RowUnit::Ops | RowUnit::Kept => self.peers.iter().max_by(by_speed),
        }
    }

    /// The peer's configuration with the least CPU, if that is not the fastest.
    fn thriftiest(&self, row: &ComparisonRow) -> Option<&Column> {
        let least = self.peers.iter().min_by(|a, b| a.cpu.median.total_cmp(&b.cpu.median))?;
        (matches!(row.unit, RowUnit::Bytes | RowUnit::Ops) && self.best(row)?.who != least.who)
            .then_some(least)
    }
}

/// Whether our server reaches the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BarVerdict {
    Yes,
    /// It does so against the fastest configuration, but another configuration takes less CPU than
    /// the bar allows.
    ByTheFastest,
    No,
}

impl BarVerdict {
    fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::ByTheFastest => "yes (not by the least cpu)",
            Self::No => "NO",
        }
    }
}

/// Whether our server reaches the row's bar, and the bar as text.
fn verdict(row: &ComparisonRow, columns: &Columns) -> Option<(BarVerdict, String)> {
    let ours = columns.ours.as_ref()?;
    let (speed, cpu) = match row.bar? {
        Bar::AtMost(limit) => {
            let met = if ours.speed.median <= limit { BarVerdict::Yes } else { BarVerdict::No };
            let text = match row.unit {
                RowUnit::Tail => format!("at most {limit:.0} ms"),
                _ => format!("at most {:.0} KiB each", limit / 1024.0),
            };
            return Some((met, text));
        }
        Bar::Keeps(least) => {
            let met = if ours.speed.median >= least { BarVerdict::Yes } else { BarVerdict::No };
            return Some((met, format!("at least {least:.0} %")));
        }
        Bar::NoGap(limit) => {
            let met = if ours.speed.most <= limit { BarVerdict::Yes } else { BarVerdict::No };
            return Some((met, format!("no gap over {limit:.0} ms")));
        }
        Bar::Times { speed, cpu } => (speed, cpu),
    };
    let best = columns.best(row)?;
    let holds = |peer: &Column| cpu.is_none_or(|most| ours.cpu.median <= most * peer.cpu.median);
    let met = if ours.speed.median < speed * best.speed.median || !holds(best) {
        BarVerdict::No
    } else if columns.peers.iter().all(holds) {
        BarVerdict::Yes
    } else {
        BarVerdict::ByTheFastest
    };
    let least_speed = format!("speed ≥ {speed}x");
    Some((met, cpu.map_or(least_speed.clone(), |most| format!("{least_speed}, cpu ≤ {most}x"))))
}

fn ratios(row: &ComparisonRow, columns: &Columns) -> Option<String> {
    let (ours, best) = (columns.ours.as_ref()?, columns.best(row)?);
    let part = |a: Spread, b: Spread| {
        if b.median == 0.0 { "-".to_owned() } else { format!("{:.2}x", a.median / b.median) }
    };
    let speed = part(ours.speed, best.speed);
    match row.unit {
        RowUnit::Memory => return Some(format!("memory {speed}")),
        RowUnit::Gap => return Some(format!("longest gap {speed}")),
        RowUnit::Kept => return None,
        RowUnit::Tail => return Some(format!("p99 {speed}")),
        RowUnit::Bytes | RowUnit::Ops => {}
    }
    let also = columns
        .thriftiest(row)
        .map_or(String::new(), |least| format!(" ({} of {}'s)", part(ours.cpu, least.cpu), least.who));
    Some(format!("speed {speed}, cpu {}{also}", part(ours.cpu, best.cpu)))
}

/// The table as Markdown: medians (smallest to largest) of the kept rounds. For the peer, its best
/// configuration.
pub fn table(groups: &[RowGroup], samples: &[Sample]) -> String {
    let mut text =
        String::from("| row | ours | peer | ratio | bar | met |\n| --- | --- | --- | --- | --- | --- |\n");
    let none = || "-".to_owned();
    for row in groups.iter().flat_map(|group| &group.rows) {
        let columns = Columns::of(row, samples);
        let ours = columns.ours.as_ref().map_or_else(none, |c| c.text(row.unit));
        let peer = columns.best(row).map_or_else(none, |c| format!("{}: {}", c.who, c.text(row.unit)));
        let ratio = ratios(row, &columns).unwrap_or_else(none);
        let (met, bar) = verdict(row, &columns).map_or(("-", none()), |(met, bar)| (met.text(), bar));
        let _ = writeln!(text, "| {} | {ours} | {peer} | {ratio} | {bar} | {met} |", row.name);
    }
    let _ = writeln!(text, "\n{}{}", others(groups, samples), disturbance(samples));
    text
}

/// The peer's configurations that are not the best in their rows.
fn others(groups: &[RowGroup], samples: &[Sample]) -> String {
    let mut text = String::new();
    for row in groups.iter().flat_map(|group| &group.rows) {
        let columns = Columns::of(row, samples);
        let best = columns.best(row).map(|best| best.who);
        for column in columns.peers.iter().filter(|column| Some(column.who) != best) {
            let _ = writeln!(text, "| {} | {}: {} |", row.name, column.who, column.text(row.unit));
        }
    }
    if text.is_empty() { text } else { format!("| row | the peer otherwise |\n| --- | --- |\n{text}\n") }
}

/// How much of the machine other programs used: such runs are less reliable.
fn disturbance(samples: &[Sample]) -> String {
    let share = |sample: &Sample| sample.measured.others_cpu / sample.measured.seconds * 100.0;
    let Some(spread) = Spread::of(samples.iter().map(share).collect()) else {
        return "nothing was measured".into();
    };
    let disturbed = samples.iter().filter(|sample| share(sample) > DISTURBED * 100.0).count();
    let (total, limit) = (samples.len(), DISTURBED * 100.0);
    format!(
        "Other programs used {:.0} % of one CPU during the median run; more than {limit:.0} % in {disturbed} of {total} runs.",
        spread.median
    )
}

/// The same for other programs, with every single run.
pub fn json(groups: &[RowGroup], samples: &[Sample]) -> Value {
    let rows: Vec<Value> = groups
        .iter()
        .flat_map(|group| &group.rows)
        .map(|row| {
            let columns = Columns::of(row, samples);
            let peers: serde_json::Map<String, Value> =
                columns.peers.iter().map(|column| (column.who.to_string(), side_json(column))).collect();
            let best = columns.best(row).map(|column| column.who);
            let met = verdict(row, &columns).map(|(met, _)| met != BarVerdict::No);
            json!({ "row": row.name, "unit": unit(row.unit), "ours": columns.ours.as_ref().map(side_json),
                    "peers": peers, "best": best, "met": met })
        })
        .collect();
    json!({ "rows": rows, "runs": samples })
}

fn side_json(column: &Column) -> Value {
    let spread = |s: Spread| json!({ "median": s.median, "min": s.least, "max": s.most });
    json!({ "speed": spread(column.speed), "cpu": spread(column.cpu), "p50_us": column.p50.median,
            "p99_us": column.p99.median, "pss_kib": column.pss_kib, "fairness": column.fairness })
}

fn unit(unit: RowUnit) -> &'static str {
    match unit {
        RowUnit::Bytes => "MB/s; CPU s/GB",
        RowUnit::Ops => "op/s; CPU us/op",
        RowUnit::Memory => "bytes per connection; CPU s in 3 s",
        RowUnit::Gap => "longest gap in ms; CPU s per s",
        RowUnit::Kept => "% kept; CPU s per s",
        RowUnit::Tail => "p99 in ms; CPU s per s",
    }
}

/// One run, for a user who watches.
pub fn one(row: &ComparisonRow, m: &LoadResult) -> String {
    match row.unit {
        RowUnit::Bytes => format!("{:.0} MB/s, cpu {:.2} s/GB", speed(row, m), cpu(row, m)),
        RowUnit::Ops => {
            let client = m.client_cpu / m.ops as f64 * 1e6;
            format!("{:.0} op/s, cpu {:.1} us/op, the client's {client:.1}", speed(row, m), cpu(row, m))
        }
        RowUnit::Memory => format!("{:.0} B each", speed(row, m)),
        RowUnit::Gap => format!("longest gap {:.1} ms, {}", m.longest_gap_ms, streams(m)),
        RowUnit::Kept => format!("{:.1} % beside {:.0} op/s", speed(row, m), m.ops as f64 / m.seconds),
        RowUnit::Tail => {
            let streams = m.beside as f64 / m.seconds / 1e6;
            format!("p50 {:.0} p99 {:.0} us beside {streams:.0} MB/s", m.p50_us, m.p99_us)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{iscsi, nfs, rows, smb};

    fn sample(who: MeasuredServer, seconds: f64, cpu: f64) -> Sample {
        let measured = LoadResult {
            workload: "read".into(),
            ops: 1000,
            bytes: 1_000_000_000,
            errors: 0,
            seconds,
            cpu,
            client_cpu: 0.1,
            others_cpu: 0.0,
            p50_us: 1.0,
            p99_us: 2.0,
            max_us: 3.0,
            beside_ops: 0,
            held_kib: 0,
            beside: 0,
            gaps: 0,
            longest_gap_ms: 0.0,
            fairness: 1.0,
            kept: 0.0,
            pss_kib: 1024,
        };
        Sample { row: NAME, who, round: 1, measured }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { median: 2.5, least: 1.0, most: 4.0 });
    }

    const NAME: &str = "read 1 GiB 1 client q1";

    fn last_cell(groups: &[RowGroup], samples: &[Sample]) -> String {
        let line = table(groups, samples).lines().nth(2).unwrap().to_owned();
        line.trim_end_matches(" |").rsplit("| ").next().unwrap().to_owned()
    }

    #[test]
    fn a_row_is_met_by_speed_and_cpu_together() {
        let groups = rows::chosen(nfs::groups(), &[NAME.to_owned()]);
        for (seconds, cpu, met) in [(1.0, 0.35, "yes"), (1.0, 0.36, "NO"), (1.1, 0.1, "NO")] {
            let samples = [
                sample(MeasuredServer::Ours, seconds, cpu),
                sample(MeasuredServer::Peer("ganesha"), 1.0, 0.5),
            ];
            assert_eq!(last_cell(&groups, &samples), met);
        }
    }

    #[test]
    fn one_run_with_a_longer_gap_is_one_too_many() {
        let video = rows::chosen(iscsi::groups(), &["video".to_owned()]);
        let run = |longest_gap_ms| {
            let mut sample = sample(MeasuredServer::Ours, 60.0, 20.0);
            sample.row = video[0].rows[0].name;
            sample.measured.longest_gap_ms = longest_gap_ms;
            sample
        };
        assert_eq!(last_cell(&video, &[run(40.0), run(100.0)]), "yes");
        assert_eq!(last_cell(&video, &[run(40.0), run(40.0), run(100.1)]), "NO");
    }

    #[test]
    fn the_peers_fastest_configuration_counts_and_a_thriftier_one_is_named() {
        let groups = rows::chosen(smb::groups(), &[NAME.to_owned()]);
        let met = |seconds, cpu| {
            let peers = [
                sample(MeasuredServer::Peer("default"), 1.0, 0.6),
                sample(MeasuredServer::Peer("sendfile"), 1.5, 0.2),
            ];
            let samples: Vec<_> =
                peers.into_iter().chain([sample(MeasuredServer::Ours, seconds, cpu)]).collect();
            last_cell(&groups, &samples)
        };
        assert_eq!(met(0.9, 0.19), "yes");
        assert_eq!(met(0.9, 0.5), "yes (not by the least cpu)");
        assert_eq!(met(0.9, 0.7), "NO");
        assert_eq!(met(1.2, 0.19), "NO");
    }
}
