//! What observers are told of a call.

use std::net::SocketAddr;

use conn::observe::{Begun, Operation};
use vfs::Payload;

use super::rpc::{Answered, Call};
use crate::wire::{mount, nlm, nsm, portmap, v3};

/// Tells the observers of a call that has been answered with these results.
pub(super) fn end(begun: Begun, call: &Call<'_>, answered: &Answered, results: &[u8]) {
    let (result, failed) = match answered {
        Ok(_) => result(call, results),
        Err(outcome) => (format!("{outcome:?}"), true),
    };
    let data = answered.as_ref().ok().and_then(Option::as_ref).map_or(0, Payload::len);
    let user = if call.identity.nobody { String::new() } else { format!("uid {}", call.identity.uid) };
    begun.end(&Operation {
        protocol: "nfs",
        client: SocketAddr::new(call.origin.address, call.origin.port),
        user: &user,
        share: call.concerns.get().map_or("", |export| &export.name),
        command: &command(call),
        result: &result,
        failed,
        bytes_in: call.message.len(),
        bytes_out: results.len() + data,
    });
}

/// The procedure; with its program, if that is not NFS.
fn command(call: &Call<'_>) -> String {
    let number = call.header.procedure;
    match call.header.program {
        v3::PROGRAM => format!("{:?}", v3::Procedure(number)),
        mount::PROGRAM => format!("MOUNT {:?}", mount::Procedure(number)),
        nlm::PROGRAM => format!("NLM {:?}", nlm::Procedure(number)),
        nsm::PROGRAM => format!("NSM {:?}", nsm::Procedure(number)),
        portmap::PROGRAM => format!("PORTMAP {number}"),
        program => format!("program {program} procedure {number}"),
    }
}

/// The status in the results, and whether it is an error. Results without a status are those of calls that cannot fail.
fn result(call: &Call<'_>, results: &[u8]) -> (String, bool) {
    let number = call.header.procedure;
    let status = match call.header.program {
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
