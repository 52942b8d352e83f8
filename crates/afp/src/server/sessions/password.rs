//! Changes of a password by its user, Apple Filing Protocol Reference, FPChangePassword.

use std::sync::atomic::Ordering;

use std::sync::Arc;

use wire::Reader;

use super::login::{admit, failed, work_on};
use super::session::Session;
use super::uam::change::{self, ChangeStep};
use super::uam::{self, UamMethod};
use crate::server::connection::Connection;
use crate::server::reply::{Outcome, Reply};
use crate::wire::ResultCode;
use crate::wire::login::{ChangePassword, Continue};

/// A change between two steps.
pub(in crate::server) struct PendingChange {
    /// The number that the client must send with the next step.
    id: u16,
    rest: change::ChangeExchange,
    attempt: auth::Attempt,
}

/// The name of this method in the log.
const METHOD: &str = "password change";

/// FPChangePassword. Each step is one command; later steps begin with the number from the server.
pub(in crate::server) async fn change(
    connection: &Arc<Connection>,
    session: &Session,
    request: ChangePassword<'_>,
) -> Outcome {
    let config = connection.service.config();
    let keep = config.change_password.clone().ok_or(ResultCode::CALL_NOT_SUPPORTED)?;
    let name = session.user.name.clone().ok_or(ResultCode::ACCESS_DENIED)?;
    let method = UamMethod::named(request.uam, &config, connection.transport).ok_or(ResultCode::BAD_UAM)?;
    let named = uam::typed(request.user);
    if !named.is_empty() && !named.eq_ignore_ascii_case(&name) {
        return Err(ResultCode::PARAM_ERROR);
    }
    let (turn, begun) = connection.changing.take()?;
    let info = request.info.to_vec();
    let (id, attempt, step) = match begun.filter(|change| says(&info, change.id)) {
        Some(PendingChange { id, rest, attempt }) => {
            let step = work_on(connection, &config, move |judge| rest.next(&info[2..], judge)).await;
            (id, attempt, step)
        }
        None => {
            let attempt = admit(connection, &config, &name, METHOD).await?;
            let step = work_on(connection, &config, move |judge| change::start(method, &info, judge)).await;
            (0, attempt, step)
        }
    };
    let (new, old) = match step {
        Ok(ChangeStep::Continue(info, rest)) => {
            let id = id.wrapping_add(1);
            turn.give_back(PendingChange { id, rest, attempt });
            let reply = Reply::encoded(|w| Continue { id, info: &info }.encode(w));
            return Ok(reply.with(ResultCode::AUTH_CONTINUE));
        }
        Ok(ChangeStep::Passwords { new, old }) => (new, old),
        Err(code) => {
            failed(connection, &config, (&name, METHOD), &attempt, code).await;
            return Err(code);
        }
    };
    let user = name.clone();
    let kept = work_on(connection, &config, move |judge| {
        judge.verify(&user, &old)?;
        check(&new, &old)?;
        if keep(&user, &new) { Ok(()) } else { Err(ResultCode::ACCESS_DENIED) }
    });
    session.has_changed_password.store(true, Ordering::Relaxed); // before the accounts are read again
    match kept.await {
        Ok(()) => Ok(Reply::empty()),
        Err(code) => {
            session.has_changed_password.store(false, Ordering::Relaxed);
            failed(connection, &config, (&name, METHOD), &attempt, code).await;
            Err(code)
        }
    }
}

/// Whether a step has this number.
fn says(info: &[u8], id: u16) -> bool {
    Continue::decode(&mut Reader::new(info)).is_ok_and(|step| step.id == id)
}

fn check(new: &str, old: &str) -> Result<(), ResultCode> {
    match new {
        "" => Err(ResultCode::PASSWORD_TOO_SHORT),
        _ if new == old => Err(ResultCode::PASSWORD_SAME),
        _ => Ok(()),
    }
}
