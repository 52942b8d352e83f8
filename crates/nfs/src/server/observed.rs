//! What observers are told of a call.

use std::borrow::Cow;

use conn::observe::{Outcome, RunningOperation};
use vfs::Payload;

use super::answer::{AnswerStatus, CallResult};
use super::call::Call;
use crate::wire::rpc::{AuthStat, CallHeader};
use crate::wire::{mount, nlm, nsm, portmap, v3, v4};

/// Tells the observers of a call that has been answered, with so many bytes of results before the data.
pub(super) fn end(begun: &RunningOperation, call: &Call<'_>, answered: &CallResult, results: usize) {
    let (result, failed) = match answered {
        Ok(answer) => answer.status.map_or_else(|| ("OK".into(), false), AnswerStatus::name),
        Err(outcome) => (format!("{outcome:?}"), true),
    };
    let data = answered.as_ref().ok().and_then(|answer| answer.data.as_ref()).map_or(0, Payload::len);
    begun.end(&Outcome {
        user: &user(call),
        share: call.concerns.get().map_or("", |export| &export.name),
        result: &result,
        failed,
        bytes_in: call.message.len(),
        bytes_out: results + data,
    });
}

/// Tells the observers of a repeated call. It got the kept reply with results of this length, or none because the first
/// call is still being executed.
pub(super) fn repeated(call: &Call<'_>, bytes_out: usize) {
    if let Some(begun) = &call.begun {
        let (user, bytes_in) = (&*user(call), call.message.len());
        begun.end(&Outcome { user, result: "repeated", bytes_in, bytes_out, ..Outcome::default() });
    }
}

/// Tells the observers of a call whose credential is refused.
pub(super) fn refused(begun: &RunningOperation, bytes_in: usize, why: AuthStat) {
    begun.end(&Outcome { result: &format!("{why:?}"), failed: true, bytes_in, ..Outcome::default() });
}

/// Tells the observers of a call that is about a security context.
pub(super) fn context(begun: &RunningOperation, bytes_in: usize, user: &str, result: &str) {
    begun.end(&Outcome { user, result, failed: result == "refused", bytes_in, ..Outcome::default() });
}

fn user(call: &Call<'_>) -> String {
    if let Some(secured) = &call.gss {
        return secured.context.principal.clone();
    }
    if call.identity.nobody { String::new() } else { format!("uid {}", call.identity.uid) }
}

/// The procedure; with its program, if that is not NFS.
pub(super) fn command(header: &CallHeader<'_>) -> Cow<'static, str> {
    let number = header.procedure;
    Cow::Owned(match header.program {
        v3::PROGRAM if header.version == v4::VERSION => format!("V4 procedure {number}"),
        v3::PROGRAM => format!("{:?}", v3::Procedure(number)),
        mount::PROGRAM => format!("MOUNT {:?}", mount::Procedure(number)),
        nlm::PROGRAM => format!("NLM {:?}", nlm::Procedure(number)),
        nsm::PROGRAM => format!("NSM {:?}", nsm::Procedure(number)),
        portmap::PROGRAM => format!("PORTMAP {number}"),
        program => format!("program {program} procedure {number}"),
    })
}
