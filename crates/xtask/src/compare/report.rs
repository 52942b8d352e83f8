//! The table of medians and ratios.

use std::fmt::Write;

use serde_json::{Value, json};

use super::rows::{Group, IDLE_LIMIT, Row, Unit};
use super::{Sample, Who};
use crate::loader::Measured;

/// Past this part of one CPU used by others a run is disturbed. (The kernel writing back counts as others too.)
pub const DISTURBED: f64 = 0.25;

/// Speed and server CPU of one run, in the row's units.
fn speed(row: &Row, m: &Measured) -> f64 {
    match row.unit {
        Unit::Bytes => m.bytes as f64 / m.seconds / 1e6,
        Unit::Ops => m.ops as f64 / m.seconds,
        Unit::Memory => m.bytes as f64 / m.ops as f64,
    }
}

fn cpu(row: &Row, m: &Measured) -> f64 {
    match row.unit {
        Unit::Bytes => m.cpu / (m.bytes as f64 / 1e9),
        Unit::Ops => m.cpu / m.ops as f64 * 1e6,
        Unit::Memory => m.cpu,
    }
}

/// Median, least and most.
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
    speed: Spread,
    cpu: Spread,
    p50: Spread,
    p99: Spread,
    pss_kib: i64,
}

fn column(row: &Row, who: Who, samples: &[Sample]) -> Option<Column> {
    let runs: Vec<&Measured> =
        samples.iter().filter(|s| s.row == row.name && s.who == who).map(|s| &s.measured).collect();
    let of = |value: &dyn Fn(&Measured) -> f64| Spread::of(runs.iter().map(|m| value(m)).collect());
    Some(Column {
        speed: of(&|m| speed(row, m))?,
        cpu: of(&|m| cpu(row, m))?,
        p50: of(&|m| m.p50_us)?,
        p99: of(&|m| m.p99_us)?,
        pss_kib: runs.iter().map(|m| m.pss_kib).max()?,
    })
}

impl Column {
    fn text(&self, unit: Unit) -> String {
        let pss = self.pss_kib as f64 / 1024.0;
        let latency = format!("p50 {:.0} p99 {:.0} us", self.p50.median, self.p99.median);
        match unit {
            Unit::Bytes => {
                format!("{} MB/s; cpu {} s/GB; PSS {pss:.0} MiB", self.speed.text(0), self.cpu.text(2))
            }
            Unit::Ops => {
                format!(
                    "{} op/s; {latency}; cpu {} us/op; PSS {pss:.0} MiB",
                    self.speed.text(0),
                    self.cpu.text(1)
                )
            }
            Unit::Memory => format!("{} B each; cpu {:.2} s in 3 s", self.speed.text(0), self.cpu.median),
        }
    }
}

/// Whether ours reaches the row's bar, and the bar in words.
fn verdict(row: &Row, ours: &Column, peer: Option<&Column>) -> Option<(bool, String)> {
    let bar = row.bar?;
    if row.unit == Unit::Memory {
        let limit = IDLE_LIMIT / 1024.0;
        return Some((ours.speed.median <= IDLE_LIMIT, format!("at most {limit:.0} KiB each")));
    }
    let peer = peer?;
    let (speed, cpu) = (ours.speed.median / peer.speed.median, ours.cpu.median / peer.cpu.median);
    let is_met = speed >= bar.speed && bar.cpu.is_none_or(|most| cpu <= most);
    let least_speed = format!("speed ≥ {}x", bar.speed);
    let text = bar.cpu.map_or(least_speed.clone(), |most| format!("{least_speed}, cpu ≤ {most}x"));
    Some((is_met, text))
}

fn ratios(row: &Row, ours: &Column, peer: &Column) -> String {
    let part = |a: f64, b: f64| if b == 0.0 { "-".to_owned() } else { format!("{:.2}x", a / b) };
    let (speed, cpu) = (part(ours.speed.median, peer.speed.median), part(ours.cpu.median, peer.cpu.median));
    match row.unit {
        Unit::Memory => format!("memory {speed}"),
        Unit::Bytes | Unit::Ops => format!("speed {speed}, cpu {cpu}"),
    }
}

/// The table as Markdown: medians (least-most) of the kept rounds.
pub fn table(groups: &[Group], samples: &[Sample]) -> String {
    let mut text =
        String::from("| row | ours | peer | ratio | bar | met |\n| --- | --- | --- | --- | --- | --- |\n");
    for row in groups.iter().flat_map(|group| &group.rows) {
        let (ours, peer) = (column(row, Who::Ours, samples), column(row, Who::Peer, samples));
        let cell = |column: &Option<Column>| column.as_ref().map_or("-".to_owned(), |c| c.text(row.unit));
        let ratio =
            ours.as_ref().zip(peer.as_ref()).map_or("-".to_owned(), |(ours, peer)| ratios(row, ours, peer));
        let (met, bar) = match ours.as_ref().and_then(|ours| verdict(row, ours, peer.as_ref())) {
            Some((met, bar)) => (if met { "yes" } else { "NO" }, bar),
            None => ("-", "-".to_owned()),
        };
        let _ =
            writeln!(text, "| {} | {} | {} | {ratio} | {bar} | {met} |", row.name, cell(&ours), cell(&peer));
    }
    let _ = writeln!(text, "\n{}", disturbance(samples));
    text
}

/// How much of the machine others had: such runs say less.
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
pub fn json(groups: &[Group], samples: &[Sample]) -> Value {
    let rows: Vec<Value> = groups
        .iter()
        .flat_map(|group| &group.rows)
        .map(|row| {
            let side = |who| column(row, who, samples).map(|c| side_json(&c));
            let ours = column(row, Who::Ours, samples);
            let peer = column(row, Who::Peer, samples);
            let met = ours.as_ref().and_then(|ours| verdict(row, ours, peer.as_ref())).map(|(met, _)| met);
            json!({ "row": row.name, "unit": unit(row.unit), "ours": side(Who::Ours), "peer": side(Who::Peer), "met": met })
        })
        .collect();
    json!({ "rows": rows, "runs": samples })
}

fn side_json(column: &Column) -> Value {
    let spread = |s: Spread| json!({ "median": s.median, "min": s.least, "max": s.most });
    json!({ "speed": spread(column.speed), "cpu": spread(column.cpu), "p50_us": column.p50.median,
            "p99_us": column.p99.median, "pss_kib": column.pss_kib })
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "MB/s; CPU s/GB",
        Unit::Ops => "op/s; CPU us/op",
        Unit::Memory => "bytes per connection; CPU s in 3 s",
    }
}

/// One run, for who watches.
pub fn one(row: &Row, m: &Measured) -> String {
    match row.unit {
        Unit::Bytes => format!("{:.0} MB/s, cpu {:.2} s/GB", speed(row, m), cpu(row, m)),
        Unit::Ops => {
            let client = m.client_cpu / m.ops as f64 * 1e6;
            format!("{:.0} op/s, cpu {:.1} us/op, the client's {client:.1}", speed(row, m), cpu(row, m))
        }
        Unit::Memory => format!("{:.0} B each", speed(row, m)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::rows;

    fn sample(who: Who, seconds: f64, cpu: f64) -> Sample {
        let measured = Measured {
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
            pss_kib: 1024,
        };
        Sample { row: "read 1 GiB 1 client q1", who, round: 1, measured }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { median: 2.5, least: 1.0, most: 4.0 });
    }

    #[test]
    fn a_row_is_met_by_speed_and_cpu_together() {
        let groups = rows::groups(&["read 1 GiB 1 client q1".to_owned()]);
        let peer = sample(Who::Peer, 1.0, 0.5);
        for (seconds, cpu, met) in [(1.0, 0.35, "yes"), (1.0, 0.36, "NO"), (1.1, 0.1, "NO")] {
            let samples = [sample(Who::Ours, seconds, cpu), sample(peer.who, 1.0, 0.5)];
            let line = table(&groups, &samples).lines().nth(2).unwrap().to_owned();
            assert!(line.ends_with(&format!("| {met} |")), "{line}");
        }
    }
}
