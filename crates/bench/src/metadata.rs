//! Which metadata a server keeps: each kind is written by each protocol, and read by each.
//!
//! ```text
//! for each kind, each writer:   a new file ─► put ─► every protocol gets ─► the file is removed
//! ```
//!
//! All is done in a folder of its own. No other file is looked at.

mod fact;
mod report;

use std::time::Duration;

use serde::Serialize;

use client::metadata::acl::inheriting_file;
use client::metadata::{Aspect, AspectState, MetadataValue, Peer, second_name};
use client::{Connector, Reach};

use self::fact::{Fact, Of, all};
use crate::{Error, Protocol, Result, Target};

/// What became of a value on its way from one protocol to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Cell {
    /// It is the same.
    Kept {
        /// The digits of a date that are left.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<&'static str>,
    },
    /// It is another one.
    Changed {
        /// What was written.
        wrote: String,
        /// What was read.
        read: String,
    },
    /// It is not there.
    Lost,
    /// The protocol that reads has no way to tell.
    Impossible,
    /// The protocol that reads fails.
    Failed {
        /// Why.
        why: String,
    },
}

/// What was written by one protocol.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The kind of metadata.
    pub what: &'static str,
    /// The protocol that has written it.
    pub by: String,
    /// Why it was not written: the server refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What each protocol reads, in the order of the targets.
    pub cells: Vec<Cell>,
}

/// All that was written and read.
#[derive(Debug, Clone, Serialize)]
pub struct Grid {
    /// The command, without passwords.
    pub command: String,
    /// The URLs, without passwords.
    pub targets: Vec<String>,
    /// Their protocols: those of NFS version 4 with the version.
    pub protocols: Vec<String>,
    /// What the clients have agreed on with the server.
    pub agreed: Vec<String>,
    /// The rows; kinds that no protocol here can write have none.
    pub rows: Vec<Row>,
    /// What could not be removed, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// Writes and reads all kinds of metadata. `watch` is called with the progress, and answers false to end.
///
/// # Errors
/// A server cannot be reached or refuses the login, the URLs are not of one folder, or the folder cannot be made.
pub fn verify(
    targets: &[Target],
    command: String,
    timeout: Duration,
    watch: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Grid> {
    let mut peers = targets.iter().map(|target| peer(target, timeout)).collect::<Result<Vec<_>>>()?;
    let folder = work_folder()?;
    peers[0].make_folder(&folder).map_err(|error| at(&targets[0], error))?;
    let done = rows(targets, &mut peers, &folder, watch);
    let removed = peers[0].remove_folder(&folder);
    let rows = done?;
    let left = removed.err().map(|error| {
        format!("the folder {folder} stays on the server, because it cannot be removed: {error}")
    });
    Ok(Grid {
        command,
        targets: targets.iter().map(ToString::to_string).collect(),
        protocols: targets.iter().map(protocol).collect(),
        agreed: peers.iter().map(|peer| peer.agreed()).collect(),
        rows,
        left,
    })
}

/// What the grid calls the protocol of a target.
fn protocol(target: &Target) -> String {
    match target.options.get("vers") {
        Some(version) if target.protocol == Protocol::Nfs && version != "3" => format!("nfs {version}"),
        _ => target.protocol.to_string(),
    }
}

fn peer(target: &Target, timeout: Duration) -> Result<Box<dyn Peer>> {
    let connector = Connector::new(target.clone(), Reach::direct(timeout), 1, 0);
    connector.peer().map_err(|error| at(target, error))
}

fn at(target: &Target, error: Error) -> Error {
    Error::Other(format!("{target}: {error}"))
}

/// A name that no file has.
fn work_folder() -> Result<String> {
    let mut random = [0; 6];
    getrandom::fill(&mut random).map_err(|error| Error::Other(error.to_string()))?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("fourfold-verify-{digits}"))
}

fn rows(
    targets: &[Target],
    peers: &mut [Box<dyn Peer>],
    folder: &str,
    watch: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Vec<Row>> {
    for (target, peer) in targets.iter().zip(&mut *peers) {
        peer.list(folder).map_err(|error| {
            Error::Other(format!(
                "{target} does not show the folder {folder} that {} has made: do the URLs name one folder? ({error})",
                targets[0]
            ))
        })?;
    }
    let facts = all();
    let (mut rows, total) = (Vec::new(), facts.len() * peers.len());
    for (number, fact) in facts.iter().enumerate() {
        for (writer, target) in targets.iter().enumerate() {
            if !watch(number * peers.len() + writer, total) {
                return Err(Error::Stopped);
            }
            let path = format!("{folder}/{number}-{writer}");
            rows.extend(row(peers, writer, &path, fact)?.map(|(refused, cells)| Row {
                what: fact.name,
                by: protocol(target),
                refused,
                cells,
            }));
        }
    }
    Ok(rows)
}

/// `None`: the writer's protocol has no way to write it.
type WriteOutcome = Option<(Option<String>, Vec<Cell>)>;

fn row(peers: &mut [Box<dyn Peer>], writer: usize, path: &str, fact: &Fact) -> Result<WriteOutcome> {
    let (path, above) = match (fact.aspect, &fact.value) {
        (Aspect::Name, MetadataValue::Text(name)) => (format!("{path}/{name}"), Some(path)),
        _ => (path.to_owned(), None),
    };
    if let Some(above) = above {
        peers[writer].make_folder(above)?;
    }
    let made = make(&mut *peers[writer], &path, fact.of);
    let written = made.and_then(|()| put(&mut *peers[writer], &path, fact));
    let done = match written {
        Ok(false) => None,
        Ok(true) => Some((None, peers.iter_mut().map(|peer| cell(&mut **peer, &path, fact)).collect())),
        Err(error) if error.ends_session() => return Err(error),
        Err(error) => Some((Some(told(&error, &path)), Vec::new())),
    };
    clear(peers, writer, &path, fact);
    if let Some(above) = above {
        let _ = peers[writer].remove_folder(above); // what stays is told at the end
    }
    Ok(done)
}

fn put(peer: &mut dyn Peer, path: &str, fact: &Fact) -> Result<bool> {
    if fact.aspect == Aspect::Backup {
        // Clients of SMB see this date beside Finder info only.
        let info = [&b"TEXTttxt"[..], &[0; 24]].concat();
        peer.put(path, Aspect::FinderInfo, &MetadataValue::Bytes(info))?;
    }
    peer.put(path, fact.aspect, &fact.value)
}

fn make(peer: &mut dyn Peer, path: &str, of: Of) -> Result<()> {
    match of {
        Of::Folder => peer.make_folder(path),
        Of::File => peer.make_file(path),
        Of::Itself => Ok(()),
    }
}

/// Removes what was made. What stays is told when the folder cannot be removed.
fn clear(peers: &mut [Box<dyn Peer>], writer: usize, path: &str, fact: &Fact) {
    if matches!(fact.aspect, Aspect::ReadOnly | Aspect::RenameLock | Aspect::DeleteLock) {
        let _ = peers[writer].put(path, fact.aspect, &MetadataValue::Flag(false));
    }
    if fact.aspect == Aspect::Links {
        let _ = peers[writer].remove(&second_name(path));
    }
    if fact.aspect == Aspect::Inherited {
        let _ = peers[writer].remove(&inheriting_file(path));
    }
    let order = std::iter::once(writer).chain((0..peers.len()).filter(|peer| *peer != writer));
    for peer in order.collect::<Vec<_>>() {
        let removed = match fact.of {
            Of::Folder => peers[peer].remove_folder(path),
            _ => {
                let named = peers[peer].named(path);
                peers[peer].remove(&named)
            }
        };
        if removed.is_ok() {
            break;
        }
    }
    peers.iter_mut().for_each(|peer| peer.sweep(path));
}

/// An error without the path, which is long and says nothing.
fn told(error: &Error, path: &str) -> String {
    error.to_string().replace(path, "the file")
}

fn cell(peer: &mut dyn Peer, path: &str, fact: &Fact) -> Cell {
    let wrote = fact.counts(&fact.value);
    match peer.get(path, fact.aspect) {
        Ok(AspectState::Impossible) | Err(Error::Unsupported(_)) => Cell::Impossible,
        Ok(AspectState::Missing) => Cell::Lost,
        Ok(AspectState::Value(value)) => compared(&wrote, &fact.counts(&value)),
        Err(Error::Missing(_)) => Cell::Lost,
        Err(error) => Cell::Failed { why: told(&error, path) },
    }
}

/// Nanoseconds that dates may be rounded down to.
const STEPS: [(u32, &str); 4] =
    [(100, "100 ns"), (1000, "1 µs"), (1_000_000, "1 ms"), (1_000_000_000, "1 s")];

fn compared(wrote: &MetadataValue, read: &MetadataValue) -> Cell {
    if wrote == read {
        return Cell::Kept { to: None };
    }
    if let (MetadataValue::Time(wrote, nanos), MetadataValue::Time(read, rest)) = (wrote, read)
        && wrote == read
        && let Some((_, to)) = STEPS.iter().find(|(step, _)| nanos - nanos % step == *rest)
    {
        return Cell::Kept { to: Some(to) };
    }
    let is_nothing = match read {
        MetadataValue::Bytes(bytes) => bytes.iter().all(|byte| *byte == 0),
        MetadataValue::Text(text) => text.is_empty(),
        MetadataValue::Flag(flag) => !flag,
        MetadataValue::Number(number) => *number == 0,
        MetadataValue::Acl(entries) => entries.is_empty(),
        MetadataValue::Time(..) => false,
    };
    match is_nothing {
        true => Cell::Lost,
        false => Cell::Changed { wrote: wrote.to_string(), read: read.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_with_fewer_digits_is_kept_and_another_one_is_not() {
        let wrote = MetadataValue::Time(7, 123_456_789);
        let to = |nanos| compared(&wrote, &MetadataValue::Time(7, nanos));
        assert_eq!(to(123_456_700), Cell::Kept { to: Some("100 ns") });
        assert_eq!(to(0), Cell::Kept { to: Some("1 s") });
        assert!(matches!(to(5), Cell::Changed { .. }));
        assert!(matches!(compared(&wrote, &MetadataValue::Time(8, 0)), Cell::Changed { .. }));
    }

    #[test]
    fn each_version_of_nfs_has_a_column() {
        let names = ["smb://h/s", "nfs://h/s", "nfs://h/s?vers=3", "nfs://h/s?vers=4.2"];
        let names = names.map(|url| protocol(&Target::parse(url).unwrap()));
        assert_eq!(names, ["smb", "nfs", "nfs", "nfs 4.2"]);
    }

    #[test]
    fn nothing_is_lost_and_something_else_is_changed() {
        assert_eq!(compared(&MetadataValue::Flag(true), &MetadataValue::Flag(false)), Cell::Lost);
        assert_eq!(
            compared(&MetadataValue::Bytes(vec![1, 2]), &MetadataValue::Bytes(vec![0, 0])),
            Cell::Lost
        );
        assert!(matches!(
            compared(&MetadataValue::Number(2), &MetadataValue::Number(1)),
            Cell::Changed { .. }
        ));
    }
}
