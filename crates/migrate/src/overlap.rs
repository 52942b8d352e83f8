//! The proof that source and destination are not one folder, nor one inside the other.
//!
//! Two URLs can name one folder in many ways: links, bind mounts, several protocols, several names of one server, other servers of
//! the same disk. So neither names nor numbers are compared: an empty file with a random name, the probe, is made in the destination
//! and looked for in the source. It is looked for
//!
//! 1. before anything is copied, in the source's folder and where the destination's path says that it may be (`prove`);
//! 2. in each folder of the source that the copy lists;
//! 3. the other way round, for each folder of the destination that was there before: a second probe in it must not be seen in the
//!    source's folder (`is_source`). What is removed is looked at as a whole before the first removal.

use client::tree::{Kind, below};
use client::{Error as ClientError, OpenIntent, Protocol, Reach, Target};

use crate::walk::CopyContext;
use crate::worker::Sides;
use crate::{Error, Mode, Plan, Result};

/// What the names of probes begin with.
const PREFIX: &str = "fourfold-probe-";
/// Folders of a path that are looked at before the copy.
const DEEPEST: usize = 32;
/// A probe that is so much older than a new one was left behind.
const STALE_SECONDS: i64 = 24 * 60 * 60;

/// An empty file in the destination that the source must not show.
#[derive(Debug)]
pub(crate) struct Probe(String);

type ClientResult<T> = std::result::Result<T, ClientError>;

impl Probe {
    /// Makes one in a folder of the destination.
    fn make(sides: &mut Sides, folder: &str) -> ClientResult<Self> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(|_| ClientError::Other("no random numbers".into()))?;
        let probe = Self(format!("{PREFIX}{:016x}", u64::from_le_bytes(number)));
        let path = sides.to.native(&below(folder, &probe.0));
        let file = sides.to.open(&path, OpenIntent::Create)?;
        sides.to.close(file)?;
        Ok(probe)
    }

    /// Whether a folder of the source shows it.
    fn is_in(&self, sides: &mut Sides, folder: &str) -> ClientResult<bool> {
        let path = sides.from.native(&below(folder, &self.0));
        match sides.from.entry(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.ends_session() => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn remove(&self, sides: &mut Sides, folder: &str) -> ClientResult<()> {
        let path = sides.to.native(&below(folder, &self.0));
        sides.to.remove(&path)
    }

    /// Whether it is this one.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.0 == name
    }

    /// Removes it from the destination's folder.
    pub(crate) fn end(&self, sides: &mut Sides) {
        let _ = self.remove(sides, ""); // it is empty, and the next copy removes it
    }
}

/// Whether a name is that of a probe, of this copy or of another one.
pub(crate) fn is_probe(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What the plan would do to a folder of the source if the destination's own folder were this one of the source.
pub(crate) fn is_refused(plan: &Plan, folder: &str) -> bool {
    match folder.split('/').next() {
        _ if plan.only.is_empty() => true,
        // The folder that the entries are in: they would be copied onto themselves, if not by another name.
        Some("") | None => plan.as_name.as_ref().is_none_or(|name| plan.only.contains(name)),
        Some(first) => plan.only.iter().any(|name| name == first),
    }
}

/// Makes the probe, and looks for it where it may be. `None`: the destination's folder cannot be written to, or nothing is.
pub(crate) fn prove(plan: &Plan, sides: &mut Sides) -> Result<Option<Probe>> {
    let Mode::Copy { delete, .. } = plan.mode else { return Ok(None) };
    let server = |error| Error::Server(plan.to.to_string(), error);
    let probe = match Probe::make(sides, "") {
        Ok(probe) => probe,
        Err(error) if error.ends_session() || delete => return Err(server(error)),
        Err(_) => return Ok(None), // what is copied is refused as well
    };
    let refused = is_seen(plan, sides, &probe).and_then(|seen| Ok(seen || holds_source(plan, sides)?));
    match refused {
        Ok(false) => {
            remove_stale(sides, &probe);
            Ok(Some(probe))
        }
        Ok(true) => {
            probe.end(sides);
            Err(Error::overlap(plan))
        }
        Err(error) => {
            probe.end(sides);
            Err(server(error))
        }
    }
}

/// Whether the destination's folder is in the source.
fn is_seen(plan: &Plan, sides: &mut Sides, probe: &Probe) -> ClientResult<bool> {
    for folder in ends(&plan.to) {
        if is_refused(plan, &folder) && probe.is_in(sides, &folder)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the source's folder is in the destination, and the copy writes there.
fn holds_source(plan: &Plan, sides: &mut Sides) -> ClientResult<bool> {
    for folder in ends(&plan.from).into_iter().filter(|folder| !folder.is_empty()) {
        let first = folder.split('/').next().unwrap_or_default();
        let is_written = match &plan.as_name {
            _ if plan.only.is_empty() => true,
            Some(name) => name == first,
            None => plan.only.iter().any(|name| name == first),
        };
        if !is_written {
            continue;
        }
        let path = sides.to.native(&folder);
        match sides.to.entry(&path) {
            Ok(entry) if entry.kind == Kind::Folder => {}
            Err(error) if error.ends_session() => return Err(error),
            _ => continue,
        }
        if is_source(plan, sides, &folder)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a folder of the destination is the source's, or one that is copied from there. A folder in which no probe can be made is
/// none that the copy changes.
pub(crate) fn is_source(plan: &Plan, sides: &mut Sides, folder: &str) -> ClientResult<bool> {
    let probe = match Probe::make(sides, folder) {
        Err(error) if error.ends_session() => return Err(error),
        Err(_) => return Ok(false),
        Ok(probe) => probe,
    };
    let mut seen = probe.is_in(sides, "");
    for name in &plan.only {
        seen = seen.and_then(|seen| Ok(seen || probe.is_in(sides, name)?));
    }
    let _ = probe.remove(sides, folder); // an empty file
    seen
}

/// Before the first removal: whether the source is in what is removed.
pub(crate) fn is_source_in(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    folder: &str,
    depth: usize,
) -> ClientResult<bool> {
    if is_source(shared.plan, sides, folder)? {
        return Ok(true);
    }
    if depth == 0 {
        return Err(ClientError::Other("too many folders in each other".into()));
    }
    let native = sides.to.native(folder);
    for entry in sides.to.entries(&native)?.entries {
        if entry.kind == Kind::Folder && is_source_in(shared, sides, &below(folder, &entry.name), depth - 1)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Probes that killed copies have left.
fn remove_stale(sides: &mut Sides, probe: &Probe) {
    let own = sides.to.native(&probe.0);
    let Some(now) = sides.to.entry(&own).ok().and_then(|entry| entry.modified) else { return };
    let root = sides.to.native("");
    let Ok(listing) = sides.to.entries(&root) else { return };
    for entry in listing.entries.iter().filter(|entry| is_probe(&entry.name) && entry.length == 0) {
        if entry.modified.is_some_and(|then| then.0 < now.0 - STALE_SECONDS) {
            let path = sides.to.native(&entry.name);
            let _ = sides.to.remove(&path); // the next copy tries again
        }
    }
}

/// The last folders of a target's path, one, two and so on: where it may be below another folder. The first is none.
fn ends(target: &Target) -> Vec<String> {
    let whole = match target.protocol {
        Protocol::File => std::fs::canonicalize(&target.share)
            .ok()
            .and_then(|path| path.to_str().map(str::to_owned))
            .unwrap_or_else(|| target.share.clone()),
        _ => format!("{}/{}", target.share, target.path),
    };
    let names: Vec<&str> = whole.split('/').filter(|name| !name.is_empty()).collect();
    (0..=names.len().min(DEEPEST)).map(|count| names[names.len() - count..].join("/")).collect()
}

/// Whether files that come from `from` would be written into `from`: a folder of this machine, and a server or another folder.
///
/// # Errors
/// One of the two cannot be reached, or the folder cannot be written to.
pub fn is_one_folder(from: &Target, to: &Target, timeout: std::time::Duration) -> Result<bool> {
    let plan = Plan {
        from: from.clone(),
        to: to.clone(),
        only: Vec::new(),
        as_name: None,
        mode: Mode::Copy { verify: false, delete: true },
        streams: 1,
        limits: Vec::new(),
        accounts: crate::Accounts::default(),
        journal: None,
        timeout,
    };
    let open = |target: &Target| {
        let connector = client::Connector::new(target.clone(), Reach::direct(timeout), 1, 0);
        connector.tree().map_err(|error| Error::Server(target.to_string(), error))
    };
    let mut sides = Sides { from: open(from)?, to: open(to)? };
    match prove(&plan, &mut sides) {
        Ok(probe) => {
            if let Some(probe) = probe {
                probe.end(&mut sides);
            }
            Ok(false)
        }
        Err(Error::Overlap { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_be_below_another_by_the_end_of_its_path() {
        let target = Target::parse("smb://nas/share/a/b").unwrap();
        assert_eq!(ends(&target), ["", "b", "a/b", "share/a/b"]);
    }

    #[test]
    fn only_what_is_copied_must_not_hold_the_destination() {
        let target = Target::parse("file:///folder").unwrap();
        let plan = |only: &[&str], as_name: Option<&str>| Plan {
            from: target.clone(),
            to: target.clone(),
            only: only.iter().map(|name| (*name).to_owned()).collect(),
            as_name: as_name.map(str::to_owned),
            mode: Mode::Compare,
            streams: 1,
            limits: Vec::new(),
            accounts: crate::Accounts::default(),
            journal: None,
            timeout: std::time::Duration::from_secs(1),
        };
        assert!(is_refused(&plan(&[], None), "sub") && is_refused(&plan(&[], None), ""));
        assert!(is_refused(&plan(&["a"], None), "") && is_refused(&plan(&["a"], None), "a/sub"));
        assert!(!is_refused(&plan(&["a"], None), "b") && !is_refused(&plan(&["a"], Some("b")), ""));
        assert!(is_refused(&plan(&["a"], Some("a")), ""));
    }

    #[test]
    fn only_names_of_probes_are_probes() {
        assert!(is_probe("fourfold-probe-0123456789abcdef"));
        for name in ["fourfold-probe-", "fourfold-probe-0123456789abcdeg", "probe-0123456789abcdef"] {
            assert!(!is_probe(name), "{name}");
        }
    }
}
