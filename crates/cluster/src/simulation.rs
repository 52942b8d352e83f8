//! Several servers, the network between them and the coordination service, in virtual time: seeded,
//! with delays, lost connections, partitions, pauses and kills.
//!
//! What is checked: no two clients hold one exclusive lock or open a file against a denial, while
//! their servers may answer; what was acknowledged is kept until it is given back; an open that the
//! successor of a lost server was known to have is there; nothing is open inside a folder while it
//! moves; one server could have given the same answers (`history`); no two servers make a change at
//! once that needs the state of the same file; and in the end every client gets an answer, and every
//! change is made.

mod behind;
mod changers;
mod clients;
mod movers;
mod network;
mod scale;
mod service;
mod travellers;

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::sync::Arc;
use std::time::Duration;

use changers::{Changer, ChangesInProgress};
use clients::SimulatedClient;
use coherence::state::{InheritedOpen, Limits, Policy, State};
use movers::{Mover, OpensInside};
use network::SimulatedNetwork;
use service::SimulatedService;
use travellers::{Traveller, Travels};

use crate::{Effect, Fence, Node, StatePort, Trees};

#[allow(dead_code, reason = "the crate xtask uses the rest of this file")]
mod history;

type History = history::History<formats::FileId>;
type Call = history::BegunOperation<formats::FileId>;

/// One step of the virtual time.
const STEP: Duration = Duration::from_millis(1);
/// How long faults go on; then everything heals.
const FAULTY: Duration = Duration::from_secs(25);
/// How long after that every client must have got an answer.
const HEALED: Duration = Duration::from_secs(20);

/// Numbers that look random, from a seed (SplitMix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }

    pub(super) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// A server of the simulation.
pub(super) struct SimulatedServer {
    pub(super) number: u16,
    pub(super) node: Node,
    pub(super) state: State,
    pub(super) port: Arc<StatePort>,
    /// What it has inherited, by the number of the traveller.
    pub(super) inherited: BTreeMap<u8, InheritedOpen>,
    inside: OpensInside,
    /// Until when it may answer.
    pub(super) fence: Duration,
    pub(super) paused_until: Duration,
    pub(super) is_dead: bool,
}

impl SimulatedServer {
    fn new(number: u16) -> Self {
        let (trees, fence) = (Trees::default(), Fence::new());
        trees.add(0, 0);
        fence.extend(Duration::MAX); // virtual time is looked at here
        let port = StatePort::new(trees, Arc::new(fence));
        let state = State::joined(Policy::default(), Limits::default(), number, port.clone());
        let mut node = Node::new(number, state.clone(), port.clone());
        node.set_successor(Arc::new(travellers::SimulatedSuccessor(number)));
        let (inherited, inside) = (BTreeMap::new(), OpensInside::default());
        let (paused_until, fence) = (Duration::ZERO, Duration::ZERO);
        Self { number, node, state, port, inherited, inside, fence, paused_until, is_dead: false }
    }

    /// Whether its program runs.
    pub(super) fn runs(&self, now: Duration) -> bool {
        !self.is_dead && self.paused_until <= now
    }

    /// Whether it may answer a client.
    pub(super) fn may_answer(&self, now: Duration) -> bool {
        self.runs(now) && now < self.fence
    }
}

/// All of it.
struct World {
    now: Duration,
    random: Random,
    servers: Vec<SimulatedServer>,
    network: SimulatedNetwork,
    service: SimulatedService,
    clients: Vec<SimulatedClient>,
    facts: clients::ClientFacts,
    changers: Vec<Changer>,
    changes: ChangesInProgress,
    travellers: Vec<Traveller>,
    travels: Travels,
    movers: Vec<Mover>,
    /// All servers have known each other at once.
    is_complete: bool,
}

impl World {
    fn new(seed: u64, servers: u16) -> Self {
        let numbers: Vec<u16> = (1..=servers).collect();
        let clients =
            (0..usize::from(servers) * 3).map(|at| SimulatedClient::new(at, usize::from(servers))).collect();
        Self {
            now: Duration::from_secs(1),
            random: Random(seed),
            servers: numbers.iter().copied().map(SimulatedServer::new).collect(),
            network: SimulatedNetwork::default(),
            service: SimulatedService::default(),
            clients,
            facts: clients::ClientFacts::default(),
            changers: (0..usize::from(servers) * 2)
                .map(|at| Changer::new(at, usize::from(servers)))
                .collect(),
            changes: ChangesInProgress::default(),
            travellers: (0..4).map(|at| Traveller::new(at, usize::from(servers))).collect(),
            travels: Travels::default(),
            movers: (0..usize::from(servers)).map(Mover::new).collect(),
            is_complete: false,
        }
    }

    fn step(&mut self, with_faults: bool) {
        self.now += STEP;
        if with_faults {
            self.fail();
        }
        self.service.step(self.now, &mut self.servers, &mut self.random);
        self.network.step(self.now, &mut self.servers, &mut self.random);
        for server in &mut self.servers {
            if server.runs(self.now) {
                server.node.tick(self.now);
            }
        }
        for client in &mut self.clients {
            client.step(self.now, &mut self.servers, &mut self.facts, &mut self.random);
        }
        for changer in &mut self.changers {
            changer.step(self.now, &self.servers, &mut self.changes, &mut self.random);
        }
        self.travels.are_all_there |= self.service.members() == self.servers.len();
        for traveller in &mut self.travellers {
            traveller.step(self.now, &mut self.servers, &mut self.travels, &mut self.random);
        }
        // A server that joins while a folder moves is not asked.
        self.is_complete |= self.is_ready() && self.service.members() == self.servers.len();
        if self.is_complete {
            for mover in &mut self.movers {
                mover.step(self.now, &mut self.servers, &mut self.random);
            }
        }
        self.effects();
    }

    fn effects(&mut self) {
        for at in 0..self.servers.len() {
            if !self.servers[at].runs(self.now) {
                continue;
            }
            for effect in self.servers[at].node.effects() {
                match effect {
                    Effect::Send(to, frame) => {
                        self.network.send(self.now, self.servers[at].number, to, frame, &mut self.random);
                    }
                    Effect::Remove(removing) => {
                        let done = removing.run();
                        self.servers[at].node.removed(self.now, done);
                    }
                    Effect::Removed => self.servers[at].is_dead = true,
                    Effect::Inherit(_, inherited) => {
                        let own = &mut self.servers[at];
                        for (of, _) in inherited {
                            let traveller = of.guard.client().0 as u8;
                            travellers::close_inherited(own, traveller);
                            // Its own successor is told, too.
                            travellers::keep(
                                own,
                                traveller.into(),
                                of.guard.file(),
                                &of.guard,
                                traveller.is_multiple_of(2),
                            );
                            own.inherited.insert(traveller, of);
                        }
                    }
                    Effect::Below(below) => {
                        let held = self.servers[at].inside.hold();
                        self.servers[at].node.answer_below(self.now, &below, held);
                    }
                    Effect::Told(_) | Effect::Lost | Effect::Call(..) | Effect::Sums(..) => {}
                }
            }
        }
    }

    /// Now and then something breaks. One server always stays, so that nothing is lost for good.
    fn fail(&mut self) {
        let count = self.servers.len() as u64;
        let at = self.random.below(count) as usize;
        let (number, other) = (self.servers[at].number, self.random.below(count) as u16 + 1);
        let alive = self.servers.iter().filter(|server| !server.is_dead).count();
        let until = self.now + Duration::from_millis(50 + self.random.below(7_000));
        if self.random.one_in(400) {
            self.network.cut(number, other);
        }
        if self.random.one_in(4_000) {
            self.network.part(number, other, until);
        }
        if self.random.one_in(6_000) {
            self.service.part(number, until);
        }
        if self.random.one_in(6_000) {
            self.servers[at].paused_until = until;
        }
        if self.random.one_in(12_000) && alive > 1 && at != 0 {
            self.servers[at].is_dead = true;
            self.network.kill(number);
        }
    }

    /// That of the list of members.
    fn epoch(&self) -> u64 {
        self.service.epoch()
    }

    /// Whether all servers know what the others have.
    fn is_ready(&self) -> bool {
        let knows =
            |server: &SimulatedServer| server.node.counts().is_ready && server.node.epoch() == self.epoch();
        self.servers.iter().all(knows)
    }

    fn heal(&mut self) {
        self.network.heal();
        self.service.heal();
        self.servers.iter_mut().for_each(|server| server.paused_until = Duration::ZERO);
        self.clients.iter_mut().for_each(SimulatedClient::stop);
        self.changers.iter_mut().for_each(Changer::stop);
        self.movers.iter_mut().for_each(Mover::stop);
        self.travellers.iter_mut().for_each(|traveller| traveller.stop(self.now));
    }
}

/// What a seed has led to.
struct SeedOutcome {
    /// How often an open came back at another server, and how often one that the successor was known to have.
    returns: usize,
    kept: usize,
    /// How often a folder was moved, and how often that was refused.
    moves: usize,
    refusals: usize,
    /// Of everything that servers sent to each other.
    digest: u64,
}

/// Runs one seed. Panics with what was violated.
fn run(seed: u64) -> SeedOutcome {
    let mut world = World::new(seed, 2 + (seed % 3) as u16);
    let (faulty, healed) = (world.now + FAULTY, world.now + FAULTY + HEALED);
    while world.now < faulty {
        world.step(true);
    }
    world.heal();
    let is_done = |world: &World| {
        let clients = world.clients.iter().all(|client| client.is_done(&world.servers));
        let changers = world.changers.iter().all(|changer| changer.is_done(&world.servers));
        let movers = world.movers.iter().all(|mover| mover.is_done(&world.servers));
        let travellers = world.travellers.iter().all(|traveller| traveller.is_done(&world.servers));
        clients && changers && movers && travellers
    };
    while world.now < healed && !is_done(&world) {
        world.step(false);
    }
    let away = world.travellers.iter().find(|traveller| !traveller.is_done(&world.servers));
    assert!(away.is_none(), "seed {seed}: no end: {away:?}");
    let waiting = world.changers.iter().filter(|changer| !changer.is_done(&world.servers)).count();
    assert_eq!(waiting, 0, "seed {seed}: changes that wait for ever");
    let asks = world.movers.iter().all(|mover| mover.is_done(&world.servers));
    assert!(asks, "seed {seed}: a folder is not moved");
    let stuck: Vec<&SimulatedClient> =
        world.clients.iter().filter(|client| !client.is_done(&world.servers)).collect();
    let counts: Vec<_> =
        world.servers.iter().map(|server| (server.number, server.is_dead, server.node.counts())).collect();
    assert!(stuck.is_empty(), "seed {seed}: no answer: {stuck:?}; {counts:?}");
    // Servers that cannot reach the service end themselves. If all have ended early, little was done.
    let is_over = world.servers.iter().all(|server| server.is_dead);
    let done = world.facts.acknowledged;
    assert!(done > 5 || is_over, "seed {seed}: hardly anything was done: {:?}", world.facts);
    let made = world.changes.made;
    assert!(made > 50 || is_over, "seed {seed}: {made} changes were made");
    // Servers that were lost at the end have clients that wait for an answer.
    world.clients.iter_mut().for_each(|client| client.lose(&mut world.facts));
    let history = std::mem::take(&mut world.facts.history);
    match history.check() {
        Ok(operations) => {
            println!("seed {seed}: a history of {operations} operations");
            assert!(operations > 50 || is_over);
        }
        Err((file, operations)) => {
            panic!("seed {seed}: no single server answers like this: {file:?}, {operations} operations");
        }
    }
    let Travels { returns, kept, .. } = world.travels;
    let moves = world.movers.iter().map(|mover| mover.moves).sum();
    let refusals = world.movers.iter().map(|mover| mover.refusals).sum();
    SeedOutcome { returns, kept, moves, refusals, digest: world.network.digest.finish() }
}

/// The seeds that are run: a few, as many as `FOURFOLD_SIMULATIONS` says, or the one that `FOURFOLD_SEED` names.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    match number("FOURFOLD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FOURFOLD_SIMULATIONS").unwrap_or(12),
    }
}

#[test]
fn no_two_clients_have_one_right_whatever_fails() {
    let (mut returns, mut kept, mut moves, mut refusals) = (0, 0, 0, 0);
    for seed in seeds() {
        match std::panic::catch_unwind(|| run(seed)) {
            Ok(outcome) => {
                (returns, kept) = (returns + outcome.returns, kept + outcome.kept);
                (moves, refusals) = (moves + outcome.moves, refusals + outcome.refusals);
            }
            Err(panic) => {
                eprintln!("seed {seed} failed");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{returns} opens of lost servers came back at others; of {kept} that was certain");
    println!("{moves} moves of folders, {refusals} refused");
    assert!((moves > 0 && refusals > 0) || seeds().count() < 12, "no folder was moved");
    assert!(kept > 0 || seeds().count() < 12, "none came back");
}

#[test]
fn a_seed_leads_to_the_same_each_time() {
    let seed = seeds().start;
    assert_eq!(run(seed).digest, run(seed).digest, "seed {seed}");
}

#[test]
fn a_server_does_not_answer_its_own_question_as_the_home_of_before() {
    use coherence::state::{ClientId, Modes, OpenRequest, Party, Stream};
    let mut server = SimulatedServer::new(1);
    let view = |epoch, members| crate::View { epoch, members };
    server.node.adopt(STEP, view(1, vec![1]));
    server.node.tick(STEP);
    let request = OpenRequest::new(Party::client(ClientId(1 << 48)), Modes::READ, Modes::NONE);
    // It was the home of all of them. It has asked itself, and not read that yet, when the other server comes.
    for inode in 1..=20 {
        let answer = server.state.open(formats::FileId::new(0, inode), Stream::Data, request);
        assert!(matches!(answer, Err(formats::Error::LeaseRecall(_))), "{answer:?}");
    }
    server.node.adopt(STEP, view(2, vec![1, 2]));
    let counts = server.node.counts();
    assert_eq!((counts.held, counts.asked), (0, 20), "the other server has not reported");
    let report = || crate::wire::Message::Report {
        held: Vec::new(),
        sent: Vec::new(),
        received: Vec::new(),
        kept: Vec::new(),
        inherited: Vec::new(),
        more: false,
    };
    server.node.receive(STEP, 2, 1, 2, report()).unwrap();
    let counts = server.node.counts();
    assert!(counts.held == counts.homed && (1..20).contains(&counts.held), "{counts:?}");
    assert_eq!(counts.held + counts.asked, 20, "the other half is the other server's to answer");
}

#[test]
fn a_state_that_comes_before_its_question_is_read_is_not_asked_for() {
    use coherence::state::{ClientId, Modes, OpenRequest, Party, Stream};
    let mut server = SimulatedServer::new(1);
    server.node.adopt(STEP, crate::View { epoch: 1, members: vec![1, 2] });
    let file = formats::FileId::new(0, 1);
    let request = OpenRequest::new(Party::client(ClientId(1 << 48)), Modes::READ, Modes::NONE);
    assert!(server.state.open(file, Stream::Data, request).is_err());
    server.node.receive(STEP, 2, 1, 1, crate::wire::Message::Grant(file, 1 << 32 | 1)).unwrap();
    let counts = server.node.counts();
    assert_eq!((counts.held, counts.asked), (1, 0));
}

#[test]
fn a_part_of_a_lost_state_may_come_before_the_order_to_make_it() {
    use crate::wire::{Message, Portion};
    let mut server = SimulatedServer::new(1);
    server.node.adopt(STEP, crate::View { epoch: 1, members: vec![1, 2, 3] });
    let (file, turn) = (formats::FileId::new(0, 1), 1 << 32 | 1);
    let part = |turn| Message::Hand {
        file,
        turn,
        portion: Portion::Own,
        more: false,
        state: coherence::state::FileState::default(),
    };
    server.node.receive(STEP, 3, 1, 1, part(turn)).unwrap();
    server.node.receive(STEP, 2, 1, 1, Message::Gather(file, turn, 2)).unwrap();
    assert_eq!(server.node.counts().held, 0, "a part is missing");
    server.node.receive(STEP, 2, 2, 1, part(turn + 1)).unwrap();
    assert_eq!(server.node.counts().held, 0, "a part of something else");
    server.node.receive(STEP, 2, 3, 1, part(turn)).unwrap();
    assert_eq!(server.node.counts().held, 1);
}
