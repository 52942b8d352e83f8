//! The contexts that clients have made: each is a login.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use auth::kerberos::SecurityContext;
use lock::{Mutex, RwLock};

use super::window::SequenceWindow;
use crate::ranks;
use crate::server::call::CallIdentity;

/// The most contexts. Of one client's host, each user has up to three: for krb5, krb5i and krb5p.
const CONTEXTS: usize = 16_384;
/// The most contexts that are made from one address; in tests fewer, which are made quickly.
pub(super) const CONTEXTS_OF_CLIENT: usize = if cfg!(test) { 16 } else { 4096 };
/// The bytes of a handle: the number of this run of the server, and that of the context.
const HANDLE: usize = 16;

/// A context.
pub(in crate::server) struct GssContext {
    pub(super) handle: [u8; HANDLE],
    /// Where it was made. Its calls may come from other addresses: a client may have several.
    client: IpAddr,
    /// The principal, with its realm.
    pub(in crate::server) principal: String,
    /// Stands for the principal where it is compared.
    pub(in crate::server) principal_hash: u64,
    /// The account, or `None`: it is a machine.
    pub(in crate::server) account: Option<String>,
    pub(in crate::server) identity: CallIdentity,
    pub(super) expires: Option<SystemTime>,
    /// When it was used last: a count of the uses of all contexts.
    used: AtomicU64,
    pub(super) state: Mutex<GssContextState, ranks::NfsContext>,
}

/// What changes with every call.
pub(super) struct GssContextState {
    pub(super) window: SequenceWindow,
    pub(super) security: Box<dyn SecurityContext>,
}

/// What a new context is made of.
pub(super) struct NewContext {
    pub(super) client: IpAddr,
    pub(super) principal: String,
    pub(super) account: Option<String>,
    pub(super) identity: CallIdentity,
    pub(super) expires: Option<SystemTime>,
    pub(super) security: Box<dyn SecurityContext>,
}

impl GssContext {
    pub(super) fn has_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }
}

/// All contexts.
pub(in crate::server) struct Contexts {
    /// Differs in each run of the server: contexts do not outlive it.
    run: [u8; 8],
    hashes: RandomState,
    numbers: AtomicU64,
    uses: AtomicU64,
    /// By their handles.
    table: RwLock<HashMap<[u8; HANDLE], Arc<GssContext>>, ranks::NfsContexts>,
}

impl Default for Contexts {
    fn default() -> Self {
        let hashes = RandomState::new();
        Self {
            run: hashes.hash_one("run").to_be_bytes(),
            hashes,
            numbers: AtomicU64::new(1),
            uses: AtomicU64::default(),
            table: RwLock::default(),
        }
    }
}

impl Contexts {
    /// The context of a handle.
    pub(super) fn of(&self, handle: &[u8]) -> Option<Arc<GssContext>> {
        let handle: &[u8; HANDLE] = handle.try_into().ok()?;
        let context = self.table.read().get(handle).cloned()?;
        context.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(context)
    }

    /// Adds a context. If there are too many, the one that was not used for the longest time goes: its client makes another.
    pub(super) fn add(&self, made: NewContext) -> Arc<GssContext> {
        let NewContext { client, principal, account, identity, expires, security } = made;
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut handle = [0; HANDLE];
        handle[..8].copy_from_slice(&self.run);
        handle[8..].copy_from_slice(&number.to_be_bytes());
        let context = Arc::new(GssContext {
            handle,
            client,
            principal_hash: self.hashes.hash_one(&principal),
            principal,
            account,
            identity,
            expires,
            used: AtomicU64::new(self.uses.fetch_add(1, Ordering::Relaxed)),
            state: Mutex::new(GssContextState { window: SequenceWindow::default(), security }),
        });
        let mut table = self.table.write();
        let of_client = || table.values().filter(|context| context.client == client).count();
        if table.len() >= CONTEXTS_OF_CLIENT && of_client() >= CONTEXTS_OF_CLIENT {
            remove_oldest(&mut table, |context| context.client == client);
        } else if table.len() >= CONTEXTS {
            remove_oldest(&mut table, |_| true);
        }
        table.insert(handle, context.clone());
        context
    }

    pub(super) fn remove(&self, context: &GssContext) {
        self.table.write().remove(&context.handle);
    }

    /// Removes contexts, and lets those stay that fit.
    pub(super) fn retain(&self, fits: impl Fn(&GssContext) -> bool) {
        self.table.write().retain(|_, context| fits(context));
    }
}

/// Removes an expired context, or the one that was not used for the longest time.
fn remove_oldest(table: &mut HashMap<[u8; HANDLE], Arc<GssContext>>, among: impl Fn(&GssContext) -> bool) {
    let now = SystemTime::now();
    let order = |context: &GssContext| (!context.has_expired(now), context.used.load(Ordering::Relaxed));
    let candidates = table.iter().filter(|(_, context)| among(context));
    if let Some(handle) = candidates.min_by_key(|(_, context)| order(context)).map(|(handle, _)| *handle) {
        table.remove(&handle);
    }
}
