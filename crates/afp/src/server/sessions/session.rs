//! Sessions: the user, and what the user has open.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use auth::{Grant, LoginRecord, SharePolicy, Visitor};
use lock::Mutex;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, ClientProfile};

use super::session_life::Life;
use super::session_notices::NoticeState;
use super::session_replies::RequestState;
use crate::ranks;
use crate::server::config::{Share, Version};
use crate::server::connection::Connection;
use crate::server::files::enumerate::Listings;
use crate::server::files::fork::Forks;
use crate::server::service::{Service, SessionInfo};
use crate::server::volumes::open_volume::{OpenVolume, Volumes};
use crate::server::volumes::search::Searches;
use crate::server::volumes::spotlight::SearchedVolumes;
use crate::wire::command;

/// What a Mac knows and expects: it brings Mac metadata along, and renames files that Macs have open.
const MAC: ClientProfile =
    ClientProfile { renames_open: true, is_blind_to_forks: false, reads_to_run: false };

/// The user of a session.
#[derive(Debug, Clone)]
pub(in crate::server) struct SessionUser {
    /// The account's name; `None` for a guest.
    pub(in crate::server) name: Option<String>,
    /// The identity of commands.
    pub(in crate::server) caller: Caller,
}

impl SessionUser {
    /// Whether both are the same user.
    pub(in crate::server) fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.caller.uid == other.caller.uid
    }
}

/// A session, with what it has open.
pub(in crate::server) struct Session {
    pub(in crate::server) id: u64,
    pub(in crate::server) service: Arc<Service>,
    pub(in crate::server) version: Version,
    pub(in crate::server) user: SessionUser,
    pub(in crate::server) volumes: Volumes,
    pub(in crate::server) forks: Forks,
    pub(in crate::server) listings: Listings,
    pub(in crate::server) searches: Searches,
    pub(in crate::server) spotlight: SearchedVolumes,
    /// Its identity in the tables of `vfs`.
    pub(in crate::server) client: ClientId,
    /// Its timeouts, and the reconnection of its client.
    pub(in crate::server) life: Life,
    /// The notifications to its client.
    pub(in crate::server) told: NoticeState,
    /// Its user has set a new password, and the accounts are about to be reloaded.
    pub(in crate::server) has_changed_password: AtomicBool,
    /// The key of a login by Kerberos, encrypted for the client.
    key: OnceLock<Vec<u8>>,
    connection: Mutex<Weak<Connection>, ranks::AfpConnection>,
    /// Logs the session's end.
    record: Mutex<Option<LoginRecord>, auth::LoginRecords>,
}

impl Session {
    pub(in crate::server) fn new(
        service: &Arc<Service>,
        id: u64,
        version: Version,
        user: SessionUser,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            service: service.clone(),
            version,
            user,
            volumes: Volumes::default(),
            forks: Forks::default(),
            listings: Listings::default(),
            searches: Searches::default(),
            spotlight: SearchedVolumes::default(),
            client: ClientId::unused(),
            life: Life::default(),
            told: NoticeState::default(),
            has_changed_password: AtomicBool::new(false),
            key: OnceLock::new(),
            connection: Mutex::default(),
            record: Mutex::default(),
        })
    }

    /// Keeps the login record, which will log the end.
    pub(in crate::server) fn record(&self, record: LoginRecord) {
        *self.record.lock() = Some(record);
    }

    /// Keeps the key of a login by Kerberos, encrypted for the client.
    pub(in crate::server) fn keep_key(&self, key: Vec<u8>) {
        let _ = self.key.set(key); // a session has one login
    }

    /// The key of a login by Kerberos, encrypted for the client.
    pub(in crate::server) fn key(&self) -> Option<&[u8]> {
        self.key.get().map(Vec::as_slice)
    }

    /// The actor for `vfs`.
    pub(in crate::server) fn actor(&self) -> Actor {
        Actor::new(self.user.caller.clone(), Party::client(self.client)).with_profile(MAC)
    }

    /// The session for `status`.
    pub(in crate::server) fn info(&self) -> SessionInfo {
        SessionInfo {
            client: self.client,
            user: self.user.name.clone(),
            peer: self.connection().map(|connection| connection.peer.address),
            version: self.version.name(),
            is_asleep: self.life.is_asleep(),
        }
    }

    /// The user's rights in a share; `None`: the user may not open it.
    pub(in crate::server) fn grant(&self, share: &Share) -> Option<Grant> {
        self.grant_by(&share.options.policy)
    }

    /// The user's rights by the rules of a share; `None`: the user may not open it.
    pub(in crate::server) fn grant_by(&self, policy: &SharePolicy) -> Option<Grant> {
        let address = self.connection()?.peer.address.ip();
        let is_member = |group| self.user.caller.in_group(group);
        let visitor = Visitor { account: self.user.name.as_deref(), is_member: &is_member, address };
        policy.grant(&visitor)
    }

    /// Its current connection, if there is one.
    pub(in crate::server) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.lock().upgrade()
    }

    /// Sets its current connection. Returns the former one, if it still exists.
    pub(in crate::server) fn connect(&self, connection: &Arc<Connection>) -> Option<Arc<Connection>> {
        std::mem::replace(&mut *self.connection.lock(), Arc::downgrade(connection)).upgrade()
    }

    /// Removes a connection. Answers whether it was the current one.
    pub(in crate::server) fn disconnect(&self, connection: &Connection) -> bool {
        let mut current = self.connection.lock();
        let was_it = std::ptr::eq(current.as_ptr(), connection);
        if was_it {
            *current = Weak::new();
        }
        was_it
    }

    /// Closes its connection, if it has one.
    pub(in crate::server) fn close(&self) {
        if let Some(connection) = self.connection() {
            connection.close();
        }
    }

    /// The stored state of a request, which may have been sent before.
    pub(in crate::server) fn replies_to(&self, id: u16, number: u8) -> Option<RequestState<'_>> {
        if self.version.is_3() && !command::properties(number).repeatable {
            self.told.changes(Instant::now());
        }
        self.life.replies.begin(id, number)
    }

    /// Its client is disconnected: what it has open stays open until another client needs it.
    pub(in crate::server) fn go_away(self: &Arc<Self>) {
        let leave = || {
            let away = |volume: Arc<OpenVolume>| {
                let me = Arc::downgrade(self);
                let give_way = move || {
                    if let Some(session) = me.upgrade() {
                        session.service.end_session(&session);
                    }
                };
                volume.tree().state().leave(self.client, Arc::new(give_way))
            };
            self.volumes.all().into_iter().map(away).collect()
        };
        self.life.go_away(|| self.connection().is_some(), leave);
    }

    /// Ends the session: what it has open is closed.
    pub(in crate::server) fn end(&self) {
        let record = self.record.lock().take();
        drop(record);
        self.forks.end();
        self.listings.end();
        self.searches.end();
        self.spotlight.end();
        self.volumes.close_all();
    }
}
