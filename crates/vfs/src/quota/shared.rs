//! A quota that several servers count together: each counts what its own clients change, and is told the rest.
//!
//! A server that counts all files has to know which of them others change meanwhile, and what they counted with before that. So the
//! others *follow*: they note the files that their clients change, and tell them when they are asked. What the counting server has
//! found waits for their answers, and only then counts:
//!
//! ```text
//! others: follow ──────────── changes ─────► told ──► changes ─────► told ──► end
//! here:      └─► begin ─► find 65,536 files ─► ask, count them ─► find more ─► ask, count them ─► finish
//! ```
//!
//! A file that was found after another server had begun to change it is in an answer to a later question, so it counts with what it
//! took before the change. A file that two servers change at the same moment may be counted with a part of that change
//! twice or not at all, until the next recount.

use std::sync::atomic::Ordering;

use super::{Changes, Others, Quota, Recount};
use crate::Result;

/// How many files a counting server finds before it asks the others.
const MOST_FOUND: usize = 1 << 16;

impl Quota {
    /// Other servers change files of the folder, too, from now on. This total is added to [`own`](Self::own), not to what is
    /// used, which is not exact.
    pub fn share(&self, total: i64) {
        self.own.fetch_add(total, Ordering::SeqCst);
        self.elsewhere.fetch_sub(total, Ordering::SeqCst);
        self.exact.store(false, Ordering::SeqCst);
        self.is_shared.store(true, Ordering::SeqCst);
    }

    /// Whether other servers change files of the folder, too.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Acquire)
    }

    /// What clients of this server have changed since it counts.
    #[must_use]
    pub fn own(&self) -> i64 {
        self.own.load(Ordering::Acquire)
    }

    /// What is used without [`own`](Self::own), and whether all files were counted.
    pub fn set_elsewhere(&self, bytes: i64, is_exact: bool) {
        self.elsewhere.store(bytes, Ordering::Release);
        self.exact.store(is_exact, Ordering::Relaxed);
    }

    /// What was known before without [`own`](Self::own).
    #[must_use]
    pub fn elsewhere(&self) -> i64 {
        self.elsewhere.load(Ordering::Acquire)
    }

    /// Not all servers can be told of changes: this one may use a part of what is left, one in so many. `None`: they can.
    pub fn divide(&self, servers: Option<u64>) {
        let limit = self.limit();
        let cap = match servers {
            None => u64::MAX,
            Some(_) if self.cap.load(Ordering::Relaxed) != u64::MAX => return, // it counts since then
            Some(servers) => {
                let sum = self.sum();
                sum.saturating_add(limit.saturating_sub(sum) / servers.max(1))
            }
        };
        self.cap.store(cap, Ordering::Relaxed);
    }

    /// Another server begins to count the files: what clients of this one change is noted. Returns [`own`](Self::own).
    pub fn follow(&self) -> i64 {
        let mut recount = self.recount.lock();
        self.recounting.store(true, Ordering::SeqCst);
        let own = self.own.load(Ordering::SeqCst);
        *recount = Some(Recount::default());
        own
    }

    /// What clients of this server have changed since it follows, and since it was asked last. Nothing if it does not.
    #[must_use]
    pub fn followed(&self) -> Changes {
        self.recount.lock().as_mut().map(Recount::take_changed).unwrap_or_default()
    }

    /// The other server has finished.
    pub fn unfollow(&self) {
        self.give_up_recount();
    }

    /// Asks the other servers if enough files were found, or all were.
    pub(crate) fn ask_others<'o>(&self, others: Option<&mut (dyn Others + 'o)>, is_last: bool) -> Result<()> {
        let Some(others) = others else { return Ok(()) };
        let waiting = self.recount.lock().as_ref().map_or(0, Recount::waiting);
        if waiting < MOST_FOUND && !is_last {
            return Ok(());
        }
        let changes = others.changed()?;
        self.recount.lock().iter_mut().for_each(|recount| recount.settle(&changes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::quota::{BLOCK, Footprint, Meter, RecountResult};
    use crate::{Error, FileId};

    fn shared(limit: u64) -> (Arc<Quota>, Meter) {
        let quota = Arc::new(Quota::counted(limit, Some((0, true))));
        quota.share(0);
        let meter = Meter::default();
        meter.set(vec![quota.clone()]);
        (quota, meter)
    }

    fn now(blocks: u64) -> impl Fn() -> Result<Footprint> {
        move || Ok(Footprint { size: blocks * BLOCK, bytes: blocks * BLOCK, links: 1 })
    }

    #[test]
    fn what_others_use_counts_and_what_they_give_back_is_free() {
        let (quota, meter) = shared(100);
        meter.add(30);
        quota.set_elsewhere(60, true);
        assert_eq!((quota.used(), quota.is_exact()), (Some(90), true));
        assert_eq!(meter.reserve(11).err(), Some(Error::QuotaExceeded));
        quota.set_elsewhere(-10, true); // clients of this server have written what those of others have removed
        assert_eq!(quota.used(), Some(20));
        assert!(meter.reserve(80).is_ok());
    }

    #[test]
    fn a_server_that_is_cut_off_uses_its_part_only() {
        let (quota, meter) = shared(1000);
        quota.set_elsewhere(400, true);
        quota.divide(Some(3));
        meter.add(100);
        quota.divide(Some(3)); // of what was left when it began
        assert!(meter.reserve(100).is_ok() && meter.reserve(101).is_err());
        quota.divide(None);
        assert!(meter.reserve(500).is_ok());
    }

    #[test]
    fn what_another_server_has_changed_of_a_file_is_not_counted_here() {
        let (quota, meter) = shared(u64::MAX);
        let charge = meter.charge(FileId::new(1, 7));
        charge.begin(&meter, false, now(1)).unwrap();
        charge.settle(&meter, false, now(2));
        assert!(!charge.is_dense_to(1), "another server may cut it");
        charge.begin(&meter, false, now(5)).unwrap(); // three blocks of another server
        meter.charge(FileId::new(1, 7)).begin(&meter, false, now(6)).unwrap(); // while the first change is made
        charge.settle(&meter, false, now(6));
        charge.settle(&meter, false, now(6));
        assert_eq!(quota.own(), (2 * BLOCK).cast_signed());
    }

    /// Another server, which changes what the test says.
    struct Other(Vec<Changes>);

    impl Others for Other {
        fn changed(&mut self) -> Result<Changes> {
            Ok(self.0.pop().unwrap_or(Changes { files: Vec::new(), is_whole: true }))
        }
    }

    #[test]
    fn a_recount_is_exact_while_another_server_changes_files() {
        let (quota, meter) = shared(u64::MAX);
        let id = |inode| FileId::new(1, inode);
        let mut other = Other(vec![Changes {
            // Found before and after it has changed; removed before it was found; found, and removed later.
            files: vec![(1, 10), (2, 20), (3, 30), (4, 40)],
            is_whole: true,
        }]);
        meter.add(7);
        quota.begin_recount();
        quota.visit(id(1), 10);
        quota.visit(id(2), 25);
        quota.visit(id(4), 40);
        meter.touch(id(5), 50);
        quota.visit(id(5), 51);
        quota.visit(id(6), 60);
        quota.ask_others(Some(&mut other), false).unwrap();
        assert_eq!(other.0.len(), 1, "few files were found");
        quota.ask_others(Some(&mut other), true).unwrap();
        let counted = quota.finish_recount();
        assert_eq!(counted, RecountResult { bytes: 10 + 20 + 30 + 40 + 50 + 60, own: 7, is_exact: true });
        assert_eq!(quota.used(), Some(7), "the servers agree on it first");
    }

    #[test]
    fn a_server_that_follows_tells_each_change_once_and_what_it_cannot_tell() {
        let (quota, meter) = shared(u64::MAX);
        meter.touch(FileId::new(1, 1), 5);
        meter.add(12);
        assert_eq!(quota.follow(), 12);
        meter.touch(FileId::new(1, 2), 20);
        meter.touch(FileId::new(1, 2), 25);
        assert_eq!(quota.followed(), Changes { files: vec![(2, 20)], is_whole: true });
        assert_eq!(quota.followed(), Changes { files: Vec::new(), is_whole: true });
        meter.spoil();
        assert!(!quota.followed().is_whole);
        quota.unfollow();
        assert_eq!(quota.followed(), Changes::default(), "which is not whole");
    }
}
