//! The history that interop/cluster/history.py has recorded: could one server have given the same answers?

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

#[path = "../../../../cluster/src/simulation/history.rs"]
#[allow(dead_code, reason = "the simulation of the crate cluster uses the rest of this file")]
mod history;

use history::{BegunOperation, History, Right};

/// Fewer operations show nothing.
const ENOUGH: usize = 100;

/// A line of the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum RecordedEvent {
    Call { call: u64, kind: Kind, client: usize, file: String, right: String },
    Answer { answer: u64, how: How },
    Lost { lost: u64 },
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Take,
    Use,
    Give,
    /// The client has lost its server: what it had is gone at some time from here on.
    Leave,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum How {
    Done,
    Refused,
    Failed,
}

pub(super) fn check(path: &Path) -> Result<()> {
    let operations =
        operations(&std::fs::read_to_string(path)?).with_context(|| path.display().to_string())?;
    println!("a history of {operations} operations");
    ensure!(operations >= ENOUGH, "it is too short");
    Ok(())
}

/// How many operations the history has, if one server could have made it.
fn operations(text: &str) -> Result<usize> {
    let events: Vec<RecordedEvent> = serde_json::from_str(text)?;
    let (mut history, mut calls) = (History::default(), HashMap::new());
    for event in events {
        match event {
            RecordedEvent::Call { kind: Kind::Leave, client, file, right, .. } => {
                history.leaves(file, client, parse(&right)?);
            }
            RecordedEvent::Call { call, kind, client, file, right } => {
                calls.insert(call, (kind, history.call(file, client, parse(&right)?)));
            }
            RecordedEvent::Answer { answer, how } => {
                let (kind, call) = calls.remove(&answer).context("an answer without a call")?;
                answered(&mut history, &call, (kind, how))?;
            }
            RecordedEvent::Lost { lost } => {
                let (_, call) = calls.remove(&lost).context("a loss without a call")?;
                history.abandoned(&call);
            }
        }
    }
    calls.into_values().for_each(|(_, call)| history.abandoned(&call));
    history.check().map_err(|(file, operations)| {
        anyhow::anyhow!("no single server answers like this: {file}, {operations} operations")
    })
}

fn answered(history: &mut History<String>, call: &BegunOperation<String>, how: (Kind, How)) -> Result<()> {
    match how {
        (Kind::Take, How::Done) => history.taken(call),
        (Kind::Take, How::Refused) => history.refused(call),
        (Kind::Take, How::Failed) => history.failed(call),
        (Kind::Use, How::Done) => history.used(call),
        (Kind::Give, How::Done) => history.given(call),
        _ => bail!("only a request for a right can be refused"),
    }
    Ok(())
}

fn parse(right: &str) -> Result<Right> {
    Ok(match right {
        "lock" => Right::Lock,
        "reading" => Right::Reading,
        "writing" => Right::Writing,
        _ => bail!("{right} is no right"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two clients of one file. Each event as `what client`, in order.
    fn of(events: &[(&str, usize)]) -> Result<usize> {
        let mut lines = Vec::new();
        let mut last = [0, 0, 0];
        for (at, (what, client)) in events.iter().enumerate() {
            let of = |kind| {
                format!(r#"{{"call":{at},"kind":"{kind}","client":{client},"file":"f","right":"lock"}}"#)
            };
            lines.push(match *what {
                "lost" => format!(r#"{{"lost":{}}}"#, last[*client]),
                "done" | "refused" => format!(r#"{{"answer":{},"how":"{what}"}}"#, last[*client]),
                kind => {
                    last[*client] = at;
                    of(kind)
                }
            });
        }
        operations(&format!("[{}]", lines.join(",")))
    }

    #[test]
    fn a_second_holder_is_found_and_one_after_a_loss_is_not() {
        let taken = [("take", 1), ("done", 1)];
        let other = [("take", 2), ("done", 2)];
        assert!(of(&[taken, other].concat()).is_err());
        assert!(of(&[&taken[..], &[("give", 1), ("done", 1)], &other].concat()).is_ok());
        assert!(of(&[&taken[..], &[("leave", 1)], &other].concat()).is_ok());
        // What was lost cannot be used after another client has it.
        let used = [("use", 1), ("done", 1)];
        assert!(of(&[&taken[..], &used, &[("leave", 1)], &other].concat()).is_ok());
        assert!(of(&[&taken[..], &[("leave", 1)], &other, &used].concat()).is_err());
        // A request without an answer may have been granted for a while.
        assert!(of(&[("take", 1), ("lost", 1), ("take", 2), ("refused", 2)]).is_ok());
        assert!(of(&[("take", 2), ("refused", 2)]).is_err());
        assert!(of(&[("use", 1), ("refused", 1)]).is_err());
    }
}
