//! A lost server loses its sessions at the stores of the shares, before others take over.
//!
//! A process that was stopped may have data of clients in the memory of a store's client library, and a write on its way. After the
//! store has ended its sessions, nothing of that arrives any more. It also gives back at once what the process held there.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::membership::Member;

/// The file systems of shares with a `store`.
pub trait Stores: Send + Sync {
    /// How the stores know this process: no other process has this text, before or after it.
    fn identity(&self) -> String;

    /// Whether this server has such shares.
    fn are_used(&self) -> bool;

    /// Ends the sessions of the process with this identity at all stores. The call blocks.
    ///
    /// # Errors
    /// A store does not do it. The call is repeated.
    fn evict(&self, identity: &str) -> Result<(), String>;
}

/// A server without such shares.
pub struct NoStores;

impl Stores for NoStores {
    fn identity(&self) -> String {
        String::new()
    }

    fn are_used(&self) -> bool {
        false
    }

    fn evict(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// After this time the store itself has ended the sessions of a client from which it has not heard: `session_autoclose` of CephFS, 300 s
/// by default. An eviction that is not done by then is given up, so that a store that refuses it does not stop the cluster.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(300);
/// How long after a failure the store is asked again.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The evictions of lost servers that this server has begun.
pub(crate) struct Evictions {
    stores: Arc<dyn Stores>,
    begun: HashMap<u16, Eviction>,
}

struct Eviction {
    /// By [`crate::fence::now`].
    at: Duration,
    is_over: Arc<AtomicBool>,
}

impl Evictions {
    pub(crate) fn of(stores: Arc<dyn Stores>) -> Self {
        Self { stores, begun: HashMap::new() }
    }

    /// Those of the lost servers that may still write to a store. Begins to evict them.
    pub(crate) fn pending<'a>(&mut self, now: Duration, lost: &[&'a Member]) -> Vec<&'a Member> {
        self.begun.retain(|number, _| lost.iter().any(|member| member.number == *number));
        if !self.stores.are_used() {
            return Vec::new();
        }
        let with_stores = lost.iter().filter(|member| !member.stores.is_empty());
        with_stores.filter(|member| !self.is_over(now, member)).copied().collect()
    }

    fn is_over(&mut self, now: Duration, member: &Member) -> bool {
        let Some(eviction) = self.begun.get(&member.number) else {
            self.begin(now, member);
            return false;
        };
        if eviction.is_over.load(Ordering::Acquire) {
            return true;
        }
        let is_given_up = now.saturating_sub(eviction.at) >= GIVEN_UP_AFTER;
        if is_given_up {
            tracing::error!(
                server = member.name,
                "the lost server was not evicted by the store of the shares; the others take over without that"
            );
            eviction.is_over.store(true, Ordering::Release);
        }
        is_given_up
    }

    /// On a thread of its own: the store may not answer at all.
    fn begin(&mut self, at: Duration, member: &Member) {
        let (stores, name, identity) = (self.stores.clone(), member.name.clone(), member.stores.clone());
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let run = move || {
            while !over.load(Ordering::Acquire) {
                match stores.evict(&identity) {
                    Ok(()) => {
                        tracing::info!(server = name, "the store of the shares has evicted the lost server");
                        over.store(true, Ordering::Release);
                    }
                    Err(error) => {
                        tracing::warn!(server = name, error, "the lost server is not evicted yet");
                        thread::sleep(TRY_AGAIN_AFTER);
                    }
                }
            }
        };
        // Without a thread now, there may be one at the next look.
        if thread::Builder::new().name("evict".into()).spawn(run).is_ok() {
            self.begun.insert(member.number, Eviction { at, is_over });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use lock::Mutex;

    use super::*;
    use crate::ranks;

    /// A store that does what it is told, and notes who is evicted.
    struct ScriptedStore {
        answers: Mutex<mpsc::Receiver<Result<(), String>>, ranks::ClusterTrees>,
        evicted: mpsc::Sender<String>,
    }

    impl Stores for ScriptedStore {
        fn identity(&self) -> String {
            "own".into()
        }

        fn are_used(&self) -> bool {
            true
        }

        fn evict(&self, identity: &str) -> Result<(), String> {
            let _ = self.evicted.send(identity.to_owned()); // the test is over
            self.answers.lock().recv().unwrap_or(Ok(()))
        }
    }

    fn member(number: u16, stores: &str) -> Member {
        Member { number, name: format!("gate{number}"), stores: stores.into(), ..Member::default() }
    }

    fn until_none(evictions: &mut Evictions, lost: &[&Member]) {
        while !evictions.pending(Duration::ZERO, lost).is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_lost_server_is_pending_until_the_store_has_evicted_it() {
        let ((answer, answers), (evicted, told)) = (mpsc::channel(), mpsc::channel());
        let stores = Arc::new(ScriptedStore { answers: Mutex::new(answers), evicted });
        let mut evictions = Evictions::of(stores);
        let (lost, without) = (member(3, "three"), member(4, ""));
        let both = [&lost, &without];
        assert_eq!(evictions.pending(Duration::ZERO, &both), [&lost], "one has no store");
        assert_eq!(told.recv().unwrap(), "three");
        assert_eq!(evictions.pending(Duration::ZERO, &both), [&lost]);
        answer.send(Err("busy".into())).unwrap();
        assert_eq!(told.recv().unwrap(), "three", "again after a failure");
        answer.send(Ok(())).unwrap();
        until_none(&mut evictions, &both);
        assert!(told.try_recv().is_err(), "once it is done");
    }

    #[test]
    fn a_store_that_does_not_answer_does_not_stop_the_cluster_for_good() {
        let ((_answer, answers), (evicted, _told)) = (mpsc::channel(), mpsc::channel());
        let mut evictions = Evictions::of(Arc::new(ScriptedStore { answers: Mutex::new(answers), evicted }));
        let lost = member(3, "three");
        assert_eq!(evictions.pending(Duration::ZERO, &[&lost]), [&lost]);
        let almost = GIVEN_UP_AFTER.saturating_sub(Duration::from_secs(1));
        assert_eq!(evictions.pending(almost, &[&lost]), [&lost]);
        assert!(evictions.pending(GIVEN_UP_AFTER, &[&lost]).is_empty());
        assert!(evictions.pending(GIVEN_UP_AFTER, &[&lost]).is_empty());
    }

    #[test]
    fn nothing_is_pending_at_a_server_without_stores() {
        let lost = member(3, "three");
        assert!(Evictions::of(Arc::new(NoStores)).pending(Duration::ZERO, &[&lost]).is_empty());
    }
}
