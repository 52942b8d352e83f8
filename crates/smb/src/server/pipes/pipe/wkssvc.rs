//! The workstation service, MS-WKST.

use super::{CallerRank, PipeHost, lists};
use crate::wire::rpc::WinError;
use crate::wire::rpc::level::InfoResponse;
use crate::wire::rpc::pdu::Fault;
use crate::wire::rpc::wkssvc::{Request, User, Workstation, set_info_response};

/// Answers the call `operation`.
pub(super) fn call(host: &dyn PipeHost, operation: u16, stub: &[u8]) -> Result<Vec<u8>, Fault> {
    Ok(match Request::decode(operation, stub)?.ok_or(Fault::OPERATION_RANGE)? {
        Request::GetInfo { level } => get_info(host, level),
        Request::SetInfo => set_info_response(WinError::ACCESS_DENIED),
        Request::UserEnum { list } => lists::answer(&list, users(host)),
    })
}

/// `NetrWkstaGetInfo`, MS-WKST 3.2.4.1.
fn get_info(host: &dyn PipeHost, level: u32) -> Vec<u8> {
    let needed = match level {
        100 => Ok(CallerRank::Anonymous),
        101 => Ok(CallerRank::User),
        102 => Ok(CallerRank::Administrator),
        _ => Err(WinError::INVALID_LEVEL),
    };
    let allowed = needed
        .and_then(|rank| if host.caller().rank >= rank { Ok(()) } else { Err(WinError::ACCESS_DENIED) });
    let (server, users) = (host.server(), host.sessions().len() as u32);
    let (name, group) = (server.name, server.group);
    let computer = Workstation { name, group, major: server.major, minor: server.minor, users };
    InfoResponse { level, info: allowed.map(|()| &computer) }.encode()
}

/// `NetrWkstaUserEnum`, MS-WKST 3.2.4.3: the users logged on at the computer itself. There are
/// none, and only administrators may ask.
fn users(host: &dyn PipeHost) -> Result<Vec<User>, WinError> {
    if host.caller().rank == CallerRank::Administrator {
        Ok(Vec::new())
    } else {
        Err(WinError::ACCESS_DENIED)
    }
}
