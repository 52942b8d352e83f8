//! Folders that a client of this server moves: whether clients of other servers have anything open inside them, and that these
//! open nothing there until the folder is moved.
//!
//! ```text
//! state ─ hold_below ─► Node ── Below ──► each other member ─ Effect::Below ─► recalls, looks, holds ─► Node::answer_below
//!                        ▲ ◄──────────────── BelowAnswer ───────────────────────────────────────────────────┘
//! all hold: the answer is a `Holding` ─ dropped ─► Node ── BelowOver ──► each other member, which holds no longer
//! ```
//!
//! A lost member need not answer. What its clients had open may be inherited by one that has answered before, so all members are
//! asked again in each epoch. What is held for a lost member ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coherence::state::{Elsewhere, Party};
use formats::FileId;
use tokio::sync::oneshot;

use super::{Effect, Node};
use crate::port::{StatePort, StateRequest};
use crate::wire::Message;

/// How many questions of this server may wait for answers. Those beyond it are not answered.
const MOST_QUESTIONS: usize = 1_024;
/// How many folders are held for other servers. Moves beyond them are refused.
const MOST_HELD: usize = 4_096;

/// A question of the state.
#[derive(Debug)]
pub(crate) struct Question {
    /// The folder, by its number in the cluster.
    pub(crate) folder: FileId,
    pub(crate) by: Party,
    pub(crate) answer: oneshot::Sender<Option<Elsewhere>>,
}

/// A question that waits for these servers.
struct PendingQuestion {
    question: Question,
    waiting: BTreeSet<u16>,
}

/// The other servers hold a folder until this is dropped.
struct Holding {
    port: Arc<StatePort>,
    number: u64,
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.port.want(StateRequest::BelowOver(self.number));
    }
}

/// The questions of this server, and those of others.
#[derive(Default)]
pub(super) struct Questions {
    /// By their numbers.
    asked: BTreeMap<u64, PendingQuestion>,
    next: u64,
    /// By the server and its number of the question; `None`: the answer is awaited.
    held: BTreeMap<(u16, u64), Option<Elsewhere>>,
}

/// A question of another server.
#[derive(Debug)]
pub struct Below {
    /// The folder, by its number here.
    pub folder: FileId,
    /// The party that moves the folder.
    pub by: Party,
    from: u16,
    number: u64,
}

impl Node {
    fn other_members(&self) -> BTreeSet<u16> {
        self.view.members.iter().copied().filter(|member| *member != self.me).collect()
    }

    pub(super) fn ask_below(&mut self, question: Question) {
        self.forget_questions();
        if self.questions.asked.len() >= MOST_QUESTIONS {
            return; // dropped: it is not known
        }
        let waiting = self.other_members();
        self.questions.next += 1;
        let (number, folder, by) = (self.questions.next, question.folder, question.by);
        for member in &waiting {
            self.send(*member, Message::Below { number, folder, by });
        }
        self.questions.asked.insert(number, PendingQuestion { question, waiting });
        self.end_question(number);
    }

    /// Operations that are over do not wait for answers.
    fn forget_questions(&mut self) {
        let is_over = |(_, asked): &(&u64, &PendingQuestion)| asked.question.answer.is_closed();
        let over: Vec<u64> = self.questions.asked.iter().filter(is_over).map(|(number, _)| *number).collect();
        for number in over {
            self.questions.asked.remove(&number);
            self.below_over(number);
        }
    }

    /// A new epoch begins: there are other members.
    pub(super) fn ask_below_again(&mut self) {
        let members = &self.view.members;
        self.questions.held.retain(|(from, _), _| members.contains(from));
        for (number, asked) in std::mem::take(&mut self.questions.asked) {
            self.below_over(number);
            self.ask_below(asked.question);
        }
    }

    /// A folder is moved, or stays where it is.
    pub(super) fn below_over(&mut self, number: u64) {
        for member in self.other_members() {
            self.send(member, Message::BelowOver(number));
        }
    }

    /// Another server wants to know.
    pub(super) fn asked_below(&mut self, from: u16, number: u64, folder: FileId, by: Party) {
        let here = self.port.trees.back(folder);
        let has_room = self.questions.held.len() < MOST_HELD;
        match here.filter(|_| has_room) {
            Some(folder) => {
                self.questions.held.insert((from, number), None);
                self.effects.push(Effect::Below(Below { folder, by, from, number }));
            }
            // Nothing of a file system is used here that is not known.
            None => _ = self.send(from, Message::BelowAnswer(number, here.is_none())),
        }
    }

    /// The answer to [`Effect::Below`]: what keeps clients of this server from opening anything in the folder, or `None` if
    /// something is open there.
    pub fn answer_below(&mut self, now: Duration, below: &Below, held: Option<Elsewhere>) {
        self.now = self.now.max(now);
        let Below { from, number, .. } = *below;
        // If the question is gone, the other server does not wait any more.
        if self.questions.held.remove(&(from, number)).is_some() {
            self.send(from, Message::BelowAnswer(number, held.is_some()));
            if held.is_some() {
                self.questions.held.insert((from, number), held);
            }
        }
        self.settle();
    }

    /// The other server has moved its folder, or has not.
    pub(super) fn below_over_there(&mut self, from: u16, number: u64) {
        self.questions.held.remove(&(from, number));
    }

    /// Another server has answered.
    pub(super) fn below_answered(&mut self, from: u16, number: u64, is_held: bool) {
        // Answers to questions of former epochs are not waited for.
        let Some(asked) = self.questions.asked.get_mut(&number) else { return };
        asked.waiting.remove(&from);
        if is_held {
            return self.end_question(number);
        }
        if let Some(asked) = self.questions.asked.remove(&number) {
            let _ = asked.question.answer.send(None); // the operation may be over
            self.below_over(number);
        }
    }

    /// Answers a question if all other servers hold the folder.
    fn end_question(&mut self, number: u64) {
        if self.questions.asked.get(&number).is_some_and(|asked| asked.waiting.is_empty())
            && let Some(asked) = self.questions.asked.remove(&number)
        {
            let holding = Holding { port: self.port.clone(), number };
            let _ = asked.question.answer.send(Some(Box::new(holding))); // if the operation is over, it ends at once
        }
    }
}
