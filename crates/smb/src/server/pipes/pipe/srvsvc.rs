//! The server service, MS-SRVS.

mod time_of_day;

use super::{CallerRank, PipeHost, ShareKind, lists};
use crate::wire::rpc::WinError;
use crate::wire::rpc::level::{InfoResponse, Levels, ListRequest};
use crate::wire::rpc::pdu::Fault;
use crate::wire::rpc::srvsvc::{
    DiskListResponse, Request, Server, Session, Share, Transport, change_response, file_security_response,
    number_response, share_type,
};

/// Answers the call `operation`.
pub(super) fn call(host: &dyn PipeHost, operation: u16, stub: &[u8]) -> Result<Vec<u8>, Fault> {
    let request = Request::decode(operation, stub)?.ok_or(Fault::OPERATION_RANGE)?;
    Ok(match request {
        Request::ConnectionEnum { qualifier, list } => {
            let all = administrator(host).map(|()| host.connections(qualifier.as_deref().unwrap_or("")));
            lists::answer(&list, all)
        }
        Request::FileEnum { path, user, list } => file_enum(host, path.as_deref(), user.as_deref(), &list),
        Request::FileGetInfo { file, level } => file_get_info(host, file, level),
        Request::SessionEnum { client, user, list } => {
            lists::answer(&list, sessions(host, client.as_deref(), user.as_deref(), list.level))
        }
        Request::ShareEnum { list } => share_enum(host, &list),
        Request::ShareEnumSticky { list } => share_enum_sticky(host, &list),
        Request::ShareGetInfo { share, level } => share_get_info(host, &share, level),
        Request::ShareCheck { device } => share_check(host, &device),
        Request::ServerGetInfo { level } => server_get_info(host, level),
        Request::DiskEnum { level, resume } => disk_enum(level, resume),
        Request::TransportEnum { list } => lists::answer::<Transport>(&list, Ok(Vec::new())),
        Request::RemoteTod => time_of_day::at(host.now()).encode(),
        Request::NameValidate { name, kind, flags } => win_error(name_validate(&name, kind, flags)),
        Request::GetFileSecurity => file_security_response(WinError::NOT_SUPPORTED),
        Request::Change(change) => change_response(change, WinError::ACCESS_DENIED),
    })
}

fn at_least(host: &dyn PipeHost, rank: CallerRank) -> Result<(), WinError> {
    if host.caller().rank >= rank { Ok(()) } else { Err(WinError::ACCESS_DENIED) }
}

fn administrator(host: &dyn PipeHost) -> Result<(), WinError> {
    at_least(host, CallerRank::Administrator)
}

fn win_error(result: Result<(), WinError>) -> Vec<u8> {
    result.err().unwrap_or(WinError::OK).0.to_le_bytes().to_vec()
}

fn shares(host: &dyn PipeHost) -> Vec<Share> {
    host.shares().into_iter().map(share).collect()
}

fn share(share: super::Share) -> Share {
    let kind = match share.kind {
        ShareKind::Disk => share_type::DISK_TREE,
        ShareKind::Ipc => share_type::IPC | share_type::SPECIAL,
    };
    Share {
        name: share.name,
        kind,
        remark: share.comment,
        max_uses: share.max_uses.unwrap_or(u32::MAX),
        uses: share.uses,
        path: share.path,
        flags: share.flags,
    }
}

/// `NetrShareEnum`, MS-SRVS 3.1.4.8. Users without an account get only levels 0 and 1: neither the
/// paths of shares, nor the flags of all shares.
fn share_enum(host: &dyn PipeHost, list: &ListRequest) -> Vec<u8> {
    let allowed = if list.level > 1 { at_least(host, CallerRank::User) } else { Ok(()) };
    lists::answer(list, allowed.map(|()| shares(host)))
}

/// `NetrShareEnumSticky`, MS-SRVS 3.1.4.9: not in level 501, and without special shares.
fn share_enum_sticky(host: &dyn PipeHost, list: &ListRequest) -> Vec<u8> {
    let allowed = match list.level {
        501 => Err(WinError::INVALID_LEVEL),
        2.. => at_least(host, CallerRank::User),
        _ => Ok(()),
    };
    let kept = |share: &Share| share.kind & share_type::SPECIAL == 0;
    lists::answer(list, allowed.map(|()| shares(host).into_iter().filter(kept).collect()))
}

/// `NetrShareGetInfo`, MS-SRVS 3.1.4.10.
fn share_get_info(host: &dyn PipeHost, name: &str, level: u32) -> Vec<u8> {
    let allowed = match level {
        2 | 502 | 503 | 1006 | 1501 => at_least(host, CallerRank::User),
        _ if Share::SHOWN.contains(&level) => Ok(()),
        _ => Err(WinError::INVALID_LEVEL),
    };
    let named = |share: &Share| share.name.to_lowercase() == name.to_lowercase();
    let found =
        allowed.and_then(|()| shares(host).into_iter().find(named).ok_or(WinError::NET_NAME_NOT_FOUND));
    InfoResponse { level, info: found.as_ref().map_err(|status| *status) }.encode()
}

/// `NetrShareCheck`, MS-SRVS 3.1.4.13: the type of the share with this path.
fn share_check(host: &dyn PipeHost, device: &str) -> Vec<u8> {
    if let Err(status) = at_least(host, CallerRank::User) {
        return number_response(0, status);
    }
    match shares(host).iter().find(|share| share.path.eq_ignore_ascii_case(device)) {
        Some(share) => number_response(share.kind, WinError::OK),
        None => number_response(0, WinError::DEVICE_NOT_SHARED),
    }
}

/// `NetrServerGetInfo`, MS-SRVS 3.1.4.17.
fn server_get_info(host: &dyn PipeHost, level: u32) -> Vec<u8> {
    let server = host.server();
    let (name, comment) = (server.name, server.comment);
    let server = Server { name, major: server.major, minor: server.minor, kind: Server::USUAL, comment };
    let info = match level {
        100 | 101 => Ok(()),
        102 => at_least(host, CallerRank::User),
        _ => Err(WinError::INVALID_LEVEL),
    };
    InfoResponse { level, info: info.map(|()| &server) }.encode()
}

/// `NetrServerDiskEnum`, MS-SRVS 3.1.4.19: the one drive that all paths shown to clients are on.
fn disk_enum(level: u32, resume: Option<u32>) -> Vec<u8> {
    let status = if level == 0 { WinError::OK } else { WinError::INVALID_LEVEL };
    let disks: &[&str] = if level == 0 { &["C:"] } else { &[] };
    DiskListResponse { disks, resume: resume.map(|_| 0), status }.encode()
}

/// `NetrSessionEnum`, MS-SRVS 3.1.4.5. Users see only themselves.
fn sessions(
    host: &dyn PipeHost,
    client: Option<&str>,
    user: Option<&str>,
    level: u32,
) -> Result<Vec<Session>, WinError> {
    let rank = if matches!(level, 0 | 10) { CallerRank::User } else { CallerRank::Administrator };
    at_least(host, rank)?;
    let caller = host.caller();
    let own = if caller.rank == CallerRank::Administrator { None } else { Some(caller.name.as_str()) };
    let mut sessions = host.sessions();
    sessions.retain(|session| {
        matches(client.map(|client| client.trim_start_matches('\\')), &session.client)
            && matches(user, &session.user)
            && matches(own, &session.user)
    });
    Ok(sessions)
}

/// Whether a filter matches `value`. An empty filter matches everything.
fn matches(filter: Option<&str>, value: &str) -> bool {
    filter.is_none_or(|filter| filter.is_empty() || filter.to_lowercase() == value.to_lowercase())
}

/// `NetrFileEnum`, MS-SRVS 3.1.4.2.
fn file_enum(host: &dyn PipeHost, path: Option<&str>, user: Option<&str>, list: &ListRequest) -> Vec<u8> {
    let below = |open: &str| path.is_none_or(|path| open.to_lowercase().starts_with(&path.to_lowercase()));
    let all = administrator(host).map(|()| {
        let mut opens = host.opens();
        opens.retain(|open| below(&open.path) && matches(user, &open.user));
        opens
    });
    lists::answer(list, all)
}

/// `NetrFileGetInfo`, MS-SRVS 3.1.4.3.
fn file_get_info(host: &dyn PipeHost, id: u32, level: u32) -> Vec<u8> {
    let level_known = if matches!(level, 2 | 3) { Ok(()) } else { Err(WinError::INVALID_LEVEL) };
    let found = level_known.and_then(|()| administrator(host)).and_then(|()| {
        host.opens().into_iter().find(|open| open.id == id).ok_or(WinError::FILE_ID_NOT_FOUND)
    });
    InfoResponse { level, info: found.as_ref().map_err(|status| *status) }.encode()
}

/// `NetprNameValidate`, MS-SRVS 3.1.4.30. Only names of shares are judged.
fn name_validate(name: &str, kind: u32, flags: u32) -> Result<(), WinError> {
    const SHARE: u32 = 9; // NAMETYPE_SHARE
    const OLD_SHARE_NAMES: u32 = 0x8000_0000; // of LAN Manager 2.0: 12 characters
    if flags & !OLD_SHARE_NAMES != 0 {
        return Err(WinError::INVALID_PARAMETER);
    }
    if kind != SHARE {
        return Err(WinError::INVALID_LEVEL);
    }
    let longest = if flags == OLD_SHARE_NAMES { 12 } else { 80 };
    let wrong = |c: char| c < ' ' || "\"/\\[]:|<>+=;,*?".contains(c);
    let length = name.encode_utf16().count();
    if length == 0 || length > longest || name.contains(wrong) { Err(WinError::INVALID_NAME) } else { Ok(()) }
}
