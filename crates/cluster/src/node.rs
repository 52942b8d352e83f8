//! One server of several, as a state machine: it reads no clock, and sends nothing by itself.
//!
//! What it is called with: messages of other servers, what the state of the files asks for
//! ([`StatePort`]), the membership ([`View`]), the time. What it wants done is in [`Node::effects`].
//!
//! ```text
//! of a file, at a server:
//!
//!            ask                     Grant, or Hand complete
//! elsewhere ─────► asked ───────────────────────────────────► held
//!     ▲                                                         │ Recall, HOLD is over, nothing being removed
//!     │  sent (until the receiver has acknowledged it)          ▼
//!     └──────────────────────────────────────────────────── leaving (until all that was said of the file has arrived)
//! ```

mod below;
mod calls;
mod directory;
mod homes;
mod link;
mod states;
mod successors;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use coherence::state::{ChangeNotice, FileState, InheritedOpen, Last, State};
use formats::FileId;

use crate::port::StatePort;
use crate::wire::sums::SumsMessage;
use crate::wire::{Message, Portion};
use below::Questions;
use calls::Calls;
use directory::{Directory, HomeReport};
use link::PeerLink;
use successors::Successors;

pub use below::Below;
pub(crate) use below::Question;
pub use calls::{MAX_CALL, MOST_CALLS};
pub use successors::{MAX_NOTE, MOST_KEPT, OpenRecord};
pub(crate) use successors::{ToKeep, successor_of};

/// How long a state stays where it has come: operations that asked for it are repeated within this time.
pub(crate) const HOLD: Duration = Duration::from_millis(4);
/// How much longer it stays for an operation that waits for another state, too.
const LONGER: Duration = Duration::from_millis(16);
/// How long a state is kept in this way, however many operations there are.
const MOST_HOLD: Duration = Duration::from_millis(500);
/// How many files may have an empty state at a server. Beyond that, some are given up.
const MOST_UNUSED: usize = 262_144;
/// How often this is looked at.
const RELEASE_EVERY: Duration = Duration::from_secs(5);
/// How many messages may wait for one server before it is not told of changes.
const MOST_WAITING: usize = 65_536;

/// The servers of a cluster. A later one has a higher epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Counts up with each change.
    pub epoch: u64,
    /// The numbers of the servers, ascending. A number is never used again.
    pub members: Vec<u16>,
}

/// What a server wants done.
pub enum Effect {
    /// This frame is to be sent.
    Send(u16, Vec<u8>),
    /// A removal that a client of this server has asked for is to be made, then [`Node::removed`] is to be called.
    Remove(Removing),
    /// The subscribers of this server are to be told.
    Told(ChangeNotice),
    /// The subscribers of this server are to look at everything again.
    Lost,
    /// This server is lost. This one has inherited these of its opens, each with what it has noted.
    Inherit(u16, Vec<(InheritedOpen, Arc<[u8]>)>),
    /// A request of another server, with its number, is to be answered by [`Node::answer_call`].
    Call(u16, u64, Vec<u8>),
    /// This member has told something of quotas, in this epoch.
    Sums(u16, u64, SumsMessage),
    /// Another server asks whether anything is open here inside a folder; then [`Node::answer_below`] is to be called.
    Below(Below),
    /// The server is not a member any more.
    Removed,
}

/// A removal that another server, which has the state of the file, has asked for.
pub struct Removing {
    file: FileId,
    owner: u16,
    number: u64,
    last: Last,
}

impl Removing {
    /// Makes it. Returns what [`Node::removed`] wants.
    pub fn run(self) -> CompletedRemoval {
        if let Err(error) = (self.last)() {
            tracing::warn!(%error, "a file that was to be removed at its last close was not removed");
        }
        CompletedRemoval { file: self.file, owner: self.owner, number: self.number }
    }
}

/// A removal that is made.
pub struct CompletedRemoval {
    file: FileId,
    owner: u16,
    number: u64,
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRefusal {
    /// It is of a later epoch: offer it again when the server has that one.
    Later,
    /// One before it is missing.
    Gap,
    /// Its sender is not a member.
    Stranger,
}

/// A state that is here.
struct HeldState {
    turn: u64,
    /// When it has come.
    came: Duration,
    /// From when on [`HOLD`] counts.
    since: Duration,
}

/// A state that is taken out here and not yet sent.
struct Leaving {
    to: u16,
    turn: u64,
    state: FileState,
}

/// A lost state that is made anew here. Parts of it may come before the home's order to make it: they come from other servers.
#[derive(Default)]
struct Gathering {
    turn: u64,
    /// How many parts it has; `None` until the home has said so.
    parts: Option<u16>,
    /// How many of them have come.
    come: u16,
    state: FileState,
    /// What servers have inherited of it.
    inherited: FileState,
}

/// One server of several.
pub struct Node {
    me: u16,
    state: State,
    port: Arc<StatePort>,
    view: View,
    now: Duration,
    links: BTreeMap<u16, PeerLink>,
    successors: Successors,
    calls: Calls,
    questions: Questions,
    directory: Directory,
    /// The files whose state was asked for.
    asked: BTreeSet<FileId>,
    held: BTreeMap<FileId, HeldState>,
    /// Orders to hand a state over, which wait: for the state, or until it may leave. There is more than one if the
    /// state comes back before the next one is obeyed.
    recalls: BTreeMap<FileId, VecDeque<(u16, u64)>>,
    /// States that are to leave as soon as changes of this server that need them are made.
    pinned: BTreeSet<FileId>,
    leaving: BTreeMap<FileId, Leaving>,
    /// States that may not have arrived: the receiver, the turn, the number of the message.
    sent: BTreeMap<FileId, (u16, u64, u64)>,
    /// States of which not all messages have come.
    incoming: BTreeMap<(u16, FileId), FileState>,
    gathering: BTreeMap<FileId, Gathering>,
    /// Empty states that are given up; and whether the state was asked for again since.
    releasing: BTreeMap<FileId, bool>,
    /// The last message about a file to each server, which may not have arrived.
    said: BTreeMap<FileId, Vec<(u16, u64)>>,
    /// What other servers remove of files whose state is here.
    removing: BTreeMap<FileId, Vec<(u16, u64)>>,
    released_at: Duration,
    /// Messages to itself.
    own: VecDeque<Message>,
    effects: Vec<Effect>,
}

/// What a server has, for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// The states that are here.
    pub held: usize,
    /// The states that were asked for and have not come.
    pub asked: usize,
    /// The files whose owner this server knows, because it is their home.
    pub homed: usize,
    /// The messages that other servers have not acknowledged.
    pub waiting: usize,
    /// Whether this server knows the owners of its files in this epoch.
    pub is_ready: bool,
}

impl Node {
    /// A server that is not yet a member. `state` says what it wants to `port`.
    pub fn new(me: u16, state: State, port: Arc<StatePort>) -> Self {
        Self {
            me,
            state,
            port,
            view: View::default(),
            now: Duration::ZERO,
            links: BTreeMap::new(),
            successors: Successors::default(),
            calls: Calls::default(),
            questions: Questions::default(),
            directory: Directory::default(),
            asked: BTreeSet::new(),
            held: BTreeMap::new(),
            recalls: BTreeMap::new(),
            pinned: BTreeSet::new(),
            leaving: BTreeMap::new(),
            sent: BTreeMap::new(),
            incoming: BTreeMap::new(),
            gathering: BTreeMap::new(),
            releasing: BTreeMap::new(),
            said: BTreeMap::new(),
            removing: BTreeMap::new(),
            released_at: Duration::ZERO,
            own: VecDeque::new(),
            effects: Vec::new(),
        }
    }

    /// What is to be done since the last call.
    pub fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The epoch that this server is in.
    pub fn epoch(&self) -> u64 {
        self.view.epoch
    }

    /// What the server has.
    pub fn counts(&self) -> NodeCounts {
        NodeCounts {
            held: self.held.len(),
            asked: self.asked.len(),
            homed: self.directory.len(),
            waiting: self.links.values().map(PeerLink::waiting).sum(),
            is_ready: self.directory.is_ready(),
        }
    }

    /// The last message of a member that was received; `None` if it is not a member.
    pub fn received(&self, from: u16) -> Option<u64> {
        let is_member = self.view.members.contains(&from);
        is_member.then(|| self.links.get(&from).map_or(0, |link| link.received))
    }

    /// There is a connection to this server, which has received this. Returns the frames to send first.
    pub fn connected(&mut self, to: u16, received: u64) -> Vec<Vec<u8>> {
        self.refuse_lost_calls(to, received);
        let frames = self.links.entry(to).or_default().connect(received);
        self.say_what_was_left_out(to);
        self.answer_waiting();
        self.settle();
        frames
    }

    /// Messages were left out, as too many waited: if none waits any more, the server hears of that.
    fn say_what_was_left_out(&mut self, to: u16) {
        let Some(link) = self.links.get_mut(&to).filter(|link| link.waiting() == 0) else { return };
        if std::mem::take(&mut link.has_lost) {
            self.send(to, Message::Lost);
        }
        self.catch_up_successor(to);
    }

    /// The connection to this server is lost.
    pub fn disconnected(&mut self, to: u16) {
        self.links.get_mut(&to).into_iter().for_each(PeerLink::disconnect);
    }

    /// A server has acknowledged messages up to this number, in this epoch.
    pub fn acknowledged(&mut self, now: Duration, by: u16, received: u64, epoch: u64) {
        self.now = self.now.max(now);
        let Some(link) = self.links.get_mut(&by) else { return };
        link.acknowledge(received);
        if epoch == self.view.epoch {
            link.acknowledge_in_epoch(received);
        }
        self.say_what_was_left_out(by);
        self.answer_waiting();
        self.settle();
    }

    /// A message has come.
    pub fn receive(
        &mut self,
        now: Duration,
        from: u16,
        number: u64,
        epoch: u64,
        message: Message,
    ) -> Result<(), MessageRefusal> {
        self.now = self.now.max(now);
        let received = self.received(from).ok_or(MessageRefusal::Stranger)?;
        match () {
            () if epoch > self.view.epoch => return Err(MessageRefusal::Later),
            () if number <= received => return Ok(()),
            () if number != received + 1 => return Err(MessageRefusal::Gap),
            () => self.links.entry(from).or_default().received = number,
        }
        if epoch == self.view.epoch || !is_of_epoch(&message) {
            self.handle(from, message);
        }
        self.settle();
        Ok(())
    }

    /// Does what is due: what the state has asked for, and what had to wait for the time.
    pub fn tick(&mut self, now: Duration) {
        self.now = self.now.max(now);
        self.settle();
        if self.now >= self.released_at + RELEASE_EVERY {
            self.released_at = self.now;
            self.release();
            self.settle();
        }
    }

    /// When [`Node::tick`] is to be called at the latest. `None`: not because of the time.
    pub fn due(&self) -> Option<Duration> {
        if !self.directory.is_ready() {
            return None; // a report is awaited
        }
        let due = |(file, _): (&FileId, _)| self.held.get(file).map(|held| held.since + HOLD);
        self.recalls.iter().filter(|(file, _)| !self.must_stay(file)).filter_map(due).min()
    }

    /// Another member is to be told something of quotas. Nothing is, if it does not take what it was told before.
    pub fn tell_sums(&mut self, to: u16, message: SumsMessage) {
        if self.links.get(&to).is_none_or(|link| link.waiting() < MOST_WAITING) {
            self.send(to, Message::Sums(message));
        }
    }

    /// A removal is made.
    pub fn removed(&mut self, now: Duration, done: CompletedRemoval) {
        self.now = self.now.max(now);
        self.send(done.owner, Message::Removed(done.file, done.number));
        self.settle();
    }

    /// Everything that can be done now.
    fn settle(&mut self) {
        loop {
            self.hear_port();
            let Some(message) = self.own.pop_front() else {
                if self.obey_recalls() | self.send_leaving() {
                    continue;
                }
                return;
            };
            self.handle(self.me, message);
        }
    }

    fn handle(&mut self, from: u16, message: Message) {
        match message {
            Message::Ask(file) => self.answer(from, file),
            Message::Grant(file, turn) => self.granted(file, turn),
            Message::Recall(file, to, turn) => self.recalled(file, to, turn),
            Message::Hand { file, turn, portion, more, state } => {
                self.handed(from, (file, turn), (portion, more), state);
            }
            Message::Release(file) => self.release_at_home(from, file),
            Message::Released(file, is_so) => self.released(file, is_so),
            Message::Back(file, back) => self.said(from, file, back),
            Message::Removed(file, number) => self.removed_there(file, number),
            Message::Report { held, sent, received, kept, inherited, more } => {
                self.hear_inherited(inherited);
                self.reported(from, HomeReport { held, sent, received, kept }, more);
            }
            Message::Gather(file, turn, parts) => self.gather(file, turn, parts),
            Message::GivePart(file, to, turn) => self.give_part(file, to, turn),
            Message::Told(told) => self.told(told),
            Message::Lost => self.effects.push(Effect::Lost),
            Message::Keep(record) => self.told_to_keep(from, *record),
            Message::Drop(open) => self.told_to_drop(from, open),
            Message::DropAll => self.told_to_drop_all(from),
            Message::Call(number, request) => self.called(from, number, request),
            Message::Answer(number, answer) => self.answered(from, number, answer),
            Message::Sums(message) => self.effects.push(Effect::Sums(from, self.view.epoch, message)),
            Message::Below { number, folder, by } => self.asked_below(from, number, folder, by),
            Message::BelowAnswer(number, is_held) => self.below_answered(from, number, is_held),
            Message::BelowOver(number) => self.below_over_there(from, number),
        }
    }

    /// Sends a message; to itself, too. Returns its number.
    fn send(&mut self, to: u16, message: Message) -> u64 {
        if to == self.me {
            self.own.push_back(message);
            return 0;
        }
        if !self.view.members.contains(&to) {
            return 0;
        }
        let (number, frame) = self.links.entry(to).or_default().send(self.view.epoch, message);
        self.effects.extend(frame.map(|frame| Effect::Send(to, frame)));
        number
    }

    /// Whether a message to a server has arrived, or never will.
    fn has_arrived(&self, to: u16, number: u64) -> bool {
        to == self.me
            || !self.view.members.contains(&to)
            || self.links.get(&to).is_none_or(|link| link.has_arrived(number))
    }
}

/// Whether a message has a meaning only in the epoch in which it was sent.
fn is_of_epoch(message: &Message) -> bool {
    match message {
        Message::Hand { portion, .. } => *portion != Portion::Whole,
        Message::Back(..) | Message::Removed(..) | Message::Told(_) | Message::Lost => false,
        Message::Keep(_) | Message::Drop(_) | Message::DropAll => false,
        Message::Call(..) | Message::Answer(..) => false,
        Message::BelowAnswer(..) | Message::BelowOver(_) => false,
        Message::Ask(_)
        | Message::Grant(..)
        | Message::Recall(..)
        | Message::Release(_)
        | Message::Released(..)
        | Message::Report { .. }
        | Message::Gather(..)
        | Message::GivePart(..)
        | Message::Below { .. }
        | Message::Sums(_) => true,
    }
}
