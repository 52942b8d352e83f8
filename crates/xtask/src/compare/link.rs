//! `cargo xtask compare smb --link 1G | 10G`: streams over a network of that speed.
//!
//! The load program runs in a network namespace of its own. A veth pair with a token bucket in each
//! direction connects it with the servers.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};

use super::judge::TableLine;
use super::rows::{Bar, ComparisonRow, RowGroup, RowUnit};
use super::{ComparisonPlace, isolate};
use crate::process;

/// The servers' address on the link, and the load program's.
const HOST: &str = "192.0.2.1";
const LOAD: &str = "192.0.2.2";
const NAMESPACE: &str = "load";
/// A packet of 1,514 bytes carries 1,448 bytes: 95.6 % of the rate is data. The headers of SMB, and
/// the start and the end of a run, take the rest.
const WIRE: f64 = 0.93;
/// The server CPU, at most this part of the peer's.
const CPU: f64 = 0.5;
/// smbd with its least CPU for streams.
const PEERS: &[&str] = &["sendfile"];

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum LinkRate {
    #[value(name = "1G")]
    One,
    #[value(name = "10G")]
    Ten,
}

impl LinkRate {
    fn gbit(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Ten => 10,
        }
    }
}

/// Moves the load program behind a link.
pub fn set_up(rate: LinkRate, place: &mut ComparisonPlace) -> Result<()> {
    anyhow::ensure!(isolate::is_isolated(), "as root only, and where namespaces may be made");
    connect(rate).context("it needs iproute2, and a kernel with veth and tbf")?;
    let script = process::root().join("target/compare/load-behind-link");
    let text = format!("#!/bin/sh\nexec ip netns exec {NAMESPACE} {} \"$@\"\n", place.load.display());
    std::fs::write(&script, text)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    place.load = script;
    place.host = Some(HOST);
    Ok(())
}

fn connect(rate: LinkRate) -> Result<()> {
    let ip = |text: &str| process::run("ip", &text.split(' ').collect::<Vec<_>>());
    ip(&format!("netns add {NAMESPACE}"))?;
    ip("link add name near type veth peer name far")?;
    ip(&format!("link set dev far netns {NAMESPACE}"))?;
    ip(&format!("addr add {HOST}/24 dev near"))?;
    ip("link set dev near up")?;
    let inside = format!("netns exec {NAMESPACE}");
    ip(&format!("{inside} ip addr add {LOAD}/24 dev far"))?;
    ip(&format!("{inside} ip link set dev far up"))?;
    // The bucket must hold what arrives between two ticks of the kernel.
    let gbit = rate.gbit();
    let bucket = format!("root tbf rate {gbit}gbit burst {gbit}mb latency 20ms");
    let near = format!("qdisc add dev near {bucket}");
    process::run("tc", &near.split(' ').collect::<Vec<_>>())?;
    ip(&format!("{inside} tc qdisc add dev far {bucket}"))
}

const fn row(name: &'static str, file: &'static str, args: &'static str) -> ComparisonRow {
    let bar = Bar::Times { speed: 1.0, cpu: Some(CPU) };
    ComparisonRow { name, unit: RowUnit::Bytes, file, args, peers: PEERS, bar: Some(bar) }
}

const ROWS: &[ComparisonRow] = &[
    row("read 1 client q4", "one", "read --size 1073741824 --depth 4 --seconds 3"),
    row("read 10 clients q4", "many", "read --clients 10 --size 268435456 --depth 4 --seconds 3"),
    row("write 1 client q4", "one", "write --size 1073741824 --depth 4 --seconds 3"),
    row("write 10 clients q4", "many", "write --clients 10 --size 268435456 --depth 4 --seconds 3"),
];

pub fn groups() -> Vec<RowGroup> {
    RowGroup::singles(ROWS).collect()
}

/// The share of the rate that is data, and the server CPU.
pub fn table(rate: LinkRate, lines: &[TableLine]) -> String {
    let gbit = rate.gbit();
    let mut text = format!(
        "| row at {gbit} Gbit/s | Fourfold | {0} | CPU | bar | |\n|---|---|---|---|---|---|\n",
        PEERS[0]
    );
    let share = |speed: f64| speed * 8.0 / (f64::from(gbit) * 1000.0);
    for line in lines {
        let (Some(ours), Some(peer), Some(cpu)) = (&line.ours, &line.peer, line.cpu_ratio) else { continue };
        let side = |speed: f64, cpu: f64| format!("{:.1} %, {cpu:.2} s/GB", share(speed) * 100.0);
        let is_ok = share(ours.speed) >= WIRE && cpu <= CPU;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {cpu:.2} × | ≥ {:.0} %, CPU ≤ {CPU} × | {} |",
            line.row,
            side(ours.speed, ours.cpu),
            side(peer.speed, peer.cpu),
            WIRE * 100.0,
            if is_ok { "ok" } else { "falls short" }
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::ComparedProtocol;
    use crate::compare::judge;

    #[test]
    fn wire_speed_and_half_the_cpu_are_needed() {
        let verdict = |speed: f64, cpu: f64| {
            let side = |speed: f64, cpu: f64| {
                format!(
                    r#"{{"speed":{{"median":{speed},"min":1,"max":1}},"cpu":{{"median":{cpu},"min":1,"max":1}}}}"#
                )
            };
            let report = format!(
                r#"{{"rows":[{{"row":"read 1 client q4","unit":"MB/s; CPU s/GB","ours":{},"peers":{{"sendfile":{}}},"best":"sendfile"}}]}}"#,
                side(speed, cpu),
                side(118.0, 0.4)
            );
            let lines = judge::lines(ComparedProtocol::Smb, &groups(), &report).unwrap();
            table(LinkRate::One, &lines).lines().nth(2).unwrap().to_owned()
        };
        // 1 Gbit/s are 125 MB/s.
        assert_eq!(
            verdict(118.0, 0.2),
            "| read 1 client q4 | 94.4 %, 0.20 s/GB | 94.4 %, 0.40 s/GB | 0.50 × | ≥ 93 %, CPU ≤ 0.5 × | ok |"
        );
        assert!(verdict(118.0, 0.21).ends_with("| falls short |"));
        assert!(verdict(116.0, 0.2).ends_with("| falls short |"));
    }
}
