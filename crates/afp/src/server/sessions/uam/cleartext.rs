//! `Cleartxt Passwrd`: the first eight characters of the password, unencrypted. The only method of
//! network-booted Macs and Apple IIs. Apple Filing Protocol Programming Guide, "Cleartext
//! Password".

use auth::LEGACY;

use super::{Outcome, UamContext, UamStep, are_equal, typed};
use crate::wire::ResultCode;

/// The only step.
pub(super) fn start(user: &str, info: &[u8], judge: &UamContext<'_>) -> Outcome {
    let sent: [u8; LEGACY] = *info.first_chunk().ok_or(ResultCode::PARAM_ERROR)?;
    let account = judge.accounts.find_in_any_case(user);
    let verified = judge.verify(user, &typed(&sent)); // always, so that it takes equally long
    match account.filter(|account| account.legacy().is_some_and(|kept| are_equal(kept, &sent))) {
        Some(account) if !account.disabled => Ok(UamStep::Done(account, Vec::new())),
        _ => verified.map(|account| UamStep::Done(account, Vec::new())),
    }
}
