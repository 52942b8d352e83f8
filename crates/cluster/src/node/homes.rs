//! Epochs, and this server as the home of files.

use std::collections::BTreeMap;

use formats::FileId;

use super::directory::{Directory, Early, HomeReport, HomeVerdict, Orphan, home_of};
use super::{Effect, Node, View, is_of_epoch};
use crate::wire::{MAX_FILES, Message};

impl Node {
    /// The home of a file.
    pub(super) fn home(&self, file: FileId) -> u16 {
        home_of(file, &self.view.members)
    }

    /// A new epoch begins. What servers that are lost had is taken away; every home asks anew who has what.
    pub fn adopt(&mut self, now: std::time::Duration, view: View) {
        self.now = self.now.max(now);
        if view.epoch <= self.view.epoch {
            return;
        }
        self.hear_port();
        // A question to itself that it has not read yet may be one for another home now, and is asked again below.
        self.own.retain(|message| !is_of_epoch(message));
        let gone = |server: &&u16| !view.members.contains(server);
        let lost: Vec<u16> = self.view.members.iter().filter(gone).copied().collect();
        let epoch = view.epoch;
        let before = std::mem::replace(&mut self.view, view).members;
        if !self.view.members.contains(&self.me) {
            self.effects.push(Effect::Removed);
            return;
        }
        lost.iter().for_each(|server| self.forget(*server));
        self.directory = Directory::new(epoch, &self.view.members);
        // A state that is pinned now leaves by the next order, if there is one.
        let ordered = std::mem::take(&mut self.recalls);
        self.pinned.clear();
        ordered.into_keys().for_each(|file| self.stays(file));
        self.gathering.clear();
        self.take_back();
        self.inherit(&before, &lost);
        self.report();
        let asked: Vec<FileId> = self.asked.iter().copied().collect();
        let again = std::mem::take(&mut self.releasing);
        asked.into_iter().for_each(|file| _ = self.send(self.home(file), Message::Ask(file)));
        for file in again.into_iter().filter_map(|(file, asked)| asked.then_some(file)) {
            self.asked.insert(file);
            self.send(self.home(file), Message::Ask(file));
        }
        self.ask_below_again();
        self.settle();
    }

    fn forget(&mut self, lost: u16) {
        self.links.remove(&lost);
        self.incoming.retain(|(from, _), _| *from != lost);
        self.forget_said_to(&[lost]);
        self.forget_calls(lost);
        self.effects.push(Effect::Lost);
    }

    /// States that were about to leave stay here: a server that gets one after its report would not know what of it is
    /// inherited. Those that are empty go, unless their receiver is lost.
    fn take_back(&mut self) {
        let members = &self.view.members;
        let is_back = |(file, leaving): &(&FileId, &super::Leaving)| {
            !members.contains(&leaving.to) || !self.releasing.contains_key(file)
        };
        let back: Vec<FileId> = self.leaving.iter().filter(is_back).map(|(file, _)| *file).collect();
        for file in back {
            if let Some(leaving) = self.leaving.remove(&file)
                && !self.releasing.contains_key(&file)
            {
                self.come_back(file, leaving.turn, leaving.state);
            }
        }
    }

    /// Tells each home what this server has of its files.
    fn report(&mut self) {
        let mut reports: BTreeMap<u16, HomeReport> = BTreeMap::new();
        for (file, held) in &self.held {
            reports.entry(self.home(*file)).or_default().held.push((*file, held.turn));
        }
        let leaving =
            self.leaving.iter().map(|(file, leaving)| (*file, leaving.to, (leaving.turn, u64::MAX)));
        let sent = self.sent.iter().map(|(file, (to, turn, number))| (*file, *to, (*turn, *number)));
        for sent in leaving.chain(sent).filter(|(_, to, _)| self.view.members.contains(to)) {
            reports.entry(self.home(sent.0)).or_default().sent.push(sent);
        }
        for file in self.state.kept_files().into_iter().filter_map(|here| self.port.trees.out(here)) {
            reports.entry(self.home(file)).or_default().kept.push(file);
        }
        for to in self.view.members.clone() {
            self.send_report(to, reports.remove(&to).unwrap_or_default());
        }
    }

    fn send_report(&mut self, to: u16, report: HomeReport) {
        let HomeReport { mut held, mut sent, mut kept, .. } = report;
        let mut received: Vec<(u16, u64)> =
            self.links.iter().map(|(from, link)| (*from, link.received)).collect();
        let mut inherited = self.inherited();
        loop {
            let (held_now, sent_now, kept_now) = (first(&mut held), first(&mut sent), first(&mut kept));
            let inherited_now = first(&mut inherited);
            let more = !(held.is_empty() && sent.is_empty() && kept.is_empty() && inherited.is_empty());
            let received = std::mem::take(&mut received);
            let (held, sent, kept, inherited) = (held_now, sent_now, kept_now, inherited_now);
            self.send(to, Message::Report { held, sent, received, kept, inherited, more });
            if !more {
                return;
            }
        }
    }

    /// A server wants the state of a file of this home.
    pub(super) fn answer(&mut self, from: u16, file: FileId) {
        match self.directory.ask(from, file) {
            HomeVerdict::Grant(turn) => _ = self.send(from, Message::Grant(file, turn)),
            HomeVerdict::Recall(owner, turn) => _ = self.send(owner, Message::Recall(file, from, turn)),
            HomeVerdict::Nothing => {}
        }
    }

    /// A server gives up the empty state of a file of this home.
    pub(super) fn release_at_home(&mut self, from: u16, file: FileId) {
        if let Some(is_so) = self.directory.release(from, file) {
            self.send(from, Message::Released(file, is_so));
        }
    }

    /// A server says what it has of this home's files.
    pub(super) fn reported(&mut self, from: u16, report: HomeReport, more: bool) {
        self.directory.hear(from, report);
        if more {
            return;
        }
        let was_ready = self.directory.is_ready();
        let (orphans, early) = self.directory.reported(from);
        if !was_ready && self.directory.is_ready() {
            self.end_lost();
        }
        for Orphan { file, to, turn, parts } in orphans {
            let count = u16::try_from(parts.len()).unwrap_or(u16::MAX);
            self.send(to, Message::Gather(file, turn, count));
            for server in parts {
                self.send(server, Message::GivePart(file, to, turn));
            }
        }
        for (from, early) in early {
            match early {
                Early::Ask(file) => self.answer(from, file),
                Early::Release(file) => self.release_at_home(from, file),
            }
        }
    }
}

fn first<T>(list: &mut Vec<T>) -> Vec<T> {
    let rest = list.split_off(list.len().min(MAX_FILES));
    std::mem::replace(list, rest)
}
