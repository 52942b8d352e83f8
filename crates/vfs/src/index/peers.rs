use std::sync::Arc;

use redb::{ReadableTable, ReadableTableMetadata};

use super::IndexError;
use super::store::PEERS;
use super::writer::Core;

/// A monitored host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name or address.
    pub host: Vec<u8>,
    /// What is kept for it.
    pub note: Vec<u8>,
}

/// The hosts that are to be told when this server starts again, each with some bytes for whoever tells them. What
/// `add` and `remove` did is on the disk when they return, so they wait for it.
#[derive(Clone)]
pub struct Peers {
    core: Arc<Core>,
}

impl Peers {
    /// The most hosts.
    pub const MAX: u64 = 16_384;
    /// The longest host name or address, in bytes (`SM_MAXSTRLEN` of the status monitor protocol).
    pub const HOST_MAX: usize = 1024;
    /// The most bytes kept for a host.
    pub const NOTE_MAX: usize = 4096;

    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// Adds the host, or replaces its note. Costs no write when nothing changes.
    pub fn add(&self, host: &[u8], note: &[u8]) -> Result<(), IndexError> {
        if host.len() > Self::HOST_MAX || note.len() > Self::NOTE_MAX {
            return Err(IndexError::TooLong);
        }
        if self.note(host)?.as_deref() == Some(note) {
            return Ok(());
        }
        let fits = self.core.books.store.write(|transaction| {
            let mut peers = transaction.open_table(PEERS)?;
            let fits = peers.len()? < Self::MAX || peers.get(host)?.is_some();
            if fits {
                peers.insert(host, note)?;
            }
            Ok(fits)
        })?;
        if fits { Ok(()) } else { Err(IndexError::TooMany) }
    }

    /// Removes the host; no error when it is not there.
    pub fn remove(&self, host: &[u8]) -> Result<(), IndexError> {
        if self.note(host)?.is_none() {
            return Ok(());
        }
        self.core.books.store.write(|transaction| {
            transaction.open_table(PEERS)?.remove(host)?;
            Ok(())
        })
    }

    /// What is kept for the host.
    pub fn note(&self, host: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        self.core.books.store.read(|transaction| {
            let row = transaction.open_table(PEERS)?.get(host)?;
            Ok(row.map(|note| note.value().to_vec()))
        })
    }

    /// All hosts with their notes, in the order of their bytes.
    pub fn all(&self) -> Result<Vec<Peer>, IndexError> {
        self.core.books.store.read(|transaction| {
            let rows = transaction.open_table(PEERS)?;
            let copied = rows.iter()?.map(|row| {
                let (host, note) = row?;
                Ok(Peer { host: host.value().to_vec(), note: note.value().to_vec() })
            });
            copied.collect()
        })
    }
}
