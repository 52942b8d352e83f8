//! A list of operations, done by a fresh server and by the model at once; and the shortest list that still fails.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nfs::wire::v3::types::Status;
use vfs::backend::Backend;

use crate::model::Model;
use crate::op::{Class, Data, ModelAnswer, Op, Protocol, ServerAnswer, Slot, Stat, Who};
use crate::table;
use crate::world::{self, WAITS, World};

/// What kind of disagreement it is: shrinking keeps it.
pub type Signature = (std::mem::Discriminant<Op>, Option<(Who, Option<i64>)>, Option<Vec<Class>>);

const JUKEBOX: Status = Status::JUKEBOX;
/// The most runs that look for a shorter list.
const MOST_RUNS: usize = 2_000;

/// Where the server and the model disagree.
pub struct Disagreement {
    /// The operation's place in the list.
    pub at: usize,
    pub op: Op,
    pub expected: ModelAnswer,
    /// What the server answered; `None` if it panicked.
    pub answered: Option<(Who, ServerAnswer)>,
}

impl Disagreement {
    pub fn signature(&self) -> Signature {
        let status = |(who, answered): &(Who, ServerAnswer)| (who.first(), answered.as_ref().err().copied());
        let reasons = match &self.expected {
            ModelAnswer::Refused(reasons) => Some(reasons.clone()),
            _ => None,
        };
        (std::mem::discriminant(&self.op), self.answered.as_ref().map(status), reasons)
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "operation {}, {:?}: the model expects {:?}, the server ",
            self.at, self.op, self.expected
        )?;
        match &self.answered {
            None => write!(f, "panics"),
            Some((_, Ok(data))) => write!(f, "answers {data:?}"),
            Some((who, Err(status))) => write!(f, "answers {}", table::name(who.protocol(), *status)),
        }
    }
}

/// Does these operations. Returns how many of them both sides did.
pub fn run(disk: Arc<dyn Backend>, operations: &[Op]) -> Result<usize, Box<Disagreement>> {
    // As root, a server's thread acts as the user on the host, and stays that user.
    let apart =
        || std::thread::scope(|scope| scope.spawn(|| run_in(&mut World::new(disk), operations)).join());
    apart().expect("panics of a server are caught")
}

/// Likewise, in a world without files.
pub fn run_in(world: &mut World, operations: &[Op]) -> Result<usize, Box<Disagreement>> {
    let mut model =
        Model { apart: world.is_apart(), lacks_exchange: world::lacks("exchange"), ..Model::default() };
    let is_traced = std::env::var_os("FOURFOLD_MODEL_TRACE").is_some();
    let mut done = 0;
    for (at, op) in operations.iter().enumerate() {
        let owners: BTreeMap<Slot, Who> = model.opens.iter().map(|(slot, held)| (*slot, held.who)).collect();
        let expected = model.apply(op);
        if expected == ModelAnswer::Skipped {
            continue;
        }
        done += 1;
        let of = |slot: Slot| owners[&slot];
        let who = op.client(of);
        let (is_elsewhere, is_settling) = (world.is_elsewhere(), world.is_settling());
        let mut apply = || catch_unwind(AssertUnwindSafe(|| world.apply(op, of))).ok();
        let (mut answered, until) = (apply(), Instant::now() + WAITS);
        // The server has to ask another one first, or has not seen yet that a connection was lost.
        let is_told_to_wait = |answered: &ServerAnswer| {
            !agrees(who, &expected, answered) && (waits(who, answered) || is_settling && answered.is_err())
        };
        while is_elsewhere && answered.as_ref().is_some_and(is_told_to_wait) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            answered = apply();
        }
        if is_traced {
            println!("{at} {op:?}: {answered:?}");
        }
        if !answered.as_ref().is_some_and(|answered| agrees(who, &expected, answered)) {
            let answered = answered.map(|answered| (who, answered));
            return Err(Box::new(Disagreement { at, op: *op, expected, answered }));
        }
    }
    Ok(done)
}

/// RFC 1813 2.6: NFS3ERR_JUKEBOX. Clients ask again.
fn waits(who: Who, answered: &ServerAnswer) -> bool {
    who.protocol() == Protocol::Nfs3 && *answered == Err(i64::from(JUKEBOX.0))
}

fn agrees(who: Who, expected: &ModelAnswer, answered: &ServerAnswer) -> bool {
    match (expected, answered) {
        (ModelAnswer::Done(Data::Stat(wanted)), Ok(Data::Stat(found))) => same(wanted, found),
        (ModelAnswer::Done(wanted), Ok(found)) => wanted == found,
        (ModelAnswer::Refused(reasons), Err(status)) => {
            reasons.iter().any(|class| table::says(who.protocol(), *status, *class))
        }
        _ => false,
    }
}

/// What the model does not know is not compared.
fn same(wanted: &Stat, found: &Stat) -> bool {
    wanted.folder == found.folder
        && wanted.size == found.size
        && (wanted.date.is_none() || wanted.date == found.date)
        && (wanted.read_only.is_none() || wanted.read_only == found.read_only)
}

/// The shortest list that is found by leaving out parts of one that fails: delta debugging. A list counts as failing
/// if its first disagreement is of the same kind.
pub fn shrink(
    disk: impl Fn() -> Arc<dyn Backend>,
    operations: &[Op],
    first: Box<Disagreement>,
) -> (Vec<Op>, Box<Disagreement>) {
    let kind = first.signature();
    let (mut list, mut why) = (operations[..=first.at].to_vec(), first);
    let (mut part, mut runs) = (list.len().div_ceil(2), 0);
    while part > 0 && runs < MOST_RUNS {
        let (mut start, mut shorter) = (0, false);
        while start < list.len() && runs < MOST_RUNS {
            let end = list.len().min(start + part);
            let candidate = [&list[..start], &list[end..]].concat();
            runs += 1;
            match run(disk(), &candidate) {
                Err(disagreement) if disagreement.signature() == kind => {
                    list = candidate[..=disagreement.at].to_vec();
                    (why, shorter) = (disagreement, true);
                }
                _ => start = end,
            }
        }
        part = if shorter && part == 1 { 1 } else { part / 2 };
    }
    (list, why)
}

/// The list as the body of a test.
pub fn program(operations: &[Op]) -> String {
    let lines: String = operations.iter().map(|op| format!("        {},\n", expression(op))).collect();
    format!("    agree(&[\n{lines}    ]);")
}

/// An operation as an expression of Rust.
fn expression(op: &Op) -> String {
    format!("Op::{op:?}")
}
