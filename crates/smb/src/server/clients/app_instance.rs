//! Applications that move from one machine of a cluster to another, and take over what they had open: MS-SMB2 3.3.5.9.13.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use lock::Mutex;

use super::open::Open;
use crate::ranks;
use crate::server::context::Context;
use crate::wire::Status;
use crate::wire::create_context::request::Context as CreateContext;

/// Applications without opens are removed only from this many applications on.
const CLEAR_AT: usize = 64;
/// The most applications that the table has at a time.
const MOST: usize = 65_536;

/// What a CREATE says of the application.
#[derive(Clone, Copy)]
pub(in crate::server) struct Instance {
    id: [u8; 16],
    version: Option<(u64, u64)>,
}

impl Instance {
    /// From a request's create contexts.
    pub(in crate::server) fn of(asked: &[CreateContext<'_>]) -> Option<Self> {
        let id = asked.iter().find_map(|context| match *context {
            CreateContext::AppInstanceId(id) => Some(id),
            _ => None,
        })?;
        let version = asked.iter().find_map(|context| match *context {
            CreateContext::AppInstanceVersion { high, low } => Some((high, low)),
            _ => None,
        });
        Some(Self { id, version })
    }
}

/// The opens of applications, by the application.
#[derive(Default)]
pub(in crate::server) struct Instances {
    table: Mutex<HashMap<[u8; 16], Vec<InstanceOpen>>, ranks::SmbAppInstances>,
}

struct InstanceOpen {
    version: Option<(u64, u64)>,
    client_guid: [u8; 16],
    open: Weak<Open>,
}

impl Instances {
    /// Closes the application's opens of other clients. Refused when one of them belongs to a later
    /// start of the application.
    pub(in crate::server) fn take_over(&self, context: &Context, instance: Instance) -> Result<(), Status> {
        let (guid, share) = (context.session().client_guid, &context.tree().share);
        let mut others = Vec::new();
        for known in self.table.lock().get(&instance.id).into_iter().flatten() {
            let Some(open) = known.open.upgrade().filter(|open| Arc::ptr_eq(&open.tree.share, share)) else {
                continue;
            };
            if known.client_guid == guid {
                continue;
            }
            if known.version.zip(instance.version).is_some_and(|(theirs, ours)| ours <= theirs) {
                return Err(Status::FILE_FORCED_CLOSED);
            }
            others.push(open);
        }
        for open in others {
            context.service().durables.forget(&open);
            if let Some(session) = open.session.upgrade() {
                session.opens.remove(open.key);
            }
        }
        Ok(())
    }

    /// Records another open of the application.
    pub(in crate::server) fn add(
        &self,
        context: &Context,
        instance: Instance,
        open: &Arc<Open>,
    ) -> Result<(), Status> {
        let client_guid = context.session().client_guid;
        let mut table = self.table.lock();
        if table.len() >= CLEAR_AT && table.len().is_power_of_two() {
            table.retain(|_, opens| opens.iter().any(|known| known.open.strong_count() > 0));
        }
        if table.len() < MOST {
            let opens = table.entry(instance.id).or_default();
            opens.retain(|known| known.open.strong_count() > 0);
            opens.push(InstanceOpen { version: instance.version, client_guid, open: Arc::downgrade(open) });
        }
        Ok(())
    }
}
