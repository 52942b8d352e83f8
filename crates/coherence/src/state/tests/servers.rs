//! One server, or two that share their files through a coordinator. The tests that are written
//! against the interface run with both.

use std::sync::Mutex;

use super::*;
use crate::state::{Back, ChangeNotice, Coordinator, FileState};
use formats::Error;

/// The servers of two clients: the same one, or one for each.
pub(super) struct Servers {
    /// The server of client A.
    pub(super) first: State,
    /// The server of client B.
    pub(super) second: State,
    service: Option<Arc<Service>>,
}

/// What the servers asked for. States move when the test says so.
#[derive(Default)]
struct Service {
    asked: Mutex<Vec<(usize, FileId)>>,
    /// What may leave now, and what is to stay somewhat longer.
    free: Mutex<Vec<FileId>>,
    hold: Mutex<Vec<FileId>>,
    /// What is said to each server of states at the other one.
    said: Mutex<Vec<(u16, FileId, Back)>>,
}

struct Port(Arc<Service>, usize);

impl Coordinator for Port {
    fn ask(&self, file: FileId) {
        self.0.asked.lock().unwrap().push((self.1, file));
    }

    fn free(&self, file: FileId) {
        self.0.free.lock().unwrap().push(file);
    }

    fn hold(&self, file: FileId) {
        self.0.hold.lock().unwrap().push(file);
    }

    fn back(&self, server: u16, file: FileId, back: Back) {
        self.0.said.lock().unwrap().push((server, file, back));
    }

    fn hold_below(
        &self,
        _folder: FileId,
        _by: Party,
    ) -> tokio::sync::oneshot::Receiver<Option<crate::state::Elsewhere>> {
        tokio::sync::oneshot::channel().1 // there are no folders
    }

    fn tell(&self, _told: ChangeNotice) {}
}

impl Servers {
    pub(super) fn one(policy: Policy) -> Self {
        let state = State::new(policy, Limits::default());
        Self { first: state.clone(), second: state, service: None }
    }

    pub(super) fn two(policy: Policy) -> Self {
        let service = Arc::new(Service::default());
        let server = |number: usize| {
            let port = Arc::new(Port(service.clone(), number));
            State::joined(policy, Limits::default(), u16::try_from(number).unwrap(), port)
        };
        Self { first: server(0), second: server(1), service: Some(service) }
    }

    /// What was said of states that may leave, and of those that are to stay somewhat longer, since the last time.
    pub(super) fn freed_and_held(&self) -> [Vec<FileId>; 2] {
        let Some(service) = &self.service else { return [Vec::new(), Vec::new()] };
        [&service.free, &service.hold].map(|said| std::mem::take(&mut *said.lock().unwrap()))
    }

    /// The states that were asked for and have not moved.
    pub(super) fn asked(&self) -> Vec<FileId> {
        let Some(service) = &self.service else { return Vec::new() };
        service.asked.lock().unwrap().iter().map(|(_, file)| *file).collect()
    }

    /// Moves every state that was asked for. Returns how many moved.
    pub(super) fn settle(&self) -> usize {
        let Some(service) = &self.service else { return 0 };
        let mut moved = 0;
        loop {
            self.say(service);
            let asked = std::mem::take(&mut *service.asked.lock().unwrap());
            if asked.is_empty() {
                return moved;
            }
            for (number, file) in asked {
                let servers = [&self.first, &self.second];
                let state = servers[1 - number].give_up(file).expect("nothing is pinned");
                self.say(service);
                // As it comes in a message.
                let mut come = FileState::default();
                come.merge(state.unwrap_or_default());
                servers[number].take_over(file, come);
                moved += 1;
            }
        }
    }

    /// The servers hear what they have to say to each other.
    pub(super) fn hear(&self) {
        self.service.iter().for_each(|service| self.say(service));
    }

    /// Delivers what the servers have to say to each other.
    fn say(&self, service: &Service) {
        loop {
            let said = std::mem::take(&mut *service.said.lock().unwrap());
            if said.is_empty() {
                return;
            }
            for (server, file, back) in said {
                let servers = [&self.first, &self.second];
                let number = back.clone();
                if let Some(last) = servers[usize::from(server)].hear_back(file, back) {
                    last().unwrap();
                    let Back::Remove(number) = number else { panic!("not a removal: {number:?}") };
                    servers[usize::from(1 - server)].removed(file, number);
                }
            }
        }
    }

    /// The state of the file moves to this server, unless it is there.
    pub(super) fn bring(&self, server: &State) {
        if self.service.is_some() && !server.table.has(FILE) {
            server.table.ask(FILE);
            self.settle();
        }
    }

    /// The result of an operation once the state it needs has come.
    pub(super) fn run<T>(&self, mut operation: impl FnMut() -> formats::Result<T>) -> formats::Result<T> {
        match operation() {
            Err(Error::LeaseRecall(FILE)) if self.settle() > 0 => operation(),
            other => other,
        }
    }
}

#[test]
fn a_file_is_settled_if_its_state_was_here_without_clients_of_the_lost_server() {
    let servers = Servers::two(Policy::default());
    let (first, lost) = (&servers.first, 1);
    let only_here = FileId::new(0, 8);
    let ours = OpenRequest::new(Party::client(A), Modes::READ, Modes::NONE);
    assert!(first.open(only_here, Stream::Data, ours).is_err());
    let there = ClientId(u64::from(lost) << 48 | 2);
    assert!(open(&servers.second, there, Modes::READ, Modes::NONE).is_err());
    servers.settle();
    let _here = first.open(only_here, Stream::Data, ours).unwrap();
    let _there = open(&servers.second, there, Modes::READ, Modes::NONE).unwrap();
    assert!(open(first, A, Modes::READ, Modes::NONE).is_err());
    servers.settle();
    assert!(!first.is_settled(only_here), "no server is lost");
    first.forget(lost);
    assert!(first.is_settled(only_here));
    assert!(!first.is_settled(FILE), "a client of the lost server had it open");
    assert!(!first.is_settled(FileId::new(0, 9)), "its state was not here");
    first.forget_settled();
    assert!(!first.is_settled(only_here));
}

#[test]
fn a_state_moves_once_for_many_operations() {
    let servers = Servers::two(Policy::default());
    let read = || servers.second.check_io(FILE, &Stream::Data, IoClient::stateless(B), bytes(0, 1), false);
    assert_eq!(read(), Err(Error::LeaseRecall(FILE)));
    assert_eq!(read(), Err(Error::LeaseRecall(FILE)), "it has not come");
    assert!(servers.second.is_coming(FILE));
    assert_eq!(servers.settle(), 1, "it was asked for once");
    for _ in 0..100 {
        assert_eq!(read(), Ok(()));
        drop(servers.run(|| open(&servers.second, B, Modes::READ, Modes::NONE)).unwrap());
    }
    assert_eq!(servers.settle(), 0);
    assert!(servers.second.quiet(FILE) && !servers.first.quiet(FILE));
}

#[test]
fn what_must_not_fail_is_done_when_the_state_has_come() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    let gone = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let guard = servers.run(|| open(first, A, Modes::ALL, Modes::WRITE)).unwrap();
    first.lock(FILE, &Stream::Data, mandatory(&guard, bytes(0, 10), Exclusive)).unwrap();
    servers.bring(second);
    assert_eq!((first.totals(), second.totals().opens, second.totals().ranges), (Totals::default(), 1, 1));

    let counted = gone.clone();
    guard.remove_when_unused(Box::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }));
    drop(guard);
    assert_eq!(gone.load(Ordering::Relaxed), 0, "another server has the state");
    servers.settle();
    assert_eq!(gone.load(Ordering::Relaxed), 1);
    servers.bring(second);
    assert_eq!(second.totals(), Totals::default());
    drop(open(second, B, Modes::WRITE, Modes::ALL).unwrap());
}

#[test]
fn numbers_of_two_servers_differ() {
    let servers = Servers::two(Policy::default());
    let one = servers.run(|| open(&servers.first, A, Modes::READ, Modes::NONE)).unwrap();
    let other = servers.run(|| open(&servers.second, B, Modes::READ, Modes::NONE)).unwrap();
    assert_ne!(one.id(), other.id());
    assert_eq!(servers.second.opens(Some(FILE), 9).len(), 2);
}

#[test]
fn a_waiting_request_is_granted_by_the_server_that_has_the_state() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    let lock = |client| advisory(client, b"p", Range::ALL, Exclusive);
    servers.run(|| first.lock(FILE, &Stream::Data, lock(A)).map_err(Error::from)).unwrap();
    servers.bring(second);
    let mut waiter = waits(second, lock(B));
    servers.bring(first);
    assert_eq!(now(&mut waiter), None);
    let owner = lock(A).owner;
    first.unlock(FILE, &Stream::Data, &owner, Range::ALL, Flavour::Advisory).unwrap();
    servers.hear();
    assert_eq!(now(&mut waiter), Some(Ok(())), "the state is at the first server");
    // The ranges of a client are released wherever they are.
    servers.second.release_client(B);
    servers.settle();
    servers.bring(first);
    assert_eq!(first.totals().ranges, 0);
}

#[test]
fn a_client_that_is_not_connected_gives_way_to_another_server() {
    let servers = Servers::two(Policy::default());
    let guard = servers.run(|| open(&servers.first, A, Modes::READ, Modes::WRITE)).unwrap();
    let held = Arc::new(Mutex::new(Some(guard)));
    let gives = held.clone();
    let _absence = servers.first.leave(A, Arc::new(move || drop(gives.lock().unwrap().take())));
    assert!(servers.run(|| open(&servers.second, B, Modes::WRITE, Modes::NONE)).is_ok());
    assert!(held.lock().unwrap().is_none());
}

#[tokio::test]
async fn an_open_waits_for_the_state_and_then_for_the_lease_in_it() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    let (notices, mut told) = tokio::sync::mpsc::unbounded_channel();
    let party = Party { client: A, key: Some([1; 16]) };
    let guard = servers
        .run(|| first.open(FILE, Stream::Data, OpenRequest::new(party, Modes::WRITE, Modes::NONE)))
        .unwrap();
    let request = LeaseRequest { party, want: Caching::ALL, style: Style::Bits, notices };
    let lease = first.lease(FILE, &Stream::Data, &request).unwrap();
    let request = OpenRequest::new(Party::client(B), Modes::READ, Modes::NONE);
    let mut opening = Box::pin(second.open_and_recall(FILE, Stream::Data, request, never));
    assert!(now(&mut opening).is_none(), "waits for the state");
    servers.settle();
    assert!(now(&mut opening).is_none(), "waits for the lease");
    servers.hear();
    assert_eq!(told.try_recv().unwrap().to, Caching(3));
    assert_eq!(lease.acknowledge(Caching(3)), Err(Error::LeaseRecall(FILE)), "the state is elsewhere");
    servers.settle();
    assert_eq!(lease.acknowledge(Caching(3)), Ok(Caching(3)));
    servers.hear();
    assert!(now(&mut opening).is_none(), "waits for the state again");
    servers.settle();
    assert!(now(&mut opening).unwrap().is_ok());
    assert_eq!((lease.caching(), guard.modes().0), (Caching(3), Modes::WRITE));
}

#[tokio::test]
async fn a_change_ends_the_lease_of_another_servers_client_once_the_state_has_come() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    let (notices, mut told) = tokio::sync::mpsc::unbounded_channel();
    let party = Party { client: A, key: Some([1; 16]) };
    let want = LeaseRequest { party, want: Caching::READ, style: Style::Bits, notices };
    let lease = servers.run(|| first.lease(FILE, &Stream::Data, &want)).unwrap();
    // The entry of a folder has changed at the other server, which does not wait.
    let recall = second.break_for(FILE, &Stream::Data, Cause::Entry, Party::client(B)).unwrap();
    let mut ending = Box::pin(recall.within(std::future::pending()));
    assert!(now(&mut ending).is_none() && told.try_recv().is_err(), "waits for the state");
    servers.settle();
    assert!(now(&mut ending).is_some(), "a lease to read needs no answer");
    servers.hear();
    assert_eq!(told.try_recv().unwrap().to, Caching::NONE);
    servers.bring(first);
    assert_eq!(lease.caching(), Caching::NONE);
}

#[test]
fn the_state_of_an_unused_file_is_the_default() {
    let servers = Servers::two(Policy::default());
    servers.first.take_over(FILE, FileState::default());
    assert!(servers.first.quiet(FILE));
    assert!(servers.first.give_up(FILE).unwrap().is_some());
    assert!(servers.first.give_up(FILE).unwrap().is_none());
}

/// An open of a client of the second server, with a lock and a lease, as its successor is told of it.
pub(super) fn replica(
    servers: &Servers,
    deny: Modes,
) -> (crate::state::OpenGuard, crate::state::OpenReplica) {
    let party = Party { client: ClientId(1 << 48 | 5), key: Some([5; 16]) };
    let request = OpenRequest::new(party, Modes::WRITE, deny);
    servers.bring(&servers.second);
    let guard = servers.second.open(FILE, Stream::Data, request).unwrap();
    let owner = LockOwner::open(party.client, guard.id());
    let (range, kind, flavour) = (bytes(0, 10), LockKind::Exclusive, Flavour::Mandatory);
    servers.second.lock(FILE, &Stream::Data, Lock { owner, range, kind, flavour }).unwrap();
    let replica = servers.second.replica(FILE, guard.id(), None, false).unwrap();
    assert_eq!(replica.ranges.len(), 1);
    (guard, replica)
}

pub(super) fn notices() -> tokio::sync::mpsc::UnboundedSender<crate::state::BreakNotice> {
    tokio::sync::mpsc::unbounded_channel().0
}

#[test]
fn an_open_of_a_lost_server_is_the_successors_in_a_state_that_the_successor_has() {
    let servers = Servers::two(Policy::default());
    let (lost, replica) = replica(&servers, Modes::WRITE);
    servers.bring(&servers.first);
    let successor = &servers.first;
    let (inherited, one) = successor.inherit(FILE, replica, A, &notices()).unwrap();
    let is_awaited = successor.is_awaited(FILE, inherited.guard.id());
    assert!(is_awaited, "the numbers change when all servers have said what they have");
    assert_eq!(successor.has_open(FILE, inherited.guard.id()), Err(Error::LeaseRecall(FILE)));
    successor.rehome(&one);
    assert!(!successor.is_awaited(FILE, inherited.guard.id()));
    successor.forget(1);
    assert_eq!(successor.has_open(FILE, inherited.guard.id()), Ok(true));
    assert!(
        successor.has_open(FILE, lost.id()) == Ok(false)
            && open(successor, B, Modes::WRITE, Modes::NONE).is_err()
    );
    assert!(successor.check_io(FILE, &Stream::Data, IoClient::stateless(B), bytes(0, 1), false).is_err());
    drop(inherited);
    assert!(successor.quiet(FILE), "its lock has gone with it");
    std::mem::forget(lost);
}

#[test]
fn what_is_inherited_of_a_lost_state_yields_to_what_the_living_have() {
    let servers = Servers::two(Policy::default());
    let (lost, replica) = replica(&servers, Modes::WRITE);
    let successor = &servers.first;
    let (inherited, one) = successor.inherit(FILE, replica, A, &notices()).unwrap();
    assert_eq!(successor.part(FILE), FileState::default(), "not of its own clients");
    let part = successor.inherited_part(FILE);
    assert_eq!((part.opens.len(), part.ranges.len()), (1, 1));
    let mut empty = FileState::default();
    empty.admit(part.clone());
    assert_eq!(empty, part);
    // Another server has a client that writes: the successor has not heard that the open was closed.
    let mut living = FileState { opens: part.opens.clone(), ..FileState::default() };
    living.opens[0].id = crate::state::OpenId(3 << 48);
    let before = living.clone();
    living.admit(part.clone());
    assert_eq!(living, before);
    // Or one that has locked the range.
    let mut locked = FileState { ranges: part.ranges.clone(), ..FileState::default() };
    locked.ranges[0].1.owner = LockOwner::named(B, b"other");
    let before = locked.clone();
    locked.admit(part);
    assert_eq!(locked, before);
    successor.take_over(FILE, empty);
    assert_eq!(successor.has_open(FILE, one.open.1), Ok(true));
    drop(inherited);
    assert!(successor.quiet(FILE));
    std::mem::forget(lost);
}

#[test]
fn a_successor_that_was_told_too_little_has_nothing() {
    let servers = Servers::two(Policy::default());
    let (lost, replica) = replica(&servers, Modes::NONE);
    let successor = &servers.first;
    let (inherited, one) = successor.inherit(FILE, replica, A, &notices()).unwrap();
    // The state was at a third server, in which the open had been closed.
    successor.rehome(&one);
    successor.take_over(FILE, FileState::default());
    assert_eq!(successor.has_open(FILE, inherited.guard.id()), Ok(false));
    drop(inherited);
    assert!(successor.quiet(FILE));
    std::mem::forget(lost);
}

#[test]
fn an_open_whose_lease_is_recalled_is_inherited_with_what_is_left_if_it_is_persistent() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    let (notices, mut told) = tokio::sync::mpsc::unbounded_channel();
    let party = Party { client: A, key: Some([1; 16]) };
    let request = OpenRequest::new(party, Modes::WRITE, Modes::NONE);
    let guard = servers.run(|| first.open(FILE, Stream::Data, request)).unwrap();
    let want = LeaseRequest { party, want: Caching::ALL, style: Style::Bits, notices };
    let lease = first.lease(FILE, &Stream::Data, &want).unwrap();
    let held = |persistent| {
        let replica = first.replica(FILE, guard.id(), Some(lease.id()), persistent)?;
        let lease = replica.lease.unwrap();
        Some((lease.held, lease.breaking))
    };
    assert_eq!((held(false), held(true)), (Some((Caching::ALL, None)), Some((Caching::ALL, None))));
    let recall = first.break_for(FILE, &Stream::Data, Cause::OpenRead, Party::client(B)).unwrap();
    assert_eq!((held(false), held(true)), (None, Some((Caching(3), None))));
    // The same where the state is at another server.
    servers.bring(second);
    assert_eq!((held(false), held(true)), (None, Some((Caching(3), None))));
    servers.bring(first);
    assert_eq!(told.try_recv().unwrap().to, Caching(3));
    lease.remind();
    let again = told.try_recv().unwrap();
    assert_eq!((again.to, again.needs_ack, again.further), (Caching(3), true, true));
    assert_eq!(lease.acknowledge(Caching(3)), Ok(Caching(3)));
    lease.remind();
    assert!(told.try_recv().is_err(), "it is answered");
    drop(recall);
}

#[test]
fn an_inherited_open_that_is_closed_before_its_number_changes_does_not_stay() {
    let servers = Servers::two(Policy::default());
    let (lost, replica) = replica(&servers, Modes::WRITE);
    servers.bring(&servers.first);
    let successor = &servers.first;
    let (inherited, one) = successor.inherit(FILE, replica, A, &notices()).unwrap();
    drop(inherited); // its protocol could not restore it
    successor.rehome(&one);
    successor.forget(1);
    assert!(successor.quiet(FILE), "no guard is left that could close it");
    std::mem::forget(lost);
}

#[test]
fn a_lease_is_known_to_be_undisturbed_before_its_number_changes() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    let party = Party { client: A, key: Some([1; 16]) };
    let request = OpenRequest::new(party, Modes::WRITE, Modes::NONE);
    let guard = servers.run(|| first.open(FILE, Stream::Data, request)).unwrap();
    let want = LeaseRequest { party, want: Caching::ALL, style: Style::Bits, notices: notices() };
    let lease = first.lease(FILE, &Stream::Data, &want).unwrap();
    let replica = first.replica(FILE, guard.id(), Some(lease.id()), false).unwrap();
    servers.bring(second);
    let (inherited, one) = second.inherit(FILE, replica, B, &notices()).unwrap();
    let new = inherited.lease.as_ref().unwrap().id();
    assert_eq!(second.undisturbed(FILE, new), Caching::ALL);
    second.rehome(&one);
    assert_eq!(second.undisturbed(FILE, new), Caching::ALL);
    std::mem::forget((guard, lease));
}
