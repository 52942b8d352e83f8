//! The procedures of NFS version 3, one file each, named as in `wire/v3`.

mod access;
mod commit;
mod create;
mod fsinfo;
mod fsstat;
mod getattr;
mod link;
mod lookup;
mod mkdir;
mod mknod;
mod pathconf;
mod read;
mod readdir;
mod readdirplus;
mod readlink;
mod remove;
mod rename;
mod rmdir;
mod setattr;
mod symlink;
mod target;
#[cfg(test)]
mod tests;
mod write;

pub(super) use lookup::look;
pub(super) use readdir::{listed, listed_name, page};
pub(super) use target::{Target, file_type, size};

use conn::Reservation;
use wire::Writer;

use super::recalling::Attempts;
use super::rpc::{Answered, Call};
use crate::wire::rpc::Outcome;
use crate::wire::v3::types::Status;
use crate::wire::v3::{self, Procedure};
use crate::wire::xdr::Encode;

/// The most data of one READ or WRITE, in bytes.
pub(crate) const MAX_DATA: u32 = 1 << 20;
/// The most bytes of one READDIR or READDIRPLUS.
pub(crate) const MAX_LISTING: u32 = 1 << 20;

/// The most data, and the longest listing, if the whole reply must fit one datagram.
const IN_A_DATAGRAM: u32 = 32 * 1024;

impl Call<'_> {
    /// The most data of one READ or WRITE over the call's transport.
    fn max_data(&self) -> u32 {
        if self.origin.datagram { IN_A_DATAGRAM } else { MAX_DATA }
    }

    /// The longest READDIR or READDIRPLUS over the call's transport and with the memory reserved
    /// for it.
    fn max_listing(&self) -> u32 {
        let most = if self.origin.datagram { IN_A_DATAGRAM } else { MAX_LISTING };
        most.min(u32::try_from(self.room).unwrap_or(most))
    }
}

/// Reserves memory for the longest possible reply to a call. `None` if the connection has ended in
/// the meantime.
pub(crate) async fn reserved(call: &mut Call<'_>) -> Option<Reservation> {
    let listing = match Procedure(call.header.procedure) {
        Procedure::READ => match call.arguments() {
            Ok(request) => return read::reserved(call, &request).await,
            Err(_) => 0, // the procedure will report the error
        },
        Procedure::READDIR => call.arguments::<v3::readdir::Request<'_>>().map_or(0, |request| request.count),
        Procedure::READDIRPLUS => {
            call.arguments::<v3::readdirplus::Request<'_>>().map_or(0, |request| request.maxcount)
        }
        _ => return Some(Reservation::default()), // their replies are short
    };
    let (reserved, room) = call.memory.reserve_up_to(listing.min(MAX_LISTING) as usize);
    call.room = room;
    Some(reserved)
}

/// Runs the procedure that a call names. Repeats it after another client has given back a
/// conflicting lease.
pub(crate) async fn dispatch(call: &Call<'_>, w: &mut Writer) -> Answered {
    let (start, mut attempts) = (w.len(), Attempts::default());
    loop {
        let mut payload = None;
        match Procedure(call.header.procedure) {
            Procedure::READ => payload = read::read(call, w).await?,
            Procedure::WRITE => write::write(call, call.arguments()?).await.encode(w),
            Procedure::COMMIT => commit::commit(call, call.arguments()?).await.encode(w),
            _ => dispatch_at_once(call, w)?,
        }
        let is_jukebox = w.as_bytes()[start..].starts_with(&Status::JUKEBOX.0.to_be_bytes());
        if !is_jukebox || !attempts.again(call).await {
            return Ok(payload);
        }
        w.truncate(start);
    }
}

/// The procedures that never wait.
fn dispatch_at_once(call: &Call<'_>, w: &mut Writer) -> Result<(), Outcome> {
    match Procedure(call.header.procedure) {
        Procedure::NULL => call.no_arguments()?,
        Procedure::GETATTR => getattr::getattr(call, call.arguments()?).encode(w),
        Procedure::SETATTR => setattr::setattr(call, call.arguments()?).encode(w),
        Procedure::LOOKUP => lookup::lookup(call, call.arguments()?, w),
        Procedure::ACCESS => access::access(call, call.arguments()?).encode(w),
        Procedure::READLINK => readlink::readlink(call, call.arguments()?, w),
        Procedure::CREATE => create::create(call, call.arguments()?, w),
        Procedure::MKDIR => mkdir::mkdir(call, call.arguments()?, w),
        Procedure::SYMLINK => symlink::symlink(call, call.arguments()?, w),
        Procedure::MKNOD => mknod::mknod(call, call.arguments()?, w),
        Procedure::REMOVE => remove::remove(call, call.arguments()?).encode(w),
        Procedure::RMDIR => rmdir::rmdir(call, call.arguments()?).encode(w),
        Procedure::RENAME => rename::rename(call, call.arguments()?).encode(w),
        Procedure::LINK => link::link(call, call.arguments()?).encode(w),
        Procedure::READDIR => readdir::readdir(call, call.arguments()?, w),
        Procedure::READDIRPLUS => readdirplus::readdirplus(call, call.arguments()?, w),
        Procedure::FSSTAT => fsstat::fsstat(call, call.arguments()?).encode(w),
        Procedure::FSINFO => fsinfo::fsinfo(call, call.arguments()?).encode(w),
        Procedure::PATHCONF => pathconf::pathconf(call, call.arguments()?).encode(w),
        _ => return Err(Outcome::ProcUnavail),
    }
    Ok(())
}
