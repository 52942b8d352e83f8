//! What observers are told of a call.

use std::borrow::Cow;

use conn::observe::{Begun, Outcome};
use vfs::Payload;

use super::call::{Answered, Call};
use crate::wire::rpc::{AuthStat, CallHeader};
use crate::wire::{mount, nlm, nsm, portmap, v3, v4};

/// Tells the observers of a call that has been answered with these results.
pub(super) fn end(begun: &Begun, call: &Call<'_>, answered: &Answered, results: &[u8]) {
    let (result, failed) = match answered {
        Ok(_) => result(call, results),
        Err(outcome) => (format!("{outcome:?}"), true),
    };
    let data = answered.as_ref().ok().and_then(Option::as_ref).map_or(0, Payload::len);
    begun.end(&Outcome {
        user: &user(call),
        share: call.concerns.get().map_or("", |export| &export.name),
        result: &result,
        failed,
        bytes_in: call.message.len(),
        bytes_out: results.len() + data,
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
pub(super) fn refused(begun: &Begun, bytes_in: usize, why: AuthStat) {
    begun.end(&Outcome { result: &format!("{why:?}"), failed: true, bytes_in, ..Outcome::default() });
}

/// Tells the observers of a call that is about a security context.
pub(super) fn context(begun: &Begun, bytes_in: usize, user: &str, result: &str) {
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

/// The status in the results, and whether it is an error. Results without a status are those of calls that cannot fail.
fn result(call: &Call<'_>, results: &[u8]) -> (String, bool) {
    let number = call.header.procedure;
    let status = match call.header.program {
        v3::PROGRAM if call.header.version == v4::VERSION => {
            v4::status(number, results).map(|status| (format!("{status:?}"), status != v4::types::Status::OK))
        }
        v3::PROGRAM => v3::status(v3::Procedure(number), results)
            .map(|status| (format!("{status:?}"), status != v3::types::Status::OK)),
        mount::PROGRAM => mount::status(mount::Procedure(number), results)
            .map(|status| (format!("{status:?}"), status != mount::Status::OK)),
        nlm::PROGRAM => nlm::stat(nlm::Procedure(number), results)
            .map(|stat| (format!("{stat:?}"), !matches!(stat, nlm::Stat::GRANTED | nlm::Stat::BLOCKED))),
        _ => None,
    };
    status.unwrap_or_else(|| ("OK".into(), false))
}
