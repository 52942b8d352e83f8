//! The bars of all rows, in one table, and whether each row reaches its bar.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::rows::{Bar, ComparisonRow, RowGroup, RowUnit};
use super::{ComparedProtocol, report};
use crate::loader::LoadResult;

/// The bar for the geometric mean of all rows.
pub const MEAN: f64 = 2.6;
const FAIRNESS: f64 = 0.85;

/// The bars relative to the best configuration of the peer. The first line counts whose protocol is
/// the row's and whose words are all in the row's name.
#[rustfmt::skip]
const BARS: &[(Option<ComparedProtocol>, &[&str], Times)] = &[
    (None,                  &["50 "],                     times(1.2, 0.8).fair()),
    (Some(ComparedProtocol::Smb),   &["write 1 GiB 1 client q1"], times(1.3, 1.0)),
    (Some(ComparedProtocol::Afp),   &["write 1 GiB 1 client q1"], times(1.3, 1.0)),
    (None,                  &["write 1 GiB 1 "],          times(1.1, 1.0)),
    (None,                  &["write ", " clients "],     times(1.1, 0.9)),
    (None,                  &["new file"],                times(1.1, 1.0)),
    (None,                  &["create+write"],            times(2.5, 0.8)),
    (None,                  &["delete"],                  times(2.5, 0.8)),
    (None,                  &["stat"],                    times(2.5, 0.8)),
    (Some(ComparedProtocol::Nfs),   &["READDIRPLUS"],             times(4.0, 0.8)),
    (None,                  &["read 1 KiB q1"],           times(1.7, 0.8)),
    (None,                  &["1 KiB q1"],                times(1.7, 1.0)),
    (None,                  &["4 KiB q1"],                times(1.7, 1.0)),
    (None,                  &[" q1"],                     times(1.1, 1.0)),
    (None,                  &[],                          times(1.2, 0.8)),
];

/// Rows without a bar here, because the disk decides them.
const NOT_JUDGED: &str = "COMMIT";

/// A bar relative to the peer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    /// Speed at least this many times the peer's.
    speed: f64,
    /// Server CPU at most this part of the peer's.
    cpu: f64,
    /// The slowest client at least this part of the mean.
    fairness: Option<f64>,
}

const fn times(speed: f64, cpu: f64) -> Times {
    Times { speed, cpu, fairness: None }
}

impl Times {
    const fn fair(self) -> Self {
        Self { fairness: Some(FAIRNESS), ..self }
    }

    fn text(self) -> String {
        let fairness = self.fairness.map_or(String::new(), |least| format!(", fairness ≥ {least}"));
        format!("≥ {} ×, CPU ≤ {} ×{fairness}", self.speed, self.cpu)
    }
}

/// The bar relative to the peer. `None` if the row has none.
fn relative_bar(protocol: ComparedProtocol, row: &ComparisonRow) -> Option<Times> {
    let is_rate = matches!(row.unit, RowUnit::Bytes | RowUnit::Ops);
    if !is_rate || row.bar.is_none() || row.name.contains(NOT_JUDGED) {
        return None;
    }
    let fits = |words: &[&str]| words.iter().all(|word| row.name.contains(word));
    let found =
        BARS.iter().find(|(only, words, _)| only.is_none_or(|only| only == protocol) && fits(words))?;
    Some(found.2)
}

/// The medians of a row on one server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ServerMedians {
    /// `ours`, or the peer's configuration.
    pub who: String,
    pub speed: f64,
    /// The smallest and the largest value of a run.
    #[serde(default)]
    pub least: f64,
    pub most: f64,
    pub cpu: f64,
    pub fairness: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    Ok,
    FallsShort,
    /// No bar, or no peer.
    NotJudged,
}

/// One line of the table.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TableLine {
    pub protocol: String,
    pub row: String,
    pub unit: String,
    pub ours: Option<ServerMedians>,
    /// The peer in its best configuration.
    pub peer: Option<ServerMedians>,
    /// Our speed as a multiple of the peer's: the median of the rounds.
    pub ratio: Option<f64>,
    pub cpu_ratio: Option<f64>,
    /// As text.
    pub bar: Option<String>,
    pub verdict: RowVerdict,
    /// What falls short: speed, CPU, fairness.
    pub short_of: Vec<String>,
    /// The least part of the bar that is reached: 1 or more is ok.
    pub reached: Option<f64>,
}

/// A protocol's report, as `compare PROTOCOL --json` writes it.
#[derive(Deserialize)]
struct ProtocolReport {
    rows: Vec<ReportRow>,
    #[serde(default)]
    runs: Vec<ReportRun>,
}

/// One run of one row: [`super::Sample`], as it was stored.
#[derive(Deserialize)]
struct ReportRun {
    row: String,
    who: String,
    round: usize,
    measured: LoadResult,
}

#[derive(Deserialize)]
struct ReportRow {
    row: String,
    unit: String,
    ours: Option<ReportSide>,
    peers: BTreeMap<String, ReportSide>,
    best: Option<String>,
}

#[derive(Deserialize)]
struct ReportSide {
    speed: ReportSpread,
    cpu: ReportSpread,
    #[serde(default)]
    fairness: f64,
}

#[derive(Deserialize)]
struct ReportSpread {
    median: f64,
    min: f64,
    max: f64,
}

impl ReportSide {
    fn side(&self, who: &str) -> ServerMedians {
        ServerMedians {
            who: who.to_owned(),
            speed: self.speed.median,
            least: self.speed.min,
            most: self.speed.max,
            cpu: self.cpu.median,
            fairness: self.fairness,
        }
    }
}

/// The judged lines of a protocol's report.
pub fn lines(protocol: ComparedProtocol, groups: &[RowGroup], report: &str) -> Result<Vec<TableLine>> {
    let report: ProtocolReport = serde_json::from_str(report).context("the report of a protocol")?;
    let row = |name: &str| groups.iter().flat_map(|group| &group.rows).find(|row| row.name == name);
    Ok(report
        .rows
        .iter()
        .filter_map(|found| Some(line(protocol, row(&found.row)?, found, &report.runs)))
        .collect())
}

/// The median of our figure as a multiple of the peer's in the same round. What else the machine does changes from minute to
/// minute, and both servers of a round had the same minute. `None`: the report has no round of both.
fn of_rounds(
    row: &ComparisonRow,
    peer: &str,
    runs: &[ReportRun],
    figure: fn(&ComparisonRow, &LoadResult) -> f64,
) -> Option<f64> {
    let run = |who: &str, round| {
        runs.iter().find(|run| run.row == row.name && run.who == who && run.round == round)
    };
    let mut ratios: Vec<f64> = runs
        .iter()
        .filter(|ours| ours.row == row.name && ours.who == "ours")
        .filter_map(|ours| {
            let theirs = figure(row, &run(peer, ours.round)?.measured);
            (theirs > 0.0).then(|| figure(row, &ours.measured) / theirs)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    let upper = *ratios.get(middle)?;
    Some(if ratios.len() % 2 == 1 { upper } else { f64::midpoint(ratios[middle - 1], upper) })
}

fn line(protocol: ComparedProtocol, row: &ComparisonRow, found: &ReportRow, runs: &[ReportRun]) -> TableLine {
    let ours = found.ours.as_ref().map(|side| side.side("ours"));
    let peer = found.best.as_ref().and_then(|name| Some(found.peers.get(name)?.side(name)));
    let both = ours.as_ref().zip(peer.as_ref());
    let ratio = |of: fn(&ServerMedians) -> f64, figure| {
        let (ours, peer) = both.filter(|(_, peer)| of(peer) > 0.0)?;
        Some(of_rounds(row, &peer.who, runs, figure).unwrap_or(of(ours) / of(peer)))
    };
    let is_rate = matches!(row.unit, RowUnit::Bytes | RowUnit::Ops);
    let cpu_ratio = is_rate.then(|| ratio(|side| side.cpu, report::cpu)).flatten();
    let ratio = ratio(|side| side.speed, report::speed);
    let mut line = TableLine {
        protocol: protocol.title().to_owned(),
        row: row.name.to_owned(),
        unit: found.unit.clone(),
        ours,
        peer,
        ratio,
        cpu_ratio,
        bar: None,
        verdict: RowVerdict::NotJudged,
        short_of: Vec::new(),
        reached: None,
    };
    line.judge(relative_bar(protocol, row), row.bar.filter(|_| !is_rate));
    line
}

impl TableLine {
    fn judge(&mut self, relative: Option<Times>, absolute: Option<Bar>) {
        let mut parts: Vec<(&str, f64)> = Vec::new();
        if let Some(bar) = relative {
            self.bar = Some(bar.text());
            parts.extend(self.ratio.map(|ratio| ("speed", ratio / bar.speed)));
            parts.extend(self.cpu_ratio.map(|ratio| ("CPU", bar.cpu / ratio)));
            let fairness = bar.fairness.zip(self.ours.as_ref()).filter(|_| self.ratio.is_some());
            parts.extend(fairness.map(|(least, ours)| ("fairness", ours.fairness / least)));
        }
        if let (Some(bar), Some(ours)) = (absolute, &self.ours) {
            let (value, limit, text) = match bar {
                Bar::AtMost(_) if self.unit.starts_with("p99") => {
                    let Some(peer) = &self.peer else { return };
                    (ours.speed, peer.speed, "≤ 1 ×".to_owned())
                }
                Bar::AtMost(limit) => (ours.speed, limit, format!("≤ {:.0} KiB each", limit / 1024.0)),
                // What is lost counts: 6 % instead of 5 % reaches 83 % of the bar.
                Bar::Keeps(least) => (100.0 - ours.speed, 100.0 - least, format!("≥ {least:.0} %")),
                Bar::NoGap(limit) => (ours.most, limit, format!("no gap over {limit:.0} ms")),
                Bar::Times { .. } => return,
            };
            self.bar = Some(text);
            parts.push(("limit", limit / value.max(f64::MIN_POSITIVE)));
        }
        self.reached = parts.iter().map(|(_, part)| *part).min_by(f64::total_cmp);
        self.short_of =
            parts.iter().filter(|(_, part)| *part < 1.0).map(|(what, _)| (*what).into()).collect();
        self.verdict = match self.reached {
            None => RowVerdict::NotJudged,
            Some(_) if self.short_of.is_empty() => RowVerdict::Ok,
            Some(_) => RowVerdict::FallsShort,
        };
    }

    /// Whether the peer is faster, or uses less memory, or waits less.
    pub fn is_behind(&self) -> bool {
        let less_is_better = !self.is_rate() && !self.unit.starts_with('%');
        self.ratio.is_some_and(|ratio| if less_is_better { ratio > 1.0 } else { ratio < 1.0 })
    }

    fn is_rate(&self) -> bool {
        self.unit.starts_with("MB/s") || self.unit.starts_with("op/s")
    }

    /// The speed ratio, if it counts in the mean: memory and gaps do not.
    fn counts(&self) -> Option<f64> {
        self.ratio.filter(|_| self.is_rate() && self.bar.is_some())
    }
}

/// The geometric mean of the speed ratios of all judged rates, and their number.
pub fn mean<'a>(lines: impl IntoIterator<Item = &'a TableLine>) -> Option<(f64, usize)> {
    let logs: Vec<f64> = lines.into_iter().filter_map(TableLine::counts).map(f64::ln).collect();
    let count = logs.len();
    (count > 0).then(|| ((logs.iter().sum::<f64>() / count as f64).exp(), count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{nfs, smb};

    fn report(row: &str, unit: &str, ours: (f64, f64), peer: (f64, f64)) -> String {
        let side = |(speed, cpu): (f64, f64)| {
            format!(
                r#"{{"speed":{{"median":{speed},"min":0,"max":{speed}}},"cpu":{{"median":{cpu},"min":0,"max":0}},"fairness":0.8}}"#
            )
        };
        let (ours, peer) = (side(ours), side(peer));
        format!(
            r#"{{"rows":[{{"row":"{row}","unit":"{unit}","ours":{ours},"peers":{{"fast":{peer}}},"best":"fast","met":true}}],"runs":[]}}"#
        )
    }

    fn judged(protocol: ComparedProtocol, row: &str, ours: (f64, f64)) -> TableLine {
        let text = report(row, "MB/s; CPU s/GB", ours, (100.0, 1.0));
        lines(protocol, &protocol.groups(), &text).unwrap().remove(0)
    }

    #[test]
    fn every_row_needs_speed_and_cpu() {
        let row = "read 5 clients q4";
        let verdict = |ours| judged(ComparedProtocol::Smb, row, ours);
        assert_eq!(verdict((120.0, 0.8)).verdict, RowVerdict::Ok);
        assert_eq!(verdict((119.0, 0.8)).short_of, ["speed"]);
        assert_eq!(verdict((120.0, 0.81)).short_of, ["CPU"]);
        assert_eq!(verdict((60.0, 0.5)).reached, Some(0.5));
    }

    #[test]
    fn the_first_bar_whose_words_fit_counts() {
        let bar = |protocol, row: &str| judged(protocol, row, (1.0, 1.0)).bar.unwrap();
        assert_eq!(bar(ComparedProtocol::Afp, "read 1 GiB 1 client q1"), "≥ 1.1 ×, CPU ≤ 1 ×");
        assert_eq!(bar(ComparedProtocol::Afp, "write 1 GiB 1 client q1"), "≥ 1.3 ×, CPU ≤ 1 ×");
        assert_eq!(bar(ComparedProtocol::Iscsi, "write 1 GiB 1 session q4"), "≥ 1.1 ×, CPU ≤ 1 ×");
        assert_eq!(bar(ComparedProtocol::Smb, "write 5 clients q4"), "≥ 1.1 ×, CPU ≤ 0.9 ×");
        assert_eq!(bar(ComparedProtocol::Nfs, "create+write 4 KiB+close"), "≥ 2.5 ×, CPU ≤ 0.8 ×");
        assert_eq!(bar(ComparedProtocol::Nfs, "delete"), "≥ 2.5 ×, CPU ≤ 0.8 ×");
        assert_eq!(bar(ComparedProtocol::Nfs, "READDIRPLUS 10000 by 8 KiB"), "≥ 4 ×, CPU ≤ 0.8 ×");
        assert_eq!(bar(ComparedProtocol::Nfs, "read 1 KiB q1"), "≥ 1.7 ×, CPU ≤ 0.8 ×");
        assert_eq!(bar(ComparedProtocol::Smb, "random read 4 KiB q1"), "≥ 1.7 ×, CPU ≤ 1 ×");
        assert_eq!(bar(ComparedProtocol::Smb, "random read 4 KiB q32"), "≥ 1.2 ×, CPU ≤ 0.8 ×");
    }

    #[test]
    fn many_clients_must_be_served_evenly() {
        let row = "read 50 clients q4";
        let bar = "≥ 1.2 ×, CPU ≤ 0.8 ×, fairness ≥ 0.85";
        let line = judged(ComparedProtocol::Smb, row, (130.0, 0.5)); // the report's fairness is 0.8
        assert_eq!((line.bar.as_deref(), line.short_of.concat().as_str()), (Some(bar), "fairness"));
    }

    #[test]
    fn small_reads_beside_streams_wait_no_longer_than_the_peers() {
        let verdict = |protocol: ComparedProtocol, p99| {
            let row = "p99 of 4 KiB reads beside 10 streams";
            let text = report(row, "p99 in ms; CPU s per s", (p99, 1.0), (9.0, 1.0));
            lines(protocol, &protocol.groups(), &text).unwrap().remove(0)
        };
        for protocol in
            [ComparedProtocol::Nfs, ComparedProtocol::Smb, ComparedProtocol::Afp, ComparedProtocol::Iscsi]
        {
            assert_eq!(verdict(protocol, 9.0).verdict, RowVerdict::Ok);
            assert_eq!(verdict(protocol, 9.1).verdict, RowVerdict::FallsShort);
        }
        assert_eq!(verdict(ComparedProtocol::Afp, 2.1).bar.unwrap(), "≤ 1 ×");
    }

    #[test]
    fn idle_connections_may_cost_five_percent() {
        let verdict = |kept| {
            let text = report("200 busy beside 10,000 idle", "% kept; CPU s per s", (kept, 1.0), (9.0, 1.0));
            lines(ComparedProtocol::Nfs, &nfs::groups(), &text).unwrap().remove(0)
        };
        assert_eq!(verdict(95.0).verdict, RowVerdict::Ok);
        assert_eq!(verdict(101.0).verdict, RowVerdict::Ok);
        assert_eq!(verdict(94.9).verdict, RowVerdict::FallsShort);
        assert_eq!(verdict(95.0).bar.unwrap(), "≥ 95 %");
    }

    #[test]
    fn what_the_disk_decides_and_what_has_no_peer_is_not_judged() {
        assert_eq!(
            judged(ComparedProtocol::Nfs, "create+write 4 KiB+COMMIT", (1.0, 1.0)).verdict,
            RowVerdict::NotJudged
        );
        let alone =
            r#"{"rows":[{"row":"stat","unit":"op/s; CPU us/op","ours":null,"peers":{},"best":null}]}"#;
        let line = lines(ComparedProtocol::Smb, &smb::groups(), alone).unwrap().remove(0);
        assert_eq!((line.verdict, line.ratio), (RowVerdict::NotJudged, None));
    }

    #[test]
    fn memory_has_an_absolute_bar_and_is_not_in_the_mean() {
        let unit = "bytes per connection; CPU s in 3 s";
        let text = report("idle connection memory", unit, (16384.0, 0.1), (100.0, 0.1));
        let idle = lines(ComparedProtocol::Nfs, &nfs::groups(), &text).unwrap().remove(0);
        assert_eq!(idle.verdict, RowVerdict::Ok);
        let four = judged(ComparedProtocol::Nfs, "delete", (400.0, 0.1));
        let one = judged(ComparedProtocol::Nfs, "read 5 clients q4", (100.0, 0.1));
        let (mean, count) = mean(&[idle, four, one]).unwrap();
        assert!((mean - 2.0).abs() < 1e-9 && count == 2, "{mean} of {count}");
    }
}
