//! The table of monitored hosts, and of NFSv4 clients that may reclaim, in the index of the state folder.

use std::io;

use redb::{ReadableTable, ReadableTableMetadata, TableDefinition};
use vfs::index::{Index, IndexError};

use super::HostTable;

/// Monitored host → what its monitor wants back.
const HOSTS: Table = TableDefinition::new("peers");
/// The name of a client of NFSv4 → nothing.
const CLIENTS: Table = TableDefinition::new("nfs4-clients");

/// The most hosts.
pub(super) const MAX: u64 = 16_384;
/// The longest host name or address, in bytes (`SM_MAXSTRLEN` of the status monitor protocol).
const HOST_MAX: usize = 1024;
/// The most bytes kept for a host.
const NOTE_MAX: usize = 4096;

type Table = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// Hosts or clients in the index of the state folder.
pub struct IndexHostTable(Index, Table);

impl IndexHostTable {
    /// The table of monitored hosts of this index.
    pub fn new(index: Index) -> Result<Self, IndexError> {
        Self::of(index, HOSTS)
    }

    /// The table of clients of NFSv4 of this index.
    pub fn of_clients(index: Index) -> Result<Self, IndexError> {
        Self::of(index, CLIENTS)
    }

    fn of(index: Index, table: Table) -> Result<Self, IndexError> {
        index.store().write(|transaction| Ok(transaction.open_table(table).map(drop)?))?;
        Ok(Self(index, table))
    }

    fn note(&self, host: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        self.0.store().read(|transaction| {
            let row = transaction.open_table(self.1)?.get(host)?;
            Ok(row.map(|note| note.value().to_vec()))
        })
    }

    fn put(&self, host: &[u8], note: &[u8]) -> Result<(), IndexError> {
        if host.len() > HOST_MAX || note.len() > NOTE_MAX {
            return Err(IndexError::TooLong);
        }
        if self.note(host)?.as_deref() == Some(note) {
            return Ok(());
        }
        let fits = self.0.store().write(|transaction| {
            let mut hosts = transaction.open_table(self.1)?;
            let fits = hosts.len()? < MAX || hosts.get(host)?.is_some();
            if fits {
                hosts.insert(host, note)?;
            }
            Ok(fits)
        })?;
        if fits { Ok(()) } else { Err(IndexError::TooMany) }
    }

    fn take(&self, host: &[u8]) -> Result<(), IndexError> {
        if self.note(host)?.is_none() {
            return Ok(());
        }
        self.0.store().write(|transaction| {
            transaction.open_table(self.1)?.remove(host)?;
            Ok(())
        })
    }
}

impl HostTable for IndexHostTable {
    fn add(&self, host: &[u8], note: &[u8]) -> io::Result<()> {
        self.put(host, note).map_err(io::Error::other)
    }

    fn remove(&self, host: &[u8]) -> io::Result<()> {
        self.take(host).map_err(io::Error::other)
    }

    /// In the order of their bytes.
    fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let all = self.0.store().read(|transaction| {
            let rows = transaction.open_table(self.1)?;
            let copied = rows.iter()?.map(|row| {
                let (host, note) = row?;
                Ok((host.value().to_vec(), note.value().to_vec()))
            });
            copied.collect()
        });
        all.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn table(folder: &Path) -> IndexHostTable {
        IndexHostTable::new(Index::open(folder).unwrap()).unwrap()
    }

    #[test]
    fn hosts_are_added_replaced_removed_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        {
            let hosts = table(folder.path());
            hosts.add(b"mac.local", b"one").unwrap();
            hosts.add(b"\x7f\0\0\x01", b"").unwrap();
            hosts.add(b"gone", b"x").unwrap();
            hosts.add(b"mac.local", b"two").unwrap();
            hosts.remove(b"gone").unwrap();
            hosts.remove(b"never there").unwrap();
        }
        let hosts = table(folder.path());
        let row = |host: &[u8], note: &[u8]| (host.to_vec(), note.to_vec());
        assert_eq!(hosts.all().unwrap(), [row(b"mac.local", b"two"), row(b"\x7f\0\0\x01", b"")]);
        assert!(matches!(hosts.put(&[b'x'; HOST_MAX + 1], b""), Err(IndexError::TooLong)));
        assert!(matches!(hosts.put(b"x", &[0; NOTE_MAX + 1]), Err(IndexError::TooLong)));
    }

    #[test]
    fn their_number_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = table(folder.path());
        let fill = |transaction: &redb::WriteTransaction| {
            let mut table = transaction.open_table(HOSTS)?;
            (0..MAX).try_for_each(|n| table.insert(&n.to_be_bytes()[..], &b"x"[..]).map(drop))?;
            Ok(())
        };
        hosts.0.store().write(fill).unwrap();
        assert!(matches!(hosts.put(b"one more", b""), Err(IndexError::TooMany)));
        hosts.put(&0u64.to_be_bytes(), b"replaced").unwrap();
        hosts.take(&1u64.to_be_bytes()).unwrap();
        hosts.put(b"one more", b"").unwrap();
    }
}
