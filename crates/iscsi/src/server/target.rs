//! Targets: what initiators log in to.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::scsi::LogicalUnit;

/// The one portal group that every target has.
pub const PORTAL_GROUP: u16 = 1;

/// A target.
pub struct Target {
    /// Its iSCSI name.
    pub name: String,
    /// Its logical units by number.
    units: RwLock<BTreeMap<u16, Arc<LogicalUnit>>>,
}

impl Target {
    /// A target without units.
    pub fn new(name: &str) -> Arc<Self> {
        Arc::new(Self { name: name.into(), units: RwLock::default() })
    }

    /// The unit of a number.
    pub fn unit(&self, number: u16) -> Option<Arc<LogicalUnit>> {
        self.units.read().get(&number).cloned()
    }

    /// All of them, ascending.
    pub fn units(&self) -> Vec<(u16, Arc<LogicalUnit>)> {
        self.units.read().iter().map(|(number, unit)| (*number, unit.clone())).collect()
    }

    /// Gives it other units.
    pub fn set_units(&self, units: BTreeMap<u16, Arc<LogicalUnit>>) {
        *self.units.write() = units;
    }
}
