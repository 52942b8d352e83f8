//! Two servers that cannot reach each other for long, while both are members: what waits for the successor is bounded, and it
//! knows all opens in the end.

use std::time::Duration;

use coherence::state::{Modes, OpenGuard, OpenRequest, Party, Stream};
use formats::FileId;
use tokio::sync::oneshot;

use super::World;
use super::travellers::{id, keep};
use crate::port::StateRequest;

/// The clients, which are the numbers of their files, too.
const STAYS: usize = 2;
const ENDS: usize = 4;
const COMES: usize = 6;
const BUSY: usize = 8;
/// More than may wait.
const ROUNDS: usize = 200;

fn file(of: usize) -> FileId {
    FileId::new(0, 1_000 + of as u64)
}

/// A client of the first server opens its file, and the successor is told.
fn open(world: &mut World, of: usize) -> OpenGuard {
    let request = OpenRequest::new(Party::client(id(1, of)), Modes::READ, Modes::NONE);
    for _ in 0..10_000 {
        let server = &world.servers[0];
        if let Ok(guard) = server.state.open(file(of), Stream::Data, request) {
            keep(server, of, file(of), &guard, true);
            world.step(false);
            return guard;
        }
        world.step(false);
    }
    panic!("{of} is not opened");
}

fn close(world: &mut World, guard: OpenGuard) {
    world.servers[0].port.want(StateRequest::Drop(guard.id()));
    drop(guard);
    world.step(false);
}

#[test]
fn what_waits_for_a_successor_is_bounded_and_it_learns_everything_in_the_end() {
    let mut world = World::new(1, 2);
    world.clients.clear();
    world.travellers.clear();
    world.movers.clear();
    world.changers.clear();
    let is_ready = |world: &World| {
        let is_in = |server: &super::SimulatedServer| {
            server.node.counts().is_ready && server.node.epoch() == world.epoch()
        };
        world.service.members() == 2 && world.servers.iter().all(is_in)
    };
    while !is_ready(&world) {
        world.step(false);
    }
    let (_stays, ends) = (open(&mut world, STAYS), open(&mut world, ENDS));
    for of in [COMES, BUSY] {
        let guard = open(&mut world, of); // the states of the files are here from now on
        close(&mut world, guard);
    }
    (0..1_000).for_each(|_| world.step(false));
    world.network.part(1, 2, Duration::MAX);
    let mut most = 0;
    for round in 0..ROUNDS {
        let guard = open(&mut world, BUSY);
        close(&mut world, guard);
        most = most.max(world.servers[0].node.counts().waiting);
        if round == ROUNDS / 2 {
            assert_eq!(most, 8, "MOST_BEHIND of tests");
        }
    }
    assert_eq!(most, 8);
    close(&mut world, ends);
    let comes = open(&mut world, COMES);
    let (answer, mut kept) = oneshot::channel();
    world.servers[0].port.want(StateRequest::Kept(comes.id(), answer));
    (0..1_000).for_each(|_| world.step(false));
    assert_eq!(
        kept.try_recv(),
        Err(oneshot::error::TryRecvError::Empty),
        "the successor has not heard of it"
    );

    world.network.heal();
    (0..2_000).for_each(|_| world.step(false));
    assert_eq!(kept.try_recv(), Ok(true));
    assert_eq!(world.servers[0].node.counts().waiting, 0);
    world.servers[0].is_dead = true;
    world.network.kill(1);
    (0..20_000).for_each(|_| world.step(false));
    let inherited: Vec<usize> = world.servers[1].inherited.keys().map(|of| usize::from(*of)).collect();
    assert_eq!(inherited, [STAYS, COMES]);
}
