//! The states of files at this server: come, asked for, handed over.

use coherence::events::ChangeKind;
use coherence::state::{Back, ChangeNotice, FileState, PinConflict};
use formats::FileId;

use super::successors::Waiter;
use super::{
    Effect, Gathering, HOLD, HeldState, LONGER, Leaving, MOST_HOLD, MOST_UNUSED, MOST_WAITING, Node, Removing,
};
use crate::port::StateRequest;
use crate::wire::{Message, Portion, chunks};

impl Node {
    /// Does what the state of the files wants.
    pub(super) fn hear_port(&mut self) {
        for wanted in self.port.take() {
            match wanted {
                StateRequest::Ask(file) => self.ask(file),
                StateRequest::Free(file) => self.freed(file),
                StateRequest::Hold(file) => self.hold(file),
                StateRequest::Back(server, file, back) => self.say(server, file, back),
                StateRequest::Tell(told) => self.tell(&told),
                StateRequest::Below(question) => self.ask_below(question),
                StateRequest::BelowOver(number) => self.below_over(number),
                StateRequest::Keep(wanted) => self.keep(wanted),
                StateRequest::Drop(open) => self.keep_no_longer(open),
                StateRequest::Arrived(waiter) => self.wait_for_successor(Waiter::Arrived(waiter)),
                StateRequest::Kept(open, waiter) => self.wait_for_successor(Waiter::Kept(open, waiter)),
            }
        }
    }

    fn ask(&mut self, file: FileId) {
        // It has come since: the home would answer nothing to this question, and the next one would not be sent.
        if self.held.contains_key(&file) {
            return;
        }
        if let Some(asked_again) = self.releasing.get_mut(&file) {
            *asked_again = true;
            return;
        }
        if self.asked.insert(file) {
            self.send(self.home(file), Message::Ask(file));
        }
    }

    /// An operation needs this state and another one, which is asked for.
    fn hold(&mut self, file: FileId) {
        let (now, limit) = (self.now, self.now.saturating_sub(MOST_HOLD));
        if let Some(held) = self.held.get_mut(&file).filter(|held| held.came > limit) {
            held.since = now + LONGER;
        }
    }

    /// The changes are made that needed a state here.
    fn freed(&mut self, file: FileId) {
        self.pinned.remove(&file);
        if !self.recalls.contains_key(&file) {
            self.stays(file);
        }
    }

    /// The order to hand a state over is not in force any more.
    pub(super) fn stays(&mut self, file: FileId) {
        if let Some(here) = self.port.trees.back(file) {
            self.state.stays(here);
        }
    }

    /// Whether a state may not leave, however long it has been here.
    pub(super) fn must_stay(&self, file: &FileId) -> bool {
        self.removing.contains_key(file) || self.pinned.contains(file)
    }

    fn say(&mut self, server: u16, file: FileId, back: Back) {
        if let Back::Remove(number) = back {
            self.removing.entry(file).or_default().push((server, number));
        }
        let number = self.send(server, Message::Back(file, back));
        self.note_said(file, server, number);
    }

    /// The last message about a file to a server.
    fn note_said(&mut self, file: FileId, server: u16, number: u64) {
        if number == 0 {
            return; // to itself, or to a server that is lost
        }
        let said = self.said.entry(file).or_default();
        said.retain(|(to, _)| *to != server);
        said.push((server, number));
    }

    fn tell(&mut self, told: &ChangeNotice) {
        let others: Vec<u16> = self.view.members.iter().copied().filter(|to| *to != self.me).collect();
        // The state of a file that was moved follows the news: its opens at other servers know where it is then.
        let is_move = matches!(told.change.what, ChangeKind::Renamed { .. });
        let moved = told.change.file.filter(|_| is_move);
        for to in others {
            let link = self.links.entry(to).or_default();
            if link.waiting() >= MOST_WAITING {
                link.has_lost = true;
                continue;
            }
            let number = self.send(to, Message::Told(told.clone()));
            moved.into_iter().for_each(|file| self.note_said(file, to, number));
        }
    }

    pub(super) fn told(&mut self, told: ChangeNotice) {
        self.effects.extend(self.port.trees.told_back(told).map(Effect::Told));
    }

    /// The state of a file is empty and here.
    pub(super) fn granted(&mut self, file: FileId, turn: u64) {
        // It may have been asked for twice: before and after the begin of an epoch.
        if !self.held.contains_key(&file) {
            self.come(file, turn, FileState::default());
        }
    }

    /// A state, or a part of one, has come.
    pub(super) fn handed(
        &mut self,
        from: u16,
        (file, turn): (FileId, u64),
        (portion, more): (Portion, bool),
        state: FileState,
    ) {
        if portion != Portion::Whole {
            return self.part_has_come((file, turn), (portion, more), state);
        }
        let mut whole = self.incoming.remove(&(from, file)).unwrap_or_default();
        whole.merge(state);
        match more {
            true => _ = self.incoming.insert((from, file), whole),
            false => self.come(file, turn, whole),
        }
    }

    fn come(&mut self, file: FileId, turn: u64, state: FileState) {
        self.asked.remove(&file);
        self.held.insert(file, HeldState { turn, came: self.now, since: self.now });
        if let Some(here) = self.port.trees.back(file) {
            self.state.take_over(here, state);
        }
    }

    /// The state of a file is to go to another server.
    pub(super) fn recalled(&mut self, file: FileId, to: u16, turn: u64) {
        if self.releasing.contains_key(&file) {
            self.leaving.insert(file, Leaving { to, turn, state: FileState::default() });
            return;
        }
        self.recalls.entry(file).or_default().push_back((to, turn));
    }

    fn next_recall(&mut self, file: FileId) -> Option<(u16, u64)> {
        let recalls = self.recalls.get_mut(&file)?;
        let next = recalls.pop_front();
        if recalls.is_empty() {
            self.recalls.remove(&file);
        }
        next
    }

    /// Takes out the states that are to leave now. Returns whether there were any.
    pub(super) fn obey_recalls(&mut self) -> bool {
        // What lost servers had in them is not settled before.
        if !self.directory.is_ready() {
            return false;
        }
        let is_due = |(file, _): &(&FileId, _)| {
            self.held.get(file).is_some_and(|held| held.since + HOLD <= self.now) && !self.must_stay(file)
        };
        let due: Vec<FileId> = self.recalls.iter().filter(is_due).map(|(file, _)| *file).collect();
        for file in &due {
            let state = match self.port.trees.back(*file).map_or(Ok(None), |here| self.state.give_up(here)) {
                Ok(state) => state,
                Err(PinConflict) => {
                    self.pinned.insert(*file);
                    continue;
                }
            };
            let Some((to, turn)) = self.next_recall(*file) else { continue };
            self.held.remove(file);
            // What giving it up has said comes before it.
            self.hear_port();
            self.leaving.insert(*file, Leaving { to, turn, state: state.unwrap_or_default() });
        }
        !due.is_empty()
    }

    /// Sends the states whose servers have heard all that was said of them before. Returns whether there were any.
    pub(super) fn send_leaving(&mut self) -> bool {
        if self.leaving.is_empty() {
            return false;
        }
        let is_free = |file: &FileId, leaving: &Leaving| {
            let said = self.said.get(file).map(Vec::as_slice).unwrap_or_default();
            said.iter().all(|(to, number)| *to == leaving.to || self.has_arrived(*to, *number))
        };
        let free = self.leaving.iter().filter(|(file, leaving)| is_free(file, leaving));
        let free: Vec<FileId> = free.map(|(file, _)| *file).collect();
        for file in &free {
            let Some(Leaving { to, turn, state }) = self.leaving.remove(file) else { continue };
            self.said.remove(file);
            let number = self.hand(*file, to, turn, Portion::Whole, state);
            self.sent.insert(*file, (to, turn, number));
        }
        !free.is_empty()
    }

    /// Sends a state, in as many messages as it needs. Returns the number of the last one.
    fn hand(&mut self, file: FileId, to: u16, turn: u64, portion: Portion, state: FileState) -> u64 {
        let mut chunks = chunks(state).into_iter().peekable();
        let mut last = 0;
        while let Some(state) = chunks.next() {
            let more = chunks.peek().is_some();
            last = self.send(to, Message::Hand { file, turn, portion, more, state });
        }
        last
    }

    /// Gives up empty states if there are many, and forgets what has arrived.
    pub(super) fn release(&mut self) {
        let sent = std::mem::take(&mut self.sent);
        // What the receiver has got after its report is still this server's to report.
        let is_underway = |(_, (to, _, number)): &(FileId, (u16, u64, u64))| {
            self.links.get(to).is_some_and(|link| !link.is_reported(*number))
        };
        self.sent = sent.into_iter().filter(is_underway).collect();
        let said = std::mem::take(&mut self.said).into_iter().filter_map(|(file, mut said)| {
            said.retain(|(to, number)| !self.has_arrived(*to, *number));
            (!said.is_empty()).then_some((file, said))
        });
        self.said = said.collect();
        for here in self.state.give_up_unused(MOST_UNUSED) {
            let Some(file) = self.port.trees.out(here) else { continue };
            self.held.remove(&file);
            if let Some((to, turn)) = self.next_recall(file) {
                self.leaving.insert(file, Leaving { to, turn, state: FileState::default() });
                continue;
            }
            self.releasing.insert(file, false);
            self.send(self.home(file), Message::Release(file));
        }
    }

    /// The home has heard that an empty state was given up.
    pub(super) fn released(&mut self, file: FileId, _is_so: bool) {
        // If it was not so, the order to hand it over has come before this, and was obeyed.
        if self.releasing.remove(&file) == Some(true) {
            self.ask(file);
        }
    }

    /// The server that has a state says something of a client of this server.
    pub(super) fn said(&mut self, owner: u16, file: FileId, back: Back) {
        let Some(here) = self.port.trees.back(file) else { return };
        let (number, back) = match back {
            Back::Remove(number) => (Some(number), Back::Remove(number)),
            Back::Notice(notice, last) => {
                (None, Back::Notice(coherence::state::BreakNotice { file: here, ..notice }, last))
            }
            back => (None, back),
        };
        match (self.state.hear_back(here, back), number) {
            (Some(last), Some(number)) => {
                self.effects.push(Effect::Remove(Removing { file, owner, number, last }));
            }
            (None, Some(number)) => _ = self.send(owner, Message::Removed(file, number)),
            (_, None) => {}
        }
    }

    /// Another server has removed what this server has told it to.
    pub(super) fn removed_there(&mut self, file: FileId, number: u64) {
        if let Some(removing) = self.removing.get_mut(&file) {
            removing.retain(|(_, of)| *of != number);
            if removing.is_empty() {
                self.removing.remove(&file);
            }
        }
        if let Some(here) = self.port.trees.back(file) {
            self.state.removed(here, number);
        }
    }

    /// The lost state that is made anew by this order. There is one order for a file in an epoch.
    fn gathering(&mut self, file: FileId, turn: u64) -> Option<&mut Gathering> {
        let gathering =
            self.gathering.entry(file).or_insert_with(|| Gathering { turn, ..Gathering::default() });
        (gathering.turn == turn).then_some(gathering)
    }

    /// A lost state is to be made here, out of so many parts of other servers.
    pub(super) fn gather(&mut self, file: FileId, turn: u64, parts: u16) {
        let Some(here) = self.port.trees.back(file) else { return };
        let (own, inherited) = (self.state.part(here), self.state.inherited_part(here));
        let Some(gathering) = self.gathering(file, turn) else { return };
        gathering.parts = Some(parts);
        gathering.state.merge(own);
        gathering.inherited.merge(inherited);
        self.gathered(file);
    }

    /// A part of a lost state has come.
    fn part_has_come(
        &mut self,
        (file, turn): (FileId, u64),
        (portion, more): (Portion, bool),
        state: FileState,
    ) {
        let Some(gathering) = self.gathering(file, turn) else { return };
        match portion {
            Portion::Inherited => return gathering.inherited.merge(state),
            Portion::Whole | Portion::Own => gathering.state.merge(state),
        }
        if !more {
            gathering.come = gathering.come.saturating_add(1);
            self.gathered(file);
        }
    }

    fn gathered(&mut self, file: FileId) {
        if self.gathering.get(&file).is_some_and(|of| of.parts == Some(of.come))
            && let Some(Gathering { turn, mut state, inherited, .. }) = self.gathering.remove(&file)
        {
            state.admit(inherited);
            self.come(file, turn, state);
        }
    }

    /// The part of this server's clients in a lost state is to go to the server that makes it anew.
    pub(super) fn give_part(&mut self, file: FileId, to: u16, turn: u64) {
        let here = self.port.trees.back(file);
        let parts = here.map(|here| (self.state.part(here), self.state.inherited_part(here)));
        let (own, inherited) = parts.unwrap_or_default();
        if !inherited.is_empty() {
            self.hand(file, to, turn, Portion::Inherited, inherited);
        }
        self.hand(file, to, turn, Portion::Own, own);
    }

    /// A state that could not leave is here again.
    pub(super) fn come_back(&mut self, file: FileId, turn: u64, state: FileState) {
        self.come(file, turn, state);
    }

    /// What was said to servers that are lost need not arrive, and what they were to remove stays.
    pub(super) fn forget_said_to(&mut self, lost: &[u16]) {
        self.said.values_mut().for_each(|said| said.retain(|(to, _)| !lost.contains(to)));
        self.said.retain(|_, said| !said.is_empty());
        self.removing.values_mut().for_each(|of| of.retain(|(home, _)| !lost.contains(home)));
        self.removing.retain(|_, of| !of.is_empty());
    }
}
