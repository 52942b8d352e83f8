//! What grows with what: many clients of four servers, in virtual time, without faults. `FOURFOLD_CLIENTS=10000` runs so many.
//! docs/cluster.md has the figures.

use std::time::Duration;

use coherence::state::{ClientId, Modes, OpenGuard, OpenRequest, Party, Stream};
use formats::FileId;

use super::World;

const SERVERS: u16 = 4;
/// The clients of an ordinary test run.
const FEW: usize = 400;
/// The file that all clients use; each has another one for itself.
const SHARED: FileId = FileId::new(0, 1);
/// How often the shared file moves to another server.
const TURNS: usize = 40;
/// How long all opens may take.
const WITHIN: Duration = Duration::from_secs(60);

fn private(client: usize) -> FileId {
    FileId::new(0, 1_000 + client as u64)
}

/// A client opens a file, if its server has the state of it.
fn open(world: &World, client: usize, file: FileId) -> Option<OpenGuard> {
    let server = &world.servers[client % usize::from(SERVERS)];
    let id = ClientId((u64::from(server.number) << 48) | client as u64);
    let request = OpenRequest::new(Party::client(id), Modes::READ, Modes::NONE);
    match server.state.open(file, Stream::Data, request) {
        Ok(guard) => Some(guard),
        Err(formats::Error::LeaseRecall(_)) => None,
        Err(error) => panic!("{file:?}: {error}"),
    }
}

/// All of them open a file. Returns the opens, and how many messages that took.
fn open_all(world: &mut World, files: &[(usize, FileId)]) -> (Vec<OpenGuard>, u64) {
    let (before, until) = (world.network.sent, world.now + WITHIN);
    let mut waiting = files.to_vec();
    let mut opens = Vec::new();
    loop {
        waiting.retain(|(client, file)| match open(world, *client, *file) {
            Some(guard) => {
                opens.push(guard);
                false
            }
            None => true,
        });
        if waiting.is_empty() {
            return (opens, world.network.sent - before);
        }
        assert!(world.now < until, "{} of {} have no answer", waiting.len(), files.len());
        world.step(false);
    }
}

/// The memory of this process, in KiB.
fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4
}

fn run(clients: usize) {
    let mut world = World::new(1, SERVERS);
    world.clients.clear();
    world.changers.clear();
    world.travellers.clear();
    world.movers.clear();
    while !world.is_ready() {
        world.step(false);
    }
    let files: Vec<(usize, FileId)> = (0..clients).map(|client| (client, private(client))).collect();
    let before = memory();
    let (opens, first) = open_all(&mut world, &files);
    let grown = memory().saturating_sub(before);
    // A question and an answer, unless the server of the client is the home of the file.
    assert!(first <= 2 * clients as u64, "{first} messages for {clients} files");
    let held: usize = world.servers.iter().map(|server| server.node.counts().held).sum();
    let homed: usize = world.servers.iter().map(|server| server.node.counts().homed).sum();
    assert_eq!((held, homed), (clients, clients));

    // Nothing is said of files that clients have, or use again.
    let quiet = world.network.sent;
    (0..1_000).for_each(|_| world.step(false));
    drop(opens);
    let (opens, _) = open_all(&mut world, &files);
    assert_eq!(world.network.sent, quiet, "messages about files of one server");
    drop(opens);

    let mut moves = Vec::new();
    for turn in 0..TURNS {
        let begun = world.now;
        let (_open, messages) = open_all(&mut world, &[(turn, SHARED)]);
        moves.push((messages, world.now - begun));
    }
    let most = moves.iter().map(|(messages, _)| *messages).max().unwrap_or(0);
    assert!(most <= 4, "Ask, Recall, Hand, and what was said before: {moves:?}");
    let slowest = moves.iter().map(|(_, took)| *took).max().unwrap_or_default();
    println!(
        "{clients} clients of {SERVERS} servers: {first} messages for the first use of their files, none after that; \
         {} bytes for a file in use; {most} messages at most to move a file, {slowest:?} at most",
        grown * 1024 / clients
    );
}

#[test]
fn messages_grow_with_files_that_move_and_not_with_clients() {
    let clients = std::env::var("FOURFOLD_CLIENTS").ok().and_then(|number| number.parse().ok());
    run(clients.unwrap_or(FEW));
}
