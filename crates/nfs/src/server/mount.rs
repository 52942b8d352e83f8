//! MOUNT versions 1 to 3, RFC 1813 5 and RFC 1094 Appendix A: the first file handle for a path.

mod table;
#[cfg(test)]
mod tests;
mod walk;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use auth::{Event, HostSet, Login};
use wire::{Reader, Writer};

use super::Service;
use super::answer::{Answer, AnswerStatus, CallResult};
use super::call::Call;
use super::export::{Export, Rule};
use super::gss::Flavor;
use crate::wire::mount::{self as protocol, DirPath, MountOk, MountRes, Name, Procedure, Request, Status};
use crate::wire::rpc::{AuthFlavor, Outcome};
use crate::wire::v3::types::FileHandle;
use crate::wire::xdr::{Encode, Opaque, Words, arguments, opaque_size};

pub(super) use table::Mounts;

/// The longest path that is decoded. It is far above MNTPATHLEN, so that a longer path is answered
/// NAMETOOLONG.
type AnyPath<'a> = Opaque<'a, 0x1_0000>;

/// The most bytes of a list in a reply.
const LONGEST_LIST: usize = 1 << 20;
const LONGEST_LIST_IN_A_DATAGRAM: usize = 32 * 1024;

/// Runs the procedure that a call names.
pub(super) fn dispatch(call: &Call<'_>, w: &mut Writer) -> CallResult {
    let old = call.header.version < 3;
    match Procedure(call.header.procedure) {
        Procedure::NULL => call.no_arguments()?,
        Procedure::MNT if old => return refuse_old(call, w),
        Procedure::MNT => return mnt(call, w),
        Procedure::DUMP => dump(call, w)?,
        Procedure::UMNT => umnt(call, call.arguments()?),
        Procedure::UMNTALL => umntall(call)?,
        Procedure::EXPORT => export(call, w)?,
        Procedure::EXPORTALL if old => export(call, w)?,
        _ => return Err(Outcome::ProcUnavail),
    }
    Ok(Answer::default())
}

/// MNT, RFC 1813 5.2.1.
fn mnt(call: &Call<'_>, w: &mut Writer) -> CallResult {
    let path: AnyPath<'_> = arguments(&mut Reader::new(call.arguments)).map_err(|_| Outcome::GarbageArgs)?;
    Ok(match walk::walk(call, &path) {
        Ok((path, handle, flavors)) => {
            log(call, Event::Accepted(&path));
            call.service.mounts.add(call.origin.address, &path);
            let handle = FileHandle::new(handle.as_bytes());
            MountRes(Ok(MountOk { handle, flavors: Words::new(&flavors) })).encode(w);
            Answer::of(AnswerStatus::Mount(Status::OK))
        }
        Err(status) => {
            let why = status.name().unwrap_or_default();
            log(call, Event::Failed(&format!("{why}: {}", path.escape_ascii())));
            MountRes::<MountOk<'_>>(Err(status)).encode(w);
            Answer::of(AnswerStatus::Mount(status))
        }
    })
}

/// Logs the client and the share of a mount. Without Kerberos there is no login: the server trusts the client's user ids.
fn log(call: &Call<'_>, event: Event<'_>) {
    let peer = SocketAddr::new(call.origin.address, call.origin.port);
    let (user, method) = match (&call.gss, &call.identity) {
        (Some(secured), _) => (secured.context.principal.clone(), "Kerberos"),
        (None, identity) if identity.nobody => (String::new(), "AUTH_NONE"),
        (None, identity) => (format!("uid {}", identity.uid), "AUTH_SYS"),
    };
    let line = Login { protocol: "nfs", peer, user: &user, method };
    call.service.login_guard.log.tell(&line, event, Instant::now());
}

/// MNT of versions 1 and 2 asks for an NFSv2 handle, and the server has no NFSv2.
fn refuse_old(call: &Call<'_>, w: &mut Writer) -> CallResult {
    call.arguments::<Request<'_>>()?;
    MountRes::<[u8; protocol::FHSIZE]>(Err(Status::ACCES)).encode(w);
    Ok(Answer::of(AnswerStatus::Mount(Status::ACCES)))
}

/// DUMP, RFC 1813 5.2.2: the clients and the paths that they mounted, as far as clients have
/// reported it.
fn dump(call: &Call<'_>, w: &mut Writer) -> Result<(), Outcome> {
    call.no_arguments()?;
    let mounts = call.service.mounts.all();
    let lines: Vec<_> = mounts.iter().map(|(host, path)| (host.to_string(), path.as_str())).collect();
    let items = lines.iter().map(|(host, path)| protocol::MountBody {
        host: Name::new(host.as_bytes()),
        path: DirPath::new(path.as_bytes()),
    });
    let size =
        |item: &protocol::MountBody<'_>| 4 + opaque_size(item.host.len()) + opaque_size(item.path.len());
    protocol::put_mounted(w, fitting(call, items, size));
    Ok(())
}

/// UMNT, RFC 1813 5.2.3. It only removes a line from DUMP's list. Handles stay valid.
fn umnt(call: &Call<'_>, request: Request<'_>) {
    let path = walk::tidied(&request.path);
    log(call, Event::Ended { to: &path, after: None });
    call.service.mounts.remove(call.origin.address, &path);
}

/// UMNTALL, RFC 1813 5.2.4.
fn umntall(call: &Call<'_>) -> Result<(), Outcome> {
    call.no_arguments()?;
    log(call, Event::Ended { to: "everything", after: None });
    call.service.mounts.remove_all(call.origin.address);
    Ok(())
}

/// EXPORT, RFC 1813 5.2.5. An export without clients would be one for all: shares that admit no host are left out.
fn export(call: &Call<'_>, w: &mut Writer) -> Result<(), Outcome> {
    call.no_arguments()?;
    let exports = call.service.exports();
    let is_open = |export: &&Arc<Export>| export.options.rules.iter().any(|rule| rule.allowed);
    let open = exports.iter().filter(is_open);
    let lines: Vec<_> = open.map(|export| (format!("/{}", export.name), clients(export))).collect();
    let items = lines.iter().map(|(path, clients)| protocol::Export {
        path: DirPath::new(path.as_bytes()),
        groups: clients.iter().map(|client| Name::new(client.as_bytes())).collect(),
    });
    let size = |item: &protocol::Export<'_>| {
        let groups: usize = item.groups.iter().map(|group| 4 + opaque_size(group.len())).sum();
        8 + opaque_size(item.path.len()) + groups
    };
    protocol::put_exports(w, fitting(call, items, size));
    Ok(())
}

/// The security flavours that clients of a rule may use, in the order of the rule. Without a login, AUTH_NONE is as good as AUTH_SYS.
pub(super) fn flavors(service: &Service, rule: &Rule) -> Vec<u32> {
    let numbers = service.gss.usable(&rule.sec).map(Flavor::number);
    let none = rule.sec.contains(&Flavor::Sys).then_some(AuthFlavor::AUTH_NONE.0);
    numbers.chain(none).collect()
}

/// The clients that may mount it, as networks and names. Empty if all may.
fn clients(export: &Arc<Export>) -> Vec<String> {
    let allowed: Vec<_> = export.options.rules.iter().filter(|rule| rule.allowed).collect();
    if allowed.iter().any(|rule| rule.clients == HostSet::Any) {
        return Vec::new();
    }
    allowed.iter().map(|rule| rule.clients.to_string()).collect()
}

/// The first items that fit in a reply to this call.
fn fitting<T>(
    call: &Call<'_>,
    items: impl Iterator<Item = T>,
    size: impl Fn(&T) -> usize,
) -> impl Iterator<Item = T> {
    let mut room = if call.origin.datagram { LONGEST_LIST_IN_A_DATAGRAM } else { LONGEST_LIST };
    items.take_while(move |item| {
        let left = room.checked_sub(size(item));
        room = left.unwrap_or(0);
        left.is_some()
    })
}
