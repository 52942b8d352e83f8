//! The cluster that the server is a member of: its certificates, and etcd.

use std::net::IpAddr;

use admin::Settings;
use admin::settings::EtcdSettings;
use cluster::membership;

use super::DoctorFinding;
use crate::gateway::certificates;

const ABOUT: &str = "cluster";

/// Loads the certificates and asks etcd, if the settings name a cluster.
pub(super) fn look(settings: &Settings) -> Option<DoctorFinding> {
    let cluster = settings.server.cluster.as_ref()?;
    if let Err(error) = certificates::try_load(cluster) {
        let mend = "docs/cluster.md describes the certificates of a cluster";
        return Some(DoctorFinding::problem(ABOUT, format!("{error:#}"), mend));
    }
    let asked = certificates::endpoints(&cluster.etcd).and_then(|endpoints| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(membership::overview(endpoints, &cluster.name))?)
    });
    Some(match asked {
        Err(error) => {
            let mend =
                "without etcd the server does not start; look at `cluster`, at etcd, and at the network";
            DoctorFinding::problem(ABOUT, format!("{error:#}"), mend)
        }
        Ok(overview) => answered(&cluster.etcd, &overview.alive),
    })
}

fn answered(etcd: &EtcdSettings, alive: &[membership::Member]) -> DoctorFinding {
    let names: Vec<&str> = alive.iter().map(|member| member.name.as_str()).collect();
    let members = match names.len() {
        0 => "no server is a member now".to_owned(),
        _ => format!("members are {}", names.join(", ")),
    };
    if etcd.tls.is_none() && !etcd.members.iter().all(|member| is_loopback(member)) {
        let found = format!("etcd answers in clear, and it has the secret of NFS file handles; {members}");
        return DoctorFinding::warning(
            ABOUT,
            found,
            "`etcds://` in `cluster`, or a network that clients cannot reach",
        );
    }
    DoctorFinding::fine(ABOUT, format!("etcd answers; {members}"))
}

/// Whether `host:port` is this machine.
fn is_loopback(member: &str) -> bool {
    let host = member.rsplit_once(':').map_or(member, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Level;

    #[test]
    fn connections_in_clear_are_told_of_unless_they_stay_on_the_machine() {
        let of = |member: &str| {
            let etcd = EtcdSettings { members: vec![member.into()], tls: None, credentials: None };
            answered(&etcd, &[]).level
        };
        assert_eq!(of("10.0.0.1:2379"), Level::Warning);
        assert_eq!(of("etcd.example.com:2379"), Level::Warning);
        assert_eq!(["127.0.0.1:1", "[::1]:1", "localhost:1"].map(of), [Level::Fine; 3]);
    }
}
