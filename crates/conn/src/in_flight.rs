//! The message that a connection's reader answers now, and what it is about.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use crate::stall::Watchdog;

/// What a message is about (a file), as a hash. Two files of one hash only share the permits of a stuck file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RequestSubject(u32);

impl RequestSubject {
    /// Not declared.
    pub(crate) const NONE: Self = Self(0);

    fn of(subject: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        subject.hash(&mut hasher);
        Self((hasher.finish() as u32).max(1))
    }
}

/// The number of the message that the reader of a connection is polling, in the upper half, and its subject in the lower
/// half. 0 while it polls none. Both change in one step, so a message never gets the subject of another one.
#[derive(Default)]
pub(crate) struct PolledMessage(AtomicU64);

impl PolledMessage {
    /// The number of the message, or 0 for none.
    pub(crate) fn number(&self) -> u32 {
        number_of(self.0.load(Ordering::Acquire))
    }

    /// The subject of a message, while the reader polls it.
    fn subject(&self, number: u32) -> Option<RequestSubject> {
        let word = self.0.load(Ordering::Acquire);
        (number_of(word) == number).then_some(RequestSubject(word as u32))
    }

    pub(crate) fn begin(&self, number: u32) {
        self.0.store(u64::from(number) << 32, Ordering::Release);
    }

    /// Sets the subject. False if the reader does not poll this message now.
    fn declare(&self, number: u32, subject: RequestSubject) -> bool {
        self.replace(number, u64::from(number) << 32 | u64::from(subject.0)).is_some()
    }

    /// Ends the message, whose subject this was. `None`: the reader does not poll it any more.
    pub(crate) fn end(&self, number: u32) -> Option<RequestSubject> {
        self.replace(number, 0).map(|word| RequestSubject(word as u32))
    }

    fn replace(&self, number: u32, by: u64) -> Option<u64> {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            if number_of(word) != number {
                return None;
            }
            match self.0.compare_exchange_weak(word, by, Ordering::AcqRel, Ordering::Acquire) {
                Ok(word) => return Some(word),
                Err(changed) => word = changed,
            }
        }
    }
}

fn number_of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// A message that is being answered, as its protocol sees it. The default is one that came over no connection: it may block
/// the thread that polls it.
#[derive(Clone, Default)]
pub struct InFlight(Option<Reader>);

#[derive(Clone)]
struct Reader {
    current: Arc<PolledMessage>,
    watchdog: Arc<Watchdog>,
    number: u32,
}

impl InFlight {
    pub(crate) fn new(current: &Arc<PolledMessage>, watchdog: &Arc<Watchdog>, number: u32) -> Self {
        let (current, watchdog) = (current.clone(), watchdog.clone());
        Self(Some(Reader { current, watchdog, number }))
    }

    /// A message of a test that polls it instead of a connection's reader.
    pub fn of_test(watchdog: &Arc<Watchdog>) -> Self {
        let current = Arc::new(PolledMessage::default());
        current.begin(1);
        Self::new(&current, watchdog, 1)
    }

    /// What the message was declared to be about, as a hash, while it is polled for the first time.
    pub fn declared(&self) -> Option<u32> {
        let reader = self.0.as_ref()?;
        reader
            .current
            .subject(reader.number)
            .filter(|subject| *subject != RequestSubject::NONE)
            .map(|subject| subject.0)
    }

    /// As [`InFlight::about`], for what cannot wait. False: a thread is stuck with this subject.
    pub fn may_begin(&self, subject: &impl Hash) -> bool {
        let Some(reader) = &self.0 else { return true };
        let subject = RequestSubject::of(subject);
        reader.current.declare(reader.number, subject) && !reader.watchdog.stuck().has(subject)
    }

    /// Says what the rest of the answer is about: the file whose disk it may wait for. To be awaited before the first access
    /// to that file. While a thread is stuck with this subject, the rest of the answer runs on the blocking pool.
    pub async fn about(&self, subject: &impl Hash) {
        let Some(reader) = &self.0 else { return };
        let subject = RequestSubject::of(subject);
        let is_stuck =
            || reader.current.declare(reader.number, subject) && reader.watchdog.stuck().has(subject);
        if is_stuck() {
            // Pending as long as the reader polls it: `Connection::answer` then moves it.
            std::future::poll_fn(|context| match is_stuck() {
                true => {
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                false => Poll::Ready(()),
            })
            .await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_belongs_to_the_message_that_is_polled() {
        let current = PolledMessage::default();
        let (one, two) = (RequestSubject::of(&1), RequestSubject::of(&2));
        current.begin(7);
        assert_eq!(current.number(), 7);
        assert!(!current.declare(6, two));
        assert!(current.declare(7, one));
        assert_eq!(current.end(6), None);
        assert_eq!(current.end(7), Some(one));
        assert!(!current.declare(7, one));
        assert_eq!((current.number(), current.end(7)), (0, None));
    }
}
