//! Who is logged in, and what they have open.

use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller};

use super::config::{Share, Version};
use super::connection::Connection;
use super::fork::Forks;
use super::open_volume::Volumes;
use super::service::Service;

/// Who somebody is.
#[derive(Debug, Clone)]
pub(super) struct User {
    /// The account's name; `None` for a guest.
    pub(super) name: Option<String>,
    /// As whom commands act.
    pub(super) caller: Caller,
}

impl User {
    /// Whether they may use a share at all.
    pub(super) fn may_enter(&self, share: &Share) -> bool {
        let options = &share.options;
        let Some(name) = &self.name else { return options.guests };
        let is_open = options.users.is_empty() && options.groups.is_empty();
        let listed = options.users.iter().any(|user| user.eq_ignore_ascii_case(name));
        let member = options.groups.iter().any(|group| self.caller.in_group(*group));
        is_open || listed || member || options.guests
    }
}

/// A login, with what it has.
pub(super) struct Session {
    pub(super) id: u64,
    pub(super) service: Arc<Service>,
    pub(super) version: Version,
    pub(super) user: User,
    /// When it began.
    pub(super) started: Instant,
    pub(super) volumes: Volumes,
    pub(super) forks: Forks,
    /// Who it is in the tree's tables.
    pub(super) client: ClientId,
    connection: Mutex<Weak<Connection>>,
}

impl Session {
    pub(super) fn new(service: &Arc<Service>, id: u64, version: Version, user: User) -> Arc<Self> {
        Arc::new(Self {
            id,
            service: service.clone(),
            version,
            user,
            started: Instant::now(),
            volumes: Volumes::default(),
            forks: Forks::default(),
            client: ClientId::unused(),
            connection: Mutex::default(),
        })
    }

    /// Who acts.
    pub(super) fn actor(&self) -> Actor {
        Actor::new(self.user.caller.clone(), Party::client(self.client))
    }

    /// The connection that it is used over, while there is one.
    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.lock().upgrade()
    }

    /// It is used over this connection from now on.
    pub(super) fn connect(&self, connection: &Arc<Connection>) {
        *self.connection.lock() = Arc::downgrade(connection);
    }

    /// It is over: what it has open is given back.
    pub(super) fn end(&self) {
        self.forks.end();
        self.volumes.close_all();
    }
}
