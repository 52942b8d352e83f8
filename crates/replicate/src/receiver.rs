//! The destination's side of a replication.

mod apply;
mod data;
mod names;
mod session;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use snapshots::Dataset;

use crate::failure::{Failure, Result};
use crate::keys::TreeKeys;
use crate::link::Link;
use crate::native;
use crate::record::{self, Record};
use crate::sender::{self, Progress};
use crate::sent;
use crate::source::{MovedPaths, TreeComparison};
use crate::wire::{Begin, Message};

/// On a file of which the destination has a part: its size and time of modification at the source.
pub(crate) const PARTIAL: &[u8] = b"user.fourfold.replicating";

/// The live tree of a destination.
struct Target {
    root: OwnedFd,
    device: u64,
    keys: TreeKeys,
    /// The tree of the snapshot that the other side sends the difference to.
    base: Option<OwnedFd>,
    /// The tree that came by a stream of the host's program.
    received: Option<OwnedFd>,
    /// A folder whose names arrive.
    listing: Option<data::Listing>,
}

impl Target {
    fn open(dataset: &Dataset) -> Result<Self> {
        let folder = dataset.folder();
        let bytes = folder.as_os_str().as_encoded_bytes();
        let root = crate::host::root(folder).map_err(Failure::io("open", bytes))?;
        let device = rustix::fs::fstat(&root).map_err(Failure::io("read", bytes))?.st_dev;
        Ok(Self {
            root,
            device,
            keys: TreeKeys::open(folder, None)?,
            base: None,
            received: None,
            listing: None,
        })
    }
}

/// Receives into a dataset what the other side sends. Returns sentences about what could not be done.
///
/// # Errors
/// The dataset has files of its own, or is a replica of another one; a file cannot be written; the other side ended. The next
/// run continues from there.
pub fn receive(
    dataset: &Dataset,
    mut link: Link,
    progress: &mut dyn FnMut(&Progress),
) -> std::result::Result<Vec<String>, Failure> {
    let received = session::Session::open(dataset, &mut link, progress).and_then(session::Session::run);
    received.inspect_err(|failure| link.fail(failure))
}

/// Removes the folder of a destination that was made for a run and to which nothing has come. One with anything in it stays, and
/// a dataset of ZFS stays empty.
pub fn unmake(dataset: &Dataset) {
    let folder = dataset.folder();
    if !snapshots::is_replica(folder) {
        // What cannot be removed is empty, or has something in it that somebody else has made.
        let _ = record::unlock(folder).and_then(|()| std::fs::remove_dir(folder));
    }
}

/// Makes a replica a dataset of its own, with the content of the newest snapshot that it has completely. Returns the name of
/// that snapshot.
///
/// # Errors
/// It is no replica, or has no complete snapshot, or a file cannot be written. It is a replica then.
pub fn promote(dataset: &Dataset) -> std::result::Result<String, Failure> {
    let folder = dataset.folder();
    let _lock = record::lock(folder)?;
    let Some(record) = Record::read(folder)? else {
        return Err(Failure::Other(format!(
            "{} is no replica: there is nothing to promote",
            folder.display()
        )));
    };
    let Some(newest) = record.newest() else {
        return Err(Failure::Other(format!(
            "{} has no complete snapshot yet; let `fourfold replicate` come to its end first, or remove the folder",
            folder.display()
        )));
    };
    if record.receiving().is_some() {
        go_back(dataset, &newest.name)?;
    }
    if native::format(dataset).is_some() {
        native::received(dataset).remove_all()?;
    }
    remove(&record::file(folder))?;
    Ok(newest.name.clone())
}

/// Removes what a replica keeps beside its files, before the folder is removed. A dataset that is no replica does not
/// change.
///
/// # Errors
/// It is just being replicated, or the received snapshots cannot be removed.
pub fn forget(dataset: &Dataset) -> std::result::Result<(), Failure> {
    let folder = dataset.folder();
    if !record::file(folder).exists() {
        return Ok(());
    }
    let _lock = record::lock(folder)?;
    if native::format(dataset).is_some() {
        native::received(dataset).remove_all()?;
    }
    remove(&record::file(folder))
}

fn remove(path: &Path) -> Result<()> {
    let failed = |what| Failure::io::<std::io::Error>(what, path.as_os_str().as_encoded_bytes());
    std::fs::remove_file(path).map_err(failed("remove"))?;
    let above = path.parent().unwrap_or(path);
    File::open(above).and_then(|above| above.sync_all()).map_err(failed("remove"))
}

/// Makes the live tree what a snapshot of it is.
fn go_back(dataset: &Dataset, name: &str) -> Result<()> {
    let path = dataset.mount(name)?;
    let pipe = || std::os::unix::net::UnixStream::pair().map_err(Failure::io("make", b"a pipe"));
    let (ours, theirs) = pipe()?;
    let other =
        |stream: &std::os::unix::net::UnixStream| stream.try_clone().map_err(Failure::io("make", b"a pipe"));
    let mut to_target = Link::new(other(&ours)?, ours);
    let mut from_tree = Link::new(other(&theirs)?, theirs);
    std::thread::scope(|scope| {
        let applied = scope.spawn(move || {
            let mut target = Target::open(dataset)?;
            let applied = session::apply_tree(&mut target, &mut from_tree, &mut |_| {});
            applied.inspect_err(|failure| from_tree.fail(failure))
        });
        let tree = sender::tree(dataset, &path)?;
        let comparison = TreeComparison {
            newer: &tree,
            older: None,
            keeps_inodes: false,
            settled: 0,
            verify: false,
            moved: &MovedPaths::new(),
            only: None,
        };
        let begin = Begin {
            id: [0; 16],
            name: name.into(),
            created: 0,
            base: None,
            verify: false,
            entries: 0,
            bytes: 0,
            native: Err(String::new()),
        };
        let sent = sent::send_tree(&comparison, begin, &mut to_target, Progress::default(), &mut |_| {});
        drop(to_target);
        let applied = applied.join().unwrap_or(Err(Failure::Order("a thread ended")));
        // What the target says is the reason, if both failed.
        applied.and(sent)
    })?;
    rustix::fs::syncfs(&Target::open(dataset)?.root).map_err(Failure::io("write", b""))
}

/// A message that must be the next one.
fn expect(link: &mut Link, is_it: impl Fn(&Message) -> bool, what: &'static str) -> Result<Message> {
    let message = link.receive()?;
    if is_it(&message) { Ok(message) } else { Err(Failure::Order(what)) }
}
