//! Random sequences against a model that keeps what each byte is, and knows nothing of merging or splitting.

use proptest::prelude::*;

use super::*;

const BYTES: usize = 24;
const OWNERS: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Step {
    owner: usize,
    first: usize,
    last: usize,
    act: Act,
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Lock(LockKind),
    Unlock,
    Release,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let act = prop_oneof![
        4 => Just(Act::Lock(Shared)),
        4 => Just(Act::Lock(Exclusive)),
        5 => Just(Act::Unlock),
        1 => Just(Act::Release),
    ];
    let step = (0..OWNERS, 0..BYTES, 0..BYTES, act).prop_map(|(owner, a, b, act)| Step {
        owner,
        first: a.min(b),
        last: a.max(b),
        act,
    });
    prop::collection::vec(step, 1..60)
}

/// Model byte 23 stands for "to the end".
fn range(step: &Step) -> Range {
    let last = if step.last == BYTES - 1 { u64::MAX } else { step.last as u64 };
    Range::between(step.first as u64, last).unwrap()
}

/// POSIX fcntl: per byte and owner nothing, shared or exclusive; the newest request counts.
#[derive(Default)]
struct Posix([[Option<LockKind>; BYTES]; OWNERS]);

impl Posix {
    fn lock(&mut self, step: &Step, kind: LockKind) -> bool {
        let others = (0..OWNERS).filter(|owner| *owner != step.owner);
        let mut held = others.flat_map(|owner| &self.0[owner][step.first..=step.last]).flatten();
        let free = held.all(|other| (*other, kind) == (Shared, Shared));
        if free {
            self.0[step.owner][step.first..=step.last].fill(Some(kind));
        }
        free
    }

    fn unlock(&mut self, step: &Step) -> bool {
        let bytes = &mut self.0[step.owner][step.first..=step.last];
        let any = bytes.iter().any(Option::is_some);
        bytes.fill(None);
        any
    }

    /// The runs of equal bytes: the server should keep exactly these pieces.
    fn runs(&self, owner: usize) -> usize {
        let bytes = &self.0[owner];
        (0..BYTES).filter(|i| bytes[*i].is_some() && (*i == 0 || bytes[*i] != bytes[*i - 1])).count()
    }
}

proptest! {
    #[test]
    fn advisory_locks_follow_posix_byte_for_byte(steps in steps()) {
        let (state, mut model) = (State::default(), Posix::default());
        let owners: Vec<_> = (0..OWNERS).map(|n| LockOwner::named(ClientId(n as u64 % 2), &[n as u8])).collect();
        let wanted = |step: &Step, kind| {
            Lock { owner: owners[step.owner].clone(), range: range(step), kind, flavour: Flavour::Advisory }
        };
        for step in &steps {
            match step.act {
                Act::Lock(kind) => {
                    let tested = state.test(FILE, &Stream::Data, &wanted(step, kind)) == Ok(None);
                    let locked = state.lock(FILE, &Stream::Data, wanted(step, kind)).is_ok();
                    prop_assert_eq!(tested, locked);
                    prop_assert_eq!(locked, model.lock(step, kind));
                }
                Act::Unlock => {
                    let owner = &owners[step.owner];
                    let any = state.unlock(FILE, &Stream::Data, owner, range(step), Flavour::Advisory);
                    prop_assert_eq!(any, Ok(model.unlock(step)));
                }
                Act::Release => {
                    release_owner(&state, FILE, &owners[step.owner]);
                    model.0[step.owner].fill(None);
                }
            }
            let runs: usize = (0..OWNERS).map(|owner| model.runs(owner)).sum();
            prop_assert_eq!(state.totals().ranges, runs);
            prop_assert_eq!(state.quiet(FILE), runs == 0);
        }
        // Byte by byte, a test by another owner gives what the model says.
        for byte in 0..BYTES {
            let held = |kind| (0..OWNERS).any(|owner| model.0[owner][byte] == Some(kind));
            let ask = |kind| state.test(FILE, &Stream::Data, &advisory(C, b"x", bytes(byte as u64, 1), kind)) != Ok(None);
            prop_assert_eq!(ask(Shared), held(Exclusive));
            prop_assert_eq!(ask(Exclusive), held(Exclusive) || held(Shared));
        }
    }

    #[test]
    fn mandatory_locks_stand_each_for_itself(steps in steps()) {
        let state = State::default();
        let guards: Vec<_> = (0..OWNERS)
            .map(|n| open(&state, ClientId(n as u64 % 2), Modes::ALL, Modes::NONE).unwrap())
            .collect();
        let mut model: Vec<(usize, usize, usize, LockKind)> = Vec::new();
        for step in &steps {
            let guard = &guards[step.owner];
            let owner = LockOwner::open(guard.client(), guard.id());
            match step.act {
                Act::Lock(kind) => {
                    let free = model.iter().all(|(owner, first, last, held)| {
                        let apart = *last < step.first || step.last < *first;
                        let own = *owner == step.owner;
                        apart || (kind == Shared && (*held == Shared || own))
                    });
                    let locked = state.lock(FILE, &Stream::Data, mandatory(guard, range(step), kind));
                    prop_assert_eq!(locked.is_ok(), free);
                    if free {
                        model.push((step.owner, step.first, step.last, kind));
                    }
                }
                Act::Unlock => {
                    let exactly = |kind| (step.owner, step.first, step.last, kind);
                    let find = |kind| model.iter().position(|held| *held == exactly(kind));
                    let at = find(Exclusive).or_else(|| find(Shared));
                    let any = state.unlock(FILE, &Stream::Data, &owner, range(step), Flavour::Mandatory);
                    prop_assert_eq!(any, Ok(at.is_some()));
                    if let Some(at) = at {
                        model.remove(at);
                    }
                }
                Act::Release => {
                    release_owner(&state, FILE, &owner);
                    model.retain(|held| held.0 != step.owner);
                }
            }
            prop_assert_eq!(state.totals().ranges, model.len());
        }
        for (byte, write) in (0..BYTES).flat_map(|byte| [(byte, false), (byte, true)]) {
            let stopped = model.iter().any(|(_, first, last, kind)| {
                (*first..=*last).contains(&byte) && (write || *kind == Exclusive)
            });
            let io = state.check_io(FILE, &Stream::Data, IoClient::stateless(C), bytes(byte as u64, 1), write);
            prop_assert_eq!(io.is_err(), stopped);
        }
        drop(guards);
        assert_quiet(&state);
    }
}
