//! What clients asked for and were told, and when: the history of each file, and whether one server
//! could have given the same answers, each at some moment between the question and the answer
//! (linearizability).
//!
//! The crate xtask compiles this file, too: it checks what clients of real servers were told.

use std::collections::HashMap;
use std::hash::Hash;

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History as Recorded};
use todc_utils::specifications::Specification;

/// What a client takes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Right {
    /// The exclusive lock.
    Lock,
    /// An open that reads, and denies writing.
    Reading,
    /// An open that writes.
    Writing,
}

impl Right {
    /// Whether two clients cannot have them at the same time.
    fn excludes(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Lock, Self::Lock) | (Self::Reading, Self::Writing) | (Self::Writing, Self::Reading)
        )
    }
}

/// An operation of a client. `Perhaps…`: there was no answer, as the client gave up or its server was lost.
#[derive(Debug, Clone, Copy)]
enum ClientOperation {
    Take(usize, Right),
    Refused(Right),
    /// It did not get it, for another reason than the right of another client.
    Failed,
    /// It did what only a holder may do.
    Use(usize, Right),
    Give(usize, Right),
    PerhapsTake(usize, Right),
    PerhapsGive(usize, Right),
}

/// The rights of one file, as one server would have them.
struct OneServer;

impl Specification for OneServer {
    /// The clients that have something, in order.
    type State = Vec<(usize, Right)>;
    type Operation = ClientOperation;

    fn init() -> Self::State {
        Vec::new()
    }

    fn apply(operation: &ClientOperation, state: &Self::State) -> (bool, Self::State) {
        let mut after = state.clone();
        let is_free = |right: Right| !state.iter().any(|(_, other)| other.excludes(right));
        let held = |client, right| state.iter().position(|one| *one == (client, right));
        let is_valid = match *operation {
            ClientOperation::Take(client, right) | ClientOperation::PerhapsTake(client, right)
                if is_free(right) =>
            {
                after.push((client, right));
                after.sort_unstable();
                true
            }
            ClientOperation::Take(..) => false,
            ClientOperation::Refused(right) => !is_free(right),
            ClientOperation::Failed => true,
            ClientOperation::Use(client, right) => held(client, right).is_some(),
            ClientOperation::Give(client, right) | ClientOperation::PerhapsGive(client, right) => {
                let held = held(client, right);
                if let Some(at) = held {
                    after.remove(at);
                }
                held.is_some() || matches!(operation, ClientOperation::PerhapsGive(..))
            }
            ClientOperation::PerhapsTake(..) => true,
        };
        (is_valid, after)
    }
}

/// A file, and whether locks are meant: locks and opens do not concern each other.
type Object<F> = (F, bool);

/// An operation that has begun.
#[derive(Debug, Clone)]
pub(super) struct BegunOperation<F> {
    object: Object<F>,
    number: usize,
    client: usize,
    right: Right,
}

/// The histories of all files.
#[derive(Debug)]
pub(super) struct History<F> {
    events: HashMap<Object<F>, Vec<(usize, Action<ClientOperation>)>>,
    /// Operations without an answer, which may have happened at any time after they began, or not at all.
    open: HashMap<Object<F>, Vec<(usize, ClientOperation)>>,
    count: usize,
}

impl<F> Default for History<F> {
    fn default() -> Self {
        Self { events: HashMap::new(), open: HashMap::new(), count: 0 }
    }
}

impl<F: Clone + Eq + Hash> History<F> {
    fn begin(&mut self, object: Object<F>, operation: ClientOperation) -> usize {
        self.count += 1;
        self.events.entry(object).or_default().push((self.count, Action::Call(operation)));
        self.count
    }

    fn end(&mut self, call: &BegunOperation<F>, operation: ClientOperation) {
        self.events.entry(call.object.clone()).or_default().push((call.number, Action::Response(operation)));
    }

    /// A client asks for a right, or begins to give it back.
    pub(super) fn call(&mut self, file: F, client: usize, right: Right) -> BegunOperation<F> {
        let object = (file, right == Right::Lock);
        // The checker looks at the answer only.
        let number = self.begin(object.clone(), ClientOperation::PerhapsTake(client, right));
        BegunOperation { object, number, client, right }
    }

    /// The client has got it.
    pub(super) fn taken(&mut self, call: &BegunOperation<F>) {
        self.end(call, ClientOperation::Take(call.client, call.right));
    }

    /// It was told that another client has it.
    pub(super) fn refused(&mut self, call: &BegunOperation<F>) {
        self.end(call, ClientOperation::Refused(call.right));
    }

    /// It was told that it does not get it, for another reason.
    pub(super) fn failed(&mut self, call: &BegunOperation<F>) {
        self.end(call, ClientOperation::Failed);
    }

    /// It has done what only a holder may do.
    pub(super) fn used(&mut self, call: &BegunOperation<F>) {
        self.end(call, ClientOperation::Use(call.client, call.right));
    }

    /// It was told that it has given it back.
    pub(super) fn given(&mut self, call: &BegunOperation<F>) {
        self.end(call, ClientOperation::Give(call.client, call.right));
    }

    /// There was no answer to what asks for a right: perhaps it comes, and goes again.
    pub(super) fn abandoned(&mut self, call: &BegunOperation<F>) {
        let back = self.call(call.object.0.clone(), call.client, call.right);
        self.unanswered(call, &back);
    }

    /// As [`History::abandoned`]; giving it back has begun already.
    pub(super) fn unanswered(&mut self, call: &BegunOperation<F>, back: &BegunOperation<F>) {
        let taken = ClientOperation::PerhapsTake(call.client, call.right);
        self.open.entry(call.object.clone()).or_default().push((call.number, taken));
        self.unanswered_return(back);
    }

    /// Perhaps the right came, and it is gone now.
    pub(super) fn went_by(&mut self, call: &BegunOperation<F>, back: &BegunOperation<F>) {
        self.end(call, ClientOperation::PerhapsTake(call.client, call.right));
        self.end(back, ClientOperation::PerhapsGive(back.client, back.right));
    }

    /// There was no answer to what gives a right back.
    pub(super) fn unanswered_return(&mut self, call: &BegunOperation<F>) {
        let given = ClientOperation::PerhapsGive(call.client, call.right);
        self.open.entry(call.object.clone()).or_default().push((call.number, given));
    }

    /// A right is given back at some time from now on: the client gets no answer.
    pub(super) fn leaves(&mut self, file: F, client: usize, right: Right) {
        let call = self.call(file, client, right);
        self.unanswered_return(&call);
    }

    /// Checks all of it. Calls without an answer must have been named.
    ///
    /// Returns the file whose history one server could not have made.
    pub(super) fn check(mut self) -> Result<usize, (F, usize)> {
        let mut checked = 0;
        for ((file, is_lock), mut events) in self.events.drain() {
            let open = self.open.remove(&(file.clone(), is_lock)).unwrap_or_default();
            events.extend(open.into_iter().map(|(number, operation)| (number, Action::Response(operation))));
            let count = events.len() / 2;
            checked += count;
            if !WGLChecker::<OneServer>::is_linearizable(Recorded::from_actions(events)) {
                return Err((file, count));
            }
        }
        Ok(checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "a file";

    #[test]
    fn two_holders_and_a_refusal_without_reason_are_found() {
        let mut history = History::default();
        let (first, second) = (history.call(FILE, 1, Right::Lock), history.call(FILE, 2, Right::Lock));
        history.taken(&first);
        history.taken(&second);
        assert_eq!(history.check(), Err((FILE, 2)));

        let mut history = History::default();
        let alone = history.call(FILE, 1, Right::Writing);
        history.refused(&alone);
        assert_eq!(history.check(), Err((FILE, 1)));
    }

    #[test]
    fn an_operation_without_an_answer_may_have_happened_later() {
        let mut history = History::default();
        let lost = history.call(FILE, 1, Right::Lock);
        history.abandoned(&lost);
        for is_refused in [false, true, false] {
            let next = history.call(FILE, 2, Right::Lock);
            if is_refused {
                history.refused(&next);
                continue;
            }
            history.taken(&next);
            let back = history.call(FILE, 2, Right::Lock);
            history.given(&back);
        }
        // The second client was refused between two successes, as the first one had it then.
        assert_eq!(history.check(), Ok(7));
    }

    #[test]
    fn only_a_holder_does_what_a_holder_may_do() {
        let mut history = History::default();
        let taken = history.call(FILE, 1, Right::Lock);
        history.taken(&taken);
        let used = history.call(FILE, 1, Right::Lock);
        history.used(&used);
        let other = history.call(FILE, 2, Right::Lock);
        history.used(&other);
        assert_eq!(history.check(), Err((FILE, 3)));
    }

    #[test]
    fn what_was_not_had_cannot_be_given_back() {
        let mut history = History::default();
        let back = history.call(FILE, 1, Right::Lock);
        history.given(&back);
        assert_eq!(history.check(), Err((FILE, 1)));
    }
}
