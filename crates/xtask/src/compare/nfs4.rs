//! `cargo xtask compare nfs --version 4.1 | 4.2`: our server beside Ganesha, and beside version 3 of our server. libnfs has no
//! sessions, so the client is the one of `fourfold bench`. It takes no delegations: every operation reaches the server.

use anyhow::{Result, ensure};

use super::{ComparisonPlace, Contestant, MeasuredServer, loads, nfs};
use crate::server;

/// A version of NFS with sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SessionVersion {
    #[value(name = "4.1")]
    One,
    #[value(name = "4.2")]
    Two,
}

impl SessionVersion {
    /// As a word of a URL.
    fn word(self) -> &'static str {
        match self {
            Self::One => "4.1",
            Self::Two => "4.2",
        }
    }
}

/// A workload of `fourfold bench`.
struct BenchRow {
    name: &'static str,
    words: &'static str,
    /// Operations and not bytes are counted.
    counts: bool,
}

const ROWS: &[BenchRow] = &[
    BenchRow { name: "read a stream", words: "--workload seq-read --scale 2", counts: false },
    BenchRow { name: "write a stream", words: "--workload seq-write --scale 0.5", counts: false },
    BenchRow { name: "read 1 KiB q1", words: "--workload small-read-1K --time 2", counts: true },
    BenchRow { name: "create, stat, delete", words: "--workload create-stat-delete --time 2", counts: true },
    BenchRow { name: "list 10,000 with attributes", words: "--workload enumerate --time 2", counts: true },
    BenchRow {
        name: "random read 4 KiB q32",
        words: "--workload random-read-4K --depth 32 --time 2",
        counts: true,
    },
    BenchRow { name: "4 to 64 KiB at random", words: "--workload block-mix --time 2", counts: true },
];

/// The best speed of a server in a row, and the processor seconds of the server for each operation.
#[derive(Clone, Copy, Default)]
struct Figure {
    speed: f64,
    cpu: Option<f64>,
}

impl Figure {
    /// The better one of each.
    fn or(self, other: Self) -> Self {
        let least = self.cpu.into_iter().chain(other.cpu).reduce(f64::min);
        Self { speed: self.speed.max(other.speed), cpu: least }
    }
}

/// Measures the rows whose names contain one of `wanted`, all if there are none, and prints a table.
pub fn run(place: &ComparisonPlace, version: SessionVersion, rounds: usize, wanted: &[String]) -> Result<()> {
    let servers = [
        nfs::start(&place.folder, MeasuredServer::Ours, "-4")?,
        nfs::start(&place.folder, MeasuredServer::Peer("ganesha"), "-4")?,
    ];
    let is_wanted = |row: &&BenchRow| wanted.is_empty() || wanted.iter().any(|part| row.name.contains(part));
    let rows: Vec<&BenchRow> = ROWS.iter().filter(is_wanted).collect();
    ensure!(!rows.is_empty(), "no row has such a name");
    let four = version.word();
    println!(
        "| row | {four} ours | {four} Ganesha | times | CPU per operation, of Ganesha's | of our version 3 |"
    );
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let mut best = [Figure::default(); 3];
        // Round 0 warms up. The servers take turns, so that a slow minute of the machine meets all of them.
        for round in 0..=rounds {
            for (at, (server, version)) in
                [(&servers[0], four), (&servers[1], four), (&servers[0], "3")].into_iter().enumerate()
            {
                let figure = measured(server, version, row)?;
                if round > 0 {
                    best[at] = best[at].or(figure);
                }
            }
        }
        println!("{}", line(row, best));
    }
    Ok(())
}

fn measured(server: &Contestant, version: &str, row: &BenchRow) -> Result<Figure> {
    let (port, mount) = (server.option("--nfs-port")?, server.option("--mount-port")?);
    let (export, uid) = (server.option("--export")?, server::UID_TEXT);
    let url = format!("nfs://127.0.0.1:{port}{export}?vers={version}&mountport={mount}&uid={uid}&gid={uid}");
    let (runs, _) = loads::runs(&url, "", row.words)?;
    let mut best = Figure::default();
    for run in runs {
        let count = loads::number(&run, if row.counts { "operations" } else { "bytes" })?;
        let cpu = run["server_cpu"].as_f64().map(|seconds| seconds / count.max(1.0));
        best = best.or(Figure { speed: count / loads::number(&run, "seconds")?, cpu });
    }
    Ok(best)
}

fn line(row: &BenchRow, [ours, peer, three]: [Figure; 3]) -> String {
    let shown = |speed: f64| match row.counts {
        true => format!("{speed:.0}/s"),
        false => format!("{:.0} MB/s", speed / 1e6),
    };
    let ratio = |one: f64, other: f64| format!("{:.2}", one / other.max(f64::MIN_POSITIVE));
    let cpu = ours.cpu.zip(peer.cpu).map_or_else(|| "not known".to_owned(), |(one, other)| ratio(one, other));
    let speeds = format!("{} | {}", shown(ours.speed), shown(peer.speed));
    let (times, of_three) = (ratio(ours.speed, peer.speed), ratio(ours.speed, three.speed));
    format!("| {} | {speeds} | {times} | {cpu} | {of_three} |", row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_ratios_to_the_peer_and_to_version_3() {
        let figure = |speed, cpu| Figure { speed, cpu };
        let figures = [figure(300e6, Some(0.5)), figure(200e6, Some(1.0)), figure(400e6, None)];
        assert_eq!(line(&ROWS[0], figures), "| read a stream | 300 MB/s | 200 MB/s | 1.50 | 0.50 | 0.75 |");
        assert!(line(&ROWS[2], [Figure::default(); 3]).contains("| not known |"));
        let better = figure(1.0, Some(2.0)).or(figure(3.0, Some(4.0)));
        assert_eq!((better.speed, better.cpu), (3.0, Some(2.0)));
    }
}
