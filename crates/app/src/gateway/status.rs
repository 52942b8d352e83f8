//! `fourfold cluster status`: the servers, and which of them has which virtual address.

use std::net::IpAddr;
use std::process::ExitCode;

use admin::Settings;
use cluster::membership::{Member, Overview, overview};
use serde::Serialize;

use super::certificates::endpoints;
use super::{of, runtime};
use crate::cli::ClusterStatus;
use crate::terminal::out;

/// A line. Scripts read it as JSON: fields may be added, never renamed or removed.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    name: String,
    number: u16,
    address: String,
    state: &'static str,
    /// The virtual addresses that it has.
    virtual_addresses: Vec<IpAddr>,
}

pub(super) fn run(asked: &ClusterStatus, settings: &Settings) -> anyhow::Result<ExitCode> {
    let cluster = of(settings)?;
    let overview = runtime()?.block_on(overview(endpoints(&cluster.etcd)?, &cluster.name))?;
    let rows = rows(&overview);
    if asked.json {
        out::json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let heading = ["SERVER", "NUMBER", "ADDRESS", "STATE", "VIRTUAL ADDRESSES"].map(str::to_owned);
    out::print(out::table(std::iter::once(heading).chain(rows.into_iter().map(line))))?;
    let wanted = cluster.addresses.iter().map(|address| address.ip);
    let free: Vec<IpAddr> =
        wanted.filter(|ip| overview.addresses.iter().all(|(held, _)| held != ip)).collect();
    if !free.is_empty() {
        out::print(format!("\nAt no server: {}\n", listed(&free)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: Row) -> [String; 5] {
    let addresses =
        if row.virtual_addresses.is_empty() { "-".to_owned() } else { listed(&row.virtual_addresses) };
    [row.name, row.number.to_string(), row.address, row.state.to_owned(), addresses]
}

fn listed(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The servers that are members, and those that will be or have been.
fn rows(overview: &Overview) -> Vec<Row> {
    let Overview { members, alive, addresses } = overview;
    let of = |member: &Member, state| {
        let own = addresses.iter().filter(|(_, holder)| *holder == member.number);
        let mut virtual_addresses: Vec<IpAddr> = own.map(|(ip, _)| *ip).collect();
        virtual_addresses.sort_unstable();
        let Member { name, number, address, .. } = member.clone();
        Row { name, number, address, state, virtual_addresses }
    };
    let known = members.members.iter().map(|member| match alive.contains(member) {
        true => of(member, "member"),
        false => of(member, "lost"),
    });
    let joining = alive.iter().filter(|member| !members.members.contains(member));
    known.chain(joining.map(|member| of(member, "joining"))).collect()
}

#[cfg(test)]
mod tests {
    use cluster::membership::Members;

    use super::*;

    #[test]
    fn each_server_is_shown_with_its_state_and_its_addresses() {
        let member = |number: u16| Member {
            number,
            name: format!("gate{number}"),
            address: format!("10.0.0.{number}:7420"),
            ..Member::default()
        };
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let overview = Overview {
            members: Members { epoch: 3, members: vec![member(1), member(2)] },
            alive: vec![member(2), member(3)],
            addresses: vec![(ip("2001:db8::50"), 2), (ip("10.0.0.50"), 2)],
        };
        let shown: Vec<String> = rows(&overview).into_iter().map(|row| line(row).join(" ")).collect();
        let expected = [
            "gate1 1 10.0.0.1:7420 lost -",
            "gate2 2 10.0.0.2:7420 member 10.0.0.50, 2001:db8::50",
            "gate3 3 10.0.0.3:7420 joining -",
        ];
        assert_eq!(shown, expected);
        let json = serde_json::to_value(&rows(&overview)[1]).unwrap();
        assert_eq!(json["virtual_addresses"], serde_json::json!(["10.0.0.50", "2001:db8::50"]));
    }
}
