//! Memory that was set aside for one reply or message. Dropping it gives it back.

use std::sync::Arc;

use super::{Allowance, BudgetCharge};

/// Memory that is set aside for a reply or a message. Gives it back when dropped.
#[derive(Debug, Default)]
pub struct Reservation {
    pub(super) of: Option<Arc<Allowance>>,
    pub(super) charge: BudgetCharge,
    /// It waits for the client, which may be ended for that.
    pub(super) is_owed: bool,
}

impl Reservation {
    /// Bytes that are set aside.
    pub fn bytes(&self) -> usize {
        self.charge.total()
    }

    /// Adds another one of the same client.
    pub fn join(&mut self, mut other: Self) {
        let (charge, was_owed) = (std::mem::take(&mut other.charge), other.is_owed);
        if self.of.is_none() {
            (self.of, self.is_owed) = (other.of.take(), was_owed);
        } else if let (Some(of), true) = (&self.of, self.is_owed != was_owed) {
            match self.is_owed {
                true => of.owe(charge.total()),
                false => of.disown(charge.total()),
            }
        }
        self.charge = self.charge.plus(charge);
    }

    /// From now on it is for something that the client has to do: send the rest of a message.
    pub(crate) fn begin_owing(&mut self) {
        if let (Some(of), false) = (&self.of, self.is_owed) {
            of.owe(self.charge.total());
            self.is_owed = true;
        }
    }

    /// From now on it is for something that the server has to do.
    pub(crate) fn end_owing(&mut self) {
        if let (Some(of), true) = (&self.of, self.is_owed) {
            of.disown(self.charge.total());
            self.is_owed = false;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.end_owing();
        if let Some(of) = &self.of {
            of.release(std::mem::take(&mut self.charge));
        }
    }
}

/// What is charged for the replies that wait in an outbox.
#[derive(Debug)]
pub(crate) struct OutboxCharge {
    of: Arc<Allowance>,
    charge: BudgetCharge,
}

impl OutboxCharge {
    pub(crate) fn new(of: Arc<Allowance>) -> Self {
        Self { of, charge: BudgetCharge::default() }
    }

    /// A reply for which this was reserved is in the queue now.
    pub(crate) fn take_over(&mut self, mut reserved: Reservation) {
        reserved.begin_owing();
        self.charge = self.charge.plus(std::mem::take(&mut reserved.charge));
        reserved.of = None;
    }

    /// The replies that wait take so many bytes.
    pub(crate) fn settle(&mut self, bytes: usize) {
        self.of.settle(&mut self.charge, bytes);
    }
}

impl Drop for OutboxCharge {
    fn drop(&mut self) {
        self.settle(0);
    }
}
