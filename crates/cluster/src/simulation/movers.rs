//! Clients that move a folder, one at each server, and clients that open something inside it. While one moves the folder, nothing
//! is open inside it at any server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coherence::state::{ClientId, Coordinator as _, Elsewhere, Party};
use formats::FileId;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::{Random, STEP, SimulatedServer};
use crate::wire::{Message, PeerFrame};
use crate::{Effect, View};

/// The folder. Nothing of its state is used.
const FOLDER: FileId = FileId::new(0, 200);

/// What a server knows of opens inside the folder, as its site does.
#[derive(Default)]
pub(super) struct OpensInside {
    /// Until when a client has something open.
    open_until: Option<Duration>,
    /// How many hold the folder.
    holds: Arc<AtomicUsize>,
}

/// A hold of the folder at one server.
struct FolderHold(Arc<AtomicUsize>);

impl Drop for FolderHold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OpensInside {
    /// The answer to the question of another server.
    pub(super) fn hold(&self) -> Option<Elsewhere> {
        Some(Box::new(self.held()?))
    }

    fn held(&self) -> Option<FolderHold> {
        self.holds.fetch_add(1, Ordering::Relaxed);
        let hold = FolderHold(self.holds.clone());
        self.open_until.is_none().then_some(hold)
    }

    /// A client opens something, or closes it.
    fn step(&mut self, now: Duration, random: &mut Random) {
        match self.open_until {
            Some(until) if now >= until => self.open_until = None,
            None if self.holds.load(Ordering::Relaxed) == 0 && random.one_in(40) => {
                self.open_until = Some(now + Duration::from_millis(random.below(40)));
            }
            _ => {}
        }
    }
}

enum MoverAction {
    Nothing,
    Asking(FolderHold, oneshot::Receiver<Option<Elsewhere>>),
    Moving { until: Duration, _held: (FolderHold, Elsewhere) },
}

/// One that moves the folder.
pub(super) struct Mover {
    server: usize,
    doing: MoverAction,
    is_stopping: bool,
    /// How often it has moved the folder, and how often that was refused.
    pub(super) moves: usize,
    pub(super) refusals: usize,
}

impl Mover {
    pub(super) fn new(server: usize) -> Self {
        Self { server, doing: MoverAction::Nothing, is_stopping: false, moves: 0, refusals: 0 }
    }

    /// All faults are over.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(super) fn is_done(&self, servers: &[SimulatedServer]) -> bool {
        matches!(self.doing, MoverAction::Nothing) || servers[self.server].is_dead
    }

    pub(super) fn step(&mut self, now: Duration, servers: &mut [SimulatedServer], random: &mut Random) {
        let own = &mut servers[self.server];
        if !own.may_answer(now) {
            return;
        }
        own.inside.step(now, random);
        self.doing = match std::mem::replace(&mut self.doing, MoverAction::Nothing) {
            MoverAction::Nothing if self.is_stopping || !random.one_in(100) => MoverAction::Nothing,
            MoverAction::Nothing => match own.inside.held() {
                Some(hold) => MoverAction::Asking(hold, own.port.hold_below(FOLDER, party(own.number))),
                None => MoverAction::Nothing,
            },
            // Some give up.
            MoverAction::Asking(..) if random.one_in(200) => MoverAction::Nothing,
            MoverAction::Asking(hold, mut answer) => match answer.try_recv() {
                Ok(Some(elsewhere)) => {
                    self.moves += 1;
                    let until = now + Duration::from_millis(random.below(20));
                    MoverAction::Moving { until, _held: (hold, elsewhere) }
                }
                Ok(None) => {
                    self.refusals += 1;
                    MoverAction::Nothing
                }
                Err(TryRecvError::Empty) => MoverAction::Asking(hold, answer),
                Err(TryRecvError::Closed) => panic!("a question is not answered at server {}", own.number),
            },
            MoverAction::Moving { until, .. } if now >= until => MoverAction::Nothing,
            moving @ MoverAction::Moving { .. } => moving,
        };
        if matches!(self.doing, MoverAction::Moving { .. }) {
            let may_answer =
                |server: &&SimulatedServer| server.may_answer(now) && server.inside.open_until.is_some();
            let opened: Vec<u16> = servers.iter().filter(may_answer).map(|server| server.number).collect();
            assert!(opened.is_empty(), "something is open at {opened:?} while the folder moves");
        }
    }
}

fn party(server: u16) -> Party {
    Party::client(ClientId((u64::from(server) << 48) + 0x2000))
}

/// What a server sends, and to which one.
fn sent(server: &mut SimulatedServer) -> Vec<(u16, Message)> {
    server.node.tick(STEP);
    let frames = server.node.effects().into_iter().filter_map(|effect| match effect {
        Effect::Send(to, frame) => Some((to, frame)),
        _ => None,
    });
    let messages = frames.filter_map(|(to, frame)| match PeerFrame::decode(&frame[4..]).unwrap() {
        PeerFrame::Data { message, .. } => Some((to, message)),
        _ => None,
    });
    messages.filter(|(_, message)| !matches!(message, Message::Report { .. })).collect()
}

fn joined(members: &[u16]) -> SimulatedServer {
    let mut server = SimulatedServer::new(1);
    server.node.adopt(STEP, View { epoch: 1, members: members.to_vec() });
    members.iter().for_each(|member| _ = server.node.connected(*member, 0));
    sent(&mut server);
    server
}

#[test]
fn all_members_are_asked_again_when_one_is_lost() {
    let mut server = joined(&[1, 2, 3]);
    let by = party(1);
    let mut answer = server.port.hold_below(FOLDER, by);
    let below = |number| Message::Below { number, folder: FOLDER, by };
    assert_eq!(sent(&mut server), [(2, below(1)), (3, below(1))]);
    server.node.receive(STEP, 2, 1, 1, Message::BelowAnswer(1, true)).unwrap();
    server.node.adopt(STEP, View { epoch: 2, members: vec![1, 2] });
    assert_eq!(sent(&mut server), [(2, Message::BelowOver(1)), (2, below(2))]);
    server.node.receive(STEP, 2, 2, 1, Message::BelowAnswer(1, true)).unwrap();
    assert_eq!(answer.try_recv().err(), Some(TryRecvError::Empty), "of the epoch before");
    server.node.receive(STEP, 2, 3, 2, Message::BelowAnswer(2, true)).unwrap();
    let held = answer.try_recv().unwrap().unwrap();
    assert_eq!(sent(&mut server), []);
    drop(held);
    assert_eq!(sent(&mut server), [(2, Message::BelowOver(2))]);
}

#[test]
fn one_server_with_something_open_is_enough_to_refuse() {
    let mut server = joined(&[1, 2, 3]);
    let mut answer = server.port.hold_below(FOLDER, party(1));
    sent(&mut server);
    server.node.receive(STEP, 3, 1, 1, Message::BelowAnswer(1, false)).unwrap();
    assert!(answer.try_recv().unwrap().is_none());
    assert_eq!(sent(&mut server), [(2, Message::BelowOver(1)), (3, Message::BelowOver(1))]);
}

#[test]
fn a_folder_is_not_held_for_a_move_that_is_over() {
    let mut server = joined(&[1, 2]);
    let ask = |number| Message::Below { number, folder: FOLDER, by: party(2) };
    let held = |server: &SimulatedServer| server.inside.holds.load(Ordering::Relaxed);
    let asked = |server: &mut SimulatedServer| {
        let effects = server.node.effects().into_iter();
        effects
            .filter_map(|effect| if let Effect::Below(below) = effect { Some(below) } else { None })
            .collect::<Vec<_>>()
    };
    server.node.receive(STEP, 2, 1, 1, ask(7)).unwrap();
    let below = asked(&mut server).remove(0);
    server.node.receive(STEP, 2, 2, 1, Message::BelowOver(7)).unwrap();
    let hold = server.inside.hold();
    server.node.answer_below(STEP, &below, hold);
    assert_eq!((held(&server), sent(&mut server)), (0, vec![]), "the other server does not wait any more");
    // It is held until it is over, or the other server is lost.
    for over in [true, false] {
        let number = if over { 8 } else { 9 };
        server.node.receive(STEP, 2, number - 5 + u64::from(!over), 1, ask(number)).unwrap();
        let (below, hold) = (asked(&mut server).remove(0), server.inside.hold());
        server.node.answer_below(STEP, &below, hold);
        assert_eq!((held(&server), sent(&mut server)), (1, vec![(2, Message::BelowAnswer(number, true))]));
        match over {
            true => server.node.receive(STEP, 2, 4, 1, Message::BelowOver(number)).unwrap(),
            false => server.node.adopt(STEP, View { epoch: 2, members: vec![1] }),
        }
        assert_eq!(held(&server), 0);
    }
}
