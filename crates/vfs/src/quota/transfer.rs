//! A file that comes from the quotas of one folder to those of another.

use std::sync::Arc;

use super::{Charge, Meter, Quota};
use crate::{Error, Result};

/// A move that is being made. Without [`QuotaTransfer::commit`] nothing is counted.
pub(crate) struct QuotaTransfer {
    charge: Arc<Charge>,
    bytes: u64,
    /// The new meter, and its file system.
    place: (u32, Arc<Meter>),
    /// Quotas of the old place only.
    left: Vec<Arc<Quota>>,
    /// Quotas of the new place only, in which the space is reserved.
    joined: Vec<Arc<Quota>>,
}

impl QuotaTransfer {
    /// Reserves the space in the new place. `QuotaExceeded` if it does not fit.
    pub(crate) fn begin(
        (charge, bytes): (Arc<Charge>, u64),
        from: &Meter,
        (device, meter): (u32, &Arc<Meter>),
    ) -> Result<Self> {
        let (from, to, place) = (from.quotas(), meter.quotas(), (device, meter.clone()));
        let only = |mine: &[Arc<Quota>], others: &[Arc<Quota>]| -> Vec<Arc<Quota>> {
            let counted = mine.iter().filter(|quota| quota.is_counted());
            counted.filter(|quota| !others.iter().any(|other| Arc::ptr_eq(quota, other))).cloned().collect()
        };
        let mut transfer = Self { charge, bytes, place, left: only(&from, &to), joined: Vec::new() };
        for quota in only(&to, &from) {
            if !quota.reserve(bytes) {
                return Err(Error::QuotaExceeded);
            }
            transfer.joined.push(quota);
        }
        Ok(transfer)
    }

    /// The file has moved.
    pub(crate) fn commit(self) {
        let bytes = i64::try_from(self.bytes).unwrap_or(i64::MAX);
        // Clients that have changed the file may do so again.
        self.charge.move_to(self.place.clone());
        for (quotas, before, difference) in [(&self.left, self.bytes, -bytes), (&self.joined, 0, bytes)] {
            for quota in quotas {
                quota.touch(self.charge.file(), before);
                quota.add(difference);
            }
        }
    }
}

impl Drop for QuotaTransfer {
    fn drop(&mut self) {
        self.joined.iter().for_each(|quota| quota.release(self.bytes));
    }
}
