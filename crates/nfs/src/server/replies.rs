//! The reply cache. A client that gets no answer repeats its call. If a call must not be executed
//! twice (a second REMOVE would fail), the client gets the first reply again. Juszczak, "Improving
//! the Performance and Correctness of an NFS Server".

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use lock::Mutex;

use super::call::Call;
use super::v4::is_kept as v4_is_kept;
use crate::ranks;
use crate::wire::nlm;
use crate::wire::v3;
use crate::wire::v4;

/// The most replies that are kept, for all clients.
const KEPT: usize = 16_384;
/// A longer reply is not kept. None of these procedures has one.
const LONGEST: usize = 4_096;
const SHARDS: usize = 16;

/// Two calls with the same key are the same call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct CallKey {
    client: IpAddr,
    xid: u32,
    program: u32,
    procedure: u32,
    /// A hash of the arguments and the credential, because clients reuse an xid.
    digest: u64,
}

#[derive(Default)]
struct ReplyShard {
    replies: HashMap<CallKey, Option<Vec<u8>>>,
    order: VecDeque<CallKey>,
}

/// Replies to calls that must not be executed twice.
#[derive(Default)]
pub(crate) struct Replies {
    shards: [Mutex<ReplyShard, ranks::NfsReplies>; SHARDS],
}

/// The state of a call.
pub(crate) enum CallState<'a> {
    /// Its reply is not kept: executing it again does no harm.
    Repeatable,
    /// It is new. The caller executes it, then calls [`CallInProgress::finish`].
    New(CallInProgress<'a>),
    /// It was executed. This was the reply.
    Known(Vec<u8>),
    /// It is being executed.
    Running,
}

/// A call that is being executed. Dropping it unfinished forgets the call.
pub(crate) struct CallInProgress<'a> {
    shard: &'a Mutex<ReplyShard, ranks::NfsReplies>,
    key: CallKey,
    finished: bool,
}

impl Replies {
    /// The key of a call that must not be executed twice. `None` for any other.
    fn key_of(call: &Call<'_>) -> Option<CallKey> {
        let header = &call.header;
        let is_v4 = header.program == v3::PROGRAM && header.version == v4::VERSION;
        let is_kept =
            if is_v4 { v4_is_kept(call) } else { must_not_repeat(header.program, header.procedure) };
        is_kept.then(|| {
            let mut digest = DefaultHasher::new();
            call.arguments.hash(&mut digest);
            (call.identity.uid, call.identity.gid, call.origin.port, call.origin.datagram).hash(&mut digest);
            // What was answered over TLS, or to a login by Kerberos, is not repeated in clear or to others.
            (call.origin.protection as u8, call.flavor() as u8, call.principal_hash()).hash(&mut digest);
            CallKey {
                client: call.origin.address,
                xid: header.xid,
                program: header.program,
                procedure: header.procedure,
                digest: digest.finish(),
            }
        })
    }

    /// What is known of a call that is about to be executed.
    pub(crate) fn begin(&self, call: &Call<'_>) -> CallState<'_> {
        let Some(key) = Self::key_of(call) else { return CallState::Repeatable };
        let shard = &self.shards[key.digest as usize % SHARDS];
        let mut kept = shard.lock();
        match kept.replies.get(&key) {
            Some(Some(reply)) => return CallState::Known(reply.clone()),
            Some(None) => return CallState::Running,
            None => {}
        }
        if kept.order.len() >= KEPT / SHARDS
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.replies.remove(&oldest);
        }
        kept.order.push_back(key);
        kept.replies.insert(key, None);
        CallState::New(CallInProgress { shard, key, finished: false })
    }
}

impl CallInProgress<'_> {
    /// Keeps the reply.
    pub(crate) fn finish(mut self, reply: &[u8]) {
        if reply.len() <= LONGEST
            && let Some(slot) = self.shard.lock().replies.get_mut(&self.key)
        {
            *slot = Some(reply.to_vec());
            self.finished = true;
        }
    }
}

impl Drop for CallInProgress<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.shard.lock().replies.remove(&self.key);
        }
    }
}

/// Calls that change a name. Of locks, a LOCK that is repeated after its UNLOCK would lock for ever.
fn must_not_repeat(program: u32, procedure: u32) -> bool {
    use nlm::Procedure as Lock;
    match program {
        v3::PROGRAM => v3::Procedure(procedure).is_executed_once(),
        nlm::PROGRAM => matches!(
            Lock(procedure),
            Lock::LOCK | Lock::CANCEL | Lock::UNLOCK | Lock::NM_LOCK | Lock::SHARE | Lock::UNSHARE
        ),
        _ => false,
    }
}
