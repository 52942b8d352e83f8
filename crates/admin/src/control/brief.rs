//! A status on one screen: who uses the server, and what needs attention.

use std::collections::BTreeMap;
use std::fmt;

use super::status::{SessionStatus, Status};
use super::table::{access, clean, duration, table};
use crate::settings::units::format_size;

/// Rows of each table.
const MOST_ROWS: usize = 20;

/// What a status says in short.
#[derive(Debug, Clone, Copy)]
pub struct BriefStatus<'a>(&'a Status);

impl Status {
    /// The same on one screen, for people.
    #[must_use]
    pub fn brief(&self) -> BriefStatus<'_> {
        BriefStatus(self)
    }
}

impl fmt::Display for BriefStatus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0;
        writeln!(f, "fourfold {}, process {}, up {}", status.version, status.pid, duration(status.uptime_s))?;
        if let Some(console) = &status.console {
            writeln!(f, "console {}", clean(console))?;
        }
        status.domain(f)?;
        self.clients(f)?;
        self.attention(f)?;
        let rows = status.shares.iter().take(MOST_ROWS);
        let rows = rows
            .map(|share| [share.name.clone(), access(share).to_owned(), share.path.display().to_string()]);
        table(f, &title("Shares", status.shares.len()), ["name", "access", "folder"], rows)?;
        status.arriving(f)?;
        status.searches(f)?;
        status.reserved(f)?;
        self.ends(f)
    }
}

impl BriefStatus<'_> {
    /// Those who have moved most come first.
    fn clients(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sessions: Vec<&SessionStatus> = self.0.sessions.iter().collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.bytes_in.saturating_add(session.bytes_out)));
        let rows = sessions.iter().take(MOST_ROWS).map(|session| {
            [
                session.user.clone().unwrap_or_else(|| "-".into()),
                wire::ClientAddress(session.peer).to_string(),
                session.protocol.title().to_owned(),
                duration(session.since_s),
                format_size(session.bytes_in),
                format_size(session.bytes_out),
            ]
        });
        let headings = ["user", "client", "protocol", "since", "received", "sent"];
        table(f, &title("Clients", sessions.len()), headings, rows)
    }

    fn attention(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0;
        let alerts = status
            .alerts
            .iter()
            .map(|alert| [alert.severity.word().to_owned(), alert.about.clone(), alert.text.clone()]);
        if !status.alerts.is_empty() {
            table(f, "Needs attention", ["severity", "about", "what to do"], alerts)?;
        }
        if !status.not_served.is_empty() {
            let absent = status.not_served.iter();
            let absent =
                absent.map(|share| [share.name.clone(), share.path.display().to_string(), share.why.clone()]);
            table(f, "Not served", ["name", "folder", "why"], absent)?;
        }
        let links =
            status.links.iter().flat_map(|link| link.targets.iter().map(move |target| (link, target)));
        let wrong: Vec<[String; 3]> = links
            .filter_map(|(link, target)| {
                let why = link.problem.clone().or_else(|| target.error.clone())?;
                Some([link.path.clone(), target.url.clone(), why])
            })
            .collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => table(f, "Links that lead nowhere now", ["path", "target", "why"], wrong.into_iter()),
        }
    }

    /// The ports, what is open, and where the rest is.
    fn ends(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ports: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for listener in &self.0.listeners {
            let of = ports.entry(listener.protocol.title()).or_default();
            if !of.contains(&listener.address.port()) {
                of.push(listener.address.port());
            }
        }
        let words = |(name, ports): (&&str, &Vec<u16>)| {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            format!("{name} {}", ports.join(" and "))
        };
        let ports: Vec<String> = ports.iter().map(words).collect();
        writeln!(f, "\nListening: {}", if ports.is_empty() { "nowhere".into() } else { ports.join(", ") })?;
        let (opens, locks) = (self.0.opens.len(), self.0.locks.len());
        writeln!(
            f,
            "{opens} open files and {locks} locks; --all shows them, with addresses and how clients connect"
        )
    }
}

fn title(of: &str, many: usize) -> String {
    if many > MOST_ROWS { format!("{of} of {many} (--all shows all)") } else { of.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Listener, ListenerStatus, ShareStatus};
    use crate::settings::Protocol;

    fn session(user: &str, bytes: u64) -> SessionStatus {
        SessionStatus {
            protocol: Protocol::Smb,
            peer: "192.0.2.7:51515".parse().unwrap(),
            appletalk: None,
            user: Some(user.into()),
            since_s: 61,
            requests: 1,
            bytes_in: bytes,
            bytes_out: 0,
            tls: false,
            asleep: false,
        }
    }

    fn status() -> Status {
        let listener = |address: &str| ListenerStatus {
            protocol: Listener::Protocol(Protocol::Smb),
            transport: "tcp".into(),
            address: address.parse().unwrap(),
        };
        let share = ShareStatus {
            name: "studio".into(),
            path: "/srv/studio".into(),
            read_only: false,
            team: false,
            mounts: Vec::new(),
        };
        Status {
            version: "1.2.3".into(),
            pid: 7,
            uptime_s: 61,
            listeners: vec![listener("0.0.0.0:445"), listener("[::]:445")],
            shares: vec![share],
            sessions: vec![session("ada", 1 << 20), session("grace\u{1b}[2J", 1 << 30)],
            ..Status::default()
        }
    }

    #[test]
    fn clients_come_first_and_the_busiest_before_others() {
        let expected = "fourfold 1.2.3, process 7, up 1 min 1 s

Clients: 2
  user       client           protocol  since      received  sent
  grace?[2J  192.0.2.7:51515  SMB       1 min 1 s  1 GiB     0 B
  ada        192.0.2.7:51515  SMB       1 min 1 s  1 MiB     0 B

Shares: 1
  name    access       folder
  studio  read, write  /srv/studio

Listening: SMB 445
0 open files and 0 locks; --all shows them, with addresses and how clients connect
";
        assert_eq!(status().brief().to_string(), expected);
    }

    #[test]
    fn a_busy_server_fits_on_a_screen() {
        let mut status = status();
        status.sessions = (0..500).map(|number| session("ada", number)).collect();
        status.shares = vec![status.shares[0].clone(); 300];
        let text = status.brief().to_string();
        assert!(text.contains("Clients of 500 (--all shows all): 20\n"), "{text}");
        assert!(text.lines().count() <= 55, "{text}");
    }
}
