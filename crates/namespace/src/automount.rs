//! Maps for the automounter of Linux, autofs(5), from the same table: for clients whose protocol has no referrals (NFSv3), and
//! for those that should mount targets by themselves.

use std::fmt::Write as _;
use std::iter;

use crate::table::{Link, Table};
use crate::target::{Protocol, Target};

/// How a map is written.
#[derive(Debug, Clone)]
pub struct Automount<'a> {
    /// The folder below which links are mounted.
    pub at: &'a str,
    /// The preferred protocol: NFS or SMB.
    pub prefers: Protocol,
    /// The file with the account for mounts by SMB, on the clients.
    pub credentials: Option<&'a str>,
}

/// A direct map: a line for each link with targets of NFS or SMB.
#[must_use]
pub fn automount(table: &Table, how: &Automount<'_>) -> String {
    let mut map = String::from("# A direct map of autofs(5). In /etc/auto.master: /- /etc/auto.fourfold\n");
    for link in &table.links {
        let key = quoted(&format!("{}/{}", how.at.trim_end_matches('/'), link.path));
        let others = Protocol::FOR_LINUX.into_iter().filter(|protocol| *protocol != how.prefers);
        let entry = iter::once(how.prefers).chain(others).find_map(|protocol| entry(link, protocol, how));
        let _ = match entry {
            Some(entry) => writeln!(map, "{key} {entry}"),
            None => writeln!(map, "# {}: it has targets of AFP only", link.path),
        };
    }
    map
}

fn entry(link: &Link, protocol: Protocol, how: &Automount<'_>) -> Option<String> {
    let targets: Vec<&Target> = link.targets.iter().filter(|target| target.protocol == protocol).collect();
    let first = targets.first()?;
    let port = first.port.map(|port| format!(",port={port}")).unwrap_or_default();
    let kind = protocol.linux_type()?;
    if protocol.has_unc() {
        let account = how.credentials.map(|file| format!(",credentials={file}")).unwrap_or_default();
        // The kernel mounts one server; the first one of the list.
        return Some(format!(
            "-fstype={kind}{port}{account} {}",
            quoted(&format!("://{}{}", host(first), first.path()))
        ));
    }
    // autofs(5), "Replicated Server": it takes the first that answers. The options are the same for all.
    let same_port = targets.iter().filter(|target| target.port == first.port);
    let places = same_port.map(|target| quoted(&format!("{}:{}", host(target), target.path())));
    Some(format!("-fstype={kind}{port} {}", places.collect::<Vec<_>>().join(" ")))
}

fn host(target: &Target) -> String {
    if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() }
}

/// autofs(5), "Map Entry Format": names with spaces stand in quotes; `&` and `#` have meanings of their own.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('&', "\\&").replace('"', "\\\"");
    match escaped.contains([' ', '\t', '#']) {
        true => format!("\"{escaped}\""),
        false => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{DEFAULT_TTL, TargetOrder};

    fn link(path: &str, urls: &[&str]) -> Link {
        Link {
            path: path.into(),
            targets: urls.iter().map(|url| Target::of_url(url).unwrap()).collect(),
            comment: String::new(),
            ttl: DEFAULT_TTL,
            order: TargetOrder::Listed,
            failback: true,
            checked: true,
            credentials: None,
        }
    }

    // autofs(5): "key [-options] location", and for replicated servers "host:/path host2:/path2".
    #[test]
    fn a_line_for_each_link() {
        let links = vec![
            link("studio/archive", &["smb://a/archive", "nfs://a/archive", "nfs://b/export/archive"]),
            link("studio/old films", &["smb://a/old%20films"]),
            link("studio/mac", &["afp://a/Mac"]),
            link("studio/six", &["nfs://[fd00::1]:12049/six"]),
        ];
        let table = Table { links, sites: Vec::new() };
        let how = Automount { at: "/net/", prefers: Protocol::Nfs, credentials: Some("/etc/fourfold.cred") };
        let map = automount(&table, &how);
        let lines: Vec<&str> = map.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "/net/studio/archive -fstype=nfs a:/archive b:/export/archive",
                "\"/net/studio/old films\" -fstype=cifs,credentials=/etc/fourfold.cred \"://a/old films\"",
                "# studio/mac: it has targets of AFP only",
                "/net/studio/six -fstype=nfs,port=12049 [fd00::1]:/six",
            ]
        );
        let smb = automount(&table, &Automount { prefers: Protocol::Smb, credentials: None, ..how });
        assert!(smb.contains("/net/studio/archive -fstype=cifs ://a/archive\n"), "{smb}");
    }
}
