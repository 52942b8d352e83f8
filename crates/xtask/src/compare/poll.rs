//! `cargo xtask compare poll`: our server with `poll = "auto"` beside the same with `poll = "off"`, in alternating runs. The
//! clients are not bound to a processor, as a site's are not.

use std::path::Path;

use anyhow::{Result, ensure};

use super::rows::{Bar, ComparisonRow, RowUnit};
use super::{ComparedProtocol, ComparisonPlace, Contestant, MeasuredServer, folder, median};
use crate::loader::{self, LoadResult};
use crate::server;

/// The settings that are compared.
const SETTINGS: [&str; 2] = ["off", "auto"];

const fn row(name: &'static str, file: &'static str, args: &'static str) -> ComparisonRow {
    ComparisonRow { name, unit: RowUnit::Ops, file, args, peers: &[], bar: None::<Bar> }
}

/// Small operations, where a loop sleeps for each, and streams, where it does not.
const ROWS: &[ComparisonRow] = &[
    row("read 1 KiB q1", "one", "small --block 1024 --size 104857600 --seconds 1.5"),
    row("write 1 KiB q1", "one", "write --block 1024 --size 104857600 --seconds 1.5"),
    row("random read 4 KiB q1", "one", "random --block 4096 --size 1073741824 --seconds 1.5"),
    row("random read 4 KiB q32", "one", "random --block 4096 --size 1073741824 --depth 32 --seconds 1.5"),
    row("read 1 KiB 2 clients", "many", "small --block 1024 --size 104857600 --clients 2 --seconds 1.5"),
    row("read 1 KiB 5 clients", "many", "small --block 1024 --size 104857600 --clients 5 --seconds 1.5"),
    row(
        "read 1 KiB, 20 us of thought",
        "one",
        "small --block 1024 --size 104857600 --think 20 --seconds 1.5",
    ),
    row(
        "read 1 KiB, 50 us of thought",
        "one",
        "small --block 1024 --size 104857600 --think 50 --seconds 1.5",
    ),
    row(
        "read 1 KiB, 5 ms of thought",
        "one",
        "small --block 1024 --size 104857600 --think 5000 --seconds 1.5",
    ),
    row("read 1 MiB q1", "one", "read --size 1073741824 --seconds 1.5"),
    row("read 1 MiB q4", "one", "read --size 1073741824 --depth 4 --seconds 1.5"),
    row("write 1 MiB q1", "one", "write --size 1073741824 --seconds 1.5"),
    row("write 1 MiB q4", "one", "write --size 1073741824 --depth 4 --seconds 1.5"),
];

/// Measures the rows whose names contain one of `wanted`, all if there are none, over NFS, AFP and, with libsmb2, SMB.
pub fn run(rounds: usize, wanted: &[String], libsmb2: Option<&Path>) -> Result<()> {
    let is_wanted =
        |row: &&ComparisonRow| wanted.is_empty() || wanted.iter().any(|part| row.name.contains(part));
    let rows: Vec<&ComparisonRow> = ROWS.iter().filter(is_wanted).collect();
    ensure!(!rows.is_empty(), "no row has such a name");
    println!("| row | poll off | auto | times | server's CPU for each, off | auto | times |");
    println!("|---|---|---|---|---|---|---|");
    for protocol in [ComparedProtocol::Nfs, ComparedProtocol::Smb, ComparedProtocol::Afp] {
        let Some(place) = protocol.own_place(libsmb2)? else {
            println!("| {} | no libsmb2 | | | | | |", protocol.title());
            continue;
        };
        folder::fill(&place.folder, rows.iter().copied())?;
        let start = |setting: &str| {
            let apart = format!("-poll-{setting}");
            server::with_options(&["--poll", setting], || {
                protocol.start(&place, MeasuredServer::Ours, &apart)
            })
        };
        let servers = [start(SETTINGS[0])?, start(SETTINGS[1])?];
        for row in &rows {
            println!("{}", line(protocol, row, measured(&place, &servers, row, rounds)?));
        }
    }
    Ok(())
}

/// The speed, and the processor seconds of the server for each operation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PollFigure {
    speed: f64,
    cpu: f64,
}

/// The medians of both servers.
fn measured(
    place: &ComparisonPlace,
    servers: &[Contestant; 2],
    row: &ComparisonRow,
    rounds: usize,
) -> Result<[PollFigure; 2]> {
    folder::warm(&place.folder, row.file)?;
    let mut figures: [Vec<PollFigure>; 2] = Default::default();
    // Round 0 warms up. The servers take turns, so that a slow minute of the machine meets both of them.
    for round in 0..=rounds {
        for at in [round % 2, (round + 1) % 2] {
            let mut args = row.arguments(row.file, false);
            args.extend(["--pin", "0"].map(str::to_owned));
            args.extend_from_slice(&servers[at].reach);
            let LoadResult { ops, seconds, cpu, .. } =
                loader::load(&place.load, &args, servers[at].running.pid())?;
            if round > 0 {
                figures[at].push(PollFigure { speed: ops as f64 / seconds, cpu: cpu / ops.max(1) as f64 });
            }
        }
    }
    let of = |of: Vec<PollFigure>| PollFigure {
        speed: median(of.iter().map(|one| one.speed)),
        cpu: median(of.iter().map(|one| one.cpu)),
    };
    Ok(figures.map(of))
}

fn line(protocol: ComparedProtocol, row: &ComparisonRow, [off, auto]: [PollFigure; 2]) -> String {
    let ratio = |one: f64, other: f64| format!("{:.2}", one / other.max(f64::MIN_POSITIVE));
    let speeds = format!("{:.0}/s | {:.0}/s | {}", off.speed, auto.speed, ratio(auto.speed, off.speed));
    let cpu = format!("{:.1} us | {:.1} us | {}", off.cpu * 1e6, auto.cpu * 1e6, ratio(auto.cpu, off.cpu));
    format!("| {} {} | {speeds} | {cpu} |", protocol.title(), row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_speed_and_cpu_with_and_without_polling() {
        let figure = |speed, cpu| PollFigure { speed, cpu };
        assert_eq!(
            line(ComparedProtocol::Nfs, &ROWS[0], [figure(20_000.0, 20e-6), figure(50_000.0, 16e-6)]),
            "| NFS read 1 KiB q1 | 20000/s | 50000/s | 2.50 | 20.0 us | 16.0 us | 0.80 |"
        );
    }

    #[test]
    fn the_median_of_rounds_is_their_middle() {
        let figures = [3.0, 1.0, 9.0].map(|speed| PollFigure { speed, cpu: 0.0 });
        assert_eq!(median(figures.iter().map(|one| one.speed)), 3.0);
    }
}
