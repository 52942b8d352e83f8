//! The logins of one connection that need more messages.

use std::collections::HashMap;
use std::sync::Arc;

use lock::Mutex;

use super::crypto::preauth::Preauth;
use super::exchange::Exchange;
use crate::ranks;
use crate::wire::Status;

/// The most logins in progress on one connection.
const MAX_LOGINS: usize = 16;

/// Logins in progress on one connection, by session id.
#[derive(Default)]
pub(in crate::server) struct LoginTable {
    table: Mutex<HashMap<u64, Arc<Mutex<LoginInProgress, ranks::SmbSetup>>>, ranks::SmbSetups>,
}

/// A login in progress.
pub(super) struct LoginInProgress {
    pub(super) exchange: Exchange,
    pub(super) preauth: Preauth,
}

impl LoginTable {
    /// Whether a login of this number is in progress.
    pub(super) fn has(&self, id: u64) -> bool {
        self.table.lock().contains_key(&id)
    }

    /// Returns the login with this number. A new one begins with `negotiated`, the preauthentication hash of the connection.
    pub(super) fn entry(
        &self,
        id: u64,
        negotiated: &Preauth,
        new: bool,
    ) -> Result<Arc<Mutex<LoginInProgress, ranks::SmbSetup>>, Status> {
        let mut table = self.table.lock();
        if let Some(entry) = table.get(&id) {
            return Ok(entry.clone());
        }
        if table.len() >= MAX_LOGINS {
            return Err(if new { Status::INSUFFICIENT_RESOURCES } else { Status::REQUEST_NOT_ACCEPTED });
        }
        let preauth = Preauth::from(negotiated.value());
        let entry = Arc::new(Mutex::new(LoginInProgress { exchange: Exchange::default(), preauth }));
        table.insert(id, entry.clone());
        Ok(entry)
    }

    /// The login of this number has ended.
    pub(super) fn forget(&self, id: u64) {
        self.table.lock().remove(&id);
    }
}
