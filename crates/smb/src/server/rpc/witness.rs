//! The calls of the witness service, MS-SWN 3.1.4.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Rpc;
use super::registrations::Wish;
use crate::wire::rpc::WinError;
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::Fault;
use crate::wire::rpc::witness::{
    IP_NOTIFICATION, Register, Request, Version, interface_list_response, notify_response, register_response,
    unregister_ex_response, unregister_response,
};

/// The longest name in a registration, in bytes.
const MAX_NAME: usize = 1_024;
/// How long a request of version 2 waits if the client does not say it. It is what Windows asks for.
const KEEP_ALIVE: Duration = Duration::from_secs(120);
/// The longest time that a client may ask for.
const MAX_KEEP_ALIVE: Duration = Duration::from_secs(600);

/// The client of a call.
pub(super) struct Caller<'a> {
    /// Its account.
    pub(super) user: &'a str,
    pub(super) peer: IpAddr,
    pub(super) group: u32,
    /// Woken when there may be a notice for it.
    pub(super) waker: &'a Arc<Notify>,
}

/// How a call ends.
pub(super) enum Outcome {
    Answered(Vec<u8>),
    /// It waits for a notice, until then at most.
    Waits(Handle, Option<Instant>),
}

pub(super) fn call(
    rpc: &Rpc,
    caller: &Caller<'_>,
    operation: u16,
    stub: &[u8],
    now: Instant,
) -> Result<Outcome, Fault> {
    let registrations = &rpc.registrations;
    let answer = match Request::decode(operation, stub)?.ok_or(Fault::OPERATION_RANGE)? {
        Request::GetInterfaceList => interface_list_response(&registrations.interfaces()),
        Request::Register(wanted) => register_response(register(rpc, caller, wanted, Version::V1, now)),
        Request::RegisterEx(wanted) => register_response(register(rpc, caller, wanted, Version::V2, now)),
        // ERROR_NOT_FOUND is what 3.1.4.3 recommends, and this what Windows answers.
        Request::UnRegister { handle } => match registrations.remove(&handle, caller.user) {
            true => unregister_response(WinError::OK),
            false => unregister_response(WinError::INVALID_PARAMETER),
        },
        Request::UnRegisterEx { handle } => match registrations.remove(&handle, caller.user) {
            true => unregister_ex_response(&Handle::default(), WinError::OK),
            false => unregister_ex_response(&handle, WinError::INVALID_PARAMETER),
        },
        Request::AsyncNotify { handle } => match registrations.wait(&handle, caller.user, caller.waker) {
            Ok(keep_alive) => return Ok(Outcome::Waits(handle, keep_alive.map(|time| now + time))),
            Err(error) => notify_response(Err(error)),
        },
    };
    Ok(Outcome::Answered(answer))
}

fn register(
    rpc: &Rpc,
    caller: &Caller<'_>,
    wanted: Register,
    version: Version,
    now: Instant,
) -> Result<Handle, WinError> {
    if wanted.version != version {
        return Err(WinError::REVISION_MISMATCH);
    }
    let name = |text: Option<String>| {
        text.filter(|text| !text.is_empty() && text.len() <= MAX_NAME).ok_or(WinError::INVALID_PARAMETER)
    };
    // Clients reach the servers by names that only the DNS knows: any is right.
    name(wanted.net_name)?;
    name(wanted.client_name)?;
    let text = name(wanted.ip_address)?;
    let address: IpAddr = text.parse().map_err(|_| WinError::INVALID_STATE)?;
    if wanted.share_name.is_some_and(|share| !has_share(rpc, &share)) {
        return Err(WinError::INVALID_STATE);
    }
    let keep_alive = match wanted.keep_alive_secs {
        0 => KEEP_ALIVE,
        secs => Duration::from_secs(secs.into()).min(MAX_KEEP_ALIVE),
    };
    let wish = Wish {
        user: caller.user.to_owned(),
        peer: caller.peer,
        group: caller.group,
        name: text,
        address: address.to_canonical(),
        wants_all: wanted.flags & IP_NOTIFICATION != 0,
        keep_alive: (version == Version::V2).then_some(keep_alive),
    };
    rpc.registrations.register(wish, now)
}

/// Whether a client can mean this share. Users have homes of different names.
fn has_share(rpc: &Rpc, name: &str) -> bool {
    let config = rpc.service.config();
    rpc.service.share(name).is_some() || !config.homes.is_empty()
}
