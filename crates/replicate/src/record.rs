//! What a destination knows of its source: `.fourfold-snapshots/.replica`, replaced as a whole. While this file is there, the
//! dataset is a replica, and read-only for clients.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use auth::durable;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use snapshots::REPLICA;
use wire::hex;

use crate::failure::{Failure, Result};
use crate::wire::{Id, Receiving};

const FORMAT: u32 = 1;
/// How long the lock is waited for, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
/// The file that is locked.
const LOCK: &str = ".replica.lock";
/// It differs after each start of the host.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// What a destination knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Record {
    format: u32,
    /// The source, for people.
    pub(crate) source: String,
    /// Its identity in hexadecimal digits.
    pub(crate) source_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream_key: Option<StreamKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
    #[serde(default, rename = "snapshot", skip_serializing_if = "Vec::is_empty")]
    pub(crate) snapshots: Vec<DestinationSnapshot>,
}

/// The snapshot that the live tree has in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    boot: String,
}

/// A snapshot of the source that the destination has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DestinationSnapshot {
    pub(crate) id: String,
    /// Its name here.
    pub(crate) name: String,
    /// The name before that, which it has if a crash came before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) was: Option<String>,
    /// The tags that the source holds it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) held: Vec<String>,
}

/// The name of a snapshot with this identity until it gets the source's name for it.
pub(crate) fn first_name(id: &str) -> String {
    format!("replica-{id}")
}

/// The file of a dataset.
pub(crate) fn file(dataset: &Path) -> PathBuf {
    dataset.join(snapshots::FOLDER).join(REPLICA)
}

/// Makes the folder of the record, and keeps other replications to the dataset away until the result is dropped.
pub(crate) fn lock(dataset: &Path) -> Result<File> {
    let folder = dataset.join(snapshots::FOLDER);
    let failed = |what| Failure::io::<std::io::Error>(what, folder.as_os_str().as_encoded_bytes());
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(failed("make")(why)),
        _ => {}
    }
    let lock = File::options().create(true).append(true).open(folder.join(LOCK));
    let lock = lock.map_err(failed("lock"))?;
    // A run whose connection has ended may need a moment to notice it.
    let deadline = Instant::now() + PATIENCE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Other(format!(
                    "another replication to {} is running; wait for its end",
                    dataset.display()
                )));
            }
            Err(TryLockError::Error(why)) => return Err(failed("lock")(why)),
        }
    }
}

/// Removes what [`lock`] has made, if nothing else is there.
pub(crate) fn unlock(dataset: &Path) -> std::io::Result<()> {
    let folder = dataset.join(snapshots::FOLDER);
    match std::fs::remove_file(folder.join(LOCK)).and_then(|()| std::fs::remove_dir(&folder)) {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// What makes the identities of received subvolumes of btrfs, of which the source must not know any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StreamKey(String);

impl StreamKey {
    fn new() -> Result<Self> {
        let mut key = [0; 16];
        let failed = |why| Failure::Other(format!("the host gives no random numbers: {why}"));
        getrandom::fill(&mut key).map_err(failed)?;
        Ok(Self(hex::encode(&key)))
    }

    /// The identity here of a subvolume of the source.
    pub(crate) fn identity_of(&self, id: &[u8]) -> Id {
        let digest = Sha256::new().chain_update(&self.0).chain_update(id).finalize();
        let mut ours = Id::default();
        ours.copy_from_slice(&digest[..16]);
        ours
    }
}

impl Record {
    /// `None`: the dataset is no replica.
    pub(crate) fn read(dataset: &Path) -> Result<Option<Self>> {
        let path = file(dataset);
        let text = match std::fs::read_to_string(&path) {
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(Failure::io("read", path.as_os_str().as_encoded_bytes()))?,
        };
        let damaged = |why: &str| {
            Failure::Other(format!(
                "{}: the file is damaged ({why}); destroy this replica and make a new one",
                path.display()
            ))
        };
        let record: Self = toml_edit::de::from_str(&text).map_err(|error| damaged(error.message()))?;
        if record.format > FORMAT {
            return Err(damaged("it is of a newer version"));
        }
        Ok(Some(record))
    }

    pub(crate) fn new(source: String, source_id: &Id) -> Self {
        let source_id = hex::encode(source_id);
        Self { format: FORMAT, source, source_id, ..Self::default() }
    }

    pub(crate) fn write(&self, dataset: &Path) -> Result<()> {
        let path = file(dataset);
        let text = toml_edit::ser::to_string_pretty(self)
            .map_err(|error| Failure::Other(format!("{}: {error}", path.display())))?;
        durable::replace(&path, text.as_bytes())
            .map_err(Failure::io("write", path.as_os_str().as_encoded_bytes()))
    }

    /// It is kept by the next write.
    pub(crate) fn stream_key(&mut self) -> Result<StreamKey> {
        match &self.stream_key {
            Some(key) => Ok(key.clone()),
            None => Ok(self.stream_key.insert(StreamKey::new()?).clone()),
        }
    }

    pub(crate) fn receiving(&self) -> Option<Receiving> {
        let part = self.part.as_ref()?;
        let base = part.base.as_ref().and_then(|base| hex::decode(base));
        Some(Receiving { id: hex::decode(&part.id)?, base, is_suspect: part.boot != boot() })
    }

    pub(crate) fn begin(&mut self, id: &Id, base: Option<&Id>) {
        let base = base.map(|base| hex::encode(base));
        self.part = Some(Part { id: hex::encode(id), base, boot: boot() });
    }

    /// A snapshot is complete, under this name.
    pub(crate) fn complete(&mut self, id: &Id, name: &str) {
        self.part = None;
        if self.find(id).is_none() {
            self.snapshots.push(DestinationSnapshot {
                id: hex::encode(id),
                name: name.into(),
                was: None,
                held: Vec::new(),
            });
        }
    }

    pub(crate) fn find(&self, id: &Id) -> Option<&DestinationSnapshot> {
        let id = hex::encode(id);
        self.snapshots.iter().find(|kept| kept.id == id)
    }

    /// Forgets snapshots that are not among these names.
    pub(crate) fn retain(&mut self, names: &[String]) {
        for kept in &mut self.snapshots {
            let is_there = |name: &String| names.contains(name);
            let first = first_name(&kept.id);
            let tries = [Some(first), Some(kept.name.clone()), kept.was.take()];
            if let Some(found) = tries.into_iter().flatten().find(is_there) {
                kept.name = found;
            }
        }
        self.snapshots.retain(|kept| names.contains(&kept.name));
    }

    /// The newest complete snapshot.
    pub(crate) fn newest(&self) -> Option<&DestinationSnapshot> {
        self.snapshots.last()
    }
}

/// The boot ID of the kernel; empty if it tells none.
pub(crate) fn boot() -> String {
    std::fs::read_to_string(BOOT).map(|id| id.trim().to_owned()).unwrap_or_default()
}
