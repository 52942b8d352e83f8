//! A status as tables for people.

use std::fmt;

use super::arriving::NotArrived;
use super::status::{ShareStatus, Status};
use crate::settings::units::format_size;

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "fourfold {}, process {}, up {}", self.version, self.pid, duration(self.uptime_s))?;
        writeln!(f, "state folder {}", clean(&self.state.display().to_string()))?;
        if let Some(settings) = &self.settings {
            writeln!(f, "settings {}", clean(&settings.display().to_string()))?;
        }
        if let Some(console) = &self.console {
            writeln!(f, "console {}", clean(console))?;
        }
        self.domain(f)?;
        let files = &self.open_files;
        if files.limit > 0 {
            write!(f, "{} of {} files open", files.open, files.limit)?;
            write!(f, ", {} of {} by clients without a login", files.guests, files.guests_limit)?;
            match files.refused {
                0 => writeln!(f)?,
                refused => writeln!(f, "; {refused} refused")?,
            }
        }
        write!(f, "{}", self.loops)?;
        let alerts = self.alerts.iter().map(|a| {
            [a.severity.word().to_owned(), a.name.clone(), a.about.clone(), a.since.clone(), a.text.clone()]
        });
        if !self.alerts.is_empty() {
            table(f, "Alerts", ["severity", "alert", "about", "since", "what to do"], alerts)?;
        }
        let listeners = self
            .listeners
            .iter()
            .map(|l| [l.protocol.title().to_owned(), l.transport.clone(), l.address.to_string()]);
        table(f, "Listening", ["protocol", "transport", "address"], listeners)?;
        let shares =
            self.shares.iter().map(|s| [s.name.clone(), access(s).to_owned(), s.path.display().to_string()]);
        table(f, "Shares", ["name", "access", "folder"], shares)?;
        if !self.not_served.is_empty() {
            let absent = self.not_served.iter();
            let absent = absent.map(|s| [s.name.clone(), s.path.display().to_string(), s.why.clone()]);
            table(f, "Not served", ["name", "folder", "why"], absent)?;
        }
        self.appletalk(f)?;
        self.arriving(f)?;
        self.searches(f)?;
        self.reserved(f)?;
        self.disks(f)?;
        self.links(f)?;
        self.mounts(f)?;
        let sessions = self.sessions.iter().map(|s| {
            let user = s.user.clone().unwrap_or_else(|| "-".into());
            let (sent, received) = (format_size(s.bytes_out), format_size(s.bytes_in));
            [
                format!("{}{}", s.protocol.title(), if s.tls { " (TLS)" } else { "" }),
                wire::ClientAddress(s.peer).to_string(),
                user,
                duration(s.since_s),
                s.requests.to_string(),
                received,
                sent,
            ]
        });
        let headings = ["protocol", "client", "user", "since", "requests", "received", "sent"];
        table(f, "Clients", headings, sessions)?;
        self.state(f)
    }
}

impl Status {
    pub(super) fn domain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(domain) = &self.domain else { return Ok(()) };
        let found = match (&domain.controller, &domain.error) {
            (Some(controller), _) => format!("{controller} verifies passwords"),
            (None, why) => {
                format!("no controller verifies passwords: {}", why.as_deref().unwrap_or_default())
            }
        };
        writeln!(f, "domain {}, {}", clean(&domain.name), clean(&found))
    }

    pub(super) fn arriving(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.arriving.is_empty() {
            return Ok(());
        }
        let shares = self.arriving.iter().map(|one| [one.share.clone(), one.from.clone(), one.words()]);
        table(f, "Arriving", ["share", "from", ""], shares)?;
        if self.arriving.iter().all(|one| one.named.is_empty()) {
            return Ok(());
        }
        let named = self.arriving.iter().flat_map(|one| {
            let row = |missing: &NotArrived| [one.share.clone(), missing.path.clone(), missing.why.clone()];
            one.named.iter().map(row)
        });
        table(f, "Not arrived", ["share", "path on the old server", "why"], named)
    }

    pub(super) fn searches(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.searches.is_empty() {
            return Ok(());
        }
        let kind = |contents| if contents { "names and contents" } else { "names" };
        let rows =
            self.searches.iter().map(|one| [one.share.clone(), kind(one.contents).into(), one.words()]);
        table(f, "Search indexes", ["share", "of", ""], rows)
    }

    pub(super) fn reserved(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.streams.reservations.is_empty() { Ok(()) } else { write!(f, "{}", self.streams) }
    }

    fn appletalk(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_HEARD: usize = 20;
        let Some(appletalk) = &self.appletalk else { return Ok(()) };
        let name = appletalk.name.as_deref().unwrap_or("not registered yet");
        let router = if appletalk.router { ", router" } else { "" };
        writeln!(f, "\nAppleTalk: {}{router}", clean(name))?;
        let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        let links = appletalk.links.iter().map(|link| {
            let frames = [link.received, link.sent, link.lost, link.malformed].map(|count| count.to_string());
            let [received, sent, lost, malformed] = frames;
            let (networks, node) = (dash(&link.networks), dash(&link.node));
            [link.link.clone(), networks, node, received, sent, lost, malformed, link.state()]
        });
        let headings = ["link", "networks", "node", "received", "sent", "lost", "damaged", ""];
        table(f, "Links of AppleTalk", headings, links)?;
        let routes = appletalk.routes.iter().map(|route| {
            [route.networks.clone(), route.distance.to_string(), route.by.clone(), route.zones.join(", ")]
        });
        table(f, "Networks of AppleTalk", ["networks", "distance", "by", "zones"], routes)?;
        let heard = appletalk.heard.iter().take(MOST_HEARD);
        let heard = heard.map(|node| {
            let router = if node.router { "router" } else { "" };
            [node.node.clone(), node.link.clone(), duration(node.since_s), router.to_owned()]
        });
        table(f, "Heard over AppleTalk", ["node", "link", "ago", ""], heard)
    }

    fn links(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.links.is_empty() {
            return Ok(());
        }
        let targets = self.links.iter().flat_map(|link| {
            link.targets.iter().map(|target| {
                let why = link.problem.clone().or_else(|| target.error.clone()).unwrap_or_default();
                [link.path.clone(), target.url.clone(), target.word().to_owned(), why]
            })
        });
        table(f, "Links", ["path", "target", "", "why"], targets)
    }

    fn mounts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shares.iter().filter(|share| !share.mounts.is_empty()).try_for_each(|share| {
            writeln!(f)?;
            share.write_mounts(f)
        })
    }

    fn state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opens = self.opens.iter().map(|o| {
            let file = file(o.file.as_deref(), o.inode);
            [o.share.clone(), file, o.owner.clone(), o.access.clone(), o.deny.clone()]
        });
        table(f, "Open files", ["share", "file", "owner", "access", "deny"], opens)?;
        let locks = self.locks.iter().map(|l| {
            let range = match l.length {
                0 => format!("{} to the end", l.start),
                length => format!("{} + {length}", l.start),
            };
            let kind = if l.exclusive { "exclusive" } else { "shared" };
            [l.share.clone(), file(l.file.as_deref(), l.inode), l.owner.clone(), range, kind.to_owned()]
        });
        table(f, "Locks", ["share", "file", "owner", "range", "kind"], locks)?;
        let leases = self.leases.iter().map(|l| {
            let recalled = if l.recalled { "being recalled" } else { "" };
            let file = file(l.file.as_deref(), l.inode);
            [l.share.clone(), file, l.owner.clone(), l.caching.clone(), recalled.to_owned()]
        });
        table(f, "Leases", ["share", "file", "owner", "caching", ""], leases)
    }
}

/// What clients may do in a share at most.
pub(super) fn access(share: &ShareStatus) -> &'static str {
    match (share.read_only, share.team) {
        (true, false) => "read",
        (false, false) => "read, write",
        (true, true) => "by roles, read only",
        (false, true) => "by roles",
    }
}

impl ShareStatus {
    /// The share's mount lines, each with its protocol and client, and each explanation once.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_mounts(&self, to: &mut impl fmt::Write) -> fmt::Result {
        writeln!(to, "{}  {}", clean(&self.name), clean(&self.path.display().to_string()))?;
        for (index, mount) in self.mounts.iter().enumerate() {
            let (protocol, client) = (mount.protocol.title(), &mount.client);
            writeln!(to, "  {:<11} {}", format!("{protocol} {client}"), mount.line)?;
            let said = self.mounts[..index].iter().any(|other| other.why == mount.why);
            if let Some(why) = mount.why.as_ref().filter(|_| !said) {
                writeln!(to, "  {:<11} ({why})", "")?;
            }
        }
        Ok(())
    }
}

/// Columns as wide as their widest cell. A table without rows is one line.
pub(super) fn table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    headings: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> fmt::Result {
    let rows: Vec<[String; N]> = rows.map(|row| row.map(|cell| clean(&cell))).collect();
    if rows.is_empty() {
        return writeln!(f, "\n{title}: none");
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(headings[column].chars().count())
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    writeln!(f, "\n{title}: {}", rows.len())?;
    line(f, &headings.map(str::to_owned), &widths)?;
    rows.iter().try_for_each(|row| line(f, row, &widths))
}

fn line(f: &mut fmt::Formatter<'_>, cells: &[String], widths: &[usize]) -> fmt::Result {
    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    writeln!(f, "  {}", padded.collect::<Vec<_>>().join("  ").trim_end())
}

/// A file by its name and its inode number, because several files may have the same name.
fn file(name: Option<&str>, inode: u64) -> String {
    name.map_or_else(|| format!("inode {inode}"), |name| format!("{name} (inode {inode})"))
}

/// File names come from clients: they must not contain control characters for the terminal.
pub(super) fn clean(cell: &str) -> String {
    cell.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// `3 d 4 h`, `5 min 6 s`: the two largest units.
pub(super) fn duration(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest} s"),
        (0, 0, _) => format!("{minutes} min {rest} s"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Listener, ListenerStatus, MountLine, OpenStatus};
    use crate::settings::Protocol;

    #[test]
    fn columns_are_aligned_and_control_characters_harmless() {
        let listener = |address: &str| ListenerStatus {
            protocol: Listener::Protocol(Protocol::Nfs),
            transport: "tcp".into(),
            address: address.parse().unwrap(),
        };
        let open = OpenStatus {
            share: "A".into(),
            file: Some("x\x1b[2Jy".into()),
            inode: 5,
            owner: "nfs".into(),
            access: "rw".into(),
            deny: String::new(),
        };
        let status = Status {
            version: "1.2.3".into(),
            pid: 7,
            uptime_s: 3_725,
            state: "/state".into(),
            listeners: vec![listener("127.0.0.1:2049"), listener("[::1]:2049")],
            opens: vec![open],
            ..Status::default()
        };
        let expected = "fourfold 1.2.3, process 7, up 1 h 2 min
state folder /state

Listening: 2
  protocol  transport  address
  NFS       tcp        127.0.0.1:2049
  NFS       tcp        [::1]:2049

Shares: none

Clients: none

Open files: 1
  share  file              owner  access  deny
  A      x?[2Jy (inode 5)  nfs    rw

Locks: none

Leases: none
";
        assert_eq!(status.to_string(), expected);
    }

    #[test]
    fn mount_lines_are_aligned_and_a_reason_is_given_once() {
        let mount = |client: &str, line: &str| MountLine {
            protocol: Protocol::Nfs,
            client: client.into(),
            line: line.into(),
            why: Some("because".into()),
        };
        let mounts = vec![mount("Linux", "mount a"), mount("macOS", "mount b")];
        let share =
            ShareStatus { name: "A".into(), path: "/a".into(), read_only: false, team: false, mounts };
        let mut text = String::new();
        share.write_mounts(&mut text).unwrap();
        assert_eq!(text, "A  /a\n  NFS Linux   mount a\n              (because)\n  NFS macOS   mount b\n");
    }

    #[test]
    fn times_are_said_in_their_two_largest_units() {
        let said: Vec<String> = [59, 61, 7_260, 266_400].into_iter().map(duration).collect();
        assert_eq!(said, ["59 s", "1 min 1 s", "2 h 1 min", "3 d 2 h"]);
    }
}
