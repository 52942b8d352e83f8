//! How a server gets to the ids of its cluster: it takes them over, or gives its own to the others.

use vfs::LastingKey;
use vfs::index::IndexError;

use super::logs::{self, PART};
use super::record::IdRecord;
use super::{CatalogId, SharedIds, Work, local, shared};
use crate::catalogue::ledger::{ALL, KEYS};

/// Some ids, with their files.
type Rows = Vec<(CatalogId, LastingKey)>;

impl SharedIds {
    /// The lineage. What the index has of another one is forgotten, or told to the others if there are no ids yet.
    pub(super) fn begin(&self, work: &mut Work) -> Result<[u8; 16], IndexError> {
        let ledger = self.ledger()?;
        self.index.flush()?;
        let store = self.index.store();
        let before = local::lineage(store)?;
        let known = match self.servers.lineage().map_err(shared)? {
            Some(known) => known,
            None => {
                if let Some(old) = before {
                    // etcd has lost its data, not the shares theirs: but file systems may have got other numbers.
                    work.lineage = Some(old);
                    let mut here = work.systems.out.keys().copied();
                    work.systems.before = Some(here.next().filter(|_| here.next().is_none()));
                    self.read_on(work, true)?;
                    work.systems.before = None;
                    self.index.flush()?;
                }
                let mut own = [0; 16];
                getrandom::fill(&mut own).map_err(shared)?;
                let lineage = self.offer(work, own)?;
                if lineage == own {
                    local::set_lineage(store, Some(own))?;
                    return Ok(own);
                }
                lineage
            }
        };
        if before != Some(known) {
            let count = local::clear(store)?;
            ledger.clear();
            local::set_lineage(store, Some(known))?;
            if count > 0 {
                tracing::warn!(
                    count,
                    "the ids of files for Macs that this server gave outside its cluster do not count any more: it takes \
                     those of the cluster"
                );
            }
        }
        Ok(known)
    }

    /// Tells the others what this server has given alone, and then that this is the lineage. Returns the one that counts.
    fn offer(&self, work: &mut Work, own: [u8; 16]) -> Result<[u8; 16], IndexError> {
        let ledger = self.ledger()?;
        work.lineage = Some(own);
        let mut from = 0;
        while let Some(rows) = self.rows(from)? {
            let Some((last, _)) = rows.last() else { break };
            from = last.0.saturating_add(1);
            let named = |(id, file): &(CatalogId, LastingKey)| (*id, work.systems.named(file));
            let record = |(id, named)| IdRecord { id, turn: 0, named };
            let records: Vec<_> = rows.iter().map(named).map(record).collect();
            self.tell(work, &records)?;
        }
        let lineage = self.servers.begin(own, ledger.next()).map_err(shared)?;
        if lineage != own
            && let Some(log) = work.own.take()
            && let Some(place) = work.main()
        {
            let _ = logs::remove(&place.volume, &log.name); // what stays is never read
        }
        Ok(lineage)
    }

    /// Ids of the index from this one on, with their files. `None`: there are no more.
    fn rows(&self, from: u32) -> Result<Option<Rows>, IndexError> {
        let rows = self.index.store().read(|transaction| {
            let (keys, mut rows) = (transaction.open_table(KEYS)?, Vec::new());
            for row in keys.range((ALL, from)..=(ALL, u32::MAX))?.take(PART as usize) {
                let (id, key) = row?;
                let file = LastingKey::from_bytes(key.value());
                rows.extend(file.map(|file| (CatalogId(id.value().1), file)));
            }
            Ok(rows)
        })?;
        Ok((!rows.is_empty()).then_some(rows))
    }
}
