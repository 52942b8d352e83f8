//! The ids that earlier versions of this program gave: each volume counted its own, by the keys of files in that volume.
//!
//! When a volume is opened, its files take their ids with them into the one ledger. A file that has an id there already
//! keeps that one; a number that another file has there is lost, and the file gets a new one when it is seen. New
//! numbers are above all that an earlier version may have given (see [`Ledger::open`](super::ledger::Ledger::open)). So
//! no number ever belongs to two files.

use redb::{ReadableTable, Table, WriteTransaction};
use vfs::index::IndexError;
use vfs::{HostKey, LastingKey};

use super::Catalogue;
use super::ledger::{ALL, IDS, KEYS};
use super::places::PLACES;

/// So many rows are read at a time.
const ROWS: usize = 16_384;

impl Catalogue {
    /// Takes over the ids that an earlier version gave to files of this volume. Ids of files that have no lasting key now,
    /// as their file system is not mounted, are lost.
    pub fn take_earlier_ids(
        &self,
        lasting_key: impl Fn(&HostKey) -> Option<LastingKey>,
    ) -> Result<(), IndexError> {
        let tag = self.volume.0;
        let has_none = self.index.store().read(|transaction| {
            let keys = transaction.open_table(KEYS)?;
            Ok(keys.range((tag, 0)..=(tag, u32::MAX))?.next().is_none())
        })?;
        if has_none {
            return Ok(());
        }
        self.index.flush()?; // the ids that files of other volumes got meanwhile
        let (taken, lost) = self.index.store().write(|transaction| take(transaction, tag, &lasting_key))?;
        tracing::info!(taken, lost, "took over catalogue ids of an earlier version");
        Ok(())
    }
}

/// Moves the rows of one volume. Returns how many ids were taken over, and how many are lost.
fn take(
    transaction: &WriteTransaction,
    tag: u32,
    lasting_key: &impl Fn(&HostKey) -> Option<LastingKey>,
) -> Result<(usize, usize), redb::Error> {
    let (mut ids, mut keys) = (transaction.open_table(IDS)?, transaction.open_table(KEYS)?);
    let mut places = transaction.open_table(PLACES)?;
    let (mut taken, mut all, mut next) = (0, 0, Some(0));
    while let Some(from) = next {
        let rows = rows(&keys, tag, from)?;
        next = rows.last().and_then(|(id, _)| id.checked_add(1));
        all += rows.len();
        for (id, key) in rows {
            let Some(key) = key.and_then(|key| lasting_key(&key)).map(|key| key.to_bytes()) else { continue };
            if ids.get((ALL, &key[..]))?.is_some() || keys.get((ALL, id))?.is_some() {
                continue;
            }
            ids.insert((ALL, &key[..]), id)?;
            keys.insert((ALL, id), &key[..])?;
            let place = places.get((tag, id))?.map(|place| (place.value().0, place.value().1.to_vec()));
            // The volume's own folder had no other number than 2, which says nothing here.
            if let Some((folder, name)) = place.filter(|(folder, _)| *folder > 2) {
                places.insert((ALL, id), (folder, &name[..]))?;
            }
            taken += 1;
        }
    }
    keys.retain_in((tag, 0)..=(tag, u32::MAX), |_, _| false)?;
    places.retain_in((tag, 0)..=(tag, u32::MAX), |_, _| false)?;
    match tag.checked_add(1) {
        Some(end) => ids.retain_in((tag, &[][..])..(end, &[][..]), |_, _| false)?,
        None => ids.retain_in((tag, &[][..]).., |_, _| false)?,
    }
    Ok((taken, all - taken))
}

type Row = (u32, Option<HostKey>);

fn rows(keys: &Table<'_, (u32, u32), &'static [u8]>, tag: u32, from: u32) -> Result<Vec<Row>, redb::Error> {
    let rows = keys.range((tag, from)..=(tag, u32::MAX))?.take(ROWS);
    rows.map(|row| row.map(|(id, key)| (id.value().1, HostKey::new(key.value()))))
        .map(|row| Ok(row?))
        .collect()
}
